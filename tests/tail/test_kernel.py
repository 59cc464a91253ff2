"""The kernel's elementary functions, fits and promises of sameness, judged by SciPy and mpmath."""

from __future__ import annotations

from collections.abc import Iterator

import mpmath
import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

import paretocut as pc
from paretocut import _kernel

ISAS = _kernel.available_isas().split()
LOG1P_BOUND, EXP_BOUND = 2.5, 1.25  # ulp, as cpp/simd_math.hpp states
EXTENDED = np.finfo(np.longdouble).nmant >= 63

Array = NDArray[np.float64]


@pytest.fixture(params=ISAS)
def isa(request: pytest.FixtureRequest) -> Iterator[str]:
    before = _kernel.current_isa()
    assert _kernel.use_isa(request.param)
    yield request.param
    _kernel.use_isa(before)


def log1p(x: Array) -> Array:
    out = np.empty_like(x)
    _kernel.log1p(x, out)
    return out


def exp_neg(x: Array) -> Array:
    out = np.empty_like(x)
    _kernel.exp_neg(x, out)
    return out


def ulps(got: Array, exact: NDArray[np.longdouble]) -> float:
    """Return the largest error in units of the last place of the exact value."""
    unit = np.spacing(np.abs(exact).astype(np.float64)).astype(np.longdouble)
    return float((np.abs(got.astype(np.longdouble) - exact) / unit).max())


@pytest.mark.skipif(not EXTENDED, reason="this platform's long double is no better than a double")
def test_log1p_is_within_the_stated_bound(isa: str) -> None:
    rng = np.random.default_rng(1)
    edges = [0.0, 5e-324, 2.3e-308, 2.0**-53, np.sqrt(2) - 1, 1.0, 2.0**52, 2.0**53, 1.7e308]
    x = np.concatenate(
        [
            np.linspace(0, 8, 400_001),
            np.linspace(0.41, 0.42, 50_001),  # where the argument is first halved
            np.exp(rng.uniform(np.log(1e-320), np.log(1.7e308), 300_000)),
            edges,
            np.nextafter(edges, 0),
            np.nextafter(edges[:-1], np.inf),
        ]
    )
    assert ulps(log1p(x), np.log1p(x.astype(np.longdouble))) <= LOG1P_BOUND


@pytest.mark.skipif(not EXTENDED, reason="this platform's long double is no better than a double")
def test_exp_is_within_the_stated_bound(isa: str) -> None:
    rng = np.random.default_rng(2)
    x = np.concatenate(
        [
            np.linspace(0, 708, 400_001),
            np.linspace(0, 2, 100_001),
            np.exp(rng.uniform(np.log(1e-320), np.log(708), 300_000)),
            [0.0, 5e-324, np.log(2) / 2, np.log(2), 708.0],
        ]
    )
    assert ulps(exp_neg(x), np.exp(-x.astype(np.longdouble))) <= EXP_BOUND


def test_elementary_functions_agree_with_mpmath(isa: str) -> None:
    rng = np.random.default_rng(3)
    x = np.concatenate([rng.uniform(0, 3, 500), np.exp(rng.uniform(-700, 700, 500))])
    y = rng.uniform(0, 708, 1000)
    with mpmath.workdps(40):
        for arguments, got, function, bound in (
            (x, log1p(x), mpmath.log1p, LOG1P_BOUND),
            (y, exp_neg(y), lambda v: mpmath.exp(-v), EXP_BOUND),
        ):
            for argument, value in zip(arguments, got, strict=True):
                exact = function(mpmath.mpf(float(argument)))
                assert abs(mpmath.mpf(float(value)) - exact) <= bound * np.spacing(float(exact))


def test_exp_of_anything_beyond_708_is_tiny_and_not_zero(isa: str) -> None:
    far = exp_neg(np.array([708.0, 709.0, 1e4, 1e308]))
    assert (far == far[0]).all()
    assert 0 < far[0] < 1e-307


