"""Runs the rows of Tables 1 and 2 over several draws, and writes what came out as JSON."""

from __future__ import annotations

import hashlib
import inspect
import json
import platform
import sys
import time
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch

import paretocut as pc
from experiments.data import ROOT, data_dir, sha256
from experiments.paper import authorship, omniglot, robust04, same_document
from experiments.paper.cache import digest, hash_files, remember
from experiments.paper.retrieval import Task
from experiments.paper.rows import (
    BOUNDS,
    NEIGHBORS,
    NEURAL,
    NEURAL_DEPTH,
    NEURAL_DRAWS,
    NEURAL_LISTS,
    SAMPLED_NEIGHBORS,
    SURPRISE,
    Row,
    global_rows,
    local_rows,
    paper_value,
)
from paretocut.significance import holm, sign_flip_test
from paretocut.truncators import Truncator

RESULTS = Path(__file__).parent / "results"
SEEDS = range(5)
SPLITS = range(10)
EPOCHS = (15, 30, 60)
FEATURES: list[tuple[same_document.Analyzer, same_document.Norm]] = [
    ("word", "l2"),
    ("word", None),
    ("char", "l2"),
]
OMNIGLOT_TRAIN, OMNIGLOT_TEST = 4056, 500
"""Queries per draw, of 16,221 and 6,492: the local methods take their time."""
RIVALS = ("Global-k", "Local-k", "Isotonic", "BiCut, scores", "BiCut, encodings")

# The tasks.


def same_document_embeddings() -> tuple[np.ndarray[Any, np.dtype[np.float32]], dict[str, Any]]:
    """Return the embeddings of the chosen encoder, and how it was chosen."""
    inputs = {
        "data": sha256("reuters/aptemod.jsonl.xz"),
        "code": _source(
            same_document.read_documents, same_document.featurize, same_document.train_encoder
        ),
        "seed": 0,
    }

    def features(analyzer: same_document.Analyzer, norm: same_document.Norm) -> Any:
        documents = same_document.read_documents(data_dir())
        return same_document.featurize(documents, analyzer, norm)

    def candidate(analyzer: same_document.Analyzer, norm: same_document.Norm) -> float:
        say(f"Same Document: encoder on {analyzer} n-grams, normalised by {norm}")
        stages = same_document.train_encoder(features(analyzer, norm), epochs=EPOCHS[:1], seed=0)
        return same_document.nearest_share(stages[EPOCHS[0]])

    shares = {
        f"{analyzer} n-grams, {'length 1' if norm else 'not normalised'}": remember(
            "candidate",
            inputs | {"features": [analyzer, norm], "epochs": EPOCHS[0]},
            lambda analyzer=analyzer, norm=norm: candidate(analyzer, norm),  # type: ignore[misc]
        )
        for analyzer, norm in FEATURES
    }
    best = FEATURES[int(np.argmax(list(shares.values())))]

    def longer() -> Any:
        say(f"Same Document: {max(EPOCHS)} epochs of the encoder on {best[0]} n-grams")
        return same_document.train_encoder(features(*best), epochs=EPOCHS, seed=0)

    stages = remember("encoder", inputs | {"features": best, "epochs": EPOCHS}, longer)
    by_epoch = {str(epoch): same_document.nearest_share(out) for epoch, out in stages.items()}
    chosen = max(EPOCHS, key=lambda epoch: by_epoch[str(epoch)])
    choice = {
        f"features, {EPOCHS[0]} epochs": shares,
        "epochs": by_epoch,
        "chosen": [*best, chosen],
    }
    return stages[chosen], choice


def authorship_embeddings(epochs: int = 300) -> tuple[Any, Any, list[str]]:
    """Return the embeddings of training and test articles, and the names of the latter."""
    articles = authorship.read_articles(data_dir())
    train, test, names = authorship.draw(articles, seed=0)

    def encode() -> Any:
        say(f"News Authorship: {epochs} epochs of the encoder")
        features = authorship.featurize(train, test)
        model = authorship.train_encoder(features[0], epochs=epochs, seed=0)
        return tuple(authorship.encode(model, part) for part in features)

    inputs = {
        "data": sha256("c50/c50.tar.xz"),
        "code": _source(
            authorship.read_articles,
            authorship.draw,
            authorship.featurize,
            authorship.train_encoder,
        ),
        "seed": 0,
        "epochs": epochs,
    }
    return *remember("authors", inputs, encode), names


