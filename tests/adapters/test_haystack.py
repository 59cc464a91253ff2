"""Haystack: the component alone, in pipelines, and through YAML."""

from __future__ import annotations

import asyncio
import copy
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


def component(**options: Any) -> Any:
    importorskip("haystack")
    from paretocut.adapters.haystack import ParetoCut

    return ParetoCut(**options)


def scores(seed: int = 2) -> list[float]:
    generator = np.random.default_rng(seed)
    noise = generator.exponential(0.05, size=97)
    return generator.permutation([0.9, 0.85, 0.8, *noise]).tolist()  # type: ignore[no-any-return]


def documents_with(values: list[float | None]) -> list[Any]:
    document = importorskip("haystack").Document
    return [
        document(content=f"text {i}", meta={"page": i}, score=value)
        for i, value in enumerate(values)
    ]


@pytest.mark.parametrize("options", [{}, {"evalue": 0.05}, {"fdr": 0.1, "max_k": 2}], ids=str)
def test_keeps_exactly_what_the_engine_says_in_the_order_it_came(options: dict[str, Any]) -> None:
    values = scores()
    documents = documents_with(values)
    before = copy.deepcopy(documents)
    result = component(**options).run(documents)
    fit = pc.fit_tail(values)
    cut = decision(values, **options)
    expected = sorted(cut.indices.tolist())
    kept = result["documents"]
    assert [document.id for document in kept] == [documents[i].id for i in expected]
    assert [document.meta["page"] for document in kept] == expected
    marks = [document.meta["paretocut"] for document in kept]
    assert [mark["score"] for mark in marks] == [values[i] for i in expected]
    if options:  # a rule on tails
        assert [mark["surprise"] for mark in marks] == fit.surprise[expected].tolist()
        assert [mark["pvalue"] for mark in marks] == fit.pvalues[expected].tolist()
        assert [mark["evalue"] for mark in marks] == fit.evalues[expected].tolist()
    else:
        assert not any("surprise" in mark for mark in marks)
    assert {mark["reason"] for mark in marks} == {cut.reason}
    assert result["decision"] == cut.to_dict()
    assert documents == before


def test_documents_without_scores_are_not_kept_and_warned_of() -> None:
    values: list[float | None] = [0.9, None, *scores()[:50]]
    with pytest.warns(ScoresWarning, match="1 of 52 results have no score, and are not kept"):
        kept = component().run(documents_with(values))["documents"]
    assert len(kept) == pc.cut([value for value in values if value is not None]).k


@pytest.mark.parametrize("count", [0, 1, 3, 20])
def test_few_documents_are_fine(count: int) -> None:
    values = sorted(scores()[:count], reverse=True)
    result = component(min_k=2).run(documents_with(values))
    assert len(result["documents"]) == pc.cut(values, min_k=2).k


def test_the_wrong_direction_is_refused() -> None:
    distances = sorted(scores())
    with pytest.raises(InvalidScoresError, match="ParetoCut: scores must not come worst first"):
        component().run(documents_with(distances))
    kept = component(higher_is_better=False).run(documents_with(distances))["documents"]
    assert len(kept) == pc.cut(distances, higher_is_better=False).k
    with pytest.raises(InvalidScoresError, match="must not come worst first"):
        component(higher_is_better=False).run(documents_with(distances[::-1]))


def test_options_are_checked_when_the_component_is_made() -> None:
    with pytest.raises(InvalidParameterError, match="evalue must be in"):
        component(evalue=-1.0)
    with pytest.raises(InvalidParameterError, match="max_tokens must be an integer of at least 1"):
        component(max_tokens=0)


def test_saturated_scores_are_warned_of() -> None:
    probabilities = [0.9991, 0.9989, *(1e-3 * np.random.default_rng(0).random(98)).tolist()]
    with pytest.warns(ScoresWarning, match="piled up at 0 or 1"):
        component(alpha=0.05).run(documents_with(probabilities))


def pipeline(**options: Any) -> Any:
    haystack = importorskip("haystack")
    base, _ = vectors(2000)
    store = importorskip("haystack.document_stores.in_memory").InMemoryDocumentStore(
        embedding_similarity_function="cosine"
    )
    store.write_documents(
        [
            haystack.Document(id=f"d{i}", content=f"text {i}", embedding=vector.tolist())
            for i, vector in enumerate(base)
        ]
    )
    retrievers = importorskip("haystack.components.retrievers.in_memory")
    made = haystack.Pipeline()
    made.add_component("retriever", retrievers.InMemoryEmbeddingRetriever(store, top_k=200))
    made.add_component("cut", component(**options))
    made.connect("retriever.documents", "cut.documents")
    return made


