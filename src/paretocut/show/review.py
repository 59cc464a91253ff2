"""One page for a committee: what a review promised, read and found, and when it looked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from paretocut.show.drawing import RELEVANT, along, frame, line, svg, text, upward
from paretocut.stopping import State

_STYLE = (
    "body{max-width:46em;margin:2em auto;padding:0 1em;font:16px/1.5 system-ui,sans-serif}"
    "table{border-collapse:collapse;width:100%;margin:1em 0}td,th{border-bottom:1px solid #bbb;"
    "padding:.25em .5em;text-align:left}td.n{text-align:right;font-feature-settings:'tnum'}"
    "@media print{body{margin:0}}"
)
_LIMITS = (
    "Recall counts only records that the search found.",
    "A relevant record that a reader excluded counts as irrelevant.",
    "The lower bound holds if the ranking is no worse than a random order: at each point the next "
    "record is at least as likely to be relevant as one drawn from the unread ones. With a random "
    "sample (Target) it holds for any ranking.",
    "A promise by reliability (Quantile) is about reviews like the earlier ones taken together. A "
    "single review may fall short.",
    "The best guess is an estimate from finished medical reviews. It promises nothing.",
)


def review_page(
    curve: Sequence[int],
    state: State,
    about: Mapping[str, Any],
    plans: Sequence[Mapping[str, Any]],
    looks: Sequence[Mapping[str, Any]],
) -> str:
    """Return the page as HTML.

    Parameters
    ----------
    curve
        How many records had been read when each relevant one was found.
    state
        The state of the review.
    about
        The rule and its numbers, the date, the reviewer, the version and the hash of the input.
    plans, looks
        What a `paretocut.stopping.Protocol` has on record; empty without one.
    """
    met = ": the stopping rule was met" if state.stop else " yet"
    flow = (
        ("Records identified, duplicates removed", f"{state.total:,}"),
        (f"Records not screened{met}", f"{state.total - state.read:,}"),
        ("Records screened", f"{state.read:,}"),
        ("Records excluded", f"{state.read - state.found:,}"),
        ("Reports sought for retrieval", f"{state.found:,}"),
    )
    fixed = [_fixed(plan, "" if i else "first") for i, plan in enumerate(plans)]
    fixed_head = ("date", "reviewer", "promise", "reason for the change")
    look_head = ("date", "reviewer", "read", "found", "lower bound", "best guess", "decision")
    parts = [
        f"<h1>{'This review may stop' if state.stop else 'This review goes on'}</h1>",
        f"<p>{text(str(state))}</p>",
        *(f"<p><b>Warning:</b> {text(warning)}</p>" for warning in state.warnings),
        "<h2>Counts for a PRISMA 2020 flow diagram</h2>",
        _table((), flow),
        "<h2>Finds</h2>",
        _finds(curve, state),
        "<h2>What was fixed, and when</h2>",
        _table(fixed_head, fixed)
        if fixed
        else "<p>No protocol was kept before the first look.</p>",
        "<h2>Looks</h2>",
        _table(look_head, map(_looked, looks)) if looks else "<p>No looks are on record.</p>",
        "<h2>Limits</h2>",
        "<ul>" + "".join(f"<li>{limit}</li>" for limit in _LIMITS) + "</ul>",
        "<h2>Made from</h2>",
        _table((), ((name, _shown(value)) for name, value in about.items())),
    ]
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Stopping report</title>'
        f"<style>{_STYLE}</style><body>{''.join(parts)}</body></html>\n"
    )


def _finds(curve: Sequence[int], state: State) -> str:
    x, y = along(0.0, float(state.total)), upward(float(max(state.found, 1)))
    read = np.array([0, *(place for find in curve for place in (find - 1, find)), state.read])
    found = np.array([0, *(k for i in range(len(curve)) for k in (i, i + 1)), state.found])
    drawn = [*frame(x, y, "records read", "relevant records found")]
    about = f"{state.found} relevant records among {state.read} read of {state.total}"
    drawn.append(line(x.at(read), y.at(found), RELEVANT))
    return svg("Relevant records found", about, drawn)


def _fixed(plan: Mapping[str, Any], reason: str) -> Sequence[str]:
    left_out = ("date", "reviewer", "paretocut", "reason", "learned")
    promise = ", ".join(f"{key} {value}" for key, value in plan.items() if key not in left_out)
    return str(plan["date"]), _shown(plan.get("reviewer")), promise, str(plan.get("reason", reason))


def _looked(look: Mapping[str, Any]) -> Sequence[str]:
    guess = "" if look["expected"] is None else f"{look['expected']:.2f}"
    numbers = f"{look['read']:,}", f"{look['found']:,}", f"{look['at_least']:.2f}", guess
    decision = "stop" if look["stop"] else "go on"
    return str(look["date"]), _shown(look.get("reviewer")), *numbers, decision


def _shown(value: Any) -> str:
    return "not given" if value is None else str(value)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = (("th", head), *(("td", row) for row in rows))
    return f"<table>{''.join(_row(tag, cells) for tag, cells in lines if cells)}</table>"


def _row(tag: str, cells: Sequence[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{text(cell)}</{tag}>' for cell in cells)}</tr>"
