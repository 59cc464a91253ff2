"""Fusion in data frames, plots and reasons: the numbers of the library call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from samples import write_two_runs
from support import importorskip

import paretocut as pc
from paretocut.errors import InvalidParameterError


@pytest.fixture
def runs(tmp_path: Path) -> dict[str, Any]:
    return write_two_runs(tmp_path)


def test_pandas_and_polars_frames_are_fused_alike(runs: dict[str, Any]) -> None:
    pd, pl = importorskip("pandas"), importorskip("polars")
    importorskip("pyarrow")
    frames = {}
    for name, lists in runs["lists"].items():
        frame = pd.DataFrame(
            {
                "query_id": lists.query_ids[lists.scores.rows],
                "doc_id": lists.doc_ids.values,
                "score": lists.scores.values,
            }
        )
        frames[name] = frame.sample(frac=1, random_state=1)
    options: dict[str, Any] = {
        "query": "query_id",
        "higher_is_better": {"near": False},
        "method": "minmax",
    }
    found = pc.fuse(frames, **options)
    want = pc.fuse(runs["lists"], method="minmax")
    assert want.parts is not None
    assert want.doc_ids is not None
    for i, query in enumerate(want.query_ids.tolist()):
        own = found[found.query_id == query]
        assert own.doc_id.tolist() == want.doc_ids[i].tolist()
        np.testing.assert_allclose(own.score, want.scores[i])
        assert own["rank"].tolist() == list(range(1, len(own) + 1))
        np.testing.assert_array_equal(own.score_near, want.parts.scores[1][i])
        assert own.rank_words.tolist() == want.parts.ranks[0][i].tolist()
    in_polars = pc.fuse(
        {name: pl.DataFrame(frame.to_dict("list")) for name, frame in frames.items()}, **options
    )
    assert in_polars["doc_id"].to_list() == found.doc_id.tolist()
    assert in_polars["score_words"].is_nan().sum() == int(found.score_words.isna().sum()) > 0
    for frame in (frames["words"], in_polars):
        with pytest.raises(InvalidParameterError, match="at least 2 retrievers, got 1"):
            pc.fuse([frame], query="query_id")
        with pytest.raises(
            InvalidParameterError, match="query must name one column of every frame"
        ):
            pc.fuse([frame, frame], query="qid")
        with pytest.raises(
            InvalidParameterError,
            match=r"query must name one column of every frame, got .* and int as 2",
        ):
            pc.fuse([frame, 3], query="query_id")


def test_the_frontier_is_recall_and_precision_of_each_threshold(runs: dict[str, Any]) -> None:
    matplotlib = importorskip("matplotlib")
    matplotlib.use("Agg")
    from paretocut.show import plots

    lists = pc.read_trec(runs["files"]["words"], runs["qrels"])
    figure = plots.frontier({"words": lists, "again": lists})
    left, right = figure.axes
    assert [line.get_label() for line in right.lines] == ["words", "again"]
    kept, recall = left.lines[0].get_data()
    half = len(kept) // 2
    k = pc.truncators.ScoreThreshold("minmax", 0.5).predict(lists)
    assert kept[half] == pytest.approx(k.mean())
    hits = [one.relevant[:n].sum() for one, n in zip(lists, k, strict=True)]
    assert recall[half] == pytest.approx(np.mean([hit / 5 for hit in hits]))
    precision = right.lines[0].get_ydata()
    assert precision[half] == pytest.approx(np.mean(np.array(hits) / k))
    assert kept[0] == pytest.approx(1)
    assert kept[-1] == pytest.approx(40)
    matplotlib.pyplot.close(figure)
    with pytest.raises(InvalidParameterError, match="at least one run"):
        plots.frontier({})


def test_the_reason_of_a_cut_names_what_each_retriever_said_on_both_sides() -> None:
    words = pc.RankedLists([[9.0, 7.0, 2.0, 1.0, 0.5]], doc_ids=[list("abcde")])
    near = pc.RankedLists([[0.1, 0.2, 0.6, 0.7]], doc_ids=[list("baxf")], higher_is_better=False)
    fused = pc.fuse({"words": words, "near": near})
    (reason,) = pc.cut_batch(fused).reasons
    assert reason.endswith(
        "; last kept b (words: 7, rank 2; near: 0.1, rank 1)"
        "; first dropped c (words: 2, rank 3; near: not found)"
    )
    (nothing,) = pc.truncators.FixedK(0).cut_batch(fused).reasons
    assert "last kept" not in nothing
    assert "first dropped a (words: 9, rank 1; near: 0.2, rank 2)" in nothing
    (everything,) = pc.truncators.FixedK(99).cut_batch(fused).reasons
    assert "first dropped" not in everything
    assert "last kept" not in pc.cut_batch(pc.RankedLists([[2.0, 1.0]])).reasons[0]
    text = "a text of many words that nobody wants to read twice"
    lists = pc.RankedLists([[2.0]], doc_ids=[[text]])
    (brief,) = pc.truncators.FixedK(1).cut_batch(pc.fuse([lists, lists])).reasons
    assert brief.endswith(f"; last kept {text[:37]}... (1: 2, rank 1; 2: 2, rank 1)")


def test_zeros_of_a_fused_list_are_scores_and_no_padding() -> None:
    flat = pc.RankedLists([[1.0, 1.0, 1.0]], doc_ids=[list("abc")])
    fused = pc.fuse([flat, flat])
    assert fused.scores.values.tolist() == [0.0, 0.0, 0.0]
    assert pc.truncators.FixedK(2).cut_batch(fused).k.tolist() == [2]
