"""The terminal: notes, progress, JSON lines, single keys, and a ranked list drawn in characters."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any, NamedTuple, TypeVar

from paretocut.decisions import WARNINGS
from paretocut.io.formats import json_line
from paretocut.io.streams import open_target

if TYPE_CHECKING:
    from paretocut.show.picture import Picture

T = TypeVar("T")
_SHOWN = 70  # results drawn; with the axis and the cut they fill 78 columns
_HEIGHT = 5


class Symbols(NamedTuple):
    """The characters of a drawing: bars from an empty cell to a full one, marks and the cut."""

    bars: str
    hit: str
    miss: str
    cut: str


_UNICODE = Symbols(" ▁▂▃▄▅▆▇█", "●", "·", "│")
_ASCII = Symbols(" .:#", "o", "-", "|")


def note(message: str, who: str = "paretocut") -> None:
    """Write one line to standard error."""
    sys.stderr.write(f"{who}: {message}\n")


def warn(message: str) -> None:
    """Write one warning to standard error."""
    note(message, "paretocut: warning")


@contextlib.contextmanager
def noted_warnings(*, quiet: bool) -> Iterator[None]:
    """Turn the warnings that the library raises inside the block into notes."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield
    for warning in caught:
        if not quiet:
            warn(str(warning.message))


def report_warnings(found: Iterable[Sequence[str]], queries: int) -> None:
    """Note each warning of the lists once, with the number of lists and the remedy."""
    counts = Counter(name for names in found for name in names)
    for name in WARNINGS:
        if counts[name]:
            warn(f"{name} in {counts[name]} of {queries} queries: {WARNINGS[name]}")


def with_progress(files: Sequence[IO[bytes]], groups: Iterable[T], *, quiet: bool) -> Iterator[T]:
    """Yield the groups; on a terminal with tqdm, a bar shows how much of the files was read."""
    if quiet or not sys.stderr.isatty() or importlib.util.find_spec("tqdm") is None:
        yield from groups
        return
    from tqdm import tqdm

    total = sum(os.fstat(file.fileno()).st_size for file in files)
    with tqdm(total=total, unit="B", unit_scale=True, delay=1, leave=False) as bar:
        for group in groups:
            yield group
            bar.update(sum(file.tell() for file in files) - bar.n)


def print_json(row: Mapping[str, Any]) -> None:
    """Write one line of JSON to standard output."""
    with open_target("-") as out:
        out.write(json_line(row))


@contextlib.contextmanager
def one_key() -> Iterator[Callable[[], str]]:
    """Yield a function that waits for one key; the terminal is restored at the end."""
    if sys.platform == "win32":
        import msvcrt

        yield msvcrt.getwch
        return
    import termios
    import tty

    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    try:
        tty.setcbreak(descriptor)  # Ctrl-C still interrupts
        yield lambda: os.read(descriptor, 1).decode(errors="replace")
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def symbols(encoding: str | None) -> Symbols:
    """Return the symbols that a terminal with this encoding can show."""
    try:
        "".join(_UNICODE).encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return _ASCII
    return _UNICODE


def draw_list(picture: Picture, top: float, signs: Symbols) -> Iterator[str]:
    """Yield the lines of a drawing: values by rank, the cut, and marks for relevant results.

    The first 70 results are drawn; a bar of full height stands for the value ``top``.
    """

    def with_cut(cells: str) -> str:
        return cells[: picture.k] + signs.cut + cells[picture.k :]

    steps = len(signs.bars) - 1
    values = picture.values[:_SHOWN]
    filled = (values / top * (_HEIGHT * steps)).round().astype(int).tolist()
    for row in reversed(range(_HEIGHT)):
        cells = "".join(signs.bars[min(max(level - row * steps, 0), steps)] for level in filled)
        label = f"{top:5.1f}" if row == _HEIGHT - 1 else "    0" if row == 0 else ""
        yield f"{label:>5} {with_cut(cells)}".rstrip()
    hits = set(picture.hits.tolist())
    marks = "".join(signs.hit if i in hits else signs.miss for i in range(values.size))
    yield f"{'':>5} {with_cut(marks)}"
