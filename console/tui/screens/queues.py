"""List of the queues of all engines: depth, workers, rates."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from msgspec.structs import replace

from console.model.fields.field import Bundle, Context
from console.model.fields.queue import QUEUES, Queue, queues_of
from console.model.filter import parse
from console.model.finder import Finder
from console.model.visited_places import Place
from console.text import formatting
from console.text.spans import Spans
from console.text.views.lines import wrapped
from console.tui import keymap
from console.tui.screens.list_screen import ListScreen
from console.tui.views import empty_state
from queries.db.errors import DatabaseError, attempted
from queries.records.node import Node

NODES = "kind:=queue,=entrypoint"  # filter of the nodes of queues, which actions pause


class QueuesScreen(ListScreen[Queue]):
    """Shows what was not read, then the queues that wait longest.

    ``mode``: from which it was opened.
    """

    KEYS = (*keymap.ROWS, *keymap.NODE)
    RECORDS = QUEUES
    SEARCHES = False
    DEFAULT_CSS = "QueuesScreen.-broad #split #preview { width: 28%; }"

    def __init__(self, mode: str) -> None:
        super().__init__(mode)
        self.finder = Finder(parse(NODES))
        self._queues: list[Queue] | None = None
        self._without: list[str] = []  # engines without queues

    def place(self) -> Place:
        return self.opened("queues")

    def crumbs(self) -> Sequence[str]:
        return ["queues", *super().crumbs()]

    def note(self) -> str:
        without = f"none of {', '.join(self._without)}" if self._without else ""
        return ", ".join(filter(None, [*(self.count() or [f"{len(self.records())} queues"] * self.loaded), without]))

    def label(self) -> str | None:
        return self.row.records[0].engine if self.row else None

    def node(self, record: Queue) -> Node | None:
        return record.node

    def context(self) -> Context:
        return replace(super().context(), codes=self.session.state.findings.codes)

    @property
    def loaded(self) -> bool:
        return self._queues is not None

    def records(self) -> Sequence[Queue]:
        return self._queues or ()

    def nothing(self) -> tuple[str, str]:
        return ("No queue has work.", "esc goes back.") if self.session.engines else empty_state.why(self.session, None)

    async def load(self) -> None:
        readers, workspace = {**self.session.engines}, self.session.workspace
        if workspace is None:
            return
        await (self.finder.refresh(readers) if self.finder.ended else self.finder.run(readers, lambda: None))
        claims = [each for each in readers.values() if each.claims.kinds]
        funnels = await workspace.database.together(*(attempted(each.claims.funnels()) for each in claims))
        answers = {each.label: answer for each, answer in zip(claims, funnels, strict=True)}
        queues: list[Queue] = []
        for label, reader in readers.items():
            answer, hits = answers.get(label, ()), self.finder.answers.get(label)
            if isinstance(answer, DatabaseError):
                queues.append(Queue(engine=label, of="", name="all", unread=answer.line))
            else:
                queues += queues_of(reader, answer, hits.nodes if hits else ())
        self._queues = sorted(queues, key=lambda each: (not each.unread, each.since or inf, each.engine, each.name))
        self._without = [label for label in readers if label not in {each.engine for each in queues}]
        self.session.state.read(await workspace.now())

    def lines(self, row: Bundle[Queue], width: int) -> list[Spans]:
        """Return how many nodes meet each condition of a worker, and who serves them."""
        queue = row.records[0]
        said = [f"not read: {queue.unread}"] * bool(queue.unread)
        if queue.passed:
            numbers = ", ".join(f"{number:,} {name.replace('_', ' ')}" for number, name in queue.passed)
            said.append(f"{'at least ' * queue.more}{queue.unfinished:,} unfinished {queue.of}s: {numbers}")
        rates = zip(queue.minute, ("come", "end", "fail"), strict=True)
        if measured := [f"{formatting.rate(rate)} {word}" for rate, word in rates if rate is not None]:
            said.append(f"in the last minute: {', '.join(measured)}")
        said += [f"workers: {queue.worker.shows}"] if queue.worker else []
        return [line for text in said or ["What waits in it is not recorded."] for line in wrapped(text, width, "", 0)]

    def open(self, record: Queue) -> None:
        if record.node is None:
            self.say("The engine records no more about this queue.", "faint")
        else:
            super().open(record)
