"""SciFact's claims and abstracts, and off-topic questions; `texts.py` says where they come from."""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import re
import zipfile

import numpy as np
from texts import Texts, data_file, judgements


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
    return judgements("scifact/qrels.txt.gz")


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
