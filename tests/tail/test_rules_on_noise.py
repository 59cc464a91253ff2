"""The promises of the rules on simulated lists, and the page that reports them."""

from __future__ import annotations

import importlib.util
import json
import sys
from types import ModuleType

import numpy as np
import pytest
from support import ROOT

pytestmark = pytest.mark.slow


def load() -> ModuleType:
    """Return the script that makes the page."""
    spec = importlib.util.spec_from_file_location("calibration", ROOT / "scripts/calibration.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["calibration"] = module  # where dataclasses look for it
    spec.loader.exec_module(module)
    return module


calibration = load()
PAGE = ROOT / "docs" / "calibration.md"
HEAVY = ("scale mixture of normals", "lognormal", "Student t, 5 degrees", "Student t, 3 degrees")


@pytest.mark.parametrize("depth", calibration.DEPTHS)
@pytest.mark.parametrize("collection", calibration.COLLECTIONS)
@pytest.mark.parametrize("noise", calibration.NOISE)
def test_evalue_keeps_nothing_of_noise_and_the_page_says_where_it_does(
    noise: str, collection: int, depth: int
) -> None:
    cell = calibration.noise_cell(noise, collection, depth)
    row = f"| {noise} | {collection:,} | {depth} |"
    (line,) = [text for text in PAGE.read_text().splitlines() if text.startswith(row)]
    reported = float(line.split("|")[4])
    # Another machine's logarithm may differ in the last bit, and turn a list or two.
    assert 100 * cell.empty["evalue"] == pytest.approx(reported, abs=0.3)
    assert ("does not hold" in line) == (not cell.holds)
    if noise not in HEAVY:
        assert cell.empty["evalue"] >= 0.95
        assert cell.empty["fdr"] >= 0.95
        assert cell.shape < 0.01
    # 5 % of what lies above the threshold
    assert 0.02 < cell.kept_by_alpha < 0.075


@pytest.mark.parametrize("noise", calibration.NOISE)
def test_chance_is_rare_among_what_fdr_keeps_unless_the_tail_is_heavy(noise: str) -> None:
    cell = calibration.discovery_cell(noise, 10, 1000)
    if noise in HEAVY[1:]:
        assert cell.false_share > 0.04
    else:
        assert cell.false_share < 0.06


def test_the_scale_mixture_is_drawn_from_its_distribution() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=200_000) * np.where(rng.random(200_000) < 0.1, 3.0, 1.0)
    for share in (0.1, 0.01, 0.001):
        ours = float(calibration.NOISE["scale mixture of normals"](np.array(share)))
        assert (x > ours).mean() == pytest.approx(share, abs=4 * (share / 200_000) ** 0.5)


def test_the_page_is_made_of_the_numbers_beside_it() -> None:
    content = json.loads(PAGE.with_suffix(".json").read_text())
    assert PAGE.read_text() == calibration.page(content)


@pytest.mark.parametrize("depth", [200, 1000])
@pytest.mark.parametrize("hits", calibration.HITS)
def test_planted_hits_come_back(hits: int, depth: int) -> None:
    cell = calibration.hit_cell(hits, depth)
    error = calibration.standard_error(0.8, calibration.LISTS)
    assert cell.found["evalue"] >= 0.8 - 2 * error
    assert cell.found["fdr"] >= 0.8
    assert abs(cell.median["evalue"] - hits) <= 1
    row = f"| {hits} | {depth} | {calibration.percent(cell.found['evalue'])} ("
    assert row in PAGE.read_text()


def test_the_front_page_says_what_was_measured() -> None:
    content = json.loads(PAGE.with_suffix(".json").read_text())
    empty: dict[str, list[float]] = {}
    for cell in content["noise"]:
        empty.setdefault(cell["noise"], []).append(cell["empty"]["evalue"])
    held = {name: values for name, values in empty.items() if name not in HEAVY}
    failed = [cell["empty"]["evalue"] for cell in content["noise"] if not cell["holds"]]
    words = " ".join((ROOT / "README.md").read_text().split())
    lowest = int(100 * min(min(values) for values in held.values()))
    assert len(held) == 7
    assert f"in {lowest} % of lists or more for seven kinds of scores" in words
    assert f"only in {100 * min(failed):.0f} to {100 * max(failed):.0f} %" in words
