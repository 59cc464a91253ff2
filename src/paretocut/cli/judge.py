"""``judge``: ask a person, or another program, which results are relevant."""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Collection, Mapping

from paretocut.callbacks.journal import lock
from paretocut.cli import arguments
from paretocut.cli.arguments import option, positive_int
from paretocut.cli.asked_program import AskedProgram
from paretocut.cli.stop import add_rule, rule_given
from paretocut.cli.terminal import note, one_key
from paretocut.errors import InvalidParameterError
from paretocut.io import write_qrels
from paretocut.judging import JudgingSession, Question
from paretocut.judging.session import Reading, StoppingRule
from paretocut.lists import RankedLists

_KEYS = {"y": "yes", "n": "no", "u": "unsure", "z": "undo", "s": "skip this query", "q": "stop"}
_DECIDED = "ynzq"  # the keys where a rule says stop: it needs to know of every document
_ANSWERS = {"y": True, "n": False, "u": None}
_CLEAR, _BOLD, _PLAIN = "\x1b[2J\x1b[H", "\x1b[1;4m", "\x1b[0m"
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_WIDEST = 100
_SHORTEST_WORD = 3

SUMMARY = "judge about two hundred results, to learn from them"
DESCRIPTION = f"""Shows one result after another and asks whether it is relevant: one key each
({", ".join(f"{key} {what}" for key, what in _KEYS.items())}). It asks about the most informative
results, a few per query, and you can stop at any time. Every answer is saved at once in FILE.jsonl,
and a second call continues there. At the end FILE holds the judgements as TREC qrels, for
`paretocut fit RUN FILE --unjudged unknown`. With --recall, --confidence, --reliability, --sample
or --rule it reads each list from the top instead, and says when to stop, as
`paretocut stop` does."""


def add_arguments(parser: ArgumentParser) -> None:
    arguments.add_input(parser)
    arguments.add_output(parser, "the judgements")
    arguments.add_query_texts(parser, "every query needs one", needed=True)
    option(parser, "--corpus FILE", "texts of the documents, in the same form", required=True)
    option(
        parser,
        "--ask COMMAND",
        "a program that judges instead of you: it reads a line of JSON (query_id, doc_id, query, "
        'text) and writes one, {"relevant": true}, false, a grade, or null for unsure',
    )
    text = "seconds the program may take per answer"
    option(parser, "--ask-seconds S", text, float, default=120.0)
    option(parser, "--budget N", "number of answers (default: 200)", positive_int)
    text = "stop early, once the cuts lose at most this much F1 with 95 %% confidence"
    option(parser, "--tolerance LOSS", text, float)
    option(parser, "--seed N", "random seed for the choice of results", int, default=0)
    option(parser, "--reviewer NAME", "who judges, for the record in FILE.jsonl")
    add_rule(parser)


def run(args: Namespace) -> None:
    if args.ask is None and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise InvalidParameterError(
            "standard input and output must be a terminal, or --ask must name a program that judges"
        )
    lists = arguments.read(args)
    if lists.doc_ids is None:
        raise InvalidParameterError(
            f"RUN must name the documents to ask about, got none in {args.run}"
        )
    rule = rule_given(args)
    if rule is not None and (args.budget or args.tolerance is not None):
        raise InvalidParameterError(
            "--budget and --tolerance must be left out where a rule says when to stop"
        )
    queries = arguments.texts_of("--query-texts", args.query_texts, lists.query_ids.tolist())
    documents = arguments.texts_of("--corpus", [args.corpus], lists.doc_ids.values.tolist())
    with lock(f"{args.output}.jsonl", name="--output"):
        _judge(args, lists, rule, queries, documents)


