"""Tabs of the modes, and the operator's place in the current mode."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from console.tui.widgets.text_bar import TextBar, clickable, spread
from queries.safe_text import safe_text


class TabsBar(TextBar):
    """Tabs on the left, then breadcrumbs, and a note on the right.

    Tabs look like ``tree  stuck 7  audit log  help``.
    """

    DEFAULT_CSS = "TabsBar { background: $surface; }"

    def __init__(self, modes: Sequence[tuple[str, str]], id: str | None = None) -> None:
        super().__init__(id=id)
        self._modes = modes  # key, name
        self._chosen = ""
        self._badges: dict[str, str] = {}
        self._crumbs: Sequence[str] = ()
        self._note = ""

    def show(self, chosen: str, badges: dict[str, str], crumbs: Sequence[str], note: str = "") -> None:
        """Show another place. ``badges`` are numbers shown after the names of modes."""
        if (chosen, badges, crumbs, note) != (self._chosen, self._badges, self._crumbs, self._note):
            self._chosen, self._badges, self._crumbs, self._note = chosen, badges, crumbs, note
            self.renew()

    def compose_line(self, width: int) -> Content:
        narrow = width < 64
        tabs = [self._tab(key, name) for key, name in self._modes if not narrow or name == self._chosen]
        crumbs: list[tuple[str, str]] = []
        for crumb in self._crumbs:
            crumbs += [(" › ", "$faint"), (safe_text(crumb), "")]
        return spread([" ", *tabs, *crumbs], [(safe_text(self._note), "$faint"), " "] if self._note else [], width)

    def _tab(self, key: str, name: str) -> Content:
        badge = self._badges.get(name, "")
        chosen = name == self._chosen
        tab = Content.assemble(
            (f" {key} ", "$faint"),
            (name, "bold underline $primary" if chosen else "$faint"),
            (f" {badge}" if badge else "", "bold $phase-blocked"),
            " ",
        )
        return clickable(tab, f"app.show_mode('{name}')")
