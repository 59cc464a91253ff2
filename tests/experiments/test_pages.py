"""Every experiment: one name, a command that says how long it takes, pages made of its numbers."""

from __future__ import annotations

import importlib
import json
import re
import runpy
import sys
from pathlib import Path
from types import ModuleType

import pytest
from support import ROOT, missing

from experiments import pages

# The frozen test has no page before it ran.
EXPERIMENTS = sorted(
    path.parent.name
    for path in (ROOT / "experiments").glob("*/__main__.py")
    if any(path.parent.glob("results*"))
)
EVIDENCE = ROOT / "docs" / "evidence"
BY_HAND = {EVIDENCE / "research-notes.md"}
SHORT = 1200  # words
WHOLE = {"frozen", "accept", "calibrate", "stop"}  # measured as a whole only
GUIDES = {
    "accept": "recipes/cache",
    "calibrate": "calibrate",
    "judge": "judge",
    "fuse": "fuse",
    "stop": "recipes/stop-reading",
}


def report_of(name: str) -> ModuleType:
    try:
        return importlib.import_module(f"experiments.{name}.report")
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("experiments"):
            raise
        missing(f"{error.name} is not installed")


def files_of(name: str) -> list[Path]:
    folder = ROOT / "experiments" / name
    return [*folder.glob("results.json"), *folder.glob("results/*.json")]


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_pages_are_made_of_the_kept_numbers(name: str) -> None:
    made = report_of(name).pages()
    assert made
    for page, text in made.items():
        assert (ROOT / page).read_text(encoding="utf-8") == text, f"{page}: make {name} writes it"


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_folder_command_and_page_carry_one_name(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [Path(page) for page in report_of(name).pages()]
    made = {path.stem for path in paths if path.parent.name != "recipes"} - {"README"}
    assert name in made
    assert all(page.split("-")[0] == name for page in made)
    monkeypatch.setattr(sys, "argv", [name, "--help"])
    monkeypatch.delitem(sys.modules, f"experiments.{name}.__main__", raising=False)
    with pytest.raises(SystemExit):
        runpy.run_module(f"experiments.{name}", run_name="__main__")
    help_text = capsys.readouterr().out
    assert "akes" in help_text, "says how long it takes"
    assert ("--quick" in help_text) == (name not in WHOLE)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (target,) = re.findall(rf"^{name}:.*## (.*)$", makefile, re.MULTILINE)
    assert re.search(r"\((.*(second|minute|hour).*)\)", target), f"{target}: says how long it takes"


def test_every_evidence_page_is_made_by_an_experiment() -> None:
    made = {ROOT / page for name in EXPERIMENTS for page in report_of(name).pages()}
    assert {path for path in EVIDENCE.glob("*.md") if path not in made} == BY_HAND


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_numbers_say_which_clean_commit_made_them(name: str) -> None:
    assert files_of(name)
    for path in files_of(name):
        content = json.loads(path.read_text(encoding="utf-8"))
        assert content["commit"].isalnum(), f"{path}: {content['commit']}"


def test_results_stand_with_their_experiments() -> None:
    known = {"openapi.json", "specification.json"}
    assert {path.name for path in (ROOT / "docs").rglob("*.json")} == known


@pytest.mark.parametrize("page", sorted(EVIDENCE.glob("*.md")), ids=lambda page: page.stem)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[\w-]*)?\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).resolve().is_file(), target


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_page_is_short_without_its_tables(name: str) -> None:
    (page,) = [ROOT / page for page in report_of(name).pages() if Path(page).stem == name]
    lines = page.read_text(encoding="utf-8").splitlines()
    assert sum(len(line.split()) for line in lines if not line.startswith("|")) < SHORT


@pytest.mark.parametrize("name", GUIDES)
def test_guides_are_short_and_lead_to_their_evidence(name: str) -> None:
    guide = ROOT / "docs" / f"{GUIDES[name]}.md"
    words = re.sub(r"^```.*?^```$", "", guide.read_text(encoding="utf-8"), flags=re.M | re.S)
    assert len(words.split()) < SHORT
    assert f"evidence/{name}.md)" in guide.read_text(encoding="utf-8")
    assert f"(../{GUIDES[name]}.md)" in (EVIDENCE / f"{name}.md").read_text(encoding="utf-8")


def test_words_and_numbers_must_fit_each_other(tmp_path: Path) -> None:
    words = tmp_path / "page.md"
    words.write_text("# Title\n\nF1 is {f1:.2f}, a gain of\n{gain}.\n\n- one\n  item\n- {n}\n")
    facts = {"f1": 0.456, "gain": "+1.0 %", "n": 2}
    text = "# Title\n\nF1 is 0.46, a gain of +1.0 %.\n\n- one item\n- 2\n"
    assert pages.fill(words, facts) == text
    with pytest.raises(ValueError, match=r"page\.md: no number for \{n\}"):
        pages.fill(words, {"f1": 0.1, "gain": ""})
    with pytest.raises(ValueError, match="worked out and not used: more"):
        pages.fill(words, facts | {"more": 1})


def test_code_tables_and_percentages_are_not_broken(tmp_path: Path) -> None:
    words = tmp_path / "page.md"
    code = "```python\na = 1\n\nb = 2\n```"
    table = "| a | b |\n|---|---:|\n| 1 | 2 |"
    words.write_text(f"{code}\n\n{table}\n\n{'word ' * 19}12 % more\n")
    text = pages.fill(words, {})
    assert code in text
    assert table in text
    assert "12 %" in text
    assert max(map(len, text.splitlines())) <= pages.WIDTH
