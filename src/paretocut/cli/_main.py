"""The parser of the whole command line, and the exit code of each error."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
from collections.abc import Sequence
from importlib.metadata import version

from paretocut.cli import cutting, judge, learning, serving, stop, trying
from paretocut.cli.arguments import flag, import_module, note
from paretocut.errors import InvalidParameterError, ParetocutError, speaking_for

_EPILOG = """\
examples:
  paretocut demo                                 see what it does, on Python's docstrings
  paretocut example .                            write run.txt and the other files named here
  paretocut score run.txt | head                 surprise, p-value and E-value of each result
  paretocut cut run.txt -o cut.txt               cut by the scores alone
  paretocut cut run.txt --expect few             better: say how many results are relevant
  paretocut cut run.txt --evalue 0.05            only what is beyond doubt; often nothing
  paretocut cut run.jsonl.gz --json              decisions and reasons, one object per query
  paretocut cut hits.csv --distances --max-k 20  distances, not scores; at most 20 results
  search | paretocut cut - --format jsonl        in a pipe
  paretocut fuse run.txt words.txt --cut         hybrid search: fuse two runs and cut
  paretocut evaluate run.txt qrels.txt           find the best cut-off method for your system
  paretocut fit run.txt qrels.txt -o model.json  learn a cut-off from judgements, then
  paretocut cut run.txt --model model.json       use it
  paretocut explore run.txt qrels.txt            drag the cut in the browser; see every method
  paretocut report run.txt -o report.html        the same as one file
  paretocut serve --model mine=model.json        answer over HTTP

  No judgements? Judge two hundred results, then learn from them:
  paretocut judge run.txt --query-texts queries.tsv --corpus corpus.jsonl -o judged.txt
  paretocut fit run.txt judged.txt --unjudged unknown -o model.json

  A review that reads down one list? See what a promise costs, then whether to stop:
  paretocut stop --total 5000 --plan 0.02 --recall 0.95
  paretocut stop run.txt --judged qrels.txt --recall 0.95

  Queries without an answer? Learn how high they score, then keep nothing for them:
  paretocut calibrate --background unanswered.txt -o background.json
  paretocut cut run.txt --background background.json

  No such queries? Make some from words of your index, search for them, and calibrate:
  paretocut calibrate --texts texts.txt -o nonsense.tsv
  paretocut calibrate nonsense.run --query-run run.txt -o model.json
  paretocut calibrate --check model.json new.run   later: do the scores still look the same?

input:
  TREC runs (.run .trec .txt .res or no suffix), .jsonl, .csv, .parquet and .arrow, each also with
  .gz or .xz at the end; "-" is standard input, which is TREC unless --format says otherwise.
  Tables have one row per query: query_id, scores and, if you like, doc_ids. CSV may also have one
  row per result: query_id, score, doc_id. Fetch deep: 100 to 1000 results per query.

what the numbers mean:
  surprise  how unusual a result is among the results of its own query: -log(p-value)
  p-value   probability that an irrelevant result scores this high
  E-value   number of irrelevant results expected to score this high in this list
  None of these means "relevant". Surprise cannot work on scores that only encode ranks, nor on
  fewer than about 50 results; a warning says so. `fuse` combines lists by score, for a cut.

exit codes:
  0 done   1 bad data, or a file that cannot be read or written   2 bad usage   130 interrupted
"""


_COMMANDS = (
    *(trying.add_demo, trying.add_example, cutting.add_score, cutting.add_cut, cutting.add_fuse),
    *(learning.add_evaluate, learning.add_fit, judge.add_judge, stop.add_stop),
    *(learning.add_calibrate, serving.add_explore, serving.add_serve, serving.add_report),
)


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="paretocut",
        description="How many results should a search return, or is there nothing to return? This "
        "cuts\nranked lists: by their scores alone, or better by what you know, such as the number "
        "of\nresults to expect, texts of your index, or judgements.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"paretocut {version('paretocut')}")
    commands = parser.add_subparsers(
        title="commands", metavar="COMMAND", dest="command", required=True
    )
    for add in _COMMANDS:
        add(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Return the exit code of the command line: 0 done, 1 bad data, 2 bad usage."""
    args = build_parser().parse_args(argv)
    if args.command != "serve" and threading.current_thread() is threading.main_thread():
        # The default ends the process at once, and half-written files would stay.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        # The command's name stands before the message already.
        with speaking_for("", args.command, "read_lists"):
            _keep_inputs(args)
            for module in getattr(args, "imports", ()):
                import_module(module, "--import")
            args.run_command(args)
        sys.stdout.flush()
    except BrokenPipeError:
        _discard_output()  # the reader has seen enough, as with `| head`
    except KeyboardInterrupt:
        return 130
    except InvalidParameterError as error:
        note(str(error), f"paretocut {args.command}: error")
        return 2
    except ParetocutError as error:
        note(str(error))
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


def _keep_inputs(args: argparse.Namespace) -> None:
    """Refuse to write onto a file that the command reads."""
    given = vars(args).copy()
    outputs = {name: given.pop(name, None) for name in ("output", "report", "values")}
    inputs = [
        (name, value.rpartition("=")[2])
        for name, values in given.items()
        for value in (values if isinstance(values, list) else [values])
        if isinstance(value, str)
    ]
    for name, output in outputs.items():
        if not output or not os.path.isfile(output) or given.get("in_place"):
            continue
        for other, path in inputs:
            if os.path.isfile(path) and os.path.samefile(path, output):
                who = other.upper() if other in ("run", "runs", "qrels") else flag(other)
                must = f"{flag(name)} must not name a file that is read"
                raise InvalidParameterError(f"{must}, got {output}, which is {who}")


def _discard_output() -> None:
    """Send the rest of the output nowhere, or Python would complain about it at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
