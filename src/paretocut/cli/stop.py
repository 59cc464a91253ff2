"""``stop``: say whether a review has read enough, and what it would cost before it starts."""

from __future__ import annotations

import hashlib
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from paretocut.callbacks import stamp
from paretocut.cli import arguments
from paretocut.cli.arguments import Commands, option, positive_int, print_json, warn
from paretocut.errors import InvalidParameterError, InvalidScoresError
from paretocut.io import Screening, read_qrels, read_screening
from paretocut.io.streams import open_target
from paretocut.loading import load_as
from paretocut.show.drawing import RELEVANT, along, frame, line, svg, text, upward
from paretocut.stopping import Certificate, Protocol, Quantile, Review, State, Target, plan
from paretocut.stopping.planning import described
from paretocut.stopping.review import Rule

_STYLE = (
    "body{max-width:46em;margin:2em auto;padding:0 1em;font:16px/1.5 system-ui,sans-serif}"
    "table{border-collapse:collapse;width:100%;margin:1em 0}td,th{border-bottom:1px solid #bbb;"
    "padding:.25em .5em;text-align:left}td.n{text-align:right;font-feature-settings:'tnum'}"
    "@media print{body{margin:0}}"
)
_LIMITS = (
    "Recall counts only records that the search found.",
    "A relevant record that a reader excluded counts as irrelevant.",
    "The lower bound holds if the ranking is no worse than a random order: at each point the next "
    "record is at least as likely to be relevant as one drawn from the unread ones. With a random "
    "sample (Target) it holds for any ranking.",
    "A promise by reliability (Quantile) is about reviews like the earlier ones taken together. A "
    "single review may fall short.",
    "The best guess is an estimate from finished medical reviews. It promises nothing.",
)
_TABLES = {".csv", ".tsv", ".xlsx", ".xls"}  # a workbook is refused where it is read


def add_stop(commands: Commands) -> None:
    parser = arguments.command(commands, stop)
    arguments.add_input(parser, needed=False)
    option(parser, "--judged FILE", "what has been judged: TREC qrels, or CSV")
    add_rule(parser)
    option(parser, "--total N", "number of all documents, if no file lists them", positive_int)
    option(parser, "--in-reading-order", "the rows of the CSV file are in the order of reading")
    option(parser, "--min-grade G", "smallest grade that counts as relevant", float, default=1)
    option(parser, "--plan PREVALENCE", "price of each promise if this share is relevant", float)
    text = "file that fixes the promise, and keeps every look; without --judged it is made"
    option(parser, "--protocol FILE", text)
    option(parser, "--amend REASON", "change what the protocol fixed; the reason stays on record")
    option(parser, "--reviewer NAME", "who looks, for the record")
    option(parser, "--report FILE", "write one page (HTML) for a committee")
    option(parser, "--next N", "also print the documents to read next", positive_int)
    option(parser, "--json", "one object per review, or per promise")
    option(parser, "-q --quiet", "no warnings")


def add_rule(parser: ArgumentParser) -> None:
    option(parser, "--recall R", "share of the relevant documents to find (default: 0.95)", float)
    promise = parser.add_mutually_exclusive_group()
    text = "stop by this review alone, with this confidence (default: 0.95)"
    option(promise, "--confidence C", text, float)
    text = "stop where this share of earlier reviews had reached the recall"
    option(promise, "--reliability P", text, float)
    option(promise, "--rule FILE", "a rule saved by `paretocut.stopping.Quantile`")
    option(parser, "--sample SEED", "read a random sample first: a promise for any ranking", int)


def rule_given(args: Namespace) -> Rule | None:
    options = (args.recall, args.confidence, args.reliability, args.rule, args.sample)
    return None if all(given is None for given in options) else _rule(args)


def _rule(args: Namespace) -> Rule:
    if args.sample is not None and (args.reliability is not None or args.rule is not None):
        raise InvalidParameterError("--sample must come without --reliability and --rule, got both")
    if args.rule is not None:
        if args.recall is not None:
            raise InvalidParameterError("--recall must be left out with --rule, which has one")
        rule: Rule = load_as(Quantile, "a saved stopping rule", args.rule, "--rule")
        return rule
    given = arguments.given_options(args, ("recall", "confidence", "reliability"))
    if args.reliability is not None:
        return Quantile(**given)
    return Certificate(**given) if args.sample is None else Target(**given, seed=args.sample)


