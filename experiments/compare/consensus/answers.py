"""Is there an answer at all? `Consensus("accuracy")` and a background beside simple signals.

Each task has queries with and without an answer in the index. A method is a number for each
list, larger where an answer is more likely. Lists are parted at random into halves, ten times,
and each half is judged by what was learned on the other. Reported are the area under the ROC
curve, the accuracy, and for the two kinds of p-value the accuracy at 0.05 with no judged query
at all; differences are paired, with intervals over partings and lists. Another table has fewer
judged lists, and the last one lets an index grow tenfold after thresholds were set.
"""

from __future__ import annotations

import gzip
import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import paretocut as pc
from experiments.compare.consensus.homemade import bm25
from experiments.data import data_dir, query_texts, zip_rows
from experiments.pages import GREY, picture
from paretocut.background import fit_gev, gev_log_cdf
from paretocut.background.seen import score_at
from paretocut.truncators import Consensus
from paretocut.truncators.consensus.accuracy import AnswerModel

SEED, DEPTH, CONTEXT, ALPHA = 0, 100, 100, 0.05
REPEATS, DRAWS, SIZES = 10, 2000, (20, 50, 100, 200)
MODEL, REGRESSION = '`Consensus("accuracy")`', "regression on all of these"

Numbers = NDArray[np.float64]
Truths = NDArray[np.bool_]
Indices = NDArray[np.int64]
Method = Callable[[pc.RankedLists], Numbers]


@dataclass(frozen=True)
class Answers:
    """Lists with and without an answer, each of another query."""

    name: str
    lists: pc.RankedLists

    @property
    def answered(self) -> Truths:
        """Which lists hold an answer."""
        return answered(self.lists)


def answered(lists: pc.RankedLists) -> Truths:
    """Return which lists hold an answer."""
    return np.array([part.any() for part in lists.relevant], dtype=bool)


SIGNALS: dict[str, Method] = {
    "best score": lambda lists: np.array([part[0] for part in lists.merit]),
    "best over 100th score": lambda lists: np.array(
        [part[0] - part[min(CONTEXT, part.size) - 1] for part in lists.merit]
    ),
    "largest gap": lambda lists: np.array([(-np.diff(part)).max() for part in lists.merit]),
    "z of the best score": lambda lists: np.array(
        [(part[0] - part.mean()) / (part.std() or 1) for part in lists.merit]
    ),
    "surprise of the best": lambda lists: np.array(
        [part[0] for part in pc.fit_tails(lists).surprise]
    ),
    "surprise, refit all": lambda lists: np.array(
        [part[0] for part in pc.fit_tails(lists, refit="all").surprise]
    ),
}


class Given:
    """The law of the best score, given the score at a rank: a regression and its residuals."""

    def __init__(self, unanswered: pc.RankedLists, rank: int) -> None:
        self.rank = rank
        top, level = self._pairs(unanswered)
        self.slope = np.mean((level - level.mean()) * (top - top.mean())) / level.var()
        self.intercept = top.mean() - self.slope * level.mean()
        self.law = fit_gev(top - self.intercept - self.slope * level)

    def pvalue(self, lists: pc.RankedLists) -> Numbers:
        """Return the probability that chance alone reaches the best score of each list."""
        top, level = self._pairs(lists)
        shape, loc, scale = self.law
        rest = top - self.intercept - self.slope * level
        return -np.expm1(gev_log_cdf(rest, shape=shape, loc=loc, scale=scale))

    def _pairs(self, lists: pc.RankedLists) -> tuple[Numbers, Numbers]:
        return lists.merit.ends()[0], score_at(lists.merit, self.rank)


def backgrounds(unanswered: pc.RankedLists) -> dict[str, Method]:
    """Return minus the p-value under the background of these lists, alone or given a score."""
    fitted: dict[str, Any] = {
        "background": pc.Background.fit(unanswered),
        "background, given the 2nd score": Given(unanswered, 2),
        "background, given the 100th score": Given(unanswered, CONTEXT),
    }
    return {
        name: lambda lists, own=own: -own.pvalue(lists)  # type: ignore[misc]
        for name, own in fitted.items()
    }


