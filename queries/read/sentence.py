"""A finding's sentence with what was seen in the place of its names."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from typing import Any


class _Formatter(string.Formatter):
    def get_value(self, key: int | str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        value = kwargs.get(str(key))
        return "?" if value is None else value


def fill(sentence: str, evidence: Mapping[str, Any]) -> str:
    """The sentence; a value that the evidence lacks reads "?" instead of failing."""
    return _Formatter().vformat(sentence, (), evidence)
