"""Hybrid search in real engines: fused as `pc.fuse` fuses their results."""

from __future__ import annotations

import asyncio
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from engines import DIMENSION, postgres_server, vectors
from support import importorskip

import paretocut as pc
from paretocut.adapters import ScoresWarning
from paretocut.errors import InvalidParameterError, InvalidScoresError

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning"),
]

# Two views of the same documents: in both the first few are near the question.
BASE, QUERY = vectors(150, hits=3, seed=0)
OTHER, QUESTION = vectors(150, hits=5, seed=1)
TEXTS = [
    " ".join(["apple"] * (4 - i) + ["pear"] * 3) if i < 4 else f"pear number {i}"
    for i in range(150)
]
Arms = dict[str, tuple[list[str], list[float], bool]]


def expected(arms: Arms, **options: Any) -> tuple[list[str], Any]:
    """Return the ids kept, best first, and the decision, from what the engines said."""
    fuse = {name: options.pop(name) for name in ("method", "weights") if name in options}
    fused = pc.fuse(
        {
            name: pc.RankedLists([scores], doc_ids=[ids], higher_is_better=up)
            for name, (ids, scores, up) in arms.items()
        },
        **fuse,
    )
    cut = pc.cut_batch(fused, **options)[0]
    assert fused.doc_ids is not None
    return fused.doc_ids[0][: cut.k].tolist(), cut


OPTIONS: list[dict[str, Any]] = [
    {},
    {"expect": "few", "method": "minmax", "weights": [2.0, 1.0]},
    {"evalue": 0.05, "max_k": 2},
]
each_option = pytest.mark.parametrize("options", OPTIONS, ids=str)


# --- LangChain ---


def langchain_store(base: Any, query: Any, kind: str) -> Any:
    embeddings = importorskip("langchain_core.embeddings").Embeddings

    class Table(embeddings):  # type: ignore[misc, valid-type]
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [base[int(text[1:])].tolist() for text in texts]

        def embed_query(self, text: str) -> list[float]:
            return list(map(float, query))

    if kind == "memory":
        store = importorskip("langchain_core.vectorstores").InMemoryVectorStore(Table())
    else:
        faiss = importorskip("faiss")
        module = importorskip("langchain_community.vectorstores.faiss")
        docstore = importorskip("langchain_community.docstore.in_memory")
        index = faiss.IndexFlatL2(DIMENSION)
        store = module.FAISS(Table(), index, docstore.InMemoryDocstore(), {})
    names = [f"d{i}" for i in range(len(base))]
    store.add_texts(names, ids=names)
    return store


@each_option
def test_langchain_stores_of_both_directions(options: dict[str, Any]) -> None:
    stores = {
        "near": langchain_store(BASE, QUERY, "faiss"),
        "like": langchain_store(OTHER, QUESTION, "memory"),
    }
    from paretocut.adapters.langchain import ParetoCutFusionRetriever

    retriever = ParetoCutFusionRetriever(retrievers=stores, fetch_k=80, **options)
    kept = retriever.invoke("?")
    found = {n: s.similarity_search_with_score("?", k=80) for n, s in stores.items()}
    ids, cut = expected(
        {
            name: ([d.id for d, _ in answer], [float(s) for _, s in answer], name == "like")
            for name, answer in found.items()
        },
        **options,
    )
    assert [document.id for document in kept] == ids
    assert kept.cut.reason == cut.reason
    if ids:
        mark = kept[0].metadata["paretocut"]
        assert mark["parts"].keys() == {"near", "like"}
        assert mark["reason"] == cut.reason
    assert [d.id for d in asyncio.run(retriever.ainvoke("?"))] == ids


@pytest.mark.filterwarnings("ignore::paretocut.adapters.ScoresWarning")
def test_langchain_documents_are_the_same_by_text_or_by_a_field() -> None:
    importorskip("langchain_core")
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever

    from paretocut.adapters.langchain import ParetoCutFusionRetriever

    class Listed(BaseRetriever):
        page: int

        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
            return [Document("same text", id=f"made up {self.page}", metadata={"page": self.page})]

    arms = [Listed(page=1), Listed(page=2)]
    by_text = ParetoCutFusionRetriever(retrievers=arms, min_k=5)
    by_page = ParetoCutFusionRetriever(retrievers=arms, min_k=5, id_key="page")
    assert len(by_text.invoke("?")) == 1
    assert len(by_page.invoke("?")) == 2
    with pytest.raises(InvalidParameterError, match="id_key must be in the metadata"):
        ParetoCutFusionRetriever(retrievers=arms, id_key="isbn").invoke("?")


