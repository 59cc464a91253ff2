"""Reading and writing of runs, judgements and tables."""

from __future__ import annotations

import gzip
import io
import itertools
import json
import lzma
import pickle
import random
import re
import stat
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import importorskip

from paretocut._kernel import TrecReader
from paretocut.errors import (
    DataFormatError,
    InvalidParameterError,
    MissingExtraError,
    TrecFormatError,
)
from paretocut.io import (
    CoverageWarning,
    read_lists,
    read_qrels,
    read_trec,
    with_qrels,
    write_lists,
    write_trec,
)
from paretocut.lists import RankedLists

RUN = b"""\
q1 Q0 d1 1 3.5 me
q1 Q0 d2 2 2.5 me
q2 Q0 d1 1 -1e-3 me
q2 Q0 d9 2 7 me
"""
QRELS = b"""\
q1 0 d2 1
q1 0 d7 2
q1 0 d1 -1
q2 0 d1 0
"""


def contents(lists: RankedLists) -> dict[str, list[tuple[bytes, float]]]:
    """Return what the lists hold, in Python objects."""
    return {
        one.query_id: [
            (document.encode("utf-8", "surrogateescape"), score)
            for document, score in zip(one.doc_ids.tolist(), one.scores.tolist(), strict=True)
        ]
        for one in lists
    }


def read(text: bytes, **options: Any) -> dict[str, list[tuple[bytes, float]]]:
    return contents(read_trec(io.BytesIO(text), **options))


def parse_slowly(text: bytes) -> dict[str, list[tuple[bytes, float]]]:
    """Return what a run holds, by the obvious way: the judge of the compiled parser."""
    found: dict[str, dict[bytes, float]] = {}
    for line in text.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
        if not line.split():
            continue
        query, _, document, _, score, _ = line.split()
        results = found.setdefault(query.decode(), {})
        if document in results:
            raise ValueError("twice")
        results[document] = float(score)
    return {
        query: sorted(results.items(), key=lambda item: (item[1], item[0]), reverse=True)
        for query, results in found.items()
    }


# --- TREC, in ---


def test_run_is_read_by_query_and_sorted_by_score() -> None:
    assert read(RUN) == {"q1": [(b"d1", 3.5), (b"d2", 2.5)], "q2": [(b"d9", 7.0), (b"d1", -0.001)]}


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda text: text.replace(b" ", b"\t"), id="tabs"),
        pytest.param(lambda text: text.replace(b" ", b" \t  "), id="mixed"),
        pytest.param(lambda text: text.replace(b"\n", b"\r\n"), id="crlf"),
        pytest.param(lambda text: text.replace(b"\n", b" \t \n"), id="trailing"),
        pytest.param(lambda text: b"  " + text.replace(b"\n", b"\n  "), id="leading"),
        pytest.param(lambda text: b"\n\n" + text.replace(b"\n", b"\n \t\n"), id="blank-lines"),
        pytest.param(lambda text: text.rstrip(b"\n"), id="no-last-newline"),
        pytest.param(lambda text: b"\xef\xbb\xbf" + text, id="byte-order-mark"),
        pytest.param(lambda text: text.replace(b" 7 ", b" +7.0e0 "), id="plus-sign"),
        pytest.param(gzip.compress, id="gzip"),
        pytest.param(
            lambda text: gzip.compress(text[:23]) + gzip.compress(text[23:]),
            id="gzip-of-two-members",
        ),
        pytest.param(lzma.compress, id="xz"),
    ],
)
def test_run_reads_the_same_however_it_is_laid_out(change: Any) -> None:
    assert read(change(RUN)) == parse_slowly(RUN)


@pytest.mark.parametrize("name", ["plain.run", "run.gz", "run.xz", "misnamed.txt"])
def test_run_is_read_from_a_path(tmp_path: Path, name: str) -> None:
    pack = {".gz": gzip.compress, ".xz": lzma.compress, ".txt": gzip.compress}
    path = tmp_path / name
    path.write_bytes(pack.get(path.suffix, bytes)(RUN))
    assert contents(read_trec(path)) == contents(read_trec(str(path))) == parse_slowly(RUN)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_run_is_read_from_standard_input(pack: Any) -> None:
    code = "from paretocut.io import read_trec; print(len(read_trec('-').scores.values))"
    done = subprocess.run([sys.executable, "-c", code], input=pack(RUN), capture_output=True)
    assert (done.stdout.strip(), done.stderr) == (b"4", b"")


def test_queries_may_be_interleaved_and_keep_their_first_order() -> None:
    lines = RUN.splitlines(keepends=True)
    mixed = read(b"".join(lines[i] for i in (2, 0, 3, 1)))
    assert list(mixed) == ["q2", "q1"]
    assert mixed == parse_slowly(RUN)


def test_run_of_distances_is_sorted_by_them() -> None:
    assert read(RUN, higher_is_better=False)["q2"] == [(b"d1", -0.001), (b"d9", 7.0)]


def test_run_without_lines_has_no_lists() -> None:
    assert len(read_trec(io.BytesIO(b""))) == 0
    assert len(read_trec(io.BytesIO(b"\n \n"), io.BytesIO(b""))) == 0


def test_document_and_query_ids_are_text(tmp_path: Path) -> None:
    lists = read_trec(io.BytesIO("q\N{LATIN SMALL LETTER E WITH ACUTE} Q0 \xff 1 1 me".encode()))
    assert lists.query_ids.tolist() == ["qé"]
    assert lists[0].doc_ids.tolist() == ["ÿ"]
    raw = read_trec(io.BytesIO(b"q Q0 \xff\xfe 1 1 me"))
    write_trec(tmp_path / "out.run", raw, tag="me")
    assert (tmp_path / "out.run").read_bytes() == b"q Q0 \xff\xfe 1 1.0 me\n"


