"""TREC runs and judgements, parsed by the kernel in chunks."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, Any, Literal

import numpy as np
from numpy.typing import NDArray

from paretocut._kernel import TrecReader, trec_judge
from paretocut.errors import InvalidParameterError, TrecFormatError
from paretocut.io.streams import (
    CHUNK_BYTES,
    OpenSource,
    Source,
    Target,
    open_source,
    open_target,
    pass_on,
)
from paretocut.lists import IntArray, Ragged, RankedLists
from paretocut.lists.columns import as_text, code_points
from paretocut.schema.parameters import check_bool, check_choice

_LONG_LINE = 1 << 17  # more than the kernel takes


class CoverageWarning(UserWarning):
    """The queries of a run and of its judgements are not the same.

    ``unjudged`` has the ids of those without judgements, ``missing`` of those without results.
    """

    def __init__(self, unjudged: Sequence[str], missing: Sequence[str], kept: bool) -> None:
        self.unjudged, self.missing, self._kept = tuple(unjudged), tuple(missing), kept
        fate = "kept as empty lists" if kept else "left out"
        told = {
            "without judgements, left out": self.unjudged,
            f"judged but without results, {fate}": self.missing,
        }
        parts = [
            f"queries {what}: {len(names)} ({', '.join(map(repr, names[:3]))}"
            f"{', ...' if len(names) > 3 else ''})"
            for what, names in told.items()
            if names
        ]
        super().__init__("; ".join(parts))

    def __reduce__(self) -> tuple[type[CoverageWarning], tuple[Any, ...]]:
        return type(self), (self.unjudged, self.missing, self._kept)


@dataclass(frozen=True, slots=True, eq=False)
class Qrels:
    """Judgements in columns: the ``doc_ids`` of each of the ``query_ids``, and their ``grades``."""

    query_ids: NDArray[np.str_]
    doc_ids: Ragged
    grades: Ragged

    def num_relevant(self, *, min_grade: float = 1) -> IntArray:
        """Return the number of documents of grade ``min_grade`` or better, one per query."""
        relevant = self.grades.values >= min_grade
        return np.bincount(self.grades.rows[relevant], minlength=len(self)).astype(np.int64)

    def __len__(self) -> int:
        return len(self.query_ids)

    def __repr__(self) -> str:
        return f"Qrels({len(self)} queries, {self.grades.values.size} judgements)"


def read_trec(
    run: Source,
    qrels: Source | Qrels | None = None,
    *,
    min_grade: float = 1,
    missing: Literal["drop", "empty"] = "drop",
    unjudged: Literal["nonrelevant", "unknown"] = "nonrelevant",
    higher_is_better: bool = True,
    max_bytes: int | None = None,
) -> RankedLists:
    r"""Return the ranked lists of a TREC run, with relevance when judgements are given.

    Queries keep the order of the run, those without judgements are left out, and results are in
    trec_eval's order: by score, ties by document id, both descending.

    Parameters
    ----------
    run
        Path, "-" for standard input, or an open binary file; plain, gzip or xz.
    qrels
        The judgements: a source like ``run``, or the result of `read_qrels`.
    min_grade, missing, unjudged
        As for `with_qrels`.
    higher_is_better
        False when the file holds distances.
    max_bytes
        Refuse a file larger than this once decompressed; for files from strangers.

    Examples
    --------
    >>> import io
    >>> run = io.BytesIO(b"q1 Q0 d1 1 0.5 me\nq1 Q0 d2 2 0.9 me\n")
    >>> lists = read_trec(run, io.BytesIO(b"q1 0 d2 1\nq1 0 d7 1\n"))
    >>> lists[0].doc_ids.tolist(), lists[0].relevance.tolist(), lists[0].num_relevant
    (['d2', 'd1'], [1, 0], 2)
    """
    check_bool(higher_is_better, who="read_trec", name="higher_is_better")
    with open_source(run, max_bytes) as opened:
        lists = _read_run(opened, higher_is_better, min_grade)
    return judge_lists(lists, qrels, "read_trec", min_grade, missing, unjudged, max_bytes)


def read_qrels(qrels: Source, *, max_bytes: int | None = None) -> Qrels:
    """Return the judgements of a TREC file; ``qrels`` and ``max_bytes`` are as for `read_trec`."""
    with open_source(qrels, max_bytes) as opened:
        query_ids, grades, doc_ids = _read(opened, qrels=True)
    return Qrels(query_ids, doc_ids, grades.with_values(grades.values.astype(np.int32)))


def with_qrels(
    lists: RankedLists,
    qrels: Qrels,
    *,
    min_grade: float = 1,
    missing: Literal["drop", "empty"] = "drop",
    unjudged: Literal["nonrelevant", "unknown"] = "nonrelevant",
) -> RankedLists:
    """Return the lists with the grades of their documents.

    ``num_relevant`` counts all relevant documents of the judgements, retrieved or not. Queries
    without judgements are left out. A `CoverageWarning` reports such differences.

    Parameters
    ----------
    lists, qrels
        Lists with ``doc_ids``, and their judgements.
    min_grade
        Smallest grade that counts as relevant.
    missing
        "drop" leaves out judged queries without results, as trec_eval does: right for a run that
        covers part of the topics. "empty" adds them as empty lists at the end, as ``trec_eval -c``
        and ir-measures do: right for a run in which a cut has emptied queries.
    unjudged
        "nonrelevant" gives unjudged results grade 0, as trec_eval does, which suits deeply judged
        pools. "unknown" gives them NaN, which suits a few judgements per query. The number of
        relevant documents is then unknown too, and queries without judgements stay.
    """
    return judge_lists(lists, qrels, "with_qrels", min_grade, missing, unjudged)


def judge_lists(
    lists: RankedLists,
    given: Source | Qrels | None,
    who: str,
    min_grade: float,
    missing: str,
    unjudged: str,
    max_bytes: int | None = None,
) -> RankedLists:
    """Return the lists with grades as `with_qrels` does, or unchanged without judgements."""
    check_choice(missing, ("drop", "empty"), who=who, name="missing")
    check_choice(unjudged, ("nonrelevant", "unknown"), who=who, name="unjudged")
    if given is None:
        return lists
    qrels = given if isinstance(given, Qrels) else read_qrels(given, max_bytes=max_bytes)
    _doc_ids(lists, "with_qrels")
    position = {name: i for i, name in enumerate(qrels.query_ids.tolist())}
    names = lists.query_ids.tolist()
    judged_as = np.array([position.get(name, -1) for name in names], dtype=np.int64)
    known_names = set(names)
    absent = [name for name in position if name not in known_names]
    offsets = qrels.doc_ids.offsets
    if unjudged == "unknown":
        # A query without judgements is one whose results are all unknown.
        judged_as[judged_as < 0] = len(qrels)
        offsets = np.append(offsets, offsets[-1])
    left_out = lists.query_ids[judged_as < 0].tolist()
    if absent or left_out:
        warnings.warn(CoverageWarning(left_out, absent, missing == "empty"), stacklevel=3)
    if left_out:
        lists, judged_as = lists[judged_as >= 0], judged_as[judged_as >= 0]
    layout, query_ids, ids = lists.scores.offsets, lists.query_ids, _doc_ids(lists, "").values
    (documents, known), _ = code_points(ids, as_text(qrels.doc_ids.values))
    places = np.arange(1, len(known) + 1, dtype=np.int32)
    found = trec_judge(documents, layout, judged_as, known, offsets, places)  # 0 if not judged
    other = np.nan if unjudged == "unknown" else np.int32(0)
    grades = np.append(qrels.grades.values, other)[found - 1]
    if absent and missing == "empty":
        if lists.query_embeddings is not None:
            raise InvalidParameterError(
                "with_qrels: missing must be 'drop' for lists with query_embeddings, got 'empty'"
            )
        layout = np.concatenate([layout, np.full(len(absent), layout[-1])])
        query_ids = np.concatenate([query_ids, as_text(absent)])
        judged_as = np.concatenate([judged_as, [position[name] for name in absent]])
    number = None if unjudged == "unknown" else qrels.num_relevant(min_grade=min_grade)[judged_as]
    bare = lists.like(
        scores=Ragged.unchecked(lists.scores.values, layout),
        query_ids=query_ids,
        doc_ids=Ragged.unchecked(ids, layout),
        min_grade=min_grade,
        parts=None,
    )
    return bare.with_relevance(Ragged.unchecked(grades, layout), number)


def write_trec(path: Target, lists: RankedLists, *, tag: str = "paretocut") -> list[str]:
    """Write a TREC run and return the ids of the queries it cannot hold: those without results.

    The file appears whole or not at all. Distances are written as distances.

    Parameters
    ----------
    path
        Where to write; .gz and .xz are compressed; "-" is standard output.
    lists
        Lists with ``doc_ids``.
    tag
        Name of the run, the last field of every line.

    Examples
    --------
    >>> lists = RankedLists([[0.9, 0.25], []], query_ids=["q1", "q2"], doc_ids=[["d1", "d2"], []])
    >>> import tempfile
    >>> write_trec(f"{tempfile.mkdtemp()}/cut.run", lists)
    ['q2']
    """
    if len(tag.split()) != 1:
        raise InvalidParameterError(f"write_trec: tag must be one word, got {tag!r}")
    with open_target(path) as out:
        return write_run(out, [lists], tag)


def write_run(out: IO[bytes], blocks: Iterable[RankedLists], tag: str = "paretocut") -> list[str]:
    last = tag.encode()
    seen: set[str] = set()
    empty = []
    for lists in blocks:
        columns = lists.query_ids.tolist(), lists.scores, _doc_ids(lists, "write_trec")
        for query_id, scores, ids in zip(*columns, strict=True):
            if query_id in seen:
                raise InvalidParameterError(
                    f"write_trec: query_ids must differ, got {query_id!r} more than once"
                )
            seen.add(query_id)
            (query,) = _words([query_id], "write_trec", "strict")
            results = zip(_words(ids.tolist(), "write_trec"), scores.tolist(), strict=True)
            out.writelines(
                b"%b Q0 %b %d %a %b\n" % (query, doc_id, rank, score, last)
                for rank, (doc_id, score) in enumerate(results, start=1)
            )
            if not len(ids):
                empty.append(query_id)
        pass_on(out)
    return empty


def write_qrels(path: Target, lists: RankedLists) -> int:
    """Write the known grades as TREC judgements and return how many there are.

    The ``lists`` have ``doc_ids`` and whole grades; ``path`` is as for `write_trec`.
    """
    if not isinstance(lists, RankedLists):
        raise InvalidParameterError(
            f"write_qrels: lists must be RankedLists, got {type(lists).__name__}"
        )
    doc_ids, known = _doc_ids(lists, "write_qrels"), lists.judged.values
    assert lists.relevance is not None
    grades = lists.relevance.values[known].astype(np.float64)
    broken = np.flatnonzero(grades != np.rint(grades))
    if broken.size:
        raise InvalidParameterError(
            f"write_qrels: grades must be whole numbers, got {grades[broken[0]]}"
        )
    queries = lists.query_ids[lists.scores.rows[known]].tolist()
    documents = doc_ids.values[known].tolist()
    ids = _words(queries, "write_qrels", "strict"), _words(documents, "write_qrels")
    with open_target(path) as out:
        out.writelines(b"%b 0 %b %d\n" % row for row in zip(*ids, grades.tolist(), strict=True))
    return int(grades.size)


def _doc_ids(lists: RankedLists, who: str) -> Ragged:
    if lists.doc_ids is None:
        raise InvalidParameterError("lists must have doc_ids, got lists without", who=who)
    return lists.doc_ids


def _words(ids: list[str], who: str, errors: str = "surrogateescape") -> list[bytes]:
    """Return ids as a run holds them, after a check that it can."""
    with suppress(UnicodeEncodeError):
        text = "\n".join(ids).encode("utf-8", errors)
        words = text.split()
        if len(words) == len(ids) and b"\n".join(words) == text and b"\0" not in text:
            return words
    for one in ids if len(ids) > 1 else ():
        _words([one], who, errors)  # names the one that is refused
    raise InvalidParameterError(
        f"query and document ids must be words without spaces and NUL, got {ids[0]!r}", who=who
    )


def _read(
    source: OpenSource, text: bytes | None = None, *, qrels: bool = False, negate: bool = False
) -> tuple[NDArray[Any], Ragged, Ragged]:
    """Return query ids, scores or grades, and document ids of a text, or of all of the source."""
    reader = TrecReader(qrels, negate, source.line)
    good = True
    for chunk in iter(source.chunk, b"") if text is None else [text]:
        good = reader.feed(chunk)
        source.line = reader.lines
        if not good:
            break
    if not (good and reader.finish()):
        line, problem = reader.problem
        raise TrecFormatError(source.name, line, problem.decode(errors="backslashreplace"))
    names = []
    for i, query_id in enumerate(reader.query_ids):
        try:
            names.append(query_id.decode())
        except UnicodeDecodeError:
            raise TrecFormatError(
                source.name, reader.first_line(i), f"qid must be UTF-8, got {query_id!r}"
            ) from None
    offsets, values, ids = reader.emit()
    # A file without results has ids of no width, which NumPy cannot view as strings.
    doc_ids = ids.view(f"S{ids.shape[1]}")[:, 0] if ids.size else np.empty(0, "S1")
    # The kernel has refused scores that are not finite, and has sorted the results.
    scores = Ragged.unchecked(-values if negate else values, offsets)
    return as_text(names), scores, Ragged.unchecked(as_text(doc_ids), offsets)


def _read_run(
    source: OpenSource, higher_is_better: bool, min_grade: float = 1, text: bytes | None = None
) -> RankedLists:
    query_ids, scores, doc_ids = _read(source, text, negate=not higher_is_better)
    return RankedLists([], higher_is_better=higher_is_better, min_grade=min_grade).like(
        scores=scores, query_ids=query_ids, doc_ids=doc_ids
    )


def run_in_blocks(source: OpenSource, higher_is_better: bool) -> Iterator[RankedLists]:
    """Yield the lists of a run in blocks of whole queries, if each query is in one piece."""
    text, lines, more = b"", 0, True
    while more:
        # As much again as there is: a list of many blocks is looked at a few times only.
        chunk = source.chunk(max(CHUNK_BYTES, len(text)))
        text, more = text + chunk, bool(chunk)
        endless = len(text) > _LONG_LINE and b"\n" not in text  # which the kernel refuses
        end = _last_query(text) if more and not endless else len(text)
        source.line = lines
        source.check_size(len(text) - end)
        if end or not more:
            yield _read_run(source, higher_is_better, text=text[:end])
            lines += text.count(b"\n", 0, end)
            text = text[end:]


def _last_query(text: bytes) -> int:
    """Return where the lines of the last query begin; 0 if there are no others."""
    start, last = text.rfind(b"\n") + 1, None
    while start:
        begin = text.rfind(b"\n", 0, start - 1) + 1
        query = text[begin:start].split(None, 1)[:1]
        last = last or query
        if query != last and query:
            return start
        start = begin
    return 0
