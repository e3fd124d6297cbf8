"""Building blocks of all pages. They escape text from the database."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from textual.content import Content

from console.text import formatting
from queries.safe_text import safe_text

Line = Content
BLANK = Content("")


def heading(text: str, note: str = "") -> Line:
    """Return the title of a section."""
    return Content.assemble((safe_text(text), "bold $primary"), (f"  {safe_text(note)}" if note else "", "$faint"))


def plain(text: str, style: str = "", indent: int = 2) -> Line:
    """Return one line of text."""
    return Content.assemble(" " * indent, (safe_text(text), style))


def wrapped(text: str, width: int, style: str = "", indent: int = 2) -> list[Line]:
    """Wrap text to lines of at most ``width`` cells, between words if possible."""
    content = Content.styled(safe_text(text), style)
    lines = content.wrap(max(width - indent, 8))
    return [Content.assemble(" " * indent, line.rstrip()) for line in lines]


def pairs(rows: Iterable[tuple[str, str | Content]], width: int, indent: int = 2) -> list[Line]:
    """Return names and values in two columns; long values continue on the next lines."""
    items = list(rows)
    room = min(max((formatting.width(name) for name, _ in items), default=0), max(width // 3, 6))
    lines: list[Line] = []
    for name, value in items:
        shown = value if isinstance(value, Content) else Content(safe_text(value))
        left = Content.assemble(" " * indent, (formatting.fit(safe_text(name), room), "$faint"), "  ")
        for part in shown.wrap(max(width - left.cell_length, 8)) or [BLANK]:
            lines.append(Content.assemble(left, part.rstrip()))
            left = Content(" " * (indent + room + 2))
    return lines


def table(columns: Sequence[str], rows: Sequence[Sequence[object]], width: int, indent: int = 2) -> list[Line]:
    """Return a table with fitted columns; if it is too wide, every row as pairs."""
    texts = [[formatting.scalar(value) for value in row] for row in rows]
    widths = [
        max(formatting.width(column), *(formatting.width(row[i]) for row in texts)) for i, column in enumerate(columns)
    ]
    if indent + sum(widths) + 2 * len(widths) > width:
        lines: list[Line] = []
        for row in texts:
            lines += [*pairs(zip(columns, row, strict=True), width, indent), BLANK]
        return lines[:-1]
    head = "  ".join(formatting.fit(safe_text(c), w) for c, w in zip(columns, widths, strict=True))
    body = ["  ".join(formatting.fit(cell, w) for cell, w in zip(row, widths, strict=True)) for row in texts]
    return [plain(head, "$faint", indent), *(plain(line, "", indent) for line in body)]
