"""The result of a comparison, and its tables: text, Markdown, LaTeX, JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from statistics import NormalDist
from typing import Any

import numpy as np

from paretocut import metrics
from paretocut.evaluation.verdict import Summary, verdict_of
from paretocut.lists import BoolArray, FloatArray, IntArray
from paretocut.metrics import is_share
from paretocut.metrics.significance import bootstrap_interval, holm, sign_flip_test
from paretocut.schema.drawn import Drawn
from paretocut.schema.parameters import check_choice


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation(Drawn):
    """The result of `evaluate`: a table that prints itself, and the values behind it.

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
        For lists judged in part: the standard errors of the means caused by unjudged results, by
        metric and truncator; the intervals include them. Otherwise None.
    fitted
        Names of the truncators that learned from judgements of the test lists before; they are
        shown, but not compared.
    unanswered
        Which of ``query_ids`` have no relevant document; None if that is not known.
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
    fitted: tuple[str, ...] = ()
    unanswered: BoolArray | None = field(default=None, repr=False)

    def __getitem__(self, key: tuple[str, str]) -> Summary:
        metric, truncator = key
        i, j = self._at(metric, truncator)
        return self.summary[i * len(self.truncators) + j]

    def per_query(self, metric: str, truncator: str) -> FloatArray:
        """Return a truncator's metric for each of ``query_ids``, averaged over splits."""
        return _means(self.values[self._at(metric, truncator)], self.query)

    def cuts(self, metric: str, truncator: str) -> IntArray:
        """Return the cuts of a truncator for a metric, one per test list of every split."""
        cuts: IntArray = self.k[self._at(metric, truncator)]
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

    @property
    def rivals(self) -> tuple[str, ...]:
        """The truncators that are compared, without ``ceiling`` and ``fitted``."""
        apart = {*self.ceiling, *self.fitted}
        return tuple(name for name in self.truncators if name not in apart)

    def verdict(self, metric: str | None = None, labels: Mapping[str, str] | None = None) -> str:
        """Return which truncator is best, or that the queries are too few to tell.

        A truncator is called better than the baseline (without one, than "default", if that is
        among them) only if the paired test says so, and for lists judged in part only if the
        intervals do not overlap. Of several that cannot be told apart, the first is preferred.

        Parameters
        ----------
        metric
            One of the metrics; by default the first.
        labels
            Other words for the names of truncators.
        """
        i, _ = self._at(self.metrics[0] if metric is None else metric, self.truncators[0])
        return verdict_of(self, self.metrics[i], labels or {})

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

        def line(cells: list[str]) -> str:
            return f"| {' | '.join(cells)} |"

        parts = []
        for metric in self.metrics:
            caption, header, rows = self.table(metric, str, ("**", "**"))
            rule = "|---|" + "---:|" * (len(header) - 1)
            parts.append("\n".join([caption, "", line(header), rule, *map(line, rows)]))
        return "\n\n".join(parts)

    def to_latex(self) -> str:
        """Return one LaTeX ``tabular`` per metric (package booktabs), the best in bold."""

        def line(cells: list[str]) -> str:
            return " & ".join(cells) + r" \\"

        parts = []
        for metric in self.metrics:
            caption, header, rows = self.table(metric, _tex, (r"\textbf{", "}"))
            begin = r"\begin{tabular}{l" + "r" * (len(header) - 1) + "}"
            top = [f"% {caption}", begin, r"\toprule", line(header), r"\midrule"]
            bottom = [r"\bottomrule", r"\end{tabular}"]
            parts.append("\n".join([*top, *map(line, rows), *bottom]))
        return "\n\n".join(parts)

    def __str__(self) -> str:
        parts = []
        for metric in self.metrics:
            caption, header, rows = self.table(metric, str, ("", ""))
            lines = [header, *rows]
            first, *others = (max(map(len, column)) for column in zip(*lines, strict=True))
            parts.append(f"{caption}\n")
            parts += [
                name.ljust(first)
                + "".join(f"  {cell:>{width}}" for cell, width in zip(cells, others, strict=True))
                for name, *cells in lines
            ]
            parts.append("")
        return "\n".join(parts[:-1])

    def __repr__(self) -> str:
        return (
            f"Evaluation({len(self.truncators)} truncators, metrics {', '.join(self.metrics)}, "
            f"{len(self.query_ids)} queries, {self.protocol})"
        )

    def table(
        self, metric: str, escape: Callable[[str], str], bold: tuple[str, str]
    ) -> tuple[str, list[str], list[list[str]]]:
        """Return caption, header and rows of one metric, name and mean of the best in bold.

        Parameters
        ----------
        metric
            Its name.
        escape
            Applied to each cell.
        bold
            Text before and after bold text.
        """
        caption = (
            f"{metric}: {len(self.query_ids)} test queries, {self.protocol}; "
            f"{100 * self.confidence:g} % bootstrap intervals over queries"
        )
        header = ["truncator", "mean", "sd", "interval", "k", "empty"]
        if self.baseline is not None:
            caption += (
                f"; p against {self.baseline}: paired sign-flip test over queries, Holm-corrected"
            )
            header[4:4] = ["gain", "p"]
        lines = [line for line in self.summary if line.metric == metric]
        usable = [line.mean for line in lines if line.truncator in self.rivals]
        rows = []
        for line in lines:
            apart = " (ceiling)" if line.truncator in self.ceiling else ""
            apart = " (fitted on these judgements)" if line.truncator in self.fitted else apart
            cells = [
                line.truncator + apart,
                f"{line.mean:.3f}",
                "" if line.std is None else f"{line.std:.3f}",
                f"{line.low:.3f} to {line.high:.3f}",
                f"{line.mean_k:.1f}",
                f"{100 * line.empty:.0f} %",
            ]
            if line.gain is not None:
                cells[4:4] = [f"{line.gain:+.3f}", _pvalue(line.pvalue)]
            cells = [escape(cell) for cell in cells]
            if not apart and line.mean == max(usable):
                cells[:2] = [f"{bold[0]}{cell}{bold[1]}" for cell in cells[:2]]
            rows.append(cells)
        return caption, [escape(cell) for cell in header], rows

    def _at(self, metric: str, truncator: str) -> tuple[int, int]:
        # The table knows a metric by one name, its users perhaps by another.
        known = metrics.get(metric).name if metric in metrics.names() else metric
        who = "Evaluation"
        check_choice(known, self.metrics, who=who, name="metric")
        check_choice(truncator, self.truncators, who=who, name="truncator")
        return self.metrics.index(known), self.truncators.index(truncator)

    def _interval(self, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        return bootstrap_interval(
            values, confidence=self.confidence, resamples=self.resamples, seed=self.seed
        )

    def _summaries(self, i: int) -> Iterator[Summary]:
        values = np.stack([_means(row, self.query) for row in self.values[i]], axis=1)
        low, high = self._interval(values)
        means = values.mean(axis=0)
        if self.unknown is not None:
            # Both sources of error are independent: their squares add up.
            wide = NormalDist().inv_cdf(0.5 + 0.5 * self.confidence) * self.unknown[i]
            low = means - np.hypot(means - low, wide)
            high = means + np.hypot(high - means, wide)
            if is_share(self.metrics[i]):
                low, high = np.clip((low, high), 0.0, 1.0)
        pvalues: dict[int, float] = {}
        base = None if self.baseline is None else self.truncators.index(self.baseline)
        if base is not None:
            others = enumerate(self.truncators)
            rivals = [j for j, name in others if j != base and name in self.rivals]
            raw = sign_flip_test(
                values[:, rivals] - values[:, [base]], resamples=self.resamples, seed=self.seed
            )
            pvalues = dict(zip(rivals, holm(raw).tolist(), strict=True))
        for j, name in enumerate(self.truncators):
            by_split = _means(self.values[i, j], self.split)
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
                mean_k=float(_means(cuts, self.query).mean()),
                empty=float(_means(cuts == 0, self.query).mean()),
            )


def _means(values: Any, group: IntArray) -> FloatArray:
    """Return the mean of the values of each group."""
    return np.bincount(group, weights=values) / np.bincount(group)


def _pvalue(value: float | None) -> str:
    if value is None:
        return ""
    return "<0.001" if value < 0.001 else f"{value:.3f}"


_TEX = {letter: f"\\{letter}" for letter in "_%&#${}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}


def _tex(cell: str) -> str:
    """Return the cell as LaTeX text; numbers with a sign or "<" are in math mode."""
    text = "".join(_TEX.get(letter, letter) for letter in cell)
    return re.sub(r"(?<![\w.])[+<-]\d[\d.]*", r"$\g<0>$", text)
