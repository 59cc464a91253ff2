"""Logs of the service: one JSON object per line, without scores, ids or texts."""

from __future__ import annotations

import json
import logging
from typing import Any

LOGGER = logging.getLogger("paretocut.web")


class Lines(logging.Formatter):
    """Formats a record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line: dict[str, Any] = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S") + f".{int(record.msecs):03d}",
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
            "process": record.process,
        }
        line |= getattr(record, "noted", {})
        if record.exc_info and record.exc_info[0] is not None:
            line["error"] = record.exc_info[0].__name__  # its message may quote the request
        return json.dumps(line)


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
