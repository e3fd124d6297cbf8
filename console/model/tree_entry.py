"""Entry of a forest, and operations on its siblings and loaded descendants."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import ClassVar, Generic, Protocol, TypeVar

from console.model.chunked_list import ListChunk
from queries.records.record import Record

SIBLINGS_COMPARED = 64  # siblings compared at once
GUIDED_LEVELS = 24  # levels for which a row lists its guides


class Listed(Protocol):
    """A record that can have a row: a node, or a group of records."""

    __struct_fields__: ClassVar[tuple[str, ...]]

    @property
    def id(self) -> str:
        """Id of the row, independent of the rows around it."""


T = TypeVar("T", bound=Listed)


class EdgeRow(StrEnum):
    """Kind of a row for children that are not loaded.

    It is the first or the last row below a parent. ``BEFORE``: the pages before the loaded ones were evicted.
    ``MORE``: there is a next page. ``LOADING``: the first page is being read. ``COSTLY``: reading the children needs
    a scan.
    """

    BEFORE = "before"
    MORE = "more"
    LOADING = "loading"
    COSTLY = "costly"


class Row(Record, Generic[T]):
    """Visible row.

    A row for children that are not loaded has no ``record``; its ``edge`` gives the kind.
    """

    id: str
    record: T | None
    parent_id: str | None
    depth: int
    expandable: bool
    expanded: bool
    last: bool  # last row among its siblings
    guides: tuple[bool, ...]  # per ancestor below the root: True if more siblings follow it. () if the row is too deep
    dimmed: bool  # shown only because a descendant matches the filter
    marked: bool
    edge: EdgeRow | None = None
    note: str = ""


class TreeEntry(Generic[T]):
    """Record, or row for children that are not loaded, with its tree position.

    ``chunk`` is None while the entry has no visible row.
    """

    __slots__ = (
        "children",
        "chunk",
        "depth",
        "edge",
        "expanded",
        "head",
        "id",
        "last_shown",
        "matched",
        "note",
        "parent",
        "position",
        "record",
        "shown_children",
        "tail",
        "unsorted",
    )

    def __init__(self, id_: str, record: T | None, parent: TreeEntry[T] | None) -> None:
        self.id = id_
        self.record = record
        self.parent = parent
        self.depth: int = -1 if parent is None else parent.depth + 1
        self.children: list[TreeEntry[T]] | None = None  # as shown; None: never read
        self.unsorted: list[TreeEntry[T]] | None = None  # the children as read, while they are shown in another order
        self.head: TreeEntry[T] | None = None  # the edge row before the loaded children
        self.tail: TreeEntry[T] | None = None  # the edge row after the loaded children
        self.edge: EdgeRow | None = None
        self.note = ""
        self.expanded = False
        self.matched = True
        self.shown_children = 0  # number of children that the filter shows
        self.last_shown: TreeEntry[T] | bool | None = None  # the last child shown; False: has to be searched
        self.position = 0  # index among the siblings at the last lookup
        self.chunk: ListChunk | None = None

    @property
    def shown(self) -> bool:
        """True if the filter shows the entry: it matches, or a descendant does."""
        return self.matched or self.shown_children > 0

    @property
    def expandable(self) -> bool:
        """True if there are, or may be, rows below the entry."""
        return self.edge is None and (self.children is None or bool(self.children or self.tail or self.head))

    def as_read(self) -> list[TreeEntry[T]]:
        """Return the loaded children in the order of their pages."""
        return self.children or [] if self.unsorted is None else self.unsorted

    def last_child(self) -> TreeEntry[T] | None:
        """Return the last child that the filter shows."""
        if isinstance(self.last_shown, bool):
            self.last_shown = next((child for child in reversed(self.children or ()) if child.shown), None)
        return self.last_shown

    def is_last(self) -> bool:
        """Return True if no row of a sibling follows."""
        parent = self.parent
        if parent is None or parent.tail is not None:
            return parent is None or parent.tail is self
        return parent.last_child() is self

    def row(self, *, marked: bool) -> Row[T]:
        """Return what a screen paints of the entry."""
        return Row(
            id=self.id,
            record=self.record,
            parent_id=None if self.parent is None else self.parent.id or None,
            depth=self.depth,
            expandable=self.expandable,
            expanded=self.expanded,
            last=self.is_last(),
            guides=self._guides() if self.depth <= GUIDED_LEVELS else (),
            dimmed=not self.matched,
            marked=marked,
            edge=self.edge,
            note=self.note,
        )

    def _guides(self) -> tuple[bool, ...]:
        guides = [not entry.is_last() for entry in self.ancestors() if entry.depth > 0]
        return tuple(reversed(guides))

    def ancestors(self) -> Iterator[TreeEntry[T]]:
        """Iterate from the parent upwards, without the invisible root."""
        entry = self.parent
        while entry is not None and entry.parent is not None:
            yield entry
            entry = entry.parent

    def loaded(self) -> Iterator[TreeEntry[T]]:
        """Iterate over the entry and its loaded descendants, in no particular order."""
        stack = [self]
        while stack:
            entry = stack.pop()
            yield entry
            stack.extend(entry.children or ())

    def below(self) -> list[TreeEntry[T]]:
        """Return the children that the filter shows, with the edge rows around them."""
        head = () if self.head is None else (self.head,)
        tail = () if self.tail is None else (self.tail,)
        return [*head, *(child for child in self.children or () if child.shown), *tail]


def position_of(siblings: list[TreeEntry[T]], entry: TreeEntry[T]) -> int:
    """Return the index of ``entry`` among its siblings.

    The search starts near its last position.
    """
    low = max(entry.position - SIBLINGS_COMPARED, 0)
    try:
        entry.position = low + siblings[low : low + 2 * SIBLINGS_COMPARED].index(entry)
    except ValueError:
        entry.position = siblings.index(entry)
    return entry.position


def common(old: list[TreeEntry[T]], new: list[TreeEntry[T]]) -> tuple[int, int]:
    """Return how many entries two lists share at their start, and then at their end."""
    limit = min(len(old), len(new))
    head = 0
    while head < limit and old[head : head + SIBLINGS_COMPARED] == new[head : head + SIBLINGS_COMPARED]:
        head += SIBLINGS_COMPARED
    head = min(head, limit)
    while head < limit and old[head] is new[head]:
        head += 1
    tail, end, close = 0, len(old), len(new)
    while (
        tail + SIBLINGS_COMPARED <= limit - head
        and old[end - tail - SIBLINGS_COMPARED : end - tail] == new[close - tail - SIBLINGS_COMPARED : close - tail]
    ):
        tail += SIBLINGS_COMPARED
    while tail < limit - head and old[-1 - tail] is new[-1 - tail]:
        tail += 1
    return head, tail


def tail_id(parent_id: str | None) -> str:
    """Return the id of the edge row after a parent's loaded children.

    None means the roots.
    """
    return f"{parent_id or ''}\0more"


def edge_entry(parent: TreeEntry[T], edge: EdgeRow, note: str) -> TreeEntry[T]:
    """Return a new entry for an edge row."""
    ending = "\0before" if edge is EdgeRow.BEFORE else "\0more"
    entry = TreeEntry(parent.id + ending, None, parent)
    entry.edge, entry.note, entry.children = edge, note, []
    return entry


def edge_of(row_id: str) -> tuple[str, bool] | None:
    """Return the parent of an edge row and True for its first row.

    Return None for the row of a record.
    """
    parent_id, separator, ending = row_id.rpartition("\0")
    return (parent_id, ending == "before") if separator else None


def count_shown(entry: TreeEntry[T], step: int) -> tuple[TreeEntry[T], TreeEntry[T]]:
    """Add ``step`` (1 or -1) to the shown children of the parent.

    Go on with the parent as long as this changes whether the parent is shown. Return the uppermost entry that changed,
    and its parent.
    """
    while (parent := entry.parent) is not None:
        before = parent.shown
        parent.shown_children += step
        parent.last_shown = False
        if parent.parent is None or parent.shown == before:
            return entry, parent
        entry = parent
    raise ValueError("the root is always shown")


def rows_of(entries: Iterable[TreeEntry[T]]) -> list[TreeEntry[T]]:
    """Return the rows of siblings and of their expanded descendants, in screen order."""
    rows: list[TreeEntry[T]] = []
    stack = [entry for entry in entries if entry.shown]
    stack.reverse()
    while stack:
        entry = stack.pop()
        rows.append(entry)
        if entry.expanded:
            stack.extend(reversed(entry.below()))
    return rows


def append(old: list[TreeEntry[T]], read: list[TreeEntry[T]], new: set[TreeEntry[T]]) -> list[TreeEntry[T]]:
    """Return the old children with the new ones after them."""
    return [*old, *(entry for entry in read if entry in new)]


def prepend(old: list[TreeEntry[T]], read: list[TreeEntry[T]], new: set[TreeEntry[T]]) -> list[TreeEntry[T]]:
    """Return the old children with the new ones before them."""
    return [*(entry for entry in read if entry in new), *old]


def merge(old: list[TreeEntry[T]], read: list[TreeEntry[T]], new: set[TreeEntry[T]]) -> list[TreeEntry[T]]:
    """Merge the new children into the old ones, in the order of the page ``read``.

    A new entry follows its predecessor in the page. New entries at the start of the page go before the first known
    entry of the page, or to the top.
    """
    groups: dict[TreeEntry[T] | None, list[TreeEntry[T]]] = {}
    previous: TreeEntry[T] | None = None
    for entry in read:
        if entry not in new:
            previous = entry
        else:
            groups.setdefault(previous, []).append(entry)
    first = next((entry for entry in read if entry not in new), None)
    fresh = old.copy()
    for before, group in groups.items():
        anchor = before or first
        at = 0 if anchor is None else position_of(fresh, anchor) + (before is not None)
        fresh[at:at] = group
    return fresh
