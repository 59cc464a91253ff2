"""Measure, and write ``docs/judge.json`` and ``docs/judge.md``: `make judge`."""

from __future__ import annotations

import json
import sys
import time

from experiments.data import ROOT
from experiments.judge import measure, report
from experiments.results import commit, rounded


def main() -> None:
    """Do what the module says."""
    start = time.perf_counter()

    def say(what: str) -> None:
        sys.stderr.write(f"{time.perf_counter() - start:6.0f} s  {what}\n")

    content = {"commit": commit(), "runs": measure.measure(say)}
    text = json.dumps(rounded(content), indent=1) + "\n"
    (ROOT / "docs" / "judge.json").write_text(text, encoding="utf-8")
    known = json.loads(text)
    report.draw(known)
    (ROOT / "docs" / "judge.md").write_text(report.page(known), encoding="utf-8")
    say("written")


if __name__ == "__main__":
    main()
