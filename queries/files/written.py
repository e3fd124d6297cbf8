"""Values of a TOML file, each with the path at which it is written.

A form is a function that returns what a short setting means. The type of a setting names it:
``Annotated[dict[str, str], columns]``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

Path = tuple[str | int, ...]


class TomlValue(msgspec.Struct, frozen=True):
    """A value and its path.

    Parts of a table or list may be such values, from other places.
    """

    value: Any
    at: Path

    def table(self) -> dict[str, TomlValue]:
        """Return the settings of a table, or none of another value."""
        values = self.value if isinstance(self.value, dict) else {}
        return {name: self._part(name, value) for name, value in values.items()}

    def items(self) -> list[TomlValue]:
        """Return the elements of a list, or none of another value."""
        values = self.value if isinstance(self.value, list) else []
        return [self._part(n, value) for n, value in enumerate(values)]

    def _part(self, step: str | int, value: Any) -> TomlValue:
        return value if isinstance(value, TomlValue) else TomlValue(value, (*self.at, step))


ShortForm = Callable[[TomlValue], TomlValue]


class FormError(ValueError):
    """A short setting cannot be read. str() is a predicate such as "must be text".

    ``setting``: the one within it that is wrong, or "".
    """

    def __init__(self, problem: str, setting: str = "") -> None:
        super().__init__(problem)
        self.setting = setting
