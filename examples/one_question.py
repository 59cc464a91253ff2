"""How many abstracts answer this question? One list, one decision, and its reason.

    python examples/one_question.py ["your question"]

A gate (`Background`) has learned how high questions without an answer score. Lists that score
higher are cut by an untrained `Consensus`. Without a question it asks three: a claim that the
collection has an abstract for, a question about something else, and gibberish.
"""

from __future__ import annotations

from scifact import abstracts, claims, electronics, gibberish, size_options
from texts import Texts, search

import paretocut as pc
from paretocut.truncators import Consensus, Gated

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
    gate = Gated(Consensus(expect="one"), pc.Background.fit(unanswered))

    cosines, nearest = search(questions, documents, depth=DEPTH)
    for text, scores, found in zip(questions.texts, cosines, nearest, strict=True):
        cut = gate.cut(scores)
        print(f"\n{text}\n  {cut.reason}")
        for i in cut.indices:
            title = documents.texts[found[i]][:70]
            print(f"  cosine {scores[i]:.3f}  surprise {cut.surprise[i]:5.2f}  {title}")


if __name__ == "__main__":
    main()
