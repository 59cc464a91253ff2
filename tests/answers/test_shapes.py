"""Plain shapes of answers: whatever holds results and scores is read, cut and fused alike."""

from __future__ import annotations

import asyncio
import copy
import dataclasses
import sqlite3
import subprocess
import sys
from collections import OrderedDict, namedtuple
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import importorskip

import paretocut as pc
from paretocut.adapters import ScoresWarning
from paretocut.answers import HOSTS, Host, hosts, read, register
from paretocut.answers.reading import FIELDS
from paretocut.errors import InvalidParameterError, InvalidScoresError, ParetocutError

pytestmark = pytest.mark.filterwarnings("ignore::paretocut.adapters.ScoresWarning")

IDS = ["fern", "móss", "薔薇", "oak", "ash", "🌲"]
SCORES = [0.71, 0.68, 0.41, 0.40, 0.38, 0.37]
Pair = namedtuple("Pair", ["document", "score"])


@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:
    """A result that cannot be changed."""

    id: str
    score: float


class Mine(list[Any]):
    """A list of a class of its own."""


def rows(make: Any) -> list[Any]:
    return [make(name, score) for name, score in zip(IDS, SCORES, strict=True)]


SHAPES: dict[str, tuple[Any, Any]] = {  # an answer, and how its ids are read
    "pairs": (rows(lambda i, s: (i, s)), lambda a: [x for x, _ in a]),
    "pairs the other way round": (rows(lambda i, s: (s, i)), lambda a: [x for _, x in a]),
    "pairs in lists": (rows(lambda i, s: [i, s]), lambda a: [x for x, _ in a]),
    "a tuple of pairs": (tuple(rows(lambda i, s: (i, s))), lambda a: [x for x, _ in a]),
    "named tuples": (rows(Pair), lambda a: [x.document for x in a]),
    "rows with a number": (rows(lambda i, s: (7, i, s)), lambda a: [x[1] for x in a]),
    "decimals": (rows(lambda i, s: (i, Decimal(str(s)))), lambda a: [x for x, _ in a]),
    "mappings": (rows(lambda i, s: {"id": i, "score": s}), lambda a: [x["id"] for x in a]),
    "numbers as text": (
        rows(lambda i, s: {"id": i, "similarity": str(s)}),
        lambda a: [x["id"] for x in a],
    ),
    "objects": (rows(lambda i, s: SimpleNamespace(id=i, score=s)), lambda a: [x.id for x in a]),
    "frozen objects": (rows(Frozen), lambda a: [x.id for x in a]),
    "ids and scores": (dict(zip(IDS, SCORES, strict=True)), list),
    "an ordered mapping": (OrderedDict(zip(IDS, SCORES, strict=True)), list),
    "two lists": ((IDS, SCORES), lambda a: a[0]),
    "two arrays": ((np.array(IDS), np.array(SCORES)), lambda a: a[0].tolist()),
    "two arrays, scores first": ((np.array(SCORES), np.array(IDS)), lambda a: a[1].tolist()),
    "columns": ({"ids": IDS, "scores": SCORES, "took": 3}, lambda a: a["ids"]),
    "columns of one query": ({"ids": [IDS], "distances": [[-s for s in SCORES]]},
                             lambda a: a["ids"][0]),
    "hits": ({"hits": {"total": 6, "hits": rows(lambda i, s: {"_id": i, "_score": s})}},
             lambda a: [x["_id"] for x in a["hits"]["hits"]]),
    "results": ({"results": rows(lambda i, s: {"id": i, "score": s})},
                lambda a: [x["id"] for x in a["results"]]),
    "a list of its own class": (Mine(rows(lambda i, s: (i, s))), lambda a: [x for x, _ in a]),
    "an object with results": (SimpleNamespace(results=rows(Pair), usage=3),
                               lambda a: [x.document for x in a.results]),
}  # fmt: skip
each_shape = pytest.mark.parametrize("name", SHAPES)


@each_shape
def test_every_shape_comes_back_shorter_and_of_its_type(name: str) -> None:
    answer, ids = SHAPES[name]
    before = copy.deepcopy(answer)
    kept, cut = pc.keep(answer, explain=True)
    cut = cut if isinstance(cut, pc.Cut) else cut[0]
    assert cut.k == pc.cut(SCORES).k == 2
    assert ids(kept) == IDS[:2]
    assert isinstance(kept, type(answer))
    assert ids(answer) == ids(before) == IDS
    assert ids(pc.keep(answer, min_k=4, max_k=4)) == IDS[:4]
    assert ids(pc.keep(kept, min_k=9)) == IDS[:2]
    if isinstance(kept, (list, tuple)):
        assert (kept.cut if cut._cuts.n.size == 1 and hasattr(kept, "cut") else kept.cuts[0]).k == 2


