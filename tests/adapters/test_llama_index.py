"""LlamaIndex: the postprocessor, and the retriever over a real index."""

from __future__ import annotations

import asyncio
import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from columns import decision
from engines import vectors
from support import importorskip

import paretocut as pc
from paretocut.adapters import ScoresWarning
from paretocut.errors import InvalidParameterError, InvalidScoresError

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

BASE, QUERY = vectors(500)


def scores(seed: int = 2) -> list[float]:
    generator = np.random.default_rng(seed)
    noise = generator.exponential(0.05, size=97)
    return generator.permutation([0.9, 0.85, 0.8, *noise]).tolist()  # type: ignore[no-any-return]


def nodes_with(values: list[float | None]) -> list[Any]:
    schema = importorskip("llama_index.core.schema")
    return [
        schema.NodeWithScore(
            node=schema.TextNode(id_=f"d{i}", text=f"text {i}", metadata={"page": i}), score=value
        )
        for i, value in enumerate(values)
    ]


def postprocessor(**options: Any) -> Any:
    importorskip("llama_index.core")
    from paretocut.adapters.llama_index import ParetoCutPostprocessor

    return ParetoCutPostprocessor(**options)


def index_of(count: int) -> Any:
    core = importorskip("llama_index.core")
    embedding = importorskip("llama_index.core.embeddings").MockEmbedding(BASE.shape[1])
    schema = importorskip("llama_index.core.schema")
    nodes = [
        schema.TextNode(
            id_=f"d{i}", text=f"text {i}", embedding=BASE[i].tolist(), metadata={"page": i}
        )
        for i in range(count)
    ]
    return core.VectorStoreIndex(nodes, embed_model=embedding)


def question() -> Any:
    bundle = importorskip("llama_index.core.schema").QueryBundle
    return bundle("?", embedding=QUERY.tolist())


@pytest.mark.parametrize("options", [{}, {"evalue": 0.05}, {"fdr": 0.1, "max_k": 2}], ids=str)
def test_keeps_exactly_what_the_engine_says_in_the_order_it_came(options: dict[str, Any]) -> None:
    values = scores()
    nodes = nodes_with(values)
    kept = postprocessor(**options).postprocess_nodes(nodes)
    fit = pc.fit_tail(values)
    cut = decision(values, **options)
    expected = sorted(cut.indices.tolist())
    assert kept.cut.to_dict() == cut.to_dict()
    assert [node.node_id for node in kept] == [f"d{i}" for i in expected]
    assert [node.score for node in kept] == [values[i] for i in expected]
    marks = [node.metadata["paretocut"] for node in kept]
    assert [mark["score"] for mark in marks] == [values[i] for i in expected]
    if options:  # a rule on tails
        assert [mark["surprise"] for mark in marks] == fit.surprise[expected].tolist()
        assert [mark["pvalue"] for mark in marks] == fit.pvalues[expected].tolist()
        assert [mark["evalue"] for mark in marks] == fit.evalues[expected].tolist()
    else:
        assert not any("surprise" in mark for mark in marks)
    assert {mark["reason"] for mark in marks} == {cut.reason}
    assert {mark["k"] for mark in marks} == {cut.k}
    assert {mark["n"] for mark in marks} == {len(values)}


def test_nodes_are_not_touched_and_prompts_stay_as_they_were() -> None:
    nodes = nodes_with(scores())
    before = copy.deepcopy(nodes)
    kept = postprocessor(evalue=0.05).postprocess_nodes(nodes)
    assert nodes == before
    mode = importorskip("llama_index.core.schema").MetadataMode
    texts = {node.node_id: node.node.get_content(mode.LLM) for node in nodes}
    assert len(kept) == 3
    for node in kept:
        assert node.node.get_content(mode.LLM) == texts[node.node_id]
        assert "paretocut" not in node.node.get_content(mode.EMBED)


def test_nodes_without_scores_are_not_kept_and_warned_of() -> None:
    values: list[float | None] = [0.9, None, *scores()[:50], float("nan")]
    with pytest.warns(ScoresWarning, match="2 of 53 results have no score, and are not kept"):
        kept = postprocessor().postprocess_nodes(nodes_with(values))
    assert len(kept) == pc.cut([one for one in values if one is not None and one == one]).k


