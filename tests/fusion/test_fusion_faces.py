"""Fusion from the command line, in data frames and in plots: the numbers of the library call."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import importorskip

import paretocut as pc
from paretocut.cli import main
from paretocut.errors import InvalidParameterError


@pytest.fixture
def runs(tmp_path: Path) -> dict[str, Any]:
    """Return two runs on disk, one of distances, with judgements, and their lists."""
    rng = np.random.default_rng(0)
    relevant = np.arange(60) < 5
    names = [f"d{i}" for i in range(60)]
    queries = [f"q{i}" for i in range(24)]
    files, lists = {}, {}
    for name, up in (("words", True), ("near", False)):
        scores = rng.normal(size=(24, 60)) + 2 * relevant
        one = pc.RankedLists(
            scores if up else 9 - scores,
            doc_ids=[names] * 24,
            query_ids=queries,
            higher_is_better=up,
        ).truncate(40)
        files[name] = tmp_path / f"{name}.run"
        pc.write_trec(files[name], one)
        lists[name] = pc.read_trec(files[name], higher_is_better=up)
    qrels = tmp_path / "qrels.txt"
    qrels.write_text("".join(f"{q} 0 {d} 1\n" for q in queries for d in names[:5]))
    return {"files": files, "lists": lists, "qrels": qrels, "folder": tmp_path}


def fuse(runs: dict[str, Any], *options: str) -> int:
    files = [str(file) for file in runs["files"].values()]
    return main(["fuse", *files, "--distances", files[1], *options])


@pytest.mark.parametrize(
    ("options", "method", "more"),
    [
        ([], "z", {}),
        (["--method", "rrf", "--depth", "20"], "rrf", {"depth": 20}),
        (["--method", "minmax", "--weights", "2", "1"], "minmax", {"weights": [2, 1]}),
    ],
)
def test_the_command_writes_what_fuse_returns(
    runs: dict[str, Any], options: list[str], method: str, more: dict[str, Any]
) -> None:
    target = runs["folder"] / "fused.run"
    assert fuse(runs, "-o", str(target), *options) == 0
    written, want = pc.read_trec(target), pc.fuse(runs["lists"], method=method, **more)
    assert written.doc_ids is not None
    assert want.doc_ids is not None
    assert written.scores.values.tolist() == want.scores.values.tolist()
    assert written.doc_ids.values.tolist() == want.doc_ids.values.tolist()


@pytest.mark.parametrize(
    ("how", "choice"),
    [
        ([], {}),
        (["few"], {"expect": "few"}),
        (["3"], {"expect": 3}),
        (["surprise:evalue=0.05"], {"evalue": 0.05}),
    ],
)
def test_the_command_cuts_what_it_fused(
    runs: dict[str, Any], how: list[str], choice: dict[str, Any], capsys: Any
) -> None:
    assert fuse(runs, "--json", "--cut", *how) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    fused = pc.fuse(runs["lists"])
    cuts = pc.cut_batch(fused, **choice)
    assert [row["k"] for row in rows] == cuts.k.tolist()
    assert [row["reason"] for row in rows] == list(cuts.reasons)
    assert "near: " in rows[0]["reason"]
    first = rows[0]["results"]
    assert len(first) == rows[0]["k"]
    assert fused.parts is not None
    for place, result in enumerate(first):
        said = [float(scores[0][place]) for scores in fused.parts.scores]
        shown = [result["parts"].get(name, {}).get("score") for name in ("words", "near")]
        assert shown == [None if np.isnan(score) else score for score in said]


def test_the_command_takes_a_saved_model_and_a_saved_fusion(runs: dict[str, Any]) -> None:
    folder = runs["folder"]
    fusion = pc.Fusion().fit(runs["lists"])
    fusion.save(folder / "fusion.json")
    pc.truncators.FixedK(3).save(folder / "model.json")
    target = folder / "cut.run"
    options = ["--fusion", str(folder / "fusion.json"), "--cut", str(folder / "model.json")]
    assert fuse(runs, "-o", str(target), *options) == 0
    written, want = pc.read_trec(target), fusion.fuse(runs["lists"]).truncate(3)
    assert written.scores.values.tolist() == want.scores.values.tolist()


def test_queries_that_one_run_lacks_are_named(runs: dict[str, Any], capsys: Any) -> None:
    lists = pc.read_trec(runs["files"]["words"])
    pc.write_trec(runs["files"]["words"], lists[:-1])
    assert fuse(runs, "-o", str(runs["folder"] / "fused.run")) == 0
    assert "without a list from words ('q23')" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--distances", "other.run"], "--distances must name one of the runs"),
        (["--weights", "1"], "weights must be 2 numbers"),
        (["--cut", "nonsense"], "nonsense"),
    ],
)
def test_bad_usage_of_the_command_is_told(
    runs: dict[str, Any], options: list[str], message: str, capsys: Any
) -> None:
    assert fuse(runs, *options) == 2
    assert message in capsys.readouterr().err


def test_compare_shows_single_runs_fusions_and_cuts_in_one_table(
    runs: dict[str, Any], capsys: Any
) -> None:
    words, near = (str(file) for file in runs["files"].values())
    # Both as distances would be wrong for one of them, so compare takes runs of one direction.
    lists = pc.read_trec(near, higher_is_better=False)
    pc.write_trec(
        near,
        pc.RankedLists(
            lists.scores.with_values(-lists.scores.values),
            doc_ids=lists.doc_ids,
            query_ids=lists.query_ids,
        ),
    )
    arguments = ["--fuse", near, "--methods", "minmax", "--metrics", "f1/collection", "--json"]
    assert main(["compare", words, str(runs["qrels"]), *arguments, "-q"]) == 0
    rows = json.loads(capsys.readouterr().out)["summary"]
    means = {row["truncator"]: row["mean"] for row in rows}
    assert list(means) == [
        f"{run}: {method}"
        for run in ("words", "near", "fused, rrf", "fused, z", "fused, fitted")
        for method in ("minmax", "oracle")
    ]
    single = pc.read_trec(words, runs["qrels"])
    alone = pc.evaluate({"minmax": "minmax"}, single, ["f1/collection"])
    assert means["words: minmax"] == pytest.approx(alone["f1/collection", "minmax"].mean)
    assert means["fused, z: minmax"] > means["words: minmax"]


def test_pandas_and_polars_frames_are_fused_alike(runs: dict[str, Any]) -> None:
    pd, pl = importorskip("pandas"), importorskip("polars")
    importorskip("pyarrow")
    from paretocut.adapters import pandas as with_pandas
    from paretocut.adapters import polars as with_polars

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
    options: dict[str, Any] = {"higher_is_better": {"near": False}, "method": "minmax"}
    found = with_pandas.fuse_rows(frames, **options)
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
    in_polars = with_polars.fuse_rows(
        {name: pl.DataFrame(frame.to_dict("list")) for name, frame in frames.items()}, **options
    )
    assert in_polars["doc_id"].to_list() == found.doc_id.tolist()
    assert in_polars["score_words"].null_count() == int(found.score_words.isna().sum()) > 0
    for module, frame in ((with_pandas, frames["words"]), (with_polars, in_polars)):
        with pytest.raises(InvalidParameterError, match="at least 2, got 1"):
            module.fuse_rows([frame])
        with pytest.raises(InvalidParameterError, match="query must name a column"):
            module.fuse_rows([frame, frame], query="qid")
        with pytest.raises(InvalidParameterError, match="DataFrame"):
            module.fuse_rows([frame, 3])


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
