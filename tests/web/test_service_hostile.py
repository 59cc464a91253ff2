"""The service among strangers: whatever is sent, the answer is 4xx, and the service stays up."""

from __future__ import annotations

import json
import random
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from serving import ARROW, Running, running, samples, simulated, slow_lists, stream, until
from support import importorskip

httpx = importorskip("httpx")
pa = importorskip("pyarrow")
for needed in ("starlette", "msgspec", "uvicorn", "prometheus_client"):
    importorskip(needed)

PATHS = ("/v1/cut", "/v1/score", "/v1/fuse")
HARSH = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture(scope="module")
def service() -> Iterator[Running]:
    options = ["--max-body-bytes=4000000", "--max-lists=50", "--max-list-length=20000"]
    with running(*options, "--max-concurrency=6", "--threads=1", "--max-seconds=2") as service:
        yield service


@pytest.fixture(scope="module")
def client(service: Running) -> Iterator[Any]:
    with httpx.Client(base_url=service.url, timeout=300) as client:
        yield client


@pytest.fixture(autouse=True)
def alive(service: Running, client: Any) -> Iterator[None]:
    """Check after every test that the service is up and has met nothing unforeseen."""
    yield
    assert client.get("/healthz").status_code == 200
    assert service.process.poll() is None
    assert not [line for line in service.lines if "not json" in line]
    assert not [line for line in service.requests() if line["status"] >= 500 and "at" in line]


def refused(answer: Any, *statuses: int) -> dict[str, Any]:
    """Return the error of an answer, which must have the one shape."""
    assert answer.status_code in statuses, answer.text[:500]
    assert answer.headers["content-type"] == "application/json"
    content = answer.json()
    assert content.keys() == {"error"}
    error: dict[str, Any] = content["error"]
    assert error.keys() == {"status", "code", "message"}
    assert error["status"] == answer.status_code
    assert "Traceback" not in answer.text
    assert ".py" not in answer.text
    return error


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"\xff\xfe", 400),
        (b"null", 422),
        (b"[]", 422),
        (b"{}", 422),
        (b'{"scores": [1], "lists": [[1]]}', 422),
        (b'{"scores": "0.5"}', 422),
        (b'{"scores": ["0.5"]}', 422),
        (b'{"scores": [true]}', 422),
        (b'{"scores": [null]}', 422),
        (b'{"scores": [[1]]}', 422),
        (b'{"scores": [NaN]}', 400),
        (b'{"scores": [-Infinity]}', 400),
        (b'{"scores": [1e999]}', 422),
        (b'{"scores": [' + b"9" * 400 + b"]}", 422),
        (b'{"scores": [1], "min_k": 1.5}', 422),
        (b'{"scores": [1], "min_k": -1}', 422),
        (b'{"scores": [1], "max_k": ' + b"9" * 4000 + b"}", 422),
        (b'{"scores": [1], "min_k": 3, "max_k": 2}', 422),
        (b'{"scores": [1], "alpha": 2}', 422),
        (b'{"scores": [1], "alpha": 0.1, "fdr": 0.1}', 422),
        (b'{"scores": [1], "refit": "all"}', 422),
        (b'{"scores": [1], "unknown": 1}', 422),
        (b'{"scores": [1], "higher_is_better": "yes"}', 422),
        (b'{"scores": [1], "model": "../../etc/passwd"}', 422),
        (b'{"scores": [1], "method": "choppy"}', 422),
        (b'{"scores": [1], "method": "minmax:threshold"}', 422),
        (b'{"scores": [1], "method": "minmax:save=x"}', 422),
        (b'{"scores": [1], "method": "fixed_k:k=1e400"}', 422),
        (b'{"scores": [1], "method": "global_k"}', 422),
        (b'{"scores": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]}', 422),
        (b'{"lists": [[1], [2, "x"]]}', 422),
        (b'{"lists": [[0.5, NaN]]}', 400),
        (b"[" * 100_000, 422),
        (b'{"a":' * 100_000, 422),
        (b'{"scores": [' + b"[" * 5000 + b"]" * 5000 + b"]}", 422),
        (b'{"scores": [1], "queries": ["moss"]}', 422),
        (b'{"lists": [[1]], "query": "moss"}', 422),
        (b'{"query": "\xff", "scores": [1]}', 400),
    ],
    ids=lambda value: repr(value[:45]) if isinstance(value, bytes) else str(value),
)
def test_bodies_that_make_no_sense_are_refused(client: Any, body: bytes, status: int) -> None:
    refused(client.post("/v1/cut", content=body), status)


