"""PyTerrier: the transformer in pipelines and in experiments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from columns import decision, work_of
from support import importorskip

import paretocut as pc
from paretocut.adapters import ScoresWarning
from paretocut.errors import InvalidParameterError, InvalidScoresError

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning"),
]


def transformer(**options: Any) -> Any:
    importorskip("pyterrier")
    from paretocut.adapters.pyterrier import ParetoCut

    return ParetoCut(**options)


def results(lengths: dict[str, int], seed: int = 0) -> Any:
    """Return a frame of results in no order, two of each query far above its others."""
    pd = importorskip("pandas")
    pt = importorskip("pyterrier")
    generator = np.random.default_rng(seed)
    rows = []
    for qid, length in lengths.items():
        scores = generator.exponential(1.0, size=length)
        scores[:2] += 15
        rows += [(qid, f"the query {qid}", f"d{i}", s) for i, s in enumerate(scores)]
    frame = pd.DataFrame(rows, columns=["qid", "query", "docno", "score"])
    frame = frame.sample(frac=1.0, random_state=seed) if rows else frame
    return pt.model.add_ranks(frame)


def mine_reasons(kept: Any, qid: str) -> list[str]:
    return list(kept[kept["qid"] == qid]["reason"])


@pytest.mark.filterwarnings("ignore::paretocut.adapters.ScoresWarning")  # of lists of 1 and 3
@pytest.mark.parametrize("options", [{}, {"evalue": 0.05}, {"fdr": 0.2, "max_k": 1}], ids=str)
def test_keeps_exactly_what_the_engine_says_of_each_query(options: dict[str, Any]) -> None:
    frame = results({"q1": 200, "q2": 120, "q3": 1, "q4": 3})
    before = frame.copy(deep=True)
    made = transformer(**options)
    kept = made(frame)
    assert frame.equals(before)
    for qid, group in frame.groupby("qid"):
        group = group.sort_values("rank")
        fit = pc.fit_tail(group["score"].to_numpy())
        cut = decision(group["score"].tolist(), **options)
        k = cut.k
        assert made.decisions[qid].to_dict()["reason"] == cut.reason
        assert mine_reasons(kept, qid) == [cut.reason] * k
        mine = kept[kept["qid"] == qid].sort_values("rank")
        assert mine["docno"].tolist() == group["docno"].tolist()[:k]
        assert mine["rank"].tolist() == list(range(k))
        assert mine["score"].tolist() == group["score"].tolist()[:k]
        if options:  # a rule on tails
            assert mine["surprise"].tolist() == fit.surprise[:k].tolist()
            assert mine["pvalue"].tolist() == fit.pvalues[:k].tolist()
            assert mine["evalue"].tolist() == fit.evalues[:k].tolist()


def test_an_empty_frame_keeps_its_columns() -> None:
    kept = transformer()(results({}))
    assert len(kept) == 0
    assert {"qid", "docno", "score", "rank", "reason"} <= set(kept.columns)


def test_distances_are_refused() -> None:
    pd = importorskip("pandas")
    frame = pd.DataFrame(
        {"qid": "q1", "docno": [f"d{i}" for i in range(20)], "score": np.arange(20.0)}
    )
    with pytest.raises(InvalidScoresError, match="ParetoCut: scores must not come worst first"):
        transformer()(frame)


def test_options_are_checked_when_the_transformer_is_made() -> None:
    with pytest.raises(InvalidParameterError, match="alpha must be in"):
        transformer(alpha=0)
    assert repr(transformer(evalue=0.05, max_k=3)) == "ParetoCut(evalue=0.05, max_k=3)"


def test_pipelines_and_their_inspection_work() -> None:
    pt = importorskip("pyterrier")
    pd = importorskip("pandas")
    frame = results({"q1": 200, "q2": 200})
    source = pt.Transformer.from_df(frame)
    topics = pd.DataFrame({"qid": ["q1", "q2"], "query": ["one", "two"]})
    pipeline = source % 150 >> transformer(evalue=0.05)
    kept = pipeline(topics)
    assert sorted(zip(kept["qid"], kept["docno"], strict=True)) == [
        ("q1", "d0"),
        ("q1", "d1"),
        ("q2", "d0"),
        ("q2", "d1"),
    ]
    columns = pt.inspect.transformer_outputs(
        transformer(), ["qid", "query", "docno", "score", "rank"]
    )
    assert {"reason", "rank"} <= set(columns)


def test_experiments_measure_it() -> None:
    pt = importorskip("pyterrier")
    pd = importorskip("pandas")
    frame = results({"q1": 200, "q2": 200})
    topics = pd.DataFrame({"qid": ["q1", "q2"], "query": ["one", "two"]})
    qrels = pd.DataFrame(
        [("q1", "d0", 1), ("q1", "d1", 1), ("q2", "d0", 1), ("q2", "d9", 1)],
        columns=["qid", "docno", "label"],
    )
    source = pt.Transformer.from_df(frame)
    table = pt.Experiment(
        [source, source >> transformer(evalue=0.05)],
        topics,
        qrels,
        eval_metrics=[pt.measures.SetP, pt.measures.SetR],
        names=["all", "cut"],
        precompute_prefix=True,
    ).set_index("name")
    # Two results are kept of each query: 2 of 2 and 1 of 2 are relevant.
    assert table.loc["cut", "SetP"] == pytest.approx(0.75)
    assert table.loc["cut", "SetR"] == pytest.approx(0.75)
    assert table.loc["all", "SetP"] == pytest.approx(2 / 200)
    assert table.loc["all", "SetR"] == pytest.approx(1.0)


def test_queries_of_which_nothing_is_kept_have_a_decision() -> None:
    made = transformer(evalue=1e-300)
    assert len(made(results({"q1": 200, "q2": 120}))) == 0
    assert {qid: cut.k for qid, cut in made.decisions.items()} == {"q1": 0, "q2": 0}
    assert made.decisions["q2"].reason.startswith("kept none of 120")


def test_columns_of_the_user_are_not_overwritten() -> None:
    frame = results({"q1": 60})
    with pytest.raises(InvalidParameterError, match="must not have columns reason"):
        transformer()(frame.assign(reason="mine"))
    twice = transformer(max_k=1)(transformer(evalue=0.05)(frame))  # its own columns are fine
    assert len(twice) == 1
    with pytest.raises(InvalidScoresError, match="score must hold numbers"):
        transformer()(frame.assign(score="high"))


def test_scores_of_the_wrong_kind_are_warned_of_once_for_all_queries() -> None:
    pd = importorskip("pandas")
    ranks = [1 / (60 + rank) for rank in range(100)]
    frame = pd.DataFrame({"qid": ["q1"] * 100 + ["q2"] * 100, "docno": "d", "score": ranks * 2})
    with pytest.warns(ScoresWarning, match="scores only encode the rank") as found:
        transformer()(frame)
    assert [one.category for one in found].count(ScoresWarning) == 1


def test_the_work_grows_with_the_queries_and_no_faster() -> None:
    frames = [results({f"q{i}": 60 for i in range(count)}) for count in (5, 40)]
    made = transformer()
    few, many = (work_of(lambda frame=frame: made(frame)) for frame in frames)
    assert many <= 8 * few
