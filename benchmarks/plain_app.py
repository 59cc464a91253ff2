"""The least that answers `POST /v1/cut` for one list: the yardstick of the service.

No token, no limits, no metrics, no log, no Arrow: `uvicorn benchmarks.plain_app:app`.
"""

from __future__ import annotations

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

import paretocut as pc


class Asked(msgspec.Struct):
    """The body."""

    scores: list[float]


_decode = msgspec.json.Decoder(Asked).decode
_encode = msgspec.json.Encoder().encode


async def cut(request: Request) -> Response:
    """Answer a request."""
    decision = pc.cut(_decode(await request.body()).scores)
    return Response(_encode(decision.to_dict()), media_type="application/json")


app = Starlette(routes=[Route("/v1/cut", cut, methods=["POST"])])
