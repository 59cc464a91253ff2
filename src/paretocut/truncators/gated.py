"""A gate before any truncator: nothing is kept when the best score may well be chance."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from paretocut.answers import read
from paretocut.background import Background, Origin, QueryScale
from paretocut.background.law import as_lists
from paretocut.background.seen import Drift, compare, shapes_of
from paretocut.decisions import WARNINGS
from paretocut.decisions.cuts import Evidence, Tails
from paretocut.decisions.warnings import named
from paretocut.decisions.wording import percent
from paretocut.errors import InvalidParameterError
from paretocut.lists import BoolArray, FloatArray, IntArray, Ragged, RaggedLike, RankedLists
from paretocut.metrics.significance import exact_interval
from paretocut.schema.files import decode
from paretocut.schema.kinds import Array, Either, Instance, Kind, Real, checked
from paretocut.schema.parameters import shown
from paretocut.truncators.base import TRUNCATOR, Fitted, Truncator, Wrapper
from paretocut.truncators.consensus.strategies import Estimated, shipped_number

_BEST = Either(Array(("",)))
SEEN = {"dense": (0.01, 0.05, 0.18), "lexical": (0.05, 0.14, 0.46)}
"""Least, median and most off-topic questions that got results in `make calibrate`, as shares."""
_RECORD: dict[str, Kind] = {
    "nonsense_": _BEST,
    "unjudged_": _BEST,
    "shapes_": Either(Array(("", 3))),
    "scale_": Either(Instance(QueryScale)),
    "origin_": Either(Instance(Origin)),
}


class Gated(Wrapper):
    """Keep nothing, unless the best score is better than queries without an answer reach.

    Parameters
    ----------
    base
        The truncator that decides how many results to keep of a list with an answer.
    background
        The scores of queries without an answer; see `paretocut.Background`.
    alpha
        Share of the queries without an answer that still get results. None uses the threshold that
        the background learned from unjudged queries.

    Attributes
    ----------
    base_
        A clone of the base, fitted by ``fit``. Before, the base is used as it is.

    Examples
    --------
    >>> import numpy as np
    >>> from paretocut.truncators import FixedK
    >>> unanswered = np.random.default_rng(0).normal(0.3, 0.1, (300, 1000)).max(axis=1)
    >>> gated = Gated(FixedK(2), Background.fit(unanswered))
    >>> gated.cut([0.9, 0.8, 0.4]).k, gated.cut([0.65, 0.6, 0.4]).reason
    (2, 'kept none of 3: 22 % of queries without an answer reach a best score as high')
    """

    parameters: ClassVar = {
        "base": TRUNCATOR,
        "background": Instance(Background),
        "alpha": Either(Real(above=0, below=1)),
    }
    state: Mapping[str, Kind] = {"base_": Fitted()}

    def __init__(
        self, base: Truncator, background: Background, *, alpha: float | None = 0.05
    ) -> None:
        self.base = base
        self.background = background
        self.alpha = alpha

    @property
    def direction(self) -> bool | None:
        return getattr(self.background, "higher_is_better", None)  # not checked yet

    def threshold(self) -> float:
        """Return the best score from which results are returned, on the scale of the search."""
        groups = self.background.groups
        if self.alpha is None and groups is not None:
            return groups.threshold if self.background.higher_is_better else -groups.threshold
        assert self.alpha is not None
        return self.background.limit(self.alpha)

    def check(self) -> None:
        super().check()
        if isinstance(self.base, Gated):
            raise InvalidParameterError(
                f"Gated: base must be a truncator without a gate, got {shown(self.base)}"
            )
        if self.alpha is None and self.background.groups is None:
            raise InvalidParameterError(
                f"{type(self).__name__}: alpha must be a number for a background that was given "
                "no queries, got None"
            )

    @property
    def learns(self) -> bool:
        return self.base.learns

    @property
    def needs_full_judgements(self) -> bool:
        return self.base.needs_full_judgements

    @property
    def needs_fit(self) -> bool:
        return self.inner.needs_fit

    @property
    def is_fitted(self) -> bool:
        return self.inner.is_fitted

    def require_fitted(self) -> None:
        self.inner.require_fitted()

    def learn(self, lists: RankedLists) -> None:
        self.base_ = self.base.clone().fit(lists)

    def decide(self, lists: RankedLists) -> tuple[IntArray, Evidence]:
        within, inner = self.inner.decision(lists)
        answers = self.background.answers(lists, self.alpha)
        evidence = _Gate(self.background, self.alpha, lists, answers, inner)
        return np.where(answers, within, 0), evidence

    def notices(self, lists: RankedLists, tails: Callable[[], Tails]) -> Sequence[tuple[str, ...]]:
        """Return the names of warnings, also of strange scores; see `Truncator.notices`."""
        found = super().notices(lists, tails)
        if self.background.seen is None or not len(lists):
            return found
        strange = self.background.seen.strange(lists.merit, self._limit())
        own = named({"unseen_scores": strange}, len(lists))
        return [one + other for one, other in zip(found, own, strict=True)]

    def evaluate(
        self,
        good: Mapping[str, Any] | RankedLists | RaggedLike = (),
        off_topic: Mapping[str, Any] | RankedLists | RaggedLike = (),
    ) -> GateCheck:
        """Return what the gate does to questions of your own, with intervals.

        Parameters
        ----------
        good, off_topic
            Questions that the index answers, and others, 50 or more different ones of each: the
            text of each and the answer of your search, as `paretocut.keep` takes it, or its scores.
            Lists of scores without texts will do, unless the scores are lexical.
        """
        tops, rates = [], []
        for name, given in (("good", good), ("off_topic", off_topic)):
            lists = self._asked(given, name)
            tops.append(np.where(lists.merit.filled, lists.merit.ends()[0], -np.inf))
            refused = ~self.background.answers(lists, self.alpha)
            rates.append(Rate(int(refused.sum()), refused.size))
        if not any(rate.total for rate in rates):
            raise InvalidParameterError(
                f"{type(self).__name__}.evaluate: good or off_topic must hold a question, got none"
            )
        balanced = _balanced(*tops)
        alpha = None
        if balanced is not None:
            balanced = balanced if self.background.higher_is_better else -balanced
            pvalue = float(self.background.pvalue([balanced])[0])
            alpha = pvalue if 0 < pvalue < 1 else None
        return GateCheck(rates[0], rates[1], self.threshold(), balanced, alpha)

    def _asked(self, given: Any, name: str) -> RankedLists:
        who, queries = f"{type(self).__name__}.evaluate: {name}", None
        if isinstance(given, Mapping):
            queries = list(given)
            answers = [scores for one in given.values() for scores in read(one, who=who).scores]
            given = [scores[np.isfinite(scores)] for scores in answers]
        lists = as_lists(given, self.background.higher_is_better, who=who)
        return self.scaled(lists, queries) if len(lists) else lists

    def _limit(self) -> float:
        """Return the threshold, higher is better."""
        return self.threshold() if self.background.higher_is_better else -self.threshold()

    @property
    def label(self) -> str:
        share = "" if self.alpha is None else f", alpha={self.alpha:g}"
        return f"{type(self).__name__}({self.inner.label}{share})"

    def result_values(self, lists: RankedLists) -> Ragged:
        """Return the values of the base, or the lowest; see `Truncator.result_values`."""
        values = self.inner.result_values(lists)
        shut = ~self.background.answers(lists, self.alpha)
        return values.with_values(np.where(values.spread(shut), -np.inf, values.values))

    @property
    def values_need_fit(self) -> bool:
        return self.base.values_need_fit and not self.base.is_fitted


@dataclass(frozen=True)
class Rate:
    """A share that was counted: ``count`` of ``total``, with its interval."""

    count: int
    total: int

    @property
    def interval(self) -> tuple[float, float]:
        """The exact 95 % interval (Clopper and Pearson) of the share among all such questions."""
        low, high = exact_interval(self.count, self.total) if self.total else (0.0, 1.0)
        return float(low), float(high)

    def __str__(self) -> str:
        low, high = self.interval
        return f"{self.count} of {self.total} ({percent(low)} to {percent(high)} of all such)"


@dataclass(frozen=True)
class GateCheck:
    """What a gate does to questions of its user; made by `Gated.evaluate`.

    Attributes
    ----------
    left_empty, refused
        Good questions and off-topic questions that get nothing (`Rate`).
    threshold, balanced, alpha
        The best score from which results are returned; the one with the smallest mean of both error
        rates on these questions, None unless both kinds were given; and the level that puts the
        threshold there: ``gate.set_params(alpha=...)``.
    """

    left_empty: Rate
    refused: Rate
    threshold: float
    balanced: float | None
    alpha: float | None

    def __str__(self) -> str:
        told = {"Good questions left empty": self.left_empty}
        told["Off-topic questions refused"] = self.refused
        lines = [f"{what}: {rate}." for what, rate in told.items() if rate.total]
        lines.append(f"The threshold is {self.threshold:.3g}.")
        if self.balanced is not None:
            level = "" if self.alpha is None else f", as alpha={self.alpha:.2g} does"
            lines.append(f"{self.balanced:.3g} would balance both errors here{level}.")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, intervals included."""
        plain = asdict(self)
        for name in ("left_empty", "refused"):
            plain[name] |= {"interval": list(getattr(self, name).interval)}
        return plain


