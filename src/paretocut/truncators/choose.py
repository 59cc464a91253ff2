"""`paretocut.cut`: the decision on one list, and the choice of who decides."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Unpack

from numpy.typing import ArrayLike

from paretocut.decisions import Cut, Cuts
from paretocut.decisions.options import (
    FITTING,
    OPTIONS,
    RULES,
    PlainOptions,
    check_bounds,
    check_options,
    chosen_rule,
    spelt_out,
)
from paretocut.errors import InvalidParameterError
from paretocut.lists import RaggedLike, RankedLists
from paretocut.schema.files import load_model
from paretocut.truncators.base import Truncator
from paretocut.truncators.consensus import Consensus
from paretocut.truncators.surprise import Surprise

_DECIDERS = ("truncator", "expect", *RULES)


@dataclass(frozen=True, slots=True)
class Chosen:
    """Who decides and within which bounds: the options of a decision, checked once.

    Everything that cuts lists for somebody (functions, adapters, commands, the service) goes
    through `cut` or `cut_batch` of this class.
    """

    truncator: Truncator
    min_k: int = 0
    max_k: int | None = None

    @classmethod
    def of(cls, who: str, options: Mapping[str, Any]) -> Chosen:
        """Return the choice that the options make; errors speak for ``who``.

        The same word or rule gives the same object.
        """
        if options.get("truncator") is None:  # the file of a truncator may have changed
            with suppress(TypeError):  # what has no hash is no option of ours, see below
                # 1 and True are equal, but only one of them is a number of results.
                kinds = tuple(map(type, options.values()))
                return _remembered(who, tuple(options.items()), kinds)
        return _chosen(who, options)

    def cut(self, scores: ArrayLike, **about: Any) -> Cut:
        """Return the decision on one list; ``about`` are ``query`` and ``higher_is_better``."""
        return self.truncator.cut(scores, min_k=self.min_k, max_k=self.max_k, **about)

    def cut_batch(self, lists: RankedLists | RaggedLike, **about: Any) -> Cuts:
        """Return the decisions; ``about`` are ``queries`` and ``higher_is_better``."""
        return self.truncator.cut_batch(lists, min_k=self.min_k, max_k=self.max_k, **about)


@lru_cache(maxsize=64)
def _remembered(who: str, options: tuple[tuple[str, Any], ...], kinds: tuple[type, ...]) -> Chosen:
    chosen = _chosen(who, dict(options))
    chosen.truncator.trusted = True  # nobody else has it
    return chosen


def _chosen(who: str, options: Mapping[str, Any]) -> Chosen:
    min_k, max_k = options.get("min_k", 0), options.get("max_k")
    check_bounds(who, min_k, max_k)
    rest = {name: options[name] for name in options if name not in ("min_k", "max_k")}
    return Chosen(_named(who, rest), min_k, max_k)


def _named(who: str, choice: Mapping[str, Any]) -> Truncator:
    """Return the truncator that the options name; untrained `Consensus` when they name none."""
    given = {name: value for name, value in choice.items() if value is not None}
    truncator = given.pop("truncator", None)
    checked = check_options(who, given)
    deciders = [name for name in _DECIDERS if choice.get(name) is not None]
    if len(deciders) > 1:
        raise InvalidParameterError(
            f"{who}: at most one of {', '.join(_DECIDERS)} may be given, "
            f"got {' and '.join(deciders)}"
        )
    if chosen_rule(who, given) is not None:
        return Surprise(**checked)
    loose = [
        name
        for name in ("if_shallow", *FITTING)
        if checked.get(name, OPTIONS[name].default) != OPTIONS[name].default
    ]
    if loose:
        raise InvalidParameterError(
            f"{who}: {', '.join(loose)} must come with one of the rules {', '.join(RULES)}, "
            f"got {deciders[0] if deciders else 'none of them'}"
        )
    return Consensus(expect=checked.get("expect")) if truncator is None else _loaded(who, truncator)


def _loaded(who: str, given: Any) -> Truncator:
    found = given
    if isinstance(given, (str, os.PathLike)):
        found = load_model(given, "truncator", "background")
    if not isinstance(found, Truncator):
        hint = "; a background needs a truncator to gate: Gated(base, background)"
        raise InvalidParameterError(
            f"{who}: truncator must be a truncator or the path of a saved one, "
            f"got {type(found).__name__}{hint if type(found).__name__ == 'Background' else ''}"
        )
    return found


_DEFAULT = Chosen.of("cut", {})


@spelt_out(*OPTIONS)
def cut(
    scores: ArrayLike,
    *,
    higher_is_better: bool = True,
    truncator: Truncator | str | os.PathLike[str] | None = None,
    **options: Unpack[PlainOptions],
) -> Cut:
    """Return how many results of one list to keep, and why.

    By default the scores alone decide, through an untrained `paretocut.truncators.Consensus`.
    ``expect`` improves on that. A rule keeps the results that are unlikely to be chance. A
    truncator uses what it has learned.

    Parameters
    ----------
    scores
        Scores of one list, in any order except worst first, which would mean a wrong direction.
    higher_is_better
        False if the scores are distances.
    truncator
        Any truncator, or the path of a saved one. At most one of ``truncator``, ``expect`` and the
        rules (``alpha``, ``evalue``, ``fdr``, ``min_surprise``) may be given; the options after the
        rules only apply with a rule.
    {options}

    Examples
    --------
    >>> import paretocut as pc
    >>> scores = [0.71, 0.68, 0.41, 0.40, 0.38, 0.37, 0.35, 0.33]
    >>> decision = pc.cut(scores)
    >>> decision.k, decision.reason
    (2, "kept 2 of 8: the 3rd has score 0.41, below 0.496, where the upper third ...")
    >>> pc.cut(scores, expect="one").k
    2
    """
    if truncator is None and not options:
        return _DEFAULT.cut(scores, higher_is_better=higher_is_better)
    given = options if truncator is None else {**options, "truncator": truncator}
    chosen = Chosen.of("cut", given)
    return chosen.cut(scores, higher_is_better=higher_is_better)


@spelt_out(*OPTIONS)
def cut_batch(
    lists: RankedLists | RaggedLike,
    *,
    higher_is_better: bool = True,
    truncator: Truncator | str | os.PathLike[str] | None = None,
    **options: Unpack[PlainOptions],
) -> Cuts:
    """Return how many results of each list to keep, and why.

    Parameters
    ----------
    lists
        `RankedLists`, which know their direction, or bare scores in any layout that they take.
    higher_is_better
        False if bare scores are distances.
    truncator
        As in `cut`, like all options below.
    {options}

    Examples
    --------
    >>> import paretocut as pc
    >>> pc.cut_batch([[0.9, 0.8, 0.1], [0.5]]).k.tolist()
    [2, 1]
    """
    given = {"truncator": truncator, **options}
    chosen = _DEFAULT if truncator is None and not options else Chosen.of("cut_batch", given)
    return chosen.cut_batch(lists, higher_is_better=higher_is_better)
