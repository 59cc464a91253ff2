"""`paretocut.calibrate`: from a search and some texts to a truncator, without a judgement."""

from __future__ import annotations

import os
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np

from paretocut.answers import direction_of
from paretocut.background import Background, Origin, QueryScale
from paretocut.background.drift import shapes_of
from paretocut.background.law import as_lists
from paretocut.calibration.nonsense import as_query, drawn_words, nonsense_queries, own_words
from paretocut.calibration.searches import Search, run_searches
from paretocut.errors import InvalidParameterError
from paretocut.lists import FloatArray, RaggedLike, RankedLists
from paretocut.lists.columns import check_groups, one_of_each
from paretocut.schema.parameters import (
    check_int,
    check_positive_int,
    check_probability,
    shown,
)
from paretocut.truncators import Consensus, Gated, Truncator
from paretocut.truncators.calibrated import Calibrated
from paretocut.truncators.consensus.unjudged import Estimated

_FEWEST = 10
_PROBES, _SHORT, _LONG = 10, 4, 16  # queries that grow from 4 words to 16
_SAME = 1e-3  # relative difference of scores that means nothing
# With fewer texts, or fewer different queries, a gate is in doubt: `make calibrate`.
_TEXTS, _QUERIES = 10, 30
# Nonsense for a dense index counts the index as this large at most, unless there are more texts:
# many words of few texts are about something. Words of a lexical index count texts alone.
_KNOWN = 100
_TELLING = 10  # different scores of a list that no other query has
_LOOKED_AT, _COPIED, _PASSAGE = 50, 0.2, 4  # queries compared with the texts; share; words


def calibrate(
    search: Search,
    texts: Iterable[str],
    *,
    queries: Sequence[str] | None = None,
    groups: Sequence[Any] | None = None,
    n: int = 100,
    alpha: float = 0.05,
    unanswered: float = 0.05,
    expect: str | float | None = None,
    truncator: Truncator | None = None,
    lexical: bool | None = None,
    size: int | None = None,
    seed: int = 0,
    higher_is_better: bool | None = None,
    batch: bool = False,
    threads: int | None = None,
    progress: bool | None = None,
    resume: str | os.PathLike[str] | None = None,
) -> Calibrated:
    """Return a truncator that knows your index, learned without judgements.

    Nonsense made from the words of the index shows which best scores mean nothing. Unjudged queries
    from your users show where answers begin and how many results to expect.

    Parameters
    ----------
    search
        Your search: it takes the text of a query and returns an answer, as `paretocut.keep` takes
        it, or bare scores. Return as many results as you will cut later. The function may be
        asynchronous.
    texts
        A few hundred texts of the index, or all of them.
    queries
        Real queries, unjudged, preferably 100 different ones or more; at least 10. Those that
        differ only in case and spaces, or get the same ten scores, count once. Without queries
        the gate lets through a share ``alpha`` of the nonsense.
    groups
        Who asked each query, such as a user or a session: one query of each counts. None counts
        every different query.
    n
        Number of nonsense queries, 10 or more. Another 20 searches check the effect of query
        length.
    alpha
        Share of the nonsense that gets results; used without ``queries``.
    unanswered
        Estimated share of ``queries`` without an answer in the index.
    expect
        How many results are relevant: ``"one"``, ``"few"``, ``"dozens"``,
        ``"hundreds"`` or a number. None estimates it from ``queries``, or else from each list.
    truncator
        Decides how many results to keep, instead of ``expect``: any truncator that is fitted or
        needs no fit. If it has a gate, only the part behind the gate is used.
    lexical
        Whether scores grow with every matching word, as those of BM25 do. None finds out by
        lengthening queries from 4 words to 16: more words never lower a lexical score. Such scores
        are divided by the weight of the query's words (`paretocut.background.QueryScale`), so every
        later decision needs the query: ``t.cut(scores, query=...)``.
    size
        Number of documents in the index. None takes the number of ``texts``, or the number of
        results of a search if that is larger. In a small index, or with few texts, nonsense also
        needs other words.
    seed
        Of the nonsense.
    higher_is_better
        False for distances; by default as the answers show.
    batch
        True if ``search`` takes a list of queries and returns one answer for each, or one to all.
    threads
        Number of concurrent searches: 1 by default, 8 for an asynchronous ``search``.
    progress
        Whether to show progress on standard error; None does so on a terminal.
    resume
        A file that saves each answer, so that a second run continues where the first one stopped.
        Some searches are repeated to check that they still give the same scores.

    Examples
    --------
    >>> import numpy as np
    >>> import paretocut as pc
    >>> texts = ["ferns grow in shade", "roses like full sun", "moss grows on wet stones"]
    >>> def search(query):
    ...     found = [len(set(query.split()) & set(text.split())) for text in texts]
    ...     return np.sort(np.array(found) / len(query.split()) + 0.01 * len(query))[::-1]
    >>> t = pc.calibrate(search, texts, n=50, lexical=False)
    >>> t.cut(search("roses like full sun")).k
    1
    """
    given = _checked_texts(search, texts)
    log = [] if queries is None else _checked_queries(queries, groups)
    check_int(n, who="calibrate", name="n", low=_FEWEST)
    how: dict[str, Any] = {"batch": batch, "threads": threads, "progress": progress}

    def ask(asked: Sequence[str]) -> list[FloatArray]:
        return run_searches(search, asked, who="calibrate", resume=resume, **how)

    own = own_words(len(given), _LONG)
    draws = drawn_words(given, _PROBES, length=_LONG, own=own, others=queries, seed=seed)
    probes = ask([as_query(words[:end]) for end in (_SHORT, _LONG) for words in draws])
    if size is None:
        size = max(len(given), *(scores.size for scores in probes))
    check_positive_int(size, who="calibrate", name="size")
    if higher_is_better is None:
        higher_is_better = direction_of(probes, "calibrate") is not False
    if lexical is None:
        lexical = higher_is_better and is_lexical(probes[:_PROBES], probes[_PROBES:])
    known = min(size, len(given) if lexical else max(len(given), _KNOWN))
    making: dict[str, Any] = {"size": known, "others": queries, "lexical": lexical, "seed": seed}
    made_up = nonsense_queries(given, n, **making)
    answers = ask([*made_up, *log])
    _check_found([*probes, *answers[:n]])
    doubts = {"few_texts": len(given) < _TEXTS, "copied_queries": _are_copied(log, given)}
    return calibrated(
        answers[:n],
        None if queries is None else answers[n:],
        alpha=alpha,
        unanswered=unanswered,
        expect=expect,
        truncator=truncator,
        scale=QueryScale.from_texts(given) if lexical else None,
        texts=[*made_up, *log],
        higher_is_better=higher_is_better,
        about={
            "search": getattr(search, "__qualname__", type(search).__name__),
            "texts": len(given),
            "size": size,
            "own_words": own_words(known, lexical=lexical),
            "script": _script(given),
            "queries": None if queries is None else len(queries),
            "doubts": tuple(name for name, there in doubts.items() if there),
        },
    )


