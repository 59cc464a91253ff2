"""`paretocut.calibrate`: from a search and some texts to a truncator, without a judgement."""

from __future__ import annotations

import os
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import cycle, islice
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
_PASSAGES, _HELD_OUT = 10, 5  # one text in five is held out for them


def calibrate(
    search: Search,
    texts: Iterable[str],
    *,
    queries: Sequence[str] | None = None,
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
        Real queries, unjudged, preferably 100 or more. Without them the gate lets through a share
        ``alpha`` of the nonsense.
    n
        Number of nonsense queries, 10 or more. Another 30 searches check the effect of query length
        and test the result.
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
        results of a search if that is larger. In a small index nonsense also needs other words.
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
    log = [] if queries is None else _checked_queries(queries)
    check_int(n, who="calibrate", name="n", low=_FEWEST)
    how: dict[str, Any] = {"batch": batch, "threads": threads, "progress": progress}

    def ask(asked: Sequence[str]) -> list[FloatArray]:
        return run_searches(search, asked, who="calibrate", resume=resume, **how)

    held = given[::_HELD_OUT] if len(given) >= _HELD_OUT else []
    known = [text for i, text in enumerate(given) if i % _HELD_OUT] if held else given
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
    making: dict[str, Any] = {"size": size, "others": queries, "lexical": lexical, "seed": seed}
    made_up = nonsense_queries(known, n, **making)
    passages = _passages(held, seed)
    answers = ask([*made_up, *passages, *log])
    _check_found([*probes, *answers[:n]])
    scale = QueryScale.from_texts(given) if lexical else None
    made = calibrated(
        answers[:n],
        None if queries is None else answers[n + len(passages) :],
        alpha=alpha,
        unanswered=unanswered,
        expect=expect,
        truncator=truncator,
        scale=scale,
        texts=[*made_up, *log],
        higher_is_better=higher_is_better,
        about={
            "search": getattr(search, "__qualname__", type(search).__name__),
            "size": size,
            "own_words": own_words(size, lexical=lexical),
            "script": _script(given),
        },
    )
    if passages:
        tested = made.cut_batch(
            answers[n : n + len(passages)],
            queries=passages if lexical else None,
            higher_is_better=higher_is_better,
        )
        passed = int(np.count_nonzero(tested.k))
        assert made.origin_ is not None
        made.origin_ = replace(made.origin_, passages=(passed, len(passages)))
    return made


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
    background = Background.fit(null, queries=log, unanswered=unanswered)
    base = _base(expect, truncator, log)
    shapes = None if log is None else shapes_of(log)
    return Calibrated(base, background, alpha=alpha if log is None else None).record(
        nonsense=null.merit.ends()[0][null.scores.filled],
        unjudged=None if shapes is None else shapes[:, 0],
        shapes=shapes,
        scale=scale,
        origin=Origin.of([x.merit for x in (null, log) if x is not None], **(about or {})),
    )


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


def _checked_queries(queries: Any) -> list[str]:
    if isinstance(queries, (str, bytes)) or not all(isinstance(q, str) for q in queries):
        raise InvalidParameterError(
            f"queries must be a list of texts or None, got {shown(queries):.60}", who="calibrate"
        )
    return list(queries)


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


def _passages(texts: Sequence[str], seed: int) -> list[str]:
    """Return eight words in a row of each text, or sixteen characters without spaces."""
    rng = np.random.default_rng(seed)
    made = []
    for text in islice(cycle(texts), _PASSAGES if texts else 0):
        words = text.split()
        pieces, size = (words, 8) if len(words) > 2 else (list(text), 16)
        start = rng.integers(max(len(pieces) - size, 0) + 1)
        made.append((" " if pieces is words else "").join(pieces[start : start + size]))
    return [passage for passage in dict.fromkeys(made) if passage.strip()]


def _script(texts: Sequence[str]) -> str:
    """Return the script of most letters: "latin", "cjk", "thai"."""
    letters = islice((letter for text in texts for letter in text if letter.isalpha()), 2000)
    names = Counter(unicodedata.name(letter, "unknown").split()[0].lower() for letter in letters)
    return names.most_common(1)[0][0] if names else "unknown"
