"""Bodies of requests and answers, as the OpenAPI description shows them."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import fields
from typing import Annotated, Any, Literal, Self, get_type_hints

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    ValidationError,
    WrapValidator,
    create_model,
)

from paretocut import _kernel
from paretocut.decisions import Cut
from paretocut.decisions.options import EXPECT, FITTING, OPTIONS, Option
from paretocut.evaluation import Evaluation, Summary
from paretocut.fusion.options import FUSING
from paretocut.lists import FloatArray, IntArray, Ragged
from paretocut.schema.kinds import Either, Kind, Real, Text, Whole
from paretocut.tail import SurpriseFit
from paretocut.web.limits import Limits
from paretocut.web.refusals import InvalidBody

Scores = Annotated[list[float], Field(description="Scores of one list, in any order.")]
_SCORES = [0.71, 0.68, 0.41, 0.40, 0.38, 0.37, 0.35, 0.33]


class Strict(BaseModel):
    """Numbers must be numbers, and unknown names are refused."""

    model_config = ConfigDict({"strict": True, "extra": "forbid"})

    @classmethod
    def read(cls, body: bytes) -> Self:
        """Return the checked body."""
        asked: Self = cls.model_validate_json(body)
        return asked

    def given(self, *names: str) -> dict[str, Any]:
        """Return those of these fields that are not null."""
        return {name: value for name in names if (value := getattr(self, name)) is not None}


def _either(one: str, many: str, example: dict[str, Any]) -> ConfigDict:
    """Return the configuration of a body that must have exactly one of two fields."""
    extra = {"oneOf": [{"required": [one]}, {"required": [many]}], "examples": [example]}
    return ConfigDict(json_schema_extra=extra)


def one_or_many(asked: BaseModel, one: str, many: str) -> tuple[list[Any], bool]:
    """Return what a body has in one of two fields as a list, and whether it was a single one."""
    single, several = getattr(asked, one), getattr(asked, many)
    if (single is None) == (several is None):
        raise InvalidBody(f"exactly one of {one} and {many} must be given")
    return ([single], True) if several is None else (several, False)


def _by_query(one: str, many: str) -> WrapValidator:
    """Return a check that names the query and the document of a wrong value."""

    def check(value: Any, handler: Callable[[Any], Any]) -> Any:
        try:
            return handler(value)
        except ValidationError as error:
            _, *place = max((found["loc"] for found in error.errors()), key=len)
        if len(place) > 1:
            problem = f"query {place[0]!r:.60}, document {place[1]!r:.60}: {one}"
        elif place:
            problem = f"query {place[0]!r:.60}: must be an object of documents and {many}"
        else:
            problem = f"must be TREC text, or an object of queries, documents and {many}"
        raise ValueError(problem)

    return WrapValidator(check)


class Listed(Strict):
    """One list (`scores`) or several (`lists`)."""

    scores: Scores | None = None
    lists: list[Scores] | None = None
    _numbers: Ragged | None = PrivateAttr(None)

    @classmethod
    def read(cls, body: bytes) -> Self:
        """Return the checked body; its numbers go straight into an array where that is possible."""
        found: Any = _kernel.read_scores(body)
        if found is not None:
            with suppress(ValidationError):  # the whole body says where its errors are
                asked: Self = cls.model_validate_json(found[0])
                asked._numbers = Ragged.unchecked(*found[1:])
                return asked
        return super().read(body)

    def ragged(self, limits: Limits) -> tuple[Ragged, bool]:
        """Return the lists, unless they are too many or too long, and whether it is only one."""
        given, single = one_or_many(self, "scores", "lists")
        lists = self._numbers
        return limits.as_lists(given) if lists is None else limits.checked(lists), single


# The options of a decision come from the library's own table.


def _expected(value: Any, handler: Callable[[Any], Any]) -> Any:
    try:
        return handler(value)
    except ValidationError:
        words = ", ".join(map(repr, EXPECT))
        raise ValueError(f"must be {words} or a number above 0") from None


def _type_of(kind: Kind) -> Any:
    """Return the type that stands for a kind in a body."""
    if isinstance(kind, Either):
        return _type_of(kind.kind)
    if isinstance(kind, Text):
        return Literal[kind.choices]
    if isinstance(kind, Whole):
        return Annotated[int, Field(ge=kind.low)]
    if isinstance(kind, Real):
        low = None if kind.low == -math.inf else kind.low
        return Annotated[float, Field(ge=low, gt=kind.above, lt=kind.below)]
    number = Annotated[float, Field(gt=0)]
    return Annotated[Literal[tuple(EXPECT)] | number, WrapValidator(_expected)]


def _with(options: Mapping[str, Option]) -> Any:
    """Return a model with these options; null stands for an option that is not given."""
    fields: dict[str, Any] = {
        name: (_type_of(kind) | None, Field(default, description=f"{about[0].upper()}{about[1:]}."))
        for name, (kind, default, about) in options.items()
    }
    return create_model("Options", __base__=Strict, **fields)


_Fitting: Any = _with(FITTING)
_Deciding: Any = _with(OPTIONS)
_Fusing: Any = _with({name: FUSING[name] for name in ("method", "depth")})


class Deciding(_Deciding):
    """Who decides, at most one, and the bounds on the number kept."""

    model: str | None = Field(None, description="Name of a model that was loaded at the start.")
    method: str | None = Field(
        None, description="A method, as on the command line: largest_gap, minmax:threshold=0.5."
    )


class CutOptions(Deciding):
    """Who decides, in which direction the scores go, and whether reasons come back."""

    higher_is_better: bool = Field(True, description="False for distances.")
    explain: bool = Field(True, description="False leaves reason and warnings out: faster.")


class CutRequest(Listed, CutOptions):
    """One list (`scores`) or several (`lists`)."""

    model_config = _either("scores", "lists", {"scores": _SCORES})

    query: str | None = Field(None, description="Text of the query, for models that need it.")
    queries: list[str] | None = Field(None, description="The same for each of the lists.")


class ScoreRequest(Listed, _Fitting):
    """One list (`scores`) or several (`lists`)."""

    model_config = _either("scores", "lists", {"scores": _SCORES})

    higher_is_better: bool = Field(True, description="False for distances.")


class RetrieverList(Strict):
    """The results of one retriever for one query."""

    ids: list[str]
    scores: list[float]
    higher_is_better: bool = Field(True, description="False for distances.")


_RETRIEVED = {
    "words": {"ids": ["a", "b", "c"], "scores": [9.0, 7.0, 1.0]},
    "vectors": {"ids": ["b", "a", "d"], "scores": [0.2, 0.3, 0.9], "higher_is_better": False},
}


class FuseRequest(_Fusing):
    """The lists of several retrievers for one query (`retrievers`) or for several (`queries`)."""

    model_config = _either(
        "retrievers", "queries", {"retrievers": _RETRIEVED, "cut": {"expect": "few"}}
    )

    retrievers: dict[str, RetrieverList] | None = None
    queries: list[dict[str, RetrieverList]] | None = None
    weights: dict[str, float] | None = Field(None, description="One for each retriever.")
    fusion: str | None = Field(None, description="Name of a fusion that was loaded at the start.")
    cut: Deciding | None = Field(None, description="Cut the fused lists; {} is the default cut.")


_METHODS = ["global_k", "minmax", "consensus", "surprise", "largest_gap"]


class EvaluateRequest(Strict):
    """A run and its judgements, as TREC text or by query and document, and what to compare."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "run": "q1 Q0 a 1 0.9 me\nq1 Q0 b 2 0.4 me\nq2 Q0 c 1 0.8 me\n",
                    "qrels": "q1 0 a 1\nq2 0 c 1\n",
                    "methods": ["fixed_k:k=1", "minmax:threshold=0.5"],
                    "metrics": ["f1"],
                    "folds": 2,
                }
            ]
        }
    )

    run: Annotated[
        str | dict[str, dict[str, float]], _by_query("a score must be a number", "scores")
    ]
    qrels: Annotated[
        str | dict[str, dict[str, int]], _by_query("a grade must be a whole number", "grades")
    ]
    methods: Annotated[list[str], Field(min_length=1, max_length=30)] = _METHODS
    metrics: Annotated[list[str], Field(min_length=1, max_length=8)] = ["f1", "penalized_dcg"]
    baseline: str | None = Field(None, description="One of the methods, to test against.")
    splits: int = Field(5, ge=1, le=20)
    train: float = Field(0.8, gt=0, lt=1)
    folds: Annotated[int, Field(ge=2, le=20)] | None = None
    seed: int = Field(0, ge=0)
    min_grade: float = 1
    higher_is_better: bool = Field(True, description="False for distances.")


