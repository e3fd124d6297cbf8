"""Fields of a finding in its incident. UI-free."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from console.model.fields import node
from console.model.fields.field import Bundle, Context, Field, Form, Grouping, RecordType, by, common, moment, within
from console.text import formatting
from console.text.severity import band, named, sign
from console.text.spans import Spans
from console.text.views.incidents import ITEMS_SHOWN, size
from queries.change.plan import count_nodes
from queries.contract.server_spec import LABEL
from queries.records.finding import Finding, Incident
from queries.records.node import Node, split_id
from queries.records.record import Record
from queries.text.safe_text import safe_text

LABEL_CELLS, LABEL_CELLS_WIDE, WIDE = 12, 24, 160  # of an engine's label, and in a list of at least `WIDE` cells


class IncidentFinding(Record):
    """A finding in its incident; ``explained``: it is a symptom, not the cause."""

    incident: Incident
    finding: Finding
    explained: bool = False

    @property
    def key(self) -> str:
        """Id of the item, independent of the items around it."""
        return f"{self.incident.key} {self.finding.node_id} {self.finding.code}"

    @property
    def node_id(self) -> str | None:
        """Id of the node that the finding is about; None for the server."""
        return None if self.finding.node_id.startswith(f"{LABEL}/") else self.finding.node_id


def incident_findings(incidents: Iterable[Incident]) -> list[IncidentFinding]:
    """Return the findings of all incidents, in the order of the incidents."""
    return [
        IncidentFinding(incident=incident, finding=finding, explained=explained)
        for incident in incidents
        for explained, findings in ((False, incident.findings), (True, incident.explained))
        for finding in findings
    ]


def severity_of(row: Bundle[IncidentFinding]) -> int:
    """Return the severity of a row.

    Of a finding below its incident that is its own, else that of the incident.
    """
    if isinstance(row.group, Incident):
        return row.group.severity
    return max(item.finding.severity if row.above else item.incident.severity for item in row.records)


def engine_of(row: Bundle[IncidentFinding]) -> str | None:
    """Return the label that the findings of a row have in common."""
    return row.group.engine if isinstance(row.group, Incident) else common(i.finding.engine for i in row.records)


def action_of(row: Bundle[IncidentFinding]) -> str | None:
    """Return the suggested action that the findings of a row have in common."""
    return row.group.action if isinstance(row.group, Incident) else common(i.finding.action for i in row.records)


def sentence_of(row: Bundle[IncidentFinding]) -> str:
    """Return why a row is stuck."""
    if isinstance(row.group, Incident):
        return row.group.sentence
    if row.record is not None:
        return row.record.finding.sentence
    return ", ".join(dict.fromkeys(item.incident.title for item in row.records))


def _title(row: Bundle[IncidentFinding]) -> str:
    if isinstance(row.group, Incident):
        return row.group.title
    return str(row.group) if row.group is not None else row.records[0].finding.title


def _since(row: Bundle[IncidentFinding]) -> float | None:
    if isinstance(row.group, Incident):
        return row.group.since
    return min((since for i in row.records if (since := i.finding.since) is not None), default=None)


def _node_of(item: IncidentFinding, context: Context) -> Node | None:
    return context.node(item.finding.node_id)


def _incident(row: Bundle[IncidentFinding], context: Context) -> Spans:
    worst = severity_of(row)
    mark = f"{sign(worst, context.ascii)} " if context.cells else ""  # a text has the word in another column
    text, ink = f"{mark}{_title(row)}", band(worst).ink
    about = row.group.about if isinstance(row.group, Incident) else ""
    return [(text, ink if row.above else f"bold {ink}"), (f"  {about}" if about else "", "")]


def _nodes(row: Bundle[IncidentFinding], context: Context) -> Spans:
    one = row.record
    if one is None and isinstance(row.group, Incident) and len(row.group.node_ids) == 1:
        one = row.records[0]  # with its symptoms
    if one is None:
        return _number(row, context)
    named_node = _node_of(one, context)
    if named_node is not None:
        beside = node.id_beside(named_node.id, named_node.title, context) if row.above else []
        return [(named_node.title, ""), *beside]
    _, kind, key = split_id(one.finding.node_id)
    return [(kind if kind == key else f"{kind} {key}", "$faint")]


def _number(row: Bundle[IncidentFinding], context: Context) -> Spans:
    incident = row.group
    if not isinstance(incident, Incident):
        return [(count_nodes(len({item.finding.node_id for item in row.records}), ()), "bold")]
    whole = len(incident.findings) + len(incident.explained)
    shown = f"{len(row.records)} of " if len(row.records) < whole else ""
    titles = [named_node.title for id_ in incident.node_ids[:ITEMS_SHOWN] if (named_node := context.node(id_))]
    more = ", …" if len(set(titles)) > 1 else ""
    return [
        (shown + size(incident), "bold"),
        (f" {context.trend(incident)}", "bold $warning"),
        (titles[0] + more if titles else "", "$faint"),
    ]


def _phase(row: Bundle[IncidentFinding], context: Context) -> Spans:
    if row.record is None:
        return []
    named_node = _node_of(row.record, context)
    if named_node is not None:
        return node.NAMED["phase"].shown(named_node, context)
    return [("gone" if row.record.finding.node_id in context.gone else "", "$faint")]


def _phase_name(row: Bundle[IncidentFinding], context: Context) -> str:
    named_node = None if row.record is None else _node_of(row.record, context)
    return "" if named_node is None else named_node.phase


def _engine(row: Bundle[IncidentFinding], context: Context) -> Spans:
    label = safe_text(engine_of(row) or "")
    if not context.cells:
        return [(label, "$faint")]
    cells = LABEL_CELLS_WIDE if context.cells >= WIDE else LABEL_CELLS
    return [(formatting.engine_label(label, cells), "$faint")]


def _action(row: Bundle[IncidentFinding], context: Context) -> Spans:
    if row.record is not None and row.record.explained:
        return []  # its cause is to be removed instead
    name = action_of(row)
    if name is None:
        return [(formatting.NONE, "$faint")]
    return [(context.key(name), "bold $accent"), (f" {name}", "")]


def _since_cell(row: Bundle[IncidentFinding], context: Context) -> Spans:
    since = _since(row)
    bound = "≥" if isinstance(row.group, Incident) and row.group.capped else ""
    return [(formatting.NONE if since is None else moment(since, context, bound), "")]


def _of_node(name: str, **other: Any) -> Field[IncidentFinding]:
    return within(node.NAMED[name], "", _node_of, **{"title": "", "searched": False, **other})


FIELDS: Final[tuple[Field[IncidentFinding], ...]] = (
    Field(
        "cause",
        lambda item, _: (item.incident.title, item.incident.sentence),
        Form.PART,
        "title or sentence of the incident",
        group=Grouping("cause", lambda item: (item.incident.key, item.incident)),
    ),
    Field(
        "incident", "incident.title", searched=True, title="incident", about="what is wrong, once for each cause",
        row=_incident, row_order=lambda row, _: _title(row),
    ),
    Field(
        "severity", "finding.severity", Form.NUMBER, "1 (minor) to 9 (nothing makes progress)", title="severity",
        width=10, needs=130, row=lambda row, _: [(named(severity_of(row)), band(severity_of(row)).ink)],
        row_order=lambda row, _: -severity_of(row),
    ),
    Field(
        "node", lambda item, context: each.title if (each := _node_of(item, context)) else None, searched=True,
        title="nodes", about="what it holds back: a title, or how many", width=26, needs=56, row=_nodes,
        row_order=lambda row, _: -len(row.records),
    ),
    _of_node("phase", title="phase", width=11, needs=130, row=_phase, row_order=_phase_name),
    Field(
        "engine", "finding.engine", Form.BEGINNING, "label of the engine", title="engine", width=LABEL_CELLS, needs=88,
        group=by("engine", lambda item: item.finding.engine), row=_engine, row_order=lambda row, _: engine_of(row),
    ),
    Field(
        "since", "finding.since", Form.AGE, "time for which it has been so", title="since", width=6, align="right",
        absolute="since", row=_since_cell, row_order=lambda row, _: _since(row),
    ),
    Field(
        "action", "finding.action", Form.BEGINNING, "the suggested action", title="action", width=13, needs=72,
        row=_action, row_order=lambda row, _: action_of(row),
    ),
    Field(
        "why", "finding.sentence", searched=True, title="why", width=60, needs=WIDE,
        about="the cause in a sentence, with what is particular to it",
        row=lambda row, _: [(sentence_of(row), "$faint")], row_order=lambda row, _: sentence_of(row),
    ),
    Field("title", "finding.title", searched=True),
    Field("id", "finding.node_id", searched=True),
    Field(
        "finding",
        "finding.code",
        Form.BEGINNING,
        "code of the problem",
        group=Grouping(
            "finding", lambda item: (f"finding {item.finding.engine} {item.finding.code}", item.finding.title)
        ),
    ),
    Field(
        "kind", lambda item, _: split_id(item.finding.node_id)[1], Form.BEGINNING, "kind of node, such as job or task"
    ),
    _of_node("error", searched=True),
    _of_node("status"),
    _of_node("owner"),
    _of_node("attempts"),
    _of_node("revision"),
)  # fmt: skip
NAMED: Final = {field.name: field for field in FIELDS}
INCIDENTS: Final = RecordType[IncidentFinding](
    "incident",
    lambda item: item.key,
    FIELDS,
    row="node",
    grouped=True,
    acted_on=lambda item: not item.explained,
    severity=severity_of,
)