def test_a_pipeline_keeps_what_the_engine_says() -> None:
    _, query = vectors(2000)
    data = {"retriever": {"query_embedding": query.tolist()}}
    made = pipeline(evalue=0.05)
    result = made.run(data, include_outputs_from={"retriever"})
    found = result["retriever"]["documents"]
    assert len(found) == 200
    cut = pc.cut([document.score for document in found], evalue=0.05)
    assert [document.id for document in result["cut"]["documents"]] == [
        found[i].id for i in cut.indices
    ]
    assert result["cut"]["decision"]["reason"] == cut.reason
    assert {document.id for document in result["cut"]["documents"]} == {"d0", "d1", "d2", "d3"}
    again = asyncio.run(made.run_async(data))
    assert again["cut"] == result["cut"]


def test_a_pipeline_survives_yaml() -> None:
    haystack = importorskip("haystack")
    made = haystack.Pipeline()
    made.add_component("cut", component(fdr=0.2, min_k=1, transform="auto"))
    text = made.dumps()
    assert "paretocut.adapters.haystack.ParetoCut" in text
    restored = haystack.Pipeline.loads(text, allowed_modules=["paretocut.*"])
    cut = restored.get_component("cut")
    assert cut.options == {"fdr": 0.2, "min_k": 1, "transform": "auto"}
    assert cut.higher_is_better is True
    documents = documents_with(scores())
    assert restored.run({"cut": {"documents": documents}}) == made.run(
        {"cut": {"documents": documents}}
    )


@pytest.mark.parametrize("whole", [False, True])
def test_a_truncator_is_stored_by_its_path_or_whole(tmp_path: Path, whole: bool) -> None:
    haystack = importorskip("haystack")
    three = pc.truncators.FixedK(3)
    three.save(tmp_path / "three.json")
    given = three if whole else tmp_path / "three.json"
    made = haystack.Pipeline()
    made.add_component("cut", component(truncator=given, max_tokens=1000))
    restored = haystack.Pipeline.loads(made.dumps(), allowed_modules=["paretocut.*"])
    found = restored.run({"cut": {"documents": documents_with(scores())}})["cut"]
    assert len(found["documents"]) == found["decision"]["k"] == 3
    with pytest.raises(InvalidParameterError, match="count_tokens must be None"):
        component(count_tokens=len).to_dict()


def test_top_k_at_run_time_bounds_the_decision() -> None:
    documents = documents_with(scores())
    found = component(min_k=5, max_k=9).run(documents, top_k=2)
    assert len(found["documents"]) == 2
    assert found["decision"]["n"] == len(documents)
    assert len(component(min_k=5).run(documents, top_k=2)["documents"]) == 2
    with pytest.raises(InvalidParameterError, match="ParetoCut: top_k must be"):
        component().run(documents, top_k=0)


def test_documents_stay_within_a_budget_of_tokens() -> None:
    documents = documents_with(scores())
    found = component(evalue=0.05, max_tokens=2, count_tokens=lambda text: 1).run(documents)
    assert len(found["documents"]) == found["decision"]["k"] == 2
    assert found["decision"]["reason"].startswith(
        "kept 2 of 100, all that fit into 2 tokens; otherwise kept 3 of 100: "
    )
    assert [document.meta["paretocut"]["k"] for document in found["documents"]] == [2, 2]
    best = sorted((document.score for document in documents), reverse=True)[:2]
    assert sorted((document.score for document in found["documents"]), reverse=True) == best


def test_the_decision_says_when_nothing_is_kept() -> None:
    found = component(evalue=1e-300).run(documents_with(scores()))
    assert found["documents"] == []
    assert found["decision"]["reason"].startswith("kept none of 100")


def test_a_users_own_key_stays() -> None:
    documents = documents_with([0.95, 0.93, *sorted(scores()[:60], reverse=True)])
    documents[0].meta["paretocut"] = 7
    kept = component(min_k=2, max_k=2).run(documents)["documents"]
    assert {document.meta["page"]: document.meta["paretocut"] for document in kept}[0] == 7


def test_what_is_no_document_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match="a result must have one score, got none"):
        component().run(["text"])
    with pytest.raises(InvalidScoresError, match="ParetoCut: results must have scores"):
        component().run(documents_with([None, None]))
