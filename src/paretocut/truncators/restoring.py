"""How truncators, and the values inside them, come back from a file."""

from __future__ import annotations

import inspect
from contextlib import suppress
from contextvars import ContextVar
from typing import Any

from paretocut import metrics
from paretocut.errors import InvalidParameterError
from paretocut.lists import Ragged
from paretocut.metrics import Metric
from paretocut.schema.files import decode, encode, register
from paretocut.truncators.base import Truncator
from paretocut.truncators.naming import class_named

_DEEPEST = 8  # truncators inside truncators
_DEPTH: ContextVar[int] = ContextVar("_DEPTH", default=0)


def restore(content: Any) -> Truncator:
    """Return the truncator that `Truncator.to_dict` described."""
    kind = class_named(content["class"])
    if not issubclass(kind, Truncator) or inspect.isabstract(kind):
        raise ValueError(f"class must be a truncator that decides, got {content['class']:.90}")
    depth = _DEPTH.get()
    if depth > _DEEPEST:
        raise ValueError(f"truncators must be at most {_DEEPEST} deep in each other, got more")
    token = _DEPTH.set(depth + 1)
    try:
        return kind.from_dict(content)
    finally:
        _DEPTH.reset(token)


def _name_of(metric: Metric) -> str:
    with suppress(InvalidParameterError):
        if metrics.get(metric.name) == metric:
            return metric.name
    raise InvalidParameterError(
        f"save: metric must be plain data or a metric known by name to be saved, got {metric!r}"
    )


register("metric", Metric, _name_of, metrics.get)
register("truncator", Truncator, lambda truncator: truncator.to_dict(), restore)
register(
    "lists",
    Ragged,
    lambda lists: encode([lists.values, lists.offsets], who="save", name="lists"),
    lambda content: Ragged(*map(decode, content)),
)
