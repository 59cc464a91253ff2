"""Haystack: a component that keeps the documents whose score makes them worth returning."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from typing import Any, Unpack

from paretocut._extras import require
from paretocut._validation import check_choice
from paretocut.adapters._base import (
    UNSCORED,
    CutOptions,
    Cutter,
    TokenBudget,
    filter_scored,
    read_each,
)
from paretocut.adapters._telling import with_mark
from paretocut.errors import InvalidParameterError

require("haystack", feature="paretocut.adapters.haystack", extra="haystack")

from haystack import Document, component, default_from_dict, default_to_dict

__all__ = ["ParetoCut"]


@component
class ParetoCut:
    """Keeps the documents whose score makes them worth returning, in their order; maybe none.

    Place it after a retriever or ranker with a large ``top_k`` (200). Documents come out as copies
    whose ``meta`` has the decision under ``paretocut``: score, surprise, p-value and E-value of the
    document, number kept, reason and warnings of the list. The output ``decision`` says it too,
    also when nothing is kept.

    Parameters
    ----------
    higher_is_better
        False if the scores are distances.
    unscored
        What happens to documents whose score is None: ``"refuse"``, ``"keep"`` or ``"drop"``.
    max_tokens, count_tokens
        Most tokens that the documents kept may have together, and what counts them; by default
        one token for every four characters.
    **options
        Who decides and within which bounds, as in `paretocut.cut`.
    """

    def __init__(
        self,
        *,
        higher_is_better: bool = True,
        unscored: str = "refuse",
        max_tokens: int | None = None,
        count_tokens: Callable[[str], int] | None = None,
        **options: Unpack[CutOptions],
    ) -> None:
        check_choice(unscored, UNSCORED, who="ParetoCut", name="unscored")
        self._cutter = Cutter.of("ParetoCut", options)  # refuses bad options before documents come
        self._budget = TokenBudget(max_tokens, count_tokens).check("ParetoCut")
        self.higher_is_better = higher_is_better
        self.unscored = unscored
        self.options = options

    def to_dict(self) -> dict[str, Any]:
        """Return the component as plain values, for pipelines in YAML.

        A truncator is stored by its path: give the component the path of a saved one. A function
        that counts tokens cannot be stored.
        """
        options: dict[str, Any] = dict(self.options)
        truncator = options.get("truncator")
        if isinstance(truncator, os.PathLike):
            options["truncator"] = os.fspath(truncator)
        elif truncator is not None and not isinstance(truncator, str):
            raise InvalidParameterError(
                "ParetoCut: truncator must be the path of a saved one for the component to be "
                f"stored, got {truncator!r}"
            )
        if self._budget.count is not None:
            raise InvalidParameterError(
                "ParetoCut: count_tokens must be None for the component to be stored, "
                f"got {self._budget.count!r}"
            )
        data: dict[str, Any] = default_to_dict(
            self,
            higher_is_better=self.higher_is_better,
            unscored=self.unscored,
            max_tokens=self._budget.most,
            **options,
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
            read_each(
                documents,
                lambda document: document.score,
                who="ParetoCut",
                what="a list of haystack.Document",
            ),
            self._cutter,
            who="ParetoCut",
            unscored=self.unscored,
            mark=_mark,
            text_of=lambda document: document.content or "",
            budget=self._budget,
            higher_is_better=self.higher_is_better,
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


def _mark(document: Document, mark: dict[str, Any]) -> Document:
    return dataclasses.replace(document, meta=with_mark(document.meta, mark))
