"""The pictures in a real browser, and the notebook in examples/."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browsers import chromium, faults
from support import ROOT, importorskip

import paretocut as pc
from paretocut.lists import RankedLists
from paretocut.truncators import Calibrated, Consensus, GlobalK

NOTEBOOK = ROOT / "examples" / "see_the_cut.ipynb"


def judged(n: int = 200) -> tuple[Any, Any]:
    """Return scores and judgements of one list, in no order."""
    rng = np.random.default_rng(5)
    scores = np.append(rng.normal(0.65, 0.03, 5), np.sort(rng.normal(0.25, 0.06, 20_000))[5 - n :])
    relevance = np.append(np.ones(5), rng.random(n - 5) < 0.02)
    mixed = rng.permutation(n)
    return scores[mixed], relevance[mixed]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found.new_page(viewport={"width": 700, "height": 600})


@pytest.mark.heavy
@pytest.mark.parametrize(("page", "text"), [("#fff", "#111"), ("#111", "#eee")])
def test_pictures_have_no_faults_of_accessibility(
    browser: Any, tmp_path: Path, page: str, text: str
) -> None:
    scores, relevance = judged()
    unanswered = np.random.default_rng(0).normal(0.25, 0.06, (50, 2000)).max(axis=1)
    things = [
        pc.cut(scores),
        pc.fit_tail(scores),
        Consensus().cut_batch([scores, np.sort(scores)[::-1][5:]]),
        pc.Background.fit(unanswered),
        Calibrated(Consensus(), pc.Background.fit(unanswered)).record(nonsense=unanswered),
        (lists := RankedLists([scores] * 8, [relevance] * 8)),
        pc.evaluate({"k": GlobalK()}, lists, metrics=["f1"]),
    ]
    drawn = "".join(thing._repr_html_() for thing in things)
    file = tmp_path / "pictures.html"
    file.write_text(
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>pictures</title>'
        f'<body style="background:{page};color:{text}"><main><h1>A notebook</h1>{drawn}</main>',
        "utf-8",
    )
    browser.goto(file.as_uri())
    assert browser.locator("svg[role=img]").count() == len(things) - 1  # an evaluation is a table
    assert faults(browser) == []


# The notebook.


def test_the_notebook_is_committed_without_outputs() -> None:
    content = json.loads(NOTEBOOK.read_text("utf-8"))
    code = [cell for cell in content["cells"] if cell["cell_type"] == "code"]
    assert code
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)


@pytest.mark.heavy
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_notebook_runs_and_draws_without_a_network(browser: Any, tmp_path: Path) -> None:
    nbformat, nbclient = importorskip("nbformat"), importorskip("nbclient")
    importorskip("sklearn")
    book = nbformat.read(NOTEBOOK, as_version=4)
    nbclient.NotebookClient(book, timeout=300, kernel_name="python3").execute()
    outputs = [output for cell in book.cells for output in cell.get("outputs", [])]
    drawn = [
        output["data"]["text/html"]
        for output in outputs
        if "text/html" in output.get("data", {}) and "<svg" in output["data"]["text/html"]
    ]
    assert len(drawn) >= 6
    # Saved as a page and opened without a network, all is drawn.
    saved, asked = tmp_path / "saved.html", []
    saved.write_text('<!doctype html><meta charset="utf-8">' + "".join(drawn), "utf-8")
    browser.context.set_offline(True)
    browser.on("request", lambda request: asked.append(request.url))
    browser.goto(saved.as_uri())
    assert asked == [saved.as_uri()]
    assert browser.locator("svg[role=img]").count() >= len(drawn)
    # Every number in its words is one that the cells print.
    printed = " ".join(output.get("text", "") for output in outputs)
    told = re.findall(r"\*\*([\d.]+%?)\*\*", " ".join(cell.source for cell in book.cells))
    assert told
    assert all(number in printed for number in told)
