"""Tabs of the modes, and the operator's place in the current mode."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from console.text import formatting
from console.tui.widgets.text_bar import Part, TextBar, clickable, spread
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
        note: list[Part] = [(safe_text(self._note), "$faint"), " "] if self._note else []
        modes = [(key, name) for key, name in self._modes if width >= NARROW or name == self._chosen]
        tabs = Content.assemble(" ", *(self._tab(*mode) for mode in modes))
        if tabs.cell_length + formatting.width(self._note) + 2 > width:
            tabs = Content.assemble(" ", *(self._tab(*mode, short=True) for mode in modes))
        crumbs: list[Part] = []
        for crumb in self._crumbs:
            crumbs += [(" › ", "$faint"), (safe_text(crumb), "")]
        return spread([tabs, *crumbs], note, width)

    def _tab(self, key: str, name: str, *, short: bool = False) -> Content:
        """Return a tab; if it is ``short`` and not the chosen one, without its name."""
        badge = self._badges.get(name, "")
        chosen = name == self._chosen
        tab = Content.assemble(
            (f" {key} " if chosen or not short else f" {key}", "$faint"),
            (name if chosen or not short else "", "bold underline $primary" if chosen else "$faint"),
            (f" {badge}" if badge else "", "bold $phase-blocked"),
            " ",
        )
        return clickable(tab, f"app.show_mode('{name}')")
