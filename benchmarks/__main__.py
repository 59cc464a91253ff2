"""Measure the speed of paretocut against the bars the project sets itself, as ratios in one run.

    python -m benchmarks [--quick] [--json benchmarks/results.json]

What is compared is timed in turns, in processor time, and the best of many short rounds counts,
because machines are shared. Only the two threads are timed by the clock on the wall.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

import paretocut as pc
from benchmarks import decisions, scipy_version
from paretocut import _kernel

Array = NDArray[np.float64]
ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    what: str
    value: float
    unit: str
    bar: float | None = None
    at_most: bool = True
    detail: str = ""

    @property
    def verdict(self) -> str:
        """Whether the bar is met."""
        if self.bar is None:
            return ""
        met = self.value <= self.bar if self.at_most else self.value >= self.bar
        return "met" if met else "MISSED"


def best(
    *functions: Callable[[], object],
    rounds: int,
    clock: Callable[[], float] = time.thread_time,
) -> list[float]:
    """Return the shortest time of each function in seconds, called in turns.

    The processor time of this thread, unless told otherwise: others may want the processor, too.
    """
    times = [float("inf")] * len(functions)
    for _ in range(rounds):
        for i, function in enumerate(functions):
            start = clock()
            function()
            times[i] = min(times[i], clock() - start)
    return times


def simulated(depth: int, hits: int, lists: int, seed: int = 0) -> Array:
    """Return tops of 100,000 scores of N(0.25, 0.06), some with hits of N(0.65, 0.03)."""
    rng = np.random.default_rng(seed)
    tail = np.cumsum(rng.standard_exponential((lists, depth)), axis=1) / 100_000
    noise = 0.25 - 0.06 * special.ndtri(tail)
    found = rng.normal(0.65, 0.03, (lists, hits))
    return -np.sort(-np.concatenate([found, noise], axis=1), axis=1)[:, :depth]


def data_folder() -> Path | None:
    """Return the folder of judged runs, or None."""
    named = os.environ.get("PARETOCUT_DATA")
    folder = Path(named) if named else ROOT.parent / "shared" / "data"
    return folder if folder.is_dir() else None


def real(depth: int) -> dict[str, Array]:
    """Return the lists of real runs that are deep enough, cut to one depth."""
    folder = data_folder()
    if folder is None:
        return {}
    found = {}
    for name, path in {
        "BM25, Robust04": "robust04/runs/trec2003-oce03noXbmD.run.gz",
        "ColBERT-PRF, Robust04": "robust04/runs/colbert-prf-title.run.gz",
        "ANCE, TREC DL 2019": "dl/runs/dl2019-ance.run.gz",
        "MiniLM, SciFact": "scifact/minilm-dense.dev300.run.gz",
    }.items():
        scores = pc.read_trec(folder / path).scores
        rows = [x[:depth] for x in scores if len(x) >= depth]
        if rows:
            found[name] = np.array(rows)
    return found


def against_scipy(depth: int, quick: bool) -> list[Row]:
    """Time batches against the same algorithm on scipy.stats.genpareto.fit(floc=0)."""
    sources = {
        "noise": simulated(depth, 0, 100),
        "5 hits": simulated(depth, 5, 100),
        **{name: lists for name, lists in list(real(depth).items())[:1]},
    }
    rows = []
    for name, lists in sources.items():
        sample = lists[: 2 if quick else 8]
        batch = np.tile(sample, (200 // len(sample), 1))
        (ours,) = best(lambda batch=batch: pc.fit_tails(batch, threads=1), rounds=100)
        ours /= len(batch)
        start = time.thread_time()
        windows = [scipy_version.surprise(scores)[1] for scores in sample]
        theirs = (time.thread_time() - start) / len(sample)
        search = pc.fit_tails(sample, threads=1).search.mean(axis=0)
        rows.append(
            Row(
                f"SciPy's time over ours, {depth} results, {name}",
                theirs / ours,
                "x",
                15_000 if depth == 200 else 5_000,
                at_most=False,
                detail=f"{1e6 * ours:.1f} us a list ({search[0]:.1f} windows), "
                f"SciPy {1e3 * theirs:.0f} ms ({np.mean(windows):.1f} windows)",
            )
        )
    return rows


def in_passes_of_exp(rounds: int) -> list[Row]:
    """Time a list of 200 in passes of np.exp over the same scores, all in cache."""
    rows = []
    sources = {
        "noise": simulated(200, 0, 500),
        "5 hits": simulated(200, 5, 500),
        "20 hits": simulated(200, 20, 500),
        **real(200),
    }
    for name, lists in sources.items():
        lists = lists[:500]
        # Onto [-1, 0], because np.exp is much slower where it underflows.
        highest, lowest = lists.max(axis=1, keepdims=True), lists.min(axis=1, keepdims=True)
        negative = (lists - highest) / (highest - lowest)
        out, one, one_out = np.empty_like(lists), negative[0].copy(), np.empty(200)
        ours, exp, call = best(
            lambda lists=lists: pc.fit_tails(lists, threads=1),
            lambda a=negative, b=out: np.exp(a, out=b),
            lambda a=one, b=one_out: [np.exp(a, out=b) for _ in range(50)],
            rounds=rounds,
        )
        search = pc.fit_tails(lists, threads=1).search.sum(axis=0)
        per_list = ours / len(lists)
        detail = (
            f"{1e6 * per_list:.2f} us a list; {search[0] / len(lists):.1f} windows a list, "
            f"{search[1] / search[0]:.2f} evaluations a window; "
            f"{per_list / (call / 50):.1f} calls np.exp(list)"
        )
        rows.append(
            Row(f"a list of 200, {name}", per_list / (exp / len(lists)), "passes of np.exp", 12,
                detail=detail)
        )  # fmt: skip
    return rows


def threads(rounds: int) -> list[Row]:
    """Time two threads against one."""
    if len(os.sched_getaffinity(0)) < 2:
        return []
    lists = simulated(200, 5, 500)
    one, two = best(
        lambda: pc.fit_tails(lists, threads=1),
        lambda: pc.fit_tails(lists, threads=2),
        rounds=10 * rounds,
        clock=time.perf_counter,
    )
    load = f"load of the machine {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    return [Row("one thread's time over two's", one / two, "x", 1.8, at_most=False, detail=load)]


def single_calls(rounds: int) -> list[Row]:
    """Time one call from Python."""
    long, short = simulated(200, 0, 1)[0], simulated(20, 0, 1)[0]
    fit, cut, fit_hits, sort = best(
        lambda: pc.fit_tail(long),
        lambda: pc.cut(short),
        lambda: pc.fit_tail(simulated_hits),
        lambda: np.sort(long),
        rounds=100 * rounds,
    )
    return [
        Row("one pc.fit_tail, 200 results", 1e6 * fit, "us", 20,
            detail=f"{fit / sort:.1f} np.sort"),
        Row("one pc.fit_tail, 200 results, 5 hits", 1e6 * fit_hits, "us", 20,
            detail=f"{fit_hits / sort:.1f} np.sort"),
        Row("one pc.cut, 20 results", 1e6 * cut, "us", 15, detail=f"{cut / sort:.1f} np.sort"),
    ]  # fmt: skip


simulated_hits = simulated(200, 5, 1)[0]


def slowest(rounds: int) -> list[Row]:
    """Time the slowest lists that were found, smooth ones, over an ordinary one of their length."""
    rows = []
    for depth, bar in ((200, 60), (1000, 400)):
        steps, plain = np.linspace(0, 1, depth), simulated(depth, 0, 1)[0]
        smooth = {f"exp of a line to {x}": np.exp(x * steps)[::-1] for x in (5, 20, 50)}
        found = {}
        for name, scores in smooth.items():
            taken, ordinary = best(
                lambda scores=scores: pc.fit_tail(scores),
                lambda plain=plain: pc.fit_tail(plain),
                rounds=rounds,
            )
            found[name] = taken / ordinary
        name = max(found, key=lambda name: found[name])
        rows.append(
            Row(f"the slowest list of {depth}, {name}", found[name], "an ordinary one", bar)
        )
    return rows


def vector_search(quick: bool) -> list[Row]:
    """Time what a batch adds to searches with FAISS, both on one thread."""
    if find_spec("faiss") is None:
        return []
    import faiss

    faiss.omp_set_num_threads(1)
    rng = np.random.default_rng(0)
    rows = []
    count = 100_000 if quick else 1_000_000
    vectors = rng.standard_normal((count, 128), dtype=np.float32)
    queries = rng.standard_normal((64, 128), dtype=np.float32)
    exact = faiss.IndexFlatIP(128)
    exact.add(vectors)
    graph = faiss.IndexHNSWFlat(128, 16, faiss.METRIC_INNER_PRODUCT)
    graph.hnsw.efSearch = 200
    graph_count = 20_000 if quick else 50_000  # a million takes hours to build on one core
    graph.add(vectors[:graph_count])
    for name, index, size, bar in (
        ("exact search", exact, count, None if quick else 0.1),
        ("HNSW search", graph, graph_count, None),
    ):
        scores, _ = index.search(queries, 200)
        lists = scores.astype(np.float64)
        (searched,) = best(lambda index=index: index.search(queries, 200), rounds=3)
        (ours,) = best(
            lambda lists=lists: pc.fit_tails(lists, threads=1).cut(evalue=0.05), rounds=200
        )
        rows.append(
            Row(
                f"added to FAISS {name}, top 200 of {size:,} x 128",
                100 * ours / searched,
                "%",
                bar,
                detail=f"search {1e3 * searched / 64:.2f} ms a query, fit and cut "
                f"{1e6 * ours / 64:.1f} us, 64 queries",
            )
        )
    return rows


def decide(rounds: int) -> list[Row]:
    return [
        Row(what, value, unit, bar, detail=detail)
        for what, value, unit, bar, detail in decisions.measured(simulated, best, rounds)
    ]


def import_time(rounds: int) -> list[Row]:
    """Time the import of paretocut over that of numpy, in fresh processes."""
    code = "import time; t = time.process_time(); import {}; print(time.process_time() - t)"
    times = {"numpy": float("inf"), "paretocut": float("inf")}
    with tempfile.TemporaryDirectory() as bytecode:
        # Installed packages have their bytecode beside them. Where Python is told not to write any,
        # a checkout would be compiled again for every import, and numpy would not.
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": bytecode}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for _ in range(rounds):
            for name in times:
                command = [sys.executable, "-c", code.format(name)]
                done = subprocess.run(
                    command, env=environment, capture_output=True, text=True, check=True
                )
                times[name] = min(times[name], float(done.stdout))
    ratio = times["paretocut"] / times["numpy"]
    detail = ", ".join(f"{name} {1e3 * t:.0f} ms" for name, t in times.items())
    return [Row("import paretocut over import numpy", ratio, "x", 1.3, detail=detail)]


def commands(quick: bool) -> list[Row]:
    """Time `paretocut score`, which writes every result, over `paretocut cut`."""
    count, rows = (1_000 if quick else 20_000), []
    lists = simulated(200, 5, 100)
    blocks = [
        pc.RankedLists(
            lists,
            query_ids=[f"q{start + i}" for i in range(len(lists))],
            doc_ids=[[f"doc{1000 * i + j}" for j in range(200)] for i in range(len(lists))],
        )
        for start in range(0, count, len(lists))
    ]

    def spent() -> float:
        return os.times().children_user + os.times().children_system

    with tempfile.TemporaryDirectory() as folder:
        for name in ("run.trec", "run.jsonl"):
            run = Path(folder, name)
            pc.io.write_lists(run, blocks)

            def command(name: str, run: Path = run) -> Callable[[], object]:
                words = [name, str(run), "-q", "-o", str(run.with_stem("out"))]
                return lambda: subprocess.run(
                    [sys.executable, "-m", "paretocut", *words], check=True
                )

            score, cut = best(
                command("score"), command("cut"), rounds=1 if quick else 3, clock=spent
            )
            what = f"paretocut score over cut, {count:,} x 200, {run.suffix[1:]}"
            detail = f"score {score:.1f} s, cut {cut:.1f} s"
            rows.append(Row(what, score / cut, "x", 3, detail=detail))
    return rows


MEMORY = """
import numpy as np, paretocut as pc
def peak():
    with open("/proc/self/status") as status:
        return 1024 * int(status.read().partition("VmHWM:")[2].split()[0])
