"""The result of a comparison, and its tables: text, Markdown, LaTeX, HTML, JSON."""

from __future__ import annotations

import html
import json
import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from statistics import NormalDist
from typing import Any

import numpy as np

from paretocut import metrics
from paretocut.errors import InvalidParameterError
from paretocut.lists import FloatArray, IntArray
from paretocut.metrics.significance import bootstrap_interval, holm, sign_flip_test

__all__ = ["Evaluation", "Summary"]


@dataclass(frozen=True, slots=True)
class Summary:
    """One line of the table: a truncator under a metric.

    Attributes
    ----------
    metric, truncator
        Their names.
    mean
        Mean over queries, each query being the mean of its splits.
    std
        Standard deviation of the splits' means; None with a single split.
    low, high
        Bootstrap interval of the mean, over queries.
    gain
        Mean minus that of the baseline; None without one.
    pvalue
        Of a paired sign-flip test against the baseline, Holm-corrected over the truncators of
        the metric; None for the baseline itself and the ceiling.
    mean_k
        Mean number of results kept.
    empty
        Share of the lists of which nothing is kept.
    """

    metric: str
    truncator: str
    mean: float
    std: float | None
    low: float
    high: float
    gain: float | None
    pvalue: float | None
    mean_k: float
    empty: float


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """What `evaluate` found: a table that prints itself, and the values it was made of.

    ``evaluation["f1", "global_k"]`` is one line of the table, a `Summary`.

    Attributes
    ----------
    truncators, metrics
        Names, in the order given.
    ceiling
        Names of the truncators that look at the judgements of the test lists.
    protocol
        How lists were divided, in words.
    baseline, confidence, resamples, seed
        As given to `evaluate`.
    query_ids
        Names of the queries that were in a test part.
    query, split
        Position in ``query_ids`` and number of the split, one per test list.
    k, values
        Cuts and metric values of the test lists, by metric, truncator and test list.
    unknown
        For lists judged in part: standard errors of the means that come from what nobody judged,
        by metric and truncator; the intervals include them. Else None.
    """

    truncators: tuple[str, ...]
    metrics: tuple[str, ...]
    ceiling: tuple[str, ...]
    protocol: str
    baseline: str | None
    confidence: float
    resamples: int
    seed: int
    query_ids: tuple[str, ...]
    query: IntArray = field(repr=False)
    split: IntArray = field(repr=False)
    k: IntArray = field(repr=False)
    values: FloatArray = field(repr=False)
    unknown: FloatArray | None = field(default=None, repr=False)

    def __getitem__(self, key: tuple[str, str]) -> Summary:
        metric, truncator = key
        return self.summary[
            self._metric(metric) * len(self.truncators) + self._truncator(truncator)
        ]

    def per_query(self, metric: str, truncator: str) -> FloatArray:
        """Return a truncator's metric for each of ``query_ids``, averaged over splits."""
        return self._query_means(self.values[self._metric(metric), self._truncator(truncator)])

    def cuts(self, metric: str, truncator: str) -> IntArray:
        """Return a truncator's cuts, one per test list of every split."""
        cuts: IntArray = self.k[self._metric(metric), self._truncator(truncator)]
        return cuts

    @property
    def summary(self) -> tuple[Summary, ...]:
        """The lines of the table, metric by metric."""
        # Not a cached_property: up to Python 3.11 that has a lock, and a child forked while a
        # thread holds it waits for ever.
        known: tuple[Summary, ...] | None = self.__dict__.get("_summary")
        if known is None:
            known = tuple(line for i in range(len(self.metrics)) for line in self._summaries(i))
            self.__dict__["_summary"] = known
        return known

    def to_records(self) -> list[dict[str, Any]]:
        """Return every value as a dict: query_id, split, truncator, metric, k, value."""
        return [
            {
                "query_id": self.query_ids[self.query[m]],
                "split": int(self.split[m]),
                "truncator": truncator,
                "metric": metric,
                "k": int(self.k[i, j, m]),
                "value": float(self.values[i, j, m]),
            }
            for i, metric in enumerate(self.metrics)
            for j, truncator in enumerate(self.truncators)
            for m in range(len(self.query))
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the table and how it was made, as plain data."""
        return {
            "protocol": self.protocol,
            "queries": len(self.query_ids),
            "baseline": self.baseline,
            "confidence": self.confidence,
            "resamples": self.resamples,
            "seed": self.seed,
            "summary": [asdict(line) for line in self.summary],
        }

    def to_json(self) -> str:
        """Return `to_dict` as JSON text."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False)

    def to_markdown(self) -> str:
        """Return one Markdown table per metric, the best truncator in bold."""
        return "\n\n".join(self._markdown(metric) for metric in self.metrics)

    def to_latex(self) -> str:
        """Return one LaTeX ``tabular`` per metric (package booktabs), the best in bold."""
        return "\n\n".join(self._latex(metric) for metric in self.metrics)

    def __str__(self) -> str:
        return "\n\n".join(self._text(metric) for metric in self.metrics)

    def __repr__(self) -> str:
        return (
            f"Evaluation({len(self.truncators)} truncators, metrics {', '.join(self.metrics)}, "
            f"{len(self.query_ids)} queries, {self.protocol})"
        )

    def _repr_html_(self) -> str:
        return "\n".join(self._html(metric) for metric in self.metrics)

    # The numbers.

    def _metric(self, name: str) -> int:
        # The table knows a metric by one name, its users perhaps by another.
        known = metrics.get(name).name if name in metrics.names() else name
        return _position(known, self.metrics, "metric")

    def _truncator(self, name: str) -> int:
        return _position(name, self.truncators, "truncator")

    def _query_means(self, values: Any) -> FloatArray:
        counts = np.bincount(self.query)
        return np.bincount(self.query, weights=values) / counts

    def _split_means(self, values: Any) -> FloatArray:
        counts = np.bincount(self.split)
        return np.bincount(self.split, weights=values) / counts

    def _summaries(self, i: int) -> Iterator[Summary]:
        values = np.stack([self._query_means(row) for row in self.values[i]], axis=1)
        low, high = bootstrap_interval(
            values, confidence=self.confidence, resamples=self.resamples, seed=self.seed
        )
        means = values.mean(axis=0)
        if self.unknown is not None:
            # Both sources of error are independent: their squares add up.
            wide = NormalDist().inv_cdf(0.5 + 0.5 * self.confidence) * self.unknown[i]
            low = means - np.hypot(means - low, wide)
            high = means + np.hypot(high - means, wide)
        pvalues: dict[int, float] = {}
        base = None if self.baseline is None else self._truncator(self.baseline)
        if base is not None:
            rivals = [
                j
                for j, name in enumerate(self.truncators)
                if j != base and name not in self.ceiling
            ]
            raw = sign_flip_test(
                values[:, rivals] - values[:, [base]], resamples=self.resamples, seed=self.seed
            )
            pvalues = dict(zip(rivals, holm(raw).tolist(), strict=True))
        for j, name in enumerate(self.truncators):
            by_split = self._split_means(self.values[i, j])
            cuts = self.k[i, j]
            yield Summary(
                metric=self.metrics[i],
                truncator=name,
                mean=float(means[j]),
                std=float(by_split.std(ddof=1)) if by_split.size > 1 else None,
                low=float(low[j]),
                high=float(high[j]),
                gain=None if base is None else float(means[j] - means[base]),
                pvalue=pvalues.get(j),
                mean_k=float(self._query_means(cuts).mean()),
                empty=float(self._query_means(cuts == 0).mean()),
            )

    # The table in its several spellings.

    def _caption(self, metric: str) -> str:
        parts = [f"{metric}: {len(self.query_ids)} test queries, {self.protocol}"]
        parts.append(f"{100 * self.confidence:g} % intervals over queries")
        if self.baseline is not None:
            parts.append(f"p against {self.baseline}, Holm-corrected")
        return "; ".join(parts)

    def _header(self) -> list[str]:
        test = [] if self.baseline is None else ["gain", "p"]
        return ["truncator", "mean", "sd", "interval", *test, "k", "empty"]

    def _rows(self, metric: str) -> list[tuple[bool, list[str]]]:
        """Return the cells of each line, and whether it is the best that can be used."""
        lines = [line for line in self.summary if line.metric == metric]
        usable = [line.mean for line in lines if line.truncator not in self.ceiling]
        best = max(usable, default=math.inf)
        rows = []
        for line in lines:
            test = []
            if self.baseline is not None:
                test = [_number(line.gain, "+.3f"), _pvalue(line.pvalue)]
            cells = [
                line.truncator + (" (ceiling)" if line.truncator in self.ceiling else ""),
                f"{line.mean:.3f}",
                _number(line.std, ".3f"),
                f"{line.low:.3f} to {line.high:.3f}",
                *test,
                f"{line.mean_k:.1f}",
                f"{100 * line.empty:.0f} %",
            ]
            rows.append((line.truncator not in self.ceiling and line.mean == best, cells))
        return rows

    def _text(self, metric: str) -> str:
        table = [self._header(), *(cells for _, cells in self._rows(metric))]
        widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
        lines = [
            row[0].ljust(widths[0])
            + "".join("  " + cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True))
            for row in table
        ]
        return "\n".join([self._caption(metric), "", *lines])

    def _markdown(self, metric: str) -> str:
        header = self._header()
        lines = [
            "| " + " | ".join(header) + " |",
            "|---|" + "---:|" * (len(header) - 1),
            *(
                "| " + " | ".join(_emphasised(cells, best, "**", "**")) + " |"
                for best, cells in self._rows(metric)
            ),
        ]
        return "\n".join([self._caption(metric), "", *lines])

    def _latex(self, metric: str) -> str:
        def line(cells: list[str]) -> str:
            return " & ".join(cells) + r" \\"

        header = self._header()
        body = [
            line(_emphasised([_tex(cell) for cell in cells], best, r"\textbf{", "}"))
            for best, cells in self._rows(metric)
        ]
        return "\n".join(
            [
                f"% {self._caption(metric)}",
                r"\begin{tabular}{l" + "r" * (len(header) - 1) + "}",
                r"\toprule",
                line([_tex(cell) for cell in header]),
                r"\midrule",
                *body,
                r"\bottomrule",
                r"\end{tabular}",
            ]
        )

    def _html(self, metric: str) -> str:
        def line(cells: list[str], tag: str) -> str:
            return "<tr>" + "".join(f"<{tag}>{cell}</{tag}>" for cell in cells) + "</tr>"

        rows = [
            line(_emphasised([html.escape(cell) for cell in cells], best, "<b>", "</b>"), "td")
            for best, cells in self._rows(metric)
        ]
        caption = f"<caption>{html.escape(self._caption(metric))}</caption>"
        return "\n".join(["<table>", caption, line(self._header(), "th"), *rows, "</table>"])


def _position(name: str, names: tuple[str, ...], what: str) -> int:
    if name not in names:
        raise InvalidParameterError(
            f"Evaluation: {what} must be one of {', '.join(names)}, got {name!r}"
        )
    return names.index(name)


# Cells.


def _number(value: float | None, spec: str) -> str:
    return "" if value is None else format(value, spec)


def _pvalue(value: float | None) -> str:
    if value is None:
        return ""
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def _emphasised(cells: list[str], best: bool, before: str, after: str) -> list[str]:
    """Return the cells with name and mean marked when they are the best."""
    return [f"{before}{cell}{after}" if best and i < 2 else cell for i, cell in enumerate(cells)]


def _tex(cell: str) -> str:
    return "".join(f"\\{letter}" if letter in "_%&#$" else letter for letter in cell)