def test_langchain_retrievers_without_scores_take_part_by_their_order() -> None:
    importorskip("langchain_core")
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever

    from paretocut.adapters.langchain import ParetoCutFusionRetriever

    class Listed(BaseRetriever):
        texts: list[str]

        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
            return [Document(text) for text in self.texts]

    retriever = ParetoCutFusionRetriever(
        retrievers=[Listed(texts=["a", "b", "c"]), Listed(texts=["c", "a", "d"])],
        method="rrf",
        min_k=4,
    )
    # By hand: a 1/61 + 1/62, c 1/63 + 1/61, b 1/62, d 1/63.
    assert [d.page_content for d in retriever.invoke("?")] == ["a", "c", "b", "d"]
    retriever.method = None  # by scores, which they do not have
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        retriever.invoke("?")
    told = [str(w.message) for w in said if issubclass(w.category, ScoresWarning)]
    assert sum("have no scores, so their ranks are used" in text for text in told) == 2
    # pydantic makes its own error of ours.
    with pytest.raises(ValueError, match="at least 2, got 1"):
        ParetoCutFusionRetriever(retrievers=[Listed(texts=[])])
    with pytest.raises(ValueError, match="vector stores or retrievers, got str as 2"):
        ParetoCutFusionRetriever(retrievers=[Listed(texts=[]), "x"])


# --- LlamaIndex ---


def llama_index(base: Any) -> Any:
    core = importorskip("llama_index.core")
    embedding = importorskip("llama_index.core.embeddings").MockEmbedding(DIMENSION)
    schema = importorskip("llama_index.core.schema")
    nodes = [
        schema.TextNode(id_=f"d{i}", text=f"text {i}", embedding=vector.tolist())
        for i, vector in enumerate(base)
    ]
    return core.VectorStoreIndex(nodes, embed_model=embedding)


@each_option
def test_llama_index_retrievers(options: dict[str, Any]) -> None:
    bundle = importorskip("llama_index.core.schema").QueryBundle("?", embedding=QUERY.tolist())
    retrievers = {
        "one": llama_index(BASE).as_retriever(similarity_top_k=90),
        "two": llama_index(BASE[::-1]).as_retriever(similarity_top_k=60),
    }
    from paretocut.adapters.llama_index import ParetoCutFusionRetriever

    fusing = ParetoCutFusionRetriever(retrievers, **options)
    kept = fusing.retrieve(bundle)
    arms = {}
    for name, retriever in retrievers.items():
        nodes = retriever.retrieve(bundle)
        arms[name] = ([n.node.node_id for n in nodes], [n.score for n in nodes], True)
    ids, cut = expected(arms, **options)
    assert [node.node.node_id for node in kept] == ids
    assert sorted((node.score for node in kept), reverse=True) == [node.score for node in kept]
    if ids:
        assert kept[0].node.metadata["paretocut"]["reason"] == cut.reason
        assert "paretocut" in kept[0].node.excluded_llm_metadata_keys
    assert [n.node.node_id for n in asyncio.run(fusing.aretrieve(bundle))] == ids


# --- Haystack ---


def haystack_documents(scores: dict[str, float | None]) -> list[Any]:
    document = importorskip("haystack").Document
    return [document(id=name, content=name, score=score) for name, score in scores.items()]


@each_option
def test_haystack_joiner_in_a_pipeline(options: dict[str, Any]) -> None:
    haystack = importorskip("haystack")
    store = importorskip("haystack.document_stores.in_memory").InMemoryDocumentStore()
    retrievers = importorskip("haystack.components.retrievers.in_memory")
    store.write_documents(
        [
            haystack.Document(id=f"d{i}", content=text, embedding=OTHER[i].tolist())
            for i, text in enumerate(TEXTS)
        ]
    )
    from paretocut.adapters.haystack import ParetoCutJoiner

    words = retrievers.InMemoryBM25Retriever(store, top_k=60)
    dense = retrievers.InMemoryEmbeddingRetriever(store, top_k=60)
    pipeline = haystack.Pipeline()
    pipeline.add_component("words", words)
    pipeline.add_component("dense", dense)
    pipeline.add_component("joiner", ParetoCutJoiner(["words", "dense"], **options))
    pipeline.connect("words.documents", "joiner.words")
    pipeline.connect("dense.documents", "joiner.dense")
    pipeline = haystack.Pipeline.loads(
        pipeline.dumps(), allowed_modules=["paretocut.adapters.haystack"]
    )  # through YAML
    asked = {"words": {"query": "apple"}, "dense": {"query_embedding": QUESTION.tolist()}}
    result = pipeline.run(asked, include_outputs_from={"words", "dense"})
    arms = {
        name: (
            [d.id for d in result[name]["documents"]],
            [d.score for d in result[name]["documents"]],
            True,
        )
        for name in ("words", "dense")
    }
    ids, cut = expected(arms, **options)
    assert [document.id for document in result["joiner"]["documents"]] == ids
    assert result["joiner"]["decision"]["reason"] == cut.reason


