"""`paretocut.keep`, and the decision on answers that it shares with the frameworks."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from paretocut.adapters.frames import engine_of, keep_frame
from paretocut.answers import Answer, direction_of, read
from paretocut.answers.answer import Path
from paretocut.decisions import Cut, Cuts
from paretocut.decisions.options import DecisionOptions
from paretocut.decisions.warnings import ABOUT_SCORES, WARNINGS, warn
from paretocut.decisions.wording import amount
from paretocut.errors import InvalidParameterError, InvalidScoresError, speaking_for
from paretocut.lists import FloatArray, IntArray, Ragged
from paretocut.schema.files import decode, encode
from paretocut.schema.parameters import check_bool, check_positive_int
from paretocut.truncators.choose import Chosen

T = TypeVar("T")

FETCH_K = 200  # results to ask for by default: a decision needs far more than what is shown
KEY = "paretocut"  # the one key under which metadata holds the decision
_logger = logging.getLogger("paretocut")
_UNSORTED = 10  # fewer results may be in the wrong order by accident
_THREADS = 4  # searches of a calibration; frameworks call their stores from threads anyway


class CutList(list[T]):
    """A list of the results kept; ``cut`` says how many and why, or ``cuts`` of many queries."""

    cut: Cut
    cuts: Cuts


class CutTuple(tuple[Any, ...]):
    """A tuple of the results kept, with the decision as in `CutList`."""

    cut: Cut
    cuts: Cuts


def keep(
    answer: Any,
    *,
    score: Path | None = None,
    query: str | Sequence[str] | None = None,
    higher_is_better: bool | None = None,
    max_tokens: int | None = None,
    explain: bool | Iterable[str] = False,
    text: Path | None = None,
    count_tokens: Callable[[str], int] | None = None,
    asked: int | None = None,
    **options: Any,
) -> Any:
    """Return the same answer with only the results worth keeping; possibly none.

    The type stays, the caller's objects are not touched, and the order of the results is kept.
    Lists and tuples carry the decision in ``cut``, or in ``cuts`` if the answer is to many queries.

    Parameters
    ----------
    answer
        Whatever a search returned: the answer of a store, a search engine, a reranker or a memory
        library; (result, score) pairs, mappings or objects with a score, ``{id: score}``, two
        arrays of labels and scores; of one query or of many; a data frame of pandas, Polars, Arrow,
        DuckDB, Spark or Ray. Ask the search for about 200.
    score
        Where the score of a result is, if that cannot be told: a field, a place or a function. Of a
        data frame, the column of scores.
    query
        Text of the query, or of each query; only a truncator calibrated for lexical scores needs
        it. Of a data frame, the column of queries.
    higher_is_better
        True for scores, False for distances. By default as the truncator was fitted, as the library
        says, or as the order of the results shows: falling numbers are scores. The order of rows of
        a data frame with a column of queries says nothing.
    max_tokens, count_tokens
        Largest number of tokens that the texts kept may have together, and what counts those of a
        text; by default four characters are one token. The best results that fit are taken.
    explain
        Whether to return the answer and the decision: a `paretocut.Cut`, or `paretocut.Cuts` for
        many queries. Names (``k``, ``n``, ``reason``, ``warnings``, ``surprise``) add these columns
        to a data frame instead.
    text
        Where the text of a result is, if ``max_tokens`` does not find it: a field or a function.
    asked
        How many results the search asked for; a warning tells you if it got less than half.
    **options
        Who decides and within which bounds, as in `paretocut.cut`. A data frame also takes
        ``on_error``: ``"raise"``, or ``"drop"`` to keep nothing of a list with an infinite score.

    Examples
    --------
    >>> import paretocut as pc
    >>> pairs = [("fern", 0.71), ("moss", 0.68), ("rose", 0.41), ("oak", 0.40), ("ash", 0.38)]
    >>> pc.keep(pairs)
    [('fern', 0.71), ('moss', 0.68)]
    """
    if engine_of(answer.__class__) is not None:
        given = dict(max_tokens=max_tokens, text=text, count_tokens=count_tokens, asked=asked)
        for name, value in given.items():
            if value is not None:
                raise InvalidParameterError(
                    f"keep: {name} must be left out for a data frame, got {value!r}"
                )
        about: dict[str, Any] = {"query": query, "score": score, "explain": explain}
        return keep_frame(answer, higher_is_better=higher_is_better, **about, **options)
    if not isinstance(explain, bool):
        raise InvalidParameterError(
            f"keep: explain must be True or False, except for a data frame, got {explain!r}"
        )
    found = read(answer, score=score, who="keep")
    if text is not None:
        found.text = text
    if max_tokens is None and count_tokens is not None:
        raise InvalidParameterError("keep: count_tokens must come with max_tokens, got it alone")
    if max_tokens is not None:
        options |= {"max_tokens": max_tokens, "count_tokens": count_tokens}
    keeping = Keeping.of("keep", options) if options else _DEFAULT
    decisions, cuts = keeping.decide(
        found, query=query, higher_is_better=higher_is_better, asked=asked
    )
    cut: Any = decisions[0].cut if found.single else cuts
    kept = _carrying(found.shorter([decision.kept for decision in decisions]), cut)
    return (kept, cut) if explain else kept


def _carrying(results: Any, cut: Cut | Cuts) -> Any:
    """Return lists and tuples with the decision as an attribute, and anything else as it is."""
    if type(results) in (list, tuple):
        results = CutList(results) if isinstance(results, list) else CutTuple(results)
    if isinstance(results, (list, CutTuple)):
        setattr(results, "cut" if isinstance(cut, Cut) else "cuts", cut)
    return results


@dataclass(frozen=True)
class Decision:
    """The decision on one list: on the scores that are there, and their positions in it."""

    cut: Cut
    scores: FloatArray
    positions: IntArray | None  # None: all of them are there

    @property
    def best_first(self) -> IntArray:
        """Positions of the results kept."""
        places = self.cut.indices
        return places if self.positions is None else self.positions[places]

    @property
    def kept(self) -> list[int]:
        """Positions of the results kept, in the caller's order."""
        return sorted(self.best_first.tolist())

    def marks(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the position of each result kept, in the caller's order, and its metadata."""
        cut = self.cut
        columns = {"score": self.scores}
        if cut.has_tails:
            columns |= {"surprise": cut.surprise, "pvalue": cut.pvalues, "evalue": cut.evalues}
        of_list = summary(cut)
        for at, own in zip(self.kept, sorted(cut.indices.tolist()), strict=True):
            yield at, {name: float(values[own]) for name, values in columns.items()} | of_list


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
    ) -> tuple[list[Decision], Cuts]:
        """Return the decision on each list, and all of them together.

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
                up, note = self._direction(higher_is_better, found.higher_is_better, values)
                best = np.inf if up else -np.inf  # the other infinity is padding
                for own, (_, positions) in zip(found.scores, there, strict=True):
                    if positions is not None and (own == best).any():
                        raise InvalidScoresError(
                            f"scores must be finite, got {best:g} for the result at "
                            f"index {np.argmax(own == best)}",
                            who=who,
                        )
                if found.single:
                    together = Ragged.unchecked(values[0], np.array([0, len(values[0])]))
                else:
                    together = Ragged.from_any(values, dtype=np.float64)
                cuts = self.chosen.cut_batch(together, queries=texts, higher_is_better=up)
                cuts = cuts.noted(note)
        if self.max_tokens is not None:
            cuts = cuts.limited(dict(self._limits(found, cuts, there, self.max_tokens)))
        if len(cuts) > 1:
            cuts.warnings  # noqa: B018  # of all lists at once
        decisions = [Decision(cut, *one) for cut, one in zip(cuts, there, strict=True)]
        _report([decision.cut for decision in decisions], who)
        return decisions, cuts

    def _limits(
        self, found: Answer, cuts: Cuts, there: Sequence[Any], most: int
    ) -> Iterator[tuple[int, tuple[IntArray, str]]]:
        """Yield the places of the best results that fit and the limit in words, unless all fit."""
        count = self.count_tokens or estimate_tokens
        for query, cut in enumerate(cuts):
            left, fit = most, []
            at = Decision(cut, *there[query]).best_first.tolist()
            for place, position in zip(cut.indices.tolist(), at, strict=True):
                needed = count(found.text_of(query, position, self.who))
                if needed <= left:
                    left -= needed
                    fit.append(place)
            if len(fit) < cut.k:
                none = f"because not one of the best {cut.k} fits into {most} tokens"
                why = f"all that fit into {most} tokens" if fit else none
                yield query, (np.array(fit, dtype=np.int64), why)

    def _direction(
        self, given: bool | None, said: bool | None, scores: Sequence[FloatArray]
    ) -> tuple[bool, str]:
        """Return whether higher is better, and a note where only the order of results shows it."""
        if given is not None:
            return check_bool(given, who=self.who, name="higher_is_better"), ""
        learned = self.chosen.truncator.direction
        if learned is not None and said is None and min(map(len, scores), default=0) >= _UNSORTED:
            with suppress(InvalidScoresError):  # in no order
                said = direction_of(scores, self.who)
        if learned is not None and said is not None and learned != said:
            kinds = ("distances", "scores")
            raise InvalidScoresError(
                f"lists must hold {kinds[learned]}, as those it was fitted on, got {kinds[said]}",
                who=type(self.chosen.truncator).__name__,
            )
        known = said if learned is None else learned
        if known is not None:
            return known, ""
        shown = direction_of(scores, self.who)
        if shown is None:
            # The same cut either way, but a score of 0 matches nothing, and a distance of 0 does.
            return any(values.any() for values in scores), ""
        return shown, "" if shown else "distances, as their order shows"

    def marked(
        self, found: Answer, mark: Callable[[Any, dict[str, Any]], Any], **how: Any
    ) -> CutList[Any]:
        """Return marked copies of the results kept of one answer; ``how`` is as in `decide`."""
        (decision,), _ = self.decide(found, **how)
        kept = CutList(mark(found.result(0, i), values) for i, values in decision.marks())
        kept.cut = decision.cut
        return kept

    def calibrated(
        self,
        search: Callable[[str], Any],
        texts: Iterable[Any],
        options: Mapping[str, Any],
        higher_is_better: bool | None = None,
    ) -> Keeping:
        """Return a gate before whatever decides now, unless the options say who is to decide."""
        from paretocut.calibration import calibrate  # most answers are kept without

        known = [plain_text(text) for text in texts]
        own: dict[str, Any] = {"threads": _THREADS, "higher_is_better": higher_is_better}
        if not options.keys() & {"expect", "truncator"}:
            own["truncator"] = self.chosen.truncator
        gate = calibrate(search, known, **{**own, **options})
        return replace(self, chosen=replace(self.chosen, truncator=gate))


_DEFAULT = Keeping.of("keep", {})


def plain_text(document: Any) -> Any:
    """Return the text of a document of a framework; a text as it is."""
    for name in ("page_content", "content", "text"):
        if isinstance(found := getattr(document, name, None), str):
            return found
    return document


def estimate_tokens(text: str) -> int:
    """Return about how many tokens an English text has: one for every four characters."""
    return -(-len(text) // 4)


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


def with_mark(metadata: Mapping[str, Any], mark: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of metadata with the decision under `KEY`, unless the user has that key."""
    return {**metadata, KEY: mark} if may_mark(metadata) else dict(metadata)


