"""An id is what the user gave, exactly, in lists, in files, and where documents are matched."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import importorskip

import paretocut as pc
from paretocut.errors import InvalidParameterError, InvalidScoresError
from paretocut.io import Qrels, read_lists, with_qrels, write_lists
from paretocut.lists import Ragged, RankedLists

TEXT = st.text(st.characters(), max_size=5)
WHOLE = st.integers() | st.floats(-1e300, 1e300).map(round).map(float)
IDS = st.lists(
    TEXT
    | WHOLE
    | st.sampled_from(["a", "a\0", "a\0\0", "\0", "", "a b", "\ud800", "\udbdb\ude2b", 2**63, -1]),
    min_size=1,
    max_size=6,
)


def text(one: Any) -> str:
    return one if isinstance(one, str) else str(int(one))


def lists_of(ids: list[Any], **more: Any) -> RankedLists:
    return RankedLists([np.arange(len(ids), 0, -1.0)], doc_ids=[ids], **more)


@given(st.lists(IDS, min_size=1, max_size=4))
def test_ids_are_what_was_given(ids: list[list[Any]]) -> None:
    scores = [np.arange(len(own), 0, -1.0) for own in ids]
    names = [own[0] for own in ids]
    lists = RankedLists(scores, doc_ids=ids, query_ids=names)
    assert [own.tolist() for own in lists.doc_ids or ()] == [[*map(text, own)] for own in ids]
    assert lists.query_ids.tolist() == [text(one) for one in names]
    assert lists[::-1].query_ids.tolist() == [text(one) for one in names[::-1]]
    assert RankedLists.concat([lists, lists])[0].doc_ids.tolist() == [*map(text, ids[0])]


@pytest.mark.parametrize("dtype", ["u8", "i8", "i4", "f8", "f4", "S2", "U2", "O"])
def test_ids_are_taken_from_arrays_of_any_type(dtype: str) -> None:
    found = lists_of(np.array([7, 12, 30]).astype(dtype)).doc_ids  # type: ignore[arg-type]
    assert found is not None
    assert found.values.tolist() == ["7", "12", "30"]


def test_large_unsigned_integers_beside_small_ones_stay_apart() -> None:
    # Both became 1.3835058055282164e+19, and 7 became 7.0.
    ids = [[13835058055282163713, 13835058055282163714], [7]]
    lists = RankedLists([[0.9, 0.8], [0.5]], doc_ids=ids)
    assert lists.doc_ids is not None
    assert lists.doc_ids.values.tolist() == ["13835058055282163713", "13835058055282163714", "7"]


@pytest.mark.parametrize(
    ("odd", "shown"),
    [
        (1.5, "1.5"),
        (float("nan"), "nan"),
        (float("inf"), "inf"),
        (None, "None"),
        (True, "True"),
        (datetime.date(2026, 1, 1), "date"),
        (["a"], "list"),
    ],
)
def test_what_is_no_id_is_refused_by_name(odd: Any, shown: str) -> None:
    for name, given_ids in (("doc_ids", {"doc_ids": [["a", odd]]}), ("query_ids", {})):
        with pytest.raises(InvalidScoresError, match=rf"{name} must be text or whole .*{shown}"):
            RankedLists([[2.0, 1.0]], **(given_ids or {"query_ids": [odd]}))


@given(st.lists(IDS.map(lambda ids: list(dict.fromkeys(map(text, ids)))), min_size=2, max_size=3))
def test_fusion_matches_exactly_the_documents_of_equal_ids(ids: list[list[str]]) -> None:
    fused = pc.fuse([lists_of(own, query_ids=["q\0"]) for own in ids], method="rrf")
    expected: dict[str, float] = {}
    for own in ids:
        for rank, one in enumerate(own, 1):
            expected[one] = expected.get(one, 0.0) + 1 / (60 + rank)
    found = dict(zip(fused[0].doc_ids.tolist(), fused[0].scores.tolist(), strict=True))
    assert found == pytest.approx(expected)
    assert fused.query_ids.tolist() == ["q\0"]


def test_integers_match_whole_floats_and_their_text() -> None:
    fused = pc.fuse([lists_of([1, 2]), lists_of([1.0, 3.0]), lists_of(["1", "2"])], method="rrf")
    assert sorted(fused[0].doc_ids.tolist()) == ["1", "2", "3"]


@given(st.lists(TEXT, unique=True, min_size=1, max_size=5), st.data())
def test_grades_are_those_of_equal_ids(ids: list[str], data: st.DataObject) -> None:
    grades = data.draw(st.dictionaries(st.sampled_from(ids) | TEXT, st.integers(0, 3), min_size=1))
    qrels = Qrels(
        np.array(["0"]),
        Ragged.from_any([np.array([*grades], object)]),
        Ragged.from_any([[*grades.values()]]),
    )
    judged = with_qrels(lists_of(ids), qrels)
    assert judged[0].relevance is not None
    assert judged[0].relevance.tolist() == [grades.get(one, 0) for one in ids]


@pytest.mark.parametrize("format", ["trec", "jsonl", "csv", "tsv", "parquet", "arrow"])
@settings(max_examples=150)
@given(ids=IDS.map(lambda ids: list(dict.fromkeys(map(text, ids)))), query=TEXT)
def test_a_format_refuses_ids_on_writing_or_gives_them_back(
    format: Any, ids: list[str], query: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    if format in ("parquet", "arrow"):
        importorskip("pyarrow")
    path: Path = tmp_path_factory.mktemp("ids") / "file"
    lists = lists_of(ids, query_ids=[query])
    try:
        write_lists(path, lists, format)
    except InvalidParameterError:
        assert format != "jsonl" or any(
            "\ud800" <= one <= "\udfff" for one in "".join([query, *ids])
        )
        assert not path.exists()
        return
    back = read_lists(path, format)
    assert back.query_ids.tolist() == [query]
    assert back[0].doc_ids is not None
    assert back[0].doc_ids.tolist() == ids


@pytest.mark.parametrize("format", ["trec", "csv", "tsv"])
def test_an_empty_id_does_not_hide_one_with_a_space(tmp_path: Path, format: Any) -> None:
    # CSV gave back ["a", "b"].
    with pytest.raises(InvalidParameterError, match="got ''"):
        write_lists(tmp_path / "x", lists_of(["", "a b"]), format)
    assert not list(tmp_path.iterdir())


def test_integers_in_a_parquet_file_are_ids(tmp_path: Path) -> None:
    pa = importorskip("pyarrow")
    parquet = importorskip("pyarrow.parquet")
    table = pa.table({"query_id": [7], "scores": [[2.0, 1.0]], "doc_ids": [[2**62 + 1, 5]]})
    parquet.write_table(table, tmp_path / "t.parquet")
    found = read_lists(tmp_path / "t.parquet")
    assert found.query_ids.tolist() == ["7"]
    assert found[0].doc_ids.tolist() == ["4611686018427387905", "5"]  # type: ignore[union-attr]


@pytest.mark.parametrize("ids", [[10**5000, 7], [10**5000, "a"]])
def test_an_integer_that_python_cannot_write_is_refused(ids: list[Any]) -> None:
    with pytest.raises(InvalidScoresError, match="at most 4,300 digits"):
        pc.RankedLists([[2.0, 1.0]], doc_ids=[ids])
