"""A list of records with a cursor that stays on its record, whatever is put around it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from textual import events
from textual.binding import Binding
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.style import Style

from console.text import formatting

T = TypeVar("T")

NEAR = 20  # rows from the end at which more is asked for


class Column(NamedTuple, Generic[T]):
    """``width`` in cells, 0 for the one that takes the rest. Left out where the table is narrower than ``needs``."""

    title: str
    width: int
    cell: Callable[[T], Content]
    needs: int = 0
    right: bool = False
    spare: bool = False  # takes the rest where the one that should is left out


class Table(ScrollView, Generic[T], can_focus=True):
    """Rows of records, each with an id that ``key`` gives."""

    DEFAULT_CSS = """
    Table { height: 1fr; width: 1fr; overflow-x: hidden; overflow-y: auto; scrollbar-size-vertical: 1;
        background: $background; }
    Table > .table--title { color: $foreground 60%; text-style: bold; }
    Table > .table--cursor { background: $primary 30%; }
    """
    COMPONENT_CLASSES = {"table--title", "table--cursor"}
    BINDINGS = [
        Binding("up,k", "move(-1)", "up", id="table.up", show=False),
        Binding("down,j", "move(1)", "down", id="table.down", show=False),
        Binding("pageup,ctrl+b", "page(-1)", "page up", id="table.page_up", show=False),
        Binding("pagedown,ctrl+f", "page(1)", "page down", id="table.page_down", show=False),
        Binding("home", "end(-1)", "first", id="table.first", show=False),
        Binding("end", "end(1)", "last", id="table.last", show=False),
    ]

    @dataclass
    class Highlighted(Message):
        """The cursor is on another record, or that record is not the same any more."""

        key: str | None

    @dataclass
    class Chosen(Message):
        """Enter, or a double click, on a record."""

        key: str

    class NearEnd(Message):
        """The cursor is near the end: if there is more, it is time to fetch it."""

    def __init__(
        self, columns: Sequence[Column[T]], key: Callable[[T], str], id: str | None = None, *, ascii: bool = False
    ) -> None:
        super().__init__(id=id)
        self._marker = ">" if ascii else "▌"
        self._columns = columns
        self._key = key
        self._items: Sequence[T] = ()
        self._places: dict[str, int] = {}
        self._at = 0

    @property
    def current(self) -> T | None:
        """The record under the cursor."""
        return self._items[self._at] if self._items else None

    def item(self, key: str) -> T | None:
        """The record of that id."""
        place = self._places.get(key)
        return None if place is None else self._items[place]

    def around(self, rows: int = 50) -> Sequence[T]:
        """The records near the cursor, so many rows up and down."""
        return self._items[max(self._at - rows, 0) : self._at + rows]

    def put(self, items: Sequence[T], *, filling: bool = False) -> None:
        """Show these. The cursor stays on its record and its row of the screen; if that is gone, on its neighbour.
        While the list is still ``filling``, a cursor that was not moved yet stays on the first row."""
        before = self.current
        offset = self._at - round(self.scroll_y)
        if list(items) == list(self._items):
            return
        old = self._key(before) if before is not None and not (filling and self._at == 0) else None
        self._items = items
        self._places = {self._key(item): place for place, item in enumerate(items)}
        self._at = self._places.get(old, min(self._at, max(len(items) - 1, 0))) if old is not None else 0
        self.virtual_size = Size(self.size.width, len(items) + 1)
        self.scroll_to(y=max(self._at - offset, 0), animate=False, immediate=True)
        self.refresh()
        self.post_message(self.Highlighted(self._current_key()))

    def repaint(self) -> None:
        """The same records look different, for example because time has passed."""
        self.refresh()

    # keys and mouse

    def action_move(self, rows: int) -> None:
        self._go(self._at + rows)

    def action_page(self, pages: int) -> None:
        self._go(self._at + pages * max(self.size.height - 2, 1))

    def action_end(self, end: int) -> None:
        self._go(len(self._items) - 1 if end > 0 else 0)

    def choose(self) -> None:
        """As if enter was pressed."""
        key = self._current_key()
        if key is not None:
            self.post_message(self.Chosen(key))

    def on_click(self, event: events.Click) -> None:
        row = round(self.scroll_y) + event.y - 1
        if event.y >= 1 and row < len(self._items):
            self._go(row)
            if event.chain == 2:
                self.choose()

    def _go(self, place: int) -> None:
        if not self._items:
            return
        place = min(max(place, 0), len(self._items) - 1)
        if place >= len(self._items) - NEAR:
            self.post_message(self.NearEnd())
        if place == self._at:
            return
        self.refresh_line(self._at + 1)
        self._at = place
        self.refresh_line(self._at + 1)
        top, rows = round(self.scroll_y), max(self.size.height - 1, 1)
        if place < top:
            self.scroll_to(y=place, animate=False, immediate=True)
        elif place >= top + rows:
            self.scroll_to(y=place - rows + 1, animate=False, immediate=True)
        self.post_message(self.Highlighted(self._current_key()))

    def _current_key(self) -> str | None:
        current = self.current
        return None if current is None else self._key(current)

    # painting

    def on_resize(self) -> None:
        self.virtual_size = Size(self.size.width, len(self._items) + 1)

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        if y == 0:
            title = self.get_visual_style("table--title")
            cells = [Content(column.title) for column in self._columns]
            return self._strip(" ", cells, width, title)
        place = round(self.scroll_y) + y - 1
        if place >= len(self._items):
            return Strip.blank(width, self.rich_style)
        cells = [column.cell(self._items[place]) for column in self._columns]
        if place == self._at:
            return self._strip(self._marker, cells, width, self.get_visual_style("table--cursor"))
        return self._strip(" ", cells, width, self.visual_style)

    def _strip(self, marker: str, cells: Sequence[Content], width: int, style: Style) -> Strip:
        shown = [(column, cell) for column, cell in zip(self._columns, cells, strict=True) if width >= column.needs]
        spare = not any(column.width == 0 for column, _ in shown)
        fixed = sum(c.width for c, _ in shown if not (spare and c.spare)) + 2 * (len(shown) - 1) + 2
        parts: list[Content] = []
        for column, cell in shown:
            room = max(width - fixed, 1) if column.width == 0 or (spare and column.spare) else column.width
            cell = _shortened(cell, room) if cell.cell_length > room else cell
            space = room - cell.cell_length
            parts.append(cell.pad_left(space) if column.right else cell.pad_right(space))
        line = Content.assemble((marker, "bold $accent"), Content("  ").join(parts), " ")
        return Strip(line.render_segments(style)).adjust_cell_length(width, style.rich_style)


def _shortened(cell: Content, room: int) -> Content:
    """As `words.shorten` does it, with its styles."""
    end = formatting.ending(cell.plain, room)
    head, *tail = cell.divide([len(cell.plain) - len(end)])
    return Content.assemble(head.truncate(room - len(end), ellipsis=True), *(tail if end else ()))
