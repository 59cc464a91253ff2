"""``example``: write small files to try the other commands on."""

from __future__ import annotations

import runpy
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable
from importlib import resources
from pathlib import Path

from paretocut.cli.arguments import option
from paretocut.cli.terminal import note
from paretocut.errors import InvalidParameterError
from paretocut.io import write_trec
from paretocut.io.formats import json_line
from paretocut.io.streams import open_target
from paretocut.lists import RankedLists

SUMMARY = "write small files for trying the other commands"
DESCRIPTION = """Searches some 400 short texts, the docstrings of Python's own functions, and writes
the results into FOLDER. run.txt and words.txt are TREC runs of the same 50 questions, by vectors
and by words (BM25), 200 results each; qrels.txt has their judgements, queries.tsv their texts.
corpus.jsonl and texts.txt have the texts that were searched. unanswered.tsv has 24 questions
without an answer, unanswered.txt their run. notes.py made them, and searches for more: `python
notes.py queries.tsv > run.txt`. Existing files are never overwritten."""

_NAMES = (
    *("notes.py", "corpus.jsonl", "texts.txt", "queries.tsv", "unanswered.tsv", "run.txt"),
    *("words.txt", "unanswered.txt", "qrels.txt"),
)


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("folder", metavar="FOLDER", help="where to write; created if needed")
    option(parser, "-q --quiet", "no note about what was written")


def run(args: Namespace) -> None:
    folder = Path(args.folder)
    present = [name for name in _NAMES if (folder / name).exists()]
    if present:
        raise InvalidParameterError(
            f"FOLDER must not hold files of these names yet, got {', '.join(present)}"
        )
    folder.mkdir(parents=True, exist_ok=True)
    program = resources.files("paretocut") / "data" / "notes.py"
    (folder / "notes.py").write_bytes(program.read_bytes())
    notes = runpy.run_path(str(folder / "notes.py"))
    texts = list(zip(notes["names"], notes["texts"], strict=True))
    asked = {f"q{i:02}": question for i, question in enumerate(notes["questions"], 1)}
    unanswered = {f"no{i:02}": question for i, question in enumerate(notes["unanswered"], 1)}
    _write(folder / "corpus.jsonl", (json_line({"id": name, "text": t}) for name, t in texts))
    _write(folder / "texts.txt", (f"{text}\n".encode() for _, text in texts))
    _write(
        folder / "qrels.txt",
        (
            f"{query} 0 {name} 1\n".encode()
            for query, question in asked.items()
            for name in notes["questions"][question].split()
        ),
    )
    for name, queries in (("queries.tsv", asked), ("unanswered.tsv", unanswered)):
        _write(folder / name, (f"{query}\t{text}\n".encode() for query, text in queries.items()))
    for name, queries, search in (
        ("run.txt", asked, notes["search_vectors"]),
        ("words.txt", asked, notes["search_words"]),
        ("unanswered.txt", unanswered, notes["search_vectors"]),
    ):
        doc_ids, scores = zip(*map(search, queries.values()), strict=True)
        lists = RankedLists(scores, query_ids=list(queries), doc_ids=doc_ids)
        write_trec(folder / name, lists, tag="notes")
    if not args.quiet:
        note(f"{folder}: {', '.join(_NAMES)}; try `paretocut cut {folder / 'run.txt'} --json`")


def _write(path: Path, lines: Iterable[bytes]) -> None:
    with open_target(path) as out:
        out.writelines(lines)
