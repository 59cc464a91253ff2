"""The normal-exponential mixture of score distributions, fitted to each list by EM."""

from __future__ import annotations

import math
from functools import partial
from typing import ClassVar

import numpy as np

from paretocut.decisions.cuts import Evidence
from paretocut.lists import BoolArray, FloatArray, IntArray, Ragged, RankedLists
from paretocut.schema.kinds import Flag
from paretocut.truncators.base import Truncator
from paretocut.truncators.evidence import Clause

# EM starts with these shares of each list's head taken for relevant.
_STARTS = (0.02, 0.1, 0.4)
# All starts run so many steps; then the likeliest goes on alone.
_SHORT_RUN, _LONG_RUN = 8, 52
# Smallest standard deviation, as a share of the list's range: a normal that shrinks onto one
# result has unbounded likelihood.
_FLOOR = 0.02
_TOLERANCE = 1e-4
# With fewer results than this there is nothing to tell two distributions apart.
_FEWEST = 5


class ScoreDistribution(Truncator):
    """Keep the results that maximise the expected F1 under a mixture fitted to the list's scores.

    The mixture is of a normal, which models the relevant results, and an exponential; see
    docs/methods.md. Lists of fewer than 5 results and constant lists are kept whole.

    Parameters
    ----------
    truncated
        Fit a normal that is cut off at the lowest score of the list, and include the relevant
        results below that score in the expected recall.

    Examples
    --------
    >>> import numpy as np
    >>> noise = -np.log(np.linspace(0.005, 1.0, 200))
    >>> ScoreDistribution().predict([np.append(np.linspace(9.0, 11.0, 10), noise)])
    array([10])
    """

    parameters: ClassVar = {"truncated": Flag()}

    def __init__(self, *, truncated: bool = False) -> None:
        self.truncated = truncated

    def decide(self, lists: RankedLists) -> tuple[IntArray, Evidence]:
        merit = lists.merit
        cuts = merit.lengths
        usable, chances, seen = self._relevance(merit)
        cuts[usable] = [
            np.argmax(np.cumsum(part) / (np.arange(1, part.size + 1) + part.sum() / share)) + 1
            for part, share in zip(chances, seen, strict=True)
        ]
        return cuts, Clause(partial(_because, usable))

    def result_values(self, lists: RankedLists) -> Ragged:
        """Return the probability of relevance of each result; see `Truncator.result_values`."""
        merit = lists.merit
        usable, chances, _ = self._relevance(merit)
        keys = np.ones(merit.values.size)
        keys[usable[merit.rows]] = chances.values
        return merit.with_values(keys)

    def _relevance(self, merit: Ragged) -> tuple[BoolArray, Ragged, FloatArray]:
        """Return the usable lists, their probabilities, and the share of their normals seen."""
        first, last = merit.ends()
        usable = (merit.lengths >= _FEWEST) & (first > last)
        scores = merit.take(np.flatnonzero(usable))
        if len(scores) == 0:
            return usable, scores, np.ones(0)
        scores, _ = scores.within_range()
        last = scores.values[scores.offsets[1:] - 1]
        span = scores.values[scores.offsets[:-1]] - last
        rows = scores.rows
        scaled = scores.with_values((scores.values - last[rows]) / span[rows])

        runs = [_start(scaled, share) for share in _STARTS]
        for run in runs:
            _run(scaled, run, _SHORT_RUN, self.truncated)
        likelihood = np.stack([_log_likelihood(scaled, run, self.truncated) for run in runs])
        lists = np.arange(len(scores))
        best = np.stack(runs)[np.argmax(likelihood, axis=0), :, lists].T
        _run(scaled, best, _LONG_RUN, self.truncated)

        # Above its maximum the posterior would fall again: it stays there instead.
        _, mu, sd, rate = best
        lowered = scaled.with_values(np.minimum(scaled.values, (mu + rate * sd**2)[rows]))
        chances = scaled.with_values(_posterior(lowered, best, self.truncated))
        return usable, chances, _seen(best) if self.truncated else np.ones(len(scores))


def _because(usable: BoolArray, i: int, k: int) -> str:
    if usable[i]:
        return "the expected F1 is highest there under a mixture fitted to its scores"
    return "too few results, or equal scores, for a mixture"


