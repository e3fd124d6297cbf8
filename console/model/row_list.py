"""Records of a list: filtered and grouped into the rows of a ``Forest``. UI-free."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TypeVar

from console.model.fields.field import Bundle, Context, Grouping, Level, RecordType
from console.model.filter import Fields
from console.model.forest import EdgeRow, Forest
from console.model.list_model import Arrangement, ListModel

T = TypeVar("T")

Ends = Mapping[str | None, str | None]
"""Notes ("" for none; None while they are read) in the rows for records that are not loaded.

By the group of groups that the row ends. It ends the list if the group has no row, or is None.
"""


def _is_as_before(before: Bundle[T] | None, row: Bundle[T]) -> bool:
    """Return True if a group has the records that it had.

    Groups are not compared: one of many records would be compared with each of them.
    """
    return before is not None and before.group is row.group is not None and before.records == row.records


class RowList(ListModel[Bundle[T], T]):
    """A list of records in their natural order, and how the operator wants to see it.

    ``forest`` has the rows, the cursor and the marks, which are keys of records.

    Args:
        kind: what is known of the records.
        always: returns the groups of groups that are shown although they may have no records.
    """

    def __init__(self, kind: RecordType[T], always: Callable[[], Iterable[tuple[str, object]]] = tuple) -> None:
        self.forest = Forest[Bundle[T]](self._keys, leaf=lambda row: not row.foldable)
        self.key = kind.key
        self.fields = Fields(kind.fields)
        self.arrangement = Arrangement()
        self._groupings = kind.groupings
        self._acted_on = kind.acted_on
        self._always = always
        self._grouping = 0
        self._groups: list[str] = []  # rows that have others below them
        self._expanded: dict[str, bool] = {}  # of those that are, or were, unfolded
        self._ends: Ends = {}
        self._records: Sequence[T] = ()
        self._matching: Sequence[T] = ()

    # what there is

    def put(self, records: Sequence[T], context: Context, *, ends: Ends | None = None) -> None:
        """Take the records as last read, in their natural order."""
        self._records, self._ends = records, ends or {}
        chosen = self.arrangement.filter
        self._matching = [r for r in records if self.fields.matches(chosen, r, context)] if chosen else records
        self.forest.marks &= {self.key(record) for record in records} if self.forest.marks else set()
        self._put_rows()

    @property
    def records(self) -> Sequence[T]:
        """All records, in their natural order."""
        return self._records

    @property
    def matching(self) -> Sequence[T]:
        """The records that match the filter."""
        return self._matching

    @property
    def is_natural(self) -> bool:
        """True while the list has the first of its groupings."""
        return self._grouping == 0

    @property
    def grouping(self) -> Grouping[T]:
        """The grouping in use."""
        return self._groupings[self._grouping]

    def _put_rows(self) -> None:
        """Give the forest the groups and records of each level, unfolded as they were."""
        forest, cursor, order = self.forest, self.forest.cursor, self.arrangement.order
        if order is not forest.order:
            forest.set_order(order)
        groups, self._groups = self._groups, []
        for id_ in groups:
            if id_ in self._expanded or forest.is_expanded(id_):
                self._expanded[id_] = forest.is_expanded(id_)
        with forest.evicting():
            self._put_below(None, self._matching, self._levels)
        if cursor is not None and cursor in forest:
            forest.move_to(cursor)  # its row may be below another one now

    def _put_below(self, parent: str | None, records: Sequence[T], levels: Sequence[Level[T]]) -> None:
        forest, rows = self.forest, self._rows(records, levels, parent or "")
        before = {id_: forest.record(id_) for id_ in forest.children(parent) or ()}
        ids = {row.id for row in rows}
        ends = [note for id_, note in self._ends.items() if id_ == parent or (parent is None and id_ not in ids)]
        forest.set_children(parent, rows, complete=not ends)
        for note in ends:
            forest.set_tail(parent, EdgeRow.LOADING if note is None else EdgeRow.MORE, note or "")
        for row in rows if levels else ():
            self._groups += [row.id] if row.foldable else []
            if len(levels) == 1 and forest.order is None and _is_as_before(before.get(row.id), row):
                continue
            if row.foldable or forest.children(row.id):
                self._put_below(row.id, row.records if row.foldable else (), levels[1:])
            if len(levels) > 1:
                self._expanded.setdefault(row.id, True)
            if self._expanded.get(row.id):
                forest.expand(row.id)

    @property
    def _levels(self) -> Sequence[Level[T]]:
        """Grouping of each level; an order looks at all groups of the last one."""
        return self.grouping.levels(1 if self.arrangement.order else 2)

    def _rows(self, records: Sequence[T], levels: Sequence[Level[T]], above: str = "") -> list[Bundle[T]]:
        """Return the rows of these records on the first of the levels."""
        if not levels:
            return [self._leaf(record, above) for record in records]
        groups: dict[str, tuple[object, list[T]]] = {}
        for record in records:
            key, group = levels[0](record)
            groups.setdefault(key, (group, []))[1].append(record)
        nested = len(levels) > 1
        if nested and self.arrangement.filter is None:
            groups |= {key: (group, []) for key, group in self._always() if key not in groups}
        rows: list[Bundle[T]] = []
        for key, (group, some) in groups.items():
            if some and self.is_natural and not any(map(self._acted_on, some)):
                rows += map(self._leaf, some)
            else:
                foldable = len(some) > (0 if nested else 1)
                rows.append(Bundle(id=key, records=tuple(some), group=group, foldable=foldable))
        return rows

    def _leaf(self, record: T, above: str = "") -> Bundle[T]:
        key = self.key(record)
        return Bundle(id=f"{above} {key}" if above else key, records=(record,), above=above)

    # what the operator does

    def next_grouping(self) -> Grouping[T]:
        """Use the next grouping, and return it. The cursor stays on its line."""
        at = self.forest.cursor_row
        self._grouping = (self._grouping + 1) % len(self._groupings)
        self._put_rows()
        self.forest.move(at - self.forest.cursor_row)
        return self.grouping

    def markable(self) -> list[str]:
        return [row.id for row in self._rows(self._matching, self._levels)]

    def in_view(self) -> set[str]:
        return set(map(self.key, self._matching))

    def numbers(self) -> tuple[int, int]:
        return len(self._matching), len(self._records)

    def marked(self) -> list[T]:
        return [record for record in self._records if self.key(record) in self.forest.marks]

    def own(self, row: Bundle[T]) -> list[T]:
        return [record for record in row.records if self._acted_on(record)] or list(row.records)

    def _keys(self, row: Bundle[T]) -> Collection[str]:
        return {self.key(record) for record in self.own(row)}
