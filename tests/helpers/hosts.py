"""Every place where results are, as the contract of adapters sees it: what it holds, what is left.

Vector stores come from `engines`; frameworks, data frames and clusters are here. All of them answer
the same question with their own, real search or columns.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from engines import ENGINES, Engine, Qdrant, Recorded, vectors
from support import importorskip

import paretocut as pc

COUNT, DEPTH = 2000, 200


class Results(NamedTuple):
    """What an answer holds: ids and scores, best first, and what the user stored with each."""

    ids: list[Any]
    scores: list[float]
    stored: list[Any]


class Kept(NamedTuple):
    """What is left of an answer, and the reason that the host itself shows."""

    ids: list[Any]
    stored: list[Any]
    k: int
    reason: str


class Host:
    """One place where results are."""

    higher_is_better = True

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @functools.cached_property
    def results(self) -> Results:
        """All results of the answer."""
        raise NotImplementedError

    def cut(self, **options: Any) -> Kept:
        """Return what the adapter leaves of the answer."""
        raise NotImplementedError

    def close(self) -> None:
        """Let go of what the host holds."""


class Store(Host):
    """A vector store of `engines`."""

    def __init__(self, folder: Path, kind: type[Engine], metric: str) -> None:
        super().__init__(folder)
        self.engine = kind(folder, metric)
        self.higher_is_better = self.engine.higher_is_better

    @functools.cached_property
    def answer(self) -> Any:
        return self.engine.search(*vectors(COUNT), DEPTH)

    @functools.cached_property
    def results(self) -> Results:
        ids, scores = self.engine.read(self.answer)
        return Results(ids, scores, self._stored(self.answer))

    def cut(self, **options: Any) -> Kept:
        kept, cut = pc.keep(self.answer, explain=True, **options)
        cut = cut if isinstance(cut, pc.Cut) else cut[0]
        reason = cut.reason.removesuffix("; distances, as their order shows")
        return Kept(self.engine.read(kept)[0], self._stored(kept), cut.k, reason)

    def _stored(self, answer: Any) -> list[Any]:
        if isinstance(self.engine, Qdrant):
            return [point.payload for point in answer.points]
        if isinstance(self.engine, Recorded):
            return [hit["_source"] for hit in answer["hits"]["hits"]]
        return self.engine.read(answer)[1]  # no metadata: the scores must stay what they are

    def close(self) -> None:
        self.engine.close()


@functools.cache
def similarities() -> list[float]:
    """Return the cosine similarities of the vectors to the query, best first, in full depth."""
    base, query = vectors(COUNT)
    found: list[float] = np.sort((base @ query).astype(np.float64))[::-1].tolist()
    return found


class Scored(Host):
    """A host that is handed scores, not vectors."""

    @functools.cached_property
    def results(self) -> Results:
        scores = similarities()[:DEPTH]
        return Results(list(range(DEPTH)), scores, [f"page {i}" for i in range(DEPTH)])


class LangChainRetriever(Host):
    @functools.cached_property
    def store(self) -> Any:
        base, query = vectors(COUNT)
        core = importorskip("langchain_core")
        assert core is not None
        from langchain_core.embeddings import Embeddings
        from langchain_core.vectorstores import InMemoryVectorStore

        class Table(Embeddings):
            def embed_documents(self, texts: list[str]) -> list[list[float]]:
                return [base[int(text[1:])].tolist() for text in texts]

            def embed_query(self, text: str) -> list[float]:
                return list(map(float, query))

        store = InMemoryVectorStore(Table())
        store.add_texts([f"d{i}" for i in range(COUNT)], [{"page": i} for i in range(COUNT)])
        return store

    @functools.cached_property
    def results(self) -> Results:
        found = self.store.similarity_search_with_score("?", k=DEPTH)
        return Results(
            [document.page_content for document, _ in found],
            [score for _, score in found],
            [document.metadata for document, _ in found],
        )

    def cut(self, **options: Any) -> Kept:
        from paretocut.adapters.langchain import ParetoCutRetriever

        return _documents(ParetoCutRetriever(vectorstore=self.store, **options).invoke("?"))


class LangChainCompressor(Scored):
    def cut(self, **options: Any) -> Kept:
        document = importorskip("langchain_core.documents").Document
        from paretocut.adapters.langchain import ParetoCutCompressor

        documents = [
            document(page_content=str(i), metadata={"page": stored, "relevance_score": score})
            for i, score, stored in zip(*self.results, strict=True)
        ]
        kept = _documents(ParetoCutCompressor(**options).compress_documents(documents, "?"))
        stored = [metadata["page"] for metadata in kept.stored]
        return Kept([int(text) for text in kept.ids], stored, kept.k, kept.reason)


def _documents(kept: Any) -> Kept:
    metadata = [dict(document.metadata) for document in kept]
    reasons = {one.pop("paretocut")["reason"] for one in metadata}
    assert reasons <= {kept.cut.reason}
    return Kept([document.page_content for document in kept], metadata, kept.cut.k, kept.cut.reason)


class LlamaIndex(Scored):
    def cut(self, **options: Any) -> Kept:
        schema = importorskip("llama_index.core.schema")
        from paretocut.adapters.llama_index import ParetoCutPostprocessor

        nodes = [
            schema.NodeWithScore(
                node=schema.TextNode(id_=str(i), text="text", metadata={"page": stored}),
                score=score,
            )
            for i, score, stored in zip(*self.results, strict=True)
        ]
        kept = ParetoCutPostprocessor(**options).postprocess_nodes(nodes)
        assert {node.metadata["paretocut"]["reason"] for node in kept} <= {kept.cut.reason}
        stored = [node.metadata["page"] for node in kept]
        return Kept([int(node.node_id) for node in kept], stored, kept.cut.k, kept.cut.reason)


class LlamaIndexRetriever(Host):
    @functools.cached_property
    def index(self) -> Any:
        base, _ = vectors(COUNT)
        core = importorskip("llama_index.core")
        schema = importorskip("llama_index.core.schema")
        nodes = [
            schema.TextNode(id_=f"d{i}", text="t", embedding=one.tolist(), metadata={"page": i})
            for i, one in enumerate(base)
        ]
        embedding = importorskip("llama_index.core.embeddings").MockEmbedding(base.shape[1])
        return core.VectorStoreIndex(nodes, embed_model=embedding)

    def question(self) -> Any:
        _, query = vectors(COUNT)
        return importorskip("llama_index.core.schema").QueryBundle("?", embedding=query.tolist())

    @functools.cached_property
    def results(self) -> Results:
        found = self.index.as_retriever(similarity_top_k=DEPTH).retrieve(self.question())
        return Results(
            [node.node_id for node in found],
            [node.score for node in found],
            [node.metadata["page"] for node in found],
        )

    def cut(self, **options: Any) -> Kept:
        from paretocut.adapters.llama_index import ParetoCutRetriever

        kept = ParetoCutRetriever(self.index, **options).retrieve(self.question())
        stored = [node.metadata["page"] for node in kept]
        return Kept([node.node_id for node in kept], stored, kept.cut.k, kept.cut.reason)


class Haystack(Scored):
    def cut(self, **options: Any) -> Kept:
        document = importorskip("haystack").Document
        from paretocut.adapters.haystack import ParetoCut

        documents = [
            document(id=str(i), content="text", meta={"page": stored}, score=score)
            for i, score, stored in zip(*self.results, strict=True)
        ]
        found = ParetoCut(**options).run(documents)
        kept, decision = found["documents"], found["decision"]
        assert {one.meta["paretocut"]["reason"] for one in kept} <= {decision["reason"]}
        stored = [one.meta["page"] for one in kept]
        return Kept([int(one.id) for one in kept], stored, decision["k"], decision["reason"])


class PyTerrier(Scored):
    def cut(self, **options: Any) -> Kept:
        importorskip("pyterrier")
        pd = importorskip("pandas")
        from paretocut.adapters.pyterrier import ParetoCut

        ids, scores, stored = self.results
        frame = pd.DataFrame(
            {"qid": "q", "docno": list(map(str, ids)), "score": scores, "page": stored}
        )
        transformer = ParetoCut(**options)
        kept = transformer(frame).sort_values("rank")
        cut = transformer.decisions["q"]
        assert set(kept["reason"]) <= {cut.reason}
        return Kept(list(map(int, kept["docno"])), kept["page"].tolist(), cut.k, cut.reason)


class Rows(Scored):
    """One row per result, in no order, of two queries."""

    def frame(self) -> Any:
        pa = importorskip("pyarrow")
        order = np.random.default_rng(0).permutation(DEPTH)
        rows = [(f"q{i % 2}", *row) for row in zip(*self.results, strict=True) for i in range(2)]
        rows = [rows[2 * i + j] for i in order for j in range(2)]
        names = ("query_id", "id", "score", "page")
        return pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))

    def made(self) -> Any:
        return self.frame()

    def rows(self, frame: Any) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = frame.to_pylist()
        return rows

    def cut(self, **options: Any) -> Kept:
        how = {"query": "query_id", "score": "score", "higher_is_better": True, **options}
        kept, cuts = pc.keep(self.made(), explain=True, **how)
        mine = [row for row in self.rows(kept) if row["query_id"] == "q1"]
        mine.sort(key=lambda row: -row["score"])
        (reason,) = set(cuts.reasons)
        pages = [row["page"] for row in mine]
        return Kept([row["id"] for row in mine], pages, len(mine), reason)


class ArrowRows(Rows):
    """Arrow tables."""


class PandasRows(Rows):
    def made(self) -> Any:
        importorskip("pandas")
        return self.frame().to_pandas()

    def rows(self, frame: Any) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = frame.to_dict("records")
        return rows


class DuckDbRows(Rows):
    def made(self) -> Any:
        return importorskip("duckdb").from_arrow(self.frame())

    def rows(self, frame: Any) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = frame.to_arrow_table().to_pylist()
        return rows


STORES = [pair for pair in ENGINES if not pair[0].__name__.endswith("Arrow")]  # those are frames
QUICK: Sequence[tuple[str, Any]] = [
    *((f"{kind.__name__}-{metric}", functools.partial(Store, kind=kind, metric=metric))
      for kind, metric in STORES if kind.__name__.startswith(("Faiss", "DuckDb"))),
    *((kind.__name__, kind)
      for kind in (ArrowRows, PandasRows, DuckDbRows)),
]  # fmt: skip
HEAVY: Sequence[tuple[str, Any]] = [
    *((f"{kind.__name__}-{metric}", functools.partial(Store, kind=kind, metric=metric))
      for kind, metric in STORES if not kind.__name__.startswith(("Faiss", "DuckDb"))),
    *((kind.__name__, kind)
      for kind in (LangChainRetriever, LangChainCompressor, LlamaIndex, LlamaIndexRetriever,
                   Haystack, PyTerrier)),
]  # fmt: skip
