"""The scale of lexical scores is the weight of the words of the query."""

from __future__ import annotations

import math

import pytest

import paretocut as pc


def test_query_scale_is_the_mass_of_inverse_frequencies() -> None:
    texts = ["the soil", "the roses", "the old trees and roses", "the shade", "rain"]
    scale = pc.background.QueryScale.from_texts(texts)
    # "the" is in 4 of 5 texts, "roses" in 2, "unicorn" in none.
    mass = sum(math.log(1 + (5 - df + 0.5) / (df + 0.5)) for df in (4, 2, 0))
    assert scale(["The roses, unicorn!"])[0] == pytest.approx(mass**0.75)
    assert scale(["..."])[0] == 1.0
