"""LlamaIndex: a node postprocessor, and a retriever that fetches deep and cuts."""

from __future__ import annotations

from typing import Any, Unpack

from paretocut._extras import require
from paretocut.adapters._base import FETCH_K, CutOptions, filter_scored

require("llama_index.core", feature="paretocut.adapters.llama_index", extra="llama-index")

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, QueryBundle

from paretocut.adapters._pydantic import REFUSE, CutModel

__all__ = ["ParetoCutPostprocessor", "ParetoCutRetriever"]


class ParetoCutPostprocessor(CutModel, BaseNodePostprocessor):
    """Keeps the nodes whose score stands out, in their order; maybe none.

    The options of `paretocut.cut` are fields too. ``surprise``, ``p_value`` and ``e_value`` are
    in the metadata of the nodes, which are copies, and kept out of prompts and embeddings.

    Parameters
    ----------
    higher_is_better
        False if the scores are distances.
    unscored
        What happens to nodes whose score is None: ``"refuse"``, ``"keep"`` or ``"drop"``.
    """

    model_config = REFUSE

    higher_is_better: bool = True
    unscored: str = "refuse"

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which the component is stored."""
        return "ParetoCutPostprocessor"

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        return filter_scored(
            nodes,
            [node.score for node in nodes],
            who="ParetoCutPostprocessor",
            unscored=self.unscored,
            mark=_mark,
            higher_is_better=self.higher_is_better,
            **self.cut_options,
        )

    async def _apostprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        return self._postprocess_nodes(nodes, query_bundle)


class ParetoCutRetriever(BaseRetriever):
    """Retrieves the nodes of an index that stand out among those fetched; maybe none.

    For any other retriever, set its ``similarity_top_k`` high and add `ParetoCutPostprocessor`.

    Parameters
    ----------
    index
        An index whose ``as_retriever`` takes ``similarity_top_k``.
    fetch_k
        How many nodes to fetch before the cut.
    higher_is_better
        False if the scores are distances.
    unscored
        What happens to nodes whose score is None: ``"refuse"``, ``"keep"`` or ``"drop"``.
    retriever_kwargs
        More arguments of ``as_retriever``, such as ``filters``.
    **options
        Options of `paretocut.cut`.
    """

    def __init__(
        self,
        index: Any,
        *,
        fetch_k: int = FETCH_K,
        higher_is_better: bool = True,
        unscored: str = "refuse",
        retriever_kwargs: dict[str, Any] | None = None,
        **options: Unpack[CutOptions],
    ) -> None:
        super().__init__()
        self._retriever = index.as_retriever(similarity_top_k=fetch_k, **(retriever_kwargs or {}))
        self._postprocessor = ParetoCutPostprocessor(
            higher_is_better=higher_is_better, unscored=unscored, **options
        )

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        nodes = self._retriever.retrieve(query_bundle)
        return list(self._postprocessor.postprocess_nodes(nodes, query_bundle))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        nodes = await self._retriever.aretrieve(query_bundle)
        return list(await self._postprocessor.apostprocess_nodes(nodes, query_bundle))


def _mark(scored: NodeWithScore, marks: dict[str, float]) -> NodeWithScore:
    node = scored.node
    hidden = {
        name: [*getattr(node, name), *marks]
        for name in ("excluded_llm_metadata_keys", "excluded_embed_metadata_keys")
    }
    marked = node.model_copy(update={"metadata": {**node.metadata, **marks}, **hidden})
    return NodeWithScore(node=marked, score=scored.score)
