"""The encoders of the two text data sets: trained once for each seed, kept in the cache."""

from __future__ import annotations

import inspect
import sys
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.cache import place, remember
from experiments.data import data_dir, sha256
from experiments.paper import authorship, same_document

EPOCHS = (30, 60, 120)
FEATURES: list[tuple[same_document.Analyzer, same_document.Norm]] = [
    ("word", "l2"),
    ("word", None),
    ("char", "l2"),
]
AUTHORSHIP_EPOCHS = 300

Candidate = tuple[same_document.Analyzer, same_document.Norm, int]


def name_of(candidate: Candidate) -> str:
    """Return a candidate of Same Document in words."""
    analyzer, norm, epoch = candidate
    return f"{analyzer} n-grams, {'length 1' if norm else 'not normalised'}, {epoch} epochs"


def same_document_key(encoder: int) -> dict[str, Any]:
    """Return what the candidates of Same Document depend on, for one seed of the encoder."""
    return {
        "data": sha256("reuters/aptemod.jsonl.xz"),
        "code": _source(
            same_document.read_documents,
            same_document.featurize,
            same_document.train_encoder,
            same_document.choose_split,
            same_document.nearest_share,
        ),
        "encoder": encoder,
        "epochs": EPOCHS,
    }


def same_document_shares(encoder: int, draw: int, device: str = "cpu") -> dict[Candidate, float]:
    """Return, for every candidate, the share of a draw's training halves that find their match.

    The share looks at the training documents of this draw only.
    """
    key = same_document_key(encoder)
    return {
        (analyzer, norm, epoch): remember(
            "share",
            key | {"features": [analyzer, norm], "epoch": epoch, "draw": draw},
            lambda at=(analyzer, norm, epoch): same_document.nearest_share(  # type: ignore[misc]
                _candidate(encoder, at, device).astype(np.float32), draw
            ),
        )
        for analyzer, norm in FEATURES
        for epoch in EPOCHS
    }


def same_document_embeddings(
    encoder: int, draw: int, device: str = "cpu"
) -> tuple[NDArray[np.float32], Candidate]:
    """Return the embeddings that one draw uses, and which candidate they are."""
    shares = same_document_shares(encoder, draw, device)
    best = max(shares, key=lambda at: shares[at])
    return _candidate(encoder, best, device).astype(np.float32), best


@lru_cache(maxsize=4)
def _candidate(encoder: int, at: Candidate, device: str) -> NDArray[np.float16]:
    """Return the embeddings of one candidate; its longer and shorter trainings are kept too."""
    analyzer, norm, epoch = at
    key = same_document_key(encoder) | {"features": [analyzer, norm]}

    def train() -> dict[int, NDArray[np.float16]]:
        sys.stderr.write(f"Same Document: encoder {encoder}, {analyzer} n-grams, {norm}\n")
        documents = same_document.read_documents(data_dir())
        features = same_document.featurize(documents, analyzer, norm)
        return same_document.train_encoder(features, epochs=EPOCHS, seed=encoder, device=device)

    if not place("encoder", key | {"epoch": epoch}).is_file():
        stages = train()
        for one, embeddings in stages.items():
            remember("encoder", key | {"epoch": one}, lambda found=embeddings: found)  # type: ignore[misc]
    found: NDArray[np.float16] = remember("encoder", key | {"epoch": epoch}, lambda: train()[epoch])
    return found


def authorship_key(encoder: int) -> dict[str, Any]:
    """Return what the embeddings of News Authorship depend on, for one seed of the encoder."""
    return {
        "data": sha256("c50/c50.tar.xz"),
        "code": _source(
            authorship.read_articles,
            authorship.draw,
            authorship.featurize,
            authorship.train_encoder,
        ),
        "encoder": encoder,
        "epochs": AUTHORSHIP_EPOCHS,
    }


@lru_cache(maxsize=2)
def authorship_embeddings(
    encoder: int, device: str = "cpu"
) -> tuple[NDArray[np.float32], NDArray[np.float32], list[str]]:
    """Return the embeddings of training and test articles, and the names of the latter."""

    def encode() -> Any:
        sys.stderr.write(f"News Authorship: encoder {encoder}\n")
        articles = authorship.read_articles(data_dir())
        train, test, names = authorship.draw(articles, seed=encoder)
        features = authorship.featurize(train, test)
        model = authorship.train_encoder(
            features[0], epochs=AUTHORSHIP_EPOCHS, seed=encoder, device=device
        )
        parts = [authorship.encode(model, part).astype(np.float16) for part in features]
        return *parts, names

    train, test, names = remember("authors", authorship_key(encoder), encode)
    return train.astype(np.float32), test.astype(np.float32), names


def _source(*functions: Any) -> str:
    return "".join(inspect.getsource(function) for function in functions)
