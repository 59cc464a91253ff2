"""The result of a comparison: its values, its tables (text, Markdown, LaTeX, JSON), a verdict."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from paretocut import metrics
from paretocut.lists import BoolArray, FloatArray, IntArray
from paretocut.metrics import is_share
from paretocut.metrics.significance import bootstrap_interval, holm, sign_flip_test
from paretocut.schema.drawn import Drawn
from paretocut.schema.parameters import check_choice

DEFAULT = "default"
"""Name of what `paretocut.cut_batch` does without options, as a method of a comparison."""
_LABELS = {DEFAULT: "the default", "consensus": "learned Consensus"}


@dataclass(frozen=True, slots=True)
class Summary:
    """One line of the table: a truncator under a metric.

    Attributes
    ----------
    metric, truncator
        Their names.
    mean, low, high
        Mean over queries, each of which counts once, and its bootstrap interval.
    std
        Standard deviation of the means of the splits; None with a single split.
    gain
        Mean minus that of the baseline; None without one.
    pvalue
        Of a paired sign-flip test against the baseline, Holm-corrected over the truncators of
        the metric; None for the baseline itself and the ceiling.
    mean_k, empty
        Mean number of results kept, and share of the lists with nothing kept.
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
class Evaluation(Drawn):
    """The result of `evaluate`: a table that prints itself, and the values behind it.

    ``evaluation["f1", "global_k"]`` is one line of the table, a `Summary`.

    Attributes
    ----------
    truncators, metrics, ceiling, fitted
        Names, in the order given. Truncators of ``ceiling`` look at the judgements of the test
        lists, and those of ``fitted`` learned from them before: they are shown, but not compared.
    protocol, baseline, confidence, resamples, seed
        How lists were divided, in words, and what `evaluate` was given.
    query_ids, unanswered
        Names of the queries that were in a test part, and which of them have no relevant document.
    query, split
        Position in ``query_ids`` and number of the split, one per test list.
    k, values
        Cuts and metric values of the test lists, by metric, truncator and test list.
    unknown
        For lists judged in part: the standard errors of the means caused by unjudged results, by
        metric and truncator; the intervals include them.
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
    query: IntArray
    split: IntArray
    k: IntArray
    values: FloatArray
    unknown: FloatArray | None = None
    fitted: tuple[str, ...] = ()
    unanswered: BoolArray | None = None

    def __getitem__(self, key: tuple[str, str]) -> Summary:
        i, j = self._at(*key)
        return self.summary[i * len(self.truncators) + j]

    def per_query(self, metric: str, truncator: str) -> FloatArray:
        """Return a truncator's metric for each of ``query_ids``, averaged over splits."""
        return _means(self.values[self._at(metric, truncator)], self.query)

    def cuts(self, metric: str, truncator: str) -> IntArray:
        """Return the cuts of a truncator for a metric, one per test list of every split."""
        return np.asarray(self.k[self._at(metric, truncator)])

    @property
    def summary(self) -> tuple[Summary, ...]:
        """The lines of the table, metric by metric."""
        # Not a cached_property: up to Python 3.11 that has a lock, and a child forked while a
        # thread holds it waits for ever.
        if "_summary" not in self.__dict__:
            lines = (line for i in range(len(self.metrics)) for line in self._summaries(i))
            self.__dict__["_summary"] = tuple(lines)
        known: tuple[Summary, ...] = self.__dict__["_summary"]
        return known

    @property
    def rivals(self) -> tuple[str, ...]:
        """The truncators that are compared, without ``ceiling`` and ``fitted``."""
        apart = {*self.ceiling, *self.fitted}
        return tuple(name for name in self.truncators if name not in apart)

    def verdict(self, metric: str | None = None, labels: Mapping[str, str] | None = None) -> str:
        """Return which truncator is best, or that the queries are too few to tell.

        A truncator is called better than the baseline (without one, than "default") only if the
        paired test says so, and for lists judged in part only if the intervals do not overlap. Of
        several that cannot be told apart, the first is preferred. The ``metric`` is by default the
        first; ``labels`` are other words for the names of truncators.
        """
        i, _ = self._at(self.metrics[0] if metric is None else metric, self.truncators[0])
        return _verdict(self, self.metrics[i], _LABELS | dict(labels or {}))

    def to_records(self) -> list[dict[str, Any]]:
        """Return every value as a dict: query_id, split, truncator, metric, k, value."""
        columns = ("query_id", "split", "truncator", "metric", "k", "value")
        queries, splits = [self.query_ids[i] for i in self.query], self.split.tolist()
        return [
            dict(zip(columns, (query, split, truncator, metric, k, value), strict=True))
            for i, metric in enumerate(self.metrics)
            for j, truncator in enumerate(self.truncators)
            for query, split, k, value in zip(
                queries, splits, self.k[i, j].tolist(), self.values[i, j].tolist(), strict=True
            )
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the table and how it was made, as plain data."""
        known = {"protocol": self.protocol, "queries": len(self.query_ids)}
        names = ("baseline", "confidence", "resamples", "seed")
        known |= {name: getattr(self, name) for name in names}
        return known | {"summary": [asdict(line) for line in self.summary]}

    def to_json(self) -> str:
        """Return `to_dict` as JSON text."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False)

    def to_markdown(self) -> str:
        """Return one Markdown table per metric, the best truncator in bold."""
        parts = []
        for metric in self.metrics:
            caption, header, rows = self.table(metric, str, ("**", "**"))
            top, *lines = [f"| {' | '.join(cells)} |" for cells in (header, *rows)]
            parts.append(
                "\n".join([caption, "", top, "|---|" + "---:|" * (len(header) - 1), *lines])
            )
        return "\n\n".join(parts)

    def to_latex(self) -> str:
        """Return one LaTeX ``tabular`` per metric (package booktabs), the best in bold."""
        parts = []
        for metric in self.metrics:
            caption, header, rows = self.table(metric, _tex, (r"\textbf{", "}"))
            first, *lines = [" & ".join(cells) + r" \\" for cells in (header, *rows)]
            begin = r"\begin{tabular}{l" + "r" * (len(header) - 1) + "}"
            top = [f"% {' '.join(caption.split())}", begin, r"\toprule", first, r"\midrule"]
            parts.append("\n".join([*top, *lines, r"\bottomrule", r"\end{tabular}"]))
        return "\n\n".join(parts)

    def __str__(self) -> str:
        parts = []
        for metric in self.metrics:
            caption, header, rows = self.table(metric, str, ("", ""))
            lines = [header, *rows]
            first, *others = (max(map(len, column)) for column in zip(*lines, strict=True))
            table = [
                name.ljust(first)
                + "".join(f"  {cell:>{width}}" for cell, width in zip(cells, others, strict=True))
                for name, *cells in lines
            ]
            parts.append("\n".join([caption, "", *table]))
        return "\n\n".join(parts)

    def __repr__(self) -> str:
        tried = f"{len(self.truncators)} truncators, metrics {', '.join(self.metrics)}"
        return f"Evaluation({tried}, {len(self.query_ids)} queries, {self.protocol})"

    def table(
        self, metric: str, escape: Callable[[str], str], bold: tuple[str, str]
    ) -> tuple[str, list[str], list[list[str]]]:
        """Return caption, header and rows of one metric, name and mean of the best in bold.

        Each cell goes through ``escape``, and ``bold`` stands before and after bold text.
        """
        caption = (
            f"{metric}: {len(self.query_ids)} test queries, {self.protocol}; "
            f"{100 * self.confidence:g} % bootstrap intervals over queries"
        )
        header = ["truncator", "mean", "sd", "interval", "k", "empty"]
        if self.baseline is not None:
            test = "paired sign-flip test over queries, Holm-corrected"
            caption += f"; p against {self.baseline}: {test}"
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
                p = line.pvalue
                shown = "" if p is None else "<0.001" if p < 0.001 else f"{p:.3f}"
                cells[4:4] = [f"{line.gain:+.3f}", shown]
            cells = [escape(cell) for cell in cells]
            if not apart and line.mean == max(usable):
                cells[:2] = [f"{bold[0]}{cell}{bold[1]}" for cell in cells[:2]]
            rows.append(cells)
        return caption, [escape(cell) for cell in header], rows

    def _at(self, metric: str, truncator: str) -> tuple[int, int]:
        # The table knows a metric by one name, its users perhaps by another.
        known = metrics.get(metric).name if metric in metrics.names() else metric
        check_choice(known, self.metrics, who="Evaluation", name="metric")
        check_choice(truncator, self.truncators, who="Evaluation", name="truncator")
        return self.metrics.index(known), self.truncators.index(truncator)

    def _summaries(self, i: int) -> Iterator[Summary]:
        values = np.stack([_means(row, self.query) for row in self.values[i]], axis=1)
        low, high = bootstrap_interval(
            values, confidence=self.confidence, resamples=self.resamples, seed=self.seed
        )
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
            rivals = [j for j, x in enumerate(self.truncators) if j != base and x in self.rivals]
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
    return np.bincount(group, weights=values) / np.bincount(group)


_TEX = (
    {letter: f"\\{letter}" for letter in "_%&#${}"}
    | {letter: f"${letter}$" for letter in "<>"}
    | {letter: f"{{{letter}}}" for letter in "[*"}  # at the start of a row they would be options
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
)


def _tex(cell: str) -> str:
    """Return the cell as LaTeX text; numbers with a sign or "<" are in math mode."""
    words = re.split(r"((?<![\w.])[+<-]\d[\d.]*)", " ".join(cell.split()))
    words[::2] = ["".join(_TEX.get(letter, letter) for letter in word) for word in words[::2]]
    words[1::2] = [f"${number}$" for number in words[1::2]]
    return "".join(words)


def _verdict(evaluation: Evaluation, metric: str, labels: Mapping[str, str]) -> str:
    lines = {line.truncator: line for line in evaluation.summary if line.metric == metric}
    words = _Words(evaluation, metric, labels)
    own = [lines[name] for name in evaluation.rivals]
    base = evaluation.baseline or (DEFAULT if DEFAULT in evaluation.rivals else None)
    own.sort(key=lambda line: line.truncator != base)
    said = words.best(own, base is not None)
    possible = [lines[name].mean for name in evaluation.ceiling]
    if possible:
        said += f"; the best cut of every list would give {max(possible):.3f}"
    if not said.startswith(evaluation.truncators):  # a name stays as it is written
        said = f"{said[0].upper()}{said[1:]}"
    sentences = [f"{said}."]
    sentences += [
        f"{words.name(lines[name])} was fitted on judgements of these queries: its "
        f"{lines[name].mean:.3f} does not say how it does on new ones, so it is not compared."
        for name in evaluation.fitted
    ]
    if evaluation.unanswered is not None and evaluation.unanswered.any():
        nothing = {}  # which of the queries without an answer get nothing, in every split
        for line in own:
            kept = np.bincount(evaluation.query, weights=evaluation.cuts(metric, line.truncator))
            nothing[words.name(line)] = (kept == 0)[evaluation.unanswered]
        sentences.append(without_answer(nothing, len(evaluation.query_ids)))
    return " ".join(sentences)


def without_answer(nothing: Mapping[str, BoolArray], queries: int) -> str:
    """Return a sentence on the queries without an answer, of so many ``queries`` in all.

    ``nothing`` says for each method, the usual one first, for which of them it keeps nothing.
    """
    (first, own), *_ = nothing.items()
    most = max(nothing, key=lambda name: int(nothing[name].sum()))
    said = f"{own.size:,} of the {queries:,} queries have no relevant result: {first} keeps nothing"
    said += f" for {int(own.sum()):,} of them"
    if nothing[most].sum() > own.sum():
        said += f", {most} for {int(nothing[most].sum()):,}"
    return said + "."


class _Words:
    def __init__(self, evaluation: Evaluation, metric: str, labels: Mapping[str, str]) -> None:
        self.evaluation, self.metric, self.labels = evaluation, metric, labels
        kind = "mean" if evaluation.unknown is None else "estimated mean"
        self.mean = f"{kind} {'F1' if metric == 'f1' else metric}"
        n = len(evaluation.query_ids)
        self.few = f"{n:,} quer{'y is' if n == 1 else 'ies are'} too few to tell"

    def best(self, lines: Sequence[Summary], with_base: bool) -> str:
        """Return the first sentence, without its end."""
        base, top = lines[0], max(lines, key=lambda line: round(line.mean, 3))
        if len(lines) == 1:
            return f"{self.name(top)} has a {self.mean} of {self._value(top)}"
        if all(abs(line.mean) < 5e-4 for line in lines):
            return f"every method here has a {self.mean} of 0"
        if with_base and top is base:
            rival = max(lines[1:], key=lambda line: round(line.mean, 3))
            said = f"no method here is better than {self.name(base)}, which has a {self.mean}"
            next_one = f"{self.name(rival)} comes next with {rival.mean:.3f}"
            return f"{said} of {self._value(base)}; {next_one}"
        apart = self._apart(base, lines)
        better = [far and line.mean > base.mean for far, line in zip(apart, lines, strict=True)]
        if with_base and not better[lines.index(top)]:
            return (
                f"no method here is shown to be better than {self.name(base)}, which has a "
                f"{self.mean} of {self._value(base)}; {self.name(top)} has the highest, "
                f"{top.mean:.3f}, but {self.few}"
            )
        below = self._apart(top, lines)
        tied = [
            line
            for i, line in enumerate(lines)
            if line is top or (not below[i] and (better[i] or not with_base))
        ]
        chosen = tied[0]
        how = f"a {self.mean} of" if len(tied) > 1 else f"the highest {self.mean},"
        said = f"{self.name(chosen)} has {how} {self._value(chosen)}"
        if with_base:
            said += f", {chosen.mean - base.mean:.3f} more than {self.name(base)}"
        if len(tied) > 1:
            others = sorted((one for one in tied if one is not chosen), key=lambda one: -one.mean)
            named = ", ".join(f"{self.name(line)} ({line.mean:.3f})" for line in others[:3])
            more = f" and {len(others) - 3} more" if len(others) > 3 else ""
            said += f"; {self.few} it from {named}{more}"
        return said

    def name(self, line: Summary) -> str:
        return self.labels.get(line.truncator, line.truncator)

    def _value(self, line: Summary) -> str:
        share = f"{100 * self.evaluation.confidence:g} % interval"
        return f"{line.mean:.3f} ({share} {line.low:.3f} to {line.high:.3f})"

    def _apart(self, one: Summary, lines: Sequence[Summary]) -> list[bool]:
        """Return which lines differ from one: by the test of the table, or by their intervals."""
        found = self.evaluation
        if found.unknown is not None:  # estimates cannot be tested
            return [line.low > one.high or line.high < one.low for line in lines]
        values = [found.per_query(self.metric, line.truncator) for line in lines]
        reference = found.per_query(self.metric, one.truncator)
        others = [i for i, line in enumerate(lines) if line is not one]
        differences = np.stack([values[i] - reference for i in others], axis=1)
        raw = sign_flip_test(differences, resamples=found.resamples, seed=found.seed)
        apart = dict(zip(others, holm(raw).tolist(), strict=True))
        return [apart.get(i, 1.0) < 1 - found.confidence for i in range(len(lines))]
