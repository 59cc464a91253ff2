"""Is there an answer at all? A background null beside raw scores, gaps and surprise.

Each task has queries with and without an answer in the index. A method is a number for each
list, larger where an answer is more likely. Reported are the area under its ROC curve, its
accuracy with the threshold that was best on other queries, and, for the two kinds of p-value,
accuracy at 0.05 with no judged query at all. The last table lets an index grow tenfold after
thresholds were set.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import paretocut as pc
from experiments.data import data_dir
from paretocut.cli.demo import search_digits
from paretocut.truncators import Consensus

SEED, DEPTH, CONTEXT, ALPHA = 0, 100, 100, 0.05


@dataclass(frozen=True)
class Answers:
    """Lists with and without an answer, to learn from and to test on."""

    name: str
    train: pc.RankedLists
    test: pc.RankedLists

    def answered(self, lists: pc.RankedLists) -> NDArray[np.bool_]:
        """Return which lists hold an answer."""
        return np.array([part.any() for part in lists.relevant], dtype=bool)


def statistics(train: pc.RankedLists, answered: NDArray[np.bool_]) -> dict[str, Callable[..., Any]]:
    """Return the methods, those with a background fitted on the unanswered training queries."""
    unanswered = train[~answered]
    backgrounds = {
        "background": pc.Background.fit(unanswered),
        "background, given the 100th score": pc.Background.fit(unanswered, context=CONTEXT),
    }
    methods: dict[str, Callable[..., Any]] = {
        "best score": lambda lists: np.array([part[0] for part in lists.scores]),
        "best over 100th score": lambda lists: np.array(
            [part[0] - part[min(CONTEXT, part.size) - 1] for part in lists.scores]
        ),
        "largest gap": lambda lists: np.array([(-np.diff(part)).max() for part in lists.scores]),
        "z of the best score": lambda lists: np.array(
            [(part[0] - part.mean()) / (part.std() or 1) for part in lists.scores]
        ),
        "surprise of the best": lambda lists: np.array(
            [part[0] for part in pc.fit_batch(lists).surprise]
        ),
        "surprise, refit all": lambda lists: np.array(
            [part[0] for part in pc.fit_batch(lists, refit="all").surprise]
        ),
    }
    for name, background in backgrounds.items():
        methods[name] = lambda lists, background=background: -background.pvalue(lists)
    return methods


def measure(task: Answers) -> dict[str, dict[str, float]]:
    """Return area, tuned accuracy and accuracy at p = 0.05 of each method."""
    truth, known = task.answered(task.test), task.answered(task.train)
    rows = {}
    for name, method in statistics(task.train, known).items():
        learned, x = method(task.train), method(task.test)
        row = {"area": area(x, truth), "accuracy": accuracy(x, truth, threshold(learned, known))}
        if name.startswith("background"):
            row["at 0.05"] = accuracy(x, truth, -ALPHA)
        rows[name] = row
    vote = Consensus("accuracy").fit(task.train).predict(task.test) > 0
    rows["consensus for accuracy"] = {"accuracy": float(np.mean(vote == truth))}
    rows["regression on all of these"] = _regression(task, rows)
    evalue = pc.fit_batch(task.test).cut(evalue=ALPHA) > 0
    rows["surprise of the best"]["at 0.05"] = float(np.mean(evalue == truth))
    return rows


def _regression(task: Answers, names: Iterable[str]) -> dict[str, float]:
    """Return area and accuracy of a logistic regression on the other methods' numbers."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import QuantileTransformer

    known, truth = task.answered(task.train), task.answered(task.test)
    methods = statistics(task.train, known)
    train, test = (
        np.stack([methods[name](lists) for name in names if name in methods], axis=1)
        for lists in (task.train, task.test)
    )
    model = make_pipeline(
        QuantileTransformer(n_quantiles=50, output_distribution="normal"),
        LogisticRegression(C=0.1),
    ).fit(train, known)
    x = model.decision_function(test)
    limit = threshold(model.decision_function(train), known)
    return {"area": area(x, truth), "accuracy": accuracy(x, truth, limit)}