def halves(task: Answers) -> Iterator[tuple[int, Indices, Indices]]:
    """Yield which lists to learn from and which to judge: random halves, both ways."""
    for repeat in range(REPEATS):
        # Other draws than those that chose the characters of an index.
        order = np.random.default_rng([SEED + 1, repeat]).permutation(len(task.lists))
        first, second = np.array_split(order, 2)
        yield repeat, first, second
        yield repeat, second, first


def judge(
    task: Answers, signals: Mapping[str, Numbers], learn: Indices, held: Indices
) -> Iterator[tuple[str, Numbers, Truths]]:
    """Yield each method's name, its numbers for the held lists and where it says "answer"."""
    train, test, known = task.lists[learn], task.lists[held], task.answered[learn]
    pairs = {name: (x[learn], x[held]) for name, x in signals.items()}
    for name, method in backgrounds(train[~known]).items():
        pairs[name] = method(train), method(test)
    for name, (before, now) in pairs.items():
        yield name, now, now >= threshold(before, known)
    yield REGRESSION, *_regression(pairs, known)
    model = Consensus("accuracy").fit(train)
    probability = model.learned_.answer.probability(test.merit)
    yield MODEL, probability, model.predict(test) > 0


def _regression(
    pairs: Mapping[str, tuple[Numbers, Numbers]], known: Truths
) -> tuple[Numbers, Truths]:
    """Return numbers and answers of a logistic regression on the other methods' numbers."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import QuantileTransformer

    train, test = (np.stack([pair[side] for pair in pairs.values()], axis=1) for side in (0, 1))
    model = make_pipeline(
        QuantileTransformer(n_quantiles=50, output_distribution="normal"),
        LogisticRegression(C=0.1),
    ).fit(train, known)
    x = model.decision_function(test)
    return x, x >= threshold(model.decision_function(train), known)


def measured(task: Answers) -> dict[str, Any]:
    """Return area, accuracy, accuracy at p = 0.05 and the lead over each method."""
    truth = task.answered
    signals = {name: method(task.lists) for name, method in SIGNALS.items()}
    areas: dict[str, list[float]] = {}
    right: dict[str, Numbers] = {}
    untuned: dict[str, list[float]] = {}
    for repeat, learn, held in halves(task):
        for name, x, says in judge(task, signals, learn, held):
            areas.setdefault(name, []).append(area(x, truth[held]))
            own = right.setdefault(name, np.zeros((REPEATS, len(truth))))
            own[repeat, held] = says == truth[held]
            if name.startswith("background"):
                untuned.setdefault(name, []).append(accuracy(x, truth[held], -ALPHA))
    rows: dict[str, dict[str, Any]] = {}
    for name, own in right.items():
        rows[name] = {"area": float(np.mean(areas[name])), "accuracy": float(own.mean())}
        if name in untuned:
            rows[name]["at 0.05"] = float(np.mean(untuned[name]))
        if name != MODEL:
            rows[name]["lead"] = interval(right[MODEL] - own)
    evalue = pc.fit_tails(task.lists).cut(evalue=ALPHA).k > 0
    rows["surprise of the best"]["at 0.05"] = float(np.mean(evalue == truth))
    return {
        "lists": len(truth),
        "answered": float(truth.mean()),
        "methods": rows,
        "curve": curve(task, signals),
    }


def curve(task: Answers, signals: Mapping[str, Numbers]) -> dict[str, dict[str, Any]]:
    """Return the accuracy of the model and of the best signal after a few judged lists."""
    truth, scores = task.answered, task.lists.merit
    rows: dict[str, dict[str, Any]] = {}
    for size in SIZES:
        right = {name: np.zeros((REPEATS, len(truth))) for name in (*signals, MODEL)}
        for repeat, learn, held in halves(task):
            few, known = learn[:size], truth[learn[:size]]
            for name, x in signals.items():
                says = x[held] >= threshold(x[few], known)
                right[name][repeat, held] = says == truth[held]
            says = AnswerModel.fit(scores.take(few), known).probability(scores.take(held)) > 0.5
            right[MODEL][repeat, held] = says == truth[held]
        best = max(signals, key=lambda name: right[name].mean())
        rows[str(size)] = {
            "accuracy": float(right[MODEL].mean()),
            "best signal": best,
            "its accuracy": float(right[best].mean()),
            "lead": interval(right[MODEL] - right[best]),
        }
    return rows


def interval(differences: Numbers) -> list[float]:
    """Return the mean and its 95 % bootstrap interval, partings (rows) and lists resampled."""
    rng = np.random.default_rng(SEED)
    rows, columns = (rng.multinomial(n, np.full(n, 1 / n), DRAWS) / n for n in differences.shape)
    means = np.sum(rows @ differences * columns, axis=1)
    return [float(differences.mean()), *map(float, np.percentile(means, [2.5, 97.5]))]


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


def search_digits(seed: int = 0) -> tuple[pc.RankedLists, pc.RankedLists]:
    """Return the results of 300 queries to tune on, and of 300 others to test on.

    Each query is an image that is not in the index. Its results are the 200 nearest images by
    Euclidean distance of the pixels; those that show the same digit are relevant. Every second
    query gets an index without its digit. For the others the index holds 10 to 30 images of it.
    """
    from sklearn.datasets import load_digits

    pixels, digits = load_digits(return_X_y=True)
    rng = np.random.default_rng(seed)
    by_digit = [rng.permutation(np.flatnonzero(digits == digit)) for digit in range(10)]
    indexed = [images[60:] for images in by_digit]
    parts = []
    for chosen in (slice(0, 30), slice(30, 60)):
        distances, relevance, counts = [], [], []
        for digit, images in enumerate(by_digit):
            others = np.concatenate(indexed[:digit] + indexed[digit + 1 :])
            for i, query in enumerate(images[chosen]):
                count = int(rng.integers(10, 31)) if i % 2 == 0 else 0
                index = np.append(others, rng.permutation(indexed[digit])[:count])
                distance = np.linalg.norm(pixels[index] - pixels[query], axis=1)
                nearest = np.argsort(distance, kind="stable")[:200]
                distances.append(distance[nearest])
                relevance.append(digits[index[nearest]] == digit)
                counts.append(count)
        parts.append(
            pc.RankedLists(distances, relevance, num_relevant=counts, higher_is_better=False)
        )
    return parts[0], parts[1]


def digits() -> Answers:
    """Return digits with every second query's digit removed from its index."""
    return Answers("digits, classes removed", pc.RankedLists.concat(search_digits(SEED)))


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


