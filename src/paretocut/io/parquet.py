"""Parquet files."""

from __future__ import annotations

from typing import IO

from paretocut.io._files import OpenSource
from paretocut.io._rows import RowsByLine
from paretocut.io.arrow import rows_of_batches, table_of
from paretocut.lists import RankedLists
from paretocut.schema.extras import require


def read(source: OpenSource) -> RowsByLine:
    """Yield the rows of a Parquet file."""
    parquet = require("pyarrow.parquet", feature="reading Parquet", extra="arrow")
    return rows_of_batches(source, lambda file: parquet.ParquetFile(file).iter_batches())


def write(out: IO[bytes], lists: RankedLists) -> None:
    """Write the lists as a Parquet file."""
    parquet = require("pyarrow.parquet", feature="writing Parquet", extra="arrow")
    parquet.write_table(table_of(lists), out)
