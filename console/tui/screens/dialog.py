"""What dialogs have in common: a box in the middle with a title, keys at its foot, and escape to leave."""

from __future__ import annotations

from typing import Generic, TypeVar, cast

from textual.binding import Binding
from textual.content import Content
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Static

from console.config import Context
from console.model.session import Session
from console.text import formatting
from console.tui import theme
from console.tui.host import Host
from console.tui.widgets.line_view import LineView
from console.tui.widgets.text_bar import TextBar
from queries.safe_text import safe_text

MOST = 0.92  # of the screen's height, for a dialog

R = TypeVar("R")


class Dialog(ModalScreen[R], Generic[R]):
    """A dialog. Leaving it with escape gives None."""

    CSS_PATH = "../styles/dialogs.tcss"
    BINDINGS = [Binding("escape", "leave", "leave", show=False)]

    @property
    def host(self) -> Host:
        """The app, as far as dialogs may use it."""
        return cast(Host, self.app)

    @property
    def session(self) -> Session:
        """The database being watched."""
        return self.host.session

    async def read(self) -> None:
        """Read what the dialog shows and paint it. Raises DatabaseError."""

    def renew(self) -> None:
        """Show the new state of the session."""

    def on_mount(self) -> None:
        self.call_after_refresh(self.fit)

    def on_resize(self) -> None:
        self.call_after_refresh(self.fit)

    def fit(self) -> None:
        """Give the page in the box what the other rows leave, so that no button is ever pushed out of sight."""
        for box in self.query("#box.fitting"):
            for page in box.query_children(LineView):
                rows = box.styles.gutter.height
                rows += sum(_rows(child) for child in box.children if child is not page and child.display)
                page.styles.max_height = max(int(self.size.height * MOST) - rows, 3)

    def action_leave(self) -> None:
        self.dismiss(None)


def _rows(widget: Widget) -> int:
    return widget.outer_size.height + widget.styles.margin.height


class Title(TextBar):
    """The first line of a dialog: what it is about, and in which context that is."""

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
    """A static text that is never read as markup."""
    shown = Content(safe_text(content)) if isinstance(content, str) else content
    return Static(shown, id=id, classes=classes, markup=False)
