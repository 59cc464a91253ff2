"""sentence-transformers: the answers of `semantic_search` and of `CrossEncoder.rank`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias, Unpack

from paretocut.adapters._base import CutList, CutOptions, cut_scored

__all__ = ["cut_rank", "cut_semantic_search"]

Hit: TypeAlias = dict[str, Any]


def cut_semantic_search(
    results: Sequence[Sequence[Hit]], **options: Unpack[CutOptions]
) -> list[CutList[Hit]]:
    """Return, for each query, the hits that stand out, with their surprise.

    Parameters
    ----------
    results
        What ``util.semantic_search`` returned; ask it for ``top_k=200`` or so.
    **options
        Options of `paretocut.cut`.

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
    return [_cut(hits, "cut_semantic_search", options) for hits in results]


def cut_rank(ranking: Sequence[Hit], **options: Unpack[CutOptions]) -> CutList[Hit]:
    """Return the documents of a reranking that stand out, with their surprise.

    A cross-encoder with one label squeezes its scores through a sigmoid, which piles them up at 0
    and 1: a `ScoresWarning` says so where it happens. Ask ``rank`` for the logits with
    ``activation_fn=torch.nn.Identity()``, or pass ``transform="logit"`` here.

    Parameters
    ----------
    ranking
        What ``CrossEncoder.rank`` returned, of all candidates: without ``top_k``.
    **options
        Options of `paretocut.cut`.
    """
    return _cut(ranking, "cut_rank", options)


def _cut(hits: Sequence[Hit], who: str, options: CutOptions) -> CutList[Hit]:
    decision = cut_scored([hit["score"] for hit in hits], who=who, **options)
    return CutList([{**hits[i], **marks} for i, marks in decision.marks()], decision.cut)
