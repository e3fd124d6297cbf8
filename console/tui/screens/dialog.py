"""Base class of dialogs: a box with a title and key hints, closed by escape."""

from __future__ import annotations

from typing import ClassVar, Generic, TypeVar

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.css.scalar import Scalar
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Button, Input, Static

from console.config import Context
from console.text import formatting
from console.tui import keymap, theme
from console.tui.bindings import bindings
from console.tui.keymap import Key
from console.tui.screens.console_screen import ConsoleScreen
from console.tui.widgets.checkbox import Checkbox
from console.tui.widgets.header import production_word
from console.tui.widgets.line_view import LineView
from console.tui.widgets.text_bar import TextBar
from queries.records.where import Where
from queries.text.safe_text import safe_text

SCROLL = {keymap.split(key.keys)[0]: key.handler for key in keymap.TEXT}  # by the first key of each
OF_TEXT = ("home", "end")  # keys that a text field uses itself
HEIGHT_SHARE = 0.92  # share of the screen's height
LEAST_ROWS = 3  # that the lines and the fields keep, however small the terminal is

R = TypeVar("R")


class Dialog(ConsoleScreen[R], ModalScreen[R], Generic[R]):
    """Modal dialog. Returns None if it is closed with escape.

    Subclasses define its body and its keys. ``SIZE`` is the class of its box in the style sheet.
    """

    CSS_PATH = "../styles/dialogs.tcss"
    BINDINGS = bindings(keymap.DIALOG)
    SIZE: ClassVar[str] = "fitting"
    NAMES_DATABASE: ClassVar[bool] = False  # the body does, so that the title does not

    def __init__(self, heading: str) -> None:
        super().__init__()
        self.heading = heading

    def body(self) -> ComposeResult:
        """Return the widgets between the title and the key hints."""
        raise NotImplementedError

    def key_line(self) -> str:
        """Return the line of key hints below the body, or ""."""
        return self.hints(*self.KEYS, *keymap.DIALOG)

    def guided(self) -> str:
        """Return the line of the demo's guide, or ''."""
        return ""

    def compose(self) -> ComposeResult:
        with Vertical(id="box", classes=self.SIZE):
            title = TextBar(title_line, id="title")
            where = None if self.NAMES_DATABASE else self.host.where
            title.show(self.heading, self.host.context, self.host.production, where)
            yield title
            yield from self.body()
            if line := self.key_line():
                yield text(line, id="keys", classes="keys")

    def on_mount(self) -> None:
        if line := self.guided():
            self.query_one("#box").mount(text(line, classes="guide"))
        self.screen_layout_refresh_signal.subscribe(self, lambda _: self._fit())

    def hints(self, *keys: Key) -> str:
        """Return the line of key hints: ``enter dry run · esc cancel``."""
        return " · ".join(f"{shown} {key.title}" for key in keys if (shown := self.host.keys.shown(key)))

    def say(self, message: str) -> None:
        """Show a message in the dialog's line for what is wrong, or none."""
        for line in self.query("#wrong").results(Static):  # none while the dialog opens or closes
            line.update(safe_text(message))
            line.display = bool(message)

    def _fit(self) -> None:
        """Limit the height of lines and fields, so that the buttons stay visible.

        It follows every layout: what a change of a widget means for the others is only known then.
        """
        heights = dict[Widget, int]()
        for box in self.query("#box.fitting"):
            lines, fields = box.query_children(LineView), box.query_children("#fields")
            fixed = [child for child in box.children if child.display and child not in (*lines, *fields)]
            room = int(self.size.height * HEIGHT_SHARE) - box.styles.gutter.height - sum(map(_rows, fixed))
            for each in fields:
                heights[each] = max(room - max(room // 3, LEAST_ROWS), LEAST_ROWS)
                room -= min(each.virtual_size.height, heights[each])
            heights |= {each: max(room, LEAST_ROWS) for each in lines}
        changed = {each: rows for each, rows in heights.items() if each.styles.max_height != Scalar.from_number(rows)}
        for each, rows in changed.items():
            each.styles.max_height = rows
        if changed and self.focused is not None:
            self.call_after_refresh(self.focused.scroll_visible, animate=False)

    @on(events.Key)
    async def _scroll_lines(self, event: events.Key) -> None:
        views = self.query(LineView)
        if event.key not in SCROLL or not views or not isinstance(self.focused, Button | Input | Checkbox):
            return
        if isinstance(self.focused, Input) and event.key in OF_TEXT:
            return
        event.stop()
        await self.app.run_action(SCROLL[event.key], views.first())

    @on(Button.Pressed, "#leave")
    def _leave(self) -> None:
        self.action_leave()

    def action_leave(self) -> None:
        self.dismiss(None)

    def action_search(self) -> None:
        self.host.ask("Search", "Show only the lines with this text. An empty one shows all lines.", self._search)

    def _search(self, sought: str | None) -> None:
        self.query_one(LineView).search(sought or "")
        shown = f"only lines with {sought}  {self.heading}" if sought else self.heading
        where = None if self.NAMES_DATABASE else self.host.where
        self.query_one("#title", TextBar).show(shown, self.host.context, self.host.production, where)


def _rows(widget: Widget) -> int:
    return widget.outer_size.height + widget.styles.margin.height


def title_line(width: int, text: str, context: Context | None, production: str, where: Where | None) -> Content:
    """Return the first line of a dialog: its subject, the database and the contexts."""
    name = Content("")
    if context is not None or production:
        color = theme.context_color(context.color if context else "", production=bool(production))
        own = context.name if context else ""
        words = [safe_text(own), production_word(own, production) if production else ""]
        word = f" {' · '.join(filter(None, words))} "
        name = Content.styled(word, f"bold auto on {color}")
    room = width - name.cell_length - 1
    subject = Content.styled(formatting.crop(safe_text(text), room), "bold")
    room -= subject.cell_length
    server = where.text.removeprefix(f"@{context.name}  " if context else "") if where else ""
    shown = Content.styled(formatting.crop(safe_text(server), max(room - 2, 0)), "$faint")
    return Content.assemble(subject, " " * (room - shown.cell_length), shown, " ", name)


def text(content: Content | str, id: str | None = None, classes: str | None = None) -> Static:
    """Return a static text that is not parsed as markup."""
    shown = Content(safe_text(content)) if isinstance(content, str) else content
    return Static(shown, id=id, classes=classes, markup=False)


def line(
    value: str = "", id: str | None = None, placeholder: str = "", classes: str | None = None, *, selected: bool = True
) -> Input:
    """Return a field for one line of text, with a cursor that does not blink.

    ``selected``: its text is selected when it gets the focus, so that the next key replaces it.
    """
    field = Input(value, placeholder, id=id, classes=classes, select_on_focus=selected)
    field.cursor_blink = False
    return field
