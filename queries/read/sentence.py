"""Fill a finding's sentence with its evidence."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from typing import Any


class _Formatter(string.Formatter):
    def get_value(self, key: int | str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        value = kwargs.get(str(key))
        return "?" if value is None else value


def fill(sentence: str, evidence: Mapping[str, Any]) -> str:
    """Return the sentence with values; "?" for a missing value."""
    return _Formatter().vformat(sentence, (), evidence)
