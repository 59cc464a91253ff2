"""Two searches over each collection with texts: BM25 and MiniLM, and the questions put to them."""

from __future__ import annotations

import string
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

import paretocut as pc
from experiments.command import say
from experiments.texts import TEXTS, documents, encode, queries
from paretocut.lists import RankedLists

__all__ = ["DEPTH", "Asked", "ask", "fused", "nonsense", "question_sets"]

DEPTH = 100
_GOOD, _OWN, _OTHER, _NONSENSE, _GROWING = 200, 200, 50, 150, 10
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Asked:
    """Questions of one kind put to one index, each with its scores, best first."""

    texts: list[str]
    lists: list[Array]  # at most 100 scores each; empty if nothing was found
    ids: list[NDArray[np.int64]]  # of their documents


Question = tuple[str, str | None]  # and the document it is put to
Sets = dict[str, dict[str, list[Question]]]  # by index and kind


def question_sets(seed: int = 0) -> Sets:
    """Return the questions for each index, by kind, each with the document it is put to.

    Kinds: good (answerable), own (of this collection, without an answer), other (questions of
    the other collections), letters, nonsense, lexical (nonsense for BM25), lexical 16 and 32 (as
    long as that), and short and long (nonsense that grows from 4 words to 16).
    """
    sets: Sets = {}
    rng = np.random.default_rng(seed)
    for name in TEXTS:
        asked = queries(name)

        def some(answerable: bool, most: int, asked: list[Any] = asked) -> list[Question]:
            fit = [(q.text, q.document) for q in asked if q.answerable is answerable]
            return [fit[i] for i in rng.permutation(len(fit))[:most]]

        texts = list(documents(name).values())
        places = sorted({q.document for q in asked if q.document is not None})

        def anywhere(made: Sequence[str], places: list[str] = places) -> list[Question]:
            return [(t, places[rng.integers(len(places))] if places else None) for t in made]

        sets[name] = {
            "good": some(True, _GOOD),
            "own": some(False, _OWN),
            "letters": anywhere([_letters(rng) for _ in range(100)]),
            "nonsense": anywhere(nonsense(name, seed=seed)),
            "lexical": anywhere(nonsense(name, lexical=True, seed=seed)),
        }
        for length in (16, 32):
            made = nonsense(name, lexical=True, length=length, seed=length)
            sets[name][f"lexical {length}"] = anywhere(made)
        growing = [words.split() for words in nonsense(name, length=16, seed=1)[:_GROWING]]
        long = anywhere([" ".join(words) for words in growing])
        sets[name]["long"] = long
        sets[name]["short"] = [
            (" ".join(words[:4]), place) for words, (_, place) in zip(growing, long, strict=True)
        ]
    for name in TEXTS:
        places = sorted({d for _, d in sets[name]["good"] if d is not None})
        others: list[Question] = []
        for other in TEXTS:
            if other != name:
                # ContractNLI asks the same 17 questions of every contract.
                texts = list(dict.fromkeys(text for text, _ in sets[other]["good"]))[:_OTHER]
                others += [
                    (t, places[rng.integers(len(places))] if places else None) for t in texts
                ]
        sets[name]["other"] = others
    return sets


def nonsense(name: str, **how: Any) -> list[str]:
    """Return nonsense as `paretocut.calibrate` makes it for an index of this size."""
    texts = list(documents(name).values())
    size = int(np.median([len(place) for place in _places(name).values()]))
    return pc.calibration.nonsense_queries(texts, _NONSENSE, size=size, **how)


def _letters(rng: np.random.Generator) -> str:
    sizes = rng.integers(3, 9, size=rng.integers(3, 9))
    return " ".join("".join(rng.choice(list(string.ascii_lowercase), size=n)) for n in sizes)


def ask(system: str, sets: Sets) -> dict[str, dict[str, Asked]]:
    """Return the answers of "MiniLM" or "BM25" to all questions, by collection and kind."""
    if system == "MiniLM":
        sets = _for_vectors(sets)
    answer = _minilm(sets) if system == "MiniLM" else _bm25(sets)
    found = {}
    for name in TEXTS:
        found[name] = {}
        for kind, asked in sets[name].items():
            answers = [answer(name, text, place) for text, place in asked]
            scores, ids = [s for s, _ in answers], [i for _, i in answers]
            found[name][kind] = Asked([text for text, _ in asked], scores, ids)
        say(f"{system}: {name}")
    return found


