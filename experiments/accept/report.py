"""The page on accepting one hit, from the kept numbers alone."""

from __future__ import annotations

__all__ = ["pages"]


def pages() -> dict[str, str]:
    """Return the page by its path."""
    return {}
