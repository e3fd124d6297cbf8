"""Bars of one or two lines of styled text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Concatenate, Generic, ParamSpec

from textual import events
from textual.content import Content
from textual.style import Style
from textual.widgets import Static

ACTION = "bar_action"  # not Textual's "@click", which underlines

P = ParamSpec("P")

EMPTY = Content("")
Part = str | Content | tuple[str, str]


class TextBar(Static, Generic[P]):
    """Bar of text that a function makes. Text is never read as markup."""

    ALLOW_SELECT = False
    DEFAULT_CSS = "TextBar { height: 1; width: 1fr; text-wrap: nowrap; text-overflow: ellipsis; }"

    def __init__(
        self, make: Callable[Concatenate[int, P], Content], id: str | None = None, classes: str | None = None
    ) -> None:
        """Create an empty bar.

        ``make`` returns the content for a width in cells and the arguments of `show`.
        """
        super().__init__(EMPTY, id=id, classes=classes)
        self._make = make
        self._given: object = None
        self._at_width: Callable[[int], Content] = lambda _: EMPTY
        self._shown = EMPTY

    def show(self, *args: P.args, **kwargs: P.kwargs) -> None:
        """Show something else. Equal arguments have the same content."""
        if self._given != (args, kwargs):
            self._given = (args, kwargs)
            self._at_width = lambda width: self._make(width, *args, **kwargs)
            self.renew()

    def shows(self, *args: P.args, **kwargs: P.kwargs) -> bool:
        """Return True if it shows the content of these arguments."""
        return self._given == (args, kwargs)

    def renew(self) -> None:
        """Make the content again, and show it if it differs."""
        if self.is_attached:  # else it has no width yet, or its screen is being closed
            content = self._at_width(self.content_size.width or self.app.size.width)
            if not content.is_same(before := self._shown):
                self._shown = content
                same = self.styles.text_wrap == "nowrap" and content.plain.count("\n") == before.plain.count("\n")
                self.update(content, layout=not same)  # a layout paints the whole screen

    def on_resize(self) -> None:
        self.renew()

    async def on_click(self, event: events.Click) -> None:
        """Run the action of the part under the mouse."""
        action = event.style.meta.get(ACTION)
        if action is not None:
            event.stop()
            await self.app.run_action(action)


def clickable(part: Content, action: str) -> Content:
    """Return a part of a bar that runs an action of the app when it is clicked."""
    return part.stylize(Style.from_meta({ACTION: action}))


def spread(left: Iterable[Part], right: Iterable[Part], width: int) -> Content:
    """Return one line with left and right parts.

    If both do not fit, the left parts are cut, then the right ones.
    """
    begin, end = Content.assemble(*left), Content.assemble(*right)
    room = width - end.cell_length
    if room < 12:
        return begin.truncate(width, ellipsis=True)
    begin = begin.truncate(room - 1, ellipsis=True) if begin.cell_length > room - 1 else begin
    return Content.assemble(begin, " " * (room - begin.cell_length), end)


def squeeze(parts: Iterable[tuple[int, Content]], width: int, gap: str = "  ") -> Content:
    """Return the parts that fit into ``width``, in order.

    Parts with a low rank number are kept first.
    """
    items = list(parts)
    kept = fitting([(rank, part.cell_length) for rank, part in items], width, len(gap))
    return joined(gap, [items[index][1] for index in kept])


def joined(gap: str, parts: Iterable[Part]) -> Content:
    """Return the parts with a gap between them.

    ``Content.join`` takes longer: it handles each character by itself.
    """
    return Content.assemble(*[each for part in parts for each in (gap, part)][1:])


def fitting(sizes: Sequence[tuple[int, int]], width: int, gap: int = 2) -> list[int]:
    """Return the places of the parts that fit into ``width``.

    ``sizes`` are the ranks and cells of the parts; those with a low rank number are kept first.
    """
    kept: set[int] = set()
    used = 0
    for index in sorted(range(len(sizes)), key=lambda i: (sizes[i][0], i)):
        needed = sizes[index][1] + (gap if kept else 0)
        if used + needed <= width:
            kept.add(index)
            used += needed
    return sorted(kept)
