"""Measure, and write ``docs/rivals.json`` and ``docs/rivals.md``: `make rivals`."""

from __future__ import annotations

import json

from experiments.data import ROOT
from experiments.results import rounded, stamp
from experiments.rivals import report
from experiments.rivals.measure import measure


def main() -> None:
    """Do what the module says."""
    docs = ROOT / "docs"
    text = json.dumps(rounded(stamp() | measure()), indent=1) + "\n"
    (docs / "rivals.json").write_text(text, encoding="utf-8")
    (docs / "rivals.md").write_text(report.page(json.loads(text)), encoding="utf-8")


if __name__ == "__main__":
    main()
