"""Running many queries through a user's own search, with threads, progress and a file to resume."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeAlias, TypedDict

import numpy as np

from paretocut.errors import DataFormatError, InvalidParameterError
from paretocut.lists import FloatArray
from paretocut.schema.parameters import check_positive_int

__all__ = ["Running", "Search", "run_searches", "scores_of"]

Search: TypeAlias = Callable[[Any], Any]
"""Takes the text of a query, or a list of texts, and gives scores or results with scores."""
_BLOCK = 32


class Running(TypedDict, total=False):
    """How searches are run.

    Attributes
    ----------
    batch
        Whether ``search`` takes a list of queries and gives one result for each.
    threads
        Searches at the same time.
    progress
        Whether to count on standard error; None does so on a terminal.
    resume
        File that keeps the scores of each query as soon as they are known; a second run goes on
        where the first one stopped.
    """

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
    """Return the scores of each query.

    Parameters
    ----------
    search
        Text of a query in, scores out.
    queries
        Texts of the queries.
    who
        Who asks, for error messages.
    batch, threads, progress, resume
        See `Running`.
    """
    check_positive_int(threads, who=who, name="threads")
    if not callable(search):
        raise InvalidParameterError(f"{who}: search must be a function, got {search!r}")
    found = {} if resume is None else _kept(Path(resume))
    missing = [query for query in dict.fromkeys(queries) if query not in found]
    shown = sys.stderr.isatty() if progress is None else progress

    def take(answers: Iterable[tuple[str, FloatArray]]) -> None:
        for done, (query, scores) in enumerate(answers, 1):
            found[query] = scores
            if resume is not None:
                _keep(Path(resume), query, scores)
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
        yield from (
            (query, scores_of(given, who)) for query, given in zip(block, answers, strict=True)
        )


def scores_of(given: Any, who: str) -> FloatArray:
    """Return the scores in what a search gave.

    Parameters
    ----------
    given
        Scores; or results that are pairs with a score at the end, mappings with a ``"score"``,
        or objects with a ``score``.
    who
        Who asks, for error messages.
    """
    results = given if isinstance(given, np.ndarray) else list(given)
    try:
        return np.array([_score(result) for result in results], dtype=np.float64)
    except (TypeError, ValueError, KeyError, AttributeError, IndexError):
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


def _kept(path: Path) -> dict[str, FloatArray]:
    """Return what an earlier run left; a last line that was cut off is left out."""
    import json

    if not path.exists():
        return {}
    text = path.read_text(encoding="utf-8")
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        path.write_text(whole, encoding="utf-8")
    found = {}
    for number, line in enumerate(whole.splitlines(), 1):
        try:
            row = json.loads(line)
            found[str(row["query"])] = np.array(row["scores"], dtype=np.float64)
        except (ValueError, KeyError, TypeError) as error:
            raise DataFormatError(str(path), number, f"not a kept search: {error}") from None
    return found


def _keep(path: Path, query: str, scores: FloatArray) -> None:
    import json

    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"query": query, "scores": scores.tolist()}) + "\n")
