"""News Authorship, on C50: find articles by the same author.

The paper's articles by 1,256 authors were never published. C50 has 50 authors with 100 articles;
of those with at least 60 articles of 400 words or more, 50 articles train and 10 test. Features
are the 2,000 most frequent character 4-grams of the training articles, scaled to length 1; the
encoder has 256 ReLU and 128 linear units and is trained on pairs by one author, with a softmax
over the dot products in batches of 256, Adam with learning rate 0.001, 300 epochs.
"""

from __future__ import annotations

import tarfile
from collections import defaultdict
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.feature_extraction.text import CountVectorizer
from torch import nn

from experiments.paper.retrieval import Task, Training, ranked_lists

WORDS = 400
TRAIN, TEST = 50, 10
INDEX_COUNTS = (10, 20, 30, 40, 50)
PARTNERS = 5


def read_articles(folder: Path) -> dict[str, list[str]]:
    """Return the articles of 400 words or more of each author with at least 60 of them."""
    texts: dict[str, str] = {}
    with tarfile.open(folder / "c50" / "c50.tar.xz") as archive:
        for member in archive:  # in the order of the file: going back would unpack it anew
            file = archive.extractfile(member) if member.isfile() else None
            if file is not None:
                texts[member.name] = file.read().decode("utf-8", errors="replace")
    articles: dict[str, list[str]] = defaultdict(list)
    for name, text in sorted(texts.items()):
        if len(text.split()) >= WORDS:
            articles[name.split("/")[-2]].append(text)
    return {name: long for name, long in sorted(articles.items()) if len(long) >= TRAIN + TEST}


def draw(articles: dict[str, list[str]], seed: int) -> tuple[list[str], list[str], list[str]]:
    """Return the training articles, 50 per author, the test articles, 10 each, and their names."""
    generator = np.random.default_rng(seed)
    train, test, names = [], [], []
    for author, texts in articles.items():
        order = generator.permutation(len(texts))
        train += [texts[i] for i in order[:TRAIN]]
        test += [texts[i] for i in order[TRAIN : TRAIN + TEST]]
        names += [f"{author}-{i}" for i in order[TRAIN : TRAIN + TEST]]
    return train, test, names


def featurize(train: list[str], test: list[str]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the counts of the 2,000 most frequent 4-grams in training, scaled to length 1."""
    model = CountVectorizer(analyzer="char", ngram_range=(4, 4), max_features=2000, lowercase=False)
    model.fit(train)
    parts = []
    for texts in (train, test):
        counts = model.transform(texts).toarray().astype(np.float32)
        parts.append(counts / np.linalg.norm(counts, axis=1, keepdims=True))
    return parts[0], parts[1]


def train_encoder(
    features: NDArray[np.float32],
    *,
    epochs: int,
    seed: int,
    batch: int = 256,
    device: str = "cpu",
) -> nn.Sequential:
    """Return the encoder, trained on articles that come in runs of 50 by one author.

    Every article is the left side of a pair once per epoch; its right side is one of five
    articles of the same author drawn for it at the start.
    """
    torch.manual_seed(seed)
    generator = np.random.default_rng(seed)
    data = torch.from_numpy(features).to(device)
    rows = np.arange(len(features))
    # Steps of 1..49 around the circle of the author's articles: never the article itself.
    steps = generator.random((len(rows), TRAIN - 1)).argsort(axis=1)[:, :PARTNERS] + 1
    partners = rows[:, None] // TRAIN * TRAIN + (rows[:, None] % TRAIN + steps) % TRAIN
    model = nn.Sequential(nn.Linear(features.shape[1], 256), nn.ReLU(), nn.Linear(256, 128))
    model = model.to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.001)
    torch.set_flush_denormal(True)  # weights that die out would slow every later step
    try:
        for _ in range(epochs):
            order = generator.permutation(len(rows))
            right = partners[order, generator.integers(PARTNERS, size=len(rows))]
            for start in range(0, len(rows), batch):
                pair = [
                    torch.from_numpy(side[start : start + batch]).to(device)
                    for side in (order, right)
                ]
                left, other = (model(data[side]) for side in pair)
                loss = nn.functional.cross_entropy(
                    left @ other.T, torch.arange(len(left), device=device), reduction="sum"
                )
                optimizer.zero_grad(set_to_none=True)
                loss.backward()
                optimizer.step()
    finally:
        torch.set_flush_denormal(False)  # it holds for all arithmetic of the thread, not only ours
    return model.cpu()


def encode(model: nn.Sequential, features: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the embeddings of articles."""
    with torch.no_grad():
        out: NDArray[np.float32] = model(torch.from_numpy(features)).numpy()
    return out


def make_task(
    train: NDArray[np.float32],
    test: NDArray[np.float32],
    names: list[str],
    seed: int,
    training: Training = "all",
) -> Task:
    """Return one draw of the index: 10 to 50 articles per fifth of the authors.

    Parameters
    ----------
    train, test
        Embeddings, in runs of 50 and 10 by one author.
    names
        Names of the test articles.
    seed
        Seed of the draw.
    training
        Whose queries teach: all 50 training articles of an author, as in the paper, or those in
        the index alone. An article is left out of its own list.
    """
    generator = np.random.default_rng(seed)
    authors = len(train) // TRAIN
    fifths = np.array_split(generator.permutation(authors), 5)
    chosen = [
        author * TRAIN + generator.permutation(TRAIN)[:count]
        for count, fifth in zip(INDEX_COUNTS, fifths, strict=True)
        for author in fifth
    ]
    index = np.sort(np.concatenate(chosen))
    vectors, labels = train[index], index // TRAIN
    test_labels = np.repeat(np.arange(authors), TEST)
    teach = np.arange(len(train)) if training == "all" else index
    own = np.full(len(train), -1)
    own[index] = np.arange(len(index))
    # Local methods look for training queries by Euclidean distance. With this further dimension,
    # which test queries have at 0, the nearest in that sense have the largest dot product.
    squares = np.square(train[teach]).sum(axis=1, keepdims=True)
    lifted = np.hstack([train[teach], np.sqrt(squares.max() - squares)])
    level = np.hstack([test, np.zeros((len(test), 1), dtype=np.float32)])
    return Task(
        "News Authorship",
        seed,
        ranked_lists(
            train[teach],
            teach // TRAIN,
            vectors,
            labels,
            "dot",
            own=own[teach],
            query_embeddings=lifted,
        ),
        ranked_lists(
            test, test_labels, vectors, labels, "dot", names=names, query_embeddings=level
        ),
        vectors,
        {
            "authors": authors,
            "index": len(vectors),
            "training queries": len(teach),
            "test queries": len(test),
        },
    )