@pytest.mark.parametrize("expect", [-1, 0, "lots", [1], True])
def test_a_wrong_number_to_expect_is_told_what_is_allowed(client: Any, expect: Any) -> None:
    error = refused(client.post("/v1/cut", json={"scores": [1.0], "expect": expect}), 422)
    assert "expect" in error["message"]
    if isinstance(expect, str):
        assert "'one', 'few', 'dozens', 'hundreds' or a number" in error["message"]


@pytest.mark.parametrize(
    ("path", "body", "told"),
    [
        ("/v1/cut", {"scores": [1, "x"]}, "Expected `float`, got `str` - at `$.scores[1]`"),
        ("/v1/cut", {"lists": [[1, None]]}, "Expected `float`, got `null` - at `$.lists[0][1]`"),
        ("/v1/cut", {"scores": [1], "max_k": 1.5}, "at `$.max_k`"),
        ("/v1/cut", {"scores": [1], "most": 1}, "unknown field `most`"),
        ("/v1/cut", {"scores": [2, 1], "alpha": 2}, "alpha must be in (0, 1), got 2"),
        ("/v1/fuse", {"retrievers": {"a": {"ids": [], "scores": 5}}}, "got `int` - at `$"),
    ],
    ids=range(6),
)
def test_errors_name_the_place(client: Any, path: str, body: Any, told: str) -> None:
    assert told in refused(client.post(path, content=json.dumps(body).encode()), 422)["message"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.text(max_size=6) | st.sampled_from(["ids", "scores"]), inner, max_size=4
        )
    ),
    max_leaves=20,
)
NAMES = st.sampled_from(
    """scores lists query queries model method expect alpha evalue fdr min_surprise if_unsure
    transform selection refit min_window min_k max_k higher_is_better explain retrievers weights
    depth fusion cut""".split()
)
LISTS = st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=30)


@HARSH
@given(st.sampled_from(PATHS), st.dictionaries(NAMES, JSON, max_size=4) | JSON)
def test_any_json_is_answered_or_refused(client: Any, path: str, content: Any) -> None:
    answer = client.post(path, content=json.dumps(content).encode())
    if answer.status_code != 200:
        refused(answer, 400, 413, 422)


@HARSH
@given(st.sampled_from(PATHS[:2]), LISTS, st.dictionaries(NAMES, JSON, max_size=1))
def test_any_list_of_numbers_is_answered_or_refused(
    client: Any, path: str, scores: list[float], more: dict[str, Any]
) -> None:
    answer = client.post(path, content=json.dumps(more | {"scores": scores}).encode())
    if answer.status_code != 200:
        refused(answer, 422)


def test_damaged_arrow_streams_are_answered_or_refused(client: Any) -> None:
    lists = simulated(3, depth=8, hits=2).tolist()
    whole = stream(pa.table({"scores": lists, "query": ["a", "b", "c"]}))
    generator = random.Random(0)
    for _ in range(60):
        damaged = bytearray(whole)
        for _ in range(generator.randint(1, 4)):
            damaged[generator.randrange(len(damaged))] = generator.randrange(256)
        content = bytes(damaged[: generator.choice([len(damaged), generator.randrange(900)])])
        answer = client.post("/v1/cut", content=content, headers={"Content-Type": ARROW})
        if answer.status_code != 200:
            refused(answer, 400, 413, 415, 422)


@pytest.mark.parametrize("codec", ["lz4", "zstd"])
def test_compressed_arrow_buffers_are_refused_before_they_are_unpacked(
    client: Any, codec: str
) -> None:
    table = pa.table({"scores": pa.array([[0.0] * 10_000] * 50)})
    content = stream(table, compression=codec)
    assert len(content) < 200_000 < table.nbytes
    answer = client.post("/v1/cut", content=content, headers={"Content-Type": ARROW})
    assert refused(answer, 415)["code"] == "unsupported_encoding"


def test_arrow_lists_without_numbers_cannot_fill_the_memory(client: Any) -> None:
    nothing = pa.list_(pa.float64(), 0)
    column = pa.Array.from_buffers(
        nothing, 2**31 - 1, [None], children=[pa.array([], pa.float64())]
    )
    content = stream(pa.table({"scores": column}))
    assert len(content) < 1000
    answer = client.post("/v1/cut", content=content, headers={"Content-Type": ARROW})
    assert refused(answer, 413)["code"] == "too_many_lists"


