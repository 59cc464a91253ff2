"""RAG that returns the passages worth passing on, and nothing for off-topic questions.

    python examples/rag_that_can_say_nothing.py [--collection squad2] [--json FILE]

The whole ladder in LangChain with Chroma: the default, a word, a calibrated index, a log of
questions, two hundred judged results, and hybrid search with BM25. MED holds 1,033 medical
abstracts, with about 23 answers per question; SQuAD holds 1,216 paragraphs, with one answer per
question. Half of the questions serve as the log, and the others are asked. Questions without an
answer come from other collections: news of 1963 and trivia.
"""

from __future__ import annotations

import argparse
import json
import logging
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import bm25s
import numpy as np
from langchain_chroma import Chroma
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever
from texts import Texts, documents_of, embed, judgements, model, questions_of

import paretocut as pc
from paretocut.adapters.langchain import ParetoCutFusionRetriever, ParetoCutRetriever
from paretocut.truncators import Consensus, FixedK

DEPTH = 200
COLUMNS = ("kept", "empty good", "F1", "empty others")
WORDS = {"med": "dozens", "squad2": "one"}


class Embedded(Embeddings):
    """Embeddings of texts known beforehand, made all at once; of others when they are asked for."""

    def __init__(self, *groups: Texts) -> None:
        self._known = {
            text: vector
            for group in groups
            for text, vector in zip(group.texts, embed(group.texts), strict=True)
        }

    def embed_documents(self, texts: list[str]) -> list[Any]:
        """Return a vector per text."""
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> Any:
        """Return the vector of a question."""
        if text not in self._known:
            self._known[text] = model().encode([text], normalize_embeddings=True)[0]
        return self._known[text].tolist()


class Lexical(BaseRetriever):
    """BM25 by bm25s; the score of a document is in its metadata."""

    documents: list[Document]
    index: Any

    @classmethod
    def over(cls, documents: list[Document]) -> Lexical:
        """Return a retriever over these documents."""
        index = bm25s.BM25()
        texts = [document.page_content for document in documents]
        index.index(bm25s.tokenize(texts, show_progress=False), show_progress=False)
        return cls(documents=documents, index=index)

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        words = bm25s.tokenize([query], show_progress=False)
        depth = min(DEPTH, len(self.documents))
        found, scores = self.index.retrieve(words, k=depth, show_progress=False)
        return [
            Document(
                page_content=self.documents[i].page_content,
                metadata={**self.documents[i].metadata, "relevance_score": float(score)},
            )
            for i, score in zip(found[0], scores[0], strict=True)
            if score > 0
        ]


def spread(questions: Texts, count: int) -> Texts:
    """Return at most so many questions, from all over the collection."""
    return questions[:: max(1, len(questions) // count)][:count]


def judged_log(store: Chroma, log: Texts, answers: dict[str, set[str]]) -> Consensus:
    """Return what two hundred judged results of the log teach."""
    found = [store.similarity_search_with_score(text, k=DEPTH) for text in log.texts]
    lists = pc.RankedLists(
        [[distance for _, distance in one] for one in found],
        doc_ids=[[document.metadata["id"] for document, _ in one] for one in found],
        query_ids=log.ids,
        higher_is_better=False,
    )
    judged = pc.judge(lists, lambda question, document: document in answers.get(question, ()))
    return Consensus().fit(judged)


def retrievers_of(
    collection: str, documents: Texts, store: Chroma, log: Texts, answers: dict[str, set[str]]
) -> Iterable[tuple[str, BaseRetriever]]:
    """Yield the name and the retriever of every rung."""
    word = WORDS[collection]
    plain = ParetoCutRetriever(vectorstore=store, fetch_k=DEPTH)
    said = ParetoCutRetriever(vectorstore=store, fetch_k=DEPTH, expect=word)
    yield "the first ten", ParetoCutRetriever(vectorstore=store, truncator=FixedK(10))
    yield "the default", plain
    yield f'`expect="{word}"`', said
    yield f'`expect="{word}"`, calibrated', said.calibrate(documents.texts)
    yield "calibrated with a log", plain.calibrate(documents.texts, queries=log.texts)
    judged = ParetoCutRetriever(vectorstore=store, truncator=judged_log(store, log, answers))
    yield (
        "200 judged results, calibrated with a log",
        judged.calibrate(documents.texts, queries=log.texts),
    )
    texts = [
        Document(page_content=text, metadata={"id": name})
        for name, text in zip(documents.ids, documents.texts, strict=True)
    ]
    arms = {"words": Lexical.over(texts), "vectors": store}
    hybrid = ParetoCutFusionRetriever(retrievers=arms, fetch_k=DEPTH, id_key="id", expect=word)
    yield (
        f'hybrid, `expect="{word}"`, calibrated with a log',
        hybrid.calibrate(documents.texts, queries=log.texts),
    )


def f1(found: Sequence[str], answers: set[str]) -> float:
    """Return the harmonic mean of precision and recall."""
    return 2 * len(answers.intersection(found)) / (len(found) + len(answers))


def measure(retriever: BaseRetriever, good: Texts, others: Texts, answers: Any) -> dict[str, float]:
    """Return the row of one retriever."""

    def names(texts: Sequence[str]) -> list[list[str]]:
        return [[found.metadata["id"] for found in retriever.invoke(text)] for text in texts]

    found, off_topic = names(good.texts), names(others.texts)
    pairs = zip(good.ids, found, strict=True)
    return {
        "kept": float(np.median([len(one) for one in found])),
        "empty good": float(np.mean([not one for one in found])),
        "F1": float(np.mean([f1(one, answers.get(question, set())) for question, one in pairs])),
        "empty others": float(np.mean([not one for one in off_topic])),
    }


def main() -> None:
    """Ask all questions of every retriever, and print the table."""
    logging.getLogger("langchain_core").setLevel(logging.ERROR)  # it warns of every empty answer
    warnings.filterwarnings("ignore", category=UserWarning)  # of short BM25 lists
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--collection", default="med", choices=tuple(WORDS))
    parser.add_argument("--documents", type=int, help="use only the first N documents")
    parser.add_argument("--questions", type=int, default=200, help="at most N of each kind")
    parser.add_argument("--json", type=Path, help="also write the table as JSON")
    arguments = parser.parse_args()
    documents = documents_of(arguments.collection)[: arguments.documents]
    asked = spread(questions_of(arguments.collection), arguments.questions)
    log, good = asked[::2], asked[1::2]
    half = arguments.questions // 2
    others = spread(questions_of("time"), half) + spread(questions_of("hotpotqa500"), half)
    answers = judgements(f"{arguments.collection}/qrels.txt.gz")

    store = Chroma(
        collection_name=arguments.collection,
        embedding_function=Embedded(documents, asked, others),
        collection_metadata={"hnsw:space": "cosine"},
    )
    store.add_texts(documents.texts, metadatas=[{"id": name} for name in documents.ids])
    rows = {}
    print(
        f"{len(documents)} documents, {len(good)} questions with an answer, {len(others)} without"
    )
    print(f"\n| passed on | {' | '.join(COLUMNS)} |\n|---|{'---:|' * len(COLUMNS)}")
    for name, retriever in retrievers_of(arguments.collection, documents, store, log, answers):
        row = rows[name] = measure(retriever, good, others, answers)
        shares = [f"{100 * row[column]:.0f}%" for column in ("empty good", "empty others")]
        print(f"| {name} | {row['kept']:g} | {shares[0]} | {row['F1']:.2f} | {shares[1]} |")
    for text in (good.texts[0], others.texts[0]):
        print(f"\n{text}\n  {retriever.invoke(text).cut.reason}")
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
