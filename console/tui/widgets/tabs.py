"""Tabs of the modes, and the operator's place in the current mode."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from textual.content import Content

from console.tui.widgets.text_bar import clickable, spread
from queries.text.safe_text import safe_text

NOTE_CELLS = 8  # of a note that is worth its room


def tabs_line(
    width: int,
    modes: Sequence[tuple[str, str, str]],
    chosen: str,
    badges: Mapping[str, str],
    crumbs: Sequence[str],
    note: str = "",
) -> Content:
    """Return tabs on the left, then breadcrumbs, and a note on the right.

    Tabs look like ``1 tree  2 now 7  4 audit``. ``modes`` are their keys, names and words, ``badges`` are numbers shown
    after the words, by name. A tab without room for its word is its key.
    """
    whole, short = (
        Content.assemble(
            " ",
            *(
                _tab(key, name, word if named or name == chosen else "", name == chosen, badges.get(name, ""))
                for key, name, word in modes
            ),
        )
        for named in (True, False)
    )
    tabs = whole if whole.cell_length <= width else short
    path = [part for crumb in crumbs for part in ((" › ", "$faint"), (safe_text(crumb), ""))]
    place = Content.assemble(tabs, *path)
    room = width - tabs.cell_length - 2  # the names of the tabs are never cut
    right = Content.styled(safe_text(note) if room >= NOTE_CELLS else "", "$faint")
    right = right.truncate(room, ellipsis=True) if right.cell_length > room else right
    return spread([place], [right, " "], width)


def _tab(key: str, name: str, label: str, chosen: bool, badge: str) -> Content:
    tab = Content.assemble(
        (f" {key} ", "$faint"),
        (label, "bold underline $primary" if chosen else "$faint"),
        (f" {badge}" if badge and label else "", "bold"),
        " " * bool(label),
    )
    return clickable(tab, f"app.show_mode('{name}')")
