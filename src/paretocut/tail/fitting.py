"""Surprise scores: how unusual is each result among the results of its own query.

`fit_tail` takes the scores of one list, `fit_tails` those of many.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from paretocut import _kernel
from paretocut.decisions.cuts import as_scores
from paretocut.decisions.options import TRANSFORMS, FitOptions
from paretocut.errors import InvalidScoresError
from paretocut.lists import IntArray, Ragged, RaggedLike, RankedLists
from paretocut.schema.parameters import check_bool, check_positive_int
from paretocut.tail.fits import SurpriseFit, SurpriseFits
from paretocut.tail.gpd import GOF_LEVEL, kernel_gof
from paretocut.tail.transforms import allowed, apply

__all__ = ["fit_lists", "fit_tail", "fit_tails", "limited_threads"]

_SCORES_PER_THREAD = 20_000  # a thread costs about as much to start as this many scores to fit


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
        probabilities), or ``"auto"``: identity if that fits, else what fits best.
    selection
        How the lower end of the window is found, once the largest scores that hurt the fit are
        dropped: ``"greedy"``, the paper's search; or ``"gof"``, raise the threshold until the
        fit is acceptable (goodness-of-fit p-value of 0.1 or more).
    refit
        What the final tail is fitted to: ``"window"``, the scores thought to be non-relevant; or
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
    options = FitOptions(transform, selection, refit, min_window).check("fit_tail")
    higher_is_better = check_bool(higher_is_better, who="fit_tail", name="higher_is_better")
    values = as_scores(scores, who="fit_tail")
    if transform != "identity":
        ragged = Ragged.unchecked(values, np.array([0, values.size]))
        return _fit_ragged(ragged, higher_is_better, options, 1, who="fit_tail", single=True)[0]
    sign = 1.0 if higher_is_better else -1.0
    surprise = np.empty(values.size)
    numbers: Any = _kernel.fit_list(  # a tuple, or the index of a score that is not finite
        values,
        sign,
        min_window,
        refit == "all",
        kernel_gof() if selection == "gof" else None,
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
        _scores=values,
        _sign=sign,
        _flags=flags,
        _fitted_on=(values.size if refit == "all" else upper) - lower,
        _again=functools.partial(fit_lists, options=options),
        search=(windows, evaluations),
    )


def fit_tails(
    lists: RaggedLike | RankedLists,
    *,
    higher_is_better: bool = True,
    transform: str = "identity",
    selection: str = "greedy",
    refit: str = "window",
    min_window: int = 5,
    threads: int | None = None,
) -> SurpriseFits:
    """Return the tails of many lists; each is exactly what `fit_tail` gives for that list.

    Parameters
    ----------
    lists
        A 2-D array, a sequence of 1-D arrays, a tuple ``(values, offsets)``, an Arrow list array,
        a `Ragged` or `RankedLists`.
    higher_is_better, transform, selection, refit, min_window
        As in `fit_tail`.
    threads
        Threads to use; by default as many as there are processors. Results do not depend on it.

    Examples
    --------
    >>> import paretocut as pc
    >>> rng = np.random.default_rng(0)
    >>> fits = pc.fit_tails(rng.exponential(size=(3, 200)))
    >>> fits.cut(evalue=0.05).k.tolist(), len(fits.surprise[2])
    ([0, 0, 0], 200)
    """
    options = FitOptions(transform, selection, refit, min_window).check("fit_tails")
    higher_is_better = check_bool(higher_is_better, who="fit_tails", name="higher_is_better")
    if isinstance(lists, RankedLists):
        if not higher_is_better:
            raise InvalidScoresError(
                "fit_tails: higher_is_better must be left out for RankedLists, which know their "
                "direction; got False"
            )
        return fit_lists(lists, options=options, threads=threads)
    ragged = Ragged.from_any(lists, dtype=np.float64)
    return _fit_ragged(ragged, higher_is_better, options, _threads(threads), who="fit_tails")


def fit_lists(
    lists: RankedLists, *, options: FitOptions, threads: int | None = None
) -> SurpriseFits:
    """Return the tails of ranked lists; distances are treated as distances.

    Parameters
    ----------
    lists
        The lists.
    options
        How to fit; they are taken as checked.
    threads
        As in `fit_tails`.
    """
    return _fit_ragged(
        lists.scores, lists.higher_is_better, options, _threads(threads), who="fit_tails"
    )


_LIMIT: ContextVar[int | None] = ContextVar("_LIMIT", default=None)


@contextmanager
def limited_threads(threads: int | None) -> Iterator[None]:
    """Let fits inside the block use at most so many threads, unless they are told a number.

    Parameters
    ----------
    threads
        The limit; None for one thread per processor.
    """
    if threads is not None:
        check_positive_int(threads, who="threads", name="threads")
    token = _LIMIT.set(threads)
    try:
        yield
    finally:
        _LIMIT.reset(token)


def _threads(threads: int | None) -> int:
    threads = _LIMIT.get() if threads is None else threads
    if threads is None:
        if hasattr(os, "sched_getaffinity"):
            return len(os.sched_getaffinity(0))
        return os.cpu_count() or 1
    return check_positive_int(threads, who="fit_tails", name="threads")


def _fit_ragged(
    scores: Ragged,
    higher_is_better: bool,
    options: FitOptions,
    threads: int,
    *,
    who: str,
    single: bool = False,
) -> SurpriseFits:
    values = np.ascontiguousarray(scores.values, dtype=np.float64)
    scores = scores.with_values(values)
    _refuse_not_finite(scores, who, single)
    fit_on = functools.partial(_fit_on_scale, up=higher_is_better, options=options, threads=threads)
    if options.transform != "auto":
        return fit_on(apply(scores, options.transform, who=who), scores, options.transform)
    chosen = fit_on(scores, scores, "identity")
    for candidate in TRANSFORMS[1:-1]:
        # Only where nothing so far fits, and the scale exists.
        open_ = np.flatnonzero((chosen.gof_pvalue < GOF_LEVEL) & allowed(scores, candidate))
        if open_.size:
            part = scores.take(open_)
            other = fit_on(apply(part, candidate, who=who), part, candidate)
            now, before = other.gof_pvalue, chosen.gof_pvalue[open_]
            # P-values end at 0.0005. A list that fits no scale takes the one with the least misfit.
            closer = other._misfit < chosen._misfit[open_]
            better = (now > before) | ((now == before) & closer)
            chosen = _replaced(chosen, open_[better], other, np.flatnonzero(better))
    return chosen


def _fit_on_scale(
    scaled: Ragged,
    scores: Ragged,
    transform: str,
    *,
    up: bool,
    options: FitOptions,
    threads: int,
) -> SurpriseFits:
    lists, size = len(scores), scores.values.size
    sign = 1.0 if up else -1.0
    surprise = np.empty(size)
    shape, scale, threshold, cvm = np.empty((4, lists))
    lower, upper = np.empty((2, lists), dtype=np.int64)
    flags, windows, evaluations = np.empty((3, lists), dtype=np.int32)
    _kernel.fit_batch(
        scaled.values,
        scores.offsets,
        sign,
        options.min_window,
        options.refit == "all",
        kernel_gof() if options.selection == "gof" else None,
        min(threads, size // _SCORES_PER_THREAD + 1),
        surprise,
        shape,
        scale,
        threshold,
        cvm,
        lower,
        upper,
        flags,
        windows,
        evaluations,
    )
    filled = scores.filled  # an empty list has no threshold, and 0 stands for it
    if transform == "log":
        threshold[filled] = np.exp(threshold[filled])
    elif transform == "logit":
        threshold[filled] = np.exp(-np.logaddexp(0.0, -threshold[filled]))
    return SurpriseFits(
        surprise=scores.with_values(surprise),
        shape=shape,
        scale=scale,
        threshold=threshold,
        lower=lower,
        upper=upper,
        cvm=cvm,
        transform=np.full(lists, transform, dtype="<U8"),
        _scores=scores,
        _sign=sign,
        _flags=flags,
        _fitted_on=(scores.lengths if options.refit == "all" else upper) - lower,
        _again=functools.partial(fit_lists, options=options),
        search=np.stack([windows, evaluations], axis=1),
    )


def _refuse_not_finite(scores: Ragged, who: str, single: bool) -> None:
    found = scores.first_not_finite()
    if found is not None:
        i, place = found
        where = f"index {place}" if single else f"index {place} of list {i}"
        raise InvalidScoresError(f"{who}: scores must be finite, got {scores[i][place]} at {where}")


def _replaced(
    fits: SurpriseFits, at: IntArray, other: SurpriseFits, pick: IntArray
) -> SurpriseFits:
    """Return the fits with some lists' results taken from other fits."""
    surprise = fits.surprise.values.copy()
    for i, j in zip(at, pick, strict=True):
        surprise[fits.surprise.offsets[i] : fits.surprise.offsets[i + 1]] = other.surprise[j]
    columns = {}
    for name in (
        "shape", "scale", "threshold", "lower", "upper", "cvm", "transform", "_flags",
        "_fitted_on", "search",
    ):  # fmt: skip
        column = getattr(fits, name).copy()
        column[at] = getattr(other, name)[pick]
        columns[name] = column
    return SurpriseFits(
        surprise=fits.surprise.with_values(surprise),
        _scores=fits._scores,
        _sign=fits._sign,
        _again=fits._again,
        **columns,
    )
