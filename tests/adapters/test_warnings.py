"""Short, padded and odd lists: the same decision and the same warnings in every adapter."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support import importorskip

import paretocut as pc
from paretocut.adapters import CutList, ScoresWarning, chroma, elasticsearch, faiss, hnswlib
from paretocut.adapters import duckdb as of_duckdb
from paretocut.adapters import lancedb as of_lancedb
from paretocut.adapters import pgvector as of_pgvector
from paretocut.adapters import sentence_transformers as of_sentences

pa = importorskip("pyarrow")


def by_elasticsearch(scores: list[float], **options: Any) -> int:
    hits = [{"_id": str(i), "_score": score} for i, score in enumerate(scores)]
    found = elasticsearch.cut_search({"hits": {"hits": hits}}, **options)["hits"]["hits"]
    assert isinstance(found, CutList)
    assert found.cut.k == len(found)
    return len(found)


def by_faiss(scores: list[float], **options: Any) -> int:
    labels = np.arange(len(scores))[None]
    found = faiss.cut_search(np.array([scores]), labels, higher_is_better=True, **options)
    assert np.count_nonzero(found[1] != -1) == found.cuts[0].k
    return int(found.cuts[0].k)


def by_lancedb(scores: list[float], **options: Any) -> int:
    return len(of_lancedb.cut_list([{"id": 0, "_score": score} for score in scores], **options))


def by_lancedb_arrow(scores: list[float], **options: Any) -> int:
    table = pa.table({"_score": pa.array(scores, pa.float64())})
    return int(of_lancedb.cut_arrow(table, **options).num_rows)


def by_pgvector(scores: list[float], **options: Any) -> int:
    rows = list(enumerate(scores))
    return len(of_pgvector.cut_rows(rows, 1, higher_is_better=True, **options))


def by_duckdb(scores: list[float], **options: Any) -> int:
    rows = list(enumerate(scores))
    return len(of_duckdb.cut_rows(rows, 1, higher_is_better=True, **options))


def by_sentence_transformers(scores: list[float], **options: Any) -> int:
    hits = [{"corpus_id": i, "score": score} for i, score in enumerate(scores)]
    (found,) = of_sentences.cut_semantic_search([hits], **options)
    return len(found)


WAYS: list[Callable[..., int]] = [
    by_elasticsearch, by_faiss, by_lancedb, by_lancedb_arrow, by_pgvector, by_duckdb,
    by_sentence_transformers,
]  # fmt: skip
every_way = pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)

RANKS = [1 / (60 + rank) for rank in range(100)]
SATURATED = [0.9991, 0.9989, *np.sort(1e-3 * np.random.default_rng(0).random(98))[::-1].tolist()]


def caught(way: Callable[..., int], scores: list[float], **options: Any) -> tuple[int, list[str]]:
    """Return what is kept, and the texts of the warnings."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        k = way(scores, **options)
    assert all(issubclass(one.category, ScoresWarning) for one in found)
    return k, [str(one.message) for one in found]


@every_way
def test_the_default_keeps_what_is_sensible_of_short_lists(way: Callable[..., int]) -> None:
    assert caught(way, [0.99, 0.1]) == (1, [])
    assert caught(way, [0.9, 0.88, 0.2, 0.1, 0.05]) == (2, [])
    assert caught(way, [0.7]) == (1, [])
    # As pgvector's index answers with 40 rows: a few good ones stay, without a tail.
    forty = [0.9, 0.85, 0.84, *np.sort(np.random.default_rng(0).uniform(0.3, 0.4, 37))[::-1]]
    assert caught(way, forty) == (3, [])


@every_way
@pytest.mark.parametrize("rule", [{"evalue": 0.05}, {"alpha": 0.001}], ids=str)
def test_a_rule_keeps_all_of_a_short_list_with_a_warning_unless_asked_to_drop_it(
    way: Callable[..., int], rule: dict[str, float]
) -> None:
    k, texts = caught(way, [0.5, 0.4, 0.35], **rule)
    assert k == 3
    assert len(texts) >= 1
    assert any("fewer" in text for text in texts)
    k, texts = caught(way, [0.5, 0.4, 0.35], if_unsure="drop", **rule)
    assert k == 0
    assert any("fewer" in text for text in texts)


@every_way
def test_results_padded_with_zeros_match_nothing(way: Callable[..., int]) -> None:
    assert caught(way, [9.1, 8.7] + [0.0] * 198)[0] == 2
    assert caught(way, [0.0] * 50)[0] == 0
    assert caught(way, [0.0] * 50, min_k=2)[0] == 2


