"""Other kinds of lists than the judged runs: made here, from texts, drawings and digits.

The judged runs are ad-hoc searches with tens of relevant results, and one collection with about
one. These are searches of other kinds: for one known story, for stories on a topic, for articles
by an author, for drawings of a character, for images of a digit. `Consensus` learns from all
collections but the one it is tested on, and from more kinds it learns more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.preprocessing import normalize

import paretocut as pc
from experiments.data import Run, data_dir, json_rows, query_texts, zip_rows
from experiments.paper.authorship import read_articles
from experiments.paper.omniglot import STAGES, read_embeddings
from experiments.texts import documents

DEPTH, QUERIES = 1000, 250
FEWEST, MOST = 5, 150  # stories on a topic
PER_DIGIT = 60
DIMENSIONS = 150

Scores = NDArray[np.float64]


def made() -> dict[Run, pc.RankedLists]:
    """Return the lists of every kind, by a run of this name and family."""
    return _named(
        {
            "Reuters titles": _titles(),
            "Reuters topics": _topics(),
            "C50 authors": _authors(),
            "Digits": _digits(),
            "Omniglot": _omniglot(),
        }
    )


def fresh() -> dict[Run, pc.RankedLists]:
    """Return lists by other systems and of other queries, made when all choices were made."""
    return _named(
        {
            "Vaswani": _vaswani(),
            "SciFact": _claims(),
            "C50": _characters(),
            "Digits": _cosine(),
        }
    )


def _named(kinds: Mapping[str, Iterator[tuple[str, pc.RankedLists]]]) -> dict[Run, pc.RankedLists]:
    return {
        Run(f"{family}, {name}", family, "", family): lists
        for family, parts in kinds.items()
        for name, lists in parts
    }


def _vaswani() -> Iterator[tuple[str, pc.RankedLists]]:
    texts = documents("vaswani")
    queries = query_texts("vaswani/query-text.trec.gz")
    right = _judged("vaswani/qrels.txt.gz", list(queries), list(texts))
    yield from _texts(list(texts.values()), list(queries.values()), right)


def _claims() -> Iterator[tuple[str, pc.RankedLists]]:
    corpus = zip_rows("scifact/scifact.zip", "corpus_train.csv")
    texts = [f"{row['title']} {row['abstract']}" for row in corpus]
    claims = query_texts("scifact/scifact.zip")
    names = [name for name in claims if name.startswith("train")]
    right = _judged("scifact/qrels.txt.gz", names, [row["doc_id"] for row in corpus])
    kept = np.flatnonzero(right.any(axis=1))[:300]
    yield from _texts(texts, [claims[names[i]] for i in kept], right[kept])


def _texts(
    texts: Sequence[str], queries: Sequence[str], right: NDArray[np.bool_]
) -> Iterator[tuple[str, pc.RankedLists]]:
    yield "bm25", _lists(bm25(texts, queries), right)
    cosine, reduced = _cosines(texts, queries)
    yield "tfidf", _lists(cosine, right)
    yield "lsa", _lists(reduced, right)


def _judged(name: str, queries: Sequence[str], documents: Sequence[str]) -> NDArray[np.bool_]:
    """Return which documents (columns) are relevant for which queries (rows)."""
    qrels = pc.io.read_qrels(data_dir() / name)
    row = {query: i for i, query in enumerate(queries)}
    column = {document: i for i, document in enumerate(documents)}
    right = np.zeros((len(queries), len(documents)), dtype=bool)
    for query, names, grades in zip(qrels.query_ids, qrels.doc_ids, qrels.grades, strict=True):
        if query in row:
            relevant = [column[name] for name in names[grades > 0]]
            right[row[query], relevant] = True
    return right


def _characters() -> Iterator[tuple[str, pc.RankedLists]]:
    texts, author = _articles()
    chosen = np.random.default_rng(5).permutation(len(texts))[:200]
    vectorizer = TfidfVectorizer(
        analyzer="char", ngram_range=(4, 4), max_features=5000, sublinear_tf=True
    )
    vectors = vectorizer.fit_transform(texts)
    scores = np.asarray((vectors[chosen] @ vectors.T).toarray())
    yield "4-grams", _lists(scores, author[chosen][:, None] == author, chosen)


def _cosine() -> Iterator[tuple[str, pc.RankedLists]]:
    """Yield searches by cosine in an index with 10 images of 0, 22 of 1, up to 118 of 9."""
    pixels, digits = load_digits(return_X_y=True)
    vectors = normalize(pixels - pixels.mean(axis=0))
    order = np.random.default_rng(9).permutation(len(vectors))
    queries, rest = order[:200], order[200:]
    index = np.concatenate([rest[digits[rest] == digit][: 10 + 12 * digit] for digit in range(10)])
    scores = vectors[queries] @ vectors[index].T
    yield "cosine", _lists(scores, digits[queries][:, None] == digits[index])


def _stories() -> list[dict[str, Any]]:
    stories = json_rows("reuters/aptemod.jsonl.xz")
    return [story for story in stories if story["title"] and len(story["body"].split()) > 30]


def _titles() -> Iterator[tuple[str, pc.RankedLists]]:
    """Yield searches by a story's title for its text: one result is right."""
    stories = _stories()
    chosen = np.random.default_rng(0).permutation(len(stories))[:QUERIES]
    texts = [story["body"] for story in stories]
    queries = [stories[i]["title"] for i in chosen]
    yield from _texts(texts, queries, chosen[:, None] == np.arange(len(texts)))


