"""A change that this console carries out, in its own task that no screen cancels."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable, Sequence
from time import monotonic

import msgspec

from console.text.views import redrive as views
from console.text.views.lines import titles
from queries.change import redrive
from queries.change.loop import Loop
from queries.change.run import Run
from queries.change.state import Do, State, Step
from queries.db.errors import NO_CONNECTION, DatabaseError
from queries.records.action import Change, Outcome, Result
from queries.records.run import RedriveReport
from queries.workspace import Workspace

STOPPED = "stopped earlier; not changed"
BROKEN = "not tried: what became of an earlier part is not known"


class RunWork:
    """Commit of a dry run, or a redrive, step by step.

    ``changed`` is called after each step and at the end. ``run``: the run in its log; None if one transaction is
    enough. ``error_text``: why it waits for the server, or why it ended early.
    """

    def __init__(
        self,
        workspace: Workspace,
        changed: Callable[[], None],
        *,
        dry_run: Change | None = None,
        run: Run | None = None,
    ) -> None:
        """``dry_run``: what is committed. ``run``: a redrive."""
        self.error_text = ""
        self.retry_at = 0.0  # monotonic time of the next attempt to reach the server
        self.ended = False  # the part of this console
        self.seen = False  # True once the result was on the screen
        self._dry_run = dry_run
        self._workspace, self._changed = workspace, changed
        self._report: RedriveReport | None = None  # of the last step: it counts all nodes
        self._start(Loop(workspace, dry_run, run=run))

    def _start(self, loop: Loop, before: int = 0) -> None:
        """``before``: number of nodes with an outcome."""
        self._loop = loop
        self._began, self._before = monotonic(), before
        self.task = asyncio.create_task(self._run())

    @property
    def run(self) -> Run | None:
        """The run in the audit log; None if one transaction is enough."""
        return self._loop.run

    @property
    def dry_run(self) -> Change:
        """Dry run of what is committed."""
        assert self._dry_run is not None
        return self._dry_run

    @property
    def action(self) -> str:
        """Name of the action."""
        return self.run.plan.action if self.run is not None else self.dry_run.action

    @property
    def title(self) -> str:
        """Title of a redrive, with the titles of its nodes."""
        if self.run is None:
            return ""
        members = {member.id: member.title for member in self.run.plan.members}
        return f"Redrive {self.run_id}: {titles(members, members) or self.run.plan.beginning.selection}"

    @property
    def watches(self) -> bool:
        """True for a redrive, which watches the nodes that it has revived."""
        return self._dry_run is None

    @property
    def complete(self) -> bool:
        """True if each node of a change has an outcome."""
        return not self.watches and self.total <= len(self.results)

    @property
    def wrong(self) -> str:
        """Question of a redrive, or why it waits or has failed; "" for a change."""
        if not self.watches:
            return ""
        return self.error_text or (views.question(self.report) if self.asks else "")

    @property
    def run_id(self) -> str:
        """Id by which the rest can be continued, or ""."""
        return "" if self.run is None else self.run.log.id

    @property
    def rest(self) -> str:
        """Command that continues an open run, in a sentence, or ""."""
        if self.run is None or self.run.log.ended or not (self.report.open if self.watches else self.stopped):
            return ""
        return f"It is open. {self.run.commands(self._workspace.database.command).lines[0]}"

    @property
    def outcomes(self) -> State:
        """Change so far."""
        return self._loop.state

    @property
    def results(self) -> Sequence[Result]:
        """Results so far, one for each node."""
        return [*self.outcomes.results.values()]

    @property
    def total(self) -> int:
        """Number of nodes."""
        return len(self.run.plan.members) if self._dry_run is None and self.run else len(self.dry_run.versions)

    @property
    def rate(self) -> float:
        """Nodes per second since the start, or since it was resumed."""
        return (len(self.results) - self._before) / max(monotonic() - self._began, 0.001)

    @property
    def seconds_left(self) -> float | None:
        """Estimated seconds for the rest; None before the first part."""
        return (self.total - len(self.results)) / self.rate if self.rate else None

    @property
    def stopped(self) -> int:
        """Number of nodes not reached because of a stop; 0 until the run has ended."""
        return sum(result.why == STOPPED for result in self.results) if self.ended else 0

    @property
    def held(self) -> float | None:
        """Most seconds that it still waits for held nodes; None if it does not wait."""
        until = self._loop.state.until
        return None if until is None else max(until - monotonic(), 0.0)

    @property
    def awaited_standbys(self) -> str:
        """The setting that names the standbys for which a COMMIT waits now, or ""."""
        return self._workspace.awaited_standbys

    @property
    def stopping(self) -> bool:
        """True if it ends after the current step."""
        return self._loop.left or self._loop.stopped

    @property
    def asks(self) -> bool:
        """True while the operator must decide."""
        step = self._loop.step
        return step is not None and step.do is Do.ASK and not self.ended

    @property
    def report(self) -> RedriveReport:
        """State of a redrive."""
        if self._report is None:
            assert self.run is not None
            self._report = redrive.report(self.run, self.run.plan.state(), None)
        return self._report

    def counted(self) -> dict[Outcome, int]:
        """Return the number of nodes by outcome."""
        counts = Counter(result.outcome for result in self.results)
        return {outcome: counts[outcome] for outcome in Outcome if counts[outcome]}

    @property
    def summary(self) -> str:
        """Number of nodes by outcome, such as ``12 changed, 1 stale``."""
        return ", ".join(f"{number} {outcome}" for outcome, number in self.counted().items())

    @property
    def retry_in(self) -> float:
        """Seconds until the next attempt to reach the server."""
        return max(self.retry_at - monotonic(), 0.0)

    def leave(self) -> None:
        """End the part of this console after the current step.

        The rest can be continued.
        """
        self._loop.leave()

    def stop(self) -> None:
        """End a redrive after the current step. A change can be continued."""
        if self.watches:
            self._loop.stop()
        else:
            self.leave()

    def answer(self) -> None:
        """Answer the question with "go on"."""
        if self.asks and self._loop.step is not None:
            self._loop.agree(self._loop.step)

    def go_on(self) -> None:
        """Continue a stopped change with the remaining nodes and the same versions."""
        state, dry_run, run = self.outcomes, self.dry_run, self.run
        rest = {i: dry_run.versions[i] for i, result in state.results.items() if result.why == STOPPED}
        state.results = {i: result for i, result in state.results.items() if i not in rest}
        self.ended = self.seen = False
        if run is None:
            dry_run = msgspec.structs.replace(dry_run, versions=rest)
            loop = Loop(self._workspace, dry_run, before=state.change())
        else:
            loop = Loop(self._workspace, dry_run, run=msgspec.structs.replace(run, fresh=False))
        self._start(loop, len(state.results))

    async def _run(self) -> None:
        loop, why, error_text = self._loop, STOPPED, ""
        try:
            await loop.begin()
            async with contextlib.aclosing(loop.steps()) as steps:
                async for step in steps:
                    self._show(step)
        except NO_CONNECTION as error:
            error_text = error.line
        except DatabaseError as error:
            error_text = why = error.line
        except Exception as error:
            # A bug of the console: what was under way may or may not be committed.
            error_text = why = f"the console failed during the run: {type(error).__name__}: {error}"
        if not self.watches:
            rest = loop.unfinished(BROKEN if loop.broken else why)
            loop.state.results |= {result.id: result for result in rest}
        self.error_text, self.ended = error_text, True
        self._changed()

    def _show(self, step: Step) -> None:
        loop = self._loop
        self.error_text = loop.error_text
        if self.run is not None and self.watches:
            self._report = redrive.report(self.run, loop.state, step)
        if step.do is Do.PAUSE:
            self.retry_at = monotonic() + step.seconds
        self._changed()
