"""Retrievers that calibrate themselves on their own store."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pytest

from paretocut.truncators import Calibrated
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