@pytest.mark.parametrize("count", [0, 1, 3, 20])
def test_few_nodes_are_fine(count: int) -> None:
    values = sorted(scores()[:count], reverse=True)
    kept = postprocessor(min_k=2).postprocess_nodes(nodes_with(values))
    assert len(kept) == pc.cut(values, min_k=2).k


def test_the_wrong_direction_is_refused() -> None:
    distances = sorted(scores())
    with pytest.raises(
        InvalidScoresError, match="ParetoCutPostprocessor: scores must not come worst"
    ):
        postprocessor().postprocess_nodes(nodes_with(distances))
    kept = postprocessor(higher_is_better=False).postprocess_nodes(nodes_with(distances))
    assert len(kept) == pc.cut(distances, higher_is_better=False).k
    with pytest.raises(InvalidScoresError, match="must not come worst first"):
        postprocessor(higher_is_better=False).postprocess_nodes(nodes_with(distances[::-1]))


def test_async_gives_the_same() -> None:
    nodes = nodes_with(scores())
    same = asyncio.run(postprocessor().apostprocess_nodes(nodes))
    assert same == postprocessor().postprocess_nodes(nodes)


def test_the_postprocessor_can_be_stored() -> None:
    made = postprocessor(evalue=0.1, transform="auto", max_k=9)
    stored = made.to_dict()
    assert stored["class_name"] == "ParetoCutPostprocessor"
    restored = type(made).from_dict(stored)
    assert restored.to_dict() == stored
    assert (
        restored.keeping.chosen.truncator.get_params() == made.keeping.chosen.truncator.get_params()
    )


def test_a_truncator_is_stored_by_its_path_and_not_lost(tmp_path: Path) -> None:
    # It was left out, so that what came back decided otherwise.
    pc.truncators.FixedK(3).save(tmp_path / "three.json")
    made = postprocessor(truncator=tmp_path / "three.json")
    restored = type(made).from_dict(made.to_dict())
    assert len(restored.postprocess_nodes(nodes_with(scores()))) == 3
    made = postprocessor(truncator=pc.truncators.FixedK(3))
    restored = type(made).from_dict(json.loads(json.dumps(made.to_dict())))
    assert len(restored.postprocess_nodes(nodes_with(scores()))) == 3
    with pytest.raises(ValueError, match="for the component to be stored, got"):
        postprocessor(count_tokens=len).to_dict()


def test_nodes_stay_within_a_budget_of_tokens() -> None:
    values = scores()
    kept = postprocessor(evalue=0.05, max_tokens=4).postprocess_nodes(nodes_with(values))
    # "text 17" with its metadata "page: 17" is what a prompt would hold.
    assert len(kept) == kept.cut.k < 3
    assert "all that fit into 4 tokens; otherwise kept 3 of 100" in kept.cut.reason
    one = postprocessor(evalue=0.05, max_tokens=2, count_tokens=lambda text: 1)
    assert len(one.postprocess_nodes(nodes_with(values))) == 2


def test_a_users_own_key_stays_and_stays_visible() -> None:
    nodes = nodes_with([0.95, 0.93, *sorted(scores()[:60], reverse=True)])
    nodes[0].node.metadata["paretocut"] = "mine"
    kept = postprocessor(min_k=2, max_k=2).postprocess_nodes(nodes)
    mode = importorskip("llama_index.core.schema").MetadataMode
    mine = next(node for node in kept if node.node_id == "d0")
    assert mine.metadata["paretocut"] == "mine"
    assert "mine" in mine.node.get_content(mode.LLM)
    again = postprocessor().postprocess_nodes(postprocessor().postprocess_nodes(kept))
    for node in again:
        assert node.node.excluded_llm_metadata_keys.count("paretocut") <= 1


def test_what_is_no_node_or_index_is_refused() -> None:
    schema = importorskip("llama_index.core.schema")
    from paretocut.adapters.llama_index import ParetoCutRetriever

    with pytest.raises(InvalidParameterError, match="a result must have one score, got none"):
        postprocessor().postprocess_nodes([schema.TextNode(text="no score")])
    with pytest.raises(InvalidParameterError, match="index must have as_retriever"):
        ParetoCutRetriever(index_of(5).as_retriever())
    with pytest.raises(InvalidScoresError, match="results must have scores"):
        postprocessor().postprocess_nodes(nodes_with([None, None]))


