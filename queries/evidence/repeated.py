"""Say which advice was followed lately and has not helped."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping

import msgspec

from queries.db.errors import attempting
from queries.read.incidents import TRIED
from queries.records.action import Outcome
from queries.records.audit import AuditLogEntry
from queries.records.finding import Finding
from queries.records.node import split_id
from queries.text.duration import spelled
from queries.workspace import Workspace

LATELY_SECONDS = 3600.0
ENTRIES_READ = 100  # the newest
SOON_SECONDS = 2.0  # by which a finding may begin after the action that it begins with

Done = Mapping[tuple[str, str], AuditLogEntry]
"""The newest entry by node and action."""


async def done_lately(workspace: Workspace, findings: Iterable[Finding], at: float) -> Done:
    """Return what was done lately, if a finding advises something.

    ``at``: server time. What cannot be read is absent. Raises an error of NO_CONNECTION only.
    """
    done: dict[tuple[str, str], AuditLogEntry] = {}
    if not (workspace.has_entries and any(_advice(workspace, finding) for finding in findings)):
        return done
    from queries.log.audit_log import Criteria

    entries = workspace.audit_log.source.entries(None, None, Criteria(changes=False), ENTRIES_READ)
    with attempting():
        async with contextlib.aclosing(entries):
            read = 0
            async for entry in entries:
                read += 1
                if at - entry.at > LATELY_SECONDS or read > ENTRIES_READ:
                    break
                reader = workspace.recorded(entry.engine, entry.schema)
                if reader is not None:
                    changed = (each.id for each in entry.results if each.outcome is Outcome.CHANGED)
                    done = {(reader.ids.full(reader.ids.local(node)), entry.action): entry for node in changed} | done
    return done


def with_done(workspace: Workspace, finding: Finding, done: Done, at: float) -> Finding:
    """Return a finding that says when its advice was followed."""
    entries = [done[place] for name in _advice(workspace, finding) if (place := (finding.node_id, name)) in done]
    if not entries:
        return finding
    entry = max(entries, key=lambda each: each.at)
    new = finding.since is not None and finding.since > entry.at + SOON_SECONDS
    what = "helped only for a time" if new else "has not helped so far"
    action = workspace.engines[finding.engine].engine.action(entry.action, split_id(finding.node_id)[1])
    title = action.title if action else entry.action
    text = f"{title} {spelled(max(at - entry.at, 0))} ago ({entry.os_user}) {what}."
    sentence = f"{finding.sentence} {text}"
    return msgspec.structs.replace(finding, sentence=sentence, evidence={**finding.evidence, TRIED: text})


def _advice(workspace: Workspace, finding: Finding) -> tuple[str, ...]:
    """Return the actions that a finding advises, also those that are refused now."""
    reader = workspace.engines.get(finding.engine)
    spec = reader.findings.specs.get(finding.code) if reader else None
    return tuple(filter(None, (spec.action, spec.instead))) if spec else ()
