"""The frozen test: its rules by hand, and that it runs once. No frozen run is read here."""

# ruff: noqa: E402 - what the experiments import must be known to be there first

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from support import importorskip

importorskip("sklearn")
importorskip("matplotlib")

import paretocut as pc
from experiments import results
from experiments.frozen import __main__ as main
from experiments.frozen import measure, report
from experiments.frozen.sets import FROZEN


def test_fourteen_collections_of_which_four_are_blind() -> None:
    assert len(FROZEN) == 14
    blind = {one.name for one in FROZEN if one.blind}
    assert blind == {"cystic", "metatool", "hwu64", "imdb_tmdb"}
    assert all(one.folder == f"frozen/{one.name}" for one in FROZEN)


def test_the_gain_of_a_cut_by_hand() -> None:
    lists = pc.RankedLists([[3.0, 2.0, 1.0]] * 4, [[1, 0, 1]] * 3 + [[1, 1, 0]])
    weight = 1 / np.log2([2, 3, 4])
    one = weight[0] / (weight[0] + weight[1])
    wanted = [0.0, one, (weight[0] + weight[2]) / weight.sum(), 1.0]
    assert measure.gain(lists, np.array([0, 1, 3, 2])) == pytest.approx(wanted)


def test_verdicts_follow_from_intervals() -> None:
    assert report.verdict((0.02, 0.01, 0.03)) == "ahead"
    assert report.verdict((-0.02, -0.03, -0.01)) == "behind"
    assert report.verdict((0.02, -0.01, 0.05)) == "not shown"


def test_every_row_that_is_compared_is_measured() -> None:
    rng = np.random.default_rng(0)
    relevant = np.arange(20) < rng.integers(1, 8, size=(24, 1))
    scores = np.sort(rng.random((24, 20)) + relevant, axis=1)[:, ::-1]
    found = measure.cuts(pc.RankedLists(scores, relevant))["means"]
    assert set(found) == set(report.SHOWN)
    assert {name for pair in measure.COMPARISONS for name in pair} <= set(found)
    assert all(found["oracle"][0] >= values[0] - 1e-9 for values in found.values())


def test_the_page_names_what_a_part_leaves_out() -> None:
    content = results.read("frozen")
    facts = report.facts(content)
    assert facts["textless"] == "treccovid5, cast21, askubuntu"
    assert facts["large"] == "walmart_amazon"
    silent = [cell for row in content["accept"] for cell in row["budgets"].values()]
    silent = [cell for cell in silent if cell["accept"]["share"] < 0.005]
    found = report.accepting(content["accept"])
    assert found == {"cases": 64, "unbroken": 64, "empty": len(silent)}
    # A promise that every resample breaks is broken, whatever the other cases do.
    content["accept"][0]["budgets"]["0.01"]["accept"]["broken"] = 1.0
    assert report.accepting(content["accept"])["unbroken"] == 63


def test_differences_name_the_number() -> None:
    kept = {"a": [0.1, {"b": 1}], "c": "x"}
    assert main._differences(kept, {"a": [0.10001, {"b": 1}], "c": "x"}) == []
    assert main._differences(kept, {"a": [0.2, {"b": 1}], "c": "x"}) == ["/a/0: kept 0.1, now 0.2"]


def test_kept_numbers_are_never_replaced(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    path.write_text('{"constants": {}, "rows": []}', encoding="utf-8")
    monkeypatch.setattr(results, "path_of", lambda *_: path)
    monkeypatch.setattr(main, "measure", lambda _: {"rows": [1]})
    monkeypatch.setattr(main, "constants", dict)
    monkeypatch.setattr(sys, "argv", ["frozen"])
    with pytest.raises(SystemExit, match="they stay as they are"):
        main.main()
    assert path.read_text(encoding="utf-8") == '{"constants": {}, "rows": []}'
