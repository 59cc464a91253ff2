"""``/v1/score``: surprise, p-value and E-value of each result, and the tail they come from."""

from __future__ import annotations

from typing import Any

from paretocut.decisions.options import FITTING
from paretocut.tail import fit_tails
from paretocut.web.bodies import ScoreRequest, Tail, given, one_or_many, read
from paretocut.web.cutting import in_blocks
from paretocut.web.service import Asked, Service


def score(service: Service, asked: Asked) -> Any:
    """Fit the tail of one list or of each list, and say how unusual each result is."""
    wanted = read(ScoreRequest, asked.body)
    several, single = one_or_many(wanted, "scores", "lists")
    lists, up = service.limits.as_lists(several), wanted.higher_is_better
    names = Tail.__struct_fields__
    rows: list[dict[str, Any]] = []
    for _, block in in_blocks(lists, asked.deadline, up, "fit_tails"):
        fits = fit_tails(block, higher_is_better=up, **given(wanted, FITTING))
        tails = zip(*(getattr(fits, name).tolist() for name in names), strict=True)
        columns = (fits.surprise, fits.pvalues, fits.evalues, tails, fits.warnings)
        rows += (
            {
                "surprise": surprise.tolist(),
                "pvalues": pvalues.tolist(),
                "evalues": evalues.tolist(),
                "fit": dict(zip(names, tail, strict=True)),
                "warnings": warnings,
            }
            for surprise, pvalues, evalues, tail, warnings in zip(*columns, strict=True)
        )
    asked.noted |= {"lists": len(lists), "results": int(lists.values.size)}
    return rows[0] if single else rows
