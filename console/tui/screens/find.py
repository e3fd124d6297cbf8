"""List of the nodes that a search in all engines has found."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from console.model.fields.field import Bundle, Context, Field
from console.model.fields.hit import HITS
from console.model.filter import Filter
from console.model.finder import ALL_NODES, Finder
from console.model.visited_places import Place
from console.text import formatting
from console.text.spans import Make, Spans
from console.text.views import search as views
from console.text.views.lines import wrapped
from console.tui import keymap
from console.tui.keymap import Key
from console.tui.screens.list_screen import ListScreen
from queries.records.node import Hit, Node


class FindScreen(ListScreen[Hit]):
    """Shows hits as the engines answer. A node that is certain is opened at the end.

    ``mode`` is the mode from which it was opened.
    """

    KEYS = (*keymap.ROWS, *keymap.FOUND)
    RECORDS = HITS
    READING = "Searching …"
    SEARCHES = False
    DEFAULT_CSS = "FindScreen #preview { min-height: 25%; }"

    def __init__(self, wanted: str | Filter, mode: str) -> None:
        self.finder = Finder(wanted)
        self._begun = False
        super().__init__()
        self._mode = mode

    # description of the screen

    def place(self) -> Place:
        return self.opened(f"find {self.finder.text}", self.finder.filter or self.finder.text)

    def crumbs(self) -> Sequence[str]:
        return [f"find: {' '.join(self.finder.text.split())}", *super().crumbs()]

    def note(self) -> str:
        number = len(self.finder.hits)
        text = f"{'at least ' * self.finder.capped}{number} found" + ("" if self.finder.ended else " so far")
        return "  ".join([*self.count(), text])

    def more(self) -> bool:
        return self.finder.capped

    def node(self, record: Hit) -> Node | None:
        return record.node

    def records(self) -> Sequence[Hit]:
        return self.finder.hits

    def context(self) -> Context:
        return replace(super().context(), codes=self.session.state.findings.codes)

    def cell(self, field: Field[Hit], row: Bundle[Hit]) -> Spans:
        """Return the text of a cell, grey and dated if it was not read again."""
        line = super().cell(field, row)
        if row.record is None or not (old := self._old(row.record.node)):
            return line
        return [(text, "$faint") for text, _ in ([(f"{old}  ", "")] * (field.name == "title") + line)]

    def _old(self, node: Node) -> str:
        state = self.session.state
        if node.engine not in self.finder.unread:
            return self.finder.gone.get(node.id, "")
        ago = state.at + (state.age or 0.0) - self.finder.answers[node.engine].at
        return f"not read for {formatting.age(max(ago, 0.0))}"

    # reading

    def rows_at(self) -> float | None:
        return min((each.at for each in self.finder.answers.values() if each.hits and each.at), default=None)

    async def load(self) -> None:
        at = await self.finder.refresh(self.session.engines) if self.finder.ended else None
        if at is not None:  # an earlier time would date what was not read
            self.session.state.read(at)

    async def _search(self) -> None:
        if not await self.succeeds(self.finder.run(self.session.engines, self._came)):
            self._begun = False  # again after the reconnection
            return
        self._came()
        node = self.finder.certain
        if node is not None and self.is_current:
            self.host.open_node(node)

    def _came(self) -> None:
        if self.alive:
            self.renew()

    def show_body(self) -> None:
        if not self._begun and self.session.engines:
            self._begun = True
            self.run_worker(self._search(), group="read")
        super().show_body()

    @property
    def loaded(self) -> bool:
        return self.finder.ended

    def nothing(self) -> tuple[str, str]:
        if self.finder.filter is None:
            part = any(a.unsearched or a.unreadable or a.partial for a in self.finder.answers.values())
            return f"Nothing was found{' in what was searched' * part}.", "f searches for another text, esc goes back."
        whole = all(answer.searched == ALL_NODES for answer in self.finder.answers.values())
        return f"No node {'' if whole else 'that was compared '}matches the filter.", "esc goes back."

    def preview(self) -> Make | None:
        finder, workspace = self.finder, self.session.workspace
        answers = list(finder.answers.values())
        if finder.filter is not None:
            notes = [note for answer in answers for note in views.limits(answer)]
        elif finder.query is None or workspace is None:
            return None
        else:
            notes = list(views.notes(finder.query, answers, workspace.declined_alike, finder.waiting, larger="m"))
        notes = [f"Not read again: {label}: {why}" for label, why in finder.unread.items()] + notes
        return lambda width: [line for text in notes for line in wrapped(text, width, "$faint", 0)]

    # keys

    def offers(self, key: Key) -> bool:
        return super().offers(key) and (key.id != "found.large" or self.finder.partial)

    def action_more(self) -> None:
        """Search again, in values of any size, within the time limit of a read."""
        if not self.finder.ended:
            self.say("The search has not ended yet.", "faint")
        elif not self.finder.partial:
            self.say("No value was too large to be searched.", "faint")
        else:
            self.finder.large, self._begun = True, False
            self.show_body()
