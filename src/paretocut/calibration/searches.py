"""Running many queries through a user's own search, with threads, progress and a file to resume."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

from paretocut.answers import Answer, read
from paretocut.callbacks import Journal, waiting
from paretocut.errors import DataFormatError, InvalidParameterError
from paretocut.lists import FloatArray
from paretocut.schema.parameters import check_positive_int, shown

Search: TypeAlias = Callable[[Any], Any]
"""Takes the text of a query, or a list of texts, and returns an answer or scores."""
_BLOCK = 32
_AT_ONCE = 8  # asynchronous searches at the same time
_AGAIN, _NEAR = 3, 0.01  # kept queries that are searched again, and how much they may differ


def run_searches(
    search: Search,
    queries: Sequence[str],
    *,
    who: str,
    batch: bool = False,
    threads: int | None = None,
    progress: bool | None = None,
    resume: str | os.PathLike[str] | None = None,
) -> list[FloatArray]:
    """Return the scores of each query."""
    if not callable(search):
        raise InvalidParameterError(f"search must be a function, got {shown(search)}", who=who)
    if threads is None:
        threads = _AT_ONCE if inspect.iscoroutinefunction(search) else 1
    check_positive_int(threads, who=who, name="threads")
    journal = Journal(resume, holds="searches", head={}, who=who, name="resume")
    found = _kept(journal)
    known = [query for query in dict.fromkeys(queries) if query in found]
    missing = [query for query in dict.fromkeys(queries) if query not in found]
    shows = sys.stderr.isatty() if progress is None else progress

    with waiting() as wait:

        def one(query: str) -> tuple[str, FloatArray]:
            return query, scores_of(wait(search(query)), who)

        def asked(texts: list[str]) -> Iterable[tuple[str, FloatArray]]:
            if batch:
                yield from _blocks(lambda block: wait(search(block)), texts, who)
            elif threads == 1:
                yield from map(one, texts)
            else:
                from concurrent.futures import ThreadPoolExecutor

                with ThreadPoolExecutor(threads) as pool:
                    try:
                        yield from pool.map(one, texts)
                    except BaseException:  # Ctrl-C too: nobody waits for searches under way
                        pool.shutdown(wait=False, cancel_futures=True)
                        wait.cancel()
                        raise

        for query, scores in asked(known[:_AGAIN]):
            _compare(query, found[query], scores, who, resume)
        for done, (query, scores) in enumerate(asked(missing), 1):
            found[query] = scores
            if journal.path is not None:
                journal.add({"query": query, "scores": scores.tolist()})
            if shows:
                end = "\n" if done == len(missing) else ""
                sys.stderr.write(f"\r{who}: {done} of {len(missing)} searches{end}")
                sys.stderr.flush()
    return [found[query] for query in queries]


def _compare(query: str, kept: FloatArray, now: FloatArray, who: str, resume: Any) -> None:
    """Refuse to go on when the search no longer gives the scores that were kept."""
    one, other = (float(scores[0]) if scores.size else 0.0 for scores in (kept, now))
    if abs(one - other) > _NEAR * max(abs(one), abs(other)):
        raise InvalidParameterError(
            f"resume must name a file of the same search, got {os.fspath(resume)!r}, where "
            f"{query!r} has a best score of {one:.6g}, and now {other:.6g}: the model or the "
            "index has changed, so start with a new file",
            who=who,
        )


def _blocks(search: Search, queries: list[str], who: str) -> Iterable[tuple[str, FloatArray]]:
    for start in range(0, len(queries), _BLOCK):
        block = queries[start : start + _BLOCK]
        found = search(block)
        if hasattr(found, "__next__"):
            found = list(found)
        if isinstance(found, (list, np.ndarray)) and len(found) == len(block):
            answers = [scores_of(one, who) for one in found]
        else:
            answers = [_best(one) for one in _read(found, who).scores]
        if len(answers) != len(block):
            raise InvalidParameterError(
                f"search must give one result for each of {len(block)} queries, got {len(answers)}",
                who=who,
            )
        yield from zip(block, answers, strict=True)


def scores_of(given: Any, who: str) -> FloatArray:
    """Return the scores in the answer to one query."""
    found = _read(given, who)
    if len(found.scores) != 1:
        raise InvalidParameterError(
            f"search must answer one query, got the answers to {len(found.scores)}", who=who
        )
    return _best(found.scores[0])


def _read(given: Any, who: str) -> Answer:
    return read(given, who=f"{who}: search")


def _best(scores: FloatArray) -> FloatArray:
    """Return the scores that are there."""
    return scores[np.isfinite(scores)]


def _kept(journal: Journal) -> dict[str, FloatArray]:
    """Return the answers that an earlier run has saved."""
    found = {}
    for number, row in enumerate(journal.entries, 2):
        scores = row.get("scores")
        good = isinstance(scores, list) and all(map(_is_finite, scores))
        if not good or not isinstance(row.get("query"), str):
            raise DataFormatError(
                str(journal.path),
                number,
                "expected a search: its query, and scores as a list of finite numbers, "
                f"got {row!r:.60}",
            )
        found[row["query"]] = np.array(scores, dtype=np.float64)
    return found


def _is_finite(number: object) -> bool:
    most = sys.float_info.max
    return type(number) in (int, float) and -most <= number <= most  # type: ignore[operator]
