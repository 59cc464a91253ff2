"""LangChain: a retriever that returns as many documents as are worth it, and a compressor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from paretocut._extras import require
from paretocut.adapters._base import FETCH_K, CutList, cut_scored, filter_scored, read_each
from paretocut.adapters._telling import KEY, told, warn_of_shortfall, with_mark
from paretocut.errors import InvalidParameterError, InvalidScoresError

require("langchain_core", feature="paretocut.adapters.langchain", extra="langchain")

from langchain_core.callbacks.manager import adispatch_custom_event, dispatch_custom_event
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import VectorStore
from pydantic import Field

from paretocut.adapters._pydantic import REFUSE, CutModel

__all__ = ["ParetoCutCompressor", "ParetoCutRetriever"]

_REMEDY = "the store is small, or its index must search deeper (ef_search, nprobe, num_candidates)"


class ParetoCutRetriever(CutModel, BaseRetriever):
    """Retrieves the documents of a vector store worth returning among those fetched; maybe none.

    The options of `paretocut.cut` are fields too. The documents are copies whose metadata has the
    decision under ``paretocut``: score, surprise, p-value and E-value of the document, number
    kept, reason and warnings of the list. The list that `invoke` returns has it in its attribute
    ``cut``, also when it is empty, and callbacks get it as a custom event named ``paretocut``.

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
        More arguments of ``similarity_search_with_score``, such as ``filter``. Arguments of
        `invoke` go there too.
    truncator
        Who decides: a truncator, or the path of a saved one.
    max_tokens, count_tokens
        Most tokens that the documents may have together, and what counts them; by default one
        token for every four characters.
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
        kept = self._cut(self.vectorstore.similarity_search_with_score(query, **search), search)
        if run_manager is not None:
            _dispatch(kept, run_manager.get_child())
        return kept

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: Any, **kwargs: Any
    ) -> list[Document]:
        search = {"k": self.fetch_k, **self.search_kwargs, **kwargs}
        found = await self.vectorstore.asimilarity_search_with_score(query, **search)
        kept = self._cut(found, search)
        if run_manager is not None:
            await _adispatch(kept, run_manager.get_child())
        return kept

    def _cut(
        self, found: Sequence[tuple[Document, float]], search: dict[str, Any]
    ) -> CutList[Document]:
        who, up = "ParetoCutRetriever", self.higher_is_better
        warn_of_shortfall(len(found), search.get("k"), who=who, remedy=_REMEDY)
        decision = cut_scored(
            [score for _, score in found],
            self._cutter,
            who=who,
            higher_is_better=_direction(self.vectorstore) if up is None else up,
            budget=self._budget,
            text_of=lambda i: found[i][0].page_content,
        )
        return CutList((_mark(found[i][0], mark) for i, mark in decision.marks()), decision.cut)


class ParetoCutCompressor(CutModel, BaseDocumentCompressor):
    """Keeps the documents whose score, carried in their metadata, makes them worth returning.

    The options of `paretocut.cut` are fields too; what was decided is told as by
    `ParetoCutRetriever`.

    Parameters
    ----------
    score_key
        Where in the metadata the score is; rerankers write ``relevance_score``.
    higher_is_better
        False if the scores are distances.
    unscored
        What happens to documents without a score: ``"refuse"``, ``"keep"`` or ``"drop"``.
    truncator, max_tokens, count_tokens
        As in `ParetoCutRetriever`.
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
        query
            Not used.
        callbacks
            Told of the decision when they belong to a run, as those of a
            ``ContextualCompressionRetriever`` do.
        """
        kept = self._keep(documents)
        _dispatch(kept, callbacks)
        return kept

    async def acompress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Any = None
    ) -> Sequence[Document]:
        """Return what `compress_documents` does; the work is too short for a thread.

        Parameters
        ----------
        documents, query, callbacks
            As there.
        """
        kept = self._keep(documents)
        await _adispatch(kept, callbacks)
        return kept

    def _keep(self, documents: Sequence[Document]) -> CutList[Document]:
        who = f"ParetoCutCompressor: metadata[{self.score_key!r}]"
        scores = read_each(
            documents,
            lambda document: document.metadata.get(self.score_key),
            who="ParetoCutCompressor",
            what="a list of Document",
        )
        if documents and all(score is None for score in scores) and self.unscored != "keep":
            there = sorted({key for document in documents for key in document.metadata})
            raise InvalidScoresError(
                f"{who}: documents must carry their score there, got none in {len(documents)} "
                f"documents with metadata {there}. Retrievers of vector stores drop the scores: "
                "use ParetoCutRetriever(vectorstore=store) instead, or a reranker before this "
                "compressor, or name another score_key"
            )
        return filter_scored(
            documents,
            scores,
            self._cutter,
            who=who,
            unscored=self.unscored,
            mark=_mark,
            text_of=lambda document: document.page_content,
            budget=self._budget,
            higher_is_better=self.higher_is_better,
        )


def _mark(document: Document, mark: dict[str, Any]) -> Document:
    return document.model_copy(update={"metadata": with_mark(document.metadata, mark)})


def _dispatch(kept: CutList[Document], callbacks: Any) -> None:
    """Tell callbacks what was decided, as an event of the run that they belong to."""
    if getattr(callbacks, "handlers", None) and callbacks.parent_run_id is not None:
        dispatch_custom_event(KEY, told(kept.cut), config={"callbacks": callbacks})


async def _adispatch(kept: CutList[Document], callbacks: Any) -> None:
    """Do the same for callbacks of an asynchronous run."""
    if getattr(callbacks, "handlers", None) and callbacks.parent_run_id is not None:
        await adispatch_custom_event(KEY, told(kept.cut), config={"callbacks": callbacks})


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