def stop(args: Namespace) -> None:
    """Say whether a review that reads down a ranking can stop.

    Says whether to stop by this review alone (--confidence), by a random sample that is read
    first (--sample), or by what was enough in earlier reviews (--reliability). Judgements are
    TREC qrels of the documents of RUN, or a CSV file with one row per document: a spreadsheet, or
    an export of ASReview. Such a file needs no RUN if it also lists the documents not read yet,
    and says when each was read. With --protocol the promise is fixed in a file before the first
    look, and every look is kept there.
    """
    if args.plan is not None or (args.judged is None and args.protocol is None):
        if (args.plan is None) == (args.judged is None):
            raise InvalidParameterError(
                "one of --judged and --plan must be given, got both or none"
            )
        _print_plan(args)
        return
    protocol = None if args.protocol is None else _protocol(args)
    if args.judged is None:
        return
    rule = _rule(args) if protocol is None else _in_force(args, protocol)
    found = list(_reviews(args, rule))
    if len(found) != 1 and (protocol is not None or args.report is not None):
        raise InvalidParameterError(
            f"--protocol and --report must be about one review, got {len(found)}"
        )
    source = None
    if args.judged != "-":
        source = f"sha256:{hashlib.sha256(Path(args.judged).read_bytes()).hexdigest()}"
    for name, review, documents in found:
        state, who = review.state, f"{name}: " if name else ""
        if protocol is not None:
            protocol.look(state, reviewer=args.reviewer, source=source)
        ahead = [documents.get(i, i + 1) for i in review.upcoming(args.next or 0)]
        if args.json:
            more = {"next": ahead} if args.next else {}
            record = {"promise": described(rule), "input": source, **stamp(args.reviewer)}
            print_json({"query_id": name, **asdict(state), **record, **more})
        else:
            sys.stdout.write(f"{who}{state}\n")
            if ahead and not state.stop:
                sys.stdout.write(f"read next: {', '.join(map(str, ahead))}\n")
        for warning in () if args.quiet else state.warnings:
            warn(f"{who}{warning}")
        if args.report is not None:
            about = {**described(rule), **stamp(args.reviewer), "input": source}
            with open_target(args.report) as out:
                out.write(_page(review, about, protocol).encode())


def _protocol(args: Namespace) -> Protocol:
    rule, known = rule_given(args), Path(args.protocol).exists()
    if not known and args.judged is not None:
        must = "--protocol must be made before the first look, without --judged"
        raise InvalidParameterError(f"{must}, got {args.protocol}, which does not exist")
    if not known and args.total is None:
        raise InvalidParameterError("--total must be given to make a protocol, got none")
    protocol = Protocol(args.protocol)
    if not protocol.plans:
        protocol.fix(rule or _rule(args), total=args.total, reviewer=args.reviewer)
    elif args.amend is not None:
        rule = rule or protocol.rule()
        total = args.total or protocol.total
        protocol.fix(rule, total=total, reviewer=args.reviewer, reason=args.amend)
    elif args.judged is None:
        must = "--protocol must name a new file, or come with --judged or --amend"
        raise InvalidParameterError(f"{must}, got {args.protocol}, which fixes one")
    else:
        return protocol
    if not (args.quiet or args.json):
        fixed = [f"{x} {one}" for x, one in protocol.plans[-1].items() if x not in stamp(None)]
        sys.stdout.write(f"{args.protocol} fixes {', '.join(fixed)}\n")
    return protocol


def _in_force(args: Namespace, protocol: Protocol) -> Rule:
    """Return the rule of the protocol; options that say otherwise are refused."""
    given = rule_given(args)
    rule = protocol.rule(given if isinstance(given, Quantile) else None)
    for what, asked, fixed in (
        ("rule", given and described(given), described(rule)),
        ("--total", args.total, protocol.total),
    ):
        if asked and asked != fixed:
            must = (
                f"{what} must be the one that {args.protocol} fixed before the first look, {fixed}"
            )
            raise InvalidParameterError(
                f"{must}, got {asked}; --amend REASON makes a new protocol, on record"
            )
    args.total = protocol.total
    args.sample = rule.seed if isinstance(rule, Target) else None
    return rule


