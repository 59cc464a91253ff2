"""A report of a run as one file: what was found, and the explorer as its appendix.

Page, style, code and data are in it; nothing comes from outside.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from importlib.resources import files
from typing import Any

import numpy as np

from paretocut.errors import InvalidParameterError
from paretocut.evaluation.result import DEFAULT
from paretocut.web.explorer.exploration import Exploration
from paretocut.web.explorer.summary import summary_view
from paretocut.web.explorer.views import frontier_view, query_view, run_view

_CUTS, _RESULTS = 400, 50  # of each query
_ROWS = 2000  # queries of the table
_SPARE = 0.2  # of the file, for lists
_IMPORT = re.compile(r"^import [^;]*? from \"\./(\w+\.js)\";\n", re.MULTILINE)


def render(run: Exploration, *, max_size: int = 1_900_000) -> bytes:
    """Return the report as an HTML file of at most ``max_size`` bytes.

    The examples and the most interesting queries are in the table, and of these the first come
    with their lists, as many as fit. Means are over all queries.
    """
    shell = _page("", style := _static("style.css"), code := _bundle("main.js"))
    whole, summary = run_view(run) | {"open": {}}, summary_view(run)
    ids = run.lists.query_ids.tolist()
    examples = [ids.index(example["id"]) for example in summary["examples"]]
    order = list(dict.fromkeys([*examples, *_interesting(run)]))
    most = _ROWS
    content: dict[str, Any] = {"frontier": frontier_view(run), "queries": {}, "summary": summary}
    while True:
        rows = sorted(order[:most])
        content["run"] = _with_rows(whole, rows)
        room = max_size - len(shell) - len(_json(content)) - 500  # for the note
        if room > _SPARE * max_size or most <= 10:
            break
        most //= 2
    queries: dict[int, Any] = {}
    place = {i: j for j, i in enumerate(rows)}
    for i in order[:most]:
        view = query_view(run, i, most_cuts=_CUTS, most_results=_RESULTS, digits=5)
        view["index"] = place[i]
        size = len(_json({str(place[i]): view})) + 1
        if size > room:
            break
        room -= size
        queries[place[i]] = view
    if not queries and len(run.lists):
        raise InvalidParameterError(
            f"max_size must leave room for one query at least, got {max_size}", who="report"
        )
    content |= {"queries": queries, "note": _note(run, len(rows), len(queries))}
    return _page(_json(content).decode(), style, code)


def _with_rows(view: dict[str, Any], rows: list[int]) -> dict[str, Any]:
    """Return the view of a run with some rows of the table of queries."""

    def taken(column: Any) -> Any:
        if isinstance(column, dict):
            return {key: taken(own) for key, own in column.items()}
        return None if column is None else [column[i] for i in rows]

    return view | {"queries": taken(view["queries"])}


def _note(run: Exploration, rows: int, shown: int) -> str:
    lists = run.lists
    all_rows = "all queries" if rows == len(lists) else f"{rows:,} of {len(lists):,} queries"
    kept = "all of them" if shown == rows else f"{shown:,} of them"
    differ = "" if shown == rows == len(lists) else "; the methods differ most on these"
    return f"The table has {all_rows}, {kept} with their lists{differ}."


def _interesting(run: Exploration) -> list[int]:
    """Return the positions of the lists: where methods differ, where F1 is lost, and so on."""
    by_spread: list[int] = np.argsort(-run.disagreement, kind="stable").tolist()
    if not run.measured.size:
        return by_spread
    gain = np.abs(run.values(DEFAULT) - run.values("first10"))
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
