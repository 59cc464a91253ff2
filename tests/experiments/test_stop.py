"""Rivals by hand; and what ships, and what the page says, against the finished reviews."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from support import ROOT, missing

from experiments.results import read
from experiments.stop import measure, reviews, rivals


@pytest.fixture(scope="module")
def rankings() -> list[reviews.Ranking]:
    try:
        return reviews.rankings()
    except FileNotFoundError as error:
        missing(str(error).splitlines()[0])


def test_runs_of_irrelevant_documents_by_hand() -> None:
    relevant = np.array([1, 0, 0, 1, 0, 0, 0, 1, 0], dtype=bool)
    assert rivals.run_of_irrelevant(relevant, 2) == 3
    assert rivals.run_of_irrelevant(relevant, 3) == 7
    assert rivals.run_of_irrelevant(relevant, 4) == 9
    assert rivals.run_of_irrelevant(~relevant[:4], 1) == 1


def test_a_perfect_stop_by_hand() -> None:
    relevant = np.array([1, 0, 1, 1, 0, 1, 1], dtype=bool)
    assert [rivals.perfect(relevant, recall) for recall in (0.2, 0.8, 0.81, 1.0)] == [1, 6, 7, 7]


def test_the_knee_is_where_finds_end() -> None:
    # 200 finds in a row: the slope must fall by a factor of 6 only.
    assert 200 < rivals.knee(np.arange(5000) < 200) < 300
    assert rivals.knee(np.arange(1000) % 10 == 0) == 1000  # no knee at all


def test_the_poisson_process_reads_on_while_finds_go_on() -> None:
    assert rivals.poisson(np.arange(1000) % 10 == 0, 0.9) > 900
    assert rivals.poisson(np.arange(5000) < 200, 0.9) < 4000


@pytest.mark.slow
def test_what_ships_is_what_the_reviews_teach(rankings: list[reviews.Ranking]) -> None:
    path = ROOT / "src" / "paretocut" / "data" / "stopping.json"
    assert json.loads(path.read_text()) == json.loads(json.dumps(reviews.learned_from(rankings)))
    assert len(rankings) == 58
    assert len({one.review for one in rankings}) == 43


def test_a_review_does_not_teach_its_own_level(rankings: list[reviews.Ranking]) -> None:
    rule = measure._without(measure.Quantile(0.9), rankings[-1])
    assert rule.earlier_ is not None
    assert len(rule.earlier_.least) == 56  # both rankings of the review are gone


def kept(rule: str, target: float) -> dict[str, Any]:
    (row,) = [r for r in read("stop")["stops"] if (r["rule"], r["target"]) == (rule, target)]
    return dict(row)


@pytest.mark.parametrize("target", measure.TARGETS)
def test_the_promise_of_the_certificate_was_kept(target: float) -> None:
    assert kept("`Certificate`, 95 %", target)["held"] >= 0.95
    assert kept("`Quantile`, 90 %", target)["read"] < kept("`Certificate`, 95 %", target)["read"]


def test_kept_numbers_can_be_measured_again(rankings: list[reviews.Ranking]) -> None:
    rule = measure._rules(0.95)["`Certificate`, 95 %"]
    stops = [(one, rule(one), 1) for one in rankings]
    again = measure._summary(stops, 0.95)["read"]
    assert again == pytest.approx(kept("`Certificate`, 95 %", 0.95)["read"], abs=1e-4)


def test_the_certificate_holds_at_the_edge_of_its_assumption_as_the_page_says() -> None:
    for row in read("stop")["simulations"]:
        # 5 %, and three standard errors of 1,000 reviews.
        assert row["short"] <= 0.05 + 3 * (0.05 * 0.95 / measure.RANDOM) ** 0.5
    (kept_row,) = [
        row
        for row in read("stop")["simulations"]
        if (row["order"], row["total"], row["relevant"], row["target"]) == ("random", 1000, 50, 0.9)
    ]
    again = measure.simulated("random", 1000, 50, 0.9, measure.RANDOM)
    assert again["short"] == pytest.approx(kept_row["short"], abs=1e-4)


def test_learning_from_the_best_rankings_is_the_worst_direction() -> None:
    cells = read("stop")["transfers"]
    worst = min(cells, key=lambda cell: cell["held"])
    assert (worst["learned"], worst["used"]) == ("Waterloo", "AMC")
    for cell in cells:
        assert cell["fallback"]["read"] >= cell["read"]
        assert cell["fallback"]["held"] >= cell["held"]
