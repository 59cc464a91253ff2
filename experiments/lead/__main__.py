"""Measure, and write ``docs/lead.json`` and the pages made of it: `make lead`."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from experiments.data import ROOT
from experiments.lead import answers, gap, nested, report, runs, summary, variants
from experiments.lead.cache import remembered
from experiments.lead.pretrain import elsewhere
from experiments.results import rounded, stamp


def main() -> None:
    """Do what the module says."""
    start = time.perf_counter()

    def say(what: str) -> None:
        sys.stderr.write(f"{time.perf_counter() - start:6.0f} s  {what}\n")

    made = stamp()
    groups = runs.sets()
    both = groups[runs.JUDGED] | groups[runs.MADE]
    everything = [lists for members in groups.values() for lists in members.values()]

    def stage(name: str, module: ModuleType, make: Callable[[], Any]) -> Any:
        source = Path(module.__file__ or "").read_text(encoding="utf-8")
        done = remembered(name + source, everything, make)
        say(name)
        return done

    known = elsewhere(both)
    say("other collections learned")
    values = runs.table(groups, known)
    say("tuned, told and untrained")
    found, picked = nested.measure(both, known, say)
    for run, rows in found.items():
        values[run] |= rows
    content: dict[str, Any] = {"made": made, "margin": summary.MARGIN, "nested": picked}
    content |= summary.summary(values, groups)
    say("gains")
    content["bounds"] = gap.bounds(groups[runs.JUDGED], values)
    content["curves"] = stage("curves", runs, lambda: runs.curves(groups, known))
    first = {name: groups[name] for name in (runs.JUDGED, runs.MADE)}
    content["variants"] = stage("variants", variants, lambda: variants.measure(first, known))
    content["calibration"] = stage("calibration", gap, lambda: gap.calibration(both, known))
    content["answers"] = stage("answers", answers, answers.run)
    text = json.dumps(rounded(content), indent=1, allow_nan=False) + "\n"
    (ROOT / "docs" / "lead.json").write_text(text, encoding="utf-8")
    report.write(json.loads(text))


if __name__ == "__main__":
    main()
