"""The slider in Python and in a real browser, and the notebook in examples/."""

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
from paretocut.errors import InvalidParameterError, InvalidScoresError
from paretocut.lists import RankedLists
from paretocut.truncators import Calibrated, Consensus, FixedK, GlobalK
from paretocut.truncators.evidence import Clause

importorskip("anywidget")

from paretocut.show.slider import CutSlider, slider  # noqa: E402 (an extra is asked for first)

SENT = ("k", "chosen", "curves", "name", "picture", "places")
NOTEBOOK = ROOT / "examples" / "see_the_cut.ipynb"


def judged(n: int = 200) -> tuple[Any, Any]:
    """Return scores and judgements of one list, in no order."""
    rng = np.random.default_rng(5)
    scores = np.append(rng.normal(0.65, 0.03, 5), np.sort(rng.normal(0.25, 0.06, 20_000))[5 - n :])
    relevance = np.append(np.ones(5), rng.random(n - 5) < 0.02)
    mixed = rng.permutation(n)
    return scores[mixed], relevance[mixed]


def test_the_slider_starts_where_the_truncator_cuts() -> None:
    scores, relevance = judged()
    cut = pc.cut(scores)
    widget = slider(scores, relevance)
    assert (widget.k, widget.chosen, widget.reason) == (cut.k, cut.k, cut.reason)
    assert widget.indices.tolist() == cut.indices.tolist()
    assert slider(scores, expect="dozens").k == pc.cut(scores, expect="dozens").k
    assert slider(scores, evalue=0.05).reason == pc.cut(scores, evalue=0.05).reason


@pytest.mark.parametrize("higher_is_better", [True, False])
def test_every_cut_has_the_numbers_of_the_engine(higher_is_better: bool) -> None:
    scores, relevance = judged()
    scores = scores if higher_is_better else 1 - scores
    widget = slider(scores, relevance, higher_is_better=higher_is_better)
    fit = pc.fit_tail(scores, higher_is_better=higher_is_better)
    found = np.count_nonzero(relevance)
    for k in (1, 2, 5, 77, 200):
        widget.k = k
        last = widget.indices[-1]
        assert widget.curves["score"][k] == scores[last]
        assert widget.curves["surprise"][k] == fit.surprise[last]
        assert widget.curves["p-value"][k] == fit.pvalues[last]
        assert widget.curves["E-value"][k] == fit.evalues[last]
        hits = np.count_nonzero(relevance[widget.indices])
        assert widget.curves["precision"][k] == pytest.approx(hits / k)
        assert widget.curves["recall"][k] == pytest.approx(hits / found)
        assert widget.curves["f1"][k] == pytest.approx(2 * hits / (k + found))
    assert widget.curves["surprise"][0] is None
    assert {len(curve) for curve in widget.curves.values()} == {201}


def test_what_is_sent_to_the_page_is_json_and_bounded() -> None:
    scores, relevance = judged()
    widget = slider(scores, relevance)
    json.dumps(widget.get_state(list(SENT)), allow_nan=False)
    widget.k = 999
    assert widget.k == 200
    widget.k = -3
    assert widget.k == 0
    assert widget.indices.size == 0


@pytest.mark.parametrize("scores", [[], [1.0], [2.0, 2.0]])
def test_short_lists_have_sliders(scores: list[float]) -> None:
    widget = slider(scores)
    assert isinstance(widget, CutSlider)
    assert set(widget.curves) == {"score", "surprise", "p-value", "E-value"}
    assert len(widget.curves["score"]) == len(scores) + 1


def test_bad_arguments_are_named() -> None:
    with pytest.raises(InvalidScoresError, match="slider: relevance must have one value for each"):
        slider([2.0, 1.0], [1])
    with pytest.raises(InvalidParameterError, match="slider: at most one of truncator"):
        slider([2.0, 1.0], alpha=0.05, evalue=0.05)


# In a browser.

PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>page</title>
<body><main><h1>A notebook</h1><div data-still="{name}">{picture}</div><div id="slider"></div>
</main><script>
const state = {state}, listeners = [];
window.saved = [];
const model = {{
  get: (name) => state[name],
  set: (name, value) => {{ state[name] = value; listeners.forEach((listener) => listener()); }},
  save_changes: () => window.saved.push(state.k),
  on: (event, listener) => listeners.push(listener),
  off: () => listeners.length = 0,
}};
const source = new Blob([{source}], {{ type: "text/javascript" }});
// Notebooks take the keys that reach them: JupyterLab moves between cells by arrows.
document.addEventListener("keydown", (event) => event.preventDefault());
import(URL.createObjectURL(source)).then((module) => {{
  window.exported = Object.keys(module);
  module.default.render({{ model, el: document.getElementById("slider") }});
  document.title = "ready";
}});
</script>"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found.new_page(viewport={"width": 700, "height": 600})


