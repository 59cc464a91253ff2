"""Spark on a real cluster of two worker processes, one of which is killed in the middle."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from columns import OPTIONS, lists_of_scores, row_table, truncators_of
from frames import CASES, documented, kept_rows
from processes import ancestors, command, descendants, wait_for
from support import importorskip, missing

import paretocut as pc

pytestmark = [
    pytest.mark.heavy,
    # Of short lists, by the rules; workers print them.
    pytest.mark.filterwarnings("ignore::paretocut.adapters.ScoresWarning"),
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # sockets of Spark's own
]

EXECUTOR = "CoarseGrainedExecutorBackend"
LISTS = lists_of_scores()


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    importorskip("pyspark")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        missing("Spark needs Java, and there is none")
    from pyspark.sql import SparkSession

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        builder = SparkSession.builder.master("local-cluster[2,1,1024]")
        settings = {
            "spark.ui.enabled": "false",
            "spark.driver.memory": "512m",
            "spark.executor.memory": "512m",
            "spark.sql.shuffle.partitions": "2",
            "spark.ui.showConsoleProgress": "false",
            "spark.sql.execution.arrow.maxRecordsPerBatch": "3",  # to have more batches than one
        }
        for name, value in settings.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        yield session
        session.stop()


ROWS = row_table(LISTS)


@pytest.fixture(scope="module")
def rows(spark: Any) -> Any:
    values = list(zip(*ROWS.values(), strict=True))
    frame = spark.createDataFrame(values, "query_id string, position int, score double")
    return frame.repartition(2)


def executors() -> list[int]:
    return [pid for pid in descendants(os.getpid()) if EXECUTOR in command(pid)]


def plain(frame: Any) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, frame.collect()))


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_the_rows_are_those_of_the_engine(rows: Any, options: dict[str, Any]) -> None:
    kept = pc.keep(rows, query="query_id", score="score", **options)
    assert kept.schema == rows.schema
    assert plain(kept) == sorted(kept_rows(LISTS, **options))


def test_what_comes_later_is_done_later_and_only_two_columns_cross(rows: Any) -> None:
    kept = pc.keep(rows, query="query_id", score="score", evalue=0.05)
    wanted = kept_rows(LISTS, evalue=0.05)
    low = kept.where("score < 1.01 and query_id <> 'q0'")
    assert plain(low) == sorted(row for row in wanted if row[2] < 1.01 and row[0] != "q0")
    counts = {row.query_id: row["count"] for row in kept.groupBy("query_id").count().collect()}
    assert sum(counts.values()) == len(wanted)
    plan = kept._jdf.queryExecution().executedPlan().toString()
    (line,) = (line for line in plan.splitlines() if "ArrowEvalPython" in line)
    assert "position" not in line


@pytest.mark.parametrize("case", CASES)
def test_the_table_of_the_page_says_what_becomes_of_a_column(spark: Any, case: str) -> None:
    import pyarrow as pa

    says, one = documented()[case]["Spark"], CASES[case]
    if says == "no such type":
        return
    frame = spark.createDataFrame(pa.table({"query": one.query(), "score": one.score()}))
    if says.startswith("error"):
        column = "query" if case.startswith("queries") else "score"
        with pytest.raises(Exception, match=f"column '{column}' must hold"):
            pc.keep(frame, query="query", score="score").collect()
    else:
        kept = pc.keep(frame, query="query", score="score")
        assert one.read(kept.toArrow()) == one.want


def test_a_bad_list_need_not_end_the_job(spark: Any) -> None:
    rows = [("a", 1.0), ("b", float("inf")), ("b", 1.0), ("a", 0.1)]
    frame = spark.createDataFrame(rows, "query_id string, score double")
    kept = pc.keep(frame, query="query_id", score="score", on_error="drop")
    assert plain(kept) == [("a", 1.0)]


def test_columns_explain_and_workers_get_the_truncator(rows: Any, tmp_path: Path) -> None:
    asked = ["k", "n", "surprise", "reason", "warnings"]
    for truncator in truncators_of(LISTS):
        truncator.save(tmp_path / "saved.json")
        for given in (truncator, tmp_path / "saved.json"):
            kept = pc.keep(
                rows, query="query_id", score="score", truncator=given, explain=asked
            ).collect()
            assert len(kept) == sum(truncator.cut(scores).k for scores in LISTS if scores)
            for row in kept:
                cut = truncator.cut(LISTS[int(row.query_id[1:])])
                assert (row.k, row.n, row.reason) == (cut.k, cut.n, cut.reason)
                assert row.surprise == cut.surprise[row.position]
                assert row.warnings == ", ".join(cut.warnings)


def test_bad_calls_are_refused_on_the_driver(rows: Any) -> None:
    refused = pc.errors.InvalidParameterError
    with pytest.raises(refused, match="score must name one column"):
        pc.keep(rows, query="query_id", score="x")
    with pytest.raises(refused, match="query must name a column, because"):
        pc.keep(rows, score="score")
    with pytest.raises(refused, match=r"explain must name columns.*pyspark.*got True"):
        pc.keep(rows, query="query_id", score="score", explain=True)
    with pytest.raises(refused, match="at most one of truncator"):
        pc.keep(rows, score="score", truncator=pc.truncators.FixedK(1), alpha=0.05)


def test_the_job_survives_a_killed_executor(spark: Any, tmp_path: Path) -> None:
    folder = str(tmp_path)

    def slowly(batches: Iterator[Any]) -> Iterator[Any]:
        # In here everything comes from the closure: workers cannot import this file.
        import os
        import time
        from pathlib import Path

        from pyspark import TaskContext

        task = TaskContext.get()
        name = f"{task.partitionId()}-{task.taskAttemptId()}"  # new for each attempt
        (Path(folder) / name).write_text(str(os.getpid()))
        time.sleep(1.5)
        yield from batches

    lists = lists_of_scores(seed=1, lengths=(200,) * 40)
    rows = [(i, score) for i, scores in enumerate(lists) for score in scores]
    frame = spark.createDataFrame(rows, "i int, score double").repartition(6)
    slow = pc.keep(frame.mapInArrow(slowly, frame.schema), query="i", score="score")
    wait_for(lambda: len(executors()) == 2)
    with ThreadPoolExecutor() as pool:
        job = pool.submit(slow.collect)
        wait_for(lambda: any(path.read_text() for path in tmp_path.iterdir()))
        worker = next(int(path.read_text()) for path in tmp_path.iterdir() if path.read_text())
        victim = next(pid for pid in ancestors(worker) if EXECUTOR in command(pid))
        os.kill(victim, signal.SIGKILL)
        found = job.result(timeout=240)
    assert victim not in executors()
    partitions = [path.name.partition("-")[0] for path in tmp_path.iterdir()]
    assert len(partitions) > len(set(partitions)), "the task that was running must have run again"
    for i, scores in enumerate(lists):
        assert sorted(row.score for row in found if row.i == i) == sorted(pc.cut(scores).of(scores))
