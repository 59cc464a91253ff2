"""Plain data of one query: its scores, the meaning of every cut, its first results.

Curves run over the cut, ``k = 0..n``. A list too long for a page is thinned: ``ks`` names the cuts
that are sent, and every column has one value for each of them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paretocut.background import gev_log_cdf
from paretocut.lists import FloatArray, IntArray, RankedList
from paretocut.show.drawing import of_fit, tail_histogram
from paretocut.tail import SurpriseFit, fit_tail
from paretocut.truncators import Calibrated, Gated
from paretocut.web.explorer.exploration import LEARNED, Exploration, Method, known_share

_TEXT = 300  # characters of a text


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
    curves = run.curves_of(i)
    fit = fit_tail(ranked.scores, higher_is_better=ranked.higher_is_better)
    picture = of_fit(fit, ranked.judgements)
    part = 0 < known_share(run.lists[i : i + 1])[0] < 1
    held_out = i in run.measured and run.evaluation and LEARNED in run.evaluation.truncators
    columns = {"surprise": fit.surprise, "pvalue": fit.pvalues, "evalue": fit.evalues}
    ends = {name: curve[1:, ks].round(3).tolist() for name, curve in curves.items()}
    gates = (_gate(run, method, i) for method in run.methods.values())
    return {
        "index": i,
        "id": ranked.query_id,
        "text": run.query_texts.get(ranked.query_id, ""),
        "n": n,
        "ks": ks.tolist(),
        "picture": {
            "name": picture.name,
            "values": numbers(picture.values[ranks], digits),
            "judgements": _judged(picture.judgements, ranks),
            "levels": {name: _number(level) for name, level in picture.levels.items()},
            "window": picture.window,
            "chance": picture.chance and [numbers(column, 5) for column in picture.chance],
        },
        **{name: numbers(column[ranks], digits) for name, column in columns.items()},
        "curves": {name: numbers(curve[0, ks], digits) for name, curve in curves.items()} or None,
        "ends": ends if part else None,
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
        "edges": numbers(drawn.edges),
        "counts": drawn.counts.tolist(),
        "grid": numbers(drawn.grid),
        "expected": numbers(drawn.expected),
        "qq": {
            "rank": rank.tolist(),
            "expected": numbers(np.log(fit.tests / (rank - 0.5))),
            "observed": numbers(fit.surprise[rank - 1]),
        },
    }


def _gate(run: Exploration, method: Method, i: int) -> dict[str, Any] | None:
    """Return where the best score lies among those of queries without an answer."""
    gated = method.truncator
    lists = run.lists[i : i + 1]
    if not isinstance(gated, Gated) or not lists.scores.values.size:
        return None
    background, threshold = gated.background, gated.threshold()
    nonsense = gated.nonsense_ if isinstance(gated, Calibrated) else None
    lists = gated.scaled(lists, run.queries and run.queries[i : i + 1])
    best = float(lists.scores[0][0])
    sign = 1.0 if background.higher_is_better else -1.0
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
        "grid": numbers(sign * (grid[1:] + grid[:-1]) / 2),
        "share": numbers(share),
        "nonsense": None if nonsense is None else numbers(sign * np.sort(nonsense), 5)[:400],
    }


def _shown(ranked: RankedList, most: int, also: int | None) -> list[int]:
    shown = set(range(min(len(ranked), most)))
    if ranked.relevance is not None and ranked.relevant is None:
        shown |= set(np.flatnonzero(~np.isnan(ranked.relevance)).tolist())
    if also is not None and 0 <= also < len(ranked):
        shown.add(also)
    return sorted(shown)


def result_rows(
    run: Exploration, i: int, ranked: RankedList, shown: list[int]
) -> list[dict[str, Any]]:
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


def _number(value: float, digits: int = 7) -> float | None:
    return float(f"{value:.{digits}g}") if math.isfinite(value) else None


def numbers(values: NDArray[Any], digits: int = 7) -> list[float | None]:
    """Return numbers with this many digits, and None for NaN, which JSON lacks."""
    return [_number(value, digits) for value in values.tolist()]
