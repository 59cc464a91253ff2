"""Metrics for Prometheus, and logs: one JSON object per line, without scores, ids or texts."""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections import Counter as Counts
from collections import deque
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import cache, partial
from itertools import chain
from typing import Any

import msgspec
import numpy as np
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from paretocut.decisions import Cuts
from paretocut.lists import FloatArray, Ragged, RankedLists
from paretocut.truncators import Calibrated, Truncator

LOGGER = logging.getLogger("paretocut.web")

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_DECIDED = {
    "lists": "Lists decided on.",
    "results": "Results of these lists.",
    "kept_results": "Results kept of these lists.",
    "empty_lists": "Lists of which nothing was kept.",
}
_FEWEST, _WINDOW = 50, 500  # lists that are compared with the calibration
_PAUSE = 5.0  # seconds between two comparisons
_MOST_NAMES = 100  # models with numbers of their own


class Telemetry:
    """The metrics of one worker; with several workers, `render` shows the sum over all of them.

    Prometheus' own multiprocess mode does that, when ``PROMETHEUS_MULTIPROC_DIR`` names a folder.
    The first 100 models that are asked for have numbers of their own, and the rest share theirs.
    """

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        counter = partial(Counter, registry=self._registry)
        gauge = partial(Gauge, registry=self._registry)
        drift = partial(gauge, multiprocess_mode="livemax")
        requests = counter("paretocut_requests", "Requests answered.", ["route", "status"])
        text = "Time from the first byte of a request to its answer."
        seconds = Histogram(
            "paretocut_request_seconds", text, ["route"], buckets=_SECONDS, registry=self._registry
        )
        text = "Requests that are not answered yet."
        self.under_way = gauge("paretocut_requests_under_way", text, multiprocess_mode="livesum")
        decided = [
            counter(f"paretocut_{name}", text, ["decider"]) for name, text in _DECIDED.items()
        ]
        warnings = counter("paretocut_warnings", "Lists with this warning.", ["warning"])
        text = "1 if the last lists differ from those the model was calibrated on."
        self._changed = drift("paretocut_drift_changed", text, ["model"])
        text = "Largest difference between the distributions now and at the calibration."
        self._distance = drift("paretocut_drift_distance", text, ["model", "statistic"])
        text = "Lists compared with the calibration."
        self._compared = drift("paretocut_drift_lists", text, ["model"])
        # Finding a metric by its labels takes longer than counting.
        self._request = cache(lambda route, status: requests.labels(route, str(status)))
        self._seconds = cache(seconds.labels)
        self._decided = cache(lambda by: [counter.labels(by) for counter in decided])
        self._warnings = cache(warnings.labels)
        self._recent: dict[str, deque[FloatArray]] = {}  # the last lists of a model, as it measures
        self._next: dict[str, float] = {}  # when they may be compared again
        self._lock = threading.Lock()

    def request(self, route: str, status: int, seconds: float) -> None:
        self._request(route, status).inc()
        self._seconds(route).observe(seconds)

    def decided(
        self, decider: str, found: tuple[int, int, int, int], warnings: Iterable[str]
    ) -> dict[str, int]:
        """Count decisions (lists, results, those kept, empty lists) and warnings; name them."""
        if decider.startswith("model:") and self._recent_of(decider[6:]) is None:
            decider = "model:others"
        for counter, count in zip(self._decided(decider), found, strict=True):
            counter.inc(count)
        for warning, count in Counts(warnings).items():
            self._warnings(warning).inc(count)
        return dict(zip(_DECIDED, found, strict=True))

    def cuts(self, decider: str, cuts: Cuts, *, explain: bool = True) -> dict[str, int]:
        """Count the decisions on many lists, with their warnings if they were asked for."""
        empty = len(cuts) - int(np.count_nonzero(cuts.k))
        found = len(cuts), int(cuts.n.sum()), int(cuts.k.sum()), empty
        return self.decided(decider, found, chain.from_iterable(cuts.warnings if explain else ()))

    def watch(
        self, name: str, model: Truncator, scores: Ragged, queries: Sequence[str] | None
    ) -> None:
        """Compare the last lists of a calibrated model with those it was calibrated on."""
        if not isinstance(model, Calibrated) or model.shapes_ is None:
            return
        recent = self._recent_of(name)
        if recent is None:
            return
        lists = RankedLists(scores, higher_is_better=model.background.higher_is_better)
        rows = model.shapes(lists, queries=queries)
        with self._lock:
            recent.extend(rows[-_WINDOW:])
            now = time.monotonic()
            if len(recent) < _FEWEST or now < self._next.get(name, now):
                return
            self._next[name] = now + _PAUSE
            rows = np.array(recent)
        drift = model.drift_of(rows)
        self._changed.labels(name).set(drift.verdict == "changed")
        self._compared.labels(name).set(drift.lists)
        for statistic, distance in drift.distance.items():
            self._distance.labels(name, statistic).set(distance)

    def _recent_of(self, name: str) -> deque[FloatArray] | None:
        """Return the last lists of a model, or None for one that shares its numbers."""
        with self._lock:
            if name not in self._recent and len(self._recent) < _MOST_NAMES:
                self._recent[name] = deque(maxlen=_WINDOW)
            return self._recent.get(name)

    def render(self) -> bytes:
        shown = self._registry
        if folder := os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
            shown = CollectorRegistry()
            MultiProcessCollector(shown, folder)  # type: ignore[no-untyped-call]
        return generate_latest(shown)


def note(event: str, level: int = logging.INFO, **noted: Any) -> None:
    """Log an event of the service with its details.

    The line goes straight to standard error: a record of `logging` takes longer than a decision.
    """
    if LOGGER.isEnabledFor(level):
        line = {
            "time": datetime.now().isoformat(timespec="milliseconds"),
            "level": logging.getLevelName(level).lower(),
            "logger": LOGGER.name,
            "event": event,
            "process": os.getpid(),
            **noted,
        }
        try:
            sys.stderr.write(msgspec.json.encode(line).decode() + "\n")
        except (OSError, ValueError, AttributeError):  # nobody reads it any more
            pass


class _Lines(logging.Handler):
    """Writes records as lines of JSON."""

    def emit(self, record: logging.LogRecord) -> None:
        # The message of an error may quote the request.
        kind = record.exc_info[0] if record.exc_info else None
        error = {} if kind is None else {"error": kind.__name__}
        note(record.getMessage(), record.levelno, logger=record.name, **error)


def log_lines(level: int = logging.INFO) -> None:
    """Let the server and this package log lines of JSON from this level on."""
    for logger in (LOGGER, logging.getLogger("uvicorn")):
        logger.handlers, logger.propagate = [_Lines()], False
        logger.setLevel(level)
