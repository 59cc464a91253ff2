"""The pictures in notebooks, one for each kind of value; `drawing` has their parts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import singledispatch
from typing import Any

import numpy as np

from paretocut.background import Background, gev_log_cdf
from paretocut.decisions import Cut, Cuts
from paretocut.evaluation import Evaluation
from paretocut.lists import FloatArray, RankedList, RankedLists
from paretocut.show import drawing as draw
from paretocut.tail import SurpriseFit
from paretocut.truncators import Calibrated, Gated, Truncator

_QUERIES = 5  # of many lists, so many are drawn


@singledispatch
def html(value: Any) -> str:
    """Return the picture of a value as HTML."""
    return draw.card(draw.text(repr(value)))


@html.register
def _cut(cut: Cut) -> str:
    head, title = draw.text(cut.reason), f"Scores of {cut.n} results by rank, cut after {cut.k}"
    drawn = draw.by_rank(draw.of_cut(cut))
    return draw.figure(f"<b>{head}</b>", title, cut.method, drawn, cut.warnings)


@html.register
def _list(ranked: RankedList) -> str:
    picture = draw.of_list(ranked)
    known = {"query": ranked.query_id, "results": str(len(ranked))}
    if picture.judgements is not None:
        known["relevant"] = str(picture.hits.size)
    title = f"Scores of {len(ranked)} results by rank"
    return draw.figure(draw.facts(known), title, "", draw.by_rank(picture))


@html.register
def _cuts(cuts: Cuts) -> str:
    k, body = cuts.k, []
    known = {
        "lists": str(k.size),
        "results kept": f"{int(k.sum())} of {int(cuts.n.sum())}",
        "median": draw.number(float(np.median(k))) if k.size else "none",
        "empty": str(int(np.count_nonzero(k == 0))),
        "by": cuts.method,
    }
    if k.size:
        # One bar per number where there is room; zero always has its own, in its own colour.
        most = float(k.max())
        width = max(1, math.ceil(most / draw.BARS))
        edges = np.append(-0.5, np.arange(0.5, most + width, width))
        counts, _ = np.histogram(k, edges)
        x, y = draw.along(float(edges[0]), float(edges[-1])), draw.upward(float(counts.max()))
        colours = [draw.KEPT, *[draw.NULL] * draw.BARS]
        body = [
            *draw.frame(x, y, "results kept", "lists"),
            *draw.bars(x, y, edges, counts, colours, "lists"),
        ]
    found = (name for names in cuts.warnings for name in names)
    title = f"How many results are kept of each of {k.size} lists"
    return draw.figure(draw.facts(known), title, cuts.method, body, found, "lists")


@html.register
def _lists(lists: RankedLists) -> str:
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
    body = draw.by_rank(*(draw.of_list(lists[int(i)]) for i in some))
    about = f"Queries {', '.join(lists.query_ids[some].tolist())}"
    title = f"Scores by rank of {some.size} of {n.size} lists"
    return draw.figure(draw.facts(known | {"drawn": str(some.size)}), title, about, body)


@html.register
def _fit(fit: SurpriseFit) -> str:
    known, about = {"results": str(fit.n)}, "Nothing was fitted."
    picture = draw.of_fit(fit)
    if picture.window is not None:
        names = ("shape", "scale", "threshold", "gof_pvalue")
        known |= {name: draw.number(getattr(fit, name)) for name in names}
        first, last = picture.window
        about = (
            f"The tail was fitted to ranks {first} to {last}. The line gives, for each score, how "
            "many results chance would bring at or above it."
        )
    title = f"Scores of {fit.n} results by rank, and the tail fitted to them"
    return draw.figure(
        draw.facts(known),
        title,
        about,
        draw.by_rank(picture),
        fit.warnings,
    )


@html.register
def _background(background: Background) -> str:
    known = {name: draw.number(getattr(background, name)) for name in ("shape", "loc", "scale")}
    known |= {} if background.size is None else {"documents": str(background.size)}
    marks = {"5 % are beyond": background.limit(0.05)}
    if background.groups is not None:
        sign = 1.0 if background.higher_is_better else -1.0
        marks["answers begin at"] = sign * background.groups.threshold
    what = "scores" if background.higher_is_better else "distances"
    return _law(background, draw.facts({"Background": what} | known), marks)


@html.register
def _gated(gated: Gated) -> str:
    known = {"behind a gate": repr(gated.base), "alpha": str(gated.alpha)}
    return _law(gated.background, draw.facts(known), {"gate": gated.threshold()})


def _law(background: Background, head: str, marks: Mapping[str, float]) -> str:
    sign, what = (1.0, "score") if background.higher_is_better else (-1.0, "distance")
    merit = np.linspace(sign * background.limit(0.999), sign * background.limit(0.001), 120)
    law = {name: getattr(background, name) for name in ("shape", "loc", "scale")}
    rate = -gev_log_cdf(merit, **law)
    density = rate ** (background.shape + 1) * np.exp(-rate) / background.scale
    scores, last = sign * merit, max(marks.values())
    x, y = _roomy(scores, list(marks.values())), draw.upward(float(density.max()))
    body = [*draw.frame(x, y, f"best {what} of a list", "")]
    body.append(draw.line(x.at(scores), y.at(density), draw.NULL))
    words = {name: f"{name}: {draw.number(mark)}" for name, mark in marks.items()}
    for name, mark in marks.items():
        body.append(
            draw.upright(x, mark, words[name], draw.TOP + 12, "start" if mark == last else "end")
        )
    title = f"The best {what} of queries without an answer: its law and its limit"
    return draw.figure(head, title, "; ".join(words.values()), body)


@html.register
def _calibrated(calibrated: Calibrated) -> str:
    up = calibrated.background.higher_is_better
    sign, what = (1.0, "score") if up else (-1.0, "distance")
    parts = [
        ("nonsense", calibrated.nonsense_, draw.NULL),
        ("queries", calibrated.unjudged_, draw.KEPT),
    ]
    known = [(name, sign * tops, colour) for name, tops, colour in parts if tops is not None]
    if not known:
        return _gated(calibrated)
    every, limit = np.concatenate([tops for _, tops, _ in known]), calibrated.threshold()
    edges = np.histogram_bin_edges(every, bins=draw.BARS)
    counts = [np.histogram(tops, edges)[0] for _, tops, _ in known]
    most = max(float(count.max() / count.sum()) for count in counts)
    x = _roomy(np.append(edges, limit), [limit])
    scaled = "" if calibrated.scale_ is None else ", divided by the scale of the query"
    y_name, x_name = "% of them", f"best {what} of a list{scaled}"
    body = [*draw.frame(x, draw.upward(100 * most), x_name, y_name)]
    for (name, _, colour), count in zip(known, counts, strict=True):
        y = draw.upward(most * count.sum())
        body += draw.bars(x, y, edges, count, [colour] * count.size, name, 0.6)
    gate, side = f"gate: {draw.number(limit)}", "start" if up else "end"
    body.append(draw.upright(x, limit, gate, draw.TOP + 12, side))
    title = f"Best {what}s of nonsense and of queries, and the gate between them"
    sentence = calibrated.gate_in_words()[0]
    colours = {f"{tops.size} {name}": colour for name, tops, colour in known}
    return draw.figure(draw.text(sentence), title, sentence, [*body, draw.key(colours)])


@html.register
def _truncator(truncator: Truncator) -> str:
    names = [name for name in (*vars(truncator), "strategy_") if name.endswith("_")]
    learned = {name.removesuffix("_"): getattr(truncator, name, None) for name in names}
    plain = {
        name: draw.number(value) if isinstance(value, float) else str(value)
        for name, value in learned.items()
        if isinstance(value, (int, float, str))
    }
    taught = f", {truncator.taught}" if truncator.is_fitted and truncator.learns else ""
    head = f"<b>{draw.text(repr(truncator))}</b>{draw.text(taught)}"
    return draw.card(f"{head}<div>{draw.facts(plain)}</div>")


@html.register
def _evaluation(evaluation: Evaluation) -> str:
    tables = []
    for metric in evaluation.metrics:
        caption, header, rows = evaluation.table(metric, draw.text, ("<b>", "</b>"))
        body = "".join([_row(header, "th"), *(_row(cells, "td") for cells in rows)])
        tables.append(
            f"<div><b>{draw.text(evaluation.verdict(metric))}</b></div>"
            f"<div>{draw.text(caption)}</div>"
            f'<table style="border-collapse:collapse;font:inherit;color:inherit">{body}</table>'
        )
    return draw.card("".join(tables), "width:fit-content;max-width:100%;overflow-x:auto")


def _row(cells: Sequence[str], tag: str) -> str:
    style = "padding:2px 8px;white-space:nowrap;text-align:"
    sides = ["left"] + ["right"] * (len(cells) - 1)
    made = (f'<{tag} style="{style}{s}">{c}</{tag}>' for s, c in zip(sides, cells, strict=True))
    return f'<tr style="background:none">{"".join(made)}</tr>'


def _roomy(scores: FloatArray, marks: Sequence[float]) -> draw.Axis:
    """Return an axis with room for words: left of the lowest mark, right of the highest."""
    low, high = float(scores.min()), float(scores.max())
    high = max(high, low + (max(marks) - low) / 0.7)
    return draw.along(min(low, high - (high - min(marks)) / 0.7), high)
