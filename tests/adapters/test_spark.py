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
from columns import OPTIONS, expected, expected_rows, lists_of_scores, row_table, truncators_of
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


@pytest.fixture(scope="module")
def frame(spark: Any) -> Any:
    rows = [(f"q{i}", scores) for i, scores in enumerate(LISTS)]
    rows += [("null", None), ("nulls", [None, *LISTS[0], None])]
    return spark.createDataFrame(rows, "query_id string, scores array<double>").repartition(2)


def executors() -> list[int]:
    return [pid for pid in descendants(os.getpid()) if EXECUTOR in command(pid)]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_arrays_get_the_numbers_of_the_engine(frame: Any, options: dict[str, Any]) -> None:
    from paretocut.adapters.spark import cut_lists

    result = cut_lists(frame, **options)
    assert dict(result.dtypes)["k"] == "bigint"
    found = {row.query_id: (row.k, row.surprise) for row in result.collect()}
    k, surprise = expected(LISTS[0], **options)
    assert found.pop("null") == (None, None)
    assert found.pop("nulls") == (k, [None, *surprise, None])
    assert found == {f"q{i}": expected(one, **options) for i, one in enumerate(LISTS)}


@pytest.mark.parametrize("options", [OPTIONS[0], OPTIONS[-1]], ids=str)
def test_rows_of_a_query_are_one_list_wherever_they_are(
    spark: Any, options: dict[str, Any]
) -> None:
    from paretocut.adapters.spark import cut_rows

    columns = row_table(LISTS)
    rows = spark.createDataFrame(
        list(zip(*columns.values(), strict=True)), "query_id string, position int, score double"
    )
    found: dict[str, list[Any]] = {}
    for row in cut_rows(rows.repartition(2), **options).orderBy("position").collect():
        found.setdefault(row.query_id, []).append((row.surprise, row.kept))
    wanted = {f"q{i}": expected_rows(one, **options) for i, one in enumerate(LISTS) if one}
    assert found == wanted


def test_workers_get_the_truncator_and_give_its_reason(frame: Any, tmp_path: Path) -> None:
    from paretocut.adapters.spark import cut_lists

    for truncator in truncators_of(LISTS):
        rows = cut_lists(frame, truncator=truncator).collect()
        found = {row.query_id: (row.k, row.reason) for row in rows if row.query_id[1:].isdigit()}
        cuts = [truncator.cut(scores) for scores in LISTS]
        assert found == {f"q{i}": (cut.k, cut.reason) for i, cut in enumerate(cuts)}
        truncator.save(tmp_path / "saved.json")
        again = cut_lists(frame, truncator=tmp_path / "saved.json").collect()
        assert sorted(map(str, again)) == sorted(map(str, rows))
    with pytest.raises(pc.errors.InvalidParameterError, match="at most one of truncator"):
        cut_lists(frame, truncator=truncator, alpha=0.05)
    with pytest.raises(pc.errors.InvalidParameterError, match=r"must be a pyspark.sql.DataFrame"):
        cut_lists([1.0])


def test_other_columns_and_rows_stay(frame: Any) -> None:
    from paretocut.adapters.spark import cut_lists

    result = cut_lists(frame, k="kept", surprise="unlikely", reason="why")
    assert result.columns == ["query_id", "scores", "kept", "unlikely", "why"]
    assert frame.columns == ["query_id", "scores"]
    before = {row.query_id: row.scores for row in frame.collect()}
    assert {row.query_id: row.scores for row in result.collect()} == before


def test_columns_are_neither_invented_nor_overwritten(frame: Any) -> None:
    from paretocut.adapters.spark import cut_lists, cut_rows

    with pytest.raises(pc.errors.InvalidParameterError, match="k must name a new column"):
        cut_lists(frame, k="scores")
    with pytest.raises(pc.errors.InvalidParameterError, match="score must name a column"):
        cut_rows(frame)


def test_the_job_survives_a_killed_executor(spark: Any, tmp_path: Path) -> None:
    from paretocut.adapters.spark import cut_lists

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
    frame = spark.createDataFrame(list(enumerate(lists)), "i int, scores array<double>")
    slow = cut_lists(frame.repartition(6).mapInArrow(slowly, frame.schema))
    wait_for(lambda: len(executors()) == 2)
    with ThreadPoolExecutor() as pool:
        job = pool.submit(slow.collect)
        wait_for(lambda: any(path.read_text() for path in tmp_path.iterdir()))
        worker = next(int(path.read_text()) for path in tmp_path.iterdir() if path.read_text())
        victim = next(pid for pid in ancestors(worker) if EXECUTOR in command(pid))
        os.kill(victim, signal.SIGKILL)
        rows = job.result(timeout=240)
    assert victim not in executors()
    partitions = [path.name.partition("-")[0] for path in tmp_path.iterdir()]
    assert len(partitions) > len(set(partitions)), "the task that was running must have run again"
    found = [(row.k, row.surprise) for row in sorted(rows, key=lambda row: row.i)]
    assert found == [expected(scores) for scores in lists]
