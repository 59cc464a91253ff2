"""Runs every block of code in README.md and docs: what the pages show is what happens.

The blocks of one page run in order, in a temporary folder that holds what `paretocut example .`
writes there, and nothing else:

- ``python``: executed, all blocks of a page in one namespace;
- ``pycon``: a doctest in that same namespace;
- ``sh``: a script for bash, in which every command must succeed;
- ``console``: each line after ``$`` is run, and its output compared with the lines that follow
  (``...`` stands for anything, as in doctests); no lines means any output.

What a page starts in the background ends with it.

``text`` and data formats are not run; any other language is an error, so that no block is
forgotten. Lines that begin with ``pip install`` are not run either: the extras they name are
checked, and installing is what the packaging tests do.
"""

from __future__ import annotations

import doctest
import os
import re
import shutil
import signal
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from support import ROOT, missing

from paretocut.cli import main
from paretocut.errors import MissingExtraError

PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("**/*.md")])
FENCE = re.compile(
    r"^(?P<indent> *)(?P<fence>`{3,})(?P<language>[^\n`]*)\n"
    r"(?P<code>.*?)^(?P=indent)(?P=fence)`* *$",
    re.MULTILINE | re.DOTALL,
)
RUNNABLE = {"python", "pycon", "sh", "console"}
NOT_RUN = {"text", "json", "toml", "csv", "bibtex", "make", "cmake", "cpp"}
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
STARTED: list[int] = []  # groups of processes, one for each shell


@dataclass(frozen=True)
class Block:
    """One fenced block: where it stands, its language and its text."""

    page: Path
    line: int
    language: str
    code: str

    @property
    def place(self) -> str:
        """Return page and line, as a traceback gives them."""
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks_of(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    blocks = []
    for match in FENCE.finditer(text):
        indent = match["indent"]
        code = "".join(
            line.removeprefix(indent) for line in match["code"].splitlines(keepends=True)
        )
        line = text.count("\n", 0, match.start("code")) + 1
        blocks.append(Block(page, line, match["language"].strip(), code))
    # MyST directives such as {toctree} are Sphinx's own affair.
    return [block for block in blocks if not block.language.startswith("{")]


def shell(script: str, place: str) -> str:
    environment = os.environ | {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "COLUMNS": "80",
    }
    with subprocess.Popen(
        ["bash", "-euo", "pipefail", "-c", script],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        STARTED.append(process.pid)
        output, errors = process.communicate(timeout=300)
    assert process.returncode == 0, f"{place}: exit code {process.returncode}\n{script}\n{errors}"
    return output


@pytest.fixture(autouse=True)
def ended() -> Iterator[None]:
    """End what the page has left running."""
    yield
    while STARTED:
        with suppress(ProcessLookupError):
            os.killpg(STARTED.pop(), signal.SIGTERM)


def run_python(block: Block, namespace: dict[str, Any]) -> None:
    # Blank lines in front make tracebacks name the line of the page.
    source = "\n" * (block.line - 1) + block.code
    exec(compile(source, str(block.page), "exec"), namespace)


def run_pycon(block: Block, namespace: dict[str, Any]) -> None:
    test = doctest.DocTestParser().get_doctest(
        block.code, namespace, block.place, str(block.page), block.line - 1
    )
    report: list[str] = []
    doctest.DocTestRunner(optionflags=OPTIONS).run(test, out=report.append, clear_globs=False)
    assert not report, "".join(report)
    namespace.update(test.globs)


def run_console(block: Block) -> None:
    for part in re.split(r"^\$ ", block.code, flags=re.MULTILINE)[1:]:
        lines = part.splitlines(keepends=True)
        length = 1
        while lines[length - 1].endswith("\\\n"):
            length += 1
        command, expected = "".join(lines[:length]), "".join(lines[length:])
        if command.startswith("pip install"):
            continue
        output = shell(command, block.place)
        matches = doctest.OutputChecker().check_output(expected, output, OPTIONS)
        assert not expected.strip() or matches, (
            f"{block.place}: {command}expected\n{expected}got\n{output}"
        )


def parameter(page: Path) -> Any:
    """Return the page for a test; recipes and adapters need their packages, and forgive them."""
    adapter = page.parent in (ROOT / "docs" / "adapters", ROOT / "docs" / "recipes")
    ours = [
        pytest.mark.heavy,
        pytest.mark.filterwarnings("ignore::DeprecationWarning"),
        pytest.mark.filterwarnings("ignore::ResourceWarning"),
        pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas"),
    ]
    return pytest.param(page, id=str(page.relative_to(ROOT)), marks=ours if adapter else [])


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with what `paretocut example` writes."""
    folder = tmp_path_factory.mktemp("example")
    assert main(["example", str(folder), "--quiet"]) == 0
    return folder


@pytest.mark.parametrize("page", [parameter(page) for page in PAGES])
def test_every_block_of_the_page_runs(
    page: Path, tmp_path: Path, example: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = [block for block in blocks_of(page) if block.language not in NOT_RUN]
    assert [block.place for block in blocks if block.language not in RUNNABLE] == []
    if not blocks:
        return
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))  # where PostgreSQL's server puts its lock
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    shutil.copytree(example, tmp_path, dirs_exist_ok=True)
    monkeypatch.syspath_prepend(tmp_path)
    page_module = ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", page_module)  # classes are found by their names
    namespace = vars(page_module)
    for block in blocks:
        try:
            if block.language == "python":
                run_python(block, namespace)
            elif block.language == "pycon":
                run_pycon(block, namespace)
            elif block.language == "console":
                run_console(block)
            else:
                lines = block.code.splitlines(keepends=True)
                kept = [line for line in lines if not line.startswith("pip install")]
                shell("".join(kept), block.place)
        except (ModuleNotFoundError, MissingExtraError) as error:
            missing(f"{block.place}: {error}")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_extras_the_page_names_exist(page: Path) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = re.findall(r"paretocut\[([\w,-]+)\]", page.read_text(encoding="utf-8"))
    extras = {extra for group in named for extra in group.split(",")}
    assert extras <= project["optional-dependencies"].keys()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_no_page_is_long(page: Path) -> None:
    """Tables and code do not count; an appendix may have more words around its tables."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    words = sum(len(line.split()) for line in text.splitlines() if not line.startswith("|"))
    assert words < (2000 if "-" in page.stem and page.parent.name == "evidence" else 1300)


RECIPES = sorted((ROOT / "docs" / "recipes").glob("*.md"))


@pytest.mark.parametrize("page", RECIPES, ids=lambda page: page.stem)
def test_a_recipe_answers_its_question_in_two_lines_on_one_screen(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    title, answer, *_ = text.split("\n\n")
    assert title.startswith("# ")
    assert title.endswith("?")
    assert len(answer.splitlines()) <= 2
    assert len(text.split()) <= 500
    headings = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert headings == ["Measured", "When it does not work"]
    assert len(re.findall(r"^<!-- by `make recipes` -->$", text, re.MULTILINE)) == 1


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").split()) <= 1000
