"""An action being carried out: a task of its own that nothing on the screen cancels."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from time import monotonic

import msgspec

from queries.actions import wait
from queries.actions.outcome_sum import OutcomeSum
from queries.errors import DatabaseError
from queries.model import DryRun, Outcome, Result
from queries.workspace import Workspace
from queries.write import audit_log, bulk_list

STOPPED = "stopped before its turn came: nothing was changed"


class BulkRun:
    """A dry run being committed, chunk by chunk. ``changed`` is called after each chunk and at the end."""

    def __init__(self, workspace: Workspace, dry_run: DryRun, changed: Callable[[], None]) -> None:
        self.dry_run = dry_run
        self.outcomes = OutcomeSum(workspace.journal)
        self.bulk = ""  # id by which what is left can be continued
        self.error_text = ""  # why the server is waited for, "" where it is not
        self.retry_at = 0.0  # monotonic time at which it is asked again
        self.held: float | None = None  # seconds it waits on at most, while it waits for nodes to be free
        self.ended = False
        self.seen = False  # whether the result was on the screen
        self._began, self._before = monotonic(), 0
        self._stop = asyncio.Event()
        self._workspace = workspace
        self._changed = changed
        self.task = asyncio.create_task(self._run())

    @property
    def results(self) -> Sequence[Result]:
        """Results so far, one for each node."""
        return self.outcomes.results

    @property
    def total(self) -> int:
        """How many nodes it is about."""
        return len(self.dry_run.versions)

    @property
    def rate(self) -> float:
        """Nodes a second since it began or went on."""
        return (len(self.results) - self._before) / max(monotonic() - self._began, 0.001)

    @property
    def seconds_left(self) -> float | None:
        """How long the rest takes at that rate; None as long as there is none."""
        return (self.total - len(self.results)) / self.rate if self.rate else None

    @property
    def stopped(self) -> int:
        """How many nodes it was stopped before, once it has ended."""
        return sum(result.why == STOPPED for result in self.results) if self.ended else 0

    @property
    def stopping(self) -> bool:
        """Whether it ends with what is under way."""
        return self._stop.is_set()

    def counted(self) -> dict[Outcome, int]:
        """How many nodes had which outcome."""
        counts = Counter(result.outcome for result in self.results)
        return {outcome: counts[outcome] for outcome in Outcome if counts[outcome]}

    @property
    def told(self) -> str:
        """``12 changed, 1 moved``."""
        return ", ".join(f"{number} {outcome}" for outcome, number in self.counted().items())

    @property
    def retry_in(self) -> float:
        """Seconds until the server is asked again."""
        return max(self.retry_at - monotonic(), 0.0)

    def correct(self) -> int:
        """Apply later corrections: a failover may have lost changes. Return how many results changed."""
        return self.outcomes.correct()

    def stop(self) -> None:
        """Begin no further chunk."""
        self._stop.set()

    def go_on(self) -> None:
        """Take up what it was stopped before: the same nodes, guarded by the same versions."""
        self.outcomes.results = [result for result in self.results if result.why != STOPPED]
        self.ended = self.seen = False
        self._stop.clear()
        self._began, self._before = monotonic(), len(self.results)
        self.task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        told = {result.id for result in self.results}
        versions = {id_: version for id_, version in self.dry_run.versions.items() if id_ not in told}
        action = msgspec.structs.replace(self.dry_run, versions=versions)
        try:
            list_ = bulk_list.load(self._workspace.bulks, self.bulk, self._workspace.server) if self.bulk else None
            steps = wait.bulk(self._workspace, action, audit_log.operator(), self._stop, list_)
            async for step in steps:
                self.outcomes.add(step.chunk)
                self.bulk, self.error_text = step.bulk, step.error_text
                self.retry_at = monotonic() + (step.waits or 0.0)
                self.correct()
                self.held = step.held
                self._changed()
        except DatabaseError as error:
            self._rest(Outcome.REFUSED, error.line)
        except Exception as error:
            # A fault of ours: whether the chunk under way was committed is not known, and must not look as if it were.
            self._rest(Outcome.UNKNOWN, f"the console failed on the way: {type(error).__name__}: {error}")
        self._rest(Outcome.REFUSED, STOPPED)
        self.ended = True
        self._changed()

    def _rest(self, outcome: Outcome, why: str) -> None:
        told = {result.id for result in self.results}
        left = [node_id for node_id in self.dry_run.versions if node_id not in told]
        self.outcomes.results += [Result(id=node_id, outcome=outcome, why=why) for node_id in left]
