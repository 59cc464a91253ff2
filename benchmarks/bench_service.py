"""Speed and memory of `paretocut serve` on the loopback, beside the bare engine.

    python benchmarks/bench_service.py [--seconds 10] [--soak 180] [--rounds 30] [--json FILE]

One worker. Load and soak are by the clock on the wall, and the client takes its own share of the
same processors; look at the load of the machine beside them. Batches are in processor time, of all
threads of the service and of the engine's thread, because machines are shared.

- Load: one list of 200 a request, with its reason, at 1, 16 and 64 connections; then the same with
  two workers.
- Batches: 1,000 lists of 200, over JSON and over Arrow. The engine's time is that of `cut_batch` on
  arrays, on one thread as in the service, with the numbers, the reasons and the warnings, all of
  which the answer holds; and, for `explain=false`, with the numbers alone. `loaded` is the same for
  a caller who has the body: `json.loads`, then `cut_batch` on lists. The service and the engine
  take turns, and the best of the rounds counts.
- Soak: 16 connections for a while; the resident memory and the open descriptors at each tenth of
  it. `--soak 900` is the long one.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import json
import os
import platform
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import paretocut as pc
from paretocut.tail import limited_threads

LISTS, DEPTH = 1000, 200
BARS = {"json": 1.5, "arrow": 1.3}
ARROW = "application/vnd.apache.arrow.stream"
DECIDERS: dict[str, dict[str, Any]] = {"default": {}, "evalue": {"evalue": 0.05}}


def simulated() -> Any:
    """Return lists of noise with five hits each, best first."""
    rng = np.random.default_rng(0)
    noise = rng.gamma(2.0, 0.06, (LISTS, DEPTH - 5))
    hits = rng.normal(2.0, 0.1, (LISTS, 5))
    return -np.sort(-np.concatenate([hits, noise], axis=1), axis=1)


@contextmanager
def served(*options: str) -> Iterator[tuple[int, int]]:
    """Run the service and yield its port and the id of its process."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "paretocut", "serve", "--port", str(port), *options]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                time.sleep(0.05)
        yield port, process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def request(path: str, body: bytes, kind: str) -> bytes:
    """Return a request as it goes over the wire."""
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


async def load(port: int, connections: int, seconds: float) -> list[float]:
    """Return the time of each request that so many connections make in that time."""
    body = json.dumps({"scores": simulated()[0].tolist()}).encode()
    message = request("/v1/cut", body, "application/json")
    times: list[float] = []
    end = time.perf_counter() + seconds

    async def ask() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while time.perf_counter() < end:
            start = time.perf_counter()
            writer.write(message)
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200"), head
            length = int(head.lower().partition(b"content-length: ")[2].split()[0])
            await reader.readexactly(length)
            times.append(time.perf_counter() - start)
        writer.close()

    await asyncio.gather(*(ask() for _ in range(connections)))
    return times


def processor_time(pid: int) -> float:
    """Return the seconds that all threads of a process have run so far."""
    threads = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9


def under_load(port: int, pid: int, connections: int, seconds: float) -> dict[str, float]:
    """Return requests per second, quantiles of their time, and the service's processor time."""
    before = processor_time(pid)
    times = asyncio.run(load(port, connections, seconds))
    p50, p99 = np.quantile(times, [0.5, 0.99])
    return {
        "processor_us": 1e6 * (processor_time(pid) - before) / len(times),
        "requests_per_second": len(times) / seconds,
        "p50_ms": 1e3 * float(p50),
        "p99_ms": 1e3 * float(p99),
    }


def best(
    rounds: int, functions: dict[str, tuple[Callable[[], object], Callable[[], float]]]
) -> dict[str, float]:
    """Return the shortest time of each function in seconds by its own clock, called in turns."""
    times = dict.fromkeys(functions, float("inf"))
    for _ in range(rounds):
        for name, (function, clock) in functions.items():
            start = clock()
            function()
            times[name] = min(times[name], clock() - start)
    return times


