"""Nonsense queries made of the words of an index."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from paretocut.background.query_scale import frequencies
from paretocut.errors import InvalidParameterError
from paretocut.schema.parameters import check_int, check_positive_int


def nonsense_queries(
    texts: Iterable[str], n: int = 100, *, length: int = 8, lexical: bool = False, seed: int = 0
) -> list[str]:
    """Return ``n`` queries that mean nothing, made of words of some hundred texts of an index.

    Each query is ``length`` different words (three are close to a real query; twelve or twenty
    change little). No document is about such a mixture, yet the index knows every word: its scores
    show what chance reaches. ``lexical`` takes common words more often, by the square root of the
    number of texts they are in, because real questions off the topic share common words with any
    index; otherwise every word has the same chance. ``seed`` is that of the draws.

    >>> nonsense_queries(["the cat sat on a mat", "dogs chase the cat"], 2, length=3)
    ['on chase cat', 'cat sat the']
    """
    check_positive_int(n, who="nonsense", name="n")
    check_positive_int(length, who="nonsense", name="length")
    counts, _ = frequencies(texts)
    # Numbers and single letters are seldom words.
    known = sorted(word for word in counts if len(word) > 1 and word.isalpha())
    if len(known) < length:
        raise InvalidParameterError(
            f"nonsense: texts must hold at least {length} different words, got {len(known)}"
        )
    weight = np.array([counts[word] for word in known], dtype=np.float64) ** 0.5
    if not lexical:
        weight[:] = 1.0
    rng = np.random.default_rng(check_int(seed, who="nonsense", name="seed"))
    draws = [
        rng.choice(len(known), length, replace=False, p=weight / weight.sum()) for _ in range(n)
    ]
    return [" ".join(known[i] for i in draw) for draw in draws]
