"""Small pictures for notebooks: HTML with inline SVG, made of strings alone.

Text and axes take the colour of the page, so that they read on light and on dark ones; the other
colours are those of `paretocut.show.plots`. Each element has its own style; the page's style
stays as it is.
"""

from __future__ import annotations

import html
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from paretocut.decisions.warnings import WARNINGS
from paretocut.lists import FloatArray, IntArray

__all__ = ["cut_picture", "cuts_picture", "fit_picture", "fits_picture", "law_picture", "number"]

_KEPT, _NULL = "#D55E00", "#0072B2"
_WIDTH, _HEIGHT = 560, 220
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 24, 12, 40
_POINTS = 150  # at most so many of the kept results are drawn, and of the others
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
            return [(end, number(end)) for end in ends]
        step = 10.0 ** math.floor(math.log10(spread / 3))
        step *= max(m for m in (1, 2, 5) if m == 1 or spread / (m * step) >= 3)
        step = max(step, 1.0) if self.whole else step
        digits = max(4, math.ceil(math.log10(largest / step)) + 1)
        first, last = math.ceil(self.low / step), math.floor(self.high / step)
        return [(i * step, number(i * step, digits)) for i in range(first, last + 1)]


def cut_picture(
    scores: FloatArray,
    k: int,
    n: int,
    *,
    reason: str,
    method: str,
    warnings: Sequence[str],
    higher_is_better: bool,
) -> str:
    """Return the picture of one decision: scores by rank, and where they are cut.

    Parameters
    ----------
    scores
        The scores, best first; results beyond them have score 0.
    k, n
        How many results are kept, and how many there are.
    reason, method, warnings
        Of the decision.
    higher_is_better
        False for distances, of which the smallest is drawn on top.
    """
    scores = np.append(scores, np.zeros(n - scores.size))
    x, y = _rank_axes(scores, higher_is_better)
    body: list[str] = []
    if n:
        body += _frame(x, y, _rank_name(x), _score_name(higher_is_better))
        body += [_points(x, y, scores, k, n, "currentColor", 0.55)]
        # Scores fall, so there is room for words at the bottom on the left, on top on the right.
        early = 2 * x.at(k + 0.5) < _LEFT + _WIDTH
        words = (_HEIGHT - _BOTTOM - 8, "start") if early else (_TOP + 12, "end")
        body += [_points(x, y, scores, 0, k, _KEPT, 1.0)]
        body += [_upright(x, k + 0.5, f"cut: {k}", *words)]
    title = f"Scores of {n} results by rank, cut after {k}"
    return _figure(f"<b>{_text(reason)}</b>", title, method, body, _explained(warnings))


def cuts_picture(
    k: IntArray, n: IntArray, *, method: str, warnings: Iterable[Sequence[str]]
) -> str:
    """Return the picture of many decisions: how many results they keep.

    Parameters
    ----------
    k, n
        Results kept of each list, and results it has.
    method
        Who decided.
    warnings
        Of each list.
    """
    facts = {
        "lists": str(k.size),
        "results kept": f"{int(k.sum())} of {int(n.sum())}",
        "median": number(float(np.median(k))) if k.size else "none",
        "empty": str(int(np.count_nonzero(k == 0))),
        "by": method,
    }
    title = f"How many results are kept of each of {k.size} lists"
    return _histogram(k, "results kept", title, method, facts, warnings)


def fit_picture(
    scores: FloatArray,
    evalues: FloatArray,
    *,
    window: tuple[int, int],
    threshold: float | None,
    facts: Mapping[str, str],
    warnings: Sequence[str],
    higher_is_better: bool,
) -> str:
    """Return the picture of one fit: scores by rank, the window, and what chance would bring.

    Parameters
    ----------
    scores, evalues
        Of all results, best first.
    window
        The ascending positions that the tail was fitted on.
    threshold
        Where the tail begins; None when nothing was fitted.
    facts
        Numbers of the fit, by name.
    warnings
        Of the fit.
    higher_is_better
        False for distances.
    """
    x, y = _rank_axes(scores, higher_is_better)
    body = [*_frame(x, y, _rank_name(x), _score_name(higher_is_better))]
    if threshold is not None:
        # Ascending positions [lower, upper) are these ranks from the top.
        left, right = (float(v) for v in x.at(scores.size - np.array(window[::-1]) + 0.5))
        body.append(
            f'<rect x="{left:.1f}" y="{_TOP}" width="{right - left:.1f}" '
            f'height="{_HEIGHT - _TOP - _BOTTOM}" fill="{_NULL}" opacity="0.13"/>'
        )
    if scores.size:
        body.append(_points(x, y, scores, 0, scores.size, "currentColor", 0.6))
    if threshold is not None:
        # Between two results the logarithm of the E-value is nearly a straight line.
        # Halves, as on the axes.
        known = slice(scores.size - window[0] - 1, None, -1)
        sign = 0.5 if higher_is_better else -0.5
        grid = 2 * np.linspace(threshold / 2, scores[0] / 2, 100)
        logs = np.log(np.maximum(evalues[known], 1e-300))
        chance = np.exp(np.interp(sign * grid, sign * scores[known], logs))
        inside = chance >= x.low
        body.append(_line(x.at(chance[inside]), y.at(grid[inside]), _NULL))
        body += [
            _word(_WIDTH - _RIGHT - 4, _TOP + 14 + 15 * row, words, "end")
            for row, words in enumerate(["shaded: fitted window", "line: expected by chance"])
        ]
    title = f"Scores of {scores.size} results by rank, and the tail fitted to them"
    about = f"The tail was fitted to ranks {scores.size - window[1] + 1} to " + (
        f"{scores.size - window[0]}. The line gives, for each score, how many results chance would "
        "bring at or above it."
        if threshold is not None
        else "none: nothing was fitted."
    )
    return _figure(_facts(facts), title, about, body, _explained(warnings))


