"""The law of the best score of queries without an answer, and two groups of a log."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from paretocut.background.seen import Seen
from paretocut.errors import InvalidParameterError, InvalidScoresError
from paretocut.lists import BoolArray, FloatArray, Ragged, RaggedLike, RankedLists
from paretocut.schema.drawn import Drawn
from paretocut.schema.files import register, save_model
from paretocut.schema.kinds import Either, Flag, Kind, Made, Real, Whole, checked
from paretocut.schema.parameters import check_numbers, check_positive_int, check_probability, shown

_FEWEST = 10
_LARGEST = 1e150  # squares of larger scores overflow
_SMALLEST = 1e-150  # squares of smaller numbers vanish
# Weights, in queries: of the believed share without an answer, of the mean and the spread of
# nonsense in the first group, and of that spread in the second.
_STRENGTH, _HELD_MEAN, _HELD_SPREAD, _HELD_OTHER = 20.0, 10.0, 30.0, 5.0
_STEPS = 100
_CLEAN, _LOST = 0.1, 0.1
# Content of a file; the share is one that `Groups.fit` can find.
_GROUPS: dict[str, Kind] = {
    "share": Real(1e-5, 1 - 1e-5),
    "null_mean": Real(),
    "null_spread": Real(above=0),
    "mean": Real(),
    "spread": Real(above=0),
    "threshold": Real(),
}


@dataclass(frozen=True)
class Groups:
    """The best scores of a log as a mixture of two normal laws, after Efron (JASA 99, 2004).

    ``share`` of the queries have no answer; their best scores have ``null_mean`` and
    ``null_spread``, those of the others ``mean`` and ``spread``. Nonsense is only a first guess at
    the first law. Best scores from ``threshold`` on count as answers: it minimises the sum of both
    error rates. If nearly all of the log has an answer, at most a tenth of it is left empty.
    """

    share: float
    null_mean: float
    null_spread: float
    mean: float
    spread: float
    threshold: float

    @classmethod
    def fit(cls, tops: FloatArray, nonsense: FloatArray, *, unanswered: float = 0.05) -> Groups:
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
        # Beyond the middle of a group, the other law may have the longer tail. A better score must
        # not look worse for that.
        held = np.clip(tops, self.null_mean, self.mean)
        null = _log_density(held, self.null_mean, self.null_spread)
        other = _log_density(held, self.mean, self.spread)
        odds = np.log(self.share) - np.log1p(-self.share) + null - other
        return np.asarray(1 / (1 + np.exp(-np.clip(odds, -700, 700))))

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Groups:
        return cls(**checked(_GROUPS, content))


def _climb(
    log: FloatArray, law: FloatArray, center: float, width: float, prior: tuple[float, float]
) -> tuple[float, FloatArray, FloatArray]:
    """Return log-posterior, law and probabilities of the first group, after EM."""
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
    z = (x - mean) / (spread * math.sqrt(2))
    return np.array([0.5 * math.erfc(value) for value in z.tolist()])


def _quantile(values: FloatArray, weight: FloatArray, share: float) -> float:
    order = np.argsort(values)
    reached = np.cumsum(weight[order]) / weight.sum()
    return float(values[order[min(int(np.searchsorted(reached, share)), values.size - 1)]])


# Content of a file.
_STATE: dict[str, Kind] = {
    "shape": Real(-20, 1),
    "loc": Real(),
    "scale": Real(above=0),
    "size": Either(Whole(1)),
    "higher_is_better": Flag(),
    "groups": Either(Made(Groups.from_dict)),
    "seen": Either(Made(Seen.from_dict)),
}


def fit_gev(maxima: ArrayLike) -> tuple[float, float, float]:
    """Return the shape, location and scale of a generalized extreme value law, by L-moments.

    The shape ``xi`` is positive for heavy tails (SciPy's ``genextreme`` has ``c = -xi``). The
    ``maxima`` are at least 10 numbers, not all equal.

    References
    ----------
    J. R. M. Hosking, J. R. Wallis, E. F. Wood, "Estimation of the generalized extreme-value
    distribution by the method of probability-weighted moments", Technometrics 27, 1985.
    """
    x = np.sort(np.asarray(maxima, dtype=np.float64))
    n = x.size
    if x.ndim != 1 or n < _FEWEST or not np.isfinite(x).all() or x[0] == x[-1]:
        raise InvalidScoresError(
            f"fit_gev: maxima must be at least {_FEWEST} finite numbers, not all equal, "
            f"got {np.array2string(x, threshold=6)}"
        )
    if max(-x[0], x[-1]) > _LARGEST:
        raise InvalidScoresError(
            f"fit_gev: maxima must be within {_LARGEST:g} of 0, got {x[0]:g} to {x[-1]:g}"
        )
    rank = np.arange(n)
    b0 = x.mean()
    b1 = np.mean(rank / (n - 1) * x)
    b2 = np.mean(rank * (rank - 1) / ((n - 1) * (n - 2)) * x)
    ratio = (3 * b2 - b0) / (2 * b1 - b0)
    # (1 - 3^-k) / (1 - 2^-k) falls as k rises; k = -xi.
    low, high = -0.95, 20.0
    for _ in range(80):
        k = 0.5 * (low + high)
        value = math.log(3) / math.log(2) if abs(k) < 1e-9 else (1 - 3**-k) / (1 - 2**-k)
        low, high = (k, high) if value > ratio else (low, k)
    if abs(k) < 1e-6:
        scale = (2 * b1 - b0) / math.log(2)
        return 0.0, float(b0 - np.euler_gamma * scale), float(scale)
    gamma = math.gamma(1 + k)
    scale = (2 * b1 - b0) * k / (gamma * (1 - 2**-k))
    return float(-k), float(b0 + scale * (gamma - 1) / k), float(scale)


def gev_log_cdf(x: ArrayLike, *, shape: float, loc: float, scale: float) -> FloatArray:
    """Return the log-probability of not exceeding ``x``; `fit_gev` gives shape, loc and scale."""
    with np.errstate(over="ignore"):
        z = (np.asarray(x, dtype=np.float64) - loc) / scale
    if abs(shape) < 1e-9:
        return np.asarray(-np.exp(np.minimum(-z, 700.0)))
    inner = np.maximum(1 + shape * z, 0.0)
    with np.errstate(divide="ignore", over="ignore"):
        return np.asarray(-(inner ** (-1 / shape)))


@dataclass(frozen=True)
class Background(Drawn):
    """The law of the best score of queries that have no answer in the index.

    Made by `Background.fit`. The best of many irrelevant scores follows a generalized extreme value
    law, which changes in a known way as the index grows.

    Attributes
    ----------
    shape, loc, scale
        Of the best score, in the index it was fitted on.
    size, higher_is_better
        As given to `fit`.
    groups
        The queries of a log with and without an answer, if unjudged queries were given.
    seen
        The range of all scores it was fitted on; `paretocut.truncators.Gated` warns about others.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> unanswered = rng.normal(0.3, 0.1, (300, 1000)).max(axis=1)
    >>> background = Background.fit(unanswered, size=1000)
    >>> background.pvalue([0.62, 0.75]).round(3)
    array([0.507, 0.004])
    >>> background.pvalue([0.75], size=10_000).round(3)
    array([0.036])
    """

    shape: float
    loc: float
    scale: float
    size: int | None = None
    higher_is_better: bool = True
    groups: Groups | None = None
    seen: Seen | None = None

    @classmethod
    def fit(
        cls,
        lists: RankedLists | RaggedLike,
        *,
        queries: RankedLists | RaggedLike | None = None,
        unanswered: float = 0.05,
        size: int | None = None,
        higher_is_better: bool = True,
    ) -> Background:
        """Return the background of an index, learned from queries without an answer.

        Parameters
        ----------
        lists
            Lists of queries without an answer, or only their best scores (1-D). A document that is
            not in the index can serve as such a query.
        queries
            Lists of real queries, unjudged, most with an answer: they show where answers begin.
        unanswered
            Estimated share of ``queries`` without an answer. It weighs as much as 20 queries.
        size
            Number of documents in the index; needed to follow its growth.
        higher_is_better
            False for distances; `RankedLists` know their direction.
        """
        if size is not None:
            check_positive_int(size, who="Background.fit", name="size")
        if isinstance(lists, RankedLists):
            higher_is_better = lists.higher_is_better
        null = _whole(lists, higher_is_better)
        tops = _tops(null, higher_is_better)
        tops = tops[np.isfinite(tops)]
        wanted = f"Background.fit: lists must be those of at least {_FEWEST} queries"
        if tops.size < _FEWEST:
            raise InvalidScoresError(f"{wanted} with a result, got {tops.size}")
        if tops.min() == tops.max():
            raise InvalidScoresError(
                f"{wanted} with different best scores, got {abs(tops[0]):g} for all {tops.size}: "
                "each list was put on a scale of its own (min-max or softmax), or the search gives "
                "every query the same score; use the scores from before"
            )
        shape, loc, scale = fit_gev(tops)
        groups, merits = None, [null.merit]
        if queries is not None:
            check_probability(unanswered, who="Background.fit", name="unanswered")
            asked = _whole(queries, higher_is_better)
            merits.append(asked.merit)
            groups = Groups.fit(_tops(asked, higher_is_better), tops, unanswered=unanswered)
        return cls(shape, loc, scale, size, higher_is_better, groups, Seen.of(merits))

    def posterior(self, lists: RankedLists | RaggedLike) -> FloatArray:
        """Return the probability that the query of each of ``lists`` has no answer, by the log."""
        if self.groups is None:
            raise InvalidParameterError("Background.posterior: fit must be given queries, got none")
        top = _tops(lists, self.higher_is_better)
        return np.where(np.isfinite(top), self.groups.posterior(top), 1.0)

    def answers(self, lists: RankedLists | RaggedLike, alpha: float | None = 0.05) -> BoolArray:
        """Return whether the best score of each of ``lists`` counts as an answer.

        Its p-value is ``alpha`` at most; None stands for the threshold learned from the log.
        """
        if alpha is not None:
            level = check_probability(alpha, who="Background.answers", name="alpha")
            return np.asarray(self.pvalue(lists) <= level)
        if self.groups is None:
            raise InvalidParameterError(
                "Background.answers: alpha must be a number when fit was given no queries, got None"
            )
        return np.asarray(_tops(lists, self.higher_is_better) >= self.groups.threshold)

    def pvalue(self, lists: RankedLists | RaggedLike, *, size: int | None = None) -> FloatArray:
        """Return the probability that chance alone reaches the best score of each list.

        Parameters
        ----------
        lists
            As for `fit`, in the same direction. An empty list has p-value 1.
        size
            Number of documents in the index now: the law ``F`` becomes ``F ** (size / size0)``. If
            the law differs between queries, this is an upper bound on the p-value.
        """
        growth = self._growth(size)
        top = _tops(lists, self.higher_is_better)
        filled = np.isfinite(top)
        pvalues = np.ones(top.size)
        law = {"shape": self.shape, "loc": self.loc, "scale": self.scale}
        pvalues[filled] = -np.expm1(growth * gev_log_cdf(top[filled], **law))
        return pvalues

    def limit(self, alpha: float = 0.05, *, size: int | None = None) -> float:
        """Return the best score that a share ``alpha`` of the queries without an answer exceeds.

        ``size`` is that of the index now, as for `pvalue`.
        """
        check_probability(alpha, who="Background.limit", name="alpha")
        # F ** growth = 1 - alpha, and F = exp(-exp(-z)) on the scale of the law.
        z = math.log(self._growth(size)) - math.log(-math.log1p(-alpha))
        if abs(self.shape) >= 1e-9:
            z = math.expm1(min(self.shape * z, 700.0)) / self.shape
        top = self.loc + self.scale * z
        return top if self.higher_is_better else -top

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the background as JSON to ``path``, in one step; `paretocut.load` reads it."""
        save_model(path, "background", self)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Background:
        """Return the background of these attributes in ``content``; others are ignored."""
        return cls(**checked(_STATE, {name: content[name] for name in _STATE if name in content}))

    def _growth(self, size: int | None) -> float:
        if size is None:
            return 1.0
        if self.size is None:
            raise InvalidParameterError(
                "Background.pvalue: size must be None unless fit was given the size of the index, "
                f"got {shown(size)}"
            )
        return check_positive_int(size, who="Background.pvalue", name="size") / self.size


def as_lists(given: RankedLists | RaggedLike, higher_is_better: bool, *, who: str) -> RankedLists:
    """Return bare scores as lists, after a check of their direction; lists as they are."""
    if isinstance(given, RankedLists):
        return given
    return RankedLists.of_scores(Ragged.from_any(given, dtype=float), higher_is_better, who=who)[0]


def _whole(given: Any, higher_is_better: bool) -> RankedLists:
    """Return lists, or best scores as lists of one result."""
    flat = isinstance(given, list) or (isinstance(given, np.ndarray) and given.ndim == 1)
    if flat and len(given) and np.isscalar(given[0]):
        given = check_numbers(given, who="Background", name="best scores", ndim=1)[:, None]
    return as_lists(given, higher_is_better, who="Background")


def _tops(given: RankedLists | RaggedLike, higher_is_better: bool) -> FloatArray:
    """Return the best score of each list, -inf of an empty one."""
    lists = _whole(given, higher_is_better)
    if lists.higher_is_better != higher_is_better:
        own, other = ("scores", "distances") if higher_is_better else ("distances", "scores")
        raise InvalidScoresError(
            f"Background: lists must hold {own}, as those it was fitted on, got {other}"
        )
    return np.where(lists.merit.filled, lists.merit.ends()[0], -np.inf)


register("background", Background, asdict, Background.from_dict)