@each_shape
def test_every_shape_can_be_fused_and_gives_its_ids(name: str) -> None:
    answer, _ = SHAPES[name]
    where: dict[str, Any] = {}
    if "named" in name or "object with" in name:
        where = {"id": {"mine": "document"}}
    elif "rows with" in name:
        where = {"id": {"mine": 1}}
    fused = pc.fuse({"words": [("oak", 9.0), ("new", 1.0)], "mine": answer}, **where)
    (fused,) = fused if not hasattr(fused, "lists") else (fused,)
    assert {one.id for one in fused} == {*IDS, "new"}
    oak = next(one for one in fused if one.id == "oak")
    assert oak.parts["mine"] is not None
    assert abs(oak.parts["mine"]["score"]) == 0.40
    assert oak.parts["words"] == {"score": 9.0, "rank": 1}
    new = next(one for one in fused if one.id == "new")
    assert new.parts["mine"] is None


def test_fused_answers_are_what_fused_lists_are_and_can_be_kept() -> None:
    words = [("a", 9.0), ("b", 7.0), ("c", 1.0), ("a", 0.5)]  # an id that comes twice
    near = {"b": 0.2, "a": 0.3, "d": 0.9}
    fused = pc.fuse({"words": words, "near": near}, method="minmax")
    lists = pc.fuse(
        {
            "words": pc.RankedLists([[9.0, 7.0, 1.0, 0.5]], doc_ids=[["a", "b", "c", "a"]]),
            "near": pc.RankedLists(
                [[0.2, 0.3, 0.9]], doc_ids=[["b", "a", "d"]], higher_is_better=False
            ),
        },
        method="minmax",
    )
    assert [(one.id, one.score) for one in fused] == list(
        zip(lists.doc_ids[0].tolist(), lists.scores[0].tolist(), strict=True)
    )
    assert fused[0].results == {"words": "a", "near": "a"}
    kept, cut = pc.keep(fused, explain=True)
    assert cut.reason == pc.cut_batch(lists)[0].reason  # it says what each search gave
    assert [one.id for one in kept] == [one.id for one in fused][: cut.k]
    assert kept.cut is cut
    with pytest.raises(InvalidParameterError, match="all be RankedLists or all be answers"):
        pc.fuse({"words": words, "near": lists})
    with pytest.raises(InvalidParameterError, match=r"fuse: words: id= must say where the id"):
        pc.fuse({"words": [{"score": 1.0}], "near": near})


def test_rows_with_two_scores_are_fused_by_column() -> None:
    # A statement that joins two searches; None where a search did not find the document.
    found = [("a", 7.0, None), ("b", 3.0, 0.4), ("c", None, 0.1), ("d", 1.0, 0.9)]
    fused = pc.fuse(
        {"words": found, "vectors": found},
        score={"words": 1, "vectors": 2},
        id=0,
        higher_is_better={"words": True, "vectors": False},
    )
    want = pc.fuse(
        {
            "words": pc.RankedLists([[7.0, 3.0, 1.0]], doc_ids=[["a", "b", "d"]]),
            "vectors": pc.RankedLists(
                [[0.1, 0.4, 0.9]], doc_ids=[["c", "b", "d"]], higher_is_better=False
            ),
        }
    )
    assert [one.id for one in fused] == want.doc_ids[0].tolist()
    assert fused[0].results[next(iter(fused[0].results))] in found


scores_of_answers = st.lists(
    st.floats(-1e6, 1e6, allow_nan=False), min_size=0, max_size=60, unique=True
)


@settings(max_examples=60, deadline=None)
@given(scores_of_answers, st.booleans(), st.data())
def test_any_list_in_any_shape_is_cut_as_its_bare_scores(
    scores: list[float], up: bool, data: Any
) -> None:
    best = sorted(scores, reverse=up)
    names = [f"d{i}" for i in range(len(best))]
    shape = data.draw(
        st.sampled_from(
            [
                list(zip(names, best, strict=True)),
                list(zip(best, names, strict=True)),
                [{"id": n, "score": s} for n, s in zip(names, best, strict=True)],
                [SimpleNamespace(id=n, distance=s) for n, s in zip(names, best, strict=True)],
                dict(zip(names, best, strict=True)),
                (np.array(names, dtype=object), np.array(best, dtype=float)),
            ]
        )
    )
    k = pc.cut(best, higher_is_better=up).k if len(best) > 1 else len(best)
    kept, cut = pc.keep(shape, explain=True)
    assert (cut.k, cut.n) == (k, len(best))
    assert len(kept[0] if isinstance(shape, tuple) else kept) == k
    mixed = data.draw(st.permutations(best))
    if mixed not in (best, best[::-1]):
        pairs = list(zip(names, mixed, strict=True))
        with pytest.raises(InvalidScoresError, match="higher_is_better=True"):
            pc.keep(pairs)
        kept = pc.keep(pairs, higher_is_better=up)
        assert len(kept) == k
        assert kept == [pair for pair in pairs if pair in kept]  # in the caller's order


