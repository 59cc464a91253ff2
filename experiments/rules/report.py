"""The table in ``docs/rules.md``, from the kept numbers alone."""

from __future__ import annotations

from experiments.data import ROOT
from experiments.pages import between, share, table
from experiments.results import read

__all__ = ["pages"]


def pages() -> dict[str, str]:
    """Return the page by its path."""
    content = read("rules")
    head = ["rule", "noise: nothing kept", "noise: mean kept", "5 hits: kept", "20 hits: kept"]
    head += [f"{content['runs']} runs: {what}" for what in ("mean F1", "nothing kept")]
    lines = []
    for name, own in content["rows"].items():
        hits = ["{1:.0f} ({0:.0f} to {2:.0f})".format(*own[kind]) for kind in ("5 hits", "20 hits")]
        low, middle, high = map(share, own["empty"])
        cells = [share(own["noise empty"]), f"{own['noise kept']:.1f}", *hits, f"{own['f1']:.3f}"]
        lines.append([name, *cells, f"{middle} ({low} to {high})"])
    return {"docs/rules.md": between(ROOT / "docs" / "rules.md", "rules", table(head, lines))}
