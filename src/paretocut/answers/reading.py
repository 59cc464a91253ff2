"""Recognising an answer: its type in the table of hosts, then its structure."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from paretocut.answers.answer import (
    NUMBERS,
    Answer,
    Path,
    column,
    fields_of,
    has,
    pick,
    replaced,
)
from paretocut.answers.hosts import Host, host_of
from paretocut.errors import InvalidParameterError, InvalidScoresError
from paretocut.lists import FloatArray
from paretocut.schema.parameters import shown

FIELDS: dict[str, bool | None] = {
    "score": None,
    "_score": True,
    "distance": None,
    "_distance": False,
    "similarity": True,
    "relevance_score": True,
    "relevance": True,
    "vector_distance": False,
    "_rankingScore": True,
    "_relevance_score": True,
    "@search.score": True,
    "@search.reranker_score": True,
}
"""Fields that hold a score, and whether higher is better there (None: the order shows it)."""

# A reranker's score stands beside those it was made from, and the results are in its order.
_BEFORE = {
    "_relevance_score": ("_score", "_distance"),
    "@search.reranker_score": ("@search.score",),
}
_COLUMNS = {"distances": False, "scores": None, "similarities": True}
_HOLDERS = ("hits.hits", "results", "hits", "matches", "points", "objects", "documents", "value")
_NO_COLUMNS = ("included",)  # Chroma's list of what was asked for


def read(answer: Any, *, score: Path | None = None, who: str = "keep") -> Answer:
    """Return what is in an answer, recognised by its type or by its structure.

    Parameters
    ----------
    answer
        Whatever a search returned.
    score
        Where the score is: a field, a place or a function of a result.
    who
        In whose name errors speak.
    """
    host = host_of(type(answer))
    if host is not None:
        return _of_host(answer, host, score, who)
    if isinstance(answer, (list, tuple)):
        return _of_sequence(answer, score, who)
    if isinstance(answer, Mapping):
        return _of_mapping(answer, score, who)
    if isinstance(answer, np.ndarray) and answer.ndim == 1:
        scores = column(answer, who)
        return Answer([scores], True, None, lambda _, i: i, lambda places: answer[list(places[0])])
    if inspect.isawaitable(answer):
        if inspect.iscoroutine(answer):
            answer.close()  # or Python warns that nobody waited
        raise InvalidParameterError(
            f"answer must be there already, got something to wait for: {who}(await search(...))",
            who=who,
        )
    for path in () if isinstance(answer, (str, bytes)) else _HOLDERS:
        if has(answer, path) and isinstance(pick(answer, path), (list, tuple)):
            return _held(answer, path, score, who)
    if hasattr(answer, "__iter__") and not isinstance(answer, (str, bytes, np.ndarray)):
        return _of_sequence(list(answer), score, who)  # a cursor or a generator, read once
    _refuse(answer, who)


def _of_host(answer: Any, host: Host, score: Path | None, who: str) -> Answer:
    if host.read is not None:
        return host.read(answer, who)
    if host.results:
        return _held(answer, host.results, score, who, host)
    return _of_rows(answer, score, who, host=host, rebuilt=host.copy and _bound(host, answer))


def _bound(host: Host, answer: Any) -> Callable[[Any], Any]:
    assert host.copy is not None
    make = host.copy
    return lambda kept: make(answer, kept)


def _held(answer: Any, path: str, score: Path | None, who: str, host: Host | None = None) -> Answer:
    """Read results that stand somewhere inside an answer."""
    if host is not None and host.copy is not None:
        rebuilt = _bound(host, answer)
    else:
        rebuilt = lambda kept: replaced(answer, path, kept)  # noqa: E731
    return _of_rows(pick(answer, path), score, who, rebuilt, host)


def _of_mapping(answer: Mapping[Any, Any], score: Path | None, who: str) -> Answer:
    for path in _HOLDERS:
        if has(answer, path) and _holds_results(pick(answer, path)):
            return _held(answer, path, score, who)
    names = [score] if isinstance(score, str) else [n for n in (*_COLUMNS, *FIELDS) if n in answer]
    names = [name for name in names if _is_column(answer.get(name))]
    if len(names) == 1:
        return _of_columns(answer, names[0], who)
    if answer and all(_is_number(value) for value in answer.values()):
        keys, scores = list(answer), column(list(answer.values()), who)

        def items(places: Sequence[Sequence[int]]) -> Any:
            return _like(answer, {keys[i]: answer[keys[i]] for i in places[0]})

        return Answer([scores], True, None, lambda _, i: keys[i], items)
    if answer and all(isinstance(value, (Mapping, list, tuple)) for value in answer.values()):
        own = list(answer)
        return _together(
            [read(answer[key], score=score, who=who) for key in own],
            lambda made: _like(answer, dict(zip(own, made, strict=True))),
        )
    if not answer:
        return Answer([np.empty(0)], True, None, lambda _, i: i, lambda places: _like(answer, {}))
    _refuse(answer, who)


def _like(answer: Mapping[Any, Any], content: dict[Any, Any]) -> Any:
    """Return a mapping of the same type with other content."""
    if type(answer) is dict:
        return content
    made: Any = copy.copy(answer)
    made.clear()
    made.update(content)
    return made


def _of_sequence(answer: Any, score: Path | None, who: str) -> Answer:
    if len(answer) == 2 and (isinstance(answer, tuple) or _are_arrays(answer)):
        columns = _two_columns(answer, score, who)
        if columns is not None:
            return columns
    first = next((one for one in answer if not _is_empty(one)), None)
    if first is None and answer:
        first = answer[0]  # lists without a result
    if _is_answer(first):
        return _together(
            [read(one, score=score, who=who) for one in answer], lambda made: _with(answer, made)
        )
    return _of_rows(answer, score, who)


def _with(answer: Any, content: list[Any]) -> Any:
    """Return a list or tuple of the same type with other content."""
    if isinstance(answer, list):
        if type(answer) is list:
            return content
        made = copy.copy(answer)
        made[:] = content
        return made
    return type(answer)(*content) if hasattr(answer, "_fields") else type(answer)(content)


def _together(answers: Sequence[Answer], rebuilt: Callable[[list[Any]], Any]) -> Answer:
    """Return the answers to several queries as one."""
    owners = [(one, i) for one in answers for i in range(len(one.scores))]
    said = {one.higher_is_better for one in answers if one.scores and any(map(len, one.scores))}

    def shorter(places: Sequence[Sequence[int]]) -> Any:
        parts, start = [], 0
        for one in answers:
            parts.append(one.shorter(places[start : start + len(one.scores)]))
            start += len(one.scores)
        return rebuilt(parts)

    return Answer(
        [one.scores[i] for one, i in owners],
        False,
        said.pop() if len(said) == 1 else None,
        lambda query, i: owners[query][0].result(owners[query][1], i),
        shorter,
        next((one.id for one in answers if one.id is not None), None),
        next((one.text for one in answers if one.text is not None), None),
    )


def _of_rows(
    rows: Any,
    score: Path | None,
    who: str,
    rebuilt: Callable[[Any], Any] | None = None,
    host: Host | None = None,
) -> Answer:
    """Read a list of results: pairs, tuples, mappings, objects or bare scores."""
    up: bool | None = None
    path: Path | None = score
    thing: int | None = None
    if len(rows):
        first = rows[0]
        if host is None:
            host = host_of(type(first), item=True)
        if score is None:
            path, up = _score_of(rows, first, host, who)
        elif isinstance(score, str):
            up = (host.score if host and host.score else FIELDS).get(score)
        if isinstance(path, int) and isinstance(first, (tuple, list)) and len(first) == 2:
            thing = 1 - path % 2
            host = host_of(type(first[thing]), item=True)
    scores = _column(rows, path, who) if len(rows) else np.empty(0)

    def shorter(places: Sequence[Sequence[int]]) -> Any:
        kept = [rows[i] for i in places[0]]
        return _with(rows, kept) if rebuilt is None else rebuilt(kept)

    return Answer(
        [scores],
        True,
        up,
        (lambda _, i: rows[i]) if thing is None else (lambda _, i: rows[i][thing]),
        shorter,
        None if host is None else host.id,
        None if host is None else host.text,
    )


def _column(rows: Any, path: Path | None, who: str) -> FloatArray:
    """Return the scores of results."""
    if path is None:
        return column(rows, who)
    try:
        if isinstance(path, int):
            return column([row[path] for row in rows], who)
        if isinstance(path, str) and isinstance(rows[0], dict) and path in rows[0]:
            return column([row[path] for row in rows], who)
        return column([pick(row, path) for row in rows], who)
    except (LookupError, AttributeError, TypeError):
        if callable(path):
            raise
        lost = next(row for row in rows if not _reaches(row, path))
        raise InvalidParameterError(
            f"score must be in every result, got {path!r} and {_seen(lost)}", who=who
        ) from None


def _reaches(row: Any, path: Path) -> bool:
    try:
        pick(row, path)
    except (LookupError, AttributeError, TypeError):
        return False
    return True


def _score_of(
    rows: Any, first: Any, host: Host | None, who: str
) -> tuple[Path | None, bool | None]:
    """Return where the score is in results like these, and whether higher is better."""
    if isinstance(first, (tuple, list)) and not hasattr(first, "_fields"):
        return _place(rows, first, who), None
    if _is_number(first):
        return None, None
    known = host.score if host is not None and host.score else FIELDS
    flat = isinstance(first, dict) and known is FIELDS
    there = [name for name in known if (name in first if flat else _reaches(first, name))]
    if host is None or not host.score:
        filled = [name for name in there if pick(first, name) is not None]
        there = filled or there
        there = [n for n in there if not any(n in _BEFORE.get(other, ()) for other in there)]
    else:
        there = ([name for name in there if pick(first, name) is not None] or there)[:1]
    if len(there) == 1:
        return there[0], known[there[0]]
    what = f"several: {', '.join(there)}" if there else "none that is known"
    line = f"keep(answer, score={(there or ['the_field'])[0]!r})"
    raise InvalidParameterError(
        f"a result must have one score, got {what} in {_seen(first)}; name it: {line}", who=who
    )


def _place(rows: Any, first: Sequence[Any], who: str) -> int:
    """Return the place of the score in tuples: the only column of numbers that are not whole."""
    numbers = [i for i, value in enumerate(first) if value is None or _is_number(value)]
    if len(numbers) > 1:
        columns = {i: [row[i] for row in rows if row[i] is not None] for i in numbers}
        real = [i for i, own in columns.items() if own and all(map(_is_number, own))]
        numbers = [i for i in real if not all(map(_is_whole, columns[i]))]
    if len(numbers) != 1:
        what = f"{len(numbers)} columns of numbers" if numbers else "no column of scores"
        raise InvalidParameterError(
            f"results that are tuples must hold one score, got {what} in "
            f"{shown(tuple(first)):.60}; name its place: keep(answer, score={len(first) - 1})",
            who=who,
        )
    return numbers[0]


def _two_columns(answer: Any, score: Path | None, who: str) -> Answer | None:
    """Read labels and scores, in either order; None if these are no columns."""
    if not all(_is_column(part) for part in answer):
        return None
    parts = [np.asarray(part) for part in answer]
    if parts[0].shape != parts[1].shape or parts[0].ndim not in (1, 2):
        if _are_arrays(answer):
            raise InvalidScoresError(
                f"labels and scores must be of one shape, got {parts[0].shape} and "
                f"{parts[1].shape}",
                who=who,
            )
        return None
    numeric = [i for i in (0, 1) if parts[i].dtype.kind in "iuf"]
    if len(numeric) == 2 and not isinstance(score, int):
        numeric = [i for i in numeric if parts[i].dtype.kind == "f"]
    at = score if isinstance(score, int) else numeric[0] if len(numeric) == 1 else None
    if at is None:
        if not _are_arrays(answer):
            return None
        kinds = " and ".join(str(part.dtype) for part in parts)
        raise InvalidScoresError(
            f"of two arrays, one must hold labels (integers or text) and one scores, got "
            f"{kinds}; name the scores: {who}(answer, score=0) or score=1",
            who=who,
        )
    values, labels = parts[at].astype(np.float64), parts[1 - at]
    single = values.ndim == 1
    grid = values[None] if single else values
    names = labels[None] if single else labels
    if names.dtype.kind in "iu":  # -1, as FAISS pads; unsigned labels write it as their largest
        grid = np.where(names == np.array(-1).astype(names.dtype), np.nan, grid)

    def shorter(places: Sequence[Sequence[int]]) -> Any:
        made = [_narrowed(part[None] if single else part, places) for part in parts]
        if single:
            made = [part[0] for part in made]
        if not _are_arrays(answer):
            made = [part.tolist() for part in made]
        return _with(answer, made)

    return Answer(list(grid), single, None, lambda query, i: names[query, i].item(), shorter)


def _narrowed(part: np.ndarray[Any, Any], places: Sequence[Sequence[int]]) -> Any:
    """Return the places of each row, padded to the longest: -1, the worst float, or nothing."""
    width = max(map(len, places), default=0)
    kind = part.dtype.kind
    if kind == "f":
        falls = part.shape[1] > 1 and bool((part[:, 0] >= part[:, -1]).all())
        fill: Any = np.finfo(part.dtype).min if falls else np.finfo(part.dtype).max
    else:
        fill = np.array(-1).astype(part.dtype) if kind in "iu" else None
    made = np.full((len(part), width), fill, dtype=part.dtype)
    for row, at in enumerate(places):
        made[row, : len(at)] = part[row, list(at)]
    return made


def _of_columns(answer: Mapping[str, Any], name: str, who: str) -> Answer:
    """Read a mapping of columns, of one query or of many, as Chroma's."""
    given = answer[name]
    single = not len(given) or not _is_column(given[0])
    rows = [given] if single else list(given)
    lengths = [len(row) for row in rows]
    columns: dict[str, Any] = {}
    for key, values in answer.items():
        if key in _NO_COLUMNS or not _is_column(values):
            continue
        cells = [values] if single else list(values)
        own = [len(cell) if _is_column(cell) else 0 for cell in cells]
        if own != lengths:
            raise InvalidScoresError(
                f"{key} must be as many as {name} in every list, {lengths}, got {own}", who=who
            )
        columns[key] = cells

    def shorter(places: Sequence[Sequence[int]]) -> Any:
        made = dict(answer)
        for key, cells in columns.items():
            cut = [
                cell[list(at)] if isinstance(cell, np.ndarray) else [cell[i] for i in at]
                for cell, at in zip(cells, places, strict=True)
            ]
            made[key] = cut[0] if single else cut
        return _like(answer, made)

    def result(query: int, i: int) -> dict[str, Any]:
        return {key.removesuffix("s"): cells[query][i] for key, cells in columns.items()}

    up = _COLUMNS.get(name, FIELDS.get(name))
    return Answer([column(row, who) for row in rows], single, up, result, shorter)


