"""Pages made of words and numbers: the words live in Markdown, the code fills in the numbers."""

from __future__ import annotations

import csv
import io
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from experiments.data import ROOT

__all__ = ["between", "fill", "gain", "percent", "picture", "share", "sheets", "spread", "table"]

WIDTH = 100
LONG = 10
"""Rows of a table that may stand on a page of tables."""
IMAGES = ROOT / "docs" / "images"
GREY = "#808080"
"""Read on light and on dark pages."""
STYLE = {
    "axes.edgecolor": GREY,
    "axes.facecolor": "none",
    "axes.labelcolor": GREY,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 9,
    "font.size": 9,
    "legend.frameon": False,
    "svg.fonttype": "path",
    "svg.hashsalt": "paretocut",
    "text.color": GREY,
    "xtick.color": GREY,
    "ytick.color": GREY,
}


def fill(words: Path, facts: Mapping[str, Any]) -> str:
    """Return the words with each ``{name}`` or ``{name:format}`` filled in, paragraphs wrapped."""
    used = set()

    def fact(found: re.Match[str]) -> str:
        used.add(found[1])
        if found[1] not in facts:
            raise ValueError(f"{words}: no number for {found[0]}")
        return format(facts[found[1]], found[2] or "")

    text = re.sub(r"\{(\w+)(?::([^{}]+))?\}", fact, words.read_text(encoding="utf-8"))
    if unused := sorted(facts.keys() - used):
        raise ValueError(f"{words}: worked out and not used: {', '.join(unused)}")
    blocks = re.split(r"(^```.*?^```$)|\n{2,}", text.strip("\n"), flags=re.MULTILINE | re.DOTALL)
    return "\n\n".join(_wrapped(block.strip("\n")) for block in blocks if block) + "\n"


def _wrapped(block: str) -> str:
    """Return a paragraph or a list, wrapped anew now that the numbers are in it."""
    if block.startswith(("#", "|", "!", "<", "```")):
        return block
    wrap = textwrap.TextWrapper(WIDTH, break_on_hyphens=False, break_long_words=False)
    wrap.subsequent_indent = "  " if block.startswith("- ") else ""
    items = re.split(r"\n(?=- )", block)
    # A number and its percent sign stay on one line.
    lines = (wrap.fill(" ".join(item.split()).replace(" %", "\0%")) for item in items)
    return "\n".join(lines).replace("\0", " ")


def sheets(page: str, text: str) -> dict[str, str]:
    """Return a page whose tables of more than `LONG` rows are files beside it, and these files.

    The site shows the files as tables that a click sorts.
    """
    path = Path(page)
    made: dict[str, str] = {}

    def moved(found: re.Match[str]) -> str:
        head, _, *rows = (line[2:-2].split(" | ") for line in found[0].split("\n"))
        if len(rows) <= LONG:
            return found[0]
        name = f"tables/{path.stem}-{len(made) + 1:02}.csv"
        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerows([head, *rows])
        made[(path.parent / name).as_posix()] = out.getvalue()
        return f"```{{csv-table}}\n:file: {name}\n:header-rows: 1\n```"

    return {page: re.sub(r"^\|.*(?:\n\|.*)+", moved, text, flags=re.MULTILINE)} | made


def between(path: Path, name: str, content: str) -> str:
    """Return the text of a hand-written file with the table that ``make name`` puts into it."""
    begin, end = f"<!-- by `make {name}` -->\n", "<!-- end -->\n"
    before, _, rest = path.read_text(encoding="utf-8").partition(begin)
    return f"{before}{begin}\n{content}\n\n{end}{rest.partition(end)[2]}"


def table(head: Sequence[str], rows: Iterable[Iterable[str]], *, text: int = 1) -> str:
    """Return a table; the first ``text`` columns hold words, the others numbers."""
    rule = "|" + "---|" * text + "---:|" * (len(head) - text)
    lines = [head, *rows]
    first, *others = (f"| {' | '.join(cells)} |" for cells in lines)
    return "\n".join([first, rule, *others])


def percent(value: float) -> str:
    """Return a relative change: "+2.2 %"."""
    return f"{100 * value:+.1f} %"


def share(value: float, digits: int = 0) -> str:
    """Return a share: "22 %"."""
    return f"{100 * value:.{digits}f} %"


def gain(values: Iterable[float]) -> str:
    """Return a gain with its interval: "+2.2 % (+1.8 % to +2.6 %)"."""
    return "{} ({} to {})".format(*map(percent, values))


def spread(values: Iterable[float], form: str = "{:.3f}") -> str:
    """Return the smallest and the largest value: "0.012 to 0.034", or one if they are alike."""
    found = list(values)
    low, high = form.format(min(found)), form.format(max(found))
    return low if low == high else f"{low} to {high}"


@contextmanager
def picture(name: str, size: tuple[float, float], rows: int = 1, columns: int = 1) -> Iterator[Any]:
    """Give the axes of an SVG in ``docs/images``: the same numbers give the same file."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(STYLE):
        figure = Figure(figsize=size, layout="constrained")
        yield figure.subplots(rows, columns)
        path = IMAGES / f"{name}.svg"
        figure.savefig(path, metadata={"Date": None}, transparent=True)
