"""The probability of relevance: constants, scale of scores, beliefs, partial judgements."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from paretocut import _kernel
from paretocut.decisions.options import EXPECT
from paretocut.decisions.warnings import saturated
from paretocut.lists import BoolArray, FloatArray, IntArray, Ragged, RankedLists
from paretocut.schema.files import shipped
from paretocut.schema.kinds import Array, Real, checked

_CLIP = 1e-6  # beyond six digits a probability in single precision is noise
_Z = 1.959964  # 95 % of a normal law lie within this many standard deviations
_NODES, _SHARES = np.polynomial.hermite_e.hermegauss(5)
_COLUMNS = 4  # of `shape`
_STATE = {
    "coef": Array((_COLUMNS,), low=-1e6, high=1e6),
    "covariance": Array((_COLUMNS, _COLUMNS), low=-1e12, high=1e12, covariance=True),
    "false": Real(0, 1),
    "log_number": Real(-50, 50),
    "spread": Real(0, 50),
    "length": Real(above=0),
}


@dataclass(frozen=True)
class Constants:
    """Numbers chosen on judged runs; docs/evidence/compare.md compares them with other choices."""

    # The vote.
    draws: int = 100  # of the Bayesian bootstrap
    # Judged queries that all other collections together count for. This steadies the vote of ten
    # or twenty queries; fifty hardly need it.
    pseudo_queries: float = 6.0
    # Quantile of the votes at which untrained lists are cut for DCG: how rare relevant results are
    # is not known, and every wrong result that is kept costs.
    unsure: float = 0.25

    # Beliefs about the number of relevant results.
    # Log-odds of relevance per unit of min-max score inside a list, steeper than those of a
    # regression over many lists, which mixes easy and hard queries; and per unit of log rank.
    slope: float = 12.0
    rank_weight: float = -0.25
    share: float = 1 / 3  # upper part of a list's range that is kept if nothing is known
    depth: float = 200.0  # rank to which the range of a shorter list is extended
    # Standard deviation of the logarithm of the number of relevant results of one list, where the
    # mean number is known, and where `expect` is a word.
    number_spread: float = 0.6
    word_spread: float = 0.8
    low_top: float = 0.1  # quantile of the best scores of a system that is still typical of one

    # The regression.
    ridge: float = 20.0  # how strongly it is drawn to the coefficients of other collections
    # Standard errors that log-odds give away before a cut: the best of many uncertain cuts looks
    # better than it is.
    caution: float = 0.5
    folds: int = 5  # of the cross-validation that says whether cuts pay at all
    loss: float = 0.5  # standard errors that cuts must lose there before nothing is kept

    # Lists judged in part.
    # Share of the relevant results that a judge is taken to recognise, if nobody says more. It
    # hardly matters: a judge who finds 80 % makes the number of relevant results 15 % too small.
    found: float = 0.95
    # Shares of the irrelevant results that a judge may call relevant, and the prior of each.
    false_rates: tuple[float, ...] = (0.001, 0.005, 0.01, 0.02, 0.03, 0.05, 0.08)
    false_prior: tuple[float, ...] = (0.16, 0.16, 0.16, 0.16, 0.14, 0.12, 0.10)
    expect_error: float = 0.6  # standard deviation of the logarithm of a stated mean number
    # Share of the belief that stays with the upper third of the range: lists of one system differ
    # more than their mean number says.
    judged_plain: float = 0.1
    whole: int = 20  # with this many lists judged in full, only those are learned from


CONSTANTS = Constants()


@dataclass(frozen=True)
class Scale:
    """The scale on which the scores of a system are compared."""

    logit: bool = False  # as saturated probabilities should be compared
    center: float = 0.0
    spread: float = math.inf  # before any list was seen: raw scores count for nothing

    @classmethod
    def of(cls, merit: Ragged) -> Scale:
        """Return the scale of a system, from its lists in falling order."""
        filled = merit.filled
        logit = bool(filled.any() and saturated(merit)[filled].mean() > 0.5)
        values = cls(logit).apply(merit).values
        if values.size == 0:
            return cls(logit, 0.0, 1.0)
        # No digit changes, but squares of very large or small scores would overflow, or vanish.
        power = np.frexp(np.abs(values).max())[1]
        values = np.ldexp(values, -power)
        mean, deviation = np.ldexp([values.mean(), values.std()], power).tolist()
        return cls(logit, mean, deviation or 1.0)

    def apply(self, merit: Ragged) -> Ragged:
        """Return the lists on this scale: saturated probabilities as logits."""
        if not self.logit or merit.values.size == 0:
            return merit
        chosen = merit.count((merit.values < 0) | (merit.values > 1)) == 0
        clipped = np.clip(merit.values, _CLIP, 1 - _CLIP)
        logits = np.log(clipped) - np.log1p(-clipped)
        return merit.with_values(np.where(merit.spread(chosen), logits, merit.values))


def _odds(constants: Constants) -> tuple[float, float, float]:
    return constants.slope, constants.rank_weight, constants.depth


def levels_for(merit: Ragged, expected: FloatArray, constants: Constants = CONSTANTS) -> FloatArray:
    """Return the shifts of the log-odds of each list (rows) that give it the expected numbers."""
    merit, _ = merit.within_range()
    levels = np.empty(expected.shape)
    _kernel.find_levels(merit.values, merit.offsets, *_odds(constants), expected, levels)
    return levels


def upper_part(
    merit: Ragged, share: float, constants: Constants = CONSTANTS
) -> tuple[IntArray, FloatArray]:
    """Return how many results lie in the upper share of each list's range, and where that begins.

    In a short list the range runs on to where the score at rank ``constants.depth`` would stand.
    """
    counts, lows = np.empty(len(merit), dtype=np.int64), np.empty(len(merit))
    _kernel.upper_part(merit.values, merit.offsets, constants.depth, share, counts, lows)
    return counts, lows


def believed_cuts(
    merit: Ragged, beliefs: FloatArray, beta: float = 1.0, constants: Constants = CONSTANTS
) -> IntArray:
    """Return the cuts with the highest expected F-beta under a belief about the number.

    A row of `beliefs` holds share, mean and standard deviation of two normal laws of the
    logarithm of the number of relevant results.
    """
    merit, _ = merit.within_range()
    cuts = np.empty(len(merit), dtype=np.int64)
    _kernel.believed_cuts(merit.values, merit.offsets, *_odds(constants), beliefs, beta**2, cuts)
    return cuts


def expected_number(expect: str | float) -> float:
    return EXPECT[expect] if isinstance(expect, str) else float(expect)


def stated(count: int, expect: str | float, constants: Constants = CONSTANTS) -> FloatArray:
    """Return the belief of a user who gave `expect`: the same row for each of `count` lists."""
    spread = constants.word_spread if isinstance(expect, str) else constants.number_spread
    # The logarithm of 0 is minus infinity; the kernel then takes the least a list can hold.
    mean = math.log(max(expected_number(expect), 1e-3))
    return np.tile([1.0, mean, spread, 0.0, 0.0, 1.0], (count, 1))


def beliefs_about(merit: Ragged, mean: FloatArray, spread: float, plain: float) -> FloatArray:
    """Return the estimate of the logarithm, mixed with the number in the upper third of the range.

    The upper third is never far off, so it keeps the share `plain` of the belief.
    """
    upper = np.log(np.maximum(upper_part(merit, CONSTANTS.share)[0], 1))
    columns = (1 - plain, mean, spread, plain, upper, CONSTANTS.number_spread)
    return np.stack(np.broadcast_arrays(*columns), axis=1)


def shape(merit: Ragged) -> FloatArray:
    """Return the features of each result, in which the log-odds of relevance are linear."""
    merit, _ = merit.within_range()
    top, _ = merit.ends()
    low = upper_part(merit, CONSTANTS.share)[1]
    wide = top > low
    unit = np.where(wide, 1 / np.where(wide, top - low, 1.0), 0.0)
    within = merit.spread(unit) * (merit.values - merit.spread(low)) + merit.spread(1.0 - wide)
    log_rank = np.log(merit.ranks + 1.0) / 3
    return np.stack([np.ones_like(within), log_rank, within, log_rank**2], axis=1)


@cache
def shipped_judged() -> dict[str, Any]:
    return shipped("judged.json")  # mean and covariance of coefficients: `experiments.judge`


@dataclass(frozen=True)
class Relevance:
    """How likely each result is relevant, learned from judged results."""

    coef: FloatArray  # of the log-odds, in the columns of `shape`
    covariance: FloatArray
    false: float  # share of irrelevant results that the judge calls relevant, estimated or stated
    log_number: float  # logarithm of the mean number of relevant results of a list
    spread: float  # its standard error
    length: float  # mean number of results of a list: no estimate goes beyond it

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Relevance:
        return cls(**checked(_STATE, content))

    @property
    def number(self) -> float:
        """The number of relevant results to expect in a list."""
        return min(math.exp(self.log_number), self.length)

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the mean number of relevant results."""
        ends = (math.exp(self.log_number + z * self.spread) for z in (-_Z, _Z))
        low, high = (min(end, self.length) for end in ends)
        return low, high

    def expecting(self, expect: str | float) -> Relevance:
        """Return the model with `expect` as one more estimate; the log-odds follow the number."""
        number = max(expected_number(expect), 1e-3)
        precise, other = max(self.spread, 1e-9) ** -2, CONSTANTS.expect_error**-2
        both = (precise * self.log_number + other * math.log(number)) / (precise + other)
        coef = self.coef.copy()
        coef[0] += both - self.log_number
        return replace(self, coef=coef, log_number=both, spread=(precise + other) ** -0.5)

    def probabilities(self, merit: Ragged, caution: float = 0.0) -> Ragged:
        """Return the probability that each result is relevant; it never rises down a list."""
        logits = cautious(shape(merit), self.coef, self.covariance, caution)
        return merit.with_values(_falling(merit, sigmoid(logits)))

    def draws(self, merit: Ragged, times: int, rng: np.random.Generator) -> Iterator[BoolArray]:
        """Yield which results are relevant, drawing the coefficients, then each result."""
        design = shape(merit)
        for _ in range(times):
            coef = rng.multivariate_normal(self.coef, self.covariance, method="cholesky")
            p = _falling(merit, sigmoid(design @ coef))
            yield np.asarray(rng.random(p.size) < p)

    def beliefs(self, merit: Ragged) -> FloatArray:
        """Return the belief about the number in each list, for `believed_cuts`."""
        spread = math.hypot(CONSTANTS.number_spread, self.spread)
        mean = np.full(len(merit), self.log_number)
        return beliefs_about(merit, mean, spread, CONSTANTS.judged_plain)

    def loss(self, merit: Ragged) -> float:
        """Return how much F1 the cuts may lose with the number at an end of its interval."""
        now = believed_cuts(merit, self.beliefs(merit))
        losses = []
        for end in self.interval:
            best = believed_cuts(merit, stated(len(merit), end))
            values = _expected(merit, math.log(end), best, now)
            losses.append(float(np.mean(values[0] - values[1])))
        return max(*losses, 0.0)


