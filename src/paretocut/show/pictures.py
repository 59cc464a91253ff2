"""Small pictures for notebooks: HTML with inline SVG, made of strings alone.

Text and axes take the colour of the page, so they read on light and on dark ones. Each element
has its own style; that of the page stays as it is.
"""

from __future__ import annotations

import html
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from paretocut.decisions import Cut, Cuts
from paretocut.decisions.warnings import WARNINGS
from paretocut.lists import FloatArray, IntArray
from paretocut.tail import SurpriseFit, SurpriseFits

if TYPE_CHECKING:
    from paretocut.background import Background
    from paretocut.evaluation import Evaluation

# Colours of Okabe and Ito: of results that are kept, and of what chance would bring.
KEPT, NULL = "#D55E00", "#0072B2"
_WIDTH, _HEIGHT = 560, 220
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 24, 12, 40
_POINTS = 150  # the most kept results that are drawn, and the most others
_BARS = 40
_LOG_FROM = 100  # ranks of longer lists are on a logarithmic axis, where the top has room
_LONGEST = 400  # letters of a text
# What XML cannot hold, even escaped.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


@dataclass(frozen=True)
class _Axis:
    """A way from numbers to pixels: ``low`` is drawn at ``start``, ``high`` at ``end``."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False
    whole: bool = False

    def at(self, values: ArrayLike) -> FloatArray:
        """Return the pixels of the values; those outside lie on the border."""
        low, high = self.low, self.high
        x = np.clip(np.asarray(values, dtype=np.float64), low, high)
        if self.log:
            x, low, high = np.log(x), math.log(low), math.log(high)
        # Halves, because the difference of two doubles may be too large for one.
        spread = high / 2 - low / 2
        share = (x / 2 - low / 2) / spread if spread > 0 else np.full(x.shape, 0.5)
        return np.asarray(self.start + (self.end - self.start) * share)

    def ticks(self) -> list[tuple[float, str]]:
        """Return three to seven round numbers, or the powers of ten, each with its label."""
        if self.log:
            first, last = math.ceil(math.log10(self.low)), math.floor(math.log10(self.high))
            return [(10.0**power, f"{10**power:,}") for power in range(first, last + 1)]
        spread, largest = self.high - self.low, max(abs(self.low), abs(self.high))
        # Numbers whose difference a double can hardly hold have no round ones between them.
        if not (math.isfinite(spread) and spread > max(1e-300, 1e-12 * largest)):
            ends = [self.low, self.high][: 1 + (self.high > self.low)]
            return [(end, _number(end)) for end in ends]
        step = 10.0 ** math.floor(math.log10(spread / 3))
        step *= max(m for m in (1, 2, 5) if m == 1 or spread / (m * step) >= 3)
        step = max(step, 1.0) if self.whole else step
        digits = max(4, math.ceil(math.log10(largest / step)) + 1)
        first, last = math.ceil(self.low / step), math.floor(self.high / step)
        return [(i * step, _number(i * step, digits)) for i in range(first, last + 1)]


def cut_html(cut: Cut) -> str:
    """Return the picture of one decision: scores by rank, and where they are cut."""
    lists, k, n = cut._cuts.lists, cut.k, cut.n
    scores = lists.scores[cut._i]
    scores = np.append(scores, np.zeros(n - scores.size))  # padding
    x, y = _rank_axes(scores, lists.higher_is_better)
    body: list[str] = []
    if n:
        body += _frame(x, y, _rank_name(x), _score_name(lists.higher_is_better))
        body += [_points(x, y, scores, k, n, "currentColor", 0.55)]
        # Scores fall, so there is room for words at the bottom on the left, on top on the right.
        early = 2 * x.at(k + 0.5) < _LEFT + _WIDTH
        words = (_HEIGHT - _BOTTOM - 8, "start") if early else (_TOP + 12, "end")
        body += [_points(x, y, scores, 0, k, KEPT, 1.0)]
        body += [_upright(x, k + 0.5, f"cut: {k}", *words)]
    title = f"Scores of {n} results by rank, cut after {k}"
    return _figure(f"<b>{_text(cut.reason)}</b>", title, cut.method, body, _explained(cut.warnings))


def cuts_html(cuts: Cuts) -> str:
    """Return the picture of many decisions: how many results they keep."""
    k = cuts.k
    facts = {
        "lists": str(k.size),
        "results kept": f"{int(k.sum())} of {int(cuts.n.sum())}",
        "median": _number(float(np.median(k))) if k.size else "none",
        "empty": str(int(np.count_nonzero(k == 0))),
        "by": cuts.method,
    }
    title = f"How many results are kept of each of {k.size} lists"
    return _histogram(k, "results kept", title, cuts.method, facts, cuts.warnings)


def fit_html(fit: SurpriseFit) -> str:
    """Return the picture of one fit: scores by rank, the window, and what chance would bring."""
    names = ("shape", "scale", "threshold", "gof_pvalue")
    facts = {name: _number(getattr(fit, name)) for name in names} if fit.fitted else {}
    scores, higher_is_better = fit._scores[fit.order], fit._sign > 0
    x, y = _rank_axes(scores, higher_is_better)
    body = [*_frame(x, y, _rank_name(x), _score_name(higher_is_better))]
    # Ascending positions [lower, upper) are these ranks from the top.
    first, last = fit.n - fit.upper + 1, fit.n - fit.lower
    if fit.fitted:
        left, right = (float(v) for v in x.at([first - 0.5, last + 0.5]))
        body.append(
            f'<rect x="{left:.1f}" y="{_TOP}" width="{right - left:.1f}" '
            f'height="{_HEIGHT - _TOP - _BOTTOM}" fill="{NULL}" opacity="0.13"/>'
        )
    body.append(_points(x, y, scores, 0, fit.n, "currentColor", 0.6))
    about = "Nothing was fitted."
    if fit.fitted:
        about = (
            f"The tail was fitted to ranks {first} to {last}. The line gives, for each score, how "
            "many results chance would bring at or above it."
        )
        # Between two results the logarithm of the E-value is nearly a straight line.
        # Halves, as on the axes.
        known = slice(last - 1, None, -1)
        grid = 2 * np.linspace(fit.threshold / 2, scores[0] / 2, 100)
        logs = np.log(np.maximum(fit.evalues[fit.order][known], 1e-300))
        sign = 0.5 * fit._sign
        chance = np.exp(np.interp(sign * grid, sign * scores[known], logs))
        inside = chance >= x.low
        body.append(_line(x.at(chance[inside]), y.at(grid[inside]), NULL))
        body += [
            _word(_WIDTH - _RIGHT - 4, _TOP + 14 + 15 * row, words, "end")
            for row, words in enumerate(["shaded: fitted window", "line: expected by chance"])
        ]
    title = f"Scores of {fit.n} results by rank, and the tail fitted to them"
    facts = {"results": str(fit.n), **facts}
    return _figure(_facts(facts), title, about, body, _explained(fit.warnings))


def fits_html(fits: SurpriseFits) -> str:
    """Return the picture of many fits: how surprising the best result of each list is."""
    best = fits.best[fits.n > 0]
    counts = {
        "lists": len(fits),
        "results": fits.surprise.values.size,
        "fitted": np.count_nonzero(fits.scale > 0),
    }
    facts = {name: str(count) for name, count in counts.items()}
    title = f"Surprise of the best result of each of {best.size} lists"
    about = "Surprise is minus the logarithm of the p-value."
    return _histogram(best, "surprise of the best result", title, about, facts, fits.warnings)


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
    scores, first, last = sign * merit, min(marks.values()), max(marks.values())
    # Room for the words: the lowest mark has them on its left, the highest on its right.
    high = max(scores.max(), scores.min() + (last - scores.min()) / 0.7)
    low = min(scores.min(), high - (high - first) / 0.7)
    x = _Axis(float(low), float(high), _LEFT, _WIDTH - _RIGHT)
    y = _Axis(0.0, float(density.max()), _HEIGHT - _BOTTOM, _TOP)
    body = [*_frame(x, y, f"best {what} of a list", "")]
    body.append(_line(x.at(scores), y.at(density), NULL))
    words = {name: f"{name}: {_number(mark)}" for name, mark in marks.items()}
    for name, mark in marks.items():
        body.append(_upright(x, mark, words[name], _TOP + 12, "start" if mark == last else "end"))
    facts = {"Background": f"{what}s"} | {name: _number(value) for name, value in law.items()}
    facts |= {} if background.size is None else {"documents": str(background.size)}
    title = f"The best {what} of queries without an answer: its law and its limit"
    return _figure(_facts(facts), title, "; ".join(words.values()), body, {})


def evaluation_html(evaluation: Evaluation) -> str:
    """Return one table per metric, the best truncator in bold."""

    def line(cells: Iterable[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{cell}</{tag}>" for cell in cells) + "</tr>"

    tables = []
    for metric in evaluation.metrics:
        caption, header, rows = evaluation.table(metric, html.escape, ("<b>", "</b>"))
        body = [line(header, "th"), *(line(cells, "td") for cells in rows)]
        tables += ["<table>", f"<caption>{html.escape(caption)}</caption>", *body, "</table>"]
    return "\n".join(tables)


def _number(value: float, digits: int = 4) -> str:
    return f"{value:.{digits}g}"


def _rank_axes(scores: FloatArray, higher_is_better: bool) -> tuple[_Axis, _Axis]:
    n = scores.size
    x = _Axis(0.5, max(n, 1) + 0.5, _LEFT, _WIDTH - _RIGHT, log=n > _LOG_FROM, whole=True)
    best, worst = (float(scores[0]), float(scores[-1])) if n else (1.0, 0.0)
    top, bottom = _TOP + 6, _HEIGHT - _BOTTOM - 6
    if higher_is_better:
        return x, _Axis(worst, best, bottom, top)
    return x, _Axis(best, worst, top, bottom)


def _rank_name(axis: _Axis) -> str:
    return "rank (logarithmic)" if axis.log else "rank"


def _score_name(higher_is_better: bool) -> str:
    return "score" if higher_is_better else "distance"


def _thin(x: _Axis, first: int, last: int) -> IntArray:
    """Return positions from ``first`` to before ``last``: all, or some evenly along the axis."""
    if last - first <= _POINTS:
        return np.arange(first, last)
    space = np.geomspace if x.log else np.linspace
    ranks: IntArray = np.unique(np.rint(space(first + 1, last, _POINTS)).astype(np.int64))
    return ranks - 1


def _points(
    x: _Axis, y: _Axis, scores: FloatArray, first: int, last: int, colour: str, opacity: float
) -> str:
    """Return dots: lines of no length with round ends, the shortest way to write many."""
    at = _thin(x, first, last)
    moves = "".join(
        f"M{a:.1f} {b:.1f}h0" for a, b in zip(x.at(at + 1.0), y.at(scores[at]), strict=True)
    )
    if not moves:
        return ""
    return (
        f'<path d="{moves}" stroke="{colour}" stroke-opacity="{opacity}" stroke-width="5" '
        'stroke-linecap="round" fill="none"/>'
    )


def _line(x: FloatArray, y: FloatArray, colour: str) -> str:
    path = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
    return f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>'


def _upright(x: _Axis, value: float, name: str, y: float, anchor: str) -> str:
    """Return a line from top to bottom with its name beside it."""
    at = float(x.at(value))
    return (
        f'<path d="M{at:.1f} {_TOP}V{_HEIGHT - _BOTTOM}" stroke="{KEPT}" stroke-width="1.5"/>'
        + _word(at + (6 if anchor == "start" else -6), y, name, anchor, KEPT)
    )


def _word(x: float, y: float, text: str, anchor: str, colour: str = "currentColor") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">{_text(text)}</text>'
    )


def _frame(x: _Axis, y: _Axis, x_name: str, y_name: str) -> Iterator[str]:
    """Yield the axes with their ticks and names; no name means no ticks."""
    bottom, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
    yield (
        f'<path d="M{_LEFT} {_TOP}V{bottom}H{right}" stroke="currentColor" stroke-opacity="0.5" '
        'fill="none"/>'
    )
    for tick, label in x.ticks():
        yield _word(float(x.at(tick)), bottom + 15, label, "middle")
    yield _word((_LEFT + right) / 2, _HEIGHT - 7, x_name, "middle")
    if not y_name:
        return
    for tick, label in y.ticks():
        at = float(y.at(tick))
        yield f'<path d="M{_LEFT} {at:.1f}H{right}" stroke="currentColor" stroke-opacity="0.12"/>'
        yield _word(_LEFT - 6, at + 4, label, "end")
    middle = (_TOP + bottom) / 2
    yield f'<g transform="rotate(-90 12 {middle})">{_word(12, middle, y_name, "middle")}</g>'


def _histogram(
    values: IntArray | FloatArray,
    axis: str,
    title: str,
    about: str,
    facts: Mapping[str, str],
    warnings: Iterable[Sequence[str]],
) -> str:
    """Return a picture of one number per list, with the warnings of all lists counted."""
    body: list[str] = []
    if values.size:
        edges, counts = _bars(values)
        x = _Axis(float(edges[0]), float(edges[-1]), _LEFT, _WIDTH - _RIGHT)
        y = _Axis(0.0, float(counts.max()), _HEIGHT - _BOTTOM, _TOP)
        body += _frame(x, y, axis, "lists")
        for i in np.flatnonzero(counts):
            left, right = (float(v) for v in x.at(edges[i : i + 2]))
            top = float(y.at(counts[i]))
            empty = values.dtype.kind == "i" and i == 0  # the bar of zero
            body.append(
                f'<rect x="{left:.1f}" y="{top:.1f}" width="{max(right - left - 1, 0.5):.1f}" '
                f'height="{_HEIGHT - _BOTTOM - top:.1f}" fill="{KEPT if empty else NULL}">'
                f"<title>{counts[i]} lists</title></rect>"
            )
    found = Counter(name for names in warnings for name in names)
    names = {f"{name} ({count} lists)": WARNINGS.get(name, "") for name, count in found.items()}
    return _figure(_facts(facts), title, about, body, names)


def _bars(values: IntArray | FloatArray) -> tuple[FloatArray, IntArray]:
    """Return the borders of bars and how many values each holds."""
    high = float(values.max())
    if values.dtype.kind == "i":
        # One bar per number where there is room; zero always has its own.
        width = max(1, math.ceil(high / _BARS))
        edges = np.append(-0.5, np.arange(0.5, high + width, width))
    else:
        low = float(values.min())
        edges = np.linspace(low, high, _BARS + 1) if high > low else high + np.array([-0.5, 0.5])
    counts, _ = np.histogram(values, bins=edges)
    return edges, counts


def _facts(facts: Mapping[str, str]) -> str:
    return " · ".join(f"{_text(name)} <b>{_text(value)}</b>" for name, value in facts.items())


def _explained(warnings: Sequence[str]) -> dict[str, str]:
    return {name: WARNINGS.get(name, "") for name in warnings}


def _figure(
    head: str, title: str, about: str, body: Sequence[str], warnings: Mapping[str, str]
) -> str:
    """Return head, picture and warnings as one element."""
    notes = "".join(
        f'<div><span style="color:{KEPT}">&#9888;</span> <b>{_text(name)}</b>: {_text(meaning)}'
        "</div>"
        for name, meaning in warnings.items()
    )
    drawing = (
        f'<svg role="img" viewBox="0 0 {_WIDTH} {_HEIGHT}" style="width:100%;height:auto;'
        'display:block;font:11px sans-serif;color:inherit" xmlns="http://www.w3.org/2000/svg">'
        f"<title>{_text(title)}</title><desc>{_text(about)}</desc>{''.join(body)}</svg>"
    )
    shown = drawing if body else ""
    return f'<div style="max-width:40em;color:inherit"><div>{head}</div>{shown}{notes}</div>'


def _text(text: str) -> str:
    """Return the text, escaped for HTML and XML alike, and not too long."""
    short = text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
    return html.escape(_FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", short))
