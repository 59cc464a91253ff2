"""Calibration inside the tools: on their own store, and with the query text for lexical scores."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import importorskip

import paretocut as pc
from paretocut.errors import InvalidParameterError
from paretocut.truncators import Calibrated, Consensus, FixedK, Surprise

pytestmark = [pytest.mark.heavy, pytest.mark.filterwarnings("ignore::DeprecationWarning")]

RNG = np.random.default_rng(0)
WORDS = [f"w{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(200)]
TEXTS = [" ".join(RNG.choice(WORDS, 6, replace=False)) for _ in range(300)]
QUERIES = [" ".join(text.split()[:5]) for text in TEXTS[:40]]


def vector(text: str) -> list[float]:
    """Return a bag of words as a vector of length 1, each word a fixed direction."""
    total = np.zeros(64)
    for word in text.lower().split():
        seed = int(hashlib.sha256(word.encode()).hexdigest()[:8], 16)
        total += np.random.default_rng(seed).normal(size=64)
    return list(map(float, total / np.linalg.norm(total)))


def langchain(**options: Any) -> tuple[Any, Any]:
    """Return a retriever of LangChain, and how it is asked."""
    base = importorskip("langchain_core.embeddings").Embeddings

    class Table(base):  # type: ignore[misc, valid-type]
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [vector(text) for text in texts]

        def embed_query(self, text: str) -> list[float]:
            return vector(text)

    store = importorskip("langchain_core.vectorstores").InMemoryVectorStore(Table())
    store.add_texts(TEXTS)
    from paretocut.adapters.langchain import ParetoCutRetriever

    return ParetoCutRetriever(vectorstore=store, fetch_k=50, **options), "invoke"


def llama_index(**options: Any) -> tuple[Any, Any]:
    """Return a retriever of LlamaIndex, and how it is asked."""
    core = importorskip("llama_index.core")
    base = importorskip("llama_index.core.embeddings").BaseEmbedding
    node = importorskip("llama_index.core.schema").TextNode

    class Table(base):  # type: ignore[misc, valid-type]
        def _get_text_embedding(self, text: str) -> list[float]:
            return vector(text)

        def _get_query_embedding(self, query: str) -> list[float]:
            return vector(query)

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return vector(query)

    nodes = [node(text=text, id_=text) for text in TEXTS]
    index = core.VectorStoreIndex(nodes=nodes, embed_model=Table())
    from paretocut.adapters.llama_index import ParetoCutRetriever

    return ParetoCutRetriever(index, fetch_k=50, **options), "retrieve"


@pytest.mark.parametrize("host", [langchain, llama_index])
def test_a_retriever_learns_from_its_own_store_to_return_nothing(host: Any, tmp_path: Path) -> None:
    retriever, name = host(expect="one")
    calibrated = retriever.calibrate(TEXTS, n=60, queries=QUERIES)
    assert len(getattr(calibrated, name)(TEXTS[7])) == 1
    assert len(getattr(calibrated, name)("words of another world")) == 0
    # The one it was made from is as it was.
    assert len(getattr(retriever, name)("words of another world")) > 0
    assert isinstance(calibrated.truncator, Calibrated)
    assert "nonsense queries have a best score" in calibrated.truncator.report()
    calibrated.truncator.save(tmp_path / "gate.json")
    again, _ = host(truncator=tmp_path / "gate.json")
    assert len(getattr(again, name)("words of another world")) == 0


@pytest.mark.parametrize("host", [langchain, llama_index])
@pytest.mark.parametrize(
    ("said", "inner"),
    [
        ({"expect": "one"}, Consensus(expect="one")),
        ({"truncator": FixedK(7)}, FixedK(7)),
        ({"evalue": 0.01, "transform": "auto"}, Surprise(evalue=0.01, transform="auto")),
        ({}, Consensus()),
    ],
    ids=str,
)
def test_calibration_drops_nothing_that_was_said(
    host: Any, said: dict[str, Any], inner: Any
) -> None:
    retriever, _ = host(**said, max_k=20)
    known = retriever.calibrate(TEXTS, n=20)
    assert repr(known.truncator.base) == repr(inner)
    bounds = known.max_k if hasattr(known, "max_k") else known.similarity_top_k
    assert bounds == 20
    # What calibrate itself is told comes first; a second gate takes the place of the first.
    assert known.calibrate(TEXTS, n=20, expect=3).truncator.base.expect == 3
    assert repr(known.calibrate(TEXTS, n=20).truncator.base) == repr(inner)


def test_the_number_of_nodes_is_bounded_at_run_time() -> None:
    retriever, _ = llama_index(min_k=0, truncator=FixedK(9))
    assert len(retriever.retrieve("words")) == 9
    retriever.similarity_top_k = 2
    found = retriever.retrieve("words")
    assert (len(found), found.cut.n) == (2, 50)


def words_of(query: str) -> list[tuple[str, float]]:
    """Return a second search: the texts by their common words with the query."""
    asked = set(query.split())
    found = sorted(((len(asked & set(text.split())), text) for text in TEXTS), reverse=True)
    return [(text, float(count)) for count, text in found[:50]]


def langchain_fusion(**options: Any) -> tuple[Any, Any]:
    """Return a fusion of two retrievers of LangChain, and how it is asked and calibrated."""
    retriever, _ = langchain()
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever

    from paretocut.adapters.langchain import ParetoCutFusionRetriever

    class Words(BaseRetriever):
        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
            return [Document(text, metadata={"relevance_score": s}) for text, s in words_of(query)]

    arms = {"words": Words(), "vectors": retriever.vectorstore}
    made = ParetoCutFusionRetriever(retrievers=arms, fetch_k=50, **options)
    return made, lambda fusion, query: fusion.invoke(query)


def llama_index_fusion(**options: Any) -> tuple[Any, Any]:
    """Return the same for LlamaIndex."""
    retriever, _ = llama_index()
    schema = importorskip("llama_index.core.schema")
    from llama_index.core.base.base_retriever import BaseRetriever

    from paretocut.adapters.llama_index import ParetoCutFusionRetriever

    class Words(BaseRetriever):
        def _retrieve(self, query_bundle: Any) -> list[Any]:
            return [
                schema.NodeWithScore(node=schema.TextNode(text=text, id_=text), score=score)
                for text, score in words_of(query_bundle.query_str)
            ]

    inner = retriever._retriever
    arms = {"words": Words(), "vectors": inner}
    made = ParetoCutFusionRetriever(arms, **options)
    return made, lambda fusion, query: fusion.retrieve(query)


def haystack_fusion(**options: Any) -> tuple[Any, Any]:
    """Return the same for Haystack; `calibrate` gets the search too."""
    document = importorskip("haystack").Document
    from paretocut.adapters.haystack import ParetoCutJoiner

    base = embed(TEXTS)

    def search(query: str) -> Any:
        near = base @ embed([query])[0]
        best = np.argsort(-near)[:50]
        return {
            "words": [document(id=text, content=text, score=s) for text, s in words_of(query)],
            "vectors": [
                document(id=TEXTS[i], content=TEXTS[i], score=float(near[i])) for i in best
            ],
        }

    made = ParetoCutJoiner(["words", "vectors"], **options)
    plain = made.calibrate
    made.calibrate = lambda texts, **how: plain(texts, search, **how)
    return made, lambda fusion, query: fusion.run(**search(query))["documents"]


@pytest.mark.parametrize("host", [langchain_fusion, llama_index_fusion, haystack_fusion])
@pytest.mark.filterwarnings("ignore::paretocut.adapters.ScoresWarning")
def test_a_fusion_is_gated_by_a_fitted_fusion(host: Any) -> None:
    plain, ask = host(expect="one")
    gated = plain.calibrate(TEXTS, n=40, queries=QUERIES)
    assert gated.truncator.base.expect == "one"
    good = [f"{text.split()[5]} {' '.join(text.split()[:4])}" for text in TEXTS[60:80]]
    other = [f"{chr(97 + i)}xx another{i} world{i} of words{i}" for i in range(20)]
    answered = sum(len(ask(gated, query)) > 0 for query in good)
    refused = sum(len(ask(gated, query)) == 0 for query in other)
    assert min(answered, refused) >= 19
    assert len(ask(plain, other[0])) > 0


def test_a_method_that_cannot_be_gated_is_refused() -> None:
    plain, _ = langchain_fusion(method="rrf")
    with pytest.raises(InvalidParameterError, match="only a fitted Fusion can be gated, got 'rrf'"):
        plain.calibrate(TEXTS)


def test_haystack_stores_a_calibrated_component_in_yaml() -> None:
    haystack = importorskip("haystack")
    plain, ask = haystack_fusion(expect="one")
    known = plain.calibrate(TEXTS, n=40, queries=QUERIES)
    made = haystack.Pipeline()
    made.add_component("cut", known)
    cut = haystack.Pipeline.loads(made.dumps(), allowed_modules=["paretocut.*"]).get_component(
        "cut"
    )
    assert cut.truncator.report() == known.truncator.report()
    assert ask(cut, "words of another world") == []


def embed(texts: list[str]) -> Any:
    """Return a vector for each text."""
    return np.array([vector(text) for text in texts], dtype=np.float32)


def chroma(folder: Path) -> Any:
    """Return a search of a collection of Chroma."""
    client = importorskip("chromadb").PersistentClient(str(folder))
    configuration = {"hnsw": {"space": "cosine", "ef_search": 400}}
    made = client.create_collection("texts", embedding_function=None, configuration=configuration)
    made.add(ids=[str(i) for i in range(300)], documents=TEXTS, embeddings=embed(TEXTS))
    return lambda query: made.query(query_embeddings=embed([query]), n_results=50)


def qdrant(folder: Path) -> Any:
    """Return the same for a collection of Qdrant."""
    module = importorskip("qdrant_client")
    client, models = module.QdrantClient(":memory:"), module.models
    client.create_collection("c", models.VectorParams(size=64, distance=models.Distance.COSINE))
    points = [
        models.PointStruct(id=i, vector=vector(text), payload={"body": text})
        for i, text in enumerate(TEXTS)
    ]
    client.upsert("c", points)
    return lambda query: client.query_points("c", query=vector(query), limit=50)


def lancedb(folder: Path) -> Any:
    """Return the same for a table of LanceDB; this search is asynchronous."""
    rows = [{"body": text, "vector": vector(text)} for text in TEXTS]
    table = importorskip("lancedb").connect(str(folder)).create_table("c", rows)

    async def search(query: str) -> Any:
        return table.search(vector(query)).distance_type("cosine").limit(50).to_list()

    return search


def faiss(folder: Path) -> Any:
    """Return the same for an index of FAISS."""
    index = importorskip("faiss").IndexFlatIP(64)
    index.add(embed(TEXTS))
    return lambda query: index.search(embed([query]), 50)


@pytest.mark.parametrize("store", [chroma, qdrant, lancedb, faiss])
def test_a_store_is_calibrated_on_the_answers_it_gives(store: Any, tmp_path: Path) -> None:
    search = store(tmp_path)

    def kept(query: str, **options: Any) -> int:
        answer = search(query)
        if asyncio.iscoroutine(answer):
            answer = asyncio.run(answer)
        _, cut = pc.keep(answer, explain=True, **options)
        return int(cut.k if isinstance(cut, pc.Cut) else cut.k[0])

    truncator = pc.calibrate(search, TEXTS, n=60, queries=QUERIES)
    assert kept(TEXTS[7], truncator=truncator) == 1
    assert kept("words of another world", truncator=truncator) == 0
    assert kept("words of another world") > 0
    # The nonsense is what the library makes of the same texts, and the scores are the store's.
    held = [text for i, text in enumerate(TEXTS) if i % 5]
    near = (
        1
        - embed(pc.calibration.nonsense_queries(held, 60, size=300, others=QUERIES))
        @ embed(TEXTS).T
    )
    sign = 1 if truncator.direction else -1
    tops = (1 - truncator.nonsense_) if sign == 1 else -truncator.nonsense_
    np.testing.assert_allclose(np.sort(tops), np.sort(near.min(axis=1)), atol=1e-4)


@pytest.mark.parametrize("host", [langchain, llama_index])
def test_documents_serve_as_texts(host: Any) -> None:
    retriever, name = host(expect="one")
    found = getattr(retriever, name)(TEXTS[7])
    documents = [getattr(one, "node", one) for one in found]
    known = retriever.calibrate([*documents, *TEXTS], n=20)
    assert isinstance(known.truncator, Calibrated)


def test_haystack_component_is_calibrated_on_a_search() -> None:
    document = importorskip("haystack").Document
    from paretocut.adapters.haystack import ParetoCut

    base = embed(TEXTS)

    def search(query: str) -> Any:
        near = base @ embed([query])[0]
        best = np.argsort(-near)[:50]
        return [document(content=TEXTS[i], score=float(near[i])) for i in best]

    plain = ParetoCut(expect="one", max_k=20, max_tokens=1000)
    made = plain.calibrate(TEXTS, search, n=60, queries=QUERIES)
    assert made.truncator.base.expect == "one"
    assert [d.content for d in made.run(search(TEXTS[7]))["documents"]] == [TEXTS[7]]
    assert made.run(search("words of another world"))["documents"] == []
    assert len(plain.run(search("words of another world"))["documents"]) > 0
    assert made.options["max_k"] == 20
    assert made.options["max_tokens"] == plain.options["max_tokens"]
    assert isinstance(made.truncator, Calibrated)


def lexical_search(query: str) -> list[float]:
    """Return scores that grow with every word that matches, as BM25 does."""
    asked = set(query.split())
    return sorted((2.0 * len(asked & set(text.split())) for text in TEXTS), reverse=True)[:50]


@pytest.fixture(scope="module")
def lexical() -> Calibrated:
    return pc.calibrate(lexical_search, TEXTS, queries=QUERIES, n=60, lexical=True, expect="few")


# The same scores are an answer to five words, and nothing to forty.
SHORT, LONG = QUERIES[3], " ".join(WORDS[:40])
FOUND = lexical_search(SHORT)


def through_langchain(t: Calibrated, query: str) -> int:
    """Return how many documents LangChain's compressor keeps."""
    document = importorskip("langchain_core.documents").Document
    from paretocut.adapters.langchain import ParetoCutCompressor

    given = [document(page_content="", metadata={"relevance_score": score}) for score in FOUND]
    return len(ParetoCutCompressor(truncator=t).compress_documents(given, query))