# Answers copy what the library returns, with its types and words.

_PLAIN: dict[Any, Any] = {FloatArray: list[float], IntArray: list[int]}


def _copied(source: type, names: str, name: str, words: str, **more: Any) -> Any:
    """Return a model of these fields and properties of a class; "reason?" may be left out."""
    hints: dict[str, Any] = get_type_hints(source)
    # The docstring describes its fields in lines of names, each followed by indented words.
    lines = re.findall(r"(?m)^([a-z_, ]+)\n((?:    .*\n?)+)", inspect.getdoc(source) or "")
    about: dict[str, Any] = {
        field: " ".join(text.split()) for listed, text in lines for field in listed.split(", ")
    }
    found: dict[str, Any] = {}
    for wanted in names.split():
        field = wanted.removesuffix("?")
        own = getattr(source, field, None)
        if isinstance(own, property):
            hints[field], about[field] = get_type_hints(own.fget)["return"], own.__doc__
        kind: Any = _PLAIN.get(hints[field], hints[field])
        if field == wanted:
            found[field] = (kind, Field(description=about.get(field)))
        else:
            found[field] = (kind | None, Field(None, description=about.get(field)))
    return create_model(name, __doc__=words, **found, **more)


Decision = _copied(
    Cut,
    "k n indices nearest chance method reason? warnings?",
    "Decision",
    "How many results of a list to keep, and why.",
)
Tail = _copied(
    SurpriseFit,
    "shape scale threshold lower upper cvm gof_pvalue transform",
    "Tail",
    "The generalized Pareto tail of a list; scale 0 means that nothing was fitted.",
)
ScoredList = _copied(
    SurpriseFit,
    "surprise pvalues evalues warnings",
    "ScoredList",
    "How unusual each result of a list is; numbers are in the order of the scores.",
    fit=(Tail, ...),
)
SummaryLine = _copied(
    Summary,
    " ".join(field.name for field in fields(Summary)),
    "SummaryLine",
    "A method under a metric; see `paretocut.evaluate`.",
)
_LEFT_OUT = "How many queries only the run has, and how many only the qrels."
EvaluationAnswer = _copied(
    Evaluation,
    "protocol baseline confidence resamples seed",
    "EvaluationAnswer",
    "How well each method cuts lists it has not learned from.",
    queries=(int, ...),
    summary=(list[SummaryLine], ...),  # type: ignore[valid-type]
    left_out=(dict[str, int], Field(description=_LEFT_OUT)),
)


class Part(BaseModel):
    """Score and rank of a result in one retriever's list."""

    score: float
    rank: int


class FusedResult(BaseModel):
    """A result, its fused score, and its place in the list of each retriever that found it."""

    id: str
    score: float
    parts: dict[str, Part]


class FusedList(BaseModel):
    """A fused list, best first; after a cut, only the results that it keeps."""

    results: list[FusedResult]
    cut: Decision | None  # type: ignore[valid-type]


class Problem(BaseModel):
    """Why a request was refused."""

    status: int
    code: str = Field(description="For programs.")
    message: str = Field(description="For people.")


class ErrorAnswer(BaseModel):
    """The one shape of every error."""

    error: Problem


class Health(BaseModel):
    """The service is up."""

    status: Literal["ok"]
    version: str
    models: list[str]
