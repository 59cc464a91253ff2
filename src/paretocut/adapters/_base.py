"""The plumbing of scores that adapters share: what is missing, which way is up, what is kept.

An adapter is a filter: what it keeps stays in the caller's order, and the caller's objects are not
touched.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict, TypeVar, Unpack

import numpy as np
from numpy.typing import ArrayLike

from paretocut._validation import check_choice
from paretocut.errors import InvalidScoresError
from paretocut.surprise import WARNINGS, Cut, SurpriseFit, fit, fit_batch
from paretocut.types import FloatArray, IntArray, Ragged

__all__ = [
    "FETCH_K",
    "UNSCORED",
    "CutList",
    "CutOptions",
    "Decision",
    "ScoresWarning",
    "cut_scored",
    "filter_scored",
    "kept_of_each",
]

T = TypeVar("T")

FETCH_K = 200
"""How many results to ask for by default: a tail needs far more than what is shown."""

UNSCORED = ("refuse", "keep", "drop")
"""What can be done with results that have no score."""

_WRONG_KIND = ("saturated_scores", "rank_only_scores")
_ENOUGH = 10  # fewer scores say little about their kind
_UNSORTED = 8  # this many scores do not stand worst first by accident
_FIT = {"transform", "selection", "refit", "min_window"}


class CutOptions(TypedDict, total=False):
    """Options of `paretocut.cut`, as they are there, less the direction of the scores."""

    alpha: float | None
    threshold: float | None
    evalue: float | None
    fdr: float | None
    min_k: int
    max_k: int | None
    transform: str
    selection: str
    refit: str
    min_window: int


class ScoresWarning(UserWarning):
    """Scores of a kind that says little about the results, such as ranks or saturated ones."""


class CutList(list[T]):
    """A list of the results kept, with the decision that kept them.

    Attributes
    ----------
    cut
        Why these: `paretocut.Cut`, with its reason and warnings.
    """

    def __init__(self, results: Sequence[T], cut: Cut) -> None:
        super().__init__(results)
        self.cut = cut


@dataclass(frozen=True)
class Decision:
    """What was decided on one answer.

    Attributes
    ----------
    cut, fit
        The decision and the tail behind it, on the results that have a score.
    positions
        Where those results are in the caller's list.
    """

    cut: Cut
    fit: SurpriseFit
    positions: IntArray

    @property
    def kept(self) -> IntArray:
        """Positions of the results kept, in the caller's order."""
        return np.sort(self.positions[self.cut.indices])

    def marks(self) -> Iterator[tuple[int, dict[str, float]]]:
        """Yield the position of each result kept and what its metadata should say of it."""
        pvalues, evalues = self.fit.pvalues, self.fit.evalues
        for i in np.sort(self.cut.indices):
            yield (
                int(self.positions[i]),
                {
                    "surprise": float(self.fit.surprise[i]),
                    "p_value": float(pvalues[i]),
                    "e_value": float(evalues[i]),
                },
            )


def cut_scored(
    scores: ArrayLike | Sequence[float | None],
    *,
    who: str,
    higher_is_better: bool = True,
    best_first: bool = True,
    **options: Unpack[CutOptions],
) -> Decision:
    """Return what to keep of one answer.

    Parameters
    ----------
    scores
        One score per result; None and NaN mean that there is none, and take no part.
    who
        Name of the adapter, for messages.
    higher_is_better
        False if the scores are distances.
    best_first
        Whether the results are known to come sorted. Scores that run the other way are an error,
        because the direction must then be wrong; unsorted results get the benefit of the doubt.
    **options
        Options of `paretocut.cut`.

    Raises
    ------
    InvalidScoresError
        For scores that contradict the direction, or that are infinite or no numbers.
    """
    values, positions = _scored(scores, higher_is_better, who, least=2 if best_first else _UNSORTED)
    how, rule = _split(options)
    fitted = fit(values, higher_is_better=higher_is_better, **how)
    decision = fitted.cut(**rule)
    for name in decision.warnings:
        if name in _WRONG_KIND and len(values) >= _ENOUGH:
            warnings.warn(f"{who}: {WARNINGS[name]}", ScoresWarning, stacklevel=3)
    return Decision(decision, fitted, positions)


