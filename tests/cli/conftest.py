"""Folders to run commands in."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from samples import write_example_run


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Go to a folder with run.txt (queries with 3, 8 and 0 hits) and qrels.txt."""
    write_example_run(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def unanswered(folder: Path) -> str:
    """Return the name of a run of 40 queries without an answer."""
    rng = np.random.default_rng(5)
    lines = []
    for query in range(40):
        scores = np.sort(rng.normal(0.25, 0.06, 20_000))[:-201:-1]
        lines += [f"n{query} Q0 d{r} {r} {score} t\n" for r, score in enumerate(scores, start=1)]
    (folder / "unanswered.txt").write_text("".join(lines))
    return "unanswered.txt"
