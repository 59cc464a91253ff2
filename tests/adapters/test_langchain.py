"""LangChain: the retriever over real vector stores, and the compressor."""

from __future__ import annotations

import asyncio
import copy
import json
import uuid
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from columns import decision
from engines import chroma_client, vectors
from support import importorskip

import paretocut as pc
from paretocut.adapters import ScoresWarning
from paretocut.errors import InvalidParameterError, InvalidScoresError

pytestmark = [
    pytest.mark.heavy,
    # langchain-community announces its own end, and FAISS its SWIG types.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

BASE, QUERY = vectors(500)
STORES = ["memory", "faiss-l2", "faiss-ip", "chroma-l2", "chroma-cosine"]


def embeddings() -> Any:
    """Return embeddings that look texts up: "d17" is the 17th vector, anything else the query."""
    base = importorskip("langchain_core.embeddings").Embeddings

    class Table(base):  # type: ignore[misc, valid-type]
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [BASE[int(text[1:])].tolist() for text in texts]

        def embed_query(self, text: str) -> list[float]:
            return list(map(float, QUERY))

    return Table()


def store_with(name: str, count: int) -> Any:
    texts = [f"d{i}" for i in range(count)]
    metadatas = [{"source": f"page {i}"} for i in range(count)]
    if name == "memory":
        module = importorskip("langchain_core.vectorstores")
        store = module.InMemoryVectorStore(embeddings())
    elif name.startswith("faiss"):
        module = importorskip("langchain_community.vectorstores.faiss")
        faiss = importorskip("faiss")
        utils = importorskip("langchain_community.vectorstores.utils")
        docstore = importorskip("langchain_community.docstore.in_memory")
        inner = name == "faiss-ip"
        store = module.FAISS(
            embeddings(),
            (faiss.IndexFlatIP if inner else faiss.IndexFlatL2)(BASE.shape[1]),
            docstore.InMemoryDocstore(),
            {},
            distance_strategy=utils.DistanceStrategy.MAX_INNER_PRODUCT
            if inner
            else utils.DistanceStrategy.EUCLIDEAN_DISTANCE,
        )
    else:
        module = importorskip("langchain_chroma")
        store = module.Chroma(
            collection_name=uuid.uuid4().hex,
            embedding_function=embeddings(),
            client=chroma_client(),
            collection_configuration={"hnsw": {"space": name.removeprefix("chroma-")}},
        )
    if count:
        store.add_texts(texts, metadatas)
    return store


def higher_is_better(name: str) -> bool:
    return name in ("memory", "faiss-ip")


@pytest.fixture(scope="module", params=STORES)
def name(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture(scope="module")
def store(name: str) -> Any:
    return store_with(name, len(BASE))


def retriever_over(store: Any, **options: Any) -> Any:
    from paretocut.adapters.langchain import ParetoCutRetriever

    return ParetoCutRetriever(vectorstore=store, **options)


def check(documents: list[Any], found: list[Any], up: bool, **options: Any) -> None:
    """Compare what was retrieved with what the engine says of the store's own numbers."""
    scores = [score for _, score in found]
    fit = pc.fit_tail(scores, higher_is_better=up)
    cut = decision(scores, higher_is_better=up, **options)
    k = cut.k
    found_out = documents.cut.to_dict()  # type: ignore[attr-defined]
    reason = found_out["reason"]
    assert reason in (cut.reason, f"{cut.reason}; distances, as their order shows")
    assert found_out == {**cut.to_dict(), "reason": reason}
    rule = {"evalue", "fdr"} & options.keys()
    assert [document.page_content for document in documents] == [
        document.page_content for document, _ in found[:k]
    ]
    for i, document in enumerate(documents):
        assert document.metadata == {
            **found[i][0].metadata,
            "paretocut": {
                "score": scores[i],
                "k": k,
                "n": len(scores),
                "reason": reason,
                "warnings": list(cut.warnings),
                "nearest": cut.nearest.tolist(),
            }
            | ({name: getattr(fit, f"{name}s" if name != "surprise" else name)[i]
                for name in ("surprise", "pvalue", "evalue")} if rule else {}),
        }  # fmt: skip


@pytest.mark.parametrize("options", [{}, {"evalue": 0.05}, {"fdr": 0.1, "max_k": 2}], ids=str)
def test_retrieves_exactly_what_the_engine_says(
    name: str, store: Any, options: dict[str, Any]
) -> None:
    found = store.similarity_search_with_score("?", k=200)
    documents = retriever_over(store, **options).invoke("?")
    check(documents, found, higher_is_better(name), **options)
    assert len(documents) >= 1


def test_async_retrieval_gives_the_same(name: str, store: Any) -> None:
    retriever = retriever_over(store, alpha=0.02)
    assert asyncio.run(retriever.ainvoke("?")) == retriever.invoke("?")
    both = asyncio.run(retriever.abatch(["?", "!"]))
    assert both == retriever.batch(["?", "!"])


def test_the_wrong_direction_is_refused(name: str, store: Any) -> None:
    retriever = retriever_over(store, higher_is_better=not higher_is_better(name))
    with pytest.raises(InvalidScoresError, match=r"ParetoCutRetriever: .* must not come worst"):
        retriever.invoke("?")
    said = retriever_over(store, higher_is_better=higher_is_better(name)).invoke("?")
    shown = retriever_over(store).invoke("?")
    assert [one.page_content for one in said] == [one.page_content for one in shown]


@pytest.mark.filterwarnings("ignore:ParetoCutRetriever. the search returned")
@pytest.mark.parametrize("count", [0, 1, 30])
def test_small_stores_are_fine(name: str, count: int) -> None:
    small = store_with(name, count)
    found = small.similarity_search_with_score("?", k=200) if count else []
    assert len(found) == count
    up = higher_is_better(name)
    check(retriever_over(small, min_k=2).invoke("?"), found, up, min_k=2)


def test_the_store_is_not_touched(name: str, store: Any) -> None:
    before = copy.deepcopy(store.similarity_search_with_score("?", k=200))
    retriever_over(store, min_k=50).invoke("?")
    assert store.similarity_search_with_score("?", k=200) == before


def test_fetches_as_deep_as_asked_and_passes_arguments_on(store: Any, name: str) -> None:
    retriever = retriever_over(store, fetch_k=40)
    found = store.similarity_search_with_score("?", k=40)
    check(retriever.invoke("?"), found, higher_is_better(name))
    # People who say k mean "at most": the search stays deep.
    up = higher_is_better(name)
    check(retriever.invoke("?", k=2), found, up, max_k=2)
    check(asyncio.run(retriever.ainvoke("?", k=2)), found, up, max_k=2)
    check(retriever_over(store, fetch_k=40, search_kwargs={"k": 2}).invoke("?"), found, up, max_k=2)
    check(retriever_over(store, fetch_k=40, max_k=1).invoke("?", k=2), found, up, max_k=1)
    with pytest.raises(InvalidParameterError, match="ParetoCutRetriever: k must be"):
        retriever.invoke("?", k=0)


def test_the_order_of_a_store_shows_its_direction() -> None:
    module = importorskip("langchain_core.vectorstores")

    class Silent(module.VectorStore):  # type: ignore[misc, name-defined]
        def similarity_search_with_score(self, query: str, k: int = 4, **_: Any) -> list[Any]:
            document = importorskip("langchain_core.documents").Document
            scores = np.sort(np.random.default_rng(0).exponential(size=k))
            return [(document(page_content=str(i)), s) for i, s in enumerate(scores)]

        def similarity_search(self, query: str, k: int = 4, **_: Any) -> list[Any]:
            return [document for document, _ in self.similarity_search_with_score(query, k)]

        @classmethod
        def from_texts(cls, *_: Any, **__: Any) -> Any:
            raise NotImplementedError

    shown = retriever_over(Silent(), min_k=3).invoke("?")
    assert shown.cut.reason.endswith("distances, as their order shows")
    kept = retriever_over(Silent(), higher_is_better=False, min_k=3).invoke("?")
    assert [document.page_content for document in kept][:3] == ["0", "1", "2"]
    assert len(kept) == len(shown)


def test_options_are_checked_when_the_retriever_is_made(store: Any) -> None:
    with pytest.raises(ValueError, match="alpha must be in"):
        retriever_over(store, alpha=2.0)
    with pytest.raises(ValueError, match="at most one of truncator, expect, alpha"):
        retriever_over(store, alpha=0.1, evalue=0.1)
    with pytest.raises(ValueError, match="transform must be one of"):
        retriever_over(store, alpha=0.1, transform="cube")
    with pytest.raises(ValueError, match="ParetoCutRetriever: transform must come with one of"):
        retriever_over(store, transform="logit")
    with pytest.raises(ValueError, match="greater than or equal to 1"):
        retriever_over(store, fetch_k=0)
    with pytest.raises(ValueError, match="Extra inputs are not permitted"):
        retriever_over(store, e_value=0.05)


def test_the_retriever_is_still_a_runnable(store: Any) -> None:
    # A field named `transform` would hide Runnable.transform, which streams are made of.
    retriever = retriever_over(store, transform="identity", evalue=0.05)
    assert list(retriever.transform(iter(["?"]))) == [retriever.invoke("?")]
    chain = retriever | (lambda documents: len(documents))
    assert chain.invoke("?") == len(retriever.invoke("?"))


def documents_with(scores: list[float | None], key: str = "relevance_score") -> list[Any]:
    document = importorskip("langchain_core.documents").Document
    return [
        document(page_content=f"d{i}", metadata={} if score is None else {key: score})
        for i, score in enumerate(scores)
    ]


def logits() -> list[float]:
    generator = np.random.default_rng(2)
    return [4.0, 3.5, 3.2, *(-8 + generator.exponential(0.7, size=77)).tolist()]


def test_compressor_keeps_what_the_engine_says_in_the_order_it_came() -> None:
    from paretocut.adapters.langchain import ParetoCutCompressor

    scores = np.random.default_rng(3).permutation(logits()).tolist()
    documents = documents_with(scores)
    before = copy.deepcopy(documents)
    kept = ParetoCutCompressor(evalue=0.05).compress_documents(documents, "?")
    fit = pc.fit_tail(scores)
    expected = sorted(fit.cut(evalue=0.05).indices.tolist())
    assert len(expected) == 3
    assert [document.page_content for document in kept] == [f"d{i}" for i in expected]
    marks = [document.metadata["paretocut"] for document in kept]
    assert [mark["surprise"] for mark in marks] == fit.surprise[expected].tolist()
    assert documents == before
    again = asyncio.run(ParetoCutCompressor(evalue=0.05).acompress_documents(documents, "?"))
    assert list(again) == list(kept)
    assert list(ParetoCutCompressor().compress_documents([], "?")) == []


def test_documents_without_scores_are_not_kept_and_warned_of() -> None:
    from paretocut.adapters.langchain import ParetoCutCompressor

    documents = documents_with([*logits()[:2], None, *logits()[2:]], key="score")
    made = ParetoCutCompressor(score_key="score", evalue=0.05)
    with pytest.warns(ScoresWarning, match="1 of 81 results have no score, and are not kept"):
        kept = made.compress_documents(documents, "?")
    assert [document.page_content for document in kept] == ["d0", "d1", "d3"]


def test_compressor_warns_of_saturated_scores_and_takes_logits() -> None:
    from paretocut.adapters.langchain import ParetoCutCompressor

    probabilities = (1 / (1 + np.exp(-np.array(logits())))).tolist()
    with pytest.warns(ScoresWarning, match="transform='logit'"):
        ParetoCutCompressor(evalue=0.05).compress_documents(documents_with(probabilities), "?")
    kept = ParetoCutCompressor(evalue=0.05, transform="logit").compress_documents(
        documents_with(probabilities), "?"
    )
    assert [document.page_content for document in kept] == ["d0", "d1", "d2"]


def test_compressor_refuses_distances_in_the_order_of_similarities() -> None:
    from paretocut.adapters.langchain import ParetoCutCompressor

    documents = documents_with(np.linspace(0.1, 2.0, 20).tolist())
    with pytest.raises(InvalidScoresError, match="must not come worst first"):
        ParetoCutCompressor().compress_documents(documents, "?")
    ParetoCutCompressor(higher_is_better=False, min_k=1).compress_documents(documents[:9], "?")


def test_compressor_works_in_a_compression_retriever(store: Any) -> None:
    module = importorskip("langchain_classic.retrievers.contextual_compression")
    from paretocut.adapters.langchain import ParetoCutCompressor

    pipeline = importorskip("langchain_classic.retrievers.document_compressors.base")
    documents = importorskip("langchain_core.documents")

    class Reranker(documents.BaseDocumentCompressor):  # type: ignore[misc, name-defined]
        """Scores the documents as one who knows the planted ones would."""

        def compress_documents(self, documents: Any, query: str, callbacks: Any = None) -> Any:
            scores = [12.0 if one.page_content in ("d0", "d2") else 0.1 for one in documents]
            return [
                one.model_copy(update={"metadata": {**one.metadata, "relevance_score": score}})
                for one, score in zip(documents, scores, strict=True)
            ]

    both = module.ContextualCompressionRetriever(
        base_retriever=store.as_retriever(search_kwargs={"k": 100}),
        base_compressor=pipeline.DocumentCompressorPipeline(
            transformers=[Reranker(), ParetoCutCompressor()]
        ),
    )
    seen: list[Any] = []
    kept = both.invoke("?", config={"callbacks": [listener(seen)]})
    assert {document.page_content for document in kept} == {"d0", "d2"}
    assert [event["k"] for event in seen] == [2]
    asyncio.run(both.ainvoke("?", config={"callbacks": [listener(seen)]}))
    assert [event["k"] for event in seen] == [2, 2]


def test_a_plain_store_retriever_leads_to_ours(store: Any) -> None:
    module = importorskip("langchain_classic.retrievers.contextual_compression")
    from paretocut.adapters.langchain import ParetoCutCompressor

    plain = module.ContextualCompressionRetriever(
        base_retriever=store.as_retriever(), base_compressor=ParetoCutCompressor()
    )
    with pytest.raises(InvalidScoresError, match=r"use ParetoCutRetriever\(vectorstore=store\)"):
        plain.invoke("?")


def listener(seen: list[Any]) -> Any:
    """Return a callback handler that collects what custom events named paretocut say."""
    callbacks = importorskip("langchain_core.callbacks")

    class Listener(callbacks.BaseCallbackHandler):  # type: ignore[misc, name-defined]
        def on_custom_event(self, name: str, data: Any, **_: Any) -> None:
            if name == "paretocut":
                seen.append(data)

    return Listener()


@pytest.mark.parametrize("options", [{}, {"evalue": 1e-300}], ids=["some", "none"])
def test_callbacks_see_the_decision_also_when_nothing_is_kept(
    store: Any, options: dict[str, Any]
) -> None:
    retriever = retriever_over(store, **options)
    seen: list[Any] = []
    kept = retriever.invoke("?", config={"callbacks": [listener(seen)]})
    again = asyncio.run(retriever.ainvoke("?", config={"callbacks": [listener(seen)]}))
    assert len(kept) == len(again) == (0 if options else 4)
    event = {name: kept.cut.to_dict()[name] for name in ("k", "n", "reason", "warnings", "nearest")}
    assert seen == [event, event]
    assert kept.cut.reason.startswith("kept none of 200" if options else "kept 4 of 200")


def test_langchain_can_dump_both_components(store: Any) -> None:
    load = importorskip("langchain_core.load")
    from paretocut.adapters.langchain import ParetoCutCompressor

    truncator = pc.truncators.FixedK(3)
    for made in (
        retriever_over(store),
        retriever_over(store, truncator=truncator),
        ParetoCutCompressor(truncator=truncator, count_tokens=len, max_tokens=5),
    ):
        assert type(made).__name__ in load.dumps(made)


def test_documents_stay_within_a_budget_of_tokens(store: Any) -> None:
    from paretocut.adapters.langchain import ParetoCutCompressor

    # Four planted documents; texts such as "d3" have two characters: one token by the estimate.
    assert len(retriever_over(store).invoke("?")) == 4
    kept = retriever_over(store, max_tokens=3).invoke("?")
    assert len(kept) == kept.cut.k == 3
    assert kept.cut.reason.startswith(
        "kept 3 of 200, all that fit into 3 tokens; otherwise kept 4 of 200: "
    )
    assert {document.metadata["paretocut"]["reason"] for document in kept} == {kept.cut.reason}
    seen: list[Any] = []
    counted = retriever_over(store, max_tokens=5, count_tokens=len)
    kept = counted.invoke("?", config={"callbacks": [listener(seen)]})
    assert len(kept) == seen[0]["k"] == 2
    with pytest.warns(ScoresWarning, match="not one of them fits into max_tokens"):
        assert len(retriever_over(store, max_tokens=1, count_tokens=len).invoke("?")) == 0
    options: dict[str, Any] = {"max_tokens": 5, "count_tokens": len, "evalue": 0.05}
    kept = ParetoCutCompressor(**options).compress_documents(documents_with(logits()), "?")
    assert [document.page_content for document in kept] == ["d0", "d1"]
    with pytest.raises(ValueError, match="max_tokens must be"):
        retriever_over(store, max_tokens=0)
    with pytest.raises(ValueError, match="count_tokens"):
        retriever_over(store, max_tokens=9, count_tokens=3)


def test_a_users_own_key_stays() -> None:
    from paretocut.adapters.langchain import ParetoCutCompressor

    documents = documents_with(logits())
    documents[0].metadata["paretocut"] = {"reason": "mine"}
    documents[1].metadata["paretocut"] = None
    kept = ParetoCutCompressor(evalue=0.05).compress_documents(documents, "?")
    assert kept[0].metadata["paretocut"] == {"reason": "mine"}
    assert kept[1].metadata["paretocut"] is None
    assert kept[2].metadata["paretocut"]["k"] == 3
    # An earlier decision is no user's key: the later one takes its place.
    again = ParetoCutCompressor(max_k=1).compress_documents(kept[2:], "?")
    assert again[0].metadata["paretocut"]["n"] == 1


def test_a_misspelt_key_does_not_empty_every_answer() -> None:
    from paretocut.adapters.langchain import ParetoCutCompressor

    documents = documents_with(logits())
    made = ParetoCutCompressor(score_key="relevance_sore")
    with pytest.raises(InvalidScoresError, match="got none in 80 documents with metadata"):
        made.compress_documents(documents, "?")


def test_the_decision_is_seen_by_type_checkers(tmp_path: Path) -> None:
    api = importorskip("mypy.api")
    code = tmp_path / "reasons.py"
    code.write_text(
        "from langchain_core.vectorstores import InMemoryVectorStore\n"
        "from paretocut.adapters.langchain import ParetoCutRetriever\n"
        "def reason(store: InMemoryVectorStore) -> str:\n"
        "    documents = ParetoCutRetriever(vectorstore=store).invoke('?', k=3)\n"
        "    documents.nothing\n"
        "    return documents.cut.reason\n"
    )
    said, _, _ = api.run(["--strict", "--cache-dir", str(tmp_path / "cache"), str(code)])
    errors = [line for line in said.splitlines() if "reasons.py" in line and "error" in line]
    assert len(errors) == 1
    assert '"nothing"' in errors[0]  # that one is wrong, and nothing else


def test_a_filter_that_leaves_little_is_no_fault_of_the_store() -> None:
    small = store_with("memory", 30)
    some = retriever_over(small, search_kwargs={"filter": lambda document: True})
    assert len(some.invoke("?")) >= 1  # and no warning


def test_a_store_that_brings_far_less_than_asked_is_warned_of(name: str) -> None:
    small = store_with(name, 30)
    with pytest.warns(ScoresWarning, match="returned 30 of the 200 results asked for"):
        retriever_over(small).invoke("?")
    assert len(retriever_over(small, fetch_k=30).invoke("?")) >= 1  # and no warning


def test_a_component_with_a_truncator_is_stored_by_its_path(store: Any, tmp_path: Path) -> None:
    pc.truncators.FixedK(3).save(tmp_path / "three.json")
    made = retriever_over(store, truncator=tmp_path / "three.json")
    assert len(made.invoke("?")) == 3
    assert made.model_dump(exclude={"vectorstore"})["truncator"] == str(tmp_path / "three.json")
    # A truncator itself is stored whole.
    whole = retriever_over(store, truncator=pc.truncators.FixedK(3))
    plain = json.loads(json.dumps(whole.model_dump(exclude={"vectorstore"})))
    assert len(retriever_over(store, **plain).invoke("?")) == 3
