"""Texts of queries and documents: JSON lines or tabs, compressed or not, errors with a line."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path

import pytest

from paretocut.errors import DataFormatError
from paretocut.io import read_texts


def test_json_lines_and_tabs_give_the_same_texts() -> None:
    rows = [{"id": "a", "text": "one"}, {"_id": 2, "title": " Two ", "text": "three\tfour"}]
    as_json = "\n".join(map(json.dumps, rows)).encode()
    assert read_texts(io.BytesIO(as_json)) == {"a": "one", "2": "Two. three\tfour"}
    assert read_texts(io.BytesIO(b"a\tone\n\n2\tTwo. three\tfour\r\n")) == {
        "a": "one",
        "2": "Two. three\tfour",
    }


def test_only_wanted_texts_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "texts.tsv.gz"
    path.write_bytes(gzip.compress("\ufeffa\tone\nb\tzwölf\n".encode()))
    assert read_texts(path, {"b", "c"}) == {"b": "zwölf"}
    assert read_texts(path) == {"a": "one", "b": "zwölf"}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b"a one\n", "line 1: expected a JSON object, or a name, a tab and a text"),
        (b'a\tone\n{"id": 1}\n', "line 2: expected an id and a text, got id"),
        (b'{"id": [1], "text": "x"}\n', "line 1: expected an id and a text"),
        (b"{not json}\n", "line 1: expected one JSON object on the line, got"),
        (b"a\tone\na\ttwo\n", "line 2: a must have one text, got another before"),
        (b"a\t\xff\n", "line 1: expected UTF-8 text, got b'\\xff"),
    ],
)
def test_broken_lines_are_named(text: bytes, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "texts"
    path.write_bytes(text)
    with pytest.raises(DataFormatError) as caught:
        read_texts(path)
    assert problem.partition(": ")[2] in str(caught.value)
    assert caught.value.line == int(problem[5])
