"""Count how often RAG returns nothing for questions beside the point, as it should.

    python examples/rag_that_can_say_nothing.py [--plot FILE] [--json FILE]

The knowledge is SciFact's abstracts; questions on topic are its claims, questions off topic are
about electronics (Vaswani) or random letters. Three LangChain retrievers over one store answer
them: the nearest five, `similarity_score_threshold`, and paretocut's. The threshold, and one of
paretocut's levels, are chosen on other questions (training claims; the other half of the questions
off topic) as the value with the best mean of: on-topic questions answered, off-topic ones not. Last
comes `paretocut.Background`, which learns from those questions off topic alone what best score
chance brings, and lets the nearest five through if theirs is better.
"""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import numpy as np
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore
from scifact import (
    Texts,
    abstracts,
    cited,
    claims,
    electronics,
    embed,
    gibberish,
    search,
    size_options,
)

import paretocut as pc
from paretocut.adapters.langchain import ParetoCutRetriever

DEPTH = 200
ON_TOPIC = "claims"


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


class CosineStore(InMemoryVectorStore):
    """LangChain's own store, which says that its cosines are relevance from 0 to 1."""

    def _select_relevance_score_fn(self) -> Any:
        return lambda cosine: min(max(float(cosine), 0.0), 1.0)


class Gated:
    """The nearest five, if their best score is one that chance seldom brings."""

    def __init__(self, store: CosineStore, background: pc.Background, *, alpha: float) -> None:
        self._store, self._background, self._alpha = store, background, alpha

    def invoke(self, question: str) -> list[Document]:
        """Return five documents or none."""
        found = self._store.similarity_search_with_score(question, k=5)
        scores = [[score for _, score in found]]
        (k,) = self._background.gate([len(found)], scores, alpha=self._alpha)
        return [document for document, _ in found[:k]]


def strictness(questions: Texts, documents: Texts) -> dict[str, np.ndarray]:
    """Return, for each question, the level at which each method would begin to answer."""
    cosines, _ = search(questions, documents, depth=DEPTH)
    best_evalue = [pc.fit(scores).evalues.min() for scores in cosines]
    return {"cosine": cosines[:, 0], "evalue": -np.log(best_evalue)}


def best_level(on: np.ndarray, off: np.ndarray) -> float:
    """Return the level with the best balance; questions at or above it are answered."""
    levels = np.unique(np.concatenate([on, off]))
    balance = [np.mean(on >= level) + np.mean(off < level) for level in levels]
    return float(levels[int(np.argmax(balance))])


def measure(retriever: Any, questions: dict[str, Texts]) -> dict[str, float]:
    """Return rates of empty answers by kind of question, and what is found for claims."""
    answers_to = cited()
    row: dict[str, float] = {}
    for kind, group in questions.items():
        answers = [retriever.invoke(text) for text in group.texts]
        row[f"empty: {kind}"] = float(np.mean([not documents for documents in answers]))
        if kind == ON_TOPIC:
            found = [
                {document.metadata["id"] for document in documents} & answers_to[claim]
                for claim, documents in zip(group.ids, answers, strict=True)
            ]
            row["cited found"] = float(np.mean([bool(hits) for hits in found]))
            row["mean k"] = float(np.mean([len(documents) for documents in answers]))
    return row


def plot(
    path: Path,
    on: dict[str, np.ndarray],
    off: dict[str, np.ndarray],
    chosen: dict[str, float],
    background: pc.Background,
) -> None:
    """Draw what each level gives: on-topic questions answered against off-topic ones."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(5.5, 4.2), layout="constrained")
    names = {"cosine": "similarity_score_threshold", "evalue": "paretocut, E-value"}
    for method, name in names.items():
        levels = np.unique(np.concatenate([on[method], off[method], [np.inf]]))
        right = [np.mean(on[method] >= level) for level in levels]
        wrong = [np.mean(off[method] >= level) for level in levels]
        (line,) = axes.plot(wrong, right, label=name)
        level = chosen[method]
        axes.plot(
            np.mean(off[method] >= level), np.mean(on[method] >= level), "o", color=line.get_color()
        )
    axes.plot(
        np.mean(background.pvalue(off["cosine"]) <= 0.05),
        np.mean(background.pvalue(on["cosine"]) <= 0.05), "D", label="Background, alpha=0.05",
    )  # fmt: skip
    axes.plot([1], [1], "s", color="0.4", label="nearest five")
    axes.set(
        xlabel="off-topic questions answered", ylabel="claims answered", xlim=(-0.02, 1.02),
        ylim=(-0.02, 1.02), title="Every level, and the ones chosen on other questions",
    )  # fmt: skip
    axes.legend(loc="lower right", frameon=False)
    figure.savefig(path, dpi=150)


def main() -> None:
    """Choose the levels, ask the questions, print the table."""
    logging.getLogger("langchain_core").setLevel(logging.ERROR)  # it warns of every empty answer
    parser = size_options(__doc__)
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    documents = abstracts()[: arguments.abstracts]
    off_topic = electronics()
    learn_on = claims("train")[: arguments.claims]
    learn_off = off_topic[::2] + gibberish(47, seed=1)
    questions = {
        ON_TOPIC: claims("validation")[: arguments.claims],
        "electronics": off_topic[1::2],
        "gibberish": gibberish(46, seed=2),
    }

    learned_on, learned_off = strictness(learn_on, documents), strictness(learn_off, documents)
    background = pc.Background.fit(learned_off["cosine"], size=len(documents))
    level = {method: best_level(learned_on[method], learned_off[method]) for method in learned_on}

    embeddings = Embedded(documents, *questions.values())
    store = CosineStore(embeddings)
    store.add_texts(documents.texts, metadatas=[{"id": name} for name in documents.ids])
    threshold = {"k": 5, "score_threshold": level["cosine"]}
    evalue = float(np.exp(-level["evalue"]))
    retrievers = {
        "nearest five": store.as_retriever(search_kwargs={"k": 5}),
        f"score threshold {level['cosine']:.3f}, at most five": store.as_retriever(
            search_type="similarity_score_threshold", search_kwargs=threshold
        ),
        "paretocut alpha=0.05": ParetoCutRetriever(vectorstore=store, alpha=0.05, max_k=5),
        "paretocut evalue=0.05": ParetoCutRetriever(vectorstore=store, evalue=0.05, max_k=5),
        f"paretocut evalue={evalue:.3g}, chosen": ParetoCutRetriever(
            vectorstore=store, evalue=evalue, max_k=5
        ),
        "nearest five, Background alpha=0.05": Gated(store, background, alpha=0.05),
    }
    rows = {name: measure(retriever, questions) for name, retriever in retrievers.items()}

    columns = list(next(iter(rows.values())))
    print(f"| retriever | {' | '.join(columns)} |\n|---|{'---:|' * len(columns)}")
    for name, row in rows.items():
        cells = [f"{row[c]:.1f}" if c == "mean k" else f"{100 * row[c]:.0f}%" for c in columns]
        print(f"| {name} | {' | '.join(cells)} |")
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    if arguments.plot:
        off = questions["electronics"] + questions["gibberish"]
        on = strictness(questions[ON_TOPIC], documents)
        plot(arguments.plot, on, strictness(off, documents), level, background)


if __name__ == "__main__":
    main()
