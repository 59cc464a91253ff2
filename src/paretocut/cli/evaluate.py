"""``evaluate``: find the best cut-off method for a run with judgements."""

from __future__ import annotations

import csv
import dataclasses
import re
import sys
import warnings
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from typing import Any

import numpy as np

import paretocut as pc
from paretocut.cli import arguments
from paretocut.cli.arguments import option, positive_int
from paretocut.cli.terminal import note
from paretocut.errors import InvalidParameterError
from paretocut.evaluation import Evaluation, evaluate
from paretocut.evaluation.result import DEFAULT
from paretocut.fusion import Fusion, QueryCoverageWarning
from paretocut.lists import RankedLists
from paretocut.truncators import Consensus, Truncator
from paretocut.truncators.consensus.pretrained import shipped

SUMMARY = "find the best cut-off method for a run with judgements"
DESCRIPTION = """Learns each method from one part of the queries and cuts the others. Prints, for
each method: the mean of the metric over the test queries, its standard deviation over the splits,
its interval, the difference from the baseline and its p-value, the mean number of results kept, and
the share of queries left empty. The method `default` is what `cut` does without options. The last
line says whether any method is shown to be better than it."""

_METHODS = (
    *("default", "fixed_k", "largest_gap", "autocut", "top_p", "surprise:alpha=0.05"),
    *("surprise:evalue=0.05", "distribution", "global_k", "raw", "minmax", "z", "surprise"),
    *("surprise:refit=all", "consensus"),
)
"""The default methods, simple ones first: one of each kind that needs no extra, no embeddings."""

_IN_PART = (
    *("default", "fixed_k", "largest_gap", "autocut", "top_p", "minmax:threshold=0.5"),
    *("surprise:alpha=0.05", "distribution", "consensus"),
)
"""The default methods for lists judged in part: only `Consensus` learns from such lists."""

_DEPTHS = (
    *(f"fixed_k:k={k}" for k in (10, 20, 50, 100, 200)),
    *("global_k", "minmax", "consensus", "surprise"),
)
"""The default depths of re-ranking: five fixed ones, and some that are learned."""


def add_arguments(parser: ArgumentParser) -> None:
    parser.epilog = arguments.methods_and_metrics()
    arguments.add_input(parser)
    arguments.add_judgements(parser)
    text = f"methods to evaluate (default: {len(_METHODS)}, one of each kind that needs no extra)"
    option(parser, "--methods METHOD", text, nargs="+")
    text = (
        "metrics to train for and to report (default: f1 penalized_dcg; f1/collection with --fuse)"
    )
    option(parser, "--metrics METRIC", text, nargs="+")
    option(parser, "--baseline METHOD", "method to test against (default: `default`)")
    text = "folds of the cross-validation: each query is cut by what the other folds taught"
    option(parser, "--folds N", f"{text} (default: 5)", positive_int)
    text = "random splits instead of folds; with --folds, repeated cross-validations"
    option(parser, "--splits N", text, positive_int)
    option(parser, "--train SHARE", "share of the queries that random splits learn from", float)
    option(parser, "--seed N", "seed of the splits", int, default=0)
    option(parser, "--jobs N", "processes", positive_int, default=1)
    option(
        parser,
        "--fuse RUN",
        "more runs of the same queries; one table shows the single runs, their fusions and all "
        "their cuts",
        nargs="+",
        default=[],
    )
    option(
        parser,
        "--reranked RUN",
        "the same results with the scores of a re-ranker: compare how deep to re-rank, by the "
        "nDCG@10 that it reaches minus the cost of its calls",
    )
    text = "with --reranked: cost of re-ranking one result, in nDCG (default: 0)"
    option(parser, "--cost C", text, float)
    spelling = parser.add_mutually_exclusive_group()
    for name in ("json", "markdown", "latex"):
        option(spelling, f"--{name}", f"print the tables as {name}")
    text = "also write one line for each query, split, method and metric, as CSV"
    option(parser, "--values FILE", text)
    option(parser, "-q --quiet", "no warnings, no progress bar")


