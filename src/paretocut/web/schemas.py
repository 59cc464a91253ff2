"""Bodies of requests and answers, as the OpenAPI description shows them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, WrapValidator

from paretocut.decisions.options import IF_SHALLOW, RULES, TRANSFORMS
from paretocut.fusion import METHODS

__all__ = [
    "REQUESTS",
    "CutOptions",
    "CutRequest",
    "Deciding",
    "Decision",
    "ErrorAnswer",
    "EvaluateRequest",
    "EvaluationAnswer",
    "FitOptions",
    "FuseRequest",
    "FusedList",
    "FusedResult",
    "Health",
    "Problem",
    "RetrieverList",
    "Said",
    "ScoreRequest",
    "ScoredList",
    "SummaryLine",
    "Tail",
    "one_of",
]

Scores = Annotated[list[float], Field(description="Scores of one list, in any order.")]
_SCORES = [0.71, 0.68, 0.41, 0.40, 0.38, 0.37, 0.35, 0.33]


class _Strict(BaseModel):
    """Numbers must be numbers, and unknown names are refused."""

    model_config = ConfigDict({"strict": True, "extra": "forbid"})


def one_of(*names: str) -> dict[str, Any]:
    """Return the piece of a schema that asks for exactly one of these fields."""
    return {"oneOf": [{"required": [name]} for name in names]}


# Of a value that may be of two kinds, pydantic names the kind it is not; these say what is allowed.


def _expected(value: Any, handler: Callable[[Any], Any]) -> Any:
    try:
        return handler(value)
    except ValidationError:
        raise ValueError("must be 'one', 'few', 'many' or a number above 0") from None


def _by_query(one: str, many: str) -> WrapValidator:
    """Return a check that says which query and document have no such number."""

    def check(value: Any, handler: Callable[[Any], Any]) -> Any:
        try:
            return handler(value)
        except ValidationError as error:
            _, *place = max((found["loc"] for found in error.errors()), key=len)
        if len(place) > 1:
            told = f"query {place[0]!r:.60}, document {place[1]!r:.60}: {one}"
        elif place:
            told = f"query {place[0]!r:.60}: must be an object of documents and {many}"
        else:
            told = f"must be TREC text, or an object of queries, documents and {many}"
        raise ValueError(told)

    return WrapValidator(check)


class FitOptions(_Strict):
    """How the tail is fitted; see `paretocut.fit_tail`."""

    transform: Literal[TRANSFORMS] | None = None  # type: ignore[valid-type]
    selection: Literal["greedy", "gof"] | None = None
    refit: Literal["window", "all"] | None = None
    min_window: Annotated[int, Field(ge=3)] | None = None

    def fit_options(self) -> dict[str, Any]:
        """Return the options of `paretocut.fit_tail` that were given."""
        names = FitOptions.model_fields
        return {name: value for name in names if (value := getattr(self, name)) is not None}


class Deciding(FitOptions):
    """Who decides, at most one, and the bounds on the number kept."""

    model: str | None = Field(None, description="Name of a model that was loaded at the start.")
    method: str | None = Field(
        None, description="A method, as on the command line: largest_gap, minmax:threshold=0.5."
    )
    expect: (
        Annotated[
            Literal["one", "few", "many"] | Annotated[float, Field(gt=0)], WrapValidator(_expected)
        ]
        | None
    ) = Field(None, description="Relevant results a query has, about.")
    alpha: Annotated[float, Field(gt=0, lt=1)] | None = Field(None, description="p-value <= alpha.")
    evalue: Annotated[float, Field(gt=0)] | None = Field(
        None, description="Chance alone would bring at most so many such results."
    )
    fdr: Annotated[float, Field(gt=0, lt=1)] | None = Field(
        None, description="At most this share of those kept by chance."
    )
    min_surprise: Annotated[float, Field(ge=0)] | None = Field(
        None, description="surprise >= min_surprise."
    )
    if_shallow: Literal[IF_SHALLOW] | None = None  # type: ignore[valid-type]
    min_k: int = Field(0, ge=0, description="Keep at least so many results.")
    max_k: int | None = Field(None, ge=0, description="Keep at most so many results.")

    def choice(self) -> dict[str, Any]:
        """Return the options of `paretocut.cut` that were given, without model and method."""
        names = ("expect", *RULES, "if_shallow")
        given = {name: value for name in names if (value := getattr(self, name)) is not None}
        return given | self.fit_options()


class CutOptions(Deciding):
    """Who decides on lists of which direction, and how much is told of it."""

    higher_is_better: bool = Field(True, description="False for distances.")
    explain: bool = Field(True, description="False leaves reason and warnings out: faster.")


class CutRequest(CutOptions):
    """One list (`scores`) or several (`lists`)."""

    model_config = ConfigDict(
        json_schema_extra=one_of("scores", "lists") | {"examples": [{"scores": _SCORES}]}
    )

    scores: Scores | None = None
    lists: list[Scores] | None = None
    query: str | None = Field(None, description="Text of the query, for models that need it.")
    queries: list[str] | None = Field(None, description="The same for each of the lists.")


class Decision(BaseModel):
    """How many results of a list to keep, and why."""

    k: int = Field(description="Results to keep; 0 is a possible answer.")
    n: int = Field(description="Results there were.")
    indices: list[int] = Field(description="Positions of the kept results, best first.")
    method: str = Field(description="What decided.")
    reason: str | None = Field(None, description="One sentence that says what decided.")
    warnings: list[str] | None = Field(None, description="Names of what the user should know.")


class ScoreRequest(FitOptions):
    """One list (`scores`) or several (`lists`)."""

    model_config = ConfigDict(
        json_schema_extra=one_of("scores", "lists") | {"examples": [{"scores": _SCORES}]}
    )

    scores: Scores | None = None
    lists: list[Scores] | None = None
    higher_is_better: bool = Field(True, description="False for distances.")


class Tail(BaseModel):
    """The generalized Pareto tail of a list; a scale of 0 means that nothing was fitted."""

    shape: float
    scale: float
    threshold: float
    lower: int
    upper: int
    cvm: float
    gof_pvalue: float
    transform: str


class ScoredList(BaseModel):
    """How unusual each result of a list is; numbers are in the order of the scores."""

    surprise: list[float] = Field(description="-log of the p-value.")
    pvalues: list[float] = Field(description="Chance that a result which does not matter does it.")
    evalues: list[float] = Field(description="How many such results chance brings to this list.")
    fit: Tail
    warnings: list[str]


class RetrieverList(_Strict):
    """What one retriever found for one query."""

    ids: list[str]
    scores: list[float]
    higher_is_better: bool = Field(True, description="False for distances.")


class FuseRequest(_Strict):
    """The lists of several retrievers for one query (`retrievers`) or for several (`queries`)."""

    model_config = ConfigDict(
        json_schema_extra=one_of("retrievers", "queries")
        | {
            "examples": [
                {
                    "retrievers": {
                        "words": {"ids": ["a", "b", "c"], "scores": [9.0, 7.0, 1.0]},
                        "vectors": {
                            "ids": ["b", "a", "d"],
                            "scores": [0.2, 0.3, 0.9],
                            "higher_is_better": False,
                        },
                    },
                    "cut": {"expect": "few"},
                }
            ]
        }
    )

    retrievers: dict[str, RetrieverList] | None = None
    queries: list[dict[str, RetrieverList]] | None = None
    method: Literal[tuple(METHODS)] | None = Field(None, description="By default z.")  # type: ignore[valid-type]
    weights: dict[str, float] | None = Field(None, description="One for each retriever.")
    depth: Annotated[int, Field(ge=1)] | None = Field(
        None, description="Use the first so many results of each list."
    )
    fusion: str | None = Field(None, description="Name of a fusion that was loaded at the start.")
    cut: Deciding | None = Field(None, description="Cut the fused lists; {} is the default cut.")


class Said(BaseModel):
    """What one retriever said of a result."""

    score: float
    rank: int


class FusedResult(BaseModel):
    """A result, its fused score, and what each retriever that found it said."""

    id: str
    score: float
    parts: dict[str, Said]


class FusedList(BaseModel):
    """A fused list, best first; only the results that the cut keeps, where there is one."""

    results: list[FusedResult]
    cut: Decision | None


class EvaluateRequest(_Strict):
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
    methods: Annotated[list[str], Field(min_length=1, max_length=30)] = [
        "global_k",
        "minmax",
        "consensus",
        "surprise",
        "largest_gap",
    ]
    metrics: Annotated[list[str], Field(min_length=1, max_length=8)] = ["f1", "dcg"]
    baseline: str | None = Field(None, description="One of the methods, to test against.")
    splits: int = Field(5, ge=1, le=20)
    train: float = Field(0.8, gt=0, lt=1)
    folds: Annotated[int, Field(ge=2, le=20)] | None = None
    seed: int = Field(0, ge=0)
    min_grade: float = 1
    higher_is_better: bool = Field(True, description="False for distances.")


class SummaryLine(BaseModel):
    """A method under a metric; see `paretocut.evaluate`."""

    metric: str
    truncator: str
    mean: float
    std: float | None
    low: float
    high: float
    gain: float | None
    pvalue: float | None
    mean_k: float
    empty: float


class EvaluationAnswer(BaseModel):
    """How well each method cuts lists it has not learned from."""

    protocol: str
    queries: int
    baseline: str | None
    confidence: float
    resamples: int
    seed: int
    summary: list[SummaryLine]
    left_out: dict[str, int] = Field(description="Queries that only the run or the qrels have.")


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


REQUESTS = (CutRequest, ScoreRequest, FuseRequest, EvaluateRequest)
"""Bodies that routes read by themselves."""
