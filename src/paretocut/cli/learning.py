"""``evaluate``, ``fit`` and ``calibrate``: learn a cut-off, with judgements or without."""

from __future__ import annotations

import codecs
import csv
import dataclasses
import math
import sys
import warnings
from argparse import Namespace
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import paretocut as pc
from paretocut.background import Background, QueryScale
from paretocut.calibration import calibrated, nonsense_queries
from paretocut.cli import arguments
from paretocut.cli.arguments import Commands, note, option, positive_int, print_json, read, warn
from paretocut.errors import InvalidParameterError
from paretocut.evaluation import Evaluation
from paretocut.evaluation.result import DEFAULT
from paretocut.fusion import Fusion, QueryCoverageWarning
from paretocut.io.formats import json_line, text_lines
from paretocut.io.streams import open_source, open_target
from paretocut.lists import RankedLists
from paretocut.loading import load_as
from paretocut.truncators import Accept, Calibrated, Conformal, Consensus, Gated, Truncator
from paretocut.truncators.consensus.pretrained import shipped
from paretocut.truncators.gated import GateCheck

# The default methods, simple ones first: one of each kind that needs no extra, no embeddings.
_METHODS = (
    "default fixed_k largest_gap autocut top_p surprise:alpha=0.05 surprise:evalue=0.05 "
    "distribution global_k raw minmax z surprise surprise:refit=all consensus"
).split()
# Those for lists judged in part: only `Consensus` learns from such lists.
_IN_PART = (
    "default fixed_k largest_gap autocut top_p minmax:threshold=0.5 surprise:alpha=0.05 "
    "distribution consensus"
).split()
# Depths of re-ranking: five fixed ones, and some that are learned.
_DEPTHS = (
    "fixed_k:k=10 fixed_k:k=20 fixed_k:k=50 fixed_k:k=100 fixed_k:k=200 "
    "global_k minmax consensus surprise"
).split()


def _methods_and_metrics(leave_out: str = "") -> str:
    methods = ", ".join(name for name in pc.truncators.names() if name != leave_out)
    return (
        f"A method is one of {methods}, or MODULE:CLASS for a class of your own. Parameters may "
        "follow a colon: surprise:refit=all,transform=log. "
        f"A metric is one of {', '.join(pc.metrics.names())}. The recall in f1 counts the relevant "
        "results in the list; f1/collection counts all relevant documents, as set_F of trec_eval "
        "does. In penalized_dcg an irrelevant result counts -1; plain dcg never favours a cut."
    )


def add_evaluate(commands: Commands) -> None:
    parser = arguments.command(commands, evaluate)
    parser.epilog = _methods_and_metrics()
    arguments.add_input(parser)
    arguments.add_judgements(parser)
    text = f"methods to evaluate (default: {len(_METHODS)}, one of each kind that needs no extra)"
    option(parser, "--methods METHOD", text, nargs="+")
    text = "metrics to report (default: f1 penalized_dcg; with --fuse f1/collection instead of f1)"
    option(parser, "--metrics METRIC", text, nargs="+")
    option(parser, "--baseline METHOD", "method to test against (default: `default`)")
    option(parser, "--folds N", "folds of the cross-validation (default: 5)", positive_int)
    text = "random splits instead of folds; with --folds, repeated cross-validations"
    option(parser, "--splits N", text, positive_int)
    option(parser, "--seed N", "seed of the splits", int, default=0)
    option(parser, "--jobs N", "processes", positive_int, default=1)
    text = "more runs of the same queries: one table of the runs, their fusions and their cuts"
    option(parser, "--fuse RUN", text, nargs="+", default=[])
    text = "scores of a re-ranker: compare how deep to re-rank, by nDCG@10 minus the cost of calls"
    option(parser, "--reranked RUN", text)
    option(parser, "--cost C", "with --reranked: cost of a result, in nDCG (default: 0)", float)
    spelling = parser.add_mutually_exclusive_group()
    for name in ("json", "markdown", "latex"):
        option(spelling, f"--{name}", f"print the tables as {name}")
    option(parser, "--values FILE", "also write the value of each query, split and method, as CSV")
    option(parser, "-q --quiet", "no warnings, no progress bar")


