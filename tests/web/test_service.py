"""The service, as a process on a port: the library's own numbers, by JSON and by Arrow."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from serving import ARROW, Running, running, samples, simulated, stream, until
from support import importorskip

import paretocut as pc
from paretocut import _kernel
from paretocut.cli import main
from paretocut.errors import InvalidParameterError
from paretocut.truncators import Consensus, FixedK, Truncator, from_text

httpx = importorskip("httpx")
pa = importorskip("pyarrow")
for needed in ("starlette", "msgspec", "uvicorn", "prometheus_client"):
    importorskip(needed)

WORDS = ["ferns grow in shade", "roses like full sun", "moss needs water", "oaks grow slowly"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of saved models."""
    folder = tmp_path_factory.mktemp("models")
    lists = simulated(60, depth=60)
    relevance = np.arange(60) < 5
    judged = pc.RankedLists(lists, relevance=np.tile(relevance, (60, 1)))
    Consensus().fit(judged).save(folder / "fitted.json")
    calibrated(folder / "calibrated.json")
    scale = pc.background.QueryScale.from_texts(WORDS)
    null = simulated(60, depth=60, hits=0, seed=2)
    texts = [WORDS[i % 4] for i in range(120)]
    pc.calibration.calibrated(null, lists, scale=scale, texts=texts).save(folder / "lexical.json")
    ids = [[f"d{i}" for i in range(60)]] * 60
    runs = {
        "words": pc.RankedLists(lists, doc_ids=ids),
        "vectors": pc.RankedLists(-lists, doc_ids=ids, higher_is_better=False),
    }
    pc.fusion.Fusion().fit(runs).save(folder / "fusion.json")
    pc.Background.fit(null).save(folder / "background.json")
    return folder


def calibrated(path: Path) -> None:
    pc.calibration.calibrated(simulated(150, hits=0, seed=3), simulated(200, seed=4)).save(path)


@pytest.fixture(scope="module")
def service(folder: Path) -> Iterator[Running]:
    options = [f"--model={name}={folder / name}.json" for name in ("fitted", "lexical")]
    options += [f"--model={name}={folder / 'calibrated.json'}" for name in ("same", "moved")]
    options += [f"--model=gate={folder / 'background.json'}"]
    with running(*options, f"--fusion=both={folder / 'fusion.json'}") as service:
        yield service


@pytest.fixture(scope="module")
def client(service: Running) -> Iterator[Any]:
    with httpx.Client(base_url=service.url, timeout=300) as client:
        yield client


def post(client: Any, path: str, content: Any) -> Any:
    answer = client.post(path, json=content)
    assert answer.status_code == 200, answer.text
    return answer.json()


CHOICES: list[dict[str, Any]] = [
    {},
    {"expect": "few"},
    {"expect": 2.5},
    {"alpha": 0.05},
    {"evalue": 0.05, "refit": "all"},
    {"fdr": 0.1, "transform": "auto", "min_window": 10},
    {"min_surprise": 3.0, "selection": "gof"},
    {"min_k": 7},
    {"max_k": 2},
    {"higher_is_better": False},
]


@pytest.mark.parametrize("choice", CHOICES, ids=str)
def test_one_list_is_cut_as_the_library_cuts_it(client: Any, choice: dict[str, Any]) -> None:
    scores = np.random.default_rng(1).permutation(simulated(1)[0])
    if choice.get("higher_is_better") is False:
        scores = -scores
    expected = pc.cut(scores, **choice).to_dict()
    assert post(client, "/v1/cut", {"scores": scores.tolist(), **choice}) == expected


@pytest.mark.parametrize("choice", CHOICES, ids=str)
def test_many_lists_are_cut_as_the_library_cuts_them(client: Any, choice: dict[str, Any]) -> None:
    rng = np.random.default_rng(2)
    lists = [rng.permutation(row)[: 200 - 17 * i] for i, row in enumerate(simulated(8))]
    up = choice.get("higher_is_better", True)
    lists = [*(lists if up else [-row for row in lists]), np.empty(0)]
    rule = {n: v for n, v in choice.items() if n not in ("min_k", "max_k", "higher_is_better")}
    bounds = {n: v for n, v in choice.items() if n not in rule}
    truncator = from_choice(rule)
    expected = [cut.to_dict() for cut in truncator.cut_batch(lists, **bounds)]
    given = {"lists": [row.tolist() for row in lists], **choice}
    assert post(client, "/v1/cut", given) == expected


