"""Lines as styled spans.

The screen turns them into its own type; the command line joins their text.
"""

from __future__ import annotations

from collections.abc import Sequence

from console.text import formatting

Spans = list[tuple[str, str]]
"""One line: texts, each with its style. Styles are the screen's theme variables; "" is the default."""


def text(spans: Sequence[tuple[str, str]]) -> str:
    """Return the text of a line without styles."""
    return "".join(part for part, _ in spans)


def width(spans: Sequence[tuple[str, str]]) -> int:
    """Return the number of cells of a line."""
    return sum(formatting.width(part) for part, _ in spans)
