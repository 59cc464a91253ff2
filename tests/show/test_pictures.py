"""The pictures in notebooks: well-formed, small, and showing the numbers of their objects."""

from __future__ import annotations

import html
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from samples import planted as judged_lists
from support import ROOT

import paretocut as pc
from paretocut.lists import RankedLists
from paretocut.truncators import Calibrated, Consensus, FixedK, Gated, GlobalK
from paretocut.truncators.evidence import Clause

SVG = "{http://www.w3.org/2000/svg}"
KEPT, REST, RELEVANT = "#D55E00", "currentColor", "#009E73"
LIMIT = 20_000  # letters of a picture


def drawn(thing: Any) -> ElementTree.Element:
    """Return the picture as a tree, after what every picture must satisfy."""
    text = thing._repr_html_()
    assert len(text) < LIMIT
    root = ElementTree.fromstring(text)
    assert root.tag == "div"
    assert not re.search(r"nan|inf\b", " ".join(numbers_in(root)))
    for svg in root.iter(f"{SVG}svg"):
        assert svg.get("role") == "img"
        assert svg[0].tag == f"{SVG}title"
        assert svg[1].tag == f"{SVG}desc"
        assert svg[0].text
        width, height = (float(side) for side in svg.attrib["viewBox"].split()[2:])
        for x, y in points_of(svg):
            assert 0 <= x <= width
            assert 0 <= y <= height
    # Nothing for the whole page: no style sheet, script, id or class.
    assert {element.tag.rpartition("}")[2] for element in root.iter()} <= {
        *(
            "div",
            "b",
            "span",
            "svg",
            "title",
            "desc",
            "path",
            "rect",
            "polyline",
            "text",
            "tspan",
            "g",
        ),
        *("table", "tr", "th", "td"),
    }
    assert not {"id", "class"} & {name for element in root.iter() for name in element.attrib}
    return root


def numbers_in(root: ElementTree.Element) -> list[str]:
    places = ("d", "points", "x", "y", "width", "height", "transform")
    return [element.get(place, "") for element in root.iter() for place in places]


def points_of(svg: ElementTree.Element) -> list[tuple[float, float]]:
    found = [
        (element.get("x", "0"), element.get("y", "0"))
        for tag in ("text", "rect")
        for element in svg.iter(f"{SVG}{tag}")
    ]
    for path in svg.iter(f"{SVG}path"):
        found += re.findall(r"M([\d.-]+) ([\d.-]+)", path.attrib["d"])
    for line in svg.iter(f"{SVG}polyline"):
        found += re.findall(r"([\d.-]+),([\d.-]+)", line.attrib["points"])
    return [(float(x), float(y)) for x, y in found]


def dots(root: ElementTree.Element, colour: str) -> list[tuple[float, float]]:
    """Return where results are drawn in this colour."""
    paths = [
        path.attrib["d"]
        for path in root.iter(f"{SVG}path")
        if path.get("stroke-linecap") == "round" and path.get("stroke") == colour
    ]
    return [(float(x), float(y)) for x, y in re.findall(r"M([\d.-]+) ([\d.-]+)", " ".join(paths))]


def cut_line(root: ElementTree.Element) -> float:
    (path,) = (
        path.attrib["d"]
        for path in root.iter(f"{SVG}path")
        if path.get("stroke") == KEPT and path.get("stroke-linecap") is None
    )
    return float(re.match(r"M([\d.-]+)", path)[1])  # type: ignore[index]


def words(root: ElementTree.Element) -> str:
    return " ".join(" ".join(root.itertext()).split())


def planted(n: int = 200) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(3)
    noise = np.sort(rng.normal(0.25, 0.06, 100_000))[::-1]
    return np.array([0.71, 0.68, 0.66, 0.64, 0.62, *noise[: n - 5]])


@pytest.mark.parametrize("higher_is_better", [True, False])
@pytest.mark.parametrize("n", [10, 100, 101, 120])
def test_a_cut_shows_its_results_on_both_sides_of_the_line(n: int, higher_is_better: bool) -> None:
    scores = planted(n) if higher_is_better else 1 - planted(n)
    cut = pc.cut(scores, higher_is_better=higher_is_better, max_k=4)
    root = drawn(cut)
    kept, others = dots(root, KEPT), dots(root, REST)
    assert (len(kept), len(others)) == (cut.k, cut.n - cut.k)
    assert max(x for x, _ in kept) < cut_line(root) < min(x for x, _ in others)
    heights = [y for _, y in kept + others]  # the best is on top, and pixels count downwards
    assert heights == sorted(heights)
    # Heights are a straight line in the scores, up to the rounding of pixels.
    slope, start = np.polyfit(scores, heights, 1)
    assert np.abs(slope * scores + start - heights).max() < 0.11
    assert cut.reason in words(root)
    assert f"cut: {cut.k}" in words(root)