# --- TREC, broken ---

BROKEN_RUNS = [
    (b"q1 Q0 d1 1 3.5", "expected 6 fields (qid Q0 docno rank score tag), got 5"),
    (b"q1 Q0 d1 1 3.5 me too", "expected 6 fields (qid Q0 docno rank score tag), got 7"),
    (b"q1 Q0 d1 1 abc me", "score 'abc' is not a number"),
    (b"q1 Q0 d1 1 1.5x me", "score '1.5x' is not a number"),
    (b"q1 Q0 d1 1 1,5 me", "score '1,5' is not a number"),
    (b"q1 Q0 d1 1 +-1 me", "score '+-1' is not a number"),
    (b"q1 Q0 d1 1 + me", "score '+' is not a number"),
    (b"q1 Q0 d1 1 0x10 me", "score '0x10' is not a number"),
    (b"q1 Q0 d1 1 nan me", "score 'nan' is not finite"),
    (b"q1 Q0 d1 1 -inf me", "score '-inf' is not finite"),
    (b"q1 Q0 d1 1 1e999 me", "score '1e999' does not fit a double"),
    (b"q1 Q0 d\0 1 1 me", "docno must be text, got a NUL byte"),
    (b"q1 Q0 " + b"d" * 1025 + b" 1 1 me", "docno must have at most 1024 bytes, got 1025"),
    (b"q1 Q0 d1 1 1 " + b"m" * 65536, "line is longer than 65536 bytes"),
    (b"q\xff Q0 d1 1 1 me", "qid must be UTF-8, got b'q\\xff'"),
    (b"q1 Q0 d1 1 \xff me", "score '\\xff' is not a number"),
    (
        b"q1 Q0 d8 1 1 me\nq1 Q0 d8 9 2 me",
        "document 'd8' comes twice for query 'q1', first on line 6",
    ),
]


@pytest.mark.parametrize(("line", "problem"), BROKEN_RUNS)
@pytest.mark.parametrize("ending", [b"", b"\n", b"\r\nq3 Q0 d1 1 1 me\n"])
def test_broken_run_is_named_by_path_and_line(
    tmp_path: Path, line: bytes, problem: str, ending: bytes
) -> None:
    path = tmp_path / "broken.run"
    path.write_bytes(RUN + b"\n" + line + ending)
    expected_line = 7 if b"d8" in line else 6
    with pytest.raises(TrecFormatError) as caught:
        read_trec(path)
    assert str(caught.value) == f"{path}:{expected_line}: {problem}"
    assert caught.value.line == expected_line


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"q1 0 d1", "expected 4 fields (qid iter docno grade), got 3"),
        (b"q1 Q0 d1 1 3.5 me", "expected 4 fields (qid iter docno grade), got 6"),
        (b"q1 0 d1 1.5", "grade '1.5' is not an integer"),
        (b"q1 0 d1 99999999999", "grade '99999999999' does not fit 32 bits"),
        (b"q1 0 d2 0", "document 'd2' comes twice for query 'q1', first on line 1"),
    ],
)
def test_broken_judgements_are_named_by_path_and_line(
    tmp_path: Path, line: bytes, problem: str
) -> None:
    path = tmp_path / "broken.qrels"
    path.write_bytes(QRELS + line)
    with pytest.raises(TrecFormatError) as caught:
        read_qrels(path)
    assert str(caught.value) == f"{path}:5: {problem}"


def test_the_duplicate_nearest_to_the_top_is_reported() -> None:
    text = b"a Q0 x 1 1 t\nb Q0 y 1 1 t\nb Q0 y 1 2 t\na Q0 x 1 2 t\n"
    with pytest.raises(TrecFormatError, match="<file>:3: document 'y' comes twice for query 'b'"):
        read(text)


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
def test_damaged_archive_is_an_error_after_the_lines_that_came(tmp_path: Path, pack: Any) -> None:
    path = tmp_path / "cut-short"
    path.write_bytes(pack(RUN)[:-9])
    with pytest.raises(DataFormatError, match=r"cut-short:\d+: expected whole compressed data"):
        read_trec(path)


def test_missing_file_and_text_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_trec(tmp_path / "nowhere.run")
    with pytest.raises(InvalidParameterError, match="must be open as binary, got text"):
        read_trec(io.StringIO("q"))  # type: ignore[arg-type]


# --- TREC, fuzzed ---


def read_in_chunks(text: bytes, cuts: list[int]) -> Any:
    """Return the contents of a run fed in pieces, or line and problem when it is broken."""
    reader = TrecReader(False, False)
    edges = [0, *sorted(cut % (len(text) + 1) for cut in cuts), len(text)]
    pieces = [text[a:b] for a, b in itertools.pairwise(edges)]
    if not (all(reader.feed(piece) for piece in pieces) and reader.finish()):
        return reader.problem
    offsets, scores, ids = reader.emit()
    documents = [bytes(row).rstrip(b"\0") for row in ids]
    return {
        query: list(zip(documents[a:b], scores[a:b].tolist(), strict=True))
        for query, a, b in zip(reader.query_ids, offsets, offsets[1:], strict=False)
    }


cut_points = st.lists(st.integers(0, 2**16), max_size=8)


