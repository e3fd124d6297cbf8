"""The help page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from console.text.spans import Spans
from console.tui.pages.help import help_page
from console.tui.screens.base import PageScreen
from console.tui.widgets.line_view import LineView


class HelpScreen(PageScreen):
    """Shows keys, actions, statuses and findings."""

    MODE = "help"

    def body(self) -> Iterable[object]:
        yield LineView(id="page")

    def on_mount(self) -> None:
        self.query_one(LineView).focus()

    def show_body(self) -> None:
        self.query_one(LineView).put(self._lines)

    def _lines(self, width: int) -> Sequence[Spans]:
        return help_page(
            width,
            self.host.keys_shown,
            self.host.action_keys,
            self.session.engines.values(),
            self.session.skipped_findings,
            self.session.capped,
            self.session.workspace.declined_alike if self.session.workspace else (),
            self.session.workspace.broken if self.session.workspace else (),
            ascii=self.host.ascii,
        )
