"""Model of every list: loaded records, visible rows, cursor, marks and folds.

Pure data: no database, no Textual. At most ``MAX_ROWS`` records are loaded, so the rows are made again after each
change. The cursor and the marks are ids. Edge rows ("more…") have ids that no record can have: they contain
a NUL, which PostgreSQL cannot store in text. Methods ignore ids that are not loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain, takewhile
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from console.model.filter import Fields
from queries.records.record import Record

MAX_ROWS = 20_000  # loaded records, beyond which the children of folded ones are unloaded
MAX_CHILDREN = 2_000  # loaded children of a record
GUIDED_LEVELS = 24  # levels for which a row lists its guides

# Notes in the row for records that are not loaded
ON_ENTER = "Enter loads more"
NOT_READ = "not read; Enter tries again"
WITH_FILTER = "load more with this filter: Enter"
FULL = "{} are loaded; Enter searches all of them"

Cells = dict[str, frozenset[str]]
"""Changed fields, by id."""


class Listed(Protocol):
    """A record that can have a row: a node, or a group of records."""

    __struct_fields__: ClassVar[tuple[str, ...]]

    @property
    def id(self) -> str:
        """Id of the row, independent of the rows around it."""


T = TypeVar("T", bound=Listed)
V = TypeVar("V")


@dataclass(frozen=True)
class Order(Generic[V]):
    """Column by which siblings are sorted. Those without a value are last."""

    title: str
    value: Callable[[V], Any]
    reverse: bool = False

    def sorted(self, ids: Sequence[str], record: Callable[[str], V]) -> list[str]:
        """Return the ids of records in order."""
        values = {id_: self.value(record(id_)) for id_ in ids}
        some = [id_ for id_ in ids if values[id_] is not None]
        return sorted(some, key=values.__getitem__, reverse=self.reverse) + [id_ for id_ in ids if values[id_] is None]


class EdgeRow(StrEnum):
    """Kind of the last row below a parent, for children that are not loaded.

    ``MORE``: there are more. ``LOADING``: the first ones are being read. ``COSTLY``: reading them needs a scan.
    """

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


def tail_id(parent_id: str | None) -> str:
    """Return the id of the edge row after a parent's children, or after the roots."""
    return f"{parent_id or ''}\0more"


