"""The numbers of the recipes, filled into their pages, from the kept numbers alone."""

from __future__ import annotations


def pages() -> dict[str, str]:
    """Return the pages by their paths."""
    return {}


__all__ = ["pages"]
