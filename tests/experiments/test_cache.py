"""Experiments keep results on disk under the hash of their inputs, and numbers in folders."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from support import importorskip

import paretocut as pc
from experiments import cache, results
from paretocut.truncators import BiCut, Conformal, Isotonic, Surprise


def test_results_are_made_once_for_the_same_inputs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "FOLDER", tmp_path)
    calls: list[int] = []
    for value in (1, 1, 2):
        cache.remember("thing", {"value": value}, lambda value=value: calls.append(value))  # type: ignore[misc]
    assert calls == [1, 2]


def test_results_depend_on_every_source_that_matters(tmp_path: Path) -> None:
    importorskip("torch")
    names = {path.name for path in results.sources(Surprise())}
    needed = "relevance.py ranked.py ragged.py gpd.py fits.py search.py rules.py"
    assert names >= {*needed.split(), "protocol.py", "engine.cpp", "trec.py"}
    assert not names & {"plots.py", "published.py"}
    assert "threshold.py" in {path.name for path in results.sources(Isotonic())}
    inside = {path.name for path in results.sources(Conformal(Surprise()))}
    assert {"promises.py", "surprise.py"} <= inside
    names = {path.name for path in results.sources(BiCut())}
    assert {"published.py", "truncator.py", "networks.py"} <= names
    # Another content gives another key.
    (tmp_path / "a.py").write_text("1")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "a.py").write_text("2")
    hashes = cache.hash_files([tmp_path / "a.py", tmp_path / "b" / "a.py"])
    assert len(hashes) == len(set(hashes.values())) == 2


def test_lists_are_known_by_their_scores_and_judgements() -> None:
    lists = [pc.RankedLists([[2.0, 1.0]], [relevant]) for relevant in ([1, 0], [0, 1])]
    one, other = (cache.hash_lists([own]) for own in lists)
    assert one != other
    assert cache.hash_lists(lists) != cache.hash_lists(lists[::-1])


def test_numbers_are_kept_rounded_with_short_lists_on_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results, "path_of", lambda *_: tmp_path / "results.json")
    content = {"f1": np.float64(0.123456), "rows": [["a, b", 1, 0.25], [None, True, 3]]}
    results.write(content, "any")
    text = (tmp_path / "results.json").read_text()
    assert '  ["a, b", 1, 0.25],\n' in text
    assert results.read("any") == json.loads(text) == content | {"f1": 0.1235}


def test_missing_numbers_name_the_command_that_makes_them() -> None:
    with pytest.raises(FileNotFoundError, match=r"python -m experiments\.paper table9"):
        results.read("paper", "table9")


def test_versions_are_noted() -> None:
    stamp = results.stamp()
    assert stamp["versions"]["numpy"] == np.__version__
    assert stamp["commit"]
