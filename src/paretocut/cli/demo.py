"""``demo``: search among handwritten digits, and compare ways to cut the results."""

from __future__ import annotations

import json
import sys
import textwrap
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from operator import itemgetter
from typing import Any

import numpy as np

import paretocut as pc
from paretocut import metrics
from paretocut.cli.terminal import draw_list, symbols
from paretocut.errors import require
from paretocut.lists import IntArray, RankedLists
from paretocut.truncators import Consensus, Gated, GlobalK, ScoreThreshold, Surprise, Truncator

SUMMARY = "see what it does, on handwritten digits (needs paretocut[demo])"
DESCRIPTION = """Searches 600 handwritten digits among the others. For half of the queries the index
holds images of their digit, for the other half it holds none. The table shows what fixed numbers of
results, distance thresholds and paretocut return. It works offline and takes seconds."""

DEPTH = 200
QUERIES_PER_DIGIT = 60
FEWEST, MOST = 10, 30  # images of the query's digit in the index, 20 on average
_LINE = (
    " {name:26}{kept:5.1f}{precision:6.2f}{recall:7.2f}{f1:5.2f}{silent:8.0%}"
    "{kept_without:6.1f}{silent_without:8.0%}{right:6.0%}"
)
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


def _methods(tune: RankedLists) -> Iterator[tuple[str, str, Truncator]]:
    """Yield the name, what the truncator knows, and the truncator."""
    unanswered = pc.Background.fit(tune[tune.num_relevant == 0])
    yield "pc.cut(scores)", "nothing", Consensus()
    yield "pc.cut(scores, expect=20)", "nothing", Consensus(expect=20)
    yield "pc.cut(..., alpha=0.05)", "nothing", Surprise(alpha=0.05)
    yield "pc.cut(..., evalue=1)", "nothing", Surprise(evalue=1)
    yield "pc.cut(..., evalue=0.05)", "nothing", Surprise(evalue=0.05)
    yield "Gated(Consensus(), ...)", "unanswered", Gated(Consensus(), unanswered)
    yield "fixed k = {k_} (F1)", "judged", GlobalK(_F1)
    yield "distance <= {threshold_} (F1)", "judged", ScoreThreshold(metric=_F1)
    yield "distance <= {threshold_} (right)", "judged", ScoreThreshold(metric="accuracy")
    yield "surprise >= {threshold_} (F1)", "judged", Surprise(_F1)
    yield "surprise >= {threshold_} (right)", "judged", Surprise("accuracy")
    yield "Consensus(), gated", "judged", Gated(Consensus(_F1), unanswered)


def compare_cuts(tune: RankedLists, test: RankedLists) -> list[dict[str, Any]]:
    """Return one row for each way to cut, fitted on one half and measured on the other."""
    rows = []
    for name, knows, truncator in _methods(tune):
        if knows == "judged":
            truncator.fit(tune)
        learned = {key: getattr(truncator, key, 0.0) for key in ("k_", "threshold_")}
        # Inside, limits on distances are negative.
        shown = {key: f"{abs(value):.3g}" for key, value in learned.items()}
        measured = _measured(test, truncator.predict(test))
        rows.append({"name": name.format(**shown), "knows": knows, **measured})
    return rows


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
    lines = [*textwrap.wrap(about, 79), "", *_table(rows, len(tune)), ""]
    lines += [*textwrap.wrap(_verdict(rows, len(tune)), 79), "", *_pictures(test)]
    sys.stdout.write("\n".join(lines) + "\n")


def _table(rows: list[dict[str, Any]], tuned_on: int) -> Iterator[str]:
    yield " " * 28 + "digit is in the index".center(30, "-") + " " + "is not".center(13, "-")
    yield " " * 27 + " kept prec. recall   F1 nothing  kept nothing right"
    for knows, title in (
        ("nothing", "without labels (the default, a number to expect, or a rule):"),
        ("unanswered", f"shown {tuned_on // 2} other queries whose digit is not in the index:"),
        ("judged", f"tuned on {tuned_on} other queries with labels, for F1 or for being right:"),
    ):
        yield title
        for row in rows:
            if row["knows"] == knows:
                yield _LINE.format(**row)
    yield "nothing: share of queries that keep no result. prec.: mean over the others."
    yield "right: share of queries that keep a right image, or nothing if there is none."


def _verdict(rows: list[dict[str, Any]], tuned_on: int) -> str:
    """Return the winners, read off the table."""
    unlabelled = [row for row in rows if row["knows"] == "nothing"]
    best, own = (max(some, key=itemgetter("f1")) for some in (rows, unlabelled))
    right, own_right = (max(some, key=itemgetter("right")) for some in (rows, unlabelled))
    return (
        f"Best F1 where there is an answer: {best['name']} with {best['f1']:.2f}; without labels "
        f"{own['name']} with {own['f1']:.2f}, standard error {own['f1_error']:.2f}. Most often "
        f"right: {right['name']} with {right['right']:.0%}; without labels {own_right['name']} "
        f"with {own_right['right']:.0%}. Tuning needed {tuned_on} judged queries. A distance "
        "threshold holds for this index and these pixels only, and so does the gate; the others "
        "do not depend on the scale of the scores."
    )


def _pictures(test: RankedLists) -> Iterator[str]:
    """Yield drawings of three queries, cut by the default."""
    cuts = pc.cut_batch(test)
    fits, k = cuts.fits, cuts.k
    f1 = _F1(test, k)
    (answered,) = np.nonzero(test.num_relevant > 0)
    (unanswered,) = np.nonzero(test.num_relevant == 0)
    typical = unanswered[np.argsort(k[unanswered], kind="stable")[len(unanswered) // 2]]
    chosen = {
        f"the best of {len(answered)} with an answer": answered[np.argmax(f1[answered])],
        "a typical one without an answer": typical,
        f"the worst of {len(answered)} with an answer": answered[np.argmin(f1[answered])],
    }
    top = max(float(fits.surprise[i].max()) for i in chosen.values())
    signs = symbols(sys.stdout.encoding)
    yield "Surprise by rank for three queries, cut by the default."
    yield f"{signs.hit} is an image of the query's digit, {signs.miss} an image of another."
    for title, i in chosen.items():
        relevant = test.relevant[i]
        yield ""
        yield f"{title}: kept {k[i]}, {relevant[: k[i]].sum()} of them right, of {relevant.sum()}"
        yield from draw_list(fits.surprise[i], relevant, int(k[i]), top, signs)
