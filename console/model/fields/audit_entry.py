"""Fields of an entry of the audit log. UI-free."""

from __future__ import annotations

from typing import Final

from console.model.fields.field import Bundle, Context, Field, Form, RecordType, by, moment
from console.text import spans
from console.text.pages.audit_entry import outcome, target
from console.text.spans import Spans
from queries.records.audit import AuditLogEntry


def who(entry: AuditLogEntry) -> str:
    """Return who acted: the user of the machine, else the role of the database."""
    return f"{entry.os_user}@{entry.host}" if entry.os_user else entry.role


def _targets(entry: AuditLogEntry) -> list[str]:
    """Return the ids of the nodes, and their titles as far as they were recorded."""
    return [*(result.id for result in entry.results), *entry.titles.values()]


def _when(row: Bundle[AuditLogEntry], context: Context) -> Spans:
    at = max(entry.at for entry in row.records)
    return [(f"{row.group} " if row.foldable else moment(at, context), "$faint")]


def _outcome(row: Bundle[AuditLogEntry], context: Context) -> Spans:
    return [(f"{len(row.records)} entries", "bold")] if row.record is None else outcome(row.record)


FIELDS: Final[tuple[Field[AuditLogEntry], ...]] = (
    Field(
        "age",
        "at",
        Form.AGE,
        "time since the action",
        title="when",
        width=9,
        absolute="when",
        style="$faint",
        row=_when,
        row_order=lambda row, _: -max(entry.at for entry in row.records),
    ),
    Field(
        "action",
        "action",
        Form.BEGINNING,
        "name of the action",
        searched=True,
        group=by("action", lambda entry: entry.action),
        title="action",
        width=9,
        style="bold $accent",
    ),
    Field(
        "outcome",
        lambda entry, _: [result.outcome for result in entry.results],
        Form.BEGINNING,
        "outcome of one of its nodes",
        title="outcome",
        width=18,
        row=_outcome,
        row_order=lambda row, context: spans.text(_outcome(row, context)),
    ),
    Field(
        "target",
        lambda entry, _: _targets(entry),
        Form.PART,
        "id or title of one of its nodes",
        searched=True,
        title="target",
        spans=lambda entry, _: [(target(entry), "")],
        order=lambda entry, _: target(entry),
    ),
    Field(
        "who",
        lambda entry, _: (who(entry), entry.role),
        Form.PART,
        "user and host, or role of the database",
        searched=True,
        group=by("who", who),
        title="who",
        width=18,
        needs=116,
        spans=lambda entry, _: [(who(entry), "")],
        order=lambda entry, _: who(entry),
    ),
    Field(
        "engine",
        "engine",
        Form.BEGINNING,
        "label of the engine",
        group=by("engine", lambda entry: entry.engine),
        title="engine",
        width=14,
        needs=140,
    ),
    Field("reason", "reason", Form.PART, "why it was done", searched=True, title="reason", width=24, needs=96),
    Field("role", "role", Form.BEGINNING, "role of the database"),
    Field("entry", "id", searched=True),
    Field("id", lambda entry, _: [result.id for result in entry.results], Form.BEGINNING, "id of one of its nodes"),
    Field("nodes", lambda entry, _: len(entry.results), Form.NUMBER, "number of its nodes"),
)
NAMED: Final = {field.name: field for field in FIELDS}
ENTRIES: Final = RecordType[AuditLogEntry]("entry", lambda entry: entry.id, FIELDS)
