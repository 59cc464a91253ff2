"""`paretocut.calibrate`: from a search and some texts to a truncator, without a judgement."""

from __future__ import annotations

import inspect
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from importlib.metadata import version
from typing import Any, TypeAlias

import numpy as np

from paretocut.answers import direction_of, read
from paretocut.background import Background, Origin, QueryScale
from paretocut.background.law import as_lists
from paretocut.background.query_scale import texts_of
from paretocut.background.seen import score_at, shapes_of
from paretocut.calibration.nonsense import as_query, drawn_words, nonsense_queries, own_words
from paretocut.callbacks import Journal, waiting
from paretocut.errors import DataFormatError, InvalidParameterError
from paretocut.lists import FloatArray, RaggedLike, RankedLists
from paretocut.lists.columns import check_groups, one_of_each
from paretocut.schema.kinds import Items, Real, Text, checked
from paretocut.schema.parameters import check_int, check_positive_int, check_probability, shown
from paretocut.truncators import Consensus, Gated, Truncator
from paretocut.truncators.consensus.strategies import Estimated
from paretocut.truncators.gated import Calibrated

Search: TypeAlias = Callable[[Any], Any]  # of a text, or a list of texts: an answer or scores
_BLOCK = 32
_AT_ONCE = 8  # asynchronous searches at the same time
_AGAIN, _NEAR = 3, 0.01  # kept queries that are searched again, and how much they may differ
_SEARCH = {"query": Text(), "scores": Items(Real())}

