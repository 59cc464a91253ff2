"""Fusion of answers and frames: what several searches returned becomes one of the same kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypedDict

import numpy as np

from paretocut.answers import direction_of, read
from paretocut.answers.answer import Path
from paretocut.errors import InvalidParameterError
from paretocut.fusion.joining import arms_by_name
from paretocut.lists import Ragged, RankedLists, offsets_of
from paretocut.lists.columns import as_text


@dataclass(frozen=True, slots=True)
class FusedResult:
    """One document of a fused answer.

    Attributes
    ----------
    id, score
        Its id, as text, and its fused score; higher is better.
    parts
        By name of a search, its ``"score"`` and ``"rank"`` there, or None if it was not found.
    results
        By name of a search, the result as that search returned it.
    """

    id: str
    score: float
    parts: dict[str, dict[str, Any] | None]
    results: dict[str, Any] = field(repr=False)


class Fused(list[FusedResult]):
    """A fused answer, best first: a list of `FusedResult` that `paretocut.keep` takes.

    ``lists`` is the same as `paretocut.RankedLists`, with ``parts``; ``text_of`` returns the text
    of one of the results, from the answer it came from.
    """

    def __init__(
        self,
        results: Iterable[FusedResult],
        lists: RankedLists,
        text_of: Callable[[FusedResult], str],
    ) -> None:
        super().__init__(results)
        self.lists = lists
        self.text_of = text_of


class About(TypedDict, total=False):
    """Where things are in answers and frames, for all searches or by name."""

    query: str | None
    score: Path | Mapping[str, Path] | None
    id: Path | Mapping[str, Path] | None
    higher_is_better: Mapping[str, bool] | bool | None


def prepared(answers: Any, who: str, about: About) -> tuple[Any, Callable[[RankedLists], Any]]:
    """Return the answers as ranked lists, and a function from fused lists to an answer."""
    arms = arms_by_name(answers, who)
    ranked = [name for name, arm in arms.items() if isinstance(arm, RankedLists)]
    if len(ranked) == len(arms):
        return answers, lambda made: made
    if ranked:
        raise InvalidParameterError(
            f"lists must all be RankedLists or all be answers, got RankedLists as {ranked[0]}",
            who=who,
        )
    up = about.get("higher_is_better")
    if up is None or isinstance(up, bool):
        up = {} if up is None else dict.fromkeys(arms, up)
    query, score, id = about.get("query"), about.get("score"), about.get("id")
    if query is not None:
        return _frames(arms, (query, id or "doc_id", score or "score"), up, who)
    return _answers(arms, score, id, up, who)


def _answers(
    arms: Mapping[str, Any], score: Any, id: Any, up: Mapping[str, bool], who: str
) -> tuple[dict[str, RankedLists], Callable[[RankedLists], Any]]:
    """Return the lists of answers, and what makes an answer of the fused ones."""
    found = {}
    for name, arm in arms.items():
        own = score.get(name) if isinstance(score, Mapping) else score
        found[name] = read(arm, score=own, who=f"{who}: {name}")
        identity = id.get(name) if isinstance(id, Mapping) else id
        if identity is not None:
            found[name].id = identity
    counts = {len(one.scores) for one in found.values()}
    if len(counts) > 1:
        raise InvalidParameterError(
            f"answers must be to the same queries, got {sorted(counts)} of them", who=who
        )
    names = {name: one.ids(f"{who}: {name}") for name, one in found.items()}
    lists, places = {}, {}
    for name, answer in found.items():
        there = [np.flatnonzero(np.isfinite(scores)).tolist() for scores in answer.scores]
        scores = [values[at] for values, at in zip(answer.scores, there, strict=True)]
        higher = up.get(name, answer.higher_is_better)
        if higher is None:
            higher = direction_of(scores, f"{who}: {name}") is not False
        ids = [[own[i] for i in at] for own, at in zip(names[name], there, strict=True)]
        lists[name] = RankedLists(scores, doc_ids=ids, higher_is_better=higher)
        places[name] = [  # the better of two with one id
            dict(zip(reversed(own), reversed(at), strict=True))
            for own, at in zip(ids, there, strict=True)
        ]

    def of_query(made: RankedLists, query: int) -> Fused:
        assert made.doc_ids is not None
        assert made.parts is not None
        own = {name: at[query] for name, at in places.items()}
        columns = made.doc_ids[0].tolist(), made.scores[0].tolist(), made.parts.of_list(0)
        results = [
            FusedResult(
                id,
                score,
                {**dict.fromkeys(found), **parts},
                {name: found[name].result(query, at[id]) for name, at in own.items() if id in at},
            )
            for id, score, parts in zip(*columns, strict=True)
        ]

        def text_of(result: FusedResult) -> str:
            name = next(iter(result.results))
            return found[name].text_of(query, own[name][result.id], who)

        return Fused(results, made, text_of)

    def build(made: RankedLists) -> Any:
        together = [of_query(made[i : i + 1], i) for i in range(len(made))]
        return together[0] if all(one.single for one in found.values()) else together

    return lists, build


def _frames(
    arms: Mapping[str, Any], names: tuple[Any, ...], up: Mapping[str, bool], who: str
) -> tuple[dict[str, RankedLists], Callable[[RankedLists], Any]]:
    """Return the lists of frames, and what makes a frame like the first of the fused ones."""
    place: dict[str, int] = {}
    columns = {}
    for arm, frame in arms.items():
        there = list(getattr(frame, "column_names", getattr(frame, "columns", ())))
        for argument, name in zip(("query", "id", "score"), names, strict=True):
            if there.count(name) != 1:
                raise InvalidParameterError(
                    f"{argument} must name one column of every frame, got {name!r} and "
                    f"{', '.join(map(str, there)) or type(frame).__name__} as {arm}",
                    who=who,
                )
        columns[arm] = [frame[name].to_numpy() for name in names]
        columns[arm][0] = as_text(columns[arm][0], names[0])
        for one in columns[arm][0].tolist():
            place.setdefault(one, len(place))
    lists = {}
    for arm, (queries, ids, scores) in columns.items():
        rows = np.array([place[one] for one in queries.tolist()], dtype=np.int64)
        together = np.argsort(rows, kind="stable")
        offsets = offsets_of(np.bincount(rows, minlength=len(place)).astype(np.int64))
        lists[arm] = RankedLists(
            Ragged(np.asarray(scores, dtype=np.float64)[together], offsets),
            query_ids=list(place),
            doc_ids=Ragged(np.asarray(ids)[together], offsets),
            higher_is_better=up.get(arm, True),
        )

    def build(made: RankedLists) -> Any:
        assert made.doc_ids is not None
        assert made.parts is not None
        query, id, score = names
        found = {
            query: made.query_ids[made.scores.rows].astype(object),
            id: made.doc_ids.values.astype(object),
            score: made.scores.values,
            "rank": made.scores.ranks + 1,
        }
        for arm, part, ranks in zip(arms, made.parts.scores, made.parts.ranks, strict=True):
            found |= {f"{score}_{arm}": part.values, f"rank_{arm}": ranks.values}
        kind: Any = type(next(iter(arms.values())))
        return getattr(kind, "from_pydict", kind)(found)

    return lists, build
