"""Visible rows of a forest and the cursor on them.

Rows are spliced in place; the list is never rebuilt.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic

from console.model.chunked_list import ChunkedList
from console.model.tree_entry import T, TreeEntry, rows_of


class VisibleRows(Generic[T]):
    """Rows in screen order, with a cursor.

    Between ``begin`` and ``settle`` the cursor's entry may have no row. ``settle`` then moves the cursor to the next
    row that remained, else to the previous one.
    """

    def __init__(self, root: TreeEntry[T]) -> None:
        self.root = root
        self.rows: ChunkedList[TreeEntry[T]] = ChunkedList()
        self.cursor: TreeEntry[T] | None = None
        self._anchor: TreeEntry[T] | None = None  # the entry around which removed rows are recorded
        self._following: list[TreeEntry[T]] = []  # candidates for the cursor, nearest first
        self._preceding: list[TreeEntry[T]] = []

    def is_open(self, parent: TreeEntry[T]) -> bool:
        """Return True if rows of the parent's children would be visible."""
        return parent is self.root or (parent.expanded and parent.chunk is not None)

    def slot(self, parent: TreeEntry[T], position: int) -> int:
        """Return the row at which the child at ``position`` begins, or would begin."""
        siblings = parent.children or []
        before = next((siblings[i] for i in range(position - 1, -1, -1) if siblings[i].shown), None)
        if before is None:
            head = parent.head is not None and parent.head.chunk is not None
            return (0 if parent is self.root else self.rows.index(parent) + 1) + head
        return self.end(before)

    def end(self, entry: TreeEntry[T]) -> int:
        """Return the row after the last row below ``entry``."""
        while entry.expanded:
            last = entry.tail or entry.last_child() or entry.head
            if last is None:
                break
            entry = last
        return 0 if entry is self.root else self.rows.index(entry) + 1

    def span(self, entry: TreeEntry[T]) -> tuple[int, int]:
        """Return the range of rows of an entry and its descendants.

        Count the rows themselves: the entries' flags may already describe a later state.
        """
        start = stop = self.rows.index(entry)
        for below in self.rows.since(start + 1):
            if below.depth <= entry.depth:
                break
            stop += 1
        return start, stop + 1

    def show(self, start: int, entries: Iterable[TreeEntry[T]]) -> None:
        """Insert the rows of entries and of their expanded descendants at row ``start``."""
        self.rows.splice(start, start, rows_of(entries))
        if self.cursor is None and len(self.rows):
            self.cursor = self.rows[0]

    def unfold(self, entry: TreeEntry[T]) -> None:
        """Insert the rows below a visible, expanded entry that has no rows below it yet."""
        self.show(0 if entry is self.root else self.rows.index(entry) + 1, entry.below())

    def fold(self, entry: TreeEntry[T]) -> None:
        """Remove the rows below a visible entry."""
        start, stop = (-1, len(self.rows)) if entry is self.root else self.span(entry)
        self._cut(start + 1, stop)

    def hide(self, siblings: list[TreeEntry[T]]) -> None:
        """Remove the rows of neighbouring siblings and of their descendants."""
        visible = [entry for entry in siblings if entry.chunk is not None]
        if visible:
            self._cut(self.rows.index(visible[0]), self.span(visible[-1])[1])

    def rise(self, entry: TreeEntry[T]) -> None:
        """Move the cursor to ``entry`` if it is on a descendant."""
        at = self.cursor
        while at is not None and at.depth > entry.depth:
            at = at.parent
        if at is entry:
            self.cursor = entry

    def begin(self) -> None:
        """Start an update: from now on, remember the rows around the cursor."""
        self._anchor, self._following, self._preceding = self.cursor, [], []

    def settle(self, entries: dict[str, TreeEntry[T]]) -> T | None:
        """End an update: give the cursor a row.

        Return the cursor's record if it has no row any more.
        """
        at, candidates = self.cursor, (*self._following, *self._preceding)
        self._anchor, self._following, self._preceding = None, [], []
        if at is None or at.chunk is not None:
            return None
        again = entries.get(at.id, at)
        first = self.rows[0] if len(self.rows) else None
        self.cursor = next((entry for entry in (again, *candidates) if entry.chunk is not None), first)
        return at.record if again.chunk is None else None

    def _cut(self, start: int, stop: int) -> None:
        anchor = self._anchor
        if anchor is not None and anchor.chunk is not None and start <= (at := self.rows.index(anchor)) < stop:
            after = self.rows.between(stop, stop + 1)
            before = self.rows.between(start - 1, start) if start else []
            gone = self.rows.between(start, stop)
            self._following += gone[at - start + 1 :] + after
            self._preceding += gone[: at - start][::-1] + before
            self._anchor = next(iter(after + before), None)
        self.rows.splice(start, stop, ())
