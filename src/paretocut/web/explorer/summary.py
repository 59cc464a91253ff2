"""The first pages of a report: what was found, and three queries to see it on."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import Any

import numpy as np

from paretocut.evaluation.result import DEFAULT
from paretocut.show.drawing import by_rank, of_cut, svg
from paretocut.web.explorer.exploration import Exploration, Method
from paretocut.web.explorer.views import metric_label, result_rows, verdict

MEASURE = (
    "F1 combines precision, the share of the kept results that are relevant, and recall, the share "
    "of the relevant results that are kept. It is their harmonic mean: 1 is perfect, 0 is useless."
)
_TOP, _AROUND = 3, 2  # results of an example: the first, and on each side of the cut
_TEXT = 600  # characters of a query


def summary_view(run: Exploration) -> dict[str, Any]:
    """Return the finding, the numbers of its chart, and the examples."""
    method = _shown_method(run)
    return {
        "date": f"{datetime.date.today():%d %B %Y}",
        "finding": _finding(run, method),
        "measure": MEASURE if run.measured.size and run.metric == "f1" else None,
        "chart": _chart(run),
        "method": method.label,
        "examples": [_example(run, method, *chosen) for chosen in _examples(run, method)],
    }


def _shown_method(run: Exploration) -> Method:
    """Return the first model that was given, or else the default."""
    models = [method for method in run.methods.values() if method.kind == "model"]
    return [*models, run.methods[DEFAULT]][0]


def _finding(run: Exploration, method: Method) -> str:
    k, depth = run.cuts(method.key).k, run.lists.scores.lengths
    if not k.size:
        return "The run has no query."
    empty = int(np.count_nonzero(k == 0))
    kept = f"{method.label} keeps {k.mean():.3g} of {np.median(depth):,.0f} results on average"
    none = f"nothing for {empty:,} of {k.size:,} queries"
    found = verdict(run)
    if found is not None:
        return f"{found} {kept}. It keeps {none}."
    most = int(np.argmax(run.disagreement))
    cuts = [int(run.cuts(key).k[most]) for key in run.methods]
    return (
        f"{kept}, and {none}. The methods differ most on query {run.lists.query_ids[most]}: they "
        f"keep {min(cuts):,} to {max(cuts):,} results. No query is judged, so the report cannot "
        "say which method is right."
    )


def _chart(run: Exploration) -> dict[str, Any] | None:
    """Return mean F1 of each method with its interval, and that of the best cuts."""
    if run.evaluation is None:
        return None
    lines = {line.truncator: line for line in run.evaluation.summary if line.metric == run.metric}
    ceiling = lines.pop("oracle", None)
    return {
        "ceiling": None if ceiling is None else round(ceiling.mean, 4),
        "value": {key: [round(x, 4) for x in (y.mean, y.low, y.high)] for key, y in lines.items()},
    }


def _examples(run: Exploration, method: Method) -> Iterator[tuple[int, str, str]]:
    """Yield up to three lists, each with a title and the rule that chose it."""
    k, unit = run.cuts(method.key).k, metric_label(run.metric)
    if not k.size:
        return
    if run.evaluation is not None and run.evaluation.ceiling:
        own = run.evaluation.per_query(run.metric, method.key)
        loss = run.evaluation.per_query(run.metric, "oracle") - own
        chosen = [
            (run.measured[np.argmax(own)], "The cut does well", f"The highest {unit}."),
            (run.measured[np.argmax(loss)], "The cut is far off", f"The largest loss of {unit} "
             "against the best cut of the list."),
        ]  # fmt: skip
        middle = run.measured[np.argsort(own, kind="stable")[own.size // 2]]
        typical = middle, f"The median {unit}."
    else:
        spread = np.where(k > 0, run.disagreement, np.inf)
        chosen = [
            (np.argmin(spread), "The methods agree", "The smallest difference between the cuts."),
            (np.argmax(run.disagreement), "The methods differ", "The largest difference."),
        ]
        typical = np.argsort(k, kind="stable")[k.size // 2], "The median number kept."
    empty = np.flatnonzero(k == 0)
    if empty.size:
        middle = empty[np.argsort(run.lists.scores.ends()[0][empty])[empty.size // 2]]
        rule = "Of the queries for which nothing is kept, the one with the median best score."
        chosen.append((middle, "Nothing is kept", rule))
    else:
        chosen.append((typical[0], "A typical query", typical[1]))
    seen: set[int] = set()
    for i, title, rule in chosen:
        if int(i) not in seen:
            seen.add(int(i))
            yield int(i), title, rule


def _example(run: Exploration, method: Method, i: int, title: str, rule: str) -> dict[str, Any]:
    cut, ranked = run.cuts(method.key)[i], run.lists[i]
    said = f"{method.label}: {cut.reason}."
    if i in run.measured and run.lists[i : i + 1].fully_judged:
        curve, unit = run.curves_of(i)["value"][0], metric_label(run.metric)
        best = int(np.argmax(curve))
        said += (
            f" {unit} is {curve[cut.k]:.3f}; the best cut keeps {best:,} and has {curve[best]:.3f}."
        )
    ranks = {*range(_TOP), *range(cut.k - _AROUND, cut.k + _AROUND)}
    text, drawn = run.query_texts.get(ranked.query_id, ""), by_rank(of_cut(cut))
    return {
        "title": title,
        "rule": rule,
        "id": ranked.query_id,
        "text": text if len(text) <= _TEXT else f"{text[:_TEXT]} …",
        "said": said,
        "k": cut.k,
        "picture": svg(f"{title}: scores by rank", cut.reason, drawn) if drawn else None,
        "results": result_rows(run, i, ranked, sorted(r for r in ranks if 0 <= r < len(ranked))),
    }
