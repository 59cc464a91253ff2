"""sentence-transformers: the answers of `semantic_search` and of `CrossEncoder.rank`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias, Unpack

from paretocut.adapters.deciding import CutList, cut_each, read_each
from paretocut.adapters.reporting import with_mark
from paretocut.decisions.options import DecisionOptions

__all__ = ["cut_rank", "cut_semantic_search"]

Hit: TypeAlias = dict[str, Any]


def cut_semantic_search(
    results: Sequence[Sequence[Hit]], **options: Unpack[DecisionOptions]
) -> list[CutList[Hit]]:
    """Return, for each query, the hits worth keeping, with the decision under ``paretocut``.

    Parameters
    ----------
    results
        What ``util.semantic_search`` returned; ask it for ``top_k=200`` or so.
    **options
        Who decides and within which bounds, as in `paretocut.cut`.

    Examples
    --------
    >>> import numpy as np
    >>> noise = np.random.default_rng(0).exponential(0.05, size=98)
    >>> scores = [0.9, 0.85, *np.sort(noise)[::-1]]
    >>> results = [[{"corpus_id": i, "score": s} for i, s in enumerate(scores)]]
    >>> (hits,) = cut_semantic_search(results, evalue=0.05)
    >>> [hit["corpus_id"] for hit in hits], hits.cut.k
    ([0, 1], 2)
    """
    what = "lists of dictionaries with a score, one list per query"
    return _cut(results, "cut_semantic_search", what, options)


def cut_rank(ranking: Sequence[Hit], **options: Unpack[DecisionOptions]) -> CutList[Hit]:
    """Return the documents of a reranking worth keeping, with the decision under ``paretocut``.

    A cross-encoder with one label applies a sigmoid, so its scores pile up at 0 and 1. The default
    converts such scores to logits. For a rule, ask ``rank`` for the logits with
    ``activation_fn=torch.nn.Identity()``, or pass ``transform="logit"``; a `ScoresWarning` tells
    you when this is needed.

    Parameters
    ----------
    ranking
        What ``CrossEncoder.rank`` returned, of all candidates: without ``top_k``.
    **options
        Who decides and within which bounds, as in `paretocut.cut`.
    """
    (kept,) = _cut([ranking], "cut_rank", "a list of dictionaries with a score", options)
    return kept


def _cut(
    results: Sequence[Sequence[Hit]], who: str, what: str, options: DecisionOptions
) -> list[CutList[Hit]]:
    scores = read_each(results, lambda hits: [hit["score"] for hit in hits], who=who, what=what)
    decisions, _ = cut_each(scores, options, who=who)
    return [
        CutList([with_mark(hits[i], mark) for i, mark in one.marks()], one.cut)
        for hits, one in zip(results, decisions, strict=True)
    ]
