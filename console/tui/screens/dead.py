"""List of the dead letters of all engines, grouped by error."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any

from textual import on

from console.model.dead_letter_board import DeadLetterBoard, EngineDeadLetters, fate
from console.model.fields.dead_letter import DEAD_LETTERS, EngineSection, GroupedDeadLetter, error_of, severity_of
from console.model.fields.field import Bundle, Context, Field, by
from console.model.fields.payload import PREFIX, payload_field
from console.model.flat_list import MAX_ROWS, ON_ENTER, WITH_FILTER
from console.model.record_list import Ends
from console.model.selection import read_documents
from console.model.value_counts import most_frequent, small_fields, values_of
from console.text import formatting
from console.text.severity import marked
from console.text.spans import Spans, wrap
from console.text.views.lines import wrapped
from console.tui import keymap
from console.tui.screens.list_screen import ListScreen
from console.tui.views import empty_state
from console.tui.widgets.list_table import ListTable
from queries.read.nodes import NODES_AT_ONCE
from queries.records.dead_letter import DeadLetter, Group
from queries.records.node import Node
from queries.text.safe_text import safe_text

NODES_COMPARED = 200  # newest of a group, whose stored texts are compared for the preview
NOT_READ = "not read"  # value of a field of a stored text that is not read yet, too long, or cannot be read
FATES_SHOWN = 3  # current states of a group shown in the preview


class DeadScreen(ListScreen[GroupedDeadLetter]):
    """Engines, groups, and dead letters of unfolded groups.

    An action on a group applies to all its dead letters.
    """

    MODE = "dead"
    RECORDS = DEAD_LETTERS
    KEYS = (*keymap.ROWS, *keymap.DEAD)

    def __init__(self) -> None:
        super().__init__()
        self._values: dict[str, dict[str, Counter[str]]] = {}  # of the small fields of stored texts, by id of a group
        self._stored: dict[tuple[str, str], str] = {}  # value of such a field, by its name and the id of a node

    @property
    def _board(self) -> DeadLetterBoard:
        return self.session.dead_letters

    # description of the screen

    def label(self) -> str | None:
        group = self.row.group if self.row else None
        return group.engine if isinstance(group, EngineSection) else super().label()

    def note(self) -> str:
        parts = self._board.parts.values()
        dead_letters, groups = sum(len(part.dead_letters) for part in parts), sum(len(part.groups) for part in parts)
        more = "+" if self.more() else ""
        if self.filter:
            return "  ".join(self.count()) + " dead letters"
        number = f"{_many(dead_letters, 'dead letter', more)} in {_many(groups, 'group', more)}"
        return "  ".join([*self.count(), *[number] * bool(dead_letters)])

    def more(self) -> bool:
        return not all(part.whole for part in self._board.parts.values())

    def node(self, record: GroupedDeadLetter) -> Node | None:
        return record.dead_letter.node

    def records(self) -> Sequence[GroupedDeadLetter]:
        return self._board.items()

    def sections(self) -> Sequence[tuple[str, EngineSection]]:
        """Return each engine: its row says also why it has no dead letters."""
        return [(label, EngineSection(engine=label)) for label in self._board.labels()]

    def ends(self) -> Ends:
        full = len(self.rows.records) >= MAX_ROWS
        note = f"{MAX_ROWS:,} are loaded, and no more" if full else WITH_FILTER if self.filter else ON_ENTER
        return {label: None if part.due else note for label, part in self._board.parts.items() if part.after}

    def acted(self) -> None:
        self._board.again()
        self._values, self._stored = {}, {}
        super().acted()

    # reading

    def rows_at(self) -> float | None:
        return min((part.oldest for part in self._board.parts.values() if part.oldest), default=None)

    async def load(self) -> None:
        near = [row.records[0].key for row in self.table.around if row.records and row.group is None]
        at = await self._board.look(self.session.engines, near, self._came)
        if at is not None:
            self.session.state.read(at)
        if field := payload_field(self.listed.grouping.title):
            records = self.listed.matching_records
            unread = [each for each in records if (field.name, each.key) not in self._stored][:NODES_AT_ONCE]
            context = Context(documents=await self._documents(unread))
            for each in unread:
                values = values_of(each.dead_letter.node, field, context) or ["without it"]
                self._stored[field.name, each.key] = ", ".join(values) if each.key in context.documents else NOT_READ
        elif self.row and self.row.group is not None and self.row.id not in self._values:
            self._values[self.row.id] = small_fields(await self._documents(self.row.records[:NODES_COMPARED]))

    async def _documents(self, items: Sequence[GroupedDeadLetter]) -> dict[str, Sequence[Any]]:
        """Return stored JSON texts by node id, without those that cannot be read."""
        documents: dict[str, Sequence[Any]] = {}
        for label, reader in self.session.engines.items():
            nodes = [each.dead_letter.node for each in items if each.group.engine == label]
            documents |= (await read_documents(reader, nodes))[0]
        return documents

    def _came(self) -> None:
        if self.alive:
            self.show_body()

    @on(ListTable.More)
    def _read_on(self, message: ListTable.More) -> None:
        for label, part in self._board.parts.items():
            full = len(self.rows.records) >= MAX_ROWS
            if part.after and not part.due and not full and message.parent_id in (label, None):
                part.go_on()
        self.renew_rows()
        self.session.run_now()

    @property
    def loaded(self) -> bool:
        return self._board.read or not self.session.engines

    def nothing(self) -> tuple[str, str]:
        if self.session.engines:  # whose rows the filter hides
            return "There are no dead letters.", "esc clears the filter"
        return empty_state.why(self.session, None)

    # cells

    def cell(self, field: Field[GroupedDeadLetter], row: Bundle[GroupedDeadLetter]) -> Spans:
        """Return a cell.

        The row of an engine has a note and the number of its dead letters.
        """
        if not isinstance(row.group, EngineSection):
            line = super().cell(field, row)
            unread = row.records and self._board.parts[row.records[0].group.engine].error_text
            return [(text, "$faint") for text, _ in line] if unread else line
        label = row.group.engine
        part = self._board.parts[label]
        if field.name == "error":
            return [(formatting.engine_label(label), "bold $primary"), ("  ", ""), (self._note(label, part), "$faint")]
        if field.name == "count" and part.read:
            number = len(row.records) if self.filter else len(part.dead_letters)
            return [(f"{number}{'' if part.whole else '+'}", "bold $primary")]
        return []

    def _note(self, label: str, part: EngineDeadLetters) -> str:
        if part.error_text:
            since = max(self.session.state.at + (self.session.state.age or 0.0) - part.oldest, 0.0)
            unread = f" for {formatting.age(since)}" if part.oldest else ""
            return f"not read{unread}: {part.error_text}"
        if part.scan_required is not None:
            return f"not read: {part.scan_required.why}"
        if part.dead_letters or not part.read:
            return self._meaning(label) if part.read else "reading …"
        return f"no dead letters; {self._meaning(label)}"

    def _meaning(self, label: str) -> str:
        reader = self.session.engines.get(label)
        return reader.engine.spec.dead if reader else ""

    # the lines below

    def lines(self, row: Bundle[GroupedDeadLetter], width: int) -> list[Spans]:
        if row.record is not None and not isinstance(row.group, EngineSection):
            return self._of_dead_letter(row.record.dead_letter, width)
        if isinstance(row.group, EngineSection):
            lines = self._of_engine(row.group.engine, width)
        elif isinstance(row.group, Group):
            lines = _of_group(row.group, severity_of(row), width)
        else:
            lines = wrapped(error_of(row), width, "", 0)
        values = "; ".join(f"{name}: {most_frequent(each)}" for name, each in self._values.get(row.id, {}).items())
        return lines + (wrapped(values, width, "", 0) if values else [])

    def _of_engine(self, label: str, width: int) -> list[Spans]:
        part = self._board.parts.get(label)
        ddl = part.scan_required.ddl if part and part.scan_required else ""
        only = formatting.scope_note(part.scope) if part and part.scope else ""
        lines = wrapped(self._meaning(label), width, "", 0) + (wrapped(only, width, "$warning", 0) if only else [])
        return lines + (wrapped(ddl, width, "bold", 0) if ddl else [])

    def _of_dead_letter(self, dead_letter: DeadLetter, width: int) -> list[Spans]:
        since = f"dead since {formatting.instant(dead_letter.since)}, " if dead_letter.since is not None else ""
        lines = wrapped(f"{dead_letter.node.title}: {since}{fate(dead_letter.was, dead_letter.is_now)}", width, "", 0)
        return lines + (wrapped(dead_letter.error, width, "$faint", 0) if dead_letter.error else [])

    # keys

    def action_group(self) -> None:
        """Group by the next grouping; the small fields of the row's stored texts are some."""
        if self.listed.is_natural and self.row:
            values = self._values.get(self.row.above or self.row.id, {})
            names = [f"{PREFIX}{name}" for name, each in values.items() if len(each) > 1]
            self.listed.offered = [by(name, partial(self._value, name)) for name in names if payload_field(name)]
        super().action_group()
        self.session.run_now()

    def _value(self, name: str, item: GroupedDeadLetter) -> str:
        return self._stored.get((name, item.key), NOT_READ)

    def action_redrive(self) -> None:
        """Revive the marked dead letters, or those of the row, in cohorts."""
        from console.tui.screens.redrive import redrive

        chosen = [item.dead_letter for item in self.rows.chosen()]
        groups = {item.group.key for item in self.rows.chosen()}
        if not chosen:
            self.host.refuse("A redrive revives dead letters. Move the cursor to a group first.")
            return
        selection = f"group {groups.pop()}" if len(groups) == 1 else f"{len(groups)} groups"
        selection += f", {self.unseen()} not in view" if self.unseen() else ""
        self.host.act(redrive(self, chosen, selection))


def _many(number: int, what: str, more: str) -> str:
    return f"{number}{more} {what}{'' if number == 1 and not more else 's'}"


def _of_group(group: Group, worst: int, width: int) -> list[Spans]:
    fates = [f"{each.n} {fate(each.was, each.is_now)}" for each in group.fates[:FATES_SHOWN]]
    more = [f"{sum(each.n for each in group.fates[FATES_SHOWN:])} others"] if len(group.fates) > FATES_SHOWN else []
    head: Spans = [*marked(worst)[:1], (f"  {safe_text(group.fingerprint)}", "")]
    return wrap(head, width) + wrapped("; ".join(fates + more), width, "$faint", 0)
