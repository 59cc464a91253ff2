"""A report of a run as one file: the finding, and the explorer as its appendix."""

from __future__ import annotations

import base64
import datetime
import hashlib
import json
import re
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import numpy as np

from paretocut.errors import InvalidParameterError
from paretocut.evaluation.result import DEFAULT
from paretocut.show.drawing import by_rank, of_cut, svg
from paretocut.web.explorer.exploration import Exploration, Method
from paretocut.web.explorer.query import query_view, result_rows
from paretocut.web.explorer.views import frontier_view, metric_label, run_view, verdict

_CUTS, _RESULTS = 400, 50  # of each query
_ROWS = 2000  # queries of the table
_SPARE = 0.2  # of the file, for lists
_MEASURE = (
    "F1 combines precision, the share of the kept results that are relevant, and recall, the share "
    "of the relevant results that are kept. It is their harmonic mean: 1 is perfect, 0 is useless."
)
_TOP, _AROUND = 3, 2  # results of an example: the first, and on each side of the cut
_LENGTH = 600  # characters of a query
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
        content["run"] = whole | {"queries": _taken(whole["queries"], rows)}
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
    count, shown = len(run.lists), len(queries)
    all_rows = "all queries" if len(rows) == count else f"{len(rows):,} of {count:,} queries"
    kept = "all of them" if shown == len(rows) else f"{shown:,} of them"
    differ = "" if shown == count else "; the methods differ most on these"
    note = f"The table has {all_rows}, {kept} with their lists{differ}."
    content |= {"queries": queries, "note": note}
    return _page(_json(content).decode(), style, code)


def _taken(column: Any, rows: list[int]) -> Any:
    """Return some rows of the table of queries."""
    if isinstance(column, dict):
        return {key: _taken(own, rows) for key, own in column.items()}
    return None if column is None else [column[i] for i in rows]


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


def summary_view(run: Exploration) -> dict[str, Any]:
    """Return the finding, the numbers of its chart, and the examples."""
    models = [method for method in run.methods.values() if method.kind == "model"]
    method = [*models, run.methods[DEFAULT]][0]
    chart = None
    if run.evaluation is not None:
        lines = [line for line in run.evaluation.summary if line.metric == run.metric]
        value = {x.truncator: [round(y, 4) for y in (x.mean, x.low, x.high)] for x in lines}
        chart = {"ceiling": value.pop("oracle", [None])[0], "value": value}
    return {
        "date": f"{datetime.date.today():%d %B %Y}",
        "finding": _finding(run, method),
        "measure": _MEASURE if run.measured.size and run.metric == "f1" else None,
        "chart": chart,
        "method": method.label,
        "examples": [_example(run, method, *chosen) for chosen in _examples(run, method)],
    }


def _finding(run: Exploration, method: Method) -> str:
    k, depth = run.cuts(method.key).k, run.lists.scores.lengths
    if not k.size:
        return "The run has no query."
    empty = int(np.count_nonzero(k == 0))
    kept = f"{method.label} keeps {k.mean():.3g} of {np.median(depth):,.0f} results on average"
    none = f"nothing for {empty:,} of {k.size:,} queries"
    found = verdict(run)
    if found is not None:
        return f"{found} {kept}. It keeps {none}."
    most = int(np.argmax(run.disagreement))
    cuts = [int(run.cuts(key).k[most]) for key in run.methods]
    return (
        f"{kept}, and {none}. The methods differ most on query {run.lists.query_ids[most]}: they "
        f"keep {min(cuts):,} to {max(cuts):,} results. No query is judged, so the report cannot "
        "say which method is right."
    )


def _examples(run: Exploration, method: Method) -> Iterator[tuple[int, str, str]]:
    """Yield up to three lists, each with a title and the rule that chose it."""
    k, unit = run.cuts(method.key).k, metric_label(run.metric)
    if not k.size:
        return
    if run.evaluation is not None and run.evaluation.ceiling:
        own = run.evaluation.per_query(run.metric, method.key)
        loss = run.evaluation.per_query(run.metric, "oracle") - own
        chosen = [
            (run.measured[np.argmax(own)], "The cut does well", f"The highest {unit}."),
            (run.measured[np.argmax(loss)], "The cut is far off", f"The largest loss of {unit} "
             "against the best cut of the list."),
        ]  # fmt: skip
        middle = run.measured[np.argsort(own, kind="stable")[own.size // 2]]
        typical = middle, f"The median {unit}."
    else:
        spread = np.where(k > 0, run.disagreement, np.inf)
        chosen = [
            (np.argmin(spread), "The methods agree", "The smallest difference between the cuts."),
            (np.argmax(run.disagreement), "The methods differ", "The largest difference."),
        ]
        typical = np.argsort(k, kind="stable")[k.size // 2], "The median number kept."
    empty = np.flatnonzero(k == 0)
    if empty.size:
        middle = empty[np.argsort(run.lists.scores.ends()[0][empty])[empty.size // 2]]
        rule = "Of the queries for which nothing is kept, the one with the median best score."
        chosen.append((middle, "Nothing is kept", rule))
    else:
        chosen.append((typical[0], "A typical query", typical[1]))
    found: dict[int, tuple[str, str]] = {}
    for i, title, rule in chosen:
        found.setdefault(int(i), (title, rule))
    for i, told in found.items():
        yield i, *told


def _example(run: Exploration, method: Method, i: int, title: str, rule: str) -> dict[str, Any]:
    cut, ranked = run.cuts(method.key)[i], run.lists[i]
    said = f"{method.label}: {cut.reason}."
    if i in run.measured and run.lists[i : i + 1].fully_judged:
        curve, unit = run.curves_of(i)["value"][0], metric_label(run.metric)
        best = int(np.argmax(curve))
        said += (
            f" {unit} is {curve[cut.k]:.3f}; the best cut keeps {best:,} and has {curve[best]:.3f}."
        )
    ranks = {*range(_TOP), *range(cut.k - _AROUND, cut.k + _AROUND)}
    text, drawn = run.query_texts.get(ranked.query_id, ""), by_rank(of_cut(cut))
    return {
        "title": title,
        "rule": rule,
        "id": ranked.query_id,
        "text": text if len(text) <= _LENGTH else f"{text[:_LENGTH]} …",
        "said": said,
        "k": cut.k,
        "picture": svg(f"{title}: scores by rank", cut.reason, drawn) if drawn else None,
        "results": result_rows(run, i, ranked, sorted(r for r in ranks if 0 <= r < len(ranked))),
    }
