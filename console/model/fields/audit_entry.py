"""Fields of an entry of the audit log. UI-free."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from console.model.fields.field import Bundle, Context, Field, Form, Grouping, RecordType, by, moment, within
from console.text import formatting, spans
from console.text.spans import Spans
from console.text.views.audit_entry import given, outcome, target
from console.text.views.audit_entry import who as entry_who
from queries.records.action import Outcome, Result
from queries.records.audit import AuditLogEntry
from queries.records.record import Record
from queries.text.safe_text import safe_text


def who(entry: AuditLogEntry) -> str:
    """Return who acted: the user of the machine, else the role of the database."""
    return f"{entry.os_user}@{entry.host}" if entry.os_user else entry.role


def _targets(entry: AuditLogEntry) -> list[str]:
    return [*(result.id for result in entry.results), *entry.titles.values()]


class RunGroup(Record):
    """The entries of a run, in one row."""

    run: str


def by_run(entries: Iterable[AuditLogEntry]) -> list[Bundle[AuditLogEntry]]:
    """Return the entries as rows, in their order, those of a run as one."""
    groups: dict[str, tuple[object, list[AuditLogEntry]]] = {}
    for entry in entries:
        key, group = _by_run(entry)
        groups.setdefault(key, (group, []))[1].append(entry)
    return [Bundle(id=key, records=tuple(some), group=group) for key, (group, some) in groups.items()]


def _by_run(entry: AuditLogEntry) -> tuple[str, object]:
    return (f"run {entry.run}", RunGroup(run=entry.run)) if entry.run else (entry.id, entry.id)


def _events(row: Bundle[AuditLogEntry]) -> dict[str, Any]:
    return {
        name: value for entry in sorted(row.records, key=lambda each: each.at) for name, value in entry.event.items()
    }


def _when(row: Bundle[AuditLogEntry], context: Context) -> Spans:
    at = max(entry.at for entry in row.records)
    named = row.foldable and not isinstance(row.group, RunGroup)
    return [(f"{row.group} " if named else moment(at, context), "$faint")]


def _entry(row: Bundle[AuditLogEntry], context: Context) -> Spans:
    return [(row.group.run if isinstance(row.group, RunGroup) else row.records[0].id, "$faint")]


def _action(row: Bundle[AuditLogEntry], context: Context) -> Spans:
    names = dict.fromkeys(entry.action for entry in sorted(row.records, key=lambda each: each.at))
    return [(next(iter(names)) if len(names) == 1 or isinstance(row.group, RunGroup) else "", "bold $accent")]


def _outcome(row: Bundle[AuditLogEntry], context: Context) -> Spans:
    if row.record is not None:
        return outcome(row.record)
    if not isinstance(row.group, RunGroup):
        return [(f"{len(row.records)} entries", "bold")]
    changed = sum(result.outcome is Outcome.CHANGED for entry in row.records for result in entry.results)
    events = _events(row)
    nodes, answers = events.get("nodes"), events.get("answers")
    read = any(entry.id == row.group.run for entry in row.records)  # its first entry, so all
    parts = [f"{changed:,} of {nodes:,} changed" if isinstance(nodes, int) else f"{changed:,} changed"]
    parts[0] = parts[0] if read else f"at least {parts[0]}"
    parts += [f"{n} {name}".replace("_", " ") for name, n in answers.items()] if isinstance(answers, dict) else []
    return [(safe_text(", ".join(parts)), "bold")]


def _target(row: Bundle[AuditLogEntry], context: Context) -> Spans:
    if row.record is not None:
        return [(target(row.record), "")]
    if not isinstance(row.group, RunGroup):
        return []
    events = _events(row)  # the action of the row is only "bulk"
    named = ", ".join(filter(None, (str(events.get("action") or ""), f"run {row.group.run}")))
    return [(safe_text(str(events.get("selection") or named)), "")]


def _arguments(entry: AuditLogEntry) -> list[str]:
    return [f"{name}={formatting.scalar(value)}" for name, value in given(entry).items()]


FIELDS: Final[tuple[Field[AuditLogEntry], ...]] = (
    Field("run", lambda entry, _: entry.run, Form.BEGINNING, "id of its run", group=Grouping("run", _by_run)),
    Field(
        "age", "at", Form.AGE, "time since the action", title="when", printed="time", width=9, absolute="time",
        style="$faint", row=_when, row_order=lambda row, _: -max(entry.at for entry in row.records),
    ),
    Field("entry", "id", searched=True, printed="entry", style="$faint", row=_entry),
    Field(
        "action", "action", Form.BEGINNING, "name of the action", searched=True,
        group=by("action", lambda entry: entry.action), title="action", printed="action", width=9, style="bold $accent",
        row=_action,
    ),
    Field(
        "outcome", lambda entry, _: [result.outcome for result in entry.results], Form.BEGINNING,
        "outcome of one of its nodes", title="outcome", printed="outcome", width=18,
        spans=lambda entry, _: outcome(entry), row=_outcome,
        row_order=lambda row, context: spans.text(_outcome(row, context)),
    ),
    Field(
        "target", lambda entry, _: _targets(entry), Form.PART, "id or title of one of its nodes", searched=True,
        title="target", printed="target", spans=lambda entry, _: [(target(entry), "")], row=_target,
        order=lambda entry, _: target(entry),
    ),
    Field(
        "who", lambda entry, _: (who(entry), entry.role), Form.PART, "user and host, or role of the database",
        searched=True, group=by("who", who), title="who", printed="who", width=30, needs=116,
        spans=lambda entry, _: [(entry_who(entry) if entry.os_user else entry.role, "")],
        order=lambda entry, _: who(entry),
    ),
    Field("role", "role", Form.BEGINNING, "role of the database", printed="role"),
    Field(
        "engine", "engine", Form.BEGINNING, "label of the engine", group=by("engine", lambda entry: entry.engine),
        title="engine", printed="engine", width=14, needs=140,
    ),
    Field(
        "reason", "reason", Form.PART, "why it was done", searched=True, title="reason", printed="reason", width=24,
        needs=96,
    ),
    Field(
        "database", lambda entry, _: formatting.place(entry.origin) if entry.origin else None, Form.PART,
        "database that an entry of the local file is about", printed="database",
    ),
    Field("arguments", lambda entry, _: _arguments(entry), Form.PART, "arguments of the action", printed="arguments"),
    Field("id", lambda entry, _: [result.id for result in entry.results], Form.BEGINNING, "id of one of its nodes"),
    Field("nodes", lambda entry, _: len(entry.results), Form.NUMBER, "number of its nodes"),
)  # fmt: skip
NAMED: Final = {field.name: field for field in FIELDS}
ENTRIES: Final = RecordType[AuditLogEntry]("entry", lambda entry: entry.id, FIELDS, grouped=True)

Row = tuple[AuditLogEntry, Result]
"""An entry, and the outcome of one of its nodes."""


def _of_entry(*fields: Field[AuditLogEntry]) -> Iterator[Field[Row]]:
    return (within(field, "", lambda row, _: row[0]) for field in fields)


RESULTS: Final[tuple[Field[Row], ...]] = (
    *_of_entry(NAMED["age"], NAMED["role"], Field("os_user", "os_user"), Field("host", "host")),
    *_of_entry(NAMED["engine"], Field("schema", "schema"), NAMED["action"]),
    Field("target", lambda row, _: row[1].id),
    Field("title", lambda row, _: row[1].name),
    Field("outcome", lambda row, _: row[1].outcome),
    Field("why", lambda row, _: row[1].sentence),
    *_of_entry(NAMED["reason"], Field("arguments", lambda entry, _: _json(entry.arguments))),
    *_of_entry(Field("transaction", "xid"), NAMED["entry"]),
)
"""Columns of an export with a line for each node."""


def _json(arguments: dict[str, Any]) -> str:
    return msgspec.json.encode(arguments).decode() if arguments else ""
