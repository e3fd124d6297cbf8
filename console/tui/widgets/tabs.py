"""Tabs of the modes, and the operator's place in the current mode."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from textual.content import Content

from console.tui.widgets.text_bar import clickable, spread
from queries.text.safe_text import safe_text

NARROW_CELLS = 64  # cells below which only the chosen tab is shown


def tabs_line(
    width: int,
    modes: Sequence[tuple[str, str]],
    chosen: str,
    badges: Mapping[str, str],
    crumbs: Sequence[str],
    note: str = "",
) -> Content:
    """Return tabs on the left, then breadcrumbs, and a note on the right.

    Tabs look like ``tree  stuck 7  audit log  help``. ``modes`` are their keys and names, ``badges`` are numbers shown
    after the names.
    """
    listed = [(key, name) for key, name in modes if width >= NARROW_CELLS or name == chosen]
    tabs = Content.assemble(" ", *(_tab(key, name, name == chosen, badges.get(name, "")) for key, name in listed))
    path = [part for crumb in crumbs for part in ((" › ", "$faint"), (safe_text(crumb), ""))]
    place = Content.assemble(tabs, *path)
    room = width - tabs.cell_length - 2  # the names of the tabs are never cut
    right = Content.styled(safe_text(note), "$faint")
    right = right.truncate(max(room, 0), ellipsis=True) if right.cell_length > room else right
    return spread([place], [right, " "], width)


def _tab(key: str, name: str, chosen: bool, badge: str) -> Content:
    tab = Content.assemble(
        (f" {key} ", "$faint"),
        (name, "bold underline $primary" if chosen else "$faint"),
        (f" {badge}" if badge else "", "bold"),
        " ",
    )
    return clickable(tab, f"app.show_mode('{name}')")
