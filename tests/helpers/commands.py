"""The command line in tests."""

from __future__ import annotations

import json
import sys
from typing import Any

COMMAND = [sys.executable, "-m", "paretocut"]


def json_lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]