def test_falling_numbers_are_scores_and_rising_ones_distances() -> None:
    falling, rising = [0.9, 0.5, 0.1, 0.05], [0.1, 0.5, 0.9, 0.95]
    for scores, up in ((falling, True), (rising, False)):
        _, cut = pc.keep(list(zip(IDS, scores, strict=False)), explain=True)
        alone = pc.cut(scores, higher_is_better=up)
        assert cut.k == alone.k >= 1
        assert cut.reason == alone.reason + ("" if up else "; distances, as their order shows")
    for scores in ([0.5], [0.5, 0.5, 0.5]):
        assert len(pc.keep(list(zip(IDS, scores, strict=False)))) == len(scores)
    gate = pc.truncators.Gated(
        pc.truncators.FixedK(1),
        pc.Background.fit(np.random.default_rng(0).normal(1, 0.1, 60), higher_is_better=False),
    )
    assert gate.direction is False
    assert gate.cut([0.01, 0.5]).k == pc.cut([0.01, 0.5], truncator=gate).k == 1
    assert [len(pc.keep([("a", value)], truncator=gate)) for value in (0.01, 5.0)] == [1, 0]


def test_padding_is_dropped() -> None:
    labels = np.array([[4, 2, -1, -1]])
    found, names = pc.keep((np.array([[0.9, 0.8, np.inf, 3e38]]), labels), min_k=4)
    assert (found.tolist(), names.tolist()) == ([[0.9, 0.8]], [[4, 2]])
    holes = [("a", 0.9), ("b", None), ("c", float("nan")), ("d", 0.8), ("e", float("-inf"))]
    kept, cut = pc.keep(holes, min_k=5, explain=True)
    assert kept == [("a", 0.9), ("d", 0.8)]
    assert (cut.k, cut.n) == (2, 2)
    assert pc.keep([(7, None), (8, 0.5)]) == [(8, 0.5)]  # a whole number is a label
    assert pc.keep([("a", None, 0.9), ("b", None, 0.1)]) == [("a", None, 0.9)]


def test_batches_have_one_decision_each() -> None:
    first = list(zip(IDS, SCORES, strict=True))
    for batch in ([first, [], first[:1]], (first, [], first[:1])):
        kept, cuts = pc.keep(batch, explain=True)
        assert [len(one) for one in kept] == cuts.k.tolist() == [2, 0, 1]
        assert isinstance(kept, type(batch))
        assert kept.cuts is cuts
    runs = {"q1": dict(first), "q2": {}, "q3": {"a": 1.0}}
    assert {query: list(found) for query, found in pc.keep(runs).items()} == {
        "q1": IDS[:2],
        "q2": [],
        "q3": ["a"],
    }
    msearch = [{"hits": {"hits": [{"_id": i, "_score": s} for i, s in first]}}] * 2
    assert [len(one["hits"]["hits"]) for one in pc.keep(msearch)] == [2, 2]
    assert pc.keep([]) == []
    assert pc.keep([[]]) == [[]]
    with pytest.raises(InvalidParameterError, match="query must be one text for each list, 3"):
        pc.keep([first, first, first], query=["one"])
    with pytest.raises(InvalidScoresError, match="lists in different orders"):
        pc.keep([first, first[::-1]])


def test_score_names_a_field_a_place_or_a_function() -> None:
    found = [{"a": {"b": s}, "price": 9 - s, "score": 1.0} for s in SCORES]
    for score in ("a.b", lambda row: row["a"]["b"]):
        assert len(pc.keep(found, score=score)) == 2
    assert len(pc.keep([(s, 1.5, "x") for s in SCORES], score=0)) == 2
    assert len(pc.keep([(s, 1.5, "x") for s in SCORES], score=-3)) == 2
    assert len(pc.keep({"ids": IDS, "mine": SCORES}, score="mine")["ids"]) == 2
    with pytest.raises(InvalidParameterError, match=r"score must be in every result, got 'c'"):
        pc.keep(found, score="c")
    reranked = [{"_relevance_score": s, "_score": 1 - s, "_distance": s} for s in SCORES]
    assert len(pc.keep(reranked)) == 2  # LanceDB keeps the scores that a reranker started from