def may_mark(metadata: Mapping[str, Any]) -> bool:
    """Return whether `KEY` is free in metadata, or holds an earlier decision."""
    there = metadata.get(KEY)
    return KEY not in metadata or (isinstance(there, dict) and {"k", "n", "reason"} <= there.keys())


def summary(cut: Cut) -> dict[str, Any]:
    """Return the part of a decision that metadata, callbacks and spans hold."""
    said, names = cut.to_dict(), ("k", "n", "reason", "warnings", "nearest")
    return {name: said[name] for name in names if name in said}


def _report(cuts: Sequence[Cut], who: str) -> None:
    """Report decisions: warnings of odd scores, a line each in the log, one OpenTelemetry span."""
    found = {name for cut in cuts for name in cut.warnings}
    for name in ABOUT_SCORES:
        if name in found:
            warn(f"{who}: {WARNINGS[name]}")
    if _logger.isEnabledFor(logging.DEBUG):
        for cut in cuts:
            names = f" [{', '.join(cut.warnings)}]" if cut.warnings else ""
            _logger.debug("%s: %s%s", who, cut.reason, names)
    trace = sys.modules.get("opentelemetry.trace")
    if trace is not None and len(cuts) and (span := trace.get_current_span()).is_recording():
        values = summary(cuts[0])
        if len(cuts) > 1:
            k, n = sum(cut.k for cut in cuts), sum(cut.n for cut in cuts)
            reason = f"{amount(k, n)} results of {len(cuts)} lists"
            values = {"k": k, "n": n, "reason": reason, "warnings": sorted(found)}
        span.set_attributes({f"{KEY}.{name}": value for name, value in values.items()})


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
