"""What the measured pages share: how numbers are kept, and which commit made them."""

from __future__ import annotations

import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from experiments.data import ROOT

__all__ = ["commit", "rounded", "stamp"]

LIBRARIES = ("paretocut", "numpy", "scipy", "scikit-learn", "torch", "matplotlib")


def rounded(value: Any) -> Any:
    """Return plain data for JSON, with four digits after the point."""
    if isinstance(value, dict):
        return {str(key): rounded(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [rounded(item) for item in value]
    if isinstance(value, (float, np.floating)):
        return round(float(value), 4)
    return value


def commit() -> str:
    """Return the commit that is checked out, in short."""
    found = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True
    )
    return found.stdout.strip() or "unknown"


def stamp() -> dict[str, Any]:
    """Return what every file of results says of its making: the commit, and versions."""
    versions = {"python": platform.python_version()}
    for name in LIBRARIES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return {"commit": commit(), "versions": versions}
