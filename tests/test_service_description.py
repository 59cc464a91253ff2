"""The description of the service: it is what the code says, and the service keeps to it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from serving import Running, running
from support import ROOT, importorskip

httpx = importorskip("httpx")
for needed in ("fastapi", "uvicorn", "prometheus_client"):
    importorskip(needed)

PAGE = ROOT / "docs" / "openapi.json"
TOKEN = "correct-horse"
HEADERS = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture(scope="module")
def service() -> Iterator[Running]:
    with running("--max-seconds=5", PARETOCUT_TOKEN=TOKEN) as service:
        yield service


def test_the_description_in_docs_is_that_of_the_code() -> None:
    from paretocut.web.__main__ import description

    shown = PAGE.read_text(encoding="utf-8")
    assert shown == description(), "python -m paretocut.web > docs/openapi.json writes it anew"


def test_every_error_has_a_schema_and_an_example() -> None:
    paths = json.loads(PAGE.read_text(encoding="utf-8"))["paths"]
    for path in ("/v1/cut", "/v1/score", "/v1/fuse", "/v1/evaluate"):
        responses = paths[path]["post"]["responses"]
        for status in ("400", "401", "413", "422", "429", "503"):
            content = responses[status]["content"]["application/json"]
            assert content["schema"] == {"$ref": "#/components/schemas/ErrorAnswer"}
            assert content["example"]["error"]["status"] == int(status)


def test_the_examples_are_answered(service: Running) -> None:
    described = json.loads(PAGE.read_text(encoding="utf-8"))
    for path, methods in described["paths"].items():
        if "post" not in methods:
            continue
        schema = methods["post"]["requestBody"]["content"]["application/json"]["schema"]
        name = schema["$ref"].rpartition("/")[2]
        for example in described["components"]["schemas"][name]["examples"]:
            answer = httpx.post(service.url + path, json=example, headers=HEADERS, timeout=30)
            assert answer.status_code == 200, answer.text


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
