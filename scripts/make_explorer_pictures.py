"""Take the pictures of the explorer for its page: handwritten digits, and a result to judge.

Needs Chromium, Playwright, Pillow and scikit-learn.

    PYTHONPATH=. python scripts/make_explorer_pictures.py docs/images
"""

from __future__ import annotations

import argparse
import io
import shutil
import tempfile
import threading
import time
from pathlib import Path

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
HEIGHTS = {"explorer-run": 1280, "explorer-judge": 560}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder
    take(digits(), [name for name in PICTURES if name != "explorer-judge"], folder)
    take(judged(42), ["explorer-judge"], folder)


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


def take(session: Exploration, names: list[str], folder: Path) -> None:
    server = uvicorn.Server(uvicorn.Config(explorer_app(session), port=0, log_level="warning"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.1)
    port = server.servers[0].sockets[0].getsockname()[1]
    program = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for name in names:
            scheme, state = PICTURES[name]
            view = {"width": 1280, "height": HEIGHTS.get(name, 1160)}
            page = browser.new_page(viewport=view, color_scheme=scheme)
            page.goto(f"http://127.0.0.1:{port}/{state}")
            page.wait_for_selector(".picture svg, .answers")
            page.wait_for_timeout(1000)
            taken = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
            # A palette halves the size. It must cover rare colours, which tell methods apart.
            coverage, plain = Image.Quantize.MAXCOVERAGE, Image.Dither.NONE
            small = taken.quantize(256, method=coverage, dither=plain)
            small.save(folder / f"{name}.png", optimize=True)
            page.close()
        browser.close()
    server.should_exit = True
    thread.join()


if __name__ == "__main__":
    main()