@every_way
def test_constant_scores_are_all_kept_with_a_warning(way: Callable[..., int]) -> None:
    k, texts = caught(way, [0.5] * 60)
    assert k == 60
    assert [text.partition(": ")[2] for text in texts] == [pc.WARNINGS["constant_scores"]]


@every_way
def test_every_adapter_warns_alike_and_once_for_each_kind(way: Callable[..., int]) -> None:
    for scores, options, kind in (
        (RANKS, {}, "rank_only_scores"),
        (RANKS, {"alpha": 0.05}, "rank_only_scores"),
        (SATURATED, {"alpha": 0.05}, "saturated_scores"),
    ):
        _, texts = caught(way, scores, **options)
        assert [text.partition(": ")[2] for text in texts] == [pc.WARNINGS[kind]]


@every_way
def test_every_adapter_refuses_a_direction_that_contradicts_the_order(
    way: Callable[..., int],
) -> None:
    with pytest.raises(Exception, match="results must come best first"):
        way(np.linspace(0.1, 0.9, 20).tolist())


def batches() -> list[tuple[str, Callable[[list[list[float]]], Any]]]:
    def semantic(lists: list[list[float]]) -> Any:
        hits = [[{"corpus_id": i, "score": s} for i, s in enumerate(one)] for one in lists]
        return of_sentences.cut_semantic_search(hits)

    def of_faiss(lists: list[list[float]]) -> Any:
        labels = np.zeros((len(lists), len(lists[0])), dtype=np.int64)
        return faiss.cut_search(np.array(lists), labels, higher_is_better=True)

    def of_hnswlib(lists: list[list[float]]) -> Any:
        return hnswlib.cut_knn_query(np.zeros((len(lists), len(lists[0]))), -np.array(lists))

    def of_chroma(lists: list[list[float]]) -> Any:
        distances = [[-score for score in one] for one in lists]
        return chroma.cut_query({"ids": distances, "distances": distances})

    return [("sentences", semantic), ("faiss", of_faiss), ("hnsw", of_hnswlib), ("ch", of_chroma)]


@pytest.mark.parametrize(("name", "cut"), batches())
def test_many_queries_are_warned_of_once(name: str, cut: Callable[..., Any]) -> None:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        cut([RANKS, RANKS, RANKS])
    assert len(found) == 1, name


NOISE = np.sort(1.5 - np.random.default_rng(0).exponential(0.05, size=40)).tolist()


def shortfalls() -> list[tuple[str, Callable[[int], Any]]]:
    rows = list(enumerate(NOISE))
    distances = {"ids": [list(range(40))], "distances": [NOISE]}
    hits = [{"_score": 10 - one} for one in NOISE]
    table = pa.table({"_distance": NOISE})
    dicts = table.to_pylist()
    return [
        ("hnsw.ef_search", lambda n: of_pgvector.cut_rows(rows, 1, asked=n)),
        (
            "SET hnsw_ef_search",
            lambda n: of_duckdb.cut_rows(rows, 1, higher_is_better=False, asked=n),
        ),
        (
            "SET hnsw_ef_search",
            lambda n: of_duckdb.cut_arrow(table, "_distance", higher_is_better=False, asked=n),
        ),
        ("num_candidates", lambda n: elasticsearch.cut_search({"hits": {"hits": hits}}, asked=n)),
        ("nprobes", lambda n: of_lancedb.cut_list(dicts, asked=n)),
        ("nprobes", lambda n: of_lancedb.cut_arrow(table, asked=n)),
        ("ef_search", lambda n: chroma.cut_query(distances, asked=n)),
        ("nprobe", _padded),
    ]


def _padded(asked: int) -> Any:
    """Return a cut of what FAISS finds of so many: 40 results, and labels of -1 for the others."""
    missing = asked - 40
    labels = np.array([[*range(40), *[-1] * missing]] * 3)
    found = np.array([[*NOISE, *[3e38] * missing]] * 3)
    return faiss.cut_search(found, labels, higher_is_better=False)


@pytest.mark.parametrize(("remedy", "cut"), shortfalls())
def test_a_search_that_brings_less_than_half_is_warned_of_with_its_remedy(
    remedy: str, cut: Callable[[int], Any]
) -> None:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        cut(200)
    (only,) = found
    assert only.category is ScoresWarning
    assert "the search returned 40 of the 200 results asked for" in str(only.message)
    assert remedy in str(only.message)
    cut(50)  # 40 of 50 are enough, and warnings are errors here
