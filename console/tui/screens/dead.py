"""List of the dead letters of all engines, grouped by error."""

from __future__ import annotations

from collections.abc import Iterable

from textual import on
from textual.content import Content

from console.model.dead_letter_board import DeadLetterBoard, Row, fate, number
from console.text import formatting
from console.text.pages.findings import severity_ink
from console.text.pages.lines import wrapped
from console.text.spans import Spans
from console.tui import keymap
from console.tui.bindings import bindings
from console.tui.keymap import Key
from console.tui.pages import empty_state
from console.tui.screens.base import PageScreen
from console.tui.screens.detail import DetailScreen
from console.tui.widgets.placeholder import Placeholder
from console.tui.widgets.preview import Preview
from console.tui.widgets.table import Column, Table
from queries.model import DeadLetter, Group, Node, split_id
from queries.safe_text import safe_text

FATES = 3  # current states of a group shown in the preview


class DeadScreen(PageScreen):
    """Engines, groups, and dead letters of unfolded groups.

    An action on a group applies to all its dead letters.
    """

    MODE = "dead"
    KEYS = keymap.DEAD
    BINDINGS = bindings(keymap.DEAD)

    def __init__(self) -> None:
        super().__init__()
        self._board = DeadLetterBoard()

    @property
    def table(self) -> Table[Row]:
        return self.query_one("#dead_letters", Table)

    def body(self) -> Iterable[object]:
        yield Placeholder(id="notice")
        yield Table[Row](self._columns(), lambda row: row.key, id="dead_letters", ascii=self.host.ascii)
        yield Preview(id="preview")

    def _columns(self) -> list[Column[Row]]:
        return [
            Column("error", 0, self._what),
            Column("count", 7, self._number, right=True),
            Column("first", 6, self._first, 50, right=True),
            Column("last", 6, self._last, 64, right=True),
            Column("current state", 38, self._fate, 104),
        ]

    def on_mount(self) -> None:
        self.table.focus()

    # description of the page

    def label(self) -> str | None:
        row = self.table.current if self._ready else None
        return row.engine if row else None

    def note(self) -> str:
        parts = self._board.parts.values()
        dead_letters, groups = sum(len(part.dead_letters) for part in parts), sum(len(part.groups) for part in parts)
        more = "" if all(part.whole for part in parts) else "+"
        marked = f"{len(self._board.marks)} marked  " if self._board.marks else ""
        return (
            f"{marked}{_many(dead_letters, 'dead letter', more)} in {_many(groups, 'group', more)}"
            if dead_letters
            else marked
        )

    def targets(self) -> list[Node]:
        row = self.table.current if self._ready else None
        return self._board.targets(row) if row else []

    def cursor(self) -> Node | None:
        row = self.table.current if self._ready else None
        return next((dead_letter.node for dead_letter in self._board.dead_letters_of(row)), None) if row else None

    def offers(self, key: Key) -> bool:
        row = self.table.current if self._ready else None
        more = bool(row and row.engine in self._board.parts and self._board.parts[row.engine].more)
        return super().offers(key) and (key.id != "dead.more" or more)

    def acted(self) -> None:
        self._board.again()

    # reading

    async def load(self) -> None:
        near = [row.dead_letter.node.id for row in self.table.around() if row.dead_letter is not None]
        at = await self._board.look(self.session.engines, near, self._came)
        if at is not None:
            self.session.read(at)

    def _came(self) -> None:
        """Paint a page of dead letters, unless the app is ending."""
        if self.alive:
            self.show_body()

    _filled = False

    def show_body(self) -> None:
        rows = self._board.rows()
        self.table.put(rows, filling=not self._filled)
        self._filled = self._filled or self._board.read
        self.table.show_rows()
        notice = self.query_one(Placeholder)
        if rows:
            notice.hide()
        elif self.session.engines:
            notice.show("Reading …", self.session.error_text)
        else:
            notice.show(*empty_state.why(self.session, None, filtered=False))
        self.table.repaint()
        self._preview()

    @on(Table.Highlighted)
    def _stale(self) -> None:
        self._preview()
        self.renew_place()

    @on(Table.Chosen)
    def _chosen(self) -> None:
        self.action_open()

    # cells

    def _what(self, row: Row) -> Content:
        if row.group is None:
            return self._engine(row.engine)
        mark = ("* " if row.marked else "  ", "bold $accent")
        if row.dead_letter is not None:
            _, _, key = split_id(row.dead_letter.node.id)
            error = row.dead_letter.error or row.dead_letter.node.title
            name = safe_text(key[-12:])  # ids generated in order differ at their ends
            return Content.assemble("  ", mark, name, "  ", (safe_text(error), "$faint"))
        fold = ("v " if row.open else "> ") if self.host.ascii else ("▾ " if row.open else "▸ ")
        ink = f"bold {severity_ink(row.group.severity)}"
        return Content.assemble(mark, (fold, "$faint"), (safe_text(row.group.fingerprint), ink))

    def _engine(self, label: str) -> Content:
        part = self._board.parts[label]
        if part.error_text:
            note = f"not read: {part.error_text}"
        elif part.scan_required is not None:
            note = f"not read: {part.scan_required.why}"
        elif part.dead_letters or not part.read:
            note = self._meaning(label) if part.read else "reading …"
        else:
            note = f"no dead letters; {self._meaning(label)}"
        return Content.assemble((safe_text(label), "bold $primary"), "  ", (safe_text(note), "$faint"))

    def _meaning(self, label: str) -> str:
        reader = self.session.engines.get(label)
        return reader.engine.spec.dead if reader else ""

    def _number(self, row: Row) -> Content:
        if row.dead_letter is not None:
            return Content("")
        if row.group is not None:
            return Content.styled(number(row.group), "bold")
        part = self._board.parts[row.engine]
        return Content.styled(
            f"{len(part.dead_letters)}{'' if part.whole else '+'}" if part.read else "", "bold $primary"
        )

    def _first(self, row: Row) -> Content:
        return self._age(row.dead_letter.since if row.dead_letter else row.group.first if row.group else None, row)

    def _last(self, row: Row) -> Content:
        return self._age(None if row.dead_letter else row.group.last if row.group else None, row)

    def _age(self, since: float | None, row: Row) -> Content:
        if row.group is None or (since is None and row.dead_letter is not None):
            return Content("")
        return Content(formatting.age(self.session.at - since) if since is not None else formatting.NONE)

    def _fate(self, row: Row) -> Content:
        if row.dead_letter is not None:
            return _transition(row.dead_letter.was, row.dead_letter.is_now)
        if row.group is None or not row.group.fates:
            return Content("")
        first, *rest = row.group.fates
        more = f" +{sum(each.n for each in rest)}" if rest else ""
        return Content.assemble(
            (more.strip() + " " if more else "", "bold $accent"), _transition(first.was, first.is_now)
        )

    # the lines below

    def _preview(self) -> None:
        row = self.table.current
        self.query_one(Preview).put(None if row is None else lambda width: self._lines(row, width))

    def _lines(self, row: Row, width: int) -> list[Spans]:
        if row.dead_letter is not None:
            return self._of_dead_letter(row.dead_letter, width)
        if row.group is not None:
            return _of_group(row.group, width)
        part = self._board.parts.get(row.engine)
        ddl = part.scan_required.ddl if part and part.scan_required else ""
        only = formatting.scope_note(part.scope) if part and part.scope else ""
        lines = wrapped(self._meaning(row.engine), width, "", 0) + (wrapped(only, width, "$warning", 0) if only else [])
        return lines + (wrapped(ddl, width, "bold", 0) if ddl else [])

    def _of_dead_letter(self, dead_letter: DeadLetter, width: int) -> list[Spans]:
        since = f"dead since {formatting.instant(dead_letter.since)}, " if dead_letter.since is not None else ""
        lines = wrapped(f"{dead_letter.node.title}: {since}{fate(dead_letter.was, dead_letter.is_now)}", width, "", 0)
        return lines + (wrapped(dead_letter.error, width, "$faint", 0) if dead_letter.error else [])

    # keys

    def action_open(self) -> None:
        row = self.table.current
        if row is not None and row.dead_letter is not None:
            self.app.push_screen(DetailScreen(row.dead_letter.node, self.MODE))
        elif row is not None:
            self._fold(row, open=not row.open)

    def action_unfold(self) -> None:
        row = self.table.current
        if row is not None and not row.open:
            self._fold(row, open=True)

    def action_fold(self) -> None:
        row = self.table.current
        if row is not None:
            self._fold(row, open=False)

    def _fold(self, row: Row, *, open: bool) -> None:
        self._board.fold(row, open=open)
        self.show_body()
        self.renew_place()

    def action_mark(self) -> None:
        row = self.table.current
        if row is not None:
            self._board.mark(row)
            self.table.action_move(1)
            self.show_body()
            self.renew_place()

    def action_more(self) -> None:
        row = self.table.current
        if row is not None and self._board.parts[row.engine].more:
            self._board.parts[row.engine].again(more=True)
            self.say("Loading more dead letters …", "faint")
            self.session.run_now()
        else:
            self.say("All its dead letters are loaded.", "faint")

    def action_back(self) -> None:
        self._board.marks.clear()
        self.show_body()
        self.renew_place()

    def action_reveal(self) -> None:
        node = self.cursor()
        if node is not None:
            self.host.reveal(node)


def _many(number: int, what: str, more: str) -> str:
    return f"{number}{more} {what}{'' if number == 1 and not more else 's'}"


def _transition(was: str | None, is_now: str | None) -> Content:
    """Return ``waiting → error``; a changed state is bold."""
    now = safe_text(is_now or "")
    if was is None or was == is_now:
        return Content.assemble((f"still {now}" if was is not None else now, "$faint"))
    return Content.assemble((safe_text(was), "$faint"), " → ", (now, "bold"))


def _of_group(group: Group, width: int) -> list[Spans]:
    fates = [f"{each.n} {fate(each.was, each.is_now)}" for each in group.fates[:FATES]]
    more = [f"{sum(each.n for each in group.fates[FATES:])} others"] if len(group.fates) > FATES else []
    return wrapped(group.fingerprint, width, "", 0) + wrapped("; ".join(fates + more), width, "$faint", 0)
