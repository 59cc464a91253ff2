"""With judgements, learn where to cut, and measure the cut on other claims.

    python examples/learn_the_rule.py

Truncators are fitted on SciFact's training claims and tested on its validation claims, on lists of
the 200 nearest abstracts. Most claims cite one abstract, so the best cut is near one.
"""

from __future__ import annotations

import numpy as np
from scifact import abstracts, cited, claims, size_options
from texts import Texts, search

import paretocut as pc


def judged_lists(questions: Texts, documents: Texts) -> pc.RankedLists:
    """Return the nearest abstracts of each claim, with those it cites marked."""
    cosines, nearest = search(questions, documents, depth=200)
    answers = cited()
    names = np.array(documents.ids)[nearest]
    relevance = [
        [name in answers[claim] for name in found]
        for claim, found in zip(questions.ids, names, strict=True)
    ]
    return pc.RankedLists(
        cosines,
        relevance,
        query_ids=questions.ids,
        doc_ids=names,
        num_relevant=[len(answers[claim]) for claim in questions.ids],
    )


def main() -> None:
    """Print F1 and the mean cut of each truncator."""
    arguments = size_options(__doc__).parse_args()
    documents = abstracts()[: arguments.abstracts]
    train = judged_lists(claims("train")[: arguments.claims], documents)
    test = judged_lists(claims("validation")[: arguments.claims], documents)
    truncators = {
        "three, always": pc.truncators.FixedK(3),
        "best fixed k": pc.truncators.GlobalK(),
        "best cosine": pc.truncators.ScoreThreshold("raw"),
        "best min-max score": pc.truncators.ScoreThreshold("minmax"),
        "surprise, evalue=0.5": pc.truncators.Surprise(evalue=0.5),
        "surprise, learned": pc.truncators.Surprise(),
    }
    print(pc.evaluate(truncators, train, metrics=("f1",), test=test, baseline="best fixed k"))


if __name__ == "__main__":
    main()
