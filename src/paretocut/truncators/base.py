"""The contract every truncator keeps: parameters, fit, decisions, copies and files."""

from __future__ import annotations

import inspect
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from paretocut import metrics
from paretocut.decisions.cuts import Cut, Cuts, Evidence, Tails, as_scores, decided, positions
from paretocut.decisions.options import check_bounds
from paretocut.decisions.warnings import diagnose, named
from paretocut.errors import InvalidParameterError, InvalidScoresError, NotFittedError
from paretocut.lists import IntArray, Ragged, RaggedLike, RankedLists
from paretocut.metrics import Metric
from paretocut.schema.drawn import Drawn
from paretocut.schema.files import encode, save_model
from paretocut.schema.kinds import Flag, Instance, Kind, Sizes, Whole, checked
from paretocut.schema.parameters import check, check_bool
from paretocut.tail import SurpriseFits, fit_lists


class _MetricKind(Kind):
    """A metric: its name, the object, or a function."""

    def check(self, value: Any, sizes: Sizes) -> Metric:
        return metrics.get(value)


METRIC: Kind = _MetricKind()


class Truncator(Drawn, ABC):
    """Base of everything that chooses how many results of a list to keep.

    It follows scikit-learn's conventions: the constructor only stores its arguments, `fit` learns
    from judged lists and returns the truncator, and learned attributes end in an underscore. `cut`
    decides on one list, `cut_batch` on many, and `predict` returns only the numbers.

    A subclass declares ``_parameters`` (what each argument may be) and writes ``_decide`` (how many
    results of each list to keep, with the evidence). If there is something to learn, it also writes
    ``_fit`` and ``_state``, and ``_learns`` if that depends on its parameters.
    """

    _classes: ClassVar[dict[str, type[Truncator]]] = {}
    _parameters: ClassVar[Mapping[str, Kind]] = {}
    """What each argument of the constructor may be."""
    _in_place_of_fit: ClassVar[str] = ""
    """Parameters that make learning unnecessary."""
    _zeros: ClassVar[Literal["trim", "keep"]] = "trim"
    """What becomes of results padded with score 0; see `paretocut.decisions.cuts.decided`."""
    _reads_scores: ClassVar[bool] = True
    """Whether what was learned from similarities means nothing for distances."""
    _kept: ClassVar[tuple[str, ...]] = ()
    """Learned attributes that do not come from ``fit``, so that it leaves them alone."""
    _valid: ClassVar[bool] = False
    """Set on an object whose parameters were checked, and that nobody else can change."""

    higher_is_better_: bool
    queries_: int

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        Truncator._classes[cls.__name__] = cls

    def fit(self, lists: RankedLists) -> Self:
        """Return the truncator itself, after learning from judged lists.

        The old model is replaced only when everything has been learned: an error leaves the
        truncator as it was, and concurrent decisions see either the old model or the new one.

        Parameters
        ----------
        lists
            Training lists. Methods that learn nothing accept lists without judgements.
        """
        ranked = _ranked(lists, "fit")
        self._validate()
        learner = self._copy()
        for name in self._learned():
            if name not in self._kept:
                delattr(learner, name)
        if self._learns():
            if len(ranked) == 0:
                raise InvalidParameterError(
                    f"{type(self).__name__}: lists must hold at least one list to learn from, got 0"
                )
            learner._fit(ranked)
            if not hasattr(learner, "queries_"):  # some lists may have taught nothing
                learner.queries_ = len(ranked)
            if self._reads_scores:
                learner.higher_is_better_ = ranked.higher_is_better
        self.__dict__ = learner.__dict__
        return self

    def cut(
        self,
        scores: ArrayLike,
        *,
        query: str | None = None,
        higher_is_better: bool = True,
        min_k: int = 0,
        max_k: int | None = None,
    ) -> Cut:
        """Return how many results of one list to keep, and why.

        Parameters
        ----------
        scores
            Scores of one list in any order, except that five or more must not come worst first.
        query
            Text of the query. Truncators calibrated for lexical scores need it; others ignore it.
        higher_is_better
            False for distances.
        min_k, max_k
            Bounds on the number kept, whatever is decided.
        """
        bounds = check_bounds("cut", min_k, max_k)
        up = check_bool(higher_is_better, who="cut", name="higher_is_better")
        values = as_scores(scores, who="cut")
        bare = Ragged.unchecked(values, np.array([0, values.size]))
        queries = None if query is None else [query]
        cuts = self._cut_bare(bare, up, bounds, queries, "cut")
        return Cut(int(cuts.k[0]), values.size, cuts, 0)

    def cut_batch(
        self,
        lists: RankedLists | RaggedLike,
        *,
        queries: Sequence[str] | None = None,
        higher_is_better: bool = True,
        min_k: int = 0,
        max_k: int | None = None,
    ) -> Cuts:
        """Return how many results of each list to keep, and why.

        Parameters
        ----------
        lists
            `RankedLists`, which know their direction, or bare scores in any layout that they take.
            The order of the results does not matter, except that bare lists of five or more results
            must not come worst first.
        queries
            Texts of the queries, one per list; see `cut`.
        higher_is_better
            False for bare distances.
        min_k, max_k
            Bounds on the number kept, whatever is decided.
        """
        bounds = check_bounds("cut_batch", min_k, max_k)
        up = check_bool(higher_is_better, who="cut_batch", name="higher_is_better")
        if isinstance(lists, RankedLists):
            if not up:
                raise InvalidParameterError(
                    "higher_is_better must be left out for RankedLists, which know their "
                    "direction; got False",
                    who="cut_batch",
                )
            return self._cuts(lists, bounds, queries=queries)
        bare = Ragged.from_any(lists, dtype=np.float64)
        return self._cut_bare(bare, up, bounds, queries, "cut_batch")

    def predict(self, lists: RankedLists | RaggedLike) -> IntArray:
        """Return how many results of each list to keep: ``cut_batch(lists).k``.

        Parameters
        ----------
        lists
            As for `cut_batch`.
        """
        return self.cut_batch(lists).k

    def truncate(self, lists: RankedLists | RaggedLike) -> RankedLists:
        """Return the lists cut where `predict` says.

        Parameters
        ----------
        lists
            As for `cut_batch`.
        """
        ranked = _ranked(lists, "truncate")
        return ranked.truncate(self.predict(ranked))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the constructor's arguments by name.

        Parameters
        ----------
        deep
            Whether to include the arguments of nested truncators, as ``name__argument``.
        """
        params = {name: getattr(self, name) for name in self._defaults()}
        if deep:
            for name, value in list(params.items()):
                if isinstance(value, Truncator):
                    params |= {f"{name}__{key}": item for key, item in value.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Return the truncator itself, with these ``params`` of its constructor replaced."""
        allowed = self._defaults()
        for name, value in params.items():
            owner, _, rest = name.partition("__")
            if owner not in allowed:
                raise InvalidParameterError(
                    f"{type(self).__name__}: parameters must be among {', '.join(allowed)}, "
                    f"got {name!r}"
                )
            if rest:
                getattr(self, owner).set_params(**{rest: value})
            else:
                setattr(self, name, value)
        return self

    def clone(self) -> Self:
        """Return a new truncator with the same parameters that has learned nothing."""
        params = self.get_params(deep=False)
        cloned = type(self)(
            **{
                name: value.clone() if isinstance(value, Truncator) else value
                for name, value in params.items()
            }
        )
        cloned.__dict__ |= {name: vars(self)[name] for name in self._kept}
        return cloned

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the truncator as one JSON file.

        Parameters
        ----------
        path
            The file. It is replaced in one step: a reader sees the old one or the new one.
            `paretocut.load` reads it.
        """
        save_model(path, "truncator", self)

    def to_dict(self) -> dict[str, Any]:
        """Return class, parameters and what was learned as plain data."""
        who = type(self).__name__
        params = self._saved_params()
        learned = {name: getattr(self, name) for name in self._learned()}
        return {
            "class": who,
            "params": {name: encode(value, who=who, name=name) for name, value in params.items()},
            "learned": {name: encode(value, who=who, name=name) for name, value in learned.items()},
        }

    def __repr__(self) -> str:
        changed = [
            f"{name}={getattr(self, name)!r}"
            for name, default in self._defaults().items()
            if not _same(getattr(self, name), default)
        ]
        return f"{type(self).__name__}({', '.join(changed)})"

    # What subclasses write or change.

    def _validate(self) -> None:
        """Raise InvalidParameterError for a parameter outside what is allowed."""
        who = type(self).__name__
        for name, kind in self._parameters.items():
            check(kind, getattr(self, name), who=who, name=name)

    def _learns(self) -> bool:
        """Return whether fit has anything to learn with these parameters."""
        return type(self)._fit is not Truncator._fit

    def _fit(self, lists: RankedLists) -> None:
        """Learn from judged lists; called only where ``_learns`` says so."""
        raise NotImplementedError

    @abstractmethod
    def _decide(self, lists: RankedLists) -> tuple[IntArray, Evidence]:
        """Return how many results of each list to keep, and what was looked at.

        ``lists.merit`` has higher for better. The evidence explains a cut with ``because(i, k)``
        and holds the tails of the lists if they were fitted; see `paretocut.truncators.evidence`.
        """

    def _scaled(self, lists: RankedLists, queries: Sequence[str] | None) -> RankedLists:
        """Return the lists on the scale that the decision is made on."""
        return lists

    def keys(self, lists: RankedLists) -> Ragged:
        """Return one number per result, never rising down a list: what `Conformal` thresholds.

        Keeping the results whose number is at least ``t`` gives a nested family of cuts. By default
        it is the predicted cut, stretched or shrunk by a common factor; ``t = 1`` is the cut
        itself. Methods that have a value for each result return that instead.

        Parameters
        ----------
        lists
            The lists.
        """
        scores = lists.scores
        cuts = scores.spread(self.predict(lists) + 0.5)
        return scores.with_values(cuts / (scores.ranks + 1))

    def keys_learn(self) -> bool:
        """Return whether ``fit`` must come before `keys`."""
        return self._learns()

    def _state(self, given: Mapping[str, Any]) -> Mapping[str, Kind] | None:
        """Return what ``fit`` learns with these parameters, as a file may bring it.

        ``given`` holds the learned values of a file, not yet checked. None, of a class that does
        not say, accepts any plain data.
        """
        return None if self._learns() else {}

    def _saved_params(self) -> dict[str, Any]:
        """Return the parameters as a file should hold them."""
        return self.get_params(deep=False)

    # What decisions ask for.

    def _cut_bare(
        self,
        bare: Ragged,
        up: bool,
        bounds: tuple[int, int],
        queries: Sequence[str] | None,
        who: str,
    ) -> Cuts:
        lists, order = RankedLists.of_scores(bare, up, who=who)
        return self._cuts(lists, bounds, order=positions(bare, order), queries=queries)

    def _cuts(
        self,
        lists: RankedLists,
        bounds: tuple[int, int],
        *,
        order: Ragged | None = None,
        queries: Sequence[str] | None = None,
    ) -> Cuts:
        decider = self._copy()  # what is learned or set later changes nothing
        if not decider._valid:
            decider._validate()
        decider._require_fitted()
        decider._check_direction(lists)
        lists = decider._scaled(lists, queries)
        return decided(decider, lists, bounds, zeros=decider._zeros, order=order)

    def _check_direction(self, lists: RankedLists) -> None:
        learned = getattr(self, "higher_is_better_", lists.higher_is_better)
        if learned != lists.higher_is_better:
            kinds = ("distances", "scores")
            raise InvalidScoresError(
                f"{type(self).__name__}: lists must hold {kinds[learned]}, as those it was fitted "
                f"on (higher_is_better={learned}), got {kinds[lists.higher_is_better]}"
            )

    @property
    def needs_queries(self) -> bool:
        """Whether decisions need the texts of the queries."""
        return False

    def _label(self) -> str:
        return repr(self)

    def _taught(self) -> str:
        """Return what it learned from, in words."""
        return f"learned from {self.queries_} judged {'query' if self.queries_ == 1 else 'queries'}"

    def _tails(self, lists: RankedLists) -> SurpriseFits:
        return fit_lists(lists)

    def _notices(self, lists: RankedLists, tails: Callable[[], Tails]) -> Sequence[tuple[str, ...]]:
        scores = lists.scores
        first, last = scores.ends()
        diagnosed = diagnose(scores)
        found = {
            "rank_only_scores": diagnosed["rank_only_scores"],
            "rescaled_scores": diagnosed["rescaled_scores"],
            "constant_scores": (scores.lengths > 1) & (first == last),
        }
        return named(found, len(scores))

    # Shared machinery.

    @classmethod
    @cache  # every decision tells what decided, with its parameters
    def _defaults(cls) -> dict[str, Any]:
        parameters = inspect.signature(cls).parameters.values()
        return {parameter.name: parameter.default for parameter in parameters}

    def _copy(self) -> Self:
        """Return a copy that shares parameters and learned values."""
        copied = object.__new__(type(self))
        copied.__dict__ = self.__dict__.copy()
        return copied

    def _restore(self, learned: Mapping[str, Any]) -> None:
        """Take in the learned values of a file, after a check of each against ``_state``."""
        for name in learned:
            if not name.endswith("_") or name.startswith("_"):
                raise ValueError(f"learned names must end in an underscore, got {name!r:.60}")
        own = self._state(learned)
        if learned and own is not None:
            common: dict[str, Kind] = {"queries_": Whole(1, size="queries")}
            if self._reads_scores:
                common["higher_is_better_"] = Flag()
            learned = checked({**common, **own} if self._learns() else own, learned)
        self.__dict__ |= learned

    def _learned(self) -> list[str]:
        return [name for name in vars(self) if name.endswith("_") and not name.startswith("_")]

    def _require_fitted(self) -> None:
        if self._learns() and not self._learned():
            given = self._in_place_of_fit and f", or with {self._in_place_of_fit} given"
            raise NotFittedError(
                f"{type(self).__name__}: it must be fitted with fit(judged_lists){given} "
                "before it decides, got lists to cut first"
            )


def _ranked(lists: RankedLists | RaggedLike, who: str) -> RankedLists:
    """Return ranked lists; bare ones must not stand worst first."""
    if isinstance(lists, RankedLists):
        return lists
    return RankedLists.of_scores(Ragged.from_any(lists, dtype=np.float64), True, who=who)[0]


def _same(value: Any, default: Any) -> bool:
    try:
        return value is default or bool(value == default)
    except ValueError:  # arrays compare element by element
        return False


TRUNCATOR: Kind = Instance(Truncator, "truncator")
"""Any truncator."""
