"""Speed and memory of `read_trec` on a synthetic run, beside the CSV readers of other libraries.

    python benchmarks/bench_io.py [--lines 10000000] [--rounds 3] [--json FILE]

Every reading happens in a process of its own, so that its peak memory is its own; the readers take
turns, and the best of the rounds counts. The file is read from the page cache. `read_trec` does
more than the others, which stop at three columns: it also groups by query, refuses duplicates and
sorts into trec_eval's order.
"""

from __future__ import annotations

import argparse
import gzip
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

BAR_LINES_PER_SECOND = 1.5e6
DEPTH = 1000
NAMES = ["query", "q0", "document", "rank", "score", "tag"]
KEPT = ["query", "document", "score"]


def read_ours(path: str) -> int:
    """Read a run as this library does and return the bytes of the columns kept."""
    from paretocut.io import read_trec

    lists = read_trec(path)
    assert lists.doc_ids is not None
    return lists.scores.values.nbytes + lists.doc_ids.values.nbytes + lists.scores.offsets.nbytes


def read_pyarrow(path: str) -> int:
    """Read three columns with pyarrow, on all cores."""
    from pyarrow import csv

    table = csv.read_csv(
        path,
        read_options=csv.ReadOptions(column_names=NAMES),
        parse_options=csv.ParseOptions(delimiter=" "),
        convert_options=csv.ConvertOptions(
            include_columns=KEPT, column_types={"query": "string", "document": "string"}
        ),
    )
    return int(table.nbytes)


def read_polars(path: str) -> int:
    """Read three columns with polars, on all cores."""
    import polars

    schema = {name: polars.Float64 if name == "score" else polars.String for name in NAMES}
    lazy = polars.scan_csv(path, separator=" ", has_header=False, schema=schema)
    return int(lazy.select(KEPT).collect().estimated_size())


def read_pandas(path: str, sep: str = " ") -> int:
    """Read three columns with pandas' C parser."""
    import pandas

    frame = pandas.read_csv(
        path, sep=sep, names=NAMES, usecols=KEPT, dtype={"query": str, "document": str}
    )
    return int(frame.memory_usage().sum())


def read_pandas_any_space(path: str) -> int:
    """Read three columns with pandas, fields separated by any white space as in real runs."""
    return read_pandas(path, sep=r"\s+")


READERS: dict[str, tuple[str, Callable[[str], int]]] = {
    "read_trec": ("paretocut", read_ours),
    "read_trec, .gz": ("paretocut", read_ours),
    "pyarrow": ("pyarrow", read_pyarrow),
    "polars": ("polars", read_polars),
    "pandas": ("pandas", read_pandas),
    r"pandas, sep=\s+": ("pandas", read_pandas_any_space),
}


def write_run(path: Path, lines: int) -> None:
    """Write a run of lists of 1000 with ids and scores like those of real ones."""
    rng = np.random.default_rng(0)
    with open(path, "w", encoding="ascii") as file:
        for query in range(0, lines, DEPTH):
            scores = np.sort(rng.gamma(2.0, 5.0, DEPTH))[::-1].tolist()
            numbers = rng.choice(9_000_000, DEPTH, replace=False).tolist()
            file.writelines(
                f"{1_000_000 + query} Q0 FBIS3-{number} {rank} {score:.6f} bm25\n"
                for rank, (number, score) in enumerate(zip(numbers, scores, strict=True), start=1)
            )


def peak_memory() -> int:
    """Return the largest resident size of this process so far, in bytes."""
    status = Path("/proc/self/status")
    if status.exists():  # the other way may count the memory of the process that started this one
        return 1024 * int(status.read_text().partition("VmHWM:")[2].split()[0])
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (
        1 if sys.platform == "darwin" else 1024
    )


def measure_here(name: str, warm_up: str, path: str) -> None:
    """Print time, memory and size of the columns of one reading as JSON."""
    read = READERS[name][1]
    read(warm_up)  # imports and thread pools are not what is measured
    before = peak_memory()
    start = time.perf_counter()
    kept = read(path)
    seconds = time.perf_counter() - start
    print(json.dumps({"seconds": seconds, "peak": peak_memory() - before, "kept": kept}))


def measure(lines: int, rounds: int) -> list[dict[str, Any]]:
    """Return one row per reader that is installed."""
    rows: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as folder:
        run, short, packed = (Path(folder, name) for name in ("run", "short", "run.gz"))
        write_run(short, DEPTH)
        write_run(run, lines)
        with gzip.open(packed, "wb", compresslevel=1) as file:
            write_run(Path(folder, "part"), lines // 10)
            file.write(Path(folder, "part").read_bytes())
        for _ in range(rounds):
            for name, (module, _) in READERS.items():
                if find_spec(module) is None:
                    continue
                path, count = (packed, lines // 10) if ".gz" in name else (run, lines)
                done = subprocess.run(
                    [sys.executable, __file__, "--measure", name, str(short), str(path)],
                    capture_output=True,
                    text=True,
                    check=True,
                )
                found = {"reader": name, "lines": count, **json.loads(done.stdout)}
                if name not in rows or found["seconds"] < rows[name]["seconds"]:
                    rows[name] = found
    return list(rows.values())


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--lines", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path, help="write the numbers to this file, too")
    parser.add_argument("--measure", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        measure_here(*options.measure)
        return
    rows = measure(options.lines, options.rounds)
    ours = rows[0]["lines"] / rows[0]["seconds"]
    print(f"{options.lines:,} lines, best of {options.rounds}; bar 1.5 M lines/s\n")
    print(f"{'reader':<20}{'M lines/s':>10}{'read_trec is':>14}{'peak MB':>10}{'peak/kept':>11}")
    for row in rows:
        speed = row["lines"] / row["seconds"]
        print(
            f"{row['reader']:<20}{speed / 1e6:>10.2f}{ours / speed:>12.2f} x"
            f"{row['peak'] / 1e6:>10.0f}{row['peak'] / row['kept']:>11.2f}"
        )
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")
    if ours < BAR_LINES_PER_SECOND:
        sys.exit(f"read_trec: expected 1.5 M lines/s or more, got {ours / 1e6:.2f}")


if __name__ == "__main__":
    main()
