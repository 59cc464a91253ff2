"""Plain data for the page: what a session looks like as a whole, and query by query.

Curves run over the cut, ``k = 0..n``. A list that is too long for a page is thinned: ``ks`` names
the cuts that are there, and all columns of a view have one value for each of them.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paretocut.background import gev_log_cdf
from paretocut.decisions.warnings import WARNINGS
from paretocut.errors import InvalidParameterError
from paretocut.lists import FloatArray, IntArray, RankedList
from paretocut.show.plots import frontier_points, tail_histogram
from paretocut.truncators import Calibrated, Gated, ScoreThreshold
from paretocut.web.explorer.session import Method, Session, model_text

__all__ = ["copy_view", "frontier_view", "query_view", "run_view"]

_MOST_CUTS = 5000
_MOST_RESULTS = 200
_TEXT = 300  # letters of a text


def run_view(session: Session) -> dict[str, Any]:
    """Return the run in numbers: one column per property of a query, one row per method.

    Parameters
    ----------
    session
        What is looked at.
    """
    lists = session.lists
    lengths = lists.scores.lengths
    first, _ = lists.scores.ends()
    warnings = session.warnings
    counted = Counter(name for names in warnings for name in names)
    methods = [_method_row(session, method) for method in session.methods.values()]
    ids = lists.query_ids.tolist()
    return {
        "name": session.name,
        "lists": len(lists),
        "results": int(lists.scores.values.size),
        "depth": [int(q) for q in np.quantile(lengths, [0, 0.5, 1])] if len(lists) else [0, 0, 0],
        "higher_is_better": lists.higher_is_better,
        "measured": session.measured,
        "retrievers": [] if lists.parts is None else list(lists.parts.names),
        "methods": methods,
        "bins": _bins(int(lengths.max(initial=0))).tolist(),
        "warnings": [
            {"name": name, "lists": counted[name], "meaning": WARNINGS[name]}
            for name in WARNINGS
            if counted[name]
        ],
        "queries": {
            "id": ids,
            "text": [session.query_texts.get(name, "")[:_TEXT] for name in ids]
            if session.query_texts
            else None,
            "n": lengths.tolist(),
            "best": _numbers(np.where(lists.scores.filled, first, np.nan)),
            "disagreement": _numbers(session.disagreement, 3),
            "warnings": [list(names) for names in warnings],
            "k": {key: session.cuts(key).k.tolist() for key in session.methods},
            "f1": {
                key: _numbers(session.values("f1", session.cuts(key).k), 4)
                for key in session.methods
            }
            if session.measured
            else None,
        },
    }


def _method_row(session: Session, method: Method) -> dict[str, Any]:
    k = session.cuts(method.key).k
    row: dict[str, Any] = {
        "key": method.key,
        "label": method.label,
        "kind": method.kind,
        "method": method.truncator._label(),
        "kept": float(k.mean()) if k.size else 0.0,
        "quantiles": np.quantile(k, [0.05, 0.25, 0.5, 0.75, 0.95]).tolist() if k.size else None,
        "empty": float(np.mean(k == 0)) if k.size else 0.0,
        "histogram": np.histogram(k, _bins(int(session.lists.scores.lengths.max(initial=0))))[
            0
        ].tolist(),
    }
    if session.measured and k.size:
        row |= {name: float(session.values(name, k).mean()) for name in session.curves}
    return row


def _bins(longest: int) -> IntArray:
    """Return edges of bins of k that double in width: 0, 1, 2, 3 to 4, 5 to 8, ..."""
    doublings = math.ceil(math.log2(max(longest, 2)))
    return np.array([0, 1, 2, *(2**i + 1 for i in range(1, doublings + 1))])


def frontier_view(session: Session) -> dict[str, Any]:
    """Return mean recall and precision at thresholds on the min-max score, and of each method.

    Parameters
    ----------
    session
        What is looked at.
    """
    if not session.measured or not len(session.lists):
        return {"kept": [], "recall": [], "precision": []}
    kept, recall, precision = frontier_points(session.lists)
    return {
        "kept": _numbers(kept),
        "recall": _numbers(recall, 4),
        "precision": _numbers(precision, 4),
    }


def query_view(
    session: Session,
    i: int,
    *,
    most_cuts: int = _MOST_CUTS,
    most_results: int = _MOST_RESULTS,
    also: int | None = None,
    digits: int = 7,
) -> dict[str, Any]:
    """Return one list: its scores and what every cut of it would mean.

    Parameters
    ----------
    session
        What is looked at.
    i
        Position of the list.
    most_cuts
        Of a longer list, not all cuts are sent.
    most_results
        How many results are sent with their names and texts. In a list that is judged in part,
        those that are judged come too.
    also
        Position of one more result to send.
    digits
        How many digits of each number.
    """
    ranked = session.lists[i]
    n = len(ranked)
    cuts = {key: session.cut(key, i) for key in session.methods}
    ks = _thinned(n, most_cuts, [cut.k for cut in cuts.values()])
    ranks = ks[1:] - 1
    fits = session.fits
    curves = {name: curve[i][ks] for name, curve in session.curves.items()}
    return {
        "index": i,
        "id": ranked.query_id,
        "text": session.query_texts.get(ranked.query_id, ""),
        "n": n,
        "ks": ks.tolist(),
        "score": _numbers(ranked.scores[ranks], digits),
        "surprise": _numbers(fits.surprise[i][ranks], digits),
        "pvalue": _numbers(fits.pvalues[i][ranks], digits),
        "evalue": _numbers(fits.evalues[i][ranks], digits),
        "curves": {name: _numbers(curve, digits) for name, curve in curves.items()} or None,
        "num_relevant": ranked.num_relevant,
        "tail": _tail(session, i, ranked),
        "methods": {
            key: {
                "k": cut.k,
                "reason": cut.reason,
                "warnings": list(cut.warnings),
                "method": cut.method,
                **{name: _number(float(session.curves[name][i][cut.k])) for name in session.curves},
            }
            for key, cut in cuts.items()
        },
        "gates": [
            gate for key in session.methods if (gate := _gate(session, key, i, ranked)) is not None
        ],
        "results": _results(session, i, ranked, _shown(ranked, most_results, also)),
        "relevance": _relevance(session, ranked, ranks),
    }


def _thinned(n: int, most: int, needed: list[int]) -> IntArray:
    """Return cuts from 0 to n: all of them, or the first and then ever fewer."""
    if n < most:
        return np.arange(n + 1)
    head = np.arange(most // 2)
    spaced = np.geomspace(max(most // 2, 1), n, most - most // 2)
    return np.unique(np.concatenate([head, spaced.round().astype(np.int64), needed, [n]]))


def _tail(session: Session, i: int, ranked: RankedList) -> dict[str, Any] | None:
    fit = session.fits[i]
    if not fit.fitted:
        return None
    drawn = tail_histogram(fit, ranked.scores, points=80)
    # Of m results at or above the threshold, chance brings r with a surprise of log(m / r).
    rank = np.unique(np.geomspace(1, fit.tests, 300).round().astype(np.int64))
    return {
        "shape": _number(fit.shape),
        "scale": _number(fit.scale),
        "threshold": _number(fit.threshold),
        "window": [fit.n - fit.upper + 1, fit.n - fit.lower],
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


def _gate(session: Session, key: str, i: int, ranked: RankedList) -> dict[str, Any] | None:
    """Return where the best score lies among those of queries without an answer."""
    method = session.methods[key]
    gated = method.truncator
    if not isinstance(gated, Gated) or not len(ranked):
        return None
    background = gated.background
    lists = session.lists[i : i + 1]
    nonsense = None
    if isinstance(gated, Calibrated):
        nonsense = gated.nonsense
        if gated._needs_query():  # word scores are compared after scaling by their query
            divisors = gated._divisors([session.query_texts[ranked.query_id]], 1)
            lists = lists if divisors is None else lists.divided_by(divisors)
    best = float(lists.scores[0][0])
    sign = 1.0 if background.higher_is_better else -1.0
    threshold = gated.threshold()
    middle, spread = background.loc, background.scale
    ends = [middle - 4 * spread, middle + 8 * spread, sign * best, sign * threshold]
    if nonsense is not None:
        ends += [float(nonsense.min()), float(nonsense.max())]
    grid = np.linspace(min(ends), max(ends), 121)
    law = {"shape": background.shape, "loc": middle, "scale": spread}
    share = np.diff(np.exp(gev_log_cdf(grid, **law)))
    return {
        "key": key,
        "best": _number(best),
        "threshold": _number(threshold),
        "pvalue": _number(float(background.pvalue(lists)[0])),
        "answers": bool(background.answers(lists, gated.alpha)[0]),
        "grid": _numbers(sign * (grid[1:] + grid[:-1]) / 2),
        "share": _numbers(share),
        "nonsense": None if nonsense is None else _numbers(sign * np.sort(nonsense), 5)[:400],
    }


def _shown(ranked: RankedList, most: int, also: int | None) -> list[int]:
    """Return the positions of the results that are sent, in order."""
    shown = set(range(min(len(ranked), most)))
    if ranked.relevance is not None and ranked.relevant is None:
        shown |= set(np.flatnonzero(~np.isnan(ranked.relevance)).tolist())
    if also is not None and 0 <= also < len(ranked):
        shown.add(also)
    return sorted(shown)


def _results(
    session: Session, i: int, ranked: RankedList, shown: list[int]
) -> list[dict[str, Any]]:
    parts = session.lists.parts
    judged = _relevance(session, ranked, np.array(shown, dtype=np.int64))
    rows = []
    for place, rank in enumerate(shown):
        name = None if ranked.doc_ids is None else str(ranked.doc_ids[rank])
        row: dict[str, Any] = {
            "rank": rank,
            "id": name,
            "score": _number(float(ranked.scores[rank])),
            "relevant": None if judged is None else judged[place],
        }
        if name is not None and name in session.doc_texts:
            row["text"] = session.doc_texts[name][:_TEXT]
        if parts is not None:
            row["parts"] = [
                {"score": _number(float(scores[i][rank])), "rank": int(ranks[i][rank])}
                for scores, ranks in zip(parts.scores, parts.ranks, strict=True)
            ]
        rows.append(row)
    return rows


def _relevance(session: Session, ranked: RankedList, ranks: IntArray) -> list[int | None] | None:
    """Return 1, 0 or None (nobody judged it) of each result."""
    if ranked.relevance is None:
        return None
    grades = ranked.relevance[ranks]
    return [
        None if nobody else int(hit)
        for hit, nobody in zip(session.lists._counts(grades), np.isnan(grades), strict=True)
    ]


def copy_view(session: Session, key: str | None, i: int, k: int) -> dict[str, Any]:
    """Return a decision as code: a method, or a cut that was chosen by eye as a score threshold.

    Parameters
    ----------
    session
        What is looked at.
    key
        A method; None for a cut by eye.
    i, k
        The list and its cut.
    """
    scores = session.lists[i].scores
    if not 0 <= k <= scores.size:
        raise InvalidParameterError(f"copy: k must be in 0..{scores.size}, got {k}")
    if key is not None:
        method = session.methods[key]
        return _as_code(session, method.python, method.command, method.truncator)
    if not scores.size:
        threshold = 0.0
    elif k == 0:
        better = np.inf if session.lists.higher_is_better else -np.inf
        threshold = float(np.nextafter(scores[0], better))
    else:
        threshold = float(scores[k - 1])
    truncator = ScoreThreshold("raw", threshold)
    python = f"pc.truncators.{truncator!r}.cut_batch(lists)"
    return _as_code(session, python, f"--method raw:threshold={threshold!r}", truncator)


def _as_code(session: Session, python: str, command: str, truncator: Any) -> dict[str, Any]:
    distances = "" if session.lists.higher_is_better else " --distances"
    read = (
        f'lists = pc.io.read_lists("{session.source}"'
        + ("" if session.lists.higher_is_better else ", higher_is_better=False")
        + ")"
    )
    return {
        "python": f"import paretocut as pc\n\n{read}\ncuts = {python}\n",
        "command": f"paretocut cut {session.source}{distances} {command}".rstrip() + "\n",
        "model": model_text(truncator),
    }


def _number(value: float, digits: int = 7) -> float | None:
    """Return a number with so many digits, or None for NaN: JSON has none."""
    if not math.isfinite(value):
        return None
    return float(f"{value:.{digits}g}")


def _numbers(values: NDArray[Any] | FloatArray, digits: int = 7) -> list[float | None]:
    return [_number(value, digits) for value in np.asarray(values, dtype=np.float64).tolist()]
