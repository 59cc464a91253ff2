"""Values with a picture. `paretocut.show` says how to draw them, from above."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar


class Drawn:
    """A value that notebooks draw as HTML; some have a plot too."""

    __slots__ = ()
    _html: ClassVar[dict[str, Callable[[Any], str]]] = {}
    _plots: ClassVar[dict[str, Callable[..., Any]]] = {}

    @staticmethod
    def register(
        name: str,
        html: Callable[[Any], str] | None = None,
        plot: Callable[..., Any] | None = None,
    ) -> None:
        """Say how values of the class of this name are drawn; the class may be loaded later."""
        if html is not None:
            Drawn._html[name] = html
        if plot is not None:
            Drawn._plots[name] = plot

    def _repr_html_(self) -> str:
        return self._html[type(self).__name__](self)
