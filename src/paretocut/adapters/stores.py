"""What adapters of vector stores share: matrices of answers, and calibration on what is stored."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from paretocut.calibration import calibrate
from paretocut.calibration.searches import Search
from paretocut.errors import InvalidParameterError, InvalidScoresError
from paretocut.truncators import Calibrated
from paretocut.truncators.choose import Chosen

SAMPLE = 1000
"""How many texts are drawn from a store."""

_THREADS = 4  # searches at the same time; frameworks call their stores from threads anyway

Embed: TypeAlias = Callable[[list[str]], Any]
"""Takes texts and gives a vector for each."""


def two_matrices(who: str, **given: Any) -> list[NDArray[Any]]:
    """Return labels and distances of many queries as arrays of one shape, in the order given."""
    problem = f"{who}: {' and '.join(given)} must be two-dimensional and of one shape, got "
    try:
        arrays = [np.asarray(value) for value in given.values()]
    except ValueError as error:  # rows of different lengths
        raise InvalidScoresError(f"{problem}{error}") from error
    shapes = [array.shape for array in arrays]
    if arrays[0].ndim != 2 or shapes[0] != shapes[1]:
        raise InvalidScoresError(f"{problem}{shapes[0]} and {shapes[1]}")
    return arrays


def calibrate_store(
    texts: Iterable[Any],
    embed: Embed,
    search: Callable[[list[list[float]]], Iterable[Sequence[float]]],
    **options: Any,
) -> Calibrated:
    """Return a truncator that knows the store: its texts (None: no text), vectors and scores."""
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


def calibrate_decider(
    search: Search, texts: Iterable[str], chosen: Chosen, up: bool, options: Mapping[str, Any]
) -> Calibrated:
    """Return a gate before whatever decides now, unless the options say who is to decide."""
    decides = {} if options.keys() & {"expect", "truncator"} else {"truncator": chosen.truncator}
    given = {"threads": _THREADS, **decides, **options}
    return calibrate(search, texts, higher_is_better=up, **given)
