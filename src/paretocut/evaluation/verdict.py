"""What a comparison shows, in words: the same for `evaluate`, the explorer and its report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from paretocut.lists import BoolArray
from paretocut.metrics.significance import holm, sign_flip_test

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
    mean
        Mean over queries; the value of a query is the mean over its splits.
    std
        Standard deviation of the means of the splits; None with a single split.
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
        Share of the lists with nothing kept.
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


def verdict_of(evaluation: Any, metric: str, labels: Mapping[str, str]) -> str:
    """Return which truncator of an `Evaluation` is best, if the queries can tell.

    Of truncators that cannot be told apart the first is preferred, so the simplest should come
    first; the baseline, or else the default, comes before all others.
    """
    lines = {line.truncator: line for line in evaluation.summary if line.metric == metric}
    words = _Words(evaluation, metric, _LABELS | dict(labels))
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
    sentences += [words.apart(lines[name]) for name in evaluation.fitted]
    if evaluation.unanswered is not None and evaluation.unanswered.any():
        nothing = {
            words.labels.get(line.truncator, line.truncator): _empty(evaluation, metric, line)
            for line in own
        }
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


def _empty(evaluation: Any, metric: str, line: Summary) -> BoolArray:
    """Return for which of the queries without an answer nothing is kept, in every split."""
    kept = np.bincount(evaluation.query, weights=evaluation.cuts(metric, line.truncator))
    nothing: BoolArray = (kept == 0)[evaluation.unanswered]
    return nothing


class _Words:
    """The words for the lines of one table."""

    def __init__(self, evaluation: Any, metric: str, labels: Mapping[str, str]) -> None:
        self.evaluation, self.metric, self.labels = evaluation, metric, labels
        self.unit = "F1" if metric == "f1" else metric
        kind = "mean" if evaluation.unknown is None else "estimated mean"
        self.mean = f"{kind} {self.unit}"
        n = len(evaluation.query_ids)
        self.few = f"{n:,} quer{'y is' if n == 1 else 'ies are'} too few to tell"

    def best(self, lines: Sequence[Summary], with_base: bool) -> str:
        """Return the first sentence, without its end."""
        base, top = lines[0], max(lines, key=lambda line: round(line.mean, 3))
        if len(lines) == 1:
            return f"{self._name(top)} has a {self.mean} of {self._value(top)}"
        if all(abs(line.mean) < 5e-4 for line in lines):
            return f"every method here has a {self.mean} of 0"
        if with_base and top is base:
            rival = max(lines[1:], key=lambda line: round(line.mean, 3))
            said = f"no method here is better than {self._name(base)}, which has a {self.mean}"
            next_one = f"{self._name(rival)} comes next with {rival.mean:.3f}"
            return f"{said} of {self._value(base)}; {next_one}"
        apart = self._apart(base, lines)
        better = [far and line.mean > base.mean for far, line in zip(apart, lines, strict=True)]
        if with_base and not better[lines.index(top)]:
            return (
                f"no method here is shown to be better than {self._name(base)}, which has a "
                f"{self.mean} of {self._value(base)}; {self._name(top)} has the highest, "
                f"{top.mean:.3f}, but {self.few}"
            )
        below = self._apart(top, lines)
        tied = [
            line
            for i, line in enumerate(lines)
            if line is top or (not below[i] and (better[i] or not with_base))
        ]
        chosen = tied[0]
        said = f"{self._name(chosen)} has the highest {self.mean}, {self._value(chosen)}"
        if chosen is not top:
            said = f"{self._name(chosen)} has a {self.mean} of {self._value(chosen)}"
        if with_base:
            said += f", {chosen.mean - base.mean:.3f} more than {self._name(base)}"
        if len(tied) > 1:
            others = [line for line in tied if line is not chosen]
            others.sort(key=lambda line: -line.mean)
            named = ", ".join(f"{self._name(line)} ({line.mean:.3f})" for line in others[:3])
            more = f" and {len(others) - 3} more" if len(others) > 3 else ""
            said += f"; {self.few} it from {named}{more}"
        return said

    def apart(self, line: Summary) -> str:
        """Return the sentence on a truncator that has seen the judgements."""
        name = self._name(line)
        return (
            f"{name} was fitted on judgements of these queries: its {line.mean:.3f} does not say "
            "how it does on new ones, so it is not compared."
        )

    def _name(self, line: Summary) -> str:
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
