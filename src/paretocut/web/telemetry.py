"""Metrics for Prometheus: requests, their time, lists, cuts, warnings, drift."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter as Counts
from collections import deque
from collections.abc import Iterator, Sequence
from functools import cache, partial
from itertools import chain

import numpy as np
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

from paretocut.decisions import Cuts
from paretocut.lists import FloatArray, Ragged, RankedLists
from paretocut.truncators import Calibrated, Truncator

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_DECIDED = {
    "lists": "Lists decided on.",
    "results": "Results of these lists.",
    "kept_results": "Results kept of these lists.",
    "empty_lists": "Lists of which nothing was kept.",
}
_WINDOW = 500  # lists that are compared with the calibration
_PAUSE = 1.0  # seconds between two comparisons


class Telemetry:
    """The metrics of one worker; with several workers, `render` shows the sum over all of them.

    Prometheus' own multiprocess mode does that, when ``PROMETHEUS_MULTIPROC_DIR`` names a folder.
    """

    def __init__(self) -> None:
        self._registry = own = CollectorRegistry()
        self._shared = os.environ.get("PROMETHEUS_MULTIPROC_DIR")
        self._requests = Counter(
            "paretocut_requests", "Requests answered.", ["route", "status"], registry=own
        )
        self._seconds = Histogram(
            "paretocut_request_seconds",
            "Time from the first byte of a request to its answer.",
            ["route"],
            buckets=_SECONDS,
            registry=own,
        )
        self._under_way = Gauge(
            "paretocut_requests_under_way",
            "Requests that are not answered yet.",
            multiprocess_mode="livesum",
            registry=own,
        )
        decided = {
            name: Counter(f"paretocut_{name}", text, ["decider"], registry=own)
            for name, text in _DECIDED.items()
        }
        self._decided = cache(lambda by: {name: decided[name].labels(by) for name in decided})
        self._warnings = Counter(
            "paretocut_warnings", "Lists with this warning.", ["warning"], registry=own
        )
        drift = partial(Gauge, multiprocess_mode="livemax", registry=own)
        self._changed = drift(
            "paretocut_drift_changed",
            "1 if the last lists differ from those the model was calibrated on.",
            ["model"],
        )
        self._distance = drift(
            "paretocut_drift_distance",
            "Largest difference between the distributions now and at the calibration.",
            ["model", "statistic"],
        )
        self._compared = drift(
            "paretocut_drift_lists", "Lists compared with the calibration.", ["model"]
        )
        self._recent: dict[str, _Recent] = {}
        self._lock = threading.Lock()

    def request(self, route: str, status: int, seconds: float) -> None:
        """Count an answered request, by the route and not by the address that was asked for."""
        self._requests.labels(route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def under_way(self, change: int) -> None:
        """Count requests that begin (1) and end (-1)."""
        self._under_way.inc(change)

    def cuts(self, decider: str, cuts: Cuts, *, explain: bool = True) -> dict[str, int]:
        """Count decisions, their warnings only if they were asked for; return the numbers."""
        kept = np.count_nonzero(cuts.k)
        found = (len(cuts), cuts.n.sum(), cuts.k.sum(), len(cuts) - kept)
        counts = dict(zip(_DECIDED, map(int, found), strict=True))
        if not len(cuts):
            return counts
        for name, counter in self._decided(decider).items():
            counter.inc(counts[name])
        warnings = chain.from_iterable(cuts.warnings if explain else ())
        for warning, count in Counts(warnings).items():
            self._warnings.labels(warning).inc(count)
        return counts

    def watch(
        self, name: str, model: Truncator, scores: Ragged, queries: Sequence[str] | None
    ) -> None:
        """Compare the last lists of a calibrated model with those it was calibrated on."""
        if not isinstance(model, Calibrated) or model.shapes_ is None:
            return
        lists = RankedLists(scores, higher_is_better=model.background.higher_is_better)
        rows = model.shapes(lists, queries=queries)
        with self._lock:
            recent = self._recent.setdefault(name, _Recent())
            recent.rows.extend(rows[-_WINDOW:])
            if time.monotonic() < recent.next_look or not recent.rows:
                return
            recent.next_look = time.monotonic() + _PAUSE
            rows = np.array(recent.rows)
        drift = model.drift_of(rows)
        self._changed.labels(name).set(drift.verdict == "changed")
        self._compared.labels(name).set(drift.lists)
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
    """The last lists of a model, as it measures them, and when to compare them again."""

    def __init__(self) -> None:
        self.rows: deque[FloatArray] = deque(maxlen=_WINDOW)
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
                    totals.setdefault(sample.name, {})[sample.labels["decider"]] = sample.value
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
    """Remove the gauges of dead workers; their counts stay."""
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
