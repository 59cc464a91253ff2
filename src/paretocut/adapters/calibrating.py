"""Calibration of a framework's component on the store behind it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from paretocut.calibration import calibrate
from paretocut.calibration.searches import Search
from paretocut.truncators import Calibrated
from paretocut.truncators.choose import Chosen

_THREADS = 4  # searches at the same time; frameworks call their stores from threads anyway


def calibrate_decider(
    search: Search,
    texts: Iterable[Any],
    chosen: Chosen,
    options: Mapping[str, Any],
    higher_is_better: bool | None = None,
) -> Calibrated:
    """Return a gate before whatever decides now, unless the options say who is to decide.

    Texts may be documents of the framework.
    """
    known = [text_of(text) for text in texts]
    decides = {} if options.keys() & {"expect", "truncator"} else {"truncator": chosen.truncator}
    given = {"threads": _THREADS, "higher_is_better": higher_is_better, **decides, **options}
    return calibrate(search, known, **given)


def text_of(document: Any) -> Any:
    """Return the text of a document of a framework; a text as it is."""
    for name in ("page_content", "content", "text"):
        if isinstance(found := getattr(document, name, None), str):
            return found
    return document