class Omniglot:
    """Omniglot with half of the characters out of the index."""

    def __init__(self, stage: int, *, share: float = 1.0) -> None:
        from experiments.paper.omniglot import read_embeddings

        self.vectors, self.train = read_embeddings(stage)
        characters = np.random.default_rng(SEED).permutation(len(self.vectors))
        half = len(characters) // 2
        self.inside, self.outside = characters[: int(share * half)], characters[half:]
        self.labels = np.broadcast_to(np.arange(len(self.vectors))[:, None], self.train.shape)
        self.indexed = np.zeros_like(self.train)
        self.indexed[self.inside] = self.train[self.inside]
        self.size = int(self.indexed.sum())

    def lists(self, characters: Any, *, drawings: int | None = None) -> pc.RankedLists:
        """Return the lists of these characters' first drawings that are not in any index."""
        rows = np.zeros_like(self.train)
        for character in characters:
            rows[character, np.flatnonzero(~self.train[character])[:drawings]] = True
        return _nearest(
            self.vectors[rows],
            self.labels[rows],
            self.vectors[self.indexed],
            self.labels[self.indexed],
        )


def omniglot(stage: int) -> Answers:
    """Return one query of each character, half of the characters being out of the index."""
    index = Omniglot(stage)
    lists = index.lists(np.arange(len(index.vectors)), drawings=1)
    return Answers(f"Omniglot after {stage} epochs, characters removed", lists)


