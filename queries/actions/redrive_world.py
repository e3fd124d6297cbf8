"""The engine and the audit log, as a running redrive sees them."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from queries.actions import perform
from queries.actions.plan import current_reader
from queries.actions.redrive import Decisions, Runner
from queries.actions.redrive_plan import Run, event_entry, first_part, named, read_signs
from queries.actions.redrive_rules import Ask, Ended, Event, Extended, Judged, Revive, Revived, judge
from queries.db.errors import DatabaseError, LostError
from queries.read.reader import Reader
from queries.records.action import Answer, Outcome, Result
from queries.workspace import Workspace
from queries.write import audit_log, redrive_log

SKIPPED = "skipped"  # event with the results of nodes that an action did not change
LOOK_PAUSE = 20  # a look waits this many times its own duration before the next one


class Console(Decisions):
    """Decisions of the operator, who is waited for."""

    def __init__(self) -> None:
        super().__init__()
        self.left = False
        self._decided = asyncio.Event()

    def stop(self) -> None:
        """Revive no further node."""
        super().stop()
        self._decided.set()

    def go_on(self, ask: Ask) -> None:
        """Answer a question with "go on"."""
        super().go_on(ask)
        self._decided.set()

    def leave(self) -> None:
        """End this console's part. The redrive stays open."""
        self.left = True
        self._decided.set()

    async def wait(self, seconds: float) -> None:
        """Wait, but not once the operator has decided."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._decided.wait()
        self._decided.clear()


class EngineWorld:
    """World of a redrive in a database."""

    def __init__(self, workspace: Workspace, run: Run, console: Console) -> None:
        self._workspace, self._run, self._console = workspace, run, console
        self._members = {member.id: member for member in run.plan.members}
        self._marks = frozenset(mark for member in run.plan.members for mark in member.marks)
        self._taken = False
        self._cost = 0.0  # seconds that the last look took

    async def history(self) -> Sequence[Event]:
        """Take the redrive over, and return its events."""
        database, fence = self._workspace.database, self._run.fence
        if not self._taken:
            await redrive_log.take_over(database, fence, event_entry(self._workspace, self._run.plan))
            self._taken = True
        events = [self._event(entry) for entry in await redrive_log.entries(database, fence)]
        return [event for event in events if event is not None]

    async def revive(self, step: Revive) -> Revived | None:
        """Revive nodes with the write path of every action.

        Raises DatabaseError if the action is not possible at all, OvertakenError if another console continues.
        """
        plan = self._run.plan
        part = first_part(self._workspace, plan, step.ids)
        available = self._reader.availability(part.action, bulk=True)
        if not available.ok:
            raise DatabaseError(f"{plan.action} is not possible now: {available.why}.")
        fence = msgspec.structs.replace(self._run.fence, cohort=step.cohort)
        dry_run = await perform.dry_run(self._workspace, part, plan.reason, plan.arguments)
        chunk = await perform.commit_part(self._workspace, dry_run, audit_log.operator(), fence)
        if chunk.left:
            raise LostError(chunk.error_text)
        results = chunk.outcomes.results
        if any(result.outcome is Outcome.UNKNOWN for result in results):
            return None
        at = await self._workspace.now()
        if skipped := tuple(result for result in results if result.outcome is not Outcome.CHANGED):
            await self._write({"event": SKIPPED, "cohort": step.cohort}, skipped)
        return Revived(at=at, cohort=step.cohort, results=results, durability=chunk.outcomes.durability)

    async def look(self, ids: Sequence[str]) -> tuple[float, Mapping[str, Answer]]:
        """Return the server's time and the answers of these nodes."""
        started = time.monotonic()
        members = [self._members[i] for i in ids]
        at = await self._workspace.now()
        signs = await read_signs(self._reader, [member.target for member in members])
        flow = self._reader.engine.spec.flow
        hidden = self._reader.found.policies  # a policy may hide a row that exists
        gone = Answer.FINISHED if flow and flow.deletes and not hidden else Answer.UNKNOWN
        answers = {m.id: judge(m, signs.get(m.target), self._marks, gone=gone) for m in members}
        self._cost = time.monotonic() - started
        return at, answers

    async def record(self, event: Event) -> None:
        """Write an event to the audit log."""
        await self._write(msgspec.to_builtins(event), ())

    async def pause(self, seconds: float) -> None:
        """Wait until the operator decides, so long that looking costs the server little."""
        await self._console.wait(max(seconds, self._cost * LOOK_PAUSE))

    @property
    def _reader(self) -> Reader:
        return current_reader(self._workspace, self._run.plan.label)

    async def _write(self, event: Mapping[str, Any], results: tuple[Result, ...]) -> None:
        entry = msgspec.structs.replace(event_entry(self._workspace, self._run.plan), results=results)
        await redrive_log.record(self._workspace.database, self._run.fence, entry, event)

    def _event(self, entry: redrive_log.Entry) -> Event | None:
        """Return the event of an audit log entry, at the time of the entry."""
        kind = SKIPPED if entry.is_action else entry.event["event"]
        if kind == redrive_log.RESUME:
            return None
        if kind == SKIPPED:
            results = tuple(msgspec.structs.replace(r, id=named(self._reader, r.id)) for r in entry.results)
            return Revived(at=entry.at, cohort=entry.event["cohort"], results=results)
        event: Judged | Extended | Ended = msgspec.convert({**entry.event, "at": entry.at}, Judged | Extended | Ended)
        return event


def runner(workspace: Workspace, run: Run, console: Console) -> Runner:
    """Return the runner of a redrive in this database."""
    return Runner(EngineWorld(workspace, run, console), run.plan.ids, run.plan.settings, console)


async def stop(workspace: Workspace, run: Run) -> Runner:
    """End a redrive.

    Another console that continues it revives no further node. Raises DatabaseError.
    """
    console = Console()
    console.stop()
    ending = runner(workspace, run, console)
    async with contextlib.aclosing(ending.steps()) as steps:
        async for _ in steps:
            pass
    return ending
