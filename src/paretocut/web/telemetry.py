"""Metrics for Prometheus: requests, their time, lists, cuts, warnings, drift."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter as Counts
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, partial
from itertools import chain
from typing import Any

import numpy as np
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector

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
_STEP = 50  # lists, and...
_PAUSE = 1.0  # ... seconds between two comparisons
_MOST_NAMES = 100  # models with numbers of their own
_OTHERS = "model:others"


class Telemetry:
    """The metrics of one worker; with several workers, `render` shows the sum over all of them.

    Prometheus' own multiprocess mode does that, when ``PROMETHEUS_MULTIPROC_DIR`` names a folder.
    The first 100 models that are asked for have numbers of their own, and the rest share theirs.
    """

    def __init__(self) -> None:
        self._registry = own = CollectorRegistry()
        self._shared = os.environ.get("PROMETHEUS_MULTIPROC_DIR")
        requests = Counter(
            "paretocut_requests", "Requests answered.", ["route", "status"], registry=own
        )
        seconds = Histogram(
            "paretocut_request_seconds",
            "Time from the first byte of a request to its answer.",
            ["route"],
            buckets=_SECONDS,
            registry=own,
        )
        # Finding a metric by its labels takes longer than counting.
        self._request = cache(lambda route, status: requests.labels(route, str(status)))
        self._seconds = cache(seconds.labels)
        self.under_way = Gauge(
            "paretocut_requests_under_way",
            "Requests that are not answered yet.",
            multiprocess_mode="livesum",
            registry=own,
        )
        decided = [
            Counter(f"paretocut_{name}", text, ["decider"], registry=own)
            for name, text in _DECIDED.items()
        ]
        self._decided = cache(lambda by: [counter.labels(by) for counter in decided])
        warnings = Counter(
            "paretocut_warnings", "Lists with this warning.", ["warning"], registry=own
        )
        self._warnings = cache(warnings.labels)
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
        self._recent: dict[str, _Recent] = {}  # by model
        self._lock = threading.Lock()

    def request(self, route: str, status: int, seconds: float) -> None:
        """Count an answered request, by the route and not by the address that was asked for."""
        self._request(route, status).inc()
        self._seconds(route).observe(seconds)

    def decided(
        self, decider: str, found: tuple[int, int, int, int], warnings: Iterable[str]
    ) -> dict[str, int]:
        """Count decisions (lists, results, those kept, empty lists) and warnings; name them."""
        if decider.startswith("model:") and self._recent_of(decider[6:]) is None:
            decider = _OTHERS
        for counter, count in zip(self._decided(decider), found, strict=True):
            if count:
                counter.inc(count)
        for warning, count in Counts(warnings).items():
            self._warnings(warning).inc(count)
        return dict(zip(_DECIDED, found, strict=True))

    def cuts(self, decider: str, cuts: Cuts, *, explain: bool = True) -> dict[str, int]:
        """Count the decisions on many lists, with their warnings if they were asked for."""
        kept = int(np.count_nonzero(cuts.k))
        found = len(cuts), int(cuts.n.sum()), int(cuts.k.sum()), len(cuts) - kept
        if not len(cuts):
            return dict(zip(_DECIDED, found, strict=True))
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
            if not recent.add(rows):
                return
            rows = np.array(recent.rows)
        drift = model.drift_of(rows)
        self._changed.labels(name).set(drift.verdict == "changed")
        self._compared.labels(name).set(drift.lists)
        for statistic, distance in drift.distance.items():
            self._distance.labels(name, statistic).set(distance)

    def _recent_of(self, name: str) -> _Recent | None:
        """Return the last lists of a model, or None for one that shares its numbers."""
        with self._lock:
            if name not in self._recent and len(self._recent) < _MOST_NAMES:
                self._recent[name] = _Recent()
            return self._recent.get(name)

    def render(self) -> bytes:
        """Return all metrics as Prometheus reads them."""
        source = self._registry
        if self._shared:
            source = CollectorRegistry()
            MultiProcessCollector(source, self._shared)  # type: ignore[no-untyped-call]
        shown = CollectorRegistry()
        shown.register(_WithMeans(source))
        return generate_latest(shown)


class _Recent:
    """The last lists of a model, as it measures them, and when they were compared."""

    def __init__(self) -> None:
        self.rows: deque[FloatArray] = deque(maxlen=_WINDOW)
        self._new, self._next = 0, 0.0

    def add(self, rows: Any) -> bool:
        """Keep more lists; return whether it is time to compare."""
        self.rows.extend(rows[-_WINDOW:])
        self._new += len(rows)
        now = time.monotonic()
        if self._new < _STEP or now < self._next:
            return False
        self._new, self._next = 0, now + _PAUSE
        return True


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
                if lists:
                    family.add_metric([decider], counted.get(decider, 0.0) / lists)
            yield family
