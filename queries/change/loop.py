"""The loop of every change: part after part.

Between two parts it asks, waits, keeps a pace, stops. Its only state is the fold of the entries (`state.py`). A change
with more nodes than one transaction may have is a run: its entries are in the audit log table, and an event counts only
once it was recorded. So a lost server is waited for, then the entries are read again, and a console that was killed
between any two steps is continued by another one as if it had never ended. Without that table the state is in memory
only: the loop ends at the first part whose outcome is unknown, and is not continued. One part is one call of
`perform.commit_part`, and nothing else is sent.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Mapping, Sequence

import msgspec

from queries.change import perform, redrive, signals
from queries.change import plan as plans
from queries.change import run as runs
from queries.change.admit import CHANGED_MEANWHILE
from queries.change.plan import Plan, check_storable, current_reader, plan_versions, split
from queries.change.run import Beginning, Run, RunPlan
from queries.change.state import Do, Event, Kind, Reason, State, Step, go_on
from queries.contract.server_spec import LABEL
from queries.db.connecting import OUTAGE_SECONDS, Backoff
from queries.db.errors import NO_CONNECTION, DatabaseError, LostError, OvertakenError, attempted
from queries.log import audit_log
from queries.log.receipts import COMMIT_LOST
from queries.records.action import Answer, Change, Outcome, Result, merged
from queries.records.run import BULK, Member, RunDetail
from queries.workspace import Workspace

POLL_SECONDS = 0.5  # at most, between two polls of the watched nodes
POLL_PAUSE_FACTOR = 20  # the next poll waits this many times the duration of the last one
IN_DOUBT = "its change was interrupted, and it is not known whether it was committed"
NOT_TRIED = "not tried: interrupted"


class Loop:
    """A change, carried out by this console.

    ``step`` and ``state`` are up to date whenever `steps` yields. ``run``: None if it has no entries in the table.
    ``before``: outcomes of nodes that it does not try. ``error_text``: why the server cannot be reached now, or "".
    ``lost``: nodes whose change a failover has undone. ``stopped``: the operator ends it. ``left``: it ends for this
    console, and a run stays open. ``broken``: it has no run, and the outcome of a part is unknown, or its server lost.
    """

    def __init__(
        self,
        workspace: Workspace,
        dry_run: Change | None = None,
        operator: audit_log.Operator | None = None,
        *,
        run: Run | None = None,
        before: Change | None = None,
    ) -> None:
        """``dry_run``: of the nodes to change, which was confirmed.

        None for a redrive, which dry-runs each cohort itself, and to end a run. ``before``: earlier outcomes, which the
        state has too.
        """
        self.run = run
        self.state = run.plan.state() if run and dry_run is None else State([dry_run.versions] if dry_run else ())
        self.step: Step | None = None
        self.now = 0.0
        self.error_text = ""
        self.lost: set[str] = set()
        self.stopped = self.left = self.broken = False
        self._workspace, self._operator = workspace, operator or audit_log.operator()
        self.before = before or Change()
        self._dry_run = dry_run
        self._plan: Plan | None = None  # made once, when the server accepts changes
        self._split: Sequence[Sequence[str]] = ()  # nodes of each part
        self._held: Mapping[str, str] = {}
        self._current = self._taken = False
        self._life = ""  # of the server that the entries were read from
        self._overtaken = False  # a change found the lock of the run taken, so the entries are read again
        self._doubtful: set[str] = set()  # nodes of a change whose outcome was not read yet
        self._known: dict[runs.Key, Change] = {}  # outcomes with rows
        self._agreed: Step | None = None
        self._decided = asyncio.Event()
        self._cost = 0.0  # seconds that the last look took

    # decisions of the operator, which the next step follows

    def stop(self) -> None:
        """End it: begin no further part."""
        self.stopped = True
        self._decided.set()

    def leave(self) -> None:
        """End the part of this console. A run stays open."""
        self.left = True
        self._decided.set()

    def agree(self, ask: Step) -> None:
        """Answer a question with "go on"."""
        self._agreed = ask
        self._decided.set()

    @property
    def nodes(self) -> int:
        """Number of nodes of all parts, with those of ``run`` that have an outcome."""
        return len(self.run.plan.members) if self.run else sum(map(len, self.state.parts))

    async def begin(self) -> Loop:
        """Divide the nodes into parts, write the beginning of a run, return itself.

        Raises DatabaseError. Nodes that the dry run skipped are skipped: the operator did not see what would change.
        Nodes that an executor was running are waited for at the end, at most ``dry_run.wait`` seconds.
        """
        dry_run, workspace = self._dry_run, self._workspace
        if dry_run is not None:
            check_storable(dry_run.reason, dry_run.arguments)
            whys = {r.id: r.why for r in dry_run.results}
            held = dry_run.for_now if dry_run.wait > 0 else ()
            skipped = {r.id: r for r in dry_run.results if r.outcome is not Outcome.CHANGED and r.id not in held}
            versions = {i: version for i, version in dry_run.versions.items() if i not in skipped}
            self._held = {i: whys[i] for i in held if i in versions}
            free = {i: version for i, version in versions.items() if i not in self._held}
            is_session = dry_run.engine == LABEL
            parts = [tuple(free)] if is_session else split(msgspec.structs.replace(dry_run, versions=free))
            self._split = [part for part in parts if part]
            more = tuple(skipped[i] for i in dry_run.versions if i in skipped)
            self.before = msgspec.structs.replace(self.before, results=(*self.before.results, *more))
            self._dry_run = msgspec.structs.replace(dry_run, versions=versions)
            if self.run is None and not is_session and len(versions) > plans.PART_NODES:
                await self._begin_run(dry_run, versions)
        self.state = self._first_state()
        self._current = self._taken = self.run is None or self.run.fresh
        if self.run is not None:
            self._life = workspace.server.life
        return self

    async def _begin_run(self, dry_run: Change, versions: Mapping[str, str]) -> None:
        """Write the beginning of a run, if the table can hold it."""
        if self._workspace.audit_log.run_table is None:
            return
        plan = RunPlan(
            label=dry_run.engine,
            schema=self._workspace.engines[dry_run.engine].detected.schema,
            reason=dry_run.reason,
            members=tuple(Member(id=i, version=v, title=dry_run.titles.get(i, "")) for i, v in versions.items()),
            beginning=Beginning(kind=BULK, action=dry_run.action, nodes=len(versions), arguments=dry_run.arguments),
        )
        self.run = await runs.begin(self._workspace, plan, self._operator)

    def _first_state(self) -> State:
        if self._dry_run is None and self.run is not None:
            return self.run.plan.state()
        wait = 0.0 if self._dry_run is None else self._dry_run.wait
        return State(self._split, held=self._held, wait=wait, before=self.before)

    async def steps(self) -> AsyncGenerator[Step]:
        """Yield each step before it is done, and the end last.

        Ends without it if the operator has left, and without a run at a part whose outcome is unknown. A lost server is
        waited for; then the entries are read again, because what was sent last may have been lost. Raises
        DatabaseError; a run can be resumed.
        """
        backoff, until = Backoff(), time.monotonic() + OUTAGE_SECONDS
        while True:
            try:
                if not self._current or (self._overtaken and not self.left):
                    await self.read()
                if self.left or (self.broken and self.state.pending()):
                    return
                step = self.step = await self._next()
                backoff, until, self.error_text = Backoff(), time.monotonic() + OUTAGE_SECONDS, ""
                yield step
                if step.do is Do.END:
                    return
                if not (self.stopped or self.left):
                    await self._do(step)
            except NO_CONNECTION as error:
                self._current = False
                if self.left:
                    return
                if time.monotonic() > until or self.stopped or self.run is None:
                    raise
                self.error_text = error.line
                rests = self._workspace.database.rests or 0.0
                self.step = Step(Do.PAUSE, seconds=rests or backoff.next(error))
                yield self.step
                await self._pause(self.step.seconds)

    async def finish(self) -> None:
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

    async def _next(self) -> Step:
        self.now, answers = await self._look(self.state.watched() if self.state.ended is None else ())
        self.state.observe(answers)
        step = self.state.next(self.now)
        if self.stopped and step.do is not Do.END:
            step = self.state.end(Reason.STOPPED)
        if step.do is Do.END and step.event is not None and self.state.ended is None:
            await self._add(step.event)
        return step

    async def _do(self, step: Step) -> None:
        if step.do is Do.CHANGE:
            self._doubtful = set(step.ids)  # until it is known
            try:
                done = await self.change(step)
            except OvertakenError:  # nothing was sent, and the entries say if another console has the run
                self._overtaken, self._doubtful = True, set()
                return
            if done is None:
                self._current = False
                return
            self._doubtful = set()
            self.broken = self.run is None and any(r.outcome in (Outcome.UNKNOWN, Outcome.UNSENT) for r in done.results)
            self._known[runs.key(done)] = done
            self.state.add(self.now, Event(event=Kind.CHANGED, cohort=step.part), done)
            self._current = self._current and not self._is_replaced()
        elif step.do is Do.RECORD and step.event is not None:
            await self._add(step.event, step.results)
        elif step.do is Do.ASK:
            agreed, self._agreed = self._agreed, None
            if agreed is not None and (agreed.question, agreed.part) == (step.question, step.part):
                await self._add(go_on(agreed))
            else:
                await self._pause(POLL_SECONDS)
        else:
            await self._pause(min(step.seconds, POLL_SECONDS))

    async def _add(self, event: Event, results: tuple[Result, ...] = ()) -> None:
        """Record an event; only then it counts."""
        if self.run is not None:
            await self.record(event, results)
        self.state.add(self.now, event, Change(results=results) if results else None)

    async def _pause(self, seconds: float) -> None:
        """Wait until the operator decides, so long that looking costs the server little."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(max(seconds, self._cost * POLL_PAUSE_FACTOR)):
                await self._decided.wait()
        if not (self.stopped or self.left):
            self._decided.clear()

    # the server

    async def read(self) -> None:
        """Take the run over, and begin again from its entries."""
        state, before = self._first_state(), self.state.ids(Outcome.CHANGED)
        await self._entries(state)
        self.state = state
        self.lost |= before - state.ids(Outcome.CHANGED)
        self._current, self._overtaken, self._doubtful = True, False, set()

    async def _entries(self, state: State) -> None:
        assert self.run is not None
        workspace, plan, log = self._workspace, self.run.plan, self.run.log
        await workspace.database.renew()
        if why := workspace.database.why_read_only():
            raise LostError(why)
        self._life = workspace.server.life
        current_reader(workspace, plan.label)
        if not self._taken:
            self._taken = await log.take_over(runs.event_entry(workspace, plan, self._operator))
        runs.fold(workspace, plan.label, state, await log.entries(guarded=self._taken), self._known)

    async def record(self, event: Event, results: tuple[Result, ...] = ()) -> None:
        """Write the entry of an event. Raises DatabaseError, OvertakenError."""
        assert self.run is not None
        entry = runs.event_entry(self._workspace, self.run.plan, self._operator, results)
        await self.run.log.record(entry, msgspec.to_builtins(event))

    def _is_replaced(self) -> bool:
        """Return True if another server answers than at the last `read`."""
        server = self._workspace.database.server
        return self.run is not None and server is not None and server.life != self._life

    async def _look(self, ids: Sequence[str]) -> tuple[float, Mapping[str, Answer]]:
        """Return the time, and the answers of the watched nodes."""
        if self.state.settings is None or self.run is None:
            return time.monotonic(), {}
        started, plan = time.monotonic(), self.run.plan
        at = await self._workspace.now()
        answers = await redrive.read_answers(current_reader(self._workspace, plan.label), plan, set(ids))
        self._cost = time.monotonic() - started
        return at, answers

    async def change(self, step: Step) -> Change | None:
        """Change nodes with the write path of every action.

        None if it is not known whether that was committed. Raises LostError if the server was lost before,
        OvertakenError if another console continues the run.
        """
        workspace, run = self._workspace, self.run
        if run is not None and (why := workspace.database.why_read_only()):
            raise LostError(why)  # a plan that is made now would refuse every node
        dry_run, cohort = self._dry_run, None
        if dry_run is None:
            dry_run, cohort = await self._cohort(step), step.part
        else:
            dry_run = msgspec.structs.replace(dry_run, versions={i: dry_run.versions[i] for i in step.ids})
            if step.waited:
                dry_run = msgspec.structs.replace(dry_run, results=(), row_digests={}, waited=True)
            if dry_run.engine == LABEL:
                shown = tuple(result for result in dry_run.results if result.id in dry_run.versions)
                dry_run = msgspec.structs.replace(dry_run, results=shown)
                return await signals.commit(workspace, dry_run, self._operator)
            self._plan = self._plan or self._planned()
        log = None if run is None else run.log
        every = await perform.commit_part(workspace, dry_run, self._operator, plan=self._plan, run=log, cohort=cohort)
        done = self._final(merged(every)) if step.waited else merged(every)
        if run is None:
            return done
        if done.lost:
            raise LostError(done.lost)
        if any(result.outcome is Outcome.UNKNOWN for result in done.results):
            return None
        if cohort is not None:
            self.now = await workspace.now()
        return await self._with_skipped(step, done, [r for each in every if each.xid is None for r in each.results])

    async def _with_skipped(self, step: Step, done: Change, unrecorded: Sequence[Result]) -> Change:
        """Record the skipped nodes that no entry of a change names.

        Return the change; without these nodes if another console has the run.
        """
        ids = {result.id for result in done.results}
        skipped = {result.id: result for result in unrecorded if result.id in ids}
        if skipped:
            try:
                await self.record(Event(event=Kind.SKIPPED, cohort=step.part), tuple(skipped.values()))
            except OvertakenError:
                rest = tuple(result for result in done.results if result.id not in skipped)
                return msgspec.structs.replace(done, results=rest)
        return done

    async def _cohort(self, step: Step) -> Change:
        """Dry-run a cohort. Raises DatabaseError if the action is not possible at all."""
        assert self.run is not None
        plan = self.run.plan
        part = runs.part_of(self._workspace, plan, step.ids)
        available = current_reader(self._workspace, plan.label).availability(part.action, bulk=True)
        if not available.ok:
            raise DatabaseError(f"{plan.action} is not possible now: {available.why}.")
        return await perform.dry_run(self._workspace, part, plan.reason, plan.beginning.arguments)

    def _planned(self) -> Plan:
        dry_run = self._dry_run
        assert dry_run is not None
        return plan_versions(self._workspace, dry_run.engine, dry_run.action, dry_run.versions, dry_run.titles)

    def _final(self, done: Change) -> Change:
        """Return an attempt without the nodes that are not free yet.

        The state has the reasons.
        """
        ended = []
        for result in done.results:
            if result.id in done.for_now:
                self.state.held[result.id] = result.why
            elif result.outcome is not Outcome.LOCKED and (
                result.outcome is not Outcome.STALE or result.why == CHANGED_MEANWHILE
            ):  # a node that changed during the statement, not before it, is tried again
                ended.append(result)
        return msgspec.structs.replace(done, results=tuple(ended))


