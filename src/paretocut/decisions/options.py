"""The options of a decision, each spelt once for all who take them: `OPTIONS`."""

import inspect
import os
import sys
from collections.abc import Callable, Container, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypedDict, TypeVar, cast, get_args

from paretocut.errors import InvalidParameterError
from paretocut.schema.kinds import AnyOf, Either, Kind, Real, Text, Whole
from paretocut.schema.parameters import check, check_int

if TYPE_CHECKING:
    from paretocut.decisions.cuts import Decider


F = TypeVar("F", bound=Callable[..., Any])

EXPECT = {"one": 1.2, "few": 5.0, "dozens": 25.0, "hundreds": 100.0}
"""The words that ``expect`` takes, and the mean number of relevant results each stands for."""

TRANSFORMS = ("identity", "log", "logit", "auto")


class _Expected(Kind):
    """One of the words, or a positive number."""

    def check(self, value: Any, sizes: Any) -> Any:
        if isinstance(value, str) and value not in EXPECT:
            raise ValueError(f"{', '.join(map(repr, EXPECT))} or a number")
        return AnyOf(Text(tuple(EXPECT)), Real(above=0)).check(value, sizes)


class Option(NamedTuple):
    """What one option may be, its default, and what it means."""

    kind: Kind
    default: Any
    help: str


_SHARE = Real(above=0, below=1)


OPTIONS: Mapping[str, Option] = {
    "expect": Option(
        _Expected(),
        None,
        f"how many relevant results a list holds: {', '.join(EXPECT)}, or a number",
    ),
    "alpha": Option(_SHARE, None, "keep results whose p-value is at most this"),
    "evalue": Option(
        Real(above=0),
        None,
        "keep results that chance alone would put into the list at most this many times",
    ),
    "fdr": Option(
        _SHARE,
        None,
        "keep as many results as possible, with at most this share of chance results expected "
        "among them (Benjamini-Hochberg)",
    ),
    "min_surprise": Option(Real(0), None, "keep results whose surprise is at least this"),
    "if_unsure": Option(
        Text(("keep", "drop")),
        "keep",
        "what a rule does if it would keep nothing of fewer than 50 results, or of equal scores: "
        "keep them all, because such a list cannot show that nothing stands out, or drop them",
    ),
    "transform": Option(
        Text(TRANSFORMS),
        "identity",
        "scale on which the tail is fitted: identity, log, logit (for probabilities), or auto "
        "(identity if it fits, otherwise whatever fits best)",
    ),
    "selection": Option(
        Text(("greedy", "gof")),
        "greedy",
        "how the lower end of the window is found: greedy (the paper's search), or gof (raise the "
        "threshold until the fit is acceptable)",
    ),
    "refit": Option(
        Text(("window", "all")),
        "window",
        "what the final tail is fitted to: window (the scores that look irrelevant), or all "
        "(everything from the threshold up)",
    ),
    "min_window": Option(Whole(3), 5, "smallest number of scores a window may have, 3 or more"),
    "min_k": Option(Whole(), 0, "smallest number of results to keep"),
    "max_k": Option(Either(Whole()), None, "largest number of results to keep"),
}
"""Every option of a decision but the truncator, by name."""


class FitOptions(TypedDict, total=False):
    """How the tail of a list is fitted; see `paretocut.fit_tail`."""

    transform: Annotated[str, OPTIONS["transform"]]
    selection: Annotated[str, OPTIONS["selection"]]
    refit: Annotated[str, OPTIONS["refit"]]
    min_window: Annotated[int, OPTIONS["min_window"]]


class RuleOptions(TypedDict, total=False):
    """One rule on Surprise scores."""

    alpha: Annotated[float | None, OPTIONS["alpha"]]
    evalue: Annotated[float | None, OPTIONS["evalue"]]
    fdr: Annotated[float | None, OPTIONS["fdr"]]
    min_surprise: Annotated[float | None, OPTIONS["min_surprise"]]
    if_unsure: Annotated[str, OPTIONS["if_unsure"]]


class Bounds(TypedDict, total=False):
    """Bounds on the number of results kept, whatever is decided."""

    min_k: Annotated[int, OPTIONS["min_k"]]
    max_k: Annotated[int | None, OPTIONS["max_k"]]


class PlainOptions(RuleOptions, FitOptions, Bounds, total=False):
    """Every option of a decision but the truncator."""

    expect: Annotated[str | float | None, OPTIONS["expect"]]


class DecisionOptions(PlainOptions, total=False):
    """Who decides (at most one of truncator, expect and the rules), and within which bounds."""

    truncator: "Decider | str | os.PathLike[str] | None"