def test_haystack_joiner_refuses_half_scored_lists_and_single_ones() -> None:
    importorskip("haystack")
    from paretocut.adapters.haystack import ParetoCutJoiner

    good = haystack_documents({"a": 1.0, "b": 0.5})
    bad = haystack_documents({"a": 1.0, "b": None})
    joiner = ParetoCutJoiner(["one", "two"], method="rrf")
    with pytest.raises(InvalidScoresError, match="two: all results must have a score or none"):
        joiner.run(one=good, two=bad)
    with pytest.raises(InvalidParameterError, match="inputs must be one, two, got one"):
        joiner.run(one=good)
    with pytest.raises(InvalidParameterError, match="at least 2 different names"):
        ParetoCutJoiner(["one", "one"])
    plain = ParetoCutJoiner(["one", "two"], truncator=pc.truncators.FixedK(2)).to_dict()
    again = ParetoCutJoiner.from_dict(json.loads(json.dumps(plain)))
    assert len(again.run(one=good, two=good)["documents"]) == 2


# --- search engines and vector stores ---


def test_elasticsearch_and_opensearch_responses_become_one() -> None:
    from paretocut.adapters.elasticsearch import fuse_searches
    from paretocut.adapters.opensearch import fuse_searches as same

    assert same is fuse_searches
    rng = np.random.default_rng(0)
    falling = -np.sort(-rng.exponential(size=(2, 60)), axis=1)
    words = {f"d{i}": float(s) for i, s in enumerate(falling[0])}
    near = {f"d{59 - i}": float(s) for i, s in enumerate(falling[1])}
    responses = {
        name: {
            "took": 3,
            "hits": {
                "total": {"value": 60, "relation": "eq"},
                "hits": [{"_index": "i", "_id": d, "_score": s} for d, s in scores.items()],
            },
        }
        for name, scores in (("words", words), ("near", near))
    }
    for options in OPTIONS:
        answer = fuse_searches(responses, **options)
        ids, cut = expected(
            {
                "words": ([f"i/{d}" for d in words], list(words.values()), True),
                "near": ([f"i/{d}" for d in near], list(near.values()), True),
            },
            **options,
        )
        assert [f"i/{hit['_id']}" for hit in answer["hits"]["hits"]] == ids
        assert answer["hits"]["hits"].cut.reason == cut.reason
        assert answer["took"] == 3
        for hit in answer["hits"]["hits"]:
            assert hit["paretocut"]["parts"]["words"]["score"] == words[hit["_id"]]
    client = importorskip("elastic_transport")
    wrapped = {n: client.ObjectApiResponse(body=r, meta=None) for n, r in responses.items()}
    assert isinstance(fuse_searches(wrapped), client.ObjectApiResponse)
    # The same document number in another index is another document.
    elsewhere = {"hits": {"hits": [{"_index": "j", "_id": "d0", "_score": 1.0}]}}
    both = fuse_searches([responses["words"], elsewhere], min_k=70)
    assert len(both["hits"]["hits"]) == 61


@each_option
def test_qdrant_arms(options: dict[str, Any]) -> None:
    qdrant = importorskip("qdrant_client")
    models = qdrant.models
    client = qdrant.QdrantClient(":memory:")
    client.create_collection(
        "docs",
        vectors_config={
            "dense": models.VectorParams(size=DIMENSION, distance=models.Distance.COSINE),
            "far": models.VectorParams(size=DIMENSION, distance=models.Distance.EUCLID),
        },
        sparse_vectors_config={"words": models.SparseVectorParams()},
    )
    client.upsert(
        "docs",
        [
            models.PointStruct(
                id=i,
                vector={
                    "dense": BASE[i].tolist(),
                    "far": OTHER[i].tolist(),
                    "words": models.SparseVector(indices=[i % 5, 7], values=[1.0 + i % 7, 0.5]),
                },
                payload={"text": f"d{i}"},
            )
            for i in range(150)
        ],
    )
    queries = {
        "dense": QUERY.tolist(),
        "far": QUESTION.tolist(),
        "words": models.SparseVector(indices=[2, 7], values=[1.0, 1.0]),
    }
    answers = client.query_batch_points(
        "docs",
        [
            models.QueryRequest(query=query, using=name, limit=70, with_payload=True)
            for name, query in queries.items()
        ],
    )
    client.close()
    from paretocut.adapters.qdrant import fuse_query_points

    if "weights" in options:
        options = {**options, "weights": [2.0, 1.0, 1.0]}
    named = dict(zip(queries, answers, strict=True))
    up = {"dense": True, "far": False, "words": True}
    response = fuse_query_points(named, higher_is_better={"far": False}, **options)
    ids, cut = expected(
        {
            name: ([str(p.id) for p in a.points], [p.score for p in a.points], up[name])
            for name, a in named.items()
        },
        **options,
    )
    assert [str(point.id) for point in response.points] == ids
    assert response.points.cut.reason == cut.reason
    for point in response.points:
        assert point.payload["text"] == f"d{point.id}"
        assert point.payload["paretocut"]["k"] == cut.k


