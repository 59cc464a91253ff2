"""Two groups of queries in one log: those without an answer, and those with one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from paretocut.errors import InvalidScoresError
from paretocut.lists import FloatArray
from paretocut.schema.kinds import Kind, Real, checked

_SMALLEST = 1e-150  # squares of smaller numbers vanish
_FEWEST = 10
# Weights, in queries: of the believed share without an answer, of the mean and the spread of
# nonsense in the first group, and of that spread in the second.
_STRENGTH, _HELD_MEAN, _HELD_SPREAD, _HELD_OTHER = 20.0, 10.0, 30.0, 5.0
_STEPS = 100
_CLEAN, _LOST = 0.1, 0.1
# Content of a file; the share is one that `Groups.fit` can find.
_STATE: dict[str, Kind] = {
    "share": Real(1e-5, 1 - 1e-5),
    "null_mean": Real(),
    "null_spread": Real(above=0),
    "mean": Real(),
    "spread": Real(above=0),
    "threshold": Real(),
}


@dataclass(frozen=True)
class Groups:
    """The best scores of a log as a mixture of two normal laws: Efron's empirical null.

    ``share`` of the queries have no answer; their best scores have ``null_mean`` and
    ``null_spread``, those of the others ``mean`` and ``spread``. Questions off the topic of the
    index score a little below or above nonsense, so nonsense is only a first guess at their law.
    Best scores from ``threshold`` on count as answers: it minimises the sum of both error rates. If
    nearly all of the log seems to have an answer, at most a tenth of it is left empty.

    References
    ----------
    B. Efron, "Large-scale simultaneous hypothesis testing: the choice of a null hypothesis",
    JASA 99, 2004.
    """

    share: float
    null_mean: float
    null_spread: float
    mean: float
    spread: float
    threshold: float

    @classmethod
    def fit(cls, tops: FloatArray, nonsense: FloatArray, *, unanswered: float = 0.05) -> Groups:
        """Return the two groups of a log, from best scores of unjudged and of nonsense queries."""
        log = tops[np.isfinite(tops)]
        if log.size < _FEWEST:
            raise InvalidScoresError(
                f"Background.fit: queries must hold at least {_FEWEST} lists with a result, "
                f"got {log.size}"
            )
        center, spread = float(nonsense.mean()), float(nonsense.std())
        if spread < _SMALLEST:
            raise InvalidScoresError(
                "Background.fit: best scores of queries without an answer must have a standard "
                f"deviation of at least {_SMALLEST:g}, got {spread:g}"
            )
        prior = (1 + _STRENGTH * unanswered, 1 + _STRENGTH * (1 - unanswered))
        best: tuple[float, FloatArray, FloatArray] | None = None
        for share in (0.05, 0.3, 0.6):
            upper = log[log >= np.quantile(log, share)]
            for start in (center - spread, center, center + spread):
                other = max(float(upper.mean()), start + 0.5 * spread)
                first = np.array([share, start, spread, other, upper.std() + 0.1 * spread])
                found = _climb(log, first, center, spread, prior)
                # Some queries have an answer, and they score higher: anything else is no fit.
                upside = found[1][3] > found[1][1] and (1 - found[2]).sum() >= 1
                if upside and (best is None or found[0] > best[0]):
                    best = found
        if best is None:
            raise InvalidScoresError(
                "Background.fit: queries must score higher than nonsense does, on the whole; "
                f"got a mean best score of {log.mean():.3g}, and {center:.3g} for nonsense; "
                "without queries the gate rests on nonsense alone"
            )
        _, law, null = best
        grid = np.linspace(law[1], law[3] + law[4], 500)
        errors = _above(grid, law[1], law[2]) + 1 - _above(grid, law[3], law[4])
        threshold = float(grid[np.argmin(errors)])
        if law[0] < _CLEAN:
            threshold = min(threshold, _quantile(log, 1 - null, _LOST))
        return cls(*map(float, (*law, threshold)))

    def posterior(self, tops: FloatArray) -> FloatArray:
        """Return the probability that queries with these best scores have no answer."""
        # Beyond the middle of a group, the other law may have the longer tail. A better score must
        # not look worse for that.
        held = np.clip(tops, self.null_mean, self.mean)
        null = _log_density(held, self.null_mean, self.null_spread)
        other = _log_density(held, self.mean, self.spread)
        odds = np.log(self.share) - np.log1p(-self.share) + null - other
        return np.asarray(1 / (1 + np.exp(-np.clip(odds, -700, 700))))

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Groups:
        return cls(**checked(_STATE, content))


def _climb(
    log: FloatArray, law: FloatArray, center: float, width: float, prior: tuple[float, float]
) -> tuple[float, FloatArray, FloatArray]:
    """Return log-posterior, law and probabilities of the first group after EM from a start."""
    share, null_mean, null_spread, mean, spread = law.tolist()
    n = log.size
    for _ in range(_STEPS):
        null = math.log(share) + _log_density(log, null_mean, null_spread)
        other = math.log1p(-share) + _log_density(log, mean, spread)
        total = np.logaddexp(null, other)
        r = np.exp(null - total)
        count = float(r.sum())
        share = min(max((count + prior[0] - 1) / (n + sum(prior) - 2), 1e-4), 0.95)
        null_mean = (r @ log + _HELD_MEAN * center) / (count + _HELD_MEAN)
        squares = r @ (log - null_mean) ** 2 + _HELD_MEAN * (center - null_mean) ** 2
        squares += _HELD_SPREAD * width**2
        null_spread = math.sqrt(squares / (count + _HELD_SPREAD + 1))
        rest = 1 - r
        mean = float(rest @ log) / max(n - count, 1e-9)
        squares = rest @ (log - mean) ** 2 + _HELD_OTHER * width**2
        spread = math.sqrt(squares / (n - count + _HELD_OTHER))
    value = float(total.sum())
    value += (prior[0] - 1) * math.log(share) + (prior[1] - 1) * math.log1p(-share)
    at_center = np.array([null_mean])
    value += float(_log_density(at_center, center, null_spread / math.sqrt(_HELD_MEAN))[0])
    for sd, held in ((null_spread, _HELD_SPREAD), (spread, _HELD_OTHER)):
        value -= held * (math.log(sd) + 0.5 * (width / sd) ** 2)
    return value, np.array([share, null_mean, null_spread, mean, spread]), r


def _log_density(x: FloatArray, mean: float, spread: float) -> FloatArray:
    z = (x - mean) / spread
    return np.asarray(-0.5 * z * z - math.log(spread * math.sqrt(2 * math.pi)))


def _above(x: FloatArray, mean: float, spread: float) -> FloatArray:
    """Return the share of a normal law above each number."""
    z = (x - mean) / (spread * math.sqrt(2))
    return np.array([0.5 * math.erfc(value) for value in z.tolist()])


def _quantile(values: FloatArray, weight: FloatArray, share: float) -> float:
    order = np.argsort(values)
    reached = np.cumsum(weight[order]) / weight.sum()
    return float(values[order[min(int(np.searchsorted(reached, share)), values.size - 1)]])