@given(st.binary(max_size=200), cut_points)
def test_any_bytes_give_lists_or_an_error_however_they_are_cut(
    text: bytes, cuts: list[int]
) -> None:
    whole = read_in_chunks(text, [])
    assert read_in_chunks(text, cuts) == whole
    if isinstance(whole, dict):
        assert {query.decode(errors="replace") for query in whole} == {
            line.split()[0].decode(errors="replace")
            for line in text.removeprefix(b"\xef\xbb\xbf").split(b"\n")
            if line.split()
        }
    else:
        assert 1 <= whole[0] <= text.count(b"\n") + 1


# Near-valid text finds more than noise: fields, separators and line ends from small sets.
fields = st.sampled_from([b"q", b"q1", b"d", b"1", b"-2.5", b"1e5", b"nan", b"Q0", b"\0", b"\xff"])
gaps = st.sampled_from([b" ", b"\t", b"  ", b"\r", b"\n", b"\r\n", b"\v"])


@given(st.lists(st.tuples(fields, gaps), max_size=60), cut_points)
def test_nearly_valid_runs_agree_with_the_slow_parser(
    parts: list[tuple[bytes, bytes]], cuts: list[int]
) -> None:
    text = b"".join(field + gap for field, gap in parts)
    found = read_in_chunks(text, cuts)
    try:
        expected = parse_slowly(text)
    except ValueError:
        assert isinstance(found, tuple)
        return
    scores = [score for one in expected.values() for _, score in one]
    if b"\0" in text or not np.isfinite(scores).all():
        return  # the slow parser is less strict here
    assert {query.decode(): one for query, one in found.items()} == expected


rows = st.lists(
    st.tuples(
        st.sampled_from(["1", "2", "301", "ä"]),
        st.text("ab-9é", min_size=1, max_size=12),
        st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([0.0, 1.0, -0.0, 0.5]),
        st.sampled_from(["{!r}", "{:.6f}", "{:e}", "{:.17g}"]),
    ),
    unique_by=lambda row: row[:2],
    max_size=40,
)


@given(
    rows, st.sampled_from([" ", "\t", " \t"]), st.sampled_from(["\n", "\r\n", "\n\n"]), cut_points
)
def test_valid_runs_agree_with_the_slow_parser(
    rows: list[tuple[str, str, float, str]], gap: str, end: str, cuts: list[int]
) -> None:
    text = "".join(
        gap.join([query, "Q0", document, "0", form.format(score), "me"]) + end
        for query, document, score, form in rows
    ).encode()
    found = read_in_chunks(text, cuts)
    assert {query.decode(): one for query, one in found.items()} == parse_slowly(text)


# --- judgements ---


def test_relevance_and_number_of_relevant_documents_come_from_the_judgements() -> None:
    lists = read_trec(io.BytesIO(RUN), io.BytesIO(QRELS))
    assert [one.relevance.tolist() for one in lists] == [[-1, 1], [0, 0]]
    assert lists.num_relevant.tolist() == [2, 0]
    strict = read_trec(io.BytesIO(RUN), io.BytesIO(QRELS), min_grade=2)
    assert strict.num_relevant.tolist() == [1, 0]
    assert strict.min_grade == 2
    assert not strict.relevant.values.any()


def test_judgements_are_read_once_for_many_runs() -> None:
    qrels = read_qrels(io.BytesIO(QRELS))
    assert repr(qrels) == "Qrels(2 queries, 4 judgements)"
    again = read_trec(io.BytesIO(RUN), qrels)
    assert again.relevance.values.tolist() == [-1, 1, 0, 0]


def test_repeated_judgement_counts_once() -> None:
    # Real files have them; only a judgement that contradicts an earlier one is an error.
    qrels = read_qrels(io.BytesIO(b"q1 0 a 1\nq1 0 a 1\nq2 0 b 0\nq1 0 a 1\nq2 0 c 2\nq1 0 d 1"))
    assert qrels.num_relevant().tolist() == [2, 1]
    assert sorted(qrels.doc_ids[0].tolist()) == ["a", "d"]
    assert qrels.grades[1].tolist() == [2, 0]


def test_queries_on_one_side_only_are_reported_and_left_out() -> None:
    with pytest.warns(CoverageWarning) as caught:
        lists = read_trec(io.BytesIO(RUN), io.BytesIO(b"q3 0 d1 1\nq2 0 d9 1\nq0 0 d1 1\n"))
    assert lists.query_ids.tolist() == ["q2"]
    (report,) = (warning.message for warning in caught)
    assert isinstance(report, CoverageWarning)
    assert (report.unjudged, report.missing) == (("q1",), ("q3", "q0"))
    assert str(report) == (
        "queries without judgements, left out: 1 ('q1'); "
        "queries judged but without results, left out: 2 ('q3', 'q0')"
    )
    assert caught[0].filename == __file__
    again = pickle.loads(pickle.dumps(report))
    assert (str(again), again.missing) == (str(report), report.missing)


def test_judged_queries_without_results_can_be_kept_as_empty_lists() -> None:
    with pytest.warns(CoverageWarning, match="kept as empty lists: 1 "):
        lists = read_trec(io.BytesIO(RUN), io.BytesIO(QRELS + b"q7 0 d1 1\n"), missing="empty")
    assert lists.query_ids.tolist() == ["q1", "q2", "q7"]
    assert lists.scores.lengths.tolist() == [2, 2, 0]
    assert lists.num_relevant.tolist() == [2, 0, 1]


def test_same_queries_on_both_sides_give_no_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_trec(io.BytesIO(RUN), io.BytesIO(QRELS))


