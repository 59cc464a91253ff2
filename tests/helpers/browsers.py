"""The explorer in a real browser: the process that serves it, and Chromium without a window."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from support import ROOT, importorskip, missing

SHOTS = ROOT / "build" / "explorer"
"""Where screenshots are kept, to be looked at."""


@contextmanager
def explored(
    *arguments: str | Path, python: str | Path = sys.executable, cwd: Path | None = None
) -> Iterator[str]:
    """Yield the address of ``paretocut explore`` with these arguments; then interrupt it."""
    command = [str(python), "-m", "paretocut", "explore", *map(str, arguments), "--port", "0"]
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
        cwd=cwd,
    ) as process:
        assert process.stdout is not None
        said = []
        for line in process.stdout:
            said.append(line)
            if "http://" in line:
                break
        else:
            raise AssertionError("explore did not start:\n" + "".join(said))
        try:
            yield said[-1].split()[2]
        finally:
            process.send_signal(signal.SIGINT)
            rest = process.stdout.read()
            code = process.wait(timeout=300)
        assert (code, rest) == (0, ""), f"it must end without a word:\n{rest}"


@contextmanager
def chromium() -> Iterator[Any]:
    """Yield Debian's Chromium, driven by Playwright; skip where one of them is absent."""
    playwright = importorskip("playwright.sync_api")
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        missing("Chromium is not installed: apt-get install chromium")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


def keep(page: Any, name: str) -> None:
    """Keep a picture of the whole page."""
    SHOTS.mkdir(parents=True, exist_ok=True)
    page.evaluate("scrollTo(0, 0)")  # or what sticks to the top would stand in the middle
    page.screenshot(path=SHOTS / f"{name}.png", full_page=True)


def faults(page: Any) -> list[str]:
    """Return what axe-core finds wrong with a page, each with the first element that has it."""
    axe = importorskip("axe_core_python.sync_playwright").Axe()
    # Half faded in, a text has no contrast.
    page.evaluate("Promise.allSettled(document.getAnimations().map(one => one.finished))")
    found = axe.run(page)["violations"]
    return [f"{fault['id']} ({fault['impact']}): {fault['nodes'][0]['html']}" for fault in found]
