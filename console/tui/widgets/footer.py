"""The keys that do something here: those that change the database first, those that look below them."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from console.tui.widgets.text_bar import TextBar, squeeze
from queries.model import Record


class Hint(Record):
    """One key. ``why`` says why it does nothing now; it is painted grey then."""

    key: str
    title: str
    why: str = ""
    rank: int = 0


class FooterBar(TextBar):
    """Paints :class:`Hint` records in two lines, or in one where there is little room."""

    DEFAULT_CSS = "FooterBar { height: auto; max-height: 2; background: $surface; }"

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self._actions: Sequence[Hint] = ()
        self._looks: Sequence[Hint] = ()
        self._low = False

    def show(self, actions: Sequence[Hint], looks: Sequence[Hint], *, low: bool) -> None:
        """Paint other keys. ``low``: in one line."""
        if (actions, looks, low) != (self._actions, self._looks, self._low):
            self._actions, self._looks, self._low = actions, looks, low
            self.renew()

    def compose_line(self, width: int) -> Content:
        actions = [(hint.rank, _action(hint)) for hint in self._actions]
        looks = [(hint.rank, _look(hint)) for hint in self._looks]
        if self._low:
            # actions that can be done before anything else; help is ranked to stay
            ready = [(hint.rank, _action(hint)) for hint in self._actions if not hint.why]
            return Content.assemble(" ", squeeze([*ready, *looks], width - 2))
        first = squeeze(actions, width - 2) if actions else Content("")
        second = squeeze(looks, width - 2)
        lines = [first, second] if actions else [second]
        return Content("\n").join([Content.assemble(" ", line) for line in lines])


def _action(hint: Hint) -> Content:
    if hint.why:
        return Content.styled(f"{hint.key} {hint.title}", "$faint 60%")
    return Content.assemble((hint.key, "bold $accent"), " ", hint.title)


def _look(hint: Hint) -> Content:
    return Content.assemble((hint.key, "bold $primary"), " ", (hint.title, "$faint"))
