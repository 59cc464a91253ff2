"""The contract every truncator keeps: parameters, fit, decisions, copies and files."""

from __future__ import annotations

import inspect
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from copy import copy
from functools import partial
from importlib import import_module
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from paretocut.decisions.cuts import (
    Cut,
    Cuts,
    as_scores,
    decided,
    in_callers_order,
    one_decided,
    one_list,
)
from paretocut.decisions.options import FitOptions, check_bounds
from paretocut.decisions.warnings import diagnose, named
from paretocut.errors import InvalidParameterError, InvalidScoresError, NotFittedError
from paretocut.lists import FloatArray, IntArray, Ragged, RaggedLike, RankedLists
from paretocut.lists.columns import check_direction
from paretocut.schema.kinds import Flag, Kind, Whole, checked
from paretocut.schema.parameters import check_bool
from paretocut.tail import SurpriseFits, fit_lists

__all__ = ["Truncator"]

_FIT = FitOptions()


class Truncator(ABC):
    """Base of everything that chooses how many results of a list to keep.

    The conventions are scikit-learn's: the constructor only stores its arguments, `fit` learns
    from judged lists and returns the truncator, what it learned is in attributes that end in an
    underscore. `cut` decides on one list, `cut_batch` on many, `predict` gives the numbers alone.

    A subclass writes ``_validate`` (checks of its parameters), ``_predict`` (how many results of
    each list to keep) and ``_because`` (why); it writes ``_fit`` where there is something to
    learn, and says in ``_learns`` when there is not.
    """

    _classes: ClassVar[dict[str, type[Truncator]]] = {}
    _tensor_names: ClassVar[tuple[str, ...]] = ()
    """Learned arrays that are too large for JSON; they are saved as safetensors beside it."""
    _in_place_of_fit: ClassVar[str] = ""
    """Parameters that make learning unnecessary."""
    _zeros: ClassVar[Literal["trim", "keep"]] = "trim"
    """What becomes of results padded with score 0; see `paretocut.decisions.decided`."""
    _reads_scores: ClassVar[bool] = True
    """Whether what was learned from similarities means nothing for distances."""

    higher_is_better_: bool
    queries_: int

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        Truncator._classes[cls.__name__] = cls

    def fit(self, lists: RankedLists) -> Self:
        """Return the truncator itself, after learning from judged lists.

        Parameters
        ----------
        lists
            Training lists. Methods that learn nothing accept lists without judgements.
        """
        ranked = _ranked(lists, True, "fit")
        self._validate()
        for name in self._learned():
            delattr(self, name)
        if self._learns():
            if len(ranked) == 0:
                raise InvalidParameterError(
                    f"{type(self).__name__}: lists must hold at least one list to learn from, got 0"
                )
            self._fit(ranked)
            if not hasattr(self, "queries_"):  # some lists may have taught nothing
                self.queries_ = len(ranked)
            if self._reads_scores:
                self.higher_is_better_ = ranked.higher_is_better
        return self

    def cut(
        self,
        scores: ArrayLike,
        *,
        higher_is_better: bool = True,
        min_k: int = 0,
        max_k: int | None = None,
    ) -> Cut:
        """Return how many results of one list to keep, and why.

        Parameters
        ----------
        scores
            Scores of one list, in any order; results that stand worst first are refused, since
            their direction must be wrong.
        higher_is_better
            False for distances.
        min_k, max_k
            Bounds on the number kept, whatever is decided.
        """
        higher_is_better = check_bool(higher_is_better, who="cut", name="higher_is_better")
        values = as_scores(scores, who="cut")
        bounds = check_bounds("cut", min_k, max_k)
        if bounds[0] == 0 and max_k is None:
            k = self._quick(values, higher_is_better)
            if k is not None:
                later = partial(copy(self)._explained, values, higher_is_better)
                return Cut(k, values.size, later, 0, None)
        lists, order = one_list(values, higher_is_better, who="cut")
        return one_decided(self._cuts(lists, bounds), order)

    def cut_batch(
        self,
        lists: RankedLists | RaggedLike,
        *,
        higher_is_better: bool = True,
        min_k: int = 0,
        max_k: int | None = None,
    ) -> Cuts:
        """Return how many results of each list to keep, and why.

        Parameters
        ----------
        lists
            `RankedLists`, which know their direction, or bare scores in any layout that they
            take. The order of the results does not matter, except that bare lists of eight or
            more results must not stand worst first.
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
                    "cut_batch: higher_is_better must be left out for RankedLists, which know "
                    "their direction; got False"
                )
            return self._cuts(lists, bounds)
        bare = Ragged.from_any(lists, dtype=np.float64)
        return in_callers_order(self._cuts(_ranked(bare, up, "cut_batch"), bounds), bare, up)

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
        ranked = _ranked(lists, True, "truncate")
        return ranked.truncate(self.predict(ranked))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the constructor's arguments by name.

        Parameters
        ----------
        deep
            Also those of truncators among them, as ``name__argument``.
        """
        params = {name: getattr(self, name) for name in self._defaults()}
        if deep:
            for name, value in list(params.items()):
                if isinstance(value, Truncator):
                    params |= {f"{name}__{key}": item for key, item in value.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Return the truncator itself with some of the constructor's arguments replaced."""
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
        return type(self)(
            **{
                name: value.clone() if isinstance(value, Truncator) else value
                for name, value in params.items()
            }
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the truncator as JSON, with large arrays in a ``.safetensors`` file beside it.

        Parameters
        ----------
        path
            The JSON file. It is replaced in one step: a reader sees the old or the new one.
            `paretocut.load` reads it.
        """
        import_module("paretocut.truncators._persistence").save(self, path)

    def __repr__(self) -> str:
        changed = [
            f"{name}={getattr(self, name)!r}"
            for name, default in self._defaults().items()
            if not _same(getattr(self, name), default)
        ]
        return f"{type(self).__name__}({', '.join(changed)})"

    # What subclasses write or change.

    @abstractmethod
    def _validate(self) -> None:
        """Raise InvalidParameterError for a parameter outside what is allowed."""

    def _needs_query(self) -> bool:
        """Return whether `cut` must be told the query, and `cut_batch` the queries."""
        return False

    def _learns(self) -> bool:
        """Return whether fit has anything to learn with these parameters."""
        return True

    def _fit(self, lists: RankedLists) -> None:
        """Learn from judged lists; called only where ``_learns`` says so."""
        raise NotImplementedError(f"{type(self).__name__} learns but has no _fit")

    @abstractmethod
    def _predict(self, lists: RankedLists) -> IntArray:
        """Return how many results of each list to keep; ``lists.merit`` has higher for better."""

    def _because(self, cuts: Cuts) -> Sequence[str]:
        """Return, for each list, the clause that says why ``cuts.chosen`` results are kept."""
        return [f"so {self!r} decides"] * len(cuts)

    def _quick(self, scores: FloatArray, higher_is_better: bool) -> int | None:
        """Return the cut of one ordinary list that stands best first, or None for any other.

        For methods that can tell it in microseconds; it must be the cut that ``_predict`` gives.
        """
        return None

    def keys(self, lists: RankedLists) -> Ragged:
        """Return one number per result, never rising down a list: what `Conformal` thresholds.

        Keeping the results whose number is at least ``t`` gives a nested family of cuts. Here
        it is the predicted cut, stretched or shrunk by a common factor; ``t = 1`` is the cut
        itself. Methods that have a value for each result give that instead.

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

    def _tensors(self) -> dict[str, NDArray[Any]]:
        """Return the arrays to save as safetensors."""
        arrays: dict[str, NDArray[Any]] = {}
        for name in self._tensor_names:
            value = getattr(self, name, None)
            if isinstance(value, Ragged):
                arrays |= {f"{name}.values": value.values, f"{name}.offsets": value.offsets}
            elif value is not None:
                arrays[name] = value
        return arrays

    def _from_tensors(self, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
        """Return learned values by name, from what ``_tensors`` gave."""
        found: dict[str, Any] = {}
        for name in self._tensor_names:
            if name in arrays:
                found[name] = arrays[name]
            elif f"{name}.values" in arrays:
                found[name] = Ragged(arrays[f"{name}.values"], arrays[f"{name}.offsets"])
        return found

    def _state(self, given: Mapping[str, Any]) -> Mapping[str, Kind] | None:
        """Return what ``fit`` learns with these parameters, as a file may bring it.

        None, of a class that does not say, accepts any plain data.

        Parameters
        ----------
        given
            The learned values of a file, not yet checked.
        """
        return None if self._learns() else {}

    def _saved_params(self) -> dict[str, Any]:
        """Return the parameters as a file should hold them."""
        return self.get_params(deep=False)

    def _data(self) -> Mapping[str, Kind]:
        """Return what those parameters must be that hold data; they are checked on loading."""
        return {}

    # What decisions ask for.

    def _cuts(self, lists: RankedLists, bounds: tuple[int, int]) -> Cuts:
        self._validate()
        self._require_fitted()
        self._check_direction(lists)
        return decided(copy(self), self._decide, lists, bounds, zeros=self._zeros)

    def _explained(self, scores: FloatArray, higher_is_better: bool) -> Cuts:
        """Return the decision on one list that ``_quick`` has cut."""
        lists = RankedLists.of_one(scores, higher_is_better)
        return self._cuts(lists, check_bounds("cut", 0, None))

    def _decide(self, lists: RankedLists) -> IntArray:
        return np.asarray(self._predict(lists), dtype=np.int64)

    def _check_direction(self, lists: RankedLists) -> None:
        learned = getattr(self, "higher_is_better_", lists.higher_is_better)
        if learned != lists.higher_is_better:
            kinds = ("distances", "scores")
            raise InvalidScoresError(
                f"{type(self).__name__}: lists must hold {kinds[learned]}, as those it was fitted "
                f"on (higher_is_better={learned}), got {kinds[lists.higher_is_better]}"
            )

    def _label(self) -> str:
        return repr(self)

    def _taught(self) -> str:
        """Return what it learned from, in words."""
        return f"learned from {self.queries_} judged {'query' if self.queries_ == 1 else 'queries'}"

    def _tails(self, lists: RankedLists) -> SurpriseFits:
        return fit_lists(lists, options=_FIT)

    def _notices(self, cuts: Cuts) -> Sequence[tuple[str, ...]]:
        scores = cuts.lists.scores
        found = {"rank_only_scores": diagnose(scores)["rank_only_scores"]}
        first, last = scores.ends()
        found["constant_scores"] = (scores.lengths > 1) & (first == last)
        found["nothing_stands_out"] = cuts.fits.nothing_stands_out
        return named(found, len(scores))

    # Shared machinery.

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        parameters = inspect.signature(cls).parameters.values()
        return {parameter.name: parameter.default for parameter in parameters}

    def _checked(self, learned: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return learned values of a file, after a check of each against ``_state``."""
        for name in learned:
            if not name.endswith("_") or name.startswith("_"):
                raise ValueError(f"learned names must end in an underscore, got {name!r:.60}")
        own = self._state(learned)
        if not learned or own is None:
            return learned
        common: dict[str, Kind] = {"queries_": Whole(1, size="queries")}
        if self._reads_scores:
            common["higher_is_better_"] = Flag()
        return checked({**common, **own} if self._learns() else own, learned)

    def _learned(self) -> list[str]:
        return [name for name in vars(self) if name.endswith("_") and not name.startswith("_")]

    def _require_fitted(self) -> None:
        if self._learns() and not self._learned():
            given = self._in_place_of_fit and f", or with {self._in_place_of_fit} given"
            raise NotFittedError(
                f"{type(self).__name__}: it must be fitted with fit(judged_lists){given} "
                "before it decides, got lists to cut first"
            )


def _ranked(lists: RankedLists | RaggedLike, higher_is_better: bool, who: str) -> RankedLists:
    """Return ranked lists; bare ones must not stand worst first."""
    if isinstance(lists, RankedLists):
        return lists
    bare = Ragged.from_any(lists, dtype=np.float64)
    check_direction(bare, higher_is_better, who=who)
    return RankedLists(bare, higher_is_better=higher_is_better)


def _same(value: Any, default: Any) -> bool:
    try:
        return value is default or bool(value == default)
    except ValueError:  # arrays compare element by element
        return False