def area(x: NDArray[np.float64], truth: NDArray[np.bool_]) -> float:
    """Return the probability that an answered query has more than an unanswered one."""
    order = np.unique(x, return_inverse=True)[1]
    yes = np.bincount(order[truth], minlength=order.max() + 1)
    no = np.bincount(order[~truth], minlength=order.max() + 1)
    below = np.cumsum(no) - no
    return float(np.sum(yes * (below + 0.5 * no)) / (yes.sum() * no.sum()))


def accuracy(x: NDArray[np.float64], truth: NDArray[np.bool_], limit: float) -> float:
    """Return how often "at least the limit" is the truth."""
    return float(np.mean((x >= limit) == truth))


def threshold(x: NDArray[np.float64], truth: NDArray[np.bool_]) -> float:
    """Return the limit with the highest accuracy."""
    order = np.argsort(-x, kind="stable")
    gains = np.cumsum(np.where(truth[order], 1, -1))
    best = int(np.argmax(np.append(gains, 0)))
    if best == len(gains):
        return float("inf")
    following = x[order[best + 1]] if best + 1 < len(x) else x[order[best]] - 1
    return float(0.5 * (x[order[best]] + following))


def digits() -> Answers:
    """Return digits with every second query's digit removed from its index."""
    train, test = search_digits(SEED)
    return Answers("digits, classes removed", train, test)


