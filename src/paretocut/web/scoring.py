"""``/v1/score``: surprise, p-value and E-value of each result, and the tail they come from."""

from __future__ import annotations

from typing import Any

from paretocut.decisions.options import FITTING
from paretocut.tail import fit_tails
from paretocut.web.bodies import ScoredList, ScoreRequest, Tail
from paretocut.web.service import Answer, Deadline, Route, Service, in_blocks


def score(service: Service, asked: ScoreRequest, deadline: Deadline) -> Answer:
    """Fit the tail of one list or of each list, and say how unusual each result is."""
    lists, single = asked.ragged(service.limits)
    options: dict[str, Any] = asked.given(*FITTING)
    rows: list[dict[str, Any]] = []
    for _, block in in_blocks(lists, deadline, asked.higher_is_better, "fit_tails"):
        fits = fit_tails(block, higher_is_better=asked.higher_is_better, **options)
        tails = zip(*(getattr(fits, name).tolist() for name in Tail.model_fields), strict=True)
        columns = (fits.surprise, fits.pvalues, fits.evalues, tails, fits.warnings)
        rows += (
            {
                "surprise": surprise.tolist(),
                "pvalues": pvalues.tolist(),
                "evalues": evalues.tolist(),
                "fit": dict(zip(Tail.model_fields, tail, strict=True)),
                "warnings": warnings,
            }
            for surprise, pvalues, evalues, tail, warnings in zip(*columns, strict=True)
        )
    noted = {"lists": len(lists), "results": int(lists.values.size)}
    return Answer(rows[0] if single else rows, noted)


ROUTE = Route(
    "/v1/score",
    "Surprise, p-value and E-value of each result",
    ScoreRequest,
    ScoredList | list[ScoredList],
    score,
    quick=True,
)
