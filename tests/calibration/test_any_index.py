"""Calibration finds out what it deals with: kind of scores, size of the index, script, mistakes."""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import paretocut as pc
from paretocut.background import Origin
from paretocut.calibration import calibrated, nonsense_queries
from paretocut.calibration.nonsense import own_words
from paretocut.errors import InvalidParameterError, InvalidScoresError
from paretocut.truncators import Calibrated, Consensus, FixedK, Gated

RNG = np.random.default_rng(0)
WORDS = [f"{a}{b}{c}" for a in "bdfgk" for b in "aeiou" for c in "lmnr"]
TEXTS = [" ".join(RNG.choice(WORDS, 12, replace=False)) for _ in range(60)]
VECTORS = dict(zip(WORDS, RNG.normal(size=(len(WORDS), 48)), strict=True))


def vector(text: str) -> Any:
    """Return the mean direction of the words."""
    known = [
        VECTORS.get(word, np.random.default_rng(len(word)).normal(size=48)) for word in text.split()
    ]
    total = np.sum(known, axis=0)
    return total / np.linalg.norm(total)


INDEX = np.array([vector(text) for text in TEXTS])


def dense(query: str) -> Any:
    return np.sort(INDEX @ vector(query))[::-1]


def overlap(query: str) -> list[float]:
    """Return a score that grows with every word in common, as BM25 does."""
    asked = set(query.split())
    rare = [
        sum((1 + i % 3) for i, w in enumerate(WORDS) if w in asked & set(t.split())) for t in TEXTS
    ]
    return sorted(map(float, rare), reverse=True)


# Kinds of scores.


def test_lexical_scores_are_noticed_and_others_are_not() -> None:
    assert pc.calibrate(overlap, TEXTS, n=20).scale_ is not None
    assert pc.calibrate(dense, TEXTS, n=20).scale_ is None
    assert pc.calibrate(overlap, TEXTS, n=20, lexical=False).scale_ is None
    far = pc.calibrate(lambda query: 1 - dense(query), TEXTS, n=20, higher_is_better=False)
    assert far.scale_ is None


# What a gate was made for.


def test_a_gate_knows_what_it_was_made_for(tmp_path: Path) -> None:
    made = pc.calibrate(dense, TEXTS, n=30)
    origin = made.origin_
    assert isinstance(origin, Origin)
    assert (origin.search, origin.size) == ("dense", 60)
    seen = made.background.seen
    assert seen is not None
    assert seen.depth == 60
    assert seen.scores[0] < seen.middles[0] < seen.middles[1] < seen.scores[1] <= 1
    made.save(tmp_path / "gate.json")
    loaded = pc.load(tmp_path / "gate.json")
    assert (loaded.origin_, loaded.background) == (origin, made.background)
    assert "for dense" in made.report()
    assert "of them got results on test collections" in made.report()


def test_scores_of_another_kind_are_warned_of() -> None:
    def odd(gate: Calibrated, scores: Any, **how: Any) -> bool:
        return "unseen_scores" in gate.cut(scores, **how).warnings

    made = pc.calibrate(dense, TEXTS, n=30)
    assert not any(odd(made, dense(text)) for text in [*TEXTS, "strange words of another world"])
    assert odd(made, [22.0, 18.0, 3.0, 2.0, 1.0])
    assert odd(made, -10 - dense(TEXTS[0])[::-1])
    squared = pc.calibrate(lambda q: 2 - 2 * dense(q), TEXTS, n=30, higher_is_better=False)
    asked = ["strange words of another world", *TEXTS[:9]]
    assert all(odd(squared, 1 - dense(text), higher_is_better=False) for text in asked)
    assert not any(odd(squared, 2 - 2 * dense(text), higher_is_better=False) for text in asked)


def test_a_file_of_another_search_is_refused(tmp_path: Path) -> None:
    # The new model kept the threshold of the old one.
    file = tmp_path / "kept.jsonl"
    first = pc.calibrate(dense, TEXTS, n=20, resume=file)
    assert pc.calibrate(dense, TEXTS, n=20, resume=file).threshold() == first.threshold()
    with pytest.raises(InvalidParameterError, match="resume must name a file of the same search"):
        pc.calibrate(lambda query: dense(query) / 2, TEXTS, n=20, resume=file)


