"""Questions in a terminal: one result on the screen, one key for the answer."""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["KEYS", "one_key", "screen"]

KEYS = {
    "y": "yes",
    "n": "no",
    "u": "unsure",
    "z": "undo",
    "s": "skip this query",
    "q": "stop",
}
_CLEAR, _BOLD, _PLAIN = "\x1b[2J\x1b[H", "\x1b[1;4m", "\x1b[0m"
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_WIDEST = 100
_SHORTEST_WORD = 3


@contextmanager
def one_key() -> Iterator[Callable[[], str]]:
    """Yield a function that waits for one key; the terminal is put back at the end."""
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


def screen(query: str, text: str, *, done: str, learned: str) -> str:
    """Return what the terminal shows of one result; rank and score are left out on purpose."""
    size = shutil.get_terminal_size()
    width, plain = min(size.columns, _WIDEST) - 2, os.environ.get("TERM") == "dumb"
    keys = "   ".join(f"{key} {what}" for key, what in KEYS.items())
    asked = textwrap.wrap(_harmless(query), width) or ["(no text)"]
    foot = [*textwrap.wrap(f"Relevant?   {keys}", width), *textwrap.wrap(learned, width)]
    room = max(size.lines - len(asked) - len(foot) - 6, 3)
    lines = [
        line for part in _harmless(text).splitlines() for line in textwrap.wrap(part, width) or [""]
    ]
    if len(lines) > room:
        lines = [*lines[: room - 1], f"... {len(lines) - room + 1} more lines"]
    shown = "\n".join(lines)
    rule = "-" * width
    body = [done, *asked, rule, shown if plain else _marked(shown, query), rule, *foot]
    return ("" if plain else _CLEAR) + "\n".join(body) + "\n"


def _harmless(text: str) -> str:
    return _CONTROL.sub(" ", text.replace("\t", " "))


def _marked(text: str, query: str) -> str:
    """Return the text with the words of the query marked."""
    words = {word for word in re.findall(r"\w+", query) if len(word) >= _SHORTEST_WORD}
    if not words:
        return text
    longest_first = sorted(words, key=lambda word: (-len(word), word))
    pattern = r"\b(?:" + "|".join(map(re.escape, longest_first)) + r")\w*"
    return re.sub(pattern, lambda match: _BOLD + match[0] + _PLAIN, text, flags=re.IGNORECASE)
