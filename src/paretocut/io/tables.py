"""Files of ranked lists in any format: runs, and tables of one row per query."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import IO, Any, Literal, TypeAlias

from paretocut.errors import InvalidParameterError
from paretocut.io import formats
from paretocut.io.formats import is_utf8, lists_of_rows, numbers_of_relevant
from paretocut.io.streams import NotInBlocks, Source, Target, open_source, open_target, pass_on
from paretocut.io.trec import read_trec, run_in_blocks, write_run
from paretocut.lists import RankedLists
from paretocut.schema.parameters import check_choice

Format: TypeAlias = Literal["trec", "jsonl", "csv", "tsv", "parquet", "arrow"]
_Ids: TypeAlias = tuple[str, Callable[[list[str]], bool]]

_SUFFIXES: dict[Format, tuple[str, ...]] = {
    "trec": ("", ".run", ".trec", ".txt", ".res"),
    "jsonl": (".jsonl", ".ndjson"),
    "csv": (".csv",),
    "tsv": (".tsv",),
    "parquet": (".parquet",),
    "arrow": (".arrow", ".feather"),
}
# Which ids a format can hold; CSV leaves carriage returns without quotes, and spaces part lists.
_UTF8: _Ids = ("UTF-8", is_utf8)
_LINES: _Ids = ("UTF-8 without carriage returns", lambda x: is_utf8(x) and "\r" not in "".join(x))
_WORDS: _Ids = ("words of UTF-8 without spaces", lambda x: is_utf8(x) and " ".join(x).split() == x)
# How a table is read and written, and the ids of queries and documents that it can hold.
_TABLES: dict[Format, tuple[Callable[..., Any], Callable[..., None], _Ids, _Ids]] = {
    "jsonl": (formats.read_jsonl, formats.write_jsonl, _UTF8, _UTF8),
    "csv": (formats.read_csv, formats.write_csv, _LINES, _WORDS),
    "tsv": (formats.read_csv, partial(formats.write_csv, delimiter="\t"), _LINES, _WORDS),
    "parquet": (formats.read_parquet, formats.write_parquet, _UTF8, _UTF8),
    "arrow": (formats.read_arrow, formats.write_arrow, _UTF8, _UTF8),
}


def read_lists(
    source: Source,
    format: Format | None = None,
    *,
    min_grade: float = 1,
    higher_is_better: bool = True,
    max_bytes: int | None = None,
    max_list_bytes: int | None = None,
) -> RankedLists:
    """Return the ranked lists of a file of any known format; `with_qrels` adds judgements.

    Parameters
    ----------
    source
        Path, "-" for standard input, or an open binary file; plain, gzip or xz.
    format
        "trec", "jsonl", "csv", "tsv", "parquet" or "arrow"; by default the end of the name decides,
        and TREC is used if there is no name.
    min_grade, higher_is_better, max_bytes
        As for `read_trec`.
    max_list_bytes
        Refuse a line of JSONL or CSV larger than this; 128 MiB by default.

    Examples
    --------
    >>> import io
    >>> rows = io.BytesIO(b'{"query_id": "q1", "scores": [3, 1, 2], "doc_ids": ["a", "b", "c"]}')
    >>> read_lists(rows, "jsonl")[0].doc_ids.tolist()
    ['a', 'c', 'b']
    """
    chosen = format_of(source, format, who="read_lists")
    if chosen == "trec":
        return read_trec(
            source, min_grade=min_grade, higher_is_better=higher_is_better, max_bytes=max_bytes
        )
    with open_source(source, max_bytes, max_list_bytes) as opened:
        rows = _TABLES[chosen][0](opened)
        (lists,) = lists_of_rows(opened, rows, higher_is_better, min_grade)
    return lists


def read_blocks(
    source: IO[bytes],
    format: Format,
    *,
    higher_is_better: bool = True,
    max_bytes: int | None = None,
    max_list_bytes: int | None = None,
) -> Iterator[RankedLists]:
    """Yield the lists of a file in blocks; NotInBlocks is raised when a query stands in two."""
    with open_source(source, max_bytes, max_list_bytes) as opened:
        if format != "trec":
            opened.in_blocks = True
            yield from lists_of_rows(opened, _TABLES[format][0](opened), higher_is_better)
            return
        seen: set[str] = set()
        for block in run_in_blocks(opened, higher_is_better):
            names = block.query_ids.tolist()
            if not seen.isdisjoint(names):
                again = next(name for name in names if name in seen)
                raise NotInBlocks(f"{opened.name} has query {again!r} in two places")
            seen.update(names)
            yield block


def write_lists(
    target: Target, lists: RankedLists | Iterable[RankedLists], format: Format | None = None
) -> list[str]:
    """Write ranked lists and return the queries that a run cannot hold: those without results.

    The file is replaced as a whole. Distances are written as distances.

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
    blocks = [lists] if isinstance(lists, RankedLists) else lists
    with open_target(target) as out:
        if chosen == "trec":
            return write_run(out, blocks)
        _, write, *holds = _TABLES[chosen]
        write(out, _checked(blocks, holds, out))
    return []


def _checked(
    blocks: Iterable[RankedLists], holds: list[_Ids], out: IO[bytes]
) -> Iterator[RankedLists]:
    """Yield the blocks if one table can hold them, and flush what is written of each."""
    known = None
    for lists in blocks:
        grades, documents = lists.relevance, lists.doc_ids
        kind = None if grades is None else grades.values.dtype
        columns = documents is None, kind, numbers_of_relevant(lists) is None
        if known not in (None, columns):
            raise NotInBlocks("the queries have different kinds of judgements")
        known = columns
        ids = lists.query_ids.tolist(), [] if documents is None else documents.values.tolist()
        for name, texts, (allowed, fits) in zip(("query_ids", "doc_ids"), ids, holds, strict=True):
            if not fits(texts):
                odd = next(text for text in texts if not fits([text]))
                raise InvalidParameterError(
                    f"write_lists: {name} must be {allowed} in this format, got {odd!r}"
                )
        yield lists
        pass_on(out)


def format_of(source: Source, format: Format | None = None, *, who: str) -> Format:
    """Return the format of a file: the one given, or else the one its name ends in."""
    if format is not None:
        check_choice(format, _SUFFIXES, who=who, name="format")
        return format
    if not isinstance(source, (str, os.PathLike)) or os.fspath(source) == "-":
        return "trec"
    stem, end = os.path.splitext(os.fspath(source).lower())
    if end in (".gz", ".xz"):
        end = os.path.splitext(stem)[1]
    for found, ends in _SUFFIXES.items():
        if end in ends:
            return found
    known = ", ".join(name for ends in _SUFFIXES.values() for name in ends if name)
    raise InvalidParameterError(
        f"the name must end in one of {known} (or .gz, .xz after it), or format must name it, "
        f"got {os.fspath(source)!r}",
        who=who,
    )
