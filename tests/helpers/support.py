"""What several tests need: where things are, and skips with a clear reason.

Where everything must be there, as in CI, conftest.py turns each skip into a failure.
"""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Any, NoReturn

import pytest

ROOT = Path(__file__).resolve().parents[2]


def missing(reason: str) -> NoReturn:
    """Skip the test, or the file it is called in, for want of something."""
    pytest.skip(reason, allow_module_level=True)


def importorskip(module: str) -> Any:
    """Return the imported module; when it is not installed, the test is skipped."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != module.partition(".")[0]:
            raise
        missing(f"{module} is not installed")


def data_dir() -> Path | None:
    """Return the folder of judged runs: $PARETOCUT_DATA, then ../shared/data; None without."""
    named = os.environ.get("PARETOCUT_DATA")
    folder = Path(named) if named else ROOT.parent / "shared" / "data"
    return folder if folder.is_dir() else None