def from_choice(choice: dict[str, Any]) -> Truncator:
    from paretocut.truncators.choose import Chosen

    return Chosen.of("cut", choice).truncator


def test_a_method_is_named_as_on_the_command_line(client: Any) -> None:
    scores = simulated(1)[0].tolist()
    found = post(client, "/v1/cut", {"scores": scores, "method": "minmax:threshold=0.4"})
    assert found == from_text("minmax:threshold=0.4").cut(scores).to_dict()


def works_untrained(text: str, scores: list[float]) -> bool:
    try:
        from_text(text).cut(scores)
    except pc.errors.ParetocutError:
        return False
    return True


def test_methods_are_those_that_the_library_can_use_untrained(client: Any) -> None:
    scores = simulated(1)[0].tolist()
    allowed = set()
    for name in pc.truncators.names():
        # Parameters of a method may stand in for training.
        texts = [name, f"{name}:threshold=0.5"]
        works = [text for text in texts if works_untrained(text, scores)]
        for text in works:
            found = post(client, "/v1/cut", {"scores": scores, "method": text})
            assert found == from_text(text).cut(scores).to_dict()
            allowed.add(name)
        refused = client.post("/v1/cut", json={"scores": scores, "method": name})
        assert refused.status_code == (200 if name in works else 422)
    assert {"largest_gap", "knee", "minmax"} <= allowed
    told = client.post("/v1/cut", json={"scores": scores, "method": "global_k"}).json()
    listed = told["error"]["message"].removeprefix("method must be one of ")
    names = listed.removesuffix(", got 'global_k'").replace(" (with threshold)", "").split(", ")
    assert set(names) == allowed


def test_a_method_names_no_file(client: Any, tmp_path: Path) -> None:
    pc.truncators.FixedK(3).save(tmp_path / "file")
    method = f"consensus:metric=accuracy,base={tmp_path / 'file'}"
    answer = client.post("/v1/cut", json={"scores": simulated(1)[0].tolist(), "method": method})
    assert answer.status_code == 422
    assert "base must be a truncator" in answer.json()["error"]["message"]


def test_a_model_decides_under_its_name(client: Any, folder: Path) -> None:
    lists = simulated(5, seed=9).tolist()
    model = pc.load(folder / "fitted.json")
    assert isinstance(model, Truncator)
    expected = [cut.to_dict() for cut in model.cut_batch(lists)]
    assert post(client, "/v1/cut", {"lists": lists, "model": "fitted"}) == expected


def test_a_lexical_model_needs_the_query(client: Any, folder: Path) -> None:
    scores = simulated(1, seed=9)[0].tolist()
    model = pc.load(folder / "lexical.json")
    assert isinstance(model, pc.truncators.Calibrated)
    given = {"scores": scores, "model": "lexical"}
    found = post(client, "/v1/cut", given | {"query": "moss and roses"})
    assert found == model.cut(scores, query="moss and roses").to_dict()
    refused = client.post("/v1/cut", json=given)
    assert refused.status_code == 422
    assert "queries must be given" in refused.json()["error"]["message"]
    few = {"lists": [scores, scores], "queries": ["moss"], "model": "lexical"}
    assert client.post("/v1/cut", json=few).status_code == 422


def test_reasons_can_be_left_out(client: Any) -> None:
    lists = simulated(3).tolist()
    full = post(client, "/v1/cut", {"lists": lists})
    short = post(client, "/v1/cut", {"lists": lists, "explain": False})
    kept = ("k", "n", "indices", "nearest", "chance", "method")
    assert short == [{name: row[name] for name in kept} for row in full]


@pytest.mark.parametrize("up", [True, False])
def test_scores_are_the_engines(client: Any, up: bool) -> None:
    scores = np.random.default_rng(1).permutation(simulated(1)[0]) * (1 if up else -1)
    fit = pc.fit_tail(scores, higher_is_better=up, refit="all")
    given = {"scores": scores.tolist(), "higher_is_better": up, "refit": "all"}
    found = post(client, "/v1/score", given)
    assert found["surprise"] == fit.surprise.tolist()
    assert found["pvalues"] == fit.pvalues.tolist()
    assert found["evalues"] == fit.evalues.tolist()
    assert found["warnings"] == list(fit.warnings)
    assert found["fit"] == {name: getattr(fit, name) for name in found["fit"]}
    many = post(client, "/v1/score", {"lists": [scores.tolist(), []], **given, "scores": None})
    assert many[0] == found
    assert many[1]["surprise"] == []


