"""Measure, and write ``docs/calibrate.json`` and ``docs/calibrate.md``: `make calibrate`."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np

from experiments.calibrate import number, report, searches, whether
from experiments.data import ROOT
from experiments.results import rounded, stamp


def main() -> None:
    """Do what the module says."""
    start = time.perf_counter()

    def say(what: str) -> None:
        sys.stderr.write(f"{time.perf_counter() - start:6.0f} s  {what}\n")

    bench = number.Bench()
    values = number.leave_one_out(bench)
    say("numbers estimated")
    values["judged"] = np.concatenate([number.tuned(lists) for _, _, lists in bench.systems])
    say("tuned on judgements")
    content: dict[str, Any] = {
        **stamp(),
        "systems": len(bench.systems),
        "number": {kind: bench.by_collection(part) for kind, part in values.items()},
        "whether": {},
    }
    sets = searches.question_sets()
    for system in ("MiniLM", "BM25"):
        content["whether"][system] = whether.measure(system, searches.ask(system, sets, say))
        say(f"{system} measured")
    text = json.dumps(rounded(content), indent=1) + "\n"
    (ROOT / "docs" / "calibrate.json").write_text(text, encoding="utf-8")
    known = json.loads(text)
    report.draw(known)
    page = report.page(known)
    (ROOT / "docs" / "calibrate.md").write_text(page, encoding="utf-8")
    sys.stdout.write(page)


if __name__ == "__main__":
    main()
