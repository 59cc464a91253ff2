"""The page of the comparison, README and the figure say what the numbers say."""

from __future__ import annotations

import json

import numpy as np
import pytest
from support import ROOT

from experiments.compare import summary

DATA = json.loads((ROOT / "docs" / "results.json").read_text(encoding="utf-8"))


def test_the_page_and_readme_are_made_of_the_numbers() -> None:
    assert (ROOT / "docs" / "results.md").read_text(encoding="utf-8") == summary.page(DATA)
    shown = summary.table(summary.by_kind(DATA))
    assert shown in (ROOT / "README.md").read_text(encoding="utf-8")


def test_a_kind_is_the_mean_of_its_collections_and_a_collection_that_of_its_runs() -> None:
    means = summary.by_kind(DATA)
    news: dict[str, list[float]] = {}
    for run in DATA["runs"]:
        if run["kind"] == "news":
            (value,) = [row[2] for row in run["rows"] if row[:2] == ["f1", "minmax"]]
            news.setdefault(run["family"].partition(",")[0], []).append(value)
    assert set(news) == {"Robust04", "time"}
    expected = np.mean([np.mean(values) for values in news.values()])
    assert means["minmax"]["news"] == pytest.approx(expected)
    assert means["minmax"]["all"] == pytest.approx(
        np.mean([means["minmax"][kind] for kind in summary.ORDER])
    )


def test_weights_sum_to_one_and_treat_kinds_alike() -> None:
    runs = [("a", "x"), ("a", "x"), ("a", "y"), ("b", "z")]
    assert summary.weights(runs).tolist() == [0.125, 0.125, 0.25, 0.5]
