"""BM25 and embeddings together: fuse by score, then cut.

    python examples/lexical_and_dense.py

Reciprocal rank fusion keeps ranks and throws the scores away, so there is nothing left to cut by,
and paretocut says so. `pc.fuse` keeps the scores. For comparison, the program also cuts each list
by its own scores and joins the results.
"""

from __future__ import annotations

import bm25s
import numpy as np
from scifact import abstracts, cited, claims, size_options
from texts import Texts, search

import paretocut as pc

DEPTH = 200


def lexical(questions: Texts, documents: Texts) -> tuple[np.ndarray, np.ndarray]:
    """Return BM25 scores and positions of the best documents of each question, best first."""
    index = bm25s.BM25()
    index.index(bm25s.tokenize(documents.texts, show_progress=False), show_progress=False)
    words = bm25s.tokenize(questions.texts, show_progress=False)
    found, scores = index.retrieve(words, k=min(DEPTH, len(documents)), show_progress=False)
    return scores.astype(np.float64), found


def fused(rankings: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return scores and positions after reciprocal rank fusion."""
    scores: dict[int, float] = {}
    for ranking in rankings:
        for rank, document in enumerate(ranking.tolist(), start=1):
            scores[document] = scores.get(document, 0.0) + 1 / (60 + rank)
    order = sorted(scores, key=scores.__getitem__, reverse=True)
    return np.array([scores[document] for document in order]), np.array(order)


def main() -> None:
    """Compare fixed lengths with cuts on SciFact's validation claims."""
    arguments = size_options(__doc__).parse_args()
    documents = abstracts()[: arguments.abstracts]
    questions = claims("validation")[: arguments.claims]
    words, meaning = lexical(questions, documents), search(questions, documents, depth=DEPTH)

    warnings = [
        pc.fit_tail(fused([a, b])[0]).warnings for a, b in zip(words[1], meaning[1], strict=True)
    ]
    rank_only = np.mean(["rank_only_scores" in names for names in warnings])
    print(f"fused lists recognised as rank-only: {100 * rank_only:.0f}%\n")

    rules = {
        "alpha": pc.truncators.Surprise(alpha=0.01),
        "evalue": pc.truncators.Surprise(evalue=0.5),
    }
    k = {
        name: [rule.predict(scores) for scores, _ in (words, meaning)]
        for name, rule in rules.items()
    }
    returned: dict[str, list[set[int]]] = {
        "BM25, ten": [set(found[:10]) for found in words[1]],
        "embeddings, ten": [set(found[:10]) for found in meaning[1]],
        "fused, ten": [
            set(fused([a, b])[1][:10]) for a, b in zip(words[1], meaning[1], strict=True)
        ],
    }
    for name, (k_words, k_meaning) in k.items():
        returned[f"each cut by {name}, joined"] = [
            set(a[:i]) | set(b[:j])
            for a, b, i, j in zip(words[1], meaning[1], k_words, k_meaning, strict=True)
        ]

    both = {
        "words": pc.RankedLists(words[0], doc_ids=words[1].astype(str)),
        "meaning": pc.RankedLists(meaning[0], doc_ids=meaning[1].astype(str)),
    }
    hybrid = pc.fuse(both)
    for name, choice in {"": {}, ', expect="one"': {"expect": "one"}}.items():
        kept = hybrid.truncate(pc.cut_batch(hybrid, **choice).k)
        returned[f"fused by score, cut{name}"] = [set(map(int, row)) for row in kept.doc_ids]

    answers = cited()
    print("| returned | cited found | precision | mean k | empty |\n|---|---:|---:|---:|---:|")
    for name, sets in returned.items():
        found = [
            {documents.ids[i] for i in some} & answers[claim]
            for claim, some in zip(questions.ids, sets, strict=True)
        ]
        size = sum(map(len, sets))
        print(
            f"| {name} | {100 * np.mean([bool(hits) for hits in found]):.0f}% | "
            f"{sum(map(len, found)) / max(size, 1):.3f} | {size / len(sets):.1f} | "
            f"{100 * np.mean([not some for some in sets]):.0f}% |"
        )


if __name__ == "__main__":
    main()
