"""Recognising an answer: its type in the table of hosts, then its structure."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from paretocut.answers.answer import (
    MISSING,
    NUMBERS,
    Answer,
    Path,
    column,
    fields_of,
    peek,
    pick,
    replaced,
)
from paretocut.answers.hosts import Host, host_of
from paretocut.errors import InvalidParameterError, InvalidScoresError
from paretocut.schema.parameters import shown

_SCORES = "_score similarity relevance_score relevance _rankingScore _relevance_score"
FIELDS: dict[str, bool | None] = {
    **dict.fromkeys(("score", "distance")),
    **dict.fromkeys((*_SCORES.split(), "@search.score", "@search.reranker_score"), True),
    **dict.fromkeys(("_distance", "vector_distance"), False),
}
"""Fields that hold a score, and whether higher is better there (None: the order shows it)."""

# A reranker's score stands beside those it was made from, and the results are in its order.
_BEFORE = {
    "_relevance_score": ("_score", "_distance"),
    "@search.reranker_score": ("@search.score",),
}
_COLUMNS = {"distances": False, "scores": None, "similarities": True}
_HOLDERS = ("hits.hits", "results", "hits", "matches", "points", "objects", "documents", "value")
_NO_COLUMN = "included"  # Chroma's list of the columns that were asked for
_PLAIN = (str, list, *NUMBERS)


def read(answer: Any, *, score: Path | None = None, who: str = "keep") -> Answer:
    """Return the contents of an answer, recognised by its type or by its structure.

    ``score`` says where the score is in a result, and errors speak for ``who``.
    """
    host = host_of(answer.__class__)
    if host is not None and host.read is not None:
        return host.read(answer, who)
    if host is not None:
        return _held(answer, host.results, score, who, host)
    if isinstance(answer, (list, tuple)):
        return _of_sequence(answer, score, who)
    if isinstance(answer, Mapping):
        return _of_mapping(answer, score, who)
    if isinstance(answer, np.ndarray) and answer.ndim == 1:
        return Answer([column(answer, who)], shorter=lambda places: answer[list(places[0])])
    if inspect.isawaitable(answer) or inspect.isasyncgen(answer):
        if inspect.iscoroutine(answer):
            answer.close()  # or Python warns that nobody waited
        what, line = "something to wait for", f"{who}(await search(...))"
        if inspect.isasyncgen(answer):
            what, line = "an asynchronous generator", f"{who}([one async for one in search(...)])"
        raise InvalidParameterError(f"answer must be there already, got {what}: {line}", who=who)
    if not isinstance(answer, (str, bytes, np.ndarray, set, frozenset)):
        if (path := _holder(answer)) is not None:
            return _held(answer, path, score, who)
        if hasattr(answer, "__iter__"):
            return _of_sequence(list(answer), score, who)  # a cursor or a generator, read once
    _refuse(answer, who)


def _held(answer: Any, path: str, score: Path | None, who: str, host: Host | None = None) -> Answer:
    """Read results that stand somewhere inside an answer, or that are the answer itself."""

    def rebuilt(kept: list[Any]) -> Any:
        if host is not None and host.copy is not None:
            return host.copy(answer, kept)
        return replaced(answer, path, kept) if path else _same(answer, kept)

    return _of_rows(pick(answer, path) if path else answer, score, who, rebuilt, host)


def _of_mapping(answer: Mapping[Any, Any], score: Path | None, who: str) -> Answer:
    if (path := _holder(answer)) is not None:
        return _held(answer, path, score, who)
    names = [score] if isinstance(score, str) else [n for n in (*_COLUMNS, *FIELDS) if n in answer]
    names = [name for name in names if _is_column(answer.get(name))]
    if len(names) == 1:
        return _of_columns(answer, names[0], who)
    keys = list(answer)
    if all(_is_number(value) for value in answer.values()):
        made = Answer([column(list(answer.values()), who)], result=lambda _, i: keys[i])
        made.shorter = lambda at: _same(answer, {keys[i]: answer[keys[i]] for i in at[0]})
        return made
    if all(isinstance(value, (Mapping, list, tuple)) for value in answer.values()):
        again = lambda made: _same(answer, dict(zip(keys, made, strict=True)))  # noqa: E731
        return _together(answer.values(), score, who, again)
    _refuse(answer, who)


def _same(answer: Any, content: Any) -> Any:
    """Return a list, a tuple or a mapping of the same type with other content."""
    if type(answer) in (list, dict):
        return content
    if isinstance(answer, tuple):
        return type(answer)(*content) if hasattr(answer, "_fields") else type(answer)(content)
    made = copy.copy(answer)
    made.clear()
    getattr(made, "update" if isinstance(answer, Mapping) else "extend")(content)
    return made


def _of_sequence(answer: Any, score: Path | None, who: str) -> Answer:
    if len(answer) == 2 and (columns := _two_columns(answer, score, who)) is not None:
        return columns
    first = next((one for one in answer if not isinstance(one, (list, tuple)) or one), None)
    if first is None and answer:
        first = answer[0]  # lists without a result
    if _is_answer(first):
        return _together(answer, score, who, lambda made: _same(answer, made))
    return _of_rows(answer, score, who, lambda kept: _same(answer, kept))


def _together(
    given: Iterable[Any], score: Path | None, who: str, rebuilt: Callable[[list[Any]], Any]
) -> Answer:
    """Read the answers to several queries as one."""
    answers = [read(one, score=score, who=who) for one in given]
    owners = [(one, i) for one in answers for i in range(len(one.scores))]
    said = {one.higher_is_better for one in answers if any(map(len, one.scores))}

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
    rebuilt: Callable[[list[Any]], Any],
    host: Host | None = None,
) -> Answer:
    """Read a list of results: pairs, tuples, mappings, objects or bare scores."""
    made = Answer([np.empty(0)], result=lambda _, i: rows[i])
    made.shorter = lambda places: rebuilt([rows[i] for i in places[0]])
    if len(rows):
        first, path = rows[0], score
        host = host or host_of(first.__class__, True)
        if score is None:
            path, made.higher_is_better = _score_of(rows, first, host, who)
        elif isinstance(score, str):
            known = host.score if host and host.score else FIELDS
            made.higher_is_better = known.get(score)
        if isinstance(path, int) and isinstance(first, (tuple, list)) and len(first) == 2:
            thing = 1 - path % 2
            host = host_of(first[thing].__class__, True)
            made.result = lambda _, i: rows[i][thing]
        made.scores = [_scores(rows, path, who)]
    if host is not None:
        made.id, made.text = host.id, host.text
    return made


def _scores(rows: Any, path: Path | None, who: str) -> Any:
    """Return the scores of results."""
    if path is None:
        return column(rows, who)
    try:
        if isinstance(path, int) or (isinstance(rows[0], dict) and path in rows[0]):
            return column([row[path] for row in rows], who)
        if isinstance(path, str) and path in getattr(rows[0], "__dict__", ()):
            return column([getattr(row, path) for row in rows], who)
        return column([pick(row, path) for row in rows], who)
    except (LookupError, AttributeError, TypeError):
        if callable(path):
            raise
        lost = next((row for row in rows if peek(row, path) is MISSING), rows[0])
        raise InvalidParameterError(
            f"score must be in every result, got {path!r} and {_seen(lost)}", who=who
        ) from None


def _score_of(
    rows: Any, first: Any, host: Host | None, who: str
) -> tuple[Path | None, bool | None]:
    """Return where the score is in results like these, and whether higher is better."""
    if _is_number(first):
        return None, None
    if isinstance(first, (tuple, list)) and not hasattr(first, "_fields"):
        return _place(rows, first, who), None
    known = host.score if host is not None and host.score else FIELDS
    found = {name: value for name in known if (value := peek(first, name)) is not MISSING}
    there = [name for name, value in found.items() if value is not None] or list(found)
    if known is FIELDS:
        there = [n for n in there if not any(n in _BEFORE.get(other, ()) for other in there)]
    else:
        there = there[:1]
    if len(there) == 1:
        return there[0], known[there[0]]
    if not there and hasattr(first, "keys") and not isinstance(first, Mapping):
        return _place(rows, tuple(first), who), None  # a record of a database
    what = f"several: {', '.join(there)}" if there else "none that is known"
    name = there[0] if there else "the_field"
    line = f"; name it: keep(answer, score={name!r})" if who == "keep" else ""
    raise InvalidParameterError(
        f"a result must have one score, got {what} in {_seen(first)}{line}", who=who
    )


def _place(rows: Any, first: Sequence[Any], who: str) -> int:
    """Return the place of the score in tuples: the only column of numbers that are not whole."""
    numbers = [i for i, value in enumerate(first) if value is None or _is_number(value)]
    if len(numbers) > 1:
        try:
            columns = {i: [row[i] for row in rows if row[i] is not None] for i in numbers}
        except (TypeError, LookupError):
            odd = next(x for x in rows if not hasattr(x, "__len__") or len(x) <= max(numbers))
            told = f"{shown(tuple(first)):.60}, got {shown(odd):.60}"
            raise InvalidParameterError(
                f"results must all be like the first, {told}", who=who
            ) from None
        for i, own in columns.items():
            kinds = {*map(type, own)}
            whole = all(issubclass(kind, (int, np.integer)) for kind in kinds)
            if whole or (kinds != {float} and not all(map(_is_number, own))):
                numbers.remove(i)
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
    arrays = all(isinstance(part, np.ndarray) for part in answer)
    lists = isinstance(answer, tuple) and all(isinstance(x, (list, np.ndarray)) for x in answer)
    if not arrays and not lists:
        return None
    parts = [np.asarray(part) for part in answer]
    if parts[0].shape != parts[1].shape or parts[0].ndim not in (1, 2):
        if arrays:
            raise InvalidScoresError(
                f"labels and scores must be of one shape, got {parts[0].shape} and "
                f"{parts[1].shape}",
                who=who,
            )
        return None
    numeric = [i for i in (0, 1) if parts[i].dtype.kind in "iuf"]
    if len(numeric) == 2:
        numeric = [i for i in numeric if parts[i].dtype.kind == "f"]
    at = score if isinstance(score, int) else numeric[0] if len(numeric) == 1 else None
    if at is None:
        if not arrays:
            return None
        kinds = " and ".join(str(part.dtype) for part in parts)
        raise InvalidScoresError(
            f"of two arrays, one must hold labels (integers or text) and one scores, got "
            f"{kinds}; name the scores: {who}(answer, score=0) or score=1",
            who=who,
        )
    grids = [np.atleast_2d(part) for part in parts]
    labels, single = grids[1 - at], parts[0].ndim == 1
    there = np.ones(labels.shape, dtype=np.bool_)
    if labels.dtype.kind in "iu":  # -1, as FAISS pads; unsigned labels write it as their largest
        there = labels != np.array(-1).astype(labels.dtype)
    own = [np.flatnonzero(row) for row in there]

    def shorter(places: Sequence[Sequence[int]]) -> Any:
        picked = [mine[list(kept)] for mine, kept in zip(own, places, strict=True)]
        made = [_narrowed(grid, picked) for grid in grids]
        if single:
            made = [part[0] for part in made]
        return _same(answer, made if arrays else [part.tolist() for part in made])

    return Answer(
        [grid[mine].astype(np.float64) for grid, mine in zip(grids[at], own, strict=True)],
        single,
        None,
        lambda query, i: labels[query, own[query][i]].item(),
        shorter,
    )


def _narrowed(part: np.ndarray[Any, Any], places: Sequence[Any]) -> Any:
    """Return the places of each row, padded to the longest: -1, the worst float, or nothing."""
    kind, fill = part.dtype.kind, None
    if kind == "f":
        falls = part.shape[1] > 1 and bool((part[:, 0] >= part[:, -1]).all())
        fill = np.finfo(part.dtype).min if falls else np.finfo(part.dtype).max
    elif kind in "iu":
        fill = np.array(-1).astype(part.dtype)
    made = np.full((len(part), max(map(len, places), default=0)), fill, dtype=part.dtype)
    for row, at in enumerate(places):
        made[row, : len(at)] = part[row, at]
    return made


def _of_columns(answer: Mapping[str, Any], name: str, who: str) -> Answer:
    """Read a mapping of columns, of one query or of many, as Chroma's."""
    given = answer[name]
    single = not len(given) or not _is_column(given[0])
    rows = [given] if single else list(given)
    lengths = [len(row) for row in rows]
    columns: dict[str, Any] = {}
    for key, values in answer.items():
        if key == _NO_COLUMN or not _is_column(values):
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
                cell[list(at)] if isinstance(cell, np.ndarray) else type(cell)(cell[i] for i in at)
                for cell, at in zip(cells, places, strict=True)
            ]
            made[key] = cut[0] if single else cut
        return _same(answer, made)

    return Answer(
        [column(row, who) for row in rows],
        single,
        _COLUMNS.get(name, FIELDS.get(name)),
        lambda query, i: {key.removesuffix("s"): own[query][i] for key, own in columns.items()},
        shorter,
    )


