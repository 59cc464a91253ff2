"""Logs of the service: one JSON object per line, without scores, ids or texts."""

from __future__ import annotations

import logging
import time
from functools import lru_cache
from typing import Any

import msgspec

LOGGER = logging.getLogger("paretocut.web")


def note(event: str, level: int = logging.INFO, **noted: Any) -> None:
    """Log an event with what is known about it, without the search for the line that logs it."""
    if LOGGER.isEnabledFor(level):
        more = {"noted": noted}
        LOGGER.handle(LOGGER.makeRecord(LOGGER.name, level, "", 0, event, (), None, extra=more))


class Lines(logging.Formatter):
    """Formats a record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line: dict[str, Any] = {
            "time": f"{_second(int(record.created))}.{int(record.msecs):03d}",
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
            "process": record.process,
        }
        line |= getattr(record, "noted", {})
        if record.exc_info and record.exc_info[0] is not None:
            line["error"] = record.exc_info[0].__name__  # its message may quote the request
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