# Who decides how many.


def test_a_truncator_decides_behind_the_gate() -> None:
    log = TEXTS[:30]
    assert repr(pc.calibrate(dense, TEXTS, n=20, truncator=FixedK(3)).base) == "FixedK(k=3)"
    known = pc.calibrate(dense, TEXTS, n=20, queries=log)
    again = pc.calibrate(dense, TEXTS, n=20, queries=log, truncator=known)
    assert isinstance(again.base, Consensus)  # not a gate behind a gate
    assert again.base.learned_.to_dict() == known.base.learned_.to_dict()
    with pytest.raises(InvalidParameterError, match="expect must be left out with a truncator"):
        pc.calibrate(dense, TEXTS, n=20, expect="one", truncator=FixedK(3))
    with pytest.raises(InvalidParameterError, match="truncator must be a truncator or None"):
        pc.calibrate(dense, TEXTS, n=20, truncator="one")  # type: ignore[arg-type]


# Small indexes.


def test_words_from_elsewhere_make_the_nonsense_of_small_indexes() -> None:
    assert [own_words(size) for size in (1, 50, 100, 300, 800, 10**6)] == [2, 2, 3, 5, 8, 8]
    texts = ["the ferns of this garden grow in the shade of old trees", "roses like full sun"]
    own = {word for text in texts for word in text.split()}
    for query in nonsense_queries(texts, 20, size=5):
        words = query.split()
        assert len(words) == 8
        assert len(own & set(words)) == 2
    assert all(set(query.split()) <= own for query in nonsense_queries(texts, 20))
    # Nothing is known of other languages, except by the queries.
    german = ["Farne wachsen gern im Schatten der alten Bäume", "Rosen lieben volle Sonne"]
    own = {word.lower() for text in german for word in text.split()}
    assert all(set(query.split()) <= own for query in nonsense_queries(german, 9, size=5))
    asked = ["Wie gieße ich Tomaten richtig", "Welche Erde brauchen junge Kakteen im Winter"]
    mixed = nonsense_queries(german, 9, size=5, others=asked)
    assert all(len(set(query.split()) & own) == 2 for query in mixed)


# Scripts.


def test_scripts_without_spaces_are_cut_into_pairs() -> None:
    texts = ["番茄喜欢充足的阳光 每天至少需要六个小时的日照。", "给兰花浇水要少 GPU-3090 很快。"]
    assert pc.background.query_scale.words("我喜欢 GPU3090") == {"我喜", "喜欢", "gpu3090"}
    for query in nonsense_queries(texts, 30):
        assert 14 <= len(query) <= 24
        assert all(query not in text for text in texts)
        assert " " not in query or "gpu" in query or "3090" in query
    assert pc.background.query_scale.words("हिन्दी में") == {"हिन्दी", "में"}


# Mistakes.


@pytest.mark.parametrize(
    ("search", "match"),
    [
        (lambda query: [], "different best scores to different queries, got results for only 0"),
        (lambda query: [0.5, 0.4], "different best scores to different queries, got 0.5 for all"),
        (lambda query: None, "calibrate: search: answer must hold results with scores.*got None"),
        (lambda query: (["a", "b"], [0.9, 0.5]), "different best scores .* got 0.9 for all"),
        (lambda query: (np.array([3, 1]), np.array([0.9, 0.5])), "got 0.9 for all"),
        (lambda query: {"score": "x"}, "search: answer must hold results with scores"),
        (7, "search must be a function, got 7"),
    ],
)
def test_a_search_that_gives_something_else_is_told_what_to_give(search: Any, match: str) -> None:
    with pytest.raises(InvalidParameterError, match=match):
        pc.calibrate(search, TEXTS)