class FlatList(Generic[T]):
    """Loaded records by parent, and the visible rows in order.

    Args:
        leaf: returns True for a record that never has children.
    """

    fields: Fields[Any]

    def __init__(self, leaf: Callable[[T], bool] = lambda record: False) -> None:
        self.ids: list[str] = []  # of the rows
        self.cursor: str | None = None  # id of a row, a record's or an edge row's; None only while there are no rows
        self.cursor_row = 0
        self.marks: set[str] = set()
        self.touched = False  # whether the operator chose the cursor's row; else it is the first row
        self.order: Order[T] | None = None  # of siblings; None: as they were read
        self._leaf = leaf
        self._loaded: dict[str, T] = {}
        self._children: dict[str, list[str]] = {}  # as read, by parent; "" has the roots. Missing: not read
        self._parents: dict[str, str] = {}
        self._edges: dict[str, tuple[EdgeRow, str]] = {}
        self._open: set[str] = set()
        self._matches: Callable[[T], bool] | None = None
        self._matching: set[str] = set()  # with a filter: the records that match
        self._kept: set[str] = set()  # and their ancestors
        self._sorted: dict[str, list[str]] = {}  # children in the chosen order, by parent
        self._depths: list[int] = []
        self._places: dict[str, int] = {}
        self._last: dict[str, str] = {}  # last row below a parent

    # records and rows

    def __len__(self) -> int:
        """Return the number of visible rows."""
        return len(self.ids)

    def __contains__(self, id_: object) -> bool:
        """Return True if the record is loaded."""
        return id_ in self._loaded

    @property
    def loaded(self) -> int:
        """Number of loaded records."""
        return len(self._loaded)

    @property
    def matched(self) -> int:
        """Number of loaded records that match the filter themselves."""
        return len(self._loaded if self._matches is None else self._matching)

    @property
    def current(self) -> T | None:
        """The record under the cursor; None without one, as on an edge row."""
        return self._loaded.get(self.cursor or "")

    @property
    def records(self) -> Sequence[Any]:
        """All loaded records."""
        return list(self._loaded.values())

    def record(self, id_: str) -> T | None:
        """Return the record as last read; None for edge rows and unloaded ids."""
        return self._loaded.get(id_)

    def parent(self, row_id: str) -> str | None:
        """Return the id of a row's parent; None for roots."""
        above, edge, _ = row_id.rpartition("\0")
        return (above if edge else self._parents.get(row_id, "")) or None

    def children(self, parent_id: str | None) -> tuple[str, ...] | None:
        """Return the ids of the loaded children, or of the roots; None if unread."""
        children = self._children.get(parent_id or "")
        return None if children is None else tuple(children)

    def below(self, id_: str) -> list[T]:
        """Return the loaded children of a record, in the order in which they are shown."""
        return [self._loaded[child] for child in self._in_order(id_)]

    def is_expanded(self, id_: str) -> bool:
        """Return True if the record is unfolded, be its ancestors so or not."""
        return id_ in self._open

    def index(self, row_id: str) -> int | None:
        """Return the index of a row; None if the row is not visible."""
        return self._places.get(row_id)

    def row(self, index: int) -> Row[T]:
        """Return the row at ``index``. Raise IndexError beyond the end."""
        id_, depth = self.ids[index], self._depths[index]
        record, parent = self._loaded.get(id_), self.parent(id_)
        edge, note = self._edges[parent or ""] if record is None else (None, "")
        own = {self.key(each) for each in self.own(record)} if self.marks and record is not None else set()
        ancestors = list(takewhile(self._parents.get, self._above(parent or ""))) if depth <= GUIDED_LEVELS else []
        return Row(
            id=id_,
            record=record,
            parent_id=parent,
            depth=depth,
            expandable=self._expandable(id_),
            expanded=id_ in self._open,
            last=self._last[parent or ""] == id_,
            guides=tuple(self._last[self._parents[each]] != each for each in reversed(ancestors)),
            dimmed=self._matches is not None and record is not None and id_ not in self._matching,
            marked=bool(own) and own <= self.marks,
            edge=edge,
            note=note,
        )

    def between(self, start: int, stop: int) -> list[Row[T]]:
        """Return the rows from ``start`` to ``stop`` (exclusive), cut to the visible rows."""
        return [self.row(index) for index in range(max(start, 0), min(stop, len(self.ids)))]

    def shown(self, start: int, stop: int) -> list[T]:
        """Return the records of the rows from ``start`` to ``stop``, without edge rows."""
        return [self._loaded[id_] for id_ in self.ids[max(start, 0) : max(stop, 0)] if id_ in self._loaded]

    def matching(self) -> list[str]:
        """Return the ids of visible rows that match the filter themselves, in order."""
        matching: Collection[str] = self._loaded if self._matches is None else self._matching
        return [id_ for id_ in self.ids if id_ in matching]

    def _above(self, id_: str) -> Iterator[str]:
        while id_:
            yield id_
            id_ = self._parents[id_]

    def _expandable(self, id_: str) -> bool:
        return id_ in self._loaded and (bool(self._children.get(id_, True)) or id_ in self._edges)

    # cursor and marks

    def move(self, rows: int) -> bool:
        """Move the cursor down (up, if negative). Return False if it did not move."""
        before = self.cursor_row
        if self.ids:
            self.move_to(self.ids[min(max(before + rows, 0), len(self.ids) - 1)])
        return self.cursor_row != before

    def move_to(self, row_id: str) -> bool:
        """Move the cursor to a visible row. Return False if there is no such row."""
        place = self._places.get(row_id)
        if place is not None:
            self.cursor, self.cursor_row = row_id, place
        return place is not None

    def reveal(self, id_: str) -> bool:
        """Unfold the ancestors of a loaded record and move the cursor to it.

        Return False if the record is not loaded or the filter hides it.
        """
        if id_ not in self._loaded or (self._matches is not None and id_ not in self._kept):
            return False
        self._open.update(self._above(self._parents[id_]))
        self._rebuild(id_)
        return True

    def own(self, row: T) -> list[Any]:
        """Return the records that an action on a row is about."""
        return [row]

    def key(self, record: Any) -> str:
        """Return the id by which a record is marked."""
        return str(record.id)

    def mark(self, row_ids: Iterable[str], on: bool | None = True) -> None:
        """Mark what loaded rows are about, or unmark it; None unmarks it if all is marked."""
        rows = [self._loaded[id_] for id_ in row_ids if id_ in self._loaded]
        own = {self.key(record) for row in rows for record in self.own(row)}
        self.marks = self.marks - own if on is False or (on is None and own <= self.marks) else self.marks | own

    def marked(self) -> list[Any]:
        """Return the marked records."""
        return [self._loaded[id_] for id_ in sorted(self.marks)]

    def markable(self) -> list[str]:
        """Return the ids of the rows with all records that match the filter."""
        return self.matching()

    def in_view(self) -> set[str]:
        """Return the keys of the records in rows that the filter leaves."""
        return set(self.matching())

    def unseen(self) -> int:
        """Return the number of marked records that are not in view."""
        return len(self.marks - self.in_view()) if self.marks else 0

    def numbers(self) -> tuple[int, int]:
        """Return how many records match the filter, and how many are loaded."""
        return self.matched, self.loaded

    def chosen(self) -> list[Any]:
        """Return the marked records, the cursor's first; without marks those of its row."""
        own = [] if self.current is None else self.own(self.current)
        here = set(map(self.key, own))
        return sorted(self.marked(), key=lambda record: self.key(record) not in here) if self.marks else own

    # folding

    def expand(self, *ids: str) -> list[str]:
        """Show the children of records.

        Return the records whose children the caller has to read; a "loading" row is shown meanwhile.
        """
        folded = [id_ for id_ in ids if id_ not in self._open and self._expandable(id_)]
        unread = [id_ for id_ in folded if id_ not in self._children]
        for id_ in unread:
            self._edges.setdefault(id_, (EdgeRow.LOADING, ""))
        self._open.update(folded)
        self._rebuild()
        return unread

    def collapse(self, id_: str) -> bool:
        """Hide a record's children and move a cursor among them to it."""
        if id_ not in self._open:
            return False
        self._open.remove(id_)
        self._rebuild(id_ if id_ in self._above(self.parent(self.cursor or "") or "") else None)
        return True

    def expand_loaded(self) -> bool:
        """Show all loaded records. Return False if all of them were shown."""
        known = [id_ for id_ in self._loaded if id_ in self._children and self._expandable(id_)]
        folded = any(self._children[id_] and id_ not in self._open for id_ in known)
        self._open.update(known)
        self._rebuild()
        return folded

    def collapse_all(self) -> None:
        """Show the roots only. A cursor below a root moves to it."""
        self._open.clear()
        self._rebuild(next(reversed(list(self._above(self.parent(self.cursor or "") or ""))), None))

    # updates from the database

    def fill(self, rows: Mapping[str, Sequence[T]], edges: Mapping[str, tuple[EdgeRow, str]]) -> None:
        """Take all records, by parent, and all edge rows. Marks and folds stay."""
        parent = self.parent(self.cursor or "") or ""
        old = self._children.get(parent, [])
        self._loaded = {row.id: row for some in rows.values() for row in some}
        self._parents = {row.id: above for above, some in rows.items() for row in some}
        self._children = {id_: [] for id_ in self._loaded}
        self._children |= {above: [row.id for row in some] for above, some in rows.items()}
        self._edges = dict(edges)
        self._sorted.clear()
        self._rebuild(*self._came(parent, old))

    def put(self, parent_id: str | None, records: Iterable[T], *, complete: bool = True) -> Cells:
        """Take all children of a parent, or all roots. Forget the others.

        If not ``complete``, add a "more" row.
        """
        return self._take(parent_id, records, lambda old, read, new: read, complete)

    def append(self, parent_id: str | None, records: Iterable[T], *, complete: bool = True) -> Cells:
        """Take the next children. Known ones keep their place."""
        return self._take(parent_id, records, lambda old, read, new: [*old, *filter(new.__contains__, read)], complete)

    def merge(self, parent_id: str | None, records: Iterable[T]) -> Cells:
        """Take some children, each new one after its predecessor. Forget and move nothing.

        New ones at the start go before the first known one, or to the top.
        """
        return self._take(parent_id, records, _merged)

    def edge(self, parent_id: str | None, edge: EdgeRow | None, note: str = "") -> None:
        """Set the edge row after a parent's loaded children; None removes it."""
        if not parent_id or parent_id in self._loaded:
            if edge is None:
                self._edges.pop(parent_id or "", None)
            else:
                self._edges[parent_id or ""] = edge, note
            self._rebuild_below(parent_id or "")

    def update(self, records: Iterable[T]) -> Cells:
        """Replace loaded records by newer versions.

        No row moves unless the siblings are sorted; with a filter, rows appear and disappear.
        """
        cells = self._replace({record.id: record for record in records if record.id in self._loaded})
        if cells and (self.order is not None or self._matches is not None):
            self._rebuild()
        return cells

    def remove(self, ids: Iterable[str]) -> None:
        """Forget records and their loaded descendants."""
        gone = {id_ for id_ in ids if id_ in self._loaded}
        for parent in {self._parents[id_] for id_ in gone}:
            self._arrange(parent, [id_ for id_ in self._children[parent] if id_ not in gone])
        for id_ in gone:
            self._forget(id_)
        self._rebuild()

    def shrink(self) -> bool:
        """Unload children of folded records if too many are loaded. Keep marked ones.

        Return False if none were unloaded.
        """
        before = len(self._loaded)
        if before <= MAX_ROWS:
            return False
        kept = self._open.union(*(self._above(id_) for id_ in self.marks if id_ in self._loaded))
        for id_ in [id_ for id_, below in self._children.items() if id_ and below and id_ not in kept]:
            if len(self._loaded) > MAX_ROWS and id_ in self._loaded:
                for child in self._children.pop(id_):
                    self._forget(child)
                self._edges.pop(id_, None)
                self._sorted.pop(id_, None)
        self._rebuild()
        return len(self._loaded) < before

    def sift(self, matches: Callable[[T], bool] | None) -> None:
        """Show only matching records and their ancestors; None shows all."""
        self._matches = matches
        self._matching = {record.id for record in filter(matches, self._loaded.values())} if matches else set()
        self._rebuild()

    def sort(self, order: Order[T] | None) -> None:
        """Sort the siblings of each level; None restores the order as read."""
        self.order = order
        self._sorted.clear()
        self._rebuild()

    def arrange(self, parent_id: str | None, key: Callable[[T], Any]) -> None:
        """Sort the loaded children of a parent. The result counts as the order as read."""
        if children := self._children.get(parent_id or ""):
            self._arrange(parent_id or "", sorted(children, key=lambda id_: key(self._loaded[id_])))
            self._rebuild()

    # implementation of the updates

    def _take(
        self,
        parent_id: str | None,
        records: Iterable[T],
        arrange: Callable[[list[str], list[str], Collection[str]], list[str]],
        complete: bool | None = None,
    ) -> Cells:
        """Change the children of a parent. Skip its ancestors: the data has a loop.

        ``arrange`` takes the old children, those read and the new ones among them, and returns the new order. A record
        that was below another parent leaves it.
        """
        parent = parent_id or ""
        if parent and parent not in self._loaded:
            return {}
        latest = {record.id: record for record in records}
        for above in self._above(parent) if any(id_ in self._loaded for id_ in latest) else ():
            latest.pop(above, None)
        old, unread = self._children.get(parent, []), parent not in self._children
        new = dict.fromkeys(id_ for id_ in latest if self._parents.get(id_) != parent)
        moved = [id_ for id_ in new if id_ in self._parents]
        for id_ in new:
            if id_ in self._parents:
                self._arrange(self._parents[id_], [each for each in self._children[self._parents[id_]] if each != id_])
            self._parents[id_] = parent
            if self._leaf(latest[id_]):
                self._children.setdefault(id_, [])
        cells = self._replace(latest)
        children = arrange(old, list(latest), new)
        self._arrange(parent, children)
        for id_ in set(old).difference(children):
            self._forget(id_)
        if complete:
            self._edges.pop(parent, None)
        elif complete is False or unread:
            self._edges[parent] = EdgeRow.MORE, ""
        self._rebuild_below("" if moved else parent, *self._came(parent, old))
        return cells

    def _came(self, parent: str, old: Iterable[str]) -> list[str]:
        """Return the new last children of a parent if the cursor is on its edge row."""
        if self.cursor != tail_id(parent):
            return []
        known = set(old)
        return list(takewhile(lambda id_: id_ not in known, reversed(self._in_order(parent))))[::-1]

    def _replace(self, latest: Mapping[str, T]) -> Cells:
        cells: Cells = {}
        for id_, record in latest.items():
            old = self._loaded.get(id_)
            if old == record:
                continue
            self._loaded[id_] = record
            self._sorted.pop(self._parents[id_], None)
            if self._matches is not None:
                (self._matching.add if self._matches(record) else self._matching.discard)(id_)
            if old is not None:
                names = record.__struct_fields__
                cells[id_] = frozenset(name for name in names if getattr(old, name) != getattr(record, name))
        return cells

    def _arrange(self, parent: str, children: list[str]) -> None:
        self._children[parent] = children
        self._sorted.pop(parent, None)

    def _forget(self, id_: str) -> None:
        """Forget a record and all below it, but for its place among its siblings."""
        waiting = [id_]
        while waiting:
            each = waiting.pop()
            waiting += self._children.pop(each, ())
            for known in (self._loaded, self._parents, self._edges, self._sorted):
                known.pop(each, None)
            for some in (self._open, self.marks, self._matching):
                some.discard(each)

    def _in_order(self, parent: str) -> list[str]:
        children = self._children.get(parent, [])
        if self.order is None:
            return children
        if parent not in self._sorted:
            self._sorted[parent] = self.order.sorted(children, self._loaded.__getitem__)
        return self._sorted[parent]

    def _rebuild_below(self, parent: str, *cursor: str | None) -> None:
        if not parent or parent in self._open or self._matches is not None:
            self._rebuild(*cursor)

    def _rebuild(self, *cursor: str | None) -> None:
        """Make the rows again. Move the cursor to the first of these ids that has a row.

        Else it stays on its row. If that has gone, the next row that remained takes its place, else the previous.
        """
        before, at = self.ids, self.cursor_row
        level = self._kept = set(self._matching) if self._matches is not None else set()
        while level := set(map(self._parents.__getitem__, level)) - self._kept - {""}:
            self._kept |= level
        self.ids, self._depths, self._last = [], [], {}
        levels = [iter(self._rows_below(""))]
        while levels:
            depth = len(levels) - 1
            for id_ in levels[-1]:
                self.ids.append(id_)
                self._depths.append(depth)
                if id_ in self._open:
                    levels.append(iter(self._rows_below(id_)))
                    break
            else:
                levels.pop()
        self._places = {id_: place for place, id_ in enumerate(self.ids)}
        heirs = chain(cursor, [self.cursor], before[at + 1 :], reversed(before[:at]), self.ids[:1])
        self.cursor = next((id_ for id_ in heirs if id_ in self._places), None)
        self.cursor_row = self._places.get(self.cursor or "", 0)

    def _rows_below(self, parent: str) -> list[str]:
        """Return the rows that the filter shows, and the edge row. Note the last one."""
        rows = self._in_order(parent)
        if self._matches is not None:
            rows = [id_ for id_ in rows if id_ in self._kept]
        if parent in self._edges:
            rows = [*rows, tail_id(parent)]
        if rows:
            self._last[parent] = rows[-1]
        return rows


def _merged(old: list[str], read: list[str], new: Collection[str]) -> list[str]:
    groups: dict[str, list[str]] = {}
    first = next((id_ for id_ in read if id_ not in new), "")
    before = ""
    for id_ in read:
        if id_ in new:
            groups.setdefault(before, []).append(id_)
        else:
            before = id_
    children = [] if first else groups.get("", [])
    for id_ in old:
        children += (groups.get("", []) if id_ == first else []) + [id_] + groups.get(id_, [])
    return children
