"""Draw the pictures of the documentation, with the same code that draws in notebooks.

The background of the SVG files is transparent and the grey of the text reads on white and on black.
The texts are those of the examples; `examples/texts.py` says where they are looked for.

    python scripts/make_readme_picture.py docs/images
"""

from __future__ import annotations

import argparse
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import numpy as np

import paretocut as pc
from paretocut.show.drawing import (
    HEIGHT,
    KEPT,
    LEFT,
    WIDTH,
    Picture,
    by_rank,
    of_cut,
    of_fit,
    svg,
    word,
)

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "examples"))
from texts import documents_of, embed, model, questions_of

Panel = tuple[str, str, Picture]


def drawn(title: str, panels: list[Panel]) -> str:
    """Return pictures side by side on one scale, each under a heading and the reason of its cut."""
    best = max(float(picture.values[0]) for _, _, picture in panels)
    worst = min(float(picture.values[-1]) for _, _, picture in panels)
    font = 11 if len(panels) == 1 else 15
    line = 1.3 * font
    words = [
        [(words, "currentColor") for words in textwrap.wrap(heading, 64, max_lines=2)]
        + [(words, KEPT) for words in textwrap.wrap(reason, 64)]
        for heading, reason, _ in panels
    ]
    head = line * max(map(len, words)) + 14
    # A file of its own takes neither colour nor type from a page.
    body = [f'<g color="#808891" font-family="system-ui, sans-serif" font-size="{font}">']
    for i, (said, (_, _, picture)) in enumerate(zip(words, panels, strict=True)):
        body.append(f'<g transform="translate({i * WIDTH} 0)">')
        body += [word(LEFT, line * (j + 1), one, "start", c) for j, (one, c) in enumerate(said)]
        body.append(f'<g transform="translate(0 {head:.0f})">')
        body += [*by_rank(picture, ends=(best, worst)), "</g></g>"]
    return svg(title, "", [*body, "</g>"], f"{len(panels) * WIDTH} {head + HEIGHT:.0f}") + "\n"


def two_questions() -> str:
    """Return the picture: a question to an index of medical abstracts, and one off its topic."""
    documents = documents_of("med")
    vectors = embed(documents.texts)

    def search(question: str) -> np.ndarray:
        vector = model().encode([question], normalize_embeddings=True)[0]
        return np.sort(vectors @ vector)[::-1][:200].astype(np.float64)

    truncator = pc.calibrate(search, documents.texts)
    panels = []
    for question in (questions_of("med").texts[4], questions_of("hotpotqa500").texts[1]):
        cut = truncator.cut(search(question))
        panels.append((question, cut.reason, replace(of_cut(cut), name="cosine similarity")))
    return drawn("Scores of two questions by rank, and where they are cut", panels)


def simulated() -> np.ndarray:
    """Return the scores of 200 results, five of which are no chance."""
    rng = np.random.default_rng(1)
    index = np.sort(rng.normal(0.25, 0.06, 100_000))[::-1]
    return np.sort([*rng.normal(0.65, 0.03, 5), *index[:195]])[::-1]


def one_list() -> str:
    """Return the picture: scores by rank, the line of chance, and the cut."""
    fit = pc.fit_tail(simulated())
    cut = fit.cut(evalue=0.05)
    panel = ("paretocut.cut(scores, evalue=0.05)", cut.reason, replace(of_fit(fit), k=cut.k))
    return drawn("Scores of 200 results by rank, the line of chance, and the cut", [panel])


def main() -> None:
    """Write the pictures of the README, the quickstart and the page on notebooks."""
    parser = argparse.ArgumentParser(description="Draw the pictures of the documentation.")
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    pictures = {
        "two-questions.svg": two_questions(),
        "one-list.svg": one_list(),
        "notebook-cut.html": pc.cut(simulated())._repr_html_() + "\n",
        "notebook-fit.html": pc.fit_tail(simulated())._repr_html_() + "\n",
    }
    for name, content in pictures.items():
        (folder / name).write_text(content, encoding="utf-8")


if __name__ == "__main__":
    main()