def through_langchain_retriever(t: Calibrated, query: str) -> int:
    """Return how many documents LangChain's retriever keeps."""
    importorskip("langchain_core")
    from langchain_core.documents import Document
    from langchain_core.vectorstores import VectorStore

    from paretocut.adapters.langchain import ParetoCutRetriever

    class Store(VectorStore):
        def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
            raise NotImplementedError

        def similarity_search_with_score(self, query: str, **kwargs: Any) -> Any:
            return [(Document(page_content=""), score) for score in FOUND]

        @classmethod
        def from_texts(cls, *args: Any, **kwargs: Any) -> Any:
            raise NotImplementedError

    made = ParetoCutRetriever(vectorstore=Store(), truncator=t, fetch_k=50, higher_is_better=True)
    return len(made.invoke(query))


def through_llama_index(t: Calibrated, query: str | None) -> int:
    """Return how many nodes LlamaIndex's postprocessor keeps."""
    schema = importorskip("llama_index.core.schema")
    from paretocut.adapters.llama_index import ParetoCutPostprocessor

    nodes = [schema.NodeWithScore(node=schema.TextNode(text=""), score=score) for score in FOUND]
    return len(ParetoCutPostprocessor(truncator=t).postprocess_nodes(nodes, query_str=query))


def through_haystack(t: Calibrated, query: str | None) -> int:
    """Return how many documents Haystack's component keeps."""
    document = importorskip("haystack").Document
    from paretocut.adapters.haystack import ParetoCut

    given = [document(content=str(i), score=score) for i, score in enumerate(FOUND)]
    return len(ParetoCut(truncator=t).run(documents=given, query=query)["documents"])


