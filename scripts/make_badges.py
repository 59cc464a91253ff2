"""Draw the badges of the README from pyproject.toml, so that they need no server.

python scripts/make_badges.py docs/images
"""

from __future__ import annotations

import argparse
import html
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# The widths of letters depend on the reader's fonts, so they are set: the words are drawn to fit.
NARROW, LETTER, SLIM, MARGIN, HEIGHT = " .,-1fijlrt", 7.0, 4.4, 8, 20
DARK, BLUE = "#4d545c", "#0a6ea8"  # white on either has a contrast of at least 4.5


def badge(name: str, value: str) -> str:
    """Return two words side by side, as SVG."""
    parts, at = [], 0.0
    for words, colour in ((name, DARK), (value, BLUE)):
        length = sum(SLIM if letter in NARROW else LETTER for letter in words)
        width = length + 2 * MARGIN
        parts.append(
            f'<rect x="{at:.1f}" width="{width:.1f}" height="{HEIGHT}" fill="{colour}"/>'
            f'<text x="{at + MARGIN:.1f}" y="14" textLength="{length:.1f}">'
            f"{html.escape(words)}</text>"
        )
        at += width
    words = html.escape(f"{name}: {value}")
    return (
        f'<svg role="img" xmlns="http://www.w3.org/2000/svg" width="{at:.1f}" height="{HEIGHT}">'
        f"<title>{words}</title>"
        f'<clipPath id="c"><rect width="{at:.1f}" height="{HEIGHT}" rx="3"/></clipPath>'
        '<g clip-path="url(#c)" fill="#fff" font-size="11" '
        f'font-family="Verdana, DejaVu Sans, sans-serif">{"".join(parts)}</g></svg>\n'
    )


def badges() -> dict[str, str]:
    """Return the badges by file name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needs = [re.split(r"[<>=!~ ]", one)[0] for one in project["dependencies"]]
    python = re.sub(r"^>=(.*)", r"\1 or later", project["requires-python"])
    shown = {
        "python": ("Python", python),
        "needs": ("needs", " and ".join(needs).replace("numpy", "NumPy") + " only"),
        "licence": ("licence", project["license"]),
    }
    return {f"badge-{name}.svg": badge(*words) for name, words in shown.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description="Draw the badges of the README.")
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    for name, content in badges().items():
        (folder / name).write_text(content, encoding="utf-8")


if __name__ == "__main__":
    main()