def _print_plan(args: Namespace) -> None:
    totals = {"": args.total}
    if args.run is not None:
        lists = arguments.read(args)
        totals = dict(zip(lists.query_ids.tolist(), lists.scores.lengths.tolist(), strict=True))
    for name, total in totals.items():
        if total is None:
            raise InvalidParameterError("--plan must come with RUN or --total, got neither")
        who = f"{name}: " if name else ""
        for price in plan(total, args.plan, **arguments.given_options(args, ["recall"])):
            if args.json:
                print_json({"query_id": name, **asdict(price), "rule": repr(price.rule)})
                continue
            low, high = price.interval
            kind = "reliability" if isinstance(price.rule, Quantile) else "confidence"
            sys.stdout.write(
                f"{who}read {price.read:,} ({low:,} to {high:,}) of {total:,}: "
                f"{type(price.rule).__name__}, {kind} {getattr(price.rule, kind):g}\n"
            )


def _reviews(args: Namespace, rule: Rule) -> Iterator[tuple[str, Review, dict[int, str]]]:
    """Yield the reviews with their names, all judgements so far, and the names of documents."""
    for name, judged, documents, total in _judged(args):
        if args.total is not None and args.total < total:
            must = f"--total must be at least the {total} documents of the files"
            raise InvalidParameterError(f"{must}, got {args.total}")
        if strange := [document for document in judged if document not in documents]:
            got = f"{len(strange)} others, such as {strange[0]}"
            raise InvalidScoresError(f"{args.judged} must judge documents of {args.run}, got {got}")
        review = rule.review(total=args.total or total)
        for document, relevant in judged.items():
            review.add(relevant, document=documents[document])
        yield name, review, {i: document for document, i in documents.items()}


def _judged(args: Namespace) -> Iterator[tuple[str, dict[str, bool], dict[str, int], int]]:
    """Yield each review: name, judgements in the order of reading, places of documents, size."""
    ranks: dict[str, dict[str, int]] = {}
    if args.run is not None:
        lists = arguments.read(args)
        if lists.doc_ids is None:
            raise InvalidParameterError(f"RUN must name the documents, got none in {args.run}")
        for query, documents in zip(lists.query_ids.tolist(), lists.doc_ids, strict=True):
            ranks[query] = {document: i for i, document in enumerate(documents.tolist())}
    if not _TABLES.isdisjoint(Path(args.judged).suffixes):
        if len(ranks) > 1:
            raise InvalidParameterError(
                f"RUN must hold one review for judgements in CSV, got {len(ranks)}"
            )
        screening = read_screening(args.judged)
        judged = screening.judged
        if not ranks:
            _check_order(args, screening)
            yield "", judged, {document: i for i, document in enumerate(judged)}, screening.total
        for name, places in ranks.items():
            if not screening.timed:
                judged = _down_the_ranking(args, name, judged, places)
            yield name, judged, places, len(places)
        return
    if not ranks:
        raise InvalidParameterError("RUN must be given with judgements in TREC format, got none")
    qrels = read_qrels(args.judged)
    rows = zip(qrels.query_ids.tolist(), qrels.doc_ids, qrels.grades, strict=True)
    for query, names, grades in rows:
        if query not in ranks:
            raise InvalidScoresError(f"{args.judged} must judge queries of RUN, got {query}")
        places = ranks[query]
        judged = dict(zip(map(str, names), (grades >= args.min_grade).tolist(), strict=True))
        yield query, _down_the_ranking(args, query, judged, places), places, len(places)


def _down_the_ranking(
    args: Namespace, name: str, judged: dict[str, bool], places: dict[str, int]
) -> dict[str, bool]:
    """Return the judgements in the order of the ranking, with a warning if it has gaps."""
    read = sorted(judged, key=lambda document: places.get(document, 0))
    gaps = max((places.get(document, 0) for document in read), default=-1) + 1 - len(read)
    if gaps > 0 and not args.quiet and args.sample is None:
        warn(
            f"{name}: {gaps} documents above the last one judged are not judged, but the "
            "promise only holds if you read in the order of the ranking"
        )
    return {document: judged[document] for document in read}


