"""What the console knows of the database, and the loop that keeps it fresh. Knows no widgets.

One loop reads; ``read_screen`` reads what is on the screen, ``changed`` is called when something is new. The
loop never raises for the database: what went wrong is kept as ``error_text``, the last picture stays.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from math import inf
from time import monotonic
from typing import TYPE_CHECKING

from console.model.refresh_clock import SHARE, RefreshClock
from queries.actions import unfinished
from queries.db.backoff import Backoff
from queries.errors import DatabaseError, LostError, UnreachableError
from queries.model import Count, DryRun, Finding, Node, SkippedFinding
from queries.read.reader import Reader
from queries.workspace import Workspace

if TYPE_CHECKING:
    from console.config import Context
    from console.model.bulk_run import BulkRun

SLOWER = 5  # findings are looked for at every fifth interval
STEPS = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0, 3600.0)  # seconds; what + and - choose from
SETTLE = 40.0  # seconds that closing waits for a commit under way; one whose answer was lost takes up to 30
SETTLED = 20.0  # seconds after which the cost of starting is not most of the load any more
LONG = 3600.0
PAINT = 0.05  # seconds in which the first rows come to the screen undisturbed


class Link(StrEnum):
    """How the console stands with the server."""

    CONNECTING = "connecting"
    LIVE = "live"
    LOST = "lost"


Opener = Callable[[], Awaitable[Workspace]]


def in_front(engines: Mapping[str, Reader], context: Context | None) -> str | None:
    """The label of the engine that is shown first: the context's, else the first there is."""
    wanted = context.engine if context else ""
    forms = {label: (label, reader.found.full, reader.engine.name) for label, reader in engines.items()}
    return next((label for label in engines if wanted in forms[label]), next(iter(engines), None))


class ErrorCollector:
    """Reads that do not keep each other from being made: a fault that leaves the connection whole is only kept."""

    def __init__(self) -> None:
        self.error_text = ""  # the first fault
        self.failed: set[str] = set()  # labels of the engines of which not all was read

    @contextlib.contextmanager
    def each(self, label: str = "") -> Iterator[None]:
        """One read, of one engine where ``label`` names it."""
        try:
            yield
        except (LostError, UnreachableError):
            raise
        except DatabaseError as error:
            self.error_text = self.error_text or (f"{label}: {error}" if label else str(error))
            self.failed |= {label} - {""}


