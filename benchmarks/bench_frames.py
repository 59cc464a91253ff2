"""`keep` on frames over the bare decision on arrays, and on clusters over a window top-10.

    python benchmarks/bench_frames.py [--rows 1e6] [--engines pandas spark ...] [--json FILE]

Rows are results of queries with 200 each: best first, or shuffled over the whole frame. The bare
decision is `paretocut.cut_batch(Ragged).k` on the same scores, in one array, list by list. All are
processor time, the best of three; on clusters that of all their processes, and seconds beside it.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import paretocut as pc
from paretocut.lists import Ragged

DEPTH = 200
LOCAL = ("pandas", "pandas, text", "arrow", "arrow, text", "polars", "polars, text", "duckdb")
CLUSTERS = ("spark", "ray")


def best(work: Callable[[], object], rounds: int = 3) -> float:
    """Return the least processor time of a few rounds."""
    taken = []
    for _ in range(rounds):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return min(taken)


def columns(rows: int, order: str) -> tuple[Any, Ragged]:
    """Return an Arrow table of queries as numbers and as text, and its lists as bare arrays."""
    import pyarrow as pa
    from pyarrow import compute

    generator = np.random.default_rng(0)
    depth = rows if order == "one query" else DEPTH
    scores = -np.sort(-generator.exponential(size=(rows // depth, depth)))
    lists = generator.permuted(scores, axis=1) if order == "shuffled" else scores
    bare = Ragged(lists.ravel(), np.arange(len(lists) + 1) * depth)
    numbers = np.repeat(np.arange(len(lists)), depth)
    at = generator.permutation(rows) if order == "shuffled" else slice(None)
    numbers = pa.array(numbers[at])
    text = compute.binary_join_element_wise("query ", numbers.cast(pa.string()), "")
    names = {"number": numbers, "text": text, "score": bare.values[at], "row": np.arange(rows)}
    return pa.table(names), bare


def framed(engine: str, table: Any) -> tuple[Any, Callable[[Any], object]]:
    """Return the table as a frame of the engine, and what makes its result real."""
    if engine == "pandas":
        return table.to_pandas(), len
    if engine == "polars":
        import polars as pl

        return pl.from_arrow(table), len
    if engine == "duckdb":
        import duckdb

        connection = duckdb.connect()
        connection.register("run", table)
        connection.execute("create table rows as from run")
        return connection.sql("from rows"), lambda kept: kept.to_arrow_table()
    return table, len


def local(rows: int, engines: list[str]) -> Iterator[dict[str, Any]]:
    """Yield how many times the bare decision each engine takes."""
    for order in ("best first", "shuffled", "one query"):
        table, bare = columns(rows, order)
        base = best(lambda lists=bare: pc.cut_batch(lists).k)
        for name in engines:
            engine, _, text = name.partition(", ")
            frame, real = framed(engine, table.drop_columns("number" if text else "text"))
            how = {"query": text or "number", "score": "score"}
            taken = best(lambda f=frame, real=real, how=how: real(pc.keep(f, **how)))
            ratio = taken / base
            yield {"engine": name, "order": order, "times": ratio, "ns_a_row": 1e9 * taken / rows}


def family() -> list[Path]:
    """Return the folders in /proc of this process and of all that descend from it."""
    parents = {}
    for path in Path("/proc").iterdir():
        if path.name.isdigit():
            with contextlib.suppress(OSError):
                parents[int(path.name)] = int(fields(path)[1])
    found = []
    for process in parents:
        ancestor = process
        while ancestor not in (0, os.getpid()):
            ancestor = parents.get(ancestor, 0)
        if ancestor:
            found.append(Path("/proc", str(process)))
    return found


def fields(process: Path) -> list[str]:
    """Return what Linux counts of a process, from its state on."""
    return (process / "stat").read_text().rpartition(")")[2].split()


def core_seconds() -> float:
    """Return the time that the cores have worked for us so far, whoever else uses them."""
    ticks = 0
    for process in family():
        with contextlib.suppress(OSError):
            ticks += sum(map(int, fields(process)[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


def both(ours: Callable[[], object], theirs: Callable[[], object]) -> dict[str, Any]:
    """Return how many times the core-seconds and the seconds of their work ours takes."""
    found: dict[str, list[tuple[float, float]]] = {"ours": [], "theirs": []}
    for _ in range(3):  # the first round warms
        for name, work in (("ours", ours), ("theirs", theirs)):
            start, worked = time.perf_counter(), core_seconds()
            work()
            found[name].append((core_seconds() - worked, time.perf_counter() - start))
    (cores, seconds), (their_cores, their_seconds) = (
        [min(column) for column in zip(*rounds[1:], strict=True)] for rounds in found.values()
    )
    return {
        "times": cores / their_cores,
        "seconds": seconds,
        "times_seconds": seconds / their_seconds,
    }


def spark(folder: str, wanted: int) -> dict[str, Any]:
    """Return how many times a window top-10 `keep` takes on Spark with two cores."""
    from pyspark.sql import SparkSession, Window
    from pyspark.sql import functions as F

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "4g")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    frame = session.read.parquet(folder)
    rank = F.row_number().over(Window.partitionBy("number").orderBy(F.desc("score")))
    top = frame.withColumn("rank", rank).where("rank <= 10")
    kept = pc.keep(frame, query="number", score="score")
    assert kept.agg(F.sum("row")).first()[0] == wanted, "not the rows that are kept locally"
    found = both(lambda: kept.agg(F.sum("row")).first(), lambda: top.agg(F.sum("row")).first())
    session.stop()
    return found


def ray(folder: str, wanted: int) -> dict[str, Any]:
    """Return how many times a sort by query `keep` takes on Ray with two cores."""
    import ray

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False
    frame = ray.data.read_parquet(folder)
    kept = pc.keep(frame, query="number", score="score")
    assert kept.sum("row") == wanted, "not the rows that are kept locally"
    found = both(kept.count, lambda: frame.sort("number").materialize())
    ray.shutdown()
    return found


def clusters(rows: int, engines: list[str]) -> Iterator[dict[str, Any]]:
    """Yield what clusters take, from a Parquet file on."""
    from pyarrow import parquet

    table, _ = columns(rows, "shuffled")
    kept = pc.keep(table, query="number", score="score")
    wanted = int(kept["row"].to_numpy().sum())
    with tempfile.TemporaryDirectory() as folder:
        for i in range(8):
            part = slice(i * rows // 8, (i + 1) * rows // 8)
            parquet.write_table(table.drop_columns("text")[part], Path(folder, f"{i}.parquet"))
        for name in engines:
            measure = {"spark": spark, "ray": ray}[name]
            yield {"engine": name, "order": "shuffled", **measure(folder, wanted)}


def main() -> None:
    """Measure and print what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=lambda text: int(float(text)), default=1_000_000)
    parser.add_argument("--engines", nargs="+", choices=(*LOCAL, *CLUSTERS), default=LOCAL)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    asked = arguments.engines
    found = []
    for measure, known in ((local, LOCAL), (clusters, CLUSTERS)):
        engines = [name for name in asked if name in known]
        for row in measure(arguments.rows, engines) if engines else ():
            found.append({"rows": arguments.rows, **row})
            print(
                ", ".join(
                    f"{k} {v:.3g}" if isinstance(v, float) else str(v) for k, v in row.items()
                )
            )
    if arguments.json:
        kept = json.loads(arguments.json.read_text()) if arguments.json.exists() else []
        new = {(row["rows"], row["engine"], row["order"]) for row in found}
        kept = [row for row in kept if (row["rows"], row["engine"], row["order"]) not in new]
        arguments.json.write_text(json.dumps(kept + found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