def _is_number(value: Any) -> bool:
    if type(value) in (float, int):
        return True
    if isinstance(value, (bool, np.generic)):
        return isinstance(value, np.number)
    return isinstance(value, NUMBERS) or getattr(value, "shape", None) == ()  # a scalar tensor


def _is_column(value: Any) -> bool:
    return isinstance(value, (list, tuple, np.ndarray))


def _holder(answer: Any) -> str | None:
    """Return where an answer has a list of results, and no column of numbers or texts."""
    for path in _HOLDERS:
        held = peek(answer, path)
        if isinstance(held, (list, tuple)) and not isinstance(next(iter(held), None), _PLAIN):
            return path
    return None


def _is_answer(value: Any) -> bool:
    """Return whether one item of a list is an answer of its own."""
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return not any(
            isinstance(one, (str, bytes)) or one is None or _is_number(one) for one in value
        )
    if isinstance(value, Mapping) and any(_is_column(value.get(name)) for name in _COLUMNS):
        return True
    return host_of(value.__class__) is not None or _holder(value) is not None


def _seen(result: Any) -> str:
    plain = result is None or isinstance(result, (str, bytes, tuple, list, set, *NUMBERS))
    if plain and not hasattr(result, "_fields"):
        return f"{shown(result):.60}"
    if hasattr(result, "shape"):
        return f"a {type(result).__name__} of shape {tuple(result.shape)}"
    return f"a {type(result).__name__} with {', '.join(fields_of(result)[:12])}"


def _refuse(answer: Any, who: str) -> NoReturn:
    raise InvalidParameterError(
        f"answer must hold results with scores (pairs, mappings, objects, {{id: score}}, "
        f"two arrays, or a known store's answer), got {_seen(answer):.160}",
        who=who,
    )
