"""200,000 calls of the public API with odd arguments: only our errors, no crash, hang or NaN.

Each call is made from its own number, so that one that failed can be made again:
``python tests/fuzz/test_odd_calls.py 12345``.
"""

from __future__ import annotations

import decimal
import fractions
import io
import math
import random
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
import pytest

import paretocut as pc
from paretocut import truncators as tr
from paretocut.errors import ParetocutError
from paretocut.io import read_lists, read_qrels, read_trec
from paretocut.metrics.significance import bootstrap_interval, sign_flip_test

CALLS = 200_000
SECONDS = 1200  # for a thousand calls; on an idle machine they take two
Draw = random.Random

NUMBERS: list[Any] = [
    None, True, False, 0, 1, 2, 3, 5, 10, 50, -1, -5, 2**31, 2**62, 2**63, -(2**63), 10**30,
    10**400, 10**5000, 0.0, -0.0, 0.05, 0.5, 0.999, 1.0, 1.5, 3.0, 1e-300, 5e-324, 1e300, -1e300,
    math.nan, math.inf, -math.inf, "", "x", "0.5", "few", b"1", [], [1], (1, 2), (0.0, 8.0), {},
    {"a": 1}, set(), 1j, np.float32(0.5), np.float64("nan"), np.int8(3), np.uint64(2**63),
    np.bool_(True),
    np.array(3), np.array([0.1]), np.array(["x"]), decimal.Decimal("0.5"), decimal.Decimal("nan"),
    fractions.Fraction(1, 3), object(), print, ..., range(3), np.datetime64("2020"), np.str_("f1"),
]  # fmt: skip
VALUES = [
    0.0, -0.0, 1.0, 2.0, -1.0, 0.5, 5e-324, 1e-300, 1e300, -1e300, 1.7e308, -1.7e308, 1e-8,
    0.999999,
]  # fmt: skip
METRICS: list[Any] = [
    "f1", "penalized_dcg", "accuracy", "recall", "precision", "f2", "f1e200", "f0", "f1e-300",
    "utility(1,1)",
    "utility(1e308,1e308)", "utility(-1,0)", "f1/collection", "", "F1", "f", None, 3, pc.metrics.f1,
    lambda relevant, n: np.zeros(len(relevant) + 1), lambda *a: None, lambda *a: [math.nan],
    lambda *a: "x", lambda *a: 3,
]  # fmt: skip


def odd_array(draw: Draw) -> Any:
    """Return an array, or something like one, of any type, shape and layout."""
    n = draw.choice((0, 1, 2, 5, 12, 60))
    rng = np.random.default_rng(draw.getrandbits(32))
    plain = rng.normal(size=n)
    what = draw.randrange(-10, 22)
    if what < 6:
        return -np.sort(-plain)
    if what == 6:
        return [draw.choice(VALUES) for _ in range(n)]
    if what == 7:
        return np.round(plain).astype(
            draw.choice(["f2", "f4", "i1", "i8", "u8", ">f8", ">i4", "?"])
        )
    if what == 8:
        return np.full(n, draw.choice(VALUES))
    if what == 9:
        return plain.astype(draw.choice(["c16", "U3", "S3", "O", "M8[s]", "m8[s]", "g"]))
    if what == 10:
        return np.ma.masked_array(plain, mask=plain > 0)
    if what == 11:
        return rng.normal(size=(draw.choice((0, 1, 3)), n))
    if what == 12:
        return np.repeat(plain, 2)[::-2]
    if what == 13:
        return [draw.choice(NUMBERS) for _ in range(draw.randrange(6))]
    if what == 14:
        return [*plain.tolist(), draw.choice((math.nan, math.inf, None, "x", 10**400))]
    if what == 15:
        return draw.choice([iter([1.0]), "scores", b"", {1.0, 2.0}, {"a": 1.0}, None, 5, math.nan])
    if what == 16:
        return np.array([plain, plain[:1]], dtype=object)
    if what == 17:
        return tuple(plain.tolist())
    if what == 18:
        return rng.random(n).round(2)
    if what == 19:
        return np.exp(rng.normal(0, 200, n).clip(-700, 700))
    if what == 20:
        return np.zeros(n, dtype=[("a", "f8")])
    return draw.choice(NUMBERS)


