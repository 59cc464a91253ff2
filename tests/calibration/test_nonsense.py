"""Nonsense queries are made of the words of an index."""

from __future__ import annotations

import pytest

from paretocut.calibration import nonsense_queries
from paretocut.errors import InvalidParameterError

TEXTS = [
    "ferns and mosses grow in the shade of old trees",
    "roses like full sun and rich soil",
    "the soil of a garden should drain well",
    "prune the trees in late winter",
    "water the roses in the morning",
]


def test_nonsense_is_made_of_different_words_of_the_texts() -> None:
    known = {word for text in TEXTS for word in text.split()}
    made = nonsense_queries(TEXTS, 50, length=6, seed=3)
    assert len(made) == 50
    for query in made:
        words = query.split()
        assert len(set(words)) == 6
        assert set(words) <= known
    assert made == nonsense_queries(TEXTS, 50, length=6, seed=3)
    assert made != nonsense_queries(TEXTS, 50, length=6, seed=4)


def test_lexical_nonsense_prefers_common_words() -> None:
    texts = [f"common {chr(97 + i)}{chr(97 + i)}{chr(98 + i)}" for i in range(20)]
    drawn = {
        lexical: sum(
            "common" in q.split() for q in nonsense_queries(texts, 400, length=2, lexical=lexical)
        )
        for lexical in (False, True)
    }
    # One of 21 words without preference: 2 draws of 21. With it, sqrt(20) against 1.
    assert drawn[False] / 400 == pytest.approx(2 / 21, abs=0.05)
    assert drawn[True] > 2.5 * drawn[False]


def test_nonsense_needs_words() -> None:
    with pytest.raises(InvalidParameterError, match="at least 8 different words, got 2"):
        nonsense_queries(["one two", "two one"], 5)
    with pytest.raises(InvalidParameterError, match="strings, got 7"):
        nonsense_queries([7], 5)  # type: ignore[list-item]
