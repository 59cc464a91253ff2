"""Draw the picture of the README, two questions to one index, and that of the paper's method.

The background is transparent and the grey of the text reads on white and on black. The texts are
those of the examples; `examples/texts.py` says where they are looked for.

    python scripts/make_readme_picture.py docs/images
"""

from __future__ import annotations

import argparse
import sys
import textwrap
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

import paretocut as pc

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "examples"))
from texts import documents_of, embed, model, questions_of

GREY, BLUE, ORANGE = "#808891", "#3d8bd4", "#e8590c"


def two_questions() -> Figure:
    """Return the figure: a question to an index of medical abstracts, and one off its topic."""
    documents = documents_of("med")
    vectors = embed(documents.texts)

    def search(question: str) -> np.ndarray:
        vector = model().encode([question], normalize_embeddings=True)[0]
        return np.sort(vectors @ vector)[::-1][:200].astype(np.float64)

    truncator = pc.calibrate(search, documents.texts)
    asked = questions_of("med").texts[4], questions_of("hotpotqa500").texts[1]
    figure = Figure(figsize=(8.4, 3.3), layout="constrained")
    for axes, question in zip(figure.subplots(1, 2, sharey=True), asked, strict=True):
        scores = search(question)
        cut = truncator.cut(scores)
        rank, kept = np.arange(1, scores.size + 1), np.arange(scores.size) < cut.k
        axes.scatter(rank[~kept], scores[~kept], s=11, color=BLUE, linewidths=0)
        axes.scatter(rank[kept], scores[kept], s=22, color=ORANGE, linewidths=0)
        if cut:
            axes.axvline(cut.k + 0.5, color=ORANGE, lw=1.2, ls=(0, (4, 3)))
        words = textwrap.fill(question, 48, max_lines=2, placeholder=" ...")
        axes.set_title(words, color=GREY, fontsize=10, loc="left")
        said = textwrap.fill(cut.reason, 44)
        axes.text(0.98, 0.95, said, color=ORANGE, va="top", ha="right", transform=axes.transAxes)
        axes.set_xlabel("rank")
        _plain(axes)
    figure.axes[0].set_ylabel("cosine similarity")
    return figure


def _plain(axes: Any) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["bottom", "left"]].set_color(GREY)
    axes.tick_params(colors=GREY)
    axes.xaxis.label.set_color(GREY)
    axes.yaxis.label.set_color(GREY)


def one_list() -> Figure:
    """Return the figure: scores by rank, what chance would give at each rank, and the cut."""
    rng = np.random.default_rng(1)
    index = rng.normal(0.25, 0.06, 100_000)
    scores = np.sort(np.append(rng.normal(0.65, 0.03, 5), np.sort(index)[-195:]))[::-1]
    fit = pc.fit_tail(scores)
    cut = fit.cut(evalue=0.05)

    figure = Figure(figsize=(8.4, 3.4), layout="constrained")
    axes = figure.subplots()
    rank = np.arange(1, fit.n + 1)
    # The score that chance alone is expected to reach at each rank, with half a rank for the
    # expectation of an order statistic: survival (r - 1/2) / m turned round.
    tests = fit.n - fit.lower
    exceeded = -np.log((np.arange(1, tests + 1) - 0.5) / tests)
    stretch = np.expm1(fit.shape * exceeded) / fit.shape if fit.shape > 0 else exceeded
    axes.plot(
        rank[:tests], fit.threshold + fit.scale * stretch, color=GREY, lw=1.6, zorder=1,
        label="what chance alone would bring: a Pareto tail fitted to this list",
    )  # fmt: skip
    kept = rank <= cut.k
    axes.scatter(rank[~kept], scores[~kept], s=11, color=BLUE, zorder=2, linewidths=0)
    axes.scatter(rank[kept], scores[kept], s=26, color=ORANGE, zorder=3, linewidths=0)
    axes.axvline(cut.k + 0.5, color=ORANGE, lw=1.2, ls=(0, (4, 3)))
    axes.annotate(
        f"paretocut.cut(scores, evalue=0.05)\n{cut.reason}",
        (cut.k + 0.5, 0.605), xytext=(10, 0), textcoords="offset points",
        color=ORANGE, va="center", fontsize=11,
    )  # fmt: skip
    axes.set_xlim(-2, fit.n + 2)
    axes.set_xlabel("rank")
    axes.set_ylabel("score")
    axes.legend(frameon=False, labelcolor=GREY, loc=(0.19, 0.44), fontsize=10)
    _plain(axes)
    return figure


def main() -> None:
    """Write both pictures, as SVG and as PNG."""
    parser = argparse.ArgumentParser(description="Draw the pictures of README and quickstart.")
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    # The same drawing must give the same file: no time stamps, no random ids.
    mpl.rcParams["svg.hashsalt"] = "paretocut"
    for name, figure in (("two-questions", two_questions()), ("one-list", one_list())):
        figure.savefig(folder / f"{name}.svg", transparent=True, metadata={"Date": None})
        metadata = {"Software": None}
        figure.savefig(folder / f"{name}.png", transparent=True, dpi=160, metadata=metadata)


if __name__ == "__main__":
    main()
