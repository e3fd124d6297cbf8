"""Screen with a list: one grammar for the tree and for the lists of records."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, ClassVar, Generic, TypeVar

import msgspec
from textual import on
from textual.containers import Container
from textual.content import Content
from textual.geometry import Size
from textual.reactive import reactive
from textual.suggester import Suggester
from textual.widgets import Input

from console.model import filter as filters
from console.model.fields.field import Bundle, Context, Field, RecordType
from console.model.filter import Filter
from console.model.flat_list import FlatList, Order
from console.model.record_list import Ends, RecordList
from console.model.session import ConnectionState
from console.text.severity import band
from console.text.spans import Make, Spans, drawn
from console.text.views.lines import wrapped
from console.tui import keymap
from console.tui.help_context import HelpContext
from console.tui.keymap import Key
from console.tui.screens.base import MainScreen
from console.tui.widgets.columns import timed
from console.tui.widgets.header import is_late
from console.tui.widgets.list_table import ListTable
from console.tui.widgets.look import Look
from console.tui.widgets.messages import notice
from console.tui.widgets.text_bar import TextBar, joined
from queries.records.node import Node

AROUND_SECONDS = 0.003  # from a move of the cursor; the event loop sleeps, so that the writer thread gets to run


T = TypeVar("T")


class ListScreen(MainScreen, Generic[T]):
    """Screen with a list: filtered, sorted, grouped, folded, marked, copied.

    The filter is typed in a line below the list. ``RECORDS``: the type of the records. ``READING`` is said until the
    first ones were read. ``SEARCHES``: enter searches the database if the filter hides all rows. ``PREVIEW``: lines
    about the row under the cursor are beside or below the list.
    """

    RECORDS: ClassVar[RecordType[Any]]
    READING: ClassVar[str] = "Reading …"
    SEARCHES: ClassVar[bool] = True
    PREVIEW: ClassVar[bool] = True
    DEFAULT_CSS = """
    ListScreen #notice { align: center middle; padding: 1 4; }
    ListScreen #notice TextBar { width: auto; max-width: 100%; height: auto; text-wrap: wrap; }
    ListScreen #preview { height: auto; min-height: 4; border-top: solid $line; padding: 0 1; }
    ListScreen.-says #preview { min-height: 3; }
    ListScreen.-low #preview { display: none; }
    ListScreen.-tall #preview { min-height: 9; }
    ListScreen.-tall.-says #preview { min-height: 8; }
    ListScreen.-broad #split { layout: horizontal; }
    ListScreen.-broad #split #preview { width: 42%; height: 1fr; border-left: solid $line; }
    """

    def __init__(self, mode: str = "") -> None:
        super().__init__(mode)
        self._notice_bar = TextBar(notice)
        self._notice = Container(self._notice_bar, id="notice")
        self._preview_bar = Preview(self._previewed, id="preview")
        self._preview_bar.border_title = " This row "
        self._around_due = False  # what is around the list is painted after the list
        self._elsewhere: tuple[Filter, str] | None = None  # what was typed, and the list that has its fields
        self._wrong = ""  # why what was typed is no filter
        self.filter: Filter | None = None
        self.chosen_order: Order[Any] | None = None  # by the operator
        self.look: Look[Any] = Look(cell=self.cell)

    # what a screen provides

    @property
    def rows(self) -> FlatList[Any]:
        """The rows, the cursor and the marks of the list in front."""
        return self.listed

    @cached_property
    def listed(self) -> RecordList[T]:
        """The records in memory, which can be grouped."""
        return RecordList(self.RECORDS, self.sections)

    @property
    def row(self) -> Bundle[T] | None:
        """The row under the cursor."""
        return self.rows.current

    def records(self) -> Sequence[T]:
        """Return the records as last read, in their natural order."""
        raise NotImplementedError

    def sections(self) -> Sequence[tuple[str, object]]:
        """Return the groups of groups that are shown although they may have no records."""
        return ()

    def ends(self) -> Ends:
        """Return the rows that load more records."""
        return {}

    @property
    def loaded(self) -> bool:
        """True once the first records were read."""
        raise NotImplementedError

    def nothing(self) -> tuple[str, str]:
        """Return what is shown if there are no records: a sentence, and details."""
        raise NotImplementedError

    def columns(self) -> Sequence[Field[T]]:
        """Return the columns of the table."""
        return [timed(field) for field in self.listed.fields.columns]

    def cell(self, field: Field[T], row: Bundle[T]) -> Spans:
        """Return the text of a row's cell."""
        return field.shown_in(row, self.look.context)

    def context(self) -> Context:
        """Return what cells, filters and orders need apart from the record."""
        return Context(now=self.session.state.at, ascii=self.host.ascii, cells=self.size.width)

    def node(self, record: Any) -> Node | None:
        """Return the node that a record is about, as last read; None without one."""
        return None

    def open(self, record: Any) -> None:
        """Open the screen of a record: that of its node."""
        node = self.node(record)
        if node is None:
            self.say("It no longer exists.", "warn")
        else:
            self.host.open_node(node)

    def titled(self, key: Key) -> str:
        if key.id == "rows.open" and not len(self.rows):
            return "search"  # what the filter hides
        if key.id != "rows.open" or self.row is None or not self.row.foldable:
            return super().titled(key)
        return "fold" if self.rows.is_expanded(self.row.id) else "unfold"

    def offers(self, key: Key) -> bool:
        useful = {
            "rows.engines": len(self.session.engines) > 1,
            "rows.unfold": False,  # enter unfolds
            "rows.open": bool(len(self.rows) or (self.filter and self.SEARCHES)),
        }
        reveals = key.handler == "screen.reveal"
        return super().offers(key) and useful.get(key.id, True) and not (reveals and self.cursor() is None)

    def open_row(self, row: Any) -> None:
        """Open the record of a row; of a group, unfold or fold it."""
        if row.foldable:
            self.table.fold_or_unfold()
        elif row.record is not None:
            self.open(row.record)

    def lines(self, row: Any, width: int) -> list[Spans]:
        """Return the lines about a row."""
        raise NotImplementedError

    def notice(self) -> tuple[str, str]:
        """Return what is shown instead of rows: a sentence, and what to do."""
        if self.filter and self.rows.records:
            return f"No {self.RECORDS.noun} matches the filter.", f"{self.search_hint()}esc clears the filter"
        return self.nothing() if self.loaded else (self.READING, self.session.error_text)

    def search_hint(self) -> str:
        """Return how to search the database for what the filter did not find."""
        if not self.SEARCHES:
            return ""
        word = self._word()
        enter = self.host.keys.shown(keymap.BY_ID["rows.open"])
        if self.filter and filters.names_fields(self.filter, filters.NODES):
            return f"{enter} compares all nodes with the filter · "
        return f"{enter} searches the database{f' for {word}' if word else ''} · "

    def _word(self) -> str:
        return filters.word_of(self.filter) if self.filter else ""

    def preview(self) -> Make | None:
        """Return the function that makes the lines about the row under the cursor."""
        row = self.rows.current
        return None if row is None else lambda width: self._of_marks(row, width) + self.lines(row, width)

    def _of_marks(self, row: Any, width: int) -> list[Spans]:
        marks, own = self.rows.marks, {self.rows.key(record) for record in self.rows.own(row)}
        if not marks or own & marks:
            return []
        titles = Counter(node.title for node in self.targets())
        names = ", ".join(f"{title} ({n})" if n > 1 else title for title, n in titles.most_common(3))
        more = ", …" if len(titles) > 3 else ""
        return wrapped(f"Keys act on what is marked, not on this row: {names}{more}", width, "bold $warning", 0)

    def severities(self, rows: Sequence[Any]) -> list[int]:
        """Return the severities of the rows that have one."""
        rows = [row for row in rows if not row.above] or rows
        return [self.RECORDS.severity(row) for row in rows if row.records and self.RECORDS.severity]

    def above(self, rows: Sequence[Any]) -> str:
        """Return how many rows of the worst severity came in above the screen."""
        if not (severities := self.severities(rows)):
            return f"{len(rows)} more above"
        worst = band(max(severities))
        return f"{sum(band(each) is worst for each in severities)} {worst.word} above"

    def more(self) -> bool:
        """Return True if the list may have records that are not loaded."""
        return False

    @property
    def partial(self) -> bool:
        """True if the loaded rows are a part of the list, so that an order says little."""
        return bool(self.ends())

    def leave(self) -> None:
        """Leave the list, which has neither a filter nor marks."""
        if not self.MODE:
            self.dismiss()

    def tab(self) -> str:
        return self.MODE  # a list that another one has opened is no part of it

    # the table

    @property
    def empty(self) -> bool:
        """True if there is no row to show."""
        return not len(self.rows)

    @property
    def table(self) -> ListTable[Any]:
        return self.query_one(ListTable)

    def body(self) -> Iterable[object]:
        yield self._notice
        table = ListTable(self.rows, self.look, above=self.above, id="list")
        table.display = False  # until it has rows
        yield Container(table, self._preview_bar, id="split") if self.PREVIEW else table

    def on_resize(self) -> None:
        if self._ready:
            self.table.sync(context=self.context())
            self.show_preview()

    def show_body(self) -> None:
        self.look.context = self.context()
        self.listed.take(
            self.records(), self.look.context, filter=self.filter, order=self.chosen_order, ends=self.ends()
        )
        columns, folds = self.columns(), self.listed.grouping.group_of is not None
        if (columns, folds) != (self.look.columns, self.look.folds):
            self.look.put_columns(columns, folds=folds)
        self.table.sync()
        self.show_rows()
        self.show_preview()

    def help_context(self) -> HelpContext:
        shown = self.look.shown if self.table.row_count else ()
        columns = [(column.title, column.about) for column in shown if column.title and column.about]
        return msgspec.structs.replace(super().help_context(), columns=tuple(columns))

    def show_rows(self) -> None:
        """Show the table, or why it has no rows.

        A hidden table loses the focus; it gets the focus back with its first rows, unless a field has it.
        """
        self.table.display = not self.empty
        self._notice.display = self.empty
        if self.empty:
            self._notice_bar.show(*self.notice())
        elif self.focused is None:
            self.table.focus()

    def renew_header(self) -> None:
        super().renew_header()
        if self.alive:
            trouble = bool(self.session.list_error and self.rows_at() is not None)
            unread = trouble and is_late(self.rows_age, self.session.timer.interval)
            self.table.fade(unread or self.session.link is not ConnectionState.LIVE)

    def show_preview(self) -> None:
        """Show what is known of the row, also in lines that the list leaves free."""
        if self._preview_bar.is_attached:
            height = self.size.height
            self._preview_bar.rows = height if self.empty else min(self.table.row_count, height)
            self._preview_bar.show(self.preview())

    def _previewed(self, width: int, make: Make | None) -> Content:
        """Return the first lines about a row, which have the same height for each row."""
        lines = list(make(width)) if make is not None else []
        height = max(self._preview_bar.content_size.height, 1)
        return joined("\n", [Content.assemble(*drawn(line)) for line in lines[:height]])

    @on(ListTable.Cursor)
    def _moved(self) -> None:
        """Paint the row first: what is around the list takes longer.

        The writer thread needs the interpreter's lock to send the row. On a busy machine it would get the lock only
        after what is around the list.
        """
        if not self._around_due:
            self._around_due = True
            self.set_timer(AROUND_SECONDS, self._show_around)

    @on(ListTable.Renewed)
    def _show_around(self) -> None:
        self._around_due = False
        if self.alive:
            self.show_preview()
            self.renew_place()

    @on(ListTable.Open)
    def _open(self, message: ListTable.Open) -> None:
        row = self.rows.record(message.id)
        if row is not None:
            self.open_row(row)

    @on(ListTable.Marked)
    def _marked(self) -> None:
        self.show_preview()
        self.renew_place()

    def acted(self) -> None:
        if self.rows.marks:
            self.table.unmark()

    # description of the screen

    def crumbs(self) -> Sequence[str]:
        return [f"by {self.listed.grouping.title}"] * (not self.listed.is_natural) + self.arrangement()

    def targets(self) -> list[Node]:
        nodes = filter(None, map(self.node, self.rows.chosen()))
        return list({node.id: node for node in nodes}.values())

    def cursor(self) -> Node | None:
        row = self.rows.current
        records = () if row is None else self.rows.own(row)
        return next(filter(None, map(self.node, records)), None)

    def subject(self) -> Node | None:
        return next(iter(self.targets()), None) if self.rows.marks else self.cursor()

    async def read_targets(self) -> None:
        self.rows.touched = True  # the key is about this row

    def unseen(self) -> int:
        return self.rows.unseen()

    def label(self) -> str | None:
        node = self.cursor()
        return node.engine if node else None

    def arrangement(self) -> list[str]:
        """Return how the list is sorted and filtered, for the path of the screen."""
        part = ": loaded rows" if self.partial else ""
        ordered = [f"sorted by {self.order.title}{part}"] if self.order else []
        return ordered + ([f"filter: {self.filter}"] if self.filter else [])

    def marked(self) -> list[str]:
        """Return the number of marked records, and of those that are not in view."""
        marked = f"{len(self.rows.marks)} marked"
        unseen = self.unseen()
        return [marked + (f", {unseen} not in view" if unseen else "")] * bool(self.rows.marks)

    def count(self) -> list[str]:
        """Return the number of marked records, and that of matching ones."""
        matching, loaded = self.rows.numbers()
        return self.marked() + [f"{matching} of {loaded}{'+' if self.more() else ''}"] * bool(self.filter)

    # keys

    def action_open(self) -> None:
        """Open the row; if the filter hides all rows, search the database."""
        if not self.SEARCHES or not self.filter or not self.empty:
            self.table.action_open()
        elif filters.names_fields(self.filter, filters.NODES):
            self.host.search(self.filter)
        elif word := self._word():
            self.host.search(word)
        else:
            self.host.action_find()

    def action_maximise(self) -> None:
        """Show the lines about the row on a screen of their own."""
        from console.tui.screens.text_screen import PreviewScreen

        if self.PREVIEW and (make := self.preview()):
            self.app.push_screen(PreviewScreen(make, self.mode()))
        else:
            self.say("There is nothing to preview here.", "faint")

    def action_unfold(self) -> None:
        self.table.action_unfold()

    def action_fold(self) -> None:
        """Fold the row; of a record in a group, that group."""
        if self.row is not None and self.row.above:
            self.table.go_to(self.row.above)
        self.table.action_fold()

    def action_group(self) -> None:
        self.say(f"Grouped by {self.listed.next_grouping().title}.", "faint")
        self.renew_rows()

    def action_reveal(self) -> None:
        node = self.cursor()
        if node is not None:
            self.host.reveal(node)
        else:
            self.say("This row has no node that was read.", "faint")

    def action_fold_all(self) -> None:
        self.table.action_fold_all()

    def action_mark(self) -> None:
        self.table.action_mark()

    def action_mark_range(self, step: int) -> None:
        self.table.action_mark_range(step)

    def action_mark_all(self) -> None:
        """Mark all rows that match; clear the marks if there are any."""
        if self.rows.marks:
            self.table.unmark()
            self.say("")
            return
        self.table.mark(self.rows.markable())
        all_ = f"{self.host.keys.shown(keymap.PALETTE)} with an action and a filter takes all of the database"
        self.say(f"{len(self.rows.marks) or 'No row'} marked{f' of the loaded rows; {all_}' if self.more() else ''}.")

    def action_back(self) -> None:
        """Clear the filter, or else the marks, or else end the guide and leave the list."""
        if self.filtering:
            self.clear_filter()
        elif self.rows.marks:
            self.table.unmark()
        else:
            self.host.guide.end()
            self.renew_footer()
            self.leave()

    # filter and order

    def set_filter(self, filter: Filter | None) -> None:
        """Filter the list, and paint it."""
        self.filter = filter
        self.renew_rows()

    def renew_rows(self) -> None:
        """Paint the list after the operator has arranged it otherwise."""
        self.table.expect()
        self.show_body()
        self.renew_place()

    @property
    def order(self) -> Order[Any] | None:
        """The order of the list, None without."""
        return self.rows.order

    def orders(self) -> list[Order[Any]]:
        """Return an order for each column that is shown."""
        return [Order(column.title, partial(self._sorted_by, column)) for column in self.look.shown]

    def _sorted_by(self, column: Field[Any], row: Any) -> Any:
        return column.sorted_by(row, self.look.context)  # what it knows may be newer than the order

    def set_order(self, order: Order[Any] | None) -> None:
        """Sort the list, and say if not all of it is loaded."""
        self.chosen_order = order
        self.renew_rows()
        self.table.show_cursor()
        partial = order is not None and self.partial
        self.say("Only the loaded rows are sorted. Enter on the last row loads more." if partial else "", "faint")

    def action_sort(self) -> None:
        """Sort by the next column; after the last one in the natural order."""
        orders = self.orders()
        titles = [order.title for order in orders]
        at = titles.index(self.order.title) + 1 if self.order and self.order.title in titles else 0
        self.set_order(orders[at] if at < len(orders) else None)

    def action_reverse(self) -> None:
        if self.order is None:
            self.say("The list is in its own order. s sorts it by a column.", "faint")
        else:
            self.set_order(replace(self.order, reverse=not self.order.reverse))

    @on(ListTable.Heading)
    def _heading(self, message: ListTable.Heading) -> None:
        if self.order is not None and self.order.title == message.title:
            self.action_reverse()
        else:
            self.set_order(next((order for order in self.orders() if order.title == message.title), None))

    # the line

    def values(self, field: str) -> Iterable[str]:
        """Return the values of a field that occur in the loaded rows."""
        return self.rows.fields.values(field, self.rows.records, self.context())

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

            typed = FilterLine(Completion(self), id="filter", kept=self.host.kept_filters)
            await self.mount(typed, before=self.query_one("#status"))
        line = self.query_one("#filter")
        line.display = True
        line.focus()

    @on(Input.Changed, "#filter")
    def _typed(self, message: Input.Changed) -> None:
        saved, self._elsewhere, self._wrong = self.host.config.filters, None, ""
        try:
            typed = filters.parse(message.value, self.rows.fields, saved)
        except filters.FilterError as error:
            for mode, fields in filters.lists().items():
                with contextlib.suppress(filters.FilterError):
                    self._elsewhere = self._elsewhere or (filters.parse(message.value, fields, saved), mode)
            self._wrong = f"{error.message} (at character {error.position + 1})"
            if self._elsewhere is not None:
                where = f"the list {mode}" if (mode := self._elsewhere[1]) else "all nodes"
                self._wrong = f"This list cannot be filtered so: enter compares {where} with the filter."
                self.set_filter(None)
            self.say(self._wrong, "warn")
            return
        self.say("")
        self.set_filter(typed if typed.terms else None)

    def on_filter_line_kept(self) -> None:
        if (elsewhere := self._elsewhere) is not None:
            self.clear_filter()
            self.host.search(*elsewhere)
            return
        if self._wrong:
            self.say(self._wrong, "warn")
            return
        if self.filter is not None:
            kept, text = self.host.kept_filters, self.query_one("#filter", Input).value
            kept[:] = [*(each for each in kept if each != text), text]
        self.query_one("#filter").display = bool(self.filter)
        self.table.focus()
        self.call_after_refresh(self.renew_footer)

    def action_save_filter(self) -> None:
        if (text := self.query_one("#filter", Input).value.strip()) and not self._wrong:
            self.host.ask(f"Save {text}", "Name of the filter", partial(self.host.save_filter, text))
        else:
            self.say(self._wrong or "Type a filter first.", "warn")

    def on_filter_line_left(self) -> None:
        self.clear_filter()

    def clear_filter(self) -> None:
        """Show all rows again."""
        for line in self.query("#filter").results(Input):
            line.value = ""
            line.display = False
        self.say("")
        self.set_filter(None)
        self.table.focus()


class Preview(TextBar[Make | None]):
    """The lines about the row under the cursor, below ``rows`` of the list."""

    rows = reactive(0, layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return max(container.height - self.rows - 1, 0)  # a heading


class Completion(Suggester):
    """Completes the fields and values of a filter that is being typed."""

    def __init__(self, screen: ListScreen[Any]) -> None:
        super().__init__(use_cache=False, case_sensitive=True)
        self._screen = screen

    async def get_suggestion(self, value: str) -> str | None:
        screen = self._screen
        return filters.completion(value, screen.rows.fields, screen.values, screen.host.config.filters) or None
