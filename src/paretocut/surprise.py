"""Surprise scores: how unusual is each result among the results of its own query.

`fit` takes the scores of one list, `fit_batch` those of many, `cut` goes all the way to a decision.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from paretocut import _kernel
from paretocut._results import WARNINGS, Cut, SurpriseFit, SurpriseFits
from paretocut._transforms import TRANSFORMS, allowed, apply
from paretocut._validation import check_choice, check_int, check_positive_int
from paretocut.errors import InvalidScoresError
from paretocut.gpd import GOF_LEVEL, kernel_gof
from paretocut.types import FloatArray, IntArray, Ragged, RaggedLike, RankedLists

__all__ = ["WARNINGS", "Cut", "SurpriseFit", "SurpriseFits", "cut", "fit", "fit_batch"]

_TRANSFORMS = (*TRANSFORMS, "auto")
_SCORES_PER_THREAD = 20_000  # a thread costs about as much to start as this many scores to fit


def fit(
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
    >>> fit = pc.fit([12.0, 11.0, *background])
    >>> fit.cut(evalue=0.05).k, fit.surprise[:2].round(1).tolist()
    (2, [12.2, 11.2])
    """
    _check_options("fit", transform, selection, refit, min_window)
    values = _one_list(scores)
    if transform != "identity":
        ragged = Ragged(values, np.array([0, values.size]))
        options = (higher_is_better, transform, selection, refit, min_window, 1)
        return _fit_ragged(ragged, *options, who="fit", single=True)[0]
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
            f"fit: scores must be finite, got {values[numbers]} at index {numbers}"
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
        search=(windows, evaluations),
    )


def fit_batch(
    lists: RaggedLike | RankedLists,
    *,
    higher_is_better: bool = True,
    transform: str = "identity",
    selection: str = "greedy",
    refit: str = "window",
    min_window: int = 5,
    threads: int | None = None,
) -> SurpriseFits:
    """Return the tails of many lists; each is exactly what `fit` gives for that list.

    Parameters
    ----------
    lists
        A 2-D array, a sequence of 1-D arrays, a tuple ``(values, offsets)``, an Arrow list array,
        a `Ragged` or `RankedLists`.
    higher_is_better, transform, selection, refit, min_window
        As in `fit`.
    threads
        Threads to use; by default as many as there are processors. Results do not depend on it.

    Examples
    --------
    >>> import paretocut as pc
    >>> rng = np.random.default_rng(0)
    >>> fits = pc.fit_batch(rng.exponential(size=(3, 200)))
    >>> fits.cut(evalue=0.05).tolist(), len(fits.surprise[2])
    ([0, 0, 0], 200)
    """
    _check_options("fit_batch", transform, selection, refit, min_window)
    if threads is None:
        threads = (
            len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        )
    threads = check_positive_int(threads, who="fit_batch", name="threads")
    if isinstance(lists, RankedLists):
        if not higher_is_better:
            raise InvalidScoresError(
                "fit_batch: higher_is_better must be True for RankedLists, which hold scores with "
                "the best highest whatever they were made from; got False"
            )
        ragged = lists.scores
    else:
        ragged = Ragged.from_any(lists, dtype=np.float64)
    options = (higher_is_better, transform, selection, refit, min_window, threads)
    return _fit_ragged(ragged, *options, who="fit_batch")


def cut(
    scores: ArrayLike,
    *,
    alpha: float | None = None,
    threshold: float | None = None,
    evalue: float | None = None,
    fdr: float | None = None,
    min_k: int = 0,
    max_k: int | None = None,
    higher_is_better: bool = True,
    transform: str = "identity",
    selection: str = "greedy",
    refit: str = "window",
    min_window: int = 5,
) -> Cut:
    """Return how many results of one list to keep: `fit` and `SurpriseFit.cut` in one.

    Parameters
    ----------
    scores, higher_is_better, transform, selection, refit, min_window
        As in `fit`.
    alpha, threshold, evalue, fdr, min_k, max_k
        As in `SurpriseFit.cut`: one rule, ``alpha=0.05`` if none is named.

    Examples
    --------
    >>> import paretocut as pc
    >>> distances = [0.11, 0.13, *(1 + 0.1 * np.log(np.linspace(0.01, 0.99, 98)))]
    >>> pc.cut(distances, higher_is_better=False, fdr=0.1).k
    2
    """
    fitted = fit(
        scores,
        higher_is_better=higher_is_better,
        transform=transform,
        selection=selection,
        refit=refit,
        min_window=min_window,
    )
    return fitted.cut(
        alpha=alpha, threshold=threshold, evalue=evalue, fdr=fdr, min_k=min_k, max_k=max_k
    )