def _judge(
    args: Namespace,
    lists: RankedLists,
    rule: StoppingRule | None,
    queries: Mapping[str, str],
    documents: Mapping[str, str],
) -> None:
    session = JudgingSession(
        lists,
        200 if args.budget is None else args.budget,
        path=f"{args.output}.jsonl",
        tolerance=args.tolerance,
        seed=args.seed,
        reviewer=args.reviewer,
        rule=None if rule is None else repr(rule),
    )

    def texts(question: Question) -> tuple[str, str]:
        return queries[question.query_id], documents[str(question.doc_id)]

    asking = session if rule is None else Reading(session, rule)
    try:
        if args.ask is None:
            _ask_person(asking, texts)
        else:
            _ask_program(args, asking, texts)
    finally:
        # Whatever ended it, the answers so far are written.
        judged = session.lists
        asked_about = judged.scores.count(judged.judged.values) > 0
        written = write_qrels(args.output, judged[asked_about])
    if not args.quiet:
        note(f"{written} judgements in {args.output}: {asking.stopped or 'stopped'}")
        if isinstance(asking, Reading):
            for line in asking.summaries():
                note(line)
            return
        note(session.summary())
        if written:
            note(f"next: paretocut fit {args.run} {args.output} --unjudged unknown -o model.json")


def _ask_program(
    args: Namespace, session: JudgingSession | Reading, texts: Callable[[Question], tuple[str, str]]
) -> None:
    with AskedProgram(args.ask, args.ask_seconds) as program:
        while (question := session.next()) is not None:
            query, text = texts(question)
            row = {"query_id": question.query_id, "doc_id": str(question.doc_id)}
            session.answer(program({**row, "query": query, "text": text}))
            if sys.stderr.isatty() and not args.quiet:
                sys.stderr.write(f"\r{session.answers} of {session.budget}")


def _ask_person(
    session: JudgingSession | Reading, texts: Callable[[Question], tuple[str, str]]
) -> None:
    keys = _DECIDED if isinstance(session, Reading) else _KEYS.keys()
    with one_key() as key:
        while (question := session.next()) is not None:
            done = f"{session.answers} of {session.budget} answered"
            learned = f"So far: {session.summary()}"
            sys.stdout.write(screen(*texts(question), done=done, learned=learned, keys=keys))
            sys.stdout.flush()
            pressed = " "
            while pressed not in (*keys, "", "\x04"):
                pressed = key()
            if pressed in ("q", "", "\x04"):  # the terminal is gone, or Ctrl-D
                return
            if pressed == "z":
                session.undo()
            elif pressed == "s" and isinstance(session, JudgingSession):
                session.skip_query()
            else:
                session.answer(_ANSWERS[pressed])


def screen(
    query: str, text: str, *, done: str, learned: str, keys: Collection[str] = _KEYS.keys()
) -> str:
    """Return one screen: a query, a result, and the keys.

    Rank and score are left out, so that they do not sway the judge. Control characters are
    dropped, so that a document cannot command the terminal.
    """
    size = shutil.get_terminal_size()
    width, plain = min(size.columns, _WIDEST) - 2, os.environ.get("TERM") == "dumb"
    offered = "   ".join(f"{key} {_KEYS[key]}" for key in keys)
    asked = textwrap.wrap(_harmless(query), width) or ["(no text)"]
    foot = [*textwrap.wrap(f"Relevant?   {offered}", width), *textwrap.wrap(learned, width)]
    room = max(size.lines - len(asked) - len(foot) - 6, 3)
    lines = [
        line for part in _harmless(text).splitlines() for line in textwrap.wrap(part, width) or [""]
    ]
    if len(lines) > room:
        lines = [*lines[: room - 1], f"... {len(lines) - room + 1} more lines"]
    shown = "\n".join(lines)
    rule = "-" * width
    body = [done, *asked, rule, shown if plain else _marked(shown, query), rule, *foot]
    return ("" if plain else _CLEAR) + "\n".join(body) + "\n"


def _harmless(text: str) -> str:
    return _CONTROL.sub(" ", text.replace("\t", " "))


def _marked(text: str, query: str) -> str:
    """Return the text with the words of the query in bold."""
    words = {word for word in re.findall(r"\w+", query) if len(word) >= _SHORTEST_WORD}
    if not words:
        return text
    longest_first = sorted(words, key=lambda word: (-len(word), word))
    pattern = r"\b(?:" + "|".join(map(re.escape, longest_first)) + r")\w*"
    return re.sub(pattern, lambda match: _BOLD + match[0] + _PLAIN, text, flags=re.IGNORECASE)
