"""Running commit of an action, in its own task that the screen never cancels."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from time import monotonic

import msgspec

from queries.actions import wait
from queries.actions.outcome_sum import OutcomeSum
from queries.db.errors import DatabaseError
from queries.records.action import DryRun, Outcome, Result
from queries.workspace import Workspace
from queries.write import audit_log, bulk_list

STOPPED = "stopped earlier; not changed"


class BulkRun:
    """Commit of a dry run, chunk by chunk.

    ``changed`` is called after each chunk and at the end.
    """

    def __init__(self, workspace: Workspace, dry_run: DryRun, changed: Callable[[], None]) -> None:
        self.dry_run = dry_run
        self.outcomes = OutcomeSum(workspace.journal)
        self.bulk = ""  # id of the bulk list, by which the rest can be continued
        self.error_text = ""  # error while waiting for the server; "" if it does not wait
        self.retry_at = 0.0  # monotonic time of the next attempt
        self.held: float | None = None  # maximum seconds to wait for locked nodes; None if it does not wait
        self.ended = False
        self.seen = False  # True once the result was on the screen
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
        """Number of nodes of the dry run."""
        return len(self.dry_run.versions)

    @property
    def rate(self) -> float:
        """Nodes per second since the start, or since it was resumed."""
        return (len(self.results) - self._before) / max(monotonic() - self._began, 0.001)

    @property
    def seconds_left(self) -> float | None:
        """Estimated seconds for the rest; None before the first chunk."""
        return (self.total - len(self.results)) / self.rate if self.rate else None

    @property
    def stopped(self) -> int:
        """Number of nodes not reached because of a stop; 0 until the run has ended."""
        return sum(result.why == STOPPED for result in self.results) if self.ended else 0

    @property
    def awaited_standbys(self) -> str:
        """The setting that names the standbys for which a COMMIT waits now, or ""."""
        return self._workspace.awaited_standbys

    @property
    def stopping(self) -> bool:
        """True if the run ends after the current chunk."""
        return self._stop.is_set()

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

    def correct(self) -> int:
        """Apply later corrections and return the number of changed results.

        Corrections occur when a failover has lost changes.
        """
        return self.outcomes.correct()

    def stop(self) -> None:
        """Stop before the next chunk."""
        self._stop.set()

    def go_on(self) -> None:
        """Continue a stopped run with the remaining nodes and the same versions."""
        self.outcomes.results = [result for result in self.results if result.why != STOPPED]
        self.ended = self.seen = False
        self._stop.clear()
        self._began, self._before = monotonic(), len(self.results)
        self.task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        done = {result.id for result in self.results}
        versions = {id_: version for id_, version in self.dry_run.versions.items() if id_ not in done}
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
            # A bug of the console: the current chunk may or may not be committed.
            self._rest(Outcome.UNKNOWN, f"the console failed during the run: {type(error).__name__}: {error}")
        self._rest(Outcome.REFUSED, STOPPED)
        self.ended = True
        self._changed()

    def _rest(self, outcome: Outcome, why: str) -> None:
        done = {result.id for result in self.results}
        left = [node_id for node_id in self.dry_run.versions if node_id not in done]
        self.outcomes.results += [Result(id=node_id, outcome=outcome, why=why) for node_id in left]