def kept_of_each(
    answers: Iterable[ArrayLike],
    *,
    who: str,
    higher_is_better: bool,
    **options: Unpack[CutOptions],
) -> list[IntArray]:
    """Return the positions kept of each answer, as `cut_scored` would one by one, but faster.

    For stores that answer many queries at once with plain distances or similarities: their scores
    are not asked what kind they are of.

    Parameters
    ----------
    answers
        The scores of each answer, best first.
    who, higher_is_better, **options
        As in `cut_scored`.
    """
    scored = [_scored(scores, higher_is_better, who, least=2) for scores in answers]
    how, rule = _split(options)
    lists = Ragged.from_any([values for values, _ in scored], dtype=np.float64)
    counts = fit_batch(lists, higher_is_better=higher_is_better, **how).cut(**rule)
    sign = -1.0 if higher_is_better else 1.0
    return [
        np.sort(positions[np.argsort(sign * values, kind="stable")[:k]])
        for (values, positions), k in zip(scored, counts, strict=True)
    ]


def filter_scored(
    results: Sequence[T],
    scores: Sequence[float | None],
    *,
    who: str,
    unscored: str,
    mark: Callable[[T, dict[str, float]], T],
    higher_is_better: bool = True,
    **options: Unpack[CutOptions],
) -> CutList[T]:
    """Return the results kept, each marked with its surprise, and those without a score if asked.

    Parameters
    ----------
    results, scores
        The results and the score of each, or None.
    unscored
        What to do with results that have none: one of `UNSCORED`.
    mark
        Makes a marked copy of a result.
    who, higher_is_better, **options
        As in `cut_scored`.
    """
    check_choice(unscored, UNSCORED, who=who, name="unscored")
    decision = cut_scored(
        scores, who=who, higher_is_better=higher_is_better, best_first=False, **options
    )
    scored = set(decision.positions.tolist())
    if unscored == "refuse" and len(scored) < len(results):
        first = min(set(range(len(results))) - scored)
        raise InvalidScoresError(
            f"{who}: results must have scores unless unscored='keep' or 'drop'; "
            f"got none for the result at index {first}"
        )
    marks = dict(decision.marks())
    kept = [
        mark(result, marks[i]) if i in marks else result
        for i, result in enumerate(results)
        if i in marks or (i not in scored and unscored == "keep")
    ]
    return CutList(kept, decision.cut)


def _scored(
    scores: Any, higher_is_better: bool, who: str, *, least: int
) -> tuple[FloatArray, IntArray]:
    """Return the scores that are there, in a believable direction, and their positions."""
    values = _floats(scores, who)
    positions = np.flatnonzero(~np.isnan(values))
    values = values[positions]
    _check_direction(values, higher_is_better, who, least=least)
    return values, positions


def _split(options: CutOptions) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the options of the fit and those of the cut."""
    rule: dict[str, Any] = dict(options)
    how = {name: rule.pop(name) for name in _FIT & rule.keys()}
    return how, rule


def _floats(scores: Any, who: str) -> FloatArray:
    try:
        values = np.asarray(scores, dtype=np.float64)  # None becomes NaN
    except (TypeError, ValueError) as error:
        raise InvalidScoresError(f"{who}: scores must be numbers, got {error}") from error
    if values.ndim != 1:
        raise InvalidScoresError(
            f"{who}: scores must be one-dimensional, got an array of shape {values.shape}"
        )
    return values


def _check_direction(values: FloatArray, higher_is_better: bool, who: str, *, least: int) -> None:
    if len(values) < least or not np.isfinite(values).all():
        return
    steps = np.diff(values) if higher_is_better else -np.diff(values)
    if steps.any() and (steps >= 0).all():
        runs = ("falling", "rise") if higher_is_better else ("rising", "fall")
        raise InvalidScoresError(
            f"{who}: results must come best first, with {runs[0]} scores because "
            f"higher_is_better={higher_is_better}; got scores that {runs[1]} from {values[0]:g} "
            f"to {values[-1]:g}"
        )
