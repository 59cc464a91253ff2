"""Logs of the service: one JSON object per line, without scores, ids or texts."""

from __future__ import annotations

import logging
import os
import sys
import time
from functools import lru_cache
from typing import Any

import msgspec

LOGGER = logging.getLogger("paretocut.web")


def note(event: str, level: int = logging.INFO, **noted: Any) -> None:
    """Log an event of the service with what is known about it.

    The line goes straight to standard error: a record of `logging` takes longer than a decision.
    """
    if LOGGER.isEnabledFor(level):
        try:
            sys.stderr.write(_line(time.time(), level, LOGGER.name, event, noted) + "\n")
        except (OSError, ValueError, AttributeError):  # nobody reads it any more
            pass


class Lines(logging.Formatter):
    """Formats a record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        noted = {}
        if record.exc_info and record.exc_info[0] is not None:
            noted["error"] = record.exc_info[0].__name__  # its message may quote the request
        return _line(record.created, record.levelno, record.name, record.getMessage(), noted)


def _line(at: float, level: int, logger: str, event: str, noted: dict[str, Any]) -> str:
    line = {
        "time": f"{_second(int(at))}.{int(at % 1 * 1000):03d}",
        "level": logging.getLevelName(level).lower(),
        **{"logger": logger, "event": event, "process": os.getpid(), **noted},
    }
    return msgspec.json.encode(line).decode()


@lru_cache(1)
def _second(at: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(at))


def configuration(level: str = "info") -> dict[str, Any]:
    """Return the configuration of `logging` for the server's processes."""
    to_lines = {"handlers": ["lines"], "level": level.upper(), "propagate": False}
    lines = {"class": "logging.StreamHandler", "formatter": "lines", "stream": "ext://sys.stderr"}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"lines": {"()": "paretocut.web.logs.Lines"}},
        "handlers": {"lines": lines},
        "loggers": {"uvicorn": to_lines, "paretocut.web": to_lines},
    }
