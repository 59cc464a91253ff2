"""The pictures in notebooks, one function for each kind of value; `drawing` has their parts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from paretocut.decisions import Cut, Cuts
from paretocut.decisions.warnings import WARNINGS
from paretocut.lists import FloatArray, IntArray, RankedLists
from paretocut.show.drawing import (
    BARS,
    BOTTOM,
    HEIGHT,
    KEPT,
    NULL,
    RELEVANT,
    TOP,
    Axis,
    along,
    bars,
    card,
    cut_line,
    dots,
    explained,
    facts,
    figure,
    frame,
    key,
    line,
    number,
    points,
    rank_axes,
    ranked_frame,
    text,
    thin,
    upright,
    upward,
)
from paretocut.tail import SurpriseFit, SurpriseFits

if TYPE_CHECKING:
    from paretocut.background import Background
    from paretocut.evaluation import Evaluation
    from paretocut.truncators import Calibrated

_QUERIES = 5  # of many lists, so many are drawn


def cut_html(cut: Cut) -> str:
    """Return the picture of one decision: scores by rank, and where they are cut."""
    lists, k, n = cut._cuts.lists, cut.k, cut.n
    scores = lists.scores[cut._i]
    scores = np.append(scores, np.zeros(n - scores.size))  # padding
    body: list[str] = []
    if n:
        x, y = rank_axes(n, scores, lists.higher_is_better)
        body += ranked_frame(x, y, lists.higher_is_better)
        body += [points(x, y, scores, k, n, "currentColor", 0.55), points(x, y, scores, 0, k, KEPT)]
        body += [cut_line(x, k)]
    title = f"Scores of {n} results by rank, cut after {k}"
    return figure(f"<b>{text(cut.reason)}</b>", title, cut.method, body, explained(cut.warnings))


def cuts_html(cuts: Cuts) -> str:
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


def lists_html(lists: RankedLists) -> str:
    """Return the picture of many lists: the scores of some of them by rank."""
    n, up = lists.scores.lengths, lists.higher_is_better
    known = {"lists": str(n.size), "results": str(lists.scores.values.size)}
    if n.size:
        known["in each"] = " to ".join(str(depth) for depth in sorted({n.min(), n.max()}))
    good = None
    if lists.relevance is not None:
        good = lists.relevance.with_values(lists.is_relevant(lists.relevance.values))
        known["relevant"] = str(np.count_nonzero(good.values))
        if not lists.fully_judged:
            known["judged"] = str(np.count_nonzero(lists.judged.values))
    filled = np.flatnonzero(n)
    some = filled[:: max(1, filled.size // _QUERIES)][:_QUERIES]
    names = ", ".join(lists.query_ids[some].tolist())
    body: list[str] = []
    if some.size:
        ends = np.sort([lists.scores[i][[0, -1]] for i in some], axis=None)
        x, y = rank_axes(int(n[some].max()), ends[::-1] if up else ends, up)
        body += ranked_frame(x, y, up)
        hits = []
        for i in some:
            at = thin(x, 0, int(n[i]))
            heights = y.at(lists.scores[i][at])
            body.append(line(x.at(at + 1.0), heights, NULL, 0.7))
            if good is not None:
                hits.append(dots(x.at(at + 1.0)[good[i][at]], heights[good[i][at]], RELEVANT))
        body += hits
    drawn = {f"scores of {some.size} lists": NULL} | (
        {} if good is None else {"relevant": RELEVANT}
    )
    title = f"Scores by rank of {some.size} of {n.size} lists"
    head = facts(known) + (key(drawn) if body else "")
    return figure(head, title, f"queries {names}", body, {})


def fit_html(fit: SurpriseFit) -> str:
    """Return the picture of one fit: scores by rank, the window, and what chance would bring."""
    names = ("shape", "scale", "threshold", "gof_pvalue")
    known = {name: number(getattr(fit, name)) for name in names} if fit.fitted else {}
    scores, up = fit.scores[fit.order], fit.higher_is_better
    x, y = rank_axes(fit.n, scores, up)
    body = [*ranked_frame(x, y, up)]
    # Ascending positions [lower, upper) are these ranks from the top.
    first, last = fit.n - fit.upper + 1, fit.n - fit.lower
    if fit.fitted:
        left, right = (float(v) for v in x.at([first - 0.5, last + 0.5]))
        body.append(
            f'<rect x="{left:.1f}" y="{TOP}" width="{right - left:.1f}" '
            f'height="{HEIGHT - TOP - BOTTOM}" fill="{NULL}" opacity="0.13"/>'
        )
    body.append(points(x, y, scores, 0, fit.n, "currentColor", 0.6))
    about = "Nothing was fitted."
    if fit.fitted:
        about = (
            f"The tail was fitted to ranks {first} to {last}. The line gives, for each score, how "
            "many results chance would bring at or above it."
        )
        # Between two results the logarithm of the E-value is nearly a straight line.
        # Halves, as on the axes.
        above = slice(last - 1, None, -1)
        grid = 2 * np.linspace(fit.threshold / 2, scores[0] / 2, 100)
        logs = np.log(np.maximum(fit.evalues[fit.order][above], 1e-300))
        sign = 0.5 if up else -0.5
        chance = np.exp(np.interp(sign * grid, sign * scores[above], logs))
        inside = chance >= x.low
        body.append(line(x.at(chance[inside]), y.at(grid[inside]), NULL))
    title = f"Scores of {fit.n} results by rank, and the tail fitted to them"
    head = facts({"results": str(fit.n), **known})
    head += key({"shaded: fitted window; line: expected by chance": NULL}) if fit.fitted else ""
    return figure(head, title, about, body, explained(fit.warnings))


def fits_html(fits: SurpriseFits) -> str:
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


def background_html(background: Background) -> str:
    """Return the picture of a background: the law of best scores, and its limits."""
    from paretocut.background.law import gev_log_cdf

    sign, what = (1.0, "score") if background.higher_is_better else (-1.0, "distance")
    merit = np.linspace(sign * background.limit(0.999), sign * background.limit(0.001), 120)
    law = {name: getattr(background, name) for name in ("shape", "loc", "scale")}
    rate = -gev_log_cdf(merit, **law)
    density = rate ** (background.shape + 1) * np.exp(-rate) / background.scale
    marks = {"5 % are beyond": background.limit(0.05)}
    if background.groups is not None:
        marks["answers begin at"] = sign * background.groups.threshold
    scores, last = sign * merit, max(marks.values())
    x, y = _roomy(scores, list(marks.values())), upward(float(density.max()))
    body = [*frame(x, y, f"best {what} of a list", "")]
    body.append(line(x.at(scores), y.at(density), NULL))
    words = {name: f"{name}: {number(mark)}" for name, mark in marks.items()}
    for name, mark in marks.items():
        body.append(upright(x, mark, words[name], TOP + 12, "start" if mark == last else "end"))
    known = {"Background": f"{what}s"} | {name: number(value) for name, value in law.items()}
    known |= {} if background.size is None else {"documents": str(background.size)}
    title = f"The best {what} of queries without an answer: its law and its limit"
    return figure(facts(known), title, "; ".join(words.values()), body, {})


def calibrated_html(calibrated: Calibrated) -> str:
    """Return the picture of a calibration: best scores of nonsense and of queries, and the gate."""
    up = calibrated.background.higher_is_better
    sign, what = (1.0, "score") if up else (-1.0, "distance")
    parts = [("nonsense", calibrated.nonsense_, NULL), ("queries", calibrated.log_, KEPT)]
    known = [(name, sign * tops, colour) for name, tops, colour in parts if tops is not None]
    if not known:
        return background_html(calibrated.background)
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
    sentence = calibrated._gate_in_words()[0]
    colours = {f"{tops.size} {name}": colour for name, tops, colour in known}
    return figure(text(sentence) + key(colours), title, sentence, body, {})


def evaluation_html(evaluation: Evaluation) -> str:
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
            drawn = (
                f'<svg role="img" viewBox="0 0 100 14" style="width:100px;display:block;'
                'color:inherit" xmlns="http://www.w3.org/2000/svg"><title>'
                f"{one.low:.3f} to {one.high:.3f}</title><desc>{text(one.truncator)}</desc>"
                f'<path d="M{low:.1f} 7H{high:.1f}" stroke="{colour}" stroke-width="1.5"/>'
                f"{dots(np.array([middle]), np.array([7.0]), colour)}</svg>"
            )
            body.append(_row([*cells, drawn], "td"))
        tables.append(
            f"<div>{text(caption)}</div>"
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
        edges, counts = _binned(values)
        x, y = along(float(edges[0]), float(edges[-1])), upward(float(counts.max()))
        colours = [NULL] * counts.size
        if values.dtype.kind == "i":
            colours[0] = KEPT  # the bar of zero
        body += [*frame(x, y, axis, "lists"), *bars(x, y, edges, counts, colours, "lists")]
    found = Counter(name for names in warnings for name in names)
    names = {f"{name} ({count} lists)": WARNINGS.get(name, "") for name, count in found.items()}
    return figure(facts(known), title, about, body, names)


def _binned(values: IntArray | FloatArray) -> tuple[FloatArray, IntArray]:
    """Return the borders of bars and how many values each holds."""
    high = float(values.max())
    if values.dtype.kind == "i":
        # One bar per number where there is room; zero always has its own.
        width = max(1, math.ceil(high / BARS))
        edges = np.append(-0.5, np.arange(0.5, high + width, width))
    else:
        low = float(values.min())
        edges = np.linspace(low, high, BARS + 1) if high > low else high + np.array([-0.5, 0.5])
    counts, _ = np.histogram(values, bins=edges)
    return edges, counts
