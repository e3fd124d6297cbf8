"""Lines as styled spans.

The screen turns them into its own type; the command line joins their text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from console.text import formatting

Spans = list[tuple[str, str]]
"""One line: texts, each with its style. Styles are the screen's theme variables; "" is the default."""

Make = Callable[[int], Sequence[Spans]]
"""Return the lines of a text for a width in cells."""

LINKED = "underline"  # style of a link on a screen that cannot be followed, or of one that is not chosen


class Link(str):
    """Style of a text that leads to a node or a session: its id."""

    __slots__ = ()


_ID = re.compile(
    r"[\w@.-]+/[a-z_]+:\S+|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{2}(?::[0-9a-f]{2}){7}", re.IGNORECASE
)


def link(value: object, style: str = "") -> str:
    """Return the style of a value: a link if it is an id, else ``style``."""
    return Link(value) if isinstance(value, str) and _ID.fullmatch(value) else style


def drawn(spans: Sequence[tuple[str, str]], chosen: str | None = None) -> Spans:
    """Return a line with the styles of its links; the ``chosen`` one is reversed."""
    if not any(isinstance(style, Link) for _, style in spans):
        return list(spans)
    return [(part, _drawn(style, chosen) if isinstance(style, Link) else style) for part, style in spans]


def _drawn(target: Link, chosen: str | None) -> str:
    return "bold reverse" if target == chosen else LINKED


UNLIMITED = 1_000_000  # cells, or lines, of output that is neither wrapped nor cut


def text(spans: Sequence[tuple[str, str]]) -> str:
    """Return the text of a line without styles."""
    return "".join([part for part, _ in spans])


def width(spans: Sequence[tuple[str, str]]) -> int:
    """Return the number of cells of a line."""
    return formatting.width(text(spans))


def crop(spans: Spans, cells: int) -> Spans:
    """Crop a line to ``cells`` cells. The mark has the style of the last text."""
    whole = text(spans)
    cropped = formatting.crop(whole, cells)
    if cropped == whole:
        return spans
    kept: Spans = []
    room = max(len(cropped) - 1, 0)
    for part, style in spans:
        if room <= 0:
            break
        kept.append((part[:room], style))
        room -= len(part)
    return [*kept, (cropped[-1:], kept[-1][1] if kept else "")]


def wrap(spans: Spans, cells: int) -> list[Spans]:
    """Break a line into lines of at most ``cells`` cells, between words if possible."""
    if width(spans) <= cells:
        return [spans]
    lines: list[Spans] = [[]]
    room = cells
    for part, style in spans:
        for word in re.findall(r"\S+\s*|\s+", part):
            if room < cells and formatting.width(word.rstrip()) > room:
                lines.append([])
                room = cells
            while formatting.width(word.rstrip()) > room:
                cut = _fitting(word, room)
                lines[-1].append((word[:cut], style))
                word = word[cut:]
                lines.append([])
                room = cells
            lines[-1].append((word, style))
            room -= formatting.width(word)
    return [_stripped(line) for line in lines]


def _fitting(word: str, cells: int) -> int:
    """Return the number of characters, at least 1, that fit into ``cells`` cells."""
    if word[:cells].isascii():
        return cells
    for number, char in enumerate(word):
        cells -= formatting.width(char)
        if cells < 0:
            return max(number, 1)
    return len(word)


def _stripped(line: Spans) -> Spans:
    parts = joined(line)
    return [*parts[:-1], (parts[-1][0].rstrip(), parts[-1][1])] if parts else []


def between(parts: Iterable[Spans], mark: str) -> Spans:
    """Return the parts as one line, with a mark between them."""
    line: Spans = []
    for part in parts:
        line += [*([(mark, "")] if line else []), *part]
    return line


def joined(line: Spans) -> Spans:
    """Join neighbouring texts of the same style."""
    parts: Spans = []
    for part, style in line:
        if parts and parts[-1][1] == style:
            parts[-1] = (parts[-1][0] + part, style)
        else:
            parts.append((part, style))
    return parts