@each_option
def test_pgvector_full_text_and_vectors_in_one_statement(options: dict[str, Any]) -> None:
    server = postgres_server()
    connection = importorskip("psycopg").connect(server.get_uri(), autocommit=True)
    connection.execute("create extension if not exists vector")
    importorskip("pgvector.psycopg").register_vector(connection)
    cursor = connection.cursor()
    cursor.execute("drop table if exists hybrid")
    cursor.execute(f"create table hybrid (id int, body text, embedding vector({DIMENSION}))")
    cursor.executemany(
        "insert into hybrid values (%s, %s, %s)",
        [(i, text, OTHER[i]) for i, text in enumerate(TEXTS)],
    )
    rows = cursor.execute(
        """
        with words as (
            select id, ts_rank_cd(to_tsvector('english', body), query) as rank
            from hybrid, plainto_tsquery('english', 'pear') query
            where to_tsvector('english', body) @@ query order by rank desc, id limit 60
        ), vectors as (
            select id, embedding <=> %s as distance from hybrid order by distance limit 60
        )
        select id, rank, distance from words full join vectors using (id)
        """,
        (QUESTION,),
    ).fetchall()
    connection.close()
    from paretocut.adapters.pgvector import fuse_rows

    kept = fuse_rows(rows, {1: True, 2: False}, **options)
    _check_rows(kept, rows, options)


def _check_rows(kept: Any, rows: list[Any], options: dict[str, Any]) -> None:
    arms = {}
    for column, up in ((1, True), (2, False)):
        found = [i for i, row in enumerate(rows) if row[column] is not None]
        assert 0 < len(found) <= 60
        arms[str(column)] = ([str(i) for i in found], [rows[i][column] for i in found], up)
    assert len(rows) > 60  # each side has what the other lacks
    ids, cut = expected(arms, **options)
    assert [rows.index(row) for row in kept] == [int(i) for i in ids]
    assert kept.cut.reason == cut.reason


@each_option
def test_duckdb_two_searches_in_one_statement(options: dict[str, Any]) -> None:
    connection = importorskip("duckdb").connect()
    connection.execute(f"create table docs (id integer, body text, embedding float[{DIMENSION}])")
    connection.executemany(
        "insert into docs values (?, ?, ?)",
        [(i, text, OTHER[i].tolist()) for i, text in enumerate(TEXTS)],
    )
    # jaro_winkler_similarity is in DuckDB's core; BM25 needs the extension fts, from the network.
    rows = connection.execute(
        f"""
        with words as (
            select id, jaro_winkler_similarity(body, 'apple pear') as score from docs
            order by score desc, id limit 60
        ), vectors as (
            select id, array_cosine_distance(embedding, ?::float[{DIMENSION}]) as distance
            from docs order by distance limit 60
        )
        select id, score, distance from words full join vectors using (id)
        """,
        [QUESTION.tolist()],
    ).fetchall()
    connection.close()
    from paretocut.adapters.duckdb import fuse_rows

    _check_rows(fuse_rows(rows, {1: True, 2: False}, **options), rows, options)


