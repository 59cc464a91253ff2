"""What Prometheus is told: requests, their time, lists, cuts, warnings, drift."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter as Counts
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
)
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

from paretocut.lists import IntArray, Ragged, RankedLists
from paretocut.truncators import Calibrated, Truncator

__all__ = ["CONTENT_TYPE_LATEST", "Telemetry"]

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_WINDOW = 500  # lists that drift is looked for in
_PAUSE = 1.0  # seconds between two looks


class Telemetry:
    """The metrics of one worker; with several workers, `render` shows the sum over all of them.

    Prometheus' own multiprocess mode does that, when ``PROMETHEUS_MULTIPROC_DIR`` names a folder.
    """

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._shared = os.environ.get("PROMETHEUS_MULTIPROC_DIR")
        own: dict[str, Any] = {"registry": self._registry}
        self._requests = Counter(
            "paretocut_requests", "Requests answered.", ["route", "status"], **own
        )
        self._seconds = Histogram(
            "paretocut_request_seconds",
            "Time from the first byte of a request to its answer.",
            ["route"],
            buckets=_SECONDS,
            **own,
        )
        self._under_way = Gauge(
            "paretocut_requests_under_way",
            "Requests that are not answered yet.",
            multiprocess_mode="livesum",
            **own,
        )
        by = ["decider"]
        self._lists = Counter("paretocut_lists", "Lists decided on.", by, **own)
        self._results = Counter("paretocut_results", "Results of these lists.", by, **own)
        self._kept = Counter("paretocut_kept_results", "Results kept of these lists.", by, **own)
        self._empty = Counter(
            "paretocut_empty_lists", "Lists of which nothing was kept.", by, **own
        )
        self._warnings = Counter(
            "paretocut_warnings", "Lists that carry a warning, by its name.", ["warning"], **own
        )
        drift: dict[str, Any] = {"multiprocess_mode": "livemax", **own}
        self._changed = Gauge(
            "paretocut_drift_changed",
            "1 if the last lists are not what the model was calibrated on.",
            ["model"],
            **drift,
        )
        self._distance = Gauge(
            "paretocut_drift_distance",
            "Largest difference of the shares below any value, from the calibration.",
            ["model", "statistic"],
            **drift,
        )
        self._looked_at = Gauge(
            "paretocut_drift_lists", "Lists that drift was looked for in.", ["model"], **drift
        )
        self._recent: dict[str, _Recent] = {}
        self._lock = threading.Lock()

    def request(self, route: str, status: int, seconds: float) -> None:
        """Count an answered request.

        Parameters
        ----------
        route
            The address as the service knows it, never as it was asked for.
        status, seconds
            What became of it, and how long it took.
        """
        self._requests.labels(route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def under_way(self, change: int) -> None:
        """Count requests that begin (1) and end (-1)."""
        self._under_way.inc(change)

    def cuts(
        self, decider: str, k: IntArray, n: IntArray, warnings: Iterable[Sequence[str]]
    ) -> None:
        """Count decisions.

        Parameters
        ----------
        decider
            Who decided: "default", "expect", the name of a rule, "method" or "model:NAME".
        k, n
            Results kept, and results there were, of each list.
        warnings
            The warnings of each list, or nothing if nobody asked for them.
        """
        if not len(k):
            return
        self._lists.labels(decider).inc(len(k))
        self._results.labels(decider).inc(int(n.sum()))
        self._kept.labels(decider).inc(int(k.sum()))
        self._empty.labels(decider).inc(int(np.count_nonzero(k == 0)))
        for name, count in Counts(name for names in warnings for name in names).items():
            self._warnings.labels(name).inc(count)

    def watch(
        self,
        name: str,
        model: Truncator,
        scores: Ragged,
        queries: Sequence[str] | None,
    ) -> None:
        """Compare the last lists of a calibrated model with those it was calibrated on.

        Parameters
        ----------
        name, model
            The model; one that was not calibrated with queries has nothing to compare with.
        scores
            The lists of a request, in the model's own direction.
        queries
            Texts of their queries, where the model needs them.
        """
        if not isinstance(model, Calibrated) or model.shapes is None:
            return
        lists = RankedLists(scores, higher_is_better=model.background.higher_is_better)
        rows = model.measure(lists, queries=queries)
        with self._lock:
            recent = self._recent.setdefault(name, _Recent())
            recent.rows.extend(rows[-_WINDOW:])
            if time.monotonic() < recent.next_look or not recent.rows:
                return
            recent.next_look = time.monotonic() + _PAUSE
            rows = np.array(recent.rows)
        drift = model.compare(rows)
        self._changed.labels(name).set(drift.verdict == "changed")
        self._looked_at.labels(name).set(drift.lists)
        for statistic, distance in drift.distance.items():
            self._distance.labels(name, statistic).set(distance)

    def render(self) -> bytes:
        """Return all metrics as Prometheus reads them."""
        source = self._registry
        if self._shared:
            _bury(self._shared)
            source = CollectorRegistry()
            MultiProcessCollector(source, self._shared)  # type: ignore[no-untyped-call]
        shown = CollectorRegistry()
        shown.register(_WithMeans(source))
        return generate_latest(shown)


class _Recent:
    """The last lists of a model: best score, gap and upper half of each."""

    def __init__(self) -> None:
        self.rows: deque[Any] = deque(maxlen=_WINDOW)
        self.next_look = 0.0


class _WithMeans:
    """A registry's metrics, and the two means that follow from its counters."""

    def __init__(self, source: CollectorRegistry) -> None:
        self._source = source

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics."""
        totals: dict[str, dict[str, float]] = {}
        for metric in self._source.collect():
            yield metric
            for sample in metric.samples:
                if "decider" in sample.labels and sample.name.endswith("_total"):
                    by_decider = totals.setdefault(sample.name, {})
                    by_decider[sample.labels["decider"]] = sample.value
        for name, text, total in (
            ("paretocut_mean_k", "Results kept of a list, on average.", "kept_results"),
            ("paretocut_share_empty", "Share of lists of which nothing is kept.", "empty_lists"),
        ):
            family = GaugeMetricFamily(name, f"{text} Since the start.", labels=["decider"])
            counted = totals.get(f"paretocut_{total}_total", {})
            for decider, lists in totals.get("paretocut_lists_total", {}).items():
                family.add_metric([decider], counted.get(decider, 0.0) / lists)
            yield family


def _bury(folder: str) -> None:
    """Take out what dead workers said of themselves; what they counted stays."""
    for entry in os.scandir(folder):
        pid = entry.name.removesuffix(".db").rpartition("_")[2]
        if entry.name.startswith("gauge_live") and not _alive(int(pid)):
            mark_process_dead(int(pid), folder)  # type: ignore[no-untyped-call]


def _alive(pid: int) -> bool:
    if os.name == "nt":  # there a signal of 0 would end the process
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
