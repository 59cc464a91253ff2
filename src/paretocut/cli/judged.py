"""``compare`` and ``fit``: the commands that use judgements."""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from typing import Any

import paretocut as pc
from paretocut import truncators
from paretocut.cli._common import (
    Commands,
    add_expect,
    add_grading,
    add_input,
    add_quiet,
    expect_of,
    note,
    positive_int,
    read,
    read_another,
)
from paretocut.cli.fusion import compared, names_of
from paretocut.errors import InvalidParameterError, InvalidScoresError
from paretocut.evaluation import evaluate
from paretocut.lists import RankedLists
from paretocut.truncators import Truncator, from_text

_METHODS = (
    "global_k",
    "fixed_k",
    "raw",
    "minmax",
    "z",
    "consensus",
    "surprise",
    "surprise:refit=all",
    "surprise:alpha=0.05",
    "surprise:evalue=0.05",
    "distribution",
    "largest_gap",
    "autocut",
    "top_p",
)
"""What ``compare`` compares by default: one of each kind that needs no extra and no embeddings."""

_IN_PART = (
    *("consensus", "fixed_k", "minmax:threshold=0.5", "surprise:alpha=0.05"),
    *("distribution", "largest_gap", "autocut", "top_p"),
)
"""The same for lists judged in part: `Consensus` learns from them, the others learn nothing."""

_DEPTHS = (
    *(f"fixed_k:k={k}" for k in (10, 20, 50, 100, 200)),
    *("global_k", "minmax", "consensus", "surprise"),
)
"""The same for depths of re-ranking: some for all queries, and some learned for each."""


def add_commands(commands: Commands) -> None:
    """Add ``compare`` and ``fit`` to the command line."""
    methods = (
        "A method is one of "
        + ", ".join(truncators.names())
        + "; parameters may follow: surprise:refit=all,transform=log. "
        "A metric is one of " + ", ".join(pc.metrics.names()) + ". "
        "f1 takes recall over the relevant results in the list, f1/collection over all relevant "
        "documents, as trec_eval's set_F does; in dcg a result that is not relevant counts -1."
    )
    compare = commands.add_parser(
        "compare",
        help="find the best cut-off method for a run with judgements",
        description="Learns each method on part of the queries, cuts the others, and prints how "
        "well that went: mean over test queries, its standard deviation over splits, its interval, "
        "difference to the baseline and its p-value, mean number kept, share of queries of which "
        "none is kept.",
        epilog=methods,
    )
    _add_judged(compare)
    compare.add_argument(
        "--methods",
        nargs="+",
        metavar="METHOD",
        help="methods to compare (default: those that need no extra, one of each kind)",
    )
    compare.add_argument(
        "--metrics",
        nargs="+",
        metavar="METRIC",
        help="metrics to learn and to compare by (default: f1 dcg)",
    )
    compare.add_argument(
        "--baseline", metavar="METHOD", help="method to test against (default: the first)"
    )
    compare.add_argument(
        "--splits", type=positive_int, default=5, metavar="N", help="random splits (default: 5)"
    )
    compare.add_argument(
        "--train",
        type=float,
        default=0.8,
        metavar="SHARE",
        help="share of the queries to learn from (default: 0.8)",
    )
    compare.add_argument(
        "--folds", type=positive_int, metavar="N", help="cross-validation instead of random splits"
    )
    compare.add_argument("--seed", type=int, default=0, metavar="N", help="seed (default: 0)")
    compare.add_argument(
        "--jobs", type=positive_int, default=1, metavar="N", help="processes (default: 1)"
    )
    compare.add_argument(
        "--fuse",
        nargs="+",
        metavar="RUN",
        help="more runs of the same queries: single runs, their fusions and the cuts of all of "
        "them in one table",
    )
    compare.add_argument(
        "--reranked",
        metavar="RUN",
        help="the same results with the scores of a re-ranker: compare how deep to re-rank, by "
        "nDCG@10 after it minus the cost of its calls",
    )
    compare.add_argument(
        "--cost",
        type=float,
        metavar="C",
        help="with --reranked: what the re-ranking of one result costs in nDCG (default: 0)",
    )
    spelling = compare.add_mutually_exclusive_group()
    for name in ("json", "markdown", "latex"):
        spelling.add_argument(f"--{name}", action="store_true", help=f"print the tables as {name}")
    compare.set_defaults(run_command=_compare)

    fit = commands.add_parser(
        "fit",
        help="learn a cut-off from a run, with judgements or without",
        description="Learns a method from all queries that have judgements, and writes it as "
        "JSON for `paretocut cut --model`. Without judgements, --expect tells how many results "
        "are relevant, and the run how its scores fall.",
        epilog=methods,
    )
    _add_judged(fit, needed=False)
    fit.add_argument(
        "--method",
        default="consensus",
        metavar="METHOD",
        help="what to learn (default: consensus)",
    )
    add_expect(fit)
    fit.add_argument(
        "--keep-recall",
        type=float,
        metavar="R",
        help="keep at least this share of the relevant results on average (Conformal)",
    )
    fit.add_argument(
        "--unanswered",
        metavar="RUN",
        help="a run of queries without an answer: the model keeps nothing for such queries",
    )
    fit.add_argument(
        "--metric", default="f1", metavar="METRIC", help="what to maximise (default: f1)"
    )
    fit.add_argument(
        "-o", "--output", required=True, metavar="FILE", help="where to write the model"
    )
    fit.add_argument("--json", action="store_true", help="print what was learned as JSON")
    fit.set_defaults(run_command=_fit)


