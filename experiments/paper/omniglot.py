"""Omniglot: find the other drawings of a character, by a siamese ResNet-50.

The encoder is trained by `omniglot_train` on a GPU; its embeddings of all 32,460 drawings lie in
``artifacts`` at two stages. After 10 epochs the Oracle's F1 on test queries (0.32) is the paper's
(0.319), so that is the stage of Table 1; after 51 epochs it is 0.59.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from experiments.paper.omniglot_train import choose_index
from experiments.paper.retrieval import Task, ranked_lists

ARTIFACTS = Path(__file__).parent / "artifacts"
STAGES = (10, 51)


def artifact(stage: int) -> Path:
    """Return the file with the embeddings after this many epochs."""
    return ARTIFACTS / f"omniglot_epoch{stage:03d}.npz"


def read_embeddings(stage: int) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Return the embeddings, characters x drawings x 64, and which drawings trained."""
    with np.load(artifact(stage)) as arrays:
        return arrays["embeddings"].astype(np.float32), arrays["train"]


def make_task(embeddings: NDArray[np.float32], train: NDArray[np.bool_], seed: int) -> Task:
    """Return one draw of the index: 4, 7, 10, 13 or 16 drawings per fifth of the characters.

    Methods learn from the indexed drawings as queries, themselves excluded; the four drawings of
    each character that did not train the encoder are the test queries.
    """
    index = choose_index(train, seed)
    labels = np.broadcast_to(np.arange(len(train))[:, None], train.shape)
    vectors, own_labels = embeddings[index], labels[index]
    return Task(
        "Omniglot",
        seed,
        ranked_lists(
            vectors, own_labels, vectors, own_labels, "euclidean", own=np.arange(len(vectors))
        ),
        ranked_lists(
            embeddings[~train],
            labels[~train],
            vectors,
            own_labels,
            "euclidean",
            names=np.flatnonzero(~train).astype(str),
        ),
        vectors,
        {
            "characters": len(train),
            "index": len(vectors),
            "training queries": len(vectors),
            "test queries": int((~train).sum()),
        },
    )