def odd_lists(draw: Draw) -> Any:
    """Return many lists, or something like them."""
    what = draw.randrange(6)
    if what < 3:
        return [odd_array(draw) for _ in range(draw.choice((0, 1, 2, 4)))]
    if what == 3:
        return odd_array(draw)
    if what == 4:
        return (odd_array(draw), odd_array(draw))
    return lists(draw)


@cache
def _lists(seed: int) -> pc.RankedLists:
    rng = np.random.default_rng(seed)
    lengths = [[12, 5, 0, 1, 30], [8, 8, 8], [0], [1, 1]][seed % 4]
    shape = [1.0, 1e300, 1e-300, 0.0][seed // 4 % 4]
    scores = [shape * -np.sort(-rng.normal(size=n)) for n in lengths]
    relevance = [rng.random(n) < 0.4 for n in lengths] if seed % 3 else None
    up = seed % 5 != 0
    return pc.RankedLists(
        scores if up else [-part for part in scores],
        relevance,
        doc_ids=[[f"d{i}" for i in range(n)] for n in lengths],
        query_embeddings=rng.random((len(lengths), 2)),
        higher_is_better=up,
    )


def lists(draw: Draw) -> pc.RankedLists:
    """Return proper lists, some of odd scale, direction and length."""
    return _lists(draw.randrange(60))


def some(draw: Draw, **pools: Callable[[Draw], Any]) -> dict[str, Any]:
    """Return some of the options with values from their pools."""
    names = draw.sample(sorted(pools), draw.randrange(min(len(pools), 3) + 1))
    return {name: pools[name](draw) for name in names}


def number(draw: Draw) -> Any:
    """Return any number, or something else."""
    return draw.choice(NUMBERS)


def of(*choices: Any) -> Callable[[Draw], Any]:
    """Return a pool of these choices, and sometimes anything."""
    return lambda draw: draw.choice(choices) if draw.random() < 0.8 else number(draw)


FIT: dict[str, Callable[[Draw], Any]] = {
    "higher_is_better": of(True, False),
    "transform": of("identity", "log", "logit", "auto"),
    "selection": of("greedy", "gof"),
    "refit": of("window", "all"),
    "min_window": of(3, 5, 50, 2**62),
}
RULE: dict[str, Callable[[Draw], Any]] = {
    "alpha": of(0.05, 0.5), "evalue": of(0.05, 5.0), "fdr": of(0.1), "min_surprise": of(0.0, 3.0),
}  # fmt: skip
BOUNDS: dict[str, Callable[[Draw], Any]] = {"min_k": of(0, 1, 5), "max_k": of(None, 0, 3, 10**9)}
PARAMS: dict[str, Callable[[Draw], Any]] = {
    "metric": of(*METRICS), "k": of(0, 3), "neighbors": of(None, 1, 3), "normalize": of("raw", "z"),
    "threshold": of(0.5, -math.inf), "bounds": of((0, 8), (8, 0), (1,), 3), "extra": of(0, 2),
    "ignore_tail": of(0.3, 0.9), "jumps": of(1, 3), "p": of(0.9, 1e-9),
    "temperature": of(1.0, 1e-300, 1e300), "expect": of("one", 3, 0.1),
    "level": of(0.1, 0.9), "loss": of("fnr", "fdr"), "seed": of(0, 7),
    "max_error": of(0.3, 1e-9), "confidence": of(0.95, 1e-9),
    "truncated": of(True, False), "if_unsure": of("keep", "drop"),
    "base": of(None, "minmax", "global_k", "knee"),
    **RULE, **{name: FIT[name] for name in ("transform", "selection", "refit", "min_window")},
}  # fmt: skip
NAMES = [name for name in tr.names() if tr._REGISTRY[name][0] not in tr._NEURAL]


@cache
def _defaults(name: str) -> tuple[str, ...]:
    return tuple(tr.make(name).get_params(deep=False))


def truncator(draw: Draw) -> tr.Truncator:
    """Return a truncator with odd parameters."""
    name = draw.choice(NAMES)
    known = {key: PARAMS[key] for key in _defaults(name) if key in PARAMS}
    return tr.make(name, **some(draw, **known))


@cache
def background(seed: int) -> pc.Background:
    """Return a background."""
    rng = np.random.default_rng(seed)
    none = -np.sort(-rng.normal(0.3, 0.1, (30, 12)), axis=1)
    real = -np.sort(-rng.normal(0.9, 0.2, (30, 12)), axis=1)
    options: list[dict[str, Any]] = [{}, {"queries": real}, {"size": 100}]
    return pc.Background.fit(none, **options[seed % 3])


def _decide(draw: Draw) -> Any:
    chosen = truncator(draw)
    if draw.random() < 0.3:
        chosen.fit(lists(draw))
    if draw.random() < 0.5:
        cut = chosen.cut(odd_array(draw), **some(draw, **BOUNDS, higher_is_better=of(True, False)))
        return [cut.k, cut.reason, cut.warnings, cut.surprise, cut.pvalues, cut.to_dict()]
    cuts = chosen.cut_batch(odd_lists(draw), **some(draw, **BOUNDS))
    assert ((cuts.k >= 0) & (cuts.k <= cuts.n)).all(), "cuts outside 0..n"
    return [cuts.k, cuts.reasons, cuts.warnings]


def _cut(draw: Draw) -> Any:
    pools: dict[str, Any] = {
        **FIT, **RULE, **BOUNDS, "expect": of("one", "few", 3.0), "truncator": truncator,
        "if_unsure": of("keep", "drop"),
    }  # fmt: skip
    cut = pc.cut(odd_array(draw), **some(draw, **pools))
    assert 0 <= cut.k <= cut.n, "cut outside 0..n"
    return [cut.k, cut.indices, cut.reason, cut.evalues, cut.to_dict()]


def _fit(draw: Draw) -> Any:
    fit = pc.fit_tail(odd_array(draw), **some(draw, **FIT))
    cut = fit.cut(**some(draw, **RULE, **BOUNDS))
    return [fit.surprise, fit.pvalues, fit.evalues, fit.shape, fit.scale, fit.threshold, fit.cvm,
            fit.gof_pvalue, fit.warnings, cut.k, cut.reason]  # fmt: skip


def _fit_batch(draw: Draw) -> Any:
    fits = pc.fit_tails(odd_lists(draw), **some(draw, **FIT, threads=of(None, 1, 2)))
    return [fits.surprise.values, fits.pvalues.values, fits.gof_pvalue, fits.warnings]


def _ranked(draw: Draw) -> Any:
    pools = {
        "relevance": odd_lists, "query_ids": odd_array, "doc_ids": odd_lists,
        "num_relevant": odd_array, "query_embeddings": odd_array, "doc_embeddings": odd_array,
        "higher_is_better": of(True, False), "min_grade": of(1, 2, 0.5),
    }  # fmt: skip
    made = pc.RankedLists(odd_lists(draw), **some(draw, **pools))
    return [made.scores.values, made.merit.values]


def _use_lists(draw: Draw) -> Any:
    ranked = lists(draw)
    what = draw.randrange(6)
    if what == 0:
        return [part.scores.values for part in ranked.split(number(draw), seed=of(0, 1)(draw))]
    if what == 1:
        return [len(pair[0]) for pair in ranked.folds(number(draw), seed=of(0, 1)(draw))]
    if what == 2:
        return ranked.truncate(odd_array(draw)).scores.values
    if what == 3:
        return ranked.divided_by(odd_array(draw)).scores.values
    if what == 4:
        return pc.cut_batch(ranked, **some(draw, **RULE, **BOUNDS, expect=of("one", 2))).k
    return ranked.with_relevance(odd_lists(draw)).scores.values


def _metric(draw: Draw) -> Any:
    what = draw.randrange(5)
    metric = draw.choice(METRICS) if draw.random() < 0.9 else number(draw)
    if what == 0:
        return pc.metrics.get(metric).curve(odd_array(draw))
    if what == 1:
        return pc.metrics.get(metric)(lists(draw), odd_array(draw))
    if what == 2:
        return pc.metrics.get(metric).curves(lists(draw)).values
    if what == 3:
        return pc.metrics.f_beta(number(draw)).curves(lists(draw)).values
    return pc.metrics.utility(number(draw), number(draw)).curves(lists(draw)).values


def _background(draw: Draw) -> Any:
    what = draw.randrange(4)
    if what == 0:
        pools = {"queries": odd_lists, "size": number, "unanswered": of(0.1),
                 "higher_is_better": of(True, False)}  # fmt: skip
        made = pc.Background.fit(odd_lists(draw), **some(draw, **pools))
        return [made.shape, made.loc, made.scale, made.pvalue(lists(draw))]
    known = background(draw.randrange(8))
    if what == 1:
        return known.pvalue(odd_lists(draw), **some(draw, size=number))
    if what == 2:
        return known.limit(number(draw), **some(draw, size=number))
    return known.answers(odd_lists(draw), number(draw))


def _fuse(draw: Draw) -> Any:
    given: Any = [lists(draw) for _ in range(draw.choice((1, 2, 2, 3)))]
    if draw.random() < 0.3:
        given = draw.choice(
            [odd_lists(draw), {"a": lists(draw), "b": odd_lists(draw)}, number(draw)]
        )
    pools = {"method": of("z", "minmax", "rrf", "surprise"), "weights": odd_array, "depth": number}
    if draw.random() < 0.5:
        fused = pc.fuse(given, **some(draw, **pools))
        return getattr(fused, "lists", fused).scores.values  # plain numbers are an answer
    pools.pop("method")
    fusion = pc.fusion.Fusion(**some(draw, **pools))
    fused = fusion.fit(given).fuse(given)
    return getattr(fused, "lists", fused).scores.values


def _read(draw: Draw) -> Any:
    words = [
        "q1", "q2", "Q0", "d1", "1", "0.5", "nan", "1e400", "-1e-400", "", "{", "}", ":",
        '"scores"', "[", "]", ",", "\0", "\xff", "9" * 5000, '{"query_id": 1, "scores": [1, 2]}',
    ]  # fmt: skip
    lines = [
        draw.choice([" ", "\t", ",", ""]).join(draw.choices(words, k=draw.randrange(8)))
        for _ in range(draw.randrange(5))
    ]
    if draw.random() < 0.5:
        lines.insert(0, draw.choice(["query_id,scores", "query_id,score,doc_id", "query_id"]))
    source = io.BytesIO("\n".join(lines).encode("latin-1"))
    what = draw.randrange(4)
    if what == 0:
        return read_trec(source, **some(draw, max_bytes=number, min_grade=number)).scores.values
    if what == 1:
        return len(read_qrels(source).query_ids)
    formats = of("trec", "jsonl", "csv", "parquet", "arrow")
    return read_lists(source, formats(draw), **some(draw, max_bytes=number)).scores.values


def _ragged(draw: Draw) -> Any:
    if draw.random() < 0.5:
        return pc.lists.Ragged.from_any(
            odd_lists(draw), dtype=draw.choice((None, np.float64))
        ).lengths
    return pc.lists.Ragged(odd_array(draw), odd_array(draw)).lengths


def _words(draw: Draw) -> Any:
    texts: Any = ["a cat sat on one mat", "the dog and the bird ran far away", "", "x y z"]
    if draw.random() < 0.3:
        texts = number(draw)
    what = draw.randrange(3)
    if what == 0:
        pools = {"n": of(1, 3), "length": of(1, 3, 100), "seed": of(0), "lexical": of(True)}
        return pc.calibration.nonsense_queries(texts, **some(draw, **pools))
    if what == 1:
        return pc.background.QueryScale.from_texts(texts)(of(["cat"], ["", "dog dog"])(draw))
    return pc.calibration.calibrated(
        odd_lists(draw), **some(draw, queries=odd_lists, alpha=of(0.05), unanswered=of(0.1))
    ).background.scale


def _statistics(draw: Draw) -> Any:
    if draw.random() < 0.5:
        return bootstrap_interval(odd_array(draw), **some(draw, confidence=of(0.9), seed=of(1)),
                                  resamples=of(50)(draw))  # fmt: skip
    return sign_flip_test(odd_array(draw), **some(draw, seed=of(1)), resamples=of(50)(draw))


def _evaluate(draw: Draw) -> Any:
    pools = {
        "splits": of(1, 2), "train": of(0.5), "folds": of(2), "metrics": of(("f1",), "f1", ["x"]),
        "confidence": of(0.9), "seed": of(0), "baseline": of("FixedK", "x"),
    }  # fmt: skip
    given = draw.choice(([tr.FixedK(2)], [truncator(draw)], {"a": truncator(draw)}, number(draw)))
    done = pc.evaluate(given, lists(draw), **some(draw, **pools), resamples=20)
    return [done.values, done.k]


CALLABLES: dict[Callable[[Draw], Any], int] = {
    _decide: 30, _cut: 20, _fit: 15, _fit_batch: 10, _ranked: 10, _use_lists: 10, _metric: 10,
    _background: 8, _fuse: 5, _read: 10, _ragged: 10, _words: 3, _statistics: 3,
    _evaluate: 1,
}  # fmt: skip


def has_nan(value: Any) -> bool:
    """Return whether NaN is anywhere in a result."""
    if isinstance(value, dict):
        return any(map(has_nan, value.values()))
    if isinstance(value, (list, tuple)):
        return any(map(has_nan, value))
    if isinstance(value, np.ndarray):
        return value.dtype.kind == "f" and bool(np.isnan(value).any())
    return isinstance(value, float) and math.isnan(value)


@contextmanager
def limited(seconds: int) -> Iterator[None]:
    """Raise TimeoutError when what is inside takes longer."""

    def late(*_: Any) -> None:
        raise TimeoutError(f"took more than {seconds} seconds")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def call(i: int) -> str:
    """Make call number ``i``; return its name and whether it gave a result or an error of ours."""
    draw = Draw(i)
    made = draw.choices(list(CALLABLES), list(CALLABLES.values()))[0]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # warnings are for users with odd lists
            result = made(draw)
    except ParetocutError:
        return f"{made.__name__} refused"
    assert not has_nan(result), f"call {i} ({made.__name__}) gave NaN: {result!r:.300}"
    return f"{made.__name__} gave"


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="needs a clock that interrupts")
def test_odd_calls_give_results_or_errors_of_ours() -> None:
    outcomes: dict[str, int] = {}
    for start in range(0, CALLS, 1000):
        with limited(SECONDS):
            for i in range(start, start + 1000):
                try:
                    outcome = call(i)
                except BaseException as error:
                    raise AssertionError(f"call {i}: {type(error).__name__}: {error}") from error
                outcomes[outcome] = outcomes.get(outcome, 0) + 1
    # Neither kind of end is rare for any function: the arguments are odd, but not absurd.
    for made in CALLABLES:
        for end in ("gave", "refused"):
            assert outcomes.get(f"{made.__name__} {end}", 0) > 20, f"{made.__name__} {end} seldom"


if __name__ == "__main__":
    call(int(sys.argv[1]))