def _add_judged(parser: argparse.ArgumentParser, *, needed: bool = True) -> None:
    add_input(parser)
    parser.add_argument(
        "qrels",
        metavar="QRELS",
        nargs=None if needed else "?",
        help="judgements in TREC format",
    )
    add_grading(parser)
    add_quiet(parser)


def _read(args: argparse.Namespace, **judged: str) -> RankedLists:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", pc.io.CoverageWarning)
        lists = read(args, qrels=args.qrels, min_grade=args.min_grade, **judged)
    notes = [str(warning.message) for warning in caught]
    # Unknown grades are NaN, and no NaN is above anything.
    if len(lists) and lists.relevance is not None and not _any_relevant(lists.relevance, args):
        notes.append(f"no result has grade {args.min_grade:g} or more: there is nothing to learn")
    if not args.quiet:
        for text in notes:
            note(text, who="warning: ")
    if not len(lists):
        raise InvalidScoresError(
            f"{args.run} and {args.qrels} must have queries in common, got none"
        )
    return lists


def _any_relevant(grades: pc.lists.Ragged, args: argparse.Namespace) -> bool:
    return bool((grades.values >= args.min_grade).any())


def _compare(args: argparse.Namespace) -> None:
    # Bad words are found before any file is read.
    named = args.metrics or ["f1", "dcg"]
    metrics = [pc.metrics.get(metric) for metric in named]
    in_part = args.unjudged == "unknown"
    usual = _DEPTHS if args.reranked else _IN_PART if in_part else _METHODS
    chosen = args.methods or usual
    methods = {text: from_text(text, named[0]) for text in chosen}
    _check_reranked(args)
    judged = {"missing": "empty" if args.fuse else "drop", "unjudged": args.unjudged}
    lists = _read(args, **judged)
    if args.reranked:
        metrics = [_reranked(args)]
    protocol: dict[str, Any] = {
        "splits": args.splits,
        "train": args.train,
        "folds": args.folds,
        # Values of lists judged in part are estimates, which no test compares.
        "baseline": args.baseline or (chosen[0] if lists.fully_judged else None),
        "seed": args.seed,
        "n_jobs": args.jobs,
        "progress": not args.quiet,
    }
    if args.fuse:
        runs: dict[str, RankedLists] = {}
        for name, run in names_of([args.run, *args.fuse]).items():
            args.run = run
            runs[name] = _read(args, **judged) if runs else lists
        result = compared(runs, methods, metrics, **protocol)
    else:
        result = evaluate(methods, lists, metrics, **protocol)
    if args.json:
        text = result.to_json()
    elif args.markdown:
        text = result.to_markdown()
    elif args.latex:
        text = result.to_latex()
    else:
        text = str(result)
    sys.stdout.write(text + "\n")


def _check_reranked(args: argparse.Namespace) -> None:
    """Refuse options that do not go together."""
    for name in ("metrics", "fuse"):
        if args.reranked and getattr(args, name):
            raise InvalidParameterError(
                f"compare: --{name} must be left out with --reranked, got {getattr(args, name)}"
            )
    if args.cost is not None and not args.reranked:
        raise InvalidParameterError(f"compare: --cost needs --reranked, got {args.cost} alone")


def _reranked(args: argparse.Namespace) -> pc.metrics.Metric:
    """Return nDCG@10 after re-ranking, of the ideal order of all judged documents."""
    qrels = pc.io.read_qrels(args.qrels)
    pairs = zip(qrels.query_ids.tolist(), qrels.grades, strict=True)
    return pc.metrics.reranked_ndcg(
        read_another(args, args.reranked), cost=args.cost or 0.0, grades=dict(pairs)
    )


def _fit(args: argparse.Namespace) -> None:
    method = _method(args)
    lists = read(args) if args.qrels is None else _read(args, unjudged=args.unjudged)
    gate = None if args.unanswered is None else read_another(args, args.unanswered)
    method.fit(lists)
    if gate is not None:
        method = truncators.Gated(method, pc.Background.fit(gate))
    method.save(args.output)
    k = method.predict(lists)
    learned: dict[str, Any] = {
        "model": args.output,
        "method": repr(method),
        "queries": len(lists),
        "mean_k": float(k.mean()),
    }
    told = f"{method!r} learned from {len(lists)} queries"
    if lists.fully_judged:
        metric = pc.metrics.get(args.metric)
        reached = float(metric(lists, k).mean())
        learned |= {"metric": metric.name, "training_value": reached}
        told += f": {metric.name} {reached:.3f} on these"
    if args.json:
        sys.stdout.write(json.dumps(learned) + "\n")
    elif not args.quiet:
        note(
            f"{told}, {k.mean():.1f} results kept on average; `paretocut compare` tells what to "
            "expect of others"
        )


def _method(args: argparse.Namespace) -> Truncator:
    """Return what is to be learned; bad words are found before any file is read."""
    method = from_text(args.method, args.metric)
    expect = expect_of(args)
    if expect is not None:
        if not isinstance(method, truncators.Consensus):
            raise InvalidParameterError(
                f"fit: --expect must come with --method consensus, got {args.method}"
            )
        method.set_params(expect=expect)
    elif args.qrels is None:
        raise InvalidParameterError(
            "fit: judgements (QRELS) or --expect must be given, got neither"
        )
    if args.keep_recall is not None:
        if args.qrels is None:
            raise InvalidParameterError("fit: --keep-recall must come with QRELS, got none")
        if not 0 < args.keep_recall < 1:
            raise InvalidParameterError(
                f"fit: --keep-recall must be in (0, 1), got {args.keep_recall:g}"
            )
        method = truncators.Conformal(method, loss="fnr", level=1 - args.keep_recall)
    method._validate()
    return method
