"""Haystack: a component that keeps the documents whose score stands out."""

from __future__ import annotations

import dataclasses
from typing import Any, Unpack

from paretocut._extras import require
from paretocut._validation import check_choice
from paretocut.adapters._base import UNSCORED, CutOptions, filter_scored
from paretocut.surprise import cut

require("haystack", feature="paretocut.adapters.haystack", extra="haystack")

from haystack import Document, component, default_from_dict, default_to_dict

__all__ = ["ParetoCut"]


@component
class ParetoCut:
    """Keeps the documents whose score stands out among all that came, in their order; maybe none.

    Place it after a retriever or ranker with a large ``top_k`` (200). Documents come out as copies
    with ``surprise``, ``p_value`` and ``e_value`` in ``meta``; the output ``decision`` says how
    many were kept and why.

    Parameters
    ----------
    higher_is_better
        False if the scores are distances.
    unscored
        What happens to documents whose score is None: ``"refuse"``, ``"keep"`` or ``"drop"``.
    **options
        Options of `paretocut.cut`.
    """

    def __init__(
        self,
        *,
        higher_is_better: bool = True,
        unscored: str = "refuse",
        **options: Unpack[CutOptions],
    ) -> None:
        check_choice(unscored, UNSCORED, who="ParetoCut", name="unscored")
        cut([], **options)  # refuses bad options before any document comes
        self.higher_is_better = higher_is_better
        self.unscored = unscored
        self.options = options

    def to_dict(self) -> dict[str, Any]:
        """Return the component as plain values, for pipelines in YAML."""
        data: dict[str, Any] = default_to_dict(
            self, higher_is_better=self.higher_is_better, unscored=self.unscored, **self.options
        )
        return data

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> ParetoCut:
        """Return the component that `to_dict` describes.

        Parameters
        ----------
        data
            What `to_dict` returned.
        """
        restored: ParetoCut = default_from_dict(cls, data)
        return restored

    @component.output_types(documents=list[Document], decision=dict[str, Any])
    def run(self, documents: list[Document]) -> dict[str, Any]:
        """Return the documents kept, and the decision.

        Parameters
        ----------
        documents
            Documents with scores.
        """
        kept = filter_scored(
            documents,
            [document.score for document in documents],
            who="ParetoCut",
            unscored=self.unscored,
            mark=_mark,
            higher_is_better=self.higher_is_better,
            **self.options,
        )
        return {"documents": list(kept), "decision": kept.cut.to_dict()}

    @component.output_types(documents=list[Document], decision=dict[str, Any])
    async def run_async(self, documents: list[Document]) -> dict[str, Any]:
        """Return what `run` does; the work is too short for a thread.

        Parameters
        ----------
        documents
            Documents with scores.
        """
        result: dict[str, Any] = self.run(documents)
        return result


def _mark(document: Document, marks: dict[str, float]) -> Document:
    return dataclasses.replace(document, meta={**document.meta, **marks})