def batches(port: int, pid: int, rounds: int) -> dict[str, dict[str, float]]:
    """Return the time of a batch in the engine and through the service, by decider."""
    scores = simulated()
    lists = pc.lists.Ragged(scores.reshape(-1), np.arange(LISTS + 1) * DEPTH)
    sink = pa.BufferOutputStream()
    table = pa.table({"scores": pa.ListArray.from_arrays(lists.offsets.astype("i4"), lists.values)})
    with pa.ipc.new_stream(sink, table.schema) as out:
        out.write_table(table)
    arrow = sink.getvalue().to_pybytes()
    connection = http.client.HTTPConnection("127.0.0.1", port)

    def ask(path: str, body: bytes, kind: str) -> None:
        connection.request("POST", path, body, {"Content-Type": kind})
        answer = connection.getresponse()
        content = answer.read()
        assert answer.status == 200, content

    plain = json.dumps(scores.tolist()).encode()
    found: dict[str, dict[str, float]] = {}
    for decider, choice in DECIDERS.items():
        truncator = pc.truncators.Surprise(**choice) if choice else pc.truncators.Consensus()
        for explain in (True, False):

            def engine(truncator: Any = truncator, explain: bool = explain) -> None:
                with limited_threads(1):
                    cuts = truncator.cut_batch(lists)
                    if explain:
                        assert len(cuts.reasons) == len(cuts.warnings) == LISTS

            def loaded(
                truncator: Any = truncator, explain: bool = explain, text: bytes = plain
            ) -> None:
                with limited_threads(1):
                    cuts = truncator.cut_batch(json.loads(text))
                    if explain:
                        assert len(cuts.reasons) == len(cuts.warnings) == LISTS

            options = choice | {"explain": explain}
            body = json.dumps({"lists": scores.tolist(), **options}).encode()
            path = "/v1/cut?" + "&".join(f"{k}={str(v).lower()}" for k, v in options.items())

            def by_json(body: bytes = body) -> None:
                ask("/v1/cut", body, "application/json")

            def by_arrow(path: str = path) -> None:
                ask(path, arrow, ARROW)

            def service() -> float:
                return processor_time(pid)

            times = best(
                rounds,
                {
                    "engine": (engine, time.thread_time),
                    "loaded": (loaded, time.thread_time),
                    "json": (by_json, service),
                    "arrow": (by_arrow, service),
                },
            )
            found[f"{decider}, {'with reasons' if explain else 'numbers alone'}"] = times
    connection.close()
    return found


def resident(pid: int) -> float:
    """Return the memory of a process in megabytes."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def descriptors(pid: int) -> int:
    """Return how many files and connections a process has open."""
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def soak(port: int, pid: int, seconds: float) -> dict[str, Any]:
    """Return memory and descriptors at each tenth of a long load, and the number of requests."""
    asyncio.run(load(port, 16, min(5.0, seconds / 10)))  # what is loaded late is there now
    memory, files, requests = [resident(pid)], [descriptors(pid)], 0
    for _ in range(10):
        requests += len(asyncio.run(load(port, 16, seconds / 10)))
        memory.append(resident(pid))
        files.append(descriptors(pid))
    return {"seconds": seconds, "requests": requests, "megabytes": memory, "descriptors": files}


def two_workers(seconds: float) -> dict[str, float]:
    """Return requests per second of one worker and of two, which take turns, and their ratio."""
    counts, times = [0, 0], []
    with served() as (one, _), served("--workers=2") as (two, _):
        time.sleep(3)  # the parent listens before its workers serve
        for _ in range(4):
            for place, port in enumerate((one, two)):
                taken = asyncio.run(load(port, 16, seconds / 4))
                counts[place] += len(taken)
                times += taken if place else []
    return {
        "one_per_second": counts[0] / seconds,
        "two_per_second": counts[1] / seconds,
        "two_p50_ms": 1e3 * float(np.median(times)),
        "ratio": counts[1] / counts[0],
    }


def main() -> None:
    """Measure, print and keep."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=10, help="of each load")
    parser.add_argument("--soak", type=float, default=180, help="seconds")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    machine = {
        "processor": platform.machine(),
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
    }
    found: dict[str, Any] = {"machine": machine, "load": {}}
    with served() as (port, pid):
        for connections in (1, 16, 64):
            found["load"][connections] = own = under_load(port, pid, connections, args.seconds)
            print(
                f"{connections:3d} connections  {own['requests_per_second']:7.0f} requests/s   "
                f"median {own['p50_ms']:6.2f} ms   p99 {own['p99_ms']:6.2f} ms   "
                f"{own['processor_us']:.0f} us of a processor each",
                flush=True,
            )
        found["batches"] = batches(port, pid, args.rounds)
        for what, times in found["batches"].items():
            for kind, bar in BARS.items():
                ratio = times[kind] / times["engine"]
                print(
                    f"{what:<24} {kind:<5} {ratio:5.2f} x the engine's "
                    f"{1e3 * times['engine']:.1f} ms   {'met' if ratio <= bar else 'MISSED'} "
                    f"(<= {bar:g}); {times[kind] / times['loaded']:.2f} x json.loads + engine",
                    flush=True,
                )
        found["soak"] = soak(port, pid, args.soak)
        memory = ", ".join(f"{m:.0f}" for m in found["soak"]["megabytes"])
        print(
            f"soak: {found['soak']['requests']} requests in {args.soak:g} s; {memory} MB; "
            f"{found['soak']['descriptors']} descriptors"
        )
    found["two workers"] = two_workers(args.seconds)
    print(f"two workers: {found['two workers']}")
    if args.json:
        args.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
