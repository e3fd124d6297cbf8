"""Polling loop that refreshes the cached database state. UI-free.

The loop calls ``changed`` when there is new data. Database errors never end the loop: it stores them as
``error_text``, and the last data stays.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable, Mapping
from enum import StrEnum
from time import monotonic
from typing import TYPE_CHECKING

from console.model.database_state import DatabaseState
from console.model.polls import Polls
from console.model.refresh_clock import RefreshClocks
from console.model.works import Works
from queries.change.run import messages as run_messages
from queries.db.backoff import Backoff
from queries.db.errors import NO_CONNECTION, DatabaseError, attempted
from queries.read.reader import Reader
from queries.records.finding import Incident
from queries.text import shell
from queries.workspace import Workspace

if TYPE_CHECKING:
    from console.config import Context

START_SECONDS = 20.0  # after which the start is no longer most of the load
PAUSED_WAIT_SECONDS = 3600.0  # at a time; a key ends the wait


class ConnectionState(StrEnum):
    """State of the connection to the server."""

    CONNECTING = "connecting"
    LIVE = "live"
    LOST = "lost"


def in_front(engines: Mapping[str, Reader], context: Context | None, incidents: Iterable[Incident] = ()) -> str | None:
    """Return the label of the engine shown first.

    That is the context's, else that of the worst of these incidents, else the first one.
    """
    name = context.engine if context else ""
    forms = {label: (label, reader.detected.full, reader.engine.name) for label, reader in engines.items()}
    worst = (incident.engine for incident in incidents if incident.engine in engines)
    chosen = (label for label in engines if name in forms[label])
    return next(chosen, next(worst, next(iter(engines), None)))


class Session:
    """One watched database.

    ``open_`` opens the workspace; ``now`` is a monotonic clock in seconds.
    """

    def __init__(
        self, open_: Callable[[], Awaitable[Workspace]], interval: float = 2.0, now: Callable[[], float] = monotonic
    ) -> None:
        self.link = ConnectionState.CONNECTING
        self.error_text = ""  # why there is no connection, or the last read error
        self.workspace: Workspace | None = None
        self.findings_first = False  # True if the first screen shows findings
        self.notice = ""  # message shown to the operator once
        self.paused = False
        self.changed: Callable[[], None] = lambda: None
        self.retry_at = 0.0
        self.begun = asyncio.Event()  # set once there are rows, or a reason why there are none
        self._open = open_
        self._now = now
        self.clocks = RefreshClocks(interval, now)
        self.state = DatabaseState(self.clocks, now)
        self.polls = Polls(self.clocks, self.state, self._show_early)
        self.works = Works(lambda: self.changed())
        self._wake = asyncio.Event()
        self._forced = False  # poll everything although paused
        self._once = False  # poll the screen although paused
        self._backoff = Backoff()
        self._loop: asyncio.Task[None] | None = None
        self._since = 0.0

    # the database

    def command(self, *words: str) -> str:
        """Return the shell command of unstick with these words."""
        return shell.unstick(words, self.workspace.database.words if self.workspace else ())

    @property
    def engines(self) -> Mapping[str, Reader]:
        """The detected engines by label."""
        return self.workspace.engines if self.workspace else {}

    @property
    def retry_in(self) -> float:
        """Seconds until the next attempt to connect."""
        return max(0.0, self.retry_at - self._now())

    @property
    def share(self) -> float | None:
        """Estimated share of the time that the server worked for this console, 0..1.

        None shortly after the start.
        """
        if self.workspace is None or self._now() - self._since < START_SECONDS:
            return None
        return self.workspace.database.load.share()

    def reader(self, node_id: str) -> Reader | None:
        """Return the reader of a node's engine; None if the engine is not in the database."""
        return self.engines.get(node_id.partition("/")[0])

    # choices of the operator

    def refresh(self) -> None:
        """Poll everything now, even while paused."""
        self.clocks.run_now()
        self._forced, self.retry_at = True, 0.0
        if self.workspace is not None:
            self.workspace.database.log_in_now()
        self._wake.set()

    def run_now(self) -> None:
        """Poll the data on the screen now, because the screen shows something else.

        While paused, the data is read this once.
        """
        self.clocks.screen.run_now()
        self._once = True
        self._wake.set()

    def pause(self) -> bool:
        """Pause or resume polling. Return True if it is paused now."""
        self.paused = not self.paused
        self._wake.set()
        return self.paused

    def pick_interval(self, step: int) -> float:
        """Choose the next longer (1) or shorter (-1) interval. Return it in seconds."""
        chosen = self.clocks.pick_interval(step)
        self.polls.pace_samples(self.engines.values())
        self._wake.set()
        return chosen

    # reading

    def begin(self) -> asyncio.Task[None]:
        """Begin to connect and poll, unless it has begun.

        Return the task, which runs until cancelled.
        """
        if self._loop is None:
            self._loop = asyncio.ensure_future(self._run())
        return self._loop

    async def _run(self) -> None:
        while True:
            changed = True
            try:
                changed = await self._poll()
            except DatabaseError as error:
                self.failed(error)
            self.begun.set()
            if changed:
                self.changed()
            await self._wait()

    async def _poll(self) -> bool:
        """Read what is due. Return False if nothing that was read has changed."""
        before = self.state.shown, self.link, self.error_text
        read = self.link is not ConnectionState.LIVE
        workspace = await self.connect()
        forced, self._forced = self._forced, False
        once, self._once = self._once, False
        if self.paused and not (forced or once):
            return True
        error_text, due, begun, at = "", self.clocks.due, self.begun.is_set(), self._now()
        if begun and not self.paused and self.clocks.samples in due:  # the screen shows them
            due.remove(self.clocks.samples)
            error_text = await self.polls.run(self.clocks.samples, workspace, at)
        if self.findings_first and not begun:
            due.discard(self.clocks.findings)
            error_text = await self.polls.run(self.clocks.findings, workspace, at)
        if self.clocks.screen in due or self.clocks.screen.wait() <= 0:  # a key may have asked for it meanwhile
            error_text = await self.polls.run(self.clocks.screen, workspace, at) or error_text
            news = await workspace.audit_log.news()  # the poll may have connected again, perhaps to another server
            self.notice = "  ".join(news) or self.notice
            self.works.lose(workspace.audit_log.lost if news else ())
            read = True
            if not error_text:
                self.begun.set()  # samples and findings that the screen does not show come after its first rows
        if self.paused and not forced:
            self.error_text = error_text
            return True
        if self.clocks.findings in due:
            if read:
                self.changed()
            read = True
            error_text = await self.polls.run(self.clocks.findings, workspace, at) or error_text
        if self.clocks.samples in due:
            error_text = await self.polls.run(self.clocks.samples, workspace, at) or error_text
        self.error_text = error_text
        return read or before != (self.state.shown, self.link, self.error_text)

    def _show_early(self) -> None:
        self.begun.set()
        self.changed()

    async def connect(self) -> Workspace:
        """Connect unless there is a connection. Raises DatabaseError."""
        if self.workspace is None:
            self.workspace = await self._open()
            self._since = self._now()
        elif self.link is ConnectionState.LIVE:
            return self.workspace
        else:
            await self.workspace.detect()  # another server may answer now: a standby, or one with other privileges
        self.link, self.error_text = ConnectionState.LIVE, ""
        await attempted(self.workspace.other_hosts.check())
        notices = [*filter(None, [self.workspace.other_hosts.warning]), *await self.workspace.audit_log.news()]
        notices += await run_messages(self.workspace)
        self.notice = self.notice or "  ".join(notices)
        self._backoff.reset()
        self.clocks.run_now()
        self.changed()
        return self.workspace

    def failed(self, error: DatabaseError) -> None:
        """Record a failed read.

        If the connection is lost or not made, make the loop connect again later.
        """
        self.error_text = str(error)
        if self.link is not ConnectionState.LIVE or isinstance(error, NO_CONNECTION):
            self.link = ConnectionState.LOST if self.workspace else ConnectionState.CONNECTING
            rests = self.workspace.database.rests if self.workspace else 0.0
            self.retry_at = self._now() + (rests or self._backoff.next(error))
            self._wake.set()

    async def _wait(self) -> None:
        """Wait until the next poll or connection attempt is due.

        A wake-up may bring it forward.
        """
        while (seconds := self.next_poll) > 0:
            self._wake.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):  # before Python 3.12, wait_for may swallow a cancellation
                    await self._wake.wait()

    @property
    def next_poll(self) -> float:
        """Seconds until the loop polls or connects again."""
        if self.link is not ConnectionState.LIVE:
            return self.retry_at - self._now()
        if self.paused and not (self._forced or self._once):
            return PAUSED_WAIT_SECONDS
        return min(self.clocks.waits)

    async def close(self) -> None:
        """Stop runs between two parts, wait for them, and close the connections."""
        if self._loop is not None:
            self._loop.cancel()
            await asyncio.wait([self._loop])
        await self.works.close()
        if self.workspace is not None:
            await self.workspace.close()
