"""Anything at all goes into the API: out come finite numbers or an error of ours, never a crash."""

from __future__ import annotations

import io
import json
import math
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import paretocut as pc
from paretocut.errors import DataFormatError, ParetocutError
from paretocut.io import read_trec

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.complex_numbers(),
    st.text(max_size=5),
    st.binary(max_size=5),
)
nested = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=12),
        st.tuples(inner, inner),
        st.dictionaries(st.text(max_size=3), inner, max_size=3),
    ),
    max_leaves=30,
)
dtypes = st.one_of(
    hnp.floating_dtypes(),
    hnp.integer_dtypes(),
    hnp.boolean_dtypes(),
    hnp.complex_number_dtypes(),
    hnp.datetime64_dtypes(),
    hnp.unicode_string_dtypes(max_len=3),
)
arrays = dtypes.flatmap(
    lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=3, max_side=12))
)
numbers = st.floats(allow_nan=False, allow_infinity=False)
score_lists = st.one_of(
    st.lists(numbers, max_size=40),
    st.lists(st.sampled_from([0.0, -0.0, 1.0, 2.0, 5e-324, 1.7e308, -1.7e308]), max_size=40),
    st.lists(st.floats(0, 1, width=16), max_size=80),
    hnp.arrays(np.float64, st.integers(0, 60), elements=numbers),
)
fit_options = st.fixed_dictionaries(
    {},
    optional={
        "higher_is_better": st.booleans(),
        "selection": st.sampled_from(["greedy", "gof"]),
        "refit": st.sampled_from(["window", "all"]),
        "min_window": st.integers(3, 50),
        "transform": st.sampled_from(["identity", "log", "logit", "auto"]),
    },
)
rules = st.one_of(
    st.fixed_dictionaries({"alpha": st.floats(1e-300, 0.999)}),
    st.fixed_dictionaries({"fdr": st.floats(1e-300, 0.999)}),
    st.fixed_dictionaries({"evalue": st.floats(1e-300, 1e300)}),
    st.fixed_dictionaries({"min_surprise": st.floats(0, 1e300)}),
)


def check(fit: pc.tail.SurpriseFit, n: int) -> None:
    """Check what holds of every fit."""
    assert fit.n == n
    for array in (fit.surprise, fit.pvalues, fit.evalues):
        assert array.shape == (n,)
        assert np.isfinite(array).all()
    assert (fit.surprise >= 0).all()
    for number in (fit.shape, fit.scale, fit.threshold, fit.cvm, fit.gof_pvalue):
        assert math.isfinite(number)
    assert fit.shape >= 0
    assert fit.scale >= 0
    assert 0 <= fit.gof_pvalue <= 1
    assert 0 <= fit.lower <= fit.upper <= n
    assert set(fit.warnings) <= set(pc.decisions.WARNINGS)
    assert sorted(fit.order.tolist()) == list(range(n))


@settings(max_examples=200)
@given(score_lists, fit_options, rules, st.integers(0, 50), st.one_of(st.none(), st.integers(0, 9)))
def test_lists_of_numbers_are_always_cut(
    scores: Any, options: dict[str, Any], rule: dict[str, float], low: int, high: int | None
) -> None:
    try:
        fit = pc.fit_tail(scores, **options)
    except ParetocutError:
        assert options.get("transform") in ("log", "logit")
        return
    check(fit, len(scores))
    low = low if high is None else min(low, high)
    cut = fit.cut(**rule, min_k=low, max_k=high)
    assert 0 <= cut.k <= len(scores)
    assert len(cut.indices) == cut.k
    assert "nan" not in cut.reason
    json.dumps(cut.to_dict(), allow_nan=False)
    batch = pc.fit_tails([scores, [], scores], threads=2, **options)
    for one in batch:
        check(one, one.n)
    assert batch.cut(**rule, min_k=low, max_k=high).k[2] == cut.k


@settings(max_examples=300)
@given(st.one_of(nested, arrays))
def test_anything_as_scores_is_fitted_or_refused_with_our_error(anything: Any) -> None:
    try:
        fit = pc.fit_tail(anything)
    except ParetocutError:
        return
    check(fit, len(anything))


@settings(max_examples=300)
@given(st.one_of(nested, arrays, st.tuples(arrays, arrays), st.lists(arrays, max_size=4)))
def test_anything_as_lists_is_fitted_or_refused_with_our_error(anything: Any) -> None:
    try:
        fits = pc.fit_tails(anything)
    except ParetocutError:
        return
    for fit in fits:
        check(fit, fit.n)
    assert len(fits.cut(fdr=0.2)) == len(fits)


@settings(max_examples=300)
@given(
    st.lists(score_lists, max_size=3),
    st.dictionaries(
        st.sampled_from(["alpha", "fdr", "evalue", "min_surprise", "min_k", "max_k", "transform",
                         "selection", "refit", "min_window"]),
        scalars, max_size=3,
    ),
)  # fmt: skip
def test_anything_as_options_is_used_or_refused_with_our_error(
    lists: list[Any], options: dict[str, Any]
) -> None:
    for scores in lists:
        try:
            cut = pc.cut(scores, **options)
        except ParetocutError:
            continue
        assert 0 <= cut.k <= len(scores)


words = st.sampled_from(
    ["q1", "q2", "Q0", "d1", "d2", "1", "0.5", "nan", "-inf", "1e400", "tag", ""]
)
lines = st.lists(words, max_size=8).map(" ".join)
texts = st.one_of(
    st.binary(max_size=200),
    st.lists(lines, max_size=20).map(lambda x: "\n".join(x).encode()),
    st.lists(
        st.tuples(words, st.integers(0, 30), st.floats()).map(
            lambda t: f"{t[0] or 'q'} Q0 d{t[1]} 1 {t[2]} tag"
        ),
        max_size=20,
    ).map(lambda x: "\n".join(x).encode()),
)


@settings(max_examples=300)
@given(texts)
def test_any_bytes_are_a_run_or_refused_with_the_line(content: bytes) -> None:
    try:
        lists = read_trec(io.BytesIO(content))
    except DataFormatError:
        return
    assert np.isfinite(lists.scores.values).all()
    for fit in pc.fit_tails(lists):
        check(fit, fit.n)
