"""A frame of many queries: lists in, shorter lists out, in Polars from Parquet to Parquet.

    python examples/many_queries_in_a_frame.py

The frame has one row per claim with the 200 nearest abstracts. A lazy query cuts every list and
writes the shorter ones.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import polars as pl
from scifact import abstracts, claims, size_options
from texts import search

import paretocut as pc


def main() -> None:
    """Write the frame, cut it, and show what came out."""
    arguments = size_options(__doc__).parse_args()
    documents = abstracts()[: arguments.abstracts]
    questions = claims("validation")[: arguments.claims]
    cosines, nearest = search(questions, documents, depth=200)
    with tempfile.TemporaryDirectory() as folder:
        before, after = Path(folder, "retrieved.parquet"), Path(folder, "kept.parquet")
        frame = {"claim": questions.ids, "scores": cosines.tolist(), "found": nearest.tolist()}
        pl.DataFrame(frame).write_parquet(before)

        lists = pl.scan_parquet(before)
        how = {"expect": "one", "max_k": 10, "explain": ["k"]}
        kept = pc.keep(lists, score="scores", along="found", **how)
        kept.sink_parquet(after)

        claims_kept = pl.read_parquet(after)
        counts = claims_kept.group_by("k").len(name="claims").sort("k")
        print("how many claims keep k abstracts:")
        for k, number in counts.rows():
            print(f"{k:4} {number:4} {'#' * (60 * number // len(questions))}")
        total = claims_kept["found"].list.len().sum()
        assert total == claims_kept["k"].sum()
        print(f"{total} of {cosines.size} results kept")


if __name__ == "__main__":
    main()
