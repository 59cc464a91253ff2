"""Lists per second on Spark and on Ray with one and with two workers, beside the plain engine.

    python benchmarks/bench_clusters.py [--lists 100000] [--rounds 3] [--json FILE]

All of them cut the same lists of 200 scores, from Parquet files in the page cache to the sum of k:
reading, moving the columns to Python and back, and the cut itself are all in the time. The cluster
is started, and warmed by one round that does not count, before the clock is. Every set-up runs in a
process of its own; memory is the sum of the peaks of its processes of a kind, as Linux counts them.
Core-seconds are the time that cores have worked for the set-up, driver included: unlike seconds,
they mean something on a machine that others use too.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

DEPTH = 200
FILES = 16
SETUPS = ["engine 1", "engine 2", "arrow 1", "arrow 2", "spark 1", "spark 2", "ray 1", "ray 2"]


def write_lists(folder: Path, lists: int) -> None:
    """Write the lists, noise with a few hits, as Parquet files of equal size."""
    import pyarrow as pa
    from pyarrow import parquet

    generator = np.random.default_rng(0)
    for i, count in enumerate(np.diff(np.linspace(0, lists, FILES + 1).astype(int))):
        scores = generator.exponential(size=(count, DEPTH))
        scores[:, :3] += generator.integers(0, 2, size=(count, 1)) * 15.0
        offsets = np.arange(count + 1, dtype=np.int32) * DEPTH
        column = pa.ListArray.from_arrays(pa.array(offsets), pa.array(scores.ravel()))
        # Random doubles neither compress nor repeat: plain pages, as fast to read as there are.
        table = pa.table({"scores": column})
        parquet.write_table(
            table, folder / f"{i:02d}.parquet", compression="NONE", use_dictionary=False
        )


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


def peak_memory(kind: str) -> float:
    """Return the sum of the peaks, in MB, of our processes whose command has the word."""
    total = 0.0
    for process in family():
        with contextlib.suppress(OSError):
            if kind in (process / "cmdline").read_text():
                status = (process / "status").read_text()
                total += int(status.partition("VmHWM:")[2].split()[0]) / 1024
    return total


def core_seconds() -> float:
    """Return the time that the cores have worked for us so far, whoever else uses them."""
    ticks = 0
    for process in family():
        with contextlib.suppress(OSError):
            ticks += sum(map(int, fields(process)[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


def measured(work: Callable[[], int], rounds: int) -> dict[str, Any]:
    """Return the answer, the seconds of the fastest round and the fewest core-seconds."""
    answer = work()
    seconds, cores = [], []
    for _ in range(rounds):
        start, worked = time.perf_counter(), core_seconds()
        assert work() == answer
        seconds.append(time.perf_counter() - start)
        cores.append(core_seconds() - worked)
    return {"seconds": min(seconds), "core_seconds": min(cores), "sum_of_k": answer}


def measure_engine(folder: str, threads: int, rounds: int) -> dict[str, Any]:
    """Measure `fit_batch` alone, on an array in memory."""
    from pyarrow import parquet

    import paretocut as pc

    column = parquet.read_table(folder)["scores"].combine_chunks()
    scores = column.flatten().to_numpy().reshape(-1, DEPTH)
    return measured(
        lambda: int(pc.fit_tails(scores, threads=threads).cut(alpha=0.05).k.sum()), rounds
    )


def measure_arrow(folder: str, threads: int, rounds: int) -> dict[str, Any]:
    """Measure one process that reads the files, cuts and sums."""
    import pyarrow as pa
    from pyarrow import compute, parquet

    from paretocut.adapters.arrow import cut_lists

    pa.set_cpu_count(threads)

    def work() -> int:
        total = 0
        for path in sorted(Path(folder).glob("*.parquet")):
            table = parquet.read_table(path, use_threads=threads > 1)
            total += compute.sum(cut_lists(table, threads=threads)["k"]).as_py()
        return total

    return measured(work, rounds)


def measure_spark(folder: str, workers: int, rounds: int) -> dict[str, Any]:
    """Measure Spark with executors of one core each."""
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as F

    from paretocut.adapters.spark import cut_lists

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    spark = (
        SparkSession.builder.master(f"local-cluster[{workers},1,1024]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.executor.memory", "1g")
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", "10000")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")

    def work() -> int:
        # The surprise is used too, or Spark might leave it on the way.
        result = cut_lists(spark.read.parquet(folder))
        row = result.agg(F.sum("k"), F.sum(F.size("surprise"))).first()
        return int(row[0])

    result = measured(work, rounds)
    result["python_mb"] = peak_memory("pyspark.daemon")
    result["executors_mb"] = peak_memory("CoarseGrainedExecutorBackend")
    spark.stop()
    return result


def measure_ray(folder: str, workers: int, rounds: int) -> dict[str, Any]:
    """Measure Ray with workers of one core each."""
    import ray

    from paretocut.adapters.ray import cut_lists

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    ray.init("local", num_cpus=workers, include_dashboard=False, log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False

    def work() -> int:
        dataset = ray.data.read_parquet(folder, override_num_blocks=FILES)
        blocks = cut_lists(dataset).iter_batches(batch_size=None, batch_format="pyarrow")
        return sum(int(np.sum(block["k"].to_numpy())) for block in blocks)

    result = measured(work, rounds)
    result["python_mb"] = peak_memory("ray::")
    ray.shutdown()
    return result


MEASURES: dict[str, Callable[[str, int, int], dict[str, Any]]] = {
    "engine": measure_engine,
    "arrow": measure_arrow,
    "spark": measure_spark,
    "ray": measure_ray,
}


def main() -> None:
    """Run every set-up and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--lists", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--setups", nargs="+", default=SETUPS, metavar="SETUP")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--one", nargs=2, metavar=("SETUP", "FOLDER"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        kind, workers = arguments.one[0].split()
        result = MEASURES[kind](arguments.one[1], int(workers), arguments.rounds)
        print("RESULT" + json.dumps(result))
        return

    results: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as folder:
        write_lists(Path(folder), arguments.lists)
        options = ["--rounds", str(arguments.rounds)]
        for setup in arguments.setups:
            command = [sys.executable, __file__, *options, "--one", setup, folder]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                sys.exit(f"{setup} failed:\n{done.stderr[-3000:]}")
            results[setup] = json.loads(done.stdout.rpartition("RESULT")[2])
            results[setup]["lists_per_second"] = arguments.lists / results[setup]["seconds"]
    assert len({result["sum_of_k"] for result in results.values()}) == 1, "answers differ"

    print(f"{arguments.lists} lists of {DEPTH} scores, best of {arguments.rounds}")
    print(f"{'set-up':10} {'seconds':>8} {'lists/s':>9} {'core-s':>7}  memory of the workers")
    for setup, result in results.items():
        memory = ", ".join(
            f"{name[:-3]} {value:.0f} MB" for name, value in result.items() if name.endswith("_mb")
        )
        rate = result["lists_per_second"]
        cores = result["core_seconds"]
        print(f"{setup:10} {result['seconds']:8.2f} {rate:9.0f} {cores:7.2f}  {memory}")
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
