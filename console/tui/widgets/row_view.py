"""Base of the lists: a header line, rows, and a cursor with its keys."""

from __future__ import annotations

from dataclasses import dataclass

from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollDown, ScrollTo, ScrollUp
from textual.strip import Strip

from console.tui import keymap
from console.tui.bindings import bindings
from console.tui.widgets.changed_cells import changed_cells

WHEEL_ROWS = 3  # of one step of the mouse wheel


class RowView(ScrollView, can_focus=True, inherit_bindings=False):
    """Rows with a cursor, painted line by line.

    Line 0 is the header; line 1 shows the row at the scroll position.

    A subclass holds the rows and the cursor, and paints each line in ``render_line``.
    """

    DEFAULT_CSS = """
    RowView {
        height: 1fr;
        width: 1fr;
        overflow-x: hidden;
        overflow-y: auto;
        scrollbar-size-vertical: 1;
        background: $background;
        color: $foreground;
    }
    RowView > .row-view--header { color: $foreground 60%; text-style: bold; }
    RowView > .row-view--cursor { background: $primary 25%; text-style: bold; }
    """
    COMPONENT_CLASSES = {"row-view--header", "row-view--cursor"}
    ALLOW_SELECT = False
    BINDINGS = bindings(keymap.LIST)

    @dataclass
    class Heading(Message):
        """The operator clicked on the heading of a column."""

        title: str

    # what a subclass provides

    @property
    def row_count(self) -> int:
        """Number of rows, without the header."""
        raise NotImplementedError

    @property
    def cursor_row(self) -> int:
        """Index of the row under the cursor; 0 if there are no rows."""
        raise NotImplementedError

    def action_move(self, rows: int) -> None:
        """Move the cursor down (up, if negative), at most to the edge."""
        raise NotImplementedError

    def click_row(self, index: int, event: events.Click) -> None:
        """Handle a click on a row."""
        raise NotImplementedError

    def click_heading(self, event: events.Click) -> None:
        """Handle a click on the header line."""

    # keys and mouse

    def action_page(self, pages: int) -> None:
        """Move the cursor by screens."""
        self.action_move(pages * max(self.page_rows - 1, 1))

    def action_edge(self, side: int) -> None:
        """Move the cursor to the first (-1) or last (1) row."""
        self.action_move(side * self.row_count)

    def on_click(self, event: events.Click) -> None:
        index = self.top_row + event.y - 1
        if event.y == 0:
            event.stop()
            self.click_heading(event)
        elif index < self.row_count:
            event.stop()
            self.click_row(index, event)

    def show_rows(self) -> None:
        """Show the list only while it has rows.

        A hidden list loses the focus; it gets the focus back with its first rows, unless a field has it.
        """
        self.display = self.row_count > 0
        if self.display and self.screen.focused is None:
            self.focus()

    # scrolling

    @property
    def top_row(self) -> int:
        """Index of the first row on the screen."""
        return round(self.scroll_y)

    @property
    def page_rows(self) -> int:
        """Number of rows that fit on the screen."""
        return max(self.size.height - 1, 1)

    def fit_rows(self) -> None:
        """Adapt the scroll range to the number of rows.

        The page is laid out, and sent as a whole, only if the scrollbar comes or goes.
        """
        before, after, room = self.virtual_size, Size(self.size.width, self.row_count + 1), self.size.height
        if before.width == after.width and (before.height > room) == (after.height > room):
            self.set_reactive(RowView.virtual_size, after)
            if self.show_vertical_scrollbar:
                self.vertical_scrollbar.window_virtual_size = after.height
        else:
            self.virtual_size = after

    def scroll_to_row(self, index: int) -> None:
        """Scroll so that this row is the first on the screen."""
        self.scroll_to(y=max(index, 0), animate=False, force=True)

    def show_cursor(self) -> None:
        """Scroll by the least number of rows that brings the cursor onto the screen."""
        index, top = self.cursor_row, self.top_row
        target = min(max(top, index - self.page_rows + 1), index)
        if target != top:
            self.scroll_to_row(target)

    # the wheel and the scrollbar take the cursor along, so that keys act on a row that is visible

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self._turn(event, self.top_row + WHEEL_ROWS)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self._turn(event, self.top_row - WHEEL_ROWS)

    def on_scroll_down(self, event: ScrollDown) -> None:
        self._turn(event, self.top_row + self.page_rows)

    def on_scroll_up(self, event: ScrollUp) -> None:
        self._turn(event, self.top_row - self.page_rows)

    def on_scroll_to(self, event: ScrollTo) -> None:
        if event.y is not None:
            self._turn(event, round(event.y))

    def _turn(self, event: Message, top: int) -> None:
        """Scroll to this row, and move the cursor to the nearest visible row."""
        event.stop()
        event.prevent_default()  # Textual would leave the cursor behind
        top = max(min(top, round(self.max_scroll_y)), 0)
        self.scroll_to(y=top, animate=False, force=True, immediate=True)
        nearest = max(min(self.cursor_row, top + self.page_rows - 1), top)
        if self.row_count and nearest != self.cursor_row:
            self.action_move(nearest - self.cursor_row)

    def send_line(self, y: int, start: int = 0, cells: int | None = None) -> None:
        """Send one line of rows to the terminal again, or a part of it."""
        if 0 < y <= self.page_rows:
            self.refresh(Region(start, y, self.size.width if cells is None else cells, 1))

    def send_difference(self, y: int, before: Strip, after: Strip) -> None:
        """Send the cells of a line that differ."""
        if before != after and (part := changed_cells(before, after)):
            self.send_line(y, *part)
