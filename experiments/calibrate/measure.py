"""How many results to keep, and whether to answer at all, without judgements."""

from __future__ import annotations

from typing import Any

import numpy as np

from experiments.calibrate import doubts, lengths, number, scripts, searches, small, whether
from experiments.command import say
from paretocut.decisions.options import EXPECT

__all__ = ["measure"]


def measure() -> dict[str, Any]:
    """Return the numbers of both questions, by collection."""
    bench = number.Bench()
    values = number.leave_one_out(bench)
    say("numbers estimated")
    pairs = zip(bench.systems, number.priors(bench), strict=True)
    values["judged"] = np.concatenate(
        [number.tuned(lists, known) for (_, _, lists), known in pairs]
    )
    say("tuned on judgements")
    content: dict[str, Any] = {
        "systems": len(bench.systems),
        "expect": dict(EXPECT),
        "number": {kind: bench.by_collection(part) for kind, part in values.items()},
        "whether": {},
    }
    sets = searches.question_sets()
    asked = {system: searches.ask(system, sets) for system in ("MiniLM", "BM25")}
    asked["hybrid"] = searches.fused(asked["BM25"], asked["MiniLM"])
    for system, answers in asked.items():
        content["whether"][system] = whether.measure(system, answers)
        say(f"{system} measured")
    content["lengths"] = lengths.measure(asked["BM25"])
    content["noticed"] = {s: lengths.noticed(asked[s]) for s in ("MiniLM", "BM25")}
    content["strange"] = whether.strange(asked["MiniLM"])
    content["small"] = small.measure()
    say("small indexes measured")
    content["scripts"] = scripts.measure()
    content["doubts"] = doubts.measure()
    return content
