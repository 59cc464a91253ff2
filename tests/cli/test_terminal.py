"""The terminal: when progress shows."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from support import importorskip

from paretocut.cli.cutting import with_progress


def test_progress_shows_on_a_terminal_only(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bars: list[Any] = []
    plain = importorskip("tqdm").tqdm
    monkeypatch.setattr("tqdm.tqdm", lambda **how: bars.append(plain(**how)) or bars[-1])
    for quiet, tty, shown in ((False, True, True), (False, False, False), (True, True, False)):
        monkeypatch.setattr(sys.stderr, "isatty", lambda tty=tty: tty)
        bars.clear()
        with open("run.txt", "rb") as file:
            assert len(list(with_progress([file], file, quiet=quiet))) > 100
            size = file.tell()
        assert [(bar.total, bar.n) for bar in bars] == [(size, size)] * shown
    assert capsys.readouterr().out == ""
