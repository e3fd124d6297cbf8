"""Runs that have not ended, and unknown outcomes of earlier sessions."""

from __future__ import annotations

from queries.db.errors import NO_CONNECTION, DatabaseError
from queries.records.action import Outcome
from queries.records.run import RunSummary, commands_of
from queries.runs.run import listed
from queries.text import duration
from queries.workspace import Workspace
from queries.write import audit_log

ENTRIES_READ = 200  # newest entries of the audit log file that are read at the start
RUNS_SHOWN = 3  # runs that have a message of their own


async def messages(workspace: Workspace) -> list[str]:
    """Return a message for each unfinished run, and one for unknown outcomes.

    Raises an error of NO_CONNECTION only.
    """
    try:
        answer = await listed(workspace, RUNS_SHOWN + 1, open_only=True)
        runs = [run for run in answer.runs if run.state == "open"]
        now = await workspace.now() if runs else 0.0
    except NO_CONNECTION:
        raise
    except DatabaseError as error:
        return [error.line]
    command = workspace.database.command
    lines = [_message(workspace, run, now) for run in runs[:RUNS_SHOWN]]
    lines += [f"There are more: `{command('runs')}` lists them."] if len(runs) > RUNS_SHOWN else []
    lines += answer.unread[:RUNS_SHOWN]
    if not workspace.audit_log.in_table:
        try:
            entries, _ = await audit_log.page(workspace.audit_log.file, None, ENTRIES_READ)
        except DatabaseError as error:
            return [*lines, error.line]
        intents = sum(any(r.outcome is Outcome.UNKNOWN for r in entry.results) for entry in entries)
        if intents:
            they = "1 audit log entry has" if intents == 1 else f"{intents} audit log entries have"
            lines.append(f"{they} no known outcome: see `{command('audit')}`.")
    return lines


def _message(workspace: Workspace, run: RunSummary, now: float) -> str:
    commands = commands_of(workspace.database.command, run.kind, run.run)
    ago = duration.spelled(max(now - run.last_at, 0.0))
    return (
        f"Unfinished {run.kind} {run.run}: {run.action} in {run.engine}, {run.changed} of {run.nodes} nodes are"
        f" changed, the last {ago} ago. {commands.sentence} It was begun by {run.who}."
    )
