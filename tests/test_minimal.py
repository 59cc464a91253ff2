"""The one to run if only one is run: needs pytest and NumPy, and every wheel passes it."""

from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import paretocut as pc
from paretocut.errors import require

# Two results stand out from 198 quantiles of the exponential distribution.
BACKGROUND = -np.log((np.arange(1, 199) - 0.5) / 198)
SCORES = np.concatenate([[14.0, 13.0], BACKGROUND])


def test_every_module_imports_without_extras() -> None:
    names = [module.name for module in pkgutil.walk_packages(pc.__path__, "paretocut.")]
    assert "paretocut.tail" in names
    for name in names:
        if name.endswith("__main__"):
            continue
        try:
            importlib.import_module(name)
        except pc.errors.MissingExtraError:
            # An adapter may be a part of another library, which is then there to begin with.
            assert name.startswith("paretocut.adapters.")
        except ModuleNotFoundError:
            # So may what only such a part imports; anything public must say what is missing. The
            # service is started by commands, and these say it.
            private = name.rpartition(".")[2].startswith("_")
            assert private or name.startswith(("paretocut.web.", "paretocut.truncators.neural."))


def test_a_missing_extra_is_named() -> None:
    with pytest.raises(pc.errors.MissingExtraError, match=r"pip install 'paretocut\[plots\]'"):
        require("paretocut_has_no_such_package", feature="plot", extra="plots")


def test_an_exponential_tail_is_fitted_and_rescored() -> None:
    fit = pc.fit_tail(SCORES)
    assert (fit.lower, fit.upper, fit.n) == (0, 198, 200)
    assert fit.shape == 0.0
    # The maximum likelihood scale of an exponential tail is the mean excess.
    threshold = BACKGROUND.min()
    scale = (BACKGROUND - threshold).mean()
    assert fit.threshold == threshold
    assert fit.scale == pytest.approx(scale, rel=1e-13)
    surprise = (SCORES - threshold) / scale
    np.testing.assert_allclose(fit.surprise, surprise, rtol=1e-13)
    np.testing.assert_allclose(fit.pvalues, np.exp(-surprise), rtol=1e-12)
    np.testing.assert_allclose(fit.evalues, 200 * np.exp(-surprise), rtol=1e-12)


def test_a_heavy_tail_solves_the_likelihood_equations() -> None:
    fit = pc.fit_tail(np.sinh(BACKGROUND) ** 2, refit="all")
    ascending = np.sort(np.sinh(BACKGROUND) ** 2)[fit.lower :]
    ratio = 1 + fit.shape / fit.scale * (ascending - ascending[0])
    assert fit.shape > 0.5
    assert np.log(ratio).mean() == pytest.approx(fit.shape, rel=1e-10)
    assert (1 / ratio).mean() == pytest.approx(1 / (1 + fit.shape), rel=1e-10)


def test_the_rules_cut_where_they_say() -> None:
    fit = pc.fit_tail(SCORES)
    assert fit.cut(alpha=0.05).k == np.count_nonzero(fit.pvalues <= 0.05)
    assert fit.cut(evalue=0.05).k == 2
    assert fit.cut(min_surprise=10.0).k == 2
    assert fit.cut(fdr=0.1).k == 2
    assert fit.cut(evalue=0.05, min_k=4).k == 4
    assert fit.cut(evalue=0.05, max_k=1).indices.tolist() == [0]
    assert int(pc.cut(-SCORES, higher_is_better=False, evalue=0.05)) == 2


def test_batches_equal_single_lists() -> None:
    lists = [SCORES, BACKGROUND[::-1], BACKGROUND[:3], []]
    fits = pc.fit_tails(lists, threads=2)
    for one, scores in zip(fits, lists, strict=True):
        np.testing.assert_array_equal(one.surprise, pc.fit_tail(scores).surprise)
    assert fits.cut(evalue=0.05).k.tolist() == [2, 0, 3, 0]


def test_scores_that_are_not_finite_are_refused_by_index() -> None:
    with pytest.raises(pc.errors.InvalidScoresError, match="nan at index 2"):
        pc.fit_tail([1.0, 0.5, np.nan, 0.2])


def test_a_run_is_read(tmp_path: Path) -> None:
    path = tmp_path / "run.txt"
    path.write_text("q1 Q0 a 1 0.5 t\nq1 Q0 b 2 0.75 t\n", encoding="utf-8")
    lists = pc.read_trec(path)
    assert lists.query_ids.tolist() == ["q1"]
    assert lists.scores.values.tolist() == [0.75, 0.5]


def test_the_command_line_answers() -> None:
    command = [sys.executable, "-m", "paretocut", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "paretocut" in done.stdout