def test_qrels_apply_to_lists_with_text_ids_and_refuses_lists_without() -> None:
    qrels = read_qrels(io.BytesIO(QRELS))
    lists = RankedLists([[2.0, 1.0]], query_ids=["q1"], doc_ids=[["d7", "d0"]])
    with pytest.warns(CoverageWarning):
        assert with_qrels(lists, qrels).relevance.values.tolist() == [2, 0]
    with pytest.raises(InvalidParameterError, match="with_qrels: lists must have doc_ids"):
        with_qrels(RankedLists([[1.0]]), qrels)
    with pytest.raises(InvalidParameterError, match="missing must be one of 'drop', 'empty'"):
        with_qrels(lists, qrels, missing="no")  # type: ignore[arg-type]


@given(
    st.lists(st.text("ab", min_size=1, max_size=6), unique=True, max_size=30),
    st.dictionaries(st.text("ab", min_size=1, max_size=6), st.integers(-2, 3), max_size=30),
)
def test_grades_are_those_a_dictionary_finds(documents: list[str], grades: dict[str, int]) -> None:
    lists = RankedLists([-np.arange(len(documents))], query_ids=["q"], doc_ids=[documents])
    text = "".join(f"q 0 {document} {grade}\n" for document, grade in grades.items())
    judged = with_qrels(lists, read_qrels(io.BytesIO(b"q 0 other 1\n" + text.encode())))
    assert judged.relevance.values.tolist() == [grades.get(document, 0) for document in documents]
    assert judged.num_relevant.tolist() == [1 + sum(grade >= 1 for grade in grades.values())]


# --- the order of trec_eval ---


def pytrec_order(run: dict[str, float]) -> list[str]:
    """Return the ranking pytrec_eval uses, found by judging one document relevant at a time."""
    pytrec_eval = importorskip("pytrec_eval")
    ranks = {}
    for document in run:
        evaluator = pytrec_eval.RelevanceEvaluator({"q": {document: 1}}, {"recip_rank"})
        ranks[document] = round(1 / evaluator.evaluate({"q": run})["q"]["recip_rank"])
    return sorted(run, key=ranks.__getitem__)


@given(
    st.dictionaries(
        st.text("aBz09-_é", min_size=1, max_size=4),
        st.sampled_from([0.0, -0.0, 0.5, 1.0, -3.25]),  # exact in single precision, too
        min_size=1,
        max_size=12,
    )
)
def test_ties_are_ordered_as_by_trec_eval(run: dict[str, float]) -> None:
    text = "".join(f"q Q0 {document} 0 {score} me\n" for document, score in run.items())
    ours = [document.decode() for document, _ in read(text.encode())["q"]]
    assert ours == pytrec_order(run)


def test_scores_that_differ_beyond_single_precision_are_not_ties() -> None:
    # Here older releases of trec_eval see a tie; its current sources compare doubles, and so do we.
    found = read(b"q Q0 a 0 1.0000000001 me\nq Q0 b 0 1.0 me\n")["q"]
    assert [document for document, _ in found] == [b"a", b"b"]


# --- TREC, out ---


@pytest.mark.parametrize("name", ["out.run", "out.run.gz", "out.run.xz"])
def test_written_run_reads_back_the_same(tmp_path: Path, name: str) -> None:
    rng = random.Random(5)
    scores = [[rng.gauss(0, 10 ** rng.randint(-300, 300)) for _ in range(n)] for n in (5, 1, 40)]
    ids = [[f"doc-{i}-é" for i in range(len(one))] for one in scores]
    lists = RankedLists(scores, query_ids=["1", "zwei", "ö"], doc_ids=ids)
    assert write_trec(tmp_path / name, lists) == []
    again = read_trec(tmp_path / name)
    assert np.array_equal(again.scores.values, lists.scores.values)
    assert again.doc_ids.values.tolist() == lists.doc_ids.values.tolist()
    assert again.query_ids.tolist() == lists.query_ids.tolist()
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_written_archive_does_not_depend_on_the_clock(tmp_path: Path) -> None:
    lists = read_trec(io.BytesIO(RUN))
    for name in ("a.gz", "b.gz"):
        write_trec(tmp_path / name, lists)
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()


def test_emptied_queries_are_returned_because_a_run_cannot_hold_them(tmp_path: Path) -> None:
    lists = read_trec(io.BytesIO(RUN)).truncate([0, 1])
    assert write_trec(tmp_path / "cut.run", lists, tag="t") == ["q1"]
    assert (tmp_path / "cut.run").read_text() == "q2 Q0 d9 1 7.0 t\n"


