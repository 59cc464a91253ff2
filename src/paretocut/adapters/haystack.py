"""Haystack: components that keep the documents worth returning, of one list or of several."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self, Unpack

from paretocut.adapters.hybrid import Hybrid, HybridOptions, Pairs
from paretocut.adapters.keeping import CutList, Keeping, KeepOptions, restored, stored, with_mark
from paretocut.answers import read
from paretocut.errors import InvalidParameterError, require
from paretocut.truncators import Truncator

require("haystack", feature="paretocut.adapters.haystack", extra="haystack")

from haystack import Document, component, default_from_dict, default_to_dict


class _Component:
    """What both components share: pipelines store them as plain values."""

    options: Mapping[str, Any]
    _arguments: Mapping[str, Any]  # of the constructor, less the options
    _keeping: Keeping

    @property
    def truncator(self) -> Truncator:
        """Who decides: after `calibrate` a `paretocut.truncators.Calibrated`."""
        return self._keeping.chosen.truncator

    def to_dict(self) -> dict[str, Any]:
        """Return the component as plain values; a function that counts tokens has none."""
        plain = stored({**self._arguments, **self.options}, type(self).__name__)
        data: dict[str, Any] = default_to_dict(self, **plain)
        return data

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Return the component that `to_dict` describes."""
        given = {name: restored(value) for name, value in data["init_parameters"].items()}
        made: Self = default_from_dict(cls, {**data, "init_parameters": given})
        return made

    def _with(self, **deciding: Any) -> Self:
        """Return a component in which these decide, within the same bounds."""
        bounds = {"min_k", "max_k", "max_tokens", "count_tokens"} & self.options.keys()
        own = {name: self.options[name] for name in bounds}
        return type(self)(**self._arguments, **own, **deciding)


@component
class ParetoCut(_Component):
    """Keeps the documents whose score makes them worth returning, in their order; possibly none.

    Place it after a retriever or ranker with a large ``top_k`` (200). Documents come out as copies
    whose ``meta`` has the decision under ``paretocut``. The output ``decision`` says it too, even
    if nothing is kept. Documents without a score are not kept, and a warning says so.

    Parameters
    ----------
    higher_is_better
        False if the scores are distances.
    **options
        Who decides and within which bounds: the options of `paretocut.keep`.
    """

    def __init__(self, *, higher_is_better: bool = True, **options: Unpack[KeepOptions]) -> None:
        self._keeping = Keeping.of("ParetoCut", options)  # refuses bad options before documents
        self.higher_is_better = higher_is_better
        self.options = options
        self._arguments = {"higher_is_better": higher_is_better}

    def calibrate(self, texts: Iterable[Any], search: Callable[[str], Any], **options: Any) -> Self:
        """Return a component with a gate in its ``truncator``, as of `paretocut.calibrate`.

        Parameters
        ----------
        texts
            A few hundred texts or documents of the store.
        search
            Takes the text of a query and returns the input of this component: documents with
            scores, or the scores alone.
        **options
            Its options. Without ``truncator`` and ``expect``, the present one decides how many.
        """
        gated = self._keeping.calibrated(search, texts, options, self.higher_is_better)
        return self._with(truncator=gated.chosen.truncator)

    @component.output_types(documents=list[Document], decision=dict[str, Any])
    def run(
        self, documents: list[Document], query: str | None = None, top_k: int | None = None
    ) -> dict[str, Any]:
        """Return at most ``top_k`` documents and the decision; a gate for BM25 needs ``query``."""
        keeping = self._keeping.at_most(top_k, "top_k")
        found, up = read(documents, who="ParetoCut"), self.higher_is_better
        return _output(keeping.marked(found, _mark, query=query, higher_is_better=up))


@component
class ParetoCutJoiner(_Component):
    """Joins the documents of several retrievers by their scores, and cuts the result.

    It replaces ``DocumentJoiner``, with one input for each retriever. Documents come best first as
    copies with their fused score. Decisions are reported as by `ParetoCut`; ``meta`` also has
    ``parts``: score and rank in each list.

    Parameters
    ----------
    names
        Names of two or more inputs: ``["words", "vectors"]``.
    higher_is_better
        By name of a list, False if its scores are distances.
    **options
        How the lists are fused: the options of `paretocut.fuse`, or ``fusion``, a fitted
        `paretocut.fusion.Fusion` or the path of a saved one. The others are as in `ParetoCut`.
    """

    def __init__(
        self,
        names: list[str],
        *,
        higher_is_better: dict[str, bool] | None = None,
        **options: Unpack[HybridOptions],
    ) -> None:
        if isinstance(names, str) or len(set(names)) < max(len(names), 2):
            raise InvalidParameterError(
                f"ParetoCutJoiner: names must be at least 2 different names, got {names!r}"
            )
        component.set_input_types(self, **dict.fromkeys(names, list[Document]))
        self._hybrid = Hybrid.of("ParetoCutJoiner", options, higher_is_better)
        self._keeping = self._hybrid.keeping
        self.names = names
        self.options = options
        self._arguments = {"names": names, "higher_is_better": higher_is_better}

    def calibrate(
        self,
        texts: Iterable[Any],
        search: Callable[[str], Mapping[str, list[Document]]],
        **options: Any,
    ) -> Self:
        """Return a component with a fitted fusion and a gate; see `ParetoCut.calibrate`.

        ``search`` returns the documents of each input by its name.
        """
        found = self._hybrid.calibrated(lambda query: _pairs(search(query)), texts, options)
        gate, fusion = found.keeping.chosen.truncator, found.fusion.fusion
        return self._with(truncator=gate, fusion=fusion)

    @component.output_types(documents=list[Document], decision=dict[str, Any])
    def run(self, **documents: list[Document]) -> dict[str, Any]:
        """Return the documents kept, and the decision, from the list of each input."""
        if documents.keys() != set(self.names):
            raise InvalidParameterError(
                f"ParetoCutJoiner: inputs must be {', '.join(self.names)}, "
                f"got {', '.join(documents) or 'none'}"
            )
        kept = self._hybrid.answer(
            _pairs({name: documents[name] for name in self.names}),
            lambda document, score, mark: _mark(dataclasses.replace(document, score=score), mark),
        )
        return _output(kept)


def _pairs(found: Mapping[str, list[Document]]) -> dict[str, Pairs]:
    return {name: [(one, one.score) for one in documents] for name, documents in found.items()}


def _output(kept: CutList[Document]) -> dict[str, Any]:
    return {"documents": list(kept), "decision": kept.cut.to_dict()}


def _mark(document: Document, mark: dict[str, Any]) -> Document:
    return dataclasses.replace(document, meta=with_mark(document.meta, mark))
