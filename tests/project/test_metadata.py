"""What stands about the project in several files: recipe, citation, badges, AGENTS.md, paper."""

from __future__ import annotations

import itertools
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from layers import RANK
from support import ROOT, importorskip

import paretocut as pc

DECLARED = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = DECLARED["project"]
RECIPE = ROOT / "recipe" / "recipe.yaml"


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def loaded(name: str) -> dict[str, Any]:
    """Return what a YAML file holds."""
    content: dict[str, Any] = importorskip("yaml").safe_load(read(name))
    return content


def spaced(requirements: list[str]) -> list[str]:
    """Return requirements as conda writes them: a space between name and version."""
    return [re.sub(r"(?<=\w)(?=[<>=!~])", " ", one, count=1) for one in requirements]


# AGENTS.md ------------------------------------------------------------------------------------


def test_the_page_for_those_who_change_the_code_is_short() -> None:
    assert len(read("AGENTS.md").split()) <= 400


def test_the_page_for_those_who_change_the_code_names_what_is_there() -> None:
    text = read("AGENTS.md")
    targets = set(re.findall(r"`make (\S+)`", text))
    assert targets >= {"format", "lint", "test", "docs"}
    assert targets <= set(re.findall(r"^([a-z-]+):", read("Makefile"), re.MULTILINE))
    folders = "tests|src|docs|cpp|experiments|scripts|recipe"
    paths = set(re.findall(rf"[`( ]((?:{folders})/[\w./-]*)", text))
    paths |= set(re.findall(r"[`(]([A-Z]+\.md)[`)]", text))
    assert len(paths) >= 8
    assert [path for path in sorted(paths) if not (ROOT / path).exists()] == []


def test_the_page_for_those_who_change_the_code_has_the_order_of_the_layers() -> None:
    (line,) = re.findall(r"`(_kernel, errors < [^`]+)`", read("AGENTS.md"))
    rows = [[RANK[name] for name in row.replace(",", " ").split()] for row in line.split("<")]
    for lower, upper in itertools.pairwise(rows):
        assert max(lower) < min(upper), line


def test_the_changelog_has_the_names_at_the_door() -> None:
    text = " ".join(read("CHANGELOG.md").split())
    (count, names) = re.findall(r"`import paretocut as pc` has (\d+) names: (.*?)\. - ", text)[0]
    found = re.findall(r"`(\w+)`", names)
    assert sorted(found) == sorted(pc.__all__)
    assert int(count) == len(found)


# The conda recipe -----------------------------------------------------------------------------


def test_the_recipe_says_what_the_package_declares() -> None:
    recipe = loaded("recipe/recipe.yaml")
    assert recipe["context"] == {"name": PROJECT["name"], "version": PROJECT["version"]}
    about, needs = recipe["about"], recipe["requirements"]
    assert about["summary"] == PROJECT["description"]
    assert about["license"] == PROJECT["license"]
    assert [about["license_file"]] == PROJECT["license-files"]
    python = f"python {PROJECT['requires-python']}"
    assert needs["run"] == [python, *spaced(PROJECT["dependencies"])]
    assert needs["host"] == ["python", "pip", *spaced(DECLARED["build-system"]["requires"])]
    tools = set(spaced(DECLARED["dependency-groups"]["build"]))
    assert set(needs["build"] + needs["host"]) >= tools
    commands = [f"{name} = {where}" for name, where in PROJECT["scripts"].items()]
    assert recipe["build"]["python"]["entry_points"] == commands
    oldest = PROJECT["requires-python"].removeprefix(">=")
    assert f'match(python, "<{oldest}")' in recipe["build"]["skip"]


def test_the_recipe_names_no_server() -> None:
    assert "://" not in RECIPE.read_text(encoding="utf-8")


@pytest.mark.packaging
@pytest.mark.parametrize("platform", ["linux-64", "linux-aarch64", "osx-arm64"])
def test_the_recipe_can_be_rendered(platform: str) -> None:
    """By the tool that builds it; only the build itself needs conda's packages."""
    conda = importorskip("rattler_build")
    variants = {
        "python": ["3.11.*", "3.12.*"],
        "cxx_compiler": ["gxx"],
        "c_stdlib": ["sysroot"],
    }
    rendered = conda.Stage0Recipe.from_file(RECIPE).render(
        conda.VariantConfig(variants),
        conda.RenderConfig(conda.PlatformConfig(target_platform=platform)),
    )
    assert len(rendered) == 2
    for variant in rendered:
        recipe = variant.recipe.to_dict()
        assert recipe["package"] == {"name": PROJECT["name"], "version": PROJECT["version"]}
        needs = recipe["requirements"]
        assert needs["build"][:2] == [f"gxx_{platform}", f"sysroot_{platform}"]
        assert needs["run"][1:] == spaced(PROJECT["dependencies"])
        assert len(recipe["tests"]) == 3


@pytest.mark.packaging
def test_a_misspelt_key_of_the_recipe_is_refused(tmp_path: Path) -> None:
    conda = importorskip("rattler_build")
    wrong = tmp_path / "recipe.yaml"
    text = RECIPE.read_text(encoding="utf-8")
    wrong.write_text(text.replace("requirements:\n  build", "requires:\n  build"))
    with pytest.raises(conda.RecipeParseError):
        conda.Stage0Recipe.from_file(wrong)