def test_run_is_written_to_standard_output(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    write_trec("-", read_trec(io.BytesIO(RUN)), tag="t")
    assert capfdbinary.readouterr().out.startswith(b"q1 Q0 d1 1 3.5 t\nq1 Q0 d2 2 2.5 t\n")


def test_failed_writing_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "out.run"
    path.write_text("old")
    lists = RankedLists([[1.0], [1.0]], query_ids=["q", "r s"], doc_ids=[["a"], ["b"]])
    with pytest.raises(
        InvalidParameterError, match="ids must be words without spaces and NUL, got 'r s"
    ):
        write_trec(path, lists)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_query_may_not_be_written_twice(tmp_path: Path) -> None:
    lists = RankedLists([[1.0], [], [2.0]], query_ids=["q", "r", "q"], doc_ids=[["a"], [], ["a"]])
    with pytest.raises(InvalidParameterError, match="query_ids must differ, got 'q' more than"):
        write_trec(tmp_path / "out.run", lists)
    assert not list(tmp_path.iterdir())


def test_writing_follows_links_and_devices_and_names_the_file_it_cannot_make(
    tmp_path: Path,
) -> None:
    lists = read_trec(io.BytesIO(RUN))
    (tmp_path / "link.run").symlink_to(tmp_path / "real.run")
    write_trec(tmp_path / "link.run", lists)
    assert (tmp_path / "link.run").is_symlink()
    assert contents(read_trec(tmp_path / "real.run")) == parse_slowly(RUN)
    write_trec("/dev/null", lists)
    assert not Path("/dev/null").is_file()
    with pytest.raises(FileNotFoundError) as caught:
        write_trec(tmp_path / "no" / "folder.run", lists)
    assert caught.value.filename == str(tmp_path / "no" / "folder.run")


def test_a_file_may_have_the_longest_name_and_keeps_its_mode(tmp_path: Path) -> None:
    # The name of the unfinished file was longer than the system allows.
    path = tmp_path / ("x" * 251 + ".run")
    path.write_text("old")
    path.chmod(0o600)
    write_trec(path, read_trec(io.BytesIO(RUN)))
    assert contents(read_trec(path)) == parse_slowly(RUN)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_write_trec_refuses_what_a_run_cannot_say(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameterError, match="write_trec: lists must have doc_ids"):
        write_trec(tmp_path / "x", RankedLists([[1.0]]))
    with pytest.raises(InvalidParameterError, match="tag must be one word, got 'a b'"):
        write_trec(tmp_path / "x", read_trec(io.BytesIO(RUN)), tag="a b")


# --- tables ---

TABLES = [
    "t.jsonl",
    "t.csv",
    "t.tsv",
    "t.parquet",
    "t.arrow",
    "t.feather",
    "t.jsonl.gz",
    "t.csv.xz",
]


def tables(name: str) -> str:
    if "parquet" in name or "arrow" in name or "feather" in name:
        importorskip("pyarrow")
    return name


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("judged", [True, False])
def test_table_reads_back_the_same(tmp_path: Path, name: str, judged: bool) -> None:
    rng = np.random.default_rng(3)
    lengths = [4, 0, 3000, 1]  # the third list makes a CSV field longer than the csv module allows
    scores = [np.sort(rng.normal(size=n) * 1e-7)[::-1] for n in lengths]
    lists = RankedLists(
        scores,
        relevance=[rng.integers(0, 4, n) for n in lengths] if judged else None,
        query_ids=["a", "b,c", 'd "e"', "ü"],
        doc_ids=[[f"é{i}" for i in range(n)] for n in lengths] if judged else None,
        num_relevant=[9, 2, 4000, 1] if judged else None,
    )
    assert write_lists(tmp_path / tables(name), lists) == []
    again = read_lists(tmp_path / name)
    assert again.query_ids.tolist() == lists.query_ids.tolist()
    assert np.array_equal(again.scores.values, lists.scores.values)
    assert np.array_equal(again.scores.offsets, lists.scores.offsets)
    if judged:
        assert again.relevance.values.dtype.kind == "i"
        assert np.array_equal(again.relevance.values, lists.relevance.values)
        assert again.num_relevant.tolist() == [9, 2, 4000, 1]
        assert again.doc_ids.values.tolist() == lists.doc_ids.values.tolist()
    else:
        assert again.relevance is None
        assert again.doc_ids is None


@pytest.mark.parametrize("name", ["t.jsonl", "t.csv", "t.parquet", "t.arrow"])
def test_table_without_rows_has_no_lists(tmp_path: Path, name: str) -> None:
    empty = RankedLists([])
    write_lists(tmp_path / tables(name), empty)
    assert len(read_lists(tmp_path / name)) == 0


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow"])
def test_missing_pyarrow_is_named_with_its_extra(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("pyarrow", "pyarrow.parquet"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=r"pip install 'paretocut\[arrow\]'"):
        write_lists(tmp_path / name, RankedLists([[1.0]]))
    (tmp_path / name).touch()
    with pytest.raises(MissingExtraError, match=r"reading .* needs the package 'pyarrow'"):
        read_lists(tmp_path / name)


def test_boolean_relevance_stays_boolean_in_jsonl(tmp_path: Path) -> None:
    lists = RankedLists([[2.0, 1.0]], relevance=[[True, False]])
    write_lists(tmp_path / "t.jsonl", lists)
    assert read_lists(tmp_path / "t.jsonl", min_grade=2).relevant.values.tolist() == [True, False]


@pytest.mark.parametrize("relevance", [[[True, False], [True]], [[True, None], [False]]])
def test_csv_with_truths_for_grades_comes_back(tmp_path: Path, relevance: list[Any]) -> None:
    # "True False" was refused, though we wrote it; pandas writes one such word per row.
    lists = RankedLists([[3.0, 2.0], [1.0]], relevance, query_ids=["a", "b"])
    assert lists.relevance is not None
    write_lists(tmp_path / "t.csv", lists)
    rows = zip("aab", (3, 2, 1), [grade for part in relevance for grade in part], strict=True)
    text = "".join(f"{q},{s},{'' if g is None else g}\n" for q, s, g in rows)
    (tmp_path / "rows.csv").write_text("query_id,score,relevance\n" + text)
    for name in ("t.csv", "rows.csv"):
        found = read_lists(tmp_path / name, min_grade=1).relevance
        assert found is not None
        assert found.values.dtype == lists.relevance.values.dtype
        np.testing.assert_array_equal(found.values, lists.relevance.values)
    (tmp_path / "t.csv").write_text("query_id,scores,relevance\nq,2 1,True 2\n")
    with pytest.raises(DataFormatError, match="relevance must be a list of 2 finite numbers"):
        read_lists(tmp_path / "t.csv")


def test_csv_with_one_row_per_result_is_grouped_by_query() -> None:
    text = (
        b"rank,query_id,doc_id,score,relevance\n1,b,x y,0.5,0\n1,a,d1,3,2\r\n\n"
        b'2,b,"q""uote",0.75,1\n2,a,d2,4,0'
    )
    lists = read_lists(io.BytesIO(text), "csv")
    assert contents(lists) == {
        "b": [(b'q"uote', 0.75), (b"x y", 0.5)],
        "a": [(b"d2", 4.0), (b"d1", 3.0)],
    }
    assert lists.relevance.values.tolist() == [1, 0, 0, 2]


def test_table_takes_integer_ids_distances_and_judgements() -> None:
    text = b'{"query_id": 301, "scores": [1, 0.5], "doc_ids": [7, "x"], "text": "ignored"}\n'
    lists = read_lists(io.BytesIO(text), "jsonl", higher_is_better=False)
    lists = with_qrels(lists, read_qrels(io.BytesIO(b"301 0 7 1\n")))
    assert contents(lists) == {"301": [(b"x", 0.5), (b"7", 1.0)]}
    assert lists.relevance.values.tolist() == [0, 1]


GOOD_ROW = b'{"query_id": "q0", "scores": [2, 1], "doc_ids": ["a", "b"], "relevance": [1, 0]}\n'
BROKEN_JSON = [
    (b"[1, 2]", "expected one JSON object on the line, got list"),
    (b'{"query_id": "q"', "expected one JSON object on the line, got Expecting ',' delimiter"),
    (b'{"scores": [1]}', "query_id must be a string or an integer, got None"),
    (
        b'{"query_id": "q", "score": 1}',
        "scores must be a list of finite numbers, one row per query (one row per result is read "
        "from CSV only), got None",
    ),
    (b'{"query_id": "q", "scores": [1, "2"]}', "scores must be a list of finite numbers, got [1,"),
    (b'{"query_id": "q", "scores": [[1], 2]}', "scores must be a list of finite numbers, got [[1]"),
    (
        b'{"query_id": "q", "scores": [1, NaN]}',
        "scores must be a list of finite numbers, got [1, n",
    ),
    (b'{"query_id": "q0", "scores": [1]}', "query_id must be unique (this one is on line 1 too)"),
    (b'{"query_id": "q", "scores": [1]}', "doc_ids must be in all rows or in none, got None"),
    (
        b'{"query_id": "q", "scores": [1], "doc_ids": ["a", "b"], "relevance": [1]}',
        "doc_ids must be a list of 1 strings or integers, got ['a', 'b']",
    ),
    (
        b'{"query_id": "q", "scores": [1], "doc_ids": [1.5], "relevance": [1]}',
        "doc_ids must be a list of 1 strings or integers, got [1.5]",
    ),
    (
        b'{"query_id": "q", "scores": [1], "doc_ids": ["a"], "relevance": ["x"]}',
        "relevance must be a list of 1 finite numbers, or null if not judged, got ['x']",
    ),
    (b"\xff", "expected UTF-8 text, got b'\\xff"),
]


@pytest.mark.parametrize(("line", "problem"), BROKEN_JSON)
def test_broken_jsonl_is_named_by_path_and_line(tmp_path: Path, line: bytes, problem: str) -> None:
    path = tmp_path / "broken.jsonl"
    path.write_bytes(GOOD_ROW + b"\n" + line + b"\n" + GOOD_ROW)
    with pytest.raises(DataFormatError) as caught:
        read_lists(path)
    assert str(caught.value).startswith(f"{path}:3: {problem}")


def test_num_relevant_below_the_relevant_results_is_refused() -> None:
    text = b'{"query_id": "q", "scores": [2, 1], "relevance": [1, 2], "num_relevant": 1}'
    with pytest.raises(
        DataFormatError, match=r"<file>:1: num_relevant must be an integer, at least"
    ):
        read_lists(io.BytesIO(text), "jsonl")


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        (b"", 1, "expected a header with query_id and scores (one row per query) or query_id and"),
        (b"a,b\n1,2\n", 1, "expected a header with query_id and scores (one row per query) or"),
        (b"query_id,scores\nq,1 2,3\n", 2, "expected 2 fields, got 3"),
        (b"query_id,scores\nq,1 x\n", 2, "scores must be a list of finite numbers, got '1 x'"),
        (b"query_id,scores\nq,1\n\nq,2\n", 4, "query_id must be unique (this one is on line 2"),
        (b'query_id,scores\nq,"1 2\n', 2, "expected CSV, got unexpected end of data"),
        (b"query_id,score\nq,1\nq,abc\n", 3, "score must be a finite number, got 'abc'"),
        (b"query_id,score\nq,1\nq,inf\n", 3, "score must be a finite number, got 'inf'"),
        (b"query_id,score,relevance\nq,1,x\n", 2, "relevance must be a finite number, got 'x'"),
        (b"query_id,scores,num_relevant\nq,1,x\n", 2, "num_relevant must be an integer, at least"),
    ],
)
def test_broken_csv_is_named_by_path_and_line(
    tmp_path: Path, text: bytes, line: int, problem: str
) -> None:
    path = tmp_path / "broken.csv"
    path.write_bytes(text)
    with pytest.raises(DataFormatError) as caught:
        read_lists(path)
    assert str(caught.value).startswith(f"{path}:{line}: {problem}")
    # The next reading is not hindered by what the broken one left behind.
    assert len(read_lists(io.BytesIO(b"query_id,scores\nq,1 2\n"), "csv")) == 1


