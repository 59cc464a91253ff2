"""The processes of the service: signals, several workers, one of them killed."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from serving import Running, running, samples, simulated, slow_lists, until
from support import importorskip

import paretocut as pc

httpx = importorskip("httpx")
for needed in ("starlette", "msgspec", "uvicorn", "prometheus_client"):
    importorskip(needed)


def ready(service: Running) -> bool:
    """Return whether somebody answers; the parent of several workers says so too early."""
    try:
        return bool(httpx.get(f"{service.url}/healthz", timeout=300).status_code == 200)
    except httpx.TransportError:
        return False


def workers(service: Running) -> list[int]:
    """Return the processes that have said that they serve."""
    started = [re.search(r"Started server process \[(\d+)\]", str(line)) for line in service.lines]
    return [int(found[1]) for found in started if found]


def both_answer(service: Running) -> bool:
    """Return whether both workers have answered: each says that it serves before it listens."""
    answered = {line["process"] for line in service.requests()} if ready(service) else set()
    return len(workers(service)) == 2 and answered >= set(workers(service))


def metrics(service: Running) -> dict[str, float]:
    return samples(httpx.get(f"{service.url}/metrics", timeout=300).text)


@pytest.mark.parametrize("count", ["1", pytest.param("2", marks=pytest.mark.slow)])
def test_sigterm_lets_requests_under_way_be_answered(count: str) -> None:
    lists = slow_lists(2)
    expected = [cut.k for cut in pc.truncators.Surprise(evalue=0.05).cut_batch(lists)]
    with running("--workers", count) as service, ThreadPoolExecutor(1) as pool:
        until(lambda: ready(service))
        pending = pool.submit(
            httpx.post,
            f"{service.url}/v1/cut",
            json={"lists": lists, "evalue": 0.05},
            timeout=300,
        )
        until(lambda: metrics(service)["paretocut_requests_under_way"] >= 2)  # with this one
        service.process.send_signal(signal.SIGTERM)
        answer = pending.result()
        assert answer.status_code == 200
        assert [row["k"] for row in answer.json()] == expected
        assert service.process.wait(timeout=300) == 0
        assert not ready(service)
    assert not [line for line in service.lines if line["level"] == "error"]


@pytest.mark.parametrize("count", ["1", "2"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_exit_codes_do_not_depend_on_the_number_of_workers(count: str, number: int) -> None:
    with running("--workers", count) as service:
        service.process.send_signal(number)
        assert service.process.wait(timeout=300) == 0
    assert not [line for line in service.lines if line["level"] == "error"]


@pytest.mark.parametrize("count", ["1", "2"])
def test_a_service_that_cannot_start_says_so_and_ends(count: str, tmp_path: Path) -> None:
    """With two workers it once said that it was running, and never listened."""
    (tmp_path / "model.json").write_text("{}")
    command = [sys.executable, "-m", "paretocut", "serve", "--port=0", f"--workers={count}"]
    done = subprocess.run(
        [*command, f"--model=broken={tmp_path / 'model.json'}"],
        capture_output=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 1
    assert b"model.json" in done.stderr


@pytest.mark.parametrize("count", ["1", "2"])
def test_a_restart_binds_at_once(count: str) -> None:
    """Connections that the service closed first once kept its port for a minute."""
    with running("--workers", count) as service:
        port = service.port
        with socket.create_connection(service.address, timeout=300) as connection:
            connection.sendall(b"\0" * 99)  # not HTTP, so the service closes
            while connection.recv(2000):
                pass
    with running("--workers", count, "--port", str(port)) as service:
        assert ready(service)
        assert service.port == port


def test_the_drain_ends_in_time() -> None:
    with (
        running("--drain-seconds=1", "--max-seconds=120") as service,
        ThreadPoolExecutor(1) as pool,
    ):
        body = {"lists": slow_lists(300, depth=4000), "evalue": 0.05}
        pending = pool.submit(httpx.post, f"{service.url}/v1/cut", json=body, timeout=300)
        until(lambda: metrics(service)["paretocut_requests_under_way"] >= 2)  # with this one
        began = time.monotonic()
        service.process.send_signal(signal.SIGTERM)
        assert service.process.wait(timeout=300) == 0
        assert time.monotonic() - began < 15
        assert pending.result().status_code == 503


def test_workers_end_when_their_parent_is_killed() -> None:
    with running("--workers", "2") as service:
        until(lambda: both_answer(service))
        service.process.kill()
        until(lambda: not ready(service))


@pytest.mark.parametrize("count", [pytest.param("1", marks=pytest.mark.slow), "2"])
def test_a_kept_connection_waits_for_nothing(count: str) -> None:
    """With several workers each answer once came 40 ms late: Nagle and delayed acknowledgement."""
    with (
        running("--workers", count) as service,
        httpx.Client(base_url=service.url, timeout=300) as client,
    ):
        until(lambda: ready(service))
        times = []
        for _ in range(30):
            began = time.monotonic()
            assert client.get("/healthz").status_code == 200
            times.append(time.monotonic() - began)
        assert min(times) < 0.03


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not spread connections")
def test_connections_are_spread_over_the_workers() -> None:
    """Of a shared socket the first worker to wake took 15 or 16 of 16 connections."""
    with running("--workers", "2") as service, ExitStack() as stack:
        until(lambda: both_answer(service))
        before = len(service.requests())
        for _ in range(40):
            client = stack.enter_context(httpx.Client(base_url=service.url, timeout=300))
            assert client.get("/healthz").status_code == 200
        until(lambda: len(service.requests()) >= before + 40)
        taken = Counter(line["process"] for line in service.requests()[before:])
        assert min(taken[process] for process in workers(service)) > 5  # 1 in 70,000 by chance


@pytest.mark.slow
def test_metrics_are_the_sum_over_workers() -> None:
    with running("--workers", "2") as service:
        until(lambda: both_answer(service))
        by_process: set[int] = set()
        asked = 0
        while len(by_process) < 2 and asked < 500:
            asked += 1
            answer = httpx.post(f"{service.url}/v1/cut", json={"scores": [3, 2, 1]}, timeout=300)
            assert answer.status_code == 200
            by_process = {line["process"] for line in service.requests()}
        assert by_process == set(workers(service))
        assert metrics(service)['paretocut_lists_total{decider="default"}'] == asked
        assert service.stop() == 0


@pytest.mark.slow
def test_a_killed_worker_gives_no_wrong_answer_and_the_rest_go_on() -> None:
    scores = simulated(40, depth=100)
    expected = pc.truncators.Surprise(evalue=0.05).cut_batch(scores).k
    enough = threading.Event()
    right, lost, wrong = [0] * 6, [0] * 6, []

    def ask(me: int) -> None:
        generator = np.random.default_rng(me)
        client = httpx.Client(base_url=service.url, timeout=300)
        while not enough.is_set():
            i = int(generator.integers(40))
            content: dict[str, Any] = {"scores": scores[i].tolist(), "evalue": 0.05}
            try:
                answer = client.post("/v1/cut", json=content)
            except httpx.TransportError:
                lost[me] += 1
                client.close()
                client = httpx.Client(base_url=service.url, timeout=300)
                continue
            if answer.status_code == 200 and answer.json()["k"] == expected[i]:
                right[me] += 1
            else:
                wrong.append(answer.text)
        client.close()

    with running("--workers", "2") as service:
        until(lambda: both_answer(service))
        victim = workers(service)[0]
        threads = [threading.Thread(target=ask, args=(i,)) for i in range(6)]
        for thread in threads:
            thread.start()
        try:
            until(lambda: sum(right) > 100)
            os.kill(victim, signal.SIGKILL)
            at_the_kill = sum(right)
            until(lambda: sum(right) > at_the_kill + 100)
            until(lambda: len(workers(service)) == 3)
            at_the_return = sum(right)
            until(lambda: sum(right) > at_the_return + 100)
        finally:
            enough.set()
            for thread in threads:
                thread.join()
        assert wrong == []
        assert sum(lost) <= 12  # connections that the victim held, and no more
        # What the dead worker counted is still there; what it had under way is not.
        shown = metrics(service)
        assert shown["paretocut_requests_under_way"] == 1
        assert shown['paretocut_lists_total{decider="evalue"}'] >= sum(right)


def test_a_dead_worker_is_replaced_within_two_seconds() -> None:
    """One in nine was once missed for 15 seconds."""
    with running("--workers", "2") as service:
        until(lambda: both_answer(service))
        for count in (3, 4, 5):
            os.kill(workers(service)[-1], signal.SIGKILL)
            began = time.monotonic()
            until(lambda count=count: len(workers(service)) == count)
            assert time.monotonic() - began < 2
