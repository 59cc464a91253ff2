"""LangChain: a retriever that returns as many documents as stand out, and a compressor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from paretocut._extras import require
from paretocut.adapters._base import FETCH_K, cut_scored, filter_scored
from paretocut.errors import InvalidParameterError

require("langchain_core", feature="paretocut.adapters.langchain", extra="langchain")

from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import VectorStore
from pydantic import Field

from paretocut.adapters._pydantic import REFUSE, CutModel

__all__ = ["ParetoCutCompressor", "ParetoCutRetriever"]


class ParetoCutRetriever(CutModel, BaseRetriever):
    """Retrieves the documents of a vector store that stand out among those fetched; maybe none.

    The options of `paretocut.cut` are fields too. ``surprise``, ``p_value`` and ``e_value`` are
    in the metadata of the documents, which are copies.

    Parameters
    ----------
    vectorstore
        Any store with ``similarity_search_with_score``.
    fetch_k
        How many documents to fetch before the cut.
    higher_is_better
        False if the store's scores are distances. By default what the store says of itself; an
        error asks for it where the store says nothing.
    search_kwargs
        More arguments of ``similarity_search_with_score``, such as ``filter``.
    """

    model_config = REFUSE

    vectorstore: VectorStore
    fetch_k: int = Field(default=FETCH_K, ge=1)
    higher_is_better: bool | None = None
    search_kwargs: dict[str, Any] = Field(default_factory=dict)

    def _get_relevant_documents(
        self, query: str, *, run_manager: Any, **kwargs: Any
    ) -> list[Document]:
        search = {"k": self.fetch_k, **self.search_kwargs, **kwargs}
        return self._cut(self.vectorstore.similarity_search_with_score(query, **search))

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: Any, **kwargs: Any
    ) -> list[Document]:
        search = {"k": self.fetch_k, **self.search_kwargs, **kwargs}
        return self._cut(await self.vectorstore.asimilarity_search_with_score(query, **search))

    def _cut(self, found: Sequence[tuple[Document, float]]) -> list[Document]:
        up = self.higher_is_better
        decision = cut_scored(
            [score for _, score in found],
            who="ParetoCutRetriever",
            higher_is_better=_direction(self.vectorstore) if up is None else up,
            **self.cut_options,
        )
        return [_mark(found[i][0], marks) for i, marks in decision.marks()]


class ParetoCutCompressor(CutModel, BaseDocumentCompressor):
    """Keeps the documents whose score, carried in their metadata, stands out.

    The options of `paretocut.cut` are fields too.

    Parameters
    ----------
    score_key
        Where in the metadata the score is; rerankers write ``relevance_score``.
    higher_is_better
        False if the scores are distances.
    unscored
        What happens to documents without a score: ``"refuse"``, ``"keep"`` or ``"drop"``.
    """

    model_config = REFUSE

    score_key: str = "relevance_score"
    higher_is_better: bool = True
    unscored: str = "refuse"

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Any = None
    ) -> Sequence[Document]:
        """Return copies of the documents kept, in their order.

        Parameters
        ----------
        documents
            What was retrieved, with scores in the metadata.
        query, callbacks
            Not used.
        """
        return filter_scored(
            documents,
            [document.metadata.get(self.score_key) for document in documents],
            who=f"ParetoCutCompressor: metadata[{self.score_key!r}]",
            unscored=self.unscored,
            mark=_mark,
            higher_is_better=self.higher_is_better,
            **self.cut_options,
        )

    async def acompress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Any = None
    ) -> Sequence[Document]:
        """Return what `compress_documents` does; the work is too short for a thread.

        Parameters
        ----------
        documents, query, callbacks
            As there.
        """
        return self.compress_documents(documents, query, callbacks)


def _mark(document: Document, marks: dict[str, float]) -> Document:
    return document.model_copy(update={"metadata": {**document.metadata, **marks}})


def _direction(store: VectorStore) -> bool:
    """Return whether higher scores of the store are better, as far as it says."""
    names = {cls.__name__ for cls in type(store).__mro__}
    if "InMemoryVectorStore" in names:
        return True  # cosine similarity, always
    if "FAISS" in names:
        return bool(store.index.metric_type == 0)  # METRIC_INNER_PRODUCT
    try:
        relevance = store._select_relevance_score_fn()
        near, far = relevance(0.25), relevance(0.75)
    except (NotImplementedError, ValueError):
        near = far = 0.0
    if near == far:
        raise InvalidParameterError(
            "ParetoCutRetriever: higher_is_better must be True (similarities) or False "
            f"(distances) for {type(store).__name__}, which does not say; got None"
        )
    return bool(far > near)