def learn(
    merit: Ragged,
    judged: BoolArray,
    relevant: BoolArray,
    *,
    errors: tuple[float, float] | None = None,
    known: Mapping[str, Any] | None = None,
) -> Relevance:
    """Return the model of the relevance of judged results.

    A judge says yes with probability ``false + (found - false) p``. The coefficients have a normal
    prior, the rate of false answers a discrete one; the posterior is normal around its mode for
    each rate, and rates are weighed by their evidence.
    """
    prior = known or shipped_judged()
    mean = np.asarray(prior["mean"], dtype=np.float64)
    precision = np.linalg.inv(np.asarray(prior["covariance"], dtype=np.float64))
    found = CONSTANTS.found if errors is None else 1 - errors[0]
    rates = CONSTANTS.false_rates if errors is None else (errors[1],)
    shares = CONSTANTS.false_prior if errors is None else (1.0,)
    design = shape(merit)
    said, own = relevant[judged].astype(np.float64), design[judged]

    coef, rows, filled = mean, [], max(int(merit.filled.sum()), 1)
    for rate, share in zip(rates, shares, strict=True):
        coef, inverse, evidence = _mode(own, said, mean, precision, found, rate, coef)
        p = _falling(merit, sigmoid(design @ coef))
        total = max(float(p.sum()), 1e-9)
        slope = design.T @ (p * (1 - p)) / total
        log, number = math.log(share) + evidence, math.log(total / filled)
        rows.append((log, coef, inverse, number, slope @ inverse @ slope))
    logs, coefs, inverses, numbers, variances = map(np.array, zip(*rows, strict=True))
    weight = np.exp(logs - logs.max())
    weight /= weight.sum()
    coef, number = weight @ coefs, float(weight @ numbers)
    apart = coefs - coef
    covariance = np.tensordot(weight, inverses, axes=1) + (apart * weight[:, None]).T @ apart
    spread = math.sqrt(weight @ (variances + (numbers - number) ** 2))
    length = merit.values.size / filled
    return Relevance(coef, covariance, float(weight @ rates), number, spread, length)