@pytest.mark.parametrize("names", [["scores", "scores"], ["other", "query"]])
def test_arrow_streams_must_have_one_column_of_scores(client: Any, names: list[str]) -> None:
    table = pa.Table.from_arrays([pa.array([[2.0, 1.0]])] * 2, names=names)
    answer = client.post("/v1/cut", content=stream(table), headers={"Content-Type": ARROW})
    assert "must have one column named scores" in refused(answer, 422)["message"]


def test_compressed_bodies_are_refused(client: Any) -> None:
    answer = client.post("/v1/cut", content=b"\x1f\x8b", headers={"Content-Encoding": "gzip"})
    assert refused(answer, 415)["code"] == "unsupported_encoding"


def test_arrow_options_are_checked_like_those_of_json(client: Any) -> None:
    content = stream(pa.table({"scores": [[1.0]]}))
    for params in ({"evalue": "x"}, {"alpha": "2"}, {"unknown": "1"}, {"model": "../x"}):
        answer = client.post(
            "/v1/cut", content=content, params=params, headers={"Content-Type": ARROW}
        )
        refused(answer, 422)


def test_options_of_a_json_body_are_not_taken_from_the_address(client: Any) -> None:
    answer = client.post("/v1/cut?max_k=1", json={"scores": [3, 2, 1]})
    assert "belong in the body" in refused(answer, 422)["message"]


def test_too_many_and_too_long_lists_are_refused(client: Any) -> None:
    assert (
        refused(client.post("/v1/cut", json={"lists": [[1]] * 51}), 413)["code"] == "too_many_lists"
    )
    long = client.post("/v1/score", json={"scores": [1] * 20_001})
    assert refused(long, 413)["code"] == "list_too_long"
    assert client.post("/v1/cut", json={"lists": [[1]] * 50}).status_code == 200


def test_long_ids_cannot_fill_the_memory(client: Any) -> None:
    ids = ["x" * 300_000, *(str(i) for i in range(5000))]
    one = {"ids": ids, "scores": list(range(len(ids), 0, -1))}
    answer = client.post("/v1/fuse", json={"retrievers": {"a": one, "b": one}})
    assert refused(answer, 413)["code"] == "ids_too_long"


