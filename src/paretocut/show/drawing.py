"""A ranked list as a picture: described once, for every surface, and drawn as SVG in HTML.

Text and axes take the colour of the page, so they read on light and on dark ones. Each element
has its own style; that of the page stays as it is.
"""

from __future__ import annotations

import html
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from paretocut.decisions import Cut
from paretocut.decisions.warnings import WARNINGS
from paretocut.lists import FloatArray, IntArray, Ragged, RankedList
from paretocut.tail import SurpriseFit
from paretocut.tail.gpd import apply, gpd_survival

# Colours of Okabe and Ito: of results that are kept, of what chance would bring, and of relevant
# results. They stand out from white and from black.
KEPT, NULL, RELEVANT = "#D55E00", "#0072B2", "#009E73"
WIDTH, HEIGHT = 560, 220
_SIZE = f"{WIDTH} {HEIGHT}"
LEFT, RIGHT, TOP, BOTTOM = 58, 24, 12, 40
_ROOF, _FLOOR = TOP + 6, HEIGHT - BOTTOM - 6  # of dots, which need some room
BARS = 40  # of a histogram
_POINTS = 150  # the most results of one colour that are drawn
_LOG_FROM = 100  # ranks of longer lists are on a logarithmic axis, where the top has room
_LONGEST = 400  # letters of a text
_CARD = (
    "box-sizing:border-box;padding:12px 16px;border:1px solid rgb(128 128 128/35%);"
    "border-radius:12px;color:inherit;font:14px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,"
    "'Helvetica Neue',Arial,sans-serif;font-feature-settings:'tnum'"
)
# What XML cannot hold, even escaped.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


@dataclass(frozen=True)
class Picture:
    """The values of one list by rank, best first, and the marks on them."""

    values: FloatArray
    name: str = "score"
    higher_is_better: bool = True
    k: int | None = None  # results kept
    judgements: FloatArray | None = None  # 1 for relevant, 0 for others, NaN for unjudged
    levels: Mapping[str, float] = field(default_factory=dict)  # values that are marked, by label
    window: tuple[int, int] | None = None  # first and last rank that the tail was fitted to
    chance: tuple[FloatArray, FloatArray] | None = None  # values, and results expected from chance

    @property
    def hits(self) -> IntArray:
        return np.flatnonzero(False if self.judgements is None else self.judgements == 1)


def of_list(ranked: RankedList) -> Picture:
    up = ranked.higher_is_better
    name = "score" if up else "distance"
    return Picture(ranked.scores, name, up, judgements=ranked.judgements)


def of_cut(cut: Cut) -> Picture:
    own, padding = of_list(cut.ranked), np.zeros(cut.n - len(cut.ranked))
    known = None if own.judgements is None else np.append(own.judgements, np.nan * padding)
    return replace(own, values=np.append(own.values, padding), k=cut.k, judgements=known)


def of_fit(fit: SurpriseFit, judgements: FloatArray | None = None) -> Picture:
    """Return the picture of a fit: the window, the threshold, and the expectation of chance."""
    values, up = fit.scores[fit.order], fit.higher_is_better
    bare = Picture(values, "score" if up else "distance", up, judgements=judgements)
    if not fit.fitted:
        return bare
    # Ascending positions [lower, upper) are these ranks from the top.
    first, last = fit.n - fit.upper + 1, fit.n - fit.lower
    # Between two results the logarithm of the E-value is nearly a straight line. Halves, because
    # the difference of two doubles may be too large for one.
    above, half = slice(last - 1, None, -1), 0.5 if up else -0.5
    grid = 2 * np.linspace(fit.threshold / 2, values[0] / 2, 100)
    logs = np.log(np.maximum(fit.evalues[fit.order][above], 1e-300))
    chance = np.exp(np.interp(half * grid, half * values[above], logs))
    levels = {"the tail begins here": fit.threshold}
    return replace(bare, levels=levels, window=(first, last), chance=(grid, chance))


class TailHistogram(NamedTuple):
    """The scores of a list from its threshold up, counted, and the counts the tail expects."""

    edges: FloatArray
    counts: IntArray
    grid: FloatArray
    expected: FloatArray