def scifact() -> Answers:
    """Return SciFact claims, and Vaswani and Robust04 questions put to its documents, by BM25."""
    corpus = zip_rows("scifact/scifact.zip", "corpus_train.csv")
    texts = [f"{row['title']} {row['abstract']}" for row in corpus]
    documents = np.array([row["doc_id"] for row in corpus])
    with gzip.open(data_dir() / "scifact" / "qrels.txt.gz", "rt") as lines:
        pairs = [line.split() for line in lines]
    right = {(row[0], row[2]) for row in pairs if int(row[3]) > 0}
    judged = {query for query, _ in right}
    claims = query_texts("scifact/scifact.zip")
    named = {q: t for q, t in claims.items() if q.startswith("validation") and q in judged}
    topics = ("vaswani/query-text.trec.gz", "robust04/topics.robust04.txt.gz")
    questions = [text for name in topics for text in _topics(name)]
    chosen = np.random.default_rng(SEED).permutation(len(questions))[: len(named)]
    off_topic = [questions[i] for i in chosen]
    scores = bm25(texts, [*named.values(), *off_topic])
    best = np.argsort(-scores, axis=1, kind="stable")[:, :DEPTH]
    names = [*named, *[""] * len(off_topic)]
    relevant = [
        [(name, documents[j]) in right for j in row] for name, row in zip(names, best, strict=True)
    ]
    lists = pc.RankedLists(np.take_along_axis(scores, best, axis=1), relevant)
    # A claim whose documents are not among the results is neither kind.
    found = lists[[any(row) or not name for row, name in zip(relevant, names, strict=True)]]
    return Answers("SciFact by BM25, off-topic questions", found)


def _topics(name: str) -> Iterator[str]:
    """Yield the texts of topics; those of Robust04 with their narratives."""
    with gzip.open(data_dir() / name, "rt", encoding="latin-1") as file:
        for topic in file.read().split("<top>")[1:]:
            body = topic.partition("<narr>")[0].partition("</num>")[2] or topic
            text = re.sub(r"<num>.*|<[^>]*>|Number:\s*\d+|Description:", " ", body)
            yield " ".join(text.split())


