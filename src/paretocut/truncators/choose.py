"""`paretocut.cut`: the decision on one list, and the choice of who decides."""

from __future__ import annotations

import os
from functools import lru_cache
from typing import Any, TypedDict, Unpack

from numpy.typing import ArrayLike

from paretocut.decisions import Cut, Cuts
from paretocut.decisions.options import IF_SHALLOW, RULES, FitOptions, choose_rule
from paretocut.errors import InvalidParameterError
from paretocut.lists import RaggedLike, RankedLists
from paretocut.schema.parameters import check_choice
from paretocut.truncators import Consensus, Surprise, Truncator
from paretocut.truncators._persistence import load

__all__ = ["Choice", "choose", "cut", "cut_batch"]

_DEFAULT = Consensus()
_RULE_DEFAULTS = {"if_shallow": "keep", **FitOptions().to_dict()}


class Choice(TypedDict, total=False):
    """Who decides: a truncator, a word about the questions, or one rule with its options."""

    truncator: Truncator | str | os.PathLike[str] | None
    expect: str | float | None
    alpha: float | None
    evalue: float | None
    fdr: float | None
    min_surprise: float | None
    if_shallow: str
    transform: str
    selection: str
    refit: str
    min_window: int


def choose(who: str, **choice: Unpack[Choice]) -> Truncator:
    """Return the truncator that these options name; untrained `Consensus` when they name none.

    Parameters
    ----------
    who
        Who was called.
    **choice
        At most one of ``truncator`` (an object, or the path of a saved one), ``expect`` and the
        rules; the other options belong to a rule.
    """
    unknown = sorted(choice.keys() - Choice.__annotations__.keys())
    if unknown:
        raise InvalidParameterError(
            f"{who}: options must be among {', '.join(Choice.__annotations__)}, "
            f"got {', '.join(unknown)}"
        )
    given: dict[str, Any] = {name: value for name, value in choice.items() if value is not None}
    deciders = [name for name in ("truncator", "expect", *RULES) if name in given]
    if len(deciders) > 1:
        raise InvalidParameterError(
            f"{who}: at most one of truncator, expect, {', '.join(RULES)} may be given, "
            f"got {' and '.join(deciders)}"
        )
    name = deciders[0] if deciders else None
    choose_rule(who, **{rule: given[rule] for rule in RULES if rule in given})
    FitOptions(**{option: given[option] for option in FitOptions.names() if option in given}).check(
        who
    )
    check_choice(given.get("if_shallow", "keep"), IF_SHALLOW, who=who, name="if_shallow")
    if name in RULES:
        chosen: Truncator = Surprise(**given)
        return chosen
    loose = [
        name for name, default in _RULE_DEFAULTS.items() if given.get(name, default) != default
    ]
    if loose:
        raise InvalidParameterError(
            f"{who}: {', '.join(loose)} must come with one of the rules {', '.join(RULES)}, "
            f"got {'none of them' if name is None else name}"
        )
    if name == "truncator":
        return _truncator(who, given["truncator"])
    if name == "expect":
        chosen = Consensus(expect=given["expect"])
        chosen._validate()
        return chosen
    return _DEFAULT


def _truncator(who: str, given: Any) -> Truncator:
    found = load(given) if isinstance(given, (str, os.PathLike)) else given
    if not isinstance(found, Truncator):
        hint = "; a background needs a truncator to gate: Gated(base, background)"
        raise InvalidParameterError(
            f"{who}: truncator must be a truncator or the path of a saved one, "
            f"got {type(found).__name__}{hint if type(found).__name__ == 'Background' else ''}"
        )
    return found


def _chosen(who: str, **choice: Unpack[Choice]) -> Truncator:
    """Return what `choose` returns; the same choice by a word or a rule is made only once."""
    if choice.get("truncator") is not None:
        return choose(who, **choice)  # a file may have changed
    try:
        # 1 and True are equal, but only one of them is a number of results.
        return _remembered(who, tuple(choice.items()), tuple(map(type, choice.values())))
    except TypeError:  # has no hash; `choose` refuses it with a better message
        return choose(who, **choice)


@lru_cache(maxsize=64)
def _remembered(
    who: str, choice: tuple[tuple[str, Any], ...], kinds: tuple[type, ...]
) -> Truncator:
    return choose(who, **dict(choice))


def cut(
    scores: ArrayLike,
    *,
    higher_is_better: bool = True,
    min_k: int = 0,
    max_k: int | None = None,
    **choice: Unpack[Choice],
) -> Cut:
    """Return how many results of one list to keep, and why.

    Without any other argument the scores alone decide: untrained
    `paretocut.truncators.Consensus`. A word about the questions makes it better. A rule keeps the
    results that chance explains badly. A truncator uses what it has learned.

    Parameters
    ----------
    scores
        Scores of one list, in any order. A list that stands worst first is refused, because its
        direction must be wrong.
    higher_is_better
        False if the scores are distances.
    min_k, max_k
        Bounds on the number kept, whatever is decided.
    **choice
        At most one decider:

        - ``expect``: how many relevant results there are, ``"one"``, ``"few"``, ``"many"`` or a
          number;
        - ``alpha``, ``evalue``, ``fdr`` or ``min_surprise``: a rule on Surprise scores, see
          `paretocut.tail.SurpriseFit.cut`; with it ``if_shallow`` and the options of
          `paretocut.fit_tail`;
        - ``truncator``: any truncator, or the path of a saved one.

    Examples
    --------
    >>> import paretocut as pc
    >>> scores = [0.71, 0.68, 0.41, 0.40, 0.38, 0.37, 0.35, 0.33]
    >>> decision = pc.cut(scores)
    >>> decision.k, decision.reason
    (2, "kept 2 of 8: the 3rd has score 0.41, below the middle of the list's range, 0.499")
    >>> pc.cut(scores, expect="one").k
    2
    """
    truncator = _chosen("cut", **choice) if choice else _DEFAULT
    return truncator.cut(scores, higher_is_better=higher_is_better, min_k=min_k, max_k=max_k)


def cut_batch(
    lists: RankedLists | RaggedLike,
    *,
    higher_is_better: bool = True,
    min_k: int = 0,
    max_k: int | None = None,
    **choice: Unpack[Choice],
) -> Cuts:
    """Return how many results of each list to keep, and why.

    Parameters
    ----------
    lists
        `RankedLists`, which know their direction, or bare scores in any layout that they take.
    higher_is_better
        False if bare scores are distances.
    min_k, max_k
        Bounds on the number kept, whatever is decided.
    **choice
        Who decides, as in `paretocut.cut`.

    Examples
    --------
    >>> import paretocut as pc
    >>> pc.cut_batch([[0.9, 0.8, 0.1], [0.5]]).k.tolist()
    [2, 1]
    """
    truncator = _chosen("cut_batch", **choice) if choice else _DEFAULT
    return truncator.cut_batch(lists, higher_is_better=higher_is_better, min_k=min_k, max_k=max_k)
