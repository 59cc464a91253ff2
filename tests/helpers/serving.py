"""The service as a process of its own, as its tests and its users run it."""

from __future__ import annotations

import json
import os
import queue
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa

ARROW = "application/vnd.apache.arrow.stream"


class Running:
    """A service that listens on a port of its own.

    Attributes
    ----------
    url
        Where it is.
    process
        The process that was started.
    lines
        What it has logged so far, as objects.
    """

    def __init__(self, *options: str, **environment: str) -> None:
        command = [sys.executable, "-m", "paretocut", "serve", "--port", "0", *options]
        self.process = subprocess.Popen(
            command, env=os.environ | environment, stderr=subprocess.PIPE, text=True
        )
        self.lines: list[dict[str, Any]] = []
        self._found: queue.Queue[str] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.url = self._found.get(timeout=300)
        assert self.url, f"the service did not start: {self.lines}"

    def _read(self) -> None:
        assert self.process.stderr is not None
        for text in self.process.stderr:
            try:
                line = json.loads(text)
            except ValueError:
                line = {"not json": text}
            self.lines.append(line)
            found = re.search(r"running on (http://[\w.:]+)", str(line.get("event")))
            if found:
                self._found.put(found[1].replace("0.0.0.0", "127.0.0.1"))
        self._found.put("")

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self.url.rpartition(":")[2])

    @property
    def address(self) -> tuple[str, int]:
        """The address it listens on."""
        return "127.0.0.1", self.port

    def requests(self) -> list[dict[str, Any]]:
        """Return the lines about requests."""
        return [line for line in self.lines if line.get("event") == "request"]

    def stop(self) -> int:
        """End the service and return its exit code."""
        self.process.terminate()
        return self.process.wait(timeout=300)

    def close(self) -> None:
        """End the service whatever it does, and read its log to the end."""
        try:
            if self.process.poll() is None:
                self.stop()
        finally:
            self.process.kill()
            self.process.wait()
            self._reader.join(timeout=300)
            assert self.process.stderr is not None
            self.process.stderr.close()


@contextmanager
def running(*options: str, **environment: str) -> Iterator[Running]:
    """Run the service with these options of ``paretocut serve``, and end it."""
    service = Running(*options, **environment)
    try:
        yield service
    finally:
        service.close()


def simulated(lists: int, depth: int = 200, hits: int = 5, seed: int = 0) -> Any:
    """Return lists of noise with some hits that stand out, best first."""
    rng = np.random.default_rng(seed)
    noise = rng.gamma(2.0, 0.06, (lists, depth - hits))
    found = rng.normal(2.0, 0.1, (lists, hits))
    return -np.sort(-np.concatenate([found, noise], axis=1), axis=1)


def slow_lists(count: int, depth: int = 10_000) -> list[list[float]]:
    """Return lists on which the search for the window takes long: half a second at 10,000."""
    return [np.exp(np.linspace(20, 0, depth)).tolist()] * count


def stream(table: pa.Table, **options: Any) -> bytes:
    """Return a table as an Arrow stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as out:
        out.write_table(table)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def samples(text: str) -> dict[str, float]:
    """Return the samples of an answer of ``/metrics``, by name with labels."""
    rows = [line.rpartition(" ") for line in text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in rows}


def until(condition: Any, *, seconds: float = 300) -> None:
    """Return as soon as the condition holds; fail when it does not in time."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)
