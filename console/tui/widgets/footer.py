"""Footer: keys that change the database in line one, keys that read in line two.

The guide of the demo has a line above them.
"""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from console.text import formatting
from console.tui.widgets.text_bar import TextBar, clickable, squeeze
from queries.records.record import Record

REFUSED = "no action is possible in this row: ? says why"


class Hint(Record):
    """One key. A key with a reason ``why`` has no effect now and is not shown."""

    key: str  # as printed on the keyboard
    title: str
    why: str = ""
    best: bool = False  # the suggested action
    rank: int = 0
    press: str = ""  # name of the key, which a click presses


class FooterBar(TextBar):
    """Paints :class:`Hint` records in two lines, or in one line on a low screen."""

    DEFAULT_CSS = "FooterBar { height: auto; max-height: 3; background: $surface; }"

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self._actions: Sequence[Hint] = ()
        self._reads: Sequence[Hint] = ()
        self._low = False
        self._guide = ""

    def show(self, actions: Sequence[Hint], reads: Sequence[Hint], *, low: bool, guide: str = "") -> None:
        """Paint other keys. ``low`` paints them in one line. ``guide`` is a line above."""
        if (actions, reads, low, guide) != (self._actions, self._reads, self._low, self._guide):
            self._actions, self._reads, self._low, self._guide = actions, reads, low, guide
            self.renew()

    def compose_line(self, width: int) -> Content:
        guide = [Content.styled(formatting.crop(self._guide, width - 2), "bold $accent")] if self._guide else []
        return Content("\n").join([Content.assemble(" ", line) for line in (*guide, *self._keys(width))])

    def _keys(self, width: int) -> list[Content]:
        actions = [(hint.rank, _action(hint)) for hint in self._actions if not hint.why]
        reads = [(hint.rank, _read(hint)) for hint in self._reads]
        if self._low:  # available actions come first; the rank of the help key keeps it visible
            return [squeeze([*actions, *reads], width - 2)]
        first = squeeze(actions, width - 2) if actions else Content.styled(REFUSED, "$faint")
        second = squeeze(reads, width - 2)
        return [first, second] if self._actions else [second]


def _action(hint: Hint) -> Content:
    title = (hint.title, "bold $accent") if hint.best else hint.title
    return _pressed(hint, Content.assemble((hint.key, "bold $accent"), " ", title))


def _read(hint: Hint) -> Content:
    return _pressed(hint, Content.assemble((hint.key, "bold $primary"), " ", (hint.title, "$faint")))


def _pressed(hint: Hint, content: Content) -> Content:
    return clickable(content, f"app.press('{hint.press}')") if hint.press else content
