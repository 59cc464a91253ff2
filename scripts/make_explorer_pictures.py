"""Take the pictures of the explorer for its page: handwritten digits, light and dark.

Needs Chromium, Playwright, Pillow and scikit-learn.

    python scripts/make_explorer_pictures.py docs/images
"""

from __future__ import annotations

import argparse
import io
import shutil
import threading
from pathlib import Path

import uvicorn
from PIL import Image
from playwright.sync_api import sync_playwright

import paretocut as pc
from paretocut.cli.demo import search_digits
from paretocut.web.explorer.exploration import Exploration
from paretocut.web.explorer.server import explorer_app

PICTURES = {
    "explorer-light": ("light", "#view=query&q=28&m=consensus"),
    "explorer-dark": ("dark", "#view=query&q=28&m=consensus"),
    "explorer-run": ("light", "#view=run&m=consensus"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder
    tune, test = search_digits()
    background = pc.Background.fit(tune[tune.num_relevant == 0])
    session = Exploration(test, name="digits", models={"Gated": background})
    server = uvicorn.Server(uvicorn.Config(explorer_app(session), port=8799, log_level="warning"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    program = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for name, (scheme, state) in PICTURES.items():
            view = {"width": 1280, "height": 1160 if "run" not in name else 940}
            page = browser.new_page(viewport=view, color_scheme=scheme)
            page.goto(f"http://127.0.0.1:8799/{state}")
            page.wait_for_selector(".picture svg")
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