def _check_order(args: Namespace, screening: Screening) -> None:
    """Refuse a spreadsheet that does not say what was read when, or how much there is."""
    if args.sample is not None:
        raise InvalidParameterError(
            "RUN must be given with --sample, which draws from the ranking, got none"
        )
    if args.total is None and len(screening.judged) == screening.total:
        why = f"{args.judged} lists no document that is unread, so their number is unknown"
        raise InvalidParameterError(f"--total must be given, got none: {why}")
    if screening.timed:
        return
    if screening.disorder:
        must = f"{args.judged} must be in the order of reading or have a column time"
        raise InvalidScoresError(f"{must}, but {screening.disorder}")
    if not args.in_reading_order:
        raise InvalidParameterError(
            f"--in-reading-order must be given for a file without a column time, got none: the "
            f"promise depends on what was read when, and {args.judged} does not say it"
        )


def _page(review: Review, about: Mapping[str, Any], protocol: Protocol | None) -> str:
    """Return one page for a committee: what was promised, read and found, and every look."""
    state = review.state
    plans, looks = ([], []) if protocol is None else (protocol.plans, protocol.looks)
    met = ": the stopping rule was met" if state.stop else " yet"
    flow = (
        ("Records identified, duplicates removed", f"{state.total:,}"),
        (f"Records not screened{met}", f"{state.total - state.read:,}"),
        ("Records screened", f"{state.read:,}"),
        ("Records excluded", f"{state.read - state.found:,}"),
        ("Reports sought for retrieval", f"{state.found:,}"),
    )
    fixed = [_fixed(plan, "" if i else "first") for i, plan in enumerate(plans)]
    head = ("date", "reviewer", "promise", "reason for the change")
    look_head = ("date", "reviewer", "read", "found", "lower bound", "best guess", "decision")
    parts = [
        f"<h1>{'This review may stop' if state.stop else 'This review goes on'}</h1>",
        f"<p>{text(str(state))}</p>",
        *(f"<p><b>Warning:</b> {text(warning)}</p>" for warning in state.warnings),
        "<h2>Counts for a PRISMA 2020 flow diagram</h2>",
        _table((), flow),
        "<h2>Finds</h2>",
        _finds(review.curve, state),
        "<h2>What was fixed, and when</h2>",
        _table(head, fixed) if fixed else "<p>No protocol was kept before the first look.</p>",
        "<h2>Looks</h2>",
        _table(look_head, map(_looked, looks)) if looks else "<p>No looks are on record.</p>",
        "<h2>Limits</h2>",
        "<ul>" + "".join(f"<li>{limit}</li>" for limit in _LIMITS) + "</ul>",
        "<h2>Made from</h2>",
        _table((), ((name, _shown(value)) for name, value in about.items())),
    ]
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Stopping report</title>'
        f"<style>{_STYLE}</style><body>{''.join(parts)}</body></html>\n"
    )


def _finds(curve: Sequence[int], state: State) -> str:
    x, y = along(0.0, float(state.total)), upward(float(max(state.found, 1)))
    read = np.array([0, *(place for find in curve for place in (find - 1, find)), state.read])
    found = np.array([0, *(k for i in range(len(curve)) for k in (i, i + 1)), state.found])
    drawn = [*frame(x, y, "records read", "relevant records found")]
    about = f"{state.found} relevant records among {state.read} read of {state.total}"
    drawn.append(line(x.at(read), y.at(found), RELEVANT))
    return svg("Relevant records found", about, drawn)


def _fixed(plan: Mapping[str, Any], reason: str) -> Sequence[str]:
    left_out = ("date", "reviewer", "paretocut", "reason", "learned")
    promise = ", ".join(f"{key} {value}" for key, value in plan.items() if key not in left_out)
    return str(plan["date"]), _shown(plan.get("reviewer")), promise, str(plan.get("reason", reason))


def _looked(look: Mapping[str, Any]) -> Sequence[str]:
    guess = "" if look["expected"] is None else f"{look['expected']:.2f}"
    numbers = f"{look['read']:,}", f"{look['found']:,}", f"{look['at_least']:.2f}", guess
    decision = "stop" if look["stop"] else "go on"
    return str(look["date"]), _shown(look.get("reviewer")), *numbers, decision


def _shown(value: Any) -> str:
    return "not given" if value is None else str(value)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = (("th", head), *(("td", row) for row in rows))
    return f"<table>{''.join(_row(tag, cells) for tag, cells in lines if cells)}</table>"


def _row(tag: str, cells: Sequence[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{text(cell)}</{tag}>' for cell in cells)}</tr>"
