"""Footer: keys that change the database in line one, keys that read in line two.

The guide of the demo has a line above them.
"""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from console.text import formatting
from console.tui.widgets.text_bar import clickable, joined, squeeze
from queries.records.record import Record

REFUSED = "no action is possible in this row: ? says why"
NONE = "no action here"


class Hint(Record):
    """One key. A key with a reason ``why`` has no effect now and is not shown."""

    key: str  # as printed on the keyboard
    title: str
    why: str = ""
    best: bool = False  # the suggested action
    rank: int = 0
    press: str = ""  # name of the key, which a click presses


def footer_lines(
    width: int, actions: Sequence[Hint], reads: Sequence[Hint], *, low: bool, acts: bool = False, guide: str = ""
) -> Content:
    """Return the keys in two lines.

    ``low``: in one line, for a low screen. ``acts``: also a row without actions has their line, so that the list above
    does not move. ``guide`` is a line above.
    """
    above = [Content.styled(formatting.crop(guide, width - 2), "bold $accent")] if guide else []
    lines = [*above, *_keys(width, actions, reads, low=low, acts=acts)]
    return joined("\n", [Content.assemble(" ", line) for line in lines])


def _keys(width: int, actions: Sequence[Hint], reads: Sequence[Hint], *, low: bool, acts: bool) -> list[Content]:
    possible = [(hint.rank, _action(hint)) for hint in actions if not hint.why]
    reading = [(hint.rank, _read(hint)) for hint in reads]
    if low:  # available actions come first; the rank of the help key keeps it visible
        return [squeeze([*possible, *reading], width - 2)]
    first = squeeze(possible, width - 2) if possible else Content.styled(REFUSED if actions else NONE, "$faint")
    second = squeeze(reading, width - 2)
    return [first, second] if actions or acts else [second]


def _action(hint: Hint) -> Content:
    title = (hint.title, "bold $accent") if hint.best else hint.title
    return _pressed(hint, Content.assemble((hint.key, "bold $accent"), " ", title))


def _read(hint: Hint) -> Content:
    return _pressed(hint, Content.assemble((hint.key, "bold $primary"), " ", (hint.title, "$faint")))


def _pressed(hint: Hint, content: Content) -> Content:
    return clickable(content, f"app.press('{hint.press}')") if hint.press else content
