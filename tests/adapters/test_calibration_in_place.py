"""Calibration in the hosts: on their own store, and with the query that lexical scores need."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pytest

import paretocut as pc
from paretocut.adapters._base import Cutter, cut_each, cut_scored
from paretocut.errors import InvalidParameterError
from paretocut.truncators import Calibrated, FixedK
from support import importorskip

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


def langchain() -> tuple[Any, Any]:
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

    return ParetoCutRetriever(vectorstore=store, fetch_k=50, expect="few"), "invoke"


def llama_index() -> tuple[Any, Any]:
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

    index = core.VectorStoreIndex(nodes=[node(text=text) for text in TEXTS], embed_model=Table())
    from paretocut.adapters.llama_index import ParetoCutRetriever

    return ParetoCutRetriever(index, fetch_k=50, expect="few"), "retrieve"


@pytest.mark.parametrize("host", [langchain, llama_index])
def test_a_retriever_learns_from_its_own_store_to_return_nothing(host: Any) -> None:
    retriever, name = host()
    calibrated = retriever.calibrate(TEXTS, n=60, queries=QUERIES)
    assert len(getattr(calibrated, name)(TEXTS[7])) == 1
    assert len(getattr(calibrated, name)("words of another world")) == 0
    # The one it was made from is as it was.
    assert len(getattr(retriever, name)("words of another world")) > 0
    truncator = getattr(calibrated, "truncator", None)
    assert truncator is None or isinstance(truncator, Calibrated)


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
    from paretocut.adapters.elasticsearch import cut_search

    hits = [{"_id": str(i), "_score": score} for i, score in enumerate(FOUND)]
    return len(cut_search({"hits": {"hits": hits}}, query=query, truncator=t)["hits"]["hits"])


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
    with pytest.raises(InvalidParameterError, match="must be told the text of the query"):
        host(lexical, None)
    assert host(FixedK(3), None) == 3


def test_only_a_truncator_that_needs_the_query_is_told(lexical: Calibrated) -> None:
    needs, not_ = Cutter(lexical), Cutter(FixedK(3))  # FixedK.cut takes no query
    assert cut_scored(FOUND, not_, who="test", query=SHORT).cut.k == 3
    decisions, cuts = cut_each([FOUND, FOUND], not_, who="test", queries=[SHORT, LONG])
    assert cuts.k.tolist() == [3, 3]
    decisions, cuts = cut_each([FOUND, FOUND], needs, who="test", queries=[SHORT, LONG])
    assert cuts.k[0] == cut_scored(FOUND, needs, who="test", query=SHORT).cut.k > cuts.k[1] == 0
    # What is told of the results are the scores of the host, not the scaled ones.
    assert decisions[0].scores.tolist() == FOUND
    with pytest.raises(InvalidParameterError, match="test: the truncator was calibrated"):
        cut_each([FOUND, FOUND], needs, who="test", queries=[SHORT, None])
