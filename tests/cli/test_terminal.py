"""The terminal: when progress shows, and what is drawn."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
import pytest
from support import importorskip

from paretocut.cli.terminal import draw_list, progress, symbols, waiting
from paretocut.show.picture import Picture


def test_progress_shows_on_a_terminal_only(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    importorskip("tqdm")
    for quiet, tty, shown in ((False, True, True), (False, False, False), (True, True, False)):
        monkeypatch.setattr(sys.stderr, "isatty", lambda tty=tty: tty)
        with progress(10, quiet=quiet) as move_on:
            bar = getattr(move_on, "__self__", None)
            assert hasattr(bar, "set_description") == shown
    assert capsys.readouterr().out == ""


def test_drawings_use_ascii_where_the_terminal_has_no_more() -> None:
    surprise, judged = np.array([8.0, 4.0, 0.1, 0.0]), np.array([1.0, 0.0, 1.0, np.nan])
    picture = Picture(surprise, "surprise", k=2, judgements=judged)
    for encoding in ("ascii", None, "no-such-encoding"):
        drawn = "\n".join(draw_list(picture, 8.0, symbols(encoding)))
        assert drawn.isascii()
    lines = list(draw_list(picture, 8.0, symbols("utf-8")))
    assert lines[-1] == "      ●·│●·"
    assert [line[6] for line in lines[:5]] == ["█"] * 5
    assert [line[7] for line in lines[:5]] == [" ", " ", "▄", "█", "█"]
    assert all(line[8] == "│" for line in lines)


def test_waiting_is_shown_on_a_terminal_and_wiped_away(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with waiting("learning", quiet=False):
        time.sleep(1.2)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with waiting("learning", quiet=False):
        time.sleep(1.2)
    assert capsys.readouterr().err == "\rlearning ... 1 s \r\033[K"
