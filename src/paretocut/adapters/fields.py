"""The options of a decision as fields, for frameworks whose components are pydantic models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self, get_args

from paretocut.errors import require

require("pydantic", feature="this adapter", extra="langchain")
import pydantic

from paretocut.adapters.keeping import Keeping, restored, stored
from paretocut.decisions.options import DECIDING, OPTIONS, DecisionOptions

REFUSE: pydantic.ConfigDict = {"extra": "forbid"}  # of components, fields they do not know
# `transform` is a method of every Runnable, so the field must be called something else.
_OWN = {name: name for name in ("truncator", "max_tokens", "count_tokens")}
_FIELDS = {name: f"score_{name}" if name == "transform" else name for name in OPTIONS} | _OWN


def _declared() -> type[pydantic.BaseModel]:
    """Return a model with one field for each option of `OPTIONS`."""
    fields: dict[str, Any] = {
        _FIELDS[name]: (
            get_args(DecisionOptions.__annotations__[name])[0],
            pydantic.Field(option.default, description=option.help, alias=name),
        )
        for name, option in OPTIONS.items()
    }
    config = pydantic.ConfigDict(
        populate_by_name=True, arbitrary_types_allowed=True, validate_assignment=True
    )
    made: type[pydantic.BaseModel] = pydantic.create_model("Options", __config__=config, **fields)
    return made


class DecisionFields(_declared()):  # type: ignore[misc]  # mypy sees no class in a call
    """The options of `paretocut.cut` and a budget of tokens, checked when a component is made.

    Components set ``model_config = REFUSE``, because a misspelt option must be an error and not
    leave the default in force. If it were set here, the framework's own base would overrule it.
    """

    truncator: Any = None  # a Truncator, or the path of a saved one
    max_tokens: int | None = None
    count_tokens: Callable[[str], int] | None = None

    _keeping: Keeping = pydantic.PrivateAttr()

    @pydantic.field_validator("truncator", mode="before")
    @classmethod
    def _restored(cls, value: Any) -> Any:
        return restored(value)

    @pydantic.model_validator(mode="after")
    def _check_options(self) -> Any:
        options = {name: getattr(self, field) for name, field in _FIELDS.items()}
        self._keeping = Keeping.of(type(self).__name__, options)
        return self

    @pydantic.field_serializer("truncator", "count_tokens", when_used="unless-none")
    def _stored(self, value: Any, info: Any) -> Any:
        """Return the field as it is stored; a loaded component must decide as this one does."""
        return stored({info.field_name: value}, type(self).__name__)[info.field_name]

    @property
    def keeping(self) -> Keeping:
        """Who decides, within which bounds, and how many tokens are allowed."""
        return self._keeping

    def with_fields(self, **fields: Any) -> Self:
        """Return a component with these fields in place of whatever decides here."""
        rest = type(self).model_fields.keys() - {_FIELDS.get(name, name) for name in DECIDING}
        return type(self)(**{name: getattr(self, name) for name in rest} | fields)
