"""What tests need of the machine: a skip elsewhere, a failure where everything must be there."""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Any, NoReturn

import pytest

ROOT = Path(__file__).resolve().parent.parent
REQUIRE_ALL = os.environ.get("PARETOCUT_REQUIRE_ALL", "") not in ("", "0")


def missing(reason: str) -> NoReturn:
    """Skip the test, or fail it when PARETOCUT_REQUIRE_ALL=1: CI must not skip unseen."""
    if REQUIRE_ALL:
        pytest.fail(f"{reason} (and PARETOCUT_REQUIRE_ALL is set)", pytrace=False)
    pytest.skip(reason, allow_module_level=True)


def importorskip(module: str) -> Any:
    """Return the imported module; when it is not installed, the test is `missing` it."""
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
