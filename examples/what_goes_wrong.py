"""Common mistakes with a gate, rehearsed on real text: which do no harm, and which are noticed.

    python examples/what_goes_wrong.py [--documents N] [--json FILE]

SQuAD, 1,216 paragraphs, MiniLM and BM25. A log with repeats, few texts, passages in place of
questions, fused ranks, rescaled scores, a filter, and distances.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import bm25s
import numpy as np
from texts import documents_of, embed, model, questions_of

import paretocut as pc
from paretocut.errors import InvalidScoresError

DEPTH = 100


def best(similarities: Any) -> list[Any]:
    """Return the scores of each search, best first."""
    return [np.sort(row)[::-1][:DEPTH].astype(float) for row in similarities]


def empty(gate: Any, lists: Sequence[Any]) -> float:
    """Return the share of lists of which nothing is kept."""
    return float(np.mean(gate.cut_batch(lists).k == 0))


def warned(name: str, lists: Sequence[Any]) -> float:
    """Return the share of lists that get a warning."""
    return float(np.mean([name in cut.warnings for cut in map(pc.cut, lists)]))


def fused(rankings: Sequence[Sequence[int]], keep: int = 10) -> Any:
    """Return the best scores of reciprocal-rank fusion."""
    scores: dict[int, float] = {}
    for ranking in rankings:
        for rank, document in enumerate(ranking, 1):
            scores[document] = scores.get(document, 0.0) + 1 / (60 + rank)
    return np.sort(list(scores.values()))[::-1][:keep]


def rehearse(documents: Sequence[str], questions: Sequence[str]) -> dict[str, float]:
    """Return the share that each mistake leaves empty, or the share of lists that are warned of."""
    index, asked = embed(documents), embed(questions)

    def search(queries: list[str]) -> list[Any]:
        return best(model().encode(queries, normalize_embeddings=True) @ index.T)

    def gate(texts: Sequence[str] = documents[:300], queries: Any = None) -> Any:
        return pc.calibrate(search, texts, queries=queries, batch=True, lexical=False)

    log, good = questions[::2], best(asked[1::2] @ index.T)
    rng = np.random.default_rng(0)
    zipf = 1 / np.arange(1, len(log) + 1)
    drawn = [log[i] for i in rng.choice(len(log), 3 * len(log), p=zipf / zipf.sum())]
    rows = {"a log, each question once": empty(gate(queries=log), good)}
    rows["a log with repeats"] = empty(gate(queries=drawn), good)
    rows["the same, each once"] = empty(gate(queries=list(dict.fromkeys(drawn))), good)
    copied = gate(queries=[" ".join(text.split()[:20]) for text in documents[:100]])
    rows["passages as a log"] = empty(copied, good)
    rows["passages as a log: warned"] = float("copied_queries" in copied.cut(good[0]).warnings)
    for number in (3, 10, 300):
        few = gate(documents[:number])
        rows[f"{number} texts"] = empty(few, good)
        rows[f"{number} texts: warned"] = float("few_texts" in few.cut(good[0]).warnings)
    whole, tenth = gate(), index[: max(len(index) // 10, DEPTH)]
    rows["a filter: good questions about other paragraphs"] = empty(whole, best(asked @ tenth.T))

    words = bm25s.BM25()
    words.index(bm25s.tokenize(list(documents), show_progress=False), show_progress=False)
    tokens = bm25s.tokenize(list(questions), show_progress=False)
    found, _ = words.retrieve(tokens, k=min(DEPTH, len(documents)), show_progress=False)
    near = np.argsort(-(asked @ index.T), axis=1)[:, :DEPTH]
    both = [fused(pair) for pair in zip(found.tolist(), near.tolist(), strict=True)]
    rows["fused ranks: warned"] = warned("rank_only_scores", both)
    scales: dict[str, Callable[[Any], Any]] = {
        "min-max": lambda x: (x - x.min()) / (x.max() - x.min()),
        "softmax": lambda x: np.exp(x - x.max()) / np.exp(x - x.max()).sum(),
    }
    for name, scale in scales.items():
        rows[f"{name} scores: warned"] = warned("rescaled_scores", [scale(x) for x in good])
    rows["plain scores: warned"] = warned("rescaled_scores", good)
    rows["another unit: warned"] = float(
        np.mean(
            ["unseen_scores" in cut.warnings for cut in map(whole.cut, [100 * x for x in good])]
        )
    )
    far = [1 - x for x in good]
    same = [pc.cut(x, higher_is_better=False).k == pc.cut(1 - x).k for x in far]
    rows["distances, said so: the same cut"] = float(np.mean(same))
    rows["distances, not said: refused"] = float(np.mean([refused(x) for x in far]))
    return rows


def refused(scores: Any) -> bool:
    """Return whether scores that come worst first are an error."""
    try:
        pc.cut(scores)
    except InvalidScoresError:
        return True
    return False


def main() -> None:
    """Rehearse every mistake, and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--documents", type=int, help="use only the first N documents")
    parser.add_argument("--questions", type=int, default=200, help="at most N")
    parser.add_argument("--json", type=Path, help="also write the table as JSON")
    arguments = parser.parse_args()
    documents = documents_of("squad2")[: arguments.documents]
    questions = questions_of("squad2")
    asked = questions[:: max(1, len(questions) // arguments.questions)][: arguments.questions]
    rows = rehearse(documents.texts, asked.texts)
    print(f"{len(documents)} documents, {len(asked)} questions\n\n| what | share |\n|---|---:|")
    for name, share in rows.items():
        print(f"| {name} | {100 * share:.0f}% |")
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
