"""Damaged and hostile model files: refused with `DataFormatError`, or harmless."""

from __future__ import annotations

import json
import os
import random
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import importorskip

import paretocut as pc
from paretocut import truncators as tr
from paretocut.errors import DataFormatError, ParetocutError

MUTANTS = 20_000
SEED = 20260115


def judged(count: int = 24, seed: int = 0) -> pc.RankedLists:
    """Return small judged lists with an embedding for each query."""
    rng = np.random.default_rng(seed)
    return pc.RankedLists(
        rng.normal(size=(count, 12)),
        rng.random((count, 12)) < 0.35,
        query_embeddings=rng.random((count, 2)),
    )


@cache
def background() -> pc.Background:
    """Return a background with groups."""
    rng = np.random.default_rng(1)
    unanswered = -np.sort(-rng.normal(0.3, 0.1, (40, 20)), axis=1)
    queries = -np.sort(-rng.normal(0.9, 0.2, (40, 20)), axis=1)
    return pc.Background.fit(unanswered, queries=queries, size=1000)


def models() -> dict[str, Callable[[], Any]]:
    """Return what makes each kind of model, by name; the neural ones are in a test of their own."""
    lists = judged()
    bare = pc.RankedLists(lists.scores)
    grades = [[None, 1, 0, None] * 3 for _ in range(len(lists))]
    in_part = pc.RankedLists(lists.scores, grades)
    words = {
        "a": pc.RankedLists(lists.scores, lists.relevance, doc_ids=[list("abcdefghijkl")] * 24)
    }
    rng = np.random.default_rng(3)
    words["b"] = pc.RankedLists(rng.normal(size=(24, 12)), doc_ids=[list("abcdefghijkl")] * 24)
    return {
        "fixed_k": lambda: tr.FixedK(3),
        "global_k": lambda: tr.GlobalK("penalized_dcg").fit(lists),
        "local_k": lambda: tr.LocalK(neighbors=3).fit(lists),
        "threshold": lambda: tr.ScoreThreshold("z").fit(lists),
        "given threshold": lambda: tr.ScoreThreshold("minmax", 0.5),
        "surprise": lambda: tr.Surprise(bounds=(0.0, 8.0)).fit(lists),
        "surprise rule": lambda: tr.Surprise(evalue=0.05),
        "surprise, local": lambda: tr.Surprise(neighbors=3).fit(lists),
        "isotonic": lambda: tr.Isotonic().fit(lists),
        "isotonic, local": lambda: tr.Isotonic(neighbors=3).fit(lists),
        "distribution": lambda: tr.ScoreDistribution(),
        "largest gap": lambda: tr.LargestGap(extra=1),
        "autocut": lambda: tr.Autocut(2),
        "knee": lambda: tr.Knee(),
        "top_p": lambda: tr.TopP(0.9),
        "oracle": lambda: tr.Oracle("f2"),
        "consensus": lambda: tr.Consensus(),
        "vote": lambda: tr.Consensus().fit(lists),
        "regression": lambda: tr.Consensus("penalized_dcg").fit(lists),
        "answer": lambda: tr.Consensus("accuracy", base=tr.GlobalK()).fit(lists),
        "estimate": lambda: tr.Consensus().fit(bare),
        "judged in part": lambda: tr.Consensus().fit(in_part),
        "number": lambda: tr.Consensus(expect=3.0).fit(bare),
        "conformal": lambda: tr.Conformal(tr.GlobalK(), level=0.3).fit(lists),
        "accept": lambda: tr.Accept(0.3, name="x").fit(lists),
        "gated": lambda: tr.Gated(tr.Consensus(), background()),
        "gated, fitted": lambda: tr.Gated(tr.GlobalK(), background(), alpha=None).fit(lists),
        "calibrated": lambda: pc.calibration.calibrated(
            -np.sort(-rng.normal(0.3, 0.1, (40, 20)), axis=1),
            -np.sort(-rng.normal(0.9, 0.2, (40, 20)), axis=1),
        ),
        "lexical": lambda: pc.calibration.calibrated(
            -np.sort(-rng.normal(3, 1, (20, 20)), axis=1),
            scale=pc.background.QueryScale.from_texts(["a cat sat", "a dog sat", "a cat ran"]),
            texts=["a cat"] * 20,
        ),
        "background": background,
        "fusion": lambda: pc.fusion.Fusion().fit(words),
    }


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return a saved model of each kind."""
    for module in ("sklearn", "kneed"):
        importorskip(module)
    folder = tmp_path_factory.mktemp("models")
    paths = {}
    for i, (name, make) in enumerate(models().items()):
        paths[name] = folder / f"{i}.json"
        make().save(paths[name])
    return paths


# What a value may be replaced by: other types, other sizes, numbers at every edge.
ODD: list[Any] = [
    None, True, False, 0, -1, 1, 2, 7, 2**31, 2**63, -(2**63), 10**300, 0.5, -0.5, 1e300, -1e300,
    5e-324, 1e999, "", "x", "1", "nan", "f1", "penalized_dcg", [], [[]], [1.0], ["x"], [None], {},
    {"a": 1},
    {"$float": "nan"}, {"$float": "inf"}, {"$float": "-inf"}, {"$float": "1e999"}, {"$float": 3},
    {"$tuple": [1, 2]}, {"$tuple": 3}, {"$metric": "f1"}, {"$metric": "os"}, {"$metric": [1]},
    {"$array": [1.0], "dtype": "<f8"}, {"$array": ["x"], "dtype": "<f8"},
    {"$array": [1], "dtype": "|O"}, {"$array": [1], "dtype": "|S1000000000"},
    {"$array": [[1.0], [1.0, 2.0]], "dtype": "<f8"}, {"$array": 3, "dtype": "<i8"},
    {"$array": [10**300], "dtype": "<i8"}, {"$array": [], "dtype": []},
    {"$truncator": {"class": "FixedK", "params": {"k": 2}, "learned": {}}},
    {"$truncator": {"class": "Oracle", "params": {}, "learned": {}}},
    {"$truncator": {"class": "os.system", "params": {"x": 1}, "learned": {}}},
    {"$truncator": {"class": "Truncator", "params": {}, "learned": {}}},
    {"$background": {}}, {"$background": None}, {"$background": "/etc/passwd"},
]  # fmt: skip


def places(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the way to every value inside a JSON document."""
    if way:
        yield way
    if isinstance(value, dict):
        for key in value:
            yield from places(value[key], (*way, key))
    elif isinstance(value, list):
        for i in range(min(len(value), 3)):
            yield from places(value[i], (*way, i))


