"""The explorer's server: what it answers, what it refuses, how it starts and ends."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browsers import explored
from samples import planted
from support import importorskip

import paretocut as pc
from paretocut.cli import main

importorskip("starlette")
importorskip("prometheus_client")

# Extras are asked for first.
from starlette.testclient import TestClient  # noqa: E402

from paretocut.web.explorer import routes  # noqa: E402
from paretocut.web.explorer.exploration import Exploration  # noqa: E402
from paretocut.web.explorer.query import query_view  # noqa: E402
from paretocut.web.explorer.routes import explorer_app  # noqa: E402
from paretocut.web.explorer.views import run_view  # noqa: E402

RUN = "q1 Q0 d1 1 0.9 me\nq1 Q0 d2 2 0.4 me\n"


@pytest.fixture
def session() -> Exploration:
    return Exploration(planted())


@pytest.fixture
def client(session: Exploration) -> Iterator[TestClient]:
    with TestClient(explorer_app(session), base_url="http://127.0.0.1:8765") as found:
        yield found


def as_sent(view: Any) -> Any:
    return json.loads(json.dumps(view))


def message(answer: Any) -> str:
    return str(answer.json()["error"]["message"])


def test_views_are_sent_as_they_are(client: TestClient, session: Exploration) -> None:
    sent = client.get("/api/run/run").json()
    assert sent.pop("open") == {"run": session.name}
    assert sent == as_sent(run_view(session))
    assert client.get("/api/run/query/3").json() == as_sent(query_view(session, 3))
    assert len(client.get("/api/run/frontier").json()["kept"]) == 41


def test_the_page_allows_nothing_from_elsewhere(client: TestClient) -> None:
    for path in ("/", "/static/main.js", "/static/style.css", "/api/run/run"):
        answer = client.get(path)
        assert answer.status_code == 200
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "http" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
    assert client.get("/").headers["content-type"].startswith("text/html")


@pytest.mark.parametrize(
    "path",
    [
        "/static/session.py",
        "/static/..%2Fexplorer%2Fsession.py",
        "/static/%2Fetc%2Fpasswd",
        "/api/run/query/4",
        "/api/run/query/-1",
        "/api/other/run",
        "/nothing",
    ],
)
def test_what_is_not_there_is_not_found(path: str, client: TestClient) -> None:
    answer = client.get(path)
    assert answer.status_code == 404
    assert message(answer)


def test_a_strange_name_for_this_machine_is_refused(client: TestClient) -> None:
    assert client.get("/api/run/run", headers={"host": "evil.example"}).status_code == 400
    assert client.get("/api/run/run", headers={"host": "localhost:8765"}).status_code == 200


def test_a_run_can_be_uploaded(client: TestClient) -> None:
    answer = client.post("/api/upload", json={"run": RUN, "qrels": "q1 0 d2 1\n", "name": "mine"})
    name = answer.json()["session"]
    found = client.get(f"/api/{name}/run").json()
    assert (found["name"], found["lists"], found["measured"]) == ("mine", 1, True)
    assert client.get(f"/api/{name}/query/0").json()["picture"]["judgements"] == [0, 1]
    # The run of the command line is still there.
    assert client.get("/api/run/run").json()["lists"] == 4


def test_the_oldest_upload_is_forgotten_first(client: TestClient) -> None:
    names = [client.post("/api/upload", json={"run": RUN}).json()["session"] for _ in range(9)]
    answers = [client.get(f"/api/{name}/run").status_code for name in names]
    assert answers == [404] + [200] * 8


@pytest.mark.parametrize(
    ("body", "status", "told"),
    [
        (b"no json", 400, "the body is not JSON"),
        (b"[]", 422, "Expected `object`, got `array`"),
        (b"{}", 422, "the run must have at least one score"),
        (b'{"run": 5}', 422, "Expected `str`, got `int` - at `$.run`"),
        (b'{"run": ""}', 422, "got no text"),
        (b'{"run": "a b c"}', 422, "expected 6 fields"),
        (b'{"run": "q Q0 d 1 nan t"}', 422, "finite"),
        (b"[" * 100_000, 422, "Expected `object`"),
    ],
)
def test_bad_uploads_are_refused_with_a_reason(
    body: bytes, status: int, told: str, client: TestClient
) -> None:
    headers = {"content-type": "application/json"}
    answer = client.post("/api/upload", content=body, headers=headers)
    assert answer.status_code == status
    assert told in message(answer)


def test_a_form_of_another_page_is_refused(client: TestClient) -> None:
    # Browsers send these types to any address without asking.
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        headers = {"content-type": kind, "origin": "http://evil.example"}
        for path in ("/api/upload", "/api/run/judge"):
            answer = client.post(path, content=b'{"run": "1 2"}', headers=headers)
            assert answer.status_code == 415


def test_a_body_that_is_too_large_is_refused(
    session: Exploration, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert routes.MAX_BYTES > 50_000_000  # a million lines of a run
    monkeypatch.setattr("paretocut.web.explorer.routes.MAX_BYTES", 1000)
    with TestClient(explorer_app(session), base_url="http://127.0.0.1") as client:
        assert client.post("/api/upload", json={"run": "1 " * 1000}).status_code == 413


def test_without_a_run_the_page_asks_for_one() -> None:
    with TestClient(explorer_app(None), base_url="http://127.0.0.1") as client:
        assert client.get("/api/run/run").json() is None
        assert client.get("/api/run/query/0").status_code == 404


def test_ids_that_are_no_utf8_do_not_break_the_page() -> None:
    lists = pc.RankedLists([[0.9, 0.1]], doc_ids=[[b"\xff", b"d"]])
    with TestClient(explorer_app(Exploration(lists)), base_url="http://127.0.0.1") as client:
        assert len(client.get("/api/run/query/0").json()["results"]) == 2


def test_code_can_be_copied(client: TestClient) -> None:
    found = client.get("/api/run/copy", params={"i": 1, "k": 3, "method": "upper-half"}).json()
    assert "minmax" in found["python"]
    assert found["model"]["class"] == "ScoreThreshold"
    answer = client.get("/api/run/copy", params={"i": 1, "k": 3, "method": "none"})
    assert answer.status_code == 422
    assert "method must be one of default" in message(answer)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"method": "default", "threshold": "nan"}, "threshold must be"),
        ({"method": "nobody", "threshold": 0.5}, "method must be one of default"),
        ({"method": "default", "threshold": 0.5}, "at least 10"),  # queries without an answer
    ],
)
def test_a_gate_that_cannot_be_is_refused(
    given: dict[str, Any], said: str, client: TestClient
) -> None:
    answer = client.get("/api/run/gate", params=given)
    assert answer.status_code == 422
    assert said in message(answer)


@pytest.mark.parametrize("k", [-3, 121, 99999])
@pytest.mark.parametrize("method", [{}, {"method": "autocut"}], ids=["eye", "method"])
def test_a_cut_beyond_the_list_is_refused(
    k: int, method: dict[str, str], client: TestClient
) -> None:
    answer = client.get("/api/run/copy", params={"i": 0, "k": k, **method})
    assert answer.status_code == 422
    assert f"k must be in 0..120, got {k}" in message(answer)


def test_given_judgements_are_learned_from_before_the_first_click(client: TestClient) -> None:
    run = '{"query_id": "a", "scores": [0.9, 0.8, 0.2], "relevance": [1, null, 0]}\n'
    name = client.post("/api/upload", json={"run": run}).json()["session"]
    view = client.get(f"/api/{name}/judging/0").json()
    assert view["judged"] == 2
    assert view["learned"]["reason"]


def test_an_error_that_nobody_foresaw_leaves_its_trace() -> None:
    httpx = importorskip("httpx")
    code = (
        "import paretocut as pc\n"
        "from paretocut.web.explorer.routes import serve\n"
        "from paretocut.web.explorer.exploration import Exploration\n"
        "session = Exploration(pc.RankedLists([[0.9, 0.1]]))\n"
        "session.lists = None\n"
        "serve(session, port=0, ready=lambda address: print(address, flush=True))\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        try:
            assert httpx.get(address + "api/run/run", timeout=300).status_code == 500
        finally:
            process.terminate()
            _, log = process.communicate(timeout=300)
    (line,) = [json.loads(text) for text in log.splitlines()]
    assert (line["status"], line["error"]) == (500, "AttributeError")
    assert "run_view" in line["at"][-1]


def test_the_command_serves_until_it_is_interrupted(tmp_path: Path) -> None:
    pc.io.write_trec(tmp_path / "run.txt", planted())
    httpx = importorskip("httpx")
    with explored(tmp_path / "run.txt") as address:  # it checks how it ends, too
        assert httpx.get(address + "api/run/run", timeout=300).json()["lists"] == 4


def test_a_port_in_use_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pc.io.write_trec(tmp_path / "run.txt", planted())
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert main(["explore", str(tmp_path / "run.txt"), "--port", port]) == 2
    assert f"--port must be free, got {port}" in capsys.readouterr().err
    for wrong, problem in (("99999", "at most 65535"), ("-1", "at least 0")):
        assert main(["explore", str(tmp_path / "run.txt"), "--port", wrong]) == 2
        assert problem in capsys.readouterr().err


def test_options_of_a_run_need_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explore", "--model", "a=b"]) == 2
    assert "must come with RUN" in capsys.readouterr().err


def test_the_report_needs_no_server() -> None:
    code = (
        "import sys; from paretocut.cli import main; import paretocut.web.explorer.report; "
        "sys.exit(any(name in sys.modules for name in ('starlette', 'uvicorn', 'msgspec')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_judgement_is_answered_with_what_it_taught(client: TestClient) -> None:
    run = client.post("/api/upload", json={"run": "0.9 0.8 0.7 0.3 0.2 0.1"}).json()["session"]
    assert client.get(f"/api/{run}/qrels").status_code == 422
    sent = {"i": 0, "rank": 1, "relevant": True}
    answer = client.post(f"/api/{run}/judge", json=sent).json()
    assert answer["query"]["results"][1]["relevant"] == 1
    assert answer["judging"]["judged"] == 1
    sent = {"i": 0, "rank": 1}
    answer = client.post(f"/api/{run}/learn", json=sent).json()
    own = answer["query"]["methods"]["learned"]
    lists = pc.RankedLists([[0.9, 0.8, 0.7, 0.3, 0.2, 0.1]])
    taught = lists.with_relevance([[None, 1, None, None, None, None]])
    cut = pc.truncators.Consensus().fit(taught).cut_batch(lists)[0]
    assert (own["k"], own["reason"]) == (cut.k, cut.reason)
    assert client.get(f"/api/{run}/judging/0").json() == answer["judging"]
    # Bare scores have no names of documents, and qrels are made of such.
    refused = client.get(f"/api/{run}/qrels")
    assert refused.status_code == 422
    assert "doc_ids" in message(refused)


@pytest.mark.parametrize(
    ("sent", "status", "told"),
    [
        ({"i": 0, "rank": 500, "relevant": True}, 422, "at most 119, got 500"),
        ({"i": 9, "rank": 0, "relevant": True}, 404, "queries 0 to 3"),
        ({"i": True, "rank": 0, "relevant": True}, 422, "Expected `int`, got `bool` - at `$.i`"),
        (
            {"i": 0, "rank": 0, "relevant": "yes"},
            422,
            "Expected `bool | null`, got `str` - at `$.relevant`",
        ),
        ({"rank": 0, "relevant": True}, 422, "missing required field `i`"),
    ],
)
def test_bad_judgements_are_refused(
    sent: dict[str, Any], status: int, told: str, client: TestClient
) -> None:
    answer = client.post("/api/run/judge", json=sent)
    assert answer.status_code == status
    assert told in message(answer)