def fits_picture(
    best: FloatArray, *, facts: Mapping[str, str], warnings: Iterable[Sequence[str]]
) -> str:
    """Return the picture of many fits: how surprising the best result of each list is.

    Parameters
    ----------
    best
        Surprise of the best result of each list that has any.
    facts
        Numbers of all lists, by name.
    warnings
        Of each list.
    """
    title = f"Surprise of the best result of each of {best.size} lists"
    about = "Surprise is minus the logarithm of the p-value."
    return _histogram(best, "surprise of the best result", title, about, facts, warnings)


def law_picture(
    scores: FloatArray,
    density: FloatArray,
    *,
    marks: Mapping[str, float],
    facts: Mapping[str, str],
    higher_is_better: bool,
) -> str:
    """Return the picture of a background: the law of best scores, and its limits.

    Parameters
    ----------
    scores
        Where the density is known, ascending.
    density
        Of the best score of a query without an answer.
    marks
        Scores to be marked, by what they are.
    facts
        Numbers of the background, by name.
    higher_is_better
        False for distances.
    """
    low, high = min(scores[0], scores[-1]), max(scores[0], scores[-1])
    # Room for the words: the lowest mark has them on its left, the highest on its right.
    high = max(high, low + (max(marks.values()) - low) / 0.7)
    low = min(low, high - (high - min(marks.values())) / 0.7)
    x = _Axis(float(low), float(high), _LEFT, _WIDTH - _RIGHT)
    y = _Axis(0.0, float(density.max()), _HEIGHT - _BOTTOM, _TOP)
    body = [*_frame(x, y, f"best {_score_name(higher_is_better)} of a list", "")]
    body.append(_line(x.at(scores), y.at(density), _NULL))
    for name, mark in marks.items():
        anchor = "start" if mark == max(marks.values()) else "end"
        body.append(_upright(x, mark, f"{name}: {number(mark)}", _TOP + 12, anchor))
    what = _score_name(higher_is_better)
    title = f"The best {what} of queries without an answer: its law and its limit"
    about = "; ".join(f"{name}: {number(mark)}" for name, mark in marks.items())
    return _figure(_facts(facts), title, about, body, {})


def number(value: float, digits: int = 4) -> str:
    """Return a number as a reader wants it, with so many digits."""
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
        f'<path d="M{at:.1f} {_TOP}V{_HEIGHT - _BOTTOM}" stroke="{_KEPT}" stroke-width="1.5"/>'
        + _word(at + (6 if anchor == "start" else -6), y, name, anchor, _KEPT)
    )


def _word(x: float, y: float, text: str, anchor: str, colour: str = "currentColor") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">{_text(text)}</text>'
    )


def _frame(x: _Axis, y: _Axis, x_name: str, y_name: str) -> Iterable[str]:
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
                f'height="{_HEIGHT - _BOTTOM - top:.1f}" fill="{_KEPT if empty else _NULL}">'
                f"<title>{counts[i]} lists</title></rect>"
            )
    found = Counter(name for names in warnings for name in names)
    told = {f"{name} ({count} lists)": WARNINGS.get(name, "") for name, count in found.items()}
    return _figure(_facts(facts), title, about, body, told)


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
    told = "".join(
        f'<div><span style="color:{_KEPT}">&#9888;</span> <b>{_text(name)}</b>: {_text(meaning)}'
        "</div>"
        for name, meaning in warnings.items()
    )
    drawing = (
        f'<svg role="img" viewBox="0 0 {_WIDTH} {_HEIGHT}" style="width:100%;height:auto;'
        'display:block;font:11px sans-serif;color:inherit" xmlns="http://www.w3.org/2000/svg">'
        f"<title>{_text(title)}</title><desc>{_text(about)}</desc>{''.join(body)}</svg>"
    )
    shown = drawing if body else ""
    return f'<div style="max-width:40em;color:inherit"><div>{head}</div>{shown}{told}</div>'


def _text(text: str) -> str:
    """Return the text, escaped for HTML and XML alike, and not too long."""
    short = text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
    return html.escape(_FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", short))
