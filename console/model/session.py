"""Cached database state and the polling loop that refreshes it. UI-free.

The loop calls ``read_screen`` to read the data on the screen, and ``changed`` when there is new data. Database errors
never end the loop: it stores them as ``error_text``, and the last data stays.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from enum import StrEnum
from time import monotonic
from typing import TYPE_CHECKING

from console.model import flow, incident_list
from console.model.finding_index import FindingIndex
from console.model.refresh_clock import RefreshClock, RefreshClocks
from queries.actions.plan import count_nodes
from queries.contract.server_spec import LABEL
from queries.db.backoff import Backoff
from queries.db.errors import NO_CONNECTION, DatabaseError, LostError, attempting
from queries.read.reader import Reader
from queries.records.action import DryRun
from queries.records.finding import Incident
from queries.records.node import Count
from queries.records.snapshot import Part, Snapshot
from queries.runs import unfinished
from queries.runs.run import Run
from queries.snapshot import grouped, snapshot, with_samples
from queries.text import shell
from queries.workspace import Workspace

if TYPE_CHECKING:
    from console.config import Context
    from console.model.run_work import RunWork

SETTLE = 40.0  # seconds that `close` waits for a running commit; settling a lost COMMIT takes up to 30
COMPLETE = 0.4  # seconds in which the first list should be complete; then what is there is shown
SETTLED = 20.0  # seconds after which the start is no longer most of the load
LONG = 3600.0


class ConnectionState(StrEnum):
    """State of the connection to the server."""

    CONNECTING = "connecting"
    LIVE = "live"
    LOST = "lost"


Opener = Callable[[], Awaitable[Workspace]]


def in_front(engines: Mapping[str, Reader], context: Context | None, incidents: Iterable[Incident] = ()) -> str | None:
    """Return the label of the engine shown first.

    That is the context's, else that of the worst of these incidents, else the first one.
    """
    name = context.engine if context else ""
    forms = {label: (label, reader.detected.full, reader.engine.name) for label, reader in engines.items()}
    worst = (incident.engine for incident in incidents if incident.engine in engines)
    chosen = (label for label in engines if name in forms[label])
    return next(chosen, next(worst, next(iter(engines), None)))


def _named(parts: Iterable[Part]) -> list[tuple[str, str, str]]:
    """Return which findings there are."""
    return [(part.label, finding.node_id, finding.code) for part in parts for finding in part.findings.findings]


class ErrorCollector:
    """Collect read errors so that one failed read does not stop the rest.

    Connection errors are re-raised.
    """

    def __init__(self) -> None:
        self.error_text = ""  # the first error
        self.failed: set[str] = set()  # labels of the engines with a failed read

    def each(self, label: str = "") -> AbstractContextManager[None]:
        """Wrap one read. ``label`` names its engine, if it belongs to one."""
        return attempting(lambda error: self.add(label, str(error)))

    def add(self, label: str, error: str) -> None:
        """Add the error of one read; "" is none."""
        if error:
            self.error_text = self.error_text or (f"{label}: {error}" if label else error)
            self.failed |= {label} - {""}


class Session:
    """One watched database.

    ``open_`` opens the workspace; ``now`` is a monotonic clock in seconds.
    """

    def __init__(self, open_: Opener, interval: float = 2.0, now: Callable[[], float] = monotonic) -> None:
        self.link = ConnectionState.CONNECTING
        self.error_text = ""  # why there is no connection, or the last read error
        self.workspace: Workspace | None = None
        self.counts: dict[str, tuple[Count, ...]] = {}
        self.findings_loaded = False  # True once findings were read
        self.findings_first = False  # True if the first screen shows findings
        self.pending: tuple[str, ...] = ()  # what the first read of findings is still missing
        self.notice = ""  # message shown to the operator once
        self.screen_trouble = ""  # error of the last read of the front screen
        self.paused = False
        self.read_screen: Callable[[], Awaitable[None]] | None = None
        self.changed: Callable[[], None] = lambda: None
        self.retry_at = 0.0
        self.begun = asyncio.Event()  # set once there are rows, or a reason why there are none
        self._open = open_
        self._now = now
        self.clocks = RefreshClocks(interval, now)
        self._wake = asyncio.Event()
        self._parts: dict[str, Part] = {}  # as last read, by label
        self.shown = Snapshot(at=0.0, parts=(), incidents=())  # another one if anything in it has changed
        self.findings = FindingIndex()  # those shown; another one if a finding has changed
        self.incident_history = incident_list.IncidentHistory()
        self.load = incident_list.Load()
        self._flow = flow.Flow()
        self._unread: dict[RefreshClock, set[str]] = {}
        self._server_time: float | None = None
        self._read_at = 0.0
        self._findings_at = 0.0
        self._forced = False  # poll everything although paused
        self._once = False  # poll the screen although paused
        self._backoff = Backoff()
        self._loop: asyncio.Task[None] | None = None
        self._since = 0.0
        self.works: list[RunWork] = []

    # cached state

    def command(self, *words: str) -> str:
        """Return the shell command of unstick with these words."""
        return shell.unstick(words, self.workspace.database.words if self.workspace else ())

    @property
    def engines(self) -> Mapping[str, Reader]:
        """The detected engines by label."""
        return self.workspace.engines if self.workspace else {}

    @property
    def age(self) -> float | None:
        """Seconds since the last successful poll; None before the first."""
        return None if self._server_time is None else self._now() - self._read_at

    @property
    def findings_age(self) -> float | None:
        """Seconds since findings were read if they are late, else None.

        They are late after two of their intervals.
        """
        age = self._now() - self._findings_at
        return age if self.findings_loaded and age > 2 * self.clocks.findings.interval else None

    @property
    def at(self) -> float:
        """Server time of the last poll; 0 before the first."""
        return self._server_time or 0.0

    @property
    def retry_in(self) -> float:
        """Seconds until the next attempt to connect."""
        return max(0.0, self.retry_at - self._now())

    @property
    def share(self) -> float | None:
        """Estimated share of the time that the server worked for this console, 0..1.

        None shortly after the start.
        """
        if self.workspace is None or self._now() - self._since < SETTLED:
            return None
        return self.workspace.database.load.share()

    @property
    def stale_engines(self) -> set[str]:
        """Labels of the engines of which the last poll did not read everything."""
        return set().union(*self._unread.values())

    @property
    def more(self) -> set[str]:
        """Labels of the engines that may have more findings than were read."""
        return self.stale_engines | self.shown.more

    @property
    def incidents(self) -> tuple[Incident, ...]:
        """The incidents of all engines and of the server, worst first."""
        return self.shown.incidents

    def rates(self, label: str) -> flow.Rates | None:
        """Return the work per minute of an engine; None if not known yet."""
        reader = self.engines.get(label)
        return self._flow.rates(label, reader.engine.spec.flow) if reader else None

    def _show(self, now: Snapshot) -> None:
        """Replace the findings and the incidents in one step, and note how each develops.

        Indexed here, because the cursor moves more often than findings change.
        """
        before, self.shown = self.shown.findings, now
        if now.findings != before:
            self.findings = FindingIndex(now.parts)
        self._watch()

    def _watch(self) -> None:
        """Note how the incidents develop."""
        if not self.pending:  # a part of them shows no trend
            self.incident_history.add(self.at, self.incidents)
            self.load.add(self.at, {label: len(self.findings.severities.get(label, ())) for label in self.engines})

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
        self._pace_samples()
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
        before = self.shown, self.link, self.error_text
        read = self.link is not ConnectionState.LIVE
        if self.link is not ConnectionState.LIVE:
            await self._connect()
        forced, self._forced = self._forced, False
        once, self._once = self._once, False
        if self.paused and not (forced or once):
            return True
        error_text, due, begun = "", self.clocks.due, self.begun.is_set()
        if begun and not self.paused and self.clocks.samples in due:  # the screen shows them
            due.remove(self.clocks.samples)
            error_text = await self._poll_step(self._poll_samples, self.clocks.samples)
        if self.findings_first and not begun:
            due.discard(self.clocks.findings)
            error_text = await self._poll_step(self._poll_findings, self.clocks.findings)
        if self.clocks.screen in due:
            error_text = await self._poll_step(self._poll_screen, self.clocks.screen) or error_text
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
            error_text = await self._poll_step(self._poll_findings, self.clocks.findings) or error_text
        if self.clocks.samples in due:
            error_text = await self._poll_step(self._poll_samples, self.clocks.samples) or error_text
        self.error_text = error_text
        return read or before != (self.shown, self.link, self.error_text)

    async def _poll_step(self, step: Callable[[ErrorCollector], Awaitable[None]], clock: RefreshClock) -> str:
        """Run one polling step. Return its error message, or "" if it succeeded."""
        before, errors = self._cost, ErrorCollector()
        clock.begin()
        try:
            await step(errors)
        finally:
            clock.end(self._cost - before)
        self._unread[clock] = errors.failed
        return errors.error_text

    @property
    def _cost(self) -> float:
        """Seconds so far of the server's work and of own CPU time."""
        return self.workspace.database.load.cost if self.workspace else 0.0

    async def _connect(self) -> None:
        if self.workspace is None:
            self.workspace = await self._open()
            self._since = self._now()
        else:
            await self.workspace.detect()  # another server may answer now: a standby, or one with other privileges
        self.link, self.error_text = ConnectionState.LIVE, ""
        self.notice = self.notice or "  ".join(await unfinished.messages(self.workspace))
        self._backoff.reset()
        self.clocks.run_now()
        self.changed()

    async def _poll_screen(self, errors: ErrorCollector) -> None:
        if self.workspace is not None:
            database = self.workspace.database
            counts = (self._count(label, errors) for label in self.engines)
            await database.together(database.renew(), self._read_front(errors), *counts)
            await self._check(self.workspace)
        # A screen that reads nothing itself is as fresh as the counts.
        if self._server_time is not None and not errors.error_text:
            self.read(self._server_time + self._now() - self._read_at)

    async def _read_front(self, errors: ErrorCollector) -> None:
        """Read what the screen in front shows."""
        if self.read_screen is not None:
            own = ErrorCollector()
            with own.each():
                await self.read_screen()
            self.screen_trouble = own.error_text
            errors.add("", own.error_text)

    async def _count(self, label: str, errors: ErrorCollector) -> None:
        with errors.each(label):
            self.counts[label] = await self.engines[label].nodes.counts()

    async def _sample(self, label: str, errors: ErrorCollector) -> None:
        with errors.each(label):
            await self.engines[label].samples.take()
            if label in self._parts:
                self._parts[label] = with_samples(self.engines[label], self._parts[label])

    async def _check(self, workspace: Workspace) -> None:
        """Check the console's commits again if another server answers now."""
        journal = workspace.audit_log.journal
        await journal.check()
        corrected = sum(work.correct() for work in self.works)
        if corrected:
            nodes = count_nodes(corrected, ())
            self.notice = f"The server was replaced: changes of {nodes} are lost or unconfirmed. See {journal.place}."

    async def _poll_samples(self, errors: ErrorCollector) -> None:
        """Take samples for the findings that need several, more often than findings."""
        if self.workspace is not None:
            samples = (self._sample(label, errors) for label in self.engines)
            await self.workspace.database.together(*samples)
        self._pace_samples()
        if self.findings_loaded:
            self._show_parts()

    def _pace_samples(self) -> None:
        self.clocks.pace_samples(developing=any(reader.samples.is_developing for reader in self.engines.values()))

    async def _poll_findings(self, errors: ErrorCollector) -> None:
        """Read the findings and the causes outside of the tables; show both in one step.

        Otherwise the screen would show symptoms without their cause while the server answers slowly. Only the first
        read shows each engine as soon as it answers, and `pending` says what is missing.
        """
        if self.workspace is not None:
            self.pending = () if self.findings_loaded else (*self.engines, LABEL)
            with errors.each():
                await self.workspace.detect_again()
            readers = list(self.engines.values())
            early = asyncio.get_running_loop().call_later(COMPLETE, self._show_early) if self.pending else None
            try:
                now = await snapshot(self.workspace, readers, once=False, kept={**self._parts}, take=self._part_read)
            finally:
                if early is not None:
                    early.cancel()
            self._parts = {part.label: part for part in now.parts}
            for part in now.parts:
                errors.add("" if part.label == LABEL else part.label, part.error)
            if readers and not self._parts[LABEL].error:
                self._sample_flow(self.workspace)
            self.pending = ()
            self._show(now)
        self.findings_loaded, self._findings_at = True, self._now()

    def _part_read(self, part: Part) -> None:
        """Note the findings of an engine while others have not answered."""
        self._parts[part.label] = part
        if not part.error:
            self.read(part.findings.at)
        self.pending = tuple(each for each in self.pending if each != part.label)

    def _show_early(self) -> None:
        """Show the findings of the engines that have answered: others take long."""
        self._show_parts()
        self.begun.set()
        self.changed()

    def _sample_flow(self, workspace: Workspace) -> None:
        """Note the counters and counts of each engine; they have just been read."""
        for label in self.engines:
            sample = None
            if (read := workspace.server_findings.rows(label)) is not None:
                at, rows = read
                open_ = flow.unfinished(self.counts.get(label, ()))
                sample = flow.Sample(at=at, inserted=rows.inserted, deleted=rows.deleted, unfinished=open_)
            self._flow.add(label, sample)

    def _show_parts(self) -> None:
        """Show what was read so far.

        Between two reads of the screen only findings that come or go are news, not what samples know of them.
        """
        if self.workspace is not None:
            parts = tuple(part for label, part in self._parts.items() if label in (*self.engines, LABEL))
            between = self.clocks.screen.wait() > 0
            if _named(parts) == _named(self.shown.parts) if between else parts == self.shown.parts:
                self._watch()
            else:
                self._show(grouped(self.workspace, parts, self.at))

    def read(self, at: float) -> None:
        """Record the server time of the latest read."""
        self._server_time, self._read_at = at, self._now()

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
            return LONG
        return min(self.clocks.waits)

    # changing

    def start_work(self, dry_run: DryRun | None = None, *, run: Run | None = None) -> RunWork:
        """Start to commit a dry run, or to do a redrive, in a task of its own.

        It continues when the screen is closed. Raises LostError.
        """
        from console.model.run_work import RunWork

        if self.workspace is None:
            raise LostError("There is no connection.", "Nothing was changed.")
        work = RunWork(self.workspace, lambda: self.changed(), dry_run=dry_run, run=run)
        self.works.append(work)
        return work

    def unseen(self) -> list[str]:
        """Return a line for each run whose result was not on the screen."""
        unseen = (work for work in self.works if not work.seen)
        return [f"{work.action}: {work.summary}. {work.rest}".removesuffix(". ") for work in unseen]

    async def close(self) -> None:
        """Stop runs between two parts, wait for them, and close the connections."""
        if self._loop is not None:
            self._loop.cancel()
            await asyncio.wait([self._loop])
        for work in self.works:
            work.leave()
        if self.works:
            await asyncio.wait([work.task for work in self.works], timeout=SETTLE)
        if self.workspace is not None:
            await self.workspace.close()
