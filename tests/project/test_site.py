"""The documentation as its readers see it: built, and opened in Chromium."""

from __future__ import annotations

import html
import os
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
from support import ROOT, importorskip, missing

from paretocut.cli import main
from paretocut.decisions.options import EXPECT

pytestmark = pytest.mark.heavy
FENCE = re.compile(r"^```python\n.*?^```$", re.MULTILINE | re.DOTALL)


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
    assert found_by(browser, words)[0] == guide


@pytest.mark.parametrize(
    ("words", "guide"),
    [
        ("threshold", "calibrate.html"),
        ("top k", "recipes/chunks.html"),
        ("top-k", "recipes/chunks.html"),
        ("no results", "recipes/no-answer.html"),
        ("RRF", "recipes/two-retrievers.html"),
        ("cache", "recipes/cache.html"),
        ("memory", "recipes/memory.html"),
        ("rerank", "recipes/reranker.html"),
    ],
)
def test_the_search_knows_the_words_of_its_readers(
    browser: tuple[Any, str], words: str, guide: str
) -> None:
    assert guide in found_by(browser, words)[:3]


def found_by(browser: tuple[Any, str], words: str) -> list[str]:
    """Return the pages that the search of the site finds, best first."""
    page = browser[0].new_page()
    page.goto(f"{browser[1]}/search.html?q={words.replace(' ', '+')}")
    page.wait_for_function(
        "document.querySelector('.search-summary')?.textContent.includes('found')"
    )
    hits = page.locator("ul.search li > a").all()[:9]
    found = [str(hit.get_attribute("href")) for hit in hits]
    page.close()
    return [address.partition("?")[0].partition("#")[0] for address in found]


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


def links_of(path: Path) -> Iterator[Path]:
    """Yield the files that a page of the site links to."""
    for address in re.findall(r'<a\b[^>]*?\bhref="([^"]*)"', path.read_text(encoding="utf-8")):
        target = html.unescape(address).partition("#")[0]
        if target and not re.match(r"\w+:", target):
            yield (path.parent / target).resolve()


def test_every_page_is_two_clicks_from_the_front_page(site: Path) -> None:
    front = (site / "index.html").resolve()
    seen = {front, *links_of(front)}
    for path in [path for path in seen if path.suffix == ".html"]:
        seen.update(links_of(path))
    made_by_sphinx = {"genindex.html", "py-modindex.html", "search.html"}
    pages = {path.resolve() for path in site.glob("**/*.html") if path.name not in made_by_sphinx}
    sources = {
        path for path in pages if "_modules" not in path.parts and "_static" not in path.parts
    }
    assert len(sources) > 70
    assert [path.name for path in sorted(sources - seen)] == []


def test_a_click_on_the_head_of_a_table_sorts_its_rows(browser: tuple[Any, str]) -> None:
    page = browser[0].new_page()
    page.goto(f"{browser[1]}/evidence/compare-methods.html")
    tables = page.locator("table.docutils", has=page.locator("button.sorter"))
    assert tables.count() > 1
    table, column = tables.first, 1
    number = re.compile(r"[-+]?\d+(?:\.\d+)?")
    head = table.locator("thead th").nth(column)

    def values() -> list[float]:
        cells = table.locator(f"tbody tr td:nth-child({column + 1})").all_inner_texts()
        return [float(found[0]) for found in map(number.match, cells) if found]

    before = values()
    assert len(before) > 10
    assert before != sorted(before)
    for order in ("descending", "ascending"):
        head.locator("button.sorter").click()
        assert head.get_attribute("aria-sort") == order
        assert values() == sorted(before, reverse=order == "descending")
    page.close()