RETRIEVED = {
    "words": {"ids": ["a", "b", "c"], "scores": [9.0, 7.0, 1.0]},
    "vectors": {"ids": ["b", "a", "d"], "scores": [0.2, 0.3, 0.9], "higher_is_better": False},
}


def ranked(name: str) -> pc.RankedLists:
    one: dict[str, Any] = RETRIEVED[name]
    up = one.get("higher_is_better", True)
    return pc.RankedLists([one["scores"]], doc_ids=[one["ids"]], higher_is_better=up)


def test_lists_are_fused_as_the_library_fuses_them(client: Any) -> None:
    lists = {name: ranked(name) for name in RETRIEVED}
    fused = pc.fuse(lists, method="minmax", weights=[2, 1])
    given = {"retrievers": RETRIEVED, "method": "minmax", "weights": {"vectors": 1, "words": 2}}
    found = post(client, "/v1/fuse", given)
    assert fused.doc_ids is not None
    assert [row["id"] for row in found["results"]] == fused.doc_ids[0].tolist()
    assert [row["score"] for row in found["results"]] == fused.scores[0].tolist()
    assert found["results"][0]["parts"]["vectors"] == {"score": 0.3, "rank": 2}
    assert found["cut"] is None
    cut = post(client, "/v1/fuse", given | {"cut": {"max_k": 1}})
    assert cut["cut"] == Consensus().cut_batch(fused, max_k=1)[0].to_dict()
    assert cut["results"] == found["results"][: cut["cut"]["k"]]


def test_a_retriever_may_lack_a_query(client: Any) -> None:
    given = {"queries": [RETRIEVED, {"words": RETRIEVED["words"]}]}
    both, alone = post(client, "/v1/fuse", given)
    assert len(both["results"]) == 4
    assert [row["id"] for row in alone["results"]] == ["a", "b", "c"]


def test_a_saved_fusion_fuses_under_its_name(client: Any, folder: Path) -> None:
    lists = simulated(1, depth=60, seed=8)
    ids = [f"d{i}" for i in range(60)]
    runs = {
        "words": pc.RankedLists(lists, doc_ids=[ids]),
        "vectors": pc.RankedLists(-lists, doc_ids=[ids[::-1]], higher_is_better=False),
    }
    expected = pc.load(folder / "fusion.json").fuse(runs)
    given = {
        "vectors": {"ids": ids[::-1], "scores": (-lists[0]).tolist(), "higher_is_better": False},
        "words": {"ids": ids, "scores": lists[0].tolist()},
    }
    found = post(client, "/v1/fuse", {"retrievers": given, "fusion": "both"})
    assert [row["score"] for row in found["results"]] == expected.scores[0].tolist()


def arrow(client: Any, table: Any, **params: Any) -> Any:
    return client.post(
        "/v1/cut", content=stream(table), params=params, headers={"Content-Type": ARROW}
    )


@pytest.mark.parametrize("kind", ["list", "large list", "fixed size", "float32", "chunks"])
def test_arrow_brings_the_same_decisions_as_json(client: Any, kind: str) -> None:
    lists = np.round(simulated(4), 3).astype(np.float32).astype(np.float64).tolist()
    types = {
        "large list": pa.large_list(pa.float64()),
        "fixed size": pa.list_(pa.float64(), 200),
        "float32": pa.list_(pa.float32()),
    }
    column = pa.array(lists, types.get(kind, pa.list_(pa.float64())))
    if kind == "chunks":
        column = pa.chunked_array([column[:1], column[1:]])
    answer = arrow(client, pa.table({"scores": column}), expect="few", max_k=4)
    assert answer.headers["content-type"] == ARROW
    table = pa.ipc.open_stream(answer.content).read_all()
    expected = post(client, "/v1/cut", {"lists": lists, "expect": "few", "max_k": 4})
    assert table.schema.metadata == {b"method": expected[0]["method"].encode()}
    for row in expected:
        del row["method"]
    assert table.to_pylist() == expected


