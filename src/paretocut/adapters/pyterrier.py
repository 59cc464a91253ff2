"""PyTerrier: a transformer that keeps, for each query, the results that stand out."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np

from paretocut._extras import require
from paretocut.adapters._base import CutOptions, cut_scored
from paretocut.surprise import cut

require("pyterrier", feature="paretocut.adapters.pyterrier", extra="pyterrier")

import pyterrier as pt

__all__ = ["ParetoCut"]


class ParetoCut(pt.Transformer):
    """Keeps, for each query, the results whose score stands out; ranks are made anew.

    Use it in pipelines, as in ``bm25 % 200 >> ParetoCut(evalue=0.05)``. New columns are
    ``surprise``, ``p_value`` and ``e_value``. A query of which nothing is kept has no rows, which
    `pyterrier.Experiment` counts as a value of 0 for the measures it averages.

    Parameters
    ----------
    **options
        Options of `paretocut.cut`.
    """

    def __init__(self, **options: Unpack[CutOptions]) -> None:
        super().__init__()
        cut([], **options)  # refuses bad options before any result comes
        self.options = options

    def transform(self, inp: Any) -> Any:
        """Return the results kept.

        Parameters
        ----------
        inp
            A frame of results: ``qid``, ``docno``, ``score``.
        """
        pt.validate.result_frame(inp, extra_columns=["score"], context=self)
        rows: list[int] = []
        marks: list[dict[str, float]] = []
        scores = inp["score"].to_numpy(dtype=np.float64, na_value=np.nan)
        for places in inp.groupby("qid", sort=False).indices.values():
            decision = cut_scored(scores[places], who="ParetoCut", best_first=False, **self.options)
            for i, values in decision.marks():
                rows.append(places[i])
                marks.append(values)
        order = np.argsort(rows, kind="stable")
        kept = inp.iloc[np.asarray(rows, dtype=np.int64)[order]].reset_index(drop=True)
        for name in ("surprise", "p_value", "e_value"):
            kept[name] = np.array([marks[i][name] for i in order], dtype=np.float64)
        return pt.model.add_ranks(kept)

    def __repr__(self) -> str:
        options = ", ".join(f"{name}={value!r}" for name, value in self.options.items())
        return f"ParetoCut({options})"
