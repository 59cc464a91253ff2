"""PyTerrier: a transformer that keeps, for each query, the results worth returning."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np

from paretocut._extras import require
from paretocut.adapters._base import CutOptions, Cutter, cut_each
from paretocut.errors import InvalidParameterError, InvalidScoresError

require("pyterrier", feature="paretocut.adapters.pyterrier", extra="pyterrier")

import pyterrier as pt

__all__ = ["ParetoCut"]

_NUMBERS = ("surprise", "pvalue", "evalue")


class ParetoCut(pt.Transformer):
    """Keeps, for each query, the results worth returning; ranks are made anew.

    Use it in pipelines, as in ``bm25 % 200 >> ParetoCut()``. New columns are ``surprise``,
    ``pvalue``, ``evalue`` and ``reason``. A query of which nothing is kept has no rows, which
    `pyterrier.Experiment` counts as a value of 0 for the measures it averages; `decisions` tells
    of such queries too.

    Parameters
    ----------
    **options
        Who decides and within which bounds, as in `paretocut.cut`.

    Attributes
    ----------
    decisions
        The `paretocut.Cut` of each query of the last frame, by ``qid``.
    """

    def __init__(self, **options: Unpack[CutOptions]) -> None:
        super().__init__()
        self._cutter = Cutter.of("ParetoCut", options)  # refuses bad options before results come
        self.options = options
        self.decisions: dict[str, Any] = {}

    def transform(self, inp: Any) -> Any:
        """Return the results kept.

        Parameters
        ----------
        inp
            A frame of results: ``qid``, ``docno``, ``score``.
        """
        pt.validate.result_frame(inp, extra_columns=["score"], context=self)
        taken = [name for name in (*_NUMBERS, "reason") if name in inp.columns]
        if taken and len(taken) <= len(_NUMBERS):  # all four are those of a cut before this one
            raise InvalidParameterError(
                f"ParetoCut: the frame must not have columns {', '.join(taken)}, which are new "
                "here; rename them"
            )
        try:
            scores = inp["score"].to_numpy(dtype=np.float64, na_value=np.nan)
        except (TypeError, ValueError) as error:
            raise InvalidScoresError(f"ParetoCut: score must hold numbers, got {error}") from error
        queries = inp.groupby("qid", sort=False).indices
        decisions, _ = cut_each(
            [scores[places] for places in queries.values()],
            self._cutter,
            who="ParetoCut",
            best_first=False,
        )
        self.decisions = {qid: one.cut for qid, one in zip(queries, decisions, strict=True)}
        rows: list[int] = []
        marks: list[dict[str, Any]] = []
        for places, decision in zip(queries.values(), decisions, strict=True):
            for i, values in decision.marks():
                rows.append(places[i])
                marks.append(values)
        order = np.argsort(rows, kind="stable")
        kept = inp.iloc[np.asarray(rows, dtype=np.int64)[order]].reset_index(drop=True)
        for name in _NUMBERS:
            kept[name] = np.array([marks[i][name] for i in order], dtype=np.float64)
        kept["reason"] = np.array([marks[i]["reason"] for i in order], dtype=object)
        return pt.model.add_ranks(kept)

    def __repr__(self) -> str:
        options = ", ".join(f"{name}={value!r}" for name, value in self.options.items())
        return f"ParetoCut({options})"
