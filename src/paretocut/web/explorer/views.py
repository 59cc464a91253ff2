"""Plain data for the page: the run as a whole, each query, the judgements.

Curves run over the cut, ``k = 0..n``. A list too long for a page is thinned: ``ks`` names the cuts
that are sent, and every column of a view has one value for each of them.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paretocut.background import gev_log_cdf
from paretocut.decisions.warnings import WARNINGS
from paretocut.errors import InvalidParameterError
from paretocut.evaluation.result import DEFAULT, without_answer
from paretocut.io import write_qrels
from paretocut.lists import FloatArray, IntArray, RankedList
from paretocut.metrics import is_share
from paretocut.show.drawing import Picture, of_fit, tail_histogram
from paretocut.show.plots import frontier_points
from paretocut.tail import SurpriseFit
from paretocut.truncators import Calibrated, Gated, ScoreThreshold
from paretocut.web.explorer.copied import Code, as_code, saved
from paretocut.web.explorer.exploration import Exploration, Method
from paretocut.web.explorer.gate import gate_view
from paretocut.web.explorer.measuring import CHOICES, LEARNED, known_share, shown_metrics

_TEXT = 300  # characters of a text
_QUICK = 20_000  # judged results; what more of them teach is learned when the run is looked at


def run_view(run: Exploration) -> dict[str, Any]:
    """Return the run in numbers: one column per property of a query, one row per method."""
    lists = run.lists
    lengths = lists.scores.lengths
    first, _ = lists.scores.ends()
    ids = lists.query_ids.tolist()
    k = {key: run.cuts(key).k for key in run.methods}
    bins = _bins(int(lengths.max(initial=0)))
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
            "choices": {name: metric_label(name) for name in dict.fromkeys((*CHOICES, run.metric))},
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
            "best": _numbers(np.where(lists.scores.filled, first, np.nan)),
            "disagreement": _numbers(run.disagreement, 3),
            "warnings": {
                key: [list(names) for names in run.cuts(key).warnings]
                for key in k
                if any(run.cuts(key).warnings)
            },
            "k": {key: column.tolist() for key, column in k.items()},
            "value": {key: _numbers(run.values(key), 4) for key in k}
            if run.measured.size
            else None,
            "state": _states(run),
        },
    }


def metric_label(name: str) -> str:
    """Return the name of a metric as the page writes it."""
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
    part = np.where(known > 0, "judged in part", "not judged")
    states = np.where(known == 1, "", part)
    found: list[str] = np.where(run.none, "no answer", states).tolist()
    return found


def _bins(longest: int) -> IntArray:
    """Return edges of bins of k that double in width: 0, 1, 2, 3 to 4, 5 to 8, ..."""
    doublings = math.ceil(math.log2(max(longest, 2)))
    return np.array([0, 1, 2, *(2**i + 1 for i in range(1, doublings + 1))])


def frontier_view(run: Exploration) -> dict[str, Any]:
    """Return mean recall and precision of fixed cuts; empty unless all results are judged."""
    whole = np.flatnonzero(known_share(run.lists) == 1)
    if not whole.size:
        return {"kept": [], "recall": [], "precision": []}
    kept, recall, precision = frontier_points(run.lists[whole])
    return {
        "kept": _numbers(kept),
        "recall": _numbers(recall, 4),
        "precision": _numbers(precision, 4),
    }


def query_view(
    run: Exploration,
    i: int,
    *,
    most_cuts: int = 5000,
    most_results: int = 200,
    also: int | None = None,
    digits: int = 7,
) -> dict[str, Any]:
    """Return one list: its scores, the meaning of every cut, and its first results.

    In a list judged in part the judged results come too, and so does the one at rank ``also``.
    """
    ranked = run.lists[i]
    n = len(ranked)
    cuts = {key: run.cuts(key)[i] for key in run.methods}
    ks = _thinned(n, most_cuts, [cut.k for cut in cuts.values()])
    ranks = ks[1:] - 1
    fit = run.fits[i]
    curves = run.curves_of(i)
    part = 0 < known_share(run.lists[i : i + 1])[0] < 1
    held_out = i in run.measured and run.evaluation and LEARNED in run.evaluation.truncators
    columns = {
        "surprise": fit.surprise,
        "pvalue": fit.pvalues,
        "evalue": fit.evalues,
    }
    gates = (_gate(run, method, i) for method in run.methods.values())
    return {
        "index": i,
        "id": ranked.query_id,
        "text": run.query_texts.get(ranked.query_id, ""),
        "n": n,
        "ks": ks.tolist(),
        "picture": _pictured(of_fit(fit, ranked.judgements), ranks, digits),
        **{name: _numbers(column[ranks], digits) for name, column in columns.items()},
        "curves": {name: _numbers(curve[0, ks], digits) for name, curve in curves.items()} or None,
        "ends": {name: curve[1:, ks].round(3).tolist() for name, curve in curves.items()}
        if part
        else None,
        "tail": _tail(fit),
        "methods": {
            key: {
                "k": cut.k,
                "reason": cut.reason,
                "warnings": list(cut.warnings),
                "method": cut.method,
                **{
                    name: _number(float(curve[0, cut.k]))
                    for name, curve in curves.items()
                    if key != LEARNED or held_out
                },
            }
            for key, cut in cuts.items()
        },
        "gates": [gate for gate in gates if gate is not None],
        "results": result_rows(run, i, ranked, _shown(ranked, most_results, also)),
    }


def _pictured(picture: Picture, ranks: IntArray, digits: int) -> dict[str, Any]:
    """Return the picture of a list as plain values, those at some ranks."""
    return {
        "name": picture.name,
        "values": _numbers(picture.values[ranks], digits),
        "judgements": _judged(picture.judgements, ranks),
        "levels": {name: _number(level) for name, level in picture.levels.items()},
        "window": picture.window,
        "chance": picture.chance and [_numbers(column, 5) for column in picture.chance],
    }


def _thinned(n: int, most: int, needed: list[int]) -> IntArray:
    """Return cuts from 0 to n: all of them, or the first half and then fewer and fewer."""
    if n < most:
        return np.arange(n + 1)
    head = np.arange(most // 2)
    spaced = np.geomspace(max(most // 2, 1), n, most - most // 2)
    return np.unique(np.concatenate([head, spaced.round().astype(np.int64), needed, [n]]))


def _tail(fit: SurpriseFit) -> dict[str, Any] | None:
    if not fit.fitted:
        return None
    drawn = tail_histogram(fit, points=80)
    # Of m results at or above the threshold, chance brings r with a surprise of log(m / r).
    rank = np.unique(np.geomspace(1, fit.tests, 300).round().astype(np.int64))
    return {
        "shape": _number(fit.shape),
        "scale": _number(fit.scale),
        "threshold": _number(fit.threshold),
        "tests": fit.tests,
        "surprise_of_one": _number(math.log(fit.tests)),  # where the E-value is 1
        "gof": _number(fit.gof_pvalue),
        "warnings": list(fit.warnings),
        "edges": _numbers(drawn.edges),
        "counts": drawn.counts.tolist(),
        "grid": _numbers(drawn.grid),
        "expected": _numbers(drawn.expected),
        "qq": {
            "rank": rank.tolist(),
            "expected": _numbers(np.log(fit.tests / (rank - 0.5))),
            "observed": _numbers(fit.surprise[rank - 1]),
        },
    }


def _gate(run: Exploration, method: Method, i: int) -> dict[str, Any] | None:
    """Return where the best score lies among those of queries without an answer."""
    gated = method.truncator
    lists = run.lists[i : i + 1]
    if not isinstance(gated, Gated) or not lists.scores.values.size:
        return None
    background = gated.background
    nonsense = None
    if isinstance(gated, Calibrated):
        nonsense = gated.nonsense_
        lists = gated.scaled(lists, run.queries and run.queries[i : i + 1])
    best = float(lists.scores[0][0])
    sign = 1.0 if background.higher_is_better else -1.0
    threshold = gated.threshold()
    middle, spread = background.loc, background.scale
    ends = [middle - 4 * spread, middle + 8 * spread, sign * best, sign * threshold]
    if nonsense is not None:
        ends += [float(nonsense.min()), float(nonsense.max())]
    grid = np.linspace(min(ends), max(ends), 121)
    share = np.diff(np.exp(gev_log_cdf(grid, shape=background.shape, loc=middle, scale=spread)))
    return {
        "key": method.key,
        "best": _number(best),
        "threshold": _number(threshold),
        "pvalue": _number(float(background.pvalue(lists)[0])),
        "answers": bool(background.answers(lists, gated.alpha)[0]),
        "grid": _numbers(sign * (grid[1:] + grid[:-1]) / 2),
        "share": _numbers(share),
        "nonsense": None if nonsense is None else _numbers(sign * np.sort(nonsense), 5)[:400],
    }


def _shown(ranked: RankedList, most: int, also: int | None) -> list[int]:
    """Return the ranks of the results that are sent."""
    shown = set(range(min(len(ranked), most)))
    if ranked.relevance is not None and ranked.relevant is None:
        shown |= set(np.flatnonzero(~np.isnan(ranked.relevance)).tolist())
    if also is not None and 0 <= also < len(ranked):
        shown.add(also)
    return sorted(shown)


def result_rows(
    run: Exploration, i: int, ranked: RankedList, shown: list[int]
) -> list[dict[str, Any]]:
    """Return the results at these ranks."""
    parts = run.lists.parts
    judged = _judged(ranked.judgements, shown)
    rows = []
    for place, rank in enumerate(shown):
        name = None if ranked.doc_ids is None else str(ranked.doc_ids[rank])
        row: dict[str, Any] = {
            "rank": rank,
            "id": name,
            "score": _number(float(ranked.scores[rank])),
            "relevant": None if judged is None else judged[place],
        }
        if name is not None and name in run.doc_texts:
            row["text"] = run.doc_texts[name][:_TEXT]
        if parts is not None:
            row["parts"] = [
                {"score": _number(float(scores[i][rank])), "rank": int(ranks[i][rank])}
                for scores, ranks in zip(parts.scores, parts.ranks, strict=True)
            ]
        rows.append(row)
    return rows


def _judged(judgements: FloatArray | None, ranks: IntArray | list[int]) -> list[int | None] | None:
    """Return 1, 0 or None (not judged) for each of these results."""
    if judgements is None:
        return None
    return [None if np.isnan(known) else int(known) for known in judgements[ranks]]


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
    """Return how much is judged, and what was learned from it."""
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


def qrels_view(run: Exploration) -> str:
    """Return the judgements as TREC qrels."""
    if run.lists.relevance is None:
        raise InvalidParameterError("qrels: there must be a judgement, got none")
    return saved(lambda path: write_qrels(path, run.lists))


def copy_view(run: Exploration, key: str | None, i: int, k: int) -> dict[str, Any]:
    """Return a method as code; without a key, the cut ``k`` of list ``i`` as a score threshold."""
    lists = run.lists
    scores = lists[i].scores
    if not 0 <= k <= scores.size:
        raise InvalidParameterError(f"copy: k must be in 0..{scores.size}, got {k}")
    if key is not None:
        code, truncator = run.method(key).code, run.method(key).truncator
    else:
        threshold = 0.0
        if k > 0:
            threshold = float(scores[k - 1])
        elif scores.size:
            better = np.inf if lists.higher_is_better else -np.inf
            threshold = float(np.nextafter(scores[0], better))
        truncator = ScoreThreshold("raw", threshold)
        python = f"pc.truncators.{truncator!r}.cut_batch(lists)"
        code = Code(python, method=f"raw:threshold={threshold!r}")
    return as_code(run.source, lists, code, truncator)


def _number(value: float, digits: int = 7) -> float | None:
    """Return a number with this many digits, or None for NaN, which JSON lacks."""
    return float(f"{value:.{digits}g}") if math.isfinite(value) else None


def _numbers(values: NDArray[Any], digits: int = 7) -> list[float | None]:
    x = np.asarray(values, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        unit = 10.0 ** (digits - 1 - np.floor(np.log10(np.abs(x))))
        rounded = np.round(x * unit) / unit
    rounded = np.where(np.isfinite(rounded), rounded, x)  # 0, and what is too small to round
    return [value if math.isfinite(value) else None for value in rounded.tolist()]