def tail_histogram(fit: SurpriseFit, *, points: int = 400) -> TailHistogram:
    above = fit.scores[fit.order][: fit.tests]
    counts, edges = np.histogram(above, bins=min(40, max(8, fit.n // 6)))
    grid = np.linspace(fit.threshold, above[0], points)
    scaled = apply(Ragged(grid, np.array([0, grid.size])), fit.transform, who="tail").values
    survival = gpd_survival(np.abs(scaled - scaled[0]), shape=fit.shape, scale=fit.scale)
    # A numerical derivative needs no Jacobian of the transform.
    density = np.abs(np.gradient(survival, grid))
    width = abs(edges[1] - edges[0])
    return TailHistogram(edges, counts, grid, fit.fitted_on * density * width)


@dataclass(frozen=True)
class Axis:
    """A way from numbers to pixels: ``low`` is drawn at ``start``, ``high`` at ``end``."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False
    whole: bool = False

    def at(self, values: ArrayLike) -> FloatArray:
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


def along(low: float, high: float) -> Axis:
    return Axis(low, high, LEFT, WIDTH - RIGHT)


def upward(high: float) -> Axis:
    return Axis(0.0, high, HEIGHT - BOTTOM, TOP)


def by_rank(*pictures: Picture, ends: tuple[float, float] | None = None) -> list[str]:
    """Return values by rank: one list as dots with all its marks, several as lines.

    ``ends`` are the best and the worst value of the axis; by default those of the lists.
    """
    pictures = tuple(one for one in pictures if one.values.size)
    if not pictures:
        return []
    n = max(one.values.size for one in pictures)
    if ends is None:
        best, worst = (max, min) if pictures[0].higher_is_better else (min, max)
        tops, floors = ([float(one.values[at]) for one in pictures] for at in (0, -1))
        ends = best(tops), worst(floors)
    x = Axis(0.5, n + 0.5, LEFT, WIDTH - RIGHT, log=n > _LOG_FROM, whole=True)
    (low, start), (high, end) = sorted(zip(ends, (_ROOF, _FLOOR), strict=True))
    y = Axis(low, high, start, end)  # the best is on top, a distance too
    body = [*frame(x, y, "rank (logarithmic)" if x.log else "rank", pictures[0].name)]
    hits = [one.hits[_thin(x, 0, one.hits.size, _POINTS // len(pictures))] for one in pictures]
    names = {"relevant": RELEVANT} if any(at.size for at in hits) else {}
    if pictures[0].window is not None:
        names |= {"line: expected by chance, shaded: fitted window": NULL}
    body.append(key(names))
    for one, at in zip(pictures, hits, strict=True):
        body.append(dots(x.at(at + 1.0), y.at(one.values[at]), RELEVANT, 10))
    if len(pictures) == 1:
        return [*body, *_marks(x, y, pictures[0])]
    for one in pictures:
        at = _thin(x, 0, one.values.size)
        body.append(line(x.at(at + 1.0), y.at(one.values[at]), NULL, 0.7))
    return body


def _marks(x: Axis, y: Axis, of: Picture) -> Iterator[str]:
    if of.window is not None:
        left, right = x.at([of.window[0] - 0.5, of.window[1] + 0.5])
        yield (
            f'<rect x="{left:.1f}" y="{TOP}" width="{right - left:.1f}" '
            f'height="{HEIGHT - TOP - BOTTOM}" fill="{NULL}" opacity="0.13"/>'
        )
    for name, level in of.levels.items():
        height = float(y.at(level))
        dashes = f'stroke="{NULL}" stroke-dasharray="5 4"'
        yield f'<path d="M{LEFT} {height:.1f}H{WIDTH - RIGHT}" {dashes}/>'
        yield word(LEFT + 4, height - 4, name, "start")
    if of.chance is not None:
        values, ranks = of.chance
        inside = ranks >= x.low
        yield line(x.at(ranks[inside]), y.at(values[inside]), NULL)
    k = of.k or 0
    rest, kept = _thin(x, k, of.values.size), _thin(x, 0, k)
    yield dots(x.at(rest + 1.0), y.at(of.values[rest]), "currentColor", opacity=0.55)
    yield dots(x.at(kept + 1.0), y.at(of.values[kept]), KEPT)
    if of.k is not None:
        # Scores fall: words have room at the bottom on the left, and on top on the right.
        early = 2 * x.at(k + 0.5) < LEFT + WIDTH
        place = (HEIGHT - BOTTOM - 8, "start") if early else (TOP + 12, "end")
        yield upright(x, k + 0.5, f"cut: {k}", *place)


def _thin(x: Axis, first: int, last: int, most: int = _POINTS) -> IntArray:
    """Return positions from ``first`` to before ``last``: all, or some evenly along the axis."""
    if last - first <= most:
        return np.arange(first, last)
    space = np.geomspace if x.log else np.linspace
    ranks: IntArray = np.unique(np.rint(space(first + 1, last, most)).astype(np.int64))
    return ranks - 1


def dots(x: FloatArray, y: FloatArray, colour: str, width: float = 5, opacity: float = 1.0) -> str:
    """Return dots: lines of no length with round ends, the shortest way to write many."""
    moves = "".join(f"M{a:.1f} {b:.1f}h0" for a, b in zip(x, y, strict=True))
    if not moves:
        return ""
    return (
        f'<path d="{moves}" stroke="{colour}" stroke-opacity="{opacity}" stroke-width="{width}" '
        'stroke-linecap="round" fill="none"/>'
    )


def line(x: FloatArray, y: FloatArray, colour: str, opacity: float = 1.0) -> str:
    path = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
    return (
        f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-opacity="{opacity}" '
        'stroke-width="2"/>'
    )


def upright(x: Axis, value: float, name: str, y: float, anchor: str) -> str:
    at = float(x.at(value))
    return (
        f'<path d="M{at:.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="{KEPT}" stroke-width="1.5"/>'
        + word(at + (6 if anchor == "start" else -6), y, name, anchor, KEPT)
    )


def word(x: float, y: float, words: str, anchor: str, colour: str = "currentColor") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">{text(words)}</text>'
    )


def frame(x: Axis, y: Axis, x_name: str, y_name: str) -> Iterator[str]:
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    yield (
        f'<path d="M{LEFT} {TOP}V{bottom}H{right}" stroke="currentColor" stroke-opacity="0.5" '
        'fill="none"/>'
    )
    for tick, label in x.ticks():
        yield word(float(x.at(tick)), bottom + 15, label, "middle")
    yield word((LEFT + right) / 2, HEIGHT - 7, x_name, "middle")
    if not y_name:
        return
    for tick, label in y.ticks():
        at = float(y.at(tick))
        yield f'<path d="M{LEFT} {at:.1f}H{right}" stroke="currentColor" stroke-opacity="0.12"/>'
        yield word(LEFT - 6, at + 4, label, "end")
    middle = (TOP + bottom) / 2
    yield f'<g transform="rotate(-90 12 {middle})">{word(12, middle, y_name, "middle")}</g>'


def bars(
    x: Axis,
    y: Axis,
    edges: FloatArray,
    counts: IntArray,
    colours: Sequence[str],
    of: str,
    opacity: float = 1.0,
) -> Iterator[str]:
    """Yield the bars of a histogram, which say how many there are; no bar where there are none."""
    for i in np.flatnonzero(counts).tolist():
        (left, right), top = x.at(edges[i : i + 2]), float(y.at(counts[i]))
        yield (
            f'<rect x="{left:.1f}" y="{top:.1f}" width="{max(right - left - 1, 0.5):.1f}" '
            f'height="{HEIGHT - BOTTOM - top:.1f}" fill="{colours[i]}" fill-opacity="{opacity}">'
            f"<title>{counts[i]} {of}</title></rect>"
        )


def number(value: float, digits: int = 4) -> str:
    return f"{value:.{digits}g}"


def facts(known: Mapping[str, str]) -> str:
    return " · ".join(f"{text(name)} <b>{text(value)}</b>" for name, value in known.items())


def key(names: Mapping[str, str]) -> str:
    marks = (f'<tspan dx="8" fill="{c}">&#9679;</tspan> {text(name)}' for name, c in names.items())
    place = f'x="{WIDTH - RIGHT}" y="{TOP - 3}" text-anchor="end" fill="currentColor"'
    return f"<text {place}>{''.join(marks)}</text>"


def figure(
    head: str,
    title: str,
    about: str,
    body: Sequence[str],
    warnings: Iterable[str] = (),
    of: str = "",
) -> str:
    """Return head, picture and warnings as one element; warnings ``of`` lists are counted."""
    notes = "".join(
        f'<div><span style="color:{KEPT}">&#9888;</span> '
        f"<b>{name}{of and f' ({count} {of})'}</b>: {text(WARNINGS.get(name, ''))}</div>"
        for name, count in Counter(warnings).items()
    )
    return card(f"<div>{head}</div>{svg(title, about, body) if body else ''}{notes}")


def svg(title: str, about: str, body: Sequence[str], size: str = _SIZE, width: str = "100%") -> str:
    return (
        f'<svg role="img" viewBox="0 0 {size}" width="{width}" font-size="11" '
        'xmlns="http://www.w3.org/2000/svg">'
        f"<title>{text(title)}</title><desc>{text(about)}</desc>{''.join(body)}</svg>"
    )


def card(content: str, width: str = "max-width:40em") -> str:
    return f'<div style="{width};{_CARD}">{content}</div>'


def text(words: str) -> str:
    """Return the text, escaped for HTML and XML alike, and not too long."""
    short = words if len(words) <= _LONGEST else words[: _LONGEST - 3] + "..."
    return html.escape(_FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", short))