def calibrated(
    nonsense: RankedLists | RaggedLike,
    queries: RankedLists | RaggedLike | None = None,
    *,
    alpha: float = 0.05,
    unanswered: float = 0.05,
    expect: str | float | None = None,
    truncator: Truncator | None = None,
    scale: QueryScale | None = None,
    texts: Sequence[str] | None = None,
    higher_is_better: bool = True,
    about: Mapping[str, Any] | None = None,
) -> Calibrated:
    """Return the same truncator as `calibrate`, from existing lists.

    Parameters
    ----------
    nonsense, queries
        Lists of the nonsense and of unjudged queries.
    alpha, unanswered, expect, truncator, higher_is_better
        As for `calibrate`.
    scale, texts
        For lexical scores: the scale, and the texts of the nonsense and then of the queries.
    about
        Facts about the search: attributes of `paretocut.background.Origin`.
    """
    check_probability(alpha, who="calibrate", name="alpha")
    null = as_lists(nonsense, higher_is_better, who="calibrate")
    log = None if queries is None else as_lists(queries, higher_is_better, who="calibrate")
    if scale is not None:
        wanted = len(null) + (0 if log is None else len(log))
        if texts is None or len(texts) != wanted:
            raise InvalidParameterError(
                f"with a scale, texts must be those of all {wanted} queries, "
                f"got {'none' if texts is None else len(texts)}",
                who="calibrate",
            )
        divisors = scale(texts)
        null = null.divided_by(divisors[: len(null)])
        log = None if log is None else log.divided_by(divisors[len(null) :])
    known = {"queries": None if log is None else len(log), "doubts": (), **(about or {})}
    if log is not None:
        log = _distinct(log, known["queries"])
        if len(log) < _QUERIES:
            known["doubts"] = (*known["doubts"], "few_queries")
    background = Background.fit(null, queries=log, unanswered=unanswered)
    base = _base(expect, truncator, log)
    shapes = None if log is None else shapes_of(log)
    return Calibrated(base, background, alpha=alpha if log is None else None).record(
        nonsense=null.merit.ends()[0][null.scores.filled],
        unjudged=None if shapes is None else shapes[:, 0],
        shapes=shapes,
        scale=scale,
        origin=Origin.today(**known),
    )


