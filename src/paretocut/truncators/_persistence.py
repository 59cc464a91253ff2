"""Files of truncators: JSON for what they are, safetensors for large arrays."""

from __future__ import annotations

import math
import os
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paretocut import metrics
from paretocut._extras import require
from paretocut._modelfiles import read_model, write_model, write_whole
from paretocut.background import FORMAT as BACKGROUND
from paretocut.background import Background
from paretocut.errors import DataFormatError, InvalidParameterError
from paretocut.metrics import Metric
from paretocut.truncators._base import Truncator

__all__ = ["load", "save"]

_FORMAT = "paretocut-truncator"


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
    """Return the truncator or the background that ``save`` wrote.

    Parameters
    ----------
    path
        The JSON file; its ``.safetensors`` file, where it has one, must lie beside it.

    Raises
    ------
    DataFormatError
        For a file that holds neither.
    """
    content = read_model(path, (_FORMAT, BACKGROUND))
    try:
        if content["format"] == BACKGROUND:
            return Background.from_dict(content)
        return _restore(content, "", _tensors(Path(path), content.get("tensors")))
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        if isinstance(error, DataFormatError):
            raise
        what = "background" if content["format"] == BACKGROUND else "truncator"
        raise DataFormatError(str(path), 1, f"not a {what}: {error}") from error


def _tensors(source: Path, beside: Any) -> dict[str, NDArray[Any]]:
    if not beside:
        return {}
    # Only the name counts: a model file must not make us read from anywhere else.
    file = source.with_name(Path(beside["file"]).name)
    data = file.read_bytes()
    if _digest(data) != beside["sha256"]:
        raise DataFormatError(str(file), 1, f"does not belong to {source.name}: save it again")
    arrays: dict[str, NDArray[Any]] = require(
        "safetensors.numpy", feature="loading arrays", extra="sklearn"
    ).load(data)
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
        raise InvalidParameterError(
            f"{who}: {name} must be plain data or a metric known by name to be saved, got {value!r}"
        )

    arrays = truncator._tensors()
    tensors |= {f"{prefix}{name}": np.asarray(array) for name, array in arrays.items()}
    learned = [name for name in truncator._learned() if name not in truncator._tensor_names]
    params = truncator.get_params(deep=False)
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


def _restore(content: dict[str, Any], prefix: str, tensors: dict[str, NDArray[Any]]) -> Truncator:
    def decode(value: Any, name: str) -> Any:
        if isinstance(value, list):
            return [decode(item, name) for item in value]
        if not isinstance(value, dict):
            return value
        if "$float" in value:
            return float(value["$float"])
        if "$tuple" in value:
            return tuple(decode(item, name) for item in value["$tuple"])
        if "$array" in value:
            return np.array(decode(value["$array"], name), dtype=value["dtype"])
        if "$metric" in value:
            return metrics.get(value["$metric"])
        if "$truncator" in value:
            return _restore(value["$truncator"], f"{prefix}{name}/", tensors)
        if "$background" in value:
            return Background.from_dict(value["$background"])
        return {key: decode(item, name) for key, item in value.items()}

    name = content["class"]
    kind = Truncator._classes.get(name)
    if kind is None:
        # Built-in classes that load late, such as the neural ones, register on first use.
        kind = getattr(import_module("paretocut.truncators"), name, None)
    if not (isinstance(kind, type) and issubclass(kind, Truncator)):
        raise ValueError(f"class must be a known truncator, got {name!r}")
    truncator = kind(**{key: decode(value, key) for key, value in content["params"].items()})
    for key, value in content["learned"].items():
        if not key.endswith("_") or key.startswith("_"):
            raise ValueError(f"learned names must end in an underscore, got {key!r}")
        setattr(truncator, key, decode(value, key))
    own = {
        key.removeprefix(prefix): array for key, array in tensors.items() if key.startswith(prefix)
    }
    truncator._set_tensors(own)
    truncator._validate()
    return truncator
