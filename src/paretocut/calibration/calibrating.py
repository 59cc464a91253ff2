"""`paretocut.calibrate`: from a search and some texts to a truncator, without a judgement."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Unpack

from paretocut.background import Background, QueryScale
from paretocut.background.drift import shapes_of
from paretocut.background.law import as_lists
from paretocut.calibration.nonsense import nonsense_queries
from paretocut.calibration.searches import Running, Search, run_searches
from paretocut.errors import InvalidParameterError
from paretocut.lists import RaggedLike, RankedLists
from paretocut.schema.parameters import check_probability
from paretocut.truncators import Consensus
from paretocut.truncators.calibrated import Calibrated


def calibrate(
    search: Search,
    texts: Iterable[str],
    *,
    queries: Sequence[str] | None = None,
    n: int = 100,
    alpha: float = 0.05,
    unanswered: float = 0.05,
    expect: str | float | None = None,
    lexical: bool = False,
    seed: int = 0,
    higher_is_better: bool = True,
    **running: Unpack[Running],
) -> Calibrated:
    """Return a truncator that knows your index, without any judgement.

    Nonsense made of the index's own words shows which best scores mean nothing. Unjudged queries
    of your users show where answers begin and how many results to expect.

    Parameters
    ----------
    search
        Your search: it takes the text of a query and returns scores, or results with scores:
        pairs that end in a score, mappings with a ``"score"``, objects with a ``score``. Return
        as many results as you will cut later.
    texts
        Some hundred texts of the index.
    queries
        Real queries, unjudged; 100 or more are best. Without them the gate lets a share
        ``alpha`` of the nonsense through.
    n
        Nonsense queries.
    alpha
        Share of the nonsense that gets results; used without ``queries``.
    unanswered
        Share of ``queries`` that you believe to have no answer in the index.
    expect
        How many results are relevant: ``"one"``, ``"few"``, ``"dozens"``,
        ``"hundreds"`` or a number. None estimates it from ``queries``, or else from each list.
    lexical
        True for scores that grow with every matching word, such as BM25. They are divided by
        the weight of the query's words (`paretocut.background.QueryScale`), so every later
        decision needs the query: ``t.cut(scores, query=...)``.
    seed
        Of the nonsense.
    higher_is_better
        False for distances.
    **running
        ``batch`` (True if ``search`` takes a list of queries and returns one result for each),
        ``threads`` (searches at the same time), ``progress`` (whether to count on standard
        error; None does so on a terminal), ``resume`` (a file that keeps each answer, so that a
        second run goes on where the first one stopped).

    Examples
    --------
    >>> import numpy as np
    >>> import paretocut as pc
    >>> texts = ["ferns grow in shade", "roses like full sun", "moss grows on wet stones"]
    >>> def search(query):
    ...     found = [len(set(query.split()) & set(text.split())) for text in texts]
    ...     return np.sort(np.array(found) / len(query.split()) + 0.01 * len(query))[::-1]
    >>> t = pc.calibrate(search, texts, n=50)
    >>> t.cut(search("roses like full sun")).k
    1
    """
    given = list(texts)
    scale = QueryScale.from_texts(given) if lexical else None
    made_up = nonsense_queries(given, n, lexical=lexical, seed=seed)
    log = [] if queries is None else list(queries)
    answers = run_searches(search, [*made_up, *log], who="calibrate", **running)
    return calibrated(
        answers[:n],
        None if queries is None else answers[n:],
        alpha=alpha,
        unanswered=unanswered,
        expect=expect,
        scale=scale,
        texts=[*made_up, *log],
        higher_is_better=higher_is_better,
    )


def calibrated(
    nonsense: RankedLists | RaggedLike,
    queries: RankedLists | RaggedLike | None = None,
    *,
    alpha: float = 0.05,
    unanswered: float = 0.05,
    expect: str | float | None = None,
    scale: QueryScale | None = None,
    texts: Sequence[str] | None = None,
    higher_is_better: bool = True,
) -> Calibrated:
    """Return the truncator, from lists that were searched before.

    Parameters
    ----------
    nonsense, queries
        Lists of the nonsense and of unjudged queries.
    alpha, unanswered, expect, higher_is_better
        As for `calibrate`.
    scale, texts
        For lexical scores: the scale, and the texts of the nonsense and then of the queries.
    """
    check_probability(alpha, who="calibrate", name="alpha")
    null = as_lists(nonsense, higher_is_better, who="calibrate")
    log = None if queries is None else as_lists(queries, higher_is_better, who="calibrate")
    if scale is not None:
        wanted = len(null) + (0 if log is None else len(log))
        if texts is None or len(texts) != wanted:
            raise InvalidParameterError(
                f"calibrate: with a scale, texts must be those of all {wanted} queries, "
                f"got {'none' if texts is None else len(texts)}"
            )
        divisors = scale(texts)
        null = null.divided_by(divisors[: len(null)])
        log = None if log is None else log.divided_by(divisors[len(null) :])
    background = Background.fit(null, queries=log, unanswered=unanswered)
    base = Consensus(expect=expect)  # type: ignore[arg-type]
    base._validate()
    if log is not None:
        base.fit(log._like(relevance=None, _num_relevant=None))
    shapes = None if log is None else shapes_of(log)
    return Calibrated(base, background, alpha=alpha if log is None else None).record(
        nonsense=null.merit.ends()[0][null.scores.filled],
        log=None if shapes is None else shapes[:, 0],
        shapes=shapes,
        scale=scale,
    )