@pytest.mark.parametrize(
    ("columns", "row", "problem"),
    [
        ({"scores": [[1.0], [2.0]]}, 1, "query_id must be a string or an integer, got None"),
        ({"query_id": ["a", "b"], "scores": [[1.0], None]}, 2, "scores must be a list of finite"),
        ({"query_id": ["a", "b"], "scores": [[1.0], [None]]}, 2, "scores must be a list of finite"),
        ({"query_id": ["a", "b"], "scores": [["x"], ["y"]]}, 1, "scores must be a list of finite"),
        ({"query_id": ["a", "b"], "scores": [1.0, 2.0]}, 1, "scores must be a list of finite"),
    ],
)
@pytest.mark.parametrize("name", ["broken.parquet", "broken.arrow"])
def test_broken_table_is_named_by_path_and_row(
    tmp_path: Path, name: str, columns: dict[str, Any], row: int, problem: str
) -> None:
    pyarrow = importorskip("pyarrow")
    importorskip("pyarrow.parquet")
    table = pyarrow.table(columns)
    if name.endswith("parquet"):
        pyarrow.parquet.write_table(table, tmp_path / name)
    else:
        with pyarrow.ipc.new_file(tmp_path / name, table.schema) as writer:
            writer.write_table(table)
    with pytest.raises(DataFormatError) as caught:
        read_lists(tmp_path / name)
    assert str(caught.value).startswith(f"{tmp_path / name}:{row}: {problem}")


