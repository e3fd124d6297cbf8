"""Page with the sessions that lock a node's rows, and those that wait."""

from __future__ import annotations

from collections.abc import Sequence

from console.model.history import Place
from console.text.pages import blockers as pages
from console.text.pages.lines import BLANK, heading, reading
from console.text.spans import Spans
from console.tui import keymap
from console.tui.keymap import Key
from console.tui.screens.prompt import PromptScreen
from console.tui.screens.text_page import TextPage
from queries.actions import signals
from queries.read.blockers import blockers
from queries.records.lock import Blockers, LockSession
from queries.records.node import Node


class BlockersScreen(TextPage):
    """Reads the locks at every refresh. ``mode`` is the mode from which it was opened."""

    KEYS = keymap.BLOCKERS

    def __init__(self, node: Node, mode: str) -> None:
        super().__init__(mode)
        self._node = node
        self._locks: Blockers | None = None

    def label(self) -> str | None:
        return self._node.engine

    def place(self) -> Place:
        return self.opened(f"blockers {self._node.id}", self._node)

    def crumbs(self) -> Sequence[str]:
        return [self._node.engine, f"{self._node.kind} {self._node.title}", "blockers"]

    async def load(self) -> None:
        workspace = self.session.workspace
        if workspace is not None:
            self._locks = await blockers(workspace.database, workspace.engines, [self._node.id])
            self.session.read(self._locks.at)

    def lines(self, width: int) -> Sequence[Spans]:
        if self._locks is None:
            return [heading(self._node.id), BLANK, *reading(width, self.session.error_text)]
        return pages.page(self._locks, width, self.session.command)

    # keys

    def offers(self, key: Key) -> bool:
        return super().offers(key) and (key.id == "blockers.back" or bool(self._roots()))

    def _roots(self) -> list[LockSession]:
        """Sessions at the end of the chains. A prepared transaction has none."""
        locks = self._locks
        roots = [locks.session(root_id) for root_id in locks.root_ids] if locks else []
        return [root for root in roots if root is not None and root.pid is not None]

    def action_signal(self, name: str) -> None:
        """Cancel the statement of the root, or end its session.

        Ask for the pid if there are several roots.
        """
        roots = self._roots()
        if not roots:
            self.host.refuse("No session is at the root of these locks.")
        elif len(roots) == 1:
            self._signal(name, str(roots[0].pid))
        else:
            prompt = PromptScreen(signals.ACTIONS[name].title, "Process id (pid) of the session", str(roots[0].pid))
            self.app.push_screen(prompt, lambda pid: self._signal(name, pid or ""))

    def _signal(self, name: str, pid: str) -> None:
        from console.tui.screens.action import perform

        sessions = self._locks.sessions if self._locks else ()
        session = next((s for s in sessions if str(s.pid) == pid), None)
        if session is None:
            self.say(f"There is no session with the pid {pid} on this page." if pid else "Nothing was changed.", "warn")
        elif session.backend_start is None:
            self.host.refuse("The start of the session is hidden, so it cannot be guarded. The page names the GRANT.")
        else:
            plan = signals.plan_session(name, session.id, session.name, session.backend_start)
            self.host.act(perform(self, plan))