def _nearest(
    queries: Any, labels: Any, index: Any, index_labels: Any, depth: int = DEPTH
) -> pc.RankedLists:
    left, right = queries.astype(np.float64), index.astype(np.float64)
    scores, found = [], []
    for part in np.array_split(left, max(1, len(left) // 200)):
        squares = (part**2).sum(1)[:, None] + (right**2).sum(1)[None] - 2 * part @ right.T
        near = np.argpartition(squares, depth, axis=1)[:, :depth]
        scores.append(-np.sqrt(np.maximum(np.take_along_axis(squares, near, axis=1), 0)))
        found.append(near)
    near = np.concatenate(found)
    return pc.RankedLists(np.concatenate(scores), index_labels[near] == labels[:, None])


def omniglot(stage: int, *, share: float = 1.0) -> tuple[Answers, int]:
    """Return Omniglot with half of the characters out of the index, and the index size.

    Parameters
    ----------
    stage
        Epochs the encoder was trained for.
    share
        Share of the other half that is in the index. Queries do not depend on it: characters
        of the smallest index have an answer in all of them.
    """
    from experiments.paper.omniglot import read_embeddings

    vectors, train = read_embeddings(stage)
    characters = np.random.default_rng(SEED).permutation(len(vectors))
    half = len(characters) // 2
    inside, outside = characters[: int(share * half)], characters[half:]
    small = characters[: half // 10]
    labels = np.broadcast_to(np.arange(len(vectors))[:, None], train.shape)
    chosen = np.zeros_like(train)
    chosen[inside] = train[inside]
    index, index_labels = vectors[chosen], labels[chosen]

    def lists(members: Any) -> pc.RankedLists:
        rows = np.zeros_like(train)
        rows[members] = ~train[members]
        return _nearest(vectors[rows], labels[rows], index, index_labels)

    some = outside[: 2 * len(small)]
    parts = [pc.RankedLists.concat([lists(small[k::2]), lists(some[k::4])]) for k in (0, 1)]
    name = f"Omniglot after {stage} epochs, characters removed"
    return Answers(name, *parts), len(index)


def scifact() -> Answers:
    """Return SciFact claims, and Vaswani and Robust04 questions put to its documents, by BM25."""
    from sklearn.feature_extraction.text import CountVectorizer

    folder = data_dir()
    with zipfile.ZipFile(folder / "scifact" / "scifact.zip") as archive:
        with archive.open("corpus_train.csv") as file:
            corpus = list(csv.DictReader(io.TextIOWrapper(file, "utf-8")))
        with archive.open("claims_validation.csv") as file:
            claims = {
                f"validation-{row['id']}": row["claim"]
                for row in csv.DictReader(io.TextIOWrapper(file, "utf-8"))
            }
    texts = [f"{row['title']} {row['abstract']}" for row in corpus]
    documents = np.array([row["doc_id"] for row in corpus])
    with gzip.open(folder / "scifact" / "qrels.txt.gz", "rt") as lines:
        pairs = [line.split() for line in lines]
    right = {(row[0], row[2]) for row in pairs if int(row[3]) > 0}
    judged = {query for query, _ in right}
    named = {query: text for query, text in claims.items() if query in judged}
    off_topic = [
        *_topics("vaswani/query-text.trec.gz"),
        *_topics("robust04/topics.robust04.txt.gz"),
    ]
    off_topic = [
        off_topic[i] for i in np.random.default_rng(SEED).permutation(len(off_topic))[: len(named)]
    ]
    vectorizer = CountVectorizer(stop_words="english")
    counts = vectorizer.fit_transform(texts).tocsr().astype(float)
    lengths = np.asarray(counts.sum(axis=1)).ravel()
    present = np.asarray((counts > 0).sum(axis=0)).ravel()
    weights = np.log1p((len(texts) - present + 0.5) / (present + 0.5))
    saturated = counts.tocoo()
    norm = 0.9 * (1 - 0.4 + 0.4 * lengths / lengths.mean())
    saturated.data = saturated.data * 1.9 / (saturated.data + norm[saturated.row])
    asked = vectorizer.transform([*named.values(), *off_topic]).multiply(weights).tocsr()
    scores = np.asarray((asked @ saturated.tocsr().T).todense())
    best = np.argsort(-scores, axis=1, kind="stable")[:, :DEPTH]
    names = [*named, *[""] * len(off_topic)]
    relevant = [
        [(name, documents[j]) in right for j in row] for name, row in zip(names, best, strict=True)
    ]
    lists = pc.RankedLists(np.take_along_axis(scores, best, axis=1), relevant)
    # A claim whose documents are not among the results is neither kind.
    found = lists[[any(row) or not name for row, name in zip(relevant, names, strict=True)]]
    train, test = found.split(0.5, seed=SEED)
    return Answers("SciFact by BM25, off-topic questions", train, test)


def _topics(name: str) -> Iterator[str]:
    with gzip.open(data_dir() / name, "rt", encoding="latin-1") as file:
        for topic in file.read().split("<top>")[1:]:
            body = topic.partition("<narr>")[0].partition("</num>")[2] or topic
            text = re.sub(r"<num>.*|<[^>]*>|Number:\s*\d+|Description:", " ", body)
            yield " ".join(text.split())


def same_document() -> Answers:
    """Return Same Document as in the paper's first table, half of the training halves unmatched."""
    from experiments.paper.same_document import make_task
    from experiments.paper.tables import same_document_embeddings

    task = make_task(same_document_embeddings()[0], SEED, training="half matched")
    rows = np.random.default_rng(SEED).permutation(len(task.train))[:1000]
    return Answers("Same Document", task.train[rows], task.test)


def growth(stage: int = 51) -> dict[str, dict[str, float]]:
    """Return false answers and accuracy after tenfold growth, thresholds set before."""
    small, before = omniglot(stage, share=0.1)
    large, after = omniglot(stage)
    known, truth = small.answered(small.train), large.answered(large.test)
    rows = {}
    for name, method in statistics(small.train, known).items():
        kept = method(large.test) >= threshold(method(small.train), known)
        rows[f"{name}, tuned before"] = kept
    unanswered = small.train[~known]
    plain = pc.Background.fit(unanswered, size=before)
    rows["background at 0.05, old size"] = plain.pvalue(large.test) <= ALPHA
    rows["background at 0.05, size followed"] = plain.pvalue(large.test, size=after) <= ALPHA
    for rank, name in ((10, "10th"), (CONTEXT, "100th")):
        given = pc.Background.fit(unanswered, context=rank)
        rows[f"background, given the {name} score, at 0.05"] = given.pvalue(large.test) <= ALPHA
    return {
        name: {
            "false answers": float(np.mean(kept[~truth])),
            "answers found": float(np.mean(kept[truth])),
            "accuracy": float(np.mean(kept == truth)),
        }
        for name, kept in rows.items()
    } | {"index": {"before": before, "after": after}}


def run() -> dict[str, Any]:
    """Return the results of all tasks that can be made here."""
    tasks = [digits(), omniglot(10)[0], omniglot(51)[0], scifact(), same_document()]
    return {
        "tasks": {
            task.name: {
                "queries": len(task.test),
                "answered": float(task.answered(task.test).mean()),
                "methods": measure(task),
            }
            for task in tasks
        },
        "growth": growth(),
    }