def resident(pid: int) -> int:
    """Return the peak of the memory of a process, in bytes."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return 1024 * int(status.partition("VmHWM:")[2].split()[0])


@pytest.mark.slow
@pytest.mark.parametrize("form", ["with its length", "in chunks"])
def test_a_body_of_100_megabytes_is_refused_and_not_kept(form: str) -> None:
    def chunks() -> Iterator[bytes]:
        for _ in range(100):
            yield b"[" * 1_000_000

    with running() as service, httpx.Client(base_url=service.url, timeout=300) as client:
        # As much as is allowed is kept for a while, and as much again when it is put together.
        assert client.post("/v1/cut", content=b"[" * (32 << 20)).status_code == 422
        before = resident(service.process.pid)
        for _ in range(4):  # refused bodies once waited for the collection of garbage
            assert client.post("/v1/cut", content=b"[" * (32 << 20)).status_code == 422
        for _ in range(2):
            body: Any = chunks() if form == "in chunks" else b"[" * 100_000_000
            refused(client.post("/v1/cut", content=body), 413)
        assert resident(service.process.pid) - before < 50_000_000  # half of the body
        assert client.post("/v1/cut", json={"scores": [2, 1]}).status_code == 200


def test_a_body_that_says_it_is_too_large_is_refused_unread(service: Running) -> None:
    with socket.create_connection(service.address, timeout=300) as connection:
        connection.sendall(
            b"POST /v1/cut HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000000000\r\n\r\n[[["
        )
        assert b"413" in connection.recv(1000).partition(b"\r\n")[0]


@pytest.mark.slow
def test_a_slow_client_is_refused_while_others_are_answered(service: Running, client: Any) -> None:
    with socket.create_connection(service.address, timeout=300) as connection:
        connection.sendall(
            b'POST /v1/cut HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{"scores": ['
        )
        began = time.monotonic()
        assert client.post("/v1/cut", json={"scores": [2, 1]}).status_code == 200
        assert b"408" in connection.recv(1000).partition(b"\r\n")[0]
        assert 1 < time.monotonic() - began < 8


def test_clients_that_leave_early_do_no_harm(service: Running, client: Any) -> None:
    for said in (
        b"",
        b"POST",
        b"POST /v1/cut HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n[",
        b"\0" * 99,
    ):
        with socket.create_connection(service.address, timeout=300) as connection:
            connection.sendall(said)
    assert client.post("/v1/cut", json={"scores": [2, 1]}).status_code == 200


def test_too_much_at_once_is_refused_and_health_is_still_answered(
    service: Running, client: Any
) -> None:
    body = json.dumps({"lists": slow_lists(1, depth=3000), "evalue": 0.05}).encode()

    def ask(_: int) -> Any:
        return httpx.post(f"{service.url}/v1/cut", content=body, timeout=300)

    with ThreadPoolExecutor(12) as pool:
        pending = [pool.submit(ask, i) for i in range(12)]
        under_way = 0.0
        while under_way < 3 and not all(future.done() for future in pending):
            assert client.get("/healthz").status_code == 200
            now = samples(client.get("/metrics").text)["paretocut_requests_under_way"]
            under_way = max(under_way, now)
        answers = [future.result() for future in pending]
    statuses = [answer.status_code for answer in answers]
    assert set(statuses) <= {200, 429, 503}
    assert 200 in statuses
    assert 429 in statuses
    assert 3 <= under_way
    for answer in answers:
        if answer.status_code != 200:
            refused(answer, 429, 503)
            assert answer.headers["retry-after"] == "1"


@pytest.mark.slow
def test_work_that_takes_too_long_is_given_up() -> None:
    with (
        running("--max-seconds=0.5") as service,
        httpx.Client(base_url=service.url, timeout=300) as client,
    ):
        answer = client.post("/v1/cut", json={"lists": slow_lists(20), "evalue": 0.05}, timeout=300)
        assert refused(answer, 503)["code"] == "out_of_time"
        until(lambda: client.post("/v1/cut", json={"scores": [2, 1]}).status_code == 200)


@pytest.mark.slow
def test_work_past_its_time_gives_its_thread_back() -> None:
    """All 40 lists were once worked on to the end, for 20 seconds or more."""
    options = ("--max-seconds=1", "--threads=1", "--max-list-length=200000")
    with running(*options) as service, httpx.Client(base_url=service.url, timeout=300) as client:
        body = {"lists": slow_lists(40, depth=8000), "evalue": 0.05}
        refused(client.post("/v1/cut", json=body), 503)
        large = {"scores": [1.0] * 20_000}  # too large to be answered without a thread
        began = time.monotonic()
        until(lambda: client.post("/v1/cut", json=large).status_code == 200)
        assert time.monotonic() - began < 8


def test_unknown_addresses_and_methods_have_the_same_shape(client: Any) -> None:
    assert refused(client.get("/etc/passwd"), 404)["code"] == "not_found"
    assert refused(client.get("/v1/cut"), 405)["code"] == "method_not_allowed"


def head(connection: socket.socket) -> bytes:
    """Return the first line of an answer; nothing, when the connection was closed without one."""
    return connection.recv(2000).partition(b"\r\n")[0]


@pytest.mark.parametrize("form", ["one header", "many headers", "address", "at once"])
def test_heads_of_more_than_64_kilobytes_are_refused(service: Running, form: str) -> None:
    """A header of 200 MB was once taken in, and answered after 54 seconds."""
    more = {
        "one header": b"X: " + b"x" * 600_000,
        "many headers": b"".join(b"X%d: %s\r\n" % (i, b"x" * 100) for i in range(6000)),
        "address": b"",
        "at once": b"X: " + b"x" * 70_000 + b"\r\n",
    }[form]
    path = b"/" + b"x" * 600_000 if form == "address" else b"/healthz"
    text = b"GET %s HTTP/1.1\r\nHost: localhost\r\n%s\r\n" % (path, more)
    with socket.create_connection(service.address, timeout=300) as connection:
        try:
            for start in range(0, len(text), 80_000):
                connection.sendall(text[start : start + 80_000])
                time.sleep(0.01)
        except (BrokenPipeError, ConnectionResetError):
            return  # refused, and closed before all of it was sent
        try:
            assert b"431" in head(connection)
        except ConnectionResetError:
            return


def test_a_client_may_ask_before_it_sends_a_body(service: Running) -> None:
    body = b'{"scores": [3, 2, 1]}'
    head = f"POST /v1/cut HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
    with socket.create_connection(service.address, timeout=300) as connection:
        connection.sendall(head.encode() + b"Expect: 100-continue\r\n\r\n")
        assert connection.recv(65536) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(body)
        assert connection.recv(65536).startswith(b"HTTP/1.1 200")


def test_what_is_not_http_is_refused_in_the_one_shape(service: Running) -> None:
    with socket.create_connection(service.address, timeout=300) as connection:
        connection.sendall(b"\0" * 99)
        said = connection.recv(2000)
    assert said.startswith(b"HTTP/1.1 400")
    assert json.loads(said.partition(b"\r\n\r\n")[2])["error"]["code"] == "invalid_request"


def test_bodies_on_their_way_do_not_keep_others_out(service: Running, client: Any) -> None:
    """Idle clients that had sent half a body once led to 429 for everybody else."""
    half = b"POST /v1/cut HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{"
    idle = [socket.create_connection(service.address, timeout=300) for _ in range(20)]
    try:
        for connection in idle:
            connection.sendall(half)
        until(lambda: samples(client.get("/metrics").text)["paretocut_requests_under_way"] > 20)
        assert client.post("/v1/cut", json={"scores": [2, 1]}).status_code == 200
        assert all(b"408" in head(connection) for connection in idle)
    finally:
        for connection in idle:
            connection.close()


@pytest.mark.slow
def test_half_sent_heads_are_closed_in_time(service: Running, client: Any) -> None:
    idle = [socket.create_connection(service.address, timeout=300) for _ in range(50)]
    try:
        began = time.monotonic()
        for connection in idle[1:]:  # the first says nothing at all
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: local")
        assert client.get("/healthz").status_code == 200
        assert [connection.recv(100) for connection in idle] == [b""] * 50
        assert 5 < time.monotonic() - began < 20
    finally:
        for connection in idle:
            connection.close()


@pytest.mark.parametrize("path", ["/metrics", "/healthz", "/docs"])
def test_strangers_names_for_this_machine_are_refused(client: Any, path: str) -> None:
    """A page at evil.example, a name of 127.0.0.1, could once read the metrics."""
    error = refused(client.get(path, headers={"Host": "evil.example"}), 400)
    assert error["code"] == "unknown_host"
    for host in ("localhost", "LOCALHOST:1", "127.0.0.1:80", "[::1]:80"):
        assert client.get(path, headers={"Host": host}).status_code == 200


def test_refused_requests_are_counted_under_their_route(service: Running, client: Any) -> None:
    def counted() -> float:
        name = 'paretocut_requests_total{route="/v1/cut",status="415"}'
        return samples(client.get("/metrics").text).get(name, 0.0)

    before = counted()
    client.post("/v1/cut", content=b"x", headers={"Content-Encoding": "gzip"})
    assert counted() == before + 1
    client.post("/etc/passwd", content=b"x", headers={"Content-Encoding": "gzip"})
    until(lambda: service.requests()[-1]["route"] == "unknown")


def test_many_threads_get_their_own_answers(service: Running) -> None:
    wrong: list[object] = []

    def ask(length: int) -> None:
        with httpx.Client(base_url=service.url, timeout=300) as client:
            for _ in range(20):
                answer = client.post("/v1/cut", json={"scores": [1.0] * length})
                if answer.status_code != 429 and answer.json()["n"] != length:
                    wrong.append(answer.text)

    threads = [threading.Thread(target=ask, args=(n,)) for n in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


async def _plain(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"x", b"y")]})
    await send({"type": "http.response.body", "body": b"fine"})


@pytest.mark.slow
def test_uvicorn_itself_limits_neither_size_nor_time_of_a_head() -> None:
    """As soon as it does, this fails, and `paretocut.web.server.Connection` can go."""
    uvicorn = importorskip("uvicorn")
    config = uvicorn.Config(_plain, port=0, lifespan="off", log_level="error", http="httptools")
    server = uvicorn.Server(config)
    own = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [own]})
    thread.start()
    try:
        with socket.create_connection(own.getsockname(), timeout=300) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ")
            for _ in range(10):
                connection.sendall(b"x" * 60_000)
                time.sleep(1.2)
            connection.sendall(b"\r\n\r\n")
            assert b"200" in head(connection)
    finally:
        server.should_exit = True
        thread.join()
        own.close()
