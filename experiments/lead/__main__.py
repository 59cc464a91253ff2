"""Measure, and write ``docs/lead.json`` and ``docs/lead.md``: `make lead`."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from experiments.data import ROOT
from experiments.lead import answers, report, runs, summary
from experiments.results import rounded


def main() -> None:
    """Do what the module says."""
    start = time.perf_counter()

    def say(what: str) -> None:
        sys.stderr.write(f"{time.perf_counter() - start:6.0f} s  {what}\n")

    lists = runs.all_lists()
    known = runs.elsewhere(lists)
    say("other collections learned")
    values = runs.table(lists, known)
    say("tuned and untrained")
    content: dict[str, Any] = summary.summary(values, lists)
    content["untrained"] = summary.untrained(values, lists)
    content["check"] = runs.check(known)
    say("lists of no choice")
    content["bounds"] = summary.bounds(runs.bounds(lists), values)
    content["curves"] = runs.curves(lists, known)
    say("learning curves")
    content |= summary.variants(runs.votes(lists, known), runs.probabilities(lists, known), lists)
    content["calibration"] = runs.calibration(lists, known)
    say("variants")
    content["answers"] = answers.run()
    say("answers")
    text = json.dumps(rounded(content), indent=1) + "\n"
    (ROOT / "docs" / "lead.json").write_text(text, encoding="utf-8")
    page = report.page(json.loads(text))
    (ROOT / "docs" / "lead.md").write_text(page, encoding="utf-8")
    sys.stdout.write(page)


if __name__ == "__main__":
    main()
