"""Runner: ask the policy for the next step, do it, record it.

Everything that must be known after a crash is in the log of the run: the beginning, each change, each decision. An
event counts only once it was recorded. So a run whose console was killed between any two steps continues with
``history``, as if it had never ended.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import Protocol

from queries.db.backoff import OUTAGE_SECONDS, Backoff
from queries.db.errors import NO_CONNECTION, OvertakenError
from queries.records.action import Answer, Outcome, Outcomes, Result
from queries.runs.steps import Ask, Changed, ChangePart, Close, Ended, Event, Pause, Policy, Reason, Step, Watch
from queries.runs.total import Total
from queries.write.failover import COMMIT_LOST

POLL_SECONDS = 0.5  # at most, between two polls of the watched nodes
IN_DOUBT = "its change was interrupted, and it is not known whether it was committed"
NOT_TRIED = "not tried: interrupted"


class World(Protocol):
    """Engine and log of a run. Tests simulate it.

    ``rests``: seconds until the server may be asked again, or 0. ``waits`` False: nothing is recorded before the end,
    so a lost server is an outcome, and is not waited for.
    """

    waits: bool

    @property
    def rests(self) -> float:
        """Seconds until the server may be asked again, or 0."""

    async def history(self) -> Sequence[Event]:
        """Return the recorded events, once no transaction of this run is running."""

    async def change(self, step: ChangePart) -> Changed | None:
        """Change nodes. None if it is not known whether that was committed."""

    def room(self, running: int) -> bool:
        """Return True if one more change can begin beside ``running`` others."""

    def replaced(self) -> bool:
        """Return True if the server is another one than that of the last ``history``."""

    async def look(self, ids: Sequence[str]) -> tuple[float, Mapping[str, Answer]]:
        """Return the time and the answers of these nodes."""

    async def record(self, event: Event) -> None:
        """Write an event to the log."""

    async def pause(self, seconds: float) -> None:
        """Wait, but not once the operator has decided."""

    async def close(self) -> None:
        """End the part of this process."""


class Decisions:
    """Decisions of the operator, which the next step follows."""

    def __init__(self) -> None:
        self.stopped = False
        self.detached = False
        self.accepted: Ask | None = None
        self._decided = asyncio.Event()

    def stop(self) -> None:
        """End the run: begin no further change."""
        self.stopped = True
        self._decided.set()

    def leave(self) -> None:
        """End the part of this console. The run stays open."""
        self.detached = True
        self._decided.set()

    def go_on(self, ask: Ask) -> None:
        """Answer a question with "go on"."""
        self.accepted = ask
        self._decided.set()

    async def wait(self, seconds: float) -> None:
        """Wait, but not once the operator has decided."""
        try:
            async with asyncio.timeout(seconds):
                await self._decided.wait()
        except TimeoutError:
            pass
        if not (self.stopped or self.detached):
            self._decided.clear()


class Runner:
    """A run that this console continues.

    ``step``, ``state`` and ``total`` are up to date whenever `steps` yields. ``error_text``: why the server cannot be
    reached now, or "". ``lost``: nodes whose change a failover has undone during this run.
    """

    def __init__(
        self,
        world: World,
        policy: Callable[[], Policy],
        decisions: Decisions,
        *,
        fresh: bool = False,
        before: Outcomes | None = None,
    ) -> None:
        """``fresh``: nothing was recorded so far, so ``history`` need not be read.

        ``before``: outcomes of nodes that are not a part of the run.
        """
        self._before = before or Outcomes(results=())
        self._world, self._policy, self._decisions = world, policy, decisions
        self._current = fresh
        self._overtaken = False  # a change found the lock of the run taken, so the events are read again
        self._running: dict[asyncio.Task[Changed | None], ChangePart] = {}
        self._doubtful: set[str] = set()  # nodes of changes whose outcome was not read yet
        self._kept: dict[object, Outcomes] = {}  # outcomes with rows, by transaction and nodes
        self.step: Step | None = None
        self.state: Policy = policy()
        self.total = Total()
        self.total.add(self._before)
        self.now = 0.0
        self.error_text = ""
        self.lost: set[str] = set()

    async def steps(self) -> AsyncGenerator[Step]:
        """Yield each step before it is done, and the end last.

        A lost server is waited for. Then the events are read again, because what was sent last may have been lost.
        Raises DatabaseError; the run can be resumed.
        """
        backoff, until = Backoff(), time.monotonic() + OUTAGE_SECONDS
        try:
            while True:
                try:
                    step = self.step = await self._next()
                    if step is None:
                        return
                    backoff, until, self.error_text = Backoff(), time.monotonic() + OUTAGE_SECONDS, ""
                    yield step
                    if isinstance(step, Ended):
                        return
                    await self._do(step)
                except NO_CONNECTION as error:
                    self._current = False
                    await self._settled()
                    if self._decisions.detached:
                        return
                    if time.monotonic() > until or self._decisions.stopped or not self._world.waits:
                        raise
                    self.error_text = error.line
                    pause = self._world.rests or backoff.next(error)
                    self.step = Pause(seconds=pause, why=error.line)
                    yield self.step
                    await self._world.pause(pause)
        finally:
            for task, step in self._running.items():
                self._doubtful |= set(step.ids)  # its COMMIT may have been sent
                task.cancel()
            await asyncio.gather(*self._running, return_exceptions=True)
            await self._world.close()

    async def run(self) -> None:
        """Do all steps. Raises DatabaseError."""
        async with contextlib.aclosing(self.steps()) as steps:
            async for _ in steps:
                pass

    def unfinished(self, why: str = NOT_TRIED) -> list[Result]:
        """Return results of the nodes without an outcome. ``why``: they were not tried."""
        results = []
        for node_id in self.state.pending():
            if node_id in self._doubtful:
                results.append(Result(id=node_id, outcome=Outcome.UNKNOWN, why=IN_DOUBT))
            elif node_id in self.lost:
                results.append(Result(id=node_id, outcome=Outcome.LOST, why=f"{COMMIT_LOST}. It was not changed again"))
            else:
                results.append(Result(id=node_id, outcome=Outcome.REFUSED, why=why))
        return results

    async def _next(self) -> Step | None:
        """Return the next step, or None if the operator has left the run open."""
        while True:
            if not self._current or (self._overtaken and not self._decisions.detached):
                await self._settled()
                await self._read()
            if self._decisions.detached:
                await self._settled()
                if self._current:
                    return None
                continue
            self.now, answers = await self._world.look(self.state.watched() if self.state.ended is None else ())
            self.state.observe(answers)
            step = self.state.step(self.now)
            if self._decisions.stopped and not isinstance(step, Ended):
                step = self.state.end(self.now, Reason.STOPPED)
            if not self._running or (isinstance(step, ChangePart) and self._world.room(len(self._running))):
                break
            await self._finished()
        if isinstance(step, Ended) and self.state.ended is None:
            await self._add(step)
        return step

    async def _do(self, step: Step) -> None:
        if self._decisions.stopped or self._decisions.detached:
            return
        if isinstance(step, ChangePart):
            self.state.begun(step)
            self._running[asyncio.create_task(self._world.change(step))] = step
            await asyncio.sleep(0)  # it begins, and takes its connection
            if not self._world.room(len(self._running)):
                await self._finished()
        elif isinstance(step, Close):
            await self._add(step.event)
        elif isinstance(step, Ask):
            answer, self._decisions.accepted = self._decisions.accepted, None
            if answer is not None and (answer.question, answer.cohort) == (step.question, step.cohort):
                await self._add(self.state.go_on(self.now, answer))
            else:
                await self._world.pause(POLL_SECONDS)
        elif isinstance(step, Watch):
            await self._world.pause(min(step.seconds, POLL_SECONDS))

    async def _finished(self) -> None:
        """Wait for a change, and apply it. Raises its error."""
        done, _ = await asyncio.wait(self._running, return_when=asyncio.FIRST_COMPLETED)
        errors = [error for task in done if (error := self._end(task)) is not None]
        self._current = self._current and not self._world.replaced()
        if errors:
            raise errors[0]

    async def _settled(self) -> None:
        """Wait for all changes. What one of them could not tell is read again."""
        while self._running:
            done, _ = await asyncio.wait(self._running, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                error = self._end(task)
                if error is not None and not isinstance(error, NO_CONNECTION):
                    raise error

    def _end(self, task: asyncio.Task[Changed | None]) -> BaseException | None:
        """Apply a change that has ended, and return its error.

        OvertakenError is none: nothing was sent, and the events say if another console has the run.
        """
        step, error = self._running.pop(task), task.exception()
        changed = None if error is not None else task.result()
        if changed is not None:
            self._apply(changed)
            return error
        if isinstance(error, OvertakenError):
            self._overtaken = True
            return None
        self._current = False
        self._doubtful |= set(step.ids)
        return error

    async def _read(self) -> None:
        """Read the events, and begin again from them."""
        events = await self._world.history()
        before = {r.id for r in self.total.results if r.outcome is Outcome.CHANGED}
        self.state, self.total = self._policy(), Total()
        self.total.add(self._before)
        for event in events:
            self._apply(event)
        changed = {r.id for r in self.total.results if r.outcome is Outcome.CHANGED}
        self.lost |= before - changed
        self._current, self._overtaken, self._doubtful = True, False, set()

    async def _add(self, event: Event) -> None:
        """Record an event; only then it counts."""
        await self._world.record(event)
        self._apply(event)

    def _apply(self, event: Event) -> None:
        self.state.apply(event)
        if isinstance(event, Changed):
            key = event.outcomes.xid, len(event.results), event.results[:1]
            self.total.add(self._kept.setdefault(key, event.outcomes) if event.outcomes.xid else event.outcomes)