class Session:
    """One database being watched. ``open_`` makes the workspace; ``now`` is a monotonic clock in seconds."""

    def __init__(self, open_: Opener, interval: float = 2.0, now: Callable[[], float] = monotonic) -> None:
        self.link = Link.CONNECTING
        self.error_text = ""  # why there is no connection, or what could not be read
        self.workspace: Workspace | None = None
        self.counts: dict[str, tuple[Count, ...]] = {}
        self.skipped_findings: tuple[SkippedFinding, ...] = ()
        self.capped: dict[str, tuple[str, ...]] = {}
        self.findings_loaded = False  # whether findings were looked for yet
        self.notice = ""  # what the operator has to know once
        self.page_trouble = ""  # why the page in front could not be read the last time
        self.paused = False
        self.read_screen: Callable[[], Awaitable[None]] | None = None
        self.changed: Callable[[], None] = lambda: None
        self.retry_at = 0.0
        self.begun = asyncio.Event()  # there is something to see: rows, or why there are none
        self._open = open_
        self._now = now
        self._fast = RefreshClock(interval, SHARE * 0.6, now)
        self._slow = RefreshClock(interval * SLOWER, SHARE * 0.4, now)
        self._wake = asyncio.Event()
        self._found: dict[str, tuple[Finding, ...]] = {}
        self._findings: tuple[Finding, ...] = ()
        self._codes: dict[str, tuple[str, ...]] = {}
        self._unread: dict[RefreshClock, set[str]] = {}
        self._server_time: float | None = None
        self._read_at = 0.0
        self._forced = False
        self._backoff = Backoff()
        self._loop: asyncio.Task[object] | None = None
        self._since = 0.0
        self.works: list[BulkRun] = []

    # what is known

    @property
    def engines(self) -> Mapping[str, Reader]:
        """The engines found, by label."""
        return self.workspace.engines if self.workspace else {}

    @property
    def interval(self) -> float:
        """Seconds between two looks, as chosen."""
        return self._fast.interval

    @property
    def pace(self) -> float:
        """Seconds between two looks, as the load promise allows."""
        return self._fast.pace

    @property
    def age(self) -> float | None:
        """Seconds since the last good look; None before the first."""
        return None if self._server_time is None else self._now() - self._read_at

    @property
    def at(self) -> float:
        """The server's time as of the last look, 0 before the first."""
        return self._server_time or 0.0

    @property
    def retry_in(self) -> float:
        """Seconds until the next attempt to connect."""
        return max(0.0, self.retry_at - self._now())

    @property
    def share(self) -> float | None:
        """The part of wall time the server worked for this console, 0..1; None until it has been watched a while."""
        if self.workspace is None or self._now() - self._since < SETTLED:
            return None
        return self.workspace.database.load.share()

    @property
    def stale_engines(self) -> set[str]:
        """Labels of the engines of which the last look could not read all: what is known of them may be old."""
        return set().union(*self._unread.values())

    @property
    def more(self) -> set[str]:
        """Labels of the engines in which more may be stuck than ``findings`` has."""
        capped = {label for label, codes in self.capped.items() if codes}
        hidden = {label for label, reader in self.engines.items() if reader.found.policies}
        return self.stale_engines | capped | hidden | {each.engine for each in self.skipped_findings if each.failed}

    def findings(self) -> Sequence[Finding]:
        """Return the findings of all engines: worst first, then oldest."""
        return self._findings

    def findings_of(self, node_id: str) -> list[Finding]:
        """Return the findings of one node, worst first."""
        return [f for f in self._findings if f.node_id == node_id]

    def stuck(self, label: str) -> int:
        """Return the number of findings of one engine."""
        return len(self._found.get(label, ())) if label in self.engines else 0

    def _put_findings(self, label: str, found: Iterable[Finding]) -> None:
        """Replace the findings of one engine. Sorted here, because the cursor moves more often than findings change."""
        if self._found.get(label) == (new := tuple(found)):
            return
        self._found[label] = new
        everything = (f for part in self._found.values() for f in part)
        self._findings = tuple(
            sorted(everything, key=lambda f: (-f.severity, f.since if f.since is not None else inf, f.node_id))
        )
        codes: dict[str, tuple[str, ...]] = {}
        for finding in self._findings:
            codes[finding.node_id] = (*codes.get(finding.node_id, ()), finding.code)
        self._codes = codes

    def seen(self, action: str, nodes: Iterable[Node]) -> dict[str, str]:
        """Return what ``action`` is to be guarded with at each node: its version, or the guard of a finding.

        A finding has a guard where its node changes all the time, and then for the action that it suggests alone.
        """
        guards = {f.node_id: f.guard for f in reversed(self._findings) if f.guard and f.action == action}
        return {node.id: guards.get(node.id, node.version) for node in nodes}

    def codes(self) -> dict[str, tuple[str, ...]]:
        """Return the codes of findings by node. The same object as long as no finding changes."""
        return self._codes

    def reader(self, node_id: str) -> Reader | None:
        """The reader of a node's engine; None where that engine is not there (any more)."""
        return self.engines.get(node_id.partition("/")[0])

    # what the operator chooses

    def refresh(self) -> None:
        """Look now, at everything, paused or not."""
        self._fast.run_now()
        self._slow.run_now()
        self._forced, self.retry_at = True, 0.0
        self._wake.set()

    def run_now(self) -> None:
        """Look now at what the screen shows: it shows something else."""
        self._fast.run_now()
        self._wake.set()

    def pause(self) -> bool:
        """Stop looking, or go on. Whether it is paused now."""
        self.paused = not self.paused
        self._wake.set()
        return self.paused

    def pick_interval(self, step: int) -> float:
        """The next longer (1) or shorter (-1) interval, in seconds."""
        if step > 0:
            chosen = next((s for s in STEPS if s > self.interval), STEPS[-1])
        else:
            chosen = next((s for s in reversed(STEPS) if s < self.interval), STEPS[0])
        self._fast.interval, self._slow.interval = chosen, chosen * SLOWER
        self._wake.set()
        return chosen

    # reading

    async def run(self) -> None:
        """Connect and keep looking, until cancelled."""
        self._loop = asyncio.current_task()
        while True:
            try:
                await self._round()
            except DatabaseError as error:
                self.failed(error)
            self.begun.set()
            self.changed()
            await self._wait()

    async def _round(self) -> None:
        if self.link is not Link.LIVE:
            await self._connect()
        forced, self._forced = self._forced, False
        if self.paused and not forced:
            return
        error_text = ""
        if self._fast.wait() <= 0:
            error_text = await self._part(self._look, self._fast)
            self.changed()
        if self._slow.wait() <= 0:
            error_text = await self._part(self._seek, self._slow) or error_text
        self.error_text = error_text

    async def _part(self, look: Callable[[ErrorCollector], Awaitable[None]], clock: RefreshClock) -> str:
        """One part of a round. What is wrong with it, which keeps the others from nothing."""
        before, independent = self._worked, ErrorCollector()
        clock.begin()
        try:
            await look(independent)
        finally:
            clock.end(self._worked - before)
        self._unread[clock] = independent.failed
        return independent.error_text

    @property
    def _worked(self) -> float:
        """Seconds that the server has worked for this console."""
        return self.workspace.database.load.worked if self.workspace else 0.0

    async def _connect(self) -> None:
        if self.workspace is None:
            self.workspace = await self._open()
            self._since = self._now()
        else:
            await self.workspace.detect()  # another server may answer now: a standby, or one with other privileges
        self.link, self.error_text = Link.LIVE, ""
        self.notice = self.notice or "  ".join(unfinished.messages(self.workspace))
        self._backoff.reset()
        self._fast.run_now()
        self._slow.run_now()
        self.changed()

    async def _look(self, independent: ErrorCollector) -> None:
        if self.workspace is not None:
            await self.workspace.renew()
            await self._check(self.workspace)
        if self.read_screen is not None:
            with independent.each():
                await self.read_screen()
            self.page_trouble = independent.error_text
            if not self.begun.is_set():  # the rows are what one waits for
                self.begun.set()
                self.changed()
                await asyncio.sleep(PAINT)
        for label, reader in self.engines.items():
            with independent.each(label):
                self.counts[label] = await reader.counts()
        # A page that read nothing itself is as fresh as the counts above it.
        if self._server_time is not None and not independent.error_text:
            self.read(self._server_time + self._now() - self._read_at)

    async def _check(self, workspace: Workspace) -> None:
        """Where another server answers now, ask again about what this console has committed on the one before."""
        await workspace.journal.check()
        corrected = sum(work.correct() for work in self.works)
        if corrected:
            nodes = "1 node" if corrected == 1 else f"{corrected} nodes"
            self.notice = (
                f"The server was replaced: changes of {nodes} are lost or in doubt, see {workspace.journal.place}"
            )

    async def _seek(self, independent: ErrorCollector) -> None:
        skipped_findings: list[SkippedFinding] = []
        if self.workspace is not None and self.workspace.locked:
            with independent.each():
                await self.workspace.detect(renew=True)  # what was locked may be free now
        for label, reader in self.engines.items():
            with independent.each(label):
                await reader.sample()
            with independent.each(label):
                findings = await reader.findings()
                self._put_findings(label, (*findings.found, *reader.watched()))
                self.capped[label] = findings.capped
                skipped_findings += findings.skipped_findings
                self.read(findings.at)
        self.skipped_findings, self.findings_loaded = tuple(skipped_findings), True

    def read(self, at: float) -> None:
        """Something was read whose server time is ``at``."""
        self._server_time, self._read_at = at, self._now()

    def failed(self, error: DatabaseError) -> None:
        """A read failed. Keeps why, and has the loop connect again where the connection is gone."""
        self.error_text = str(error)
        if self.workspace is None or isinstance(error, LostError | UnreachableError):
            self.link = Link.LOST if self.workspace else Link.CONNECTING
            self.retry_at = self._now() + self._backoff.next()
            self._wake.set()

    async def _wait(self) -> None:
        """Until there is something to do. Being woken means only that this may have changed."""
        while (seconds := self._pause()) > 0:
            self._wake.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):  # before Python 3.12, wait_for may swallow a cancellation
                    await self._wake.wait()

    def _pause(self) -> float:
        if self.link is not Link.LIVE:
            return self.retry_at - self._now()
        if self.paused and not self._forced:
            return LONG
        return min(self._fast.wait(), self._slow.wait())

    # changing

    def carry_out(self, dry_run: DryRun) -> BulkRun:
        """Commit what was dry-run. The work goes on whatever becomes of the screen that asked for it."""
        from console.model.bulk_run import BulkRun

        if self.workspace is None:
            raise LostError("There is no connection.", "Nothing was changed.")
        work = BulkRun(self.workspace, dry_run, lambda: self.changed())
        self.works.append(work)
        return work

    def unseen(self) -> list[str]:
        """What became of works that ended after nobody looked any more, a line each."""
        return [f"{work.dry_run.action}: {work.told}" for work in self.works if not work.seen]

    async def close(self) -> None:
        """Let no commit go on unseen: stop works between two chunks, wait for them, end the connections."""
        if self._loop is not None:
            self._loop.cancel()
            await asyncio.wait([self._loop])
        for work in self.works:
            work.stop()
        if self.works:
            await asyncio.wait([work.task for work in self.works], timeout=SETTLE)
        if self.workspace is not None:
            await self.workspace.close()
