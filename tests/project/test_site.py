"""The documentation as its readers see it: built, and opened in Chromium."""

from __future__ import annotations

import html
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from browsers import chromium
from support import ROOT, importorskip

pytestmark = pytest.mark.heavy


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    for needed in ("sphinx", "furo", "myst_parser", "sphinx_copybutton"):
        importorskip(needed)
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "--fail-on-warning", "-q", "-b", "html"]
    subprocess.run([*command, "-d", folder / "trees", ROOT / "docs", folder / "html"], check=True)
    return folder / "html"


@pytest.fixture(scope="module")
def browser(site: Path) -> Iterator[tuple[Any, str]]:
    handler = partial(_Quiet, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server, chromium() as found:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield found, f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize(
    ("words", "guide"),
    [
        ("don't know", "recipes/no-answer.html"),
        ("cite", "cite.html"),
        ("thread", "threads.html"),
        ("calibrate", "calibrate.html"),
    ],
)
def test_the_search_finds_the_guide_first(browser: tuple[Any, str], words: str, guide: str) -> None:
    page = browser[0].new_page()
    page.goto(f"{browser[1]}/search.html?q={words.replace(' ', '+')}")
    page.wait_for_function(
        "document.querySelector('.search-summary')?.textContent.includes('found')"
    )
    first = page.locator("ul.search li > a").first.get_attribute("href")
    page.close()
    assert first.partition("?")[0].partition("#")[0] == guide


@pytest.mark.parametrize("width", [390, 1440])
def test_no_page_is_wider_than_the_screen(site: Path, browser: tuple[Any, str], width: int) -> None:
    page = browser[0].new_page(viewport={"width": width, "height": 900})
    too_wide = []
    for path in sorted(site.glob("**/*.html")):
        page.goto(f"{browser[1]}/{path.relative_to(site).as_posix()}", wait_until="load")
        root = "document.documentElement"
        if page.evaluate(f"{root}.scrollWidth > {root}.clientWidth"):
            too_wide.append(path.name)
    page.close()
    assert too_wide == []


def test_code_can_be_copied_and_the_front_page_says_how_to_install(
    browser: tuple[Any, str],
) -> None:
    page = browser[0].new_page()
    page.goto(f"{browser[1]}/index.html")
    page.wait_for_selector("button.copybtn", state="attached")
    assert page.locator("div.highlight pre").first.inner_text().strip() == "pip install paretocut"
    page.close()


def test_the_reference_prints_what_a_user_writes(site: Path) -> None:
    pages = {path.name: path.read_text(encoding="utf-8") for path in site.glob("api/*.html")}
    assert pages
    for name, page in pages.items():
        text = html.unescape(re.sub("<[^>]+>", "", page))
        for strange in ("ForwardRef", "_SupportsArray", "<function", "Type:", "**choice"):
            assert strange not in text, f"{name}: {strange}"
    signature = r'<dt class="sig sig-object py" id="paretocut.{}">(.*?)</dt>'
    for made in ("Cut", "Cuts"):
        (found,) = re.findall(signature.format(made), pages["cutting.html"], re.DOTALL)
        assert "(" not in found, f"{made}: the library makes its objects"
    (found,) = re.findall(signature.format("cut"), pages["cutting.html"], re.DOTALL)
    for written in ("ArrayLike", "expect", "evalue", "max_k"):
        assert written in found


def test_names_in_backticks_are_links_in_the_reference(site: Path) -> None:
    for path in site.glob("api/*.html"):
        text = path.read_text(encoding="utf-8")
        names = re.findall(r'(?<!">)<code class="xref py py-obj[^>]*>(.*?)</code>', text)
        assert [re.sub("<[^>]+>", "", name) for name in names] == [], path.name
