"""The exceptions paretocut raises.

::

    ParetocutError
    ├── InvalidScoresError (ValueError)    scores, offsets or relevance that cannot be used
    ├── InvalidParameterError (ValueError) an option outside what is allowed
    ├── DataFormatError (ValueError)       a file that breaks its format; has .path and .line
    │   └── TrecFormatError
    ├── NotFittedError (ValueError, AttributeError)  a decision asked for before fit
    └── MissingExtraError (ImportError)    an optional package is not installed; has .extra

Every message says who refused, which argument, what is allowed and what came.
"""

from __future__ import annotations

import importlib
from typing import Any

__all__ = [
    "DataFormatError",
    "InvalidParameterError",
    "InvalidScoresError",
    "MissingExtraError",
    "NotFittedError",
    "ParetocutError",
    "TrecFormatError",
]


class ParetocutError(Exception):
    """Base of every error raised on purpose by paretocut; ``who`` refused."""

    def __init__(self, message: str = "", *, who: str = "") -> None:
        super().__init__(message)
        self.who = who

    def __str__(self) -> str:
        return f"{self.who}: {super().__str__()}" if self.who else super().__str__()


class InvalidScoresError(ParetocutError, ValueError):
    """Scores, relevance or offsets that no method can use."""


class InvalidParameterError(ParetocutError, ValueError):
    """An option outside what is allowed."""


class DataFormatError(ParetocutError, ValueError):
    """A file that breaks its format: ``path`` as the caller named it, ``line`` counted from 1."""

    def __init__(self, path: str, line: int, problem: str) -> None:
        super().__init__(f"{path}:{line}: {problem}")
        self.path, self.line, self.problem = path, line, problem

    def __reduce__(self) -> tuple[type[DataFormatError], tuple[str, int, str]]:
        return type(self), (self.path, self.line, self.problem)


class TrecFormatError(DataFormatError):
    """A TREC run or qrels file with a broken line."""


class NotFittedError(ParetocutError, ValueError, AttributeError):
    """A truncator that must be fitted was asked to decide before ``fit``."""


class MissingExtraError(ParetocutError, ImportError):
    """An optional package is needed and not installed; ``extra`` names what installs it."""

    def __init__(self, feature: str, package: str, extra: str) -> None:
        super().__init__(
            f"{feature} needs the package {package!r}, which is not installed: "
            f"pip install 'paretocut[{extra}]'"
        )
        self.feature, self.package, self.extra = feature, package, extra

    def __reduce__(self) -> tuple[type[MissingExtraError], tuple[str, str, str]]:
        return type(self), (self.feature, self.package, self.extra)


class speaking_for:  # a class, because a generator takes longer
    """Let errors inside the block name ``who`` instead of the ``callees``, and before any other."""

    def __init__(self, who: str, *callees: str) -> None:
        self._who, self._callees = who, callees

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, ParetocutError):
            own = "" if error.who in self._callees else error.who
            error.who = ": ".join(filter(None, (self._who, own)))


def require(module: str, *, feature: str, extra: str) -> Any:
    """Return the imported module, or say which extra installs it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        if error.name is not None and error.name.partition(".")[0] != package:
            raise  # the package is there; one of its own dependencies is missing
        raise MissingExtraError(feature, package, extra) from error