def test_arrow_brings_queries_and_leaves_reasons_out(client: Any, folder: Path) -> None:
    lists = simulated(2, seed=9)
    table = pa.table({"scores": lists.tolist(), "query": WORDS[:2]})
    answer = arrow(client, table, model="lexical", explain="false")
    found = pa.ipc.open_stream(answer.content).read_all()
    model = pc.load(folder / "lexical.json")
    assert isinstance(model, pc.truncators.Calibrated)
    cuts = model.cut_batch(lists, queries=WORDS[:2])
    assert found.column_names == ["k", "n", "indices", "nearest", "chance"]
    assert cuts.chance is not None
    assert found["chance"].to_pylist() == cuts.chance.tolist()
    assert found["k"].to_pylist() == cuts.k.tolist()


def test_an_error_in_a_large_body_names_the_list_of_the_request(client: Any) -> None:
    lists = simulated(600)  # more than are decided on at once
    lists[550, 7] = np.nan
    answer = arrow(client, pa.table({"scores": lists.tolist()}))
    assert answer.status_code == 422
    assert "got nan at index 7 of list 550" in answer.json()["error"]["message"]


def test_lists_of_a_large_body_are_sorted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    # Each was sorted for the checks, and again for the decision.
    from starlette.testclient import TestClient

    from paretocut.web.app import create_app

    real, counts = _kernel.sort_lists, []

    def sort_lists(values: Any, offsets: Any, *rest: Any) -> None:
        counts.append(len(offsets) - 1)
        real(values, offsets, *rest)

    monkeypatch.setattr(_kernel, "sort_lists", sort_lists)
    lists = np.random.default_rng(0).permuted(simulated(600), axis=1)
    with TestClient(create_app(), base_url="http://localhost") as client:
        assert len(post(client, "/v1/cut", {"lists": lists.tolist()})) == 600
    assert sum(counts) == 600


def test_health_names_version_and_models(client: Any) -> None:
    expected = {
        "status": "ok",
        "version": pc.__version__,
        "models": ["both", "fitted", "gate", "lexical", "moved", "same"],
    }
    assert client.get("/healthz").json() == expected


def metrics(client: Any) -> dict[str, float]:
    return samples(client.get("/metrics").text)


def test_metrics_count_what_was_decided(client: Any) -> None:
    decider = '{decider="evalue"}'
    before = metrics(client)
    lists = [*simulated(3).tolist(), *simulated(2, hits=0).tolist(), [1.0, 1.0]]
    found = post(client, "/v1/cut", {"lists": lists, "evalue": 0.05})
    after = metrics(client)

    def change(name: str) -> float:
        return after[name] - before.get(name, 0.0)

    kept = [row["k"] for row in found]
    assert change(f"paretocut_lists_total{decider}") == 6
    assert change(f"paretocut_results_total{decider}") == 5 * 200 + 2
    assert change(f"paretocut_kept_results_total{decider}") == sum(kept)
    assert change(f"paretocut_empty_lists_total{decider}") == kept.count(0) > 0
    for name in {name for row in found for name in row["warnings"]}:
        expected = sum(name in row["warnings"] for row in found)
        assert change(f'paretocut_warnings_total{{warning="{name}"}}') == expected
    request = 'paretocut_requests_total{route="/v1/cut",status="200"}'
    assert change(request) == 1
    assert change('paretocut_request_seconds_count{route="/v1/cut"}') == 1


def test_metrics_show_drift_from_the_calibration(client: Any, folder: Path) -> None:
    model = pc.load(folder / "calibrated.json")
    assert isinstance(model, pc.truncators.Calibrated)
    lists = {"same": simulated(200, seed=5), "moved": 1.5 * simulated(200, seed=5)}
    for name, rows in lists.items():
        post(client, "/v1/cut", {"lists": rows.tolist(), "model": name})
    shown = metrics(client)
    for name, rows in lists.items():
        drift = model.drift(rows)
        assert drift.verdict == {"same": "same", "moved": "changed"}[name]
        changed = shown[f'paretocut_drift_changed{{model="{name}"}}']
        assert changed == float(drift.verdict == "changed")
        assert shown[f'paretocut_drift_lists{{model="{name}"}}'] == 200
        for statistic, distance in drift.distance.items():
            label = f'{{model="{name}",statistic="{statistic}"}}'
            assert shown[f"paretocut_drift_distance{label}"] == pytest.approx(distance)


