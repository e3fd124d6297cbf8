"""Words and numbers that a CHECK constraint allows, as the server spells it."""

from __future__ import annotations

import re
from collections.abc import Sequence

MOST_WORDS = 40  # a column with more different words is no status
_LITERAL = re.compile(r"E?'((?:[^']|'')*)'")
_NUMBER = re.compile(r"\(?'?(-?\d+)'?\)?(?:::\w+)?(?=[,)\]])")
_CHOICES = re.compile(r"= ANY\b|\)? = \(?E?'")  # of a CHECK that lists the allowed words
_OTHER = re.compile(r"<>|!=|!?~|[<>]=?|\b(?:NOT|AND|LIKE|length|lower|upper)\b")


def allowed_words(checks: Sequence[str], *, number: bool) -> tuple[str, ...]:
    """Return the words that the constraints of a column list, or none.

    ``number``: its values are whole numbers.
    """
    return next(filter(None, map(_numbers if number else _allowed, checks)), ())


def _allowed(check: str) -> tuple[str, ...]:
    """Return the words that a CHECK constraint lists, or none."""
    without = _LITERAL.sub("''", check)
    if not _CHOICES.search(without) or _OTHER.search(without):
        return ()
    return tuple(dict.fromkeys(_unescaped(match) for match in _LITERAL.finditer(check)))


def _numbers(check: str) -> tuple[str, ...]:
    """Return the numbers that a CHECK constraint lists or bounds, or none."""
    plain = _NUMBER.sub(r"\1", check)
    if listed := re.fullmatch(r"CHECK \(\(.+ = ANY \(ARRAY\[([-0-9, ]+)\]\)\)\)", plain):
        return tuple(listed[1].split(", "))
    if bounds := re.fullmatch(r"CHECK \(\(\((.+) >= (-?\d+)\) AND \(\1 <= (-?\d+)\)\)\)", plain):
        between = range(int(bounds[2]), int(bounds[3]) + 1)
        return tuple(map(str, between)) if len(between) <= MOST_WORDS else ()
    return ()


def _unescaped(match: re.Match[str]) -> str:
    text = match[1].replace("''", "'")
    return text.replace("\\\\", "\\") if match[0].startswith("E") else text
