"""Running many queries through a user's own search, with threads, progress and a file to resume."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias, TypedDict

import numpy as np

from paretocut.errors import DataFormatError, InvalidParameterError
from paretocut.lists import FloatArray
from paretocut.schema.journal import Journal
from paretocut.schema.parameters import check_positive_int

Search: TypeAlias = Callable[[Any], Any]
"""Takes the text of a query, or a list of texts, and gives scores or results with scores."""
_BLOCK = 32


class Running(TypedDict, total=False):
    """How searches are run; see `paretocut.calibrate`."""

    batch: bool
    threads: int
    progress: bool | None
    resume: str | os.PathLike[str] | None


def run_searches(
    search: Search,
    queries: Sequence[str],
    *,
    who: str,
    batch: bool = False,
    threads: int = 1,
    progress: bool | None = None,
    resume: str | os.PathLike[str] | None = None,
) -> list[FloatArray]:
    """Return the scores of each query."""
    check_positive_int(threads, who=who, name="threads")
    if not callable(search):
        raise InvalidParameterError(f"{who}: search must be a function, got {search!r}")
    journal = Journal(resume, holds="searches", head={}, who=who, name="resume")
    found = _kept(journal)
    missing = [query for query in dict.fromkeys(queries) if query not in found]
    shown = sys.stderr.isatty() if progress is None else progress

    def take(answers: Iterable[tuple[str, FloatArray]]) -> None:
        for done, (query, scores) in enumerate(answers, 1):
            found[query] = scores
            if journal.path is not None:
                journal.add({"query": query, "scores": scores.tolist()})
            if shown:
                end = "\n" if done == len(missing) else ""
                sys.stderr.write(f"\r{who}: {done} of {len(missing)} searches{end}")
                sys.stderr.flush()

    def one(query: str) -> tuple[str, FloatArray]:
        return query, scores_of(search(query), who)

    if batch:
        take(_blocks(search, missing, who))
    elif threads == 1:
        take(map(one, missing))
    else:
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(threads) as pool:
            take(pool.map(one, missing))
    return [found[query] for query in queries]


def _blocks(search: Search, queries: list[str], who: str) -> Iterable[tuple[str, FloatArray]]:
    for start in range(0, len(queries), _BLOCK):
        block = queries[start : start + _BLOCK]
        answers = list(search(block))
        if len(answers) != len(block):
            raise InvalidParameterError(
                f"{who}: search must give one result for each of {len(block)} queries, "
                f"got {len(answers)}"
            )
        for query, given in zip(block, answers, strict=True):
            yield query, scores_of(given, who)


def scores_of(given: Any, who: str) -> FloatArray:
    """Return the scores in what a search gave.

    That is scores; or results that are pairs with a score at the end, mappings with a
    ``"score"``, or objects with a ``score``.
    """
    results = given if isinstance(given, np.ndarray) else list(given)
    try:
        if not len(results) or isinstance(results[0], (int, float, np.number)):
            numbers = np.asarray(results)
            if numbers.ndim == 1 and numbers.dtype.kind in "iuf":
                return numbers.astype(np.float64)
        return np.array([_score(result) for result in results], dtype=np.float64)
    except (TypeError, ValueError, KeyError, AttributeError, IndexError, OverflowError):
        raise InvalidParameterError(
            f"{who}: search must give numbers, pairs that end in a score, or results with a "
            f"'score', got {results[0]!r}"
        ) from None


def _score(result: Any) -> float:
    if isinstance(result, (tuple, list)):
        return float(result[-1])
    if isinstance(result, dict):
        return float(result["score"])
    return float(result.score if hasattr(result, "score") else result)


def _kept(journal: Journal) -> dict[str, FloatArray]:
    """Return what an earlier run left."""
    found = {}
    for number, row in enumerate(journal.entries, 2):
        try:
            found[str(row["query"])] = np.array(row["scores"], dtype=np.float64)
        except (ValueError, KeyError, TypeError, OverflowError) as error:
            raise DataFormatError(str(journal.path), number, f"not a search: {error}") from None
    return found
