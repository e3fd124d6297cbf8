"""Building blocks of all views. They escape text from the database."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest

from console.text import formatting, spans
from console.text.spans import Spans, link, width, wrap
from queries.contract.spec import TITLE_END
from queries.records.node import split_id
from queries.text.safe_text import safe_text

ALIGNED_CELLS = 200  # of a column that the others are aligned to
BLANK: Spans = []
Cell = str | Spans
"""A text without a style, or a line."""
HEADING = "bold $primary"  # style of the title of a section
TITLES_SHOWN = 3  # of the nodes of a change


def heading(text: str, note: str = "") -> Spans:
    """Return the title of a section."""
    return [(safe_text(text), HEADING), *([(f"  {safe_text(note)}", "$faint")] if note else [])]


def section(title: str, lines: Iterable[Spans], note: str = "") -> list[Spans]:
    """Return lines below a heading; nothing without lines."""
    body = list(lines)
    return [heading(title, note), *body] if body else []


def stacked(*parts: Iterable[Spans]) -> list[Spans]:
    """Return the parts of a screen with a blank line between them, without empty ones."""
    lines: list[Spans] = []
    for part in filter(None, map(list, parts)):
        lines += [*([BLANK] if lines else []), *part]
    return lines


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
    """Return the entries of a screen that have a text, below their headings.

    An entry begins with an indent of at most two cells. A heading with the text has all its entries.
    """
    word, entries = sought.casefold(), list[Spans]()
    for head, entry in _entries(lines):
        if word in " ".join(spans.text(line).strip() for line in (head, *entry)).casefold():
            if head and head not in entries:
                entries += [BLANK, head] if entries else [head]
            entries += entry
    return entries


def _entries(lines: Iterable[Spans]) -> Iterator[tuple[Spans, list[Spans]]]:
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
    """Return what a screen says until it is read.

    ``error_text``: why it is not read yet, or "".
    """
    why = (line for text in error_text.splitlines() for line in wrapped(text, cells, "$warning"))
    return stacked(wrapped("Reading …", cells), why)


def pairs(rows: Iterable[tuple[str, str | Spans]], cells: int, indent: int = 2) -> list[Spans]:
    """Return names and values in two columns; long values continue on the next lines."""
    items = list(rows)
    room = min(max((formatting.width(name) for name, _ in items), default=0), max(cells // 3, 6))
    lines: list[Spans] = []
    for name, value in items:
        margin: Spans = [(" " * indent, ""), (formatting.fit(safe_text(name), room), "$faint"), ("  ", "")]
        shown = [(safe_text(value), link(value))] if isinstance(value, str) else safe(value)
        for part in wrap(shown, max(cells - width(margin), 8)):
            lines.append([*margin, *part])
            margin = [(" " * (indent + room + 2), "")]
    return lines


def table(columns: Sequence[str], rows: Sequence[Sequence[object]], cells: int) -> list[Spans]:
    """Return a table with fitted columns; if it is too wide, every row as pairs.

    Ids are links.
    """
    texts = [[formatting.scalar(value) for value in row] for row in rows]
    head = [[(column, "$faint")] for column in columns]
    body = [[[(text, link(text))] for text in row] for row in texts]
    lines: list[Spans] = [[("  ", ""), *line] for line in aligned([head, *body])]
    if width(lines[0]) <= cells:
        return lines
    return stacked(*(pairs(zip(columns, row, strict=True), cells) for row in texts))


def aligned(rows: Iterable[Sequence[Cell]], right: Sequence[int] = ()) -> Iterator[Spans]:
    """Yield rows as aligned lines. Columns in ``right`` are right-aligned.

    A cell of more than ALIGNED_CELLS shifts its own line only.
    """
    cells = [[safe([(cell, "")] if isinstance(cell, str) else cell) for cell in row] for row in rows]
    widths = [[*map(width, row)] for row in cells]
    widest = [min(max(column), ALIGNED_CELLS) for column in zip_longest(*widths, fillvalue=0)]
    for row, own in zip(cells, widths, strict=True):
        line: Spans = []
        for n, cell in enumerate(row):
            space = (" " * (widest[n] - own[n]), "")
            line += [*([("  ", "")] if n else []), *([space, *cell] if n in right else [*cell, space])]
        yield line


def safe(cell: Spans) -> Spans:
    """Return a line with its text escaped."""
    return [(safe_text(text), style) for text, style in cell]


def titles(ids: Iterable[str], by_id: Mapping[str, str], most: int = TITLES_SHOWN) -> str:
    """Return the titles of nodes: ``10 ChargeCard v2, Invoice v1, 4 more``.

    Those of several nodes are without keys and progress.
    """
    every = list(ids)
    if len(every) == 1:
        return safe_text(by_id.get(every[0], ""))
    counts = Counter(_name(id_, by_id[id_]) for id_ in every if by_id.get(id_))
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    shown = ordered[: most if counts.total() > len(counts) else TITLES_SHOWN]
    others = len(every) - sum(number for _, number in shown)
    parts = [name if number == 1 else f"{number:,} {name}" for name, number in shown]
    return safe_text(", ".join([*parts, *([f"{others:,} more"] if parts and others else [])]))


def _name(node_id: str, title: str) -> str:
    name = title.removesuffix(split_id(node_id)[2]).rstrip() or title
    return name.rpartition(TITLE_END)[0] or name


def head(verdict: Spans, whom: str, others: Spans, cells: int) -> Spans:
    """Return a verdict, the titles ``whom``, and ``others``. The titles are cut first."""
    room = cells - width(verdict) - width(others) - 2
    named: Spans = [(": ", ""), (formatting.crop(whom, room), "bold")] if whom and room > 8 else []
    return [*verdict, *named, *others]
