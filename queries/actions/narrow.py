"""Attempts of a request, which find the nodes that make a transaction fail.

These are skipped with the reason. The others go on.
"""

from __future__ import annotations

import time

from queries.actions.attempt import Attempt, outcome_of, transact, unchanged
from queries.db.errors import (
    NO_CONNECTION,
    ConflictError,
    DatabaseError,
    DeniedError,
    LockedError,
    OvertakenError,
    ReadOnlyError,
    SlowError,
    TableLockedError,
)
from queries.records.action import Outcome
from queries.workspace import Workspace
from queries.write.admit import POLICY
from queries.write.gate import UnshownError
from queries.write.request import Request
from queries.write.script import GuardMissedError

PART_SECONDS = 10.0  # for a part, including the halving that finds the nodes that make it fail
_FULL = "53"  # class of SQLSTATE: the server has no disk space, memory or connection left


async def attempt_all(
    workspace: Workspace, request: Request, attempts: list[Attempt], until: float | None = None
) -> None:
    """Run one transaction, and add it to ``attempts``.

    If some nodes make it fail, halve the nodes until only these are skipped.
    ``until``: monotonic time after which nodes are not halved. Raises OvertakenError, and in a dry run DatabaseError.
    """
    seconds = None if until is None else until - time.monotonic()
    until = until or time.monotonic() + PART_SECONDS
    attempt = Attempt(request)
    try:
        await transact(workspace, attempt, seconds)
    except (GuardMissedError, UnshownError) as error:
        reasons = _missed(attempt, error) if isinstance(error, GuardMissedError) else _unshown(request, error)
        stopped = Attempt(request.of(reasons))
        for node_id, reason in reasons.items():
            stopped.nodes.skip(node_id, *reason)
        rest = request.of(i for i in request.versions if i not in reasons)
        attempts.append(stopped)
        if rest.versions:
            await attempt_all(workspace, rest, attempts, until)
    except TableLockedError as error:
        attempts.append(unchanged(request, Outcome.LOCKED, error.line))
    except OvertakenError:
        raise
    except DatabaseError as error:
        lost = isinstance(error, (ReadOnlyError, *NO_CONNECTION))
        denied = isinstance(error, DeniedError) and not lost
        narrows = not lost and _narrows(attempt, error)
        if narrows and len(request.versions) > 1 and time.monotonic() < until:
            await _attempt_halves(workspace, request, attempts, error, until)
            return
        if request.seen is None and not (denied or narrows or error.code.startswith(_FULL)):
            raise
        why = _denial(attempt, error) if denied else error.unchanged_line
        failed = unchanged(request, outcome_of(error, request.reader.engine.spec.stale_by), why)
        failed.lost = error.line if lost else ""  # of a run, whose other parts may be changed
        attempts.append(failed)
    else:
        attempts.append(attempt)


async def _attempt_halves(
    workspace: Workspace, request: Request, attempts: list[Attempt], error: DatabaseError, until: float
) -> None:
    """Run both halves of the nodes whose transaction failed with ``error``."""
    ids = sorted(request.versions)
    for half in (request.of(ids[: len(ids) // 2]), request.of(ids[len(ids) // 2 :])):
        if time.monotonic() < until:
            await attempt_all(workspace, half, attempts, until)
        else:
            outcome = outcome_of(error, request.reader.engine.spec.stale_by)
            attempts.append(unchanged(half, outcome, error.unchanged_line))


def _narrows(attempt: Attempt, error: DatabaseError) -> bool:
    """Return True if single nodes may have caused the error.

    The others can then continue. Class 22: invalid value.
    """
    if isinstance(error, DeniedError):
        return bool(attempt.nodes.policies)
    return isinstance(error, LockedError | ConflictError | SlowError) or error.code.startswith("22")


def _denial(attempt: Attempt, error: DatabaseError) -> str:
    """Return why a policy or a missing privilege stopped an attempt."""
    needed = f"The action needs {', '.join(attempt.script.action.privileges)}, and INSERT on the audit log."
    policies = f"row-level policy or missing privilege: {error.line}"
    return policies if attempt.nodes.policies else f"{error.line} {needed}"


def _missed(attempt: Attempt, error: GuardMissedError) -> dict[str, tuple[Outcome, str]]:
    """Return why nodes were not reached."""
    outcome, why = Outcome.STALE, "it changed during the statement"
    if attempt.nodes.policies:  # another writer is unlikely: the row was locked at its version
        outcome, why = Outcome.DENIED, f"{POLICY}, or {why}"
    return {i: (Outcome.REFUSED, error.whys[i]) if i in error.whys else (outcome, why) for i in error.missed}


def _unshown(request: Request, error: UnshownError) -> dict[str, tuple[Outcome, str]]:
    """Return why nodes are not changed: the transaction did what was not shown."""
    stopped = (i for i in request.versions if i in error.nodes or not error.nodes)
    return {i: (Outcome.CONFLICT, error.nodes.get(i, error.unchanged_line)) for i in stopped}
