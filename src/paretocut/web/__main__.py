"""Print the OpenAPI description: ``python -m paretocut.web > docs/openapi.json``."""

from __future__ import annotations

import json
import sys

from paretocut.web.app import create_app


def description() -> str:
    """Return the description of a service that asks for a token, as JSON."""
    return json.dumps(create_app(token="any").app.openapi(), indent=1) + "\n"


if __name__ == "__main__":
    sys.stdout.write(description())
