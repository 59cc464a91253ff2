"""The metric of re-ranking a part of each list, against trec_eval's nDCG and sums by hand."""

from __future__ import annotations

import numpy as np
import pytest
from support import importorskip

from paretocut import metrics, truncators
from paretocut.errors import InvalidParameterError, InvalidScoresError
from paretocut.lists import RankedLists

LENGTHS = (30, 8, 1, 0, 12)


def judged(seed: int = 0) -> RankedLists:
    """Return lists of several lengths with grades 0 to 3; the last has nothing relevant."""
    rng = np.random.default_rng(seed)
    grades = [rng.choice([0, 0, 0, 1, 2, 3], n) for n in LENGTHS]
    grades[-1][:] = 0
    return RankedLists(
        [np.sort(rng.normal(size=n))[::-1] for n in LENGTHS],
        grades,
        doc_ids=[[f"d{i}" for i in range(n)] for n in LENGTHS],
    )


def second(seed: int = 1, *, higher_is_better: bool = True) -> RankedLists:
    """Return a re-ranker's scores of the same results, in another order, with ties."""
    rng = np.random.default_rng(seed)
    orders = [rng.permutation(n) for n in LENGTHS]
    return RankedLists(
        [np.round(rng.normal(size=n), 1) for n in LENGTHS],
        doc_ids=[[f"d{i}" for i in order] for order in orders],
        higher_is_better=higher_is_better,
    )


def after(lists: RankedLists, other: RankedLists, i: int, k: int) -> list[int]:
    """Return the ranks of a list's results after its first k were re-ranked."""
    score = dict(zip(other.doc_ids[i].tolist(), other.merit[i].tolist(), strict=True))
    names = lists.doc_ids[i].tolist()
    return sorted(range(k), key=lambda j: -score[names[j]]) + list(range(k, len(names)))


@pytest.mark.parametrize("higher_is_better", [True, False])
@pytest.mark.parametrize("at", [3, 10])
def test_every_cut_is_the_ndcg_of_trec_eval_after_re_ranking_so_many(
    at: int, higher_is_better: bool
) -> None:
    measures = importorskip("ir_measures")
    lists, other = judged(), second(higher_is_better=higher_is_better)
    # One relevant document of each query was never retrieved.
    grades = {name: [*own.tolist(), 3] for name, own in zip("01234", lists.relevance, strict=True)}
    curves = metrics.reranked_ndcg(other, at=at, grades=grades).curves(lists)
    for i, n in enumerate(LENGTHS):
        qrels = [measures.Qrel("q", f"d{j}", int(g)) for j, g in enumerate(grades[str(i)])]
        for k in range(n + 1):
            order = after(lists, other, i, k)
            run = [measures.ScoredDoc("q", f"d{j}", -r) for r, j in enumerate(order)]
            run = run or [measures.ScoredDoc("q", "nothing", 0)]
            found = measures.calc_aggregate([measures.nDCG @ at], qrels, run)
            assert curves[i][k] == pytest.approx(found[measures.nDCG @ at])


def test_without_a_re_ranker_the_grades_give_the_order() -> None:
    lists = judged()
    by_grades = RankedLists(
        [own.astype(float) for own in lists.relevance], doc_ids=list(lists.doc_ids)
    )
    best, same = metrics.reranked_ndcg(), metrics.reranked_ndcg(by_grades)
    np.testing.assert_allclose(best.curves(lists).values, same.curves(lists).values)
    for curve, relevant in zip(best.curves(lists), lists.relevant, strict=True):
        assert (np.diff(curve) >= -1e-12).all()
        assert curve[-1] == pytest.approx(float(relevant.any()))


def test_a_call_costs_what_was_said() -> None:
    lists, other = judged(), second()
    free = metrics.reranked_ndcg(other).curves(lists)
    paid = metrics.reranked_ndcg(other, cost=0.02).curves(lists)
    for a, b in zip(free, paid, strict=True):
        np.testing.assert_allclose(a - b, 0.02 * np.arange(a.size))


def test_truncators_learn_from_it_and_a_higher_price_cuts_earlier() -> None:
    rng = np.random.default_rng(0)
    lists = RankedLists(np.sort(rng.normal(size=(40, 60)))[:, ::-1], rng.random((40, 60)) < 0.1)
    free, dear = (
        truncators.GlobalK(metrics.reranked_ndcg(cost=cost)).fit(lists).predict(lists)[0]
        for cost in (0.0, 0.01)
    )
    assert dear < free
    best = truncators.Oracle(metrics.reranked_ndcg(cost=0.01)).predict(lists)
    assert len(np.unique(best)) > 5


def test_names_are_found_again_and_saved_only_without_a_re_ranker() -> None:
    metric = metrics.reranked_ndcg(at=5, cost=0.001)
    assert metrics.get(metric.name) == metric
    assert metrics.get("reranked_ndcg@10(0)") == metrics.reranked_ndcg()
    assert metrics.reranked_ndcg() != metrics.reranked_ndcg(cost=0.5)
    assert metrics.reranked_ndcg(second()) != metrics.reranked_ndcg()
    with pytest.raises(InvalidParameterError, match=r"one of .*reranked_ndcg@<at>\(<cost>\)"):
        metrics.get("reranked_ndcg@10(free)")


def test_what_cannot_be_re_ranked_is_refused() -> None:
    lists = judged()
    for wrong, got in ((RankedLists([[1.0]]), "none"), ("run.txt", "str")):
        with pytest.raises(InvalidScoresError, match=f"RankedLists with doc_ids, got {got}"):
            metrics.reranked_ndcg(wrong)  # type: ignore[arg-type]
    bare = RankedLists(lists.scores, lists.relevance)
    with pytest.raises(InvalidScoresError, match="lists must have doc_ids"):
        metrics.reranked_ndcg(second()).curves(bare)
    with pytest.raises(InvalidScoresError, match="every query, got none for '3'"):
        metrics.reranked_ndcg(second()[:3]).curves(lists)
    with pytest.raises(InvalidScoresError, match=r"query '0': .* no score for 'd\d+' and 9 others"):
        metrics.reranked_ndcg(second().truncate(20)).curves(lists)
    with pytest.raises(InvalidParameterError, match="grades must have every query"):
        metrics.reranked_ndcg(grades={"0": [1]}).curves(lists)
    with pytest.raises(InvalidParameterError, match="needs its query and documents"):
        metrics.reranked_ndcg(second()).curve([True, False])
    with pytest.raises(InvalidParameterError, match=r"cost must be .*, got -1"):
        metrics.reranked_ndcg(cost=-1)


def test_unknown_grades_are_refused() -> None:
    lists = RankedLists([[2.0, 1.0]], [[1, None]])
    with pytest.raises(InvalidScoresError, match="nobody judged"):
        metrics.reranked_ndcg().curves(lists)
