"""Print the OpenAPI description: ``python -m paretocut.web > docs/openapi.json``."""

from __future__ import annotations

import json
import sys

from paretocut.web.openapi import description


def text() -> str:
    """Return the description of a service that asks for a token, as JSON."""
    return json.dumps(description(secured=True), indent=1) + "\n"


if __name__ == "__main__":
    sys.stdout.write(text())
