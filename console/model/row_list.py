"""Rows of a list: filtered, sorted, grouped, folded, marked. UI-free."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from console.model.fields.field import Context, Grouping
from console.model.filter import Fields, Filter
from console.model.order import Order

T = TypeVar("T")


@dataclass(frozen=True)
class Row(Generic[T]):
    """A record, or a group of records.

    Args:
        key: id of the row, independent of the rows around it.
        records: the records of the row that match the filter.
        group: what the records have in common, as the grouping returned it; None for a row below a group or without.
        heading: True for a row above groups, which are always shown.
        above: key of the group below which a record is shown; "" for other rows.
    """

    key: str
    records: tuple[T, ...]
    group: object = None
    above: str = ""
    open: bool = False
    marked: bool = False
    heading: bool = False

    @property
    def record(self) -> T | None:
        """The only record of the row; None if there are several."""
        return self.records[0] if len(self.records) == 1 else None

    @property
    def foldable(self) -> bool:
        """True if there is something to show below the row."""
        return self.group is not None and len(self.records) > 1 and not self.heading


class RowList(Generic[T]):
    """A list of records in their natural order, and how the operator wants to see it.

    Args:
        key: returns the id of a record.
        fields: what the list can be filtered by.
        groupings: the ways to group the list; the first is used until the operator chooses another.
        acted_on: returns False for a record that is only shown in its group: an action on the group leaves it out.
    """

    def __init__(
        self,
        key: Callable[[T], str],
        fields: Fields[T],
        groupings: Sequence[Grouping[T]],
        acted_on: Callable[[T], bool] = lambda record: True,
    ) -> None:
        self.key = key
        self.fields = fields
        self.filter: Filter | None = None
        self.order: Order[Row[T]] | None = None
        self.marks: set[str] = set()
        self._groupings = groupings
        self._acted_on = acted_on
        self._grouping = 0
        self._open: set[str] = set()
        self._records: Sequence[T] = ()
        self._matching: Sequence[T] = ()

    # what there is

    def put(self, records: Sequence[T], context: Context) -> None:
        """Take the records as last read, in their natural order."""
        self._records = records
        chosen = self.filter
        self._matching = [r for r in records if self.fields.matches(chosen, r, context)] if chosen else records
        if self.marks:
            self.marks &= {self.key(record) for record in records}

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

    def rows(self) -> list[Row[T]]:
        """Return the rows: groups or records, with the records of unfolded groups."""
        rows: list[Row[T]] = []
        for row in self._sorted(self._tops()):
            rows.append(row)
            if row.open:
                rows += self._sorted([self._leaf(record, above=row.key) for record in row.records])
        return rows

    def heading(self, key: str, group: object, below: Sequence[Row[T]]) -> Row[T]:
        """Return a row above these rows for all their records."""
        records = tuple(record for row in below if not row.above for record in row.records)
        row = Row(key=key, records=records, group=group, heading=True)
        return replace(row, marked=bool(records) and self._keys(row) <= self.marks)

    def _tops(self) -> list[Row[T]]:
        group_of = self.grouping.group_of
        if group_of is None:
            return [self._leaf(record) for record in self._matching]
        groups: dict[str, tuple[object, list[T]]] = {}
        for record in self._matching:
            key, group = group_of(record)
            groups.setdefault(key, (group, []))[1].append(record)
        return [self._group(key, group, tuple(records)) for key, (group, records) in groups.items()]

    def _group(self, key: str, group: object, records: tuple[T, ...]) -> Row[T]:
        row = Row(key=key, records=records, group=group)
        marked = self._keys(row) <= self.marks
        return replace(row, open=row.foldable and key in self._open, marked=marked)

    def _leaf(self, record: T, above: str = "") -> Row[T]:
        key = self.key(record)
        return Row(key=f"{above} {key}" if above else key, records=(record,), above=above, marked=key in self.marks)

    def _sorted(self, rows: list[Row[T]]) -> list[Row[T]]:
        return rows if self.order is None else self.order.sorted(rows, lambda row: row)

    # what the operator does

    def next_grouping(self) -> Grouping[T]:
        """Use the next grouping, and return it."""
        self._grouping = (self._grouping + 1) % len(self._groupings)
        return self.grouping

    def fold(self, row: Row[T], *, open: bool) -> None:
        """Unfold or fold a group."""
        (self._open.add if open else self._open.discard)(row.key)

    def fold_all(self) -> None:
        """Unfold all groups; fold them if all are unfolded."""
        keys = {row.key for row in self._tops() if row.foldable}
        self._open = self._open - keys if keys <= self._open else self._open | keys

    def mark(self, row: Row[T], *, on: bool | None = None) -> None:
        """Mark the records of a row; None unmarks them if all are marked."""
        keys = self._keys(row)
        add = not keys <= self.marks if on is None else on
        self.marks = self.marks | keys if add else self.marks - keys

    def mark_all(self) -> None:
        """Mark all records that match the filter; clear the marks if there are any."""
        self.marks = set() if self.marks else {key for row in self._tops() for key in self._keys(row)}

    def chosen(self, row: Row[T] | None) -> list[T]:
        """Return the marked records, those of ``row`` first; without marks the row's."""
        own = self._own(row) if row is not None else []
        if not self.marks:
            return own
        here = {self.key(record) for record in own}
        marked = [record for record in self._records if self.key(record) in self.marks]
        return sorted(marked, key=lambda record: self.key(record) not in here)

    def _own(self, row: Row[T]) -> list[T]:
        """Return the records that an action on a row is about."""
        return [record for record in row.records if self._acted_on(record)] or list(row.records)

    def _keys(self, row: Row[T]) -> set[str]:
        return {self.key(record) for record in self._own(row)}
