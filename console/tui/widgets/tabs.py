"""Tabs of the modes, and the operator's place in the current mode."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from console.tui.widgets.text_bar import TextBar, clickable, spread
from queries.text.safe_text import safe_text

NARROW = 64  # cells below which only the chosen tab is shown


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
        modes = [(key, name) for key, name in self._modes if width >= NARROW or name == self._chosen]
        tabs = Content.assemble(" ", *(self._tab(*mode) for mode in modes))
        crumbs = [part for crumb in self._crumbs for part in ((" › ", "$faint"), (safe_text(crumb), ""))]
        place = Content.assemble(tabs, *crumbs)
        room = width - tabs.cell_length - 2  # the names of the tabs are never cut
        note = Content.styled(safe_text(self._note), "$faint")
        note = note.truncate(max(room, 0), ellipsis=True) if note.cell_length > room else note
        return spread([place], [note, " "], width)

    def _tab(self, key: str, name: str) -> Content:
        badge = self._badges.get(name, "")
        tab = Content.assemble(
            (f" {key} ", "$faint"),
            (name, "bold underline $primary" if name == self._chosen else "$faint"),
            (f" {badge}" if badge else "", "bold"),
            " ",
        )
        return clickable(tab, f"app.show_mode('{name}')")