def learn_from(
    lists: RankedLists, *, errors: tuple[float, float] | None = None
) -> tuple[Scale, Ragged, Relevance]:
    """Return the scale of the system, the lists on it, and the model of their judgements."""
    assert lists.relevance is not None
    relevant, scale = lists.is_relevant(lists.relevance.values), Scale.of(lists.merit)
    merit = scale.apply(lists.merit)
    return scale, merit, learn(merit, lists.judged.values, relevant, errors=errors)


def _mode(
    design: FloatArray,
    said: FloatArray,
    mean: FloatArray,
    precision: FloatArray,
    found: float,
    false: float,
    start: FloatArray,
) -> tuple[FloatArray, FloatArray, float]:
    """Return mode and covariance of the coefficients, and the log-evidence."""

    def chance(coef: FloatArray) -> tuple[FloatArray, FloatArray]:
        p = sigmoid(design @ coef)
        yes = np.clip(false + (found - false) * p, 1e-12, 1 - 1e-12)
        return yes, (found - false) * p * (1 - p)

    def objective(coef: FloatArray) -> float:
        yes, _ = chance(coef)
        away = coef - mean
        fit = said @ np.log(yes) + (1 - said) @ np.log1p(-yes)
        return float(fit - 0.5 * away @ precision @ away)

    def information(coef: FloatArray) -> FloatArray:
        yes, slope = chance(coef)
        return np.asarray((design * (slope**2 / (yes * (1 - yes)))[:, None]).T @ design + precision)

    def newton(coef: FloatArray) -> FloatArray:
        yes, slope = chance(coef)
        gradient = design.T @ ((said - yes) / (yes * (1 - yes)) * slope)
        away = precision @ (coef - mean)
        return np.asarray(np.linalg.solve(information(coef), gradient - away))

    coef, value = climb(start, objective, newton)
    matrix = information(coef)
    inverse = np.asarray(np.linalg.inv(matrix), dtype=np.float64)
    return coef, inverse, value - 0.5 * float(np.linalg.slogdet(matrix)[1])


