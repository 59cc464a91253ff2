"""Fixtures and settings for all tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

from support import data_dir, missing

# Examples are timed on busy machines, so no deadline; CI must give the same answer every time.
settings.register_profile("dev", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "dev")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Return the folder with the judged runs that come beside the project."""
    folder = data_dir()
    if folder is None:
        missing("no judged runs: set PARETOCUT_DATA to their folder, or put them in ../shared/data")
    return folder