def declared(*groups: type) -> dict[str, Option]:
    """Return the options that stand in the annotations of these classes."""
    return {
        name: option
        for group in groups
        for name, annotation in group.__annotations__.items()
        for option in get_args(annotation)[1:]
    }


FITTING = declared(FitOptions)
"""The options of a fit."""
DECIDING = ("truncator", *(name for name in OPTIONS if name not in Bounds.__annotations__))
"""The options that say who decides and how, in contrast to bounds."""

RULES = ("alpha", "evalue", "fdr", "min_surprise")
"""Names of the rules on Surprise scores."""

# Words of other libraries for an option of ours.
_MEANT = dict.fromkeys(("k", "n", "top_k", "top_n", "limit", "n_results", "size"), "max_k")


class Rule(NamedTuple):
    """A rule on Surprise scores, its level, and what it does with short lists."""

    name: str
    level: float
    if_unsure: str = "keep"

    def __str__(self) -> str:
        return f"{self.name}={self.level:g}"


def spelt_out(*names: str) -> Callable[[F], F]:
    """Give a function that takes these options as ``**options`` their signature and their help.

    Its docstring has the line ``{options}`` where the help belongs.
    """

    def spell(function: F) -> F:
        signature = inspect.signature(function)
        *known, _ = signature.parameters.values()
        kind = inspect.Parameter.KEYWORD_ONLY
        own = [inspect.Parameter(name, kind, default=OPTIONS[name].default) for name in names]
        spelt = signature.replace(parameters=[*known, *own])
        function.__signature__ = spelt  # type: ignore[attr-defined]
        texts = {name: OPTIONS[name].help for name in names}
        helps = [f"{name}\n        {text[0].upper()}{text[1:]}." for name, text in texts.items()]
        function.__doc__ = (function.__doc__ or "").replace("{options}", "\n    ".join(helps))
        return function

    return spell


def check_options(
    who: str,
    given: Mapping[str, Any],
    known: Mapping[str, Option] = OPTIONS,
    spelt: Callable[[str], str] = str,
) -> dict[str, Any]:
    """Return the options that were given, checked; None stands for an option that was not.

    ``spelt`` turns a name into the caller's word for it.
    """
    for name in given:
        if name not in known:
            from difflib import get_close_matches  # slow to import, and only errors need it

            meant = _MEANT.get(name) or next(iter(get_close_matches(name, known, 1)), "")
            hint = f"; did you mean {spelt(meant)}?" if meant in known else ""
            raise InvalidParameterError(
                f"options must be among {', '.join(map(spelt, known))}, got {name}{hint}", who=who
            )
    return {
        name: check(known[name].kind, value, who=who, name=spelt(name))
        for name, value in given.items()
        if value is not None
    }


def at_most_one(
    who: str, names: Sequence[str], given: Container[str], spelt: Callable[[str], str] = str
) -> str | None:
    """Return which of the names is given, or None if none is."""
    found = [name for name in names if name in given]
    if len(found) > 1:
        raise InvalidParameterError(
            f"at most one of {', '.join(map(spelt, names))} may be given, "
            f"got {' and '.join(map(spelt, found))}",
            who=who,
        )
    return found[0] if found else None


def check_fitting(who: str, given: FitOptions) -> FitOptions:
    """Return all options of a fit, checked, with the default of those that were not given."""
    checked = check_options(who, given, FITTING)
    every: Any = {name: checked.get(name, option.default) for name, option in FITTING.items()}
    return cast(FitOptions, every)


def chosen_rule(who: str, given: Mapping[str, Any]) -> Rule | None:
    """Return the one rule among the options, or None if there is none."""
    names = (*RULES, "if_unsure")
    rules = check_options(who, {name: given[name] for name in names if name in given})
    name = at_most_one(who, RULES, rules)
    if name is None:
        return None
    return Rule(name, float(rules[name]), rules.get("if_unsure", "keep"))


def check_bounds(
    who: str, min_k: int, max_k: int | None, spelt: Callable[[str], str] = str
) -> tuple[int, int]:
    """Return the bounds on the number of results kept; no upper one is a very large one."""
    if type(min_k) is int and min_k == 0 and max_k is None:
        return 0, sys.maxsize
    least, most = spelt("min_k"), spelt("max_k")
    low = check_int(min_k, who=who, name=least)
    high = sys.maxsize if max_k is None else check_int(max_k, who=who, name=most)
    if low > high:
        raise InvalidParameterError(f"{least} must be at most {most}={high}, got {low}", who=who)
    return low, high