def _balanced(good: FloatArray, other: FloatArray) -> float | None:
    """Return the score with the smallest mean of both error rates, between the nearest two."""
    if not good.size or not other.size:
        return None
    tops = np.unique(np.concatenate([good, other]))
    tops = tops[np.isfinite(tops)]
    if tops.size < 2:
        return None
    lost = np.searchsorted(np.sort(good), tops) / good.size
    passed = 1 - np.searchsorted(np.sort(other), tops) / other.size
    at = int(np.argmin((lost + passed)[1:])) + 1
    return float(0.5 * (tops[at - 1] + tops[at]))


@dataclass(frozen=True)
class _Gate:
    background: Background
    alpha: float | None
    lists: RankedLists
    answers: BoolArray
    inner: Evidence

    @property
    def tails(self) -> Tails | None:
        return self.inner.tails

    @cached_property
    def chance(self) -> FloatArray:
        return self.background.pvalue(self.lists)

    def because(self, i: int, k: int) -> str:
        if self.answers[i]:
            return self.inner.because(i, k)
        if self.alpha is None:
            share = percent(self.background.posterior(self.lists[i : i + 1])[0])
            return f"a query with such a best score has no answer with probability {share}"
        return f"{percent(self.chance[i])} of queries without an answer reach a best score as high"