def opened(browser: Any, widget: CutSlider, folder: Path) -> Any:
    state = {name: getattr(widget, name) for name in SENT}
    page = folder / "page.html"
    sent = {"name": widget.name, "picture": widget.picture, "source": json.dumps(widget._esm)}
    page.write_text(PAGE.format(state=json.dumps(state), **sent), "utf-8")
    browser.goto(page.as_uri())
    browser.wait_for_function("document.title === 'ready'")
    assert browser.locator("[data-still]").is_hidden()
    return browser


def shown(browser: Any) -> dict[str, str]:
    cells = browser.locator("[data-curve]").all()
    numbers = {cell.get_attribute("data-curve"): cell.inner_text() for cell in cells}
    return numbers | {"kept": browser.locator("strong").inner_text()}


def expected(widget: CutSlider, k: int) -> dict[str, str]:
    values = {name: curve[k] for name, curve in widget.curves.items()}
    numbers = {name: "none" if value is None else str(value) for name, value in values.items()}
    return numbers | {"kept": f"{k} of {len(widget.places) - 1} kept"}


def agree(found: dict[str, str], wanted: dict[str, str]) -> None:
    assert found.keys() == wanted.keys()
    assert found["kept"] == wanted["kept"]
    for name in found.keys() - {"kept"}:
        if wanted[name] == "none":
            assert found[name] == "none"
        else:
            assert float(found[name]) == pytest.approx(float(wanted[name]), rel=1e-3)


@pytest.mark.heavy
@pytest.mark.parametrize("n", [40, 200])
def test_dragging_shows_the_numbers_of_the_engine(browser: Any, tmp_path: Path, n: int) -> None:
    scores, relevance = judged(n)
    widget = slider(scores, relevance)
    page = opened(browser, widget, tmp_path)
    assert page.evaluate("window.exported") == ["default"]  # others are deprecated
    assert faults(page) == []
    agree(shown(page), expected(widget, widget.k))
    svg = page.locator("#slider svg")
    words = {*svg.locator("text").all_text_contents()}
    assert {"rank (logarithmic)" if n > 100 else "rank", "score", "10", "0.5"} <= words
    box = svg.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    seen = set()
    for offset in (-250, -100, 40, 150, 400):
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x + offset, y)
        page.mouse.up()
        k = int(shown(page)["kept"].split()[0])
        agree(shown(page), expected(widget, k))
        assert page.evaluate("window.saved.at(-1)") == k
        # As many dots in the colour of the kept ones as results are kept.
        kept = page.locator('#slider circle[fill="#D55E00"]').count()
        assert kept == k if n <= 100 else kept <= k
        seen.add(k)
    assert len(seen) == 5
    assert n in seen
    # The keyboard alone: to the start, then three results.
    slide = page.locator("input[type=range]")
    slide.press("Home")
    agree(shown(page), expected(widget, 0))
    for _ in range(3):
        slide.press("ArrowRight")
    agree(shown(page), expected(widget, 3))
    assert slide.get_attribute("aria-valuetext") == f"3 of {n} kept"
    # And back to what the truncator chose.
    page.locator("button").click()
    agree(shown(page), expected(widget, widget.chosen))
    if n <= 100:
        assert page.locator('#slider circle[stroke="#009E73"]').count() == relevance.sum()


@pytest.mark.heavy
def test_text_is_shown_as_text(browser: Any, tmp_path: Path) -> None:
    class Odd(FixedK):
        def _decide(self, lists: RankedLists) -> tuple[Any, Clause]:
            return np.ones(len(lists), dtype=np.int64), Clause("<img src=x onerror='alert(1)'>")

    widget = slider([3.0, 2.0, 1.0], truncator=Odd(1))
    page = opened(browser, widget, tmp_path)
    assert "<img src=x onerror='alert(1)'>" in page.locator("#slider").inner_text()
    assert page.locator("img").count() == 0


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
        pc.fit_tails([scores, scores[:60]]),
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
    assert browser.locator("svg[role=img]").count() == len(things) + 1  # two intervals
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
    assert len(drawn) >= 8
    assert any("application/vnd.jupyter.widget-view+json" in o.get("data", {}) for o in outputs)
    # Saved as a page and opened without a network, widgets do not run: all is drawn nevertheless.
    saved, asked = tmp_path / "saved.html", []
    saved.write_text('<!doctype html><meta charset="utf-8">' + "".join(drawn), "utf-8")
    browser.context.set_offline(True)
    browser.on("request", lambda request: asked.append(request.url))
    browser.goto(saved.as_uri())
    assert asked == [saved.as_uri()]
    assert browser.locator("[data-still] svg").is_visible()
    assert browser.locator("svg[role=img]").count() >= len(drawn)
    # Every number in its words is one that the cells print.
    printed = " ".join(output.get("text", "") for output in outputs)
    told = re.findall(r"\*\*([\d.]+%?)\*\*", " ".join(cell.source for cell in book.cells))
    assert told
    assert all(number in printed for number in told)
