"""Fills the cache by many processes, so that the tables only have to be put together."""

from __future__ import annotations

import multiprocessing
import sys
import time
import traceback
from collections import defaultdict
from collections.abc import Iterable
from concurrent.futures import Future, ProcessPoolExecutor, as_completed, wait
from typing import Any

from experiments.cache import place
from experiments.paper import encoders, readings, tables
from experiments.paper.draws import AUTHORSHIP, OMNIGLOT, SAME_DOCUMENT, Draw
from experiments.paper.rows import Row

Cell = tuple[Draw, Row, str]


def fill(jobs: int, device: str, trainers: int) -> None:
    """Work out every value of the tables and readings that is not on disk yet."""
    columns = (
        *tables.columns1(),
        *tables.columns_taught_by("indexed"),
        *tables.columns2(),
        *tables.columns_by_encoder(),
    )
    cells = [cell for column in columns for cell in column.cells()] + list(readings.cells())
    missing = {
        (draw, row.name, str(row.options), metric): (draw, row, metric)
        for draw, row, metric in cells
        if not place(*tables.address(draw, row, metric)).is_file()
    }.values()
    texts = (SAME_DOCUMENT, AUTHORSHIP)
    # Spawned, not forked: an accelerator cannot be used in a fork.
    context = multiprocessing.get_context("spawn")
    with (
        ProcessPoolExecutor(trainers, context) as training,
        ProcessPoolExecutor(jobs, context) as others,
    ):
        first = [
            training.submit(_encoder, name, seed, at, device)
            for seed in tables.ENCODERS
            for name, at in (
                (AUTHORSHIP, None),
                *(
                    (SAME_DOCUMENT, (*features, encoders.EPOCHS[-1]))
                    for features in encoders.FEATURES
                ),
            )
        ]
        futures = _submit(training, others, [c for c in missing if c[0].data not in texts], device)
        wait(first)
        for one in first:
            one.result()
        futures += [others.submit(_shares, encoder) for encoder in tables.ENCODERS]
        wait(futures[-len(tables.ENCODERS) :])
        futures += _submit(training, others, [c for c in missing if c[0].data in texts], device)
        futures += [others.submit(readings.tie_of, seed) for seed in tables.SEEDS]
        start, done = time.perf_counter(), 0
        for future in as_completed(futures):
            done += 1
            line = f"{done} of {len(futures)}, {time.perf_counter() - start:.0f} s"
            sys.stderr.write(f"{line} {future.result() or ''}\n")


def _submit(
    training: ProcessPoolExecutor, others: ProcessPoolExecutor, cells: Iterable[Cell], device: str
) -> list[Future[Any]]:
    """Return one future for each group of cells that share their lists."""
    groups: dict[Any, list[Cell]] = defaultdict(list)
    for draw, row, metric in cells:
        slow = draw.data == OMNIGLOT and "neighbors" in row.options
        own = (row.name, metric) if row.neural else row.name if slow else ""
        groups[draw, row.neural, own].append((draw, row, metric))
    # The tables of the first encoder, and among these what takes longest, begin first.
    order = sorted(
        groups, key=lambda group: (group[0].encoder, group[0].data != OMNIGLOT, group[2] == "")
    )
    return [
        (training if group[1] else others).submit(_measure, groups[group], device)
        for group in order
    ]


def _measure(cells: list[Cell], device: str) -> str:
    tables.one_thread()
    start = time.perf_counter()
    try:
        for draw, row, metric in cells:
            tables.values_of(draw, row, metric, device)
    except Exception:  # one that fails must not stop the others
        return f"FAILED {cells[0]}\n{traceback.format_exc()}"
    draw, row, metric = cells[0]
    seconds = time.perf_counter() - start
    return f"{draw.data} {draw.stage} {draw.seed} {row.name} {metric}: {seconds:.1f} s"


def _encoder(name: str, seed: int, at: encoders.Candidate | None, device: str) -> None:
    tables.one_thread()
    if name == AUTHORSHIP:
        encoders.authorship_embeddings(seed, device)
    elif at is not None:
        encoders._candidate(seed, at, device)


def _shares(encoder: int) -> None:
    for draw in tables.SEEDS:
        encoders.same_document_shares(encoder, draw)
