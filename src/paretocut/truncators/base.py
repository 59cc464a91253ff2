"""The contract every truncator keeps: parameters, fit, decisions, copies and files."""

from __future__ import annotations

import inspect
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from numbers import Number
from typing import Any, ClassVar, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from paretocut import metrics
from paretocut.decisions.cuts import Cut, Cuts, Evidence, Tails, as_scores, decided, positions
from paretocut.decisions.options import check_bounds
from paretocut.decisions.warnings import diagnose, named
from paretocut.errors import InvalidParameterError, InvalidScoresError, NotFittedError
from paretocut.lists import IntArray, Ragged, RaggedLike, RankedList, RankedLists
from paretocut.metrics import Metric
from paretocut.schema.drawn import Drawn
from paretocut.schema.files import decode, encode, register, save_model
from paretocut.schema.kinds import Flag, Instance, Kind, Sizes, Whole, checked
from paretocut.schema.parameters import check, check_bool, shown
from paretocut.tail import SurpriseFits, fit_lists
from paretocut.truncators.evidence import KEPT, MARKS, Clause, Taught, marks
from paretocut.truncators.naming import class_named, name_of, refuse_impostor


class _MetricKind(Kind):
    """A metric: its name, the object, or a function."""

    def check(self, value: Any, sizes: Sizes) -> Metric:
        return metrics.get(value)


METRIC: Kind = _MetricKind()
_Numbers: TypeAlias = IntArray | Sequence[int]
Decided: TypeAlias = _Numbers | tuple[_Numbers, Evidence | str | Sequence[str]]


