"""The terminal: when progress shows, and what is drawn."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import importorskip

from paretocut.cli.cutting import with_progress
from paretocut.cli.trying import draw_list, signs_of


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


def test_drawings_use_ascii_where_the_terminal_has_no_more() -> None:
    surprise, hits = np.array([8.0, 4.0, 0.1, 0.0]), [0, 2]
    for encoding in ("ascii", None, "no-such-encoding"):
        drawn = "\n".join(draw_list(surprise, 2, hits, 8.0, signs_of(encoding)))
        assert drawn.isascii()
    lines = list(draw_list(surprise, 2, hits, 8.0, signs_of("utf-8")))
    assert lines[-1] == "      ●·│●·"
    assert [line[6] for line in lines[:5]] == ["█"] * 5
    assert [line[7] for line in lines[:5]] == [" ", " ", "▄", "█", "█"]
    assert all(line[8] == "│" for line in lines)
