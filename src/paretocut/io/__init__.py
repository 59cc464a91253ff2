"""Reading and writing of ranked lists: TREC runs and judgements, JSONL, CSV, Parquet, Arrow."""

from paretocut.io.formats import read_texts
from paretocut.io.screening import Screening, read_screening
from paretocut.io.tables import read_lists, write_lists
from paretocut.io.trec import (
    CoverageWarning,
    Qrels,
    read_qrels,
    read_trec,
    with_qrels,
    write_qrels,
    write_trec,
)

__all__ = [
    "CoverageWarning",
    "Qrels",
    "Screening",
    "read_lists",
    "read_qrels",
    "read_screening",
    "read_texts",
    "read_trec",
    "with_qrels",
    "write_lists",
    "write_qrels",
    "write_trec",
]
