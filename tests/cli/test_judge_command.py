"""``paretocut judge``: a person at a real pseudo-terminal, and a program as the judge."""

from __future__ import annotations

import fcntl
import http.server
import json
import os
import pty
import re
import select
import shlex
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from commands import COMMAND
from support import ROOT

import paretocut as pc
from paretocut.cli import main
from paretocut.cli.judge import screen

ANIMALS = ["cat", "dog", "owl", "bee", "elk", "ant"]

JUDGE = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    print(json.dumps({"relevant": asked["query"].split()[-1] in asked["text"]}), flush=True)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Go to a folder with a run of six queries, their texts and thirty documents."""
    animals = [animal for animal in ANIMALS for _ in range(5)]
    run, corpus, queries = [], [], []
    for i, animal in enumerate(ANIMALS):
        queries.append(json.dumps({"id": f"q{i}", "text": f"what does a {animal}"}))
        order = sorted(range(30), key=lambda d: (animals[d] != animal, d))
        run += [f"q{i} Q0 d{d} {r} {1 - r / 40} t" for r, d in enumerate(order)]
    for d, animal in enumerate(animals):
        text = f"A {animal} eats.\x1b[2J It is number {d}."
        corpus.append(json.dumps({"id": f"d{d}", "title": animal.title(), "text": text}))
    (tmp_path / "run.txt").write_text("\n".join(run) + "\n")
    (tmp_path / "queries.jsonl").write_text("\n".join(queries) + "\n")
    (tmp_path / "corpus.jsonl").write_text("\n".join(corpus) + "\n")
    (tmp_path / "judge.py").write_text(JUDGE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


FILES = ["run.txt", "--query-texts", "queries.jsonl", "--corpus", "corpus.jsonl", "-o", "qrels.txt"]


def asked(program: str) -> list[str]:
    return ["--ask", f"{shlex.quote(sys.executable)} {program}"]


def truth(line: str) -> bool:
    query, _, document, _ = line.split()
    return int(query[1:]) == int(document[1:]) // 5


def test_a_rule_says_when_to_stop_reading(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = asked("judge.py")
    assert main(["judge", *FILES, *program, "--recall", "0.8", "--confidence", "0.9"]) == 0
    said = capsys.readouterr().err
    assert "judgements in qrels.txt: every list may be left" in said
    run = pc.read_trec("run.txt", "qrels.txt", unjudged="unknown")
    rule = pc.stopping.Certificate(recall=0.8, confidence=0.9)
    read = rule.replay([True] * 5 + [False] * 25)
    assert read < 30
    assert run.judged.values.reshape(6, 30).tolist() == [[True] * read + [False] * (30 - read)] * 6
    # `stop` says the same of the same judgements.
    assert main(["stop", "run.txt", "--judged", "qrels.txt", "--recall", "0.8",
                 "--confidence", "0.9"]) == 0  # fmt: skip
    for line in capsys.readouterr().out.splitlines():
        assert line.partition(": ")[2].startswith(f"stop: {read} of 30 documents read, 5 of them")
        assert line in said
    options = ["--recall", "0.8", "--budget", "9"]
    assert main(["judge", *FILES, *program, *options]) == 2
    assert "--budget and --tolerance must be left out" in capsys.readouterr().err
    (folder / "unsure.py").write_text("for _ in open(0): print('{\"relevant\": null}', flush=True)")
    files = [*FILES[:-1], "other.txt"]
    assert main(["judge", *files, *asked("unsure.py"), "--recall", "0.8"]) == 2
    assert "must be relevant or not where a rule says stop" in capsys.readouterr().err


def test_answers_are_kept_with_rule_date_and_reviewer_and_a_weaker_rule_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asking = ["judge", *FILES, *asked("judge.py"), "--confidence", "0.9", "--recall"]
    assert main([*asking, "0.8", "--reviewer", "Ada"]) == 0
    head, answer, *_ = map(json.loads, Path("qrels.txt.jsonl").read_text().splitlines())
    assert head["rule"] == "Certificate(recall=0.8, confidence=0.9)"
    for line in (head, answer):
        assert (line["reviewer"], line["paretocut"]) == ("Ada", pc.__version__)
        assert line["date"].startswith("20")
    assert main([*asking, "0.5"]) == 2
    assert "which holds judgements of other rule" in capsys.readouterr().err
    (folder / "qrels.txt.jsonl").unlink()
    # A sample is drawn before the ranking is read.
    assert main([*asking[:-3], "--recall", "0.5", "--sample", "3"]) == 0
    first = json.loads(Path("qrels.txt.jsonl").read_text().splitlines()[1])
    assert first["rank"] == int(pc.stopping.Target(0.5, seed=3).draw(30)[0])


# --- a person -------------------------------------------------------------------------------------


class Person:
    """Somebody at a pseudo-terminal, who sees the screen and presses keys."""

    def __init__(self, *arguments: str) -> None:
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen(
            [*COMMAND, "judge", *FILES, *arguments],
            stdin=slave,
            stdout=slave,
            stderr=subprocess.PIPE,
            # The terminal is its own, so that Ctrl-C reaches it.
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
            env=os.environ | {"TERM": "xterm", "COLUMNS": "80", "LINES": "24"},
        )
        os.close(slave)
        self.seen = ""

    def wait_for(self, what: str, seconds: float = 60) -> str:
        """Return what is shown up to a text; it is forgotten."""
        until = time.monotonic() + seconds
        while what not in self.seen:
            ready, _, _ = select.select([self.master], [], [], until - time.monotonic())
            assert ready, f"{what!r} was not shown, but {self.seen!r}"
            self.seen += os.read(self.master, 65536).decode()
        end = self.seen.index(what) + len(what)
        shown, self.seen = self.seen[:end], self.seen[end:]
        return shown

    def screen(self, done: int) -> str:
        """Return the next screen, which says that so many answers were given."""
        return self.wait_for(f"{done} of ") + self.wait_for("So far:")

    def press(self, key: str) -> None:
        os.write(self.master, key.encode())

    def end(self) -> tuple[int, str]:
        """Return exit code and standard error."""
        _, error = self.process.communicate(timeout=300)
        os.close(self.master)
        return self.process.returncode, error.decode()


def question(shown: str) -> tuple[str, str, str]:
    """Return the animal that is asked about, the one of the result, and its number."""
    plain = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", shown)
    found = re.search(r"what does a (\w+).*A (\w+) eats.*number (\d+)", plain, re.DOTALL)
    assert found is not None, plain
    return found[1], found[2], found[3]


def is_relevant(shown: str) -> bool:
    """Return what a careful person would say of the screen."""
    asked, found, _ = question(shown)
    return asked == found


def test_a_person_reads_down_a_list_and_sees_the_state_of_the_rule(folder: Path) -> None:
    person = Person("--recall", "0.8", "--confidence", "0.9")
    numbers = []
    for done in range(7):
        shown = person.screen(done)
        numbers.append(question(shown)[2])
        assert "u unsure" not in shown
        person.press("y" if is_relevant(shown) else "n")
    state = person.screen(7) + person.wait_for("lower bound")
    assert "7 of 30 answered" in state
    assert "go on: 7 of 30 documents read, 5 of them" in " ".join(state.split())
    assert numbers == ["0", "1", "2", "3", "4", "5", "6"]  # from the top
    person.press("z")
    assert question(person.screen(6))[2] == "6"
    person.press("u")  # is no answer here
    person.press("q")
    code, error = person.end()
    assert code == 0, error
    assert "6 judgements in qrels.txt: stopped" in error
    assert "q0: go on: 6 of 30 documents read, 5 of them relevant." in error


def test_a_person_judges_one_key_a_result_and_stops(folder: Path) -> None:
    person = Person("--budget", "12")
    for done in range(7):
        person.press("y" if is_relevant(person.screen(done)) else "n")
    person.screen(7)
    person.press("q")
    code, error = person.end()
    assert code == 0, error
    assert "7 judgements in qrels.txt: stopped" in error
    lines = (folder / "qrels.txt").read_text().splitlines()
    assert len(lines) == 7
    assert [line.endswith(" 1") for line in lines] == [truth(line) for line in lines]


def test_keys_undo_and_leave_out_and_others_do_nothing(folder: Path) -> None:
    person = Person("--budget", "6")
    first = person.screen(0)
    person.press("n")
    person.screen(1)
    person.press("x\x1b[A")  # no key of ours, and an arrow
    person.press("z")
    assert question(person.screen(0)) == question(first)
    person.press("u")  # unsure: counted, stays unknown
    unsure = person.screen(1)
    assert question(unsure) != question(first)
    person.press("s")  # another query comes
    assert question(person.screen(1))[0] != question(unsure)[0]
    person.press("\x04")
    assert person.end()[0] == 0
    assert (folder / "qrels.txt").read_text() == ""


def test_ctrl_c_loses_nothing_and_a_second_call_goes_on(folder: Path) -> None:
    person = Person("--budget", "4")
    person.screen(0)
    person.press("n")
    person.screen(1)
    person.press("\x03")
    assert person.end()[0] == 130
    assert len((folder / "qrels.txt").read_text().splitlines()) == 1
    person = Person("--budget", "4")
    for done in range(1, 4):
        person.screen(done)
        person.press("n")
    code, error = person.end()
    assert code == 0
    assert "4 answers were given" in error
    assert len((folder / "qrels.txt").read_text().splitlines()) == 4


def test_the_screen_marks_the_words_of_the_query_and_obeys_no_document(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("LINES", "20")
    monkeypatch.setenv("TERM", "xterm")
    text = "Mosses\x1b]0;owned\x07 like shade. " + "word " * 400
    shown = screen("do moss like a", text, done="3 of 9 answered", learned="So far: a lot")
    assert "\x1b]" not in shown
    assert "\x07" not in shown
    assert shown.count("\x1b[1;4m") == 2  # Mosses, like; "do" and "a" are too short to mark
    assert "\x1b[1;4mMosses\x1b[0m" in shown
    assert "more lines" in shown
    plain = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", shown).splitlines()
    assert len(plain) <= 20
    assert max(map(len, plain)) <= 40
    monkeypatch.setenv("TERM", "dumb")
    assert "\x1b" not in screen("do moss like a", text, done="", learned="")


# --- a program ------------------------------------------------------------------------------------


def test_a_program_judges_and_its_judgements_teach_the_cut(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["judge", *FILES, "--budget", "60", *asked("judge.py")]) == 0
    lines = (folder / "qrels.txt").read_text().splitlines()
    assert len(lines) == 60
    assert [line.endswith(" 1") for line in lines] == [truth(line) for line in lines]
    error = capsys.readouterr().err
    assert "60 judgements in qrels.txt: 60 answers were given" in error
    assert "relevant results per list" in error
    fit = ["fit", "run.txt", "qrels.txt", "--unjudged", "unknown", "-o", "model.json"]
    assert main(fit) == 0
    cuts = pc.load("model.json").cut_batch(pc.read_trec("run.txt"))
    # Scores that fall in a line help nobody: told that 5 are relevant, Consensus keeps 7.
    assert cuts.k.mean() == pytest.approx(5, abs=3)


@pytest.mark.parametrize(
    ("program", "problem"),
    [
        ("import sys; sys.stdin.readline(); sys.exit(3)", "it exited with code 3"),
        ("print('yes', flush=True); input(); input()", "must write lines such as"),
        ("print('[1]', flush=True); input(); input()", "must write lines such as"),
        ("import time; time.sleep(60)", "must answer within 0.5 s, got nothing"),
    ],
)
def test_a_program_that_fails_is_named_and_answers_stay(
    program: str, problem: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["judge", *FILES, "--budget", "3", *asked("judge.py")]) == 0
    before = (folder / "qrels.txt").read_text()
    (folder / "bad.py").write_text(program)
    call = ["judge", *FILES, "--budget", "9", "--ask-seconds", "0.5", *asked("bad.py")]
    assert main(call) == 1
    assert problem in capsys.readouterr().err
    assert (folder / "qrels.txt").read_text() == before
    assert main(["judge", *FILES, "--budget", "9", *asked("judge.py")]) == 0
    assert len((folder / "qrels.txt").read_text().splitlines()) == 9


def test_bad_usage_is_refused_before_anything_is_asked(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    done = subprocess.run([*COMMAND, "judge", *FILES], capture_output=True, text=True, input="y")
    assert done.returncode == 2
    assert "must be a terminal, or --ask must name a program" in done.stderr
    (folder / "queries.jsonl").write_text('{"id": "q0", "text": "what"}\n')
    assert main(["judge", *FILES, *asked("judge.py")]) == 2
    assert "--query-texts must have a text for every id, got none for 5 of 6" in (
        capsys.readouterr().err
    )
    assert not (folder / "qrels.txt").exists()
    assert main(["judge", *FILES, "--ask", "'"]) != 0


# --- a model behind an endpoint -------------------------------------------------------------------


@pytest.fixture
def endpoint() -> Iterator[Callable[[], tuple[str, list[Any]]]]:
    """Start a server that speaks the protocol of chat completions, busy at first."""
    bodies: list[Any] = []

    class Endpoint(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            bodies.append((self.path, self.headers["Authorization"], body))
            if len(bodies) == 1:
                self.send_response(429)
                self.send_header("Retry-After", "0")
                self.end_headers()
                return
            asked = body["messages"][0]["content"]
            animal = re.search(r"Question: what does a (\w+)", asked)
            assert animal is not None
            word = "Yes." if f"A {animal[1]} eats" in asked else "no"
            answer = {"choices": [{"message": {"role": "assistant", "content": word}}]}
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(json.dumps(answer).encode())

        def log_message(self, *args: Any) -> None:
            """Keep quiet."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield lambda: (f"http://127.0.0.1:{server.server_port}/v1/", bodies)
    server.shutdown()
    thread.join()
    server.server_close()


def test_the_recipe_for_an_endpoint_judges(
    folder: Path, endpoint: Callable[[], tuple[str, list[Any]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    url, bodies = endpoint()
    for name, value in {"URL": url, "MODEL": "any", "KEY": "secret"}.items():
        monkeypatch.setenv(f"JUDGE_{name}", value)
    recipe = shlex.quote(str(ROOT / "examples" / "judge_with_endpoint.py"))
    assert main(["judge", *FILES, "--budget", "10", *asked(recipe)]) == 0
    lines = (folder / "qrels.txt").read_text().splitlines()
    assert [line.endswith(" 1") for line in lines] == [truth(line) for line in lines]
    path, key, body = bodies[-1]
    assert (path, key, body["model"]) == ("/v1/chat/completions", "Bearer secret", "any")
    assert len(bodies) == 11
