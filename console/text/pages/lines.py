"""Building blocks of all pages. They escape text from the database."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from console.text import formatting, spans
from console.text.spans import Spans, link, width, wrap
from queries.text.safe_text import safe_text

BLANK: Spans = []
HEADING = "bold $primary"  # style of the title of a section


def heading(text: str, note: str = "") -> Spans:
    """Return the title of a section."""
    return [(safe_text(text), HEADING), *([(f"  {safe_text(note)}", "$faint")] if note else [])]


def plain(text: str, style: str = "", indent: int = 2) -> Spans:
    """Return one line of text."""
    return [(" " * indent, ""), (safe_text(text), style)]


def command_lines(commands: Mapping[str, str], indent: int = 2) -> list[Spans]:
    """Return commands after their places, unwrapped so that they can be copied."""
    return [
        [(" " * indent, ""), (f"{safe_text(place)}: ", "$faint"), (safe_text(line), "bold")]
        for place, text in commands.items()
        for line in text.split("\n")
    ]


def wrapped(text: str, cells: int, style: str = "", indent: int = 2) -> list[Spans]:
    """Wrap text to lines of at most ``cells`` cells, between words if possible."""
    return [[(" " * indent, ""), *line] for line in wrap([(safe_text(text), style)], max(cells - indent, 8))]


def matching(lines: Iterable[Spans], sought: str) -> list[Spans]:
    """Return the entries of a page that have a text, below their headings.

    An entry begins with an indent of at most two cells. A heading with the text has all its entries.
    """
    wanted, found = sought.casefold(), list[Spans]()
    for head, entry in _entries(lines):
        if wanted in " ".join(spans.text(line).strip() for line in (head, *entry)).casefold():
            if head and head not in found:
                found += [BLANK, head] if found else [head]
            found += entry
    return found


def _entries(lines: Iterable[Spans]) -> Iterator[tuple[Spans, list[Spans]]]:
    """Yield each entry of a page with its heading."""
    head, entry = BLANK, list[Spans]()
    for line in [*lines, BLANK]:
        is_head = line != BLANK and line[0][1] == HEADING
        if entry and (line == BLANK or is_head or spans.text(line)[:3].strip()):
            yield head, entry
            entry = []
        if is_head:
            head = line
        elif line != BLANK:
            entry.append(line)


def reading(cells: int, error_text: str) -> list[Spans]:
    """Return what a page says until it is read.

    ``error_text``: why it is not read yet, or "".
    """
    why = [line for text in error_text.splitlines() for line in wrapped(text, cells, "$warning")]
    return [*wrapped("Reading …", cells), *([BLANK, *why] if why else [])]


def pairs(rows: Iterable[tuple[str, str | Spans]], cells: int, indent: int = 2) -> list[Spans]:
    """Return names and values in two columns; long values continue on the next lines."""
    items = list(rows)
    room = min(max((formatting.width(name) for name, _ in items), default=0), max(cells // 3, 6))
    lines: list[Spans] = []
    for name, value in items:
        left: Spans = [(" " * indent, ""), (formatting.fit(safe_text(name), room), "$faint"), ("  ", "")]
        shown = [(safe_text(value), link(value))] if isinstance(value, str) else value
        for part in wrap(shown, max(cells - width(left), 8)):
            lines.append([*left, *part])
            left = [(" " * (indent + room + 2), "")]
    return lines


def table(columns: Sequence[str], rows: Sequence[Sequence[object]], cells: int, indent: int = 2) -> list[Spans]:
    """Return a table with fitted columns; if it is too wide, every row as pairs."""
    texts = [[formatting.scalar(value) for value in row] for row in rows]
    widths = [
        max(formatting.width(column), *(formatting.width(row[i]) for row in texts)) for i, column in enumerate(columns)
    ]
    if indent + sum(widths) + 2 * len(widths) > cells:
        lines: list[Spans] = []
        for row in texts:
            lines += [*pairs(zip(columns, row, strict=True), cells, indent), BLANK]
        return lines[:-1]
    head = "  ".join(formatting.fit(safe_text(c), w) for c, w in zip(columns, widths, strict=True))
    body = [_cells(row, widths, indent) for row in texts]
    return [plain(head, "$faint", indent), *body]


def _cells(row: Sequence[str], widths: Sequence[int], indent: int) -> Spans:
    """Return a row of a table. Ids are links."""
    line: Spans = [(" " * indent, "")]
    for cell, room in zip(row, widths, strict=True):
        space = room - formatting.width(cell)
        line += [(cell, link(cell)), (" " * (space + 2), "")]
    return line[:-1]
