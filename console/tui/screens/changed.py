"""List of what the engines and the operators changed in the last ten minutes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from textual.content import Content

from console.model import change_list
from console.model.change_list import ChangeBoard
from console.model.row_list import Row, RowList
from console.text import formatting
from console.text.pages import changes as pages
from console.tui import keymap
from console.tui.bindings import bindings
from console.tui.screens.audit_entry import AuditEntryScreen
from console.tui.screens.detail import DetailScreen
from console.tui.screens.list_screen import ListScreen
from console.tui.widgets.cells import common, text_column
from console.tui.widgets.table import Column
from console.tui.widgets.text_bar import TextBar
from queries.records.change import Change
from queries.records.node import Node
from queries.text.safe_text import safe_text


class Unsearched(TextBar):
    """Line below the list that says what was not searched."""

    DEFAULT_CSS = "Unsearched { height: auto; max-height: 3; text-wrap: wrap; color: $text-muted; padding: 0 1; }"

    text = ""

    def compose_line(self, width: int) -> Content:
        return Content(safe_text(self.text))


class ChangedScreen(ListScreen[Change]):
    """Shows the newest changes first; loads older ones when the cursor nears the end."""

    MODE = "changed"
    KEYS = (*keymap.ROWS, *keymap.CHANGED)
    BINDINGS = bindings(keymap.ROWS, keymap.CHANGED)
    PREVIEW = False
    LOADS = True

    def __init__(self) -> None:
        super().__init__()
        self._board = ChangeBoard()

    def make_list(self) -> RowList[Change]:
        return RowList(change_list.key, change_list.FIELDS, change_list.GROUPINGS)

    def body(self) -> Iterable[object]:
        yield from super().body()
        yield Unsearched(id="unsearched")

    def columns(self) -> list[Column[Row[Change]]]:
        return [
            Column("when", formatting.time_width(10), self._when, value=lambda row: -max(c.at for c in row.records)),
            text_column(change_list.ENGINE, 12, 110),
            Column("change", 13, _what, value=common(_word)),
            Column("status", 24, _status, value=common(lambda change: change.new or "")),
            text_column(change_list.TITLE, 0),
            text_column(change_list.WHO, 24, 150, title="by"),
        ]

    def note(self) -> str:
        answer = self._board.answer
        capped = f"capped: {len(self.list.records)} loaded" if self.more() else ""
        return "  ".join(filter(None, [*self.count(), "last 10 minutes" if answer else "", capped]))

    def more(self) -> bool:
        return self._board.cursor is not None

    def node_id(self, record: Change) -> str | None:
        return record.node.id if record.node else None

    def node(self, id_: str) -> Node | None:
        return next((c.node for c in self.list.records if c.node and c.node.id == id_), None)

    def label(self) -> str | None:
        node = self.cursor()
        return node.engine if node else None

    def records(self) -> Sequence[Change]:
        return self._board.changes

    async def load(self) -> None:
        if self.session.workspace is not None:
            answer = await self.session.workspace.changed(change_list.SECONDS)
            self._board.refresh(answer)
            self.session.read(answer.at)

    def show_body(self) -> None:
        answer, line = self._board.answer, self.query_one(Unsearched)
        line.text = " ".join(pages.unsearched(answer)) if answer else ""
        line.display = bool(line.text)
        line.renew()
        super().show_body()

    def notice(self) -> tuple[str, str]:
        answer = self._board.answer
        if answer is None:
            return "Reading …", self.session.error_text
        if self.list.records:
            return "No change matches the filter.", "Escape clears it. The end of the list loads older changes."
        return "No change was recorded in the last ten minutes.", "\n".join(pages.notes(answer))

    async def read_more(self) -> None:
        if self._board.cursor is not None and self.session.workspace is not None:
            self._board.add(await self.session.workspace.changed(cursor=self._board.cursor))
            self.renew()

    def open(self, record: Change) -> None:
        if record.entry is not None:
            self.app.push_screen(AuditEntryScreen(record.entry, self.MODE, whole=False))
        elif record.node is not None:
            self.app.push_screen(DetailScreen(record.node, self.MODE))
        else:
            self.say(f"{record.id} no longer exists.", "warn")

    def _when(self, row: Row[Change]) -> Content:
        at = formatting.since(max(change.at for change in row.records), self.session.at)
        return Content.assemble(self.fold_sign(row), (f"{len(row.records)} changes" if row.foldable else at, "$faint"))


def _word(change: Change) -> str:
    return change.what


def _what(row: Row[Change]) -> Content:
    what = common(_word)(row) or ""
    return Content.styled(safe_text(what), "bold $accent" if all(change.entry for change in row.records) else "")


def _status(row: Row[Change]) -> Content:
    """Return the status of a change; of several, the oldest and the newest one."""
    first, last = min(row.records, key=lambda c: c.at), max(row.records, key=lambda c: c.at)
    if row.record is not None or len({change.id for change in row.records}) > 1 or last.entry or first.entry:
        return Content.assemble(*pages.status(row.record)) if row.record is not None else Content("")
    return Content(safe_text(" → ".join(filter(None, dict.fromkeys((first.old or first.new, last.new))))))
