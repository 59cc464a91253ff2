"""The parser of the command line, and what becomes of errors."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib.metadata import version

from paretocut.cli import (
    background,
    calibrate,
    demo,
    explore,
    fusion,
    judge,
    judged,
    lists,
    serve,
)
from paretocut.cli._common import note
from paretocut.errors import InvalidParameterError, ParetocutError

_EPILOG = """\
examples:
  paretocut demo                                 see what it does, on digits
  paretocut score run.txt | head                 surprise, p-value and E-value of each result
  paretocut cut run.txt -o cut.txt               by the scores alone
  paretocut cut run.txt --expect few             better, with a word about the questions
  paretocut cut run.txt --evalue 0.05            only what is beyond doubt; often nothing
  paretocut cut run.jsonl.gz --json              decisions and reasons, one object per query
  paretocut cut hits.csv --distances --max-k 20  distances, not scores; at most 20 results
  search | paretocut cut - --format jsonl        in a pipe
  paretocut fuse a.run b.run --cut -o fused.run  hybrid search: one run of two, cut
  paretocut compare run.txt qrels.txt            which cut-off method is best for this system
  paretocut fit run.txt qrels.txt -o model.json  learn a cut-off from judgements, then
  paretocut cut run.txt --model model.json       use it
  paretocut explore run.txt qrels.txt            drag the cut in the browser; see every method
  paretocut report run.txt -o report.html        the same as one file
  paretocut judge run.txt --queries q.jsonl --corpus docs.jsonl -o qrels.txt   no judgements?
  paretocut fit run.txt qrels.txt --unjudged unknown -o model.json             make 200
  paretocut background off-topic.txt -o bg.json  learn what off-topic queries reach, then
  paretocut cut run.txt --background bg.json     keep nothing for such queries
  paretocut nonsense texts.txt -o made-up.tsv    no such queries? make them up from words,
  paretocut calibrate made-up.run --queries users.run -o model.json    search, and calibrate
  paretocut serve --model mine=model.json        answer over HTTP

input:
  TREC runs (.run .trec .txt .res or no suffix), .jsonl, .csv, .parquet and .arrow, plain or with
  .gz or .xz behind the name; "-" is standard input, TREC unless --format says otherwise.
  Tables have one row per query: query_id, scores, and if you like doc_ids. CSV may also have one
  row per result: query_id, score, doc_id. Fetch deep: 100 to 1000 results per query.

what the numbers mean:
  surprise  how unusual a result is among the results of its own query: -log(p-value)
  p-value   chance that a result which does not matter scores as high
  E-value   how many results that do not matter would score as high in this list
  None of them says "relevant". Scores that only encode ranks (reciprocal-rank fusion) and lists
  of fewer than about 50 results are beyond the method; a warning on standard error says so.
  The command fuse fuses by score instead, so that its lists can be cut.

exit codes:
  0 done   1 bad data, or a file that cannot be read or written   2 bad usage   130 interrupted
"""


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    parser = argparse.ArgumentParser(
        prog="paretocut",
        description="How many results should a search return, or is there nothing to return? Cuts "
        "ranked lists, with what you know: nothing, a word, judgements.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"paretocut {version('paretocut')}")
    commands = parser.add_subparsers(
        title="commands", metavar="COMMAND", dest="command", required=True
    )
    for family in (demo, lists, fusion, judged, judge, background, calibrate, explore, serve):
        family.add_commands(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Return the exit code of the command line: 0 done, 1 bad data, 2 bad usage."""
    args = build_parser().parse_args(argv)
    who = f"{args.command}: "
    try:
        args.run_command(args)
        sys.stdout.flush()
    except BrokenPipeError:
        _discard_output()  # the reader has seen enough, as with `| head`
    except KeyboardInterrupt:
        return 130
    except InvalidParameterError as error:
        note(str(error).removeprefix(who), who="error: ")
        return 2
    except ParetocutError as error:
        note(str(error).removeprefix(who))
        return 1
    except OSError as error:
        reason = error.strerror or str(error)
        note(f"{error.filename}: {reason}" if error.filename else reason)
        try:
            sys.stdout.flush()
        except OSError:  # it was the output that failed
            _discard_output()
        return 1
    return 0


def _discard_output() -> None:
    """Let what is left in the buffer go nowhere, or Python would complain about it at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
