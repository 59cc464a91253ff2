"""Promises about the source as a whole: its layers, its versions, what an import costs."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from layers import (
    RANK,
    circles,
    imported_parts,
    may_import,
    modules,
    on_the_page,
    part_of,
    picture,
    problems_in,
)
from support import ROOT

import paretocut as pc


def test_every_module_has_a_layer() -> None:
    assert {part_of(path) for path in modules()} <= RANK.keys()


def test_imports_follow_the_layers() -> None:
    assert [problem for path in modules() for problem in problems_in(path)] == []


def test_no_module_imports_one_that_imports_it() -> None:
    assert circles() == []


def test_the_picture_for_contributors_is_the_table_of_layers() -> None:
    assert on_the_page() == picture(), "python tests/helpers/layers.py writes it anew"


def test_the_walks_for_contributors_name_what_is_there() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    walks = text.partition("## How a list travels")[2].partition("```text\n")[2].partition("```")[0]
    steps = re.findall(
        r"^[\w ]{12}(?:paretocut )?(\S+) +([\w/]+/(?:\w+\.py)?) ", walks, re.MULTILINE
    )
    assert len(steps) > 30
    for name, place in steps:
        path = ROOT / "src" / "paretocut" / place
        files = [path] if place.endswith(".py") else sorted(path.glob("*.py"))
        code = "".join(file.read_text(encoding="utf-8") for file in files)
        last = name.rpartition(".")[2]
        assert re.search(rf"(def|class) {last}\b|{last} = ", code), (name, place)


@pytest.mark.parametrize(
    ("part", "line", "allowed"),
    [
        ("lists", "from paretocut.errors import InvalidScoresError", True),
        ("lists", "def f():\n    from paretocut import tail", False),
        ("truncators/simple", "from ..metrics import f1", True),
        ("truncators/simple", "from ..evaluation import evaluate", False),
        ("truncators/simple", "from ._base import Truncator", True),
        ("io/trec", "import paretocut.tail", False),
        ("metrics", "import paretocut as pc", False),
        ("cli", "import paretocut as pc", True),
        ("cli/serving", "from paretocut.web.app import create_app", True),
        ("web/app", "from paretocut.cli import main", False),
    ],
)
def test_layer_check_sees_every_form_of_import(part: str, line: str, allowed: bool) -> None:
    own, *folders = part.split("/")
    package = ["paretocut", *([own] if folders else [])]
    ((_, other),) = imported_parts(ast.parse(line), package)
    assert may_import(own, other) == allowed


def committed_files() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    paths = [ROOT / name for name in listed.stdout.decode().split("\0") if name]
    return [path for path in paths if path.is_file()]


def test_no_file_names_a_folder_of_one_machine() -> None:
    homes = re.compile(rb"(?<![\w.~:/-])/(?:work|root|home|Users)/\w")
    found = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in committed_files()
        for number, line in enumerate(path.read_bytes().splitlines(), start=1)
        if homes.search(line)
    ]
    assert found == []


def test_versions_agree() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    versions = {
        "pyproject.toml": project["version"],
        "CITATION.cff": re.findall(r"^version: (.+)$", citation, re.MULTILINE)[0],
        "CHANGELOG.md": re.findall(r"^## \[(.+?)\]", changelog, re.MULTILINE)[0],
        "paretocut.__version__": pc.__version__,
    }
    assert len(set(versions.values())) == 1, versions


def test_the_extra_named_all_has_every_other_but_those_with_pytorch() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    (requirement,) = extras.pop("all")
    left_out = {"neural", "sentence-transformers"}
    assert set(re.findall(r"[\w-]+", requirement)[1:]) == extras.keys() - left_out


def test_extras_have_the_names_that_every_pip_finds() -> None:
    # A wheel has them with hyphens, and before release 23.3 pip did not find them with underscores.
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for extra in project["optional-dependencies"]:
        assert re.fullmatch("[a-z0-9]+(-[a-z0-9]+)*", extra), extra


def test_extras_the_code_names_exist() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = {
        extra
        for path in modules()
        for extra in re.findall(r"\bextra=\"([\w-]+)\"", path.read_text(encoding="utf-8"))
    }
    assert "arrow" in named
    assert named <= project["optional-dependencies"].keys()


@pytest.mark.parametrize("required", ["0", "1"])
def test_skips_are_failures_where_everything_is_required(required: str, tmp_path: Path) -> None:
    codes = {
        "test": "import pytest\ndef test_it(): pytest.skip('no test')\n",
        "module": "import pytest\npytest.importorskip('no_such_module', reason='no module')\n",
    }
    for level, code in codes.items():
        (tmp_path / f"test_{level}.py").write_text(code, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    options = ["-p", "conftest", "-p", "no:cacheprovider", "-rs", "--continue-on-collection-errors"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options],
        cwd=tmp_path,
        env=os.environ
        | {
            "PARETOCUT_REQUIRE_ALL": required,
            "PYTHONPATH": os.pathsep.join([str(ROOT / "tests"), str(ROOT / "tests" / "helpers")]),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    if required == "1":
        assert done.returncode != 0
        for reason in ("no test", "no module"):
            assert re.search(f"nothing may be skipped. .*{reason}", done.stdout)
    else:
        assert "2 skipped" in done.stdout


def test_import_loads_nothing_but_numpy() -> None:
    heavy = {"scipy", "sklearn", "torch", "pyarrow", "pandas", "matplotlib", "tqdm", "kneed"}
    heavy |= {"importlib.metadata", "asyncio", "http"}  # slow parts of the standard library
    code = (
        "import sys, numpy\n"
        "before = set(sys.modules)\n"
        "import paretocut\n"
        "print(*sorted(set(sys.modules) - before))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(run.stdout.split())
    assert "paretocut" in loaded
    assert not loaded & heavy


def test_the_page_of_dependencies_says_what_the_package_declares() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    project = declared["project"]
    expected = {"none": set(project["dependencies"])}
    for extra, packages in project["optional-dependencies"].items():
        if extra != "all":
            expected[extra] = set(packages)
    page = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1:4] for line in page.splitlines() if line.startswith("| ")]
    found = {
        extra.strip(" `"): set(re.findall("`([^`]+)`", packages)) for extra, packages, _ in rows[1:]
    }
    assert found == expected
    assert all(reason.strip() for _, _, reason in rows)
    assert all(f"`{tool}`" in page for tool in declared["build-system"]["requires"])


def _defined(tree: ast.Module) -> set[str]:
    """Return the names that a module defines: functions, classes, attributes, variables."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            names.add(node.attr)
    return names


