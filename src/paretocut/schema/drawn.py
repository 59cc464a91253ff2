"""Values that notebooks draw. `paretocut.show` says how, from above."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

__all__ = ["Drawn"]


class Drawn:
    """A value with a picture."""

    __slots__ = ()
    _drawings: ClassVar[dict[str, Callable[[Any], str]]] = {}

    @staticmethod
    def register(name: str, draw: Callable[[Any], str]) -> None:
        """Let ``draw`` make the HTML of the class of this name; classes may be loaded later."""
        Drawn._drawings[name] = draw

    def _repr_html_(self) -> str:
        return self._drawings[type(self).__name__](self)
