"""``demo``: search among handwritten digits, and compare ways to cut the results."""

from __future__ import annotations

import json
import sys
import textwrap
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from typing import Any

import numpy as np

import paretocut as pc
from paretocut import metrics
from paretocut.cli.terminal import draw_list, symbols
from paretocut.errors import require
from paretocut.lists import IntArray, RankedLists
from paretocut.show.picture import Picture
from paretocut.truncators import Consensus, FixedK, Gated, ScoreThreshold, Truncator

SUMMARY = "see what it does, on handwritten digits (needs paretocut[demo])"
DESCRIPTION = """Searches 600 handwritten digits among the others. For half of the queries the index
holds images of their digit, for the other half it holds none. Two lists are drawn with their cuts,
and a table compares five methods. It works offline and takes seconds."""

DEPTH = 200
QUERIES_PER_DIGIT = 60
FEWEST, MOST = 10, 30  # images of the query's digit in the index, 20 on average
_LINE = (
    " {name:35}{kept:5.1f}{f1:6.2f}{silent:9.0%}  "
    "{kept_without:6.1f}{silent_without:9.0%}{right:7.0%}"
)
GATED = "the same, gated by a background"
_F1 = metrics.f_beta(1, recall_base="collection")


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print the table as JSON")


def search_digits(seed: int = 0) -> tuple[RankedLists, RankedLists]:
    """Return the results of 300 queries to tune on, and of 300 others to test on.

    Each query is an image that is not in the index. Its results are the 200 nearest images by
    Euclidean distance of the pixels; those that show the same digit are relevant. Every second
    query gets an index without its digit. For the others the index holds 10 to 30 images of it.
    """
    datasets = require("sklearn.datasets", feature="the demo", extra="demo")
    pixels, digits = datasets.load_digits(return_X_y=True)
    rng = np.random.default_rng(seed)
    by_digit = [rng.permutation(np.flatnonzero(digits == digit)) for digit in range(10)]
    indexed = [images[QUERIES_PER_DIGIT:] for images in by_digit]
    half = QUERIES_PER_DIGIT // 2
    parts = []
    for chosen in (slice(0, half), slice(half, QUERIES_PER_DIGIT)):
        distances, relevance, counts = [], [], []
        for digit, images in enumerate(by_digit):
            others = np.concatenate(indexed[:digit] + indexed[digit + 1 :])
            for i, query in enumerate(images[chosen]):
                count = int(rng.integers(FEWEST, MOST + 1)) if i % 2 == 0 else 0
                index = np.append(others, rng.permutation(indexed[digit])[:count])
                distance = np.linalg.norm(pixels[index] - pixels[query], axis=1)
                nearest = np.argsort(distance, kind="stable")[:DEPTH]
                distances.append(distance[nearest])
                relevance.append(digits[index[nearest]] == digit)
                counts.append(count)
        parts.append(RankedLists(distances, relevance, num_relevant=counts, higher_is_better=False))
    return parts[0], parts[1]


def _methods(tune: RankedLists) -> Iterator[tuple[str, Truncator]]:
    """Yield the name and the truncator."""
    yield "the first ten", FixedK(10)
    yield "pc.cut(scores)", Consensus()
    yield "pc.cut(scores, expect=20)", Consensus(expect=20)
    yield GATED, _gate(tune)
    tuned = ScoreThreshold(metric="accuracy").fit(tune)
    # Inside, limits on distances are negative.
    yield f"distance <= {-tuned.threshold_:.3g}, tuned with labels", tuned


def _gate(tune: RankedLists) -> Gated:
    """Return a truncator that has seen queries without an answer, and no label."""
    unanswered = pc.Background.fit(tune[tune.num_relevant == 0])
    return Gated(Consensus(expect=20), unanswered)


def compare_cuts(tune: RankedLists, test: RankedLists) -> list[dict[str, Any]]:
    """Return one row for each way to cut, fitted on one half and measured on the other."""
    return [
        {"name": name, **_measured(test, truncator.predict(test))}
        for name, truncator in _methods(tune)
    ]


