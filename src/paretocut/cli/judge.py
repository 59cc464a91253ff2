"""``judge``: ask a person, or another program, which results are relevant."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
import threading
from argparse import Namespace
from collections.abc import Callable, Collection, Iterator
from typing import Any, TypeAlias

from paretocut.callbacks import lock
from paretocut.cli import arguments
from paretocut.cli.arguments import Commands, note, option, positive_int
from paretocut.cli.stop import add_rule, rule_given
from paretocut.errors import InvalidParameterError, ParetocutError
from paretocut.io import write_qrels
from paretocut.judging import JudgingSession, Question
from paretocut.judging.session import Reading

_Texts: TypeAlias = Callable[[Question], tuple[str, str]]
_Answer: TypeAlias = bool | int | None

_KEYS = {"y": "yes", "n": "no", "u": "unsure", "z": "undo", "s": "skip this query", "q": "stop"}
_DECIDED = "ynzq"  # the keys where a rule says stop: it needs to know of every document
_ANSWERS = {"y": True, "n": False, "u": None}
_CLEAR, _BOLD, _PLAIN = "\x1b[2J\x1b[H", "\x1b[1;4m", "\x1b[0m"
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_WIDEST = 100
_HIGHEST_GRADE = 1e9


def add_judge(commands: Commands) -> None:
    parser = arguments.command(commands, judge)
    arguments.add_input(parser)
    arguments.add_output(parser, "the judgements")
    arguments.add_query_texts(parser, "every query needs one", needed=True)
    option(parser, "--corpus FILE", "texts of the documents, in the same form", required=True)
    text = (
        "a program that judges: it reads lines of JSON (query_id, doc_id, query, text) and writes "
    )
    option(parser, "--ask COMMAND", text + '{"relevant": true}, false, a grade or null for unsure')
    option(parser, "--ask-seconds S", "seconds the program has per answer", float, default=120.0)
    option(parser, "--budget N", "number of answers (default: 200)", positive_int)
    option(parser, "--tolerance LOSS", "stop once at most this much F1 is lost (95 %% sure)", float)
    option(parser, "--seed N", "random seed for the choice of results", int, default=0)
    option(parser, "--reviewer NAME", "who judges, for the record in FILE.jsonl")
    add_rule(parser)


def judge(args: Namespace) -> None:
    """Judge about two hundred results, to learn from them.

    Shows one result after another, the most informative ones, a few per query, and asks whether
    it is relevant: one key each (y yes, n no, u unsure, z undo, s skip this query, q stop). Every
    answer is saved at once in FILE.jsonl, and a second call continues there. At the end FILE
    holds TREC qrels, for `paretocut fit RUN FILE --unjudged unknown`. With --recall,
    --confidence, --reliability, --sample or --rule it reads each list from the top instead, and
    says when to stop, as `paretocut stop` does.
    """
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

    def texts(question: Question) -> tuple[str, str]:
        return queries[question.query_id], documents[str(question.doc_id)]

    with lock(f"{args.output}.jsonl", name="--output"):
        how = {name: getattr(args, name) for name in ("tolerance", "seed", "reviewer")}
        how |= {"path": f"{args.output}.jsonl", "rule": None if rule is None else repr(rule)}
        session = JudgingSession(lists, args.budget or 200, **how)
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
    if args.quiet:
        return
    note(f"{written} judgements in {args.output}: {asking.stopped or 'stopped'}")
    if isinstance(asking, Reading):
        for line in asking.summaries():
            note(line)
        return
    note(session.summary())
    if written:
        note(f"next: paretocut fit {args.run} {args.output} --unjudged unknown -o model.json")


def _ask_program(args: Namespace, session: JudgingSession | Reading, texts: _Texts) -> None:
    with _program(args.ask, args.ask_seconds) as ask:
        while (question := session.next()) is not None:
            query, text = texts(question)
            row = {"query_id": question.query_id, "doc_id": str(question.doc_id)}
            session.answer(ask({**row, "query": query, "text": text}))
            if sys.stderr.isatty() and not args.quiet:
                sys.stderr.write(f"\r{session.answers} of {session.budget}")


@contextlib.contextmanager
def _program(command: str, seconds: float) -> Iterator[Callable[[dict[str, str]], _Answer]]:
    """Yield a function that asks a program, which runs beside us; no shell reads its command."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise InvalidParameterError(f"--ask must be a command, got {command!r}: {error}") from None
    if not words:
        raise InvalidParameterError("--ask must be a command, got an empty one")
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    questions, answers = process.stdin, process.stdout
    assert questions is not None
    assert answers is not None
    lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def listen() -> None:
        with answers:
            for line in answers:
                lines.put(line)
        lines.put(b"")  # the program has ended

    def ask(question: dict[str, str]) -> _Answer:
        try:
            questions.write(json.dumps(question).encode() + b"\n")
            questions.flush()
            line = lines.get(timeout=seconds)
        except BrokenPipeError:
            line = b""
        except queue.Empty:
            got = f"nothing for {question['query_id']!r}, {question['doc_id']!r}"
            must = f"{command!r} must answer within {seconds:g} s"
            raise ParetocutError(f"{must}, got {got}") from None
        if not line:
            must = f"{command!r} must answer until its input ends"
            raise ParetocutError(f"{must}, but it exited with code {process.wait()}")
        return _answer(command, line)

    listener = threading.Thread(target=listen, daemon=True)
    listener.start()
    try:
        yield ask
    finally:
        try:
            questions.close()
            process.wait(5)
        except (OSError, subprocess.TimeoutExpired):
            process.kill()
            process.wait()
        listener.join(5)  # a child of the program may hold its output open


