"""Surprise scores: how unusual is each result among the results of its own query.

`fit_tail` takes the scores of one list, `fit_tails` those of many.
"""

from __future__ import annotations

import operator
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from paretocut import _kernel
from paretocut.decisions.cuts import as_scores
from paretocut.decisions.options import FITTING, FitOptions, Fitting
from paretocut.errors import InvalidScoresError
from paretocut.lists import Ragged, RaggedLike, RankedLists
from paretocut.schema.parameters import check_bool
from paretocut.tail.fits import SurpriseFit, SurpriseFits, fit_ragged, threads_of
from paretocut.tail.gpd import kernel_gof

_DEFAULT = Fitting()
_AS_DEFAULT = tuple(option.default for option in FITTING.values())


def fit_tail(
    scores: ArrayLike,
    *,
    higher_is_better: bool = True,
    transform: str = "identity",
    selection: str = "greedy",
    refit: str = "window",
    min_window: int = 5,
) -> SurpriseFit:
    """Return the tail of one list and the Surprise score of each of its results.

    Parameters
    ----------
    scores
        Scores of one ranked list, in any order: the more results, the better (200 is good).
    higher_is_better
        False if the scores are distances.
    transform
        Scale on which the tail is fitted: ``"identity"``, ``"log"``, ``"logit"`` (for
        probabilities), or ``"auto"``: identity if that fits, otherwise whatever fits best.
    selection
        How the lower end of the window is found, once the largest scores that hurt the fit are
        dropped: ``"greedy"``, the paper's search; or ``"gof"``, raise the threshold until the
        fit is acceptable (goodness-of-fit p-value of 0.1 or more).
    refit
        What the final tail is fitted to: ``"window"``, the scores that look irrelevant; or
        ``"all"``, everything from the threshold up.
    min_window
        Smallest number of scores a window may have.

    Raises
    ------
    InvalidScoresError
        For scores that are not one-dimensional, not numbers, or not finite.

    References
    ----------
    .. [1] Bahri, Zheng, Tay, Metzler, Tomkins. Surprise: Result List Truncation via Extreme Value
       Theory. Algorithm 1; ``refit="window"`` follows its text, ``refit="all"`` its listing.

    Examples
    --------
    >>> import paretocut as pc
    >>> background = -np.log(np.linspace(0.005, 0.995, 198))  # a smooth tail of chance
    >>> fit = pc.fit_tail([12.0, 11.0, *background])
    >>> fit.cut(evalue=0.05).k, fit.surprise[:2].round(1).tolist()
    (2, [12.2, 11.2])
    """
    fitting = _DEFAULT
    given = transform, selection, refit, min_window
    if not all(map(operator.is_, given, _AS_DEFAULT)):  # equal ones pass the check below
        fitting = Fitting.of("fit_tail", dict(zip(FITTING, given, strict=True)))  # type: ignore[arg-type]
    up = check_bool(higher_is_better, who="fit_tail", name="higher_is_better")
    values = as_scores(scores, who="fit_tail")
    if fitting.transform != "identity":
        lists = Ragged.unchecked(values, np.array([0, values.size]))
        _refuse_not_finite(lists, "fit_tail")
        return fit_ragged(lists, up, fitting, 1, who="fit_tail")[0]
    sign = 1.0 if up else -1.0
    surprise = np.empty(values.size)
    numbers: Any = _kernel.fit_list(  # a tuple, or the index of a score that is not finite
        values,
        sign,
        fitting.min_window,
        fitting.refit == "all",
        kernel_gof() if fitting.selection == "gof" else None,
        surprise,
    )
    if isinstance(numbers, int):
        raise InvalidScoresError(
            f"fit_tail: scores must be finite, got {values[numbers]} at index {numbers}"
        )
    shape, scale, threshold, cvm, lower, upper, flags, windows, evaluations = numbers
    return SurpriseFit(
        surprise=surprise,
        shape=shape,
        scale=scale,
        threshold=threshold,
        lower=lower,
        upper=upper,
        cvm=cvm,
        transform="identity",
        search=(windows, evaluations),
        _scores=values,
        _sign=sign,
        _flags=flags,
        _fitting=fitting,
    )


def fit_tails(
    lists: RaggedLike | RankedLists,
    *,
    higher_is_better: bool = True,
    threads: int | None = None,
    **options: Unpack[FitOptions],
) -> SurpriseFits:
    """Return the tails of many lists; each is exactly what `fit_tail` gives for that list.

    Parameters
    ----------
    lists
        A 2-D array, a sequence of 1-D arrays, a tuple ``(values, offsets)``, an Arrow list array,
        a `Ragged` or `RankedLists`.
    higher_is_better
        As in `fit_tail`.
    threads
        Threads to use; by default as many as there are processors. Results do not depend on it.
    **options
        ``transform``, ``selection``, ``refit`` and ``min_window``, as in `fit_tail`.

    Examples
    --------
    >>> import paretocut as pc
    >>> rng = np.random.default_rng(0)
    >>> fits = pc.fit_tails(rng.exponential(size=(3, 200)))
    >>> fits.cut(evalue=0.05).k.tolist(), len(fits.surprise[2])
    ([0, 0, 0], 200)
    """
    fitting = Fitting.of("fit_tails", options)
    up = check_bool(higher_is_better, who="fit_tails", name="higher_is_better")
    if isinstance(lists, RankedLists):
        if not up:
            raise InvalidScoresError(
                "fit_tails: higher_is_better must be left out for RankedLists, which know their "
                "direction; got False"
            )
        return fit_ragged(lists.scores, lists.higher_is_better, fitting, threads_of(threads))
    ragged = Ragged.from_any(lists, dtype=np.float64)
    _refuse_not_finite(ragged, "fit_tails")
    return fit_ragged(ragged, up, fitting, threads_of(threads))


def _refuse_not_finite(scores: Ragged, who: str) -> None:
    found = scores.first_not_finite()
    if found is not None:
        i, place = found
        where = f"index {place}" if who == "fit_tail" else f"index {place} of list {i}"
        raise InvalidScoresError(
            f"scores must be finite, got {scores[i][place]} at {where}", who=who
        )
