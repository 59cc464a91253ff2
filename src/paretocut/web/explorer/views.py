"""Plain data for the page: the run as a whole, its gate, two runs, the judgements."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from paretocut import metrics
from paretocut.decisions.warnings import WARNINGS
from paretocut.errors import InvalidParameterError
from paretocut.evaluation.result import DEFAULT, without_answer
from paretocut.judging import JudgingSession
from paretocut.lists import FloatArray, IntArray
from paretocut.metrics import is_share
from paretocut.metrics.significance import bootstrap_interval, sign_flip_test
from paretocut.show.plots import frontier_points
from paretocut.truncators import Consensus
from paretocut.web.explorer.copied import gate_at
from paretocut.web.explorer.exploration import (
    LEARNED,
    Exploration,
    Method,
    known_share,
    shown_metrics,
)
from paretocut.web.explorer.query import numbers

Key = Literal["yes", "no", "unsure", "skip", "undo", "more"]

_CHOICES = ("f1", "f1/collection", "f0.5", "f2", "dcg", "penalized_dcg")
_COMPARED = {"f1": "f1/collection"}  # no run gains from relevant documents that it did not find
_TEXT = 300  # characters of a text
_QUICK = 20_000  # judged results; with more, the run learns only when somebody looks at it
_ANSWERS = {"yes": True, "no": False, "unsure": None}
_MORE = 50  # answers, after the last one


def run_view(run: Exploration) -> dict[str, Any]:
    """Return the run in numbers: one column per property of a query, one row per method."""
    lists = run.lists
    lengths = lists.scores.lengths
    first, _ = lists.scores.ends()
    ids = lists.query_ids.tolist()
    k = {key: run.cuts(key).k for key in run.methods}
    doublings = math.ceil(math.log2(lengths.max(initial=2)))
    # Bins of k that double in width: 0, 1, 2, 3 to 4, 5 to 8, ...
    bins = np.array([0, 1, 2, *(2**i + 1 for i in range(1, doublings + 1))])
    texts = run.query_texts
    return {
        "name": run.name,
        "lists": len(lists),
        "results": int(lists.scores.values.size),
        "depth": [int(q) for q in np.quantile(lengths, [0, 0.5, 1])] if len(lists) else [0, 0, 0],
        "higher_is_better": lists.higher_is_better,
        "measured": int(run.measured.size),
        "estimated": int(np.count_nonzero(known_share(lists)[run.measured] < 1)),
        "metric": {
            "name": run.metric,
            "label": metric_label(run.metric),
            "share": is_share(run.metric),
            "choices": {
                name: metric_label(name) for name in dict.fromkeys((*_CHOICES, run.metric))
            },
        },
        "protocol": None if run.evaluation is None else run.evaluation.protocol,
        "learns": int(run.judged.sum()) <= _QUICK,
        "verdict": verdict(run),
        "gate": gate_view(run),
        "queries_without": int(run.none.sum()),
        "retrievers": [] if lists.parts is None else list(lists.parts.names),
        "methods": [_method_row(run, method, k[key], bins) for key, method in run.methods.items()],
        "bins": bins.tolist(),
        "meanings": dict(WARNINGS),
        "queries": {
            "id": ids,
            "text": [texts.get(name, "")[:_TEXT] for name in ids] if texts else None,
            "n": lengths.tolist(),
            "best": numbers(np.where(lists.scores.filled, first, np.nan)),
            "disagreement": numbers(run.disagreement, 3),
            "warnings": {
                key: [list(names) for names in run.cuts(key).warnings]
                for key in k
                if any(run.cuts(key).warnings)
            },
            "k": {key: column.tolist() for key, column in k.items()},
            "value": {key: numbers(run.values(key), 4) for key in k} if run.measured.size else None,
            "state": _states(run),
        },
    }


def metric_label(name: str) -> str:
    return name.replace("f", "F", 1) if re.match(r"f\d", name) else name.replace("_", " ")


def verdict(run: Exploration) -> str | None:
    """Return whether any method is better than the default here, in words."""
    found = run.evaluation
    if found is None:
        return None
    labels = {key: method.label for key, method in run.methods.items() if key != DEFAULT}
    said = [replace(found, unanswered=None).verdict(run.metric, labels)]
    if run.none.any() and not run.none.all():
        nothing = {key: run.cuts(key).k[run.none] == 0 for key in run.methods}
        named = {labels.get(key, "the default"): empty for key, empty in nothing.items()}
        said.append(without_answer(named, len(run.lists)))
    return " ".join(said)


def _method_row(run: Exploration, method: Method, k: IntArray, bins: IntArray) -> dict[str, Any]:
    """Return a method in numbers: those of the measured queries, if there are any, and of all."""
    own = k[run.measured] if run.measured.size else k
    row: dict[str, Any] = {
        "key": method.key,
        "label": method.label,
        "kind": method.kind,
        "fitted": method.fitted,
        "method": method.truncator.label,
        "kept": float(own.mean()) if own.size else 0.0,
        "empty": float(np.mean(own == 0)) if own.size else 0.0,
        "all": {"kept": float(k.mean()), "empty": float(np.mean(k == 0))} if k.size else None,
        "histogram": np.histogram(k, bins)[0].tolist(),
        "warnings": Counter(name for names in run.cuts(method.key).warnings for name in names),
    }
    found = run.evaluation
    if found is not None and method.key in found.truncators:
        shown = shown_metrics(run.metric).items()
        row |= {name: float(found.per_query(of, method.key).mean()) for name, of in shown}
    none = run.none
    if none.any() and not none.all():
        row |= {"answered": int(np.sum(k[~none] > 0)), "refused": int(np.sum(k[none] == 0))}
    return row


def _states(run: Exploration) -> list[str] | None:
    """Return a word about each query that is not simply judged; None if nothing is judged."""
    if run.lists.relevance is None:
        return None
    known = known_share(run.lists)
    states = np.select(
        [run.none, known == 1, known > 0], ["no answer", "", "judged in part"], "not judged"
    )
    return [str(state) for state in states]


def frontier_view(run: Exploration) -> dict[str, Any]:
    """Return mean recall and precision of fixed cuts; empty unless all results are judged."""
    whole = np.flatnonzero(known_share(run.lists) == 1)
    if not whole.size:
        return {"kept": [], "recall": [], "precision": []}
    kept, recall, precision = frontier_points(run.lists[whole])
    return {"kept": numbers(kept), "recall": numbers(recall, 4), "precision": numbers(precision, 4)}


def gate_view(run: Exploration) -> dict[str, Any] | None:
    """Return the best scores of both groups, and the threshold that divides them best."""
    answered, none = run.best_scores()
    if not answered.size or not none.size:
        return None
    sign = 1.0 if run.lists.higher_is_better else -1.0
    best = gate_check(run, sign * float(none[-1]))["balanced"]
    if best is None:
        return None
    tops = {"answered": (sign * answered).tolist(), "unanswered": (sign * none).tolist()}
    return {**tops, "threshold": best, "check": gate_check(run, best)}


def gate_check(run: Exploration, threshold: float) -> dict[str, Any]:
    """Return the effect of a gate at this best score on both groups, as `Gated.evaluate` counts."""
    filled = run.lists.scores.filled
    good = np.flatnonzero((known_share(run.lists) > 0) & ~run.none & filled)
    lists = run.lists[good], run.lists[np.flatnonzero(run.none & filled)]
    return gate_at(run, Consensus(), threshold).evaluate(*lists).to_dict()


def compared_view(run: Exploration, other: Exploration, key: str) -> dict[str, Any]:
    """Return the values of a method on each query of both runs, and a verdict on the difference."""
    method = run.method(key)
    if key not in other.methods or method.kind == "learned":
        problem = f"compare: method must be one that cuts both runs alike, got {method.label}"
        raise InvalidParameterError(problem)
    name = _COMPARED.get(run.metric, run.metric)
    whole = [one.lists.query_ids[known_share(one.lists) == 1].tolist() for one in (run, other)]
    common = [query for query in whole[0] if query in {*whole[1]}]
    if not common:
        problem = "compare: the runs must have fully judged queries in common, got none"
        raise InvalidParameterError(problem)
    values, k = [], []
    for one in (run, other):
        place = {query: i for i, query in enumerate(one.lists.query_ids.tolist())}
        at = [place[query] for query in common]
        k.append(one.cuts(key).k[at])
        values.append(metrics.get(name)(one.lists[at], k[-1]))
    return {
        "names": [run.name, other.name],
        "method": method.label,
        "metric": metric_label(name),
        "verdict": _verdict(values[0], values[1], metric_label(name), method.label),
        "queries": common,
        "text": [run.query_texts.get(query, "")[:300] for query in common],
        "values": [own.round(4).tolist() for own in values],
        "k": [own.tolist() for own in k],
    }


def _verdict(a: FloatArray, b: FloatArray, unit: str, method: str) -> str:
    """Return how often each run wins, and whether the queries can tell which is better."""
    gain = a - b
    wins, losses = int(np.sum(gain > 5e-4)), int(np.sum(gain < -5e-4))
    few = "query" if wins == 1 else "queries"
    ties = gain.size - wins - losses
    (low,), (high,) = bootstrap_interval(gain[:, None])
    pvalue = float(sign_flip_test(gain[:, None])[0])
    shown = "< 0.001" if pvalue < 0.001 else f"= {pvalue:.3f}"
    told = f"(95 % interval {low:+.3f} to {high:+.3f}, p {shown})"
    unsure = "" if pvalue < 0.05 else f": {gain.size:,} queries are too few to tell them apart"
    return (
        f"Cut by {method}, the first run has a mean {unit} of {a.mean():.3f}, the second "
        f"{b.mean():.3f}. The first wins on {wins:,} {few} and loses on {losses:,}; {ties:,} are "
        f"equal. The mean difference is {gain.mean():+.3f} {told}{unsure}."
    )


def judged_counts(run: Exploration) -> dict[str, int]:
    """Return how many results and lists are judged, and how many results are relevant."""
    lists, known = run.lists, run.judged
    hits = known if lists.relevance is None else known & lists.is_relevant(lists.relevance.values)
    return {
        "judged": int(known.sum()),
        "whole": int(np.count_nonzero(known_share(lists) == 1)),
        "relevant": int(hits.sum()),
        "lists": int(np.count_nonzero(lists.scores.count(known))),
    }


def judging_view(run: Exploration, i: int) -> dict[str, Any]:
    """Return how much is judged, and how it changed the cuts."""
    held_out = run.evaluation is not None and LEARNED in run.evaluation.truncators
    view: dict[str, Any] = {**judged_counts(run), "held_out": held_out, "learned": None}
    if LEARNED in run.methods:
        before, after = run.cuts(DEFAULT).k, run.cuts(LEARNED).k
        view["learned"] = {
            "kept": [float(before.mean()), float(after.mean())],
            "changed": int(np.count_nonzero(before != after)),
            "k": [int(before[i]), int(after[i])],
            "reason": run.cuts(LEARNED)[i].reason,
        }
    return view


def question_view(run: Exploration) -> dict[str, Any]:
    """Return the question to ask, how many were answered, and the judgements so far."""
    asking = run.asking
    if run.lists.doc_ids is None:
        return {"stopped": "This run names no documents, so there is nothing to read.", "next": ""}
    asked, planned, counts = asking.next(), isinstance(asking, JudgingSession), judged_counts(run)
    view: dict[str, Any] = {
        "answers": asking.answers,
        "budget": asking.budget,
        "summary": asking.summary(),
        "stopped": asking.stopped,
        "planned": planned,
        "more": planned and asking.answers >= asking.budget,
        "said": [] if isinstance(asking, JudgingSession) else asking.summaries(),
        "far": f"{counts['judged']:,} results judged, {counts['relevant']:,} of them relevant, "
        f"in {counts['lists']:,} of {len(run.lists):,} queries",
    }
    if asked is None and planned and not view["more"]:
        view["next"] = (
            "All results are judged: those that the judgements do not name count as not relevant. "
            "To be asked about them, start with --unjudged unknown."
        )
    if asked is not None:
        view |= {
            "i": asked.list_index,
            "rank": asked.rank,
            "query": run.query_texts.get(asked.query_id, asked.query_id),
            "query_id": asked.query_id,
            "doc": asked.doc_id,
            "text": run.doc_texts.get(str(asked.doc_id)),
        }
    return view


def press(run: Exploration, key: Key, i: int, rank: int) -> dict[str, Any]:
    """Take a key as the answer to the question ``(i, rank)``, and return the next question."""
    asking = run.asking
    asked = asking.next()
    if key == "undo":
        asking.undo()
    elif key == "more":
        run.session.budget = run.session.answers + _MORE
    elif asked is None or (asked.list_index, asked.rank) != (i, rank):
        raise InvalidParameterError("this question was answered in another window", who="judge")
    elif key == "skip":
        run.session.skip_query()
    else:
        asking.answer(_ANSWERS[key])
    run.take_judgements()
    return question_view(run)
