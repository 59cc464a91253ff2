"""Saved truncators: what is in the files, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from paretocut import metrics
from paretocut.errors import DataFormatError, InvalidParameterError
from paretocut.lists import RankedLists
from paretocut.truncators import Conformal, FixedK, GlobalK, LocalK, ScoreThreshold, Surprise, load
from paretocut.truncators._base import Truncator


@pytest.fixture
def lists() -> RankedLists:
    rng = np.random.default_rng(0)
    return RankedLists(
        rng.normal(size=(12, 9)), rng.random((12, 9)) < 0.4, query_embeddings=rng.random((12, 2))
    )


def test_the_file_is_json_that_a_person_can_read(lists: RankedLists, tmp_path: Path) -> None:
    truncator = GlobalK("dcg").fit(lists)
    truncator.save(tmp_path / "model.json")
    content = json.loads((tmp_path / "model.json").read_text())
    assert content == {
        "format": "paretocut-truncator",
        "version": 1,
        "class": "GlobalK",
        "params": {"metric": "dcg"},
        "learned": {"k_": truncator.k_, "queries_": 12},
    }


def test_numbers_come_back_to_the_last_bit(lists: RankedLists, tmp_path: Path) -> None:
    truncator = ScoreThreshold("z").fit(lists)
    truncator.save(tmp_path / "model.json")
    assert load(tmp_path / "model.json").threshold_ == truncator.threshold_
    truncator.threshold_ = np.inf
    truncator.save(tmp_path / "model.json")
    assert load(tmp_path / "model.json").threshold_ == np.inf


def test_parameters_of_every_kind_come_back(tmp_path: Path) -> None:
    before = Surprise(metrics.f_beta(2), bounds=(0, 8), neighbors=3, refit="all")
    before.save(tmp_path / "model.json")
    after = load(tmp_path / "model.json")
    assert after.get_params() == before.get_params()
    assert isinstance(after.bounds, tuple)


def test_large_arrays_of_an_inner_truncator_lie_beside_the_file(
    lists: RankedLists, tmp_path: Path
) -> None:
    pytest.importorskip("safetensors")
    pytest.importorskip("sklearn")
    truncator = Conformal(LocalK(neighbors=3), level=0.3).fit(lists)
    truncator.save(tmp_path / "a.json")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.json", "a.safetensors"]
    assert load(tmp_path / "a.json").predict(lists).tolist() == truncator.predict(lists).tolist()


def test_arrays_of_another_model_are_refused(lists: RankedLists, tmp_path: Path) -> None:
    pytest.importorskip("safetensors")
    pytest.importorskip("sklearn")
    LocalK().fit(lists).save(tmp_path / "a.json")
    LocalK().fit(lists[:6]).save(tmp_path / "b.json")
    (tmp_path / "b.safetensors").replace(tmp_path / "a.safetensors")
    with pytest.raises(DataFormatError, match=r"does not belong to a\.json"):
        load(tmp_path / "a.json")


def test_a_function_cannot_be_saved_and_the_old_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    FixedK(3).save(path)
    before = path.read_bytes()
    with pytest.raises(InvalidParameterError, match="GlobalK: metric must be plain data or a metr"):
        GlobalK(lambda relevant, num_relevant: np.zeros(relevant.size + 1)).save(path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["model.json"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", r"model\.json:1: not JSON"),
        ("[]", 'expected "format": "paretocut-truncator"'),
        ('{"format": "other"}', 'expected "format"'),
        ('{"format": "paretocut-truncator", "version": 99}', "expected version 1, got 99"),
        ('{"format": "paretocut-truncator", "version": 1}', "not a truncator: 'class'"),
        (
            '{"format": "paretocut-truncator", "version": 1, "class": "os", "params": {}}',
            "class must be a known truncator, got 'os'",
        ),
        (
            '{"format": "paretocut-truncator", "version": 1, "class": "FixedK",'
            ' "params": {"q": 1}, "learned": {}}',
            "not a truncator: .*'q'",
        ),
    ],
)
def test_a_file_that_is_no_truncator_is_refused(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    path.write_text(text)
    with pytest.raises(DataFormatError, match=message):
        load(path)


def test_a_users_own_truncator_is_saved_like_any_other(tmp_path: Path) -> None:
    class EveryOther(Truncator):
        def __init__(self, step: int = 2) -> None:
            self.step = step

        def _validate(self) -> None:
            pass

        def _learns(self) -> bool:
            return False

        def _predict(self, lists: RankedLists) -> np.ndarray:
            return lists.scores.lengths // self.step

    EveryOther(3).save(tmp_path / "model.json")
    assert load(tmp_path / "model.json").predict([[3.0, 2.0, 1.0]]).tolist() == [1]
