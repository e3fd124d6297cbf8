"""One entry of the forest and what can be said of it alone: its place among its siblings, its loaded descendants."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from enum import StrEnum

from console.model.chunked_list import ListChunk
from queries.model import Node, Record

NEAR = 64
RAILS = 24


class EdgeRow(StrEnum):
    """Why a parent's last row is not a node: there is a next page, it is being read, or reading it would cost. Or its
    first row: what was before the loaded children was let go."""

    BEFORE = "before"
    MORE = "more"
    LOADING = "loading"
    COSTLY = "costly"


class Row(Record):
    """A visible row. ``node`` is None and ``tail`` is set where it stands for rows that are not loaded."""

    id: str
    node: Node | None
    parent_id: str | None
    depth: int
    expandable: bool
    expanded: bool
    last: bool  # the last row of its siblings
    rails: tuple[bool, ...]  # for its ancestors below the root: do more siblings of theirs follow? () when too deep
    dimmed: bool  # shown only because something below it matches the filter
    marked: bool
    tail: EdgeRow | None = None
    note: str = ""


class Entry:
    """A node or a tail with its place in the tree. ``block`` is None while it has no visible row."""

    __slots__ = (
        "block",
        "children",
        "depth",
        "expanded",
        "final",
        "head",
        "id",
        "kind",
        "live",
        "matched",
        "node",
        "note",
        "parent",
        "place",
        "tail",
    )

    def __init__(self, id_: str, node: Node | None, parent: Entry | None) -> None:
        self.id = id_
        self.node = node
        self.parent = parent
        self.depth: int = -1 if parent is None else parent.depth + 1
        self.children: list[Entry] | None = None  # None: never read
        self.head: Entry | None = None  # the row for children before the loaded ones
        self.tail: Entry | None = None  # the row for those after them
        self.kind: EdgeRow | None = None
        self.note = ""
        self.expanded = False
        self.matched = True
        self.live = 0  # children that the filter shows
        self.final: Entry | bool | None = None  # the last child shown; False: not known at the moment
        self.place = 0  # where it was among its siblings when last looked
        self.block: ListChunk | None = None

    @property
    def shown(self) -> bool:
        """Whether the filter lets it be seen."""
        return self.matched or self.live > 0

    @property
    def expandable(self) -> bool:
        """Whether there are, or may be, rows below it."""
        return self.kind is None and (self.children is None or bool(self.children or self.tail or self.head))

    def last_child(self) -> Entry | None:
        """The last child that the filter shows."""
        if isinstance(self.final, bool):
            self.final = next((child for child in reversed(self.children or ()) if child.shown), None)
        return self.final

    def is_last(self) -> bool:
        """Whether no sibling's row follows."""
        parent = self.parent
        if parent is None or parent.tail is not None:
            return parent is None or parent.tail is self
        return parent.last_child() is self

    def row(self, marks: Collection[str]) -> Row:
        """What a screen needs to know to paint it."""
        return Row(
            id=self.id,
            node=self.node,
            parent_id=None if self.parent is None else self.parent.id or None,
            depth=self.depth,
            expandable=self.expandable,
            expanded=self.expanded,
            last=self.is_last(),
            rails=self._rails() if self.depth <= RAILS else (),
            dimmed=not self.matched,
            marked=self.id in marks,
            tail=self.kind,
            note=self.note,
        )

    def _rails(self) -> tuple[bool, ...]:
        found = [not entry.is_last() for entry in self.ancestors() if entry.depth > 0]
        return tuple(reversed(found))

    def ancestors(self) -> Iterator[Entry]:
        """From its parent up, without the root that is no node."""
        entry = self.parent
        while entry is not None and entry.parent is not None:
            yield entry
            entry = entry.parent

    def loaded(self) -> Iterator[Entry]:
        """Itself and everything loaded below it, in no promised order."""
        stack = [self]
        while stack:
            entry = stack.pop()
            yield entry
            stack.extend(entry.children or ())

    def below(self) -> list[Entry]:
        """Its children that the filter shows, between its head and its tail."""
        head = () if self.head is None else (self.head,)
        tail = () if self.tail is None else (self.tail,)
        return [*head, *(child for child in self.children or () if child.shown), *tail]