@pytest.mark.parametrize("name", ["broken.parquet", "broken.arrow"])
def test_file_that_is_no_table_is_refused(tmp_path: Path, name: str) -> None:
    importorskip("pyarrow")
    (tmp_path / name).write_bytes(RUN)
    with pytest.raises(DataFormatError, match=":1: expected a readable table, got "):
        read_lists(tmp_path / name)


@given(st.sampled_from(["jsonl", "csv"]), st.binary(max_size=120), st.booleans())
def test_any_bytes_give_lists_or_a_format_error_as_tables(
    format: Any, text: bytes, header: bool
) -> None:
    if header and format == "csv":
        text = b"query_id,scores\n" + text
    try:
        lists = read_lists(io.BytesIO(text), format)
    except DataFormatError:
        return
    assert np.isfinite(lists.scores.values).all()


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)
json_rows = st.fixed_dictionaries(
    {"query_id": json_values, "scores": json_values},
    optional={"doc_ids": json_values, "relevance": json_values, "num_relevant": json_values},
)


@given(st.lists(json_rows, max_size=3))
def test_any_json_values_give_lists_or_a_format_error(rows: list[dict[str, Any]]) -> None:
    text = "\n".join(json.dumps(row) for row in rows).encode()
    try:
        lists = read_lists(io.BytesIO(text), "jsonl")
    except DataFormatError:
        return
    assert len(lists) == len(rows)


def test_format_is_told_by_the_name_or_by_the_caller(tmp_path: Path) -> None:
    for name in ("a.run", "b.txt", "c", "d.RUN.GZ", "e.trec"):
        (tmp_path / name).write_bytes(RUN)
        assert contents(read_lists(tmp_path / name)) == parse_slowly(RUN)
    (tmp_path / "input.bm25").write_bytes(RUN)
    with pytest.raises(InvalidParameterError, match=r"must end in one of \.run, \.trec.*bm25"):
        read_lists(tmp_path / "input.bm25")
    assert contents(read_lists(tmp_path / "input.bm25", "trec")) == parse_slowly(RUN)
    with pytest.raises(
        InvalidParameterError, match=r"format must be one of 'trec', 'jsonl', .*'xml'"
    ):
        write_lists(tmp_path / "x", read_trec(io.BytesIO(RUN)), "xml")  # type: ignore[arg-type]


def test_write_lists_writes_runs_too_and_returns_what_they_cannot_hold(tmp_path: Path) -> None:
    lists = read_trec(io.BytesIO(RUN)).truncate([1, 0])
    assert write_lists(tmp_path / "out.run", lists) == ["q2"]
    assert write_lists(tmp_path / "out.jsonl", lists) == []


def test_ids_a_table_cannot_hold_are_refused(tmp_path: Path) -> None:
    spaced = RankedLists([[1.0]], doc_ids=[["a b"]])
    with pytest.raises(InvalidParameterError, match=r"words of UTF-8 without spaces .* got 'a b'"):
        write_lists(tmp_path / "t.csv", spaced)
    raw = RankedLists([[1.0]], doc_ids=[[b"\xff"]])
    with pytest.raises(InvalidParameterError, match=r"doc_ids must be .*UTF-8 .* got '\\udcff'"):
        write_lists(tmp_path / "t.csv", raw)
    assert list(tmp_path.iterdir()) == []


# --- the judged runs beside the project ---

