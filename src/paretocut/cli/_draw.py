"""A ranked list as a drawing of characters, no wider than 80 columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from paretocut.lists import BoolArray, FloatArray

SHOWN = 70  # results drawn; with the axis and the cut they fill 78 columns
_HEIGHT = 5


@dataclass(frozen=True)
class Symbols:
    """What a drawing is made of: bars from nothing to a full cell, marks and the cut."""

    bars: str
    hit: str
    miss: str
    cut: str


_UNICODE = Symbols(" ▁▂▃▄▅▆▇█", "●", "·", "│")
_ASCII = Symbols(" .:#", "o", "-", "|")


def symbols(encoding: str | None) -> Symbols:
    """Return the symbols that the encoding of a terminal can show."""
    try:
        "".join((_UNICODE.bars, _UNICODE.hit, _UNICODE.miss, _UNICODE.cut)).encode(
            encoding or "ascii"
        )
    except (UnicodeEncodeError, LookupError):
        return _ASCII
    return _UNICODE


def draw_list(
    surprise: FloatArray, relevant: BoolArray, k: int, top: float, signs: Symbols
) -> Iterator[str]:
    """Yield the lines of a drawing: surprise by rank, the cut, and which results are relevant."""
    shown, marks = surprise[:SHOWN], relevant[:SHOWN]
    steps = len(signs.bars) - 1
    filled = (shown / top * (_HEIGHT * steps)).round().astype(int).tolist()
    for row in reversed(range(_HEIGHT)):
        cells = "".join(signs.bars[min(max(level - row * steps, 0), steps)] for level in filled)
        label = f"{top:5.1f}" if row == _HEIGHT - 1 else "    0" if row == 0 else ""
        yield f"{label:>5} {_with_cut(cells, k, signs.cut)}".rstrip()
    dots = "".join(signs.hit if hit else signs.miss for hit in marks.tolist())
    yield f"{'':>5} {_with_cut(dots, k, signs.cut)}"


def _with_cut(cells: str, k: int, sign: str) -> str:
    return cells[:k] + sign + cells[k:]