class Calibrated(Gated):
    """A truncator that knows an index: how high nonsense scores, and how many results to expect.

    `paretocut.calibrate` makes it.

    Parameters
    ----------
    base, background, alpha
        As for `Gated`.

    Attributes
    ----------
    nonsense_, unjudged_
        Best scores of the nonsense and of the unjudged queries, higher is better; None for none.
    shapes_
        What `drift` compares later lists with: a row of `shapes` for each unjudged query.
    scale_, origin_
        The scale of lexical scores, with which every decision needs the query, and what the gate
        was made for (`QueryScale` and `Origin` of `paretocut.background`).
    """

    nonsense_: FloatArray | None = None
    unjudged_: FloatArray | None = None
    shapes_: FloatArray | None = None
    scale_: QueryScale | None = None
    origin_: Origin | None = None

    _kept: ClassVar = tuple(_RECORD)

    def record(self, **measured: Any) -> Self:
        """Return the truncator itself, with what was ``measured``: ``origin=`` and others."""
        self.__dict__ |= {f"{name}_": value for name, value in measured.items()}
        return self

    def drift(
        self, lists: RankedLists | RaggedLike, *, queries: Sequence[str] | None = None
    ) -> Drift:
        """Return whether lists of real queries still look as they did at calibration.

        Parameters
        ----------
        lists
            Lists of the same kind as the unjudged queries at calibration, preferably 50 or more.
        queries
            Texts of the queries; needed if calibrated for lexical scores.
        """
        return self.drift_of(self.shapes(lists, queries=queries))

    def shapes(
        self, lists: RankedLists | RaggedLike, *, queries: Sequence[str] | None = None
    ) -> FloatArray:
        """Return best score, gap and upper half of each list; for its arguments see `drift`."""
        if not isinstance(lists, RankedLists):
            lists = RankedLists(lists, higher_is_better=self.background.higher_is_better)
        return shapes_of(self.scaled(lists, queries))

    def drift_of(self, shapes: FloatArray) -> Drift:
        """Return the same as `drift`, for lists whose `shapes` were kept."""
        if self.shapes_ is None:
            raise InvalidParameterError(
                "Calibrated.drift: calibrate must be given queries, got none"
            )
        return compare(self.shapes_, shapes)

    def report(self) -> str:
        """Return what calibration found, in words and numbers."""
        lines = []
        if self.nonsense_ is not None:
            low, middle, high = self._spread(self.nonsense_)
            lines.append(
                f"{self.nonsense_.size} nonsense queries have a best score of {middle:.3g} "
                f"({low:.3g} to {high:.3g} for nine in ten)."
            )
        if self.unjudged_ is not None:
            low, middle, high = self._spread(self.unjudged_)
            given = self.origin_ and self.origin_.queries
            among = f" different ones of your {given}" if given != self.unjudged_.size else ""
            lines.append(
                f"{self.unjudged_.size}{among or ' of your'} queries have {middle:.3g} "
                f"({low:.3g} to {high:.3g})."
            )
        lines += self.gate_in_words()
        lines.append(f"How many: {self.inner!r}{self._how_many()}.")
        if self.origin_ is not None:
            lines += self._background_in_words(self.origin_)
        return "\n".join(lines)

    def gate_in_words(self) -> list[str]:
        """Return when results are returned, and for how many queries, one sentence each."""
        side = "above" if self.background.higher_is_better else "below"
        line = f"Results are returned when the best score is {side} {self.threshold():.3g}"
        if self.alpha is not None:
            line += f": {percent(self.alpha)} of the nonsense gets that far"
        lines = [f"{line}."]
        if self.unjudged_ is not None:
            empty = Rate(int(np.sum(self.unjudged_ < self._limit())), self.unjudged_.size)
            lines.append(f"Of your different queries it leaves empty {empty}.")
        return lines

    def notices(self, lists: RankedLists, tails: Callable[[], Tails]) -> Sequence[tuple[str, ...]]:
        """Return the names of warnings; see `Truncator.notices`."""
        found = super().notices(lists, tails)
        if self.origin_ is None or not len(lists):
            return found
        return [(*names, *self.origin_.doubts) for names in found]

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """Return the truncator, with what calibration measured; see `Truncator.from_dict`."""
        learned = content["learned"]
        own = {name: value for name, value in learned.items() if name not in _RECORD}
        made = super().from_dict({**content, "learned": own})
        record = {name: decode(value) for name, value in learned.items() if name in _RECORD}
        made.__dict__ |= checked({name: _RECORD[name] for name in record}, record)
        return made

    def _spread(self, tops: FloatArray) -> FloatArray:
        sign = 1.0 if self.background.higher_is_better else -1.0
        return np.asarray(sign * np.quantile(tops, [0.05, 0.5, 0.95]))

    def _background_in_words(self, origin: Origin) -> list[str]:
        lines = ["Off-topic questions are not nonsense: more of them may get results."]
        if self.alpha == 0.05 and self.unjudged_ is None:  # as it was measured
            kind = "dense" if self.scale_ is None else "lexical"
            low, middle, high = map(percent, SEEN[kind])
            lines[0] = (
                f"Off-topic questions are not nonsense: with {kind} scores, {low} to {high} of "
                f"them got results on test collections, {middle} on the median one."
            )
        if origin.own_words is not None and origin.own_words < 8:
            lines.append(
                f"The index was assumed to hold {origin.size} documents (size= changes this), "
                f"so {origin.own_words} of the 8 words of nonsense come from it."
            )
        about = [f"made {origin.date} by version {origin.version}"]
        if self.background.seen is not None:
            about.append(f"depth {self.background.seen.depth}")
        if origin.search is not None:
            about.insert(0, f"for {origin.search}")
        lines.append(f"This gate was {', '.join(about)}.")
        lines += [f"Warning, {name}: {WARNINGS[name]}." for name in origin.doubts]
        lines.append("Check it on questions of your own: gate.evaluate(good=..., off_topic=...).")
        return lines

    def _how_many(self) -> str:
        learned = getattr(self.inner, "learned_", None)
        if not isinstance(learned, Estimated) or self.shapes_ is None:
            return ""
        half = shipped_number()["half"]
        number = math.exp(learned.typical + half * float(np.median(self.shapes_[:, 2])))
        return f", about {max(number, 1):.2g} relevant results in a typical list (estimated)"

    @property
    def needs_queries(self) -> bool:
        return self.scale_ is not None

    def scaled(self, lists: RankedLists, queries: Sequence[str] | None) -> RankedLists:
        """Return lexical scores divided by the weight of the query; see `Truncator.scaled`."""
        if self.scale_ is None:
            return lists
        if queries is None or len(queries) != len(lists):
            got = "none" if queries is None else str(len(queries))
            raise InvalidParameterError(
                f"Calibrated: it was calibrated for lexical scores, so the texts of {len(lists)} "
                f"queries must be given, got {got}"
            )
        return lists.divided_by(self.scale_(queries))