def _is_number(value: Any) -> bool:
    return isinstance(value, NUMBERS) and not isinstance(value, bool)


def _is_whole(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _is_column(value: Any) -> bool:
    return isinstance(value, (list, np.ndarray))


def _is_empty(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and len(value) == 0


def _are_arrays(answer: Any) -> bool:
    return all(isinstance(part, np.ndarray) for part in answer)


def _holds_results(value: Any) -> bool:
    """Return whether a value is a list of results, and not a column of numbers or texts."""
    return isinstance(value, (list, tuple)) and not any(
        isinstance(one, (str, list, *NUMBERS)) for one in value[:1]
    )


def _is_answer(value: Any) -> bool:
    """Return whether one item of a list is an answer of its own."""
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return not any(one is None or isinstance(one, (str, bytes, *NUMBERS)) for one in value)
    if isinstance(value, Mapping):
        held = (pick(value, path) for path in _HOLDERS if has(value, path))
        return any(map(_holds_results, held)) or any(_is_column(value.get(n)) for n in _COLUMNS)
    return host_of(type(value)) is not None


def _seen(result: Any) -> str:
    if isinstance(result, (str, bytes, tuple, list)) and not hasattr(result, "_fields"):
        return f"{shown(result):.60}"
    return f"a {type(result).__name__} with {', '.join(fields_of(result)[:12])}"


def _refuse(answer: Any, who: str) -> NoReturn:
    raise InvalidParameterError(
        f"answer must hold results with scores (pairs, mappings, objects, {{id: score}}, "
        f"two arrays, or a known store's answer), got {_seen(answer):.160}",
        who=who,
    )
