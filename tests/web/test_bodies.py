"""Bodies whose numbers the kernel reads are understood as pydantic understands them."""

from __future__ import annotations

import json
import math
import string
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import importorskip

from paretocut import _kernel

for needed in ("fastapi", "prometheus_client"):
    importorskip(needed)
ValidationError = importorskip("pydantic").ValidationError
CutRequest = importorskip("paretocut.web.bodies").CutRequest
Limits = importorskip("paretocut.web.limits").Limits

ODD = [
    b'{"scores": [1, -0.5, 2e3, 1E-2, 0, -0.0, 12345678901234567890, 1e999, 5e-324]}',
    b'{"lists": [[], [1], [ 2 , 3 ] ], "explain": false}',
    b'{"lists": []}',
    b' \n{ "query" : "a \\"scores\\": [1]" , "scores" :\t[ 1 ,\r\n2 ] } ',
    b'{"queries": ["[", "}"], "lists": [[1], [2]]}',
    b'{"scores": [1], "scores": [2, 3]}',
    b'{"scores": [1], "\\u0073cores": [2, 3]}',
    b'{"\\u0073cores": [2, 3]}',
    b'{"scores": [1], "query": "\\u00e9t\\u00e9"}',
    b'{"scores": [1], "lists": [[1]]}',
    b'{"scores": null, "lists": [[1]]}',
    b'{"scores": [1], "lists": null}',
    b'{"scores": [1], "unknown": {"scores": [2]}}',
    b'{"unknown": {"scores": [2]}}',
    b'{"scores": [1], "min_k": -1}',
    b'{"scores": [NaN, Infinity]}',
    b'{"scores": [01]}',
    b'{"scores": [1.]}',
    b'{"scores": [.5]}',
    b'{"scores": [1.e5]}',
    b'{"scores": [1e]}',
    b'{"scores": [+1]}',
    b'{"scores": [-]}',
    b'{"scores": [1 2]}',
    b'{"scores": [1,]}',
    b'{"scores": [,1]}',
    b'{"scores": ["1"]}',
    b'{"scores": [true]}',
    b'{"scores": [[1]]}',
    b'{"lists": [1]}',
    b'{"lists": [[1], null]}',
    b'{"scores": [1]]}',
    b'{"scores": [1]} {}',
    b'{"scores": [1], }',
    b'{"a" "scores": [1]}',
    b'{"explain": false "scores": [1]}',
    b'["scores", [1]]',
    b'{"query": "\xff", "scores": [1]}',
    b'{"scores": [1], "query": "\n"}',
    b"",
]


def understood(asked: Any) -> Any:
    """Return what a body says, with its lists as the service sees them."""
    rest = asked.model_dump(exclude={"scores", "lists"})
    if (asked.scores is None) == (asked.lists is None):
        return rest, asked.scores, asked.lists
    lists, single = asked.ragged(Limits())
    return rest, [one.tolist() for one in lists], single


def outcome(read: Any, body: bytes) -> str:
    """Return what becomes of a body, as text: not-a-number does not equal itself."""
    try:
        return repr(understood(read(body)))
    except ValidationError as error:
        return repr([(found["type"], found["loc"], found["msg"]) for found in error.errors()])


@pytest.mark.parametrize("body", ODD, ids=range(len(ODD)))
def test_odd_bodies_and_their_pieces(body: bytes) -> None:
    for size in range(len(body) + 1):
        piece = body[:size]
        assert outcome(CutRequest.read, piece) == outcome(CutRequest.model_validate_json, piece)


@given(
    st.dictionaries(
        st.sampled_from(["scores", "lists", "query", "expect", "max_k", "scores "]),
        st.one_of(
            st.lists(st.floats() | st.integers()),
            st.lists(st.lists(st.floats(allow_nan=False) | st.integers())),
            st.text(string.printable),
            st.none(),
            st.integers(),
        ),
    ),
    st.booleans(),
)
def test_any_body(content: dict[str, Any], ascii_only: bool) -> None:
    body = json.dumps(content, ensure_ascii=ascii_only).encode()
    assert outcome(CutRequest.read, body) == outcome(CutRequest.model_validate_json, body)


def test_plain_bodies_take_the_short_way() -> None:
    """And no digit is lost on it."""
    scores = [0.1, 1 / 3, math.pi * 1e200, 5e-324, 123456789012345678, 2**53 + 1]
    body = json.dumps({"explain": False, "lists": [scores, [], [1.5]], "query": "é\n"}).encode()
    rest, values, offsets = _kernel.read_scores(body.replace(b"\\u00e9", "é".encode()))
    assert json.loads(rest) == {"explain": False, "lists": [], "query": "é\n"}
    assert values.tolist() == [*map(float, scores), 1.5]
    assert offsets.tolist() == [0, 6, 6, 7]
