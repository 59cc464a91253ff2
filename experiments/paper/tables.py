"""Runs the rows of Tables 1 and 2 over several draws, and writes what came out as JSON."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

import paretocut as pc
from experiments.cache import hash_files, remember
from experiments.command import Again
from experiments.data import sha256
from experiments.paper import draws, encoders, networks, omniglot, robust04
from experiments.paper.draws import AUTHORSHIP, OMNIGLOT, SAME_DOCUMENT, Draw
from experiments.paper.retrieval import Training
from experiments.paper.rows import (
    BOUNDS,
    LARGE_TRAINING,
    NEIGHBORS,
    NETWORK,
    ORACLE,
    RIVALS,
    SURPRISE,
    TRAINING,
    Row,
    bicut_rows,
    local_rows,
    paper_value,
    table1_rows,
    table2_rows,
)
from experiments.results import read, sources, stamp
from paretocut.metrics.significance import holm, sign_flip_test

SEEDS = range(5)
DIVISIONS = 2
SPLITS = range(DIVISIONS * robust04.FOLDS)
ENCODERS = omniglot.ENCODERS


@dataclass(frozen=True)
class Column:
    """A column of a table: its draws, rows and metrics, and the paper's column beside it."""

    name: str
    paper: str
    draws: tuple[Draw, ...]
    rows: tuple[Row, ...]
    metrics: tuple[str, ...]

    def cells(self) -> Iterator[tuple[Draw, Row, str]]:
        """Yield every draw, row and metric."""
        for metric in self.metrics:
            for row in self.rows:
                if metric in row.metrics:
                    for draw in self.draws:
                        yield draw, row, metric


def values_of(draw: Draw, row: Row, metric: str, device: str = "cpu") -> dict[str, Any]:
    """Return cuts, metric values and query names of a row on a draw's test lists."""
    make = _network if row.neural else _rule
    return remember(*address(draw, row, metric), lambda: make(draw, row, metric, device))


def address(draw: Draw, row: Row, metric: str) -> tuple[str, dict[str, Any]]:
    """Return under which name and inputs the cache keeps the values of a row."""
    name = f"{draw.data} {row.name.partition(',')[0]}"
    if row.neural:
        return name, networks.inputs_of(draw, row, metric)
    truncator = row.make(metric)
    return name, {
        "draw": draw.key(),
        "truncator": repr(truncator),
        "metric": metric,
        "code": draws.code() | hash_files(sources(truncator)),
    }


def _rule(draw: Draw, row: Row, metric: str, device: str) -> dict[str, Any]:
    task = draw.task(device)
    start = time.perf_counter()
    k = row.make(metric).fit(task.train).predict(task.test)
    return _judged(draw, k, metric, device) | {"seconds": time.perf_counter() - start}


def _network(draw: Draw, row: Row, metric: str, device: str) -> dict[str, Any]:
    """Return the same of a network: its cuts as they were kept, or of one trained now."""
    k = networks.stored(draw, row, metric)
    if k is not None:
        return _judged(draw, k, metric, device)
    task = draw.task(device)
    train, test = task.train, task.test
    if row.encodings:
        train, test = task.encoded(train), task.encoded(test)
    start = time.perf_counter()
    truncator: Any = row.make(metric).set_params(training__device=device)
    k = truncator.fit(train).predict(test)
    on = torch.cuda.get_device_name(device) if device.startswith("cuda") else device
    return _judged(draw, k, metric, device) | {
        "seconds": time.perf_counter() - start,
        "epoch": truncator.epoch_,
        "lists": draw.fingerprint(device),
        "made": {"device": on, "torch": torch.__version__},
    }


def _judged(draw: Draw, k: NDArray[np.int64], metric: str, device: str) -> dict[str, Any]:
    task = draw.task(device)
    return {
        "k": np.asarray(k, dtype=np.int16),
        "values": pc.metrics.get(metric)(task.test, k),
        "queries": task.test.query_ids,
        "facts": task.facts,
        "seconds": 0.0,
    }


