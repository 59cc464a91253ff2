"""The slider: the scores of one list, a cut to drag, and what each cut means.

The picture is drawn here, and all numbers are worked out here, once, for every possible cut. The
page looks them up and moves the cut.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Unpack
from uuid import uuid4

import numpy as np
from numpy.typing import ArrayLike

from paretocut.errors import require

require("anywidget", feature="paretocut.show.slider", extra="notebook")
import anywidget
import traitlets

from paretocut import metrics
from paretocut.decisions.options import DecisionOptions
from paretocut.errors import InvalidScoresError
from paretocut.lists import BoolArray, FloatArray, IntArray, RankedLists
from paretocut.show.drawing import (
    KEPT,
    RELEVANT,
    Axis,
    cut_line,
    explained,
    figure,
    key,
    rank_axes,
    ranked_frame,
    text,
    thin,
)
from paretocut.tail import fit_tail
from paretocut.truncators.choose import Chosen

_METRICS = (metrics.precision, metrics.recall, metrics.f1)
_COLOURS = {"kept": KEPT, "ring: relevant": RELEVANT}


class CutSlider(anywidget.AnyWidget):
    """A cut that can be dragged over the scores of one list; made by `slider`.

    Attributes
    ----------
    k
        Number of results kept. Set it, or observe it: ``widget.observe(act, "k")``.
    chosen
        Number of results that the truncator keeps, and where the slider starts.
    reason
        Why the truncator keeps that many.
    curves
        By name, one number for every cut ``0..n``; None where it has no meaning.
    picture
        The list with the cut of the truncator, as HTML.
    """

    _esm = Path(__file__).with_name("slider.js")

    k = traitlets.Int(0).tag(sync=True)
    chosen = traitlets.Int(0).tag(sync=True)
    curves = traitlets.Dict().tag(sync=True)
    name = traitlets.Unicode().tag(sync=True)
    picture = traitlets.Unicode().tag(sync=True)
    places = traitlets.List(traitlets.Float()).tag(sync=True)

    def __init__(self, order: IntArray, reason: str, **traits: Any) -> None:
        self._order, self.reason = order, reason
        super().__init__(name=uuid4().hex, **traits)

    @property
    def indices(self) -> IntArray:
        """Positions of the kept results in the caller's list, best first."""
        return self._order[: self.k]

    def _ipython_display_(self) -> None:
        # A page without widgets, or without a network to fetch them from, shows the still picture;
        # where the widget runs, it hides that.
        from IPython.display import display

        still = f'<div data-still="{self.name}">{self.picture}</div>'
        display({"text/html": still, "text/plain": self.reason}, raw=True)
        data, metadata = self._repr_mimebundle_()
        display(data, metadata=metadata, raw=True)

    @traitlets.validate("k")
    def _within_the_list(self, proposal: Any) -> int:
        return max(0, min(int(proposal["value"]), len(self._order)))


def slider(
    scores: ArrayLike,
    relevance: ArrayLike | None = None,
    *,
    higher_is_better: bool = True,
    **options: Unpack[DecisionOptions],
) -> CutSlider:
    """Return a widget with the scores of one list and a cut that can be dragged.

    It shows the surprise, p-value and E-value of the last result kept and, where there are
    judgements, precision, recall and F1 of the cut.

    Parameters
    ----------
    scores
        Scores of one list, in any order.
    relevance
        Judgements of the results, in the same order; relevant means above 0.
    higher_is_better
        False for distances.
    **options
        Who decides where the cut starts; as in `paretocut.cut`.

    Examples
    --------
    >>> widget = slider([0.71, 0.68, 0.41, 0.40, 0.38, 0.37], [1, 1, 0, 1, 0, 0])
    >>> widget.k, round(widget.curves["f1"][2], 2)
    (2, 0.8)
    """
    cut = Chosen.of("slider", options).cut(scores, higher_is_better=higher_is_better)
    tail = fit_tail(scores, higher_is_better=higher_is_better)
    order, n = tail.order, tail.n
    ranked = np.asarray(scores, dtype=np.float64)[order]
    curves = {
        "score": _of_last(ranked),
        "surprise": _of_last(tail.surprise[order]),
        "p-value": _of_last(tail.pvalues[order]),
        "E-value": _of_last(tail.evalues[order]),
    }
    relevant = None if relevance is None else _judged(relevance, n, order)
    if relevant is not None:
        curves |= {metric.name: metric.curve(relevant).tolist() for metric in _METRICS}
    x, y = rank_axes(n, ranked, higher_is_better)
    body = [*ranked_frame(x, y, higher_is_better), *_results(x, y, ranked, relevant, cut.k)]
    head = f"<b>{text(cut.reason)}</b>" + ("" if relevant is None else key(_COLOURS))
    title = f"Scores of {n} results by rank, cut after {cut.k}"
    picture = figure(head, title, cut.method, body if n else [], explained(cut.warnings))
    places = x.at(np.arange(n + 1) + 0.5).tolist()
    return CutSlider(
        order, cut.reason, k=cut.k, chosen=cut.k, curves=curves, picture=picture, places=places
    )


def _results(
    x: Axis, y: Axis, scores: FloatArray, relevant: BoolArray | None, k: int
) -> Iterator[str]:
    """Yield a dot for each result, with a ring if it is relevant, and the cut."""
    good = np.zeros(scores.size, dtype=bool) if relevant is None else relevant
    hits = np.flatnonzero(good)
    at = np.union1d(thin(x, 0, scores.size), hits[thin(x, 0, hits.size)])
    pixels = zip(at.tolist(), x.at(at + 1.0), y.at(scores[at]), strict=True)
    for i, across, down in pixels:
        fill = f'fill="{KEPT}"' if i < k else 'fill="currentColor" fill-opacity="0.55"'
        ring = f' stroke="{RELEVANT}" stroke-width="1.6"' if good[i] else ""
        where = f'data-rank="{i + 1}" cx="{across:.1f}" cy="{down:.1f}" r="3"'
        yield f"<circle {where} {fill}{ring}/>"
    yield f'<g data-cut="{k}">{cut_line(x, k)}</g>'


def _of_last(values: FloatArray) -> list[float | None]:
    """Return the value of the last result kept, for every cut; nothing kept has none."""
    return [None, *values.tolist()]


def _judged(relevance: ArrayLike, n: int, order: IntArray) -> Any:
    """Return which results are relevant, best first."""
    grades = np.asarray(relevance)
    if grades.shape != (n,):
        raise InvalidScoresError(
            f"slider: relevance must have one value for each of the {n} scores, "
            f"got shape {grades.shape}"
        )
    lists = RankedLists([np.arange(n, 0, -1, dtype=np.float64)], relevance=[grades[order]])
    return lists.relevant[0]