def _topics() -> Iterator[tuple[str, pc.RankedLists]]:
    """Yield searches by a story, or its title, for stories on one of its rarer topics."""
    stories = _stories()
    counts = Counter(topic for story in stories for topic in story["topics"])
    rare = {topic for topic, count in counts.items() if FEWEST <= count <= MOST}
    topics = [rare & set(story["topics"]) for story in stories]
    order = np.random.default_rng(0).permutation(len(stories))
    chosen = np.array([i for i in order if topics[i]][:QUERIES])
    right = np.array([[bool(topics[i] & other) for other in topics] for i in chosen])
    texts = [f"{story['title']} {story['body']}" for story in stories]
    cosine, reduced = _cosines(texts, [texts[i] for i in chosen])
    yield "tfidf", _lists(cosine, right, chosen)
    yield "lsa", _lists(reduced, right, chosen)
    titles = [stories[i]["title"] for i in chosen]
    yield "bm25", _lists(bm25(texts, titles), right, chosen)


def _authors() -> Iterator[tuple[str, pc.RankedLists]]:
    """Yield searches by an article for others by its author."""
    texts, author = _articles()
    chosen = np.random.default_rng(0).permutation(len(texts))[:QUERIES]
    right = author[chosen][:, None] == author
    cosine, reduced = _cosines(texts, [texts[i] for i in chosen])
    yield "tfidf", _lists(cosine, right, chosen)
    yield "lsa", _lists(reduced, right, chosen)


def _articles() -> tuple[list[str], NDArray[np.int64]]:
    articles = read_articles(data_dir())
    texts = [text for own in articles.values() for text in own]
    return texts, np.repeat(np.arange(len(articles)), [len(own) for own in articles.values()])


def _digits() -> Iterator[tuple[str, pc.RankedLists]]:
    """Yield searches by an image for others of its digit, by distance of the pixels."""
    pixels, digits = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    order = [rng.permutation(np.flatnonzero(digits == digit)) for digit in range(10)]
    index = np.concatenate([own[:PER_DIGIT] for own in order])
    queries = np.concatenate([own[PER_DIGIT : PER_DIGIT + 15] for own in order])
    scores = -_distances(pixels[queries], pixels[index])
    yield "pixels", _lists(scores, digits[queries][:, None] == digits[index])


def _omniglot() -> Iterator[tuple[str, pc.RankedLists]]:
    """Yield searches by a drawing for others of its character, by distance of embeddings."""
    for stage in STAGES:
        vectors, train = read_embeddings(stage)
        labels = np.broadcast_to(np.arange(len(vectors))[:, None], train.shape)
        chosen = np.random.default_rng(0).permutation(int((~train).sum()))[:QUERIES]
        scores = -_distances(vectors[~train][chosen], vectors[train])
        yield f"epoch{stage}", _lists(scores, labels[~train][chosen][:, None] == labels[train])


def bm25(texts: Sequence[str], queries: Sequence[str]) -> Scores:
    """Return the BM25 scores of all texts (columns) for all queries (rows)."""
    vectorizer = CountVectorizer(stop_words="english")
    counts = vectorizer.fit_transform(texts).tocoo().astype(np.float64)
    lengths = np.asarray(counts.sum(axis=1)).ravel()
    present = np.bincount(counts.col, minlength=counts.shape[1])
    weights = np.log1p((len(texts) - present + 0.5) / (present + 0.5))
    norm = 0.9 * (1 - 0.4 + 0.4 * lengths / lengths.mean())
    counts.data *= 1.9 / (counts.data + norm[counts.row])
    asked = vectorizer.transform(queries).multiply(weights).tocsr()
    return np.asarray((asked @ counts.tocsr().T).toarray())


def _cosines(texts: Sequence[str], queries: Sequence[str]) -> tuple[Scores, Scores]:
    """Return cosines of TF-IDF vectors, and of their leading singular vectors."""
    vectorizer = TfidfVectorizer(sublinear_tf=True, stop_words="english")
    index = vectorizer.fit_transform(texts)
    asked: sparse.csr_matrix = vectorizer.transform(queries)
    model = TruncatedSVD(DIMENSIONS, random_state=0).fit(index)
    reduced = normalize(model.transform(asked)) @ normalize(model.transform(index)).T
    return np.asarray((asked @ index.T).toarray()), np.asarray(reduced)


def _distances(queries: NDArray[Any], index: NDArray[Any]) -> Scores:
    left, right = queries.astype(np.float64), index.astype(np.float64)
    squares = (left**2).sum(1)[:, None] + (right**2).sum(1) - 2 * left @ right.T
    return np.asarray(np.sqrt(np.maximum(squares, 0)))


def _lists(
    scores: Scores, right: NDArray[np.bool_], own: NDArray[np.int64] | None = None
) -> pc.RankedLists:
    """Return the best thousand of each row, without the query's own text and what scores 0."""
    scores = scores.copy()
    if own is not None:
        scores[np.arange(len(own)), own] = 0.0
    order = np.argsort(-scores, axis=1, kind="stable")[:, :DEPTH]
    best = [row[scores[i, row] != 0] for i, row in enumerate(order)]
    return pc.RankedLists(
        [scores[i, row] for i, row in enumerate(best)],
        [right[i, row] for i, row in enumerate(best)],
    )
