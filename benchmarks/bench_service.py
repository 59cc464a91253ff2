"""Speed and memory of `paretocut serve` on the loopback, beside a plain app and the bare engine.

    python benchmarks/bench_service.py [--seconds 10] [--soak 3] [--rounds 30] [--json FILE]
        [--against PYTHON]

Machines are shared, so what counts are ratios: all that is compared takes turns, and processor time
is that of all threads of a server, without its client.

- One list of 200 a request, with its reason, 16 connections: the service beside `plain_app.py`, the
  least that gives the same answer. `--against` names the Python of another checkout, whose
  service takes its turns too.
- Load: the same at 1, 16 and 64 connections, by the clock on the wall; the client takes its share.
- Two workers: the same at 16 connections, one worker and two in turns.
- Batches: 1,000 lists of 200, over JSON and over Arrow. The engine's time is that of `cut_batch` on
  arrays, on one thread as in the service, with the numbers, the reasons and the warnings, all of
  which the answer holds; and, for `explain=false`, with the numbers alone. `short` is JSON with
  scores of eight digits, as a float32 has them; the others have all seventeen. `loaded` is what a
  caller pays who has the body: `json.loads`, then `cut_batch` on lists. The best round counts.
- Soak: good and bad requests, Arrow, and clients that leave in the middle, for so many minutes; the
  resident memory and the open descriptors after each tenth, when all connections are closed.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import platform
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa

import paretocut as pc
from paretocut.tail import limited_threads

LISTS, DEPTH = 1000, 200
ARROW = "application/vnd.apache.arrow.stream"
DECIDERS: dict[str, dict[str, Any]] = {"default": {}, "evalue": {"evalue": 0.05}}


def simulated() -> Any:
    """Return lists of noise with five hits each, best first."""
    rng = np.random.default_rng(0)
    noise = rng.gamma(2.0, 0.06, (LISTS, DEPTH - 5))
    hits = rng.normal(2.0, 0.1, (LISTS, 5))
    return -np.sort(-np.concatenate([hits, noise], axis=1), axis=1)


@contextmanager
def served(*options: str, python: str = sys.executable) -> Iterator[tuple[int, int]]:
    """Run the service and yield its port and the id of its process."""
    with server(python, "-m", "paretocut", "serve", *options) as found:
        time.sleep(5 * ("--workers=2" in options))  # for the second worker
        yield found


@contextmanager
def server(*command: str) -> Iterator[tuple[int, int]]:
    """Run a server and yield its port and the id of its process."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen([*command, "--port", str(port)], stderr=subprocess.DEVNULL)
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


def arrow_of(scores: Any) -> bytes:
    """Return lists of one length as an Arrow stream."""
    lists = pa.FixedSizeListArray.from_arrays(scores.reshape(-1), scores.shape[1])
    table = pa.table({"scores": lists.cast(pa.list_(pa.float64()))})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as out:
        out.write_table(table)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def load(port: int, connections: int, seconds: float) -> list[float]:
    """Return the time of each request that so many connections make in that time."""
    body = json.dumps({"scores": simulated()[0].tolist()}).encode()
    message = request("/v1/cut", body, "application/json")
    times: list[float] = []
    with ExitStack() as stack, selectors.DefaultSelector() as ready:
        for _ in range(connections):
            own = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
            own.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            own.sendall(message)
            ready.register(own, selectors.EVENT_READ, time.perf_counter())
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            for key, _ in ready.select(1):
                own = cast("socket.socket", key.fileobj)
                answer = own.recv(1 << 16)
                while not answer.endswith(b"}"):  # its head may come alone
                    answer += own.recv(1 << 16)
                assert answer.startswith(b"HTTP/1.1 200"), answer
                now = time.perf_counter()
                times.append(now - key.data)
                ready.modify(own, selectors.EVENT_READ, now)
                own.sendall(message)
    return times


def processor_time(pid: int) -> float:
    """Return the seconds that all threads of a process and of its workers have run so far."""
    found = 0.0
    for thread in Path(f"/proc/{pid}/task").iterdir():
        found += int((thread / "schedstat").read_text().split()[0]) / 1e9
        found += sum(map(processor_time, map(int, (thread / "children").read_text().split())))
    return found


