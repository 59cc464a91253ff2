"""The specification of the default and the words: its code, its vectors and the library agree."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support import ROOT

import paretocut as pc

VECTORS = json.loads((ROOT / "docs" / "specification.json").read_text(encoding="utf-8"))["vectors"]


def library(scores: list[float], expect: Any = None, higher_is_better: bool = True) -> int:
    return pc.cut(scores, expect=expect, higher_is_better=higher_is_better).k


@pytest.fixture(scope="module")
def specified() -> Callable[..., int]:
    page = (ROOT / "docs" / "specification.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"^```python\n(.*?)^```$", page, flags=re.M | re.S)
    names: dict[str, Any] = {}
    exec(code, names)
    found: Callable[..., int] = names["number_to_keep"]
    return found


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])
def test_vectors(vector: dict[str, Any], specified: Callable[..., int]) -> None:
    options = {key: vector[key] for key in ("expect", "higher_is_better")}
    assert library(vector["scores"], **options) == vector["k"]
    assert specified(vector["scores"], **options) == vector["k"]


def test_vectors_have_every_word_a_number_and_both_directions() -> None:
    assert {vector["expect"] for vector in VECTORS} > {None, "one", "few", "dozens", "hundreds"}
    assert any(isinstance(vector["expect"], (int, float)) for vector in VECTORS)
    assert {vector["higher_is_better"] for vector in VECTORS} == {True, False}
    assert len(VECTORS) >= 40


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_page_and_the_library_agree_on_random_lists(specified: Callable[..., int]) -> None:
    rng = np.random.default_rng(0)
    for _ in range(300):
        n = int(rng.integers(1, 400))
        kind = rng.integers(4)
        scores = [
            rng.normal(size=n),
            rng.exponential(size=n) ** 2,
            np.round(rng.random(n), 1),
            np.concatenate([rng.gamma(2.0, size=n), np.zeros(rng.integers(0, 5))]),
        ][kind].tolist()
        expect = [None, "one", "few", "dozens", "hundreds", float(rng.uniform(0.5, 80))][
            rng.integers(6)
        ]
        up = bool(rng.random() < 0.7) or kind == 3
        assert library(scores, expect, up) == specified(scores, expect, up)
