"""The layers of the package, and the picture of them in CONTRIBUTING.md.

``python tests/helpers/layers.py`` writes the picture anew;
tests/project/test_codebase.py keeps both true.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "paretocut"
PAGE = ROOT / "CONTRIBUTING.md"
_MODULE = re.compile(r"paretocut(\.[a-z_]+)+")
_BEGIN, _END = "<!-- layers -->\n", "<!-- end of layers -->"

# A module imports only from the rows above its own; modules of one row do not see each other.
LAYERS = [
    {"_kernel", "errors"},
    {"schema"},
    {"callbacks", "lists"},
    {"answers", "decisions"},
    {"tail"},
    {"metrics", "background", "relevance"},
    {"truncators"},
    {"calibration", "fusion", "judging", "stopping", "evaluation"},
    {"io", "show", "adapters", "loading"},
    {"web"},
    {"cli"},
    {"__main__"},
]
RANK = {name: rank for rank, row in enumerate(LAYERS) for name in row}
# The top may use the package as its users do; further down, that would close a circle.
TOP = {"cli", "web", "__main__"}
# Narrower than the order asks: reading files must not pull the methods in.
ONLY = {"io": {"_kernel", "errors", "schema", "lists"}}


def modules() -> list[Path]:
    """Return every module but __init__, which gathers the public names, and __main__.

    `data/notes.py` is no module: `paretocut example` writes it into a folder.
    """
    outside = {PACKAGE / name for name in ("__init__.py", "__main__.py", "data/notes.py")}
    return sorted(path for path in PACKAGE.rglob("*.py") if path not in outside)


def part_of(path: Path) -> str:
    """Return the layer's name for a file: its module, or the folder it is in."""
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def imports(tree: ast.AST, package: list[str]) -> Iterator[tuple[int, str]]:
    """Yield line and dotted name of each import of ours, wherever in the file it is made.

    A module's name in a string counts too: `import_module` hides no arrow.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) + 1 - node.level] if node.level else []
            source = ".".join([*base, *filter(None, [node.module])])
            names = [f"{source}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            names = [node.value] if _MODULE.fullmatch(node.value) else []
        else:
            continue
        for name in names:
            if name.partition(".")[0] == "paretocut":
                yield node.lineno, name


def imported_parts(tree: ast.AST, package: list[str]) -> Iterator[tuple[int, str]]:
    """Yield line and layer of each import of ours."""
    for line, name in imports(tree, package):
        _, *rest = name.split(".")
        yield line, rest[0] if rest else "paretocut"


def may_import(own: str, other: str) -> bool:
    """Return whether the arrow goes from one layer's part to the other's."""
    if other == own:
        return True
    if other not in RANK:
        return own in TOP
    return RANK[other] < RANK[own] and other in ONLY.get(own, RANK)


def problems_in(path: Path) -> Iterator[str]:
    """Yield each import of the file that points against the arrow."""
    own = part_of(path)
    package = ["paretocut", *path.relative_to(PACKAGE).parent.parts]
    for line, other in imported_parts(ast.parse(path.read_text(encoding="utf-8")), package):
        if not may_import(own, other):
            yield f"{path.relative_to(ROOT)}:{line}: {own} must not import {other}"


def graph() -> dict[str, set[str]]:
    """Return which modules each module imports, those inside packages too."""
    names = {
        ".".join(["paretocut", *path.relative_to(PACKAGE).with_suffix("").parts]): path
        for path in modules()
        if path.name != "__init__.py"
    }
    arrows: dict[str, set[str]] = {}
    for name, path in names.items():
        package = name.split(".")[:-1]
        found = set()
        for _, imported in imports(ast.parse(path.read_text(encoding="utf-8")), package):
            # `from a.b import c` names a module or something inside one.
            found |= {imported, imported.rpartition(".")[0]} & names.keys()
        arrows[name] = found - {name}
    return arrows


def circles() -> list[list[str]]:
    """Return circles of imports between modules, each by the modules on it."""
    arrows, found, done = graph(), [], set()

    def walk(name: str, way: list[str]) -> None:
        if name in way:
            found.append(way[way.index(name) :])
        elif name not in done:
            for other in sorted(arrows[name]):
                walk(other, [*way, name])
            done.add(name)

    for name in sorted(arrows):
        walk(name, [])
    return found


def picture() -> str:
    """Return the layers as text, the lowest last: what is above imports from what is below."""
    rows = ["  ".join(sorted(row - {"__main__"})) for row in reversed(LAYERS)]
    return "```text\n" + "\n   |\n".join(filter(None, rows)) + "\n```\n"


def on_the_page() -> str:
    """Return the picture as CONTRIBUTING.md has it."""
    text = PAGE.read_text(encoding="utf-8")
    return text.partition(_BEGIN)[2].partition(_END)[0]


if __name__ == "__main__":
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(_BEGIN)
    PAGE.write_text(before + _BEGIN + picture() + _END + rest.partition(_END)[2], encoding="utf-8")
