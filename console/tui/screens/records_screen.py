"""Screen with a list of records that are all in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Generic, TypeVar

from console.model.fields.field import Bundle, Context, Field, RecordType
from console.model.record_list import Ends, RecordList
from console.text.spans import Spans
from console.tui.keymap import Key
from console.tui.screens.list_screen import ListScreen
from console.tui.widgets.columns import timed
from console.tui.widgets.look import Look

T = TypeVar("T")


class RecordsScreen(ListScreen, Generic[T]):
    """Screen with a table of records that can be grouped.

    ``RECORDS``: their type. ``READING`` is said until the first ones were read.
    """

    RECORDS: ClassVar[RecordType[Any]]
    READING: ClassVar[str] = "Reading …"

    def __init__(self) -> None:
        super().__init__()
        self._rows: RecordList[T] = RecordList(self.RECORDS, self.sections)
        self.look: Look[Bundle[T]] = Look(cell=self.cell)

    # what a screen provides

    def sections(self) -> Sequence[tuple[str, object]]:
        """Return the groups of groups that are shown although they may have no records."""
        return ()

    def records(self) -> Sequence[T]:
        """Return the records as last read, in their natural order."""
        raise NotImplementedError

    def ends(self) -> Ends:
        """Return the rows that load more records."""
        return {}

    @property
    def partial(self) -> bool:
        return bool(self.ends())

    def context(self) -> Context:
        return Context(now=self.session.state.at, ascii=self.host.ascii, cells=self.size.width)

    def cell(self, field: Field[T], row: Bundle[T]) -> Spans:
        """Return the text of a row's cell."""
        return field.shown_in(row, self.look.context)

    @property
    def loaded(self) -> bool:
        """True once the first records were read."""
        raise NotImplementedError

    def notice(self) -> tuple[str, str]:
        if self.filter and self.rows.records:
            return self.no_match()
        return self.nothing() if self.loaded else (self.READING, self.session.error_text)

    def no_match(self) -> tuple[str, str]:
        """Return what is shown if the filter hides all rows: a sentence, and what to do."""
        return f"No {self.RECORDS.noun} matches the filter.", f"{self.search_hint()}esc clears the filter"

    def nothing(self) -> tuple[str, str]:
        """Return what is shown if there are no records: a sentence, and details."""
        raise NotImplementedError

    def severities(self, rows: Sequence[Bundle[T]]) -> list[int]:
        rows = [row for row in rows if not row.above] or rows
        return [self.RECORDS.severity(row) for row in rows if row.records and self.RECORDS.severity]

    # the table

    @property
    def rows(self) -> RecordList[T]:
        return self._rows

    def columns(self) -> Sequence[Field[T]]:
        """Return the columns of the table."""
        return [timed(field) for field in self.rows.fields.columns]

    def on_resize(self) -> None:
        if self._ready:
            self.table.sync(context=self.context())

    def show_body(self) -> None:
        self.look.context = self.context()
        self.rows.take(self.records(), self.look.context, filter=self.filter, order=self.chosen_order, ends=self.ends())
        columns, folds = self.columns(), self.rows.grouping.group_of is not None
        if (columns, folds) != (self.look.columns, self.look.folds):
            self.look.put_columns(columns, folds=folds)
        self.table.sync()
        self.show_rows()
        self.show_preview()

    @property
    def row(self) -> Bundle[T] | None:
        """The row under the cursor."""
        return self.rows.current

    def open_row(self, row: Bundle[T]) -> None:
        """Open the record of a row; of a group, unfold or fold it."""
        if row.foldable:
            self.table.fold_or_unfold()
        elif row.record is not None:
            self.open(row.record)

    # description of the screen

    def titled(self, key: Key) -> str:
        if key.id == "rows.open" and not len(self.rows):
            return "search"  # what the filter hides
        if key.id != "rows.open" or self.row is None or not self.row.foldable:
            return super().titled(key)
        return "fold" if self.rows.is_expanded(self.row.id) else "unfold"

    def offers(self, key: Key) -> bool:
        empty = not len(self.rows) and not (self.filter and self.SEARCHES)
        useless = {"rows.unfold": True, "rows.open": empty}  # enter unfolds
        reveals = key.handler == "screen.reveal"
        return super().offers(key) and not useless.get(key.id) and not (reveals and self.cursor() is None)

    def crumbs(self) -> Sequence[str]:
        by = [] if self.rows.is_natural else [f"by {self.rows.grouping.title}"]
        return by + self.arrangement()

    # groups

    def action_fold(self) -> None:
        """Fold the group; of a record in a group, that group."""
        if self.row is not None and self.row.above:
            self.table.go_to(self.row.above)
        self.table.action_fold()

    def action_group(self) -> None:
        self.say(f"Grouped by {self.rows.next_grouping().title}.", "faint")
        self.renew_rows()

    def action_reveal(self) -> None:
        node = self.cursor()
        if node is not None:
            self.host.reveal(node)
        else:
            self.say("This row has no node that was read.", "faint")