def summarize(column: Column) -> dict[str, Any]:
    """Return a column: every row's mean, its deviation over draws, and paired tests.

    Every value of every draw has the same weight, in the means as in the differences, so a
    difference is exactly that of two means.
    """
    out: dict[str, Any] = {
        "column": column.name,
        "paper_column": column.paper,
        "draws": len(column.draws),
        "metrics": {},
    }
    for metric in column.metrics:
        found: dict[str, list[dict[str, Any]]] = {}
        for draw, row, of in column.cells():
            if of == metric:
                progress(f"{column.name}, {metric}, {row.name}, draw {draw.seed}")
                found.setdefault(row.name, []).append(values_of(draw, row, metric))
        rows = {row.name: row for row in column.rows}
        out["facts"] = found[ORACLE][0]["facts"]
        out["test_queries"] = [len(one["values"]) for one in found[ORACLE]]
        lines = [_line(rows[name], column.paper, metric, parts) for name, parts in found.items()]
        out["metrics"][metric] = {"rows": lines, "tests": _tests(found)}
    progress("")
    return out


def _line(row: Row, paper: str, metric: str, parts: list[dict[str, Any]]) -> dict[str, Any]:
    by_draw = [float(part["values"].mean()) for part in parts]
    cuts = np.concatenate([part["k"] for part in parts])
    return {
        "row": row.name,
        "in_paper": row.paper,
        "paper": paper_value(paper, metric, row.name),
        "mean": float(np.concatenate([part["values"] for part in parts]).mean()),
        "sd": float(np.std(by_draw, ddof=1)) if len(by_draw) > 1 else None,
        "by_draw": by_draw,
        "mean_k": float(cuts.mean()),
        "empty": float((cuts == 0).mean()),
        "seconds": float(sum(part["seconds"] for part in parts)),
    }


