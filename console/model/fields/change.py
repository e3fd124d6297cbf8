"""Fields of a change of an engine or an operator. UI-free."""

from __future__ import annotations

from typing import Final

from console.model.fields import audit_entry, node
from console.model.fields.field import Bundle, Context, Field, Form, Grouping, RecordType, by, common, moment, within
from console.text import formatting
from console.text.spans import Spans
from console.text.views.changes import status, subject
from queries.records.change import NodeChange

CHANGES_COUNTED = 2000  # changes that are read to count them; of more, the numbers are those of the newest


def key(change: NodeChange) -> str:
    """Return the id of a change."""
    return f"{change.at!r} {change.what} {change.id} {change.new} {change.entry.id if change.entry else ''}"


def _kind(change: NodeChange) -> str:
    return change.id.partition("/")[2].partition(":")[0]


def _who(change: NodeChange) -> str:
    return audit_entry.who(change.entry) if change.entry else "the engines"


def _when(row: Bundle[NodeChange], context: Context) -> Spans:
    at = moment(max(change.at for change in row.records), context)
    return [(f"{len(row.records)} changes" if row.foldable else at, "$faint")]


def _change(row: Bundle[NodeChange], context: Context) -> Spans:
    what = common(change.what for change in row.records) or ""
    return [(what, "bold $accent" if all(change.entry for change in row.records) else "")]


def _status(row: Bundle[NodeChange], context: Context) -> Spans:
    if row.record is not None:
        return status(row.record)
    first, last = min(row.records, key=lambda c: c.at), max(row.records, key=lambda c: c.at)
    if len({change.id for change in row.records}) > 1 or last.entry or first.entry:
        return []
    return [(" → ".join(filter(None, dict.fromkeys((first.old or first.new, last.new)))), "")]


def _title(change: NodeChange, context: Context) -> Spans:
    beside = [] if change.entry else node.id_beside(change.id, change.title, context)
    return [(subject(change), ""), *beside]


FIELDS: Final[tuple[Field[NodeChange], ...]] = (
    Field(
        "age", "at", Form.AGE, "time since the change", title="when", printed="time", width=10, absolute="when",
        style="$faint", row=_when, row_order=lambda row, _: -max(change.at for change in row.records),
    ),
    Field(
        "engine", "engine", Form.BEGINNING, "label of the engine", group=by("engine", lambda change: change.engine),
        title="engine", printed="engine", width=12, needs=110,
        row=lambda row, _: [(formatting.engine_label(common(each.engine for each in row.records) or "", 12), "")],
    ),
    Field(
        "change", "what", Form.BEGINNING, "what was changed, or the name of the action", searched=True,
        group=Grouping("kind of change", lambda change: (f"change {change.engine} {change.what}", change.what)),
        title="change", printed="change", width=13,
        spans=lambda change, _: [(change.what, "bold $accent" if change.entry else "")], row=_change,
    ),
    Field(
        "status", "new", Form.BEGINNING, "the engine's own word for the state after it", searched=True, title="status",
        printed="status", width=24, spans=lambda change, _: status(change), row=_status,
        order=lambda change, _: change.new or "",
    ),
    Field(
        "title", "title", Form.PART, "title of the node", searched=True, title="title", printed="title", spans=_title,
        order=lambda change, _: subject(change),
    ),
    Field(
        "id", "id", Form.BEGINNING, "id of the node, or of the first of an action", searched=True,
        group=Grouping("node", lambda change: (f"node {change.id}", change.title or change.id)), printed="id",
        spans=lambda change, _: [("" if change.entry else change.id, "$faint")],
    ),
    within(audit_entry.NAMED["who"], "entry", group=by("who", _who), title="by", printed="by", width=24, needs=150),
    within(audit_entry.NAMED["role"], "entry"),
    within(audit_entry.NAMED["reason"], "entry", searched=False, title=""),
    Field("kind", lambda change, _: _kind(change), Form.BEGINNING, "kind of node, such as job or task"),
    within(node.NAMED["phase"], "node", printed=""),
    Field("old", "old", Form.BEGINNING, "the status before it", searched=True),
    Field(
        "nodes", lambda change, _: len(change.entry.results) if change.entry else 1, Form.NUMBER,
        "number of nodes of an action",
    ),
)  # fmt: skip
CHANGES: Final = RecordType[NodeChange]("change", key, FIELDS)
