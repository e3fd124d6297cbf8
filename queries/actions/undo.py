"""Plan of the undo of an audit log entry, or of all entries of a run."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from queries.actions.plan import Plan, plan_versions
from queries.db.errors import DatabaseError, UnknownIdError
from queries.records.audit import OTHERS, RUN, AuditLogEntry
from queries.workspace import Workspace
from queries.write import undo


async def plan_entry(workspace: Workspace, name: str, ids: Collection[str] = ()) -> Plan:
    """Plan the undo of an entry or a run, or of ``ids`` of its nodes only.

    ``name``: id of the entry, or of the run. Raises DatabaseError, UnknownIdError.
    """
    return plan_undo(workspace, await workspace.audit_log.find(name), ids)


def plan_undo(workspace: Workspace, entries: Sequence[AuditLogEntry], ids: Collection[str] = ()) -> Plan:
    """Plan the undo of ``entries``: one, or those of a run, newest first.

    Raises DatabaseError, UnknownIdError.
    """
    entries = [entry for entry in entries if undo.result_of(entry.results)] or entries[:1]  # without events of a run
    reader = workspace.recorded(entries[0].engine, entries[0].schema)
    if reader is None:
        raise DatabaseError(f"The entry {entries[0].id} is about {entries[0].engine}, which cannot be changed here.")
    changes: dict[str, tuple[str, str]] = {}  # by node: its entry and title
    for entry in entries:
        for node_id, title in undo.result_of(entry.results).items():
            if reader.ids.owns(node_id):
                changes.setdefault(reader.ids.present(node_id), (entry.id, title))
    what = f"entry {entries[0].id}" if len(entries) == 1 else f"run {entries[0].run}"
    targets = [reader.ids.present(i) for i in ids] or list(changes)
    unknown = [i for i in targets if i not in changes]
    if unknown:
        raise UnknownIdError(f"The {what} did not change {unknown[0]}.")
    if not targets and entries[0].unreadable:
        raise DatabaseError(f"The {what} cannot be read: {entries[0].unreadable}.", "Nothing was changed.")
    if not targets:
        raise DatabaseError(f"The {what} changed no node of {reader.label}, so there is nothing to undo.")
    versions, titles = {i: changes[i][0] for i in targets}, {i: changes[i][1] for i in targets if changes[i][1]}
    plan = plan_versions(workspace, reader.label, undo.NAME, versions, titles)
    named = {"entry": entries[0].id} if len(entries) == 1 else {RUN: entries[0].run}
    roles = sorted({f"{entry.role} ({entry.os_user}@{entry.host})" for entry in entries})
    undoes = f"{entries[0].action} of the {what}, by the role {', '.join(roles)}"
    stays = dict.fromkeys(str(entry.arguments[OTHERS]) for entry in entries if OTHERS in entry.arguments)
    if stays:
        undoes += f". Rows of other tables do not come back: it has {'; '.join(stays)}"
    return msgspec.structs.replace(plan, key=undo.ACTION.key, arguments=named, undoes=undoes)
