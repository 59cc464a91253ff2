"""Hybrid search in real engines: fused as `pc.fuse` fuses their results."""

from __future__ import annotations

import asyncio
import json
import warnings
from typing import Any

import numpy as np
import pytest
from engines import DIMENSION, vectors
from support import importorskip

import paretocut as pc
from paretocut.adapters import ScoresWarning
from paretocut.errors import InvalidParameterError
from paretocut.fusion import Fusion

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
    with pytest.raises(ValueError, match="at least 2 retrievers, got 1"):
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


def test_haystack_joiner_leaves_out_what_has_no_score_and_refuses_single_lists() -> None:
    importorskip("haystack")
    from paretocut.adapters.haystack import ParetoCutJoiner

    good = haystack_documents({"a": 1.0, "b": 0.5})
    bad = haystack_documents({"a": 1.0, "b": None})
    joiner = ParetoCutJoiner(["one", "two"], method="rrf", min_k=2)
    with pytest.warns(ScoresWarning, match="two: 1 of 2 results have no score, and take no part"):
        found = joiner.run(one=good, two=bad)["documents"]
    assert [one.meta["paretocut"]["parts"]["two"] is None for one in found] == [False, True]
    with pytest.raises(InvalidParameterError, match="inputs must be one, two, got one"):
        joiner.run(one=good)
    with pytest.raises(InvalidParameterError, match="at least 2 different names"):
        ParetoCutJoiner(["one", "one"])
    plain = ParetoCutJoiner(["one", "two"], truncator=pc.truncators.FixedK(2)).to_dict()
    again = ParetoCutJoiner.from_dict(json.loads(json.dumps(plain)))
    assert len(again.run(one=good, two=good)["documents"]) == 2


# --- search engines and vector stores ---


def test_responses_of_elasticsearch_become_one_answer() -> None:
    client = importorskip("elastic_transport")
    rng = np.random.default_rng(0)
    falling = -np.sort(-rng.exponential(size=(2, 60)), axis=1)
    arms = {
        "words": [(f"d{i}", float(s)) for i, s in enumerate(falling[0])],
        "near": [(f"d{59 - i}", float(s)) for i, s in enumerate(falling[1])],
    }
    responses = {
        name: client.ObjectApiResponse(
            body={"hits": {"hits": [{"_index": "i", "_id": d, "_score": s} for d, s in scores]}},
            meta=None,
        )
        for name, scores in arms.items()
    }
    for options in OPTIONS:
        how = {name: options[name] for name in ("method", "weights") if name in options}
        rest = {name: value for name, value in options.items() if name not in how}
        ids, cut = expected(
            {n: ([d for d, _ in pairs], [s for _, s in pairs], True) for n, pairs in arms.items()},
            **options,
        )
        kept, decision = pc.keep(pc.fuse(responses, **how), explain=True, **rest)
        assert [one.id for one in kept] == ids
        assert decision.reason == cut.reason
        for one in kept:
            assert one.parts["words"]["score"] == dict(arms["words"])[one.id]
            assert one.results["words"]["_index"] == "i"
    # The same number in another index is another document, if the index is part of the id.
    elsewhere = {"hits": {"hits": [{"_index": "j", "_id": "d0", "_score": 1.0}]}}
    both = [responses["words"], elsewhere]
    assert len(pc.fuse(both)) == 60
    assert len(pc.fuse(both, id=lambda hit: f"{hit['_index']}/{hit['_id']}")) == 61


@each_option
def test_arms_of_qdrant_keep_their_own_direction(options: dict[str, Any]) -> None:
    qdrant = importorskip("qdrant_client")
    models = qdrant.models
    client = qdrant.QdrantClient(":memory:")
    client.create_collection(
        "docs",
        vectors_config={
            "dense": models.VectorParams(size=DIMENSION, distance=models.Distance.COSINE),
            "far": models.VectorParams(size=DIMENSION, distance=models.Distance.EUCLID),
        },
    )
    client.upsert(
        "docs",
        [
            models.PointStruct(
                id=i,
                vector={"dense": BASE[i].tolist(), "far": OTHER[i].tolist()},
                payload={"text": f"d{i}"},
            )
            for i in range(150)
        ],
    )
    queries = {"dense": QUERY.tolist(), "far": QUESTION.tolist()}
    requests = [models.QueryRequest(query=q, using=n, limit=70) for n, q in queries.items()]
    answers = client.query_batch_points("docs", requests)
    client.close()
    named = dict(zip(queries, answers, strict=True))
    how = {name: options[name] for name in ("method", "weights") if name in options}
    rest = {name: value for name, value in options.items() if name not in how}
    kept, decision = pc.keep(pc.fuse(named, **how), explain=True, **rest)
    up = {"dense": True, "far": False}
    ids, cut = expected(
        {
            name: ([str(p.id) for p in a.points], [p.score for p in a.points], up[name])
            for name, a in named.items()
        },
        **options,
    )
    assert [one.id for one in kept] == ids
    assert decision.reason == cut.reason


@each_option
def test_two_searches_in_one_statement_of_duckdb(options: dict[str, Any]) -> None:
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
    how = {name: options[name] for name in ("method", "weights") if name in options}
    rest = {name: value for name, value in options.items() if name not in how}
    fused = pc.fuse(
        {"words": rows, "vectors": rows},
        score={"words": 1, "vectors": 2},
        id=0,
        higher_is_better={"words": True, "vectors": False},
        **how,
    )
    kept, decision = pc.keep(fused, explain=True, **rest)
    arms = {}
    for name, column, up in (("words", 1, True), ("vectors", 2, False)):
        found = sorted((row for row in rows if row[column] is not None),
                       key=lambda row: row[column], reverse=up)  # fmt: skip
        assert 0 < len(found) <= 60
        arms[name] = ([str(row[0]) for row in found], [row[column] for row in found], up)
    assert len(rows) > 60  # each side has what the other lacks
    ids, cut = expected(arms, **options)
    assert [one.id for one in kept] == ids
    assert decision.reason == cut.reason


# --- PyTerrier ---


@pytest.mark.filterwarnings("ignore::paretocut.adapters.ScoresWarning")  # of min-max scores
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
    with pytest.raises(InvalidParameterError, match="at least 2 retrievers, got 1"):
        ParetoFuse(arms[0])


def test_a_fitted_fusion_takes_answers_too() -> None:
    rng = np.random.default_rng(3)
    ids = [[f"d{i}" for i in range(40)]] * 30
    lists = [pc.RankedLists(rng.normal(size=(30, 40)), doc_ids=ids) for _ in range(2)]
    fusion = Fusion().fit(lists)
    answers = [
        list(zip(one[0].doc_ids.tolist(), one[0].scores.tolist(), strict=True)) for one in lists
    ]
    want = fusion.fuse([one[:1] for one in lists])
    assert [one.score for one in fusion.fuse(answers)] == want.scores[0].tolist()
