"""Run a redrive: revive a cohort, watch it, record its answers, go on or stop.

Everything that it must know after a crash is in the audit log: the start, each action, each decision. Nothing is kept
elsewhere, and an event counts only once it was recorded. So a redrive whose console was killed between any two steps
continues with ``history``, as if it had never ended.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Protocol

from queries.actions.outcome_sum import least_certain
from queries.actions.redrive_rules import (
    Ask,
    Close,
    Ended,
    Event,
    Reason,
    Redrive,
    Revive,
    Revived,
    Settings,
    Step,
    Watch,
)
from queries.db.backoff import OUTAGE_SECONDS, Backoff
from queries.db.errors import NO_CONNECTION
from queries.records.action import Answer, Durability

LOOK = 0.5  # most seconds between two looks at the revived nodes


class World(Protocol):
    """Engine and audit log of a redrive. Tests simulate it."""

    async def history(self) -> Sequence[Event]:
        """Return the recorded events, once no transaction of this redrive is running."""

    async def revive(self, step: Revive) -> Revived | None:
        """Revive nodes. None if it is not known whether that was committed."""

    async def look(self, ids: Sequence[str]) -> tuple[float, Mapping[str, Answer]]:
        """Return the server's time and the answers of these nodes."""

    async def record(self, event: Event) -> None:
        """Write an event to the audit log."""

    async def pause(self, seconds: float) -> None:
        """Wait, but not once the operator has decided."""


class Decisions:
    """Decisions of the operator, which the next step follows."""

    def __init__(self) -> None:
        self.stopped = False
        self.accepted: Ask | None = None

    def stop(self) -> None:
        """Revive no further node."""
        self.stopped = True

    def go_on(self, ask: Ask) -> None:
        """Answer a question with "go on"."""
        self.accepted = ask


class Runner:
    """A running redrive.

    ``state`` is up to date whenever `steps` yields. ``error_text``: why the server cannot be reached now, or "".
    ``durability``: of the least certain transaction of this console.
    """

    def __init__(self, world: World, members: Sequence[str], settings: Settings, decisions: Decisions) -> None:
        self._world, self._members, self._settings = world, members, settings
        self._decisions = decisions
        self._known = False  # the events were read
        self.state = Redrive(members, settings)
        self.now = 0.0
        self.error_text = ""
        self.durability: Durability | None = None

    async def steps(self) -> AsyncGenerator[Step]:
        """Yield each step before it is done, and the end last.

        A lost server is waited for. Then the events are read again, because what was sent last may have been lost.
        Raises DatabaseError; the redrive can be resumed.
        """
        backoff, deadline = Backoff(), time.monotonic() + OUTAGE_SECONDS
        while True:
            try:
                step = await self._next()
                backoff, deadline, self.error_text = Backoff(), time.monotonic() + OUTAGE_SECONDS, ""
                yield step
                if isinstance(step, Ended):
                    return
                await self._do(step)
            except NO_CONNECTION as error:
                if time.monotonic() > deadline or self._decisions.stopped:
                    raise
                self._known, self.error_text = False, error.line
                pause = backoff.next(error)
                yield Watch(seconds=pause)
                await self._world.pause(pause)

    async def _next(self) -> Step:
        if not self._known:
            await self._read()
        self.now, answers = await self._world.look(self.state.watched() if self.state.ended is None else ())
        self.state.observe(answers)
        step = self.state.step(self.now)
        if self._decisions.stopped and not isinstance(step, Ended):
            step = self.state.end(self.now, Reason.STOPPED)
        if isinstance(step, Ended) and self.state.ended is None:
            await self._add(step)
        return step

    async def _do(self, step: Step) -> None:
        if self._decisions.stopped:
            return
        if isinstance(step, Revive):
            revived = await self._world.revive(step)
            if revived is None:
                await self._read()
            else:
                self.state.apply(revived)
                self.durability = least_certain([self.durability, revived.durability])
        elif isinstance(step, Close):
            await self._add(step.judged)
        elif isinstance(step, Ask):
            given, self._decisions.accepted = self._decisions.accepted, None
            if given is not None and (given.question, given.cohort) == (step.question, step.cohort):
                await self._add(self.state.go_on(self.now, given))
            else:
                await self._world.pause(LOOK)
        elif isinstance(step, Watch):
            await self._world.pause(min(step.seconds, LOOK))

    async def _read(self) -> None:
        self.state = Redrive(self._members, self._settings, await self._world.history())
        self._known = True

    async def _add(self, event: Event) -> None:
        """Record an event; only then it counts."""
        await self._world.record(event)
        self.state.apply(event)
