"""Measure, and write ``docs/reranking.json``, its page and its figure: `make rerank`."""

from __future__ import annotations

import json

from experiments.data import ROOT
from experiments.reranking import report
from experiments.reranking.measure import measure
from experiments.results import rounded, stamp


def main() -> None:
    """Do what the module says."""
    docs = ROOT / "docs"
    text = json.dumps(rounded(stamp() | measure()), indent=1) + "\n"
    (docs / "reranking.json").write_text(text, encoding="utf-8")
    content = json.loads(text)
    report.draw(content, docs / "images" / "reranking.svg")
    (docs / "reranking.md").write_text(report.page(content), encoding="utf-8")


if __name__ == "__main__":
    main()
