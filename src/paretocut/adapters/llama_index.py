"""LlamaIndex: a node postprocessor, and retrievers that fetch deep, fuse and cut."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self, Unpack

from paretocut.adapters.hybrid import Hybrid, HybridOptions, Pairs
from paretocut.adapters.keeping import FETCH_K, KEY, may_mark, with_mark
from paretocut.answers import read
from paretocut.errors import InvalidParameterError, require
from paretocut.fusion import Fusion
from paretocut.fusion.joining import arms_by_name
from paretocut.truncators import Truncator

require("llama_index.core", feature="paretocut.adapters.llama_index", extra="llama-index")

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, QueryBundle

from paretocut.adapters.fields import REFUSE, DecisionFields


class ParetoCutPostprocessor(DecisionFields, BaseNodePostprocessor):
    """Keeps the nodes whose score makes them worth returning, in their order; possibly none.

    The nodes are copies whose metadata has the decision under ``paretocut``, kept out of prompts
    and embeddings. The returned list has it in its attribute ``cut``, even if it is empty. Nodes
    without a score are not kept, and a warning says so.

    Parameters
    ----------
    higher_is_better
        False if the scores are distances.
    truncator, max_tokens, count_tokens, ...
        Who decides and within which bounds: the options of `paretocut.keep`.
    """

    model_config = REFUSE

    higher_is_better: bool = True

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which the component is stored."""
        return "ParetoCutPostprocessor"

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        return self._kept(nodes, query_bundle, None)

    def _kept(
        self, nodes: Sequence[NodeWithScore], query: QueryBundle | None, asked: int | None
    ) -> list[NodeWithScore]:
        text = None if query is None else query.query_str
        found, up = read(nodes, who=self.keeping.who), self.higher_is_better
        return self.keeping.marked(found, _mark, query=text, higher_is_better=up, asked=asked)


class _Whole(BaseRetriever):
    """A retriever whose list is final: following links between nodes again would rebuild it."""

    def _handle_recursive_retrieval(
        self, query_bundle: QueryBundle, nodes: list[NodeWithScore]
    ) -> list[NodeWithScore]:
        return nodes

    async def _ahandle_recursive_retrieval(
        self, query_bundle: QueryBundle, nodes: list[NodeWithScore]
    ) -> list[NodeWithScore]:
        return nodes


class ParetoCutRetriever(_Whole):
    """Retrieves the nodes of an index worth returning among those fetched; possibly none.

    The list that `retrieve` returns has the decision in its attribute ``cut``, also when it is
    empty. For any other retriever, set its ``similarity_top_k`` high and add
    `ParetoCutPostprocessor`.

    Parameters
    ----------
    index
        An index whose ``as_retriever`` takes ``similarity_top_k``.
    fetch_k
        How many nodes to fetch before the cut.
    retriever_kwargs
        More arguments of ``as_retriever``, such as ``filters``.
    **options
        As for `ParetoCutPostprocessor`.
    """

    def __init__(
        self,
        index: Any,
        *,
        fetch_k: int = FETCH_K,
        retriever_kwargs: dict[str, Any] | None = None,
        **options: Any,
    ) -> None:
        super().__init__()
        if not hasattr(index, "as_retriever"):
            raise InvalidParameterError(
                "ParetoCutRetriever: index must have as_retriever (for a retriever, set its "
                "similarity_top_k high and add ParetoCutPostprocessor), "
                f"got {type(index).__name__}"
            )
        # A filter may leave few nodes, and that is no fault of the index.
        self._asked = None if retriever_kwargs else fetch_k
        self._retriever = index.as_retriever(similarity_top_k=fetch_k, **(retriever_kwargs or {}))
        self._postprocessor = ParetoCutPostprocessor(**options)

    def calibrate(self, texts: Iterable[Any], **options: Any) -> Self:
        """Return a retriever with a gate in its ``truncator``, as of `paretocut.calibrate`.

        Parameters
        ----------
        texts
            A few hundred texts or nodes of the index.
        **options
            Its options. Without ``truncator`` and ``expect``, the present one decides how many.
        """
        decides = self._postprocessor
        search, up = self._retriever.retrieve, decides.higher_is_better
        gated = decides.keeping.calibrated(search, texts, options, up)
        other = copy.copy(self)
        other._postprocessor = decides.with_fields(truncator=gated.chosen.truncator)
        return other

    @property
    def truncator(self) -> Truncator:
        """Who decides: after `calibrate` a `paretocut.truncators.Calibrated`."""
        return self._postprocessor.keeping.chosen.truncator

    @property
    def similarity_top_k(self) -> int | None:
        """Largest number of nodes to keep. It may be set; the search stays deep."""
        return self._postprocessor.keeping.chosen.max_k

    @similarity_top_k.setter
    def similarity_top_k(self, most: int | None) -> None:
        self._postprocessor.max_k = most

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        nodes = self._retriever.retrieve(query_bundle)
        return self._postprocessor._kept(nodes, query_bundle, self._asked)

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        nodes = await self._retriever.aretrieve(query_bundle)
        return self._postprocessor._kept(nodes, query_bundle, self._asked)


