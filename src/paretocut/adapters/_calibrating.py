"""Calibration of a vector store on what it holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

from paretocut.calibration import calibrate
from paretocut.errors import InvalidParameterError
from paretocut.truncators import Calibrated

__all__ = ["SAMPLE", "Embed", "calibrate_store"]

SAMPLE = 1000
"""How many texts are drawn from a store."""

Embed: TypeAlias = Callable[[list[str]], Any]
"""Takes texts and gives a vector for each."""


def calibrate_store(
    texts: Iterable[Any],
    embed: Embed,
    search: Callable[[list[list[float]]], Iterable[Sequence[float]]],
    **options: Any,
) -> Calibrated:
    """Return a truncator that knows the store.

    Parameters
    ----------
    texts
        Texts of the store, or None where a record has none.
    embed
        Gives a vector for each text.
    search
        Gives the scores of each vector.
    **options
        As for `paretocut.calibrate`.
    """
    drawn = list(texts)
    known = [text for text in drawn if isinstance(text, str)]
    if not known:
        raise InvalidParameterError(
            f"calibrate: the store must hold texts to make nonsense of, got none in {len(drawn)} "
            "records; use paretocut.calibrate(search, texts) instead"
        )
    return calibrate(
        lambda queries: search(np.asarray(embed(queries), dtype=np.float64).tolist()),
        known,
        batch=True,
        **options,
    )