def under_load(port: int, pid: int, connections: int, seconds: float) -> dict[str, float]:
    """Return requests per second, quantiles of their time, and the service's processor time."""
    before = processor_time(pid)
    times = load(port, connections, seconds)
    p50, p99 = np.quantile(times, [0.5, 0.99])
    return {
        "processor_us": 1e6 * (processor_time(pid) - before) / len(times),
        "requests_per_second": len(times) / seconds,
        "p50_ms": 1e3 * float(p50),
        "p99_ms": 1e3 * float(p99),
    }


def one_list(against: str | None, seconds: float, rounds: int = 8) -> dict[str, Any]:
    """Return the processor time of a request of one list, and its ratios, all in turns."""
    plain = ("-m", "uvicorn", "benchmarks.plain_app:app", "--no-access-log")
    spent: dict[str, list[float]] = {}
    with ExitStack() as stack:
        servers = {"service": stack.enter_context(served())}
        servers["plain"] = stack.enter_context(server(sys.executable, *plain))
        if against is not None:
            servers["against"] = stack.enter_context(served(python=against))
        for _ in range(rounds):
            for name, (port, pid) in servers.items():
                own = under_load(port, pid, 16, seconds / rounds)
                spent.setdefault(name, []).append(own["processor_us"])
    found: dict[str, Any] = {f"{name}_us": float(np.median(us)) for name, us in spent.items()}
    for name in servers.keys() - {"service"}:
        turns = np.array(spent[name]) / spent["service"]
        found[f"speed_beside_{name}"] = float(np.median(turns))
        found[f"speed_beside_{name}_range"] = [float(turns.min()), float(turns.max())]
    return found


def batch_beside(against: str, rounds: int) -> dict[str, float]:
    """Return the time of a batch with reasons as a multiple of that of another checkout."""
    scores = simulated()
    bodies = {
        "json": ("/v1/cut", json.dumps({"lists": scores.tolist()}).encode(), "application/json"),
        "arrow": ("/v1/cut", arrow_of(scores), ARROW),
    }
    with served() as own, served(python=against) as other:
        found = {}
        for kind, (path, body, media) in bodies.items():
            times = best(
                rounds,
                {
                    name: (partial(ask, port, path, body, media), partial(processor_time, pid))
                    for name, (port, pid) in (("own", own), ("other", other))
                },
            )
            found[f"{kind}_time_beside_against"] = times["own"] / times["other"]
    return found