def _tests(found: dict[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Return paired tests of both readings of Surprise against the paper's other rows."""
    pairs = [(own, rival) for own in SURPRISE for rival in RIVALS if {own, rival} <= found.keys()]
    if not pairs:
        return []
    gaps = [by_query(found[own]) - by_query(found[rival]) for own, rival in pairs]
    count = sum(len(part["values"]) for part in found[pairs[0][0]])
    raw = sign_flip_test(np.stack(gaps, axis=1), resamples=10_000, seed=0)
    return [
        {"surprise": own, "rival": rival, "difference": float(gap.sum() / count), "p": float(p)}
        for (own, rival), gap, p in zip(pairs, gaps, holm(raw), strict=True)
    ]


def by_query(parts: list[dict[str, Any]]) -> NDArray[np.float64]:
    """Return the sum of each query's values over the draws it is in.

    A query is one piece of evidence, however many draws it is in: its draws are flipped together.
    """
    names = np.concatenate([part["queries"] for part in parts])
    values = np.concatenate([part["values"] for part in parts])
    _, position = np.unique(names, return_inverse=True)
    return np.asarray(np.bincount(position, weights=values), dtype=np.float64)


# The tables.


def columns1() -> list[Column]:
    """Return the columns of Table 1: Same Document, Omniglot at two stages, News Authorship."""
    documents = Column(
        "Same Document",
        "Same Document",
        tuple(Draw(SAME_DOCUMENT, seed) for seed in SEEDS),
        tuple(table1_rows(bicut_rows())),
        ("accuracy",),
    )
    return [documents, *columns_taught_by("all")]


def columns_taught_by(training: Training) -> list[Column]:
    """Return the columns in which the index is a part of the training items."""
    large = bicut_rows(LARGE_TRAINING)
    return [
        *(
            Column(
                f"Omniglot, {stage} epochs",
                "Omniglot",
                tuple(Draw(OMNIGLOT, seed, stage=stage, training=training) for seed in SEEDS),
                tuple(table1_rows(large)),
                ("f1", "penalized_dcg"),
            )
            for stage in omniglot.STAGES
        ),
        Column(
            "News Authorship (C50)",
            "News Authorship",
            tuple(Draw(AUTHORSHIP, seed, training=training) for seed in SEEDS),
            tuple(table1_rows(bicut_rows(metrics=("f1", "penalized_dcg")))),
            ("f1", "penalized_dcg"),
        ),
    ]


def columns2() -> list[Column]:
    """Return the columns of Table 2: the runs of Robust04."""
    return [
        Column(
            name,
            paper,
            tuple(Draw(name, seed) for seed in SPLITS),
            tuple(table2_rows()),
            ("f1", "penalized_dcg"),
        )
        for name, paper in robust04.COLUMNS.items()
    ]


def columns_by_encoder() -> list[Column]:
    """Return Table 1 once more for each seed of the encoder, with the paper's rows but BiCut."""
    data = (
        (SAME_DOCUMENT, 0, ("accuracy",)),
        (OMNIGLOT, omniglot.STAGES[0], ("f1", "penalized_dcg")),
        (AUTHORSHIP, 0, ("f1", "penalized_dcg")),
    )
    return [
        Column(
            f"{name}, encoder {encoder}",
            name,
            tuple(Draw(name, seed, encoder=encoder, stage=stage) for seed in SEEDS),
            tuple(local_rows()),
            metrics,
        )
        for name, stage, metrics in data
        for encoder in ENCODERS
    ]


def table1() -> dict[str, Any]:
    """Return Table 1."""
    columns = [summarize(column) for column in columns1()]
    columns[0]["choice"] = [
        {
            encoders.name_of(at): share
            for at, share in encoders.same_document_shares(0, seed).items()
        }
        for seed in SEEDS
    ]
    indexed = [summarize(column) for column in columns_taught_by("indexed")]
    return {"table": 1, "columns": columns, "indexed": indexed, **provenance()}


def table2() -> dict[str, Any]:
    """Return Table 2."""
    return {"table": 2, "columns": [summarize(column) for column in columns2()], **provenance()}


def again() -> Again:
    """Yield F1 of the rows that are no networks, on the first fold of a run."""
    name = "drmm-trec8"
    (kept,) = (one for one in read("paper", "table2")["columns"] if one["column"] == name)
    rows = {row["row"]: row["by_draw"][0] for row in kept["metrics"]["f1"]["rows"]}
    for row in table2_rows():
        if not row.neural:
            now = float(_rule(Draw(name, 0), row, "f1", "cpu")["values"].mean())
            yield f"{name}, {row.name}", rows[row.name], now


def by_encoder() -> dict[str, Any]:
    """Return Table 1 for three seeds of the encoder."""
    return {"columns": [summarize(column) for column in columns_by_encoder()], **provenance()}


def provenance() -> dict[str, Any]:
    """Return what a rerun needs to know: settings, data hashes, commit and versions."""
    files = [
        "reuters/aptemod.jsonl.xz",
        "c50/c50.tar.xz",
        "omniglot/images_background.npz",
        "omniglot/images_evaluation.npz",
        "robust04/qrels.robust04.txt.gz",
        *(f"robust04/runs/{name}.run.gz" for name in robust04.COLUMNS),
    ]
    artifacts = {f"omniglot, encoder 0, {s} epochs": omniglot.digest(s) for s in omniglot.STAGES}
    first = omniglot.STAGES[0]
    for encoder in ENCODERS[1:]:
        artifacts[f"omniglot, encoder {encoder}, {first} epochs"] = omniglot.digest(first, encoder)
    return {
        "settings": {
            "neighbours of the local methods": NEIGHBORS,
            "bounds of the Surprise threshold": BOUNDS,
            "BiCut": NETWORK | TRAINING,
            "BiCut on Omniglot": NETWORK | LARGE_TRAINING,
            "BiCut trained on": networks.origins(),
            "seeds of Table 1": list(SEEDS),
            "seeds of encoders": list(ENCODERS),
            "folds of Table 2": f"{robust04.FOLDS}, {DIVISIONS} divisions",
        },
        "data": {name: sha256(name) for name in files},
        "artifacts": artifacts,
        **stamp(),
    }


def keep_networks() -> None:
    """Write the cuts of all trained networks to the file that is part of the project."""
    columns = (*columns1(), *columns_taught_by("indexed"), *columns2())
    cells = [cell for column in columns for cell in column.cells()]
    networks.keep((*cell, values_of(*cell)) for cell in cells if cell[1].neural)


def progress(line: str) -> None:
    """Show where the work is, on one line of a terminal."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[K{line}")
        sys.stderr.flush()


def one_thread() -> None:
    """Keep torch to one thread: results then do not depend on the machine's cores."""
    torch.set_num_threads(1)
