"""`paretocut.cut`: the decision on one list, and the choice of who decides."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Unpack

from numpy.typing import ArrayLike

from paretocut.background import Background
from paretocut.decisions import Cut, Cuts
from paretocut.decisions.options import (
    FITTING,
    OPTIONS,
    RULES,
    Option,
    PlainOptions,
    at_most_one,
    check_bounds,
    check_options,
    spelt_out,
)
from paretocut.errors import InvalidParameterError
from paretocut.lists import RaggedLike, RankedList, RankedLists
from paretocut.schema.files import load_model
from paretocut.schema.kinds import Real
from paretocut.truncators import Consensus, Gated, Surprise, Truncator, from_text, names

_SHARE = "share of the queries without an answer that still get results"
GATE_ALPHA = Option(Real(above=0, below=1), 0.05, _SHARE)


@dataclass(frozen=True, slots=True)
class Chosen:
    """Who decides and within which bounds: the options of a decision, checked once."""

    truncator: Truncator
    min_k: int = 0
    max_k: int | None = None

    @classmethod
    def of(
        cls,
        who: str,
        options: Mapping[str, Any],
        *,
        models: tuple[str, ...] = ("truncator",),
        spelt: Callable[[str], str] = str,
    ) -> Chosen:
        """Return the choice that the options make; errors speak for ``who``.

        ``models`` are the options that hold a truncator, a background or the path of one, or
        ``truncator`` the words for a method ("fixed_k:k=20"). ``spelt`` turns the name of an option
        into the caller's word for it.
        """
        given = tuple(options.items())
        if options.keys().isdisjoint(models):  # a file may have changed
            # 1 and True are equal, but only one of them is a number of results.
            kinds = tuple(map(type, options.values()))
            try:
                chosen = _chosen(who, given, models, spelt, kinds)
            except TypeError:
                pass  # something without a hash is no option of ours, as will be said
            else:
                chosen.truncator.trusted = True  # nobody else has it
                return chosen
        return _chosen.__wrapped__(who, given, models, spelt)

    def cut(self, scores: ArrayLike | RankedList, **about: Any) -> Cut:
        return self.truncator.cut(scores, min_k=self.min_k, max_k=self.max_k, **about)

    def cut_batch(self, lists: RankedLists | RaggedLike, **about: Any) -> Cuts:
        return self.truncator.cut_batch(lists, min_k=self.min_k, max_k=self.max_k, **about)


@lru_cache(maxsize=64)
def _chosen(
    who: str,
    options: tuple[tuple[str, Any], ...],
    models: tuple[str, ...],
    spelt: Callable[[str], str],
    kinds: tuple[type, ...] = (),
) -> Chosen:
    given = {name: value for name, value in options if value is not None}
    found = {name: _model(who, name, given.pop(name), spelt) for name in models if name in given}
    gates = {name: model for name, model in found.items() if isinstance(model, Background)}
    deciders = {name: model for name, model in found.items() if isinstance(model, Truncator)}
    gate = at_most_one(who, models, gates, spelt)
    known = {**OPTIONS, "gate_alpha": GATE_ALPHA} if "background" in models else OPTIONS
    checked = check_options(who, given, known, spelt)
    alpha = checked.pop("gate_alpha", None)
    bounds = checked.pop("min_k", 0), checked.pop("max_k", None)
    check_bounds(who, *bounds, spelt)
    choices = (*(name for name in models if name != "background"), "expect", *RULES)
    decider = at_most_one(who, choices, deciders | checked, spelt)
    if decider in RULES:
        truncator: Truncator = Surprise(**checked)
    else:
        for name in ("if_unsure", *FITTING):
            if checked.pop(name, OPTIONS[name].default) != OPTIONS[name].default:
                got = "none of them" if decider is None else spelt(decider)
                rules = ", ".join(map(spelt, RULES))
                raise InvalidParameterError(
                    f"{spelt(name)} must come with one of the rules {rules}, got {got}", who=who
                )
        truncator = deciders[decider] if decider in deciders else Consensus(**checked)
    if gate is not None:
        truncator = Gated(truncator, gates[gate], alpha=alpha or GATE_ALPHA.default)
    elif alpha is not None:
        raise InvalidParameterError(
            f"{spelt('gate_alpha')} must come with {spelt('background')}, got none", who=who
        )
    return Chosen(truncator, *bounds)


def _model(who: str, name: str, given: Any, spelt: Callable[[str], str]) -> Truncator | Background:
    """Return the truncator or the background that an option names."""
    kinds: tuple[type[Truncator] | type[Background], ...] = (Truncator, Background)
    wanted, found = "a truncator, a background", given
    if name == "background":
        kinds, wanted = (Background,), "a background"
    if name == "truncator":
        wanted += ", the words for a method"
        word = given if isinstance(given, str) else ""
        if word.partition(":")[0] in names():
            return from_text(word)
        if word.replace("_", "").isalpha() and not os.path.exists(word):
            raise InvalidParameterError(
                f"{spelt(name)} must be one of the methods {', '.join(names())} or the path of a "
                f"saved model, got {given!r}",
                who=who,
            )
    if isinstance(given, (str, os.PathLike)):
        found = load_model(given, "truncator", "background")
    if isinstance(found, kinds):
        return found
    where = "" if found is given else f" in {os.fspath(given)}"
    if isinstance(found, type) and issubclass(found, kinds):
        where = f", the class: write {found.__name__}()"
    raise InvalidParameterError(
        f"{spelt(name)} must be {wanted} or the path of a saved one, "
        f"got {type(found).__name__}{where}",
        who=who,
    )


_DEFAULT = Chosen.of("cut", {})


@spelt_out(*OPTIONS)
def cut(
    scores: ArrayLike | RankedList,
    *,
    higher_is_better: bool | None = None,
    truncator: Truncator | Background | str | os.PathLike[str] | None = None,
    **options: Unpack[PlainOptions],
) -> Cut:
    """Return how many results of one list to keep, and why.

    By default the scores alone decide, through an untrained `paretocut.truncators.Consensus`. At
    most one of ``truncator``, ``expect`` and the rules (``alpha``, ``evalue``, ``fdr``,
    ``min_surprise``) may be given; the options after the rules only apply with a rule.

    Parameters
    ----------
    scores
        Scores of one list in any order, except that ten or more must not come worst first, which
        would mean a wrong direction; or a `RankedList`, which knows its direction.
    higher_is_better
        False if the scores are distances. By default as the truncator was fitted, otherwise True.
    truncator
        Any truncator, the words for a method ("fixed_k:k=20"; see `paretocut.truncators`), or the
        path of a saved one. A `Background`, or the path of one, is a gate: it may come with any
        other option, and keeps nothing where there is no answer.
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
    given = options if truncator is None else {**options, "truncator": truncator}
    chosen = Chosen.of("cut", given) if given else _DEFAULT
    return chosen.cut(scores, higher_is_better=higher_is_better)


@spelt_out(*OPTIONS)
def cut_batch(
    lists: RankedLists | RaggedLike,
    *,
    higher_is_better: bool | None = None,
    truncator: Truncator | Background | str | os.PathLike[str] | None = None,
    **options: Unpack[PlainOptions],
) -> Cuts:
    """Return how many results of each list to keep, and why.

    Parameters
    ----------
    lists
        `RankedLists`, which know their direction, or bare scores in any layout that they take.
    higher_is_better, truncator
        As in `cut`, like all options below.
    {options}

    Examples
    --------
    >>> import paretocut as pc
    >>> pc.cut_batch([[0.9, 0.8, 0.1], [0.5]]).k.tolist()
    [2, 1]
    """
    given = options if truncator is None else {**options, "truncator": truncator}
    chosen = Chosen.of("cut_batch", given) if given else _DEFAULT
    return chosen.cut_batch(lists, higher_is_better=higher_is_better)
