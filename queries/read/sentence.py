"""Fill a finding's sentence with its evidence."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from queries.text import duration
from queries.text.instant import of_timestamp

_INTERVAL = r"(?:\d+ days? )?\d\d+:\d\d:\d\d(?:\.\d+)?"
_WORDS = ("for", "than", "within", "most", "in", "in the", "after", "took", "wait")
_BEFORE = "|".join(rf"(?<=\b{words} )" for words in _WORDS)
_IN_TEXT = re.compile(
    rf"(?a)(?:{_BEFORE}){_INTERVAL}"
    rf"|{_INTERVAL}(?= (?:ago|late|old|ahead)\b)"
    r"|\b\d{4,6}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?(?:\+00\b| UTC\b)"
)  # what a sentence says of a time; clocks in an error are not touched

_AT = re.compile(r"(, the (?:first|last))? at \{(failed|failed_at|taken)\}(?! UTC)(?(1),?)")  # may be missing


class _Values:
    """Evidence for `str.format_map`, which is faster than a `string.Formatter`."""

    def __init__(self, evidence: Mapping[str, Any]) -> None:
        self._evidence = evidence

    def __getitem__(self, name: str) -> Any:
        value = self._evidence.get(name)
        return "?" if value is None else value


class _SentenceValues(_Values):
    def __init__(self, evidence: Mapping[str, Any], clocks: Collection[str]) -> None:
        super().__init__(evidence)
        self._clocks = clocks

    def __getitem__(self, name: str) -> Any:
        value = super().__getitem__(name)
        if not isinstance(value, str) or name in self._clocks:
            return value
        return written(value)


def in_text(text: str) -> str:
    """Return a text of the server whose intervals and times are written as elsewhere."""
    return _IN_TEXT.sub(lambda match: _form(match[0]), of_timestamp(text)) if ":" in text else text


def written(value: str) -> str:
    """Return a value of the server; an interval or a time as on the screen."""
    return in_text(_form(value))


def _form(text: str) -> str:
    return of_timestamp(duration.of_interval(text))


def fill(sentence: str, evidence: Mapping[str, Any]) -> str:
    """Return the sentence with values; "?" for a missing value.

    Nothing is said of a time of failing or taking that is missing. Intervals and times are written as elsewhere:
    ``6m00s`` for ``00:06:00``, ``2026-11-27T08:11:19Z``.
    A value before "UTC" is a time without a zone, or a time of day.
    """
    sentence = _AT.sub(lambda match: match[0] if evidence.get(match[2]) is not None else "", sentence)
    clocks = re.findall(r"\{(\w+)\} UTC\b", sentence)
    dated = {key: text for key in clocks if (text := of_timestamp(f"{evidence.get(key)}")).endswith("Z")}
    for key in dated:
        sentence = sentence.replace(f"{{{key}}} UTC", f"{{{key}}}")
    return sentence.format_map(_SentenceValues({**evidence, **dated}, clocks))


def fill_argument(text: str, evidence: Mapping[str, Any]) -> str:
    """Return the value of an action's argument; "?" for a missing value.

    Values are written as they are.
    """
    return text.format_map(_Values(evidence))


def without_values(sentence: str) -> str:
    """Return the sentence with an ellipsis for each value."""
    return re.sub(r"\{\w+\}", "…", sentence)
