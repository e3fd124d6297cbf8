"""Run an action in chunks, two at a time if that is safe.

A bulk waits for a lost server.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator

import msgspec

from queries.db.backoff import OUTAGE_SECONDS, Backoff
from queries.db.errors import DatabaseError
from queries.records.action import Outcome, Outcomes, Result
from queries.records.record import Record
from queries.workspace import Workspace
from queries.write import commit_status
from queries.write.action_transaction import Committed, Request
from queries.write.bulk_list import BulkList

Versions = dict[str, str]


class Progress(Record):
    """Progress of an action, with the outcomes of the last chunk.

    The changed rows are not decoded. ``waits``: seconds until the next attempt to reach a lost server; ``error_text``
    has the reason. ``bulk``: id with which the rest can be resumed, or "". ``given_up``: the server did not return in
    time. ``held``: most seconds that the action still waits for nodes that an executor is running.
    """

    done: int
    total: int
    chunk: Outcomes = Outcomes(results=())
    waits: float | None = None
    error_text: str = ""
    bulk: str = ""
    given_up: bool = False
    held: float | None = None


class Chunk(Record):
    """Outcomes of a chunk.

    ``left``: unchanged nodes to try again, with their versions. The server was lost before they changed, or an
    interrupted transaction of this bulk may hold locks on them. ``unsettled``: transactions whose COMMIT was sent and
    whose status the server could not report.
    """

    outcomes: Outcomes
    left: Versions
    error_text: str = ""
    unsettled: tuple[Committed, ...] = ()


Piece = tuple[Request, Versions]
Run = Callable[[Workspace, Request, Versions], Awaitable[Chunk]]


class Bulk:
    """A running action. ``pieces`` are chunks, or outcomes of skipped nodes.

    Without ``bulk_list`` a lost server is not waited for; its error is reported for the nodes concerned.
    """

    def __init__(
        self,
        workspace: Workspace,
        run: Run,
        pieces: Iterator[Outcomes | Piece],
        total: int,
        stop: asyncio.Event,
        bulk_list: BulkList | None,
    ) -> None:
        self._workspace = workspace
        self._run = run
        self._pieces = pieces
        self._again: list[Piece] = []  # to try again after a lost server, before the rest
        self._running: dict[asyncio.Task[Chunk], Piece] = {}
        self._unsettled: list[tuple[Request, Committed, Outcomes]] = []
        self._ahead: Outcomes | Piece | None = None
        self._total, self._done = total, 0
        self._stop = stop
        self._bulk_list = bulk_list
        self._error_text = ""

    async def steps(self) -> AsyncGenerator[Progress]:
        """Run the action. Yields the progress after each chunk and before each pause."""
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
            self._decided(last=True)  # from now on the journal reports what it learns
            if self._bulk_list is not None:
                self._bulk_list.close()

    def _start(self) -> Iterator[Progress]:
        """Start the chunks that can run now. Yields the outcomes of skipped nodes."""
        while not (self._stop.is_set() or self._lost()):
            # `_pieces` must not be read while the server accepts no changes: it would refuse every node.
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
        """Wait for a chunk, then check whether the server was replaced."""
        done, _ = await asyncio.wait(self._running, return_when=asyncio.FIRST_COMPLETED)
        outcomes = [self._ended(task).outcomes for task in done]
        with contextlib.suppress(DatabaseError):
            await self._workspace.journal.check()
        outcomes += self._decided()
        return [each for each in outcomes if each.results]

    def _decided(self, *, last: bool = False) -> list[Outcomes]:
        """Return the outcomes of transactions whose status is known by now.

        Aborted ones are tried again. ``last``: the server will not be queried again, so transactions without a status
        are unknown.
        """
        decided, waiting = [], []
        for request, sent, outcomes in self._unsettled:
            if not (sent.fate or last):
                waiting.append((request, sent, outcomes))
                continue
            sent.awaited = False  # what a failover does to it later is a correction again
            if sent.fate == commit_status.ABORTED:
                self._again.append(
                    (request, {i: sent.action_transaction.given[i] for i in sent.action_transaction.touched})
                )
            elif sent.fate == commit_status.COMMITTED:
                results = tuple(Result(id=r.id, outcome=Outcome.CHANGED) for r in outcomes.results)
                decided.append(msgspec.structs.replace(outcomes, results=results, xid=sent.mark.xid))
            else:
                decided.append(outcomes)
        self._unsettled = waiting
        return decided

    def _more(self) -> bool:
        return bool(self._unsettled) or (self._bulk_list is not None and bool(self._bulk_list.left))

    def _lost(self) -> bool:
        """Return True while the bulk waits for a server that accepts changes."""
        if self._bulk_list is None:
            return False
        self._error_text = self._error_text or self._workspace.database.why_read_only()
        return bool(self._error_text)

    def _begin(self, piece: Piece, over: str) -> None:
        request = msgspec.structs.replace(piece[0], over=over, bulk_list=self._bulk_list)
        self._running[asyncio.create_task(self._started(request, piece[1]))] = request, piece[1]

    async def _started(self, request: Request, versions: Versions) -> Chunk:
        return await self._run(self._workspace, request, versions)

    def _ended(self, task: asyncio.Task[Chunk]) -> Chunk:
        """Return a finished chunk.

        Nodes that a lost server left unchanged are queued again.
        """
        request, _ = self._running.pop(task)
        chunk = task.result()
        if self._bulk_list is None:
            return chunk
        for sent in chunk.unsettled:
            self._error_text = self._error_text or chunk.error_text
            self._bulk_list.interrupted()
            ids = set(sent.action_transaction.touched)
            about = tuple(r for r in chunk.outcomes.results if r.id in ids)
            rest = tuple(r for r in chunk.outcomes.results if r.id not in ids)
            chunk = msgspec.structs.replace(chunk, outcomes=msgspec.structs.replace(chunk.outcomes, results=rest))
            copies = sent.action_transaction.copies
            self._unsettled.append((request, sent, Outcomes(results=about, changes=copies)))
        if not chunk.left:
            return chunk
        self._error_text = chunk.error_text
        if not any(r.outcome is Outcome.LOCKED for r in chunk.outcomes.results if r.id in chunk.left):
            self._bulk_list.interrupted()
        self._again.append((request, chunk.left))
        done = tuple(r for r in chunk.outcomes.results if r.id not in chunk.left)
        return msgspec.structs.replace(chunk, outcomes=msgspec.structs.replace(chunk.outcomes, results=done))

    def _connection(self, request: Request) -> str | None:
        """Return the connection for a chunk, or None if it must wait."""
        running = [r for r, _ in self._running.values()]
        if any(not r.action.independent or r.action is not request.action for r in running):
            return None
        taken = {r.over for r in running}
        if "write" not in taken:
            return "write"
        return None if "read" in taken or self._workspace.database.locked("read") else "read"

    def _step(self, outcomes: Outcomes) -> Progress:
        self._done += len(outcomes.results)
        if self._bulk_list is not None:
            # Nodes with unknown outcome stay in the list: a resumed bulk queries the server again.
            self._bulk_list.add_results([r for r in outcomes.results if r.outcome is not Outcome.UNKNOWN])
        return self._progress(chunk=outcomes)

    def _progress(
        self, chunk: Outcomes | None = None, waits: float | None = None, *, given_up: bool = False
    ) -> Progress:
        return Progress(
            done=self._done,
            total=self._total,
            chunk=chunk or Outcomes(results=()),
            waits=waits,
            error_text=self._error_text,
            bulk=self._bulk_list.head.id if self._bulk_list is not None else "",
            given_up=given_up,
        )

    async def _wait(self) -> AsyncGenerator[Progress]:
        """Wait until a server accepts changes, the operator stops, or the time limit ends."""
        backoff, deadline = Backoff(), time.monotonic() + OUTAGE_SECONDS
        while self._error_text and not self._stop.is_set():
            if time.monotonic() > deadline:
                yield self._progress(given_up=True)
                return
            pause = self._workspace.database.rests or backoff.next()
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
                self._error_text = error.line
            else:
                self._error_text = self._workspace.database.why_read_only()
        yield self._progress()
