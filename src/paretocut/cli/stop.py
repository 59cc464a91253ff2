"""``stop``: say whether a review has read enough, and what it would cost before it starts."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace, _ArgumentGroup
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from paretocut.cli import arguments
from paretocut.cli.arguments import option, positive_int
from paretocut.cli.terminal import print_json, warn
from paretocut.errors import InvalidParameterError, InvalidScoresError
from paretocut.io import read_qrels, read_screening
from paretocut.loading import load_as
from paretocut.stopping import Certificate, Quantile, Review, plan

SUMMARY = "say whether a review that reads down a ranking can stop"
DESCRIPTION = """Reads what has been judged so far and says whether to stop: by a test on this
review alone (--confidence), or by what was enough in earlier reviews (--reliability). Judgements
are TREC qrels of the documents of RUN, or a CSV file with one row per document: a spreadsheet, or
an export of ASReview. Such a file needs no RUN if it also lists the documents not read yet."""


def add_arguments(parser: ArgumentParser) -> None:
    arguments.add_input(parser, needed=False)
    option(parser, "--judged FILE", "what has been judged: TREC qrels, or CSV in reading order")
    add_rule(parser)
    option(parser, "--total N", "number of all documents, if no file lists them", positive_int)
    option(parser, "--min-grade G", "smallest grade that counts as relevant", float, default=1)
    text = "before reading: print the price of each promise if this share is relevant"
    option(parser, "--plan PREVALENCE", text, float)
    option(parser, "--json", "one object per review, or per promise")
    option(parser, "-q --quiet", "no warnings")


def add_rule(parser: ArgumentParser | _ArgumentGroup) -> None:
    """Add the options that `rule_of` reads."""
    text = "share of the relevant documents to find (default: 0.95)"
    option(parser, "--recall R", text, float)
    promise = parser.add_mutually_exclusive_group()
    text = "stop by the urn test on this review alone, with this confidence (default: 0.95)"
    option(promise, "--confidence C", text, float)
    text = "stop where this share of earlier reviews had reached the recall"
    option(promise, "--reliability P", text, float)
    option(promise, "--rule FILE", "a rule saved by `paretocut.stopping.Quantile`")


def rule_given(args: Namespace) -> Certificate | Quantile | None:
    """Return the rule that the options name; None without any."""
    options = (args.recall, args.confidence, args.reliability, args.rule)
    return None if all(given is None for given in options) else rule_of(args)


def rule_of(args: Namespace) -> Certificate | Quantile:
    """Return the rule that the options name, or the default."""
    if args.rule is not None:
        if args.recall is not None:
            raise InvalidParameterError("--recall must be left out with --rule, which has one")
        rule: Quantile = load_as(Quantile, "a saved stopping rule", args.rule, "--rule")
        return rule
    recall = 0.95 if args.recall is None else args.recall
    if args.reliability is not None:
        return Quantile(recall, args.reliability)
    return Certificate(recall, 0.95 if args.confidence is None else args.confidence)


def run(args: Namespace) -> None:
    if (args.plan is None) == (args.judged is None):
        raise InvalidParameterError("one of --judged and --plan must be given, got both or none")
    if args.plan is not None:
        _print_plan(args, 0.95 if args.recall is None else args.recall)
        return
    for name, review in _reviews(args, rule_of(args)):
        state = review.state
        if args.json:
            print_json({"query_id": name, **asdict(state)})
        else:
            sys.stdout.write((f"{name}: " if name else "") + f"{state}\n")
        for warning in () if args.quiet else state.warnings:
            warn(f"{name}: {warning}" if name else warning)


def _print_plan(args: Namespace, recall: float) -> None:
    totals = {"": args.total}
    if args.run is not None:
        lists = arguments.read(args)
        totals = dict(zip(lists.query_ids.tolist(), lists.scores.lengths.tolist(), strict=True))
    for name, total in totals.items():
        if total is None:
            raise InvalidParameterError("--plan must come with RUN or --total, got neither")
        for price in plan(total, args.plan, recall=recall):
            if args.json:
                print_json({"query_id": name, **asdict(price), "rule": repr(price.rule)})
            else:
                low, high = price.interval
                kind = "reliability" if isinstance(price.rule, Quantile) else "confidence"
                sys.stdout.write(
                    (f"{name}: " if name else "")
                    + f"read {price.read:,} ({low:,} to {high:,}) of {total:,}: "
                    f"{type(price.rule).__name__}, {kind} {getattr(price.rule, kind):g}\n"
                )


def _reviews(args: Namespace, rule: Certificate | Quantile) -> Iterator[tuple[str, Review]]:
    """Yield the reviews with their names and all judgements so far."""
    ranks = _ranks(args)
    for name, judged, total in _judged(args, ranks):
        documents = ranks.get(name) or {document: i for i, document in enumerate(judged)}
        if args.total is not None and args.total < total:
            raise InvalidParameterError(
                f"--total must be at least the {total} documents of the files, got {args.total}"
            )
        if strange := [document for document in judged if document not in documents]:
            raise InvalidScoresError(
                f"{args.judged} must judge documents of {args.run}, got {len(strange)} others, "
                f"such as {strange[0]}"
            )
        review = rule.review(total=args.total or total)
        for document, relevant in judged.items():
            review.add(relevant, document=documents[document])
        yield name, review


def _ranks(args: Namespace) -> dict[str, dict[str, int]]:
    """Return the documents of each query of RUN with their places; nothing without RUN."""
    if args.run is None:
        return {}
    lists = arguments.read(args)
    if lists.doc_ids is None:
        raise InvalidParameterError(f"RUN must name the documents, got none in {args.run}")
    return {
        str(query): {str(document): i for i, document in enumerate(documents)}
        for query, documents in zip(lists.query_ids, lists.doc_ids, strict=True)
    }


def _judged(
    args: Namespace, ranks: dict[str, dict[str, int]]
) -> Iterator[tuple[str, dict[str, bool], int]]:
    """Yield the name of each review, its judgements in the order of reading, and its size."""
    if ".csv" in Path(args.judged).suffixes:
        if len(ranks) > 1:
            raise InvalidParameterError(
                f"RUN must hold one review for judgements in CSV, got {len(ranks)}"
            )
        screening = read_screening(args.judged)
        name, documents = next(iter(ranks.items()), ("", {}))
        yield name, screening.judged, len(documents) or screening.total
        return
    if not ranks:
        raise InvalidParameterError("RUN must be given with judgements in TREC format, got none")
    qrels = read_qrels(args.judged)
    for query, names, grades in zip(qrels.query_ids, qrels.doc_ids, qrels.grades, strict=True):
        places = ranks.get(str(query))
        if places is None:
            raise InvalidScoresError(f"{args.judged} must judge queries of RUN, got {query}")
        judged = dict(zip(map(str, names), (grades >= args.min_grade).tolist(), strict=True))
        read = sorted(judged, key=lambda document: places.get(document, 0))
        gaps = max((places.get(document, 0) for document in read), default=-1) + 1 - len(read)
        if gaps > 0 and not args.quiet:
            warn(
                f"{query}: {gaps} documents above the last one judged are not judged, but the "
                f"promise only holds if you read in the order of the ranking"
            )
        yield str(query), {document: judged[document] for document in read}, len(places)
