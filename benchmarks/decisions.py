"""What a decision costs, and what is asked of it: one list, many lists, and inside adapters."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

import paretocut as pc
from paretocut.tail import fits
from paretocut.truncators import Consensus, Gated, Surprise, Truncator

Best = Callable[..., list[float]]
Numbers = tuple[str, float, str, float | None, str]
"""What was timed, the number, its unit, the bar, and a detail."""


def deciders(lists: NDArray[np.float64]) -> dict[str, Truncator]:
    """Return the truncators that are timed; every tenth result counts as relevant for a fit."""
    relevance = np.random.default_rng(0).random(lists.shape) < 0.1
    relevance[:, :3] = True
    judged = pc.RankedLists(lists, relevance=relevance)
    return {
        "the default": Consensus(),
        "expect='few'": Consensus(expect="few"),
        "fitted Consensus": Consensus().fit(judged),
        "Gated default": Gated(Consensus(), pc.Background.fit(lists)),
        "alpha=0.05": Surprise(alpha=0.05),
    }


def single(lists: NDArray[np.float64], best: Best, rounds: int) -> list[Numbers]:
    """Time the decision on one list of 200, and what is asked of it, over one `pc.fit_tail`."""
    scores, short = lists[0], lists[0][:20].copy()
    by_name = deciders(lists)
    fitted, gated = by_name["fitted Consensus"], by_name["Gated default"]
    timed: dict[str, tuple[Callable[[], object], float | None]] = {
        "pc.cut(x)": (lambda: pc.cut(scores), 1.5),
        "pc.cut(x).reason": (lambda: pc.cut(scores).reason, 5.0),
        "pc.cut(x).warnings": (lambda: pc.cut(scores).warnings, None),
        "pc.cut(x).surprise": (lambda: pc.cut(scores).surprise, None),
        "pc.cut(x, expect='few')": (lambda: pc.cut(scores, expect="few"), None),
        "pc.cut(x, alpha=0.05)": (lambda: pc.cut(scores, alpha=0.05), 2.5),
        "pc.cut(x, evalue=0.05).reason": (lambda: pc.cut(scores, evalue=0.05).reason, 7.0),
        "pc.cut(x, evalue=0.05).warnings": (lambda: pc.cut(scores, evalue=0.05).warnings, None),
        "Gated default": (lambda: gated.cut(scores), None),
        "pc.cut(x[:20])": (lambda: pc.cut(short), None),
        "pc.cut(x[:20], alpha=0.05)": (lambda: pc.cut(short, alpha=0.05), None),
    }
    rows: list[Numbers] = []
    for name, (function, bar) in timed.items():
        taken, fit = best(_often(function), _often(lambda: pc.fit_tail(scores)), rounds=rounds)
        detail = f"{1e6 * taken / _REPEATS:.1f} us, {tail_searches(function)} tail searches"
        rows.append((f"{name}, 200 results", taken / fit, "pc.fit_tail", bar, detail))
    (taken,) = best(_often(lambda: fitted.cut(scores)), rounds=rounds)
    rows.append(("fitted Consensus, 200 results", 1e6 * taken / _REPEATS, "us", 100.0, ""))
    listed = scores.tolist()
    pairs = [(f"d{i}", score) for i, score in enumerate(listed)]
    hits = [{"id": name, "score": score} for name, score in pairs]
    answers: dict[str, tuple[Any, float | None]] = {"pairs": (pairs, 3.0), "mappings": (hits, None)}
    for name, (answer, bar) in answers.items():
        taken, alone = best(
            _often(lambda answer=answer: pc.keep(answer)),  # type: ignore[misc]
            _often(lambda: pc.cut(listed)),
            rounds=rounds,
        )
        detail = f"{1e6 * taken / _REPEATS:.1f} us"
        rows.append((f"pc.keep({name}), 200 results", taken / alone, "pc.cut(scores)", bar, detail))
    return rows


_REPEATS = 50


def _often(function: Callable[[], object]) -> Callable[[], None]:
    def run() -> None:
        for _ in range(_REPEATS):
            function()

    return run


def tail_searches(function: Callable[[], object]) -> int:
    """Return how many lists have their tail fitted during one call."""
    real, counted = fits._kernel, []

    class Counting:
        def __getattr__(self, name: str) -> Any:
            return getattr(real, name)

        def fit_list(self, *args: Any) -> Any:
            counted.append(1)
            return real.fit_list(*args)

        def fit_batch(self, values: Any, offsets: Any, *rest: Any) -> None:
            counted.append(len(offsets) - 1)
            real.fit_batch(values, offsets, *rest)

    fits._kernel = Counting()  # type: ignore[assignment]
    try:
        function()
    finally:
        fits._kernel = real
    return sum(counted)


def evidence(lists: NDArray[np.float64], best: Best, rounds: int) -> list[Numbers]:
    """Time what is asked of a batch, per list, at three sizes: it must not grow."""
    rows: list[Numbers] = []
    for name, ask in {
        "reasons": lambda cuts: cuts.reasons,
        "warnings": lambda cuts: cuts.warnings,
        "p-values list by list": lambda cuts: [cut.pvalues for cut in cuts],
    }.items():
        for label, truncator in {"default": Consensus(), "alpha": Surprise(alpha=0.05)}.items():
            times = []
            for size in (250, 2_000, 16_000):
                many = np.tile(lists, (-(-size // len(lists)), 1))[:size]
                (taken,) = best(
                    lambda many=many, truncator=truncator, ask=ask: ask(truncator.cut_batch(many)),
                    rounds=max(rounds // 10, 2),
                )
                times.append(1e6 * taken / size)
            detail = "us a list at 250, 2,000, 16,000 lists: " + ", ".join(
                f"{time:.1f}" for time in times
            )
            rows.append((f"{name}, {label}", times[-1] / times[0], "x of 250", 1.5, detail))
    return rows


def adapters(best: Best, rounds: int) -> list[Numbers]:
    """Time two adapters at three sizes, per query: they must not grow."""
    rows: list[Numbers] = []
    rng = np.random.default_rng(0)
    scores = -np.sort(-rng.exponential(size=(16_000, 50)), axis=1)

    def semantic(size: int) -> Callable[[], object]:
        found = [
            [{"corpus_id": i, "score": score} for i, score in enumerate(row)]
            for row in scores[:size].tolist()
        ]
        return lambda: pc.keep(found)

    def pyterrier(size: int) -> Callable[[], object]:
        import pandas as pd

        from paretocut.adapters.pyterrier import ParetoCut

        part = scores[:size]
        frame = pd.DataFrame(
            {
                "qid": np.repeat(np.arange(size).astype(str), part.shape[1]),
                "docno": np.tile(np.arange(part.shape[1]).astype(str), size),
                "score": part.ravel(),
                "rank": np.tile(np.arange(part.shape[1]), size),
            }
        )
        stage = ParetoCut()
        return lambda: stage.transform(frame)

    for name, make in {"pc.keep(lists of mappings)": semantic, "pyterrier": pyterrier}.items():
        if name == "pyterrier" and find_spec(name) is None:
            continue
        times = []
        for size in (250, 2_000, 16_000):
            (taken,) = best(make(size), rounds=2)
            times.append(1e6 * taken / size)
        detail = "us a query at 250, 2,000, 16,000: " + ", ".join(f"{time:.0f}" for time in times)
        rows.append((f"{name}, 50 results each", times[-1] / times[0], "x of 250", 1.5, detail))
    return rows


def batches(
    lists: NDArray[np.float64], bars: dict[str, float], best: Best, rounds: int
) -> list[Numbers]:
    """Time the decision on an array of lists, over `np.sort` of the same."""
    depth, rows = lists.shape[1], []
    for name, truncator in deciders(lists).items():
        taken, sort = best(
            lambda truncator=truncator: truncator.cut_batch(lists).k,
            lambda: np.sort(lists),
            rounds=rounds,
        )
        detail = f"{1e6 * taken / len(lists):.2f} us a list"
        what = f"{name}, batch of lists of {depth}"
        rows.append((what, taken / sort, "np.sort", bars.get(name), detail))
    unsorted = np.random.default_rng(0).permuted(lists, axis=1)
    taken, sort = best(lambda: pc.RankedLists(unsorted), lambda: np.sort(unsorted), rounds=rounds)
    detail = f"{1e6 * taken / len(lists):.2f} us a list"
    rows.append((f"RankedLists, unsorted lists of {depth}", taken / sort, "np.sort", 5, detail))
    return rows


def retriever() -> Any:
    """Return a LangChain retriever whose store has its 200 results ready."""
    from langchain_core.embeddings import DeterministicFakeEmbedding
    from langchain_core.vectorstores import InMemoryVectorStore

    from paretocut.adapters.langchain import ParetoCutRetriever

    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=32))
    store.add_texts([f"text {i}" for i in range(400)])
    found = store.similarity_search_with_score("a question", k=200)

    class Ready(InMemoryVectorStore):
        def similarity_search_with_score(self, query: str, k: int = 4, **kwargs: Any) -> Any:
            return found

    return ParetoCutRetriever(vectorstore=Ready(DeterministicFakeEmbedding(size=32)))


def langchain(best: Best, rounds: int) -> list[Numbers]:
    """Time what the retriever adds to a search of 200 documents."""
    if find_spec("langchain_core") is None:
        return []
    ours = retriever()
    cut, bare = best(
        lambda: ours.invoke("a question"),
        lambda: ours.vectorstore.similarity_search_with_score("a question", k=200),
        rounds=5 * rounds,
    )
    what = "added to a LangChain search by ParetoCutRetriever"
    return [(what, 1e6 * (cut - bare), "us", 500.0, "")]


def measured(
    simulated: Callable[..., NDArray[np.float64]], best: Best, rounds: int
) -> list[Numbers]:
    """Return all rows; ``simulated`` makes lists, ``best`` times functions in turns."""
    rows = single(simulated(200, 5, 50), best, rounds)
    rows += batches(simulated(200, 5, 500), {"the default": 1.0}, best, rounds)
    rows += batches(simulated(1000, 5, 200), {"the default": 1.0}, best, rounds)
    rows += evidence(simulated(200, 5, 250), best, rounds)
    return rows + adapters(best, rounds) + langchain(best, rounds)