_FEWEST = 10
_PROBES, _SHORT, _LONG = 10, 4, 16  # queries that grow from 4 words to 16
_SAME = 1e-3  # relative difference of scores that means nothing
# With fewer texts, or fewer different queries, a gate is in doubt: `make calibrate`.
_TEXTS, _QUERIES = 10, 30
# Nonsense for a dense index counts the index as this large at most, unless there are more texts:
# many words of few texts are about something. Words of a lexical index count texts alone.
_KNOWN = 100
_TELLING, _OWN = 10, 0.9  # different scores of a list that no other query has; share, if fewer
_LOOKED_AT, _COPIED, _PASSAGE = 50, 0.3, 4  # queries compared with the texts; share; words
_THEMSELVES = 1 / 3  # share of queries with the highest score; up to 0.25 where names are matched


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
    show where answers begin and how many results to expect.

    Parameters
    ----------
    search
        Your search, asynchronous or not: it takes the text of a query and returns an answer, as
        `paretocut.keep` takes it, or bare scores. Return as many results as you will cut later.
    texts
        A few hundred texts of the index, or all of them.
    queries
        Real queries, unjudged, preferably 100 different ones or more; at least 10. Those that
        differ only in case and spaces, or get the same ten scores, count once.
    groups
        Who asked each query, such as a user or a session: one query of each counts.
    n, seed
        Number of nonsense queries, 10 or more, and the seed of their draws. Another 20 searches
        check the effect of length.
    alpha, unanswered
        Share of the nonsense that gets results, without ``queries``; estimated share of ``queries``
        without an answer in the index.
    expect
        How many results are relevant, as for `paretocut.truncators.Consensus`; by default it is
        estimated from ``queries``, or else from each list.
    truncator
        Decides how many results to keep, instead of ``expect``: any truncator that is fitted or
        needs no fit. If it has a gate, only the part behind the gate is used.
    lexical
        Whether scores grow with every matching word, as those of BM25 do. None finds out. Such
        scores are divided by the weight of the query's words (`paretocut.background.QueryScale`),
        so every later decision needs the query: ``t.cut(scores, query=...)``.
    size
        Number of documents in the index; by default the number of ``texts``, or of the results of a
        search if that is larger. In a small index nonsense also needs other words.
    higher_is_better
        False for distances; by default as the answers show.
    batch
        True if ``search`` takes a list of queries and returns one answer for each, or one to all.
    threads, progress
        Number of concurrent searches (1 by default, 8 for an asynchronous ``search``), and whether
        to show progress on standard error (by default on a terminal).
    resume
        A file that saves each answer, so that a second run continues where the first one stopped.

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
    asked, log = (None, []) if queries is None else _checked_queries(queries, groups)
    check_int(n, who="calibrate", name="n", low=_FEWEST)
    how: Any = {"batch": batch, "threads": threads, "progress": progress, "resume": resume}
    ask: Any = partial(run_searches, search, **how)
    own = own_words(len(given), _LONG)
    draws = drawn_words(given, _PROBES, length=_LONG, own=own, others=asked, seed=seed)
    probes = ask([as_query(words[:end]) for end in (_SHORT, _LONG) for words in draws])
    if size is None:
        size = max(len(given), *(scores.size for scores in probes))
    check_positive_int(size, who="calibrate", name="size")
    if higher_is_better is None:
        higher_is_better = direction_of(probes, "calibrate") is not False
    if lexical is None:
        lexical = higher_is_better and is_lexical(probes[:_PROBES], probes[_PROBES:])
    known = min(size, len(given) if lexical else max(len(given), _KNOWN))
    making: dict[str, Any] = {"size": known, "others": asked, "lexical": lexical, "seed": seed}
    made_up = nonsense_queries(given, n, **making)
    answers = ask([*made_up, *log])
    _check_found([*probes, *answers[:n]])
    doubts = {"few_texts": len(given) < _TEXTS, "copied_queries": _are_copied(log, given)}
    return calibrated(
        answers[:n],
        None if asked is None else answers[n:],
        alpha=alpha,
        unanswered=unanswered,
        expect=expect,
        truncator=truncator,
        scale=QueryScale.from_texts(given) if lexical else None,
        texts=[*made_up, *log],
        higher_is_better=higher_is_better,
        about={
            "search": getattr(search, "__qualname__", type(search).__name__),
            "size": size,
            "own_words": own_words(known, lexical=lexical),
            "queries": None if asked is None else len(asked),
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
        Attributes of `paretocut.background.Origin`.
    """
    check_probability(alpha, who="calibrate", name="alpha")
    null = as_lists(nonsense, higher_is_better, who="calibrate")
    log = None if queries is None else as_lists(queries, higher_is_better, who="calibrate")
    if scale is not None:
        wanted = len(null) + (0 if log is None else len(log))
        if texts is None or len(texts) != wanted:
            raise _refused(
                f"with a scale, texts must be those of all {wanted} queries, "
                f"got {'none' if texts is None else len(texts)}"
            )
        divisors = scale(texts)
        null = null.divided_by(divisors[: len(null)])
        log = None if log is None else log.divided_by(divisors[len(null) :])
    known = {"queries": None if log is None else len(log), "doubts": (), **(about or {})}
    if log is not None:
        log = _distinct(log, known["queries"])
        # A passage finds itself: many queries reach the highest score there is, each only once.
        first, second = (score_at(log.merit, rank) for rank in (1, 2))
        near = first.max() - _SAME * (first.max() - np.median(null.merit.ends()[0]))
        itself = np.mean((first >= near) & (second < near)) > _THEMSELVES
        doubts = {"few_queries": len(log) < _QUERIES, "copied_queries": itself}
        new = (name for name, there in doubts.items() if there and name not in known["doubts"])
        known["doubts"] = (*known["doubts"], *new)
    background = Background.fit(null, queries=log, unanswered=unanswered)
    base = _base(expect, truncator, log)
    shapes = None if log is None else shapes_of(log)
    return Calibrated(base, background, alpha=alpha if log is None else None).record(
        nonsense=null.merit.ends()[0][null.scores.filled],
        unjudged=None if shapes is None else shapes[:, 0],
        shapes=shapes,
        scale=scale,
        origin=Origin(time.strftime("%Y-%m-%d"), version("paretocut"), **known),
    )


def _distinct(log: RankedLists, given: int) -> RankedLists:
    """Return the lists of different queries that got results."""
    # Different queries may get the same few scores if scores are coarse: others share them too.
    known = [np.unique(row) for row in {row.tobytes(): row for row in log.scores}.values()]
    short = 1 < max((row.size for row in log.scores), default=0) < _TELLING
    exact = short and np.unique(np.concatenate(known)).size > _OWN * sum(x.size for x in known)
    rows = {
        row.tobytes() if exact or np.unique(row).size >= _TELLING else i: i
        for i, row in reversed(list(enumerate(log.scores)))
        if row.size
    }
    if len(rows) < _FEWEST:
        raise _refused(
            f"queries must hold at least {_FEWEST} different ones with results, preferably 100, "
            f"got {len(rows)} among {given}; without queries the gate rests on nonsense alone"
        )
    return log[sorted(rows.values())]


def _are_copied(log: Sequence[str], texts: Sequence[str]) -> bool:
    """Return whether many of the queries are passages of the texts."""
    some = [_plain(query) for query in log[:: max(1, len(log) // _LOOKED_AT)]]
    whole = "\n".join(map(_plain, texts)) if some else ""
    copied = [query for query in some if query.count(" ") >= _PASSAGE - 1 and query in whole]
    return len(copied) > _COPIED * len(some)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def _base(
    expect: str | float | None, truncator: Truncator | None, log: RankedLists | None
) -> Truncator:
    """Return who decides how many; a `Consensus` that was not judged learns from the log."""
    if expect is not None and truncator is not None:
        raise _refused(f"expect must be left out with a truncator, got {shown(expect)}")
    base = Consensus(expect=expect) if truncator is None else truncator  # type: ignore[arg-type]
    if isinstance(base, Gated):
        base = base.inner
    if not isinstance(base, Truncator):
        raise _refused(f"truncator must be a truncator or None, got {shown(base)}")
    base.check()
    base.require_fitted()
    learned = getattr(base, "learned_", None)
    if log is not None and isinstance(base, Consensus) and isinstance(learned, Estimated | None):
        base = base.clone().fit(log.like(relevance=None, num_relevant=None))
    return base


def _refused(message: str) -> InvalidParameterError:
    return InvalidParameterError(message, who="calibrate")


def _checked_texts(search: Any, texts: Any) -> list[str]:
    if callable(texts) and not callable(search):
        raise _refused(
            "search comes first, then texts: calibrate(search, texts); "
            f"got {shown(search):.60} as search and a function as texts"
        )
    given = texts_of(texts, "calibrate", "texts must be a list of texts of the index")
    if not given:
        raise _refused("texts must be strings, at least one, got none")
    return given


def _checked_queries(queries: Any, groups: Sequence[Any] | None) -> tuple[list[str], list[str]]:
    """Return all queries, and those that count."""
    given = texts_of(queries, "calibrate", "queries must be a list of texts or None")
    asked = given
    if groups is not None:
        asked = [given[i] for i in one_of_each(check_groups(groups, len(given), "calibrate"))]
    return given, list({_plain(query): query for query in reversed(asked)}.values())[::-1]


def is_lexical(short: Sequence[FloatArray], long: Sequence[FloatArray]) -> bool:
    """Return whether more words never lower the best score, and mostly raise it."""
    before, after = (np.array([x.max(initial=0.0) for x in lists]) for lists in (short, long))
    never_lower = bool((after >= (1 - _SAME) * before).all())
    return never_lower and bool(np.mean(after > (1 + _SAME) * before) >= 0.5)


def _check_found(answers: Sequence[FloatArray]) -> None:
    best = np.array([scores.max() for scores in answers if scores.size])
    wanted = "search must give different best scores to different queries"
    if best.size < _FEWEST:
        raise _refused(f"{wanted}, got results for only {best.size} of {len(answers)}")
    if best.min() == best.max():
        raise _refused(f"{wanted}, got {best[0]:g} for all {best.size}")


def run_searches(
    search: Search,
    queries: Sequence[str],
    *,
    batch: bool = False,
    threads: int | None = None,
    progress: bool | None = None,
    resume: str | os.PathLike[str] | None = None,
) -> list[FloatArray]:
    """Return the scores of each query."""
    if not callable(search):
        raise _refused(f"search must be a function, got {shown(search)}")
    if threads is None:
        threads = _AT_ONCE if inspect.iscoroutinefunction(search) else 1
    check_positive_int(threads, who="calibrate", name="threads")
    journal = Journal(resume, holds="searches", head={}, who="calibrate", name="resume")
    found = _kept(journal)
    known = [query for query in dict.fromkeys(queries) if query in found]
    missing = [query for query in dict.fromkeys(queries) if query not in found]
    shows = sys.stderr.isatty() if progress is None else progress

    with waiting() as wait:

        def one(query: str) -> tuple[str, FloatArray]:
            return query, scores_of(wait(search(query)))

        def asked(texts: list[str]) -> Iterable[tuple[str, FloatArray]]:
            if batch:
                yield from _blocks(lambda block: wait(search(block)), texts)
            elif threads == 1:
                yield from map(one, texts)
            else:
                from concurrent.futures import ThreadPoolExecutor

                with ThreadPoolExecutor(threads) as pool:
                    try:
                        yield from pool.map(one, texts)
                    except BaseException:  # Ctrl-C too: nobody waits for searches under way
                        pool.shutdown(wait=False, cancel_futures=True)
                        wait.cancel()
                        raise

        for query, scores in asked(known[:_AGAIN]):
            _compare(query, found[query], scores, resume)
        for done, (query, scores) in enumerate(asked(missing), 1):
            found[query] = scores
            if journal.path is not None:
                journal.add({"query": query, "scores": scores.tolist()})
            if shows:
                end = "\n" if done == len(missing) else ""
                sys.stderr.write(f"\rcalibrate: {done} of {len(missing)} searches{end}")
                sys.stderr.flush()
    return [found[query] for query in queries]


def _compare(query: str, kept: FloatArray, now: FloatArray, resume: Any) -> None:
    """Refuse to go on when the search no longer gives the scores that were kept."""
    one, other = (float(scores[0]) if scores.size else 0.0 for scores in (kept, now))
    if abs(one - other) > _NEAR * max(abs(one), abs(other)):
        raise _refused(
            f"resume must name a file of the same search, got {os.fspath(resume)!r}, where "
            f"{query!r} has a best score of {one:.6g}, and now {other:.6g}: the model or the "
            "index has changed, so start with a new file"
        )


def _blocks(search: Search, queries: list[str]) -> Iterable[tuple[str, FloatArray]]:
    for start in range(0, len(queries), _BLOCK):
        block = queries[start : start + _BLOCK]
        found = search(block)
        if hasattr(found, "__next__"):
            found = list(found)
        if isinstance(found, (list, np.ndarray)) and len(found) == len(block):
            answers = [scores_of(one) for one in found]
        else:
            answers = _read(found)
        if len(answers) != len(block):
            raise _refused(
                f"search must give one result for each of {len(block)} queries, got {len(answers)}"
            )
        yield from zip(block, answers, strict=True)


def scores_of(given: Any) -> FloatArray:
    """Return the scores in the answer to one query."""
    found = _read(given)
    if len(found) != 1:
        raise _refused(f"search must answer one query, got the answers to {len(found)}")
    return found[0]


def _read(given: Any) -> list[FloatArray]:
    found = read(given, who="calibrate: search").scores
    return [scores[np.isfinite(scores)] for scores in found]  # the others are missing


def _kept(journal: Journal) -> dict[str, FloatArray]:
    found = {}
    for number, row in enumerate(journal.entries, 2):
        try:
            search = checked(_SEARCH, {name: row.get(name) for name in _SEARCH})
        except ValueError:
            wanted = "a search: its query, and scores as a list of finite numbers"
            message = f"expected {wanted}, got {row!r:.60}"
            raise DataFormatError(str(journal.path), number, message) from None
        found[search["query"]] = np.array(search["scores"], dtype=np.float64)
    return found