def test_logs_are_json_without_scores_ids_or_texts(service: Running, client: Any) -> None:
    given = {"words": {"ids": ["secret-id"], "scores": [0.123454321]}}
    given["more"] = {"ids": ["other-id"], "scores": [0.5]}
    post(client, "/v1/fuse", {"retrievers": given})
    client.post("/v1/cut", json={"scores": [0.123454321, "secret-score"], "query": "secret-text"})
    client.get("/secret-path")
    expected = ["/v1/fuse", "/v1/cut", "unknown"]
    until(lambda: [line["route"] for line in service.requests()[-3:]] == expected)
    assert not [line for line in service.lines if "not json" in line]
    fused, refused, lost = service.requests()[-3:]
    assert (fused["route"], fused["status"], fused["results"]) == ("/v1/fuse", 200, 2)
    assert (refused["route"], refused["status"], refused["code"]) == (
        "/v1/cut",
        422,
        "invalid_body",
    )
    assert (lost["route"], lost["status"]) == ("unknown", 404)
    text = json.dumps([line for line in service.lines if line.get("event") == "request"])
    assert "secret" not in text
    assert "123454321" not in text


def test_a_background_gates_the_default_as_in_the_explorer(client: Any, folder: Path) -> None:
    gated = pc.truncators.Gated(Consensus(), pc.load(folder / "background.json"))
    lists = [simulated(1, depth=60)[0], simulated(1, depth=60, hits=0, seed=9)[0]]
    for scores in lists:
        found = post(client, "/v1/cut", {"scores": scores.tolist(), "model": "gate"})
        assert found["k"] == gated.cut(scores).k


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (["--host", "0.0.0.0"], 2, "a token"),
        (["--model", "fitted"], 2, "NAME=FILE"),
        (["--model", "a=x.json", "--model", "a=y.json"], 2, "twice"),
        (["--model", "a=no-such-file.json"], 1, "no-such-file.json"),
        (["--fusion", "a=background.json"], 2, "--fusion must name a saved fusion, got Background"),
        (["--token-file", "empty"], 2, "the token must be"),
        (["--max-seconds", "0"], 2, "max_seconds"),
        (["--port", "99999"], 2, "at most 65535"),
        (["--port", "-1"], 2, "port must be an integer of at least 0"),
        (["--host", "192.0.2.1", "--no-token"], 1, "192.0.2.1:0: "),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else str(value),
)
def test_bad_options_are_refused_at_the_start(
    folder: Path,
    options: list[str],
    code: int,
    words: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (folder / "empty").write_text("")
    monkeypatch.chdir(folder)
    assert main(["serve", "--port", "0", *options]) == code
    assert words in capsys.readouterr().err


def test_an_address_that_is_taken_is_named(
    service: Running, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", "--port", str(service.port)]) == 1
    told = capsys.readouterr().err
    assert told == f"paretocut: 127.0.0.1:{service.port}: Address already in use\n"


def test_without_its_packages_the_command_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert main(["serve"]) == 1
    assert "pip install 'paretocut[serve]'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("host", "needed"),
    [("127.0.0.1", False), ("127.0.0.9", False), ("::1", False), ("localhost", False),
     ("0.0.0.0", True), ("::", True), ("10.0.0.1", True), ("example.org", True)],
)  # fmt: skip
def test_a_token_is_needed_where_others_can_reach_the_service(host: str, needed: bool) -> None:
    from paretocut.web.server import Settings

    assert Settings(host=host, no_token=True).token() is None
    if needed:
        with pytest.raises(InvalidParameterError, match="a token"):
            Settings(host=host).token()
    else:
        assert Settings(host=host).token() is None


def test_untrained_models_are_refused_at_the_start(tmp_path: Path) -> None:
    from paretocut.errors import NotFittedError
    from paretocut.web.deciders import Models

    pc.truncators.GlobalK().save(tmp_path / "untrained.json")
    with pytest.raises(NotFittedError):
        Models({"a": str(tmp_path / "untrained.json")}, {})
    FixedK(3).save(tmp_path / "fixed.json")
    assert Models({"a": str(tmp_path / "fixed.json")}, {}).truncator("a").k == 3


@pytest.fixture(scope="module")
def tenants(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of models, one for each tenant."""
    folder = tmp_path_factory.mktemp("tenants")
    for i in range(1, 6):
        FixedK(i).save(folder / f"tenant-{i}.json")
    (folder / "broken.json").write_text("{}")
    FixedK(9).save(folder.parent / "outside.json")
    return folder


@pytest.mark.parametrize("count", ["1", "2"])
def test_models_of_a_folder_are_read_when_they_are_named(tenants: Path, count: str) -> None:
    options = (f"--models={tenants}", "--max-models=2", f"--workers={count}")
    with running(*options) as service, httpx.Client(base_url=service.url, timeout=300) as client:
        scores = [7.0, 6.0, 5.0, 4.0, 3.0, 2.0]
        for i in (1, 2, 3, 4, 5, 1):
            assert post(client, "/v1/cut", {"scores": scores, "model": f"tenant-{i}"})["k"] == i
        FixedK(5).save(tenants / "tenant-1.json")
        assert post(client, "/v1/cut", {"scores": scores, "model": "tenant-1"})["k"] == 5
        FixedK(1).save(tenants / "tenant-1.json")
        for name in ("nobody", "../outside", "tenant-1.json", "", "a/b", "x" * 300, "\0"):
            answer = client.post("/v1/cut", json={"scores": scores, "model": name})
            assert answer.status_code == 422
            assert "in the folder of models" in answer.json()["error"]["message"]
        assert client.post("/v1/cut", json={"scores": [1], "model": "broken"}).status_code == 500
        until(lambda: any(line.get("file") == "broken.json" for line in service.lines))
        assert client.get("/healthz").json()["models"] == []


def test_no_more_models_are_kept_than_allowed(tenants: Path) -> None:
    from paretocut.web.deciders import Models

    models = Models({}, {}, str(tenants), most=2)
    first = models.truncator("tenant-1")
    assert models.truncator("tenant-1") is first
    for i in (2, 3):
        models.truncator(f"tenant-{i}")
    assert models.truncator("tenant-1") is not first


def test_settings_of_any_size_reach_the_workers(tenants: Path) -> None:
    """More than 128 KiB of names once kept two workers from listening."""
    file = tenants / "tenant-2.json"
    names = [f"{'x' * 200}{i}" for i in range(800)]
    options = [f"--model={name}={file}" for name in names]
    with running("--workers=2", *options) as service:
        content = {"scores": [3, 2, 1], "model": names[-1]}
        answer = httpx.post(f"{service.url}/v1/cut", json=content, timeout=300)
        assert answer.json()["k"] == 2


def test_metrics_do_not_grow_with_the_number_of_models() -> None:
    from paretocut.web.telemetry import Telemetry

    telemetry = Telemetry()
    for i in range(300):
        telemetry.decided(f"model:m{i}", (1, 3, 2, 0), ())
    shown = samples(telemetry.render().decode())
    counts = {name: n for name, n in shown.items() if name.startswith("paretocut_lists_total{")}
    assert len(counts) == 101
    assert counts['paretocut_lists_total{decider="model:m7"}'] == 1
    assert counts['paretocut_lists_total{decider="model:others"}'] == 200


def test_a_model_of_distances_needs_no_direction(tmp_path: Path) -> None:
    lists = -simulated(60, depth=60)
    relevance = np.tile(np.arange(60) < 5, (60, 1))
    judged = pc.RankedLists(lists, relevance=relevance, higher_is_better=False)
    model = Consensus().fit(judged)
    model.save(tmp_path / "model.json")
    with running(f"--model=far={tmp_path / 'model.json'}") as service:
        for given in ({"scores": lists[0].tolist()}, {"lists": lists[:1].tolist()}):
            url = f"{service.url}/v1/cut"
            found = httpx.post(url, json={**given, "model": "far"}, timeout=300).json()
            one = found if isinstance(found, dict) else found[0]
            assert one == model.cut(lists[0]).to_dict()


def test_the_names_of_this_machine_are_listed_once(client: Any) -> None:
    message = client.get("/healthz", headers={"Host": "evil.example"}).json()["error"]["message"]
    assert message.count("127.0.0.1") == 1
