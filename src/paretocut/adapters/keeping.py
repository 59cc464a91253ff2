"""`paretocut.keep`: whatever a search returned, shorter."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

from paretocut.adapters.deciding import Keeping, carrying
from paretocut.answers import read
from paretocut.answers.answer import Path
from paretocut.errors import InvalidParameterError

_DEFAULT = Keeping.of("keep", {})
_FRAMES = ("duckdb", "pandas", "polars", "pyarrow", "pyspark", "ray")


@cache
def _may_be_frame(kind: type) -> bool:
    return any(own.__module__.partition(".")[0].lstrip("_") in _FRAMES for own in kind.__mro__)


def keep(
    answer: Any,
    *,
    score: Path | None = None,
    query: str | Sequence[str] | None = None,
    higher_is_better: bool | None = None,
    max_tokens: int | None = None,
    explain: bool | Iterable[str] = False,
    text: Path | None = None,
    count_tokens: Callable[[str], int] | None = None,
    asked: int | None = None,
    **options: Any,
) -> Any:
    """Return the same answer with only the results worth keeping; possibly none.

    The type stays, the caller's objects are not touched, and the order of the results is kept.
    Lists and tuples carry the decision in ``cut``, or in ``cuts`` if the answer is to many queries.

    Parameters
    ----------
    answer
        Whatever a search returned: the answer of a vector store, a search engine, a reranker or a
        memory library; (result, score) pairs, mappings or objects with a score, ``{id: score}``,
        two arrays of labels and scores; of one query or of many; a data frame of pandas, Polars,
        Arrow, DuckDB, Spark or Ray. Ask the search for about 200.
    score
        Where the score of a result is, if that cannot be told: a field, a place or a function. Of a
        data frame, the column of scores.
    query
        Text of the query, or of each query; only a truncator calibrated for lexical scores needs
        it. Of a data frame, the column of queries.
    higher_is_better
        True for scores, False for distances. By default as the truncator was fitted, as the library
        says, or as the order of the results shows: falling numbers are scores, rising ones are
        distances.
    max_tokens
        Largest number of tokens that the texts kept may have together. The best results that fit
        are taken.
    explain
        Whether to return the answer and the decision: a `paretocut.Cut`, or `paretocut.Cuts` for
        many queries. Names (``k``, ``reason``, ...) add columns to a data frame instead.
    text
        Where the text of a result is, if ``max_tokens`` does not find it: a field or a function.
    count_tokens
        Counts the tokens of a text; by default four characters are one token.
    asked
        How many results the search asked for; a warning tells you if it got less than half.
    **options
        Who decides and within which bounds, as in `paretocut.cut`. A data frame also takes
        ``along`` and ``on_error``: `paretocut.adapters.frames.keep_frame`.

    Examples
    --------
    >>> import paretocut as pc
    >>> pairs = [("fern", 0.71), ("moss", 0.68), ("rose", 0.41), ("oak", 0.40), ("ash", 0.38)]
    >>> pc.keep(pairs)
    [('fern', 0.71), ('moss', 0.68)]
    >>> hits = [{"id": 1, "distance": 0.1}, {"id": 2, "distance": 0.8}, {"id": 3, "distance": 0.9}]
    >>> kept, cut = pc.keep(hits, explain=True)
    >>> [hit["id"] for hit in kept], cut.reason[-31:]
    ([1], 'distances, as their order shows')
    """
    if _may_be_frame(answer.__class__):
        from paretocut.adapters.frames import is_frame, keep_frame

        if is_frame(answer):
            rest = {"max_tokens": max_tokens, "text": text, "count_tokens": count_tokens}
            for name, value in (rest | {"asked": asked}).items():
                if value is not None:
                    raise InvalidParameterError(
                        f"keep: {name} must be left out for a data frame, got {value!r}"
                    )
            about: dict[str, Any] = {"query": query, "score": score, "explain": explain}
            return keep_frame(answer, higher_is_better=higher_is_better, **about, **options)
    if not isinstance(explain, bool):
        raise InvalidParameterError(
            f"keep: explain must be True or False, except for a data frame, got {explain!r}"
        )
    found = read(answer, score=score, who="keep")
    if text is not None:
        found.text = text
    if max_tokens is not None:
        options |= {"max_tokens": max_tokens, "count_tokens": count_tokens}
    keeping = Keeping.of("keep", options) if options else _DEFAULT
    decisions, cuts = keeping.decide(
        found, query=query, higher_is_better=higher_is_better, asked=asked
    )
    cut: Any = decisions[0].cut if found.single else cuts
    kept = carrying(found.shorter([decision.kept for decision in decisions]), cut)
    return (kept, cut) if explain else kept