async def commit(workspace: Workspace, dry_run: Change, operator: audit_log.Operator) -> Change:
    """Commit what was dry-run, guarded by what was seen.

    Raises no error for what may have been committed.
    """
    loop = await Loop(workspace, msgspec.structs.replace(dry_run, wait=0.0), operator).begin()
    await loop.finish()
    return loop.state.change()


async def stop(workspace: Workspace, run: Run) -> Loop:
    """End a run.

    Another console that continues it begins no further change. Raises DatabaseError.
    """
    loop = await Loop(workspace, run=run).begin()
    loop.stop()
    await loop.finish()
    return loop


async def look(workspace: Workspace, run: Run, *, settled: bool = False) -> RunDetail:
    """Return a run with its outcomes so far, and of a redrive what its nodes do now.

    Continues nothing. ``settled``: once no transaction of it is running. Raises DatabaseError.
    """
    plan, state, step, unread = run.plan, run.plan.state(), None, ""
    entries = await (run.log.entries(guarded=False) if settled else run.log.entries_so_far())
    runs.fold(workspace, plan.label, state, entries)
    if plan.is_redrive and state.ended is None:
        at = await workspace.now()
        answers = await attempted(redrive.read_answers(workspace.named(plan.label), plan, set(state.watched())))
        if isinstance(answers, DatabaseError):
            unread = answers.line
        else:
            state.observe(answers)
            step = state.next(at)
    begun = msgspec.structs.replace(run.begun, engine=plan.label)
    last_at = max((entry.at for entry in entries), default=begun.at)
    ended = None if state.ended is None else msgspec.to_builtins(state.ended)
    # An end that a look comes to is not recorded, so it is none.
    asks = step if step is not None and step.do is Do.ASK else None
    return RunDetail(
        run=runs.summary(begun, len(state.ids(Outcome.CHANGED)), last_at, ended),
        results=tuple(state.results.values()),
        pending=tuple(state.pending()),
        report=redrive.report(run, state, asks) if plan.is_redrive else None,
        unread=unread,
    )