@pytest.mark.parametrize(
    ("arguments", "options", "match"),
    [
        ((TEXTS, dense), {}, "search comes first, then texts"),
        ((dense, "one text"), {}, "texts must be a list of texts of the index, got 'one text'"),
        ((dense, None), {}, "texts must be a list of texts of the index, got None"),
        ((dense, []), {}, "texts must be strings, at least one, got none"),
        ((dense, [1]), {}, "texts must be a list of texts of the index, got 1"),
        ((dense, TEXTS), {"n": 5}, "n must be an integer of at least 10, got 5"),
        ((dense, TEXTS), {"queries": "one"}, "queries must be a list of texts or None"),
    ],
)
def test_mistakes_in_the_call_are_named(arguments: Any, options: Any, match: str) -> None:
    with pytest.raises(InvalidParameterError, match=match):
        pc.calibrate(*arguments, **options)


def test_a_misspelt_argument_names_the_function_that_was_called() -> None:
    with pytest.raises(TypeError, match=r"^calibrate\(\) got an unexpected keyword"):
        pc.calibrate(dense, TEXTS, querys=[])  # type: ignore[call-arg]


def test_a_background_in_place_of_the_base_is_refused() -> None:
    background = calibrated([dense(text) for text in TEXTS]).background
    with pytest.raises(InvalidParameterError, match="Gated: base must be a truncator, got Backgr"):
        Gated(background, Consensus()).cut([0.5, 0.4])  # type: ignore[arg-type]


# Asynchronous functions.


def test_an_asynchronous_search_works_also_inside_a_loop() -> None:
    at_once, most = 0, 0

    async def search(query: str) -> Any:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        await asyncio.sleep(0.001)
        at_once -= 1
        return dense(query)

    expected = pc.calibrate(dense, TEXTS, n=20).threshold()
    assert pc.calibrate(search, TEXTS, n=20).threshold() == expected
    assert most > 1

    async def notebook() -> float:
        return pc.calibrate(search, TEXTS, n=20).threshold()

    assert asyncio.run(notebook()) == expected

    async def many(queries: list[str]) -> Any:
        return [dense(query) for query in queries]

    assert pc.calibrate(many, TEXTS, n=20, batch=True).threshold() == expected


def test_an_asynchronous_judge_works() -> None:
    lists = pc.RankedLists([[0.9, 0.5, 0.1]], doc_ids=[["a", "b", "c"]])

    async def ask(query: str, document: str) -> bool:
        await asyncio.sleep(0)
        return document == "a"

    judged = pc.judge(lists, ask, budget=3)
    assert judged.relevance is not None
    assert judged.relevance.values.tolist() == [1, 0, 0]


def test_calibration_costs_little_more_than_its_searches() -> None:
    """Counted in searches and in time of the processor, which a busy machine does not stretch."""
    searches, inside = 0, 0.0

    def counted(query: str) -> Any:
        nonlocal searches, inside
        start = time.process_time()
        found = dense(query)
        searches, inside = searches + 1, inside + time.process_time() - start
        return found

    start = time.process_time()
    pc.calibrate(counted, TEXTS, n=100)
    assert 100 <= searches <= 130
    assert time.process_time() - start - inside < 1


def test_threads_search_at_the_same_time() -> None:
    first_four, calls = threading.Barrier(4, timeout=300), itertools.count()

    def together(query: str) -> Any:
        if next(calls) < 4:
            first_four.wait()  # breaks, and calibration with it, unless four are here at once
        return dense(query)

    pc.calibrate(together, TEXTS, n=100, threads=4)


@pytest.mark.parametrize(
    "bad", [np.ma.masked_array([0.9, 0.8, 0.3], [1, 0, 0]), ["0.9", "0.2"], [0.9 + 2j, 0.3]]
)
def test_a_gate_checks_scores_as_everything_does(bad: Any) -> None:
    # Masked values counted once, strings and complex numbers passed.
    lists = np.sort(np.random.default_rng(0).normal(0.3, 0.1, (100, 50)))[:, ::-1]
    with pytest.raises(InvalidScoresError, match="scores must"):
        pc.calibration.calibrated(lists).cut(bad)
