"""``cut``, ``fuse`` and ``score``: runs go through them in blocks, so large ones need no memory."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import sys
from argparse import ArgumentParser, Namespace
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from json.encoder import encode_basestring, encode_basestring_ascii
from typing import IO, Any, TypeAlias, TypeVar

import numpy as np

import paretocut as pc
from paretocut import _kernel
from paretocut.cli import arguments
from paretocut.cli.arguments import Commands, flag, note, noted_warnings, option, positive_int, warn
from paretocut.decisions import WARNINGS, Cuts
from paretocut.decisions.options import FITTING, OPTIONS, RULES, check_options
from paretocut.errors import InvalidParameterError, InvalidScoresError, NotFittedError
from paretocut.fusion.fitted import ChosenFusion
from paretocut.fusion.methods import FUSING
from paretocut.io import read_lists, write_lists
from paretocut.io.formats import is_utf8, json_line
from paretocut.io.streams import NotInBlocks, open_target, pass_on, standard
from paretocut.io.tables import format_of, read_blocks
from paretocut.lists import FloatArray, RankedLists
from paretocut.tail import limited_threads
from paretocut.truncators.choose import GATE_ALPHA, Chosen

T = TypeVar("T")
_Groups: TypeAlias = Iterator[list[RankedLists]]  # lists of the same queries, one from each run
_Runs: TypeAlias = Sequence[tuple[str, bool]]  # files, and whether higher is better
_Join: TypeAlias = Callable[[list[RankedLists]], RankedLists]
RESULTS_PER_BLOCK = 1_000_000
_MOST_NAMED = 50
_DECISION = ("model", "background", "gate_alpha", *OPTIONS)
_COLUMNS = ("query_id", "rank", "doc_id", "score", "surprise", "pvalue", "evalue")
_QUOTE, _SPECIAL = '"', re.compile('[\t\n\r"]')


def add_cut(commands: Commands) -> None:
    parser = arguments.command(commands, cut)
    arguments.add_input(parser)
    json = "print the decisions, one JSON object per query; the run is written only with -o"
    text = "the run; a known suffix (.run, .jsonl, ...) sets its format"
    arguments.add_output(parser, text, json, required=False)
    option(parser, "--in-place", "write the shortened run over RUN")
    _add_decision(parser)


def cut(args: Namespace) -> None:
    """Shorten every list to the results worth returning.

    Writes the shortened run, in the format of the input. A TREC run cannot hold a query without
    results: such queries are named on standard error. A run whose results are grouped by query
    is read in blocks, so memory does not grow with the file.
    """
    if args.in_place:
        if args.output is not None or args.run == "-":
            got = "-" if args.output is None else f"-o {args.output}"
            raise InvalidParameterError(
                f"--in-place must come with a file as RUN and without -o, got {got}"
            )
        args.output = args.run
    _write(args, [(args.run, not args.distances)], lambda group: group[0], _chosen(args))


def add_fuse(commands: Commands) -> None:
    parser = arguments.command(commands, fuse)
    text = "two or more runs of the same queries"
    parser.add_argument("runs", metavar="RUN", nargs="+", help=text)
    option(parser, f"--format {arguments.FORMATS}", "format of the runs (default: by their names)")
    text = "this run holds distances: lower is better (may be repeated)"
    option(parser, "--distances RUN", text, action="append", default=[])
    json = "print one JSON object per query, with score and rank by run; the run goes to -o only"
    arguments.add_output(parser, "the run", json, required=False)
    how = parser.add_argument_group("how the runs are fused")
    arguments.add_options(how, FUSING, FUSING)
    option(how, "--fusion FILE", "a fusion saved by Fusion.save")
    text = "cut by a method that needs no training, by an option below, or by the scores alone"
    group = parser.add_argument_group("cut the fused lists")
    option(group, "--cut METHOD", text, nargs="?", const="")
    _add_decision(parser, method=False)


def fuse(args: Namespace) -> None:
    """Fuse several runs into one, cut or not: hybrid search.

    Fuses the lists of each query by score and writes one run, best first. A document that is
    missing from a run gets the lowest score of that run.
    """
    decider = None if args.cut is None else _chosen(args, "cut")
    loose = [flag(name) for name in arguments.given_options(args, (*_DECISION, "query_texts"))]
    if decider is None and loose:
        raise InvalidParameterError(f"{', '.join(loose)} must come with --cut, got none")
    for name in args.distances:
        if name not in args.runs:
            runs = ", ".join(args.runs)
            raise InvalidParameterError(f"--distances must name one of the runs {runs}, got {name}")
    if args.runs.count("-") > 1:
        raise InvalidParameterError("standard input (-) must be one run, got it twice")
    how = ChosenFusion.of("fuse", arguments.given_options(args, (*FUSING, "fusion")))
    names = arguments.short_names(args.runs)

    def fused(group: list[RankedLists]) -> RankedLists:
        named = dict(zip(names, group, strict=True))
        with noted_warnings(quiet=args.quiet):
            lists: RankedLists = how.fuse(named if how.fusion is None else group)
        return lists

    _write(args, [(run, run not in args.distances) for run in args.runs], fused, decider)


def add_score(commands: Commands) -> None:
    parser = arguments.command(commands, score)
    arguments.add_input(parser)
    json = "JSON lines instead of TSV"
    arguments.add_output(parser, "the lines", json, required=False, default="-")
    arguments.add_options(parser.add_argument_group("how the tail is fitted"), FITTING)
    option(parser, "--threads N", "threads (default: one per processor)", positive_int)


def score(args: Namespace) -> None:
    """Give every result its surprise, p-value and E-value.

    Prints one line for every result, best first: query_id, rank, doc_id, score, surprise,
    pvalue, evalue.
    """
    fitting = check_options("", arguments.given_options(args, FITTING), FITTING, flag)

    def work(groups: _Groups) -> None:
        found: list[tuple[str, ...]] = []
        lines = _json if args.json else _tsv
        with open_target(args.output) as out:
            if not args.json:
                out.write("\t".join(_COLUMNS).encode() + b"\n")
            for block in chain.from_iterable(_blocks(lists) for (lists,) in groups):
                fits = pc.fit_tails(block, threads=args.threads, **fitting)
                columns = (fits.surprise, fits.pvalues, fits.evalues)
                for ranked, *of_results in zip(block, *columns, strict=True):
                    ids = ranked.doc_ids
                    names = [None] * len(ranked) if ids is None else ids.tolist()
                    numbers = np.stack([ranked.scores, *of_results])
                    out.write(lines(ranked.query_id, names, numbers))
                pass_on(out)
                found += fits.warnings
        if not args.quiet:
            _report_warnings(found, len(found))

    _in_blocks(args, [(args.run, not args.distances)], work)


def _json(query_id: str, ids: list[str | None], numbers: FloatArray) -> bytes:
    whole = is_utf8([query_id, *filter(None, ids)])
    text = encode_basestring if whole else encode_basestring_ascii
    query, *names = ("null" if name is None else text(name) for name in (query_id, *ids))
    heads = [
        f'{{"query_id": {query}, "rank": {rank}, "doc_id": {name}, "score": '
        for rank, name in enumerate(names, start=1)
    ]
    ends = [*(f', "{name}": ' for name in _COLUMNS[4:]), "}\n"]
    return _kernel.lines(heads, numbers, [0, 0, 0, 0], ends)


def _tsv(query_id: str, ids: list[str | None], numbers: FloatArray) -> bytes:
    """Return lines of a table for the eye: the score as given, the rest in six digits."""
    query, *names = texts = [query_id, *(name or "" for name in ids)]
    if _SPECIAL.search("".join(texts)):
        query, *names = (f'"{name.replace(_QUOTE, 2 * _QUOTE)}"' for name in texts)
    heads = [f"{query}\t{rank}\t{name}\t" for rank, name in enumerate(names, start=1)]
    return _kernel.lines(heads, numbers, [0, 6, 6, 6], ["\t", "\t", "\t", "\n"])


def _add_decision(parser: ArgumentParser, *, method: bool = True) -> None:
    group = parser.add_argument_group(
        "what decides (at most one; by default the scores alone, with untrained consensus)"
    )
    arguments.add_options(group, ["expect"])
    option(group, "--model FILE", "a model from `fit` or `calibrate`")
    if method:
        text = "a method that needs no training, such as largest_gap or fixed_k:k=20; `paretocut "
        option(group, "--method METHOD", f"{text}fit --help` lists the names")
    arguments.add_options(group, RULES)
    group = parser.add_argument_group("with one of the rules")
    arguments.add_options(group, ["if_unsure", *FITTING])
    gate = parser.add_argument_group("keep nothing if there is no answer")
    text = "a file of `calibrate --background`: keep nothing if the best score is no better"
    option(gate, "--background FILE", text)
    arguments.add_options(gate, ["gate_alpha"], {"gate_alpha": GATE_ALPHA})
    group = parser.add_argument_group("bounds on the number of results")
    arguments.add_options(group, ["min_k", "max_k"])
    arguments.add_query_texts(parser, "needed only by a model calibrated for lexical scores")
    arguments.add_imports(parser)
    option(parser, "--threads N", "threads (default: one per processor)", positive_int)


def _chosen(args: Namespace, method: str = "method") -> Chosen:
    """Return what decides, before any run is read; ``method`` is the option of a method."""
    options = arguments.given_options(args, _DECISION)
    text = getattr(args, method)
    if text:
        options[method] = arguments.method_of(text, flag(method))
    found = Chosen.of("", options, models=("model", method, "background"), spelt=flag)
    found.truncator.check()
    try:
        found.truncator.require_fitted()
    except NotFittedError as error:
        needs = " or ".join(getattr(options.get(method), "instead_of_fit", ()))
        if not needs:
            raise
        must = (
            f"{flag(method)} {text} must come with its {needs} ({text}:{needs}=...), or be learned"
        )
        raise InvalidParameterError(
            f"{must} (`paretocut fit`, then --model); got neither"
        ) from error
    return found


def _blocks(lists: RankedLists) -> Iterator[RankedLists]:
    return (lists[start:stop] for start, stop in lists.scores.blocks(RESULTS_PER_BLOCK))


def _cut_blocks(
    args: Namespace, decider: Chosen | None, lists: RankedLists
) -> Iterator[tuple[RankedLists, Cuts | None]]:
    if decider is None:
        yield lists, None
        return
    with limited_threads(args.threads):
        for block in _blocks(lists):
            texts = arguments.query_texts(args, block, lexical=decider.truncator.needs_queries)
            cuts = decider.cut_batch(block, queries=texts)
            yield block.truncate(cuts.k), cuts


def _rows(lists: RankedLists, cuts: Cuts | None) -> Iterator[dict[str, Any]]:
    decided = [{} for _ in range(len(lists))] if cuts is None else cuts.to_dicts()
    for i, (query_id, row) in enumerate(zip(lists.query_ids.tolist(), decided, strict=True)):
        for name in ("indices", "nearest"):  # the first k of the run, and those after them
            row.pop(name, None)
        if lists.parts is not None:
            one, parts = lists[i], lists.parts.of_list(i)
            assert one.doc_ids is not None
            columns = one.doc_ids.tolist(), one.scores.tolist(), parts
            row["results"] = [
                {"doc_id": doc_id, "score": score, "parts": of_runs}
                for doc_id, score, of_runs in zip(*columns, strict=True)
            ]
        yield {"query_id": query_id, **row}


def _write(args: Namespace, runs: _Runs, joined: _Join, decider: Chosen | None) -> None:
    """Write the run that the lists of the runs become, or with --json the decisions."""

    def work(groups: _Groups) -> None:
        found: list[tuple[str, ...]] = []
        sizes = np.zeros(3, dtype=np.int64)  # queries, results, results kept

        def written() -> Iterator[RankedLists]:
            for group in groups:
                for lists, cuts in _cut_blocks(args, decider, joined(group)):
                    sizes[0] += len(lists)
                    if cuts is not None:
                        sizes[1:] += cuts.n.sum(), cuts.k.sum()
                        found.extend(cuts.warnings)
                    if args.json:
                        out.writelines(map(json_line, _rows(lists, cuts)))
                        pass_on(out)
                    yield lists

        with open_target("-") as out:
            if args.output is None and args.json:
                deque(written(), maxlen=0)
                emptied = []
            else:
                emptied = write_lists(args.output or "-", written(), _format(args, runs[0][0]))
        queries, results, kept = sizes.tolist()
        if args.quiet:
            return
        _report_warnings(found, queries)
        if emptied:
            more = len(emptied) - _MOST_NAMED
            names = " ".join(emptied[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
            share = f"{len(emptied)} of {queries} queries"
            note(f"{share} have no results left and are not in the run: {names}")
        if args.output is not None and args.command == "cut":
            note(f"{args.output}: kept {kept:,} of {results:,} results of {queries:,} queries")

    _in_blocks(args, runs, work)


def _format(args: Namespace, run: str) -> Any:
    if os.path.splitext(args.output or "-")[1]:
        return format_of(args.output, who="--output")
    format = args.format or format_of(run, who=args.command)
    if args.output in (None, "-") and format in ("parquet", "arrow") and sys.stdout.isatty():
        raise InvalidParameterError(
            f"-o must name a file for {format}, which a terminal cannot show; got none"
        )
    return format


def _in_blocks(args: Namespace, runs: _Runs, work: Callable[[_Groups], None]) -> None:
    """Do the work block by block; anew if a run must be read whole, unless results have left."""
    formats = [format_of(run, args.format, who=args.command) for run, _ in runs]

    def readers(read: Callable[..., Any]) -> list[tuple[str, Any]]:
        return [
            (run, read(file, kind, higher_is_better=up, **arguments.bounds(args)))
            for file, kind, (run, up) in zip(files, formats, runs, strict=True)
        ]

    with contextlib.ExitStack() as stack:
        files = [
            standard("input").buffer if run == "-" else stack.enter_context(open(run, "rb"))
            for run, _ in runs
        ]
        groups = _together(readers(read_blocks))
        piped, begun = not all(file.seekable() for file in files), False
        starts = [0 if piped else file.tell() for file in files]
        try:
            if piped:
                return work(groups)
            first = list(islice(groups, 2))  # finds most runs that are not grouped
            begun = True
            return work(with_progress(files, chain(first, groups), quiet=args.quiet))
        except NotInBlocks as reason:
            if piped:
                how = "must be grouped by query; sort them, or name a file"
                raise InvalidScoresError(f"{reason}: results in a pipe {how}") from None
            if begun and (args.output in (None, "-") or args.json):
                raise InvalidScoresError(
                    f"{reason}, and results have left already; -o FILE writes them at the end"
                ) from None
            if not args.quiet:
                note(f"{reason}, so the whole run is read into memory")
        for file, start in zip(files, starts, strict=True):
            file.seek(start)
        whole = [arguments.filled(run, lists) for run, lists in readers(read_lists)]
        return work(iter([whole]))


def _together(runs: list[tuple[str, Iterator[RankedLists]]]) -> _Groups:
    held = [arguments.filled(run, next(blocks)) for run, blocks in runs]
    while True:
        count = min(map(len, held))
        group = [lists[:count] for lists in held]
        if any((lists.query_ids != group[0].query_ids).any() for lists in group):
            break
        yield group
        rest = [(lists[count:], blocks) for lists, (_, blocks) in zip(held, runs, strict=True)]
        held = [lists if len(lists) else next(blocks, lists) for lists, blocks in rest]
        if not any(map(len, held)):
            return
        if not all(map(len, held)):
            break
    raise NotInBlocks("the runs do not have the same queries in the same order")


def with_progress(files: Sequence[IO[bytes]], groups: Iterable[T], *, quiet: bool) -> Iterator[T]:
    """Yield the groups; on a terminal with tqdm, a bar shows how much of the files was read."""
    if quiet or not sys.stderr.isatty() or importlib.util.find_spec("tqdm") is None:
        yield from groups
        return
    from tqdm import tqdm

    total = sum(os.fstat(file.fileno()).st_size for file in files)
    with tqdm(total=total, unit="B", unit_scale=True, delay=1, leave=False) as bar:
        for group in groups:
            yield group
            bar.update(sum(file.tell() for file in files) - bar.n)


def _report_warnings(found: Iterable[Sequence[str]], queries: int) -> None:
    counts = Counter(name for names in found for name in names)
    for name in WARNINGS:
        if counts[name]:
            warn(f"{name} in {counts[name]} of {queries} queries: {WARNINGS[name]}")
