"""The page on warnings has every warning, in the words of the library."""

from __future__ import annotations

import re

from support import ROOT

import paretocut as pc

PAGE = (ROOT / "docs" / "warnings.md").read_text(encoding="utf-8")


def test_the_table_says_what_the_library_says() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", PAGE, re.MULTILINE))
    assert rows == pc.decisions.WARNINGS


def test_every_warning_has_its_section() -> None:
    assert re.findall(r"^## (\w+)$", PAGE, re.MULTILINE) == list(pc.decisions.WARNINGS)
