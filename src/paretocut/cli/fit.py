"""``fit``: learn a cut-off from a run, with judgements or without."""

from __future__ import annotations

import math
from argparse import ArgumentParser, Namespace
from typing import Any

import paretocut as pc
from paretocut.cli import arguments
from paretocut.cli.arguments import option
from paretocut.cli.terminal import note, print_json, warn
from paretocut.errors import InvalidParameterError
from paretocut.truncators import Accept, Conformal, Consensus, Gated, Oracle, Truncator

SUMMARY = "learn a cut-off from a run, with judgements or without"
DESCRIPTION = """Trains a method on all judged queries and writes it as JSON for
`paretocut cut --model`. Without judgements, --expect says how many results are relevant, and the
run shows how its scores fall."""


def add_arguments(parser: ArgumentParser) -> None:
    parser.epilog = arguments.methods_and_metrics(leave_out="oracle")
    arguments.add_input(parser)
    arguments.add_judgements(parser, needed=False)
    arguments.add_output(parser, "the model", "print what was learned as JSON")
    option(parser, "--method METHOD", "what to learn", default="consensus")
    option(parser, "--metric METRIC", "what to maximise", default="f1")
    arguments.add_options(parser, ["expect"])
    text = "keep at least this share of the relevant results on average (Conformal)"
    option(parser, "--keep-recall R", text, float)
    text = "a run of queries without an answer: the model keeps nothing for such queries"
    option(parser, "--unanswered RUN", text)


def run(args: Namespace) -> None:
    method = _method(args)
    lists = arguments.read(args) if args.qrels is None else arguments.read_judged(args)
    unanswered = None if args.unanswered is None else arguments.read(args, args.unanswered)
    if method.learns_slowly and not args.quiet:
        note(f"learning from {len(lists):,} queries, which takes minutes")
    method.fit(lists)
    if isinstance(method, Conformal) and method.threshold_ == -math.inf and not args.quiet:
        warn(
            f"--keep-recall {args.keep_recall:g} cannot be promised from {len(lists)} queries, so "
            "everything is kept; judge more queries"
        )
    if unanswered is not None:
        method = Gated(method, pc.Background.fit(unanswered))
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
        note(
            f"{method!r} learned from {len(lists)} queries{reached}, {k.mean():.1f} results kept "
            "on average; `paretocut evaluate` shows what to expect on other queries"
        )
        if isinstance(method, Accept):
            note(method.report())


def _method(args: Namespace) -> Truncator:
    """Return the method to fit; bad words are found before any file is read."""
    method = arguments.method_of(args.method, "--method", args.metric)
    if isinstance(method, Oracle):
        raise InvalidParameterError(
            "--method must be a method that learns, got oracle, which looks at the judgements of "
            "the query it cuts"
        )
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
