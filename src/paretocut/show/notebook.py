"""The pictures in notebooks, one for each kind of value; `drawing` has their parts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import singledispatch
from typing import Any

import numpy as np

from paretocut.background import Background, gev_log_cdf
from paretocut.decisions import WARNINGS, Cut, Cuts
from paretocut.evaluation import Evaluation
from paretocut.lists import FloatArray, IntArray, RankedList, RankedLists
from paretocut.show.drawing import (
    BARS,
    KEPT,
    NULL,
    TOP,
    Axis,
    along,
    bars,
    by_rank,
    card,
    dots,
    explained,
    facts,
    figure,
    frame,
    key,
    line,
    number,
    svg,
    text,
    upright,
    upward,
)
from paretocut.show.picture import of_cut, of_fit, of_list
from paretocut.tail import SurpriseFit, SurpriseFits
from paretocut.truncators import Calibrated, Gated, Truncator

_QUERIES = 5  # of many lists, so many are drawn


@singledispatch
def html(value: Any) -> str:
    """Return the picture of a value as HTML."""
    return card(text(repr(value)))


@html.register
def _cut(cut: Cut) -> str:
    """Return the picture of one decision: scores by rank, and where they are cut."""
    head, title = text(cut.reason), f"Scores of {cut.n} results by rank, cut after {cut.k}"
    drawn = by_rank(of_cut(cut))
    return figure(f"<b>{head}</b>", title, cut.method, drawn, explained(cut.warnings))


@html.register
def _list(ranked: RankedList) -> str:
    """Return the picture of one list: its scores by rank."""
    picture = of_list(ranked)
    known = {"query": ranked.query_id, "results": str(len(ranked))}
    if picture.judgements is not None:
        known["relevant"] = str(picture.hits.size)
    title = f"Scores of {len(ranked)} results by rank"
    return figure(facts(known), title, "", by_rank(picture), {})


@html.register
def _cuts(cuts: Cuts) -> str:
    """Return the picture of many decisions: how many results they keep."""
    k = cuts.k
    known = {
        "lists": str(k.size),
        "results kept": f"{int(k.sum())} of {int(cuts.n.sum())}",
        "median": number(float(np.median(k))) if k.size else "none",
        "empty": str(int(np.count_nonzero(k == 0))),
        "by": cuts.method,
    }
    title = f"How many results are kept of each of {k.size} lists"
    return _histogram(k, "results kept", title, cuts.method, known, cuts.warnings)


@html.register
def _lists(lists: RankedLists) -> str:
    """Return the picture of many lists: the scores of some of them by rank."""
    n = lists.scores.lengths
    known = {"lists": str(n.size), "results": str(lists.scores.values.size)}
    if n.size:
        known["in each"] = " to ".join(str(depth) for depth in sorted({n.min(), n.max()}))
    if lists.relevance is not None:
        known["relevant"] = str(np.count_nonzero(lists.is_relevant(lists.relevance.values)))
        if not lists.fully_judged:
            known["judged"] = str(np.count_nonzero(lists.judged.values))
    filled = np.flatnonzero(n)
    some = filled[:: max(1, filled.size // _QUERIES)][:_QUERIES]
    body = by_rank(*(of_list(lists[int(i)]) for i in some))
    about = f"Queries {', '.join(lists.query_ids[some].tolist())}"
    title = f"Scores by rank of {some.size} of {n.size} lists"
    return figure(facts(known | {"drawn": str(some.size)}), title, about, body, {})


@html.register
def _fit(fit: SurpriseFit) -> str:
    """Return the picture of one fit: scores by rank, the window, and the line of chance."""
    known, about = {"results": str(fit.n)}, "Nothing was fitted."
    picture = of_fit(fit)
    if picture.window is not None:
        names = ("shape", "scale", "threshold", "gof_pvalue")
        known |= {name: number(getattr(fit, name)) for name in names}
        first, last = picture.window
        about = (
            f"The tail was fitted to ranks {first} to {last}. The line gives, for each score, how "
            "many results chance would bring at or above it."
        )
    title = f"Scores of {fit.n} results by rank, and the tail fitted to them"
    return figure(facts(known), title, about, by_rank(picture), explained(fit.warnings))


@html.register
def _fits(fits: SurpriseFits) -> str:
    """Return the picture of many fits: how surprising the best result of each list is."""
    best = fits.best[fits.n > 0]
    counts = {
        "lists": len(fits),
        "results": fits.surprise.values.size,
        "fitted": np.count_nonzero(fits.scale > 0),
    }
    known = {name: str(count) for name, count in counts.items()}
    title = f"Surprise of the best result of each of {best.size} lists"
    about = "Surprise is minus the logarithm of the p-value."
    return _histogram(best, "surprise of the best result", title, about, known, fits.warnings)


@html.register
def _background(background: Background) -> str:
    """Return the picture of a background: the law of best scores, and its limits."""
    known = {name: number(getattr(background, name)) for name in ("shape", "loc", "scale")}
    known |= {} if background.size is None else {"documents": str(background.size)}
    marks = {"5 % are beyond": background.limit(0.05)}
    if background.groups is not None:
        sign = 1.0 if background.higher_is_better else -1.0
        marks["answers begin at"] = sign * background.groups.threshold
    what = "scores" if background.higher_is_better else "distances"
    return _law(background, facts({"Background": what} | known), marks)


@html.register
def _gated(gated: Gated) -> str:
    """Return the picture of a gate: the law of best scores without an answer, and the gate."""
    known = {"behind a gate": repr(gated.base), "alpha": str(gated.alpha)}
    return _law(gated.background, facts(known), {"gate": gated.threshold()})


def _law(background: Background, head: str, marks: Mapping[str, float]) -> str:
    sign, what = (1.0, "score") if background.higher_is_better else (-1.0, "distance")
    merit = np.linspace(sign * background.limit(0.999), sign * background.limit(0.001), 120)
    law = {name: getattr(background, name) for name in ("shape", "loc", "scale")}
    rate = -gev_log_cdf(merit, **law)
    density = rate ** (background.shape + 1) * np.exp(-rate) / background.scale
    scores, last = sign * merit, max(marks.values())
    x, y = _roomy(scores, list(marks.values())), upward(float(density.max()))
    body = [*frame(x, y, f"best {what} of a list", "")]
    body.append(line(x.at(scores), y.at(density), NULL))
    words = {name: f"{name}: {number(mark)}" for name, mark in marks.items()}
    for name, mark in marks.items():
        body.append(upright(x, mark, words[name], TOP + 12, "start" if mark == last else "end"))
    title = f"The best {what} of queries without an answer: its law and its limit"
    return figure(head, title, "; ".join(words.values()), body, {})


@html.register
def _calibrated(calibrated: Calibrated) -> str:
    """Return the picture of a calibration: best scores of nonsense and of queries, and the gate."""
    up = calibrated.background.higher_is_better
    sign, what = (1.0, "score") if up else (-1.0, "distance")
    parts = [("nonsense", calibrated.nonsense_, NULL), ("queries", calibrated.unjudged_, KEPT)]
    known = [(name, sign * tops, colour) for name, tops, colour in parts if tops is not None]
    if not known:
        return _gated(calibrated)
    every, limit = np.concatenate([tops for _, tops, _ in known]), calibrated.threshold()
    edges = np.histogram_bin_edges(every, bins=BARS)
    counts = [np.histogram(tops, edges)[0] for _, tops, _ in known]
    shares = [count / count.sum() for count in counts]
    x = _roomy(np.append(edges, limit), [limit])
    y = upward(100 * float(np.max(shares)))
    scaled = "" if calibrated.scale_ is None else ", divided by the scale of the query"
    body = [*frame(x, y, f"best {what} of a list{scaled}", "% of them")]
    for (name, _, colour), count, share in zip(known, counts, shares, strict=True):
        body += bars(x, y, edges, count, [colour] * count.size, name, 100 * share, 0.6)
    body.append(upright(x, limit, f"gate: {number(limit)}", TOP + 12, "start" if up else "end"))
    title = f"Best {what}s of nonsense and of queries, and the gate between them"
    sentence = calibrated.gate_in_words()[0]
    colours = {f"{tops.size} {name}": colour for name, tops, colour in known}
    return figure(text(sentence), title, sentence, [*body, key(colours)], {})


@html.register
def _truncator(truncator: Truncator) -> str:
    """Return the truncator with its parameters, and the plain values that it learned."""
    names = [name for name in (*vars(truncator), "strategy_") if name.endswith("_")]
    learned = {name.removesuffix("_"): getattr(truncator, name, None) for name in names}
    plain = {
        name: number(value) if isinstance(value, float) else str(value)
        for name, value in learned.items()
        if isinstance(value, (int, float, str))
    }
    taught = f", {truncator.taught}" if truncator.is_fitted and truncator.learns else ""
    return card(f"<b>{text(repr(truncator))}</b>{text(taught)}<div>{facts(plain)}</div>")


@html.register
def _evaluation(evaluation: Evaluation) -> str:
    """Return one table per metric, the best truncator in bold, with the intervals drawn."""
    tables = []
    for metric in evaluation.metrics:
        caption, header, rows = evaluation.table(metric, text, ("<b>", "</b>"))
        lines = [one for one in evaluation.summary if one.metric == metric]
        x = Axis(min(one.low for one in lines), max(one.high for one in lines), 4, 96)
        body = [_row([*header, ""], "th")]
        for cells, one in zip(rows, lines, strict=True):
            low, middle, high = (float(v) for v in x.at([one.low, one.mean, one.high]))
            best = cells[0].startswith("<b>")
            colour = KEPT if best else "currentColor"
            interval = f'<path d="M{low:.1f} 7H{high:.1f}" stroke="{colour}" stroke-width="1.5"/>'
            mean = dots(np.array([middle]), np.array([7.0]), colour)
            title = f"{one.low:.3f} to {one.high:.3f}"
            drawn = svg(title, one.truncator, [interval, mean], "100 14", "100")
            body.append(_row([*cells, drawn], "td"))
        tables.append(
            f"<div><b>{text(evaluation.verdict(metric))}</b></div><div>{text(caption)}</div>"
            '<table style="border-collapse:collapse;font:inherit;color:inherit">'
            f"{''.join(body)}</table>"
        )
    return card("".join(tables), "width:fit-content;max-width:100%;overflow-x:auto")


def _row(cells: Sequence[str], tag: str) -> str:
    style = "padding:2px 8px;white-space:nowrap;text-align:"
    sides = ["left"] + ["right"] * (len(cells) - 1)
    made = (f'<{tag} style="{style}{s}">{c}</{tag}>' for s, c in zip(sides, cells, strict=True))
    return f'<tr style="background:none">{"".join(made)}</tr>'


def _roomy(scores: FloatArray, marks: Sequence[float]) -> Axis:
    """Return an axis with room for words: left of the lowest mark, right of the highest."""
    low, high = float(scores.min()), float(scores.max())
    high = max(high, low + (max(marks) - low) / 0.7)
    return along(min(low, high - (high - min(marks)) / 0.7), high)


def _histogram(
    values: IntArray | FloatArray,
    axis: str,
    title: str,
    about: str,
    known: Mapping[str, str],
    warnings: Iterable[Sequence[str]],
) -> str:
    """Return a picture of one number per list, with the warnings of all lists counted."""
    body: list[str] = []
    if values.size:
        low, high = float(values.min()), float(values.max())
        edges, colours = np.linspace(low, high if high > low else low + 1, BARS + 1), [NULL] * BARS
        if values.dtype.kind == "i":
            # One bar per number where there is room; zero always has its own, in its own colour.
            width = max(1, math.ceil(high / BARS))
            edges = np.append(-0.5, np.arange(0.5, high + width, width))
            colours = [KEPT, *colours]
        counts, _ = np.histogram(values, edges)
        x, y = along(float(edges[0]), float(edges[-1])), upward(float(counts.max()))
        body += [*frame(x, y, axis, "lists"), *bars(x, y, edges, counts, colours, "lists")]
    found = Counter(name for names in warnings for name in names)
    names = {f"{name} ({count} lists)": WARNINGS.get(name, "") for name, count in found.items()}
    return figure(facts(known), title, about, body, names)