def _answer(command: str, line: bytes) -> _Answer:
    try:
        said: Any = json.loads(line)["relevant"]
    except (ValueError, TypeError, KeyError, RecursionError):
        said = line
    if said is None or isinstance(said, bool):
        return said
    if isinstance(said, (int, float)) and abs(said) < _HIGHEST_GRADE and said == int(said):
        return int(said)
    raise ParetocutError(
        f'{command!r} must write lines such as {{"relevant": true}}, with true, false, a whole '
        f"grade or null, got {line[:80]!r}"
    )


def _ask_person(session: JudgingSession | Reading, texts: _Texts) -> None:
    keys = _DECIDED if isinstance(session, Reading) else _KEYS.keys()
    with _one_key() as key:
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


@contextlib.contextmanager
def _one_key() -> Iterator[Callable[[], str]]:
    if sys.platform == "win32":
        import msvcrt

        yield msvcrt.getwch
        return
    import termios
    import tty

    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    try:
        tty.setcbreak(descriptor)  # Ctrl-C still interrupts
        yield lambda: os.read(descriptor, 1).decode(errors="replace")
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def screen(
    query: str, text: str, *, done: str, learned: str, keys: Collection[str] = _KEYS.keys()
) -> str:
    """Return one screen: a query, a result, and the keys.

    Rank and score are left out, so that they do not sway the judge. Control characters are
    dropped, so that a document cannot command the terminal.
    """
    size = shutil.get_terminal_size()
    width, plain = min(size.columns, _WIDEST) - 2, os.environ.get("TERM") == "dumb"
    query, text = (_CONTROL.sub(" ", one.replace("\t", " ")) for one in (query, text))
    offered = "   ".join(f"{key} {_KEYS[key]}" for key in keys)
    asked = textwrap.wrap(query, width) or ["(no text)"]
    foot = [*textwrap.wrap(f"Relevant?   {offered}", width), *textwrap.wrap(learned, width)]
    room = max(size.lines - len(asked) - len(foot) - 6, 3)
    lines = [line for part in text.splitlines() for line in textwrap.wrap(part, width) or [""]]
    if len(lines) > room:
        lines = [*lines[: room - 1], f"... {len(lines) - room + 1} more lines"]
    shown = "\n".join(lines)
    words = sorted(set(re.findall(r"\w{3,}", query)), key=lambda word: (-len(word), word))
    if words and not plain:  # in bold, the longest first
        pattern = r"\b(?:" + "|".join(map(re.escape, words)) + r")\w*"
        shown = re.sub(pattern, rf"{_BOLD}\g<0>{_PLAIN}", shown, flags=re.IGNORECASE)
    rule = "-" * width
    body = [done, *asked, rule, shown, rule, *foot]
    return ("" if plain else _CLEAR) + "\n".join(body) + "\n"
