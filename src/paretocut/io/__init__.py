"""Reading and writing of ranked lists: TREC runs and judgements, JSONL, CSV, Parquet, Arrow."""

from paretocut.io.tables import read_lists, write_lists
from paretocut.io.trec import CoverageWarning, Qrels, judge, read_qrels, read_trec, write_trec

__all__ = [
    "CoverageWarning",
    "Qrels",
    "judge",
    "read_lists",
    "read_qrels",
    "read_trec",
    "write_lists",
    "write_trec",
]
