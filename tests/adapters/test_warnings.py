"""Short, padded and odd lists: the same decision and the same warnings in every adapter."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support import importorskip

import paretocut as pc
from paretocut.adapters import CutList, ScoresWarning

pa = importorskip("pyarrow")


def by_pairs(scores: list[float], **options: Any) -> int:
    found = pc.keep(list(enumerate(scores)), higher_is_better=True, **options)
    assert isinstance(found, CutList)
    assert found.cut.k == len(found)
    return len(found)


def by_elasticsearch(scores: list[float], **options: Any) -> int:
    hits = [{"_id": str(i), "_score": score} for i, score in enumerate(scores)]
    return len(pc.keep({"hits": {"hits": hits}}, **options)["hits"]["hits"])


def by_faiss(scores: list[float], **options: Any) -> int:
    labels = np.arange(len(scores))[None]
    found = pc.keep((np.array([scores]), labels), higher_is_better=True, **options)
    assert found[1].shape[1] == found.cuts[0].k
    return int(found.cuts[0].k)


def by_sentence_transformers(scores: list[float], **options: Any) -> int:
    hits = [{"corpus_id": i, "score": score} for i, score in enumerate(scores)]
    (found,) = pc.keep([hits], higher_is_better=True, **options)
    return len(found)


WAYS: list[Callable[..., int]] = [
    by_pairs, by_elasticsearch, by_faiss, by_sentence_transformers,
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
    assert [text.partition(": ")[2] for text in texts] == [pc.decisions.WARNINGS["constant_scores"]]


@every_way
def test_every_adapter_warns_alike_and_once_for_each_kind(way: Callable[..., int]) -> None:
    for scores, options, kind in (
        (RANKS, {}, "rank_only_scores"),
        (RANKS, {"alpha": 0.05}, "rank_only_scores"),
        (SATURATED, {"alpha": 0.05}, "saturated_scores"),
    ):
        _, texts = caught(way, scores, **options)
        assert [text.partition(": ")[2] for text in texts] == [pc.decisions.WARNINGS[kind]]


@every_way
def test_every_adapter_refuses_a_direction_that_contradicts_the_order(
    way: Callable[..., int],
) -> None:
    with pytest.raises(Exception, match="must not come worst first"):
        way(np.linspace(0.1, 0.9, 20).tolist())


def test_many_queries_are_warned_of_once() -> None:
    pairs = list(enumerate(RANKS))
    labels = np.zeros((3, 100), dtype=np.int64)
    columns = [[-score for score in RANKS]] * 3
    for answer in (
        [pairs] * 3,
        (np.array([RANKS] * 3), labels),
        {"ids": columns, "distances": columns},
    ):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            pc.keep(answer)
        assert len(found) == 1


def test_a_search_that_brings_less_than_half_is_warned_of_with_a_remedy() -> None:
    noise = np.sort(1.5 - np.random.default_rng(0).exponential(0.05, size=40)).tolist()
    pairs = list(enumerate(noise))
    padded = np.array([[*noise, *[3e38] * 160]]), np.array([[*range(40), *[-1] * 160]])
    for answer in (pairs, padded, [pairs, pairs]):
        with pytest.warns(ScoresWarning, match=r"returned 40 of the 200 .* search deeper \(ef_"):
            pc.keep(answer, asked=200)
        pc.keep(answer, asked=50)  # 40 of 50 are enough, and warnings are errors here
