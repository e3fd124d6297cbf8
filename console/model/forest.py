"""Model of every list: loaded records, visible rows, cursor, marks and folds.

Pure data: no database, no Textual.

The visible rows are one flat sequence that is spliced where something changes, so a key press costs only the rows that
it shows or hides. Nothing recurses, so depth has no limit. The cursor and the marks are ids. Edge rows ("more…") have
ids that no record can have: they contain a NUL, which PostgreSQL cannot store in text.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import takewhile
from typing import Any, Generic

from console.model.order import Order
from console.model.tree_entry import (
    EdgeRow,
    Listed,
    Row,
    T,
    TreeEntry,
    append,
    common,
    count_shown,
    edge_entry,
    edge_of,
    merge,
    position_of,
    prepend,
    tail_id,
)
from console.model.visible_rows import VisibleRows
from queries.records.record import Record

__all__ = ["EdgeRow", "Forest", "ForestChange", "Row", "tail_id"]


class ForestChange(Record, Generic[T]):
    """Result of one operation on a forest."""

    cells: dict[str, frozenset[str]] = {}  # changed fields, by id
    vanished: T | None = None  # the record that was under the cursor and has no row any more


def _own(record: Listed) -> Collection[str]:
    return (record.id,)


class Forest(Generic[T]):
    """Loaded records, their order and the visible rows.

    Methods ignore ids that are not loaded.

    Args:
        own: returns the ids that a mark of a record is about, if not its own: those of a group's records.
        leaf: returns True for a record that never has children.
    """

    def __init__(
        self, own: Callable[[T], Collection[str]] = _own, leaf: Callable[[T], bool] = lambda record: False
    ) -> None:
        self.marks: set[str] = set()
        self.touched = False  # whether the operator chose the cursor's row; else it is the first row
        self.matched = 0  # number of loaded records that match the filter, without ancestors shown for them
        self.order: Order[T] | None = None  # of siblings; None for the order of their pages
        self._own = own
        self._leaf = leaf
        self._evicting = False
        self._entries: dict[str, TreeEntry[T]] = {}
        self._predicate: Callable[[T], bool] | None = None
        self._root = TreeEntry[T]("", None, None)
        self._root.expanded = True
        self._visible = VisibleRows(self._root)
        self._rows = self._visible.rows

    # records and rows

    def __len__(self) -> int:
        """Return the number of visible rows."""
        return len(self._rows)

    def __contains__(self, id_: object) -> bool:
        """Return True if the record is loaded."""
        return id_ in self._entries

    @property
    def loaded(self) -> int:
        """Number of loaded records."""
        return len(self._entries)

    @property
    def cursor(self) -> str | None:
        """Id of the row under the cursor, a record's or an edge row's.

        None only while there are no rows.
        """
        at = self._visible.cursor
        return None if at is None else at.id

    @property
    def filtered(self) -> bool:
        """True if a filter is set."""
        return self._predicate is not None

    @property
    def cursor_row(self) -> int:
        """Index of the row under the cursor; 0 if there are no rows."""
        at = self._visible.cursor
        return 0 if at is None else self._rows.index(at)

    @property
    def current(self) -> T | None:
        """The record under the cursor; None without one, as on an edge row."""
        at = self._visible.cursor
        return None if at is None else at.record

    def record(self, id_: str) -> T | None:
        """Return the record as last read; None for edge rows and unloaded ids."""
        entry = self._entries.get(id_)
        return None if entry is None else entry.record

    def parent(self, row_id: str) -> str | None:
        """Return the id of a row's parent; None for roots."""
        entry = self._find(row_id)
        return None if entry is None or entry.parent is None else entry.parent.id or None

    def children(self, parent_id: str | None) -> tuple[str, ...] | None:
        """Return the ids of the loaded children as read; None if unread.

        They are in the order of their pages. None as parent means the roots.
        """
        entry = self._find(parent_id or "")
        return None if entry is None or entry.children is None else tuple(child.id for child in entry.as_read())

    def below(self, id_: str) -> list[T]:
        """Return the loaded children of a record, in the order in which they are shown."""
        entry = self._entries.get(id_)
        children = None if entry is None else entry.children
        return [child.record for child in children or () if child.record is not None]

    def is_expanded(self, id_: str) -> bool:
        """Return True if the record is unfolded.

        Its children are visible only if its ancestors are unfolded too.
        """
        entry = self._find(id_)
        return entry is not None and entry.expanded

    def index(self, row_id: str) -> int | None:
        """Return the index of a row; None if the row is not visible."""
        entry = self._find(row_id)
        return None if entry is None or entry.chunk is None else self._rows.index(entry)

    def row(self, index: int) -> Row[T]:
        """Return the row at ``index``. Raise IndexError beyond the end."""
        return self._row(self._rows[index])

    def _row(self, entry: TreeEntry[T]) -> Row[T]:
        own = () if entry.record is None or not self.marks else self._own(entry.record)
        return entry.row(marked=bool(own) and self.marks.issuperset(own))

    def id_at(self, index: int) -> str:
        """Return the id of the row at ``index``. Raise IndexError beyond the end."""
        return self._rows[index].id

    def rows(self, start: int, stop: int) -> list[Row[T]]:
        """Return the rows from ``start`` to ``stop`` (exclusive), cut to the visible rows."""
        return [self._row(entry) for entry in self._rows.between(start, stop)]

    def shown(self, start: int, stop: int) -> list[T]:
        """Return the records of the rows from ``start`` to ``stop``, without edge rows."""
        return [entry.record for entry in self._rows.between(start, stop) if entry.record is not None]

    def edge_rows(self, start: int, stop: int) -> list[Row[T]]:
        """Return the edge rows between ``start`` and ``stop``."""
        return [self._row(entry) for entry in self._rows.between(start, stop) if entry.record is None]

    def records(self) -> list[T]:
        """Return all loaded records, in no order."""
        return [entry.record for entry in self._entries.values() if entry.record is not None]

    def matching(self) -> list[str]:
        """Return the ids of visible rows that match the filter themselves, in order."""
        return [entry.id for entry in self._rows.since(0) if entry.record is not None and entry.matched]

    def _find(self, row_id: str) -> TreeEntry[T] | None:
        if not row_id:
            return self._root
        edge = edge_of(row_id)
        if edge is None:
            return self._entries.get(row_id)
        parent = self._find(edge[0])
        return None if parent is None else parent.head if edge[1] else parent.tail

    # cursor and marks

    def move(self, rows: int) -> bool:
        """Move the cursor down (up, if negative), at most to the edge.

        Return False if it did not move.
        """
        before = self._visible.cursor
        if before is None:
            return False
        index = self._rows.index(before) + rows
        self._visible.cursor = self._rows[min(max(index, 0), len(self._rows) - 1)]
        return self._visible.cursor is not before

    def move_to(self, row_id: str) -> bool:
        """Move the cursor to a visible row. Return False if there is no such row."""
        entry = self._find(row_id)
        if entry is None or entry.chunk is None:
            return False
        self._visible.cursor = entry
        return True

    def reveal(self, id_: str) -> bool:
        """Unfold the ancestors of a loaded record and move the cursor to it.

        Return False if the record is not loaded or the filter hides it.
        """
        entry = self._entries.get(id_)
        if entry is None or not entry.shown:
            return False
        for ancestor in list(entry.ancestors()):
            self.expand(ancestor.id)
        return self.move_to(id_)

    def mark(self, row_ids: Iterable[str], on: bool | None = True) -> None:
        """Mark what loaded rows are about, or unmark it; None unmarks it if all is marked."""
        records = filter(None, map(self.record, row_ids))
        own = {id_ for record in records for id_ in self._own(record)}
        self.marks = self.marks - own if on is False or (on is None and own <= self.marks) else self.marks | own

    # folding

    def expand(self, id_: str) -> bool:
        """Show a record's children.

        Return True if the caller has to read them; a "loading" row is shown meanwhile.
        """
        entry = self._entries.get(id_)
        if entry is None or entry.expanded or not entry.expandable:
            return False
        unread = entry.children is None
        entry.expanded = True
        if unread and entry.tail is None:
            entry.tail = edge_entry(entry, EdgeRow.LOADING, "")
        if entry.chunk is not None:
            self._visible.unfold(entry)
        return unread

    def collapse(self, id_: str) -> bool:
        """Hide a record's children and move a cursor among them to it.

        Return False if they were not shown.
        """
        entry = self._entries.get(id_)
        if entry is None or not entry.expanded:
            return False
        entry.expanded = False
        if entry.chunk is not None:
            self._visible.rise(entry)
            self._visible.fold(entry)
        return True

    def expand_loaded(self) -> bool:
        """Show all loaded records, without reading more.

        Return False if all of them were shown.
        """
        entries = self._entries.values()
        folded = any(entry.children and not entry.expanded for entry in entries)
        with self._rebuilding():
            for entry in entries:
                entry.expanded = entry.expanded or (entry.children is not None and entry.expandable)
        self._finish()
        return folded

    def collapse_all(self) -> None:
        """Show the roots only. A cursor below a root moves to it."""
        at = self._visible.cursor
        while at is not None and at.parent is not None and at.parent is not self._root:
            at = at.parent
        self._visible.cursor = at
        with self._rebuilding():
            for entry in self._entries.values():
                entry.expanded = False
        self._finish()

    # updates from the database

    @contextlib.contextmanager
    def evicting(self) -> Iterator[None]:
        """Treat records removed inside this block as evicted: their marks are kept."""
        self._evicting = True
        try:
            yield
        finally:
            self._evicting = False

    def set_children(self, parent_id: str | None, records: Iterable[T], complete: bool) -> ForestChange[T]:
        """Replace the children (the roots, for None).

        If not ``complete``, add a "more" row for the next page.
        """
        self.set_head(parent_id, None)
        return self._children(parent_id, records, lambda old, read, new: read, complete)

    def append_children(self, parent_id: str | None, records: Iterable[T], complete: bool) -> ForestChange[T]:
        """Add the next page of children. Known children keep their position."""
        return self._children(parent_id, records, append, complete)

    def prepend_children(self, parent_id: str | None, records: Iterable[T], complete: bool) -> ForestChange[T]:
        """Add the page before the loaded children.

        If not ``complete``, show an edge row for the pages before it.
        """
        change = self._children(parent_id, records, prepend, None)
        self.set_head(parent_id, None if complete else EdgeRow.BEFORE)
        return change

    def merge_children(self, parent_id: str | None, records: Iterable[T]) -> ForestChange[T]:
        """Insert the new records of a page at their positions (see ``tree_entry.merge``).

        Remove and move nothing.
        """
        return self._children(parent_id, records, merge, None)

    def set_tail(self, parent_id: str | None, edge: EdgeRow | None, note: str = "") -> ForestChange[T]:
        """Set the edge row after a parent's loaded children; None removes it."""
        self._visible.begin()
        self._set_edge(self._find(parent_id or ""), edge, note)
        return self._finish()

    def set_head(self, parent_id: str | None, edge: EdgeRow | None, note: str = "") -> ForestChange[T]:
        """Set the edge row before a parent's loaded children; None removes it."""
        self._visible.begin()
        self._set_edge(self._find(parent_id or ""), edge, note, first=True)
        return self._finish()

    def forget_children(self, id_: str) -> None:
        """Unload the descendants of a folded record, as if they were never read."""
        entry = self._entries.get(id_)
        if entry is not None and not entry.expanded and entry.children:
            self._visible.begin()
            self._replace(entry, [])
            entry.children = entry.unsorted = entry.tail = entry.head = None
            self._finish()

    def update(self, records: Iterable[T]) -> ForestChange[T]:
        """Replace loaded records by newer versions.

        No row moves unless the siblings are sorted; with a filter, rows appear and disappear.
        """
        self._visible.begin()
        cells: dict[str, frozenset[str]] = {}
        for record in records:
            entry = self._entries.get(record.id)
            if entry is not None:
                self._update_entry(entry, record, cells)
        if self.order is not None:
            parents = (self._entries[id_].parent for id_ in cells)
            for parent in dict.fromkeys(parents):
                if parent is not None:
                    self._replace(parent, parent.as_read())
        return self._finish(cells)

    def remove(self, ids: Collection[str]) -> ForestChange[T]:
        """Remove records and their loaded descendants.

        A cursor among them moves to the next row, else the previous.
        """
        self._visible.begin()
        self._drop(self._entries[id_] for id_ in ids if id_ in self._entries)
        return self._finish()

    def set_filter(self, predicate: Callable[[T], bool] | None) -> ForestChange[T]:
        """Show only matching records and their ancestors; None shows all.

        Every record is tested again.
        """
        with self._rebuilding():
            self._predicate = predicate
            self._root.shown_children = self.matched = 0
            self._root.last_shown = False
            for entry in self._entries.values():
                entry.matched, entry.shown_children, entry.last_shown = False, 0, False
            for entry in self._entries.values():
                entry.matched = predicate is None or (entry.record is not None and predicate(entry.record))
                self.matched += entry.matched
                if entry.matched and not entry.shown_children:
                    count_shown(entry, 1)
        return self._finish()

    def arrange(self, parent_id: str | None, key: Callable[[T], Any]) -> None:
        """Sort the loaded children of a parent (the roots, for None).

        The result counts as the order in which they were read.
        """
        parent = self._find(parent_id or "")
        self._visible.begin()
        if parent is not None and parent.children:
            self._replace(parent, sorted(parent.as_read(), key=lambda entry: key(_record_of(entry))))
        self._finish()

    def set_order(self, order: Order[T] | None) -> ForestChange[T]:
        """Sort the loaded siblings of each level; None restores the order of their pages."""
        with self._rebuilding():
            self.order = order
            for entry in (self._root, *self._entries.values()):
                if entry.children:
                    self._arrange(entry, entry.as_read())
        return self._finish()

    # implementation of the updates

    @contextlib.contextmanager
    def _rebuilding(self) -> Iterator[None]:
        self._visible.begin()
        self._visible.fold(self._root)
        yield
        self._visible.unfold(self._root)

    def _children(
        self,
        parent_id: str | None,
        records: Iterable[T],
        arrange: Callable[[list[TreeEntry[T]], list[TreeEntry[T]], set[TreeEntry[T]]], list[TreeEntry[T]]],
        complete: bool | None,
    ) -> ForestChange[T]:
        """Change the children of a parent.

        ``arrange`` takes the old children, those read and the new ones among them, and returns the new order.
        ``complete`` None leaves the edge row after the children as it is.
        """
        parent = self._find(parent_id or "")
        self._visible.begin()
        if parent is None or parent.edge is not None:
            return self._finish()
        cells: dict[str, frozenset[str]] = {}
        marks, unread = set(self.marks), parent.children is None
        read = self._entries_for(parent, records, cells)
        new = {entry: entry.id for entry in read if entry.id not in self._entries}
        self._entries.update((entry.id, entry) for entry in new)
        at, first = self._visible.cursor, next(iter(parent.children or ()), None)
        on_tail, on_head = parent.tail is not None and parent.tail is at, parent.head is not None and parent.head is at
        self._replace(parent, arrange(parent.as_read(), read, set(new)))
        self.marks |= marks & set(new.values())
        if on_tail:
            after = takewhile(new.__contains__, reversed(parent.children or ()))
            self._visible.cursor = [at, *(entry for entry in after if entry.chunk is not None)][-1]
        elif on_head and first is not None and first.chunk is not None:
            self._visible.cursor = first
        if complete is not None or unread:
            self._set_edge(parent, None if complete else EdgeRow.MORE, "")
        return self._finish(cells)

    def _entries_for(
        self, parent: TreeEntry[T], records: Iterable[T], cells: dict[str, frozenset[str]]
    ) -> list[TreeEntry[T]]:
        """Return the entries of the records read: updated or new, each once.

        Skip ancestors of the parent: they are a loop in the data. Remove a record that was below another parent, so
        that it gets a new entry here.
        """
        latest = {record.id: record for record in records}
        old = {self._entries[id_] for id_ in latest if id_ in self._entries}
        for ancestor in (parent, *parent.ancestors()) if old else ():
            if ancestor in old:
                old.remove(ancestor)
                del latest[ancestor.id]
        self._drop(entry for entry in old if entry.parent is not parent)
        entries: list[TreeEntry[T]] = []
        for record in latest.values():
            entry = self._entries.get(record.id)
            if entry is None:
                entry = TreeEntry(record.id, record, parent)
                entry.children = [] if self._leaf(record) else None
                entry.matched = self._predicate is None or self._predicate(record)
                self.matched += entry.matched
            else:
                self._update_entry(entry, record, cells)
            entries.append(entry)
        return entries

    def _update_entry(self, entry: TreeEntry[T], record: T, cells: dict[str, frozenset[str]]) -> None:
        old = entry.record
        if old != record:
            names = record.__struct_fields__
            cells[record.id] = frozenset(name for name in names if getattr(old, name) != getattr(record, name))
            entry.record = record
        matched = self._predicate is None or self._predicate(record)
        if matched != entry.matched:
            shown = entry.shown
            entry.matched = matched
            self.matched += 1 if matched else -1
            if entry.shown != shown:
                self._toggle_shown(entry)

    def _drop(self, entries: Iterable[TreeEntry[T]]) -> None:
        groups: dict[TreeEntry[T], set[TreeEntry[T]]] = {}
        for entry in entries:
            if entry.parent is not None:
                groups.setdefault(entry.parent, set()).add(entry)
        for parent, gone in groups.items():
            if parent is self._root or parent.id in self._entries:
                self._replace(parent, [child for child in parent.as_read() if child not in gone])

    def _arrange(self, parent: TreeEntry[T], as_read: list[TreeEntry[T]]) -> None:
        order = self.order
        parent.last_shown = False
        parent.children = as_read if order is None else order.sorted(as_read, _record_of)
        parent.unsorted = None if order is None else as_read

    def _replace(self, parent: TreeEntry[T], as_read: list[TreeEntry[T]]) -> None:
        """Replace the children, splicing only the rows that differ."""
        old = parent.children or []
        self._arrange(parent, as_read)
        fresh = parent.children or []
        head, tail = common(old, fresh)
        out, into = old[head : len(old) - tail], fresh[head : len(fresh) - tail]
        self._visible.hide(out)
        for position, entry in enumerate(into, head):
            entry.position = position
        kept = set(into)
        for entry in out:
            if entry not in kept:
                self._forget(entry)
        shown = parent.shown
        parent.shown_children += sum(entry.shown for entry in into) - sum(entry.shown for entry in out)
        if parent.shown != shown and parent is not self._root:
            self._toggle_shown(parent)
        elif self._visible.is_open(parent):
            self._visible.show(self._visible.slot(parent, head), into)

    def _toggle_shown(self, entry: TreeEntry[T]) -> None:
        """Update the ancestors' counts and the rows.

        The filter has begun or ceased to show ``entry``.
        """
        top, parent = count_shown(entry, 1 if entry.shown else -1)
        if not entry.shown:
            self._visible.hide([top])
        elif self._visible.is_open(parent):
            self._visible.show(self._visible.slot(parent, position_of(parent.children or [], top)), [top])

    def _set_edge(self, parent: TreeEntry[T] | None, edge: EdgeRow | None, note: str, *, first: bool = False) -> None:
        if parent is None:
            return
        old = parent.head if first else parent.tail
        if old is not None and edge is not None:
            old.edge, old.note = edge, note
            return
        if old is not None:
            self._visible.hide([old])
        at = None
        if edge is not None and self._visible.is_open(parent):
            at = self._visible.slot(parent, 0) if first else self._visible.end(parent)
        row = None if edge is None else edge_entry(parent, edge, note)
        if first:
            parent.head = row
        else:
            parent.tail = row
        if row is not None and at is not None:
            self._visible.show(at, [row])

    def _forget(self, entry: TreeEntry[T]) -> None:
        for below in entry.loaded():
            del self._entries[below.id]
            self.matched -= below.matched
            if not self._evicting:
                self.marks.discard(below.id)

    def _finish(self, cells: dict[str, frozenset[str]] | None = None) -> ForestChange[T]:
        return ForestChange(cells=cells or {}, vanished=self._visible.settle(self._entries))


def _record_of(entry: TreeEntry[T]) -> T:
    if entry.record is None:
        raise ValueError("an edge row is not among the children")
    return entry.record
