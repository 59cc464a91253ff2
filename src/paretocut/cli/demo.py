"""``demo``: search among handwritten digits, and compare ways to cut the results."""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from operator import attrgetter

import numpy as np

import paretocut as pc
from paretocut import metrics
from paretocut.cli._common import Commands
from paretocut.cli._draw import draw_list, symbols
from paretocut.lists import IntArray, RankedLists
from paretocut.schema.extras import require
from paretocut.truncators import Consensus, Gated, GlobalK, ScoreThreshold, Surprise, Truncator

DEPTH = 200
QUERIES_PER_DIGIT = 60
FEWEST, MOST = 10, 30  # images of the query's digit in the index, 20 on average
_F1 = metrics.f_beta(1, recall_base="collection")


def add_commands(commands: Commands) -> None:
    """Add ``demo`` to the command line."""
    demo = commands.add_parser(
        "demo",
        help="see what it does, on handwritten digits (needs scikit-learn)",
        description="Searches 600 handwritten digits among the others. Half of the queries have "
        "images of their digit in the index, half have none. Shows what fixed numbers of results, "
        "distance thresholds and paretocut return. Offline; takes seconds.",
    )
    demo.add_argument("--json", action="store_true", help="print the table as JSON")
    demo.set_defaults(run_command=_demo)


def search_digits(seed: int = 0) -> tuple[RankedLists, RankedLists]:
    """Return the results of 300 queries to tune on and of 300 others to test on.

    Each query is an image that is not in the index, its results are the 200 nearest images by
    Euclidean distance of the pixels, and relevant are those that show the same digit. Every
    second query gets an index without its digit; for the others 10 to 30 images of it are in
    the index.
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


@dataclass(frozen=True)
class Row:
    """What one way to cut does on the test queries.

    ``f1_error`` is the standard error of the F1. Precision is over the queries with an answer of
    which anything is kept. ``right`` is the share of all queries where a relevant image is kept,
    or nothing where nothing is relevant.
    """

    name: str
    knows: str
    kept: float
    precision: float
    recall: float
    f1: float
    f1_error: float
    silent: float
    kept_without: float
    silent_without: float
    right: float


def _methods(tune: RankedLists) -> Iterator[tuple[str, str, Truncator]]:
    """Yield name, what is known, and the truncator."""
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


def _learned(truncator: Truncator) -> dict[str, str]:
    """Return what a truncator has learned, as it is shown: limits on distances are negative."""
    names = ("k_", "threshold_")
    values = {name: getattr(truncator, name) for name in names if hasattr(truncator, name)}
    return {name: f"{abs(value):.3g}" for name, value in values.items()}


def _row(name: str, knows: str, test: RankedLists, k: IntArray) -> Row:
    answer = test.num_relevant > 0
    found = metrics.precision(test, k)
    f1 = _F1(test, k)[answer]
    return Row(
        name=name,
        knows=knows,
        kept=float(k[answer].mean()),
        precision=float(found[answer & (k > 0)].mean()) if np.any(answer & (k > 0)) else 0.0,
        recall=float(metrics.recall(test, k)[answer].mean()),
        f1=float(f1.mean()),
        f1_error=float(f1.std(ddof=1) / np.sqrt(f1.size)),
        silent=float((k[answer] == 0).mean()),
        kept_without=float(k[~answer].mean()),
        silent_without=float((k[~answer] == 0).mean()),
        right=float(metrics.accuracy(test, k).mean()),
    )


def compare_cuts(tune: RankedLists, test: RankedLists) -> list[Row]:
    """Return the table: each way to cut, fitted on the one half and measured on the other."""
    rows = []
    for name, knows, truncator in _methods(tune):
        if knows == "judged":
            truncator.fit(tune)
        k = truncator.predict(test)
        rows.append(_row(name.format(**_learned(truncator)), knows, test, k))
    return rows


def _demo(args: argparse.Namespace) -> None:
    tune, test = search_digits()
    rows = compare_cuts(tune, test)
    if args.json:
        sys.stdout.write(json.dumps([asdict(row) for row in rows], indent=2) + "\n")
        return
    answered = int(np.count_nonzero(test.num_relevant))
    lines = [
        *_wrapped(
            f"{len(test)} handwritten digits, each searched among the others by the distance of "
            f"the pixels, {DEPTH} results each. For {answered} of them {FEWEST} to {MOST} images "
            f"of the same digit are in the index; for {len(test) - answered} there is none, and "
            "the right answer is nothing."
        ),
        "",
        *_table(rows, len(tune)),
        "",
        *_wrapped(_verdict(rows, len(tune))),
        "",
        *_pictures(test),
    ]
    sys.stdout.write("\n".join(lines) + "\n")


def _table(rows: list[Row], tuned_on: int) -> Iterator[str]:
    widths = (27, 5, 6, 7, 5, 8, 6, 8, 6)

    def line(*cells: str) -> str:
        name, *numbers = (
            cell.rjust(width) if i else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
        )
        return name + "".join(numbers)

    yield " " * 28 + "digit is in the index".center(30, "-") + " " + "is not".center(13, "-")
    yield line("", "kept", "prec.", "recall", "F1", "nothing", "kept", "nothing", "right")
    for knows, title in (
        ("nothing", "without labels (a word or a number told, or a rule):"),
        ("unanswered", f"shown {tuned_on // 2} other queries whose digit was taken out:"),
        ("judged", f"tuned on {tuned_on} other queries, judged, for F1 or for being right:"),
    ):
        yield title
        for row in rows:
            if row.knows == knows:
                yield line(
                    " " + row.name,
                    f"{row.kept:.1f}",
                    f"{row.precision:.2f}",
                    f"{row.recall:.2f}",
                    f"{row.f1:.2f}",
                    f"{row.silent:.0%}",
                    f"{row.kept_without:.1f}",
                    f"{row.silent_without:.0%}",
                    f"{row.right:.0%}",
                )
    yield "nothing: share of queries for which no result is kept. prec.: of the others."
    yield "right: a right image is kept, or nothing where there is none; all queries."


def _verdict(rows: list[Row], tuned_on: int) -> str:
    """Return who wins where, read off the table."""
    by_f1, by_right = attrgetter("f1"), attrgetter("right")
    unlabelled = [row for row in rows if row.knows == "nothing"]
    best, own = max(rows, key=by_f1), max(unlabelled, key=by_f1)
    sentences = [
        f"Best F1 where there is an answer: {best.name} with {best.f1:.2f}; without labels "
        f"{own.name} with {own.f1:.2f}, standard error {own.f1_error:.2f}."
    ]
    best, own = max(rows, key=by_right), max(unlabelled, key=by_right)
    sentences += [
        f"Most often right: {best.name} with {best.right:.0%}; without labels {own.name} with "
        f"{own.right:.0%}.",
        f"What is tuned needed {tuned_on} judged queries, and a distance holds for this index and "
        "these pixels only, as does the gate; the others do not depend on the scale of the scores.",
    ]
    return " ".join(sentences)


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, width=79)


def _pictures(test: RankedLists) -> Iterator[str]:
    """Yield three queries as drawings, under the default."""
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
    yield f"{signs.hit} is an image of the query's digit, {signs.miss} one of another."
    for title, i in chosen.items():
        relevant = test.relevant[i]
        yield ""
        yield f"{title}: kept {k[i]}, {relevant[: k[i]].sum()} of them right, of {relevant.sum()}"
        yield from draw_list(fits.surprise[i], relevant, int(k[i]), top, signs)
