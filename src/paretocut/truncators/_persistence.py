"""Files of truncators: JSON for what they are, safetensors for large arrays."""

from __future__ import annotations

import math
import os
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paretocut import metrics
from paretocut.background import Background
from paretocut.background.law import FORMAT as BACKGROUND
from paretocut.errors import DataFormatError, InvalidParameterError, MissingExtraError
from paretocut.metrics import Metric
from paretocut.schema.extras import require
from paretocut.schema.files import read_model, read_whole, write_model, write_whole
from paretocut.schema.kinds import checked
from paretocut.truncators._base import Truncator
from paretocut.truncators.consensus.pretrain import Pretrained
from paretocut.truncators.neural.training import Training

__all__ = ["FORMATS", "load", "restored", "save"]

_FORMAT = "paretocut-truncator"
FORMATS = (_FORMAT, BACKGROUND)
"""The kinds of files that `load` reads."""
# What wrong content leads to, wherever in the checks it is found.
_REFUSALS = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
_NOT_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
_NUMBERS = ("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")
_DTYPES = {f"{order}{kind}": kind for order in "<>|" for kind in _NUMBERS}
_DEEPEST = 8  # truncators inside truncators


def save(truncator: Truncator, path: str | os.PathLike[str]) -> None:
    """Write a truncator; see `Truncator.save`."""
    if Path(path).suffix == ".safetensors":
        raise InvalidParameterError(
            "save: path must name the JSON file, whose arrays go beside it, "
            f"got {os.fspath(path)!r}"
        )
    tensors: dict[str, NDArray[Any]] = {}
    content = _describe(truncator, "", tensors)
    if tensors:
        data = require("safetensors.numpy", feature="saving arrays", extra="sklearn").save(
            {name: np.ascontiguousarray(array) for name, array in tensors.items()}
        )
        beside = Path(path).with_suffix(".safetensors")
        write_whole(beside, data)
        content["tensors"] = {"file": beside.name, "sha256": _digest(data)}
    write_model(path, _FORMAT, content)


def load(path: str | os.PathLike[str]) -> Truncator | Background:
    """Return the truncator or the background that ``save`` wrote; see `paretocut.load`.

    Parameters
    ----------
    path
        The JSON file.
    """
    return restored(path, read_model(path, FORMATS))


def restored(path: str | os.PathLike[str], content: dict[str, Any]) -> Truncator | Background:
    """Return the truncator or the background that a file holds.

    Parameters
    ----------
    path
        The JSON file.
    content
        What is in it.
    """
    is_background = content["format"] == BACKGROUND
    try:
        if is_background:
            return Background.from_dict(content)
        return _restore(content, "", _tensors(Path(path), content.get("tensors")), 0)
    except _REFUSALS as error:
        if isinstance(error, (DataFormatError, MissingExtraError)):
            raise
        what = "background" if is_background else "truncator"
        said = f"{error}" if str(error) else type(error).__name__
        raise DataFormatError(str(path), 1, f"not a {what}: {said:.300}") from error


def _tensors(source: Path, beside: Any) -> dict[str, NDArray[Any]]:
    if beside is None:
        return {}
    # Only the name counts: a model file must not make us read from anywhere else.
    file = source.with_name(Path(beside["file"]).name)
    if file.suffix != ".safetensors":
        raise ValueError(f"arrays must be in a .safetensors file, got {file.name!r:.60}")
    try:
        data = read_whole(file)
    except FileNotFoundError:
        raise DataFormatError(
            str(source), 1, f"expected {file.name} beside it, got nothing"
        ) from None
    if _digest(data) != beside["sha256"]:
        raise DataFormatError(str(file), 1, f"does not belong to {source.name}: save it again")
    library = require("safetensors.numpy", feature="loading arrays", extra="sklearn")
    try:
        arrays: dict[str, NDArray[Any]] = library.load(data)
    except Exception as error:  # an error of its own, and whatever else a type unknown to it gives
        raise DataFormatError(str(file), 1, f"expected safetensors, got {error!r:.200}") from None
    return arrays


def _digest(data: bytes) -> str:
    import hashlib

    return hashlib.sha256(data).hexdigest()


