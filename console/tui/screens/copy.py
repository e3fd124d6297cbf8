"""Dialog that copies a node's id, its row, its findings or the SQL of an action."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
from textual import on
from textual.app import ComposeResult

from console.model import export, hand_over
from console.model.fields.field import Context, Field
from console.model.flat_list import FlatList
from console.model.session import Session
from console.tui import clipboard, keymap, multiplexer
from console.tui.screens.dialog import Dialog
from console.tui.widgets.list_table import ListTable
from console.tui.widgets.look import Look
from queries.change.plan import statements
from queries.records.audit import AuditLogEntry
from queries.records.node import Node
from queries.records.record import Record
from queries.records.where import Where
from queries.text.safe_text import safe_json, safe_text


class CopyChoice(Record):
    """A text to copy, with its title."""

    title: str
    text: str

    @property
    def id(self) -> str:
        """Id of its row."""
        return self.title


FIELDS: tuple[Field[CopyChoice], ...] = (
    Field("what", "title", title="what", width=24),
    Field("text", lambda choice, _: choice.text[:200].replace("\n", " "), title="text", style="$faint"),
)


def choices(session: Session, nodes: Sequence[Node]) -> list[CopyChoice]:
    """Return everything that can be copied of nodes; of several, a table first."""
    table = CopyChoice(title="Markdown", text=hand_over.nodes_table(nodes, session.state.findings.of))
    if len(nodes) == 1:
        return [*_of_node(session, nodes[0]), table]
    return [
        table,
        CopyChoice(title="ids", text="\n".join(node.id for node in nodes)),
        CopyChoice(title="rows as JSON", text="\n".join(map(_json, nodes))),
    ]


def entry_choices(entries: Sequence[AuditLogEntry]) -> list[CopyChoice]:
    """Return what can be copied of entries of the audit log."""
    return [
        CopyChoice(title="Markdown", text="\n".join(export.markdown_table(export.MARKDOWN, entries))),
        CopyChoice(title="entries as JSON", text="\n".join(map(_json, entries))),
    ]


async def shift_choices(session: Session, where: Where) -> list[CopyChoice]:
    """Return the texts about the shift. Raises DatabaseError."""
    if session.workspace is None:
        return []
    now, readers = session.state.shown, session.engines.values()
    since = session.state.at - hand_over.SHIFT_SECONDS
    shift = await hand_over.read_shift(session.workspace, where, now, readers, since)
    texts = (("Markdown", True), ("text", False))
    return [
        CopyChoice(title=f"shift as {name}", text="\n".join(hand_over.shift_lines(shift, marked=marked)))
        for name, marked in texts
    ]


def _of_node(session: Session, node: Node) -> list[CopyChoice]:
    texts = [CopyChoice(title="id", text=node.id), CopyChoice(title="row as JSON", text=_json(node))]
    findings = session.state.findings.of(node.id)
    if findings:
        sentences = "\n".join(map(safe_text, map(hand_over.said, findings)))
        texts.append(CopyChoice(title="why stuck", text=sentences))
    reader = session.reader(node.id)
    if reader is not None:
        actions = [action for action in reader.engine.actions_of(node.kind) if action.writes]
        for action in reader.engine.actions_of(node.kind):
            commands = action.commands(node.id)
            texts += [CopyChoice(title=f"{action.title} ({place})", text=text) for place, text in commands.items()]
        texts += [
            CopyChoice(title=f"SQL of {action.title}", text=statements(reader.engine, action)) for action in actions
        ]
    return texts


def _json(record: Record) -> str:
    return safe_json(msgspec.json.format(msgspec.json.encode(record), indent=2).decode())


class CopyDialog(Dialog[None]):
    """Copies one of several texts, and says so in the status line."""

    KEYS = keymap.COPY
    SIZE = "small"

    def __init__(self, choices: Iterable[CopyChoice]) -> None:
        super().__init__("Copy")
        self._rows = FlatList[CopyChoice](leaf=lambda choice: True)
        self._rows.put(None, choices)

    def body(self) -> ComposeResult:
        yield ListTable(self._rows, Look(FIELDS, context=Context(ascii=self.host.ascii)), id="choices")

    def on_mount(self) -> None:
        self.query_one(ListTable).focus()

    @on(ListTable.Open)
    async def _open(self) -> None:
        await self.action_copy()

    async def action_copy(self) -> None:
        choice = self._rows.current
        if choice is None:
            return
        if await multiplexer.tmux_took(choice.text):
            self._done(f"Copied: {choice.title}.")
        elif clipboard.supported(choice.text):
            self.app.copy_to_clipboard(choice.text)
            self._done(f"Sent to the terminal: {choice.title}. If it does not arrive, f in the dialog writes a file.")
        else:
            self.action_save()

    def action_save(self) -> None:
        choice = self._rows.current
        if choice is None:
            return
        try:
            path = clipboard.save(choice.text, self.host.where.file_name)
        except OSError as error:
            self._done(f"Cannot write the file: {error.strerror}.")
        else:
            self._done(f"Written to {path}: {choice.title}.")

    def _done(self, message: str) -> None:
        self.host.say(message, "good")
        self.dismiss()
