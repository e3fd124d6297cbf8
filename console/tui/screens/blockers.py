"""Screen with the sessions that lock rows or tables, and those that wait."""

from __future__ import annotations

from collections.abc import Sequence

from textual import on

from console.model.visited_places import Place
from console.text.spans import Spans
from console.text.views import blockers as views
from console.text.views.lines import BLANK, heading, reading
from console.tui import keymap
from console.tui.keymap import Key
from console.tui.screens.text_screen import TextScreen
from console.tui.widgets.line_view import LineView
from queries.change import signals
from queries.read.blockers import blockers
from queries.records.lock import Blockers, LockSession
from queries.records.node import Node


class BlockersScreen(TextScreen):
    """Reads the locks at every refresh; without a node, those of all engines.

    ``mode`` is the mode from which it was opened.
    """

    KEYS = keymap.BLOCKERS

    def __init__(self, node: Node | None, mode: str, chosen: str | None = None) -> None:
        super().__init__(mode)
        self._node = node
        self._locks: Blockers | None = None
        self._chosen = chosen  # id of a session, which may have ended since

    def label(self) -> str | None:
        return self._node.engine if self._node else None

    def place(self) -> Place:
        return self.opened(f"blockers {self._node.id if self._node else ''}", self._node)

    def crumbs(self) -> Sequence[str]:
        node = self._node
        return [*([node.engine, f"{node.kind} {node.title}"] if node else []), "blockers"]

    async def load(self) -> None:
        workspace = self.session.workspace
        if workspace is not None:
            self._locks = await blockers(workspace.database, workspace.engines, [self._node.id] if self._node else [])
            self.session.state.read(self._locks.at)

    def lines(self, width: int) -> Sequence[Spans]:
        if self._locks is None:
            return [heading(self._node.id if self._node else "Locks"), BLANK, *reading(width, self.session.error_text)]
        return views.blockers_lines(self._locks, width, self.session.command)

    def show_body(self) -> None:
        super().show_body()
        view = self.text_view
        if view.chosen is None and self._chosen in view.links:  # the cause of the row from which it was opened
            view.select(self._chosen)

    # keys

    def offers(self, key: Key) -> bool:
        useful = {
            "blockers.back": True,
            "text.search": True,
            "blockers.link": self._ready and bool(self.text_view.links),
        }
        return super().offers(key) and useful.get(key.id, bool(self._roots()))

    def _roots(self) -> list[LockSession]:
        locks = self._locks
        roots = [locks.session(root_id) for root_id in locks.root_ids] if locks else []
        return [root for root in roots if root is not None and root.pid is not None]

    def action_link(self, step: int) -> None:
        self._chosen = self.text_view.choose(step)
        if self._chosen is None:
            self.say("There is no session on this screen.", "faint")

    @on(LineView.Clicked)
    def _clicked(self, message: LineView.Clicked) -> None:
        for _ in self.text_view.links:
            if self._chosen != message.target:
                self.action_link(1)

    def action_signal(self, name: str) -> None:
        """Cancel the statement of the chosen session, or end the session.

        Without a choice, it is the one at the root.
        """
        from console.tui.screens.action import perform

        roots, chosen = self._roots(), self._chosen
        session = self._locks.session(chosen) if self._locks and chosen else roots[0] if len(roots) == 1 else None
        if session is None and chosen:
            self._chosen = None  # the key must not act on another session instead
            self.host.refuse("The chosen session is not on this screen any more. Nothing was changed.")
        elif session is None:
            tab = self.host.keys.shown(keymap.BY_ID["blockers.link"])
            self.host.refuse(f"{len(roots) or 'No'} sessions are at the root of these locks. {tab} chooses one.")
        elif session.backend_start is None:
            self.host.refuse("The start of the session is hidden, so it cannot be guarded. The screen names the GRANT.")
        else:
            plan = signals.plan_session(name, session.id, session.name, session.backend_start)
            self.host.act(perform(self, plan))
