"""Fusion of answers: what several searches returned for one question becomes one answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from paretocut.answers import Answer, direction_of, read
from paretocut.answers.answer import Path
from paretocut.errors import InvalidParameterError
from paretocut.fusion.joining import arms_by_name
from paretocut.lists import RankedLists


@dataclass(frozen=True, slots=True)
class FusedResult:
    """One document of a fused answer.

    Attributes
    ----------
    id
        Its id, as text.
    score
        Its fused score; higher is better.
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

    Attributes
    ----------
    lists
        The same as `paretocut.RankedLists`, with ``parts``.
    text_of
        Returns the text of one of the results, from the answer it came from.
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


def fuse_answers(
    answers: Any,
    fused: Callable[[Mapping[str, RankedLists]], RankedLists],
    *,
    score: Path | Mapping[str, Path] | None,
    id: Path | Mapping[str, Path] | None,
    higher_is_better: Mapping[str, bool] | bool | None,
    who: str,
) -> Fused | list[Fused]:
    """Return the answers as one, or one for each query if they are to many queries."""
    read_as: dict[str, Answer] = {}
    for name, answer in arms_by_name(answers, who).items():
        if isinstance(answer, RankedLists):
            raise InvalidParameterError(
                f"lists must all be RankedLists or all be answers, got RankedLists as {name}",
                who=who,
            )
        own = score.get(name) if isinstance(score, Mapping) else score
        read_as[name] = read(answer, score=own, who=f"{who}: {name}")
        identity = id.get(name) if isinstance(id, Mapping) else id
        if identity is not None:
            read_as[name].id = identity
    counts = {len(one.scores) for one in read_as.values()}
    if len(counts) > 1:
        raise InvalidParameterError(
            f"answers must be to the same queries, got {sorted(counts)} of them", who=who
        )
    up = higher_is_better
    if up is None or isinstance(up, bool):
        up = {} if up is None else dict.fromkeys(read_as, up)
    together = [_one(read_as, query, fused, up, who) for query in range(counts.pop())]
    single = all(one.single for one in read_as.values())
    return together[0] if single else together


def _one(
    answers: Mapping[str, Answer],
    query: int,
    fused: Callable[[Mapping[str, RankedLists]], RankedLists],
    up: Mapping[str, bool],
    who: str,
) -> Fused:
    lists: dict[str, RankedLists] = {}
    places: dict[str, dict[str, int]] = {}
    for name, answer in answers.items():
        scores = answer.scores[query]
        there = np.flatnonzero(np.isfinite(scores))
        own = up.get(name, answer.higher_is_better)
        if own is None:
            own = direction_of([scores[there]], f"{who}: {name}") is not False
        ids = [str(one) for one in answer.ids(query, f"{who}: {name}")]
        lists[name] = RankedLists(
            [scores[there]], doc_ids=[[ids[i] for i in there]], higher_is_better=own
        )
        places[name] = {}
        for i in there.tolist():
            places[name].setdefault(ids[i], i)  # the better of two with one id
    made = fused(lists)
    assert made.doc_ids is not None
    assert made.parts is not None
    parts = [{**dict.fromkeys(answers), **own} for own in made.parts.of_list(0)]
    results = [
        FusedResult(
            id=own,
            score=float(score),
            parts=parts[i],
            results={
                name: answers[name].result(query, at[own])
                for name, at in places.items()
                if own in at
            },
        )
        for i, (own, score) in enumerate(zip(made.doc_ids[0].tolist(), made.scores[0], strict=True))
    ]

    def text_of(result: FusedResult) -> str:
        name = next(iter(result.results))
        return answers[name].text_of(query, places[name][result.id], who)

    return Fused(results, made, text_of)


def are_ranked(lists: Any) -> bool:
    """Return whether these are ranked lists, or nothing that could be answers."""
    items: Sequence[Any] = ()
    if isinstance(lists, Mapping):
        items = list(lists.values())
    elif isinstance(lists, (list, tuple)):
        items = lists
    return all(isinstance(item, RankedLists) for item in items)
