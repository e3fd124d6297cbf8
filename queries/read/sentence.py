"""Fill a finding's sentence with its evidence."""

from __future__ import annotations

import re
import string
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from queries.text import duration
from queries.text.instant import of_timestamp


class _Formatter(string.Formatter):
    def get_value(self, key: int | str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        value = kwargs.get(str(key))
        return "?" if value is None else value


class _SentenceFormatter(_Formatter):
    def __init__(self, clocks: Collection[str]) -> None:
        self._clocks = clocks

    def get_value(self, key: int | str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        value = super().get_value(key, args, kwargs)
        interval = isinstance(value, str) and key not in self._clocks
        return of_timestamp(duration.of_interval(value)) if interval else value


def fill(sentence: str, evidence: Mapping[str, Any]) -> str:
    """Return the sentence with values; "?" for a missing value.

    Intervals and times are written as elsewhere: ``6m00s`` for ``00:06:00``, ``2026-11-27T08:11:19Z``.
    A value before "UTC" is a time without a zone, or a time of day.
    """
    clocks = re.findall(r"\{(\w+)\} UTC\b", sentence)
    dated = {key: text for key in clocks if (text := of_timestamp(f"{evidence.get(key)}+00")).endswith("Z")}
    for key in dated:
        sentence = sentence.replace(f"{{{key}}} UTC", f"{{{key}}}")
    return _SentenceFormatter(clocks).vformat(sentence, (), {**evidence, **dated})


def fill_argument(text: str, evidence: Mapping[str, Any]) -> str:
    """Return the value of an action's argument; "?" for a missing value.

    Values are written as they are.
    """
    return _Formatter().vformat(text, (), evidence)


def without_values(sentence: str) -> str:
    """Return the sentence with an ellipsis for each value."""
    return re.sub(r"\{\w+\}", "…", sentence)
