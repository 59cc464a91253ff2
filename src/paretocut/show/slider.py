"""The slider: the scores of one list, a cut to drag, and what each cut means.

All numbers are worked out here, once, for every possible cut. The page only looks them up.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from paretocut.errors import require

require("anywidget", feature="paretocut.show.slider", extra="notebook")
import anywidget
import traitlets

from paretocut import metrics
from paretocut.decisions.options import DecisionOptions
from paretocut.errors import InvalidScoresError
from paretocut.lists import FloatArray, IntArray, RankedLists
from paretocut.tail import fit_tail
from paretocut.truncators.choose import Chosen

_METRICS = (metrics.precision, metrics.recall, metrics.f1)


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
    """

    _esm = Path(__file__).with_name("slider.js")

    k = traitlets.Int(0).tag(sync=True)
    chosen = traitlets.Int(0).tag(sync=True)
    reason = traitlets.Unicode("").tag(sync=True)
    scores = traitlets.List(traitlets.Float()).tag(sync=True)
    relevant = traitlets.List(traitlets.Bool(), allow_none=True, default_value=None).tag(sync=True)
    higher_is_better = traitlets.Bool(True).tag(sync=True)
    curves = traitlets.Dict().tag(sync=True)

    def __init__(self, order: IntArray, **traits: Any) -> None:
        self._order = order
        super().__init__(**traits)

    @property
    def indices(self) -> IntArray:
        """Positions of the kept results in the caller's list, best first."""
        return self._order[: self.k]

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
    order = tail.order
    curves = {
        "score": _of_last(np.asarray(scores, dtype=np.float64)[order]),
        "surprise": _of_last(tail.surprise[order]),
        "p-value": _of_last(tail.pvalues[order]),
        "E-value": _of_last(tail.evalues[order]),
    }
    relevant = None if relevance is None else _judged(relevance, tail.n, order)
    if relevant is not None:
        curves |= {metric.name: metric.curve(relevant).tolist() for metric in _METRICS}
    return CutSlider(
        order,
        k=cut.k,
        chosen=cut.k,
        reason=cut.reason,
        scores=np.asarray(scores, dtype=np.float64)[order].tolist(),
        relevant=None if relevant is None else relevant.tolist(),
        higher_is_better=higher_is_better,
        curves=curves,
    )


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
