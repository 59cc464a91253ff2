"""Numbers of the default and of a word: the same on every page, and those of the experiments."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
PAGES = (
    "README.md",
    "docs/quickstart.md",
    "docs/judge.md",
)
# What a line is about, and the name of its row in experiments/frozen/results.json.
STATED = {
    r"\bsecond-nearest word\b": "second-nearest word",
    r"\bright word\b|\bif it is right\b": "right word",
    r"\bno word\b|\bnothing but scores\b|\bnothing: `pc\.cut\(scores\)`": "default",
    r"\b[Tt]he mean number\b": "number",
    r"\bhalf of the queries\b": "Consensus, learned",
}


def measured() -> dict[str, str]:
    """Return the mean F1 over collections, as pages print it."""
    path = ROOT / "experiments/frozen/results.json"
    if not path.is_file():
        pytest.skip("the frozen test has not run here")
    rows = json.loads(path.read_text(encoding="utf-8"))["rows"]
    found: dict[str, dict[str, list[float]]] = {}
    for row in rows:
        for name in STATED.values():
            own = found.setdefault(name, {}).setdefault(row["collection"], [])
            own.append(row["means"][name][0])
    return {
        name: f"{np.mean([np.mean(runs) for runs in own.values()]):.3f}"
        for name, own in found.items()
    }


def stated(text: str) -> list[tuple[str, str]]:
    """Return what each number of F1 is said to be of: the last thing named before it.

    Tables by kind of collection are those of another experiment, which writes them itself.
    """
    text = re.sub(r"<!-- by `make \w+` -->.*?<!-- end -->", "", text, flags=re.S)
    text = re.sub(r"```.*?```", "", text, flags=re.S)
    found = []
    for part in re.split(r"\n\n|\n(?=[|-])", text):
        words = " ".join(part.split())
        named = [(m.end(), kind) for rule, kind in STATED.items() for m in re.finditer(rule, words)]
        row = words.startswith("|")
        for number in re.finditer(r"(?<![\d.])0\.\d{3}(?!\d)", words):
            before = [pair for pair in named if row or pair[0] < number.start()]
            if before:
                found.append((max(before)[1], number[0]))
    return found


@pytest.mark.parametrize("page", PAGES)
def test_pages_state_the_numbers_that_were_measured(page: str) -> None:
    known = measured()
    for kind, number in stated((ROOT / page).read_text(encoding="utf-8")):
        assert number == known[kind], f"{page} says {number} for {kind!r}"


def test_the_numbers_are_found() -> None:
    text = (ROOT / "docs/quickstart.md").read_text(encoding="utf-8")
    kinds = {kind for kind, _ in stated(text)}
    assert {"right word", "default", "second-nearest word", "number"} <= kinds
    assert ("default", "0.310") in stated("The right word gives 0.373, no word 0.310.")
