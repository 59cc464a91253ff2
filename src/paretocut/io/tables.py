"""Ranked lists as JSONL, CSV, Parquet and Arrow tables, one row per query.

The columns have one meaning in all formats:

================ =======================================================
``query_id``     name of the query
``scores``       list of scores
``doc_ids``      list of document ids (optional)
``relevance``    list of grades (optional); null if not judged
``num_relevant`` relevant documents in the collection (optional)
================ =======================================================

Other columns are ignored; embeddings are not stored. In CSV a list is written with spaces between
its items. CSV files with one row per *result* can be read too, with ``query_id``, ``score`` and
optionally ``doc_id`` and ``relevance``. JSONL and CSV need nothing but Python and are read line by
line; Parquet and Arrow need the extra ``arrow``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from functools import partial
from typing import IO, Literal, TypeAlias

from paretocut.errors import InvalidParameterError
from paretocut.io import arrow, csv, jsonl, parquet
from paretocut.io.rows import RowGatherer, RowsByLine, numbers_of_relevant
from paretocut.io.streams import (
    BLOCK_RESULTS,
    NotInBlocks,
    OpenSource,
    Source,
    Target,
    open_source,
    open_target,
)
from paretocut.io.trec import Qrels, judge_lists, read_trec, run_in_blocks, write_run
from paretocut.lists import RankedLists
from paretocut.schema.parameters import shown

Format: TypeAlias = Literal["trec", "jsonl", "csv", "tsv", "parquet", "arrow"]

_SUFFIXES: dict[str, Format] = {
    "": "trec",
    ".run": "trec",
    ".trec": "trec",
    ".txt": "trec",
    ".res": "trec",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
}
_FORMATS = tuple(dict.fromkeys(_SUFFIXES.values()))
_READERS: dict[str, Callable[[OpenSource], RowsByLine]] = {
    "jsonl": jsonl.read,
    "csv": csv.read,
    "tsv": csv.read,
    "parquet": parquet.read,
    "arrow": arrow.read,
}
_WRITERS: dict[str, Callable[[IO[bytes], Iterable[RankedLists]], None]] = {
    "jsonl": jsonl.write,
    "csv": csv.write,
    "tsv": partial(csv.write, delimiter="\t"),
    "parquet": parquet.write,
    "arrow": arrow.write,
}


def read_lists(
    source: Source,
    format: Format | None = None,
    *,
    qrels: Source | Qrels | None = None,
    min_grade: float = 1,
    missing: Literal["drop", "empty"] = "drop",
    unjudged: Literal["nonrelevant", "unknown"] = "nonrelevant",
    higher_is_better: bool = True,
    max_bytes: int | None = None,
    max_list_bytes: int | None = None,
) -> RankedLists:
    """Return the ranked lists of a file of any known format.

    Parameters
    ----------
    source
        Path, "-" for standard input, or an open binary file; plain, gzip or xz.
    format
        "trec", "jsonl", "csv", "tsv", "parquet" or "arrow"; by default the end of the name decides,
        and TREC is used if there is no name.
    qrels
        Judgements in TREC format; they replace relevance from the file.
    min_grade, missing, unjudged
        As for `with_qrels`.
    higher_is_better
        False for distances.
    max_bytes
        Refuse a file that is larger than this once decompressed; for files from strangers.
    max_list_bytes
        Refuse a line of JSONL or CSV larger than this; 128 MiB by default.

    Raises
    ------
    DataFormatError
        The content does not fit the format; the message gives path and line (for Parquet and Arrow
        the row, counted from 1).

    Examples
    --------
    >>> import io
    >>> rows = io.BytesIO(b'{"query_id": "q1", "scores": [3, 1, 2], "doc_ids": ["a", "b", "c"]}')
    >>> read_lists(rows, "jsonl")[0].doc_ids.tolist()
    ['a', 'c', 'b']
    """
    chosen = format_of(source, format, who="read_lists")
    if chosen == "trec":
        lists = read_trec(
            source, min_grade=min_grade, higher_is_better=higher_is_better, max_bytes=max_bytes
        )
    else:
        with open_source(source, max_bytes, max_list_bytes) as opened:
            reader = _READERS[chosen](opened)
            (lists,) = _gathered(opened, reader, higher_is_better, min_grade)
    return judge_lists(lists, qrels, "read_lists", min_grade, missing, unjudged, max_bytes)


def read_blocks(
    source: IO[bytes],
    format: Format,
    *,
    higher_is_better: bool = True,
    max_bytes: int | None = None,
    max_list_bytes: int | None = None,
) -> Iterator[RankedLists]:
    """Yield the lists of a file in blocks, so that memory does not grow with the file.

    A pipe that pauses gives what it has. NotInBlocks is raised when a query goes on after its block
    has ended.
    """
    with open_source(source, max_bytes, max_list_bytes) as opened:
        if format != "trec":
            opened.in_blocks = True
            yield from _gathered(opened, _READERS[format](opened), higher_is_better)
            return
        seen: set[str] = set()
        for block in run_in_blocks(opened, higher_is_better):
            names = block.query_ids.tolist()
            if not seen.isdisjoint(names):
                again = next(name for name in names if name in seen)
                raise NotInBlocks(f"{opened.name} has query {again!r} in two places")
            seen.update(names)
            yield block


def _gathered(
    source: OpenSource, reader: RowsByLine, higher_is_better: bool, min_grade: float = 1
) -> Iterator[RankedLists]:
    """Yield the rows of a table as lists, in blocks where the source is read in blocks."""
    gatherer = RowGatherer(source.name, min_grade)
    blocks = 0
    with closing(reader) as rows:
        for line, row in rows:
            gatherer.add(line, row)
            if source.in_blocks and (gatherer.results >= BLOCK_RESULTS or source.paused):
                yield gatherer.build(higher_is_better=higher_is_better)
                blocks += 1
    if gatherer.rows or not blocks:
        yield gatherer.build(higher_is_better=higher_is_better)


def write_lists(
    target: Target, lists: RankedLists | Iterable[RankedLists], format: Format | None = None
) -> list[str]:
    """Write ranked lists and return the ids of the queries the format cannot hold.

    A TREC run cannot hold a query without results; tables can. The file is replaced as a whole.
    Distances are written as distances.

    Parameters
    ----------
    target
        Where to write; .gz and .xz are compressed; "-" is standard output.
    lists
        Lists to write, or an iterator over blocks of lists, all with the same columns.
    format
        As for `read_lists`.
    """
    chosen = format_of(target, format, who="write_lists")
    blocks = [lists] if isinstance(lists, RankedLists) else _alike(lists)
    with open_target(target) as out:
        if chosen == "trec":
            return write_run(out, blocks)
        _WRITERS[chosen](out, blocks)
    return []


def _alike(blocks: Iterable[RankedLists]) -> Iterator[RankedLists]:
    """Yield the blocks, if all have the same columns."""
    known = None
    for block in blocks:
        columns = (
            block.doc_ids is None,
            None if block.relevance is None else block.relevance.values.dtype,
            numbers_of_relevant(block) is None,
        )
        if known not in (None, columns):
            raise NotInBlocks("the queries have different kinds of judgements")
        known = columns
        yield block


def format_of(source: Source, format: Format | None = None, *, who: str) -> Format:
    """Return the format of a file: the one given, or else the one its name ends in."""
    if format is not None:
        if format not in _FORMATS:
            raise InvalidParameterError(
                f"format must be one of {', '.join(_FORMATS)}, got {shown(format)}", who=who
            )
        return format
    if not isinstance(source, (str, os.PathLike)) or os.fspath(source) == "-":
        return "trec"
    stem, suffix = os.path.splitext(os.fspath(source).lower())
    if suffix in (".gz", ".xz"):
        suffix = os.path.splitext(stem)[1]
    found = _SUFFIXES.get(suffix)
    if found is None:
        raise InvalidParameterError(
            f"the name must end in one of {', '.join(filter(None, _SUFFIXES))} "
            f"(or .gz, .xz after it), or format must name it, got {os.fspath(source)!r}",
            who=who,
        )
    return found
