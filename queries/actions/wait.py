"""Wait for nodes that an executor is running, and act on each when it is free.

A task whose poll fails repeatedly is idle only for seconds, between its timeout and the next retry. An operator cannot
hit that window by hand. So the confirmed action is tried again at short intervals, up to a limit. Each attempt is one
transaction. It accepts the node in its current version, because the executor's retries change the version. The node's
``steady`` text from the action's ``lock`` section must not change during the wait.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator

import msgspec

from queries.actions import perform
from queries.actions.bulk import Progress
from queries.records.action import DryRun, Outcome, Outcomes, Result
from queries.workspace import Workspace
from queries.write import audit_log
from queries.write.action_transaction import CHANGED_MEANWHILE
from queries.write.bulk_list import BulkList

PAUSE = 0.1  # seconds between two attempts; one takes about 5 ms
LONGEST_WAIT_SECONDS = 3600.0  # longest wait, in seconds

STILL_HELD = "it was not free within {limit:.0f} s: {why}"


async def bulk(
    workspace: Workspace,
    dry_run: DryRun,
    operator: audit_log.Operator,
    stop: asyncio.Event,
    bulk_list: BulkList | None = None,
) -> AsyncIterator[Progress]:
    """Commit what was dry-run, then wait for nodes that were refused for now.

    The wait takes at most ``dry_run.wait`` seconds. ``stop`` starts no further attempt. Without nodes
    to wait for, this is :func:`queries.actions.perform.bulk`.
    """
    limit = min(dry_run.wait, LONGEST_WAIT_SECONDS)
    waiting = set(dry_run.for_now) & dry_run.versions.keys() if limit > 0 else set()
    now = {i: version for i, version in dry_run.versions.items() if i not in waiting}
    total = len(dry_run.versions)
    if now:
        part = msgspec.structs.replace(dry_run, versions=now)
        async with contextlib.aclosing(perform.bulk(workspace, part, operator, stop, bulk_list)) as steps:
            async for progress in steps:
                yield msgspec.structs.replace(progress, total=total)
                if progress.given_up:
                    return
    until, done = time.monotonic() + limit, len(now)
    why = {r.id: r.why for r in dry_run.results}
    while waiting and not stop.is_set():
        chunk = await _tried(workspace, dry_run, sorted(waiting), operator, why)
        waiting -= {result.id for result in chunk.results}
        done += len(chunk.results)
        left = until - time.monotonic()
        yield Progress(done=done, total=total, chunk=chunk, held=max(left, 0.0) if waiting else None)
        if left <= 0:
            late = [
                Result(id=i, outcome=Outcome.REFUSED, why=STILL_HELD.format(limit=limit, why=why[i]))
                for i in sorted(waiting)
            ]
            if late:
                yield Progress(done=total, total=total, chunk=Outcomes(results=tuple(late)))
            return
        if waiting:
            await _pause(stop, min(PAUSE, left))


async def _tried(
    workspace: Workspace, wanted: DryRun, ids: list[str], operator: audit_log.Operator, why: dict[str, str]
) -> Outcomes:
    """Try once, in one transaction.

    Return the outcomes of the nodes whose wait is over.
    """
    versions = {i: wanted.versions[i] for i in ids}
    part = msgspec.structs.replace(wanted, versions=versions, results=(), row_digests={}, waited=True)
    done = await perform.commit(workspace, part, operator)
    ended = []
    for result in done.results:
        if result.id in done.for_now:
            why[result.id] = result.why
        elif result.outcome is not Outcome.LOCKED and not _changed_during_statement(result):
            ended.append(result)
    return msgspec.structs.replace(done, results=tuple(ended))


def _changed_during_statement(result: Result) -> bool:
    """Return True if the node changed during the statement, not before it."""
    return result.outcome is Outcome.STALE and result.why != CHANGED_MEANWHILE


async def _pause(stop: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await stop.wait()
    except TimeoutError:
        pass