def lists_of_every_kind(rng: np.random.Generator, count: int, longest: int) -> list[Array]:
    """Return lists that take every path of the fit: light and heavy tails, ties, two scales."""
    makers = [
        lambda n: rng.normal(0.25, 0.06, n),
        lambda n: rng.exponential(size=n),
        lambda n: rng.pareto(0.4, n),
        lambda n: np.floor(rng.pareto(1.0, n)),
        lambda n: np.concatenate([rng.normal(0.25, 0.06, n), rng.normal(0.65, 0.03, n // 8)]),
        lambda n: np.exp(rng.uniform(-50, 50, n)),
        lambda n: np.concatenate([1e-7 * rng.exponential(size=n), rng.exponential(size=n)]),
        lambda n: 1.7e308 * rng.uniform(-1, 1, n),
        lambda n: 5e-324 * rng.integers(0, 1000, n),
    ]
    return [makers[i % len(makers)](int(rng.integers(1, longest))) for i in range(count)]


def everything(fits: pc.tail.SurpriseFits) -> list[Array]:
    return [
        fits.surprise.values,
        *(np.asarray(getattr(fits, name)) for name in ("shape", "scale", "threshold", "cvm")),
        *(np.asarray(getattr(fits, name)) for name in ("lower", "upper", "search")),
        fits._table["flags"],
    ]


@pytest.mark.parametrize("options", [{}, {"refit": "all"}, {"selection": "gof"}], ids=str)
def test_instruction_sets_and_thread_counts_give_the_same_bits(options: dict[str, str]) -> None:
    lists = lists_of_every_kind(np.random.default_rng(4), 180, 300)
    before = _kernel.current_isa()
    try:
        results = []
        for name in ISAS:
            assert _kernel.use_isa(name)
            results += [everything(pc.fit_tails(lists, threads=t, **options)) for t in (1, 2, 7)]
    finally:
        _kernel.use_isa(before)
    for result in results[1:]:
        for a, b in zip(results[0], result, strict=True):
            assert a.tobytes() == b.tobytes()


def test_an_unknown_instruction_set_is_refused() -> None:
    assert not _kernel.use_isa("mmx")
    assert _kernel.current_isa() in ISAS


def cvm_rows(excesses: Array, threads: int = 1) -> tuple[Array, Array, Array]:
    statistic, shape, scale = np.empty((3, len(excesses)))
    _kernel.cvm_rows(np.ascontiguousarray(excesses), threads, statistic, shape, scale)
    return statistic, shape, scale


@pytest.mark.parametrize("with_zero", [True, False])
@pytest.mark.parametrize("m", [2, 5, 8, 33, 120])
def test_fits_and_statistics_of_rows_agree_with_the_reference(
    isa: str, m: int, with_zero: bool
) -> None:
    rng = np.random.default_rng(m)
    tails = np.repeat([0.3, 1.0, 3.0, 1e6], 4)
    rows = np.sort(rng.pareto(tails[:, None], (16, m)) * tails[:, None], axis=1)
    if with_zero:
        rows -= rows[:, :1]
    statistic, shape, scale = cvm_rows(rows)
    for i, row in enumerate(rows):
        excess = row.astype(np.longdouble)
        xi, sigma = reference.fit_gpd(excess)
        assert shape[i] == pytest.approx(xi, rel=1e-9, abs=1e-10)
        assert scale[i] == pytest.approx(sigma, rel=1e-9)
        assert statistic[i] == pytest.approx(reference.cvm(excess, xi, sigma), rel=1e-9)


def test_rows_do_not_depend_on_threads() -> None:
    rows = np.sort(np.random.default_rng(6).pareto(1.0, (500, 40)), axis=1)
    for a, b in zip(cvm_rows(rows), cvm_rows(rows, threads=3), strict=True):
        assert a.tobytes() == b.tobytes()


def fitted(excess: Array) -> tuple[float, float]:
    rising = np.sort(excess)
    _, shape, scale = cvm_rows(rising[None, :] / rising[-1])
    return float(shape[0]), float(scale[0] * rising[-1])


def log_likelihood(excess: Array, shape: float, scale: float) -> float:
    return float(stats.genpareto.logpdf(excess, shape, scale=scale).sum())


@pytest.mark.parametrize("tail", [0.0, 0.2, 0.5, 1.0, 2.0])
@pytest.mark.parametrize("m", [5, 20, 200, 2000])
def test_likelihood_is_never_below_that_of_scipys_fit(m: int, tail: float) -> None:
    rng = np.random.default_rng(int(1000 * tail) + m)
    for _ in range(10):
        excess = stats.genpareto.rvs(tail, scale=rng.uniform(0.1, 10), size=m, random_state=rng)
        best = log_likelihood(excess, *fitted(excess))
        shape, _, scale = stats.genpareto.fit(excess, floc=0)
        if shape < 0:  # outside the constraint, whose optimum is then the exponential
            shape, scale = 0.0, excess.mean()
        assert best >= log_likelihood(excess, shape, scale) - 1e-9 * m


@given(
    st.lists(st.floats(1e-3, 1e3), min_size=3, max_size=40).filter(lambda x: max(x) > min(x)),
    st.floats(0.5, 2.0),
    st.floats(0.5, 2.0),
)
def test_no_nearby_parameters_are_more_likely(excess: list[float], a: float, b: float) -> None:
    x = np.array(excess)
    xi, sigma = fitted(x)
    best = log_likelihood(x, xi, sigma)
    for step in (1e-3, 0.05):
        shape = xi * a**step if xi > 0 else step * 1e-2 * a
        nearby = log_likelihood(x, shape, sigma * b**step)
        assert best >= nearby - 1e-9 * (1 + abs(best))


@pytest.mark.parametrize("shape", [0.0, 0.2, 1.5])
def test_survival_agrees_with_scipy(shape: float) -> None:
    excess = np.array([0.0, 0.1, 1.0, 5.0, 50.0])
    ours = pc.tail.gpd.gpd_survival(excess, shape=shape, scale=2.0)
    expected = stats.genpareto.sf(excess, shape, scale=2.0)
    np.testing.assert_allclose(ours, expected, rtol=1e-12, atol=1e-300)


def test_arguments_that_do_not_match_are_refused_by_the_kernel() -> None:
    x = np.zeros(8)
    with pytest.raises(ValueError, match="as long as"):
        _kernel.fit_list(x, 1.0, 5, False, None, np.empty(7))
    with pytest.raises(ValueError, match="as long as"):
        _kernel.log1p(x, np.empty(9))
    numbers = [np.empty(1) for _ in range(4)]
    longs = [np.empty(1, np.int64) for _ in range(2)]
    ints = [np.empty(1, np.int32) for _ in range(3)]
    for offsets in ([0, 9], [-1, 8], [8, 0], [0, 4, 8], []):
        with pytest.raises(ValueError, match=r"offsets|one result per list"):
            _kernel.fit_batch(
                x, np.array(offsets, np.int64), 1.0, 5, False, None, 1, np.empty(8),
                *numbers, *longs, *ints,
            )  # fmt: skip
    with pytest.raises(ValueError, match="not be empty"):
        cvm_rows(np.empty((1, 0)))
