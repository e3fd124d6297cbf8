"""Interface of a list for its screen. UI-free."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from console.model.filter import Fields, Filter
from console.model.forest import Forest
from console.model.order import Order
from console.model.tree_entry import Listed

# Notes in the row for a page that is not loaded
ON_ENTER = "Enter loads more"
NOT_READ = "not read; Enter tries again"
WITH_FILTER = "load more with this filter: Enter"

R = TypeVar("R", bound=Listed)
T = TypeVar("T")


@dataclass
class Arrangement:
    """Filter and order that the operator has chosen. Lists may share them."""

    filter: Filter | None = None
    order: Order[Any] | None = None


class ListModel(Generic[R, T]):
    """Records and the forest that shows them in rows.

    ``NodeList`` reads them page by page, ``RowList`` has all in memory. ``key`` returns the id of a record.
    """

    forest: Forest[R]
    key: Callable[[T], str]
    fields: Fields[T]
    arrangement: Arrangement

    @property
    def records(self) -> Sequence[T]:
        """All loaded records."""
        raise NotImplementedError

    def own(self, row: R) -> list[T]:
        """Return the records that an action on a row is about."""
        raise NotImplementedError

    def marked(self) -> list[T]:
        """Return the marked records."""
        raise NotImplementedError

    def markable(self) -> list[str]:
        """Return the ids of the rows with all records that match the filter."""
        raise NotImplementedError

    def in_view(self) -> set[str]:
        """Return the keys of the records in rows that the filter leaves."""
        raise NotImplementedError

    def unseen(self) -> int:
        """Return the number of marked records that are not in view."""
        return len(self.forest.marks - self.in_view()) if self.forest.marks else 0

    def numbers(self) -> tuple[int, int]:
        """Return how many records match the filter, and how many are loaded."""
        raise NotImplementedError

    def chosen(self) -> list[T]:
        """Return the marked records, those of the cursor's row first.

        Without marks return those of the row.
        """
        row = self.forest.current
        own = [] if row is None else self.own(row)
        if not self.forest.marks:
            return own
        here = set(map(self.key, own))
        return sorted(self.marked(), key=lambda record: self.key(record) not in here)
