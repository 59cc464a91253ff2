"""RAG that returns as much as there is to say, and nothing for questions beside the point.

    python examples/rag_that_can_say_nothing.py [--collection clinc150] [--json FILE]

One LangChain store, five ways to choose what is passed on. The default index is MED: 1,033 medical
abstracts, 30 questions with about 23 answers each. Questions without an answer are those of other
collections: news and trivia to test with, aerodynamics and library science to learn from. With
`--collection clinc150` the index holds 3,000 short requests to an assistant; the questions without
an answer are real requests that none of its 150 intents covers, and the gate learns from trivia.
"""

from __future__ import annotations

import argparse
import json
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore
from texts import Texts, documents_of, embed, judgements, questions_of, search

import paretocut as pc
from paretocut.adapters.langchain import ParetoCutRetriever
from paretocut.truncators import Consensus, Gated

DEPTH = 200
COSINES = np.round(np.arange(0.2, 0.71, 0.05), 2)
COLUMNS = ("kept", "empty good", "F1", "empty others")


class Embedded(Embeddings):
    """Embeddings made beforehand, all at once."""

    def __init__(self, *groups: Texts) -> None:
        texts = [text for group in groups for text in group.texts]
        vectors = np.concatenate([embed(group.texts) for group in groups])
        self._vectors = dict(zip(texts, vectors, strict=True))

    def embed_documents(self, texts: list[str]) -> list[Any]:
        """Return a vector per text."""
        return [self._vectors[text] for text in texts]

    def embed_query(self, text: str) -> Any:
        """Return the vector of a question."""
        return self._vectors[text]


def spread(questions: Texts, count: int | None) -> Texts:
    """Return at most so many questions, from all over the collection."""
    step = 1 if count is None else max(1, len(questions) // count)
    return questions[::step][:count]


def questions_for(collection: str, count: int) -> tuple[Texts, Texts, Texts]:
    """Return questions with an answer, questions without one, and others without one to learn."""
    good = spread(questions_of(collection), count)
    if collection == "clinc150":
        others = spread(questions_of(collection, answerable=False), count)
        return good, others, spread(questions_of("hotpotqa500"), count)
    others = spread(questions_of("time"), count) + spread(questions_of("hotpotqa500"), count)
    return good, others, spread(questions_of("cranfield"), count) + questions_of("cisi")[:count]


def f1(found: Sequence[str], answers: set[str]) -> float:
    """Return the harmonic mean of precision and recall."""
    hits = len(answers.intersection(found))
    return 2 * hits / (len(found) + len(answers))


def measure(
    good: list[list[str]], others: list[list[str]], answers: list[set[str]]
) -> dict[str, float]:
    """Return the row of one way to choose, from the names of the documents it passes on."""
    return {
        "kept": float(np.median([len(found) for found in good])),
        "empty good": float(np.mean([not found for found in good])),
        "F1": float(
            np.mean([f1(found, right) for found, right in zip(good, answers, strict=True)])
        ),
        "empty others": float(np.mean([not found for found in others])),
    }


def with_hindsight(
    documents: Texts, good: Texts, others: Texts, answers: list[set[str]]
) -> tuple[str, dict[str, float]]:
    """Return the cosine that does best on the very questions it is tested with, and its row."""
    lists = [search(questions, documents, depth=DEPTH) for questions in (good, others)]
    rows = {}
    for cosine in COSINES:
        kept = [
            [
                [documents.ids[i] for i in found[scores >= cosine]]
                for scores, found in zip(*pair, strict=True)
            ]
            for pair in lists
        ]
        rows[f"cosine >= {cosine:g}, chosen with hindsight"] = measure(*kept, answers)
    return max(rows.items(), key=lambda row: row[1]["F1"] + row[1]["empty others"])


def main() -> None:
    """Ask all questions of every retriever, and print the table."""
    logging.getLogger("langchain_core").setLevel(logging.ERROR)  # it warns of every empty answer
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--collection", default="med", choices=("med", "clinc150"))
    parser.add_argument("--documents", type=int, help="use only the first N documents")
    parser.add_argument("--questions", type=int, default=150, help="at most N of each kind")
    parser.add_argument("--json", type=Path, help="also write the table as JSON")
    arguments = parser.parse_args()
    documents = documents_of(arguments.collection)[: arguments.documents]
    good, others, learn = questions_for(arguments.collection, arguments.questions)
    judged = judgements(f"{arguments.collection}/qrels.txt.gz")
    answers = [judged[question] for question in good.ids]

    cosines, _ = search(learn, documents, depth=DEPTH)
    gate = Gated(Consensus(), pc.Background.fit(cosines))

    store = InMemoryVectorStore(Embedded(documents, good, others))
    store.add_texts(documents.texts, metadatas=[{"id": name} for name in documents.ids])
    retrievers = {
        "`alpha=0.05`": ParetoCutRetriever(vectorstore=store, alpha=0.05),
        "`evalue=0.05`": ParetoCutRetriever(vectorstore=store, evalue=0.05),
        "the default, untrained `Consensus()`": ParetoCutRetriever(vectorstore=store),
        "`Gated(Consensus(), background)`": ParetoCutRetriever(vectorstore=store, truncator=gate),
    }
    rows = {}
    for name, retriever in retrievers.items():
        kept = [
            [[document.metadata["id"] for document in retriever.invoke(text)] for text in group]
            for group in (good.texts, others.texts)
        ]
        rows[name] = measure(*kept, answers)
    name, row = with_hindsight(documents, good, others, answers)
    rows[name] = row

    print(
        f"{len(documents)} documents, {len(good)} questions with an answer, {len(others)} without;"
    )
    print(f"the gate learned from {len(learn)} other questions without one")
    print(f"\n| passed on | {' | '.join(COLUMNS)} |\n|---|{'---:|' * len(COLUMNS)}")
    for name, row in rows.items():
        cells = [f"{row['kept']:.0f}", *(f"{100 * row[c]:.0f}%" for c in COLUMNS[1:])]
        cells[2] = f"{row['F1']:.2f}"
        print(f"| {name} | {' | '.join(cells)} |")
    for text in (good.texts[0], others.texts[0]):
        print(
            f"\n{text}\n  {retrievers['`Gated(Consensus(), background)`'].invoke(text).cut.reason}"
        )
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
