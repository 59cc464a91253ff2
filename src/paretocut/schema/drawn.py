"""Values with a picture. `paretocut.show` draws them, from above."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar


class Drawn:
    """A value that notebooks draw as HTML."""

    __slots__ = ()
    draw: ClassVar[Callable[[Any], str]]
    """How; set by ``paretocut/__init__.py``."""

    def _repr_html_(self) -> str:
        return Drawn.draw(self)
