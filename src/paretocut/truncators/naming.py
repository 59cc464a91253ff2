"""The names that files give to classes of truncators: a table for ours, import names for others."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from paretocut.errors import InvalidParameterError

OURS = {
    "Accept": "accept",
    "AttnCut": "neural.attncut",
    "Autocut": "gaps",
    "BiCut": "neural.bicut",
    "Calibrated": "calibrated",
    "Choppy": "neural.choppy",
    "Conformal": "conformal",
    "Consensus": "consensus.consensus",
    "FixedK": "fixed",
    "Gated": "gated",
    "GlobalK": "fixed",
    "Isotonic": "isotonic",
    "Knee": "gaps",
    "LargestGap": "gaps",
    "LocalK": "fixed",
    "Oracle": "fixed",
    "ScoreDistribution": "distribution",
    "ScoreThreshold": "threshold",
    "Surprise": "surprise",
    "TopP": "gaps",
}
"""The classes that files name by a bare name, and the modules here that define them."""

_PACKAGE = __package__.partition(".")[0]


def refuse_impostor(kind: type) -> None:
    """Raise InvalidParameterError for a class that would take the name of one of this package."""
    if _is_ours(kind.__module__) and _lookup(kind.__module__, kind.__qualname__) is not None:
        raise InvalidParameterError(
            "__module__ must be the module that defines the class, got "
            f"{kind.__module__}, which has one of that name",
            who=kind.__qualname__,
        )


def name_of(kind: type) -> str:
    """Return the name of a class in files; `class_named` finds the class again."""
    full = f"{kind.__module__}.{kind.__qualname__}"
    where = OURS.get(kind.__name__)
    if where is not None and kind.__module__ == f"{__package__}.{where}":
        return kind.__name__
    if _lookup(kind.__module__, kind.__qualname__) is not kind:
        why = "is defined inside a function" if "<locals>" in full else "is another class by now"
        raise InvalidParameterError(
            "a class must be found by its name, at the top level of a module, before its "
            f"truncators can be saved, got {full}, which {why}",
            who=kind.__name__,
        )
    return full


def class_named(name: Any) -> Any:
    """Return what a name in a file stands for; nothing is imported or run for it but our own."""
    if isinstance(name, str) and name in OURS:
        return getattr(import_module(f".{OURS[name]}", __package__), name)
    parts = name.split(".") if isinstance(name, str) else [""]
    if len(parts) < 2 or _is_ours(name):
        known = ", ".join(OURS)
        raise ValueError(
            f"class must be one of {known}, or the full name of a class of yours, got {name!r:.60}"
        )
    for i in range(len(parts) - 1, 0, -1):
        module = ".".join(parts[:i])
        found = _lookup(module, ".".join(parts[i:]))
        if found is not None:
            return found
    module = ".".join(parts[:-1])
    if module == "__main__":
        remedy = "define it in this program before you load"
    elif module in sys.modules:
        remedy = f"there is none in {module:.60}"
    else:
        remedy = f"import {module:.60} before you load (on the command line: --import {module:.60})"
    raise ValueError(f"class must be one that has been imported, got {name:.90}: {remedy}")


def _is_ours(module: str) -> bool:
    return module == _PACKAGE or module.startswith(f"{_PACKAGE}.")


def _lookup(module: str, qualname: str) -> Any:
    """Return the class of this name in a module that has been imported, or None."""
    found: Any = sys.modules.get(module)
    for part in qualname.split("."):
        # Not getattr, which may run code of the module.
        found = vars(found).get(part) if hasattr(found, "__dict__") else None
    return found if isinstance(found, type) else None
