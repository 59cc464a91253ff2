"""Take the pictures of the explorer: handwritten digits, a result to judge, and each chart.

Needs Chromium, Playwright, Pillow and scikit-learn.

    PYTHONPATH=. python scripts/make_explorer_pictures.py docs/images
"""

from __future__ import annotations

import argparse
import io
import re
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn
from PIL import Image
from playwright.sync_api import sync_playwright

import paretocut as pc
from experiments.compare.consensus.answers import search_digits
from paretocut.background import Background
from paretocut.cli import main as command
from paretocut.web.explorer.exploration import Exploration
from paretocut.web.explorer.routes import explorer_app

PICTURES = {
    "explorer-light": ("light", "#view=query&q=28&m=default"),
    "explorer-dark": ("dark", "#view=query&q=28&m=default"),
    "explorer-run": ("light", "#view=run&m=default"),
    "explorer-judge": ("light", "#view=judge"),
}
CARDS = {
    "chart-drag": ("#view=query&q=28&m=default", "Drag the cut"),
    "chart-tail": ("#view=query&q=28&m=default", "Tail"),
    "chart-qq": ("#view=query&q=28&m=default", "Q-Q plot"),
    "chart-gate": ("#view=query&q=28&m=default", "Gate: Gated"),
    "chart-kept": ("#view=run&m=default", "How many results are kept"),
    "chart-unanswered": ("#view=run&m=default", "Questions without an answer"),
    "chart-frontier": ("#view=run&m=default", "Recall and precision"),
}
"""The cards of the page about charts, by their headings; each is taken light and dark."""
COMPARED = {"chart-compare": ("#view=compare&m=default", "Queries, from most won")}
HEIGHTS = {"explorer-run": 1280, "explorer-judge": 560}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder
    take(digits(), [name for name in PICTURES if name != "explorer-judge"], folder)
    take(judged(42), ["explorer-judge"], folder)
    take_cards(digits(), None, CARDS, folder)
    take_cards(*two_runs(), COMPARED, folder)


def digits() -> Exploration:
    tune, test = search_digits()
    background = Background.fit(tune[tune.num_relevant == 0])
    return Exploration(test, name="digits", models={"Gated": background})


def judged(answers: int) -> Exploration:
    """Return the search of `paretocut example` with its first questions answered."""
    with tempfile.TemporaryDirectory() as name:
        command(["example", name, "-q"])
        truth = pc.io.read_trec(f"{name}/run.txt", f"{name}/qrels.txt")
        run = Exploration(
            pc.io.read_trec(f"{name}/run.txt"),
            name="run.txt",
            query_texts=pc.io.read_texts(f"{name}/queries.tsv"),
            doc_texts=pc.io.read_texts(f"{name}/corpus.jsonl"),
        )
    for _ in range(answers):
        question = run.session.next()
        assert question is not None
        run.session.answer(bool(truth.relevant[question.list_index][question.rank]))
    return run


def two_runs() -> tuple[Exploration, Exploration]:
    """Return the searches of `paretocut example`: by vectors, and by words."""
    with tempfile.TemporaryDirectory() as name:
        command(["example", name, "-q"])
        vectors, words = (
            Exploration(pc.io.read_trec(f"{name}/{run}", f"{name}/qrels.txt"), name=run)
            for run in ("run.txt", "words.txt")
        )
    return vectors, words


@contextmanager
def opened(*sessions: Exploration | None) -> Iterator[tuple[Any, str]]:
    """Yield a browser, and the address of an explorer of these runs."""
    server = uvicorn.Server(uvicorn.Config(explorer_app(*sessions), port=0, log_level="warning"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.1)
    port = server.servers[0].sockets[0].getsockname()[1]
    program = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser, f"http://127.0.0.1:{port}"
        browser.close()
    server.should_exit = True
    thread.join()


def take(session: Exploration, names: list[str], folder: Path) -> None:
    with opened(session) as (browser, address):
        for name in names:
            scheme, state = PICTURES[name]
            view = {"width": 1280, "height": HEIGHTS.get(name, 1160)}
            page = browser.new_page(viewport=view, color_scheme=scheme)
            page.goto(f"{address}/{state}")
            page.wait_for_selector(".picture svg, .answers")
            page.wait_for_timeout(1000)
            keep(page.screenshot(), folder / f"{name}.png")
            page.close()


def take_cards(
    session: Exploration,
    other: Exploration | None,
    cards: dict[str, tuple[str, str]],
    folder: Path,
) -> None:
    with opened(session, other) as (browser, address):
        for scheme in ("light", "dark"):
            for name, (state, heading) in cards.items():
                # About as wide as it is on its page, so that its words can be read there.
                width = 1280 if "view=query" in state else 820
                view = {"width": width, "height": 1160}
                page = browser.new_page(viewport=view, color_scheme=scheme)
                page.goto(f"{address}/{state}")
                titled = page.locator("h2", has_text=re.compile(f"^{re.escape(heading)}"))
                card = page.locator("section.card", has=titled)
                card.locator("svg").first.wait_for()
                page.wait_for_timeout(1000)
                keep(card.screenshot(), folder / f"{name}-{scheme}.png")
                page.close()


def keep(taken: bytes, path: Path) -> None:
    """Write a picture with a palette, which halves its size and covers rare colours."""
    coverage, plain = Image.Quantize.MAXCOVERAGE, Image.Dither.NONE
    small = Image.open(io.BytesIO(taken)).convert("RGB")
    small.quantize(256, method=coverage, dither=plain).save(path, optimize=True)


if __name__ == "__main__":
    main()