def through_pyterrier(t: Calibrated, query: str | None) -> int:
    """Return how many rows PyTerrier's transformer keeps."""
    pd = importorskip("pandas")
    pt = importorskip("pyterrier")
    from paretocut.adapters.pyterrier import ParetoCut

    frame = pd.DataFrame({"qid": "1", "docno": [f"d{i}" for i in range(50)], "score": FOUND})
    if query is not None:
        frame["query"] = query
    return len(ParetoCut(truncator=t)(pt.model.add_ranks(frame)))


def through_elasticsearch(t: Calibrated, query: str | None) -> int:
    """Return how many hits of Elasticsearch are kept."""
    hits = [{"_id": str(i), "_score": score} for i, score in enumerate(FOUND)]
    return len(pc.keep({"hits": {"hits": hits}}, query=query, truncator=t)["hits"]["hits"])


OPTIONAL = [through_llama_index, through_haystack, through_pyterrier, through_elasticsearch]


@pytest.mark.parametrize("host", [through_langchain, through_langchain_retriever, *OPTIONAL])
def test_a_host_hands_over_the_query_that_lexical_scores_need(
    host: Any, lexical: Calibrated
) -> None:
    expected = [lexical.cut(FOUND, query=query).k for query in (SHORT, LONG)]
    assert expected[0] > expected[1] == 0
    assert [host(lexical, query) for query in (SHORT, LONG)] == expected


@pytest.mark.parametrize("host", OPTIONAL)
def test_a_host_that_has_no_query_says_so(host: Any, lexical: Calibrated) -> None:
    with pytest.raises(InvalidParameterError, match="the texts of 1 queries must be given"):
        host(lexical, None)
    assert host(FixedK(3), None) == 3


def test_queries_reach_the_truncator_and_others_do_not_look_at_them(lexical: Calibrated) -> None:
    pairs = [(str(i), score) for i, score in enumerate(FOUND)]
    assert len(pc.keep(pairs, query=SHORT, truncator=FixedK(3))) == 3
    _, cuts = pc.keep([pairs, pairs], query=[SHORT, LONG], truncator=lexical, explain=True)
    assert cuts.k[0] == len(pc.keep(pairs, query=SHORT, truncator=lexical)) > cuts.k[1] == 0
    with pytest.raises(InvalidParameterError, match="keep: Calibrated: it was calibrated for lexi"):
        pc.keep([pairs, pairs], truncator=lexical)
