"""Processes of a cluster on this machine, as tests of its failures need them (Linux only)."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path


def parent(pid: int) -> int:
    """Return the parent of a process; 0 if there is none or the process is gone."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return 0
    return int(status.rpartition(")")[2].split()[1])


def command(pid: int) -> str:
    """Return the command line of a process; empty if it is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8").replace("\0", " ")
    except OSError:
        return ""


def ancestors(pid: int) -> list[int]:
    """Return the process and those it descends from."""
    found = []
    while pid > 0:
        found.append(pid)
        pid = parent(pid)
    return found


def descendants(pid: int) -> list[int]:
    """Return the processes that descend from this one."""
    everyone = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]
    return [other for other in everyone if pid in ancestors(other)[1:]]


def wait_for(condition: Callable[[], object], *, seconds: float = 120) -> None:
    """Return as soon as the condition holds; fail when it does not in time."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)
