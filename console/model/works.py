"""The changes that this console carries out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from queries.change.run import Run
from queries.db.errors import LostError
from queries.records.action import Change
from queries.records.audit import AuditLogEntry
from queries.workspace import Workspace

if TYPE_CHECKING:
    from console.model.run_work import RunWork

CLOSE_SECONDS = 40.0  # that `close` waits for a running commit; settling a lost COMMIT takes up to 30


class Works:
    """Changes since the start, oldest first. Each step calls ``changed``."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self.all: list[RunWork] = []
        self._changed = changed

    @property
    def under_way(self) -> bool:
        """True if any has not ended."""
        return any(not work.ended for work in self.all)

    def start(self, workspace: Workspace | None, dry_run: Change | None = None, *, run: Run | None = None) -> RunWork:
        """Commit a dry run or do a redrive in a task of its own. Raises LostError."""
        from console.model.run_work import RunWork

        if workspace is None:
            raise LostError("There is no connection.", "Nothing was changed.")
        self.all.append(RunWork(workspace, self._changed, dry_run=dry_run, run=run))
        return self.all[-1]

    def unseen(self) -> list[str]:
        """Return a line for each run whose result was not on the screen."""
        return [f"{work.action}: {work.summary}. {work.rest}".removesuffix(". ") for work in self.all if not work.seen]

    def lose(self, entries: Iterable[AuditLogEntry]) -> None:
        """Take the results of entries that a failover has lost."""
        for entry in entries:
            for work in self.all:
                work.outcomes.lose(entry)

    async def close(self) -> None:
        """Stop runs between two parts, and wait for them."""
        for work in self.all:
            work.leave()
        if self.all:
            await asyncio.wait([work.task for work in self.all], timeout=CLOSE_SECONDS)