def _check_options(who: str, transform: str, selection: str, refit: str, min_window: int) -> None:
    check_choice(transform, _TRANSFORMS, who=who, name="transform")
    check_choice(selection, ("greedy", "gof"), who=who, name="selection")
    check_choice(refit, ("window", "all"), who=who, name="refit")
    check_int(min_window, who=who, name="min_window", low=3)


def _one_list(scores: ArrayLike) -> FloatArray:
    """Return the scores as a contiguous float64 array of our own."""
    try:
        given = np.asarray(scores)
        if given.dtype.kind not in "biuf":
            raise TypeError
        values = np.array(given, dtype=np.float64, order="C")
    except (TypeError, ValueError):
        raise InvalidScoresError(
            f"fit: scores must be a one-dimensional array of numbers, got {_short(scores)}"
        ) from None
    if values.ndim != 1:
        raise InvalidScoresError(
            f"fit: scores must be one-dimensional (fit_batch takes many lists), "
            f"got {values.ndim} dimensions"
        )
    return values


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _fit_ragged(
    scores: Ragged,
    higher_is_better: bool,
    transform: str,
    selection: str,
    refit: str,
    min_window: int,
    threads: int,
    *,
    who: str,
    single: bool = False,
) -> SurpriseFits:
    options = (higher_is_better, selection, refit, min_window, threads)
    if transform != "auto":
        return _fit_on_scale(scores, transform, *options, who=who, single=single)
    chosen = _fit_on_scale(scores, "identity", *options, who=who, single=single)
    for candidate in TRANSFORMS[1:]:
        # Only where nothing so far fits, and the scale exists.
        open_ = np.flatnonzero((chosen.gof_pvalue < GOF_LEVEL) & allowed(scores, candidate))
        if open_.size:
            other = _fit_on_scale(scores.take(open_), candidate, *options, who=who)
            now, before = other.gof_pvalue, chosen.gof_pvalue[open_]
            # P-values end at 0.0005: what fits no scale goes where it is least far off.
            closer = other._misfit < chosen._misfit[open_]
            better = (now > before) | ((now == before) & closer)
            chosen = _replaced(chosen, open_[better], other, np.flatnonzero(better))
    return chosen


def _fit_on_scale(
    scores: Ragged,
    transform: str,
    higher_is_better: bool,
    selection: str,
    refit: str,
    min_window: int,
    threads: int,
    *,
    who: str,
    single: bool = False,
) -> SurpriseFits:
    values = np.ascontiguousarray(scores.values, dtype=np.float64)
    scores = scores.with_values(values)
    _refuse_not_finite(scores, who, single)
    scaled = apply(scores, transform, who=who)
    lists = len(scores)
    sign = 1.0 if higher_is_better else -1.0
    surprise = np.empty(values.size)
    shape, scale, threshold, cvm = np.empty((4, lists))
    lower, upper = np.empty((2, lists), dtype=np.int64)
    flags, windows, evaluations = np.empty((3, lists), dtype=np.int32)
    _kernel.fit_batch(
        scaled.values,
        scores.offsets,
        sign,
        min_window,
        refit == "all",
        kernel_gof() if selection == "gof" else None,
        min(threads, values.size // _SCORES_PER_THREAD + 1),
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
    filled = scores.lengths > 0  # an empty list has no threshold, and 0 stands for it
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
        _fitted_on=(scores.lengths if refit == "all" else upper) - lower,
        search=np.stack([windows, evaluations], axis=1),
    )


def _refuse_not_finite(scores: Ragged, who: str, single: bool) -> None:
    finite = np.isfinite(scores.values)
    if finite.all():
        return
    at = int(np.flatnonzero(~finite)[0])
    i = int(np.searchsorted(scores.offsets, at, side="right")) - 1
    where = f"index {at}" if single else f"index {at - scores.offsets[i]} of list {i}"
    raise InvalidScoresError(f"{who}: scores must be finite, got {scores.values[at]} at {where}")


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
        **columns,
    )
