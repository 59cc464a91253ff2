"""``judge``: ask a person, or another program, which results are relevant."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping

from paretocut.cli._asking import AskedProgram
from paretocut.cli._common import Commands, add_input, add_quiet, note, positive_int, read
from paretocut.cli._terminal import KEYS, one_key, screen
from paretocut.errors import InvalidParameterError
from paretocut.io import read_texts, write_qrels
from paretocut.judging import JudgingSession, Question
from paretocut.lists import RankedLists

_ANSWERS = {"y": True, "n": False, "u": None}


def add_commands(commands: Commands) -> None:
    """Add ``judge`` to the command line."""
    keys = ", ".join(f"{key} {what}" for key, what in KEYS.items())
    judge = commands.add_parser(
        "judge",
        help="judge some two hundred results, then learn from them",
        description="Shows one result after another and asks whether it is relevant: one key "
        f"each ({keys}). The results are chosen so that a few of each query tell most, and "
        "stopping early is fine. Every answer is kept at once in FILE.jsonl, and a second call "
        "goes on where the first one stopped. In the end FILE has the judgements as TREC qrels, "
        "for `paretocut fit RUN FILE --unjudged unknown`.",
    )
    add_input(judge)
    judge.add_argument(
        "-o", "--output", required=True, metavar="FILE", help="where to write the judgements"
    )
    judge.add_argument(
        "--queries",
        required=True,
        metavar="FILE",
        help="texts of the queries: JSON lines (id, text), or lines of name, tab, text",
    )
    judge.add_argument(
        "--corpus", required=True, metavar="FILE", help="texts of the documents, likewise"
    )
    judge.add_argument(
        "--ask",
        metavar="COMMAND",
        help="a program that judges in your place: it reads a line of JSON (query_id, doc_id, "
        'query, text) and writes one, {"relevant": true}, false, a grade or null for unsure',
    )
    judge.add_argument(
        "--ask-seconds",
        type=float,
        default=120.0,
        metavar="S",
        help="how long the program may take for an answer (default: 120)",
    )
    judge.add_argument(
        "--budget", type=positive_int, default=200, metavar="N", help="answers (default: 200)"
    )
    judge.add_argument(
        "--tolerance",
        type=float,
        metavar="LOSS",
        help="stop early, when the cuts lose at most so much F1 with 95 %% confidence",
    )
    judge.add_argument(
        "--repeats",
        type=float,
        default=0.0,
        metavar="SHARE",
        help="share of the questions asked twice, to see how often the judge agrees with "
        "itself (default: 0)",
    )
    judge.add_argument("--seed", type=int, default=0, metavar="N", help="of the choice")
    add_quiet(judge)
    judge.set_defaults(run_command=_judge)


def _judge(args: argparse.Namespace) -> None:
    if args.ask is None and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise InvalidParameterError(
            "judge: standard input and output must be a terminal, or --ask must name a program "
            "that judges"
        )
    lists = read(args)
    if lists.doc_ids is None:
        raise InvalidParameterError(
            f"judge: RUN must name the documents to ask about, got none in {args.run}"
        )
    queries = _texts(args.queries, lists.query_ids.tolist(), "--queries")
    documents = _texts(args.corpus, lists.doc_ids.values.tolist(), "--corpus")
    session = JudgingSession(
        lists,
        args.budget,
        path=f"{args.output}.jsonl",
        repeats=args.repeats,
        tolerance=args.tolerance,
        seed=args.seed,
    )
    try:
        if args.ask is not None:
            _ask_program(args, session, queries, documents)
        else:
            _ask_person(session, queries, documents)
    finally:
        # Whatever ended it, what was answered is written.
        written = write_qrels(args.output, _asked_about(session.lists))
    if not args.quiet:
        note(f"{written} judgements in {args.output}: {session.stopped or 'stopped'}")
        note(session.summary())
        if written:
            note(f"next: paretocut fit {args.run} {args.output} --unjudged unknown -o model.json")


def _texts(path: str, names: list[str], option: str) -> dict[str, str]:
    texts = read_texts(path, set(names))
    missing = [name for name in dict.fromkeys(names) if name not in texts]
    if missing:
        raise InvalidParameterError(
            f"judge: {option} must have a text for every id of RUN, got none for {len(missing)}, "
            f"such as {missing[0]!r}"
        )
    return texts


def _asked_about(lists: RankedLists) -> RankedLists:
    """Return the lists of which at least one result is judged."""
    return lists[lists.scores.count(lists.judged.values) > 0]


def _ask_program(
    args: argparse.Namespace,
    session: JudgingSession,
    queries: Mapping[str, str],
    documents: Mapping[str, str],
) -> None:
    with AskedProgram(args.ask, args.ask_seconds) as program:
        while (question := session.next()) is not None:
            assert question.doc_id is not None
            session.answer(
                program(
                    {
                        "query_id": question.query_id,
                        "doc_id": question.doc_id,
                        "query": queries[question.query_id],
                        "text": documents[question.doc_id],
                    }
                )
            )
            if sys.stderr.isatty() and not args.quiet:
                sys.stderr.write(f"\r{session.answers} of {session.budget}")


def _ask_person(
    session: JudgingSession, queries: Mapping[str, str], documents: Mapping[str, str]
) -> None:
    with one_key() as key:
        while (question := session.next()) is not None:
            sys.stdout.write(_shown(session, question, queries, documents))
            sys.stdout.flush()
            pressed = ""
            while pressed not in KEYS:
                pressed = key()
                if pressed in ("", "\x04"):  # the terminal is gone, or Ctrl-D
                    pressed = "q"
            if pressed == "q":
                return
            if pressed == "z":
                session.undo()
            elif pressed == "s":
                session.skip_query()
            else:
                session.answer(_ANSWERS[pressed])


def _shown(
    session: JudgingSession,
    question: Question,
    queries: Mapping[str, str],
    documents: Mapping[str, str],
) -> str:
    assert question.doc_id is not None
    return screen(
        queries[question.query_id],
        documents[question.doc_id],
        done=f"{session.answers} of {session.budget} answered",
        learned=f"So far: {session.summary()}",
    )
