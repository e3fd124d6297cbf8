"""Records of a list: filtered and grouped into the rows of a ``Forest``. UI-free."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TypeVar

from console.model.fields.field import Bundle, Context, Grouping
from console.model.filter import Fields, Filter
from console.model.forest import Forest
from console.model.list_model import ListModel
from console.model.order import Order

T = TypeVar("T")


def heading(id: str, group: object, below: Sequence[Bundle[T]]) -> Bundle[T]:
    """Return a row above these rows for all their records."""
    return Bundle(id=id, records=tuple(record for row in below for record in row.records), group=group, heading=True)


def _as_they_are(rows: list[Bundle[T]]) -> list[Bundle[T]]:
    return rows


def _is_as_before(before: Bundle[T] | None, row: Bundle[T]) -> bool:
    """Return True if a group has the records that it had.

    Groups are not compared: one of many records would be compared with each of them.
    """
    return before is not None and before.group is row.group is not None and before.records == row.records


class RowList(ListModel[Bundle[T], T]):
    """A list of records in their natural order, and how the operator wants to see it.

    ``forest`` has the rows, the cursor and the marks, which are keys of records.

    Args:
        key: returns the id of a record.
        fields: what the list can be filtered by.
        groupings: the ways to group the list; the first is used until the operator chooses another.
        acted_on: returns False for a record that is only shown in its group: an action on the group leaves it out. In
            the first grouping, such records are rows of their own where no other one of their group matches the filter.
        headed: adds headings to the groups or records in their natural order.
    """

    def __init__(
        self,
        key: Callable[[T], str],
        fields: Fields[T],
        groupings: Sequence[Grouping[T]],
        acted_on: Callable[[T], bool] = lambda record: True,
        headed: Callable[[list[Bundle[T]]], list[Bundle[T]]] = _as_they_are,
    ) -> None:
        self.forest = Forest[Bundle[T]](self._keys, leaf=lambda row: not row.foldable)
        self.key = key
        self.fields = fields
        self.filter: Filter | None = None
        self.order: Order[Bundle[T]] | None = None
        self._groupings = groupings
        self._acted_on = acted_on
        self._headed = headed
        self._grouping = 0
        self._open: set[str] = set()  # groups to unfold when they have rows again
        self._records: Sequence[T] = ()
        self._matching: Sequence[T] = ()

    # what there is

    def put(self, records: Sequence[T], context: Context, *, filling: bool = False) -> None:
        """Take the records as last read, in their natural order.

        While the list is still ``filling``, a cursor on the first row stays there.
        """
        self._records = records
        chosen = self.filter
        self._matching = [r for r in records if self.fields.matches(chosen, r, context)] if chosen else records
        self.forest.marks &= {self.key(record) for record in records} if self.forest.marks else set()
        self._put_rows(first=filling and self.forest.cursor_row == 0)

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

    def _put_rows(self, *, first: bool = False) -> None:
        """Give the forest the groups or records, and the records of groups."""
        forest, rows = self.forest, self._tops()
        rows = self._headed(rows) if self.order is None else rows
        for id_ in forest.children(None) or ():
            (self._open.add if forest.is_expanded(id_) else self._open.discard)(id_)
        with forest.evicting():
            before = {id_: forest.record(id_) for id_ in forest.children(None) or ()}
            forest.set_children(None, rows, complete=True)
            for row in rows:
                if self.order is None and _is_as_before(before.get(row.id), row):
                    continue
                if row.foldable or forest.children(row.id):
                    below = [self._leaf(record, row.id) for record in row.records] if row.foldable else []
                    forest.set_children(row.id, below, complete=True)
                if row.id in self._open:
                    forest.expand(row.id)
        if first and rows:
            forest.move_to(forest.row(0).id)

    def _tops(self) -> list[Bundle[T]]:
        group_of = self.grouping.group_of
        if group_of is None:
            return [self._leaf(record) for record in self._matching]
        groups: dict[str, tuple[object, list[T]]] = {}
        for record in self._matching:
            key, group = group_of(record)
            groups.setdefault(key, (group, []))[1].append(record)
        rows: list[Bundle[T]] = []
        for key, (group, records) in groups.items():
            alone = self.is_natural and not any(map(self._acted_on, records))
            rows += map(self._leaf, records) if alone else [Bundle(id=key, records=tuple(records), group=group)]
        return rows

    def _leaf(self, record: T, above: str = "") -> Bundle[T]:
        key = self.key(record)
        return Bundle(id=f"{above} {key}" if above else key, records=(record,), above=above)

    # what the operator does

    def set_order(self, order: Order[Bundle[T]] | None) -> None:
        """Sort the groups, and the records in them."""
        self.order = order
        self.forest.set_order(None)
        self._put_rows()
        self.forest.set_order(order)

    def next_grouping(self) -> Grouping[T]:
        """Use the next grouping, and return it. The cursor stays on its line."""
        at = self.forest.cursor_row
        self._grouping = (self._grouping + 1) % len(self._groupings)
        self._put_rows()
        self.forest.move(at - self.forest.cursor_row)
        return self.grouping

    def markable(self) -> list[str]:
        return [row.id for row in self._tops()]

    def numbers(self) -> tuple[int, int]:
        return len(self._matching), len(self._records)

    def marked(self) -> list[T]:
        return [record for record in self._records if self.key(record) in self.forest.marks]

    def own(self, row: Bundle[T]) -> list[T]:
        return [record for record in row.records if self._acted_on(record)] or list(row.records)

    def _keys(self, row: Bundle[T]) -> Collection[str]:
        return {self.key(record) for record in self.own(row)}