@pytest.mark.parametrize("options", [{}, {"evalue": 1e-300}], ids=["some", "none"])
def test_retriever_has_the_decision_also_when_nothing_is_kept(options: dict[str, Any]) -> None:
    # LlamaIndex rebuilt the list, which lost the decision.
    from paretocut.adapters.llama_index import ParetoCutRetriever

    retriever = ParetoCutRetriever(index_of(500), **options)
    for kept in (retriever.retrieve(question()), asyncio.run(retriever.aretrieve(question()))):
        assert kept.cut.k == len(kept) == (0 if options else 4)
        assert kept.cut.reason.startswith("kept none of 200" if options else "kept 4 of 200")


def test_an_index_that_brings_far_less_than_asked_is_warned_of() -> None:
    from paretocut.adapters.llama_index import ParetoCutRetriever

    with pytest.warns(ScoresWarning, match="returned 30 of the 200 results asked for"):
        ParetoCutRetriever(index_of(30)).retrieve(question())


def test_a_filter_that_leaves_little_is_no_fault_of_the_index() -> None:
    # LangChain's retriever knew that, and this one warned.
    from paretocut.adapters.llama_index import ParetoCutRetriever

    stores = importorskip("llama_index.core.vector_stores")
    first = stores.MetadataFilter(key="page", value=30, operator=stores.FilterOperator.LT)
    filters = {"filters": stores.MetadataFilters(filters=[first])}
    kept = ParetoCutRetriever(index_of(500), retriever_kwargs=filters).retrieve(question())
    assert len(kept) >= 1  # and no warning


def test_options_are_checked_when_the_postprocessor_is_made() -> None:
    with pytest.raises(ValueError, match="fdr must be in"):
        postprocessor(fdr=1.5)
    with pytest.raises(ValueError, match="Extra inputs are not permitted"):
        postprocessor(e_value=0.05)


@pytest.mark.filterwarnings("ignore::paretocut.adapters.ScoresWarning")
@pytest.mark.parametrize("count", [0, 1, 30, 500])
def test_retriever_fetches_deep_and_keeps_what_the_engine_says(count: int) -> None:
    index = index_of(count)
    from paretocut.adapters.llama_index import ParetoCutRetriever

    found = index.as_retriever(similarity_top_k=200).retrieve(question())
    assert len(found) == min(count, 200)
    retriever = ParetoCutRetriever(index, evalue=0.05)
    kept = retriever.retrieve(question())
    k = pc.cut([node.score for node in found], evalue=0.05).k
    assert [node.node_id for node in kept] == [node.node_id for node in found[:k]]
    assert count < 500 or k == 4
    assert [
        (node.node_id, node.score) for node in asyncio.run(retriever.aretrieve(question()))
    ] == [(node.node_id, node.score) for node in kept]


def test_retriever_takes_its_depth_and_arguments_of_the_index() -> None:
    index = index_of(500)
    from paretocut.adapters.llama_index import ParetoCutRetriever

    stores = importorskip("llama_index.core.vector_stores")
    first = stores.MetadataFilter(key="page", value=100, operator=stores.FilterOperator.LT)
    retriever = ParetoCutRetriever(
        index,
        fetch_k=30,
        min_k=30,
        retriever_kwargs={"filters": stores.MetadataFilters(filters=[first])},
    )
    kept = retriever.retrieve(question())
    assert len(kept) == 30
    assert {int(node.node_id[1:]) for node in kept} <= set(range(100))


def test_retriever_works_in_a_query_engine() -> None:
    index = index_of(500)
    engines = importorskip("llama_index.core.query_engine")
    llm = importorskip("llama_index.core.llms").MockLLM()
    from paretocut.adapters.llama_index import ParetoCutRetriever

    engine = engines.RetrieverQueryEngine.from_args(ParetoCutRetriever(index, evalue=0.05), llm=llm)
    answer = engine.query(question())
    assert {node.node_id for node in answer.source_nodes} == {"d0", "d1", "d2", "d3"}