def ask(port: int, path: str, body: bytes, kind: str) -> None:
    """Send one request, which must be answered."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("POST", path, body, {"Content-Type": kind})
    answer = connection.getresponse()
    content = answer.read()
    assert answer.status == 200, content
    connection.close()


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
    arrow = arrow_of(scores)
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
            digits = np.array(scores.astype("f4").astype(str), dtype=float).tolist()
            short = json.dumps({"lists": digits, **options}).encode()
            path = "/v1/cut?" + "&".join(f"{k}={str(v).lower()}" for k, v in options.items())

            def by_json(body: bytes = body) -> None:
                ask(port, "/v1/cut", body, "application/json")

            def by_arrow(path: str = path) -> None:
                ask(port, path, arrow, ARROW)

            def service() -> float:
                return processor_time(pid)

            times = best(
                rounds,
                {
                    "engine": (engine, time.thread_time),
                    "loaded": (loaded, time.thread_time),
                    "json": (by_json, service),
                    "short": (partial(by_json, short), service),
                    "arrow": (by_arrow, service),
                },
            )
            found[f"{decider}, {'with reasons' if explain else 'numbers alone'}"] = times
    return found


def resident(pid: int) -> float:
    """Return the memory of a process in megabytes."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def descriptors(pid: int) -> int:
    """Return how many files and connections a process has open."""
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def visit(port: int, until: float, counts: Counter[str]) -> None:
    """Send requests of all kinds, one after the other, and check how each is answered."""
    scores = simulated()
    one = json.dumps({"scores": scores[0].tolist()}).encode()
    many = json.dumps({"lists": scores[:50].tolist(), "evalue": 0.05}).encode()
    plain = "application/json"
    asked = [
        ("one list", 200, "/v1/cut", one, plain),
        ("lists", 200, "/v1/cut", many, plain),
        ("scored", 200, "/v1/score", one, plain),
        ("arrow", 200, "/v1/cut?evalue=0.05", arrow_of(scores[:50]), ARROW),
        ("not json", 400, "/v1/cut", one[:-9], plain),
        ("not arrow", 400, "/v1/cut", many, ARROW),
        ("wrong option", 422, "/v1/cut", one[:-1] + b', "min_k": -1}', plain),
        ("not finite", 422, "/v1/cut", b'{"scores": [1, 1e999]}', plain),
        ("no such address", 404, "/v1/nothing", one, plain),
    ]
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    while time.monotonic() < until:
        for name, status, path, body, kind in asked:
            connection.request("POST", path, body, {"Content-Type": kind})
            answer = connection.getresponse()
            content = answer.read()
            assert answer.status == status, (name, answer.status, content[:200])
            counts[name] += 1
        whole = request("/v1/cut", many, plain)
        for part in (0, 40, len(whole) // 2, len(whole)):  # nothing; half a head or body; no reader
            with socket.create_connection(("127.0.0.1", port)) as leaving:
                leaving.sendall(whole[:part])
            counts["left early"] += 1
    connection.close()


def soak(port: int, pid: int, minutes: float) -> dict[str, Any]:
    """Return memory and descriptors after each tenth of a long load, and the number of requests."""
    memory, files, counts = [], [], Counter[str]()
    for part in range(11):  # what is loaded late is there after the first
        until = time.monotonic() + 6 * minutes * (0.2 if part == 0 else 1)
        with ThreadPoolExecutor(4) as visitors:
            visits = [visitors.submit(visit, port, until, counts) for _ in range(4)]
        for done in visits:
            done.result()
        time.sleep(1)  # the service still has to notice that all have gone
        memory.append(resident(pid))
        files.append(descriptors(pid))
    return {
        "minutes": minutes,
        "requests": dict(counts),
        "megabytes": memory,
        "descriptors": files,
    }


def two_workers(seconds: float) -> dict[str, float]:
    """Return what one worker and two do under 16 connections, in turns, and the ratio."""
    counts, spent, times = [0, 0], [0.0, 0.0], []
    with served() as one, served("--workers=2") as two:
        load(two[0], 16, 1)
        for _ in range(4):
            for place, (port, pid) in enumerate((one, two)):
                before = processor_time(pid)
                taken = load(port, 16, seconds / 4)
                spent[place] += processor_time(pid) - before
                counts[place] += len(taken)
                times += taken if place else []
    return {
        "one_per_second": counts[0] / seconds,
        "two_per_second": counts[1] / seconds,
        "one_processor_us": 1e6 * spent[0] / counts[0],
        "two_processor_us": 1e6 * spent[1] / counts[1],
        "two_p50_ms": 1e3 * float(np.median(times)),
        "ratio": counts[1] / counts[0],
    }


def main() -> None:
    """Measure, print and keep."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=10, help="of each load")
    parser.add_argument("--soak", type=float, default=3, help="minutes")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--against", help="Python of another checkout")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    machine = {
        "processor": platform.machine(),
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
    }
    found: dict[str, Any] = {"machine": machine, "load": {}}
    found["one list"] = one_list(args.against, args.seconds)
    if args.against:
        found["one list"] |= batch_beside(args.against, args.rounds)
    print(json.dumps(found["one list"], indent=1), flush=True)
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
            for kind in ("json", "short", "arrow"):
                print(
                    f"{what:<24} {kind:<5} {times[kind] / times['engine']:5.2f} x the engine's "
                    f"{1e3 * times['engine']:.1f} ms; {times[kind] / times['loaded']:.2f} x "
                    "json.loads + engine",
                    flush=True,
                )
        found["soak"] = soak(port, pid, args.soak)
        memory = ", ".join(f"{m:.0f}" for m in found["soak"]["megabytes"])
        print(
            f"soak: {sum(found['soak']['requests'].values())} requests in {args.soak:g} minutes; "
            f"{memory} MB; {found['soak']['descriptors']} descriptors"
        )
    found["two workers"] = own = two_workers(args.seconds)
    print(
        f"two workers: {own['ratio']:.2f} times the requests of one "
        f"({own['two_per_second']:.0f} and {own['one_per_second']:.0f} a second), median "
        f"{own['two_p50_ms']:.2f} ms; {own['two_processor_us']:.0f} and "
        f"{own['one_processor_us']:.0f} us of a processor each"
    )
    if args.json:
        args.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