def _measured(test: RankedLists, k: IntArray) -> dict[str, float]:
    """Return what the cuts keep: of queries with an answer, of those without, and of all.

    Precision is the mean over the queries with an answer that keep anything. ``right`` is the share
    of all queries that keep a relevant image, or keep nothing if nothing is relevant.
    """
    answer = test.num_relevant > 0
    some = answer & (k > 0)
    f1 = _F1(test, k)[answer]
    found = {
        "kept": k[answer].mean(),
        "precision": metrics.precision(test, k)[some].mean() if np.any(some) else 0.0,
        "recall": metrics.recall(test, k)[answer].mean(),
        "f1": f1.mean(),
        "f1_error": f1.std(ddof=1) / np.sqrt(f1.size),  # standard error
        "silent": (k[answer] == 0).mean(),
        "kept_without": k[~answer].mean(),
        "silent_without": (k[~answer] == 0).mean(),
        "right": metrics.accuracy(test, k).mean(),
    }
    return {name: float(value) for name, value in found.items()}


def run(args: Namespace) -> None:
    tune, test = search_digits()
    rows = compare_cuts(tune, test)
    if args.json:
        sys.stdout.write(json.dumps(rows, indent=2) + "\n")
        return
    answered = int(np.count_nonzero(test.num_relevant))
    about = (
        f"{len(test)} handwritten digits, each searched among the others by the distance of the "
        f"pixels, {DEPTH} results each. For {answered} of them the index holds {FEWEST} to {MOST} "
        f"images of the same digit. For {len(test) - answered} it holds none, and the right "
        "answer is nothing."
    )
    lines = [*textwrap.wrap(about, 79), "", *_pictures(tune, test), "", *_table(rows), ""]
    sys.stdout.write("\n".join([*lines, *textwrap.wrap(_point(rows, len(tune)), 79)]) + "\n")


def _table(rows: list[dict[str, Any]]) -> Iterator[str]:
    yield " " * 36 + "-- in the index ---".rjust(20) + "  " + "-- not in it --"
    yield " " * 36 + " kept    F1  nothing    kept  nothing  right"
    yield from (_LINE.format(**row) for row in rows)
    yield "nothing: share of queries that keep no result."
    yield "right: share of queries that keep a right image, or nothing if there is none."


def _point(rows: list[dict[str, Any]], tuned_on: int) -> str:
    gated, ten = (next(r for r in rows if r["name"] == name) for name in (GATED, "the first ten"))
    return (
        f"The point: after seeing {tuned_on // 2} other queries without an answer, and no labels, "
        f"paretocut returns nothing for {gated['silent_without']:.0%} of those whose digit is "
        f"not in the index. It also leaves {gated['silent']:.0%} of the others empty. A fixed "
        f"number of results is right for {ten['right']:.0%} of all queries, the gate for "
        f"{gated['right']:.0%}."
    )


def _pictures(tune: RankedLists, test: RankedLists) -> Iterator[str]:
    """Yield drawings of two queries, one with an answer and one without, cut by the gate."""
    fits, k = pc.cut_batch(test).fits, _gate(tune).predict(test)
    f1 = _F1(test, k)
    (answered,) = np.nonzero(test.num_relevant > 0)
    (empty,) = np.nonzero((test.num_relevant == 0) & (k == 0))
    # The median of each kind, so that neither is picked for its looks.
    kept = answered[k[answered] > 0]
    chosen = {
        "its digit is in the index": kept[np.argsort(f1[kept], kind="stable")[len(kept) // 2]],
        "its digit is not in the index": empty[len(empty) // 2],
    }
    top = max(float(fits.surprise[i].max()) for i in chosen.values())
    signs = symbols(sys.stdout.encoding)
    yield "Surprise by rank for two queries; results left of the line are kept."
    yield f"{signs.hit} is an image of the query's digit, {signs.miss} an image of another."
    for title, i in chosen.items():
        relevant = test.relevant[i]
        yield ""
        found = f", {relevant[: k[i]].sum()} of the {relevant.sum()} right ones" if k[i] else ""
        yield f"{title}: kept {k[i] or 'nothing'}{found}"
        picture = Picture(fits.surprise[i], "surprise", k=int(k[i]), judgements=relevant)
        yield from draw_list(picture, top, signs)
