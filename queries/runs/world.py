"""The engine and the log of a run, as the runner sees them."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from queries.actions import perform, signals
from queries.actions.plan import Plan, current_reader, plan_versions
from queries.contract.server_spec import LABEL
from queries.db.errors import DatabaseError, LostError, OvertakenError
from queries.read.reader import Reader
from queries.records.action import Answer, DryRun, Outcome, Result
from queries.runs import run as runs
from queries.runs.redrive_plan import read_answers
from queries.runs.run import Run
from queries.runs.runner import Decisions
from queries.runs.steps import Changed, ChangePart, Event
from queries.workspace import Workspace
from queries.write import audit_log, run_log
from queries.write.admit import CHANGED_MEANWHILE

POLL_PAUSE_FACTOR = 20  # the next poll waits this many times the duration of the last one


class RunLog:
    """The log of a run, and the server that it was read from."""

    def __init__(self, workspace: Workspace, run: Run, operator: audit_log.Operator) -> None:
        self.open = run.log
        self._workspace, self._run, self._operator = workspace, run, operator
        self._taken = run.fresh
        self._life = workspace.server.life

    async def history(self) -> list[Event]:
        """Take the run over, and return its events. Raises DatabaseError."""
        workspace, plan = self._workspace, self._run.plan
        await workspace.database.renew()
        if why := workspace.database.why_read_only():
            raise LostError(why)
        self._life = workspace.server.life
        if not self._taken:
            self._taken = await self.open.take_over(runs.event_entry(workspace, plan, self._operator))
        reader = current_reader(workspace, plan.label)
        entries = await self.open.entries(guarded=self._taken)
        events = (runs.event_of(reader, entry, workspace.audit_log.place) for entry in entries)
        return [event for event in events if event is not None]

    def replaced(self) -> bool:
        """Return True if another server answers than at the last `history`."""
        return self._workspace.database.server is not None and self._workspace.server.life != self._life

    async def record(self, event: Event) -> None:
        """Write an event. Raises DatabaseError, OvertakenError."""
        if isinstance(event, Changed):
            await self._skipped(event.part, event.results)
        else:
            fields = msgspec.to_builtins(event)
            del fields["at"]  # the entry has the time
            await self._write(fields, ())

    @staticmethod
    def is_known(done: perform.PartOutcomes) -> bool:
        """Return False if it is not known what was committed.

        Raises LostError if the server was lost before.
        """
        if done.lost:
            raise LostError(done.lost)
        return all(result.outcome is not Outcome.UNKNOWN for result in done.outcomes.results)

    async def recorded(self, changed: Changed, unrecorded: Sequence[Result]) -> Changed:
        """Write the results of nodes that an action did not change, if there are any.

        Return the change; without them if another console has the lock of the run.
        """
        outcomes, ids = changed.outcomes, {result.id for result in changed.results}
        skipped = {result.id: result for result in unrecorded if result.id in ids}
        try:
            await self._skipped(changed.part, tuple(skipped.values()))
        except OvertakenError:
            rest = tuple(result for result in outcomes.results if result.id not in skipped)
            return msgspec.structs.replace(changed, outcomes=msgspec.structs.replace(outcomes, results=rest))
        return changed

    async def _skipped(self, part: int, results: tuple[Result, ...]) -> None:
        if results:
            await self._write({"event": run_log.SKIPPED, "cohort": part}, results)

    async def _write(self, event: Mapping[str, Any], results: tuple[Result, ...]) -> None:
        entry = runs.event_entry(self._workspace, self._run.plan, self._operator, results)
        await self.open.record(entry, event)

    async def close(self) -> None:
        """End the part of this process."""
        self.open.close()


class _World:
    """A world with a log, or without one if it is no run."""

    def __init__(self, workspace: Workspace, decisions: Decisions, log: RunLog | None) -> None:
        self.waits = log is not None
        self._workspace, self._decisions, self._log = workspace, decisions, log
        self._cost = 0.0  # seconds that the last look took

    @property
    def rests(self) -> float:
        """Seconds until the server may be asked again, or 0."""
        return self._workspace.database.rests or 0.0

    async def history(self) -> Sequence[Event]:
        """Take the run over, and return its events."""
        assert self._log is not None
        return await self._log.history()

    def replaced(self) -> bool:
        """Return True if another server answers than at the beginning."""
        return self._log is not None and self._log.replaced()

    async def record(self, event: Event) -> None:
        """Write an event to the log."""
        if self._log is not None:
            await self._log.record(event)

    async def pause(self, seconds: float) -> None:
        """Wait until the operator decides, so long that looking costs the server little."""
        await self._decisions.wait(max(seconds, self._cost * POLL_PAUSE_FACTOR))

    async def close(self) -> None:
        """End the part of this process."""
        if self._log is not None:
            await self._log.close()


class ChangeWorld(_World):
    """World of a confirmed change. ``log``: of its run; None if it is no run."""

    def __init__(
        self,
        workspace: Workspace,
        dry_run: DryRun,
        operator: audit_log.Operator,
        decisions: Decisions,
        log: RunLog | None,
        *,
        independent: bool,
    ) -> None:
        """``independent``: two parts may be changed at the same time."""
        super().__init__(workspace, decisions, log)
        self._dry_run, self._operator = dry_run, operator
        self._busy: set[str] = set()  # connections of changes that are running
        self._independent = independent
        self._held = frozenset(dry_run.for_now)
        self._plan: Plan | None = None  # made once, when the server accepts changes

    async def history(self) -> Sequence[Event]:
        """Take the run over, and return its events."""
        events = await super().history()
        return [self._final(event) if isinstance(event, Changed) else event for event in events]

    def _final(self, event: Changed) -> Changed:
        """Return a recorded event without the attempts on nodes that were not free yet."""
        results = (r for r in event.results if r.outcome is Outcome.CHANGED or r.id not in self._held)
        return msgspec.structs.replace(event, outcomes=msgspec.structs.replace(event.outcomes, results=tuple(results)))

    def room(self, running: int) -> bool:
        """Return True if one more change can begin.

        The second one takes the connection for reading, if no read waits for it.
        """
        if running == 0 or not self._independent:
            return running == 0
        if "write" not in self._busy:
            return True
        return "read" not in self._busy and not self._workspace.database.locked("read")

    async def change(self, step: ChangePart) -> Changed | None:
        """Change nodes with the write path of every action.

        Raises LostError if the server was lost before, OvertakenError if another console continues the run.
        """
        if self._log is not None and (why := self._workspace.database.why_read_only()):
            raise LostError(why)  # a plan that is made now would refuse every node
        part = msgspec.structs.replace(self._dry_run, versions={i: self._dry_run.versions[i] for i in step.ids})
        if step.waited:
            part = msgspec.structs.replace(part, results=(), row_digests={}, waited=True)
        if self._dry_run.engine == LABEL:
            shown = tuple(result for result in part.results if result.id in part.versions)
            outcomes = await signals.commit(
                self._workspace, msgspec.structs.replace(part, results=shown), self._operator
            )
            return Changed(at=time.monotonic(), part=step.part, outcomes=outcomes)
        over = "read" if "write" in self._busy else "write"
        self._busy.add(over)
        try:
            self._plan = self._plan or self._planned()
            done = await perform.commit_part(
                self._workspace,
                part,
                self._operator,
                plan=self._plan,
                over=over,
                run=None if self._log is None else self._log.open,
            )
        finally:
            self._busy.discard(over)
        if self._log is not None and not self._log.is_known(done):
            return None
        changed = Changed(at=time.monotonic(), part=step.part, outcomes=done.outcomes)
        if step.waited:
            changed = _without_held(changed)
        return changed if self._log is None else await self._log.recorded(changed, done.unrecorded)

    def _planned(self) -> Plan:
        dry_run = self._dry_run
        return plan_versions(self._workspace, dry_run.engine, dry_run.action, dry_run.versions, dry_run.titles)

    async def look(self, ids: Sequence[str]) -> tuple[float, Mapping[str, Answer]]:
        """Return the time of this machine. Nothing is watched."""
        return time.monotonic(), {}


def _without_held(changed: Changed) -> Changed:
    """Return an attempt without the nodes that are not free yet."""
    outcomes, held = changed.outcomes, {}
    ended = []
    for result in outcomes.results:
        if result.id in outcomes.for_now:
            held[result.id] = result.why
        elif result.outcome is not Outcome.LOCKED and not _changed_during_statement(result):
            ended.append(result)
    return msgspec.structs.replace(changed, outcomes=msgspec.structs.replace(outcomes, results=tuple(ended)), held=held)


def _changed_during_statement(result: Result) -> bool:
    """Return True if the node changed during the statement, not before it."""
    return result.outcome is Outcome.STALE and result.why != CHANGED_MEANWHILE


class RedriveWorld(_World):
    """World of a redrive in a database."""

    _log: RunLog

    def __init__(self, workspace: Workspace, run: Run, decisions: Decisions) -> None:
        super().__init__(workspace, decisions, RunLog(workspace, run, audit_log.operator()))
        self._run = run

    def room(self, running: int) -> bool:
        """Return True if no cohort is being revived."""
        return running == 0

    async def change(self, step: ChangePart) -> Changed | None:
        """Revive nodes with the write path of every action.

        Raises DatabaseError if the action is not possible at all, OvertakenError if another console continues.
        """
        plan = self._run.plan
        part = runs.part_of(self._workspace, plan, step.ids)
        available = self._reader.availability(part.action, bulk=True)
        if not available.ok:
            raise DatabaseError(f"{plan.action} is not possible now: {available.why}.")
        dry_run = await perform.dry_run(self._workspace, part, plan.reason, plan.beginning.arguments)
        run, operator = self._log.open, audit_log.operator()
        done = await perform.commit_part(self._workspace, dry_run, operator, run=run, cohort=step.part)
        if not self._log.is_known(done):
            return None
        changed = Changed(at=await self._workspace.now(), part=step.part, outcomes=done.outcomes)
        return await self._log.recorded(changed, done.unrecorded)

    async def look(self, ids: Sequence[str]) -> tuple[float, Mapping[str, Answer]]:
        """Return the server's time and the answers of these nodes."""
        started = time.monotonic()
        at = await self._workspace.now()
        answers = await read_answers(self._reader, self._run.plan, set(ids))
        self._cost = time.monotonic() - started
        return at, answers

    @property
    def _reader(self) -> Reader:
        return current_reader(self._workspace, self._run.plan.label)
