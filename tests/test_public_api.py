"""The public names, pinned: adding or losing one is a decision, not an accident."""

from __future__ import annotations

import paretocut as pc

PUBLIC = [
    "Cut",
    "RankedLists",
    "SurpriseFit",
    "SurpriseFits",
    "cut",
    "errors",
    "evaluate",
    "fit",
    "fit_batch",
    "metrics",
    "read_trec",
    "truncators",
]


def test_public_names_are_the_ones_documented() -> None:
    assert list(pc.__all__) == PUBLIC


def test_public_names_are_sorted_and_exist() -> None:
    assert list(pc.__all__) == sorted(pc.__all__)
    for name in pc.__all__:
        assert getattr(pc, name) is not None
    assert set(pc.__all__) <= set(dir(pc))
