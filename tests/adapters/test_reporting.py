"""Decisions appear in the log, on the OpenTelemetry span and in metadata."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support import importorskip

import paretocut as pc
from paretocut.adapters import chroma, elasticsearch, faiss, hnswlib, qdrant, usearch
from paretocut.adapters import duckdb as of_duckdb
from paretocut.adapters import lancedb as of_lancedb
from paretocut.adapters import pgvector as of_pgvector
from paretocut.adapters import sentence_transformers as of_sentences
from paretocut.adapters.deciding import cut_each, cut_scored
from paretocut.adapters.tokens import estimate_tokens
from paretocut.errors import InvalidParameterError, InvalidScoresError
from paretocut.truncators.choose import Chosen

NOISE = np.sort(np.random.default_rng(0).exponential(0.05, size=98))[::-1].tolist()
SCORES = [0.9, 0.85, *NOISE]
FALLING = [{"_id": str(i), "_score": score} for i, score in enumerate(SCORES)]


def test_every_decision_is_one_line_on_the_logger(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="paretocut")
    kept = elasticsearch.cut_search({"hits": {"hits": FALLING}})["hits"]["hits"]
    assert caplog.messages == [f"cut_search: {kept.cut.reason}"]
    caplog.clear()
    found = hnswlib.cut_knn_query(np.zeros((2, 100)), -np.array([SCORES, NOISE[:1] * 2 + NOISE]))
    lines = zip(caplog.messages, found.cuts, strict=True)
    assert all(line.startswith(f"cut_knn_query: {cut.reason}") for line, cut in lines)


def test_warnings_stand_behind_the_line(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="paretocut")
    with pytest.warns(UserWarning, match="fewer than 50"):
        of_pgvector.cut_rows(list(enumerate(SCORES[:20])), 1, higher_is_better=True, alpha=0.05)
    (line,) = caplog.messages
    assert line.endswith("]")
    assert "[shallow_list" in line


def test_nothing_is_logged_unless_asked_for(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="paretocut")
    elasticsearch.cut_search({"hits": {"hits": FALLING}})
    assert caplog.messages == []


@pytest.fixture
def spans() -> Any:
    """Return a tracer whose finished spans can be read."""
    importorskip("opentelemetry.sdk")
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    yield SimpleNamespace(tracer=provider.get_tracer("tests"), finished=exporter)
    provider.shutdown()


def attributes(spans: Any) -> dict[str, Any]:
    (span,) = spans.finished.get_finished_spans()
    return {name: value for name, value in span.attributes.items() if name.startswith("paretocut.")}


def test_the_current_span_says_what_was_decided(spans: Any) -> None:
    with spans.tracer.start_as_current_span("search"):
        kept = elasticsearch.cut_search({"hits": {"hits": FALLING}})["hits"]["hits"]
    assert attributes(spans) == {
        "paretocut.k": 2,
        "paretocut.n": 100,
        "paretocut.reason": kept.cut.reason,
        "paretocut.warnings": (),
    }


def test_a_span_of_many_lists_has_their_sums(spans: Any) -> None:
    with spans.tracer.start_as_current_span("search"):
        found = hnswlib.cut_knn_query(np.zeros((2, 100)), -np.array([SCORES, SCORES]))
    assert found.cuts.k.tolist() == [2, 2]
    found = attributes(spans)
    assert found["paretocut.k"] == 4
    assert found["paretocut.n"] == 200
    assert found["paretocut.reason"] == "kept 4 of 200 results of 2 lists"


def test_one_query_of_a_batch_store_is_reported_whole(spans: Any) -> None:
    with spans.tracer.start_as_current_span("search"):
        found = faiss.cut_search(np.array([SCORES]), np.arange(100)[None], higher_is_better=True)
    assert attributes(spans)["paretocut.reason"] == found.cuts[0].reason


def test_outside_a_span_or_without_the_package_nothing_happens() -> None:
    code = (
        "import sys; sys.modules['opentelemetry'] = None\n"
        "from paretocut.adapters.elasticsearch import cut_search\n"
        "hits = [{'_score': 1 / (1 + i)} for i in range(9)]\n"
        "print(len(cut_search({'hits': {'hits': hits}})['hits']['hits']))\n"
        "print('opentelemetry.trace' in sys.modules)"
    )
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True
    )
    assert run.stdout.split()[1:] == ["False"], run.stderr
    cut_scored(SCORES, Chosen.of("test", {}), who="test")


def test_the_line_and_the_span_speak_of_the_budget(
    spans: Any, caplog: pytest.LogCaptureFixture
) -> None:
    # They once came before the budget, so that they disagreed with what came back.
    caplog.set_level(logging.DEBUG, logger="paretocut")
    texts = [f"text {i}" for i in range(100)]
    answer = {
        "ids": [list(range(100))],
        "documents": [texts],
        "distances": [[1 - score for score in SCORES]],
    }
    with spans.tracer.start_as_current_span("search"):
        cut = chroma.cut_query(answer, max_tokens=7, count_tokens=len)
    assert cut["ids"] == [[0]]
    (kept,) = cut["documents"]
    assert kept == ["text 0"]
    assert kept.cut.k == 1
    assert kept.cut.reason.startswith("kept 1 of 100, all that fit into 7 tokens; otherwise kept 2")
    assert caplog.messages == [f"cut_query: {kept.cut.reason}"]
    assert attributes(spans)["paretocut.reason"] == kept.cut.reason
    assert attributes(spans)["paretocut.k"] == 1


def test_chroma_budgets_need_documents_and_count_each_query_alone() -> None:
    distances = [[1 - score for score in SCORES]] * 2
    answer: dict[str, Any] = {"ids": [list(range(100))] * 2, "distances": distances}
    with pytest.raises(InvalidScoresError, match="must have documents for max_tokens"):
        chroma.cut_query(answer, max_tokens=5)
    answer["documents"] = [["four" * 2] * 100, ["four", None, *["four"] * 98]]
    cut = chroma.cut_query(answer, max_tokens=3)
    assert [len(row) for row in cut["ids"]] == [1, 2]  # 2 tokens each; 1 and none
    assert estimate_tokens("four" * 2) == 2
    with pytest.raises(InvalidParameterError, match="max_tokens must be"):
        chroma.cut_query(answer, max_tokens=0)
    with pytest.raises(InvalidParameterError, match="count_tokens must be a function"):
        chroma.cut_query(answer, max_tokens=5, count_tokens=4)  # type: ignore[arg-type]


def test_a_budget_takes_the_longest_run_of_results_from_the_best_on() -> None:
    # The 2nd is too long: the 3rd would fit, but a run has no holes.
    texts = ["aa", "a" * 50, "a", "a"]
    answer = {"ids": [[0, 1, 2, 3]], "documents": [texts], "distances": [[0.1, 0.1, 0.1, 0.9]]}
    cut = chroma.cut_query(answer, max_tokens=10, count_tokens=len)
    assert cut["ids"] == [[0]]


def test_hits_and_tables_carry_the_decision_but_never_over_a_users_key() -> None:
    hits = [{"corpus_id": i, "score": score} for i, score in enumerate(SCORES)]
    hits[0]["paretocut"] = {"reason": "mine"}
    (kept,) = of_sentences.cut_semantic_search([hits])
    assert kept[0]["paretocut"] == {"reason": "mine"}
    mark = kept[1]["paretocut"]
    fit = pc.fit_tail(SCORES)
    assert mark == {
        "score": 0.85,
        "surprise": fit.surprise[1],
        "pvalue": fit.pvalues[1],
        "evalue": fit.evalues[1],
        "k": 2,
        "n": 100,
        "reason": kept.cut.reason,
        "warnings": list(kept.cut.warnings),
    }
    json.dumps(mark)
    pa = importorskip("pyarrow")
    table = pa.table({"_score": SCORES})
    decision = json.loads(of_lancedb.cut_arrow(table).schema.metadata[b"paretocut"])
    assert decision["k"] == 2
    again = of_lancedb.cut_arrow(of_lancedb.cut_arrow(table), max_k=1).schema.metadata
    assert json.loads(again[b"paretocut"])["n"] == 2
    for own in (b"mine", b"7", b'{"reason": 1}'):
        mine = table.replace_schema_metadata({"paretocut": own, "other": "x"})
        assert of_lancedb.cut_arrow(mine).schema.metadata == {b"paretocut": own, b"other": b"x"}


WRONG: list[Any] = [None, 5, "text", [5], [None], {"a": 1}, object()]


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: type(wrong).__name__)
def test_wrong_answers_give_clear_errors(wrong: Any) -> None:
    calls: list[Any] = [
        lambda: chroma.cut_query(wrong),
        lambda: (
            chroma.cut_query({"ids": [], "distances": wrong, "documents": []})
            if wrong is not None
            else chroma.cut_query({})
        ),
        lambda: elasticsearch.cut_search(wrong),
        lambda: elasticsearch.cut_search({"hits": {"hits": [wrong]}}),
        lambda: faiss.cut_search(wrong, wrong, higher_is_better=True),
        lambda: hnswlib.cut_knn_query(wrong, wrong),
        lambda: of_lancedb.cut_list(wrong),
        lambda: of_lancedb.cut_arrow(wrong),
        lambda: of_pgvector.cut_rows(wrong, 1),
        lambda: of_duckdb.cut_rows(wrong, 0, higher_is_better=True),
        lambda: of_duckdb.cut_arrow(wrong, "score", higher_is_better=True),
        lambda: qdrant.cut_query_points(wrong, higher_is_better=True),
        lambda: usearch.cut_matches(wrong),
        lambda: usearch.cut_batch_matches(wrong),
        lambda: of_sentences.cut_semantic_search(wrong),
        lambda: of_sentences.cut_rank(wrong),
    ]
    for call in calls:
        with pytest.raises((InvalidParameterError, InvalidScoresError)) as caught:
            call()
        assert str(caught.value).startswith("cut_")
        assert "got" in str(caught.value)


@pytest.mark.parametrize("scores", [["high", "low"], [0.5, "low"], [[1.0], [2.0]]], ids=repr)
def test_scores_that_are_no_numbers_are_named(scores: list[Any]) -> None:
    rows = list(enumerate(scores))
    hits = [{"_score": score} for score in scores]
    for call in (
        lambda: of_pgvector.cut_rows(rows, 1),
        lambda: elasticsearch.cut_search({"hits": {"hits": hits}}),
        lambda: of_lancedb.cut_list([{"_score": score} for score in scores]),
        lambda: chroma.cut_query({"ids": [scores], "distances": [scores]}),
    ):
        with pytest.raises(InvalidScoresError, match=r"^cut_\w+: scores must be"):
            call()


def test_cuts_of_many_point_into_the_callers_order() -> None:
    order = np.random.default_rng(1).permutation(len(SCORES))
    shuffled = np.array(SCORES)[order]
    (decision,), _ = cut_each([shuffled], Chosen.of("test", {}), who="test", best_first=False)
    assert sorted(order[decision.cut.indices].tolist()) == [0, 1]
    assert decision.cut.surprise.tolist() == pc.fit_tail(shuffled).surprise.tolist()


@pytest.mark.heavy
def test_usearch_is_warned_of_and_batches_differ_from_single_queries() -> None:
    index_module = importorskip("usearch.index")
    index = index_module.Index(ndim=8, metric="cos")
    base = np.random.default_rng(0).normal(size=(60, 8)).astype(np.float32)
    index.add(np.arange(60), base)
    single, batch = index.search(base[0], 200), index.search(base[:2], 200)
    with pytest.warns(UserWarning, match=r"returned 60 of the 200 .*expansion_search"):
        usearch.cut_matches(single, asked=200)
    with pytest.warns(UserWarning, match=r"returned 60 of the 200 .*expansion_search"):
        found = usearch.cut_batch_matches(batch)
    assert len(found.cuts) == 2
    with pytest.raises(InvalidParameterError, match=r"must be usearch.index.Matches, got Batch"):
        usearch.cut_matches(batch)
    with pytest.raises(InvalidParameterError, match=r"usearch.index.BatchMatches, got Matches"):
        usearch.cut_batch_matches(single)


@pytest.mark.heavy
def test_qdrant_points_without_scores_are_refused() -> None:
    models = importorskip("qdrant_client").models
    points = SimpleNamespace(points=[models.Record(id=1)], model_copy=None)
    with pytest.raises(InvalidParameterError, match="results must be points with a score"):
        qdrant.cut_query_points(points, higher_is_better=True)