def run(args: Namespace) -> None:
    # Bad words are found before any file is read.
    named = args.metrics or ["f1/collection" if args.fuse else "f1", "penalized_dcg"]
    metrics = [pc.metrics.get(metric) for metric in named]
    usual = _DEPTHS if args.reranked else _IN_PART if args.unjudged == "unknown" else _METHODS
    texts = args.methods or usual
    methods: dict[str, Truncator | str] = {} if args.reranked else {DEFAULT: DEFAULT}
    for text in texts:
        if text not in methods:
            methods[text] = arguments.method_of(text, "--methods", named[0])
    _check_reranked(args)
    _check_fused(args)
    names = arguments.short_names([args.run, *args.fuse])
    missing = "empty" if args.fuse else "drop"
    runs = {name: arguments.read_judged(args, x, missing=missing) for name, x in names.items()}
    lists = next(iter(runs.values()))
    if args.reranked:
        metrics = [_reranked(args)]
    folded = args.folds is not None or (args.splits, args.train) == (None, None)
    protocol: dict[str, Any] = {
        "splits": args.splits or (1 if folded else 5),
        "train": 0.8 if args.train is None else args.train,
        "folds": (args.folds or min(5, max(len(lists), 2))) if folded else None,
        # The values of lists judged in part are estimates, and no test compares them.
        "baseline": args.baseline or (next(iter(methods)) if lists.fully_judged else None),
        "seed": args.seed,
        "n_jobs": args.jobs,
        "progress": not args.quiet,
    }
    if not args.quiet:
        note(f"{len(methods)} methods: {', '.join(methods)}")
        if any(isinstance(method, Consensus) for method in methods.values()):
            known = ", ".join(sorted(shipped().values["f1"]))
            note(f"consensus learned from these before; a table on one flatters it: {known}")
    if args.fuse:
        result = _evaluate_fused(runs, methods, metrics, protocol)
    else:
        result = evaluate(methods, lists, metrics, **protocol)
    if args.values:
        _write_values(args.values, result)
    spelling = next((name for name in ("json", "markdown", "latex") if getattr(args, name)), None)
    if spelling is not None:
        text = getattr(result, f"to_{spelling}")()
    else:
        text = f"{result}\n\n{result.verdict()}"
    sys.stdout.write(f"{text}\n")


def _write_values(path: str, result: Evaluation) -> None:
    rows = result.to_records()
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def _check_reranked(args: Namespace) -> None:
    for name in ("metrics", "fuse"):
        if args.reranked and getattr(args, name):
            raise InvalidParameterError(
                f"--{name} must be left out with --reranked, got {getattr(args, name)}"
            )
    if args.cost is not None and not args.reranked:
        raise InvalidParameterError(f"--cost needs --reranked, got {args.cost} alone")


def _check_fused(args: Namespace) -> None:
    # Each run finds other relevant documents: a recall of its own list would compare nothing.
    listed = [x for x in args.metrics or () if re.fullmatch(r"f[\d.]+|recall", x)]
    if args.fuse and listed:
        raise InvalidParameterError(
            "--metrics must count the relevant documents of the collection with --fuse, because "
            f"each run finds other ones: f1/collection, for example, got {listed[0]}"
        )


def _reranked(args: Namespace) -> pc.metrics.Metric:
    """Return nDCG@10 after re-ranking; the ideal order is that of all judged documents."""
    second = arguments.read(args, args.reranked)
    qrels = pc.io.read_qrels(args.qrels)
    grades = dict(zip(qrels.query_ids.tolist(), qrels.grades, strict=True))
    return pc.metrics.reranked_ndcg(second, cost=args.cost or 0.0, grades=grades)


def _evaluate_fused(
    runs: Mapping[str, RankedLists],
    methods: Mapping[str, Truncator | str],
    metrics: Any,
    protocol: Mapping[str, Any],
) -> Evaluation:
    """Return one table of every method on the single runs and on their fusions."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", QueryCoverageWarning)  # already noted for the judgements
        fused = {f"fused, {method}": pc.fuse(runs, method=method) for method in ("rrf", "z")}
        bare = {name: x.like(relevance=None, num_relevant=None) for name, x in runs.items()}
        fused["fused, fitted"] = Fusion().fit(bare).fuse(runs)
    order = fused["fused, z"].query_ids.tolist()
    tables = fused.copy()
    for name, lists in runs.items():
        place = {query: i for i, query in enumerate(lists.query_ids.tolist())}
        tables[name] = lists[[place[query] for query in order]]
    found = {name: evaluate(methods, tables[name], metrics, **protocol) for name in (*runs, *fused)}
    first = next(iter(found))
    return dataclasses.replace(
        found[first],
        truncators=tuple(f"{name}: {t}" for name, one in found.items() for t in one.truncators),
        ceiling=tuple(f"{name}: {t}" for name, one in found.items() for t in one.ceiling),
        baseline=f"{first}: {found[first].baseline}",
        k=np.concatenate([one.k for one in found.values()], axis=1),
        values=np.concatenate([one.values for one in found.values()], axis=1),
    )
