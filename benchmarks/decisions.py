"""What a decision costs: one list, many lists, a gate, and inside LangChain's retriever."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

import paretocut as pc
from paretocut.truncators import Consensus, Gated, Surprise, Truncator

Best = Callable[..., list[float]]
Numbers = tuple[str, float, float | None, float]
"""What was timed, microseconds, the bar, and the microseconds of np.sort of the same scores."""


def deciders(lists: NDArray[np.float64]) -> dict[str, Truncator]:
    """Return the truncators that have a bar, fitted where they learn.

    Parameters
    ----------
    lists
        Lists to learn from; every tenth result counts as relevant, the first three always.
    """
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
    """Time the decision on one list of 200, from Python."""
    scores, repeats = lists[0], 50
    bars = {"the default": 60.0, "fitted Consensus": 100.0}

    def calls(decide: Callable[[], object]) -> Callable[[], None]:
        def run() -> None:
            for _ in range(repeats):
                decide()

        return run

    rows: list[Numbers] = []
    times: dict[str, float] = {}
    for name, truncator in deciders(lists).items():
        cut = calls(lambda truncator=truncator: truncator.cut(scores))
        taken, sort = best(cut, calls(lambda: np.sort(scores)), rounds=rounds)
        times[name] = 1e6 * taken / repeats
        rows.append((f"{name}, one list of 200", times[name], bars.get(name), 1e6 * sort / repeats))
    added = times["Gated default"] - times["the default"]
    rows.append(("Gated over its base, one list of 200", added, 10.0, rows[-1][3]))
    short = scores[:20].copy()
    taken, sort = best(calls(lambda: pc.cut(short)), calls(lambda: np.sort(short)), rounds=rounds)
    rows.append(("pc.cut(scores), 20 results", 1e6 * taken / repeats, 15.0, 1e6 * sort / repeats))
    return rows


def batches(
    lists: NDArray[np.float64], bars: dict[str, float], best: Best, rounds: int
) -> list[Numbers]:
    """Time the decision on many lists at once, as a list takes it."""
    ranked = pc.RankedLists(lists)
    depth, rows = lists.shape[1], []
    for name, truncator in deciders(lists).items():
        taken, sort = best(
            lambda truncator=truncator: truncator.cut_batch(ranked).k,
            lambda: np.sort(lists),
            rounds=rounds,
        )
        scale = 1e6 / len(lists)
        rows.append(
            (f"{name}, batch of lists of {depth}", scale * taken, bars.get(name), scale * sort)
        )
    return rows


def langchain(best: Best, rounds: int) -> list[Numbers]:
    """Time what the retriever adds to a search of 200 documents."""
    if find_spec("langchain_core") is None:
        return []
    from langchain_core.embeddings import DeterministicFakeEmbedding
    from langchain_core.vectorstores import InMemoryVectorStore

    from paretocut.adapters.langchain import ParetoCutRetriever

    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=32))
    store.add_texts([f"text {i}" for i in range(400)])
    found = store.similarity_search_with_score("a question", k=200)

    class Ready(InMemoryVectorStore):
        """A store whose search takes no time: what is left is the retriever's."""

        def similarity_search_with_score(self, query: str, k: int = 4, **kwargs: Any) -> Any:
            return found

    ready = Ready(DeterministicFakeEmbedding(size=32))
    plain = ready.as_retriever(search_kwargs={"k": 200})
    ours = ParetoCutRetriever(vectorstore=ready)
    scores = np.array([score for _, score in found])
    cut, bare, sort = best(
        lambda: ours.invoke("a question"),
        lambda: plain.vectorstore.similarity_search_with_score("a question", k=200),
        lambda: np.sort(scores),
        rounds=5 * rounds,
    )
    return [
        ("added to a LangChain search by ParetoCutRetriever", 1e6 * (cut - bare), 500.0, 1e6 * sort)
    ]


def measured(
    simulated: Callable[..., NDArray[np.float64]], best: Best, rounds: int
) -> list[Numbers]:
    """Return all rows.

    Parameters
    ----------
    simulated
        Makes lists of a depth with hits.
    best
        Times functions in turns.
    rounds
        How often.
    """
    rows = single(simulated(200, 5, 50), best, rounds)
    rows += batches(
        simulated(200, 5, 500), {"the default": 5.0, "fitted Consensus": 10.0}, best, rounds
    )
    rows += batches(simulated(1000, 5, 200), {"the default": 20.0}, best, rounds)
    return rows + langchain(best, rounds)
