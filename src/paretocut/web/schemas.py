"""Bodies of requests and answers, as the OpenAPI description shows them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from paretocut._options import IF_SHALLOW, RULES, TRANSFORMS

__all__ = [
    "CutOptions",
    "CutRequest",
    "Deciding",
    "Decision",
    "ErrorAnswer",
    "FitOptions",
    "Health",
]

Scores = Annotated[list[float], Field(description="Scores of one list, in any order.")]
_SCORES = [0.71, 0.68, 0.41, 0.40, 0.38, 0.37, 0.35, 0.33]


class _Strict(BaseModel):
    """Numbers must be numbers, and unknown names are refused."""

    model_config = ConfigDict({"strict": True, "extra": "forbid"})


def one_of(*names: str) -> dict[str, Any]:
    """Return the piece of a schema that asks for exactly one of these fields."""
    return {"oneOf": [{"required": [name]} for name in names]}


class FitOptions(_Strict):
    """How the tail is fitted; see `paretocut.fit`."""

    transform: Literal[TRANSFORMS] | None = None  # type: ignore[valid-type]
    selection: Literal["greedy", "gof"] | None = None
    refit: Literal["window", "all"] | None = None
    min_window: Annotated[int, Field(ge=3)] | None = None


class Deciding(FitOptions):
    """Who decides, at most one, and the bounds on the number kept."""

    model: str | None = Field(None, description="Name of a model that was loaded at the start.")
    method: str | None = Field(
        None, description="A method, as on the command line: largest_gap, minmax:threshold=0.5."
    )
    expect: Literal["one", "few", "many"] | Annotated[float, Field(gt=0)] | None = Field(
        None, description="Relevant results a query has, about."
    )
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
        names = ("expect", *RULES, "if_shallow", *FitOptions.model_fields)
        return {name: value for name in names if (value := getattr(self, name)) is not None}


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
