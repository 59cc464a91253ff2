"""LangChain: retrievers that return as many documents as are worth it, and a compressor."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from paretocut.adapters.hybrid import Hybrid, Pairs
from paretocut.adapters.keeping import FETCH_K, KEY, CutList, Keeping, summary, with_mark
from paretocut.answers import read
from paretocut.errors import InvalidParameterError, InvalidScoresError, require
from paretocut.fusion.fitted import ChosenFusion
from paretocut.fusion.joining import arms_by_name

require("langchain_core", feature="paretocut.adapters.langchain", extra="langchain")

from langchain_core.callbacks.manager import adispatch_custom_event, dispatch_custom_event
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import VectorStore
from pydantic import Field, PrivateAttr, model_validator

from paretocut.adapters.fields import REFUSE, DecisionFields


class _Retriever(DecisionFields, BaseRetriever):
    """A retriever whose lists carry the decision."""

    if TYPE_CHECKING:

        def invoke(self, input: str, config: Any = None, **kwargs: Any) -> CutList[Document]: ...
        async def ainvoke(
            self, input: str, config: Any = None, **kwargs: Any
        ) -> CutList[Document]: ...


class ParetoCutRetriever(_Retriever):
    """Retrieves the documents of a vector store worth returning among those fetched; possibly none.

    The documents are copies whose metadata has the decision under ``paretocut``. The list that
    `invoke` returns has it in its attribute ``cut``, even if it is empty, and callbacks get it as a
    custom event named ``paretocut``.

    Parameters
    ----------
    vectorstore
        Any store with ``similarity_search_with_score``.
    fetch_k
        How many documents to fetch before the cut.
    higher_is_better
        False if the store's scores are distances. By default the order of the documents shows it.
    search_kwargs
        More arguments of ``similarity_search_with_score``, such as ``filter``. Arguments of
        `invoke` go there too. ``k`` is the largest number of documents to keep; the search stays
        deep: ``invoke(query, k=3)``.
    truncator, max_tokens, count_tokens, ...
        Who decides and within which bounds: the options of `paretocut.keep`.
    """

    model_config = REFUSE

    vectorstore: VectorStore
    fetch_k: int = Field(default=FETCH_K, ge=1)
    higher_is_better: bool | None = None
    search_kwargs: dict[str, Any] = Field(default_factory=dict)

    def calibrate(self, texts: Iterable[Any], **options: Any) -> Self:
        """Return a retriever with a gate in its ``truncator``, as of `paretocut.calibrate`.

        Parameters
        ----------
        texts
            A few hundred texts or documents of the store.
        **options
            Its options. Without ``truncator`` and ``expect``, the present one decides how many.
        """
        search, _ = self._search({})
        store = self.vectorstore

        def found(query: str) -> Any:
            return store.similarity_search_with_score(query, **search)

        found.__qualname__ = type(store).__name__
        gated = self._keeping.calibrated(found, texts, options, self.higher_is_better)
        return self.with_fields(truncator=gated.chosen.truncator)

    def _search(self, given: dict[str, Any]) -> tuple[dict[str, Any], Keeping]:
        """Return the arguments of a search, and who decides: ``k`` bounds the decision."""
        search = {**self.search_kwargs, **given}
        keeping = self._keeping.at_most(search.pop("k", None), "k")
        return {"k": self.fetch_k, **search}, keeping

    def _get_relevant_documents(
        self, query: str, *, run_manager: Any, **kwargs: Any
    ) -> list[Document]:
        search, keeping = self._search(kwargs)
        found = self.vectorstore.similarity_search_with_score(query, **search)
        return _dispatch(self._kept(query, found, search, keeping), _child(run_manager))

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: Any, **kwargs: Any
    ) -> list[Document]:
        search, keeping = self._search(kwargs)
        found = await self.vectorstore.asimilarity_search_with_score(query, **search)
        return await _adispatch(self._kept(query, found, search, keeping), _child(run_manager))

    def _kept(
        self, query: str, found: Any, search: dict[str, Any], keeping: Keeping
    ) -> CutList[Document]:
        return keeping.marked(
            read(found, score=1, who=keeping.who),
            _mark,
            query=query,
            # A filter may leave few documents, and that is no fault of the store.
            asked=self.fetch_k if len(search) == 1 else None,
            higher_is_better=self.higher_is_better,
        )


class ParetoCutFusionRetriever(_Retriever):
    """Retrieves what several stores and retrievers find together, fused and cut; possibly nothing.

    It works like ``EnsembleRetriever``, but fuses scores instead of ranks and cuts the result.
    Decisions are reported as by `ParetoCutRetriever`; metadata also has ``parts``: score and rank
    in each search.

    Parameters
    ----------
    retrievers
        Two or more, by name or not: vector stores, which are asked for scores, and retrievers. The
        documents of a retriever have their score in the metadata, under ``score_key``; if they have
        none, their order is used.
    fetch_k
        How many documents to fetch of each vector store.
    higher_is_better
        By name of a vector store, False for distances; by default as the order of its documents
        shows.
    score_key, id_key
        Where in the metadata the score is, and what identifies a document; by default its text,
        because stores make up ids of their own.
    method, weights, fusion
        As in `paretocut.fuse`; ``fusion`` is a fitted `paretocut.fusion.Fusion`, or the path of a
        saved one, instead.
    truncator, max_tokens, count_tokens, ...
        Who decides and within which bounds: the options of `paretocut.keep`.
    """

    model_config = REFUSE

    retrievers: Any
    fetch_k: int = Field(default=FETCH_K, ge=1)
    higher_is_better: dict[str, bool] = Field(default_factory=dict)
    score_key: str = "relevance_score"
    id_key: str | None = None
    method: str | None = None
    weights: list[float] | None = None
    fusion: Any = Field(default=None, exclude=True)

    _hybrid: Hybrid = PrivateAttr()
    _arms: dict[str, Any] = PrivateAttr()

    @model_validator(mode="after")
    def _check_arms(self) -> Any:
        who = self._keeping.who
        self._arms = arms_by_name(self.retrievers, who, "retrievers")
        for name, arm in self._arms.items():
            if not isinstance(arm, (VectorStore, BaseRetriever)):
                raise InvalidParameterError(
                    f"{who}: retrievers must be vector stores or retrievers, "
                    f"got {type(arm).__name__} as {name}"
                )
        options = {"method": self.method, "weights": self.weights, "fusion": self.fusion}
        chosen = ChosenFusion.of(who, options)
        identity = None if self.id_key is None else self._id
        self._hybrid = Hybrid(self._keeping, chosen, identity, self.higher_is_better)
        return self

    def calibrate(self, texts: Iterable[Any], **options: Any) -> Self:
        """Return a retriever with a fitted fusion and a gate, as `ParetoCutRetriever.calibrate`."""
        found = self._hybrid.calibrated(self._found, texts, options)
        fusion, gate = found.fusion.fusion, found.keeping.chosen.truncator
        return self.with_fields(truncator=gate, fusion=fusion, method=None, weights=None)

    def _get_relevant_documents(
        self, query: str, *, run_manager: Any, k: int | None = None, **kwargs: Any
    ) -> list[Document]:
        found = self._found(query, run_manager, **kwargs)
        return _dispatch(self._fused(query, found, k), _child(run_manager))

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: Any, k: int | None = None, **kwargs: Any
    ) -> list[Document]:
        found = (
            arm.asimilarity_search_with_score(query, k=self.fetch_k, **kwargs)
            if isinstance(arm, VectorStore)
            else arm.ainvoke(query, config={"callbacks": _child(run_manager)})
            for arm in self._arms.values()
        )
        pairs = self._pairs(await asyncio.gather(*found))
        return await _adispatch(self._fused(query, pairs, k), _child(run_manager))

    def _found(self, query: str, run_manager: Any = None, **kwargs: Any) -> dict[str, Pairs]:
        return self._pairs(
            arm.similarity_search_with_score(query, k=self.fetch_k, **kwargs)
            if isinstance(arm, VectorStore)
            else arm.invoke(query, config={"callbacks": _child(run_manager)})
            for arm in self._arms.values()
        )

    def _pairs(self, answers: Iterable[Any]) -> dict[str, Pairs]:
        """Return documents and scores by name; retrievers bring the scores in the metadata."""
        return {
            name: answer
            if isinstance(arm, VectorStore)
            else [(one, one.metadata.get(self.score_key)) for one in answer]
            for (name, arm), answer in zip(self._arms.items(), answers, strict=True)
        }

    def _fused(self, query: str, found: dict[str, Pairs], most: int | None) -> CutList[Document]:
        hybrid = replace(self._hybrid, keeping=self._keeping.at_most(most, "k"))
        return hybrid.answer(found, lambda one, score, mark: _mark(one, mark), query=query)

    def _id(self, document: Document) -> Any:
        if self.id_key not in document.metadata:
            raise InvalidParameterError(
                f"ParetoCutFusionRetriever: id_key must be in the metadata of every document, "
                f"got {self.id_key!r} and a document with {sorted(document.metadata)}"
            )
        return document.metadata[self.id_key]


class ParetoCutCompressor(DecisionFields, BaseDocumentCompressor):
    """Keeps the documents worth returning, by the score in their metadata.

    Decisions are reported as by `ParetoCutRetriever`. Documents without a score are not kept, and a
    warning says so.

    Parameters
    ----------
    score_key
        Where in the metadata the score is; rerankers write ``relevance_score``.
    higher_is_better
        False if the scores are distances.
    truncator, max_tokens, count_tokens, ...
        Who decides and within which bounds: the options of `paretocut.keep`.
    """

    model_config = REFUSE

    score_key: str = "relevance_score"
    higher_is_better: bool = True

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Any = None
    ) -> Sequence[Document]:
        """Return copies of the documents kept, in their order; callbacks get the decision."""
        return _dispatch(self._keep(documents, query), callbacks)

    async def acompress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Any = None
    ) -> Sequence[Document]:
        """Return the same as `compress_documents`."""
        return await _adispatch(self._keep(documents, query), callbacks)

    def _keep(self, documents: Sequence[Document], query: str) -> CutList[Document]:
        keeping = replace(self._keeping, who=f"ParetoCutCompressor: metadata[{self.score_key!r}]")
        there = sorted({key for one in documents for key in one.metadata})
        if documents and self.score_key not in there:
            raise InvalidScoresError(
                f"documents must have their score there, got none in {len(documents)} documents "
                f"with metadata {there}. Retrievers of vector stores drop the scores: use "
                "ParetoCutRetriever(vectorstore=store) instead, or a reranker before this "
                "compressor, or name another score_key",
                who=keeping.who,
            )
        found = read(documents, score=lambda one: one.metadata.get(self.score_key), who=keeping.who)
        return keeping.marked(found, _mark, query=query, higher_is_better=self.higher_is_better)


def _mark(document: Document, mark: dict[str, Any]) -> Document:
    return document.model_copy(update={"metadata": with_mark(document.metadata, mark)})


def _child(run_manager: Any) -> Any:
    return None if run_manager is None else run_manager.get_child()


def _dispatch(kept: CutList[Document], callbacks: Any) -> CutList[Document]:
    """Send the decision to callbacks, as an event of the run that they belong to."""
    if getattr(callbacks, "handlers", None) and callbacks.parent_run_id is not None:
        dispatch_custom_event(KEY, summary(kept.cut), config={"callbacks": callbacks})
    return kept


async def _adispatch(kept: CutList[Document], callbacks: Any) -> CutList[Document]:
    if getattr(callbacks, "handlers", None) and callbacks.parent_run_id is not None:
        await adispatch_custom_event(KEY, summary(kept.cut), config={"callbacks": callbacks})
    return kept
