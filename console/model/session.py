"""The loop that keeps the cached database state fresh. UI-free."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from enum import StrEnum
from time import monotonic

from console.model.database_state import DatabaseState
from console.model.dead_letter_board import DeadLetterBoard
from console.model.pins import Pins
from console.model.timer import EVERYTHING, THE_LIST, Timer
from console.model.works import Works
from queries.change.run import messages as run_messages
from queries.contract.server_spec import LABEL
from queries.db.connecting import Backoff
from queries.db.errors import NO_CONNECTION, DatabaseError, attempted
from queries.read.reader import Reader
from queries.records.finding import Incident
from queries.records.snapshot import Part
from queries.snapshot import counted, grouped, snapshot, take_samples, with_samples
from queries.text import shell
from queries.workspace import Workspace

PAUSED_WAIT_SECONDS = 3600.0  # at a time; a key ends the wait


class ConnectionState(StrEnum):
    """State of the connection to the server."""

    CONNECTING = "connecting"
    LIVE = "live"
    LOST = "lost"


class Session:
    """One watched database: a loop that calls ``changed`` when there is new data.

    An error of the database never ends it: the last data stays. ``now`` is a monotonic clock in seconds.
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
        self.read_list: Callable[[], Awaitable[None]] = lambda: asyncio.sleep(0)  # reads what the screen in front shows
        self.list_error = ""  # of its last read
        self.retry_at = 0.0
        self.begun = asyncio.Event()  # set once there are rows, or a reason why there are none
        self.timer = Timer(interval, now)
        self.state = DatabaseState(self.timer, now)
        self.pins = Pins()
        self.works = Works(lambda: self.changed())
        self.dead_letters = DeadLetterBoard()
        self._said = self.link, ""  # as last announced
        self._seen: set[str] | None = None  # keys of the incidents that are not new; None before the first read
        self._open, self._now = open_, now
        self._wake = asyncio.Event()
        self._backoff = Backoff()
        self._loop: asyncio.Task[None] | None = None

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

    def reader(self, node_id: str) -> Reader | None:
        """Return the reader of a node's engine; None if the engine is not in the database."""
        return self.engines.get(node_id.partition("/")[0])

    def refresh(self) -> None:
        """Read everything now, even while paused."""
        self.timer.asked, self.retry_at = EVERYTHING, 0.0
        if self.workspace is not None:
            self.workspace.database.log_in_now()
        self._wake.set()

    def run_now(self) -> None:
        """Read the list in view now, even while paused: the screen shows another."""
        self.timer.asked = max(self.timer.asked, THE_LIST)
        self._wake.set()

    def pause(self) -> bool:
        """Pause or resume reading. Return True if it is paused now."""
        self.paused = not self.paused
        self._wake.set()
        return self.paused

    def pick_interval(self, step: int) -> float:
        """Choose the next longer (1) or shorter (-1) interval. Return it in seconds."""
        self._wake.set()
        return self.timer.pick_interval(step)

    def begin(self) -> asyncio.Task[None]:
        """Begin to connect and read. Return the task, which runs until cancelled."""
        self._loop = self._loop or asyncio.ensure_future(self._run())
        return self._loop

    async def _run(self) -> None:
        while True:
            try:
                await self._pass()
            except DatabaseError as error:
                self.failed(error)
            self.begun.set()
            self.changed()
            while (seconds := self.next_pass) > 0:
                self._wake.clear()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(seconds):  # before Python 3.12, wait_for may swallow a cancellation
                        await self._wake.wait()

    @property
    def next_pass(self) -> float:
        """Seconds until the loop reads or connects again."""
        if self.link is not ConnectionState.LIVE:
            return self.retry_at - self._now()
        if self.paused and not self.timer.asked:
            return PAUSED_WAIT_SECONDS
        return self.timer.wait()

    async def _pass(self) -> None:
        """Read the list in view with its counts, and the findings if they are due."""
        workspace = await self.connect()
        if self.paused and not self.timer.asked:
            return
        everything = self.timer.asked == EVERYTHING or not self.paused
        findings = everything and self.timer.findings_due
        first = findings and self.findings_first and not self.begun.is_set()
        self.timer.begin(findings=findings)
        if first:
            await self._paid(workspace, self._read_findings(workspace), self.timer.end_findings)
        read = self._read_list(workspace, samples=everything and self.begun.is_set())
        await self._paid(workspace, read, self.timer.end)
        self.error_text = self.list_error or self.state.error_text
        news = await self._news(workspace)  # the read may have connected again, perhaps to another server
        self.notice = "  ".join(news) or self.notice
        if findings and not first:
            self.begun.set()
            self.changed()
            await self._paid(workspace, self._read_findings(workspace), self.timer.end_findings)
            self.error_text = self.list_error or self.state.error_text

    async def connect(self) -> Workspace:
        """Connect unless there is a connection. Raises DatabaseError."""
        if self.workspace is None:
            self.workspace = await self._open()
        elif self.link is ConnectionState.LIVE:
            return self.workspace
        else:
            await self.workspace.detect()  # another server may answer now: a standby, or one with other privileges
        self.link, self.error_text = ConnectionState.LIVE, ""
        await attempted(self.workspace.other_hosts.check())
        notices = [*filter(None, [self.workspace.other_hosts.warning]), *await self._news(self.workspace)]
        notices += await run_messages(self.workspace)
        self.notice = self.notice or "  ".join(notices)
        self._backoff.reset()
        self.timer.asked = self.timer.asked if self.paused else EVERYTHING
        self.changed()
        return self.workspace

    async def _news(self, workspace: Workspace) -> list[str]:
        news = await workspace.audit_log.news()
        self.works.lose(workspace.audit_log.lost if news else ())
        return news

    def failed(self, error: DatabaseError) -> None:
        """Record a failed read. Without a connection, let the loop connect later."""
        self.error_text = str(error)
        if self.link is not ConnectionState.LIVE or isinstance(error, NO_CONNECTION):
            self.link = ConnectionState.LOST if self.workspace else ConnectionState.CONNECTING
            rests = self.workspace.database.rests if self.workspace else 0.0
            self.retry_at = self._now() + (rests or self._backoff.next(error))
            self._wake.set()

    async def _paid(self, workspace: Workspace, read: Awaitable[None], pay: Callable[[float], None]) -> None:
        before = workspace.database.load.cost
        try:
            await read
        finally:
            pay(workspace.database.load.cost - before)

    async def _read_list(self, workspace: Workspace, *, samples: bool) -> None:
        state, readers, together = self.state, list(workspace.engines.values()), workspace.database.together
        kept = [state.parts.get(reader.label, Part(label=reader.label)) for reader in readers]
        sampled = take_samples(workspace, readers if samples else ())
        reads = (attempted(self.read_list()), sampled, *map(counted, readers, kept))
        workspace.database.facts_due = True
        front, failed, *counts = await together(*reads)
        self.list_error = str(front or "")
        state.parts |= {part.label: part for part in counts}
        if state.age is not None and not self.list_error and not any(part.uncounted for part in counts):
            state.read(state.at + state.age)  # a screen that reads nothing itself is as fresh as the counts
        state.unsampled = failed if samples else state.unsampled
        if samples and state.findings_loaded:
            state.parts |= {each.label: with_samples(each, state.parts[each.label]) for each in readers}
            parts = [part for label, part in state.parts.items() if label in (*workspace.engines, LABEL)]
            same = [part.findings for part in parts] == [part.findings for part in state.shown.parts]
            state.show(state.shown if same else grouped(workspace, parts, state.at))

    async def _read_findings(self, workspace: Workspace) -> None:
        state = self.state
        state.undetected = str(await attempted(workspace.detect_again()) or "")
        now = await snapshot(workspace, [*workspace.engines.values()], once=False, kept={**state.parts})
        state.parts = {part.label: part for part in now.parts}
        if times := [part.findings.at for part in now.parts if part.label != LABEL and not part.error]:
            state.read(max(times))
        for label in workspace.engines if not state.parts[LABEL].error else ():
            workspace.server_findings.counters.note(label, state.counts(label) or ())
        state.findings_loaded, state.findings_at = True, self._now()
        state.show(now)

    def message(self, *, noticed: bool) -> tuple[str, str]:
        """Return what is new, or "", and its tone. ``noticed``: a notice can be shown."""
        before, self._said = self._said, (self.link, self.error_text)
        if self.notice and noticed:
            notice, self.notice = self.notice, ""
            return notice, "warn"
        if (before[0], self.link) == (ConnectionState.LOST, ConnectionState.LIVE):
            return "Connected again.", "good"
        return (self.error_text, "bad") if self._said != before else ("", "")

    def new_incidents(self) -> list[Incident]:
        """Return the incidents that were not there in the last 15 minutes."""
        state, seen = self.state, self._seen
        if not state.findings_loaded:
            return []
        self._seen = {each.key for each in state.shown.incidents} | set(state.incident_history.resolved)
        return [] if seen is None else [each for each in state.shown.incidents if each.key not in seen]

    async def close(self) -> None:
        """Stop runs between two parts, wait for them, and close the connections."""
        if self._loop is not None:
            self._loop.cancel()
            await asyncio.wait([self._loop])
        await self.works.close()
        if self.workspace is not None:
            await self.workspace.close()
