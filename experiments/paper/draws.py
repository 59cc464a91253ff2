"""One draw of an experiment, by name: what it depends on, and how its lists are made."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from experiments.cache import hash_files
from experiments.data import sha256
from experiments.paper import authorship, encoders, omniglot, robust04, same_document
from experiments.paper.retrieval import Similarity, Task, Training

__all__ = ["AUTHORSHIP", "OMNIGLOT", "SAME_DOCUMENT", "Draw", "code"]

SAME_DOCUMENT, OMNIGLOT, AUTHORSHIP = "Same Document", "Omniglot", "News Authorship"


@dataclass(frozen=True)
class Draw:
    """One draw."""

    data: str  # `SAME_DOCUMENT`, `OMNIGLOT`, `AUTHORSHIP`, or the name of a run of Robust04
    seed: int  # of the draw, or the number of the fold
    encoder: int = 0  # seed of the encoder
    stage: int = 0  # epochs of Omniglot's encoder
    similarity: Similarity = "euclidean"  # see `same_document.make_task`
    training: Training = "all"  # whose queries teach
    unseen: bool | None = None  # Omniglot: learn from test drawings, and test on the others

    def key(self) -> dict[str, Any]:
        """Return what the lists depend on, but for the code."""
        if self.data == SAME_DOCUMENT:
            data: Any = encoders.same_document_key(self.encoder)
        elif self.data == AUTHORSHIP:
            data = encoders.authorship_key(self.encoder)
        elif self.data == OMNIGLOT:
            data = omniglot.digest(self.stage, self.encoder)
        else:
            data = {name: sha256(name) for name in robust04.run_of(self.data).files}
        own = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return own | {"data": self.data, "made of": data}

    def task(self, device: str = "cpu") -> Task:
        """Return the lists."""
        return _task(self, device)

    def fingerprint(self, device: str = "cpu") -> str:
        """Return a hash of the index's embeddings; that of trained encoders varies by machine."""
        vectors = self.task(device).vectors
        return "" if vectors is None else hashlib.sha256(vectors.tobytes()).hexdigest()[:20]


@lru_cache(maxsize=2)
def _task(draw: Draw, device: str) -> Task:
    if draw.data == SAME_DOCUMENT:
        embeddings, chosen = encoders.same_document_embeddings(draw.encoder, draw.seed, device)
        task = same_document.make_task(
            embeddings, draw.seed, similarity=draw.similarity, training=draw.training
        )
        return replace(task, facts=task.facts | {"encoder": encoders.name_of(chosen)})
    if draw.data == AUTHORSHIP:
        return authorship.make_task(
            *encoders.authorship_embeddings(draw.encoder, device), draw.seed, draw.training
        )
    if draw.data == OMNIGLOT:
        task = omniglot.make_task(
            *omniglot.read_embeddings(draw.stage, draw.encoder), draw.seed, draw.training
        )
        if draw.unseen is None:
            return task
        # Test queries come four to a character: two of them to learn from, two to test on.
        learn = np.arange(len(task.test)) % 4 < 2
        train = task.test[learn] if draw.unseen else task.train
        return replace(task, train=train, test=task.test[~learn])
    return robust04.make_task(draw.data, draw.seed)


def code() -> dict[str, str]:
    """Return the hashes of the files that make the lists."""
    here = Path(__file__).parent
    names = ("retrieval", "same_document", "authorship", "omniglot", "omniglot_train", "robust04")
    paths = [here / f"{name}.py" for name in (*names, "encoders", "draws")]
    return hash_files([*paths, here.parent / "data.py"])