WRONG: list[tuple[Any, str]] = [
    (None, "answer must hold results with scores .* got None"),
    (5, "answer must hold results with scores"),
    ("text", "answer must hold results with scores .* got 'text'"),
    ({"a": "b"}, "answer must hold results with scores .* a dict with a"),
    ([None], "got none that is known"),
    ([{"rank": 1, "text": "a"}], r"none that is known in a dict with rank, text; .* score="),
    ([{"score": 1.0, "distance": 2.0}], r"several: score, distance .* score='score'\)"),
    ([(1.5, 2.5)], r"2 columns of numbers in \(1.5, 2.5\); name its place: .*score=1"),
    ([("a", "b")], "no column of scores"),
    ([("a", 0.5), ("b", "high")], "scores must be numbers, one for each result, got 'high'"),
    ([("a", 0.5), "b"], r"score must be in every result|scores must be numbers"),
    ((np.array([1.0]), np.array([2.0])), r"labels \(integers or text\) and one scores"),
    (np.zeros((2, 3)), r"answer must hold results with scores .* a ndarray of shape \(2, 3\)"),
    ({0.5, 0.9}, "answer must hold results with scores"),
    ({"ids": [["a", "b"]], "distances": [[0.1, 0.2, 0.9]]}, r"ids must be as many as distances"),
]


@pytest.mark.parametrize(("wrong", "message"), WRONG, ids=lambda value: str(value)[:30])
def test_errors_say_what_was_seen_and_what_to_write(wrong: Any, message: str) -> None:
    with pytest.raises(ParetocutError, match=f"^keep: .*{message}"):
        pc.keep(wrong)


def test_an_answer_that_must_be_waited_for_is_named() -> None:
    async def search() -> list[tuple[str, float]]:
        return [("a", 0.9)]

    with pytest.raises(InvalidParameterError, match=r"keep\(await search\(\.\.\.\)\)"):
        pc.keep(search())
    assert pc.keep(asyncio.run(search())) == [("a", 0.9)]

    async def stream() -> Any:
        yield "a", 0.9

    with pytest.raises(InvalidParameterError, match=r"keep\(\[one async for one in search"):
        pc.keep(stream())


def test_generators_are_read_once() -> None:
    assert pc.keep(pair for pair in zip(IDS, SCORES, strict=True)) == [
        ("fern", 0.71),
        ("móss", 0.68),
    ]


@pytest.fixture
def registered() -> Any:
    """Forget what a test has registered."""
    known = dict(HOSTS), dict(hosts._ANSWERS), dict(hosts._ITEMS)
    yield
    for table, before in zip((HOSTS, hosts._ANSWERS, hosts._ITEMS), known, strict=True):
        table.clear()
        table.update(before)
    hosts.host_of.cache_clear()


@dataclasses.dataclass
class Found:
    """The answer of a store that nobody knows."""

    documents: tuple[Any, ...]
    pages: int = 1


def test_a_host_of_ones_own_is_a_declaration(registered: None) -> None:
    answer = Found(tuple({"name": n, "closeness": s} for n, s in zip(IDS, SCORES, strict=True)))
    with pytest.raises(InvalidParameterError, match="none that is known"):
        pc.keep(answer)
    package = Found.__module__.partition(".")[0]
    mine = Host(
        name="Mine",
        answers=(f"{package}.Found",),
        results="documents",
        score={"closeness": True},
        id="name",
    )
    register(mine)
    kept = pc.keep(answer)
    assert [one["name"] for one in kept.documents] == IDS[:2]
    assert read(answer).ids("test") == [IDS]
    with pytest.raises(InvalidParameterError, match=r"register: host must be new, got Mine"):
        register(mine)
    with pytest.raises(InvalidParameterError, match=r"must be new, got .*Found"):
        register(dataclasses.replace(mine, name="Other"))