def _source(*functions: Any) -> str:
    return "".join(inspect.getsource(function) for function in functions)


# One row on one task.


def values_of(task: Task, row: Row, metric: str) -> dict[str, Any]:
    """Return cuts, metric values and query names of a row on a task's test lists."""
    truncator = row.make(metric)
    inputs = {
        "truncator": repr(truncator),
        # What the name means now, so that a change of the metric is not missed.
        "metric": [metric, pc.metrics.get(metric).curve([True, False, True], 5).tolist()],
        "train": digest(task.train),
        "test": digest(task.test),
        "limit": [NEURAL_LISTS, NEURAL_DEPTH] if row.neural else None,
        "code": hash_files(_code(truncator)),
    }
    if row.encodings:
        assert task.vectors is not None
        inputs["encodings"] = hashlib.sha256(task.vectors.tobytes()).hexdigest()

    def work() -> dict[str, Any]:
        start = time.perf_counter()
        train, test = task.train, task.test
        if row.neural:
            train = task.sample(NEURAL_LISTS, 0).train.truncate(NEURAL_DEPTH)
            test = test.truncate(NEURAL_DEPTH)
        if row.encodings:
            train, test = task.encoded(train), task.encoded(test)
        k = truncator.fit(train).predict(test)
        return {"k": k, "seconds": time.perf_counter() - start}

    found = remember(f"{task.name} {row.name.partition(',')[0]}", inputs, work)
    # Judged on the whole lists, also where a network saw only the first results.
    values = pc.metrics.get(metric)(task.test, found["k"])
    return found | {"values": values, "queries": task.test.query_ids}


def _code(truncator: Truncator) -> Iterable[Path]:
    """Return the sources that decide about a truncator's cuts."""
    package = Path(inspect.getfile(pc)).parent
    yield Path(inspect.getfile(type(truncator)))
    yield package / "truncators" / "_search.py"
    if type(truncator).__module__.startswith("paretocut.truncators.neural"):
        yield from (package / "truncators" / "neural").glob("_*.py")
    if type(truncator).__name__ == "Surprise":
        yield from (ROOT / "cpp").glob("*.[ch]pp")


def summarize(
    column: str, paper_column: str, tasks: list[Task], rows: list[Row], metrics: Iterable[str]
) -> dict[str, Any]:
    """Return the column of a table: every row's mean and deviation over draws, and paired tests."""
    out: dict[str, Any] = {
        "column": column,
        "paper_column": paper_column,
        "draws": len(tasks),
        "facts": tasks[0].facts,
        "test_queries_per_draw": len(tasks[0].test),
        "metrics": {},
    }
    for metric in metrics:
        found, lines = {}, []
        for row in rows:
            if metric not in row.metrics:
                continue
            draws = []
            for task in tasks[: NEURAL_DRAWS if row.neural else None]:
                progress(f"{column}, {metric}, {row.name}, draw {task.seed}")
                draws.append(values_of(task, row, metric))
            found[row.name] = draws
            means = np.array([draw["values"].mean() for draw in draws])
            cuts = np.concatenate([draw["k"] for draw in draws])
            lines.append(
                {
                    "row": row.name,
                    "in_paper": row.paper,
                    "paper": paper_value(paper_column, metric, row.name),
                    "mean": float(means.mean()),
                    "sd": float(means.std(ddof=1)) if len(means) > 1 else None,
                    "by_draw": means.tolist(),
                    "mean_k": float(cuts.mean()),
                    "empty": float((cuts == 0).mean()),
                    "seconds": float(sum(draw["seconds"] for draw in draws)),
                }
            )
        out["metrics"][metric] = {"rows": lines, "tests": _tests(found)}
    progress("")
    return out


