"""Bulks that an earlier version left in the local file."""

from __future__ import annotations

import contextlib

import msgspec

from queries.log import audit_log
from queries.log.log_file import Line
from queries.records.action import Outcome, Result
from queries.records.audit import AuditLogEntry
from queries.records.run import RunDetail, RunSummary
from queries.workspace import Workspace

FOLDER = "runs"  # beside the file, with a file for each run that has not ended


def unfinished(workspace: Workspace) -> list[RunDetail]:
    """Return the bulks of this database that have not ended. Raises DatabaseError."""
    file = workspace.audit_log.file
    folder, here = file.path.parent / FOLDER, file.origin()
    names = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    begun: list[Line] = []
    known: dict[str, dict[str, Result]] = {name: {} for name in names}  # the newest result of each node, by run
    for line in file.lines(b'"run"') if names else ():
        entry = line.entry
        if entry.run not in names or entry.origin is None or not entry.origin.same(here):
            continue
        if entry.is_end:
            names.discard(entry.run)
        elif entry.id == entry.run:
            begun.append(line)
        else:
            for result in entry.results:
                lost = Outcome.UNKNOWN if line.intended else result.outcome
                known[entry.run].setdefault(result.id, msgspec.structs.replace(result, outcome=lost))
    return [_detail(line.entry, line.kept, known[line.entry.run], file.place) for line in begun]


def _detail(begun: AuditLogEntry, members: bytes, known: dict[str, Result], place: str) -> RunDetail:
    ids: list[str] = []
    with contextlib.suppress(msgspec.MsgspecError, KeyError, TypeError, IndexError):
        ids = [str(member[0]) for member in msgspec.json.decode(members)["members"]]
    again = (Outcome.UNSENT, Outcome.LOST)
    summary = RunSummary(
        run=begun.run,
        kind=str(begun.event.get("kind", "")),
        engine=begun.engine,
        action=str(begun.event.get("action", "")),
        selection="",
        reason=begun.reason,
        who=begun.who,
        at=begun.at,
        last_at=begun.at,
        state="open",
        nodes=len(ids),
        changed=sum(result.outcome is Outcome.CHANGED for result in known.values()),
        place=place,
    )
    pending = tuple(i for i in ids if i not in known or known[i].outcome in again)
    return RunDetail(run=summary, results=tuple(known.values()), pending=pending)


def older(workspace: Workspace) -> list[str]:
    """Return a line for each bulk of version 0.2.0, of any database."""
    folder = workspace.audit_log.file.path.parent / FOLDER
    paths = sorted(folder.glob("*.jsonl")) if folder.is_dir() else []
    return [f"The file {path} has a bulk of version 0.2.0, which continues or ends it." for path in paths]


def find(workspace: Workspace, name: str) -> RunDetail | None:
    """Return one of them, or None. Raises DatabaseError."""
    if audit_log.is_table_id(name):
        return None
    return next((each for each in unfinished(workspace) if each.run.run == name), None)