def _is_hidden(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__")


def _is_own(owner: ast.expr) -> bool:
    """Return whether an attribute is asked of the object itself: of self, cls or super()."""
    if isinstance(owner, ast.Call):
        owner = owner.func
        return isinstance(owner, ast.Name) and owner.id == "super"
    return isinstance(owner, ast.Name) and owner.id in ("self", "cls")


def _foreign(tree: ast.Module, own: set[str], ours: set[str]) -> list[str]:
    """Return where a module asks for a hidden name of ours that it does not define itself."""
    found = []
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.ImportFrom):
            if node.level or (node.module or "").startswith("paretocut"):
                hidden = [alias.name for alias in node.names if _is_hidden(alias.name)]
                found += [f"{node.lineno} imports {name}" for name in hidden if name != "_kernel"]
        elif isinstance(node, ast.Attribute) and not _is_own(node.value):
            names = [node.attr]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in _ASKING:
            if not (node.args and _is_own(node.args[0])):
                names = [arg.value for arg in node.args if isinstance(arg, ast.Constant)]
        for name in names:
            if isinstance(name, str) and _is_hidden(name) and name in ours - own:
                found.append(f"{node.lineno} {ast.unparse(node)}")
    return found


_ASKING = {"getattr", "hasattr", "setattr", "delattr", "attrgetter", "methodcaller", "__setattr__"}


def test_nobody_asks_for_a_hidden_name_of_another_module() -> None:
    """Hidden names of our classes and modules stay where they are defined."""
    trees = {
        path: ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted((ROOT / "src").rglob("*.py"))
    }
    assert len(trees) > 100
    own = {path: _defined(tree) for path, tree in trees.items()}
    ours = set().union(*own.values())  # hidden names of other libraries are their makers' matter
    found = {
        str(path.relative_to(ROOT)): places
        for path, tree in trees.items()
        if (places := _foreign(tree, own[path], ours))
    }
    assert found == {}


@pytest.mark.parametrize(
    "line",
    [
        "truncator._cuts(lists)",
        "truncator.base._cuts",
        "getattr(truncator, '_cuts')",
        "object.__setattr__(truncator, '_cuts', None)",
        "operator.attrgetter('_cuts')(truncator)",
        "from paretocut.truncators.base import _cuts",
        "from .base import _cuts",
    ],
)
def test_every_way_to_ask_for_a_hidden_name_is_seen(line: str) -> None:
    tree = ast.parse(line)
    assert _foreign(tree, _defined(tree), {"_cuts"}) != []
    assert _foreign(ast.parse("self._cuts(lists)"), set(), {"_cuts"}) == []
    assert _foreign(ast.parse("sys._getframe(1)"), set(), {"_cuts"}) == []
