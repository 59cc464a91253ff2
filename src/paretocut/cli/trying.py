"""``demo`` and ``example``: the docstrings of Python's own functions, to see and to try."""

from __future__ import annotations

import importlib
import sys
import textwrap
from argparse import Namespace
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

import paretocut as pc
from paretocut import metrics
from paretocut.cli import arguments
from paretocut.cli.arguments import Commands, note, option, print_json
from paretocut.errors import InvalidParameterError
from paretocut.io import write_trec
from paretocut.io.formats import json_line
from paretocut.io.streams import open_target
from paretocut.lists import RankedLists
from paretocut.truncators import Consensus, FixedK, ScoreThreshold, Truncator

_FILES = (
    *("notes.py", "corpus.jsonl", "texts.txt", "queries.tsv", "unanswered.tsv", "run.txt"),
    *("words.txt", "unanswered.txt", "qrels.txt"),
)


def add_demo(commands: Commands) -> None:
    parser = arguments.command(commands, demo)
    option(parser, "--json", "print the rows of the table as JSON")


def demo(args: Namespace) -> None:
    """See what it does, on the docstrings of Python's own functions.

    Asks questions about Python to an index of docstrings, and questions off the topic. Two
    answers are drawn with their cuts, and a table compares seven ways to cut. It works offline
    and takes seconds. `paretocut example FOLDER` writes the questions and the texts.
    """
    notes: Any = importlib.import_module("paretocut.data.notes")  # takes a moment
    f1, gate = metrics.f_beta(1, recall_base="collection"), "pc.calibrate(search, texts, n=400)"
    asked, off = _searched(notes, notes.questions), _searched(notes, notes.unanswered)
    # Nobody has judged anything for any of these.
    methods: dict[str, Truncator] = {
        "the first ten": FixedK(10),
        "cosine at least 0.3": ScoreThreshold("raw", 0.3),
        "cosine at least 0.5": ScoreThreshold("raw", 0.5),
        'pc.cut(scores, expect="one")': Consensus(expect="one"),
        'pc.cut(scores, expect="few")': Consensus(expect="few"),
        "pc.cut(scores)": Consensus(),
        gate: pc.calibrate(lambda x: notes.search_vectors(x)[1], notes.texts, n=400),
    }
    rows = {}
    for name, truncator in methods.items():
        good, other = truncator.predict(asked), truncator.predict(off)
        rows[name] = {
            "name": name,
            "kept": float(good.mean()),
            "f1": float(f1(asked, good).mean()),
            "left_empty": float((good == 0).mean()),
            "kept_off_topic": float(other.mean()),
            "refused": float((other == 0).mean()),
        }
        if args.json:
            print_json(rows[name])
    if args.json:
        return
    ten, ours = rows["the first ten"], rows[gate]
    about = (
        f"{len(asked)} questions about Python, such as '{next(iter(notes.questions))}', and "
        f"{len(off)} about other things, such as '{notes.unanswered[0]}', to an index of "
        f"{len(notes.texts)} docstrings: the best 200 by cosine."
    )
    point = (
        f"The point: the first ten have an F1 of {ten['f1']:.2f}, and any question gets ten. "
        f"paretocut has an F1 of {ours['f1']:.2f}: it searched for nonsense made of its own "
        f"words, without a label. It returns nothing for {ours['refused']:.0%} of the questions "
        f"off the topic and {ours['left_empty']:.0%} of the good ones."
    )
    # The median question of each kind is shown, so that neither is picked.
    values = f1(asked, methods[gate].predict(asked))
    median = np.argsort(values, kind="stable")[len(asked) // 2]
    hardest = np.argsort(off.scores.ends()[0], kind="stable")[len(off) // 2]
    answers = []
    for question in (list(notes.questions)[median], notes.unanswered[hardest]):
        found, scores = notes.search_vectors(question)
        k, wanted = methods[gate].cut(scores).k, notes.questions.get(question, "").split()
        signs = [", a right answer" if name in wanted else "" for name in found]
        drawn = [
            f"  {score:.2f} {'#' * round(40 * score):26} {name}{sign}"[:79]
            for score, name, sign in zip(scores, found, signs, strict=True)
        ]
        answers += [f"'{question}': kept {k or 'nothing'}", *drawn[:k], f"  {'-' * 31} cut"]
        answers += [*drawn[k : k + 5], ""]
    line = " {name:35}{kept:6.1f}{f1:6.2f}{left_empty:7.0%}{kept_off_topic:9.1f}{refused:9.0%}"
    table = [
        f"{'':36}{'about Python':>19}{'off the topic':>18}",
        f"{'':36}{'kept':>6}{'F1':>6}{'empty':>7}{'kept':>9}{'refused':>9}",
        *(line.format(**row) for row in rows.values()),
    ]
    lines = [*textwrap.wrap(about, 79), "", *answers, *table, "", *textwrap.wrap(point, 79)]
    sys.stdout.write("\n".join(lines) + "\n")


def _searched(notes: Any, questions: Iterable[str]) -> RankedLists:
    wanted = [notes.questions.get(question, "").split() for question in questions]
    found = [notes.search_vectors(question) for question in questions]
    return RankedLists(
        [scores for _, scores in found],
        [np.isin(names, want) for (names, _), want in zip(found, wanted, strict=True)],
        num_relevant=[len(want) for want in wanted],
    )


def add_example(commands: Commands) -> None:
    parser = arguments.command(commands, example)
    parser.add_argument("folder", metavar="FOLDER", help="where to write; created if needed")
    option(parser, "-q --quiet", "no note about what was written")


def example(args: Namespace) -> None:
    """Write small files for trying the other commands.

    Searches some 400 short texts, the docstrings of Python's own functions, and writes into
    FOLDER: run.txt and words.txt, TREC runs of 50 questions, by vectors and by words (BM25), 200
    results each; qrels.txt and queries.tsv, their judgements and texts; corpus.jsonl and
    texts.txt, what was searched; unanswered.tsv and unanswered.txt, 24 questions without an
    answer and their run; and notes.py, which made them and searches for more: `python notes.py
    queries.tsv > run.txt`. Existing files are never overwritten.
    """
    notes: Any = importlib.import_module("paretocut.data.notes")
    folder = Path(args.folder)
    present = [name for name in _FILES if (folder / name).exists()]
    if present:
        raise InvalidParameterError(
            f"FOLDER must not hold files of these names yet, got {', '.join(present)}"
        )
    folder.mkdir(parents=True, exist_ok=True)
    texts = dict(zip(notes.names, notes.texts, strict=True))
    asked = {f"q{i:02}": question for i, question in enumerate(notes.questions, 1)}
    unanswered = {f"no{i:02}": question for i, question in enumerate(notes.unanswered, 1)}
    files = {
        "notes.py": [Path(notes.__file__).read_bytes()],
        "corpus.jsonl": [json_line({"id": name, "text": text}) for name, text in texts.items()],
        "texts.txt": [f"{text}\n".encode() for text in texts.values()],
        "queries.tsv": [f"{query}\t{text}\n".encode() for query, text in asked.items()],
        "unanswered.tsv": [f"{query}\t{text}\n".encode() for query, text in unanswered.items()],
        "qrels.txt": [
            f"{query} 0 {name} 1\n".encode()
            for query, question in asked.items()
            for name in notes.questions[question].split()
        ],
    }
    for name, lines in files.items():
        with open_target(folder / name) as out:
            out.writelines(lines)
    for name, queries, search in (
        ("run.txt", asked, notes.search_vectors),
        ("words.txt", asked, notes.search_words),
        ("unanswered.txt", unanswered, notes.search_vectors),
    ):
        doc_ids, scores = zip(*map(search, queries.values()), strict=True)
        lists = RankedLists(scores, query_ids=list(queries), doc_ids=doc_ids)
        write_trec(folder / name, lists, tag="notes")
    if not args.quiet:
        note(f"{folder}: {', '.join(_FILES)}; try `paretocut cut {folder / 'run.txt'} --json`")
