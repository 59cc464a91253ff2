"""Nonsense queries made of the words of an index."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from typing import Any

import numpy as np

from paretocut.background.query_scale import UNSPACED, frequencies
from paretocut.errors import InvalidParameterError
from paretocut.schema.parameters import check_int, check_positive_int

_LENGTH = 8
# Of eight words, two come from an index of up to 50 documents, and all from one of 800 or more:
# the square root of its size over this, `make calibrate`. Lexical scores need it less.
_SMALL, _SMALL_LEXICAL, _FEWEST = 12.5, 5.0, 2
_ENGLISH = 0.1  # share of common words in English texts, at least
_NO_SPACE = re.compile(rf"(?<=[{UNSPACED}]) (?=[{UNSPACED}])")


def nonsense_queries(
    texts: Iterable[str],
    n: int = 100,
    *,
    length: int = _LENGTH,
    size: int | None = None,
    others: Sequence[str] | None = None,
    lexical: bool = False,
    seed: int = 0,
) -> list[str]:
    """Return ``n`` queries that mean nothing, made of words from a few hundred texts of an index.

    No document is about such a mixture, but the index knows its words, so the scores show what
    chance reaches. In scripts without spaces, two characters count as a word.

    Parameters
    ----------
    texts, n, length, seed
        Texts of the index, how many queries, different words in each, and the seed of the draws.
    size
        Number of documents in the index; None means many. In a small one, nonsense made only of its
        words would score like a question, so most words come from elsewhere.
    others
        Texts with words from elsewhere; by default a list of common English words for English
        texts, and none for other languages.
    lexical
        Draw words in proportion to the square root of the number of texts they are in, as real
        off-topic questions share common words with any index.

    Examples
    --------
    >>> nonsense_queries(["the cat sat on a mat", "dogs chase the cat"], 2, length=3)
    ['on chase cat', 'cat sat the']
    """
    own = length if size is None else own_words(size, length, lexical=lexical)
    how: dict[str, Any] = {"own": own, "others": others, "lexical": lexical, "seed": seed}
    return [as_query(words) for words in drawn_words(texts, n, length=length, **how)]


def drawn_words(
    texts: Iterable[str],
    n: int,
    *,
    own: int,
    length: int = _LENGTH,
    others: Sequence[str] | None = None,
    lexical: bool = False,
    seed: int = 0,
) -> list[list[str]]:
    """Return the words of each query of `nonsense_queries`, of which ``own`` are the index's."""
    check_positive_int(n, who="nonsense", name="n")
    check_positive_int(length, who="nonsense", name="length")
    counts, _ = frequencies(texts)
    known = _usable(counts)
    strange = sorted(_elsewhere(counts, others).difference(known))
    if len(strange) < length:
        own = length
    if len(known) < own:
        raise InvalidParameterError(
            f"nonsense: texts must hold at least {own} different words, got {len(known)}"
        )
    weight = np.array([counts[word] if lexical else 1 for word in known], dtype=np.float64) ** 0.5
    rng = np.random.default_rng(check_int(seed, who="nonsense", name="seed"))
    made = []
    for _ in range(n):
        draw = rng.choice(len(known), own, replace=False, p=weight / weight.sum())
        words = [known[i] for i in draw]
        if own < length:
            words += [strange[i] for i in rng.choice(len(strange), length - own, replace=False)]
            rng.shuffle(words)
        made.append(words)
    return made


def as_query(words: Sequence[str]) -> str:
    """Return the words as a text, without spaces where the script has none."""
    return _NO_SPACE.sub("", " ".join(words))


def own_words(size: int, length: int = _LENGTH, *, lexical: bool = False) -> int:
    """Return how many words of a query come from an index with so many documents."""
    small = _SMALL_LEXICAL if lexical else _SMALL
    own = min(max(math.sqrt(size / small), _FEWEST), _LENGTH)
    return max(1, round(own * length / _LENGTH))


def _elsewhere(counts: Mapping[str, int], others: Iterable[str] | None) -> set[str]:
    """Return the words from elsewhere that suit the language of the texts."""
    source = files("paretocut").joinpath("data", "common_words.txt")
    common = set(source.read_text(encoding="utf-8").split())
    english = sum(counts[word] for word in common if word in counts)
    if english >= _ENGLISH * sum(counts.values()):
        return common
    return set() if others is None else set(_usable(frequencies(others)[0]))


def _usable(counts: Iterable[str]) -> list[str]:
    # Numbers and single letters are seldom words.
    return sorted(w for w in counts if len(w) > 1 and any(letter.isalpha() for letter in w))
