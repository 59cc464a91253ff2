"""Parquet files."""

from __future__ import annotations

from collections.abc import Iterable
from typing import IO

from paretocut.errors import require
from paretocut.io.arrow import ROWS, rows_of_batches, write_tables
from paretocut.io.rows import RowsByLine
from paretocut.io.streams import OpenSource
from paretocut.lists import RankedLists


def read(source: OpenSource) -> RowsByLine:
    parquet = require("pyarrow.parquet", feature="reading Parquet", extra="arrow")
    return rows_of_batches(source, lambda file: parquet.ParquetFile(file).iter_batches(ROWS))


def write(out: IO[bytes], blocks: Iterable[RankedLists]) -> None:
    parquet = require("pyarrow.parquet", feature="writing Parquet", extra="arrow")
    write_tables(blocks, lambda schema: parquet.ParquetWriter(out, schema))