# A mixture has four rows (weight, mean and deviation of the normal, rate of the exponential) and
# one column for each list.


def _seen(mixture: FloatArray) -> FloatArray:
    """Return the share of the normal above 0."""
    _, mu, sd, _ = mixture
    return np.array([0.5 * math.erfc(value) for value in -mu / (sd * math.sqrt(2.0))])


def _sums(scores: Ragged, values: FloatArray) -> FloatArray:
    # No list here is empty, as reduceat requires.
    return np.add.reduceat(values, scores.offsets[:-1])


def _start(scores: Ragged, share: float) -> FloatArray:
    head = np.maximum(np.ceil(share * scores.lengths), 2)
    return _maximize(scores, (scores.ranks < scores.spread(head)).astype(np.float64))


def _maximize(scores: Ragged, chances: FloatArray, before: FloatArray | None = None) -> FloatArray:
    """Return the M step; with the mixture before it, for a normal truncated at 0."""
    lengths = scores.lengths
    values = scores.values
    taken = values * chances
    relevant = _sums(scores, chances)
    mean = _sums(scores, taken) / np.maximum(relevant, 1e-12)
    square = _sums(scores, taken * values) / np.maximum(relevant, 1e-12)
    rest = (_sums(scores, values) - relevant * mean) / np.maximum(lengths - relevant, 1e-12)
    if before is not None:
        # The results below 0 that the current normal implies take part with its moments there.
        seen, (_, mu, sd, _) = _seen(before), before
        edge = -mu / sd
        hazard = np.exp(-0.5 * edge**2) / (math.sqrt(2 * math.pi) * seen)
        cut_mean = mu + sd * hazard
        cut_square = sd**2 * (1 + edge * hazard - hazard**2) + cut_mean**2
        mean = mu + seen * (mean - cut_mean)
        square = mu**2 + sd**2 + seen * (square - cut_square)
    rest = np.clip(rest, 1e-3, 1.0)
    mean = np.clip(mean, rest, 1.0)
    weight = np.clip(relevant / lengths, 1.0 / (2 * lengths), 1 - 1.0 / (2 * lengths))
    return np.stack([weight, mean, np.sqrt(np.maximum(square - mean**2, _FLOOR**2)), 1.0 / rest])


def _log_parts(
    scores: Ragged, mixture: FloatArray, truncated: bool
) -> tuple[FloatArray, FloatArray]:
    """Return the log of each component's share of the density, up to a common constant."""
    weight, mu, sd, rate = mixture
    log_normal = np.log(weight / sd) - 0.5 * math.log(2 * math.pi)
    if truncated:
        log_normal = log_normal - np.log(_seen(mixture))
    z = (scores.values - scores.spread(mu)) * scores.spread(1 / sd)
    log_exponential = np.log((1 - weight) * rate)
    return (
        scores.spread(log_normal) - 0.5 * z * z,
        scores.spread(log_exponential) - scores.spread(rate) * scores.values,
    )


def _posterior(scores: Ragged, mixture: FloatArray, truncated: bool) -> FloatArray:
    """Return the probability that each result comes from the normal."""
    normal, exponential = _log_parts(scores, mixture, truncated)
    # Beyond 700 the exponential overflows, and the probability is 0 long before.
    return 1.0 / (1.0 + np.exp(np.minimum(exponential - normal, 700.0)))


def _log_likelihood(scores: Ragged, mixture: FloatArray, truncated: bool) -> FloatArray:
    return _sums(scores, np.logaddexp(*_log_parts(scores, mixture, truncated)))


def _run(scores: Ragged, mixture: FloatArray, steps: int, truncated: bool) -> None:
    """Take EM steps in place, leaving out lists that have settled."""
    active, part, current = np.arange(len(scores)), scores, mixture
    for _ in range(steps):
        chances = _posterior(part, current, truncated)
        new = _maximize(part, chances, current if truncated else None)
        moved = np.abs(new[1] - current[1]) + np.abs(new[0] - current[0])
        mixture[:, active] = current = new
        moving = np.flatnonzero(moved > _TOLERANCE)
        if not moving.size:
            return
        if moving.size < active.size:
            active, part, current = active[moving], part.take(moving), current[:, moving]
