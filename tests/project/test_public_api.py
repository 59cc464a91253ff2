"""The public names, pinned: adding or losing one is a decision, not an accident."""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Iterator
from typing import Any

import pytest

import paretocut as pc
from paretocut import (
    background,
    calibration,
    evaluation,
    fusion,
    io,
    judging,
    metrics,
    stopping,
    truncators,
)

PUBLIC = [
    "Background",
    "Cut",
    "Cuts",
    "RankedLists",
    "calibrate",
    "cut",
    "cut_batch",
    "errors",
    "evaluate",
    "fit_tail",
    "fit_tails",
    "fuse",
    "io",
    "judge",
    "keep",
    "load",
    "metrics",
    "plan_judgements",
    "read_lists",
    "read_trec",
    "stopping",
    "truncators",
]


def test_public_names_are_the_ones_documented() -> None:
    assert list(pc.__all__) == PUBLIC


def test_public_names_exist_and_are_listed() -> None:
    for name in pc.__all__:
        assert getattr(pc, name) is not None
    assert set(pc.__all__) <= set(dir(pc))


def test_nothing_else_is_visible() -> None:
    # Modules show up as soon as anything imports them.
    visible = {
        name
        for name, value in vars(pc).items()
        if not name.startswith("_") and not isinstance(value, types.ModuleType)
    }
    assert visible <= set(PUBLIC)


def documented() -> Iterator[tuple[str, Any]]:
    """Yield everything public that has a docstring of its own: functions, classes, methods."""
    rooms = (truncators, io, metrics, calibration, evaluation, fusion, judging, stopping)
    for room in (pc, *rooms, background):
        for name in room.__all__:
            found = getattr(room, name)
            if inspect.isfunction(found) or inspect.isclass(found):
                yield f"{room.__name__}.{name}", found
            if inspect.isclass(found) and found.__module__.startswith("paretocut"):
                for own, member in vars(found).items():
                    if not own.startswith("_") and inspect.isfunction(member):
                        yield f"{room.__name__}.{name}.{own}", member


@pytest.mark.parametrize(
    ("name", "found"), [*documented()], ids=lambda value: value if isinstance(value, str) else ""
)
def test_what_is_public_has_a_docstring_that_names_its_parameters(name: str, found: Any) -> None:
    # Ruff asks for no docstrings of functions, because it cannot tell what is public.
    text = inspect.getdoc(found) or ""
    assert text, f"{name} has no docstring"
    if inspect.isclass(found) and ("Parameters\n---" not in text or issubclass(found, Exception)):
        return  # made by the package itself
    if ".Parts." in name or "see `" in text:
        return  # of the package's own machinery, or documented where the method comes from
    parameters = [
        parameter.name
        for parameter in inspect.signature(found).parameters.values()
        if parameter.name not in ("self", "cls") and not parameter.name.startswith("_")
    ]
    missing = [name for name in parameters if not re.search(rf"\b{re.escape(name)}\b", text)]
    assert not missing, f"{name} does not say what {', '.join(missing)} mean"


def test_first_lines_of_properties_have_no_colon() -> None:
    """The documentation takes what stands before one for a type."""
    wrong = [
        f"{name}.{own}"
        for name, found in documented()
        if inspect.isclass(found)
        for own, member in vars(found).items()
        if isinstance(member, property) and not own.startswith("_")
        if ": " in (inspect.getdoc(member) or "").partition("\n")[0]
    ]
    assert wrong == []