def evaluate(args: Namespace) -> None:
    """Find the best cut-off method for a run with judgements.

    Learns each method from one part of the queries and cuts the others. Prints, for each
    method: the mean of the metric over the test queries, its standard deviation over the
    splits, its interval, the difference from the baseline and its p-value, the mean number of
    results kept, and the share of queries left empty. `default` is what `cut` does without
    options. The last line says whether any method is shown to be better than it.
    """
    # Bad words are found before any file is read.
    named = args.metrics or ["f1/collection" if args.fuse else "f1", "penalized_dcg"]
    metrics = [pc.metrics.get(metric) for metric in named]
    usual = _DEPTHS if args.reranked else _IN_PART if args.unjudged == "unknown" else _METHODS
    methods: dict[str, Truncator | str] = {} if args.reranked else {DEFAULT: DEFAULT}
    for text in args.methods or usual:
        if text not in methods:
            methods[text] = arguments.method_of(text, "--methods", named[0])
    for name in ("metrics", "fuse"):
        if args.reranked and getattr(args, name):
            raise InvalidParameterError(
                f"--{name} must be left out with --reranked, got {getattr(args, name)}"
            )
    if args.cost is not None and not args.reranked:
        raise InvalidParameterError(f"--cost needs --reranked, got {args.cost} alone")
    # Each run finds other relevant documents: a recall of its own list would compare nothing.
    listed = [x.name for x in metrics if x.settings.get("recall_base") == "retrieved"]
    if args.fuse and listed:
        raise InvalidParameterError(
            "--metrics must count the relevant documents of the collection with --fuse, because "
            f"each run finds other ones: f1/collection, for example, got {listed[0]}"
        )
    names = arguments.short_names([args.run, *args.fuse])
    missing = "empty" if args.fuse else "drop"
    runs = {name: arguments.read_judged(args, x, missing=missing) for name, x in names.items()}
    lists = next(iter(runs.values()))
    if args.reranked:
        # The ideal order is that of all judged documents.
        second, qrels = read(args, args.reranked), pc.io.read_qrels(args.qrels)
        grades = dict(zip(qrels.query_ids.tolist(), qrels.grades, strict=True))
        metrics = [pc.metrics.reranked_ndcg(second, cost=args.cost or 0.0, grades=grades)]
    folded = args.folds is not None or args.splits is None
    protocol: dict[str, Any] = {
        "splits": args.splits or 1,
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

    def measured(lists: RankedLists) -> Evaluation:
        return pc.evaluate(methods, lists, metrics, **protocol)

    result = _evaluate_fused(runs, measured) if args.fuse else measured(lists)
    if args.values:
        rows = result.to_records()
        with open_target(args.values) as out:
            writer = csv.DictWriter(codecs.getwriter("utf-8")(out), rows[0])
            writer.writeheader()
            writer.writerows(rows)
    spelling = next((name for name in ("json", "markdown", "latex") if getattr(args, name)), None)
    text = f"{result}\n\n{result.verdict()}"
    sys.stdout.write(f"{getattr(result, f'to_{spelling}')() if spelling else text}\n")


def _evaluate_fused(
    runs: Mapping[str, RankedLists], measured: Callable[[RankedLists], Evaluation]
) -> Evaluation:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", QueryCoverageWarning)  # already noted for the judgements
        fused = {f"fused, {method}": pc.fuse(runs, method=method) for method in ("rrf", "z")}
        bare = {name: x.like(relevance=None, num_relevant=None) for name, x in runs.items()}
        fused["fused, fitted"] = Fusion().fit(bare).fuse(runs)
    tables = {}
    for name, lists in runs.items():
        place = {query: i for i, query in enumerate(lists.query_ids.tolist())}
        tables[name] = lists[[place[query] for query in fused["fused, z"].query_ids.tolist()]]
    found = {name: measured(lists) for name, lists in (tables | fused).items()}
    first = next(iter(found))
    return dataclasses.replace(
        found[first],
        truncators=tuple(f"{name}: {t}" for name, one in found.items() for t in one.truncators),
        ceiling=tuple(f"{name}: {t}" for name, one in found.items() for t in one.ceiling),
        baseline=f"{first}: {found[first].baseline}",
        k=np.concatenate([one.k for one in found.values()], axis=1),
        values=np.concatenate([one.values for one in found.values()], axis=1),
    )


def add_fit(commands: Commands) -> None:
    parser = arguments.command(commands, fit)
    parser.epilog = _methods_and_metrics(leave_out="oracle")
    arguments.add_input(parser)
    arguments.add_judgements(parser, needed=False)
    arguments.add_output(parser, "the model", "print what was learned as JSON")
    option(parser, "--method METHOD", "what to learn", default="consensus")
    option(parser, "--metric METRIC", "what to maximise", default="f1")
    arguments.add_options(parser, ["expect"])
    option(parser, "--keep-recall R", "keep at least this mean share of what is relevant", float)
    option(parser, "--unanswered RUN", "a run of queries for which the model keeps nothing")


def fit(args: Namespace) -> None:
    """Learn a cut-off from a run, with judgements or without.

    Trains a method on all judged queries and writes it as JSON for `paretocut cut --model`.
    Without judgements, --expect says how many results are relevant, and the run shows how its
    scores fall.
    """
    method = _method(args)
    lists = read(args) if args.qrels is None else arguments.read_judged(args)
    unanswered = None if args.unanswered is None else read(args, args.unanswered)
    if method.learns_slowly and not args.quiet:
        note(f"learning from {len(lists):,} queries, which takes minutes")
    method.fit(lists)
    if isinstance(method, Conformal) and method.threshold_ == -math.inf and not args.quiet:
        share = f"--keep-recall {args.keep_recall:g} cannot be promised from {len(lists)} queries"
        warn(f"{share}, so everything is kept; judge more queries")
    if unanswered is not None:
        method = Gated(method, Background.fit(unanswered))
    method.save(args.output)
    k = method.predict(lists)
    learned: dict[str, Any] = {"model": args.output, "method": repr(method)}
    learned |= {"queries": len(lists), "mean_k": float(k.mean())}
    reached = ""
    if lists.fully_judged:
        metric = pc.metrics.get(args.metric)
        learned |= {"metric": metric.name, "training_value": float(metric(lists, k).mean())}
        reached = f": {metric.name} {learned['training_value']:.3f} on these"
    if args.json:
        print_json(learned)
    elif not args.quiet:
        told = f"{method!r} learned from {len(lists)} queries{reached}, {k.mean():.1f} results kept"
        note(f"{told} on average; `paretocut evaluate` shows what to expect on other queries")
        if isinstance(method, Accept):
            note(method.report())


def _method(args: Namespace) -> Truncator:
    method = arguments.method_of(args.method, "--method", args.metric)
    if isinstance(method, pc.truncators.Oracle):
        got = "oracle, which looks at the judgements of the query it cuts"
        raise InvalidParameterError(f"--method must be a method that learns, got {got}")
    if args.expect is not None:
        if not isinstance(method, Consensus):
            raise InvalidParameterError(
                f"--expect must come with --method consensus, got {args.method}"
            )
        method.set_params(expect=args.expect)
    elif args.qrels is None:
        raise InvalidParameterError("judgements (QRELS) or --expect must be given, got neither")
    if args.keep_recall is not None:
        if args.qrels is None:
            raise InvalidParameterError("--keep-recall must come with QRELS, got none")
        if not 0 < args.keep_recall < 1:
            raise InvalidParameterError(
                f"--keep-recall must be in (0, 1), got {args.keep_recall:g}"
            )
        method = Conformal(method, loss="fnr", level=round(1 - args.keep_recall, 12))
    method.check()
    return method


# The options of each form of calibrate, beside --json and --quiet.
_READING = "format distances max_bytes"
_CHECKING = "query_texts check_good check_off_topic"
_TAKES = {
    "--texts and no RUN": "texts lexical n size seed output",
    "RUN": f"{_READING} {_CHECKING} texts lexical query_run alpha unanswered expect output",
    "--check": f"{_READING} {_CHECKING} check imports",
    "--background": f"{_READING} background size output",
}


def add_calibrate(commands: Commands) -> None:
    parser = arguments.command(commands, calibrate)
    arguments.add_input(parser, needed=False)
    json = "print what was found as JSON"
    arguments.add_output(parser, "the queries or the model", json, required=False)
    option(parser, "--texts FILE", "some hundred texts of the index, one per line")
    option(parser, "--lexical", "the scores come from word matching (BM25)")
    arguments.add_query_texts(parser, "for lexical scores only")
    option(parser, "--size N", "documents in the index (default: as many as texts)", positive_int)
    make = parser.add_argument_group("make the queries: calibrate --texts FILE")
    option(make, "-n N", "how many (default: 100)", positive_int)
    option(make, "--seed N", "seed (default: 0)", int)
    learn = parser.add_argument_group("learn: calibrate RUN")
    option(learn, "--query-run RUN", "run of real queries, in the format of RUN")
    option(learn, "--alpha P", "share of the nonsense that gets results (default: 0.05)", float)
    option(learn, "--unanswered P", "share of queries without an answer (default: 0.05)", float)
    arguments.add_options(learn, ["expect"])
    check = parser.add_argument_group("compare later: calibrate --check MODEL RUN")
    option(check, "--check MODEL", "a model from `calibrate RUN`")
    option(check, "--check-good RUN", "run of questions that the index answers, to be counted")
    option(check, "--check-off-topic RUN", "run of questions that it does not answer")
    arguments.add_imports(check)
    gate = parser.add_argument_group("learn a gate alone: calibrate --background RUN")
    option(gate, "--background", "write a background, to be combined with any method")


def calibrate(args: Namespace) -> None:
    """Learn without judgements when to return nothing, and how many results to expect.

    Three steps. `calibrate --texts FILE` makes queries that mean nothing from words of your
    index. Search for them. `calibrate RUN` learns from the run of this nonsense, and from real,
    unjudged queries (--query-run); it writes a model for `paretocut cut --model`. Later,
    `calibrate --check MODEL RUN` says whether new lists look the "same", "changed" or "unsure";
    --check-good and --check-off-topic are runs of questions that your index answers and of
    others, to count what the gate does to them. Lexical scores (BM25) grow with every word of
    the query: give --lexical in the first two steps and --query-texts in the last two. With ten
    or more queries without an answer, one step is enough: `calibrate --background RUN` learns
    how high they score, for `paretocut cut --background`.
    """
    if args.check and (args.run or args.check_good or args.check_off_topic):
        form, step = "--check", _check
    elif args.background and args.run:
        form, step = "--background", _learn_background
    elif args.run:
        form, step = "RUN", _learn
    elif args.texts and not args.check:
        form, step = "--texts and no RUN", _make
    else:
        got = "no RUN" if args.check or args.background else "none of them"
        forms = "--texts FILE, RUN, --background RUN or --check MODEL RUN"
        raise InvalidParameterError(f"{forms} must be given, got {got}")
    every = " ".join(_TAKES.values()).split()
    for name in sorted(set(every).difference(_TAKES[form].split())):
        if (given := getattr(args, name)) not in (None, False, []):
            raise InvalidParameterError(
                f"{arguments.flag(name)} must be left out with {form}, got {given}"
            )
    if args.output is None and form in ("RUN", "--background"):
        raise InvalidParameterError("-o must name the file to write, got none")
    step(args)


def _make(args: Namespace) -> None:
    texts = _texts(args.texts)
    how = {"lexical": args.lexical, "size": args.size or len(texts), "seed": args.seed or 0}
    with open_target(args.output or "-") as out:
        for i, query in enumerate(nonsense_queries(texts, args.n or 100, **how), 1):
            row = {"id": f"nonsense-{i}", "text": query}
            out.write(json_line(row) if args.json else "\t".join(row.values()).encode() + b"\n")


def _learn(args: Namespace) -> None:
    together = {"--lexical": args.lexical, "--texts": args.texts, "--query-texts": args.query_texts}
    given = [option for option, value in together.items() if value]
    if given and len(given) < len(together):
        raise InvalidParameterError(
            f"{', '.join(together)} must come together with RUN, got {', '.join(given)}"
        )
    nonsense = read(args)
    queries = None if args.query_run is None else read(args, args.query_run)
    how = arguments.given_options(args, ("alpha", "unanswered", "expect"))
    if args.lexical:
        runs = [lists for lists in (nonsense, queries) if lists is not None]
        how["texts"] = arguments.query_texts(args, *runs, lexical=True)
        how["scale"] = QueryScale.from_texts(_texts(args.texts))
    model = calibrated(nonsense, queries, **how)
    model.save(args.output)
    checked = _evaluated(args, model)
    if args.json:
        found = {"model": args.output, "threshold": model.threshold(), "report": model.report()}
        print_json(found | ({} if checked is None else {"evaluated": checked.to_dict()}))
    elif not args.quiet:
        note(model.report() if checked is None else f"{model.report()}\n{checked}")


def _learn_background(args: Namespace) -> None:
    lists = read(args)
    found = Background.fit(lists, size=args.size)
    found.save(args.output)
    limit = found.limit(0.05)
    if args.json:
        print_json({"background": args.output, "queries": len(lists), "limit": limit})
    elif not args.quiet:
        best = "below" if args.distances else "above"
        share = f"5 % of such queries have a best score {best} {limit:.4g}"
        note(f"{len(lists)} queries without an answer: {share}")


def _check(args: Namespace) -> None:
    what = "a model that `paretocut calibrate` wrote"
    model = load_as(Calibrated, what, args.check, "--check")
    content, lines = {}, []
    if args.run:
        lists = read(args)
        texts = arguments.query_texts(args, lists, lexical=model.needs_queries)
        found = model.drift(lists, queries=texts)
        names = ("verdict", "pvalue", "distance", "lists")
        content, lines = {name: getattr(found, name) for name in names}, [found.text]
    if (checked := _evaluated(args, model)) is not None:
        content |= {"evaluated": checked.to_dict()}
        lines.append(str(checked))
    if args.json:
        print_json(content)
    else:
        sys.stdout.write("\n".join([*lines, ""]))


def _evaluated(args: Namespace, model: Calibrated) -> GateCheck | None:
    given: dict[str, Any] = {}
    for name in ("good", "off_topic"):
        if (path := getattr(args, f"check_{name}")) is not None:
            lists = read(args, path)
            texts = arguments.query_texts(args, lists, lexical=model.needs_queries)
            given[name] = lists if texts is None else dict(zip(texts, lists.scores, strict=True))
    return model.evaluate(**given) if given else None


def _texts(path: str) -> list[str]:
    with open_source(path) as source:
        return list(text_lines(source))