def fused(
    words: dict[str, dict[str, Asked]], vectors: dict[str, dict[str, Asked]]
) -> dict[str, dict[str, Asked]]:
    """Return the answers of both, fused by a `Fusion` that is fitted on nonsense."""
    found: dict[str, dict[str, Asked]] = {}
    for name in words:
        arms = {
            kind: {"words": _lists(words[name][kind]), "vectors": _lists(vectors[name][kind])}
            for kind in ("good", "own", "other", "letters", "nonsense")
            if words[name][kind].texts
        }
        fusion = pc.fusion.Fusion().fit(arms["nonsense"])
        found[name] = {kind: Asked([], [], []) for kind in words[name]}
        for kind, both in arms.items():
            lists = [scores[:DEPTH] for scores in fusion.fuse(both).scores]
            found[name][kind] = Asked(words[name][kind].texts, lists, [])
    return found


def _lists(asked: Asked) -> RankedLists:
    return RankedLists(asked.lists, doc_ids=[ids.astype(str) for ids in asked.ids])


Answer = Callable[[str, str, str | None], tuple[Array, NDArray[np.int64]]]


def _asked(sets: Sets) -> list[str]:
    return sorted({t for kinds in sets.values() for kind in kinds.values() for t, _ in kind})


def _for_vectors(sets: Sets) -> Sets:
    """Return the questions without the nonsense for BM25."""
    return {
        name: {kind: asked for kind, asked in kinds.items() if not kind.startswith("lexical")}
        for name, kinds in sets.items()
    }


@cache
def _places(name: str) -> dict[str | None, NDArray[np.int64]]:
    """Return the documents that belong to each search: all, or the spans of one contract."""
    ids = list(documents(name))
    if name != "contractnli":
        return {None: np.arange(len(ids))}
    of = np.array([key.rsplit("_", 1)[0] for key in ids])
    return {str(place): np.flatnonzero(of == place) for place in np.unique(of)}


def _minilm(sets: Sets) -> Answer:
    # Kept in half precision, as when the numbers were made.
    def kept(name: str, texts: list[str]) -> NDArray[np.float32]:
        matrix = encode(name, texts).astype(np.float16).astype(np.float32)
        return np.asarray(matrix / np.linalg.norm(matrix, axis=1, keepdims=True))

    @cache
    def index(name: str) -> NDArray[np.float32]:
        return kept(name, list(documents(name).values()))

    asked = _asked(sets)
    vectors = dict(zip(asked, kept("questions", asked), strict=True))

    def answer(name: str, text: str, place: str | None) -> tuple[Array, NDArray[np.int64]]:
        return _best(index(name)[_places(name)[place]] @ vectors[text])

    return answer


def _best(scores: NDArray[Any]) -> tuple[Array, NDArray[np.int64]]:
    order = np.argsort(-scores, kind="stable")[:DEPTH]
    return scores[order].astype(np.float64), order


def _bm25(sets: Sets) -> Answer:
    import bm25s
    import snowballstemmer

    stem = snowballstemmer.stemmer("english").stemWords

    def tokens(texts: list[str]) -> list[list[str]]:
        found: list[list[str]] = bm25s.tokenize(
            texts, stopwords="en", stemmer=stem, show_progress=False, return_ids=False
        )
        return found

    @cache
    def words(name: str) -> list[list[str]]:
        return tokens(list(documents(name).values()))

    @cache
    def index(name: str, place: str | None) -> tuple[Any, set[str]]:
        texts = [words(name)[i] for i in _places(name)[place]]
        engine = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
        engine.index(texts, show_progress=False)
        return engine, {word for text in texts for word in text}

    asked = _asked(sets)
    split = dict(zip(asked, tokens(asked), strict=True))

    def answer(name: str, text: str, place: str | None) -> tuple[Array, NDArray[np.int64]]:
        engine, known = index(name, place)
        if not known.intersection(split[text]):
            return np.zeros(0), np.zeros(0, dtype=np.int64)
        scores, ids = _best(engine.get_scores(split[text]))
        return scores[scores > 0], ids[scores > 0]

    return answer