def _falling(merit: Ragged, p: FloatArray) -> FloatArray:
    """Return probabilities that do not rise down a list."""
    inside = np.diff(p, prepend=0.0) > 0
    inside[merit.offsets[:-1][merit.filled]] = False
    if not inside.any():
        return p
    p = p.copy()
    for i in np.unique(merit.rows[inside]).tolist():
        own = p[merit.offsets[i] : merit.offsets[i + 1]]
        np.minimum.accumulate(own, out=own)
    return p


def _expected(merit: Ragged, log_number: float, *cuts: IntArray) -> FloatArray:
    """Return the expected F1 of each list (columns) under each cut (rows), for this mean number."""
    numbers = np.exp(log_number + CONSTANTS.number_spread * _NODES)
    levels = levels_for(merit, np.tile(numbers, (len(merit), 1)))
    base = shape(merit)[:, 1:3] @ [3 * CONSTANTS.rank_weight, CONSTANTS.slope]
    shares = _SHARES / _SHARES.sum()
    values = np.zeros((len(cuts), len(merit)))
    for i in range(len(merit)):
        own = base[merit.offsets[i] : merit.offsets[i + 1]]
        p = sigmoid(own[:, None] + levels[i])
        hits = np.concatenate([np.zeros((1, p.shape[1])), np.cumsum(p, axis=0)])
        for row, k in zip(values, (some[i] for some in cuts), strict=True):
            row[i] = shares @ (2 * hits[k] / np.maximum(k + hits[-1], 1e-9))
    return values


