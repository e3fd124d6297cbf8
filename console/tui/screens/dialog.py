"""Base class of dialogs: a box with a title and key hints, closed by escape."""

from __future__ import annotations

from typing import Generic, TypeVar, cast

from textual import events
from textual.content import Content
from textual.css.scalar import Scalar
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Button, Input, Static

from console.config import Context
from console.model.session import Session
from console.text import formatting
from console.tui import keymap, theme
from console.tui.bindings import bindings
from console.tui.host import Host
from console.tui.keymap import Key
from console.tui.textual_compat import ClosedGuard
from console.tui.widgets.checkbox import Checkbox
from console.tui.widgets.line_view import LineView
from console.tui.widgets.text_bar import TextBar
from queries.text.safe_text import safe_text

SCROLL = {  # by key
    "up": (LineView.action_by, -1),
    "down": (LineView.action_by, 1),
    "pageup": (LineView.action_page, -1),
    "pagedown": (LineView.action_page, 1),
    "home": (LineView.action_edge, -1),
    "end": (LineView.action_edge, 1),
}
OF_TEXT = ("home", "end")  # keys that a text field uses itself
MAX_HEIGHT = 0.92  # share of the screen's height
LEAST_ROWS = 3  # that the page and the fields keep, however small the terminal is

R = TypeVar("R")


class Dialog(ClosedGuard[R], ModalScreen[R], Generic[R]):
    """Modal dialog. Returns None if it is closed with escape."""

    CSS_PATH = "../styles/dialogs.tcss"
    BINDINGS = bindings(keymap.DIALOG)

    @property
    def host(self) -> Host:
        """The app, as far as dialogs may use it."""
        return cast(Host, self.app)

    @property
    def session(self) -> Session:
        """The watched database."""
        return self.host.session

    async def read(self) -> None:
        """Read what the dialog shows and paint it. Raises DatabaseError."""

    def renew(self) -> None:
        """Show the new state of the session."""

    def guided(self) -> str:
        """Return the line of the demo's guide, or ''."""
        return ""

    def on_mount(self) -> None:
        if line := self.guided():
            self.query_one("#box").mount(text(line, classes="guide"))
        self.screen_layout_refresh_signal.subscribe(self, lambda _: self._fit())

    def hints(self, *keys: Key) -> str:
        """Return the line of key hints: ``enter dry run · esc cancel``."""
        return " · ".join(f"{shown} {key.title}" for key in keys if (shown := self.host.key_shown(key)))

    def _fit(self) -> None:
        """Limit the height of page and fields, so that the buttons stay visible.

        It follows every layout: what a change of a widget means for the others is only known then.
        """
        heights = dict[Widget, int]()
        for box in self.query("#box.fitting"):
            page, fields = box.query_children(LineView), box.query_children("#fields")
            fixed = [child for child in box.children if child.display and child not in (*page, *fields)]
            room = int(self.size.height * MAX_HEIGHT) - box.styles.gutter.height - sum(map(_rows, fixed))
            for each in fields:
                heights[each] = max(room - LEAST_ROWS, LEAST_ROWS)
                room -= min(each.virtual_size.height, heights[each])
            heights |= {each: max(room, LEAST_ROWS) for each in page}
        changed = {each: rows for each, rows in heights.items() if each.styles.max_height != Scalar.from_number(rows)}
        for each, rows in changed.items():
            each.styles.max_height = rows
        if changed and self.focused is not None:
            self.call_after_refresh(self.focused.scroll_visible, animate=False)

    def on_key(self, event: events.Key) -> None:
        """Scroll the page from a field or a button, unless it uses the key itself."""
        pages = self.query(LineView)
        if event.key not in SCROLL or not pages or not isinstance(self.focused, Button | Input | Checkbox):
            return
        if isinstance(self.focused, Input) and event.key in OF_TEXT:
            return
        event.stop()
        scroll, distance = SCROLL[event.key]
        scroll(pages.first(), distance)

    def action_leave(self) -> None:
        self.dismiss(None)


def _rows(widget: Widget) -> int:
    return widget.outer_size.height + widget.styles.margin.height


class Title(TextBar):
    """First line of a dialog: its subject and the context."""

    DEFAULT_CSS = "Title { height: 1; text-style: bold; }"

    def __init__(self, text: str, context: Context | None) -> None:
        super().__init__()
        self._text = text
        self._of = context

    def compose_line(self, width: int) -> Content:
        name = Content("")
        if self._of is not None:
            color = theme.context_color(self._of.color, production=self._of.production)
            word = f" {safe_text(self._of.name)}{' · PRODUCTION' if self._of.production else ''} "
            name = Content.styled(word, f"bold auto on {color}")
        room = width - name.cell_length - 1
        text = Content.styled(formatting.crop(safe_text(self._text), room), "bold")
        return Content.assemble(text, " " * (room - text.cell_length + 1), name)


def text(content: Content | str, id: str | None = None, classes: str | None = None) -> Static:
    """Return a static text that is not parsed as markup."""
    shown = Content(safe_text(content)) if isinstance(content, str) else content
    return Static(shown, id=id, classes=classes, markup=False)