class Truncator(Drawn, ABC):
    """Base of everything that chooses how many results of a list to keep.

    It follows scikit-learn's conventions: the constructor only stores its arguments, and learned
    attributes end in an underscore. A subclass writes `parameters` and `decide`, and if there is
    something to learn, `learn` and `state`. docs/researcher.md shows both; `check_truncator` tests
    it.
    """

    parameters: ClassVar[Mapping[str, Kind]] = {}
    """Kinds of the constructor's arguments."""
    instead_of_fit: ClassVar[tuple[str, ...]] = ()
    """Parameters of which any one makes learning unnecessary."""
    reads_scores: ClassVar[bool] = True
    """Whether a model learned from similarities is refused for distances."""
    needs_relevance: ClassVar[bool] = False
    """Whether `decide` looks at the judgements of the lists, as only a ceiling does."""
    learns_slowly: ClassVar[bool] = False
    """Whether `fit` takes minutes, as that of a network does."""
    trusted: bool = False
    """Set on an object that was checked, needs no fit, and that nobody else can change."""
    _kept: ClassVar[tuple[str, ...]] = ()
    """Learned attributes that do not come from ``fit``, so that it leaves them alone."""

    higher_is_better_: bool
    queries_: int
    marks_: Sequence[int] = ()
    """Marks of the judged queries that it learned from, which its file keeps."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        refuse_impostor(cls)

    @abstractmethod
    def decide(self, lists: RankedLists) -> Decided:
        """Return how many results of each list to keep: whole numbers from 0 to its length.

        Evidence may come with them, which says why: a text, one text for each list, or an object
        with ``because(i, k)``. The ``lists`` come best result first, and ``lists.merit`` is higher
        for better results; some lists may be empty.
        """

    def learn(self, lists: RankedLists) -> None:
        """Set attributes that end in an underscore, from one or more ``lists``; `fit` calls it.

        Every result is judged, unless `needs_full_judgements` is False.
        """
        raise NotImplementedError

    @property
    def state(self) -> Mapping[str, Kind]:
        """Kinds of the attributes set by `learn`; a saved file is checked against them."""
        return {}

    @property
    def label(self) -> str:
        """The class with its parameters, or a rule with its level."""
        return repr(self)

    @property
    def learns(self) -> bool:
        """Whether `fit` has anything to learn with these parameters."""
        if type(self).learn is Truncator.learn:
            return False
        return all(getattr(self, name) is None for name in self.instead_of_fit)

    @property
    def needs_fit(self) -> bool:
        """Whether `fit` must come before the first decision."""
        return self.learns

    @property
    def is_fitted(self) -> bool:
        """Whether it has learned anything."""
        return bool(self._learned())

    def learned_from(self, lists: RankedLists) -> bool:
        """Return whether it learned from judgements of the queries of these lists.

        Its values on them are then no estimate of its values on new queries.
        """
        return not marks(lists).isdisjoint(self.marks_)

    @property
    def needs_full_judgements(self) -> bool:
        """Whether `fit` refuses lists that are not judged, or only in part."""
        return self.learns

    @property
    def needs_embeddings(self) -> bool:
        """Whether lists must have ``query_embeddings``."""
        return False

    @property
    def needs_queries(self) -> bool:
        """Whether decisions need the texts of the queries."""
        return False

    def check(self) -> None:
        """Raise InvalidParameterError for a parameter that is not allowed."""
        who = type(self).__name__
        for name, kind in self.parameters.items():
            check(kind, getattr(self, name), who=who, name=name)

    def require_fitted(self) -> None:
        """Raise NotFittedError if `fit` must come first."""
        if self.needs_fit and not self.is_fitted:
            either = " or ".join(", ".join(self.instead_of_fit).rsplit(", ", 1))
            given = f", or with {either} given" if either else ""
            told = f"it must be fitted with fit(judged_lists){given} before it decides"
            raise NotFittedError(f"{type(self).__name__}: {told}, got lists to cut first")

    def decision(self, lists: RankedLists) -> tuple[IntArray, Evidence]:
        """Return the checked numbers of `decide` for these lists, always with evidence."""
        self._check_direction(lists)
        found: Any = self.decide(lists)
        numbers, why = found if _is_pair(found) else (found, None)
        who = type(self).__name__
        counts = _checked_numbers(numbers, lists.scores, who)
        if why is None:
            why = f"chosen by {self.label}" + (f", {self.taught}" if self.is_fitted else "")
        evidence: Any = why if hasattr(why, "because") else _clause(why, len(counts), who)
        return counts, evidence

    @property
    def zeros(self) -> Literal["trim", "keep"]:
        """Whether results padded with score 0 are hidden from `decide`."""
        return "trim"

    def scaled(self, lists: RankedLists, queries: Sequence[str] | None) -> RankedLists:
        """Return the lists on the scale of the decision, which may need the texts of queries."""
        return lists

    def tails_of(self, lists: RankedLists) -> SurpriseFits:
        """Return the tails of lists that are `scaled`, as this truncator fits them."""
        return fit_lists(lists)

    def notices(self, lists: RankedLists, tails: Callable[[], Tails]) -> Sequence[tuple[str, ...]]:
        """Return names of warnings about each of the lists; ``tails`` returns their tails."""
        scores = lists.scores
        first, last = scores.ends()
        diagnosed = diagnose(scores)
        found = {name: diagnosed[name] for name in ("rank_only_scores", "rescaled_scores")}
        found["constant_scores"] = (scores.lengths > 1) & (first == last)
        return named(found, len(scores))

    @property
    def taught(self) -> Taught:
        """How many queries it learned from, judged or not."""
        return Taught(self.queries_, self.needs_full_judgements or bool(self.marks_) or None)

    def result_values(self, lists: RankedLists) -> Ragged:
        """Return one number per result of the lists, never rising, which `Conformal` thresholds.

        By default thresholds stretch or shrink the predicted cut; 1 is the cut itself. Methods that
        have a value for each result return that instead.
        """
        scores = lists.scores
        cuts = scores.spread(self.predict(lists) + 0.5)
        return scores.with_values(cuts / (scores.ranks + 1))

    @property
    def values_need_fit(self) -> bool:
        """Whether `fit` must come before `result_values`."""
        return self.learns

    def fit(self, lists: RankedLists) -> Self:
        """Return the truncator itself, after learning from judged lists.

        The old model is replaced only when everything has been learned: an error leaves the
        truncator as it was, and concurrent decisions see either the old model or the new one.

        Parameters
        ----------
        lists
            Training lists. Methods that learn nothing accept lists without judgements.
        """
        if not isinstance(lists, RankedLists):
            bare = Ragged.from_any(lists, dtype=np.float64)
            lists, _ = RankedLists.of_scores(bare, True, who="fit")
        self.check()
        learner = self._copy()
        for name in self._learned():
            if name not in self._kept:
                delattr(learner, name)
        if self.learns:
            if len(lists) == 0:
                told = "lists must hold at least one list to learn from, got 0"
                raise InvalidParameterError(told, who=type(self).__name__)
            if self.needs_full_judgements:
                lists.relevant  # noqa: B018 - refuses lists that are not judged in full
            learner.learn(lists)
            if not hasattr(learner, "queries_"):  # some lists may have taught nothing
                learner.queries_ = len(lists)
            if self.reads_scores:
                learner.higher_is_better_ = lists.higher_is_better
            learner.marks_ = sorted(marks(lists))[:KEPT]
        self.__dict__ = learner.__dict__
        return self

    def cut(
        self,
        scores: ArrayLike | RankedList,
        *,
        query: str | None = None,
        higher_is_better: bool | None = None,
        min_k: int = 0,
        max_k: int | None = None,
    ) -> Cut:
        """Return how many results of one list to keep, and why.

        Parameters
        ----------
        scores, higher_is_better, min_k, max_k
            As for `paretocut.cut`; by default the direction is that of the lists at fit.
        query
            Text of the query. Truncators calibrated for lexical scores need it; others ignore it.
        """
        bounds = check_bounds("cut", min_k, max_k)
        if isinstance(scores, RankedList):
            _check_own_direction(scores, higher_is_better, "cut")
            higher_is_better, scores = scores.higher_is_better, scores.scores
        values = as_scores(scores, who="cut")
        bare = Ragged.unchecked(values, np.array([0, values.size]))
        queries = None if query is None else [query]
        cuts = self._cuts(bare, higher_is_better, bounds, queries, "cut")
        return Cut(int(cuts.k[0]), values.size, cuts, 0)

    def cut_batch(
        self,
        lists: RankedLists | RaggedLike,
        *,
        queries: Sequence[str] | None = None,
        higher_is_better: bool | None = None,
        min_k: int = 0,
        max_k: int | None = None,
    ) -> Cuts:
        """Return how many results of each list to keep, and why.

        Parameters
        ----------
        lists, higher_is_better, min_k, max_k
            As for `paretocut.cut_batch`; by default the direction is that of the lists at fit.
        queries
            Texts of the queries, one per list; see `cut`.
        """
        bounds = check_bounds("cut_batch", min_k, max_k)
        if not isinstance(lists, RankedLists):
            lists = Ragged.from_any(lists, dtype=np.float64)
        return self._cuts(lists, higher_is_better, bounds, queries, "cut_batch")

    def predict(self, lists: RankedLists | RaggedLike) -> IntArray:
        """Return how many results of each of the lists to keep: ``cut_batch(lists).k``."""
        return self.cut_batch(lists).k

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the constructor's arguments by name.

        With ``deep``, those of nested truncators are among them, as ``name__argument``.
        """
        params = {name: getattr(self, name) for name in self._defaults()}
        for name, value in list(params.items()) if deep else ():
            if isinstance(value, Truncator):
                params |= {f"{name}__{key}": item for key, item in value.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Return the truncator itself, with these ``params`` of its constructor replaced."""
        allowed = self._defaults()
        for name, value in params.items():
            owner, _, rest = name.partition("__")
            if owner not in allowed:
                told = f"parameters must be among {', '.join(allowed)}, got {name!r}"
                raise InvalidParameterError(told, who=type(self).__name__)
            if rest:
                getattr(self, owner).set_params(**{rest: value})
            else:
                setattr(self, name, value)
        return self

    def clone(self) -> Self:
        """Return a new truncator with the same parameters that has learned nothing."""
        params = self.get_params(deep=False)
        for name, value in params.items():
            params[name] = value.clone() if isinstance(value, Truncator) else value
        cloned = type(self)(**params)
        cloned.__dict__ |= {name: vars(self)[name] for name in self._kept if name in vars(self)}
        return cloned

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the truncator as one JSON file, which `paretocut.load` reads.

        The file at ``path`` is replaced in one step: a reader sees the old one or the new one.
        """
        save_model(path, "truncator", self)

    def to_dict(self) -> dict[str, Any]:
        """Return class, parameters and learned attributes as plain data."""
        who = type(self).__name__
        content: dict[str, Any] = {"class": name_of(type(self))}
        # Attributes learned before a parameter changed are left out.
        learned = [name for name in self._learned() if self.learns or name in self._kept]
        state = {*self._kinds_of_learned(), *self._kept}
        for part, names, declared, told in (
            ("params", self._defaults(), self.parameters, "parameters must say what each argument"),
            ("learned", learned, state, "state must say what each learned attribute"),
        ):
            if unknown := sorted({*names} - {*declared}):
                raise InvalidParameterError(
                    f"{told} may be before it can be saved, got nothing for {', '.join(unknown)}",
                    who=who,
                )
            values = {name: getattr(self, name) for name in names}
            content[part] = {name: encode(values[name], who=who, name=name) for name in values}
        return content | ({"judgements": [*self.marks_]} if self.marks_ else {})

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """Return the truncator that `to_dict` described, with every value checked.

        The ``content`` may come from a stranger.
        """
        params, learned = decode(content["params"]), decode(content["learned"])
        if strange := params.keys() - cls.parameters.keys():
            allowed = ", ".join(cls.parameters) or "none"
            raise ValueError(f"params must be among {allowed}, got {sorted(strange)[0]!r:.60}")
        checked({name: cls.parameters[name] for name in params}, params)
        made = cls(**params)
        made.check()
        made.__dict__ |= checked(made._kinds_of_learned(), learned) if learned else {}
        if "judgements" in content:
            given = {"judgements": content["judgements"]}
            made.marks_ = checked({"judgements": MARKS}, given)["judgements"]
        return made

    def __repr__(self) -> str:
        changed = [
            f"{name}={getattr(self, name)!r}"
            for name, default in self._defaults().items()
            if not _same(getattr(self, name), default)
        ]
        return f"{type(self).__name__}({', '.join(changed)})"

    @property
    def direction(self) -> bool | None:
        """Whether higher was better where it was fitted; None if it has learned no scores."""
        return getattr(self, "higher_is_better_", None)

    def _cuts(
        self,
        given: RankedLists | Ragged,
        up: bool | None,
        bounds: tuple[int, int],
        queries: Sequence[str] | None,
        who: str,
    ) -> Cuts:
        if isinstance(given, RankedLists):
            _check_own_direction(given, up, who)
            lists, order = given, None
        else:
            if up is None:
                up = self.direction is not False
            elif not isinstance(up, bool):
                up = check_bool(up, who=who, name="higher_is_better")
            lists, moved = RankedLists.of_scores(given, up, who=who)
            order = positions(given, moved)
        decider = self._copy()  # later changes do not reach this decision
        if not decider.trusted:
            decider.check()
            decider.require_fitted()
        lists = decider.scaled(lists, queries)
        return decided(decider, lists, bounds, zeros=decider.zeros, order=order)

    def _check_direction(self, lists: RankedLists) -> None:
        learned = self.direction
        if learned is not None and learned != lists.higher_is_better:
            kinds = ("distances", "scores")
            raise InvalidScoresError(
                f"{type(self).__name__}: lists must hold {kinds[learned]}, as those it was fitted "
                f"on (higher_is_better={learned}), got {kinds[lists.higher_is_better]}"
            )

    @classmethod
    @cache  # every decision names its truncator with its parameters
    def _defaults(cls) -> dict[str, Any]:
        parameters = inspect.signature(cls).parameters.values()
        return {parameter.name: parameter.default for parameter in parameters}

    def _copy(self) -> Self:
        copied = object.__new__(type(self))
        copied.__dict__ = self.__dict__.copy()
        return copied

    def _kinds_of_learned(self) -> dict[str, Kind]:
        if not self.learns:
            return {}
        direction = {"higher_is_better_": Flag()} if self.reads_scores else {}
        return {"queries_": Whole(1, size="queries"), **direction, **self.state}

    def _learned(self) -> list[str]:
        names = (name for name in vars(self) if name.endswith("_") and name != "marks_")
        return [name for name in names if not name.startswith("_")]


def _check_own_direction(lists: RankedList | RankedLists, given: bool | None, who: str) -> None:
    if given not in (None, lists.higher_is_better):
        raise InvalidParameterError(
            f"higher_is_better must be left out for {type(lists).__name__}, which knows its "
            f"direction, {lists.higher_is_better}; got {given}",
            who=who,
        )


def _same(value: Any, default: Any) -> bool:
    try:
        return value is default or bool(value == default)
    except ValueError:  # arrays compare element by element
        return False


def _is_pair(found: Any) -> bool:
    """Return whether ``decide`` returned numbers and reasons, not the numbers of two lists."""
    return isinstance(found, tuple) and len(found) == 2 and not isinstance(found[1], Number)


def _clause(why: Any, lists: int, who: str) -> Clause:
    if isinstance(why, str):
        return Clause(why)
    texts = list(why) if isinstance(why, (list, tuple, np.ndarray)) else [why]
    odd = [text for text in texts if not isinstance(text, str)]
    if odd or len(texts) != lists:
        got = shown(odd[0]) if odd else f"{len(texts)} for {lists} lists"
        allowed = "reasons of decide must be one text, or one for each list"
        raise InvalidParameterError(f"{allowed}, got {got}", who=who)
    return Clause(texts)


def _checked_numbers(numbers: Any, scores: Ragged, who: str) -> IntArray:
    try:
        counts = np.asarray(numbers)
    except ValueError:  # lists of unequal length
        counts = np.zeros(())
    if counts.shape == (1,) == (len(scores),) and counts.dtype == np.int64:
        if 0 <= counts[0] <= scores.values.size:
            return counts  # the common case, without a vector
    lengths = scores.lengths
    if counts.shape != lengths.shape:
        shape = f"an array of shape {counts.shape}" if counts.ndim else f"{shown(numbers):.60}"
        got = f"{shape} for {lengths.size} lists"
    elif counts.dtype.kind not in "iu" and counts.size:
        given = counts.tolist()
        odd = next((i for i, x in enumerate(given) if not (isinstance(x, float) and x % 1 == 0)), 0)
        got = f"{given[odd]!r:.60} ({counts.dtype}) for list {odd}"
    elif (wrong := (counts < 0) | (counts > lengths)).any():
        i = int(np.argmax(wrong))
        got = f"{counts[i]} for list {i}, which has {lengths[i]} results"
    else:
        return counts.astype(np.int64, copy=False)
    allowed = "decide must return one whole number for each list, from 0 to its length"
    raise InvalidParameterError(f"{allowed}, got {got}", who=who)


class Wrapper(Truncator):
    """Base of the truncators around another one, ``base``, whose needs become theirs."""

    base: Truncator
    base_: Truncator

    @property
    def inner(self) -> Truncator:
        """The truncator inside: fitted with this one, or as it was given."""
        return getattr(self, "base_", self.base)

    def learned_from(self, lists: RankedLists) -> bool:
        return super().learned_from(lists) or self.inner.learned_from(lists)

    def check(self) -> None:
        super().check()
        self.base.check()
        if self.base.needs_queries:  # which fit and lists do not bring
            raise InvalidParameterError(
                f"base must be a truncator that needs no texts of queries, got {self.base.label}",
                who=type(self).__name__,
            )

    @property
    def zeros(self) -> Literal["trim", "keep"]:
        return self.inner.zeros

    @property
    def needs_embeddings(self) -> bool:
        return self.inner.needs_embeddings

    @property
    def needs_relevance(self) -> bool:  # type: ignore[override]
        return self.inner.needs_relevance

    def tails_of(self, lists: RankedLists) -> SurpriseFits:
        return self.inner.tails_of(lists)

    def notices(self, lists: RankedLists, tails: Callable[[], Tails]) -> Sequence[tuple[str, ...]]:
        return self.inner.notices(lists, tails)


TRUNCATOR: Kind = Instance(Truncator, "truncator")


@dataclass(frozen=True)
class Fitted(Kind):
    """A truncator that is ready to decide; or, with ``values_only``, to give its result values."""

    values_only: bool = False

    def check(self, value: Any, sizes: Sizes) -> Truncator:
        model: Truncator = TRUNCATOR.check(value, sizes)
        if not self.values_only or model.values_need_fit:
            try:
                model.require_fitted()
            except NotFittedError:
                raise ValueError("fitted") from None
        return model


_DEEPEST = 8  # truncators inside truncators
_DEPTH: ContextVar[int] = ContextVar("_DEPTH", default=0)


def _restored(content: Any) -> Truncator:
    kind = class_named(content["class"])
    if not issubclass(kind, Truncator) or inspect.isabstract(kind):
        raise ValueError(f"class must be a truncator that decides, got {content['class']:.90}")
    depth = _DEPTH.get()
    if depth > _DEEPEST:
        raise ValueError(f"truncators must be at most {_DEEPEST} deep in each other, got more")
    token = _DEPTH.set(depth + 1)
    try:
        return kind.from_dict(content)
    finally:
        _DEPTH.reset(token)


def _metric_name(metric: Metric) -> str:
    with suppress(InvalidParameterError):
        if metrics.get(metric.name) == metric:
            return metric.name
    allowed = "plain data or a metric known by name to be saved"
    raise InvalidParameterError(f"save: metric must be {allowed}, got {metric!r}")


register("metric", Metric, _metric_name, metrics.get)
register("truncator", Truncator, lambda truncator: truncator.to_dict(), _restored)
register(
    "lists",
    Ragged,
    lambda lists: encode([lists.values, lists.offsets], who="save", name="lists"),
    lambda content: Ragged(*map(decode, content)),
)
