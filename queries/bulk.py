"""Chunks of an action one after the other, two at once where that is safe; a lost server is waited for."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator

import msgspec

from queries import settle
from queries.attempt import Request
from queries.backoff import Backoff
from queries.failover import Committed
from queries.fault import DatabaseError
from queries.frozen import Frozen
from queries.model import Outcome, Outcomes, Record, Result
from queries.workspace import Workspace

PATIENCE = 900.0  # seconds that a server is waited for

Versions = dict[str, str]


class Progress(Record):
    """How far an action has come, and what the chunk that was just committed (or not) has done.

    Of its changes the rows are as the server spelled them, until somebody reads them: of many, few are looked at.
    ``waits``: seconds until the server is asked again, where it was lost; ``trouble`` says why. ``bulk`` is the id by
    which what is left can be continued, "" where it cannot. ``given_up``: the server was waited for long enough.
    ``held``: seconds it goes on waiting at most for nodes that an executor has.
    """

    done: int
    total: int
    chunk: Outcomes = Outcomes(results=())
    waits: float | None = None
    trouble: str = ""
    bulk: str = ""
    given_up: bool = False
    held: float | None = None


class Chunk(Record):
    """What became of a chunk. ``left``: nodes to try again, with their versions.

    Nothing was done to them for want of a server, or because an interrupted transaction of this bulk may hold them.
    ``unsettled``: transactions that were sent for COMMIT, and that the server could not be asked about any more.
    """

    outcomes: Outcomes
    left: Versions
    trouble: str = ""
    unsettled: tuple[Committed, ...] = ()


Piece = tuple[Request, Versions]
Run = Callable[[Workspace, Request, Versions], Awaitable[Chunk]]


class Bulk:
    """The run of one action. ``pieces`` are chunks, or outcomes of nodes that nothing is to be done to.

    Without ``frozen`` nothing is waited for: what the server was lost for is told as it is.
    """

    def __init__(
        self,
        workspace: Workspace,
        run: Run,
        pieces: Iterator[Outcomes | Piece],
        total: int,
        stop: asyncio.Event,
        frozen: Frozen | None,
    ) -> None:
        self._workspace = workspace
        self._run = run
        self._pieces = pieces
        self._again: list[Piece] = []  # left by a lost server: they go first
        self._running: dict[asyncio.Task[Chunk], Piece] = {}
        self._unsettled: list[tuple[Request, Committed, Outcomes]] = []
        self._ahead: Outcomes | Piece | None = None
        self._total, self._done = total, 0
        self._stop = stop
        self._frozen = frozen
        self._trouble = ""

    async def steps(self) -> AsyncGenerator[Progress]:
        """Carry it out. Each step is a chunk, or a pause."""
        try:
            while True:
                for step in self._start():
                    yield step
                if self._running:
                    for outcomes in await self._finished():
                        yield self._step(outcomes)
                elif self._stop.is_set() or not (self._lost() and self._more()):
                    for outcomes in self._decided(last=True):
                        yield self._step(outcomes)
                    return
                else:
                    async for pause in self._wait():
                        yield pause
                    for outcomes in self._decided():
                        yield self._step(outcomes)
                    if self._lost():
                        return
        finally:
            for task in self._running:
                task.cancel()
            await asyncio.gather(*self._running, return_exceptions=True)
            self._decided(last=True)  # from now on the journal reports what it finds out
            if self._frozen is not None:
                self._frozen.close()

    def _start(self) -> Iterator[Progress]:
        """Begin what can go now; of nodes that nothing is to be done to, give the outcomes."""
        while not (self._stop.is_set() or self._lost()):
            # While the server takes no changes, `_pieces` would refuse every node for it.
            ahead = self._ahead or (self._again.pop(0) if self._again else next(self._pieces, None))
            self._ahead = None
            if ahead is None:
                return
            if isinstance(ahead, Outcomes):
                yield self._step(ahead)
            elif over := self._connection(ahead[0]):
                self._begin(ahead, over)
            else:
                self._ahead = ahead
                return

    async def _finished(self) -> list[Outcomes]:
        """Wait for a chunk. What it tells may be of another server than what the chunks before it told."""
        done, _ = await asyncio.wait(self._running, return_when=asyncio.FIRST_COMPLETED)
        outcomes = [self._ended(task).outcomes for task in done]
        with contextlib.suppress(DatabaseError):
            await self._workspace.journal.check()
        outcomes += self._decided()
        return [each for each in outcomes if each.results]

    def _decided(self, *, last: bool = False) -> list[Outcomes]:
        """Take what the server has said since about transactions that it could not be asked about.

        What it rolled back is tried again. ``last``: it will not be asked again, so the others are unknown.
        """
        decided, waiting = [], []
        for request, sent, outcomes in self._unsettled:
            if not (sent.fate or last):
                waiting.append((request, sent, outcomes))
                continue
            sent.awaited = False  # what a failover does to it later is a correction again
            if sent.fate == settle.ABORTED:
                self._again.append((request, {i: sent.attempt.asked[i] for i in sent.attempt.touched}))
            elif sent.fate == settle.COMMITTED:
                results = tuple(Result(id=r.id, outcome=Outcome.CHANGED) for r in outcomes.results)
                decided.append(msgspec.structs.replace(outcomes, results=results, xid=sent.mark.xid))
            else:
                decided.append(outcomes)
        self._unsettled = waiting
        return decided

    def _more(self) -> bool:
        return bool(self._unsettled) or (self._frozen is not None and bool(self._frozen.left))

    def _lost(self) -> bool:
        """Return True while there is no server that takes changes, and one is waited for."""
        if self._frozen is None:
            return False
        self._trouble = self._trouble or self._workspace.database.unchanging()
        return bool(self._trouble)

    def _begin(self, piece: Piece, over: str) -> None:
        request = msgspec.structs.replace(piece[0], over=over, frozen=self._frozen)
        self._running[asyncio.create_task(self._started(request, piece[1]))] = request, piece[1]

    async def _started(self, request: Request, versions: Versions) -> Chunk:
        return await self._run(self._workspace, request, versions)

    def _ended(self, task: asyncio.Task[Chunk]) -> Chunk:
        """Take what a chunk has come to; what a lost server has left of it is tried again."""
        request, _ = self._running.pop(task)
        chunk = task.result()
        if self._frozen is None:
            return chunk
        for sent in chunk.unsettled:
            self._trouble = self._trouble or chunk.trouble
            self._frozen.interrupted()
            ids = set(sent.attempt.touched)
            about = tuple(r for r in chunk.outcomes.results if r.id in ids)
            rest = tuple(r for r in chunk.outcomes.results if r.id not in ids)
            chunk = msgspec.structs.replace(chunk, outcomes=msgspec.structs.replace(chunk.outcomes, results=rest))
            copies = sent.attempt.copies
            self._unsettled.append((request, sent, Outcomes(results=about, changes=copies)))
        if not chunk.left:
            return chunk
        self._trouble = chunk.trouble
        if not any(r.outcome is Outcome.BUSY for r in chunk.outcomes.results if r.id in chunk.left):
            self._frozen.interrupted()
        self._again.append((request, chunk.left))
        told = tuple(r for r in chunk.outcomes.results if r.id not in chunk.left)
        return msgspec.structs.replace(chunk, outcomes=msgspec.structs.replace(chunk.outcomes, results=told))

    def _connection(self, request: Request) -> str | None:
        """Over which one it may go now, beside those that are running; None where it has to wait for them."""
        beside = [r for r, _ in self._running.values()]
        if any(not r.verb.apart or r.verb is not request.verb for r in beside):
            return None
        taken = {r.over for r in beside}
        if "write" not in taken:
            return "write"
        return None if "read" in taken or self._workspace.database.busy("read") else "read"

    def _step(self, outcomes: Outcomes) -> Progress:
        self._done += len(outcomes.results)
        if self._frozen is not None:
            # One that is unknown stays in the list: who continues it asks the server again.
            self._frozen.outcomes([r for r in outcomes.results if r.outcome is not Outcome.UNKNOWN])
        return self._progress(chunk=outcomes)

    def _progress(
        self, chunk: Outcomes | None = None, waits: float | None = None, *, given_up: bool = False
    ) -> Progress:
        return Progress(
            done=self._done,
            total=self._total,
            chunk=chunk or Outcomes(results=()),
            waits=waits,
            trouble=self._trouble,
            bulk=self._frozen.head.id if self._frozen is not None else "",
            given_up=given_up,
        )

    async def _wait(self) -> AsyncGenerator[Progress]:
        """Wait until a server takes changes, the operator stops, or patience ends."""
        backoff, deadline = Backoff(), time.monotonic() + PATIENCE
        while self._trouble and not self._stop.is_set():
            if time.monotonic() > deadline:
                yield self._progress(given_up=True)
                return
            pause = backoff.next()
            yield self._progress(waits=pause)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._stop.wait()
            if self._stop.is_set():
                return
            try:
                await self._workspace.renew()
                await self._workspace.journal.check()
            except DatabaseError as error:
                self._trouble = error.line
            else:
                self._trouble = self._workspace.database.unchanging()
        yield self._progress()