def place(siblings: list[Entry], entry: Entry) -> int:
    """Where ``entry`` is among its siblings. Looks near where it was before, as positions drift slowly."""
    low = max(entry.place - NEAR, 0)
    try:
        entry.place = low + siblings[low : low + 2 * NEAR].index(entry)
    except ValueError:
        entry.place = siblings.index(entry)
    return entry.place


def common(old: list[Entry], new: list[Entry]) -> tuple[int, int]:
    """How many entries two lists share at their start, and how many at their end beyond that."""
    limit = min(len(old), len(new))
    head = 0
    while head < limit and old[head : head + NEAR] == new[head : head + NEAR]:
        head += NEAR
    head = min(head, limit)
    while head < limit and old[head] is new[head]:
        head += 1
    tail, end, close = 0, len(old), len(new)
    while (
        tail + NEAR <= limit - head and old[end - tail - NEAR : end - tail] == new[close - tail - NEAR : close - tail]
    ):
        tail += NEAR
    while tail < limit - head and old[-1 - tail] is new[-1 - tail]:
        tail += 1
    return head, tail


def tail_id(parent_id: str | None) -> str:
    """The id of the row that stands for a parent's unread children."""
    return f"{parent_id or ''}\0more"


def edge_entry(parent: Entry, kind: EdgeRow, note: str) -> Entry:
    """The entry of a row for children that are not loaded."""
    ending = "\0before" if kind is EdgeRow.BEFORE else "\0more"
    entry = Entry(parent.id + ending, None, parent)
    entry.kind, entry.note, entry.children = kind, note, []
    return entry


def edge_of(row_id: str) -> tuple[str, bool] | None:
    """The parent whose edge a row is, and whether it is the upper one; None for a node's row."""
    parent_id, mark, ending = row_id.rpartition("\0")
    return (parent_id, ending == "before") if mark else None


def count(entry: Entry, step: int) -> tuple[Entry, Entry]:
    """Count ``entry`` in (1) or out (-1) of what its parent shows, and so on up while that changes whether a parent is
    shown. The uppermost entry whose state changed, and its parent."""
    while (parent := entry.parent) is not None:
        was = parent.shown
        parent.live += step
        parent.final = False
        if parent.parent is None or parent.shown == was:
            return entry, parent
        entry = parent
    raise ValueError("the root is always shown")


def rows_of(entries: Iterable[Entry]) -> list[Entry]:
    """The rows of siblings and of what is unfolded below them, in order."""
    rows: list[Entry] = []
    stack = [entry for entry in entries if entry.shown]
    stack.reverse()
    while stack:
        entry = stack.pop()
        rows.append(entry)
        if entry.expanded:
            stack.extend(reversed(entry.below()))
    return rows


def append(old: list[Entry], read: list[Entry], new: set[Entry]) -> list[Entry]:
    """The next page after what is there; those already there keep their place."""
    return [*old, *(entry for entry in read if entry in new)]


def prepend(old: list[Entry], read: list[Entry], new: set[Entry]) -> list[Entry]:
    """The page before what is there; those already there keep their place."""
    return [*(entry for entry in read if entry in new), *old]


def merge(old: list[Entry], read: list[Entry], new: set[Entry]) -> list[Entry]:
    """A page read again: new entries go after the one they follow in it, else before the first one known, or on top."""
    groups: dict[Entry | None, list[Entry]] = {}
    previous: Entry | None = None
    for entry in read:
        if entry not in new:
            previous = entry
        else:
            groups.setdefault(previous, []).append(entry)
    first = next((entry for entry in read if entry not in new), None)
    fresh = old.copy()
    for before, group in groups.items():
        anchor = before or first
        at = 0 if anchor is None else place(fresh, anchor) + (before is not None)
        fresh[at:at] = group
    return fresh
