"""PyTerrier: transformers that fuse retrievers by score, and keep the results worth returning."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np

from paretocut.adapters.keeping import Keeping
from paretocut.answers import Answer
from paretocut.decisions.options import DecisionOptions
from paretocut.errors import InvalidParameterError, InvalidScoresError, require
from paretocut.fusion.fitted import ChosenFusion, FusionOptions
from paretocut.fusion.joining import arms_by_name

require("pyterrier", feature="paretocut.adapters.pyterrier", extra="pyterrier")

import pyterrier as pt

_NEW = {"surprise": np.float64, "pvalue": np.float64, "evalue": np.float64, "reason": object}


class ParetoCut(pt.Transformer):
    """Keeps, for each query, the results worth returning, and renumbers the ranks.

    Use it in pipelines, as in ``bm25 % 200 >> ParetoCut()``. The new column ``reason`` explains
    each decision; a rule on tails adds ``surprise``, ``pvalue`` and ``evalue``. A query with
    nothing kept has no rows; `decisions` has it too.

    Parameters
    ----------
    **options
        Who decides and within which bounds, as in `paretocut.cut`.

    Attributes
    ----------
    decisions
        The `paretocut.Cut` of each query of the last frame, by ``qid``.
    """

    def __init__(self, **options: Unpack[DecisionOptions]) -> None:
        super().__init__()
        self._keeping = Keeping.of("ParetoCut", options)  # refuses bad options before results come
        self.options = options
        self.decisions: dict[str, Any] = {}

    def transform(self, inp: Any) -> Any:
        """Return the results kept; only a truncator calibrated for BM25 needs ``query``."""
        pt.validate.result_frame(inp, extra_columns=["score"], context=self)
        taken = [name for name in _NEW if name in inp.columns]
        before = "reason" in taken and inp["reason"].astype(str).str.startswith("kept ").all()
        if taken and not before:  # they are not those of a cut before this one
            raise InvalidParameterError(
                f"ParetoCut: the frame must not have columns {', '.join(taken)}, which are new "
                "here; rename them"
            )
        inp = inp.drop(columns=taken)
        try:
            scores = inp["score"].to_numpy(dtype=np.float64, na_value=np.nan)
        except (TypeError, ValueError) as error:
            raise InvalidScoresError(f"ParetoCut: score must hold numbers, got {error}") from error
        queries = inp.groupby("qid", sort=False).indices
        texts = inp["query"].to_numpy(dtype=object) if "query" in inp.columns else None
        decisions, _ = self._keeping.decide(
            Answer([scores[places] for places in queries.values()], single=False),
            higher_is_better=True,
            query=None if texts is None else [texts[own[0]] for own in queries.values()],
        )
        self.decisions = {qid: one.cut for qid, one in zip(queries, decisions, strict=True)}
        marks = {
            places[i]: mark
            for places, decision in zip(queries.values(), decisions, strict=True)
            for i, mark in decision.marks()
        }
        rows = sorted(marks)
        kept = inp.iloc[rows].reset_index(drop=True)
        told = {name for decision in decisions if decision.cut.has_tails for name in _NEW}
        for name, kind in _NEW.items():
            if name == "reason" or name in told:
                kept[name] = np.array([marks[row][name] for row in rows], dtype=kind)
        return pt.model.add_ranks(kept)

    def __repr__(self) -> str:
        options = ", ".join(f"{name}={value!r}" for name, value in self.options.items())
        return f"ParetoCut({options})"


class ParetoFuse(pt.Transformer):
    """Fuses the results of two or more transformers by score, and renumbers the ranks.

    ``bm25 + dense`` adds raw scores; this puts them on one scale first. Use it in pipelines:
    ``ParetoFuse(bm25 % 200, dense % 200) >> ParetoCut()``. New columns ``score_1``, ``rank_1`` and
    so on hold score and rank from each transformer; ranks count from 1, and 0 means not found.

    Parameters
    ----------
    *transformers
        Two or more retrievers.
    **options
        The options of `paretocut.fuse`, or ``fusion``: a fitted `paretocut.fusion.Fusion` or its
        path.
    """

    def __init__(self, *transformers: Any, **options: Unpack[FusionOptions]) -> None:
        super().__init__()
        self.transformers = list(arms_by_name(transformers, "ParetoFuse", "transformers").values())
        self._fusion = ChosenFusion.of("ParetoFuse", options)

    def transform(self, inp: Any) -> Any:
        """Return the fused results of each query, from a frame that the transformers take."""
        answers = [transformer(inp) for transformer in self.transformers]
        for answer in answers:
            pt.validate.result_frame(answer, extra_columns=["score"])
        frame = self._fusion.fuse(answers, query="qid", id="docno", score="score")
        frame = pt.model.add_ranks(frame.drop(columns="rank"))
        known = [name for name in inp.columns if name.startswith("query")]
        if known:
            queries = inp[["qid", *known]].drop_duplicates("qid").astype({"qid": str})
            frame = frame.merge(queries, on="qid", how="left")
        return frame

    def __repr__(self) -> str:
        return f"ParetoFuse({', '.join(map(repr, self.transformers))})"
