"""The contract every truncator keeps: parameters, fit, predict, copies and files."""

from __future__ import annotations

import inspect
import math
import os
from abc import ABC, abstractmethod
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from paretocut import metrics
from paretocut._extras import require
from paretocut.errors import DataFormatError, InvalidParameterError, NotFittedError
from paretocut.metrics import Metric
from paretocut.types import IntArray, Ragged, RaggedLike, RankedLists

__all__ = ["Truncator", "load"]

_FORMAT = "paretocut-truncator"
_VERSION = 1


class Truncator(ABC):
    """Base of everything that chooses how many results of a list to keep.

    The conventions are scikit-learn's: the constructor only stores its arguments, `fit` learns
    from judged lists and returns the truncator, what it learned is in attributes that end in an
    underscore, and `predict` gives one cut per list. A subclass writes ``_validate`` (checks of
    its parameters) and ``_predict``; it writes ``_fit`` where there is something to learn, and
    says in ``_learns`` when there is not.
    """

    _classes: ClassVar[dict[str, type[Truncator]]] = {}
    _tensor_names: ClassVar[tuple[str, ...]] = ()
    _in_place_of_fit: ClassVar[str] = ""  # parameters that make learning unnecessary
    """Learned arrays that are too large for JSON; they are saved as safetensors beside it."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        Truncator._classes[cls.__name__] = cls

    def fit(self, lists: RankedLists) -> Self:
        """Return the truncator itself, after learning from judged lists.

        Parameters
        ----------
        lists
            Training lists. Methods that learn nothing accept lists without judgements.
        """
        ranked = _ranked(lists)
        self._validate()
        for name in self._learned():
            delattr(self, name)
        if self._learns():
            if len(ranked) == 0:
                raise InvalidParameterError(
                    f"{type(self).__name__}: lists must hold at least one list to learn from, got 0"
                )
            self._fit(ranked)
        return self

    def predict(self, lists: RankedLists | RaggedLike) -> IntArray:
        """Return how many results of each list to keep.

        Parameters
        ----------
        lists
            `RankedLists`, or bare scores in any layout that takes (higher is better).
        """
        ranked = _ranked(lists)
        self._validate()
        self._require_fitted()
        return np.asarray(self._predict(ranked), dtype=np.int64)

    def truncate(self, lists: RankedLists) -> RankedLists:
        """Return the lists cut where `predict` says."""
        return lists.truncate(self.predict(lists))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the constructor's arguments by name.

        Parameters
        ----------
        deep
            Also those of truncators among them, as ``name__argument``.
        """
        params = {name: getattr(self, name) for name in self._defaults()}
        if deep:
            for name, value in list(params.items()):
                if isinstance(value, Truncator):
                    params |= {f"{name}__{key}": item for key, item in value.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Return the truncator itself with some of the constructor's arguments replaced."""
        allowed = self._defaults()
        for name, value in params.items():
            owner, _, rest = name.partition("__")
            if owner not in allowed:
                raise InvalidParameterError(
                    f"{type(self).__name__}: parameters must be among {', '.join(allowed)}, "
                    f"got {name!r}"
                )
            if rest:
                getattr(self, owner).set_params(**{rest: value})
            else:
                setattr(self, name, value)
        return self

    def clone(self) -> Self:
        """Return a new truncator with the same parameters that has learned nothing."""
        params = self.get_params(deep=False)
        return type(self)(
            **{
                name: value.clone() if isinstance(value, Truncator) else value
                for name, value in params.items()
            }
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the truncator as JSON, with large arrays in a ``.safetensors`` file beside it.

        Parameters
        ----------
        path
            The JSON file. It is replaced in one step: a reader sees the old or the new one.
        """
        import json  # here, as most programs never save: importing paretocut stays quick

        target = Path(path)
        tensors: dict[str, NDArray[Any]] = {}
        content = {"format": _FORMAT, "version": _VERSION, **_describe(self, "", tensors)}
        if tensors:
            data = require("safetensors.numpy", feature="saving arrays", extra="sklearn").save(
                {name: np.ascontiguousarray(array) for name, array in tensors.items()}
            )
            beside = target.with_suffix(".safetensors")
            _write(beside, data)
            content["tensors"] = {"file": beside.name, "sha256": _digest(data)}
        text = json.dumps(content, indent=2, allow_nan=False)
        _write(target, (text + "\n").encode())

    def __repr__(self) -> str:
        changed = [
            f"{name}={getattr(self, name)!r}"
            for name, default in self._defaults().items()
            if not _same(getattr(self, name), default)
        ]
        return f"{type(self).__name__}({', '.join(changed)})"

    # What subclasses write or change.

    @abstractmethod
    def _validate(self) -> None:
        """Raise InvalidParameterError for a parameter outside what is allowed."""

    def _learns(self) -> bool:
        """Return whether fit has anything to learn with these parameters."""
        return True

    def _fit(self, lists: RankedLists) -> None:
        """Learn from judged lists; called only where ``_learns`` says so."""
        raise NotImplementedError(f"{type(self).__name__} learns but has no _fit")

    @abstractmethod
    def _predict(self, lists: RankedLists) -> IntArray:
        """Return the cuts."""

    def _keys(self, lists: RankedLists) -> Ragged:
        """Return one number per result, never rising down a list: what `Conformal` thresholds.

        Keeping the results whose number is at least ``t`` gives a nested family of cuts. Here
        it is the predicted cut, stretched or shrunk by a common factor; ``t = 1`` is the cut
        itself. Methods that have a value for each result use that instead.
        """
        lengths = lists.scores.lengths
        rank = np.arange(lists.scores.values.size) - np.repeat(lists.scores.offsets[:-1], lengths)
        return lists.scores.with_values(np.repeat(self.predict(lists) + 0.5, lengths) / (rank + 1))

    def _keys_learn(self) -> bool:
        """Return whether fit must come before ``_keys``."""
        return self._learns()

    def _tensors(self) -> dict[str, NDArray[Any]]:
        """Return the arrays to save as safetensors."""
        arrays: dict[str, NDArray[Any]] = {}
        for name in self._tensor_names:
            value = getattr(self, name, None)
            if isinstance(value, Ragged):
                arrays |= {f"{name}.values": value.values, f"{name}.offsets": value.offsets}
            elif value is not None:
                arrays[name] = value
        return arrays

    def _set_tensors(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Take back what ``_tensors`` gave."""
        for name in self._tensor_names:
            if name in arrays:
                setattr(self, name, arrays[name])
            elif f"{name}.values" in arrays:
                ragged = Ragged(arrays[f"{name}.values"], arrays[f"{name}.offsets"])
                setattr(self, name, ragged)

    # Shared machinery.

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        parameters = inspect.signature(cls).parameters.values()
        return {parameter.name: parameter.default for parameter in parameters}

    def _learned(self) -> list[str]:
        return [name for name in vars(self) if name.endswith("_") and not name.startswith("_")]

    def _require_fitted(self) -> None:
        if self._learns() and not self._learned():
            given = self._in_place_of_fit and f", or with {self._in_place_of_fit} given"
            raise NotFittedError(
                f"{type(self).__name__}: predict must come after fit(judged_lists){given}, "
                "got predict first"
            )


def _ranked(lists: RankedLists | RaggedLike) -> RankedLists:
    return lists if isinstance(lists, RankedLists) else RankedLists(lists)


def load(path: str | os.PathLike[str]) -> Truncator:
    """Return the truncator that `Truncator.save` wrote.

    Parameters
    ----------
    path
        The JSON file; its ``.safetensors`` file, where it has one, must lie beside it.
    """
    import json

    source = Path(path)
    try:
        content = json.loads(source.read_bytes())
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise DataFormatError(
            str(path), getattr(error, "lineno", 1), f"not JSON: {error}"
        ) from None
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        raise DataFormatError(str(path), 1, f'expected "format": "{_FORMAT}"')
    if content.get("version") != _VERSION:
        raise DataFormatError(
            str(path), 1, f"expected version {_VERSION}, got {content.get('version')}"
        )
    tensors: dict[str, NDArray[Any]] = {}
    if beside := content.get("tensors"):
        # Only the name counts: a model file must not make us read from anywhere else.
        file = source.with_name(Path(beside["file"]).name)
        data = file.read_bytes()
        if _digest(data) != beside["sha256"]:
            raise DataFormatError(str(file), 1, f"does not belong to {source.name}: save it again")
        tensors = require("safetensors.numpy", feature="loading arrays", extra="sklearn").load(data)
    try:
        return _restore(content, "", tensors)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DataFormatError(str(path), 1, f"not a truncator: {error}") from error


def _same(value: Any, default: Any) -> bool:
    try:
        return value is default or bool(value == default)
    except ValueError:  # arrays compare element by element
        return False


def _digest(data: bytes) -> str:
    import hashlib

    return hashlib.sha256(data).hexdigest()


def _write(path: Path, data: bytes) -> None:
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(data)
        temporary.replace(path)
    except OSError as error:
        # Speak of the file asked for, not of the one it was to be made from.
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        temporary.unlink(missing_ok=True)


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
        setattr(truncator, key, decode(value, key))
    own = {
        key.removeprefix(prefix): array for key, array in tensors.items() if key.startswith(prefix)
    }
    truncator._set_tensors(own)
    return truncator
