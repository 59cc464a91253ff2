"""The libraries whose answers do not show by their structure how they are read."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from paretocut.answers.answer import Answer, Path, column
from paretocut.errors import InvalidParameterError


@dataclass(frozen=True, kw_only=True)
class Host:
    """How the answers of one library are read, without importing it.

    Parameters
    ----------
    name
        The library.
    answers, items
        Types of its answers, and of one result, for lists of them: each as package and class, which
        may be a base, such as ``"qdrant_client.QueryResponse"``.
    results
        Where the list of results is in an answer: ``"points"``; dots go deeper.
    score
        Where the score is in a result, and whether higher is better there (None: the order of the
        results shows it). The first one that a result has is taken.
    id, text
        Where id and text of a result are; by default under one of the usual names.
    copy
        Takes an answer and its new list, where a copy with the list replaced does not do.
    read
        Reads the whole answer, where it is no list of results.

    Examples
    --------
    >>> from paretocut.answers import Host, register
    >>> register(Host(name="Mine", answers=("my_store.Found",), results="documents",
    ...               score={"closeness": True}))
    """

    name: str
    answers: tuple[str, ...] = ()
    results: str = ""
    items: tuple[str, ...] = ()
    score: Mapping[str, bool | None] = field(default_factory=dict)
    id: Path | None = None
    text: Path | None = None
    copy: Callable[[Any, Any], Any] | None = None
    read: Callable[[Any, str], Answer] | None = None


_ANSWERS: dict[str, Host] = {}
_ITEMS: dict[str, Host] = {}
HOSTS: dict[str, Host] = {}
"""The libraries that are known, by name."""


def register(host: Host) -> None:
    """Make a library known; a name that is known already is an error.

    Packages can do this without being imported: the group ``paretocut.answers`` of entry points
    names `Host` objects.
    """
    taken = [host.name] if host.name in HOSTS else [*({*host.answers} & {*_ANSWERS})]
    if taken := taken or [*({*host.items} & {*_ITEMS})]:
        raise InvalidParameterError(
            f"register: host must be new, got {', '.join(taken)}, which is known"
        )
    HOSTS[host.name] = host
    _ANSWERS.update(dict.fromkeys(host.answers, host))
    _ITEMS.update(dict.fromkeys(host.items, host))
    host_of.cache_clear()


@cache
def host_of(kind: type, item: bool = False) -> Host | None:
    """Return the declaration of a type of answers, or of a type of results."""
    if kind.__module__ == "builtins":
        return None
    table = _ITEMS if item else _ANSWERS
    names = [f"{cls.__module__.partition('.')[0]}.{cls.__name__}" for cls in kind.__mro__]
    if not any(name in table for name in names):
        _load()
    return next((table[name] for name in names if name in table), None)


@cache
def _load() -> None:
    """Register the libraries that other packages declare."""
    from importlib.metadata import entry_points

    for point in entry_points(group="paretocut.answers"):
        register(point.load())


def _milvus(hits: Any, kept: Sequence[Any]) -> Any:
    """Return hits of Milvus, which have two columns beside the list."""
    made = copy.copy(hits)
    places = {id(hit): i for i, hit in enumerate(hits)}
    at = [places[id(hit)] for hit in kept]
    made[:] = kept
    made.ids, made.distances = ([old[i] for i in at] for old in (hits.ids, hits.distances))
    return made


def _usearch(matches: Any, who: str) -> Answer:
    """Read keys and distances of USearch; a batch has rows of unequal length, and their counts."""
    keys, distances = np.atleast_2d(matches.keys), np.atleast_2d(matches.distances)
    single = matches.distances.ndim == 1
    counts = [distances.shape[1]] if single else matches.counts.tolist()

    def shorter(places: Sequence[Sequence[int]]) -> Any:
        if single:
            at = list(places[0])
            return dataclasses.replace(matches, keys=keys[0, at], distances=distances[0, at])
        new = {"keys": keys.copy(), "distances": distances.copy()}
        for row, at in enumerate(map(list, places)):
            new["keys"][row, : len(at)] = keys[row, at]
            new["distances"][row, : len(at)] = distances[row, at]
        counts = np.array([*map(len, places)], matches.counts.dtype)
        return dataclasses.replace(matches, **new, counts=counts)

    scores = [row[:count].astype(np.float64) for row, count in zip(distances, counts, strict=True)]
    return Answer(scores, single, False, lambda query, i: keys[query, i].item(), shorter)


def _series(series: Any, who: str) -> Answer:
    """Read a column of scores."""
    take = series.gather if hasattr(series, "gather") else series.take
    scores = column(series, who)
    return Answer([scores], shorter=lambda places: take(list(places[0])))


def _fused(answer: Any, who: str) -> Answer:
    """Read an answer of `paretocut.fuse`."""

    def shorter(places: Sequence[Sequence[int]]) -> Any:
        (kept,) = places
        lists = answer.lists.truncate([len(kept)]) if list(kept) == list(range(len(kept))) else None
        return type(answer)([answer[i] for i in kept], lists, answer.text_of)

    known = {"id": "id", "text": answer.text_of, "lists": answer.lists}
    return Answer([answer.lists.scores[0]], True, True, lambda _, i: answer[i], shorter, **known)


for _host in (
    Host(name="paretocut", answers=("paretocut.Fused",), read=_fused),
    Host(
        name="a series", answers=("pandas.Series", "polars.Series", "pyarrow.Array"), read=_series
    ),
    Host(
        name="Weaviate",
        answers=("weaviate.QueryReturn", "weaviate.GenerativeReturn"),
        results="objects",
        items=("weaviate._Object",),
        score={
            "metadata.rerank_score": True,
            "metadata.score": True,
            "metadata.distance": False,
            "metadata.certainty": True,
        },
        id="uuid",
    ),
    Host(
        name="Milvus",
        answers=("pymilvus.HybridHits", "pymilvus.Hits"),
        items=("pymilvus.Hit",),
        score={"distance": None},  # similarities too, for COSINE and IP
        copy=_milvus,
    ),
    Host(
        name="Elasticsearch",
        answers=("elastic_transport.ObjectApiResponse",),
        results="body.hits.hits",
        score={"_score": True},
        copy=lambda response, kept: type(response)(
            body={**response.body, "hits": {**response.body["hits"], "hits": kept}},
            meta=response.meta,
        ),
    ),
    Host(name="USearch", answers=("usearch.Matches", "usearch.BatchMatches"), read=_usearch),
    Host(
        name="rerankers",
        answers=("rerankers.RankedResults",),
        results="results",
        items=("rerankers.Result",),
        score={"score": True},
        id="document.doc_id",
        text="document.text",
    ),
    Host(  # stores make up ids of their own
        name="LangChain", items=("langchain_core.Document",), id="page_content", text="page_content"
    ),
    Host(
        name="LlamaIndex",
        items=("llama_index.NodeWithScore",),
        score={"score": True},
        text=lambda node: node.get_content(),
    ),
    Host(name="Haystack", items=("haystack.Document",), score={"score": True}, text="content"),
):
    register(_host)
