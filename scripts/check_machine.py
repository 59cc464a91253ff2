"""Stops with one readable sentence when this machine cannot build paretocut.

Run by the Makefile with the Python a virtual environment is about to be made from, which may be
an old one: no syntax newer than Python 3.6 here.
"""

import importlib.util
import os
import shutil
import sys
import sysconfig


def problem() -> str:
    """Return what is missing and how to get it, or an empty string."""
    if sys.version_info < (3, 11):  # noqa: UP036  (an older Python is what this is here to refuse)
        version = ".".join(str(part) for part in sys.version_info[:3])
        return (
            f"paretocut needs Python 3.11 or later, and {sys.executable} is Python {version}: "
            "name a newer one with make PYTHON=/path/to/python3"
        )
    if not all(importlib.util.find_spec(name) for name in ("venv", "ensurepip")):
        return (
            f"paretocut sets itself up in a virtual environment, and {sys.executable} lacks the "
            "venv module: install it (Debian, Ubuntu: apt install python3-venv)"
        )
    if not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")):
        return (
            f"paretocut compiles a Python module, and the headers of {sys.executable} are not "
            "installed: install them (Debian, Ubuntu: apt install python3-dev)"
        )
    named = os.environ.get("CXX", "")
    if named and not shutil.which(named.split()[0]):
        return f"CXX names the C++ compiler {named!r}, which is not there: correct or unset it"
    if not named and not any(map(shutil.which, ("c++", "g++", "clang++"))):
        return (
            "paretocut has a kernel in C++20, and no compiler was found (c++, g++, clang++): "
            "install one (Debian, Ubuntu: apt install g++; Fedora: dnf install gcc-c++; "
            "macOS: xcode-select --install) or name one with CXX=/path/to/compiler"
        )
    return ""


if __name__ == "__main__":
    sys.exit(problem() or 0)