@pytest.mark.packaging
def test_the_commands_that_the_recipe_tests_with_work_here(tmp_path: Path) -> None:
    first, second = (test for test in loaded("recipe/recipe.yaml")["tests"] if "script" in test)
    assert first["script"][0] == "paretocut --version"
    for source in second["files"]["source"]:
        (tmp_path / source).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / source, tmp_path / source)
    # Conda's environment has pytest alone; a plug-in of ours would warn.
    alone = os.environ | {"PYTEST_ADDOPTS": "-pno:asyncio"}
    for command in (*first["script"], *second["script"]):
        program, *rest = shlex.split(command)
        here = {"python": [sys.executable], "paretocut": [sys.executable, "-m", "paretocut"]}
        subprocess.run([*here[program], *rest], cwd=tmp_path, env=alone, check=True)


# CITATION.cff ---------------------------------------------------------------------------------


def entries(page: str) -> dict[str, dict[str, str]]:
    """Return the fields of the BibTeX entries of a page, by their kind."""
    found = re.findall(r"^@(\w+)\{\w+,\n(.*?)^\}", page, re.MULTILINE | re.DOTALL)
    return {
        kind: dict(re.findall(r"^ *(\w+) *= \{(.*)\},?$", fields, re.MULTILINE))
        for kind, fields in found
    }


def test_the_citation_agrees_with_the_page_and_the_package() -> None:
    citation, bibtex = loaded("CITATION.cff"), entries(read("docs/cite.md"))
    software, paper = bibtex["software"], bibtex["inproceedings"]
    assert citation["title"].partition(":")[0] == PROJECT["name"]
    assert citation["title"] == software["title"]
    assert str(citation["version"]) == software["version"] == PROJECT["version"]
    assert citation["license"] == PROJECT["license"]
    assert citation["abstract"] == PROJECT["description"]
    (author,) = citation["authors"]
    assert [author] == PROJECT["authors"]
    assert software["author"] == f"{{{author['name']}}}"
    cited = citation["preferred-citation"]
    names = [f"{one['family-names']}, {one['given-names']}" for one in cited["authors"]]
    assert paper["author"] == " and ".join(names)
    assert paper["title"] == cited["title"]
    assert paper["booktitle"] == cited["collection-title"]
    assert paper["year"] == str(cited["year"])
    assert paper["note"] == cited["identifiers"][0]["value"]


@pytest.mark.packaging
def test_the_citation_has_the_format_of_citations() -> None:
    importorskip("check_jsonschema")
    command = [sys.executable, "-m", "check_jsonschema"]
    schema = ["--builtin-schema", "vendor.citation-file-format"]
    subprocess.run([*command, *schema, ROOT / "CITATION.cff"], check=True)


# Badges ---------------------------------------------------------------------------------------


def test_the_badges_are_those_of_the_package() -> None:
    badges = runpy.run_path(str(ROOT / "scripts" / "make_badges.py"))["badges"]()
    there = {path.name for path in (ROOT / "docs" / "images").glob("badge-*.svg")}
    assert badges.keys() == there
    assert len(there) <= 3
    for name, content in badges.items():
        written = (ROOT / "docs" / "images" / name).read_text(encoding="utf-8")
        assert written == content, "python scripts/make_badges.py docs/images writes them anew"


def test_the_head_of_the_readme_shows_the_badges_in_words_too() -> None:
    line = read("README.md").splitlines()[2]
    shown = re.findall(r"!\[([^]]+)\]\(docs/images/(badge-\w+\.svg)\)", line)
    assert len(shown) == len(list((ROOT / "docs" / "images").glob("badge-*.svg")))
    for words, name in shown:
        (title,) = re.findall("<title>(.*?)</title>", read(f"docs/images/{name}"))
        assert words == title.replace(":", "")


# The paper ------------------------------------------------------------------------------------


def paper() -> tuple[str, str]:
    """Return the text of the paper, and its references."""
    text, _, references = read("docs/paper/paper.md").partition("\n## References\n")
    return re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.DOTALL), references


def test_the_paper_has_two_pages_and_the_parts_that_are_asked_for() -> None:
    text, _ = paper()
    lines = [line for line in text.splitlines() if not line.startswith("|")]
    assert 800 <= len(" ".join(lines).split()) <= 1100
    headings = re.findall("^## (.*)$", text, re.MULTILINE)
    wanted = ["Statement of need", "State of the field", "What is new", "Results", "Limits"]
    assert headings == ["Summary", *wanted]


def test_every_citation_of_the_paper_is_among_its_references() -> None:
    text, references = paper()
    flat = " ".join(text.split())
    cited = set(re.findall(r"\(?([A-Z][\w-]+)(?: et al\.| and [A-Z][\w-]+)?, (\d{4})", flat))
    listed = re.findall(r"^- ([A-Z][\w-]+)[^(]*\((\d{4})\)\.", references, re.MULTILINE)
    assert len(listed) == references.count("\n- ") == len(set(listed))
    assert cited == set(listed)


def test_the_results_of_the_paper_are_those_of_the_frozen_test() -> None:
    text, _ = paper()
    results = text.partition("## Results\n")[2].partition("\n## ")[0]
    frozen = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in read("docs/evidence/frozen.md").splitlines()
        if line.startswith("|")
    ]
    known = [
        [row[0], row[1], row[2], row[4]]
        for row in frozen
        if len(row) == 9 and row[4] in ("ahead", "behind", "not shown")
    ]
    table = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in results.splitlines()
        if line.startswith("|")
    ]
    assert sorted(table[2:]) == sorted(known), "all verdicts, not a choice of them"
    pages = (read(f"docs/evidence/{name}.md") for name in ("frozen", "paper", "stop"))
    measured = set(re.findall(r"\d+\.\d+", " ".join(pages)))
    assert set(re.findall(r"\d+\.\d+", results)) <= measured
