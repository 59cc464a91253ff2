"""How answers are decided on: which results have a score, their direction, the report.

`paretocut.keep` and the classes for frameworks go through `Keeping.decide`. What is kept stays in
the caller's order, and the caller's objects are not touched.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from paretocut.adapters.reporting import report, summary, warn
from paretocut.adapters.tokens import within_tokens
from paretocut.answers import Answer, direction_of
from paretocut.decisions import Cut, Cuts
from paretocut.decisions.options import DecisionOptions
from paretocut.errors import InvalidParameterError, InvalidScoresError, speaking_for
from paretocut.lists import FloatArray, IntArray, Ragged
from paretocut.schema.files import decode, encode
from paretocut.schema.parameters import check_bool, check_positive_int
from paretocut.truncators.choose import Chosen

T = TypeVar("T")

FETCH_K = 200
"""How many results to ask for by default: a decision needs far more than what is shown."""

_UNSORTED = 10  # fewer results may be in the wrong order by accident
_THREADS = 4  # searches of a calibration; frameworks call their stores from threads anyway


class CutList(list[T]):
    """A list of the results kept, with the decision that kept them.

    Attributes
    ----------
    cut
        How many and why: `paretocut.Cut`, with its reason and warnings. A list of answers to many
        queries has ``cuts`` instead: `paretocut.Cuts`.
    """

    cut: Cut
    cuts: Cuts


class CutTuple(tuple[Any, ...]):
    """A tuple with the decision on what it holds, in ``cut`` or ``cuts``, as in `CutList`."""

    cut: Cut
    cuts: Cuts


def carrying(results: Any, cut: Cut | Cuts) -> Any:
    """Return lists and tuples with the decision as an attribute, and anything else as it is."""
    kinds: dict[type, Any] = {list: CutList, tuple: CutTuple}
    kind = kinds.get(type(results))
    made = results if kind is None else kind(results)
    if isinstance(made, (list, CutTuple)):
        setattr(made, "cut" if isinstance(cut, Cut) else "cuts", cut)
    return made


@dataclass(frozen=True)
class Decision:
    """The decision on one list: on the scores that are there, and their positions in it."""

    cut: Cut
    scores: FloatArray
    positions: IntArray | None  # None: all of them are there

    @property
    def kept(self) -> list[int]:
        """Positions of the results kept, in the caller's order."""
        places = self.cut.indices
        return sorted((places if self.positions is None else self.positions[places]).tolist())

    def marks(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the position of each result kept, in the caller's order, and its metadata.

        Surprise, p-value and E-value are there if the decision was made on tails.
        """
        cut = self.cut
        columns = {"score": self.scores}
        if cut.has_tails:
            columns |= {"surprise": cut.surprise, "pvalue": cut.pvalues, "evalue": cut.evalues}
        own = np.sort(cut.indices)
        rows = zip(*(values[own].tolist() for values in columns.values()), strict=True)
        of_list = summary(cut)
        for at, row in zip(self.kept, rows, strict=True):
            yield at, dict(zip(columns, row, strict=True)) | of_list


class KeepOptions(DecisionOptions, total=False):
    """Who decides, within which bounds, and how many tokens the results may have together."""

    max_tokens: int | None
    count_tokens: Callable[[str], int] | None


@dataclass(frozen=True)
class Keeping:
    """Who decides on answers: `KeepOptions`, checked once. Errors speak for ``who``."""

    who: str
    chosen: Chosen
    max_tokens: int | None = None
    count_tokens: Callable[[str], int] | None = None

    @classmethod
    def of(cls, who: str, options: Mapping[str, Any]) -> Keeping:
        rest = dict(options)
        most, count = rest.pop("max_tokens", None), rest.pop("count_tokens", None)
        if most is not None:
            check_positive_int(most, who=who, name="max_tokens")
        if count is not None and not callable(count):
            raise InvalidParameterError(
                f"count_tokens must be a function of a text, got {count!r}", who=who
            )
        return cls(who, Chosen.of(who, rest), most, count)

    def at_most(self, most: int | None, name: str) -> Keeping:
        """Return the same with a bound that came at run time, under this name."""
        if most is None:
            return self
        check_positive_int(most, who=self.who, name=name)
        least = most if self.chosen.max_k is None else min(most, self.chosen.max_k)
        bounded = replace(self.chosen, max_k=least, min_k=min(self.chosen.min_k, least))
        return replace(self, chosen=bounded)

    def decide(
        self,
        found: Answer,
        *,
        query: str | Sequence[str] | None = None,
        higher_is_better: bool | None = None,
        asked: int | None = None,
    ) -> tuple[list[Decision], Cuts | None]:
        """Return the decision on each list, and all of them together if the answer is a batch.

        A warning says when a search ``asked`` for more than twice as many results as came.
        """
        who = self.who
        there = [_there(values, who) for values in found.scores]
        values = [own for own, _ in there]
        if asked is not None:
            check_positive_int(asked, who=who, name="asked")
            least = min((own.size for own in values if own.size), default=asked)
            if least < asked / 2:
                warn(
                    f"{who}: the search returned {least} of the {asked} results asked for; the "
                    "store is small, or must search deeper (ef_search, nprobe, num_candidates)"
                )
        texts = [query] if isinstance(query, str) else query
        if texts is not None and len(texts) != len(values):
            raise InvalidParameterError(
                f"query must be one text for each list, {len(values)}, got {len(texts)}", who=who
            )
        with speaking_for(who, "cut", "cut_batch", who):
            if found.lists is not None:
                cuts = self.chosen.cut_batch(found.lists, queries=texts)
            else:
                said = found.higher_is_better
                up, note = _direction(higher_is_better, self.chosen, said, values, who)
                if any(positions is not None for _, positions in there):
                    _refuse_infinite(found.scores, up, who)
                if found.single:
                    together = Ragged.unchecked(values[0], np.array([0, len(values[0])]))
                else:
                    together = Ragged.from_any(values, dtype=np.float64)
                cuts = self.chosen.cut_batch(together, queries=texts, higher_is_better=up)
                cuts = cuts.noted(note)
        if self.max_tokens is not None:
            limits = {}
            for i, cut in enumerate(cuts):
                own = there[i][1]

                def text_of(at: int, i: int = i, own: IntArray | None = own) -> str:
                    return found.text_of(i, at if own is None else int(own[at]), who)

                limit = within_tokens(cut, self.max_tokens, text_of, self.count_tokens)
                if limit is not None:
                    limits[i] = limit
            cuts = cuts.limited(limits)
        if len(cuts) > 1:
            cuts.warnings  # noqa: B018  # of all lists at once
        decided = list(cuts)
        report(decided, who)
        decisions = [Decision(cut, *one) for cut, one in zip(decided, there, strict=True)]
        return decisions, None if found.single and found.lists is None else cuts

    def marked(
        self, found: Answer, mark: Callable[[Any, dict[str, Any]], Any], **how: Any
    ) -> CutList[Any]:
        """Return marked copies of the results kept of one answer; ``how`` is as in `decide`."""
        (decision,), _ = self.decide(found, **how)
        kept = [mark(found.result(0, i), values) for i, values in decision.marks()]
        made: CutList[Any] = carrying(kept, decision.cut)
        return made

    def calibrated(
        self,
        search: Callable[[str], Any],
        texts: Iterable[Any],
        options: Mapping[str, Any],
        higher_is_better: bool | None = None,
    ) -> Keeping:
        """Return a gate before whatever decides now, unless the options say who is to decide.

        Texts may be documents of a framework.
        """
        from paretocut.calibration import calibrate  # most answers are kept without

        known = [plain_text(text) for text in texts]
        own: dict[str, Any] = {"threads": _THREADS, "higher_is_better": higher_is_better}
        if not options.keys() & {"expect", "truncator"}:
            own["truncator"] = self.chosen.truncator
        gate = calibrate(search, known, **{**own, **options})
        return replace(self, chosen=replace(self.chosen, truncator=gate))


def plain_text(document: Any) -> Any:
    """Return the text of a document of a framework; a text as it is."""
    for name in ("page_content", "content", "text"):
        if isinstance(found := getattr(document, name, None), str):
            return found
    return document


def _there(values: FloatArray, who: str) -> tuple[FloatArray, IntArray | None]:
    """Return the scores that are there, and their positions."""
    finite = np.isfinite(values)
    if finite.all():
        return values, None
    missing = np.count_nonzero(np.isnan(values))
    if missing == values.size:
        raise InvalidScoresError(
            f"results must have scores, got none for any of {missing} results", who=who
        )
    if missing:
        warn(f"{who}: {missing} of {values.size} results have no score, and are not kept")
    positions = np.flatnonzero(finite)
    return values[positions], positions


def _refuse_infinite(scores: Sequence[FloatArray], up: bool, who: str) -> None:
    """Refuse infinitely good scores; infinitely bad ones are padding."""
    for values in scores:
        if (endless := np.flatnonzero(values == (np.inf if up else -np.inf))).size:
            raise InvalidScoresError(
                f"scores must be finite, got {values[endless[0]]:g} for the result at index "
                f"{endless[0]}",
                who=who,
            )


def _direction(
    given: bool | None, chosen: Chosen, said: bool | None, scores: Sequence[FloatArray], who: str
) -> tuple[bool, str]:
    """Return whether higher is better, and a note where only the order of the results shows it."""
    if given is not None:
        return check_bool(given, who=who, name="higher_is_better"), ""
    learned = chosen.truncator.direction
    if learned is not None and said is None and min(map(len, scores), default=0) >= _UNSORTED:
        with suppress(InvalidScoresError):  # in no order
            said = direction_of(scores, who)
    if learned is not None and said is not None and learned != said:
        kinds = ("distances", "scores")
        raise InvalidScoresError(
            f"lists must hold {kinds[learned]}, as those it was fitted on, got {kinds[said]}",
            who=type(chosen.truncator).__name__,
        )
    known = said if learned is None else learned
    if known is not None:
        return known, ""
    shown = direction_of(scores, who)
    if shown is None:
        # The same cut either way, but a score of 0 matches nothing, and a distance of 0 does.
        return any(values.any() for values in scores), ""
    return shown, "" if shown else "distances, as their order shows"


def stored(options: Mapping[str, Any], who: str) -> dict[str, Any]:
    """Return options as a stored component has them: models as plain data, and no functions."""
    plain = dict(options)
    if plain.pop("count_tokens", None) is not None:
        raise InvalidParameterError(
            f"count_tokens must be None for the component to be stored, "
            f"got {options['count_tokens']!r}",
            who=who,
        )
    for name in plain.keys() & {"truncator", "fusion"}:
        value = plain[name]
        is_path = isinstance(value, os.PathLike)
        plain[name] = os.fspath(value) if is_path else encode(value, who=who, name=name)
    return plain


def restored(value: Any) -> Any:
    """Return the model that `stored` made plain data of; anything else as it is."""
    return decode(value) if isinstance(value, dict) else value
