"""What can be copied of a node: its id, its row, its findings, the SQL of an action."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content

from console.model.session import Session
from console.tui import clipboard
from console.tui.screens.dialog import Dialog, Title, text
from console.tui.widgets.table import Column, Table
from queries.actions import perform
from queries.model import Node, Record
from queries.safe_text import safe_json, safe_text


class CopyChoice(Record):
    """Something to copy."""

    title: str
    text: str


def offers(session: Session, node: Node) -> list[CopyChoice]:
    """What can be copied of a node."""
    found = [CopyChoice(title="id", text=node.id), CopyChoice(title="row as JSON", text=_json(node))]
    told = session.findings_of(node.id)
    if told:
        sentences = "\n".join(safe_text(f"{finding.title}: {finding.sentence}") for finding in told)
        found.append(CopyChoice(title="what is stuck", text=sentences))
    reader = session.reader(node.id)
    if reader is not None:
        actions = [action for action in reader.actions(node.kind) if action.writes]
        found += [
            CopyChoice(title=f"SQL of {action.title}", text=perform.statements(reader.engine, action))
            for action in actions
        ]
    return found


def _json(record: Record) -> str:
    return safe_json(msgspec.json.format(msgspec.json.encode(record), indent=2).decode())


def _beginning(offer: CopyChoice) -> Content:
    return Content.styled(safe_text(" ".join(offer.text[:400].split())), "$faint")


class CopyScreen(Dialog[str]):
    """Gives what to say of it afterwards."""

    BINDINGS = [
        Binding("enter", "copy", "copy", show=False),
        Binding("f", "save", "to a file", show=False),
    ]

    def __init__(self, offers: Iterable[CopyChoice], title: str = "Copy") -> None:
        super().__init__()
        self._offers = list(offers)
        self._title = title

    @property
    def table(self) -> Table[CopyChoice]:
        return self.query_one("#offers", Table)

    def compose(self) -> ComposeResult:
        columns: list[Column[CopyChoice]] = [
            Column("what", 24, lambda offer: Content(safe_text(offer.title))),
            Column("begins", 0, lambda offer: Content.styled(safe_text(offer.text[:200].replace("\n", " ")), "$faint")),
        ]
        with Vertical(id="box", classes="small"):
            yield Title(self._title, self.host.context)
            yield Table[CopyChoice](columns, lambda offer: offer.title, id="offers", ascii=self.host.ascii)
            yield text("enter copies · f writes it to a file · esc leaves", classes="keys")

    def on_mount(self) -> None:
        self.table.put(self._offers)
        self.table.focus()

    @on(Table.Chosen)
    def _chosen(self) -> None:
        self.action_copy()

    def action_copy(self) -> None:
        offer = self.table.current
        if offer is None:
            return
        if clipboard.hears(offer.text):
            self.app.copy_to_clipboard(offer.text)
            self.dismiss(f"Copied: {offer.title}.")
        else:
            self.action_save()

    def action_save(self) -> None:
        offer = self.table.current
        if offer is None:
            return
        try:
            path = clipboard.save(offer.text)
        except OSError as error:
            self.dismiss(f"It could not be written to a file: {error.strerror}.")
        else:
            self.dismiss(f"Written to {path}: {offer.title}.")