def _distinct(log: RankedLists, given: int) -> RankedLists:
    """Return the lists of different queries that got results.

    The same list of scores is the same query, unless it has too few values to tell.
    """
    rows = {
        row.tobytes() if np.unique(row).size >= _TELLING else i: i
        for i, row in reversed(list(enumerate(log.scores)))
        if row.size
    }
    if len(rows) < _FEWEST:
        raise InvalidParameterError(
            f"queries must hold at least {_FEWEST} different ones with results, preferably 100, "
            f"got {len(rows)} among {given}; without queries the gate rests on nonsense alone",
            who="calibrate",
        )
    return log[sorted(rows.values())]


def _are_copied(log: Sequence[str], texts: Sequence[str]) -> bool:
    """Return whether many of the queries stand in the texts, word for word."""
    some = [_plain(query) for query in log[:: max(1, len(log) // _LOOKED_AT)]]
    whole = "\n".join(map(_plain, texts)) if some else ""
    copied = [query for query in some if query.count(" ") >= _PASSAGE - 1 and query in whole]
    return len(copied) > _COPIED * len(some)


def _plain(text: str) -> str:
    """Return a text in small letters, with single spaces."""
    return " ".join(text.casefold().split())


def _base(
    expect: str | float | None, truncator: Truncator | None, log: RankedLists | None
) -> Truncator:
    """Return who decides how many; a `Consensus` that was not judged learns from the log."""
    if expect is not None and truncator is not None:
        raise InvalidParameterError(
            f"expect must be left out with a truncator, got {shown(expect)}", who="calibrate"
        )
    base = Consensus(expect=expect) if truncator is None else truncator  # type: ignore[arg-type]
    if isinstance(base, Gated):
        base = base.inner
    if not isinstance(base, Truncator):
        raise InvalidParameterError(
            f"truncator must be a truncator or None, got {shown(base)}", who="calibrate"
        )
    base.check()
    base.require_fitted()
    learned = getattr(base, "learned_", None)
    if log is not None and isinstance(base, Consensus) and isinstance(learned, Estimated | None):
        base = base.clone().fit(log.like(relevance=None, num_relevant=None))
    return base


def _checked_texts(search: Any, texts: Any) -> list[str]:
    if callable(texts) and not callable(search):
        raise InvalidParameterError(
            "search comes first, then texts: calibrate(search, texts); "
            f"got {shown(search):.60} as search and a function as texts",
            who="calibrate",
        )
    if isinstance(texts, (str, bytes)) or not np.iterable(texts):
        raise InvalidParameterError(
            f"texts must be a list of texts of the index, got {shown(texts):.60}", who="calibrate"
        )
    given = list(texts)
    strange = [text for text in given if not isinstance(text, str)]
    if strange or not given:
        got = f"{shown(strange[0]):.60} among them" if strange else "none"
        raise InvalidParameterError(
            f"texts must be strings, at least one, got {got}", who="calibrate"
        )
    return given


def _checked_queries(queries: Any, groups: Sequence[Any] | None) -> list[str]:
    """Return the different queries, one of each group."""
    if isinstance(queries, (str, bytes)) or not all(isinstance(q, str) for q in queries):
        raise InvalidParameterError(
            f"queries must be a list of texts or None, got {shown(queries):.60}", who="calibrate"
        )
    asked = list(queries)
    if groups is not None:
        asked = [asked[i] for i in one_of_each(check_groups(groups, len(asked), "calibrate"))]
    return list({_plain(query): query for query in reversed(asked)}.values())[::-1]


def is_lexical(short: Sequence[FloatArray], long: Sequence[FloatArray]) -> bool:
    """Return whether more words never lower the best score, and mostly raise it."""
    before, after = (np.array([x.max(initial=0.0) for x in lists]) for lists in (short, long))
    never_lower = bool((after >= (1 - _SAME) * before).all())
    return never_lower and bool(np.mean(after > (1 + _SAME) * before) >= 0.5)


def _check_found(answers: Sequence[FloatArray]) -> None:
    """Raise InvalidParameterError where the search gives nothing to learn from."""
    best = np.array([scores.max() for scores in answers if scores.size])
    wanted = "calibrate: search must give different best scores to different queries"
    if best.size < _FEWEST:
        raise InvalidParameterError(f"{wanted}, got results for only {best.size} of {len(answers)}")
    if best.min() == best.max():
        raise InvalidParameterError(f"{wanted}, got {best[0]:g} for all {best.size}")


def _script(texts: Sequence[str]) -> str:
    """Return the script of most letters: "latin", "cjk", "thai"."""
    letters = islice((letter for text in texts for letter in text if letter.isalpha()), 2000)
    names = Counter(unicodedata.name(letter, "unknown").split()[0].lower() for letter in letters)
    return names.most_common(1)[0][0] if names else "unknown"