def mutant(content: Any, draw: random.Random) -> Any:
    """Return the document with one to three values replaced, removed, doubled or moved."""
    made = json.loads(json.dumps(content))
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        ways = list(places(made))
        way = draw.choice(ways)
        owner = made
        for step in way[:-1]:
            owner = owner[step]
        last, what = way[-1], draw.random()
        if what < 0.6:
            owner[last] = json.loads(json.dumps(draw.choice(ODD)))
        elif what < 0.7:
            del owner[last]
        elif what < 0.8 and isinstance(owner[last], (int, float)):
            owner[last] = owner[last] * draw.choice((-1, 2, 1e10, 1e-10, 1e300))
        elif what < 0.9 and isinstance(owner[last], list):
            owner[last] = owner[last] * 2 if draw.random() < 0.5 else owner[last][:-1]
        else:
            other = made
            for step in draw.choice(ways):
                try:
                    other = other[step]
                except (KeyError, IndexError, TypeError):
                    break
            owner[last] = json.loads(json.dumps(other))
    return made


def ask(model: Any, lists: pc.RankedLists, fused: dict[str, pc.RankedLists]) -> None:
    """Check that whatever was loaded answers within bounds, or refuses with an error of ours."""
    if isinstance(model, pc.Background):
        pvalues = model.pvalue(lists)
        assert ((pvalues >= 0) & (pvalues <= 1)).all(), "p-values outside [0, 1]"
        return
    if isinstance(model, pc.fusion.Fusion):
        assert np.isfinite(model.fuse(fused).scores.values).all(), "fused scores are not finite"
        return
    cuts = model.cut_batch(lists)
    assert ((cuts.k >= 0) & (cuts.k <= lists.scores.lengths)).all(), "cuts outside 0..n"
    assert len(cuts.reasons) == len(lists)
    one = model.cut(lists.scores[0])
    assert 0 <= one.k <= one.n


@pytest.mark.slow
def test_mutated_models_are_refused_or_decide_within_bounds(
    saved: dict[str, Path], tmp_path: Path
) -> None:
    draw = random.Random(SEED)
    lists = judged(3, 7)
    names = [list("abcdefghijkl")] * 3
    fused = {name: pc.RankedLists(lists.scores, doc_ids=names) for name in "ab"}
    path = tmp_path / "mutant.json"
    contents = {name: json.loads(file.read_text()) for name, file in saved.items()}
    refused = harmless = 0
    for i in range(MUTANTS):
        name = draw.choice(list(contents))
        text = json.dumps(mutant(contents[name], draw))
        if draw.random() < 0.1:  # bytes, not values
            at = draw.randrange(len(text))
            text = text[:at] + draw.choice(["", "\0", "[", "}", "9" * 5000, text]) + text[at + 1 :]
        path.write_text(text)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a scale of 1e300 may overflow on its way
                model = pc.load(path)
                try:
                    ask(model, lists, fused)
                except ParetocutError:
                    pass  # such as: it was fitted on distances, these are scores
            harmless += 1
        except DataFormatError:
            refused += 1
        except BaseException as error:
            kept = Path(os.environ.get("PARETOCUT_MUTANT", tmp_path / "failed.json"))
            kept.write_text(text)
            raise AssertionError(f"mutant {i} of {name}, kept in {kept}: {error!r}") from error
    assert refused > MUTANTS / 4
    assert harmless > MUTANTS / 20
