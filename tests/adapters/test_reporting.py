"""Decisions appear in the log, on the OpenTelemetry span and in metadata."""

from __future__ import annotations

import logging
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support import importorskip

import paretocut as pc
from paretocut.adapters import ScoresWarning
from paretocut.adapters.keeping import estimate_tokens
from paretocut.errors import InvalidParameterError

NOISE = np.sort(np.random.default_rng(0).exponential(0.05, size=98))[::-1].tolist()
SCORES = [0.9, 0.85, *NOISE]
FALLING = [{"_id": str(i), "_score": score} for i, score in enumerate(SCORES)]


def test_every_decision_is_one_line_on_the_logger(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="paretocut")
    kept = pc.keep(FALLING)
    assert caplog.messages == [f"keep: {kept.cut.reason}"]
    caplog.clear()
    labels = np.zeros((2, 100), dtype=np.uint64)
    found = pc.keep((labels, -np.array([SCORES, NOISE[:1] * 2 + NOISE])))
    lines = zip(caplog.messages, found.cuts, strict=True)
    assert all(line.startswith(f"keep: {cut.reason}") for line, cut in lines)


def test_warnings_stand_behind_the_line(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="paretocut")
    with pytest.warns(UserWarning, match="fewer than 50"):
        pc.keep(list(enumerate(SCORES[:20])), alpha=0.05)
    (line,) = caplog.messages
    assert line.endswith("]")
    assert "[shallow_list" in line


def test_nothing_is_logged_unless_asked_for(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="paretocut")
    pc.keep({"hits": {"hits": FALLING}})
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
        kept = pc.keep(FALLING)
    assert attributes(spans) == {
        "paretocut.k": 2,
        "paretocut.n": 100,
        "paretocut.reason": kept.cut.reason,
        "paretocut.warnings": (),
        "paretocut.nearest": (2, 3, 4),
    }


def test_a_span_of_many_lists_has_their_sums(spans: Any) -> None:
    with spans.tracer.start_as_current_span("search"):
        found = pc.keep((np.zeros((2, 100), dtype=np.uint64), -np.array([SCORES, SCORES])))
    assert found.cuts.k.tolist() == [2, 2]
    found = attributes(spans)
    assert found["paretocut.k"] == 4
    assert found["paretocut.n"] == 200
    assert found["paretocut.reason"] == "kept 4 of 200 results of 2 lists"


def test_one_query_of_a_batch_store_is_reported_whole(spans: Any) -> None:
    with spans.tracer.start_as_current_span("search"):
        found = pc.keep((np.array([SCORES]), np.arange(100)[None]))
    assert attributes(spans)["paretocut.reason"] == found.cuts[0].reason


def test_outside_a_span_or_without_the_package_nothing_happens() -> None:
    code = (
        "import sys; sys.modules['opentelemetry'] = None\n"
        "import paretocut as pc\n"
        "print(len(pc.keep([{'_score': 1 / (1 + i)} for i in range(9)])))\n"
        "print('opentelemetry.trace' in sys.modules)"
    )
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True
    )
    assert run.stdout.split()[1:] == ["False"], run.stderr
    pc.keep(FALLING)


def test_the_line_and_the_span_speak_of_the_budget(
    spans: Any, caplog: pytest.LogCaptureFixture
) -> None:
    # They once came before the budget, so that they disagreed with what came back.
    caplog.set_level(logging.DEBUG, logger="paretocut")
    answer = {
        "ids": [list(range(100))],
        "documents": [[f"text {i}" for i in range(100)]],
        "distances": [[1 - score for score in SCORES]],
    }
    with spans.tracer.start_as_current_span("search"):
        kept, cuts = pc.keep(answer, max_tokens=7, count_tokens=len, explain=True)
    assert (kept["ids"], kept["documents"]) == ([[0]], [["text 0"]])
    reason = cuts[0].reason
    assert cuts.k.tolist() == [1]
    assert reason.startswith("kept 1 of 100, all that fit into 7 tokens; otherwise kept 2")
    assert caplog.messages == [f"keep: {reason}"]
    assert attributes(spans)["paretocut.reason"] == reason
    assert attributes(spans)["paretocut.k"] == 1


def test_budgets_need_texts_and_count_each_query_alone() -> None:
    distances = [[1 - score for score in SCORES]] * 2
    answer: dict[str, Any] = {"ids": [list(range(100))] * 2, "distances": distances}
    with pytest.raises(InvalidParameterError, match=r"text= must say where the text of a result"):
        pc.keep(answer, max_tokens=5)
    assert len(pc.keep(answer, max_tokens=5, text=lambda result: "four")["ids"][0]) == 2
    answer["documents"] = [["four" * 2] * 100, ["four"] * 100]
    cut = pc.keep(answer, max_tokens=3)
    assert [len(row) for row in cut["ids"]] == [1, 2]  # 2 tokens each; 1 each
    assert estimate_tokens("four" * 2) == 2
    with pytest.raises(InvalidParameterError, match="max_tokens must be"):
        pc.keep(answer, max_tokens=0)
    with pytest.raises(InvalidParameterError, match="count_tokens must come with max_tokens"):
        pc.keep([("a", 0.9)], count_tokens=len)
    with pytest.raises(InvalidParameterError, match="count_tokens must be a function"):
        pc.keep(answer, max_tokens=5, count_tokens=4)  # type: ignore[arg-type]


def test_a_budget_takes_the_best_results_that_fit() -> None:
    texts = ["a" * 50, "aa", "a" * 9, "a", "a"]
    hits = [{"text": t, "score": s} for t, s in zip(texts, [0.9, 0.9, 0.9, 0.9, 0.1], strict=True)]
    kept = pc.keep(hits, max_tokens=10, count_tokens=len)
    assert [hit["text"] for hit in kept] == ["aa", "a"]
    assert kept.cut.indices.tolist() == [1, 3]
    assert kept.cut.of(hits) == kept
    assert kept.cut.reason.startswith("kept 2 of 5, all that fit into 10 tokens; otherwise kept 4")
    with pytest.raises(ValueError, match="another order"):
        hits[: kept.cut]  # what is left is not the head of the list


def test_a_list_emptied_by_the_budget_is_not_one_without_an_answer() -> None:
    hits = [{"text": "a" * 50, "score": 0.9}, {"text": "b", "score": 0.1}]
    with pytest.warns(ScoresWarning, match="not one of them fits into max_tokens"):
        kept = pc.keep(hits, max_tokens=3, count_tokens=len)
    assert kept == []
    assert kept.cut.warnings == ("over_budget",)
    assert kept.cut.reason.startswith(
        "kept none of 2, because not one of the best 1 fits into 3 tokens; otherwise kept 1 of 2"
    )
    ends = np.random.default_rng(0).uniform(0.5, 2, 60)
    shut = pc.truncators.Gated(pc.truncators.FixedK(1), pc.Background.fit(ends))
    nothing = pc.keep(hits, max_tokens=3, count_tokens=len, truncator=shut)
    assert nothing == []
    assert "over_budget" not in nothing.cut.warnings