def test_an_installed_package_declares_its_host_by_an_entry_point(tmp_path: Path) -> None:
    (tmp_path / "my_store.py").write_text(
        "from dataclasses import dataclass\n"
        "from paretocut.answers import Host\n"
        "@dataclass\n"
        "class Found:\n"
        "    documents: list\n"
        "host = Host(name='Mine', answers=('my_store.Found',), results='documents',\n"
        "            score={'closeness': True})\n"
    )
    info = tmp_path / "my_store-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-store\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[paretocut.answers]\nmine = my_store:host\n")
    code = (
        "import my_store, paretocut as pc\n"
        "found = my_store.Found([{'closeness': .9}, {'closeness': .1}])\n"
        "print(pc.keep(found))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert run.stdout.strip() == "Found(documents=[{'closeness': 0.9}])"


def test_records_of_a_database_are_read_by_name_or_by_place() -> None:
    connection = sqlite3.connect(":memory:")
    connection.row_factory = sqlite3.Row
    connection.execute("create table found (id text, near real, score real)")
    rows = [(name, 1 - score, score) for name, score in zip(IDS, SCORES, strict=True)]
    connection.executemany("insert into found values (?, ?, ?)", rows)
    for columns in ("id, near", "id, near, score"):
        answer = connection.execute(f"select {columns} from found order by near").fetchall()
        kept = pc.keep(answer)
        assert [row["id"] for row in kept] == IDS[:2]
        assert all(isinstance(row, sqlite3.Row) for row in kept)
    connection.close()


def test_numbers_of_any_kind_are_scores() -> None:
    for kind in (Fraction, Decimal, np.float32, np.float64, float):
        pairs = [(name, kind(score)) for name, score in zip(IDS, SCORES, strict=True)]
        assert pc.keep(pairs) == pairs[:2]


def test_a_series_stays_a_series() -> None:
    pd, pl, pa = (importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    series = pd.Series(SCORES, index=IDS)
    kept, cut = pc.keep(series, explain=True)
    assert kept.equals(series[:2])
    assert cut.k == 2
    assert pc.keep(pl.Series("s", SCORES)).equals(pl.Series("s", SCORES[:2]))
    assert pc.keep(pa.array(SCORES)).equals(pa.array(SCORES[:2]))


def test_results_without_a_score_are_warned_of_and_answers_without_any_refused() -> None:
    for missing in (None, float("nan")):
        with pytest.warns(ScoresWarning, match="keep: 1 of 3 results have no score"):
            assert pc.keep([("a", 0.9), ("b", missing), ("c", 0.1)]) == [("a", 0.9)]
        with pytest.raises(InvalidScoresError, match="must have scores, got none for any of 2"):
            pc.keep([("a", missing), ("b", missing)], score=1)
    bad, good = float("-inf"), float("inf")
    assert pc.keep([("a", 0.9), ("b", 0.1), ("c", bad)]) == [("a", 0.9)]
    assert pc.keep([("a", 0.1), ("b", 0.9), ("c", good)]) == [("a", 0.1)]  # distances
    with pytest.raises(InvalidScoresError, match="must be finite, got inf for the result at ind"):
        pc.keep([("a", good), ("b", 0.9), ("c", 0.1)])


@pytest.mark.parametrize("odd", [0.3, (3,)])
def test_a_result_unlike_the_first_is_shown(odd: object) -> None:
    with pytest.raises(InvalidParameterError, match=r"all be like the first, \(1, 0.5\), got "):
        pc.keep([(1, 0.5), (2, 0.4), odd])


def test_what_only_a_frame_can_do_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match="explain must be True or False, except for"):
        pc.keep([("a", 0.9)], explain=["reason"])


def test_misspelt_methods_and_classes_are_answered_with_the_line_to_write() -> None:
    with pytest.raises(
        InvalidParameterError, match=r"one of the methods .*surprise.* got 'suprise'"
    ):
        pc.keep([("a", 0.9)], truncator="suprise")
    with pytest.raises(InvalidParameterError, match=r"the class: write Consensus\(\)"):
        pc.keep([("a", 0.9)], truncator=pc.truncators.Consensus)
    for word in ("k", "n", "top_k", "top_n", "limit", "n_results", "size"):
        with pytest.raises(InvalidParameterError, match="did you mean max_k"):
            pc.keep([("a", 0.9)], **{word: 3})


def test_every_known_field_is_found_alone() -> None:
    for name, up in FIELDS.items():
        numbers = SCORES if up is not False else SCORES[::-1]
        assert len(pc.keep([{name: value, "id": i} for i, value in enumerate(numbers)])) >= 1


def test_reading_imports_no_host() -> None:
    code = (
        "import sys, numpy\n"
        "before = {name.partition('.')[0] for name in sys.modules}\n"
        "import paretocut as pc\n"
        "pc.keep([('a', .9), ('b', .1)]); pc.keep({'a': 1.0})\n"
        "print(*{name.partition('.')[0] for name in sys.modules} - before)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    others = set(run.stdout.split()) - sys.stdlib_module_names
    assert {name for name in others if not name.startswith("_")} == {"paretocut"}
