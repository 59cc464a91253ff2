"""How many results to keep, and whether to answer at all, without judgements."""

from __future__ import annotations

from typing import Any

import numpy as np

from experiments.calibrate import number, searches, whether
from experiments.command import say
from paretocut.decisions.options import EXPECT

__all__ = ["measure"]


def measure() -> dict[str, Any]:
    """Return the numbers of both questions, by collection."""
    bench = number.Bench()
    values = number.leave_one_out(bench)
    say("numbers estimated")
    values["judged"] = np.concatenate([number.tuned(lists) for _, _, lists in bench.systems])
    say("tuned on judgements")
    content: dict[str, Any] = {
        "systems": len(bench.systems),
        "expect": dict(EXPECT),
        "number": {kind: bench.by_collection(part) for kind, part in values.items()},
        "whether": {},
    }
    sets = searches.question_sets()
    for system in ("MiniLM", "BM25"):
        content["whether"][system] = whether.measure(system, searches.ask(system, sets))
        say(f"{system} measured")
    return content
