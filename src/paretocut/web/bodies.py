"""Bodies of requests and answers, as the OpenAPI description shows them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Literal, TypeVar, cast

import msgspec
from msgspec import Meta, Struct

from paretocut.decisions.options import EXPECT, FITTING, OPTIONS, Option
from paretocut.fusion.methods import FUSING
from paretocut.schema.kinds import Either, Kind, Real, Text, Whole
from paretocut.web.limits import InvalidBody, Refused

T = TypeVar("T")


@cache
def _decoder(kind: type) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind)


def read(kind: type[T], body: bytes) -> T:
    """Return a body of JSON, which must have the structure of ``kind``."""
    try:
        return cast(T, _decoder(kind).decode(body))  # type: ignore[arg-type]
    except msgspec.ValidationError:
        raise
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        problem = str(error).removeprefix("JSON is malformed: ")
        raise Refused(400, message=f"the body is not JSON: {problem}") from None


def given(asked: Struct, names: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of these fields that are not null."""
    return {name: value for name in names if (value := getattr(asked, name)) is not None}


def one_or_many(asked: Struct, one: str, many: str) -> tuple[list[Any], bool]:
    """Return the value of one of two fields as a list, and whether it was a single one."""
    single, several = getattr(asked, one), getattr(asked, many)
    if (single is None) == (several is None):
        raise InvalidBody(f"exactly one of {one} and {many} must be given")
    return ([single], True) if several is None else (several, False)


class Body(Struct, kw_only=True, forbid_unknown_fields=True):
    """The body of a request: unknown names are refused."""


# The options of a decision come from the library's own table. The library checks their values, so
# that its errors are the same everywhere; here they are described.


def _type_of(kind: Kind) -> Any:
    if isinstance(kind, Either):
        return _type_of(kind.kind)
    if isinstance(kind, Text):
        return Annotated[str, Meta(extra_json_schema={"enum": list(kind.choices)})]
    if isinstance(kind, Whole):
        return Annotated[int, Meta(extra_json_schema={"minimum": kind.low})]
    if isinstance(kind, Real):
        bounds = (kind.low, kind.above, kind.below)
        named = zip(("minimum", "exclusiveMinimum", "exclusiveMaximum"), bounds, strict=True)
        known = {name: at for name, at in named if at is not None and math.isfinite(at)}
        return Annotated[float, Meta(extra_json_schema=known)]
    return _type_of(Text(tuple(EXPECT))) | _type_of(Real(above=0))


def _with(options: Mapping[str, Option]) -> Any:
    """Return a body with these options; null stands for an option that is not given."""
    fields = [(name, _type_of(option.kind) | None, None) for name, option in options.items()]
    return msgspec.defstruct("Options", fields, bases=(Body,))


_Fitting: Any = _with(FITTING)
_Deciding: Any = _with(OPTIONS)
_Fusing: Any = _with({name: FUSING[name] for name in ("method", "depth")})


class Deciding(_Deciding):
    """Who decides, at most one, and the bounds on the number kept."""

    model: str | None = None
    method: str | None = None


class CutOptions(Deciding):
    """Who decides, in which direction the scores go, and whether reasons come back."""

    higher_is_better: bool | None = None
    explain: bool = True


class CutRequest(CutOptions):
    """One list (`scores`) or several (`lists`)."""

    scores: list[float] | None = None
    lists: list[list[float]] | None = None
    query: str | None = None
    queries: list[str] | None = None


class ScoreRequest(_Fitting):
    """One list (`scores`) or several (`lists`)."""

    scores: list[float] | None = None
    lists: list[list[float]] | None = None
    higher_is_better: bool = True


class RetrieverList(Body):
    """The results of one retriever for one query."""

    ids: list[str]
    scores: list[float]
    higher_is_better: bool = True


class FuseRequest(_Fusing):
    """The lists of several retrievers for one query (`retrievers`) or for several (`queries`)."""

    retrievers: dict[str, RetrieverList] | None = None
    queries: list[dict[str, RetrieverList]] | None = None
    weights: dict[str, float] | None = None
    fusion: str | None = None
    cut: Deciding | None = None


# Answers. They are only described here: the library returns plain values, which are sent as such.


class Decision(Struct):
    """How many results of a list to keep, and why."""

    k: int
    n: int
    indices: list[int]
    nearest: list[int]
    chance: float | None
    method: str
    reason: str = ""
    warnings: list[str] = []


class Tail(Struct):
    """The generalized Pareto tail of a list; scale 0 means that nothing was fitted."""

    shape: float
    scale: float
    threshold: float
    lower: int
    upper: int
    cvm: float | None
    gof_pvalue: float | None
    transform: str


class ScoredList(Struct):
    """How unusual each result of a list is; numbers are in the order of the scores."""

    surprise: list[float]
    pvalues: list[float]
    evalues: list[float]
    fit: Tail
    warnings: list[str]


class Part(Struct):
    """Score and rank of a result in one retriever's list."""

    score: float
    rank: int


class FusedResult(Struct):
    """A result, its fused score, and its place in the list of each retriever that found it."""

    id: str
    score: float
    parts: dict[str, Part]


class FusedList(Struct):
    """A fused list, best first; after a cut, only the results that it keeps."""

    results: list[FusedResult]
    cut: Decision | None


class Problem(Struct):
    """Why a request was refused: `code` is for programs, `message` for people."""

    status: int
    code: str
    message: str


class ErrorAnswer(Struct):
    """The one shape of every error."""

    error: Problem


class Health(Struct):
    """The service is up; `models` are those loaded at the start."""

    status: Literal["ok"]
    version: str
    models: list[str]