def _tests(found: dict[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Return paired tests of both forms of Surprise against the paper's other rows."""
    pairs = [(own, rival) for own in SURPRISE for rival in RIVALS if {own, rival} <= found.keys()]
    if not pairs:
        return []
    differences = []
    for own, rival in pairs:
        common = min(len(found[own]), len(found[rival]))
        differences.append(_by_query(found[own][:common]) - _by_query(found[rival][:common]))
    # Networks may have seen fewer draws, and so fewer queries, than the others.
    raw = [float(sign_flip_test(gap[:, None], resamples=10_000, seed=0)[0]) for gap in differences]
    return [
        {"surprise": own, "rival": rival, "difference": float(gap.mean()), "p": float(p)}
        for (own, rival), gap, p in zip(pairs, differences, holm(np.array(raw)), strict=True)
    ]


def _by_query(draws: list[dict[str, Any]]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return each query's value, averaged over the draws it is in."""
    names = np.concatenate([draw["queries"] for draw in draws])
    values = np.concatenate([draw["values"] for draw in draws])
    _, position = np.unique(names, return_inverse=True)
    return np.bincount(position, weights=values) / np.bincount(position)


# The tables.


def table1(networks: bool = True) -> dict[str, Any]:
    """Return Table 1: Same Document, Omniglot at two stages of training, News Authorship."""
    rows = [row for row in local_rows() if networks or not row.neural]
    embeddings, choice = same_document_embeddings()
    columns = [
        summarize(
            "Same Document",
            "Same Document",
            [same_document.make_task(embeddings, seed) for seed in SEEDS],
            rows,
            ["accuracy"],
        )
    ]
    columns[0]["choice"] = choice
    for stage in omniglot.STAGES:
        arrays = omniglot.read_embeddings(stage)
        tasks = [omniglot.make_task(*arrays, seed) for seed in SEEDS]
        columns.append(
            summarize(
                f"Omniglot, {stage} epochs",
                "Omniglot",
                [task.sample(OMNIGLOT_TRAIN, OMNIGLOT_TEST) for task in tasks],
                [
                    row
                    for row in local_rows(SAMPLED_NEIGHBORS)
                    if not row.neural or (networks and stage == omniglot.STAGES[0])
                ],
                ["f1", "dcg"],
            )
        )
    articles = authorship_embeddings()
    columns.append(
        summarize(
            "News Authorship (C50)",
            "News Authorship",
            [authorship.make_task(*articles, seed) for seed in SEEDS],
            rows,
            ["f1", "dcg"],
        )
    )
    return {"table": 1, "columns": columns, **provenance()}


def table2(networks: bool = True) -> dict[str, Any]:
    """Return Table 2: the runs of Robust04."""
    rows = [row for row in global_rows() if networks or not row.neural]
    columns = [
        summarize(
            name,
            paper,
            [robust04.make_task(name, seed) for seed in SPLITS],
            rows,
            ["f1", "dcg"],
        )
        for name, paper in robust04.COLUMNS.items()
    ]
    return {"table": 2, "columns": columns, **provenance()}


def provenance() -> dict[str, Any]:
    """Return what a rerun needs to know: settings, data hashes, versions."""
    files = [
        "reuters/aptemod.jsonl.xz",
        "c50/c50.tar.xz",
        "omniglot/images_background.npz",
        "omniglot/images_evaluation.npz",
        "robust04/qrels.robust04.txt.gz",
        *(f"robust04/runs/{name}.run.gz" for name in robust04.COLUMNS),
    ]
    return {
        "settings": {
            "neighbours of the local methods": NEIGHBORS,
            "the same on Omniglot, of a quarter of the training queries": SAMPLED_NEIGHBORS,
            "bounds of the Surprise threshold": BOUNDS,
            "networks": NEURAL
            | {"training lists at most": NEURAL_LISTS, "results at most": NEURAL_DEPTH},
            "seeds of Table 1": list(SEEDS),
            "seeds of Table 2": list(SPLITS),
        },
        "data": {name: sha256(name) for name in files},
        "artifacts": hash_files(omniglot.artifact(stage) for stage in omniglot.STAGES),
        "versions": {
            "python": platform.python_version(),
            **{
                name: version(name)
                for name in ("paretocut", "numpy", "scikit-learn", "torch", "faiss-cpu")
            },
        },
    }


def write(name: str, content: dict[str, Any]) -> None:
    """Write a result file."""
    RESULTS.mkdir(exist_ok=True)
    text = json.dumps(content, indent=1, allow_nan=False) + "\n"
    (RESULTS / f"{name}.json").write_text(text, encoding="utf-8")


def read(name: str) -> dict[str, Any] | None:
    """Return what a result file holds, or None."""
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None


def say(line: str) -> None:
    """Show a line of progress."""
    sys.stderr.write(line + "\n")


def progress(line: str) -> None:
    """Show where the work is, on one line of a terminal."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[K{line}")
        sys.stderr.flush()


def one_thread() -> None:
    """Keep torch and FAISS to one thread: results then do not depend on the machine's cores."""
    import faiss

    torch.set_num_threads(1)
    faiss.omp_set_num_threads(1)
