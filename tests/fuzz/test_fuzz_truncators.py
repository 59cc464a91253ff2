"""All truncators on odd but legal data: fits at extremes, files, cuts, and lists of pc.keep.

`make fuzz SECONDS=600 SEED=7` sets how long it takes, and what it tries.
"""

from __future__ import annotations

import os
import time
import traceback
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from methods import NEURAL

import paretocut as pc
from paretocut import truncators
from paretocut.errors import ParetocutError

SECONDS = float(os.environ.get("FUZZ_SECONDS", "12"))
SEED = int(os.environ.get("FUZZ_SEED", "0"))
SIZES = [1.0, 1e-320, 5e-324, 1e-300, 1e17, 1e150, 1e300, 1.7e308]
pytestmark = pytest.mark.slow


def odd_scores(rng: np.random.Generator, n: int) -> Any:
    """Return finite scores: ordinary, tied, constant, huge, tiny, or of several sizes."""
    scores = rng.normal(size=n).clip(-5, 5) / 5
    kind = rng.integers(6)
    if kind == 0:
        scores = np.round(scores, 1)
    elif kind == 1:
        scores = np.full(n, scores[0] if n else 0.0)
    elif kind == 2:
        scores *= rng.choice(SIZES, n)
    elif kind == 3:
        scores = np.abs(scores) * rng.choice(SIZES)
    elif kind == 4:
        scores = rng.choice([-1.7e308, 0.0, 1.7e308, 5e-324], n)
    return scores


def odd_lists(rng: np.random.Generator, *, judged: str) -> pc.RankedLists:
    count = int(rng.choice([1, 2, 3, 12, 30]))
    lengths = rng.choice([0, 1, 2, 3, 20, 60], count)
    if rng.random() < 0.5:
        lengths[:] = 20
    scores = [odd_scores(rng, n) for n in lengths]
    if rng.random() < 0.3:  # one kind of scores for all
        scale = rng.choice(SIZES)
        scores = [rng.random(n) * scale for n in lengths]
    grades: Any = [rng.integers(0, 2, n) * (rng.random() < 0.8) for n in lengths]
    if judged == "in part":
        grades = [np.where(rng.random(len(one)) < 0.5, one, np.nan) for one in grades]
    return pc.RankedLists(
        scores,
        None if judged == "not" else grades,
        query_embeddings=rng.normal(size=(count, 2)) * (rng.random() < 0.9),
        higher_is_better=bool(rng.random() < 0.8),
    )


def decided(truncator: Any, lists: pc.RankedLists) -> list[int]:
    cuts = truncator.cut_batch(lists)
    assert ((cuts.k >= 0) & (cuts.k <= lists.scores.lengths)).all()
    assert all("nan" not in reason.split() for reason in cuts.reasons)
    assert cuts.k.tolist() == truncator.predict(lists).tolist()
    return list(cuts.k.tolist())


def test_odd_fits_are_refused_or_saved_and_loaded_alike(tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    pytest.importorskip("kneed")
    names = [name for name in truncators.names() if name not in NEURAL]
    end, tried, fitted, rng = time.monotonic() + SECONDS, 0, set(), np.random.default_rng(SEED)
    failures: dict[str, int] = {}
    while time.monotonic() < end or tried < len(names):
        name = names[tried % len(names)]
        tried += 1
        truncator = truncators.make(name)
        given = odd_lists(
            rng, judged=str(rng.choice(["fully", "in part", "not"], p=[0.8, 0.1, 0.1]))
        )
        new = odd_lists(rng, judged="fully")
        new = new.like(higher_is_better=given.higher_is_better) if not len(new) else new
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # an overflow or a division by zero
                warnings.simplefilter("ignore", UserWarning)
                truncator.fit(given)
                truncator.save(tmp_path / "model.json")
                loaded = pc.load(tmp_path / "model.json")
                for lists in (given, new):
                    if lists.higher_is_better == given.higher_is_better:
                        assert decided(loaded, lists) == decided(truncator, lists)
            fitted.add(name)
        except ParetocutError:
            continue
        except Exception as error:
            at = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{Path(at.filename).name}:{at.lineno}: {type(error).__name__}: {error}"
            failures[f"{name}: {where}"] = tried
    assert not failures, f"seed {SEED}, by try: {failures}"
    assert fitted == set(names)


@pytest.mark.filterwarnings("ignore:keep")
def test_odd_answers_are_kept_in_part_or_refused() -> None:
    end, tried, rng = time.monotonic() + SECONDS / 3, 0, np.random.default_rng(SEED)
    while time.monotonic() < end or tried < 100:
        tried += 1
        scores = odd_scores(rng, int(rng.integers(0, 30)))
        rows = [{"id": i, "score": float(score)} for i, score in enumerate(scores)]
        answer: Any = [(row["id"], row["score"]) for row in rows] if tried % 2 else rows
        try:
            kept = pc.keep(answer, higher_is_better=bool(tried % 3))
        except ParetocutError:
            continue
        assert isinstance(kept, list)
        assert all(one in answer for one in kept)


@pytest.mark.parametrize("size", [5e-324, 1e-320, 1e-310, 1e-160, 1e160, 1e308])
def test_scores_of_extreme_size_are_learned_from_or_refused(size: float) -> None:
    rng = np.random.default_rng(SEED)
    nonsense, good = (rng.random((40, 20)) * size * share for share in (0.5, 1.0))
    with np.errstate(all="raise", under="ignore"):
        try:
            made = pc.calibration.calibrated(nonsense, good)
        except ParetocutError:
            made = None
        if made is not None:
            assert 0 <= made.cut(good[0]).k <= 20
        try:
            law = pc.Background.fit(nonsense)
        except ParetocutError:
            return
        for best in (-1.7e308, -size, 0.0, size, 1.7e308):
            assert 0 <= law.pvalue([best])[0] <= 1
