"""Look of the lines of a list, which differs between the tree and the others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Generic, Protocol, TypeVar

from rich.style import Style as RichStyle
from textual.strip import Strip
from textual.style import Style

from console.model.fields.field import Context, Field
from console.model.forest import Row
from console.model.order import Order
from console.model.tree_entry import Listed
from queries.records.node import Phase

T = TypeVar("T", bound=Listed)

# Component classes by the names that looks and fields use.
CLASSES = {
    name: f"list-table--{name}"
    for name in (
        *("header", "cursor", "cursor-blurred", "marked", "marker", "changed", "guides", "dimmed", "muted", "edge"),
        *("late", "finding", "bar"),
        *(f"phase-{phase}" for phase in Phase),
    )
}


class Styles(Protocol):
    """Combined styles of component classes."""

    def cell_style(self, names: tuple[str, ...]) -> RichStyle:
        """Return the style of a segment, in the terminal's colours."""

    def content_style(self, names: tuple[str, ...]) -> Style:
        """Return the style of a ``Content``."""


class Look(Generic[T]):
    """Look of the lines: the columns, and what is before the first one."""

    FITTED = False  # True if all styles of the lines are cell styles: their colours are the terminal's
    context: Context = Context()

    @property
    def shown(self) -> Sequence[Field[Any]]:
        """The columns that the screen has room for."""
        raise NotImplementedError

    def gutter(self, state: str, *, marked: bool) -> str:
        """Return the signs of the cursor and of a mark."""
        cursor, mark = ">*" if self.context.ascii else "▌●"
        return (cursor if state else " ") + (mark if marked else " ")

    def arrow(self, title: str, order: Order[T] | None) -> str:
        """Return the sign of the order in the heading of a column, or ""."""
        if order is None or order.title != title:
            return ""
        return ("v^" if self.context.ascii else "▼▲")[order.reverse]

    def fit(self, width: int, room: int) -> None:
        """Lay out the columns in ``width`` cells, of which a scrollbar leaves ``room``."""
        raise NotImplementedError

    def measure(self, records: Iterable[T]) -> bool:
        """Note what the records on the screen need.

        Return True if the columns have to be laid out again.
        """
        return False

    def header(self, order: Order[T] | None, styles: Styles) -> Strip:
        """Return the headings; an arrow shows the order."""
        raise NotImplementedError

    def line(self, row: Row[T], state: str, changed: frozenset[str], styles: Styles) -> Strip:
        """Return the line of a row.

        ``state`` is the style of the cursor, if it is on the row; ``changed`` are fields to highlight.
        """
        raise NotImplementedError

    def title_at(self, x: int) -> str | None:
        """Return the title of the column at a cell."""
        raise NotImplementedError

    def fold_sign_at(self, row: Row[T]) -> range:
        """Return the cells of a line in which a click folds or unfolds the row."""
        raise NotImplementedError
