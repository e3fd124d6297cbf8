"""Screen with everything about one node."""

from __future__ import annotations

from collections.abc import Sequence

from textual import on

from console.model.fields.node import facts
from console.model.visited_places import Place
from console.text import formatting
from console.text.spans import Spans
from console.text.views import detail as views
from console.text.views.lines import BLANK, heading, reading, wrapped
from console.tui import keymap
from console.tui.keymap import Key
from console.tui.screens.text_screen import TextScreen
from console.tui.widgets.line_view import LineView
from queries.contract.server_spec import LABEL
from queries.read import details
from queries.read.details import PAYLOAD_HEAD_BYTES
from queries.records.audit import AuditLogEntry
from queries.records.detail import Detail
from queries.records.node import Node


class DetailScreen(TextScreen):
    """Reads its node at every refresh. ``mode`` is the mode from which it was opened."""

    KEYS = keymap.DETAIL

    def __init__(self, node: Node, mode: str) -> None:
        super().__init__(mode)
        self._node = node
        self._detail: Detail | None = None
        self._entries: Sequence[AuditLogEntry] = ()
        self._unread = ""
        self._bytes = PAYLOAD_HEAD_BYTES
        self._gone = False

    def label(self) -> str | None:
        return self._node.engine

    def place(self) -> Place:
        return self.opened(f"node {self._node.id}", self._node)

    def crumbs(self) -> Sequence[str]:
        return [self._node.engine, f"{self._node.kind} {self._node.title}"]

    def targets(self) -> list[Node]:
        return [] if self._gone else [self._node]

    async def load(self) -> None:
        reader = self.session.reader(self._node.id)
        workspace = self.session.workspace
        if reader is None or workspace is None:
            return
        detail = await details.read(reader, self._node.id, self._bytes)
        self._gone = detail is None
        if detail is not None:
            self._detail, self._node = detail, detail.node
            self.session.state.read(detail.at)
        self._entries, self._unread = await workspace.audit_log.newest(self._node.id, 20)

    @property
    def _absent(self) -> str:
        reader = self.session.reader(self._node.id)
        return formatting.absent("It no longer exists", reader.detected.policies if reader else ())

    def show_body(self) -> None:
        if self._gone:
            seen = "; this is its last known state" if self._detail else ""
            self.say(f"{self._absent}{seen}.", "warn")
        super().show_body()

    def lines(self, width: int) -> Sequence[Spans]:
        if self._detail is None:
            gone = wrapped(f"{self._absent}.", width) if self._gone else reading(width, self.session.error_text)
            return [heading(self._node.title), BLANK, *gone]
        reader = self.session.reader(self._node.id)
        return views.detail(
            self._detail,
            width,
            now=self.session.state.at,
            engine=reader.engine if reader else None,
            helps=self.helps(),
            facts=facts(self._node, self.session.state.at, reader.engine if reader else None),
            others=[f for f in self.session.state.findings.of(self._node.id) if f.engine == LABEL],
            problem_ids=self.session.state.findings.codes,
            entries=self._entries,
            why_unread=self._unread,
            more="m loads more",
        )

    # keys

    def offers(self, key: Key) -> bool:
        useless = {
            "detail.more": min(self._largest(), views.PAYLOAD_BYTES) <= self._bytes,
            "detail.link": not (self._ready and self.text_view.links),
            "detail.follow": not (self._ready and self.text_view.chosen),
        }
        return super().offers(key) and not useless.get(key.id)

    def _largest(self) -> int:
        sections = self._detail.sections if self._detail else ()
        return max((section.payload.size for section in sections if section.payload), default=0)

    def action_more(self) -> None:
        if self._largest() <= self._bytes:
            self.say("All stored bytes are loaded.", "faint")
            return
        if self._bytes >= views.PAYLOAD_BYTES:
            self.say(f"Only the first {formatting.size(views.PAYLOAD_BYTES)} can be shown.", "faint")
            return
        self._bytes = min(self._bytes * 8, views.PAYLOAD_BYTES)
        self.say("Loading more …", "faint")
        self.session.run_now()

    def action_reveal(self) -> None:
        self.host.reveal(self._node)

    def action_link(self, step: int) -> None:
        if self.text_view.choose(step) is None:
            self.say("There is no id on this screen to open.", "faint")
        self.renew_footer()

    def action_follow(self) -> None:
        chosen = self.text_view.chosen
        if chosen is None:
            self.say("tab chooses an id on the screen, enter opens it.", "faint")
        else:
            self._follow(chosen)

    @on(LineView.Clicked)
    def _clicked(self, message: LineView.Clicked) -> None:
        self._follow(message.target)

    def _follow(self, target: str) -> None:
        if not target.startswith(f"{LABEL}/"):
            self.host.follow(target)
            return
        self.host.action_blockers()
