"""The explorer of a run as one file: page, style, code and data, nothing from outside."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from importlib.resources import files
from typing import Any

import numpy as np

from paretocut.errors import InvalidParameterError
from paretocut.web.explorer.exploration import Exploration
from paretocut.web.explorer.views import frontier_view, query_view, run_view

_CUTS, _RESULTS = 400, 50  # of each query
_IMPORT = re.compile(r"^import [^;]*? from \"\./(\w+\.js)\";\n", re.MULTILINE)


def render(run: Exploration, *, max_size: int = 1_900_000) -> bytes:
    """Return the report as an HTML file of at most ``max_size`` bytes.

    All queries are in the table; the most interesting ones come with their lists, as many as fit.
    """
    shell = _page("", style := _static("style.css"), code := _bundle("main.js"))
    content: dict[str, Any] = {"run": run_view(run), "frontier": frontier_view(run)}
    content |= {"queries": {}, "note": " " * 400}  # room for the note
    room = max_size - len(shell) - len(_json(content))
    queries: dict[int, Any] = {}
    for i in _interesting(run):
        view = query_view(run, i, most_cuts=_CUTS, most_results=_RESULTS, digits=5)
        size = len(_json({str(i): view})) + 1
        if size > room:
            break
        room -= size
        queries[i] = view
    if not queries and len(run.lists):
        raise InvalidParameterError(
            f"report: max_size must leave room for one query at least, got {max_size}"
        )
    content |= {"queries": queries, "note": _note(run, len(queries))}
    return _page(_json(content).decode(), style, code)


def _note(run: Exploration, shown: int) -> str:
    lists = run.lists
    kept = f"all {shown}" if shown == len(lists) else f"{shown} of {len(lists)}"
    note = (
        f"Report of {run.name}. The table has all queries; {kept} come with their lists"
        + ("" if shown == len(lists) else ", those on which the methods differ most first")
        + "."
    )
    if int(lists.scores.lengths.max(initial=0)) >= _CUTS:
        note += f" Of longer lists about {_CUTS} cuts are drawn, the first {_CUTS // 2} all."
    return note + f" The first {_RESULTS} results of a list are named."


def _interesting(run: Exploration) -> list[int]:
    """Return the positions of the lists: where methods differ, where F1 is lost, and so on."""
    by_spread: list[int] = np.argsort(-run.disagreement, kind="stable").tolist()
    if not run.measured.size:
        return by_spread
    gain = np.abs(run.values("f1", "consensus") - run.values("f1", "first10"))
    by_gain = np.argsort(-np.nan_to_num(gain), kind="stable").tolist()
    turns = [i for pair in zip(by_spread, by_gain, strict=True) for i in pair]
    return list(dict.fromkeys(turns))


def _static(name: str) -> str:
    return files("paretocut.web.explorer").joinpath("static", name).read_text(encoding="utf-8")


def _bundle(main: str) -> str:
    """Return a module and all it imports as one script.

    The modules share one scope then, so their top-level names differ.
    """
    done: dict[str, str] = {}

    def add(name: str) -> None:
        if name in done:
            return
        text = _static(name)
        done[name] = ""  # its place is after what it imports, but it is not begun twice
        for other in _IMPORT.findall(text):
            add(other)
        del done[name]
        done[name] = re.sub(r"^export ", "", _IMPORT.sub("", text), flags=re.MULTILINE)

    add(main)
    return "".join(done.values())


def _json(content: Any) -> bytes:
    # "<" would let a text from a file end the script element it stands in.
    text = json.dumps(content, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").encode()


def _page(data: str, style: str, code: str) -> bytes:
    def digest(text: str) -> str:
        return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

    policy = (
        f"default-src 'none'; script-src 'sha256-{digest(code)}'; "
        f"style-src 'sha256-{digest(style)}'; img-src data:; base-uri 'none'; form-action 'none'"
    )
    page = _static("index.html")
    parts = {
        '<meta charset="utf-8">\n': '<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n',
        '<link rel="stylesheet" href="static/style.css">': f"<style>{style}</style>",
        '<script type="module" src="static/main.js"></script>\n': "",
        "</body>": f'<script type="application/json" id="report">{data}</script>\n'
        f'<script type="module">{code}</script>\n</body>',
    }
    for old, new in parts.items():
        assert page.count(old) == 1, old
        page = page.replace(old, new)
    return page.encode()
