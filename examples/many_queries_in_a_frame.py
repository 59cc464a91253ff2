"""A frame of many queries: one column in, the cut out, in Polars from Parquet to Parquet.

    python examples/many_queries_in_a_frame.py

The frame has one row per claim with the 200 nearest abstracts. A lazy query cuts every list and
writes one row per result kept; nothing but the files needs to fit into memory.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import polars as pl
from scifact import abstracts, claims, size_options
from texts import search

import paretocut.adapters.polars  # noqa: F401  (registers the namespace `paretocut`)


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

        cut = pl.col("scores").paretocut.cut(expect="one", max_k=10)
        lists = pl.scan_parquet(before).with_columns(cut.struct.unnest())
        kept = lists.with_columns(pl.col("scores", "found", "surprise").list.head(pl.col("k")))
        kept.explode("scores", "found", "surprise").sink_parquet(after)

        counts = lists.group_by("k").len(name="claims").sort("k").collect()
        print("how many claims keep k abstracts:")
        for k, number in counts.rows():
            print(f"{k:4} {number:4} {'#' * (60 * number // len(questions))}")
        rows = pl.read_parquet(after).drop_nulls("found")
        assert len(rows) == (counts["k"] * counts["claims"]).sum()
        print(f"{len(rows)} of {cosines.size} results kept")


if __name__ == "__main__":
    main()
