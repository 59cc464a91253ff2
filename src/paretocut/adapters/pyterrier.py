"""PyTerrier: transformers that fuse retrievers by score, and keep the results worth returning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np

from paretocut.adapters._base import CutOptions, Cutter, cut_each
from paretocut.adapters._fused import Fuser, arms_by_name
from paretocut.errors import InvalidParameterError, InvalidScoresError
from paretocut.lists import RankedLists
from paretocut.schema.extras import require

require("pyterrier", feature="paretocut.adapters.pyterrier", extra="pyterrier")

import pyterrier as pt

__all__ = ["ParetoCut", "ParetoFuse"]

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
            A frame of results: ``qid``, ``docno``, ``score``; ``query`` too for a truncator that
            was calibrated for lexical scores.
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
        texts = inp["query"].to_numpy(dtype=object) if "query" in inp.columns else None
        decisions, _ = cut_each(
            [scores[places] for places in queries.values()],
            self._cutter,
            who="ParetoCut",
            queries=None if texts is None else [texts[own[0]] for own in queries.values()],
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


class ParetoFuse(pt.Transformer):
    """Fuses the results of two or more transformers by score; ranks are made anew.

    ``bm25 + dense`` adds raw scores; this brings them to one scale first. Use it in pipelines:
    ``ParetoFuse(bm25 % 200, dense % 200) >> ParetoCut()``. New columns ``score_1``, ``rank_1`` and
    so on hold what each transformer said; ranks count from 1, and 0 means not found.

    Parameters
    ----------
    *transformers
        Two or more retrievers.
    method, weights, depth
        As in `paretocut.fuse`.
    fusion
        A fitted `paretocut.Fusion`, or the path of a saved one, instead.
    """

    def __init__(
        self,
        *transformers: Any,
        method: str | None = None,
        weights: Sequence[float] | None = None,
        depth: int | None = None,
        fusion: Any = None,
    ) -> None:
        super().__init__()
        self.transformers = list(arms_by_name(transformers, "ParetoFuse", "transformers").values())
        options = {"method": method, "weights": weights, "depth": depth, "fusion": fusion}
        self._fuser = Fuser("ParetoFuse", options)

    def transform(self, inp: Any) -> Any:
        """Return the fused results of each query.

        Parameters
        ----------
        inp
            A frame of queries, or of whatever the transformers take.
        """
        answers = [transformer(inp) for transformer in self.transformers]
        queries = list(dict.fromkeys(qid for answer in answers for qid in answer["qid"]))
        lists = [_lists(answer, queries) for answer in answers]
        fused = self._fuser.fuse_lists(lists)
        assert fused.doc_ids is not None
        assert fused.parts is not None
        columns = {
            "qid": np.asarray(queries, dtype=object)[fused.scores.rows],
            "docno": fused.doc_ids.values.astype(object),
            "score": fused.scores.values,
        }
        for name, scores, ranks in zip(
            map(str, range(1, len(lists) + 1)), fused.parts.scores, fused.parts.ranks, strict=True
        ):
            columns |= {f"score_{name}": scores.values, f"rank_{name}": ranks.values}
        pandas = require("pandas", feature="ParetoFuse", extra="pyterrier")
        frame = pt.model.add_ranks(pandas.DataFrame(columns))
        known = [name for name in inp.columns if name.startswith("query")]
        if known:
            frame = frame.merge(inp[["qid", *known]].drop_duplicates("qid"), on="qid", how="left")
        return frame

    def __repr__(self) -> str:
        return f"ParetoFuse({', '.join(map(repr, self.transformers))})"


def _lists(answer: Any, queries: Sequence[str]) -> RankedLists:
    """Return the results of each query; an empty list where there are none."""
    pt.validate.result_frame(answer, extra_columns=["score"])
    places = answer.groupby("qid", sort=False).indices
    none = np.empty(0, dtype=np.int64)
    rows = [places.get(qid, none) for qid in queries]
    scores = answer["score"].to_numpy(dtype=np.float64)
    names = answer["docno"].to_numpy(dtype=object)
    return RankedLists(
        [scores[own] for own in rows],
        query_ids=[str(i) for i in range(len(queries))],
        doc_ids=[names[own].astype(str) for own in rows],
    )
