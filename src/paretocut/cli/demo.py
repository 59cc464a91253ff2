"""``demo``: search the docstrings of Python's own functions, and compare ways to cut."""

from __future__ import annotations

import sys
import textwrap
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

import paretocut as pc
from paretocut import metrics
from paretocut.cli.terminal import draw_list, print_json, symbols
from paretocut.data import notes as program
from paretocut.lists import IntArray, RankedLists
from paretocut.show.drawing import Picture
from paretocut.truncators import Calibrated, Consensus, FixedK, ScoreThreshold, Truncator

SUMMARY = "see what it does, on the docstrings of Python's own functions"
DESCRIPTION = """Asks questions about Python to an index of docstrings, and questions off the topic.
Two lists are drawn with their cuts, and a table compares six ways to cut. It works offline and
takes seconds. `paretocut example FOLDER` writes the questions and the texts."""

notes: Any = program  # a script for users, without types
CALIBRATED = "pc.calibrate(search, texts, n=400)"
_F1 = metrics.f_beta(1, recall_base="collection")


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print the rows of the table as JSON")


def _scores(question: str) -> Any:
    return notes.search_vectors(question)[1]


def _searched(questions: Iterable[str]) -> RankedLists:
    """Return the 200 nearest docstrings of each question, judged."""
    wanted = [notes.questions.get(question, "").split() for question in questions]
    found = [notes.search_vectors(question) for question in questions]
    return RankedLists(
        [scores for _, scores in found],
        [np.isin(names, want) for (names, _), want in zip(found, wanted, strict=True)],
        num_relevant=[len(want) for want in wanted],
    )


def _methods() -> dict[str, Truncator]:
    """Return the ways to cut; nobody has judged anything for any of them."""
    return {
        "the first ten": FixedK(10),
        "cosine at least 0.3": ScoreThreshold("raw", 0.3),
        "cosine at least 0.5": ScoreThreshold("raw", 0.5),
        'pc.cut(scores, expect="few")': Consensus(expect="few"),
        "pc.cut(scores)": Consensus(),
        CALIBRATED: pc.calibrate(_scores, notes.texts, n=400),
    }


def _row(name: str, good: IntArray, asked: RankedLists, off: IntArray) -> dict[str, Any]:
    return {
        "name": name,
        "kept": float(good.mean()),
        "f1": float(_F1(asked, good).mean()),
        "left_empty": float((good == 0).mean()),
        "kept_off_topic": float(off.mean()),
        "refused": float((off == 0).mean()),
    }


def run(args: Namespace) -> None:
    asked, off = _searched(notes.questions), _searched(notes.unanswered)
    methods = _methods()
    rows = [_row(name, t.predict(asked), asked, t.predict(off)) for name, t in methods.items()]
    if args.json:
        for row in rows:
            print_json(row)
        return
    about = (
        f"{len(asked)} questions about Python, such as '{next(iter(notes.questions))}', and "
        f"{len(off)} about other things, such as '{notes.unanswered[0]}', to an index of "
        f"{len(notes.texts)} docstrings: the best 200 by cosine."
    )
    gate = methods[CALIBRATED]
    assert isinstance(gate, Calibrated)
    lines = [*textwrap.wrap(about, 79), "", *_pictures(gate, asked, off), "", *_table(rows), ""]
    sys.stdout.write("\n".join([*lines, *textwrap.wrap(_point(rows), 79)]) + "\n")


def _table(rows: list[dict[str, Any]]) -> Iterator[str]:
    yield f"{'':36}{'about Python':>19}{'off the topic':>18}"
    yield f"{'':36}{'kept':>6}{'F1':>6}{'empty':>7}{'kept':>9}{'refused':>9}"
    line = " {name:35}{kept:6.1f}{f1:6.2f}{left_empty:7.0%}{kept_off_topic:9.1f}{refused:9.0%}"
    yield from (line.format(**row) for row in rows)


def _point(rows: list[dict[str, Any]]) -> str:
    by_name = {row["name"]: row for row in rows}
    ten, ours = by_name["the first ten"], by_name[CALIBRATED]
    return (
        f"The point: the first ten have an F1 of {ten['f1']:.2f}, and a question without an answer "
        f"gets ten results too. paretocut has an F1 of {ours['f1']:.2f}. It has searched for "
        "nonsense made of the index's own words, without a label, and returns nothing for "
        f"{ours['refused']:.0%} of the questions off the topic and {ours['left_empty']:.0%} of the "
        "good ones."
    )


def _pictures(gate: Calibrated, asked: RankedLists, off: RankedLists) -> Iterator[str]:
    """Yield drawings of two questions, the median of each kind, so that neither is picked."""
    f1 = _F1(asked, gate.predict(asked))
    best = off.scores.ends()[0]
    chosen = (
        (list(notes.questions), asked, int(np.argsort(f1, kind="stable")[len(asked) // 2])),
        (notes.unanswered, off, int(np.argsort(best, kind="stable")[len(off) // 2])),
    )
    signs = symbols(sys.stdout.encoding)
    top = max(float(lists.scores[i].max()) for _, lists, i in chosen)
    yield "Cosine by rank; the results left of the line are kept."
    yield f"{signs.hit} is a right answer, {signs.miss} another docstring."
    for texts, lists, i in chosen:
        cut = gate.cut(lists.scores[i])
        yield ""
        yield f"'{texts[i]}': kept {cut.k or 'nothing'}"
        picture = Picture(lists.scores[i], k=cut.k, judgements=lists.relevant[i].astype(float))
        yield from draw_list(picture, top, signs)
