"""How the scores of one retriever become comparable with those of another."""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike

from paretocut.decisions.options import Option, declared
from paretocut.fusion.answered import About, prepared
from paretocut.fusion.joining import (
    HUGE,
    Affine,
    OneRetriever,
    checked_weights,
    joined,
    matched,
)
from paretocut.lists import FloatArray
from paretocut.schema.kinds import Either, Items, Real, Text, Whole
from paretocut.schema.parameters import check_choice
from paretocut.tail import fit_tails
from paretocut.truncators.consensus import Consensus
from paretocut.truncators.threshold import normalize_scores

_TIE = 1e-6  # of a min-max score: decides between results of equal surprise
_RRF = 60.0  # the constant of Cormack, Clarke and Buettcher


def fuse(
    lists: Any,
    *,
    method: str = "z",
    weights: "ArrayLike | None" = None,  # a string, so that the reference prints this name
    depth: int | None = None,
    **about: Unpack[About],
) -> Any:
    """Return one list for each query, fused from those of two or more retrievers.

    A document that a retriever did not return counts as its last one did. The scores and ranks of
    each retriever are in ``parts``. `RankedLists` give `RankedLists`. Answers give an answer, which
    `paretocut.keep` takes: a list of `paretocut.fusion.FusedResult`, best first. Frames give a
    frame like the first.

    Parameters
    ----------
    lists
        For each retriever its answer, as `paretocut.keep` takes it (to one query or to many), its
        frame of pandas, Polars or Arrow with one row per result, or its `RankedLists` with
        ``doc_ids``. A mapping names the retrievers; otherwise they are called "1", "2", ... Each
        keeps its own direction. Queries of frames and `RankedLists` are matched by id; a
        `QueryCoverageWarning` names those that a retriever lacks, which are kept.
    method
        How scores of different lists are made comparable; see Notes.
    weights
        One number for each retriever, 0 or more; equal by default.
    depth
        Number of results of each list to use; all by default.
    **about
        Of answers: ``score`` and ``id``, where these are in a result (a field, a place or a
        function, for all retrievers or by name), if that cannot be told; equal ids mean the same
        document. ``higher_is_better``, for all or by name; by default as the library says, or as
        the order of the results shows. Of frames: ``query``, ``id`` ("doc_id") and ``score``
        ("score") name columns, and scores are similarities unless ``higher_is_better`` is False.

    Notes
    -----
    The score of a document is the sum of one summand from each retriever:

    - ``"z"``: standard deviations above the mean of its list;
    - ``"minmax"``: its place between the lowest and the best score of its list;
    - ``"surprise"``: its Surprise; ties are broken by a millionth of min-max;
    - ``"probability"``: its log-odds of relevance, as untrained `Consensus` has them; they are
      averaged;
    - ``"rrf"``: 1 / (60 + rank), reciprocal rank fusion, which ignores the scores;
    - ``"isr"``: 1 / rank squared, the sum times the number of retrievers that found the document;
    - ``"combmnz"``: as ``"minmax"``, times that number too.

    Two or more results with a score of exactly 0 at the end of a list without negative scores are
    the padding of a lexical engine: they count as not returned. A document that appears twice in a
    list, as chunks do, counts at its better rank. Ties are in the order of document ids,
    descending, as in trec_eval.

    Examples
    --------
    >>> import paretocut as pc
    >>> words = pc.RankedLists([[9.0, 7.0, 1.0]], doc_ids=[["a", "b", "c"]])
    >>> distances = pc.RankedLists([[0.2, 0.3, 0.9]], doc_ids=[["b", "a", "d"]],
    ...                            higher_is_better=False)
    >>> fused = pc.fuse({"words": words, "vectors": distances}, method="minmax")
    >>> fused[0].doc_ids.tolist(), fused[0].scores.round(2).tolist()
    (['a', 'b', 'd', 'c'], [1.86, 1.75, 0.0, 0.0])
    """
    kind = check_choice(method, METHODS, who="fuse", name="method")

    ranked, build = prepared(lists, "fuse", about)
    retrievers = matched(ranked, depth, "fuse")
    share = checked_weights(weights, len(retrievers.lists), "fuse")
    if kind == "probability":
        share = share / share.sum()  # a mean of log-odds is log-odds again
    parts = [METHODS[kind](one) for one in retrievers.lists]
    return build(joined(retrievers, parts, share, times_count=kind in ("isr", "combmnz")))


def _z(one: OneRetriever) -> Affine:
    mean, sd = one.moments
    unit = np.where(sd > 0, sd, np.inf)
    return Affine(one.ranged[0].values, mean, unit, (one.ends[1] - mean) / unit)


def _minmax(one: OneRetriever) -> Affine:
    high, low = one.ends
    unit = np.where(high > low, high - low, np.inf)
    return Affine(one.ranged[0].values, low, unit, np.zeros(len(unit)))


def _of_rank(one: OneRetriever, gain: Callable[[FloatArray], FloatArray]) -> Affine:
    lengths = one.merit.lengths
    table = gain(np.arange(1.0, lengths.max(initial=0) + 1))
    # Copies of the head of one table are much faster than a rank for every result.
    gains = np.concatenate([table[:0], *(table[:n] for n in lengths)])
    return _plain(gains, np.zeros(len(one.place)))


def _surprise(one: OneRetriever) -> Affine:
    surprise = np.minimum(fit_tails(one.merit).surprise.values, HUGE)
    # Below the threshold, and in short lists, surprise is 0: there the scores keep the order.
    return _or_lowest(one, surprise + _TIE * normalize_scores(one.merit, "minmax").values)


def _log_odds(one: OneRetriever) -> Affine:
    p = np.clip(Consensus().predict_proba(one.merit).values, 1e-12, 1 - 1e-12)
    return _or_lowest(one, np.log(p) - np.log1p(-p))


def _or_lowest(one: OneRetriever, gains: FloatArray) -> Affine:
    """Return these values as summands; a missing document gets the lowest of the list."""
    return _plain(gains, one.by_query(one.merit.with_values(gains).ends()[1]))


def _plain(gains: FloatArray, missing: FloatArray) -> Affine:
    return Affine(gains, np.zeros(len(missing)), np.ones(len(missing)), missing)


METHODS: dict[str, Callable[[OneRetriever], Affine]] = {
    "z": _z,
    "minmax": _minmax,
    "rrf": lambda one: _of_rank(one, lambda rank: 1 / (_RRF + rank)),
    "surprise": _surprise,
    "probability": _log_odds,
    "isr": lambda one: _of_rank(one, lambda rank: 1 / rank**2),
    "combmnz": _minmax,
}
"""The methods of `fuse` by name: each takes the lists of one retriever."""


class FuseOptions(TypedDict, total=False):
    """The options of `fuse`."""

    method: Annotated[
        str | None,
        Option(Text(tuple(METHODS)), "z", "how scores of different retrievers become comparable"),
    ]
    weights: Annotated[
        Sequence[float] | None,
        Option(
            Either(Items(Real(0))),
            None,
            "one number for each retriever, 0 or more (default: equal weights)",
        ),
    ]
    depth: Annotated[
        int | None,
        Option(Either(Whole(1)), None, "number of results of each list to use (default: all)"),
    ]


FUSING: Mapping[str, Option] = declared(FuseOptions)
"""The options of `fuse`, by name."""