def same_document() -> Answers:
    """Return Same Document, the task of the paper's first table, half of the matches removed.

    The encoder is trained for a quarter of the epochs that the paper's table has here.
    """
    from experiments.paper.same_document import (
        featurize,
        make_task,
        read_documents,
        train_encoder,
    )

    features = featurize(read_documents(data_dir()), "word", "l2")
    (halves_of,) = train_encoder(features, epochs=[15], seed=SEED).values()
    task = make_task(halves_of.astype(np.float32), SEED, training="half matched")
    # Training queries are both halves of each document in turn: one of them will do.
    rows = 2 * np.random.default_rng(SEED).permutation(len(task.train) // 2)[:1000]
    return Answers("Same Document", _scores([task.train[rows], task.test]))


def _scores(parts: list[pc.RankedLists]) -> pc.RankedLists:
    """Return the lists of all parts, with scores and relevance only."""
    return pc.RankedLists.concat([pc.RankedLists(part.merit, part.relevant) for part in parts])


def growth(stage: int = 51) -> dict[str, dict[str, float]]:
    """Return false answers and accuracy after tenfold growth, thresholds set before."""
    small, large = Omniglot(stage, share=0.1), Omniglot(stage)
    # The same queries in both: characters of the small index, and others in neither.
    members, others = small.inside, small.outside[: 2 * len(small.inside)]
    train, test = (
        pc.RankedLists.concat([index.lists(members[k::2]), index.lists(others[k::4])])
        for index, k in ((small, 0), (large, 1))
    )
    known, truth = answered(train), answered(test)
    unanswered = train[~known]
    rows = {
        f"{name}, tuned before": method(test) >= threshold(method(train), known)
        for name, method in (SIGNALS | backgrounds(unanswered)).items()
    }
    model = AnswerModel.fit(train.merit, known)
    rows[f"{MODEL}, tuned before"] = model.probability(test.merit) > 0.5
    plain = pc.Background.fit(unanswered, size=small.size)
    rows["background at 0.05, old size"] = plain.pvalue(test) <= ALPHA
    rows["background at 0.05, size followed"] = plain.pvalue(test, size=large.size) <= ALPHA
    for rank, name in ((10, "10th"), (CONTEXT, "100th")):
        given = Given(unanswered, rank)
        rows[f"background, given the {name} score, at 0.05"] = given.pvalue(test) <= ALPHA
    return {
        name: {
            "false answers": float(np.mean(kept[~truth])),
            "answers found": float(np.mean(kept[truth])),
            "accuracy": float(np.mean(kept == truth)),
        }
        for name, kept in rows.items()
    } | {"index": {"before": small.size, "after": large.size}}


def figure(tasks: list[Answers]) -> None:
    """Draw the ROC curves of some methods on each task.

    Each list is judged by what was learned on the other half, in the first parting.
    """
    shown = {
        "largest gap": ("#CC79A7", ":"),
        "z of the best score": ("#009E73", "-."),
        "surprise of the best": ("#56B4E9", (0, (5, 1, 1, 1, 1, 1))),
        "background, given the 100th score": ("#E69F00", (0, (4, 2))),
        "best score": ("#0072B2", "--"),
        MODEL: ("#D55E00", "-"),
    }
    with picture("compare-answers", (7.5, 5.2), 2, 3) as grid:
        panels = list(grid.flat)
        for axes, task in zip(panels, tasks, strict=False):
            signals = {name: method(task.lists) for name, method in SIGNALS.items()}
            numbers = {name: np.zeros(len(task.lists)) for name in shown}
            for _, learn, held in itertools.islice(halves(task), 2):
                for name, x, _ in judge(task, signals, learn, held):
                    if name in shown:
                        numbers[name][held] = x
            axes.plot([0, 1], [0, 1], color=GREY, linewidth=0.5)
            for name, (color, style) in shown.items():
                axes.plot(*roc(numbers[name], task.answered), color=color, linestyle=style)
            axes.set_title(task.name.replace(", ", "\n", 1))
            axes.set_aspect("equal")
        for axes in (panels[0], panels[3]):
            axes.set_ylabel("answers found")
        for axes in panels[2:5]:
            axes.set_xlabel("false answers")
        panels[5].axis("off")
        for name, (color, style) in reversed(shown.items()):
            panels[5].plot([], [], color=color, linestyle=style, label=name.strip("`"))
        panels[5].legend(loc="center")


def roc(x: Numbers, truth: Truths) -> tuple[Numbers, Numbers]:
    """Return false answers and answers found, as shares, for a hundred limits."""
    limits = np.unique(np.append(np.quantile(x, np.linspace(0, 1, 100)), np.inf))
    shares = [
        1 - np.searchsorted(np.sort(x[kind]), limits) / kind.sum() for kind in (~truth, truth)
    ]
    return shares[0], shares[1]


def measure() -> dict[str, Any]:
    """Return the results of all tasks, and draw the figure."""
    tasks = [digits(), omniglot(10), omniglot(51), scifact(), same_document()]
    figure(tasks)
    return {"tasks": {task.name: measured(task) for task in tasks}, "growth": growth()}
