"""Records in memory: filtered and grouped into the rows of a flat list. UI-free."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Generic, TypeVar

from console.model.fields.field import Bundle, Context, Grouping, Level, RecordType
from console.model.filter import Fields, Filter
from console.model.flat_list import EdgeRow, FlatList, Order

T = TypeVar("T")

Ends = Mapping[str | None, str | None]
"""Notes ("" for none; None while they are read) in the rows for records that are not loaded.

By the group of groups that the row ends. It ends the list if the group has no row, or is None.
"""


class RecordList(FlatList[Bundle[T]], Generic[T]):
    """Records in their natural order, as the operator wants to see them.

    Args:
        kind: what is known of the records.
        always: returns the groups of groups that are shown although they may have no records.
    """

    def __init__(self, kind: RecordType[T], always: Callable[[], Iterable[tuple[str, object]]] = tuple) -> None:
        super().__init__()
        self.fields = Fields(kind.fields)
        self.filter: Filter | None = None
        self._kind = kind
        self._groupings = kind.groupings
        self.offered: Sequence[Grouping[T]] = ()  # groupings of the screen, which follow the second of its kind
        self._always = always
        self._grouping = 0
        self._met: set[str] = set()  # groups of groups, which are unfolded at first
        self._ends: Ends = {}
        self._records: Sequence[T] = ()
        self.matching_records: Sequence[T] = ()

    @property
    def records(self) -> Sequence[T]:
        """All records, in their natural order."""
        return self._records

    @property
    def is_natural(self) -> bool:
        """True while the list has the first of its groupings."""
        return self._grouping == 0

    @property
    def grouping(self) -> Grouping[T]:
        """The grouping in use."""
        return self._groupings[self._grouping]

    def take(
        self,
        records: Sequence[T],
        context: Context,
        *,
        filter: Filter | None = None,
        order: Order[Bundle[T]] | None = None,
        ends: Ends | None = None,
    ) -> None:
        """Take the records as last read, in their natural order."""
        self._records, self._ends, self.filter, self.order = records, ends or {}, filter, order
        matches = self.fields.matches(filter, context) if filter else None
        self.matching_records = [each for each in records if matches(each)] if matches else records
        self.marks &= set(map(self.key, records)) if self.marks else set()
        self._fill()

    def _fill(self) -> None:
        rows: dict[str, Sequence[Bundle[T]]] = {"": self._rows(self.matching_records, self._levels)}
        levels = self._levels[1:]
        for row in rows[""] if levels else ():
            rows[row.id] = self._rows(row.records, levels, row.id)
            if row.id not in self._met:
                self._met.add(row.id)
                self._open.add(row.id)
        for row in [row for some in rows.values() for row in some if row.id not in rows and row.foldable]:
            rows[row.id] = self._leaves(row)
        ids, edges = {row.id for row in rows[""]}, {}
        for group, note in self._ends.items():
            edge = EdgeRow.LOADING if note is None else EdgeRow.MORE
            edges[group if group in ids and group else ""] = edge, note or ""
        self.fill(rows, edges)

    def _leaves(self, row: Bundle[T]) -> Sequence[Bundle[T]]:
        before = self.record(row.id)
        if before is not None and before.records == row.records:
            return [self._loaded[id_] for id_ in self._children[row.id]]
        return self._rows(row.records, (), row.id)

    @property
    def _levels(self) -> Sequence[Level[T]]:
        return self.grouping.levels(1 if self.order else 2)

    def _rows(self, records: Sequence[T], levels: Sequence[Level[T]], above: str = "") -> list[Bundle[T]]:
        if not levels:
            return [self._leaf_row(record, above) for record in records]
        groups: dict[str, tuple[object, list[T]]] = {}
        for record in records:
            key, group = levels[0](record)
            groups.setdefault(key, (group, []))[1].append(record)
        nested = len(levels) > 1
        if nested and self.filter is None:
            groups |= {key: (group, []) for key, group in self._always() if key not in groups}
        rows: list[Bundle[T]] = []
        for key, (group, some) in groups.items():
            if some and self.is_natural and not any(map(self._kind.acted_on, some)):
                rows += map(self._leaf_row, some)
            else:
                foldable = len(some) > (0 if nested else 1)
                rows.append(Bundle(id=key, records=tuple(some), group=group, foldable=foldable))
        return rows

    def _leaf_row(self, record: T, above: str = "") -> Bundle[T]:
        key = self.key(record)
        return Bundle(id=f"{above} {key}" if above else key, records=(record,), above=above)

    def key(self, record: T) -> str:
        return self._kind.key(record)

    # what the operator does

    def next_grouping(self) -> Grouping[T]:
        """Use the next grouping, and return it. The cursor stays on its line."""
        at = self.cursor_row
        if self.is_natural:
            self._groupings = (*self._kind.groupings[:2], *self.offered, *self._kind.groupings[2:])
        self._grouping = (self._grouping + 1) % len(self._groupings)
        self._fill()
        self.move(at - self.cursor_row)
        return self.grouping

    def markable(self) -> list[str]:
        return [row.id for row in self._rows(self.matching_records, self._levels)]

    def in_view(self) -> set[str]:
        return set(map(self.key, self.matching_records))

    def numbers(self) -> tuple[int, int]:
        return len(self.matching_records), len(self._records)

    def marked(self) -> list[T]:
        return [record for record in self._records if self.key(record) in self.marks]

    def own(self, row: Bundle[T]) -> list[T]:
        return [record for record in row.records if self._kind.acted_on(record)] or list(row.records)
