"""Parquet files."""

from __future__ import annotations

from typing import IO

from paretocut.errors import require
from paretocut.io.arrow import rows_of_batches, table_of
from paretocut.io.rows import RowsByLine
from paretocut.io.streams import OpenSource
from paretocut.lists import RankedLists


def read(source: OpenSource) -> RowsByLine:
    parquet = require("pyarrow.parquet", feature="reading Parquet", extra="arrow")
    return rows_of_batches(source, lambda file: parquet.ParquetFile(file).iter_batches())


def write(out: IO[bytes], lists: RankedLists) -> None:
    parquet = require("pyarrow.parquet", feature="writing Parquet", extra="arrow")
    parquet.write_table(table_of(lists), out)