@each_option
def test_lancedb_hybrid_search(options: dict[str, Any], tmp_path: Path) -> None:
    pa = importorskip("pyarrow")
    lancedb = importorskip("lancedb")
    rerankers = importorskip("lancedb.rerankers")
    table = lancedb.connect(tmp_path).create_table(
        "docs",
        pa.table(
            {
                "id": pa.array(range(150), pa.int64()),
                "body": pa.array(TEXTS),
                "vector": pa.array(OTHER.tolist(), pa.list_(pa.float32(), DIMENSION)),
            }
        ),
    )
    table.create_fts_index("body")
    rows = (
        table.search(query_type="hybrid")
        .vector(QUESTION)
        .text("apple pear")
        .limit(60)
        .rerank(rerankers.RRFReranker(return_score="all"))
        .to_list()
    )
    from paretocut.adapters.lancedb import fuse_list

    kept = fuse_list(rows, **options)
    arms = {}
    for name, column, up in (("text", "_score", True), ("vector", "_distance", False)):
        found = [i for i, row in enumerate(rows) if row[column] is not None]
        arms[name] = ([str(i) for i in found], [rows[i][column] for i in found], up)
        assert found
    ids, cut = expected(arms, **options)
    assert [row["id"] for row in kept] == [rows[int(i)]["id"] for i in ids]
    assert kept.cut.reason == cut.reason


# --- PyTerrier ---


def test_pyterrier_fuses_and_cuts_in_a_pipeline() -> None:
    pt = importorskip("pyterrier")
    pd = importorskip("pandas")
    from paretocut.adapters.pyterrier import ParetoCut, ParetoFuse

    rng = np.random.default_rng(0)

    def results(shift: int) -> Any:
        rows = [
            (qid, f"d{(i + shift) % 70}", float(s))
            for qid in ("q1", "q2")
            for i, s in enumerate(-np.sort(-rng.exponential(size=50)))
        ]
        return pt.model.add_ranks(pd.DataFrame(rows, columns=["qid", "docno", "score"]))

    frames = [results(0), results(10)[lambda f: f.qid == "q1"]]
    arms = [pt.Transformer.from_df(frame, uniform=True) for frame in frames]
    queries = pd.DataFrame({"qid": ["q1", "q2"], "query": ["one", "two"]})
    fused = ParetoFuse(*arms, method="minmax")(queries)
    lists = [
        pc.RankedLists(
            [frame[frame.qid == q].score.to_numpy() for q in ("q1", "q2")],
            doc_ids=[frame[frame.qid == q].docno.tolist() for q in ("q1", "q2")],
        )
        for frame in frames
    ]
    expected_lists = pc.fuse(lists, method="minmax")
    for i, qid in enumerate(("q1", "q2")):
        own = fused[fused.qid == qid].sort_values("rank")
        assert own.docno.tolist() == expected_lists[i].doc_ids.tolist()  # type: ignore[union-attr]
        assert own.score.tolist() == expected_lists[i].scores.tolist()
        assert expected_lists.parts is not None
        assert own.rank_2.tolist() == expected_lists.parts.ranks[1][i].tolist()
        assert set(own["query"]) == {queries["query"][i]}
    pipeline = ParetoFuse(*arms, method="minmax") >> ParetoCut()
    kept = pipeline(queries)
    assert kept.groupby("qid").size().to_dict() == dict(
        zip(("q1", "q2"), pc.cut_batch(expected_lists).k.tolist(), strict=True)
    )
    with pytest.raises(InvalidParameterError, match="at least 2, got 1"):
        ParetoFuse(arms[0])


# --- options that all of them share ---


def test_a_fitted_fusion_can_be_named_by_its_file(tmp_path: Path) -> None:
    from paretocut.adapters.elasticsearch import fuse_searches

    rng = np.random.default_rng(3)
    ids = [[f"/d{i}" for i in range(40)]] * 30
    lists = [pc.RankedLists(rng.normal(size=(30, 40)), doc_ids=ids) for _ in range(2)]
    fusion = pc.Fusion().fit(lists)
    fusion.save(tmp_path / "fusion.json")
    responses = [
        {"hits": {"hits": [
            {"_id": name[1:], "_score": score}
            for name, score in zip(one[0].doc_ids.tolist(), one[0].scores.tolist(), strict=True)
        ]}}
        for one in lists
    ]  # fmt: skip
    answer = fuse_searches(responses, fusion=tmp_path / "fusion.json", min_k=5)
    want = fusion.fuse([one[:1] for one in lists])
    got = [hit["_score"] for hit in answer["hits"]["hits"]]
    assert got == want.scores[0][: len(got)].tolist()
    with pytest.raises(InvalidParameterError, match="fusion must be a Fusion or the path"):
        fuse_searches(responses, fusion=3)
    with pytest.raises(InvalidParameterError, match="method must be one of"):
        fuse_searches(responses, method="best")
    with pytest.raises(InvalidParameterError, match="options must be among"):
        fuse_searches(responses, sigma=0.05)  # type: ignore[call-arg]