def test_empty_cells_are_sorted_to_the_end_and_small_p_values_below_the_others(
    browser: tuple[Any, str],
) -> None:
    """They came first: an empty cell and "< 0.001" counted as words."""
    page = browser[0].new_page()
    page.goto(f"{browser[1]}/evidence/fuse-tables.html")
    table = page.locator("table.docutils", has=page.locator(".sorter")).first
    for _ in range(2):
        table.locator("th:nth-child(6) .sorter").click()
        cells = table.locator("tbody td:nth-child(6)").all_inner_texts()
        empty = [not text.strip() for text in cells]
        assert any(empty)
        assert empty == sorted(empty)
    page.goto(f"{browser[1]}/evidence/paper-tables.html")
    table = page.locator("table.docutils", has_text="< 0.001").last
    table.locator("th:nth-child(5) .sorter").click()
    cells = table.locator("tbody td:nth-child(5)").all_inner_texts()
    assert any(cell.startswith("< ") for cell in cells)
    values = [float(cell.removeprefix("< ")) for cell in cells]
    assert values == sorted(values, reverse=True)
    page.close()


@pytest.mark.parametrize("name", ["llms.txt", "llms-full.txt"])
def test_tools_find_the_verbs_the_words_and_the_traps(site: Path, name: str) -> None:
    text = (site / name).read_text(encoding="utf-8")
    for verb in ("cut", "keep", "fuse", "calibrate"):
        assert f"pc.{verb}(" in text
    for word in EXPECT:
        assert f'expect="{word}"' in text
    for trap in ("rank_only_scores", "rescaled_scores", "higher_is_better=False", "nan", "Depth"):
        assert trap in text
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text)
    inside = [link for link in links if not re.match(r"\w+:", link)]
    assert len(inside) > 60
    assert [link for link in inside if not (site / link).is_file()] == []


def test_llms_txt_names_every_page_and_the_full_one_has_the_recipes(site: Path) -> None:
    short = (site / "llms.txt").read_text(encoding="utf-8")
    pages = [path.relative_to(ROOT / "docs") for path in (ROOT / "docs").glob("**/*.md")]
    named = [page.with_suffix(".html").as_posix() for page in pages if page.stem != "index"]
    assert [page for page in named if f"]({page})" not in short] == []
    whole = (site / "llms-full.txt").read_text(encoding="utf-8")
    for page in ("calibrate", "recipes/chunks", "recipes/cache"):
        text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
        assert text.partition("\n")[0] in whole
        blocks = FENCE.findall(text)
        assert blocks
        assert [block for block in blocks if block not in whole] == []


RECIPES = sorted(path.stem for path in (ROOT / "docs" / "recipes").glob("*.md"))


def test_the_gallery_has_every_recipe_with_its_notebook_and_its_picture(site: Path) -> None:
    gallery = (site / "gallery.html").read_text(encoding="utf-8")
    for name in RECIPES:
        page = (site / "recipes" / f"{name}.html").read_text(encoding="utf-8")
        assert f'href="{name}.ipynb"' in page
        for needed in (f"recipes/{name}.ipynb", f"recipes/{name}.html", f"recipe-{name}.svg"):
            assert needed in gallery


@pytest.mark.parametrize("name", RECIPES)
def test_the_notebook_of_a_recipe_runs_and_ends_with_its_picture(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    nbformat, nbclient = importorskip("nbformat"), importorskip("nbclient")
    importorskip("ipykernel")
    assert main(["example", str(tmp_path), "--quiet"]) == 0
    monkeypatch.chdir(tmp_path)
    beside = str(Path(sys.executable).parent)
    monkeypatch.setenv("PATH", os.pathsep.join([beside, os.environ["PATH"]]))
    book = nbformat.read(site / "recipes" / f"{name}.ipynb", as_version=4)
    nbformat.validate(book)
    try:
        nbclient.NotebookClient(book, timeout=300, kernel_name="python3").execute()
    except nbclient.exceptions.CellExecutionError as error:
        if error.ename not in ("ModuleNotFoundError", "MissingExtraError"):
            raise
        missing(f"{name}: {error.evalue}")
    last = [cell for cell in book.cells if cell.cell_type == "code"][-1]
    assert any("<svg" in output.get("data", {}).get("text/html", "") for output in last.outputs)


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
