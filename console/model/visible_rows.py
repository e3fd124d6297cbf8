"""The visible rows of a forest and the cursor on them: spliced where entries come and go, never built again."""

from __future__ import annotations

from collections.abc import Iterable

from console.model.chunked_list import ChunkedList
from console.model.entry import Entry, rows_of
from queries.model import Node


class VisibleRows:
    """Rows in the order of the screen. Between ``begin`` and ``settle`` the cursor may be on an entry without a row;
    what was near it is remembered, and ``settle`` puts it on the next row that stayed, else on the previous one."""

    def __init__(self, root: Entry) -> None:
        self.root = root
        self.rows: ChunkedList[Entry] = ChunkedList()
        self.cursor: Entry | None = None
        self._anchor: Entry | None = None
        self._nexts: list[Entry] = []
        self._befores: list[Entry] = []

    def is_open(self, parent: Entry) -> bool:
        """Whether rows of its children are visible, if there are any."""
        return parent is self.root or (parent.expanded and parent.block is not None)

    def slot(self, parent: Entry, position: int) -> int:
        """The row where the child at ``position`` begins, or would."""
        siblings = parent.children or []
        before = next((siblings[i] for i in range(position - 1, -1, -1) if siblings[i].shown), None)
        if before is None:
            head = parent.head is not None and parent.head.block is not None
            return (0 if parent is self.root else self.rows.index(parent) + 1) + head
        return self.end(before)

    def end(self, entry: Entry) -> int:
        """The row after the last one below ``entry``."""
        while entry.expanded:
            last = entry.tail or entry.last_child() or entry.head
            if last is None:
                break
            entry = last
        return 0 if entry is self.root else self.rows.index(entry) + 1

    def span(self, entry: Entry) -> tuple[int, int]:
        """The rows of an entry and all below it, counted on the rows themselves (flags may be ahead of them)."""
        start = stop = self.rows.index(entry)
        for below in self.rows.since(start + 1):
            if below.depth <= entry.depth:
                break
            stop += 1
        return start, stop + 1

    def show(self, start: int, entries: Iterable[Entry]) -> None:
        """Insert rows for entries, and for what is unfolded below them, at row ``start``."""
        self.rows.splice(start, start, rows_of(entries))
        if self.cursor is None and len(self.rows):
            self.cursor = self.rows[0]

    def unfold(self, entry: Entry) -> None:
        """Insert the rows below a visible, expanded entry that has none yet."""
        self.show(0 if entry is self.root else self.rows.index(entry) + 1, entry.below())

    def fold(self, entry: Entry) -> None:
        """Take away the rows below a visible entry."""
        start, stop = (-1, len(self.rows)) if entry is self.root else self.span(entry)
        self._cut(start + 1, stop)

    def hide(self, siblings: list[Entry]) -> None:
        """Take away the rows of neighbouring siblings and all below them."""
        visible = [entry for entry in siblings if entry.block is not None]
        if visible:
            self._cut(self.rows.index(visible[0]), self.span(visible[-1])[1])

    def rise(self, entry: Entry) -> None:
        """Bring a cursor that is below ``entry`` up to it."""
        at = self.cursor
        while at is not None and at.depth > entry.depth:
            at = at.parent
        if at is entry:
            self.cursor = entry

    def begin(self) -> None:
        """Rows may go from now on: watch the cursor's."""
        self._anchor, self._nexts, self._befores = self.cursor, [], []

    def settle(self, entries: dict[str, Entry]) -> Node | None:
        """Give the cursor a row again. The node it was on, where that has none any more."""
        at, heirs = self.cursor, (*self._nexts, *self._befores)
        self._anchor, self._nexts, self._befores = None, [], []
        if at is None or at.block is not None:
            return None
        again = entries.get(at.id, at)
        first = self.rows[0] if len(self.rows) else None
        self.cursor = next((entry for entry in (again, *heirs) if entry.block is not None), first)
        return at.node if again.block is None else None

    def _cut(self, start: int, stop: int) -> None:
        anchor = self._anchor
        if anchor is not None and anchor.block is not None and start <= (at := self.rows.index(anchor)) < stop:
            after = self.rows.between(stop, stop + 1)
            before = self.rows.between(start - 1, start) if start else []
            gone = self.rows.between(start, stop)
            self._nexts += gone[at - start + 1 :] + after
            self._befores += gone[: at - start][::-1] + before
            self._anchor = next(iter(after + before), None)
        self.rows.splice(start, stop, ())
