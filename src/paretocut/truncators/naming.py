"""Names of truncator classes in files: bare names for ours, full import names for others."""

from __future__ import annotations

import inspect
import sys
from functools import cache
from typing import Any

from paretocut.errors import InvalidParameterError


@cache
def ours() -> dict[str, type]:
    """Return the classes that `paretocut.truncators` lists in its ``__all__``, by name."""
    room = sys.modules[__package__]
    found = ((name, getattr(room, name)) for name in room.__all__)
    return {
        name: kind
        for name, kind in found
        if hasattr(kind, "decide") and not inspect.isabstract(kind)
    }


def refuse_impostor(kind: type) -> None:
    """Raise InvalidParameterError for a class that claims a name of this package as its own."""
    if _is_ours(kind.__module__) and _lookup(kind.__module__, kind.__qualname__) is not None:
        raise InvalidParameterError(
            "__module__ must be the module that defines the class, got "
            f"{kind.__module__}, which has one of that name",
            who=kind.__qualname__,
        )


def name_of(kind: type) -> str:
    """Return the name of a class in files; `class_named` finds the class again."""
    if ours().get(kind.__name__) is kind:
        return kind.__name__
    full = f"{kind.__module__}.{kind.__qualname__}"
    if _lookup(kind.__module__, kind.__qualname__) is not kind:
        why = "is defined inside a function" if "<locals>" in full else "is another class by now"
        raise InvalidParameterError(
            "a class must be found by its name, at the top level of a module, before its "
            f"truncators can be saved, got {full}, which {why}",
            who=kind.__name__,
        )
    return full


def class_named(name: Any) -> type:
    """Return the class that a file names; only our own modules are imported for it."""
    if isinstance(name, str) and name in ours():
        return ours()[name]
    module = name.rpartition(".")[0] if isinstance(name, str) else ""
    if not module or _is_ours(name):
        raise ValueError(
            f"class must be one of {', '.join(ours())}, or the full name of a class of yours, "
            f"got {name!r:.60}"
        )
    parts = name.split(".")
    for i in range(len(parts) - 1, 0, -1):  # a class may be inside a class
        found = _lookup(".".join(parts[:i]), ".".join(parts[i:]))
        if found is not None:
            return found
    if module == "__main__":
        remedy = "define it in this program before you load"
    elif module in sys.modules:
        remedy = f"there is none in {module:.60}"
    else:
        remedy = f"import {module:.60} before you load (on the command line: --import {module:.60})"
    raise ValueError(f"class must be one that has been imported, got {name:.90}: {remedy}")


def _is_ours(module: str) -> bool:
    return f"{module}.".startswith("paretocut.")


def _lookup(module: str, qualname: str) -> type | None:
    """Return the class of this name in a module that has been imported, or None."""
    found: Any = sys.modules.get(module)
    for part in qualname.split("."):
        # Not getattr, which may run code of the module.
        found = vars(found).get(part) if hasattr(found, "__dict__") else None
    return found if isinstance(found, type) else None