class ParetoCutFusionRetriever(_Whole):
    """Retrieves what several retrievers find together, fused and cut; possibly nothing.

    Nodes come best first with their fused score. Decisions are reported as by
    `ParetoCutPostprocessor`; the metadata also has ``parts``: score and rank in each search.

    Parameters
    ----------
    retrievers
        Two or more, by name or not. Give them a high ``similarity_top_k`` (200). If nodes have no
        score, their order is used.
    higher_is_better
        By name of a retriever, False if its scores are distances.
    **options
        The options of `paretocut.fuse`, or ``fusion``: a fitted `paretocut.fusion.Fusion` or its
        path. Who decides and within which bounds: the options of `paretocut.keep`.
    """

    def __init__(
        self,
        retrievers: Mapping[str, BaseRetriever] | Sequence[BaseRetriever],
        *,
        higher_is_better: Mapping[str, bool] | None = None,
        **options: Unpack[HybridOptions],
    ) -> None:
        super().__init__()
        who = "ParetoCutFusionRetriever"
        self._retrievers = arms_by_name(retrievers, who, "retrievers")
        self._hybrid = Hybrid.of(who, options, higher_is_better)

    def calibrate(self, texts: Iterable[Any], **options: Any) -> Self:
        """Return a retriever with a fitted fusion and a gate, as `ParetoCutRetriever.calibrate`."""

        def found(query: str) -> dict[str, Pairs]:
            return self._pairs(arm.retrieve(query) for arm in self._retrievers.values())

        other = copy.copy(self)
        other._hybrid = self._hybrid.calibrated(found, texts, options)
        return other

    @property
    def truncator(self) -> Truncator:
        """Who decides: after `calibrate` a `paretocut.truncators.Calibrated`."""
        return self._hybrid.keeping.chosen.truncator

    @property
    def fusion(self) -> Fusion | None:
        """The fitted fusion, if there is one."""
        return self._hybrid.fusion.fusion

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        arms = self._retrievers.values()
        return self._fused(query_bundle, [arm.retrieve(query_bundle) for arm in arms])

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        arms = self._retrievers.values()
        found = await asyncio.gather(*(arm.aretrieve(query_bundle) for arm in arms))
        return self._fused(query_bundle, found)

    def _pairs(self, answers: Iterable[Sequence[NodeWithScore]]) -> dict[str, Pairs]:
        return {
            name: [(node, node.score) for node in nodes]
            for name, nodes in zip(self._retrievers, answers, strict=True)
        }

    def _fused(
        self, query: QueryBundle, found: Iterable[Sequence[NodeWithScore]]
    ) -> list[NodeWithScore]:
        return self._hybrid.answer(
            self._pairs(found),
            lambda node, score, mark: _mark(NodeWithScore(node=node.node, score=score), mark),
            query=query.query_str,
        )


def _mark(scored: NodeWithScore, mark: dict[str, Any]) -> NodeWithScore:
    node = scored.node
    if not may_mark(node.metadata):
        return scored
    hidden = {
        name: [*dict.fromkeys([*getattr(node, name), KEY])]
        for name in ("excluded_llm_metadata_keys", "excluded_embed_metadata_keys")
    }
    marked = node.model_copy(update={"metadata": with_mark(node.metadata, mark), **hidden})
    return NodeWithScore(node=marked, score=scored.score)
