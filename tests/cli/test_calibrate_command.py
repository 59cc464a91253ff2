"""``paretocut calibrate``: nonsense queries, a model from runs, and a check of later runs."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from commands import json_lines

import paretocut as pc
from paretocut.calibration import calibrated, nonsense_queries
from paretocut.cli import main
from paretocut.io import read_texts
from paretocut.truncators import Consensus, FixedK, Gated

TEXTS = [
    "ferns and mosses grow in the shade of old trees",
    "roses like full sun and rich soil",
    "the soil of a garden should drain well",
    "prune the trees in late winter",
    "water the roses in the morning",
]


def null_lists(rng: np.random.Generator, n: int) -> np.ndarray:
    """Return lists without an answer: the best of 1,000 scores of chance."""
    return -np.sort(-rng.normal(0.3, 0.08, size=(n, 1000)))[:, :60]


def good_lists(rng: np.random.Generator, n: int) -> np.ndarray:
    """Return lists with three results that stand out."""
    lists = null_lists(rng, n)
    lists[:, :3] = rng.normal(0.8, 0.06, size=(n, 3))
    return -np.sort(-lists)


def write_run(path: Path, lists: np.ndarray, name: str = "q") -> None:
    """Write lists as a TREC run."""
    rows = [
        f"{name}{i} Q0 d{j} {j + 1} {score:.6f} test\n"
        for i, scores in enumerate(lists)
        for j, score in enumerate(scores)
    ]
    path.write_text("".join(rows))


def test_texts_are_read_as_every_other_file(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    # The line of a broken text was always said to be the first.
    plain, packed, broken = (tmp_path / name for name in ("texts.txt", "texts.txt.gz", "broken"))
    plain.write_text("\n".join(TEXTS))
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    found = []
    for file in (plain, packed):
        assert main(["calibrate", "--texts", str(file)]) == 0
        found.append(capfd.readouterr().out)
    assert found[0] == found[1] != ""
    broken.write_bytes(b"ferns and mosses\nro\xffes\n")
    assert main(["calibrate", "--texts", str(broken)]) == 1
    assert f"{broken}:2: expected UTF-8 text" in capfd.readouterr().err


def test_commands_do_what_the_library_does(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "texts.txt").write_text("\n".join(TEXTS))
    made_up = tmp_path / "made-up.tsv"
    make = ["calibrate", "--texts", str(tmp_path / "texts.txt"), "-n", "7", "-o", str(made_up)]
    for said, size in (([], len(TEXTS)), (["--size", "5000"], 5000)):
        assert main([*make, *said]) == 0
        lines = [line.split("\t") for line in made_up.read_text().splitlines()]
        assert [text for _, text in lines] == nonsense_queries(TEXTS, 7, size=size)
        assert lines[6][0] == "nonsense-7"

    rng = np.random.default_rng(4)
    null, good = null_lists(rng, 80).round(6), good_lists(rng, 150).round(6)
    write_run(tmp_path / "null.run", null)
    write_run(tmp_path / "users.run", good)
    model = tmp_path / "model.json"
    call = ["calibrate", str(tmp_path / "null.run"), "--query-run", str(tmp_path / "users.run")]
    assert main([*call, "-o", str(model), "--json"]) == 0
    told = json.loads(capfd.readouterr().out)
    expected = calibrated(null, good)
    assert told["threshold"] == pytest.approx(expected.threshold())
    assert told["report"] == expected.report()
    assert main(["calibrate", "--check", str(model), str(tmp_path / "users.run")]) == 0
    assert capfd.readouterr().out.startswith("same: ")
    FixedK(3).save(model)
    assert main(["calibrate", "--check", str(model), str(tmp_path / "users.run")]) == 2
    expected = f"--check must name a model that `paretocut calibrate` wrote, got FixedK in {model}"
    assert expected in capfd.readouterr().err


def test_commands_scale_lexical_scores_by_the_query(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(7)
    texts = [" ".join(TEXTS[0].split()[:size]) for size in rng.integers(1, 9, 350)]
    scale = pc.background.QueryScale.from_texts(TEXTS)
    lists = np.concatenate([null_lists(rng, 150), good_lists(rng, 200)]) * scale(texts)[:, None]
    index, model = tmp_path / "texts.txt", str(tmp_path / "model.json")
    index.write_text("\n".join(TEXTS))
    runs = {"null": (lists[:150], texts[:150]), "users": (lists[150:], texts[150:])}
    for name, (scores, own) in runs.items():
        write_run(tmp_path / f"{name}.run", scores, name)
        lines = [f"{name}{i}\t{text}\n" for i, text in enumerate(own)]
        (tmp_path / f"{name}.tsv").write_text("".join(lines))
    null, users = (str(tmp_path / f"{name}.tsv") for name in runs)
    users_run = str(tmp_path / "users.run")
    call = [
        "calibrate",
        str(tmp_path / "null.run"),
        "--query-run",
        users_run,
        "-o",
        model,
        "--json",
    ]
    call += ["--lexical", "--texts", str(index)]
    assert main(call) == 2
    assert "must come together with RUN, got --lexical, --texts" in capfd.readouterr().err
    assert main([*call, "--query-texts", null]) == 2
    assert "got none for 200 of 350, such as users0" in capfd.readouterr().err
    assert main([*call, "--query-texts", null, "--query-texts", users]) == 0
    told = json.loads(capfd.readouterr().out)
    lexical = calibrated(lists[:150], lists[150:], scale=scale, texts=texts)
    assert told["threshold"] == pytest.approx(lexical.threshold(), rel=1e-4)

    cut = ["cut", users_run, "--model", model, "--json", "-q"]
    assert main(cut) == 2
    assert "--query-texts must name a file" in capfd.readouterr().err
    assert main([*cut, "--query-texts", users]) == 0
    kept = [json.loads(line)["k"] for line in capfd.readouterr().out.splitlines()]
    expected = pc.load(model).cut_batch(lists[150:].round(6), queries=texts[150:]).k
    assert kept == expected.tolist()
    check = ["calibrate", "--check", model, users_run]
    assert main(check) == 2
    assert "paretocut calibrate: error: --query-texts must name a" in capfd.readouterr().err
    assert main([*check, "--query-texts", users]) == 0
    assert capfd.readouterr().out.startswith("same: ")
    (tmp_path / "bad.tsv").write_text("users0 no tab\n")
    assert main([*cut, "--query-texts", str(tmp_path / "bad.tsv")]) != 0
    assert "bad.tsv" in capfd.readouterr().err


def test_nonsense_as_json_is_read_as_texts(tmp_path: Path) -> None:
    (tmp_path / "texts.txt").write_text("\n".join(TEXTS))
    out = tmp_path / "nonsense.jsonl"
    make = ["calibrate", "--texts", str(tmp_path / "texts.txt"), "-o", str(out), "--json"]
    assert main([*make, "--lexical", "--seed", "4"]) == 0
    expected = nonsense_queries(TEXTS, 100, size=len(TEXTS), lexical=True, seed=4)
    assert list(read_texts(out).values()) == expected


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "RUN, --background RUN or --check MODEL RUN must be given, got none of them"),
        (["--check", "m.json"], "must be given, got no RUN"),
        (["--check", "m.json", "--texts", "t.txt"], "must be given, got no RUN"),
        (["a.run"], "-o must name the file to write, got none"),
        (["a.run", "-o", "m", "-n", "9"], "-n must be left out with RUN, got 9"),
        (["a.run", "-o", "m", "--texts", "t"], "must come together with RUN, got --texts"),
        (["a.run", "-o", "m", "--query-texts", "t"], "together with RUN, got --query-texts"),
        (["--background", "-o", "b"], "must be given, got no RUN"),
        (["--background", "a.run"], "-o must name the file to write, got none"),
        (["--background", "a.run", "-o", "b", "--lexical"], "--lexical must be left out with"),
        (["a.run", "-o", "m", "--size", "9"], "--size must be left out with RUN, got 9"),
        (["a.run", "--check", "m", "-o", "n"], "--output must be left out with --check, got n"),
        (["a.run", "--check", "m", "--alpha", "0.1"], "--alpha must be left out with --check"),
        (["--texts", "t", "--query-run", "a.run"], "--query-run must be left out with --texts"),
        (["--texts", "t", "--distances"], "--distances must be left out with --texts and no RUN"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_options_of_different_forms_are_refused_together(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["calibrate", *words]) == 2
    assert message in capsys.readouterr().err


def test_a_background_empties_queries_without_an_answer(
    folder: Path, unanswered: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["calibrate", "--background", unanswered, "-o", "bg.json"]) == 0
    assert "40 queries without an answer: 5 % of such queries have a best score above 0." in (
        capsys.readouterr().err
    )
    background = pc.load("bg.json")
    lists = pc.read_trec(unanswered)
    assert background == pc.Background.fit(lists)
    sized = ["--size", "5000", "--json"]
    assert main(["calibrate", unanswered, "--background", "-o", "sized.json", *sized]) == 0
    larger = pc.Background.fit(lists, size=5000)
    assert pc.load("sized.json") == larger
    told = json.loads(capsys.readouterr().out)
    assert told == {"background": "sized.json", "queries": 40, "limit": larger.limit(0.05)}
    assert main(["cut", "run.txt", "--background", "bg.json", "--json"]) == 0
    decisions = json_lines(capsys.readouterr().out)
    gated = Gated(Consensus(), background)
    assert [row["k"] for row in decisions] == gated.predict(pc.read_trec("run.txt")).tolist()
    assert [row["k"] > 0 for row in decisions] == [True, True, False]
    assert decisions[2]["reason"].endswith(
        "of queries without an answer reach a best score as high"
    )


def test_a_background_is_no_calibrated_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "background.json"
    pc.Background.fit(np.linspace(0.1, 0.4, 50)).save(file)
    assert main(["calibrate", "--check", str(file), "any.run"]) == 2
    assert capsys.readouterr().err == (
        "paretocut calibrate: error: --check must name a model that `paretocut calibrate` wrote, "
        f"got Background in {file}\n"
    )


def test_the_gate_is_counted_on_questions_of_ones_own(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(3)
    runs = {
        "null": null_lists(rng, 60),
        "log": good_lists(rng, 60),
        "good": good_lists(rng, 30) - rng.uniform(0, 0.3, (30, 1)),
        "other": null_lists(rng, 30),
    }
    paths = {name: str(tmp_path / f"{name}.txt") for name in (*runs, "model")}
    for name, lists in runs.items():
        write_run(Path(paths[name]), lists)
    own = ["--check-good", paths["good"], "--check-off-topic", paths["other"], "--json"]
    learn = ["calibrate", paths["null"], "--query-run", paths["log"], "-o", paths["model"]]
    assert main([*learn, *own]) == 0
    learned = json.loads(capfd.readouterr().out)
    assert main(["calibrate", "--check", paths["model"], *own]) == 0
    later = json.loads(capfd.readouterr().out)
    gate = pc.load(paths["model"])
    expected = gate.evaluate(runs["good"].round(6), runs["other"].round(6)).to_dict()
    assert learned["evaluated"] == later["evaluated"] == expected
    assert main(["calibrate", "--check", paths["model"], paths["log"], *own[:2]]) == 0
    out = capfd.readouterr().out
    assert out.startswith("unsure: 60 lists")
    assert "Good questions left empty: " in out
