"""``paretocut stop``: the states of the library, from qrels, spreadsheets and ASReview exports."""

from __future__ import annotations

import gzip
import hashlib
import json
import math
from pathlib import Path

import numpy as np
import pytest
from commands import json_lines

import paretocut as pc
from paretocut.cli import main
from paretocut.stopping import Certificate, Quantile, plan

RELEVANT = np.isin(np.arange(300), [0, 1, 2, 4, 7, 9, 12, 30])


@pytest.fixture
def review(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Go to a folder with run.txt, a ranking of 300 documents, and part.txt, the first 150 read."""
    monkeypatch.chdir(tmp_path)
    Path("run.txt").write_text("".join(f"r Q0 d{i} {i + 1} {300 - i} t\n" for i in range(300)))
    # Not in the order of the ranking: the run says what that is.
    lines = [f"r 0 d{i} {int(RELEVANT[i])}\n" for i in range(149, -1, -1)]
    Path("part.txt").write_text("".join(lines))
    return tmp_path


def state_after(rule: Certificate | Quantile, read: int) -> pc.stopping.State:
    running = rule.review(total=300)
    for relevant in RELEVANT[:read]:
        running.add(bool(relevant))
    return running.state


def as_json(state: pc.stopping.State) -> dict[str, object]:
    return {**vars(state), "interval": list(state.interval), "warnings": list(state.warnings)}


def of_state(row: dict[str, object]) -> dict[str, object]:
    """Return a row of --json without the record of who looked at what."""
    record = ("promise", "input", "date", "reviewer", "paretocut")
    assert set(record) <= set(row)
    return {key: value for key, value in row.items() if key not in record}


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ([], Certificate(0.95)),
        (["--recall", "0.8", "--confidence", "0.8"], Certificate(0.8, 0.8)),
        (["--recall", "0.9", "--reliability", "0.8"], Quantile(0.9, 0.8)),
    ],
)
def test_stop_says_what_the_library_says(
    review: Path,
    capsys: pytest.CaptureFixture[str],
    options: list[str],
    rule: Certificate | Quantile,
) -> None:
    assert main(["stop", "run.txt", "--judged", "part.txt", "--json", *options]) == 0
    (row,) = json_lines(capsys.readouterr().out)
    assert of_state(row) == {"query_id": "r", **as_json(state_after(rule, 150))}
    assert main(["stop", "run.txt", "--judged", "part.txt", *options]) == 0
    said = capsys.readouterr().out
    bound = (
        f"{100 * row['confidence']:.0f} % lower bound {math.floor(100 * row['at_least']) / 100:.2f}"
    )
    assert said.startswith(f"r: {row['reason']}. Recall: {bound}, best guess ")


def test_a_saved_rule_decides(review: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    earlier = rng.random((30, 300)) < 0.5 * np.exp(-np.arange(300) / 20) + 0.01
    rule = Quantile(0.85, 0.8).fit(earlier)
    rule.save("rule.json")
    assert main(["stop", "run.txt", "--judged", "part.txt", "--rule", "rule.json", "--json"]) == 0
    (row,) = json_lines(capsys.readouterr().out)
    assert of_state(row) == {"query_id": "r", **as_json(state_after(rule, 150))}


@pytest.mark.parametrize("kind", ["spreadsheet", "asreview", "with a run"])
def test_a_csv_in_the_order_of_reading_will_do(
    review: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    rows = [f"d{i},{'yes' if RELEVANT[i] else 'no'}" for i in range(150)]
    if kind == "spreadsheet":
        # As people have it: capitals, semicolons, Latin-1.
        rows = [row.replace(",", ";") for row in rows]
        lines = ["Doc_ID;Decision;Título", *(f"{row};é" for row in rows)]
        lines += [f"d{i};;é" for i in range(150, 300)]
    elif kind == "with a run":
        lines = ["doc_id,relevant", *rows]
    else:
        # ASReview keeps the order of the import; the times say what was read when.
        at = [f"2026-01-31 12:{i // 60:02}:{i % 60:02}.5" for i in range(150)]
        read = [f"{i},Title,{int(RELEVANT[i])},{at[i]}" for i in range(150)]
        rest = [f"{i},Title,," for i in range(150, 300)]
        lines = ["record_id,title,asreview_label,asreview_time", *rest, *reversed(read)]
    code = "latin-1" if kind == "spreadsheet" else "utf-8"
    Path("judged.csv.gz").write_bytes(gzip.compress("\n".join(lines).encode(code)))
    run = {"with a run": ["run.txt"], "spreadsheet": ["--in-reading-order"]}.get(kind, [])
    assert main(["stop", *run, "--judged", "judged.csv.gz", "--json"]) == 0
    (row,) = json_lines(capsys.readouterr().out)
    name = "r" if kind == "with a run" else ""
    assert of_state(row) == {"query_id": name, **as_json(state_after(Certificate(), 150))}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("id,title\n1,a\n", "judged.csv:1: expected a column asreview_label or relevant"),
        ("id,label\n1,maybe\n", "judged.csv:2: label must be 1, 0 or empty, or yes or no"),
        ("id,label\n1,1\n2,0\n1,1\n", "judged.csv:4: id must name each document once, got 1 here"),
        ("id,label\n1,1\n,0\n", "judged.csv:3: id must name a document, got nothing"),
        ("id,label,time\n1,1,nan\n", "judged.csv:2: time must be a time"),
        ("id,Included,decision\n1,1,no\n", "judged.csv:2: included and decision must agree"),
        ("id;label\n1;1;2\n", "judged.csv:2: expected 2 fields, got 3"),
        ("PK\x03\x04", "got a workbook; in the spreadsheet, use Save As and choose CSV"),
        ("id,label,asreview_time\n1,1,noon\n", "judged.csv:2: asreview_time must be a time"),
        ("included,asreview_ranking\n1,1\n", "does not have it; export from ASReview 2"),
        ("id,label\nd999,1\n", "must judge documents of run.txt, got 1 others, such as d999"),
    ],
)
def test_bad_judgements_are_refused_with_their_line(
    review: Path, capsys: pytest.CaptureFixture[str], content: str, message: str
) -> None:
    Path("judged.csv").write_text(content)
    assert main(["stop", "run.txt", "--judged", "judged.csv"]) == 1
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run.txt"], "one of --judged and --plan must be given"),
        (["--judged", "part.txt"], "RUN must be given with judgements in TREC format"),
        (
            ["--judged", "part.csv", "--total", "1", "--in-reading-order"],
            "--total must be at least the 2",
        ),
        (["--judged", "part.csv", "--rule", "x", "--recall", "0.9"], "--recall must be left out"),
        (["--judged", "part.csv"], "--total must be given, got none: part.csv lists no document"),
        (["--judged", "part.csv", "--total", "9"], "--in-reading-order must be given for a file"),
        (["--judged", "part.csv", "--sample", "1"], "RUN must be given with --sample"),
        (["--judged", "part.csv", "--sample", "1", "--rule", "x"], "--sample must come without"),
        (["--plan", "0.1"], "--plan must come with RUN or --total, got neither"),
        (["run.txt", "--judged", "part.txt", "--recall", "1.5"], "recall must be in (0, 1]"),
        (["run.txt", "--judged", "part.txt", "--recall", "0.93", "--reliability", "0.9"], "0.93;"),
    ],
)
def test_bad_usage_is_refused(
    review: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    Path("part.csv").write_text("label\n1\n0\n")
    assert main(["stop", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_contradictions_and_what_the_run_does_not_have_are_named(
    review: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for line, message in (
        ("r 0 d999 1\n", "got 1 others, such as d999"),
        ("s 0 d1 1\n", "must judge queries of RUN, got s"),
        ("r 0 d1 1\nr 0 d1 0\n", "qrels.txt:2: "),
    ):
        Path("qrels.txt").write_text(line)
        assert main(["stop", "run.txt", "--judged", "qrels.txt"]) == 1
        assert message in capsys.readouterr().err


def test_a_workbook_is_refused_with_the_way_out(
    review: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, data in (("review.xlsx", b"PK\x03\x04.."), ("review.xls", b"\xd0\xcf\x11\xe0..")):
        Path(name).write_bytes(data)
        assert main(["stop", "--judged", name]) == 1
        assert "got a workbook; in the spreadsheet, use Save As" in capsys.readouterr().err


def test_gaps_in_the_reading_are_told(review: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("qrels.txt").write_text("r 0 d0 1\nr 0 d9 0\n")
    assert main(["stop", "run.txt", "--judged", "qrels.txt"]) == 0
    assert "warning: r: 8 documents above the last one judged" in capsys.readouterr().err


def test_nothing_found_is_no_promise(review: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("judged.csv").write_text("label\n" + "0\n" * 99 + '""\n')
    assert main(["stop", "--judged", "judged.csv", "--in-reading-order"]) == 0
    said = capsys.readouterr().out
    assert said == (
        "go on: 99 of 100 documents read, 0 of them relevant. Nothing can be said about the "
        "recall before the first relevant document.\n"
    )


def test_the_plan_is_that_of_the_library(review: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stop", "run.txt", "--plan", "0.05", "--recall", "0.9", "--json"]) == 0
    rows = json_lines(capsys.readouterr().out)
    prices = plan(300, 0.05, recall=0.9)
    assert [row["read"] for row in rows] == [price.read for price in prices]
    assert main(["stop", "--total", "300", "--plan", "0.05", "--recall", "0.9"]) == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert first.startswith(f"read {prices[0].read} (")
    assert first.endswith("of 300: Certificate, confidence 0.95")


@pytest.mark.parametrize(
    ("labels", "why"),
    [
        (["1", "", "0", ""], "1 rows without a judgement stand above rows with one"),
        (["1", "1", "0", "0", ""], "the rows are sorted by the judgement"),
        (["0", "0", "1", "1", ""], "the rows are sorted by the judgement"),
    ],
)
def test_rows_that_cannot_be_in_reading_order_are_refused(
    review: Path, capsys: pytest.CaptureFixture[str], labels: list[str], why: str
) -> None:
    rows = [f"{i},{label}" for i, label in enumerate(labels)]
    Path("judged.csv").write_text("\n".join(["id,label", *rows]))
    assert main(["stop", "--judged", "judged.csv", "--in-reading-order"]) == 1
    assert why in capsys.readouterr().err
    # With times the rows may stand in any order.
    rows = [f"{row},{9 - i}" for i, row in enumerate(rows)]
    Path("judged.csv").write_text("\n".join(["id,label,time", *rows]))
    assert main(["stop", "--judged", "judged.csv"]) == 0


def test_a_sample_is_drawn_from_the_run(review: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--recall", "0.5", "--sample", "3", "--next", "2", "--json"]
    rule = pc.stopping.Target(0.5, seed=3)
    running = rule.review(total=300)
    for _ in range(200):
        documents = running.upcoming(300)
        running.add(bool(RELEVANT[documents[0]]))
    read = sorted(running.trainable.keys() | set(running._judged))
    Path("qrels.txt").write_text("".join(f"r 0 d{i} {int(RELEVANT[i])}\n" for i in read))
    assert main(["stop", "run.txt", "--judged", "qrels.txt", *options]) == 0
    (row,) = json_lines(capsys.readouterr().out)
    assert row["promise"]["rule"] == "Target"
    assert row["read"] == running.state.read
    assert row["at_least"] == pytest.approx(running.state.at_least)
    assert row["next"] == [f"d{i}" for i in running.upcoming(2)]
    assert main(["stop", "--protocol", "p.jsonl", "--total", "300", *options[:4]]) == 0
    assert main(["stop", "run.txt", "--judged", "qrels.txt", "--protocol", "p.jsonl"]) == 0
    said = capsys.readouterr()
    assert "rule Target, recall 0.5, confidence 0.95, seed 3, total 300" in said.out
    assert said.err == ""  # reading a sample leaves no gaps


def test_a_protocol_is_fixed_before_the_first_look_and_kept(
    review: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fixed = ["stop", "--protocol", "review.jsonl"]
    look = [*fixed, "run.txt", "--judged", "part.txt", "--reviewer", "Ada <Byron>"]
    assert main(look) == 2
    assert "--protocol must be made before the first look" in capsys.readouterr().err
    assert not Path("review.jsonl").exists()
    assert main([*fixed, "--recall", "0.9"]) == 2  # for how many documents?
    assert main([*fixed, "--recall", "0.9", "--total", "300"]) == 0
    said = capsys.readouterr().out
    assert said == "review.jsonl fixes rule Certificate, recall 0.9, confidence 0.95, total 300\n"
    assert main([*look, "--json"]) == 0
    (row,) = json_lines(capsys.readouterr().out)
    assert row["promise"] == {"rule": "Certificate", "recall": 0.9, "confidence": 0.95}
    assert (row["reviewer"], row["paretocut"]) == ("Ada <Byron>", pc.__version__)
    digest = hashlib.sha256(Path("part.txt").read_bytes()).hexdigest()
    assert row["input"] == f"sha256:{digest}"
    before = Path("review.jsonl").read_bytes()
    for weaker in (["--recall", "0.5"], ["--total", "400"], ["--reliability", "0.9"]):
        assert main([*look, *weaker]) == 2
        assert "--amend REASON makes a new protocol, on record" in capsys.readouterr().err
    assert Path("review.jsonl").read_bytes() == before
    amended = ["--recall", "0.5", "--amend", "no money", "--report", "page.html"]
    assert main([*look, *amended]) == 0
    capsys.readouterr()
    lines = [json.loads(line) for line in Path("review.jsonl").read_text().splitlines()]
    kinds = ["format", "rule", "read", "rule", "read"]
    assert all(kind in line for kind, line in zip(kinds, lines, strict=True))
    assert (lines[3]["reason"], lines[3]["recall"], lines[4]["input"]) == (
        "no money",
        0.5,
        f"sha256:{digest}",
    )
    page = Path("page.html").read_text()
    assert "Ada &lt;Byron&gt;" in page
    assert "no money" in page
    for words in ("Records screened</td><td>150", "Records excluded</td><td>142", "lower bound"):
        assert words in page
    assert "urn" not in page.replace("return", "")


def test_a_learned_rule_in_a_protocol_must_be_the_same_one(
    review: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(0)
    earlier = rng.random((30, 300)) < 0.5 * np.exp(-np.arange(300) / 20) + 0.01
    Quantile(0.8, 0.8).fit(earlier).save("ours.json")
    Quantile(0.8, 0.8).fit(earlier[:20]).save("other.json")
    fixed = ["stop", "--protocol", "review.jsonl", "-q"]
    assert main([*fixed, "--rule", "ours.json", "--total", "300"]) == 0
    look = [*fixed, "run.txt", "--judged", "part.txt"]
    assert main([*look, "--rule", "ours.json"]) == 0
    for wrong in ([], ["--rule", "other.json"]):
        assert main([*look, *wrong]) == 2
        assert "must be the learned one that was fixed" in capsys.readouterr().err
