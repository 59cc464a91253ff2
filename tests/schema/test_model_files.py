"""Saved truncators: what is in the files, and what is refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from support import importorskip

import paretocut as pc
from paretocut import metrics
from paretocut.errors import DataFormatError, InvalidParameterError
from paretocut.lists import RankedLists
from paretocut.schema.kinds import Whole
from paretocut.truncators import Conformal, FixedK, GlobalK, LocalK, ScoreThreshold, Surprise
from paretocut.truncators.base import Truncator


@pytest.fixture
def lists() -> RankedLists:
    rng = np.random.default_rng(0)
    return RankedLists(
        rng.normal(size=(12, 9)), rng.random((12, 9)) < 0.4, query_embeddings=rng.random((12, 2))
    )


def test_the_file_is_json_that_a_person_can_read(lists: RankedLists, tmp_path: Path) -> None:
    truncator = GlobalK("penalized_dcg").fit(lists)
    truncator.save(tmp_path / "model.json")
    content = json.loads((tmp_path / "model.json").read_text())
    assert content.pop("judgements") == truncator.to_dict()["judgements"]
    assert content == {
        "format": "paretocut-truncator",
        "version": 1,
        "class": "GlobalK",
        "params": {"metric": "penalized_dcg"},
        "learned": {"k_": truncator.k_, "queries_": 12},
    }


def test_numbers_come_back_to_the_last_bit(lists: RankedLists, tmp_path: Path) -> None:
    truncator = ScoreThreshold("z").fit(lists)
    truncator.save(tmp_path / "model.json")
    assert pc.load(tmp_path / "model.json").threshold_ == truncator.threshold_
    truncator.threshold_ = np.inf
    truncator.save(tmp_path / "model.json")
    assert pc.load(tmp_path / "model.json").threshold_ == np.inf


def test_parameters_of_every_kind_come_back(tmp_path: Path) -> None:
    before = Surprise(metrics.f_beta(2), bounds=(0, 8), neighbors=3, refit="all")
    before.save(tmp_path / "model.json")
    after = pc.load(tmp_path / "model.json")
    assert after.get_params() == before.get_params()
    assert isinstance(after.bounds, tuple)


def test_large_arrays_of_an_inner_truncator_are_in_the_one_file(
    lists: RankedLists, tmp_path: Path
) -> None:
    # They lay in a file beside it once, and a crash between the two writes lost the model.
    pytest.importorskip("sklearn")
    many = RankedLists.concat([lists] * 40)
    truncator = Conformal(LocalK(neighbors=3), level=0.3).fit(many, groups=range(len(many)))
    truncator.save(tmp_path / "a.v1")
    truncator.save(tmp_path / "a.v2")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.v1", "a.v2"]
    packed = json.loads((tmp_path / "a.v1").read_text())["learned"]["base_"]["$truncator"]
    assert isinstance(packed["learned"]["embeddings_"]["$array"], list)
    assert isinstance(packed["learned"]["curves_"]["$lists"][0]["$array"], str)
    loaded = pc.load(tmp_path / "a.v1")
    np.testing.assert_array_equal(loaded.base_.curves_.values, truncator.base_.curves_.values)
    assert loaded.predict(lists).tolist() == truncator.predict(lists).tolist()


def test_the_mode_of_a_file_that_is_replaced_stays(tmp_path: Path) -> None:
    path, link = tmp_path / "model.json", tmp_path / "link.json"
    FixedK(3).save(path)
    path.chmod(0o600)
    link.symlink_to(path)
    FixedK(4).save(link)
    assert path.stat().st_mode & 0o777 == 0o600
    assert link.is_symlink()
    assert pc.load(path).k == 4


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
            "class must be one of Accept, .* or the full name of a class of yours, got 'os'",
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
        pc.load(path)


class EveryOther(Truncator):
    parameters: ClassVar = {"step": Whole(1)}
    made: ClassVar[list[int]] = []

    def __init__(self, step: int = 2) -> None:
        self.made.append(step)
        self.step = step

    def decide(self, lists: RankedLists) -> Any:
        return lists.scores.lengths // self.step


_OURS = FixedK


class FixedK(_OURS):  # type: ignore[no-redef]
    """Of the same name as one of ours."""

    def decide(self, lists: RankedLists) -> Any:
        return np.minimum(lists.scores.lengths, 1)


def saved(path: Path, **changes: Any) -> Path:
    content = {"format": "paretocut-truncator", "version": 1, "params": {}, "learned": {}}
    path.write_text(json.dumps(content | changes))
    return path


def test_a_users_own_truncator_is_saved_under_its_full_name(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    EveryOther(3).save(path)
    assert json.loads(path.read_text())["class"] == f"{__name__}.EveryOther"
    assert pc.load(path).predict([[3.0, 2.0, 1.0]]).tolist() == [1]


def test_a_users_class_never_takes_the_place_of_ours_nor_ours_of_it(tmp_path: Path) -> None:
    # A file of FixedK came back as the user's class of that name, and the other way round.
    path = tmp_path / "model.json"
    _OURS(2).save(path)
    assert type(pc.load(path)) is _OURS
    FixedK(2).save(path)
    assert type(pc.load(path)) is FixedK
    assert pc.load(path).predict([[3.0, 2.0, 1.0]]).tolist() == [1]
    program = "import sys, paretocut as pc; print(repr(pc.load(sys.argv[1])))"
    done = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True)
    assert f"got {__name__}.FixedK: import {__name__} before you load" in done.stderr


def test_a_class_that_claims_to_be_ours_is_refused_when_it_is_defined() -> None:
    with pytest.raises(InvalidParameterError, match=r"^FixedK: __module__ must be .*\.simple"):
        type("FixedK", (_OURS,), {"__module__": _OURS.__module__})


def test_a_class_that_nobody_can_find_again_is_not_saved(tmp_path: Path) -> None:
    class Local(_OURS):
        pass

    with pytest.raises(InvalidParameterError, match="Local, which is defined inside a function"):
        Local().save(tmp_path / "model.json")
    older, EveryOther.__qualname__ = EveryOther(), "FixedK"
    try:
        with pytest.raises(InvalidParameterError, match="FixedK, which is another class by now"):
            older.save(tmp_path / "model.json")
    finally:
        EveryOther.__qualname__ = "EveryOther"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Unknown", "class must be one of Accept, .*, got 'Unknown'"),
        ("ShapeRule", "class must be one of Accept, .*, got 'ShapeRule'"),
        ("Truncator", "class must be one of Accept, .*, got 'Truncator'"),
        ("paretocut.truncators.simple.ShapeRule", "class must be one of Accept"),
        ("paretocut.truncators.simple.FixedK", "class must be one of Accept"),
        (7, "class must be one of Accept, .*, got 7"),
        ("lab.methods.Above", "got lab.methods.Above: import lab.methods before you load"),
        ("__main__.Above", "got __main__.Above: define it in this program before you load"),
        (f"{__name__}.Above", f"there is none in {__name__}"),
        (f"{__name__}.Truncator", "must be a truncator that decides|one that has been imported"),
        ("pathlib.Path", "class must be a truncator that decides, got pathlib.Path"),
        ("os.system", "there is none in os"),
    ],
)
def test_a_file_names_only_classes_that_decide(name: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(DataFormatError, match=message):
        pc.load(saved(tmp_path / "model.json", **{"class": name}))


def test_no_constructor_runs_before_its_arguments_are_checked(tmp_path: Path) -> None:
    EveryOther.made.clear()
    for params in ({"step": 0}, {"step": "x"}, {"steps": 2}):
        path = saved(tmp_path / "model.json", **{"class": f"{__name__}.EveryOther"}, params=params)
        with pytest.raises(DataFormatError, match="step"):
            pc.load(path)
    assert EveryOther.made == []


def test_what_was_not_declared_is_not_saved(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameterError, match=r"parameters must say .* nothing for secret"):
        Undeclared().save(tmp_path / "model.json")
    lists = RankedLists([[2.0, 1.0]], relevance=[[1, 0]])
    with pytest.raises(InvalidParameterError, match=r"state must say .* nothing for k_"):
        Forgetful().fit(lists).save(tmp_path / "model.json")


class Undeclared(EveryOther):
    def __init__(self, secret: int = 1) -> None:
        self.secret = secret


class Forgetful(_OURS):
    def learn(self, lists: RankedLists) -> None:
        self.k_ = 1


VOTES = ("learned", "learned_", "$consensus-vote", "votes")


def change(path: Path, *way: str | int, to: Any) -> None:
    """Change one value of a model file."""
    content = owner = json.loads(path.read_text())
    for step in way[:-1]:
        owner = owner[step]
    owner[way[-1]] = to
    path.write_text(json.dumps(content))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("0.5", "threshold_ must be a number, got '0.5'"),
        (None, "threshold_ must be a number, got None"),
        (True, "threshold_ must be a number, got True"),
        ([0.5], "threshold_ must be a number, got list of 1"),
        ({"$float": "nan"}, "threshold_ must be a number, got nan"),
        ({"$float": "0x"}, "not a truncator: '0x'"),
        ({"$array": [0.5], "dtype": "<f8"}, "got float64 of shape"),
        (10**400, "threshold_ must be a number"),
    ],
)
def test_a_wrong_threshold_is_refused_when_the_file_is_read(
    lists: RankedLists, tmp_path: Path, value: Any, message: str
) -> None:
    # All of these were loaded once, and failed or cut nonsense later.
    path = tmp_path / "model.json"
    ScoreThreshold("z").fit(lists).save(path)
    change(path, "learned", "threshold_", to=value)
    with pytest.raises(DataFormatError, match=message):
        pc.load(path)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("k_", -1, "k_ must be an integer of at least 0, got -1"),
        ("k_", 2.5, "k_ must be an integer"),
        ("k_", 2**63, "k_ must be an integer"),
        ("queries_", 0, "queries_ must be an integer of at least 1, got 0"),
        ("other_", 1, "values must be named queries_, k_, got 'other_'"),
        ("_secret", 1, "values must be named queries_, k_, got '_secret'"),
    ],
)
def test_learned_values_outside_their_range_are_refused(
    lists: RankedLists, tmp_path: Path, name: str, value: Any, message: str
) -> None:
    path = tmp_path / "model.json"
    GlobalK().fit(lists).save(path)
    change(path, "learned", name, to=value)
    with pytest.raises(DataFormatError, match=message):
        pc.load(path)


def test_learned_values_that_are_missing_or_of_another_length_are_refused(
    lists: RankedLists, tmp_path: Path
) -> None:
    path = tmp_path / "model.json"
    pc.truncators.Consensus().fit(lists).save(path)
    content = json.loads(path.read_text())
    vote = content["learned"]["learned_"]["$consensus-vote"]
    votes = vote["votes"]["$array"]
    change(path, *VOTES, "$array", to=votes[:-1])
    with pytest.raises(DataFormatError, match=r"votes must be of size \d+ \(rules\), not"):
        pc.load(path)
    del vote["center"]
    path.write_text(json.dumps(content))
    with pytest.raises(DataFormatError, match="center must be there, got nothing"):
        pc.load(path)


def test_what_was_learned_for_another_metric_is_refused(lists: RankedLists, tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    pc.truncators.Consensus().fit(lists).save(path)
    change(path, "params", "metric", to="penalized_dcg")
    with pytest.raises(DataFormatError, match="learned_ must be a strategy for these parameters"):
        pc.load(path)


def test_every_truncator_that_learns_says_what() -> None:
    importorskip("torch")
    for name in pc.truncators.names():
        params = {"base": "global_k"} if name == "conformal" else {}
        truncator = pc.truncators.make(name, **params)
        assert truncator.state or not truncator.learns, f"{name} has no state"


def test_a_network_that_promises_a_billion_layers_is_refused_at_once(
    lists: RankedLists, tmp_path: Path
) -> None:
    importorskip("torch")
    path = tmp_path / "model.json"
    short = pc.truncators.Training(max_epochs=1)
    pc.truncators.BiCut(width=4, layers=1, training=short).fit(lists).save(path)
    assert pc.load(path).predict(lists).tolist()
    before = path.read_text()
    for setting in ("layers", "width"):
        path.write_text(before)
        change(path, "params", setting, to=10**9)
        with pytest.raises(
            DataFormatError, match=f"{setting} must be an integer of at least 1 and"
        ):
            pc.load(path)
        path.write_text(before)
        change(path, "params", setting, to=3)
        with pytest.raises(DataFormatError, match="network_ must be such that the network has"):
            pc.load(path)
        change(path, "learned", "network_", setting, to=3)
        with pytest.raises(DataFormatError, match="weights_ must be such that"):
            pc.load(path)
    path.write_text(before)
    change(path, "params", "training", "$training", "seed", to=-1)
    with pytest.raises(DataFormatError, match="Training: seed must be an integer of at least 0"):
        pc.load(path)
    path.write_text(before)
    change(path, "learned", "output_", to=99)
    with pytest.raises(DataFormatError, match="output_ must be an integer of at least 0 and at"):
        pc.load(path)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"a":' * 100_000,
        '{"format": "paretocut-truncator", "version": ' + "9" * 10_000 + "}",
        '{"format": "paretocut-truncator", "version": 1e999}',
        '{"format": ["paretocut-truncator"], "version": 1}',
        '{"format": "paretocut-truncator", "version": NaN}',
        "\x00",
    ],
    ids=["lists", "objects", "digits", "infinite", "kind", "NaN", "NUL"],
)
def test_odd_json_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "model.json").write_text(text)
    with pytest.raises(DataFormatError):
        pc.load(tmp_path / "model.json")


def test_truncators_nested_without_end_are_refused(tmp_path: Path) -> None:
    content: Any = {"class": "FixedK", "params": {"k": 1}, "learned": {}}
    for depth in (4, 40, 120):
        nested = content
        for _ in range(depth):
            inner = {"base": {"$truncator": nested}}
            nested = {"class": "Conformal", "params": inner, "learned": {}}
        named = {"format": "paretocut-truncator", "version": 1, **nested}
        (tmp_path / "model.json").write_text(json.dumps(named))
        if depth == 4:
            pc.load(tmp_path / "model.json")
        else:
            with pytest.raises(DataFormatError, match="at most 8 deep"):
                pc.load(tmp_path / "model.json")


@pytest.mark.parametrize("dtype", ["|S1000000000", "<U1000000000", "|O", "<M8[s]", "f8,f8", "V9"])
def test_arrays_of_other_types_are_refused(lists: RankedLists, tmp_path: Path, dtype: str) -> None:
    path = tmp_path / "model.json"
    pc.truncators.Consensus().fit(lists).save(path)
    change(path, *VOTES, "dtype", to=dtype)
    with pytest.raises(DataFormatError):
        pc.load(path)


PEAK = """
import resource, sys, time
import numpy as np
import paretocut as pc
from paretocut.errors import DataFormatError