def test_the_order_of_the_callers_list_does_not_matter() -> None:
    scores = planted()
    mixed = np.random.default_rng(0).permutation(scores)
    assert pc.cut(mixed)._repr_html_() == pc.cut(scores)._repr_html_()


@pytest.mark.parametrize(
    "scores",
    [
        [],
        [0.0],
        [7.5],
        [2.0, 2.0, 2.0],
        [3.0, 0.0, 0.0, 0.0],
        [0.0] * 60,
        [1e308, 0.0, -1e308],
        [5e-324, 0.0],
        [1.0 + 1e-15, 1.0],
        [1e15 + 2, 1e15 + 1, 1e15],
        np.exp(np.arange(200.0)[::-1] * 3),
        np.repeat([3.0, 2.0, 1.0], 70),
    ],
    ids=lambda scores: f"{len(scores)}-{scores[0] if len(scores) else ''}",
)
def test_odd_lists_have_pictures(scores: Any) -> None:
    for k in {0, 1, len(scores) // 2, len(scores)}:
        cut = FixedK(max(k, 1)).cut(scores, max_k=k)
        shown = len(dots(drawn(cut), KEPT))
        assert shown == cut.k if cut.k <= 150 else 0 < shown <= 150
    drawn(pc.fit_tail(scores))
    drawn(FixedK(2).cut_batch([scores, [1.0], scores]))


def test_no_lists_have_pictures() -> None:
    assert "lists 0" in words(drawn(FixedK(2).cut_batch([])))


@pytest.mark.parametrize("k", [0, 3, 7_000, 10_000])
def test_long_lists_are_thinned_and_keep_their_ends(k: int) -> None:
    scores = np.linspace(9.0, 1.0, 10_000) ** 2
    cut = FixedK(max(k, 1)).cut(scores, max_k=k)
    kept, others = dots(drawn(cut), KEPT), dots(drawn(cut), REST)
    assert len(kept) <= 150
    assert len(others) <= 150
    # The best is drawn on top and the worst at the bottom, whatever is left out between them.
    heights = [y for _, y in kept + others]
    assert (heights[0], heights[-1]) == (18.0, 174.0)
    drawn(pc.fit_tail(scores))


@settings(max_examples=60, deadline=None)
@given(
    arrays(
        np.float64, st.integers(0, 40), elements=st.floats(allow_nan=False, allow_infinity=False)
    ),
    st.booleans(),
)
def test_any_finite_scores_have_pictures(scores: Any, higher_is_better: bool) -> None:
    scores = np.sort(scores)[::-1] if higher_is_better else np.sort(scores)
    drawn(pc.cut(scores, higher_is_better=higher_is_better))
    drawn(pc.fit_tail(scores, higher_is_better=higher_is_better))


def test_text_is_escaped() -> None:
    class Odd(FixedK):
        def decide(self, lists: RankedLists) -> tuple[Any, Clause]:
            text = f"<script>alert('&')</script>\x00\x1b \ud800{'x' * 9000}"
            return np.ones(len(lists), dtype=np.int64), Clause(text)

        @property
        def label(self) -> str:
            return '"><img src=x onerror=alert(1)>'

    text = Odd(1).cut([2.0, 1.0])._repr_html_()
    assert "<script" not in text
    assert "<img" not in text
    assert "<script>alert('&')</script>" in words(drawn(Odd(1).cut([2.0, 1.0])))
    drawn(Odd(1).cut_batch([[2.0, 1.0]]))


def test_warnings_come_with_what_to_do() -> None:
    cut = pc.cut(1 / np.arange(61.0, 261.0), expect="one")
    assert "rank_only_scores" in cut.warnings
    shown = words(drawn(cut))
    assert all(f"{name} : {pc.decisions.WARNINGS[name]}" in shown for name in cut.warnings)


def bars(root: ElementTree.Element) -> list[tuple[float, float, int, bool]]:
    """Return left, height, number of lists and whether it is the bar of the empty ones."""
    return [
        (
            float(bar.attrib["x"]),
            float(bar.attrib["height"]),
            int(str(bar[0].text).split()[0]),
            bar.get("fill") == KEPT,
        )
        for bar in root.iter(f"{SVG}rect")
    ]


@pytest.mark.parametrize("most", [3, 39, 40, 41, 900])
def test_bars_of_many_cuts_count_the_lists(most: int) -> None:
    rng = np.random.default_rng(most)
    k = np.minimum(rng.geometric(3 / most, 500) - 1, most)
    lists = [np.arange(most)[::-1] + 1.0] * 500
    cuts = replace(FixedK(most).cut_batch(lists), k=k, unbounded=k)
    root = drawn(cuts)
    found = bars(root)
    assert sum(count for *_, count, _ in found) == 500
    assert sum(count for *_, count, empty in found if empty) == np.count_nonzero(k == 0)
    # Heights in proportion to the counts.
    ratio = [height / count for _, height, count, _ in found]
    assert max(abs(height - ratio[0] * count) for _, height, count, _ in found) < 2
    shown = words(root)
    assert f"results kept {k.sum()} of {500 * most}" in shown
    assert f"empty {np.count_nonzero(k == 0)}" in shown
    assert f"median {np.median(k):.4g}" in shown


def test_warnings_of_many_cuts_are_counted() -> None:
    cuts = pc.truncators.Consensus().cut_batch([planted(), [1.0, 1.0], [2.0, 2.0]])
    assert "constant_scores (2 lists)" in words(drawn(cuts))


@pytest.mark.parametrize("higher_is_better", [True, False])
def test_a_fit_shows_its_window_and_the_tail(higher_is_better: bool) -> None:
    scores = planted() if higher_is_better else 1 - planted()
    fit = pc.fit_tail(scores, higher_is_better=higher_is_better)
    root = drawn(fit)
    every = dots(root, REST)
    assert f"shape {fit.shape:.4g}" in words(root)
    assert f"threshold {fit.threshold:.4g}" in words(root)
    (window,) = root.iter(f"{SVG}rect")
    left, width = float(window.attrib["x"]), float(window.attrib["width"])
    # The border lies between the last result above the window and the first one inside; so near
    # the top every result is drawn.
    at = [x for x, _ in every]
    first = fit.n - fit.upper
    assert 0 < first < 12
    assert at[first - 1] < left < at[first]
    assert fit.lower == 0
    assert left + width == pytest.approx(at[-1], abs=1)
    # The line passes through (E-value, score): where E is 10, by the axis of ranks.
    (line,) = root.iter(f"{SVG}polyline")
    path = np.array([[float(v) for v in p.split(",")] for p in line.attrib["points"].split()])
    rank10 = at[9]
    order = np.argsort(path[:, 0])
    drawn_height = np.interp(rank10, path[order, 0], path[order, 1])
    by_value = np.argsort(fit.evalues)
    score10 = np.interp(np.log(10), np.log(fit.evalues[by_value]), scores[by_value])
    heights = np.array([y for _, y in every])[:12]
    slope, start = np.polyfit(scores[:12], heights, 1)
    assert drawn_height == pytest.approx(slope * score10 + start, abs=1.0)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_background_shows_its_law_and_limit(sign: float) -> None:
    rng = np.random.default_rng(2)
    tops = sign * rng.normal(0.25, 0.06, (200, 2000)).max(axis=1)
    queries = sign * np.concatenate([rng.normal(0.65, 0.04, 150), rng.normal(0.47, 0.02, 50)])
    plain = pc.Background.fit(tops, size=2000, higher_is_better=sign > 0)
    both = pc.Background.fit(tops, queries=queries, higher_is_better=sign > 0)
    for background in (plain, both):
        root = drawn(background)
        shown = words(root)
        assert f"5 % are beyond: {background.limit(0.05):.4g}" in shown
        assert f"shape {background.shape:.4g}" in shown
    assert "documents 2000" in words(drawn(plain))
    assert both.groups is not None
    assert f"answers begin at: {sign * both.groups.threshold:.4g}" in words(drawn(both))
    # The density is highest where most best scores are: at the mode of the same law in SciPy.
    from scipy.stats import genextreme

    (line,) = drawn(plain).iter(f"{SVG}polyline")
    path = np.array([[float(v) for v in p.split(",")] for p in line.attrib["points"].split()])
    grid = np.linspace(plain.limit(0.999), plain.limit(0.001), len(path))
    law = genextreme(-plain.shape, plain.loc, plain.scale)
    density = law.pdf(sign * grid)
    bottom, top = path[:, 1].max(), path[:, 1].min()
    heights = (path[:, 1] - path[0, 1]) / (top - bottom)
    expected = (density - density[0]) / (density.max() - density.min())
    np.testing.assert_allclose(heights, expected, atol=0.02)


@pytest.mark.parametrize("higher_is_better", [True, False])
def test_lists_show_the_scores_of_some_of_them(higher_is_better: bool) -> None:
    rng = np.random.default_rng(4)
    scores = [rng.exponential(size=n) for n in (30, 0, 8, 40, 12, 9, 7, 5)]
    relevance = [rng.random(len(part)) < 0.3 for part in scores]
    lists = RankedLists(scores, relevance, higher_is_better=higher_is_better)
    root = drawn(lists)
    shown = words(root)
    assert "lists 8" in shown
    assert "results 111" in shown
    assert "in each 0 to 40" in shown
    assert f"relevant {sum(part.sum() for part in relevance)}" in shown
    # Five lines, each as long as its list and falling on the page, the best of all on top.
    lines = [line.attrib["points"].split() for line in root.iter(f"{SVG}polyline")]
    assert [len(line) for line in lines] == [30, 8, 40, 12, 9]
    heights = [[float(point.split(",")[1]) for point in line] for line in lines]
    assert all(np.diff(line).min() >= 0 for line in heights)
    assert min(map(min, heights)) == 18
    hits = [path for path in root.iter(f"{SVG}path") if path.get("stroke") == RELEVANT]
    marked = sum(path.attrib["d"].count("M") for path in hits)
    assert marked == sum(relevance[i].sum() for i in (0, 2, 3, 4, 5))
    unjudged = drawn(RankedLists(scores, higher_is_better=higher_is_better))
    assert "relevant" not in words(unjudged)
    part = [[None, *grades[1:].tolist()] if len(grades) else [] for grades in relevance]
    assert "judged 104" in words(drawn(RankedLists(scores, part)))
    for empty in ([], [[]], [[1.0]]):
        assert f"lists {len(empty)}" in words(drawn(RankedLists(empty)))


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_calibration_shows_both_groups_and_the_gate(sign: float) -> None:
    rng = np.random.default_rng(2)
    nonsense = rng.normal(0.25, 0.06, (200, 2000)).max(axis=1)
    queries = rng.normal(0.65, 0.04, 150)
    background = pc.Background.fit(sign * nonsense, higher_is_better=sign > 0)
    bare = Calibrated(Consensus(), background)
    assert drawn(bare).find(f".//{SVG}polyline") is not None  # the law, as nothing else is known
    calibrated = bare.record(nonsense=nonsense, unjudged=queries)
    root = drawn(calibrated)
    shown = words(root)
    assert f"gate: {calibrated.threshold():.4g}" in shown
    assert calibrated.report().splitlines()[2] in shown
    counts = {"#0072B2": 0, KEPT: 0}
    for bar in root.iter(f"{SVG}rect"):
        counts[bar.attrib["fill"]] += int(str(bar[0].text).split()[0])
    assert counts == {"#0072B2": 200, KEPT: 150}
    # The gate lies between the groups, on the axis of the bars.
    at = {colour: [float(bar.attrib["x"]) for bar in root.iter(f"{SVG}rect")
                   if bar.attrib["fill"] == colour] for colour in counts}  # fmt: skip
    gate, middles = cut_line(root), sorted(float(np.median(x)) for x in at.values())
    assert middles[0] < gate < middles[1]


def test_an_evaluation_shows_its_intervals_and_marks_the_best() -> None:
    rng = np.random.default_rng(0)
    relevant = np.arange(30) < rng.integers(1, 9, size=(40, 1))
    lists = RankedLists(rng.normal(size=relevant.shape) + 2 * relevant, relevant)
    named = {"<k>": GlobalK(), "one": FixedK(1)}
    result = pc.evaluate(named, lists, metrics=["f1"], baseline="one", splits=1)
    root = drawn(result)
    rows = list(root.iter("tr"))[1:]
    lines = [line for line in result.summary if line.metric == "f1"]
    assert len(rows) == len(lines) == 3
    usable = [line for line in lines if line.truncator not in result.ceiling]
    best = max(usable, key=lambda line: line.mean).truncator
    for row, line in zip(rows, lines, strict=True):
        cells = [" ".join(cell.itertext()) for cell in row]
        assert cells[0].removesuffix(" (ceiling)") == line.truncator
        assert cells[3] == f"{line.low:.3f} to {line.high:.3f}"
        assert (row.find("td/b") is not None) == (line.truncator == best)


def test_gated_cuts_have_pictures() -> None:
    rng = np.random.default_rng(0)
    unanswered = rng.normal(0.25, 0.06, (100, 2000)).max(axis=1)
    gate = Gated(FixedK(3), pc.Background.fit(unanswered))
    root = drawn(gate.cut(planted()[40:]))
    assert "kept none of 160" in words(root)
    assert dots(root, KEPT) == []


@pytest.mark.parametrize("n", [30, 400])
@pytest.mark.parametrize("higher_is_better", [True, False])
def test_judged_results_are_marked_at_their_places(n: int, higher_is_better: bool) -> None:
    rng = np.random.default_rng(n)
    grades = rng.integers(0, 3, n).astype(float)
    grades[::4] = np.nan  # not judged
    scores = np.sort(rng.exponential(size=n))[:: -1 if higher_is_better else 1]
    lists = RankedLists([scores], [grades], higher_is_better=higher_is_better, min_grade=2)
    hits = np.flatnonzero(grades == 2)
    for thing in (lists[0], FixedK(5).cut_batch(lists)[0]):
        root = drawn(thing)
        rings = dots(root, RELEVANT)
        assert len(rings) == min(hits.size, 150)
        if n == 30:
            every = sorted({*dots(root, KEPT), *dots(root, REST)})
            assert rings == [every[i] for i in hits]


def test_one_list_says_how_many_results_it_has() -> None:
    lists = RankedLists([planted()], [np.arange(200) < 7], query_ids=["<why>"])
    shown = words(drawn(lists[0]))
    assert "query <why> · results 200 · relevant 7" in shown
    assert "relevant" not in words(drawn(RankedLists([planted()])[0]))
    assert "results 0" in words(drawn(RankedLists([[]])[0]))


def test_subclasses_are_drawn_like_their_class() -> None:
    class Lists(RankedLists):
        pass

    class Own(Calibrated):
        pass

    unanswered = np.random.default_rng(0).normal(0.25, 0.06, (50, 2000)).max(axis=1)
    background = pc.Background.fit(unanswered)
    for known, own in (
        (RankedLists([[3.0, 1.0]]), Lists([[3.0, 1.0]])),
        (Calibrated(FixedK(3), background), Own(FixedK(3), background)),
    ):
        assert known._repr_html_() == own._repr_html_()


def test_truncators_show_their_parameters_and_what_they_learned() -> None:
    rng = np.random.default_rng(0)
    relevant = np.arange(30) < rng.integers(1, 9, size=(40, 1))
    lists = RankedLists(rng.normal(size=relevant.shape) + 2 * relevant, relevant)
    fitted = Consensus().fit(lists)
    assert "strategy vote" in words(drawn(fitted))
    assert "queries 40" in words(drawn(fitted))
    assert words(drawn(Consensus(expect="few"))) == "Consensus(expect='few')"
    k = GlobalK().fit(lists)
    assert f"k {k.k_}" in words(drawn(k))
    background = pc.Background.fit(rng.normal(0.25, 0.06, (50, 2000)).max(axis=1))
    gate = Gated(FixedK(3), background)
    assert "FixedK(k=3)" in words(drawn(gate))
    assert f"gate: {background.limit(0.05):.4g}" in words(drawn(gate))


def test_limits_set_afterwards_are_shown() -> None:
    cut = (
        FixedK(5)
        .cut_batch([planted()])
        .limited({0: (np.arange(2), "all that fit into 500 tokens")})[0]
    )
    root = drawn(cut)
    assert len(dots(root, KEPT)) == 2
    assert "all that fit into 500 tokens" in words(root)


def test_the_page_shows_what_is_drawn() -> None:
    rng = np.random.default_rng(1)
    index = np.sort(rng.normal(0.25, 0.06, 100_000))[::-1]
    scores = np.sort([*rng.normal(0.65, 0.03, 5), *index[:195]])[::-1]
    page = (ROOT / "docs" / "notebook.md").read_text("utf-8")
    for name, thing in (("cut", pc.cut(scores)), ("fit", pc.fit_tail(scores))):
        file = f"images/notebook-{name}.html"
        assert file in page
        assert (ROOT / "docs" / file).read_text("utf-8") == thing._repr_html_() + "\n"


def test_an_evaluation_says_what_it_shows_and_a_model_what_it_learned_from() -> None:
    lists = judged_lists(20)
    found = pc.evaluate(["default", "minmax"], lists, ["f1"])
    assert found.verdict() in html.unescape(found._repr_html_())
    fitted = pc.truncators.Consensus().fit(lists)
    assert "Consensus()</b>, learned from 20 judged queries" in fitted._repr_html_()
    assert "learned from" not in pc.truncators.Consensus()._repr_html_()
