"""A frame of many queries: rows in, fewer rows out, in Polars from Parquet to Parquet.

    python examples/many_queries_in_a_frame.py

The frame has one row for each claim and each of its 200 nearest abstracts. A lazy query keeps the
rows worth keeping and writes them.
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
        lists = {"claim": questions.ids, "score": cosines.tolist(), "found": nearest.tolist()}
        pl.DataFrame(lists).explode("score", "found").write_parquet(before)

        rows = pl.scan_parquet(before)
        kept = pc.keep(rows, query="claim", score="score", expect="one", max_k=10, explain=["k"])
        kept.sink_parquet(after)

        found = pl.read_parquet(after)
        counts = found.group_by("claim").first().group_by("k").len(name="claims").sort("k")
        print("how many claims keep k abstracts:")
        for k, number in counts.rows():
            print(f"{k:4} {number:4} {'#' * (60 * number // len(questions))}")
        print(f"{len(found)} of {cosines.size} results kept")


if __name__ == "__main__":
    main()
