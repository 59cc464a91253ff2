"""Scripts without spaces: Chinese and Japanese texts, searched by pairs of characters."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

import paretocut as pc

__all__ = ["measure"]


def measure() -> dict[str, dict[str, float]]:
    """Return how many good questions are answered and how many others refused.

    The search is a cosine of TF-IDF vectors of single characters and pairs. ``words`` is the same
    with nonsense of what stands between spaces: whole sentences.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    content = json.loads(Path(__file__).with_name("unspaced.json").read_text(encoding="utf-8"))
    rows = {}
    for language, part in content.items():
        vectors = TfidfVectorizer(analyzer="char", ngram_range=(1, 2), sublinear_tf=True)
        index = vectors.fit_transform(part["texts"])

        def search(query: str, index=index, vectors=vectors) -> list[float]:  # type: ignore[no-untyped-def]
            return np.sort((index @ vectors.transform([query]).T).toarray()[:, 0])[::-1].tolist()

        made = pc.calibrate(search, part["texts"], lexical=False)
        rng = np.random.default_rng(0)
        sentences = ["".join(rng.choice(part["texts"], 8, replace=False)) for _ in range(100)]
        whole = pc.calibration.calibrated([search(query) for query in sentences])
        row = {}
        for name, gate in (("pairs", made), ("words", whole)):
            kept = {
                kind: np.array([gate.cut(search(query)).k for query in part[kind]])
                for kind in ("good", "other")
            }
            row[f"{name} answered"] = float(np.mean(kept["good"] > 0))
            row[f"{name} refused"] = float(np.mean(kept["other"] == 0))
        rows[language] = row
    return rows
