"""The public names, pinned: adding or losing one is a decision, not an accident."""

from __future__ import annotations

import types

import paretocut as pc

PUBLIC = [
    "WARNINGS",
    "Background",
    "Cut",
    "Cuts",
    "Evaluation",
    "Fusion",
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
    "load",
    "metrics",
    "plan_judgements",
    "read_lists",
    "read_trec",
    "truncators",
    "write_lists",
    "write_trec",
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
