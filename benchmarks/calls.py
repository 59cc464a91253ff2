"""Count the Python functions that one warm decision calls, from the list to the answer.

    python -m benchmarks.calls [--json benchmarks/calls.json --name now]
    PYTHONPATH=other/checkout/src python -m benchmarks.calls   # the same of another commit

Unlike times, counts do not depend on the machine, only on the versions of Python and of packages.
Every call is made three times and the last one counts, in all threads: all functions written in
Python, those of paretocut, and its files.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import threading
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import paretocut as pc
from benchmarks.decisions import retriever

HOME = str(Path(pc.__file__).resolve().parent)


class Counter:
    """Counts calls while it is told to."""

    def __init__(self) -> None:
        self.seen: list[str] | None = None
        threading.setprofile(self._saw)  # of threads that start from now on
        sys.setprofile(self._saw)

    def _saw(self, frame: Any, event: str, _: Any) -> None:
        if self.seen is not None and event == "call":
            self.seen.append(frame.f_code.co_filename)

    def of(self, function: Callable[[], object]) -> dict[str, int]:
        """Return the counts of the third call."""
        for _ in range(2):
            function()
        self.seen = []
        function()
        seen, self.seen = self.seen[1:], None  # without the function itself
        own = [name for name in seen if name.startswith(HOME)]
        return {"calls": len(seen), "of paretocut": len(own), "in files": len(set(own))}


def scores() -> Any:
    """Return 200 results of noise with five hits, best first."""
    rng = np.random.default_rng(0)
    return -np.sort(-np.concatenate([rng.normal(2.0, 0.1, 5), rng.gamma(2.0, 0.06, 195)]))


def post() -> Callable[[], object]:
    """Return one request to the service in this process, without a server or a socket."""
    from paretocut.web.app import create_app

    app, loop = create_app(threads=1), asyncio.new_event_loop()
    body = json.dumps({"scores": scores().tolist()}).encode()
    headers = {"host": "localhost", "content-type": "application/json"}
    scope = {
        **{"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST"},
        **{"scheme": "http", "path": "/v1/cut", "raw_path": b"/v1/cut", "query_string": b""},
        **{"root_path": "", "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80)},
        "headers": [
            *((name.encode(), value.encode()) for name, value in headers.items()),
            (b"content-length", str(len(body)).encode()),
        ],
    }

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        if message.get("status", 200) != 200:
            raise RuntimeError(f"post: the answer must be a decision, got {message}")

    return lambda: loop.run_until_complete(app(dict(scope), receive, send))


def measured() -> dict[str, dict[str, int]]:
    """Return the counts of every way to a decision that is installed."""
    counter, x = Counter(), scores()
    ways: dict[str, Callable[[], object]] = {
        "pc.fit_tail(x)": lambda: pc.fit_tail(x),
        "pc.cut(x)": lambda: pc.cut(x),
        "pc.cut(x).reason": lambda: pc.cut(x).reason,
        "pc.cut(x, alpha=.05)": lambda: pc.cut(x, alpha=0.05),
        "pc.cut(x, alpha=.05).reason": lambda: pc.cut(x, alpha=0.05).reason,
        "pc.fit_tail(x).cut(alpha=.05)": lambda: pc.fit_tail(x).cut(alpha=0.05),
    }
    if find_spec("langchain_core") is not None:
        answering = retriever()
        ways["one LangChain answer"] = lambda: answering.invoke("a question")
    if find_spec("starlette") is not None:
        ways["one POST"] = post()
    return {name: counter.of(function) for name, function in ways.items()}


def main() -> int:
    """Print the counts, and keep them under a name if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--json", type=Path, help="file to keep the counts in")
    parser.add_argument("--name", default="now", help="name of the counts in that file")
    options = parser.parse_args()
    counts = measured()
    columns = next(iter(counts.values()))
    print(f"{'':<32}" + "".join(f"{column:>14}" for column in columns))
    for name, row in counts.items():
        print(f"{name:<32}" + "".join(f"{number:>14}" for number in row.values()))
    if options.json:
        kept = json.loads(options.json.read_text("utf-8")) if options.json.exists() else {}
        kept[options.name] = counts
        options.json.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
