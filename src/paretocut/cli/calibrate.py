"""``calibrate``: learn from an index without a judgement, and see later whether it changed."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from typing import Any

from paretocut.background import Background, QueryScale
from paretocut.calibration import calibrated, nonsense_queries
from paretocut.cli import arguments
from paretocut.cli.arguments import option, positive_int
from paretocut.cli.terminal import note, print_json
from paretocut.errors import DataFormatError, InvalidParameterError
from paretocut.io.formats import json_line
from paretocut.io.streams import open_target
from paretocut.loading import load_as
from paretocut.truncators import Calibrated
from paretocut.truncators.gated import GateCheck

SUMMARY = "learn without judgements when to return nothing, and how many results to expect"
DESCRIPTION = """Three steps. First, `calibrate --texts FILE` makes queries that mean nothing from
words of your index. Search for them. Second, `calibrate RUN` learns from the run of this nonsense,
and from real, unjudged queries (--query-run) if you have some; it writes a model for
`paretocut cut --model`. Later, `calibrate --check MODEL RUN` compares new lists with those of
--query-run, and says "same", "changed" or "unsure". With --check-good and --check-off-topic, runs
of questions that your index answers and of others, it counts what the gate does to them. Lexical
scores (BM25) grow with every word of
the query: for these, give --lexical in the first two steps and --query-texts in the last two.
With questions that have no answer, one step is enough: `calibrate --background RUN` learns how high
they score, for `paretocut cut --background`. RUN holds at least ten of them, preferably a
hundred."""

_READING = ("format", "distances", "max_bytes")
_TAKES = {
    "--texts and no RUN": ("texts", "lexical", "n", "size", "seed", "output"),
    "RUN": (
        *(*_READING, "texts", "lexical", "query_texts", "query_run"),
        *("alpha", "unanswered", "expect", "output", "check_good", "check_off_topic"),
    ),
    "--check": (*_READING, "check", "query_texts", "imports", "check_good", "check_off_topic"),
    "--background": (*_READING, "background", "size", "context", "output"),
}
"""The options of each form, beside --json and --quiet."""


def add_arguments(parser: ArgumentParser) -> None:
    arguments.add_input(parser, needed=False)
    arguments.add_output(
        parser, "the queries or the model", "print what was found as JSON", required=False
    )
    text = "a few hundred texts of the index, one per line; with RUN, only for --lexical"
    option(parser, "--texts FILE", text)
    option(parser, "--lexical", "the scores come from word matching (BM25)")
    arguments.add_query_texts(parser, "for lexical scores only")
    text = "documents in the index: a small one needs other words too (default: as many as there "
    text += "are texts), and a background can follow its growth"
    option(parser, "--size N", text, positive_int)
    make = parser.add_argument_group("make the queries: calibrate --texts FILE")
    option(make, "-n N", "how many (default: 100)", positive_int)
    option(make, "--seed N", "seed (default: 0)", int)
    learn = parser.add_argument_group("learn: calibrate RUN")
    option(learn, "--query-run RUN", "run of real queries, in the format of RUN")
    text = "share of the nonsense that gets results, without --query-run (default: 0.05)"
    option(learn, "--alpha P", text, float)
    text = "estimated share of real queries without an answer (default: 0.05)"
    option(learn, "--unanswered P", text, float)
    arguments.add_options(learn, ["expect"])
    check = parser.add_argument_group("compare later: calibrate --check MODEL RUN")
    option(check, "--check MODEL", "a model from `calibrate RUN`")
    option(check, "--check-good RUN", "run of questions that the index answers, to be counted")
    option(check, "--check-off-topic RUN", "run of questions that it does not answer")
    arguments.add_imports(check)
    gate = parser.add_argument_group("learn a gate alone: calibrate --background RUN")
    option(gate, "--background", "write a background, to be combined with any method")
    text = "compare the best score with the score at this rank (default: no comparison)"
    option(gate, "--context RANK", text, positive_int)


def run(args: Namespace) -> None:
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
        raise InvalidParameterError(
            f"--texts FILE, RUN, --background RUN or --check MODEL RUN must be given, got {got}"
        )
    every = {name for names in _TAKES.values() for name in names}
    for name in sorted(every.difference(_TAKES[form])):
        if (given := getattr(args, name)) not in (None, False, []):
            raise InvalidParameterError(
                f"{arguments.flag(name)} must be left out with {form}, got {given}"
            )
    if args.output is None and form in ("RUN", "--background"):
        raise InvalidParameterError("-o must name the file to write, got none")
    step(args)


def _make(args: Namespace) -> None:
    texts = _texts(args.texts)
    size = args.size or len(texts)
    how = {"lexical": args.lexical, "size": size, "seed": args.seed or 0}
    made = nonsense_queries(texts, args.n or 100, **how)
    with open_target(args.output or "-") as out:
        for i, query in enumerate(made, 1):
            row = {"id": f"nonsense-{i}", "text": query}
            out.write(json_line(row) if args.json else "\t".join(row.values()).encode() + b"\n")


def _learn(args: Namespace) -> None:
    together = {"--lexical": args.lexical, "--texts": args.texts, "--query-texts": args.query_texts}
    given = [option for option, value in together.items() if value]
    if given and len(given) < len(together):
        raise InvalidParameterError(
            f"{', '.join(together)} must come together with RUN, got {', '.join(given)}"
        )
    nonsense = arguments.read(args)
    queries = None if args.query_run is None else arguments.read(args, args.query_run)
    scale = texts = None
    if args.lexical:
        runs = [lists for lists in (nonsense, queries) if lists is not None]
        texts = arguments.query_texts(args, *runs, lexical=True)
        scale = QueryScale.from_texts(_texts(args.texts))
    model = calibrated(
        nonsense,
        queries,
        scale=scale,
        texts=texts,
        **arguments.given_options(args, ("alpha", "unanswered", "expect")),
    )
    model.save(args.output)
    checked = _evaluated(args, model)
    if args.json:
        found = {"model": args.output, "threshold": model.threshold(), "report": model.report()}
        print_json(found | ({} if checked is None else {"evaluated": checked.to_dict()}))
    elif not args.quiet:
        note(model.report() if checked is None else f"{model.report()}\n{checked}")


def _learn_background(args: Namespace) -> None:
    lists = arguments.read(args)
    found = Background.fit(lists, size=args.size, context=args.context)
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
        lists = arguments.read(args)
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
    """Return what the model does to the questions of --check-good and --check-off-topic."""
    given: dict[str, Any] = {}
    for name, path in (("good", args.check_good), ("off_topic", args.check_off_topic)):
        if path is not None:
            lists = arguments.read(args, path)
            texts = arguments.query_texts(args, lists, lexical=model.needs_queries)
            given[name] = lists if texts is None else dict(zip(texts, lists.scores, strict=True))
    return model.evaluate(**given) if given else None


def _texts(path: str) -> list[str]:
    """Return the texts of the index, one on each line."""
    with open(path, encoding="utf-8") as file:
        try:
            return file.readlines()
        except UnicodeDecodeError as error:
            raise DataFormatError(path, 1, f"expected UTF-8 text, got {error}") from None