def sigmoid(logits: FloatArray) -> FloatArray:
    """Return the probability of each log-odds."""
    return np.asarray(0.5 * (1 + np.tanh(0.5 * logits)))


def climb(
    start: FloatArray,
    objective: Callable[[FloatArray], float],
    newton: Callable[[FloatArray], FloatArray],
) -> tuple[FloatArray, float]:
    """Return where Newton's steps reach the highest value, and that value."""
    coef, value = start, objective(start)
    for _ in range(100):
        step = newton(coef)
        # A full step may overshoot where the objective is flat; half of it, or a quarter, gains.
        while (new := objective(coef + step)) < value and np.abs(step).max() > 1e-9:
            step = 0.5 * step
        if new <= value:
            break
        gained, coef, value = new - value, coef + step, new
        if gained < 1e-9 * (1 + abs(value)):
            break
    return coef, value


def ridge_logistic(
    design: FloatArray,
    truth: FloatArray,
    *,
    penalty: FloatArray,
    towards: FloatArray,
    weight: FloatArray | None = None,
    start: FloatArray | None = None,
) -> FloatArray:
    """Return the coefficients of a logistic regression, drawn towards given ones.

    `penalty` is that of half the square of each difference; `weight` counts each observation.
    """
    counts = np.ones(len(design)) if weight is None else weight

    def objective(coef: FloatArray) -> float:
        logits = design @ coef
        fit = counts @ (truth * logits - np.logaddexp(0.0, logits))
        return float(fit - 0.5 * penalty @ (coef - towards) ** 2)

    def newton(coef: FloatArray) -> FloatArray:
        p = sigmoid(design @ coef)
        gradient = design.T @ (counts * (truth - p)) - penalty * (coef - towards)
        return np.asarray(np.linalg.solve(curvature(design, p, counts, penalty), gradient))

    return climb(towards if start is None else start, objective, newton)[0]


def curvature(
    design: FloatArray, probability: FloatArray, weight: FloatArray, penalty: FloatArray
) -> FloatArray:
    """Return the approximate inverse covariance of the coefficients of `ridge_logistic`."""
    spread = weight * probability * (1 - probability)
    return np.asarray((design * spread[:, None]).T @ design + np.diag(penalty))


def cautious(
    design: FloatArray, coef: FloatArray, covariance: FloatArray, caution: float
) -> FloatArray:
    """Return the log-odds, lowered by so many of their standard errors."""
    logits: FloatArray = design @ coef
    if caution:
        logits = logits - caution * np.sqrt(((design @ covariance) * design).sum(axis=1))
    return logits
