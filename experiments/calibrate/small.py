"""Small indexes: how many words of the nonsense should come from the index itself."""

from __future__ import annotations

import gzip
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.cache import hash_files, remember
from experiments.command import say
from experiments.data import ROOT, data_dir
from experiments.texts import TEXTS, documents, encode, queries
from paretocut.background import Background
from paretocut.calibration.nonsense import as_query, drawn_words, own_words

__all__ = ["MIXTURES", "SIZES", "measure", "questions"]

SIZES = (5, 10, 20, 50, 100, 300, 1000)
MIXTURES = (1, 2, 3, 4, 6, 8)
_NAMES = tuple(name for name in TEXTS if name != "contractnli")  # each contract is small itself
_GOOD, _OTHER, _NONSENSE = 200, 40, 40
_DRAWS = {5: 3, 10: 2, 20: 2}
# Rules to choose from: the square root of the size over this, and at least so many words.
_RULES = tuple((over, least) for over in (3.0, 6.0, 12.5, 25.0, 50.0) for least in (1, 2, 3))
Array = NDArray[np.float64]


def measure() -> dict[str, Any]:
    """Return the shares answered and refused by size and mixture, and by the rule that ships.

    MiniLM. ``held_out`` is the rule that is best on all other collections.
    """
    rates = {name: _rates(name) for name in _NAMES}
    sizes = {n: [s for s in SIZES if str(s) in rates[n]] for n in _NAMES}
    ships = {n: {str(s): _by(rates[n], s, own_words(s)) for s in sizes[n]} for n in _NAMES}
    chosen = {n: _best({m: rates[m] for m in _NAMES if m != n}) for n in _NAMES}
    held_out = {
        n: {str(s): _by(rates[n], s, _words(s, *chosen[n])) for s in sizes[n]} for n in _NAMES
    }
    return {"rates": rates, "ships": ships, "held_out": held_out, "chosen": chosen}


def _words(size: int, over: float, least: int) -> int:
    return round(min(max((size / over) ** 0.5, least), 8))


def _by(rates: dict[str, Any], size: int, own: int) -> list[float]:
    """Return the rates of the nearest mixture that was measured."""
    nearest = min(MIXTURES, key=lambda mixture: abs(mixture - own))
    found: list[float] = rates[str(size)][str(nearest)]
    return found


def _best(rates: dict[str, dict[str, Any]]) -> tuple[float, int]:
    """Return the rule with the best mean of answered and refused."""

    def value(rule: tuple[float, int]) -> float:
        pairs = [(own, int(size)) for own in rates.values() for size in own]
        return float(np.mean([_by(own, size, _words(size, *rule)) for own, size in pairs]))

    return max(_RULES, key=value)


def _rates(name: str) -> dict[str, dict[str, list[float]]]:
    """Return the shares of good questions answered and of others refused, by size and mixture."""
    folder = ROOT / "src" / "paretocut"
    used = [folder / "data" / "common_words.txt"]
    inputs = {
        "name": name,
        "sizes": SIZES,
        "mixtures": MIXTURES,
        "files": hash_files(used),
    }
    return remember(f"small {name}", inputs, lambda: _measured(name))


def _measured(name: str) -> dict[str, dict[str, list[float]]]:
    texts, vectors = list(documents(name).values()), encode(name, list(documents(name).values()))
    asked, relevant = questions(name)
    good = encode(f"good {name}", asked)
    other = np.concatenate(
        [encode(f"good {n}", questions(n)[0])[:_OTHER] for n in _NAMES if n != name]
    )
    found: dict[str, dict[str, list[float]]] = {}
    for size in (size for size in SIZES if size <= len(texts)):
        draws = range(_DRAWS.get(size, 1))
        rows = [_draw(texts, vectors, good, relevant, other, size, i) for i in draws]
        means = np.nanmean(rows, axis=0).tolist()
        found[str(size)] = dict(zip(map(str, MIXTURES), means, strict=True))
    say(f"small: {name}")
    return found


def _draw(
    texts: list[str],
    vectors: NDArray[np.float32],
    good: NDArray[np.float32],
    relevant: list[list[int]],
    other: NDArray[np.float32],
    size: int,
    seed: int,
) -> Array:
    """Return both shares of each mixture, in an index of so many documents drawn at random.

    At least half of them are relevant to a question.
    """
    rng = np.random.default_rng(1000 * size + seed)
    wanted = rng.permutation(sorted({i for own in relevant for i in own}))
    first = wanted[: size if size <= 20 else max(size // 2, 20)].tolist()
    rest = [i for i in rng.permutation(len(texts)).tolist() if i not in set(first)]
    inside = [*first, *rest][:size]
    index = vectors[inside]
    mine = [i for i, own in enumerate(relevant) if set(inside).intersection(own)]
    best, off = ((asked @ index.T).max(axis=1) for asked in (good[mine], other))
    own = [texts[i] for i in inside]
    made = [
        as_query(words)
        for mixture in MIXTURES
        for words in drawn_words(own, _NONSENSE, own=mixture, seed=seed)
    ]
    tops = (encode("nonsense", made) @ index.T).max(axis=1).reshape(len(MIXTURES), -1)
    limits = [Background.fit(top.astype(np.float64)).limit(0.05) for top in tops]
    return np.array([[np.mean(best >= limit), np.mean(off < limit)] for limit in limits])


@cache
def questions(name: str) -> tuple[list[str], list[list[int]]]:
    """Return some answerable questions, and the relevant documents of each."""
    grades: dict[str, set[str]] = {}
    with gzip.open(data_dir() / name / "qrels.txt.gz", "rt", encoding="utf-8") as file:
        for line in file:
            query, _, document, grade = line.split()
            if int(grade) > 0:
                grades.setdefault(query, set()).add(document)
    asked = [q for q in queries(name) if q.answerable]
    order = np.random.default_rng(0).permutation(len(asked))[:_GOOD]
    place = {key: i for i, key in enumerate(documents(name))}
    own = [[place[d] for d in grades.get(asked[i].id, ()) if d in place] for i in order]
    return [asked[i].text for i in order], own