def _describe(
    truncator: Truncator, prefix: str, tensors: dict[str, NDArray[Any]]
) -> dict[str, Any]:
    """Return what JSON holds of a truncator, and put its large arrays into ``tensors``."""
    who = type(truncator).__name__

    def encode(value: Any, name: str) -> Any:
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or isinstance(value, (bool, int, str)):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else {"$float": repr(value)}
        if isinstance(value, tuple):
            return {"$tuple": [encode(item, name) for item in value]}
        if isinstance(value, list):
            return [encode(item, name) for item in value]
        if isinstance(value, dict):
            return {str(key): encode(item, name) for key, item in value.items()}
        if isinstance(value, np.ndarray):
            return {"$array": encode(value.tolist(), name), "dtype": value.dtype.str}
        if isinstance(value, Metric) and _is_named(value):
            return {"$metric": value.name}
        if isinstance(value, Truncator):
            return {"$truncator": _describe(value, f"{prefix}{name}/", tensors)}
        if isinstance(value, Background):
            return {"$background": value.to_dict()}
        if isinstance(value, Pretrained):
            return {"$pretrained": value.to_dict()}
        if isinstance(value, Training):
            return {"$training": asdict(value)}
        raise InvalidParameterError(
            f"{who}: {name} must be plain data or a metric known by name to be saved, got {value!r}"
        )

    arrays = truncator._tensors()
    tensors |= {f"{prefix}{name}": np.asarray(array) for name, array in arrays.items()}
    learned = [name for name in truncator._learned() if name not in truncator._tensor_names]
    params = truncator._saved_params()
    return {
        "class": who,
        "params": {name: encode(value, name) for name, value in params.items()},
        "learned": {name: encode(getattr(truncator, name), name) for name in learned},
    }


def _is_named(metric: Metric) -> bool:
    try:
        return metrics.get(metric.name) == metric
    except InvalidParameterError:
        return False


def _restore(content: Any, prefix: str, tensors: dict[str, NDArray[Any]], depth: int) -> Truncator:
    if depth > _DEEPEST:
        raise ValueError(f"truncators must be at most {_DEEPEST} deep in each other, got more")

    def decode(value: Any, name: str) -> Any:
        if isinstance(value, list):
            return [decode(item, name) for item in value]
        if not isinstance(value, dict):
            return value
        if "$float" in value:
            return _NOT_FINITE[value["$float"]]
        if "$tuple" in value:
            return tuple(decode(item, name) for item in value["$tuple"])
        if "$array" in value:
            return _array(decode(value["$array"], name), value["dtype"])
        if "$metric" in value:
            return metrics.get(value["$metric"])
        if "$truncator" in value:
            return _restore(value["$truncator"], f"{prefix}{name}/", tensors, depth + 1)
        if "$background" in value:
            return Background.from_dict(value["$background"])
        if "$pretrained" in value:
            return Pretrained.from_dict(value["$pretrained"])
        if "$training" in value:
            return Training(**value["$training"])
        return {key: decode(item, name) for key, item in value.items()}

    name = content["class"]
    kind = Truncator._classes.get(name)
    if kind is None:
        # Built-in classes that load late, such as the neural ones, register on first use.
        kind = getattr(import_module("paretocut.truncators"), name, None)
    if not (isinstance(kind, type) and issubclass(kind, Truncator)):
        raise ValueError(f"class must be a known truncator, got {name!r:.60}")
    truncator = kind(**{key: decode(value, key) for key, value in content["params"].items()})
    truncator._validate()
    truncator.__dict__ |= checked(
        truncator._data(), {key: getattr(truncator, key) for key in truncator._data()}
    )
    own = {
        key.removeprefix(prefix): array
        for key, array in tensors.items()
        if key.startswith(prefix) and "/" not in key.removeprefix(prefix)
    }
    learned = {key: decode(value, key) for key, value in content["learned"].items()}
    learned |= truncator._from_tensors(own)
    for key, value in truncator._checked(learned).items():
        setattr(truncator, key, value)
    return truncator


def _array(items: Any, dtype: Any) -> NDArray[Any]:
    """Return an array of a type that JSON can hold, without turning words into numbers."""
    wanted = np.dtype(_DTYPES[dtype])
    found = np.asarray(items)
    if found.size and found.dtype.kind not in ("b" if wanted.kind == "b" else "iuf"):
        raise ValueError(f"an array must hold numbers, got {found.dtype}")
    if found.size and wanted.kind in "iu" and found.dtype.kind == "f":
        raise ValueError("an array of integers must hold integers, got other numbers")
    return found.astype(wanted)
