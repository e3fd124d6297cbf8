"""The help screen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from textual import on
from textual.widgets import Input

from console.text.spans import Spans
from console.text.views.lines import matching, wrapped
from console.tui import keymap
from console.tui.screens.text_screen import TextScreen
from console.tui.views.help import help_lines
from console.tui.widgets.filter_line import FilterLine


class HelpScreen(TextScreen):
    """Shows keys, actions, statuses and findings, or those entries that have a text."""

    MODE = "help"
    KEYS = keymap.HELP

    def body(self) -> Iterable[object]:
        yield from super().body()
        yield FilterLine(id="search", hint="a text of the help")

    def on_mount(self) -> None:
        self._line.display = False

    @property
    def _line(self) -> FilterLine:
        return self.query_one("#search", FilterLine)

    def action_search(self) -> None:
        self._line.display = True
        self._line.focus()

    @on(Input.Changed, "#search")
    def _searched(self) -> None:
        self.show_body()
        self.text_view.action_edge(-1)

    def on_filter_line_kept(self) -> None:
        self._line.display = bool(self._line.value)
        self.text_view.focus()

    def on_filter_line_left(self) -> None:
        self._line.value = ""
        self.on_filter_line_kept()

    def action_back(self) -> None:
        """Show the whole help, or else the screen from which it was asked for."""
        if self._line.value:
            self.on_filter_line_left()
        else:
            self.host.action_go(-1)

    def lines(self, width: int) -> Sequence[Spans]:
        lines = help_lines(width, self.host.help_context, self.host.keys, self.session)
        sought = self._line.value.strip()
        if not sought:
            return lines
        return matching(lines, sought) or wrapped(f"The help does not have {sought!r}.", width, "$warning", 0)
