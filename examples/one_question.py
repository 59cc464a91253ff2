"""How many abstracts answer this question? One list, two decisions, and their reasons.

    python examples/one_question.py ["your question"]

First: is there an answer at all? The best score is compared with those of questions that have none
(`Background`). Then: how many? The results that stand out among the others of the same question
(`cut`). Without a question it asks three: a claim the collection has an abstract for, a question
about something else, and gibberish.
"""

from __future__ import annotations

from scifact import Texts, abstracts, claims, electronics, gibberish, search, size_options

import paretocut as pc

DEPTH = 200


def main() -> None:
    """Print what is kept for each question, and why."""
    parser = size_options(__doc__)
    parser.add_argument("question", nargs="*")
    arguments = parser.parse_args()
    documents = abstracts()[: arguments.abstracts]
    if arguments.question:
        questions = Texts(["yours"], [" ".join(arguments.question)])
    else:
        questions = claims("validation")[1:2] + electronics()[:1] + gibberish(1, seed=0)

    unanswered, _ = search(electronics()[1:] + gibberish(50, seed=1), documents, depth=DEPTH)
    background = pc.Background.fit(unanswered, size=len(documents))

    cosines, nearest = search(questions, documents, depth=DEPTH)
    for text, scores, found in zip(questions.texts, cosines, nearest, strict=True):
        print(f"\n{text}")
        (chance,) = background.pvalue([scores])
        if chance > 0.05:
            print(f"  nothing: chance brings a best cosine of {scores[0]:.3f} (p = {chance:.2g})")
            continue
        fit = pc.fit(scores)
        cut = fit.cut(alpha=0.01, min_k=1, max_k=5)
        print(f"  {cut.reason} (best cosine {scores[0]:.3f}, p = {chance:.2g})")
        for i in cut.indices:
            title = documents.texts[found[i]][:70]
            print(f"  cosine {scores[i]:.3f}  surprise {fit.surprise[i]:5.2f}  {title}")


if __name__ == "__main__":
    main()