lists = np.random.default_rng(0).exponential(size=(50_000, 200))
pc.fit_tails(lists[:10])
before = peak()
fits = pc.fit_tails(lists, threads=2)
print((peak() - before) / lists.nbytes)
"""


def memory() -> list[Row]:
    """Measure the memory a batch takes beside its input, in a process of its own."""
    if sys.platform != "linux":
        return []
    done = subprocess.run(
        [sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True
    )
    return [
        Row("memory of a batch beside its input", float(done.stdout), "x input", 1.25,
            detail="50,000 lists of 200; the results themselves are 1.06 x the input")
    ]  # fmt: skip


def machine() -> dict[str, Any]:
    """Return what the numbers were measured on."""
    model = platform.processor()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [x for x in info.read_text().splitlines() if x.startswith("model name")]
        model = names[0].partition(":")[2].strip() if names else model
    packages = ("paretocut", "numpy", "scipy", "faiss-cpu")
    return {
        "processor": model,
        "cores": os.cpu_count(),
        "instruction_set": _kernel.current_isa(),
        "system": platform.system(),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in packages if find_spec(name.partition("-")[0])},
        "load": round(os.getloadavg()[0], 1),
    }


def main() -> int:
    """Print the table and keep the numbers."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="smaller, to see that it runs")
    parser.add_argument("--json", type=Path, help="where to keep the numbers")
    options = parser.parse_args()
    rounds = 10 if options.quick else 60
    where = machine()
    print(", ".join(f"{k} {v}" for k, v in where.items() if k != "versions"))
    print(", ".join(f"{k} {v}" for k, v in where["versions"].items()) + "\n")
    print(f"{'what':<58}{'measured':>12} {'':<17}{'bar':>9}")
    rows: list[Row] = []
    for measure in (
        lambda: against_scipy(200, options.quick),
        lambda: against_scipy(1000, options.quick),
        lambda: in_passes_of_exp(rounds),
        lambda: threads(rounds),
        lambda: single_calls(rounds),
        lambda: slowest(rounds),
        lambda: decide(rounds),
        lambda: import_time(5 if options.quick else 15),
        memory,
        lambda: commands(options.quick),
        lambda: vector_search(options.quick),
    ):
        for row in measure():
            bar = "" if row.bar is None else f"{'<=' if row.at_most else '>='} {row.bar:,g}"
            value = f"{row.value:,.0f}" if row.value >= 1000 else f"{row.value:.3g}"
            print(f"{row.what:<58}{value:>12} {row.unit:<17}{bar:>9} {row.verdict}", flush=True)
            print(f"    {row.detail}")
            rows.append(row)
    if options.json:
        kept = {"machine": where, "rows": [asdict(r) | {"verdict": r.verdict} for r in rows]}
        options.json.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
