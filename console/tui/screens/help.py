"""The help page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from textual import on
from textual.widgets import Input

from console.text.pages.lines import matching, wrapped
from console.text.spans import Spans
from console.tui import keymap
from console.tui.pages.help import help_page
from console.tui.screens.base import PageScreen
from console.tui.widgets.filter_line import FilterLine
from console.tui.widgets.line_view import LineView


class HelpScreen(PageScreen):
    """Shows keys, actions, statuses and findings, or those entries that have a text."""

    MODE = "help"
    KEYS = keymap.HELP

    def body(self) -> Iterable[object]:
        yield LineView(id="page")
        yield FilterLine(id="search", hint="a text of the help")

    def on_mount(self) -> None:
        self._line.display = False
        self.query_one(LineView).focus()

    @property
    def _line(self) -> FilterLine:
        return self.query_one("#search", FilterLine)

    def action_search(self) -> None:
        self._line.display = True
        self._line.focus()

    @on(Input.Changed, "#search")
    def _searched(self) -> None:
        self.query_one(LineView).put(self._lines)
        self.query_one(LineView).action_edge(-1)

    def on_filter_line_kept(self) -> None:
        self._line.display = bool(self._line.value)
        self.query_one(LineView).focus()

    def on_filter_line_left(self) -> None:
        self._line.value = ""
        self.on_filter_line_kept()

    def action_back(self) -> None:
        """Show the whole help, or else the page from which it was asked for."""
        if self._line.value:
            self.on_filter_line_left()
        else:
            self.host.action_go(-1)

    def show_body(self) -> None:
        self.query_one(LineView).put(self._lines)

    def _lines(self, width: int) -> Sequence[Spans]:
        lines = help_page(
            width,
            self.host.viewed,
            self.host.keys_shown,
            self.host.action_keys,
            self.session.engines.values(),
            self.session.skipped_findings,
            self.session.capped,
            self.session.workspace.declined_alike if self.session.workspace else (),
            self.session.workspace.broken if self.session.workspace else (),
            ascii=self.host.ascii,
        )
        sought = self._line.value.strip()
        if not sought:
            return lines
        return matching(lines, sought) or wrapped(f"The help does not have {sought!r}.", width, "$warning", 0)
