"""Pages with a list: its filter line, and what the operator does with rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from textual import on
from textual.suggester import Suggester
from textual.widgets import Input

from console.model.fields.field import Context, Field
from console.model.order import Order
from console.text.spans import Spans
from console.tui.screens.base import PageScreen
from console.tui.widgets.columns import timed
from console.tui.widgets.placeholder import Placeholder
from console.tui.widgets.preview import Preview, Split
from console.tui.widgets.row_view import RowView
from console.tui.widgets.table import Table
from queries.db.errors import DatabaseError
from queries.records.node import Node

if TYPE_CHECKING:  # imported at first use, so that the app starts sooner
    from console.model.filter import Fields, Filter
    from console.model.row_list import Row, RowList

T = TypeVar("T")


class FilterScreen(PageScreen):
    """Page with a list that can be sorted and filtered.

    The filter is typed in a line below the list.
    """

    # what a page provides

    @property
    def view(self) -> RowView:
        """The widget with the rows."""
        raise NotImplementedError

    @property
    def filter(self) -> Filter | None:
        """The filter of the list, None without."""
        raise NotImplementedError

    def fields(self) -> Fields[Any]:
        """Return the fields that the list can be filtered by."""
        raise NotImplementedError

    def values(self, field: str) -> Iterable[str]:
        """Return the values of a field that occur in the loaded rows."""
        return ()

    def set_filter(self, filter: Filter | None) -> None:
        """Filter the list, and paint it."""
        raise NotImplementedError

    @property
    def order(self) -> Order[Any] | None:
        """The order that the operator has chosen, None without."""
        raise NotImplementedError

    def orders(self) -> Sequence[Order[Any]]:
        """Return an order for each column that the list can be sorted by."""
        raise NotImplementedError

    def set_order(self, order: Order[Any] | None) -> None:
        """Sort the list, and paint it."""
        raise NotImplementedError

    # order

    def action_sort(self) -> None:
        """Sort by the next column; after the last one in the natural order."""
        orders = list(self.orders())
        titles = [order.title for order in orders]
        at = titles.index(self.order.title) + 1 if self.order and self.order.title in titles else 0
        self.set_order(orders[at] if at < len(orders) else None)

    def action_reverse(self) -> None:
        if self.order is None:
            self.say("The list is in its own order. s sorts it by a column.", "faint")
        else:
            self.set_order(replace(self.order, reverse=not self.order.reverse))

    @on(RowView.Heading)
    def _heading(self, message: RowView.Heading) -> None:
        if self.order is not None and self.order.title == message.title:
            self.action_reverse()
        else:
            self.set_order(next((order for order in self.orders() if order.title == message.title), None))

    # the line

    @property
    def filtering(self) -> bool:
        """True if there is a filter, or the line in which it is typed is open."""
        return bool(self.filter) or self.typing

    @property
    def typing(self) -> bool:
        """True while the line in which a filter is typed is open."""
        return any(line.display for line in self.query("#filter"))

    async def action_filter(self) -> None:
        if not self.query("#filter"):
            from console.tui.widgets.filter_line import FilterLine

            await self.mount(FilterLine(Completion(self), id="filter"), before=self.query_one("#status"))
        line = self.query_one("#filter")
        line.display = True
        line.focus()

    @on(Input.Changed, "#filter")
    def _typed(self, message: Input.Changed) -> None:
        from console.model import filter as filters

        try:
            typed = filters.parse(message.value, self.fields(), self.host.saved_filters)
        except filters.FilterError as error:
            self.say(f"{error.message} (at character {error.position + 1})", "warn")
            return
        self.say("")
        self.set_filter(typed if typed.terms else None)

    def on_filter_line_kept(self) -> None:
        self.query_one("#filter").display = bool(self.filter)
        self.view.focus()

    def on_filter_line_left(self) -> None:
        self.clear_filter()

    def clear_filter(self) -> None:
        """Show all rows again."""
        for line in self.query("#filter").results(Input):
            line.value = ""
            line.display = False
        self.say("")
        self.set_filter(None)
        self.view.focus()


class Completion(Suggester):
    """Completes the fields and values of a filter that is being typed."""

    def __init__(self, page: FilterScreen) -> None:
        super().__init__(use_cache=False, case_sensitive=True)
        self._page = page

    async def get_suggestion(self, value: str) -> str | None:
        from console.model.filter import completion

        page = self._page
        return completion(value, page.fields(), page.values, page.host.saved_filters) or None


class ListScreen(FilterScreen, Generic[T]):
    """Page with a table of records that can be filtered, sorted, grouped, marked.

    ``PREVIEW``: lines about the row under the cursor are beside or below the list. ``LOADS``: its end loads more.
    """

    PREVIEW = True
    LOADS = False

    def __init__(self) -> None:
        super().__init__()
        self.list = self.make_list()
        self._fetching = False

    # what a page provides

    def make_list(self) -> RowList[T]:
        """Return the model of the list."""
        raise NotImplementedError

    def records(self) -> Sequence[T]:
        """Return the records as last read, in their natural order."""
        raise NotImplementedError

    def open(self, record: T) -> None:
        """Open the page of a record."""
        raise NotImplementedError

    def node_id(self, record: T) -> str | None:
        """Return the id of the node that a record is about."""
        raise NotImplementedError

    def node(self, id_: str) -> Node | None:
        """Return a node as last read."""
        return None

    def more(self) -> bool:
        """Return True if the list may have records that are not loaded."""
        return False

    def notice(self) -> tuple[str, str]:
        """Return what is shown instead of rows: a sentence, and what to do."""
        raise NotImplementedError

    def lines(self, row: Row[T], width: int) -> list[Spans]:
        """Return the lines about a row."""
        raise NotImplementedError

    def context(self) -> Context:
        """Return what cells and filters need apart from the record."""
        return Context(now=self.session.at, ascii=self.host.ascii, cells=self.size.width)

    def cell(self, field: Field[T], row: Row[T]) -> Spans:
        """Return the text of a row's cell, without the fold sign."""
        return field.shown_in(row, self.context())

    @property
    def filling(self) -> bool:
        """True while the first records come in: the cursor stays on the first row."""
        return False

    async def read_more(self) -> None:
        """Read older records, which the end of the list loads. Raises DatabaseError."""
        raise NotImplementedError

    # the table

    @property
    def table(self) -> Table[Row[T]]:
        return self.query_one("#list", Table)

    @property
    def view(self) -> RowView:
        return self.table

    def make_table(self) -> Table[Row[T]]:
        """Return the table, for the page's body."""
        return Table[Any](
            self.columns(),
            lambda row: row.key,
            self._cell,
            id="list",
            ascii=self.host.ascii,
            marked=lambda row: row.marked,
        )

    def columns(self) -> Sequence[Field[T]]:
        """Return the columns of the table."""
        return [timed(field) for field in self.list.fields.columns]

    def _cell(self, field: Field[T], row: Row[T]) -> Spans:
        sign = self.fold_sign(row) if field.name == self.list.fields.columns[0].name else ""
        return [(sign, "$faint"), *self.cell(field, row)]

    def body(self) -> Iterable[object]:
        yield Placeholder(id="notice")
        yield Split(self.make_table(), Preview(id="preview")) if self.PREVIEW else self.make_table()

    def on_mount(self) -> None:
        self.table.focus()

    def show_body(self) -> None:
        notice = self.query_one(Placeholder)
        if self.put_rows(filling=self.filling):
            notice.hide()
        else:
            notice.show(*self.notice())
        self.show_preview()

    def show_preview(self) -> None:
        """Show the lines about the row under the cursor."""
        row = self.row
        for preview in self.query(Preview):
            preview.put(None if row is None else lambda width: self.lines(row, width))

    @on(Table.Highlighted)
    def _highlighted(self) -> None:
        self.show_preview()
        self.renew_place()

    @on(Table.NearEnd)
    def _near_end(self) -> None:
        if self.LOADS and self.more() and not self._fetching:
            self._fetching = True
            self.run_worker(self._fetch(), group="more", exit_on_error=True)

    async def _fetch(self) -> None:
        try:
            await self.read_more()
        except DatabaseError as error:
            self.session.failed(error)
            self.say(str(error), "bad")
        finally:
            self._fetching = False

    def put_rows(self, *, filling: bool = False) -> list[Row[T]]:
        """Show the records as last read, and return the rows."""
        self.list.put(self.records(), self.context())
        self.table.put_columns(self.columns())
        rows = self.rows()
        self.table.put(rows, filling=filling)
        self.table.show_rows()
        self.table.repaint()
        return rows

    def rows(self) -> list[Row[T]]:
        """Return the rows to show."""
        return self.list.rows()

    @property
    def row(self) -> Row[T] | None:
        """The row under the cursor."""
        return self.table.current if self._ready else None

    @on(Table.Chosen)
    def _chosen(self) -> None:
        self.action_open()

    def fold_sign(self, row: Row[T]) -> str:
        """Return the sign before a group, or the indent of a row without one."""
        if row.foldable:
            return ("v " if row.open else "> ") if self.host.ascii else ("▾ " if row.open else "▸ ")
        return "  " if row.above or (row.group is not None and not row.heading) else ""

    # description of the page

    def crumbs(self) -> Sequence[str]:
        chosen = self.list
        by = "" if chosen.is_natural else f"by {chosen.grouping.title}"
        order = f"sorted by {chosen.order.title}" if chosen.order else ""
        return list(filter(None, (by, order, f"filter: {chosen.filter}" if chosen.filter else "")))

    def count(self) -> list[str]:
        """Return the number of marked records, and that of matching ones."""
        chosen = self.list
        marked = [f"{len(chosen.marks)} marked"] * bool(chosen.marks)
        more = "+" if self.more() else ""
        return marked + [f"{len(chosen.matching)} of {len(chosen.records)}{more}"] * bool(chosen.filter)

    def targets(self) -> list[Node]:
        ids = dict.fromkeys(self.node_id(record) for record in self.list.chosen(self.row))
        return [node for id_ in ids if id_ and (node := self.node(id_))]

    def acted(self) -> None:
        self.list.marks.clear()
        self._renew_rows()

    # filter

    @property
    def filter(self) -> Filter | None:
        return self.list.filter

    def fields(self) -> Fields[Any]:
        return self.list.fields

    def values(self, field: str) -> Iterable[str]:
        return self.list.fields.values(field, self.list.records, self.context())

    def set_filter(self, filter: Filter | None) -> None:
        self.list.filter = filter
        self._renew_rows()

    # order

    @property
    def order(self) -> Order[Any] | None:
        return self.list.order

    def orders(self) -> Sequence[Order[Any]]:
        return [Order(column.title, partial(self._value, column)) for column in self.table.columns]

    def _value(self, column: Field[T], row: Row[T]) -> Any:
        """Return what a row is sorted by.

        What is known of its nodes may be newer than the order.
        """
        return column.row_sorted_by(row, self.context())

    def set_order(self, order: Order[Any] | None) -> None:
        self.list.order = order
        self.table.sorted_by(order.title if order else None, reverse=bool(order and order.reverse))
        self._renew_rows()

    # keys

    def action_open(self) -> None:
        row = self.row
        if row is None:
            return
        if row.foldable:
            self._fold(row, open=not row.open)
        elif row.record is not None and not row.heading:
            self.open(row.record)

    def action_unfold(self) -> None:
        row = self.row
        if row is not None and row.foldable:
            self._fold(row, open=True)

    def action_fold(self) -> None:
        row = self.row
        if row is not None and row.above:
            self.table.select(row.above)
        if self.row is not None and self.row.open:
            self._fold(self.row, open=False)

    def action_fold_all(self) -> None:
        self.list.fold_all()
        self._renew_rows()

    def _fold(self, row: Row[T], *, open: bool) -> None:
        self.list.fold(row, open=open)
        self._renew_rows()

    def action_mark(self) -> None:
        if self.row is not None:
            self.list.mark(self.row)
            self._renew_rows()
            self.table.action_move(1)

    def action_mark_range(self, step: int) -> None:
        """Mark the row and go on in a direction."""
        if self.row is not None:
            self.list.mark(self.row, on=True)
            self.table.action_move(step)
            if self.row is not None:
                self.list.mark(self.row, on=True)
            self._renew_rows()

    def action_mark_all(self) -> None:
        self.list.mark_all()
        self._renew_rows()
        more = " of the loaded rows; more may match" if self.list.marks and self.more() else ""
        self.say(f"{len(self.list.marks)} marked{more}.")

    def action_group(self) -> None:
        self.say(f"Grouped by {self.list.next_grouping().title}.", "faint")
        self._renew_rows()

    def action_back(self) -> None:
        """Clear the filter, or else the marks."""
        if self.filtering:
            self.clear_filter()
        elif self.list.marks:
            self.list.marks.clear()
            self._renew_rows()

    def action_reveal(self) -> None:
        node = self.cursor()
        if node is not None:
            self.host.reveal(node)

    def _renew_rows(self) -> None:
        self.show_body()
        self.renew_place()
