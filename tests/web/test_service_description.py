"""The description of the service: it is what the code says, and the service keeps to it.

This service listens beyond the machine, so it asks for a token.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from typing import Any

import pytest
from browsers import chromium, faults, keep
from hypothesis import HealthCheck, Phase, given, settings
from serving import Running, running
from support import ROOT, importorskip

import paretocut as pc
from paretocut.cli._main import build_parser
from paretocut.decisions.options import EXPECT, OPTIONS

httpx = importorskip("httpx")
for needed in ("starlette", "msgspec", "uvicorn", "prometheus_client"):
    importorskip(needed)

PAGE = ROOT / "docs" / "openapi.json"
TOKEN = "correct-horse"
HEADERS = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    file = tmp_path_factory.mktemp("service") / "token"
    file.write_text(f"{TOKEN}\n")
    with running("--max-seconds=5", "--host=0.0.0.0", f"--token-file={file}") as service:
        yield service


def test_the_description_in_docs_is_that_of_the_code() -> None:
    from paretocut.web.app import text

    shown = PAGE.read_text(encoding="utf-8")
    assert shown == text(), "python -m paretocut.web.app > docs/openapi.json writes it anew"


def test_every_error_has_a_schema_and_an_example() -> None:
    paths = json.loads(PAGE.read_text(encoding="utf-8"))["paths"]
    for path in ("/v1/cut", "/v1/score", "/v1/fuse"):
        responses = paths[path]["post"]["responses"]
        for status in ("400", "401", "413", "422", "429", "503"):
            content = responses[status]["content"]["application/json"]
            assert content["schema"] == {"$ref": "#/components/schemas/ErrorAnswer"}
            assert content["example"]["error"]["status"] == int(status)


def test_answers_that_the_library_makes_are_described_field_by_field() -> None:
    from paretocut.web import bodies

    assert set(bodies.Decision.__struct_fields__) == pc.cut([3.0, 2.0, 1.0]).to_dict().keys()


def test_options_are_described_as_the_library_declares_them() -> None:
    described = json.loads(PAGE.read_text(encoding="utf-8"))["components"]["schemas"]
    asked = described["CutRequest"]["properties"]
    for name, option in OPTIONS.items():
        assert asked[name]["default"] == option.default
        assert option.help[1:] in asked[name]["description"]
    assert {"exclusiveMinimum": 0, "exclusiveMaximum": 1, "type": "number"} in asked["alpha"][
        "anyOf"
    ]
    assert {"enum": list(EXPECT), "type": "string"} in asked["expect"]["anyOf"]


def test_the_examples_are_answered(service: Running) -> None:
    described = json.loads(PAGE.read_text(encoding="utf-8"))
    for path, methods in described["paths"].items():
        if "post" not in methods:
            continue
        schema = methods["post"]["requestBody"]["content"]["application/json"]["schema"]
        name = schema["$ref"].rpartition("/")[2]
        for example in described["components"]["schemas"][name]["examples"]:
            answer = httpx.post(service.url + path, json=example, headers=HEADERS, timeout=300)
            assert answer.status_code == 200, answer.text


def test_a_token_is_asked_of_everything_but_health(service: Running) -> None:
    def refused(answer: Any) -> bool:
        error = answer.json()["error"]
        return bool(answer.status_code == error["status"] == 401)

    with httpx.Client(base_url=service.url, timeout=300) as client:
        for path in ("/healthz", "/", "/docs", "/static/docs.js"):
            assert client.get(path).status_code == 200
        for path in ("/metrics", "/openapi.json", "/nothing"):
            assert refused(client.get(path))
        for given in (None, "", "Bearer", "Bearer x", f"Basic {TOKEN}", f"Bearer {TOKEN}x", TOKEN):
            headers = {} if given is None else {"Authorization": given}
            answer = client.post("/v1/cut", json={"scores": [1]}, headers=headers)
            assert refused(answer)
            assert answer.headers["www-authenticate"] == "Bearer"
        assert client.post("/v1/cut", json={"scores": [1]}, headers=HEADERS).status_code == 200
        assert client.get("/metrics", headers=HEADERS).status_code == 200


@pytest.mark.heavy
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_the_service_can_be_tried_on_its_page(service: Running, scheme: str, width: int) -> None:
    with chromium() as browser:
        page = browser.new_page(color_scheme=scheme, viewport={"width": width, "height": 900})
        outside: list[str] = []
        page.on("request", lambda asked: outside.append(asked.url))
        page.goto(f"{service.url}/docs")
        page.get_by_label("Token").fill(TOKEN)
        page.get_by_label("Token").press("Enter")
        card = page.locator("section", has_text="POST /v1/cut")
        card.get_by_role("button", name="Send").click()
        answer = card.get_by_role("status")
        answer.get_by_text("kept 2 of 8").wait_for()
        card.get_by_role("textbox").fill("{")
        card.get_by_role("button", name="Send").click()
        answer.get_by_text("the body is not JSON").wait_for()
        card.get_by_text("Fields").click()
        keep(page, f"docs-{scheme}-{width}")
        assert faults(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert [url for url in outside if not url.startswith(service.url)] == []


def test_the_container_installs_extras_that_exist_and_starts_the_service() -> None:
    text = (ROOT / "Containerfile").read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (extras,) = re.findall(r"/source\[([\w,-]+)\]", text)
    assert "serve" in extras.split(",")
    assert set(extras.split(",")) <= project["optional-dependencies"].keys()
    program, *words = json.loads(re.findall(r"^ENTRYPOINT (.+)$", text, re.MULTILINE)[0])
    assert program in project["scripts"]
    assert build_parser().parse_args(words).host == "0.0.0.0"
    assert re.findall(r"^USER (\d+)$", text, re.MULTILINE) != ["0"]


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["POSITIVE", "NEGATIVE"])
def test_the_service_keeps_to_its_description(service: Running, mode: str) -> None:
    schemathesis = importorskip("schemathesis")
    described: dict[str, Any] = json.loads(PAGE.read_text(encoding="utf-8"))
    schema = schemathesis.openapi.from_dict(described)
    chosen = schemathesis.GenerationMode[mode]
    # Numbers may have the right type and still make no list, so valid bodies may be refused.
    excluded = [schemathesis.checks.positive_data_acceptance]
    before = len(service.requests())
    for path in described["paths"]:
        for operation in schema[path].values():

            @given(case=operation.as_strategy(generation_mode=chosen))
            @settings(
                max_examples=80,
                deadline=None,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
                database=None,
                derandomize=True,
            )
            def run(case: Any) -> None:
                case.call_and_validate(
                    base_url=service.url, headers=HEADERS, excluded_checks=excluded
                )

            if (
                chosen == schemathesis.GenerationMode.NEGATIVE
                and "post" not in described["paths"][path]
            ):
                continue  # nothing can be wrong with a request that says nothing
            run()
    assert service.process.poll() is None
    asked = service.requests()[before:]
    assert len(asked) > 200
    assert not [line for line in asked if "at" in line]