pc.truncators.make("consensus")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
start = time.process_time()
for path in sys.argv[1:]:
    try:
        pc.load(path)
    except DataFormatError:
        pass
    else:
        sys.exit(f"{path} was loaded")
grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
print(grown >> 10, time.process_time() - start)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory is counted in kilobytes on Linux only")
def test_a_small_file_costs_little_memory_whatever_it_promises(
    lists: RankedLists, tmp_path: Path
) -> None:
    paths = []
    for i, (way, value) in enumerate(
        [
            ((*VOTES, "dtype"), "|S1000000000"),
            ((*VOTES, "$array"), [[[[[[[]]]]]]] * 10_000),
            ((*VOTES, "$array"), "9" * 100_000),
            (VOTES, {"$array": "AAAA", "dtype": "<i8", "shape": [2**40, 2**20]}),
            (("params", "seed"), "x" * 100_000),
        ]
    ):
        paths.append(tmp_path / f"{i}.json")
        pc.truncators.Consensus().fit(lists).save(paths[-1])
        change(paths[-1], *way, to=value)
    done = subprocess.run(
        [sys.executable, "-c", PEAK, *map(str, paths)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    megabytes, seconds = map(float, done.stdout.split())
    assert megabytes < 60
    assert seconds < 10


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with a name")
def test_a_link_to_a_file_is_read_and_anything_else_is_refused(
    lists: RankedLists, tmp_path: Path
) -> None:
    # A pipe without a writer was waited for without end, and a device was read without end.
    target, real = tmp_path / "a.json", tmp_path / "real"
    GlobalK().fit(lists).save(target)
    target.rename(real)
    target.symlink_to(real)
    assert isinstance(pc.load(target), GlobalK)
    os.mkfifo(tmp_path / "pipe")
    for other in (tmp_path / "pipe", Path("/dev/zero"), tmp_path, target):
        target.unlink()
        target.symlink_to(other)
        with pytest.raises(DataFormatError, match="expected a file, got"):
            pc.load(target)


@pytest.mark.parametrize(
    "damaged",
    [
        {"$array": "", "dtype": "<f8", "shape": [12, 2]},
        {"$array": "no base64 at all", "dtype": "<f8", "shape": [12, 2]},
        {"$array": "AAAA", "dtype": "<f8", "shape": [1]},
        {"$array": "A" * 256, "dtype": "<f8", "shape": [-1, 2]},
        {"$array": "A" * 256, "dtype": "<f8", "shape": "24"},
        {"$array": [[{"$float": "nan"}] * 2] * 12, "dtype": "<f8"},
        {"$array": [[0.0, 0.0]] * 5, "dtype": "<f8"},
        {"$array": [0.0] * 12, "dtype": "<f8"},
        {"$array": [[0.0, 0.0]] * 12},
        {"$array": None, "dtype": "<f8"},
        [[0.0, 0.0]] * 12,
        {"$lists": [[1.0], [0, 1]]},
    ],
    ids=range(12),
)
def test_damaged_arrays_are_refused(lists: RankedLists, tmp_path: Path, damaged: Any) -> None:
    importorskip("sklearn")
    LocalK().fit(lists).save(tmp_path / "a.json")
    change(tmp_path / "a.json", "learned", "embeddings_", to=damaged)
    with pytest.raises(DataFormatError):
        pc.load(tmp_path / "a.json")


@pytest.mark.parametrize("damaged", [[[1.0], [0, 1]], [[1.0], [1, 0]], [], None, [[1.0]], "x"])
def test_damaged_lists_are_refused(lists: RankedLists, tmp_path: Path, damaged: Any) -> None:
    importorskip("sklearn")
    LocalK().fit(lists).save(tmp_path / "a.json")
    change(tmp_path / "a.json", "learned", "curves_", "$lists", to=damaged)
    with pytest.raises(DataFormatError):
        pc.load(tmp_path / "a.json")


@pytest.mark.parametrize("path", [None, 3, b"model.json", ["model.json"]], ids=repr)
def test_a_model_is_loaded_from_a_path(path: Any) -> None:
    with pytest.raises(InvalidParameterError, match="load: path must be the path of a model"):
        pc.load(path)


def test_a_fusion_is_loaded_like_all_models(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    ids = [list("abcdefgh")] * 9
    both = {name: RankedLists(rng.random((9, 8)), doc_ids=ids) for name in ("one", "two")}
    path = tmp_path / "fusion.json"
    fusion = pc.fusion.Fusion().fit(both)
    fusion.save(path)
    loaded = pc.load(path)
    assert isinstance(loaded, pc.fusion.Fusion)
    expected = fusion.fuse(both).scores.values
    np.testing.assert_array_equal(loaded.fuse(both).scores.values, expected)
    for name, value in (("scale_", [0.0, 1.0]), ("weights_", [1.0]), ("location_", ["x", 1.0])):
        fusion.save(path)
        change(path, "learned", name, to=value)
        with pytest.raises(DataFormatError, match=f"not a fusion: {name} must be"):
            pc.load(path)
    fusion.save(path)
    with pytest.raises(DataFormatError, match='expected "format"'):
        pc.cut([0.9, 0.1], truncator=path)


SAVER = """
import sys
import numpy as np, paretocut as pc
rng = np.random.default_rng(int(sys.argv[2]))
lists = pc.RankedLists(rng.random((60, 40)), rng.random((60, 40)) < 0.2)
model = pc.truncators.Consensus().fit(lists)
model.save(sys.argv[1])
print("ready", flush=True)
while True:
    model.save(sys.argv[1])
"""


def test_readers_see_a_whole_model_beside_savers_that_are_killed(
    tmp_path: Path, lists: RankedLists
) -> None:
    # 22 of 40 kills left a model that could not be loaded, and 723 of 895 reads failed.
    path = tmp_path / "model.v1"
    for _ in range(3):
        savers = [
            subprocess.Popen(
                [sys.executable, "-c", SAVER, str(path), str(seed)], stdout=subprocess.PIPE
            )
            for seed in range(2)
        ]
        for saver in savers:
            assert saver.stdout is not None
            assert saver.stdout.readline() == b"ready\n"
        for _ in range(50):
            assert len(pc.load(path).predict(lists)) == len(lists)
        for saver in savers:
            saver.kill()
            saver.communicate()
        pc.load(path)
    # What a kill leaves is hidden, and nobody takes it for a model.
    assert [name for name in os.listdir(tmp_path) if not name.startswith(".")] == ["model.v1"]