# Lists, judged lists, and the depth of the shallowest and the deepest list.
ROBUST = "robust04/qrels.robust04.txt.gz"
RUNS = {
    **{
        f"robust04/runs/trec2003-{name}.run.gz": (ROBUST, 100, 100, 1000, 1000)
        for name in ("oce03noXbmD", "pircRBa1", "uwmtCR0", "THUIRr0301", "UIUC03Rd1", "InexpC2")
    },
    # Topic 672 is in these two but has no judgements.
    "robust04/runs/bm25-top150.run.gz": (ROBUST, 250, 249, 6, 150),
    "robust04/runs/colbert-prf-title.run.gz": (ROBUST, 250, 249, 515, 953),
    "robust04/runs/drmm-trec8.run.gz": (ROBUST, 50, 50, 85, 1000),
    "robust04/runs/drmm-sigmoid-trec8.run.gz": (ROBUST, 50, 50, 85, 1000),
    "robust04/runs/rrf.run.gz": (ROBUST, 199, 199, 1000, 1000),
    **{
        f"dl/runs/dl{year}-{name}.run.gz": (
            f"dl/qrels.dl{year}.txt.gz",
            topics,
            topics,
            1000 if name == "ance" else shallowest,
            1000,
        )
        for year, topics, shallowest in ((2019, 43, 5), (2020, 54, 29))
        for name in ("bm25", "ance", "bert-rerank")
    },
    "tar/runs/tar2019-DTA.run.gz": ("tar/qrels.tar2019-DTA.txt.gz", 8, 8, None, 9729),
    "tar/runs/tar2019-Intervention.run.gz": (
        "tar/qrels.tar2019-Intervention.txt.gz",
        20,
        20,
        61,
        None,
    ),
    "vaswani/bm25.run.gz": ("vaswani/qrels.txt.gz", 93, 93, 526, 1000),
    "vaswani/minilm-dense.run.gz": ("vaswani/qrels.txt.gz", 93, 93, 1000, 1000),
    "scifact/bm25.dev300.run.gz": ("scifact/qrels.txt.gz", 300, 300, 45, 1000),
    "scifact/minilm-dense.dev300.run.gz": ("scifact/qrels.txt.gz", 300, 300, 1000, 1000),
}


@pytest.mark.parametrize("name", RUNS)
def test_judged_runs_are_read_whole(shared_data: Path, name: str) -> None:
    qrels, topics, judged_topics, shallowest, deepest = RUNS[name]
    lists = read_trec(shared_data / name)
    with gzip.open(shared_data / name) as file:
        assert contents(lists) == parse_slowly(file.read())
    assert len(lists) == topics
    assert shallowest in (None, lists.scores.lengths.min())
    assert deepest in (None, lists.scores.lengths.max())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CoverageWarning)
        judged = read_trec(shared_data / name, shared_data / qrels)
    assert len(judged) == judged_topics
    assert set(judged.query_ids) <= set(lists.query_ids)
    assert np.all(judged.num_relevant >= [one.relevant.sum() for one in judged])


def test_judgements_have_the_counts_their_readme_states(shared_data: Path) -> None:
    robust = read_qrels(shared_data / "robust04/qrels.robust04.txt.gz")
    assert len(robust) == 249
    assert robust.num_relevant().sum() == 17_412
    for name, topics, (low, high) in (("DTA", 8, (1.4, 1.5)), ("Intervention", 20, (2.0, 2.5))):
        tar = read_qrels(shared_data / f"tar/qrels.tar2019-{name}.txt.gz")
        assert len(tar) == topics
        assert low <= 100 * (tar.grades.values > 0).mean() <= high


def test_average_precision_of_a_judged_run_is_that_of_ir_measures(shared_data: Path) -> None:
    ir_measures = importorskip("ir_measures")
    run = shared_data / "vaswani/minilm-dense.run.gz"
    qrels = shared_data / "vaswani/qrels.txt.gz"
    lists = read_trec(run, qrels)
    ours = {}
    for one in lists:
        found = np.cumsum(one.relevant) / np.arange(1, len(one) + 1)
        ours[one.query_id] = float((found * one.relevant).sum() / one.num_relevant)
    with gzip.open(run, "rt") as run_file, gzip.open(qrels, "rt") as qrels_file:
        theirs = ir_measures.iter_calc(
            [ir_measures.AP],
            list(ir_measures.read_trec_qrels(qrels_file.read())),
            list(ir_measures.read_trec_run(run_file.read())),
        )
        assert ours == pytest.approx({metric.query_id: metric.value for metric in theirs})


@pytest.mark.parametrize(
    ("format", "text", "problem"),
    [
        ("jsonl", b'{"query_id": "q", "scores": [2, 1], "doc_ids": [1, "1"]}', "different as text"),
        ("csv", b"query_id,scores\nq,1_0 2\n", "scores must be a list of finite numbers"),
        ("csv", b"query_id,score\nq,1_0\n", "score must be a finite number, got '1_0'"),
        ("csv", b"query_id,scores,num_relevant\nq,1 2,1_0\n", "num_relevant must be an integer"),
        ("csv", b"query_id,scores,scores\nq,1 2,3 4\n", "got scores more than once"),
    ],
)
def test_what_reads_two_ways_is_refused(format: Any, text: bytes, problem: str) -> None:
    with pytest.raises(DataFormatError, match=re.escape(problem)):
        read_lists(io.BytesIO(text), format)


def test_the_file_comes_first_when_lists_are_written(tmp_path: Path) -> None:
    lists = RankedLists([[2.0, 1.0]], doc_ids=[["a", "b"]])
    for write in (write_lists, write_trec):
        with pytest.raises(InvalidParameterError, match="a path or '-', the first argument, got R"):
            write(lists, tmp_path / "x.run")  # type: ignore[arg-type, operator]
