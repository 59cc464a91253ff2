"""How many results to expect: beliefs, words and the estimate from unjudged lists."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import paretocut as pc
from paretocut.background.seen import gaps, halves
from paretocut.errors import InvalidParameterError, InvalidScoresError
from paretocut.lists import Ragged
from paretocut.relevance import believed_cuts, stated
from paretocut.truncators import Consensus

RNG = np.random.default_rng(5)


@pytest.fixture(autouse=True)
def _same_draws_in_any_order() -> None:
    RNG.bit_generator.state = np.random.default_rng(5).bit_generator.state


def drawn(lists: int = 40, longest: int = 300) -> list[np.ndarray]:
    """Return lists of many lengths in falling order."""
    lengths = RNG.integers(1, longest, size=lists)
    return [np.sort(RNG.gamma(2.0, 1.0, size=n))[::-1] for n in lengths]


def slow_values(x: np.ndarray, belief: np.ndarray, beta: float = 1.0) -> np.ndarray:
    """Return the expected F-beta of each cut, by a fine grid of levels of its own."""
    n = x.size
    top, bottom = x[0], x[-1]
    low = bottom - min(abs(bottom), 4.0 * (top - bottom)) / n
    minmax = (x - low) / (top - low) if top > low else np.ones(n)
    logits = 12.0 * minmax - 0.25 * np.log(np.arange(1, n + 1))
    levels = np.linspace(-14.0, 2.5, 200)
    p = 1 / (1 + np.exp(-(logits + levels[:, None])))
    numbers = np.log(p.sum(axis=1))
    weights = np.zeros(levels.size)
    for share, mean, sd in belief.reshape(2, 3):
        far = 0.5 * ((numbers - mean) / sd) ** 2
        density = np.exp(far.min() - far) * np.gradient(numbers)
        weights += share * density / density.sum()
    hits, kept = np.cumsum(p, axis=1), np.arange(1, n + 1)
    totals = p.sum(axis=1, keepdims=True)
    return np.asarray(weights @ ((1 + beta**2) * hits / (kept + beta**2 * totals)))


@pytest.mark.parametrize("beta", [1.0, 2.0])
def test_believed_cuts_agree_with_a_fine_integral(beta: float) -> None:
    lists = drawn()
    shares = RNG.uniform(0.5, 1.0, size=len(lists))
    means, others = RNG.uniform(0, 4, size=(2, len(lists)))
    ones = np.ones(len(lists))
    beliefs = np.stack([shares, means, ones, 1 - shares, others, 0.6 * ones], axis=1)
    cuts = believed_cuts(Ragged.from_any(lists), beliefs, beta)
    values = [slow_values(x, belief, beta) for x, belief in zip(lists, beliefs, strict=True)]
    # Twelve levels stand for two hundred: cuts differ by a few percent on average, and none of
    # them loses much of what the best cut is worth.
    ratio = np.log(cuts / np.array([np.argmax(value) + 1 for value in values]))
    assert np.abs(ratio).mean() < 0.05
    lost = [1 - value[k - 1] / value.max() for value, k in zip(values, cuts, strict=True)]
    assert max(lost) < 0.01


def test_more_is_kept_when_more_is_expected() -> None:
    lists = drawn()
    cuts = [Consensus(expect=x).predict(lists) for x in ("one", "few", "dozens", "hundreds", 200)]
    for fewer, more in pairwise(cuts):
        assert (fewer <= more).all()
    assert cuts[0].mean() < 0.3 * cuts[2].mean()


def test_a_word_is_a_wider_belief_than_its_number() -> None:
    word, exact = stated(1, "few")[0], stated(1, 5.0)[0]
    assert word[1] == exact[1] == pytest.approx(np.log(5.0))
    assert word[2] > exact[2]


def systems(rng: np.random.Generator, relevant: int) -> list[np.ndarray]:
    """Return lists in which so many results stand out, more or less."""
    lists = []
    for _ in range(60):
        noise = rng.normal(0.0, 1.0, size=2000)
        hits = rng.normal(5.5, 0.6, size=relevant)
        lists.append(np.sort(np.concatenate([noise, hits]))[::-1][:200])
    return lists


def test_unjudged_lists_tell_one_from_many() -> None:
    rng = np.random.default_rng(0)
    one, many = (systems(rng, k) for k in (1, 30))
    few = Consensus().fit(pc.RankedLists(one))
    more = Consensus().fit(pc.RankedLists(many))
    assert few.strategy_ == more.strategy_ == "estimate"
    assert few.learned_.typical < more.learned_.typical
    assert np.median(few.predict(one)) == 1
    assert 20 <= np.median(more.predict(many)) <= 40


def test_the_estimate_does_not_depend_on_the_scale_of_scores() -> None:
    lists = systems(np.random.default_rng(1), 5)
    first = Consensus().fit(pc.RankedLists(lists))
    # Far from zero in both cases: near it, the range of a short list begins lower.
    moved = [3.0 * (x + 50.0) for x in lists]
    second = Consensus().fit(pc.RankedLists([x + 50.0 for x in lists]))
    third = Consensus().fit(pc.RankedLists(moved))
    assert first.learned_.typical == pytest.approx(third.learned_.typical)
    np.testing.assert_array_equal(second.predict([x + 50.0 for x in lists]), third.predict(moved))


def test_distances_are_estimated_as_their_mirror_image() -> None:
    lists = systems(np.random.default_rng(2), 5)
    up = Consensus().fit(pc.RankedLists(lists))
    down = Consensus().fit(pc.RankedLists([-x for x in lists], higher_is_better=False))
    assert up.learned_.typical == down.learned_.typical


def test_unjudged_lists_are_refused_where_no_number_helps() -> None:
    lists = pc.RankedLists(drawn())
    with pytest.raises(InvalidScoresError, match="relevance"):
        Consensus("penalized_dcg").fit(lists)
    with pytest.raises(InvalidParameterError, match="at least one result"):
        Consensus().fit(pc.RankedLists([[], []]))


def test_an_estimate_survives_a_file(tmp_path) -> None:  # type: ignore[no-untyped-def]
    lists = systems(np.random.default_rng(3), 5)
    fitted = Consensus().fit(pc.RankedLists(lists))
    fitted.save(tmp_path / "t.json")
    loaded = pc.load(tmp_path / "t.json")
    np.testing.assert_array_equal(loaded.predict(lists), fitted.predict(lists))
    assert "60 unjudged queries" in loaded.cut(lists[0]).reason


def test_statistics_of_short_tied_and_empty_lists_are_defined() -> None:
    merit = Ragged.from_any([[1.0], [2.0, 2.0, 2.0], [3.0, 1.0]])
    np.testing.assert_allclose(gaps(merit), [0.0, 0.0, 1.0])
    np.testing.assert_allclose(halves(merit), np.log([1.0, 3.0, 1.0]))
    fitted = Consensus().fit(pc.RankedLists([[1.0], [2.0, 2.0], []]))
    assert fitted.predict([[], [1.0], [4.0, 4.0]])[0] == 0
