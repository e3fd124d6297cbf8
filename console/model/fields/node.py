"""Fields of a node. A new one is stated here, and nowhere else. UI-free."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from console.model.fields.field import Cell, Context, Field, Form
from console.text import formatting
from queries.records.node import Node

Codes = Mapping[str, Collection[str]]
"""Codes of findings by node id, from the console's own samples. ``Node.findings`` has those of the database."""


def _status(node: Node, context: Context) -> Cell:
    word = node.phase if node.status is None else node.status
    return f"{formatting.glyph(node.phase, context.ascii)} {word}", f"phase-{node.phase}"


def _number(value: int | None) -> Cell:
    if value is None:
        return formatting.NONE, "muted"
    return (str(value) if value < 100_000 else formatting.short(value)), ""


def _duration(seconds: float | None) -> Cell:
    return formatting.duration(seconds), "muted" if not seconds else ""


def _share(node: Node, context: Context) -> Cell:
    text = formatting.bar(node.cpu, node.poll, 6, context.ascii)
    return text, "muted" if text == formatting.NONE else "bar"


def _since(instant: float | None, context: Context) -> Cell:
    return formatting.since(instant, context.now), "muted" if instant is None else ""


def _due(node: Node, context: Context) -> Cell:
    if node.due_at is None:
        return formatting.NONE, "muted"
    return formatting.until(node.due_at, context.now), "late" if node.due_at < context.now else ""


def _codes(node: Node, context: Context) -> list[str]:
    return list(dict.fromkeys((*node.findings, *context.codes.get(node.id, ()))))


def _findings(node: Node, context: Context) -> Cell:
    codes = _codes(node, context)
    if not codes:
        return "", ""
    more = f" +{len(codes) - 1}" if len(codes) > 1 else ""
    return f"{codes[0].replace('_', ' ')}{more}", "finding"


def _most_first(value: float | None) -> float | None:
    return None if value is None else -value


FIELDS: Final[tuple[Field[Node], ...]] = (
    Field(
        "title",
        lambda node, _: node.title,
        searched=True,
        title="task",
        width=24,
        parts=frozenset({"title"}),
        flex=3,
        foreign=True,
        order=lambda node, _: node.title.casefold(),
    ),
    Field(
        "status",
        lambda node, _: node.status,
        Form.BEGINNING,
        "the engine's own word for what the node does",
        searched=True,
        column="status",
        title="status",
        width=14,
        cell=_status,
        parts=frozenset({"status", "phase"}),
        keep=90,
        foreign=True,
        order=lambda node, _: (node.phase, node.status or ""),
    ),
    Field(
        "revision",
        lambda node, _: node.revision,
        Form.NUMBER,
        "number of changes of the state",
        title="rev",
        width=5,
        cell=lambda node, _: _number(node.revision),
        parts=frozenset({"revision"}),
        align="right",
        keep=40,
        order=lambda node, _: _most_first(node.revision),
    ),
    Field(
        "cpu",
        lambda node, _: node.cpu,
        Form.SECONDS,
        "CPU time",
        title="cpu",
        width=6,
        cell=lambda node, _: _duration(node.cpu),
        parts=frozenset({"cpu"}),
        align="right",
        keep=20,
        order=lambda node, _: _most_first(node.cpu),
    ),
    Field(
        "poll",
        lambda node, _: node.poll,
        Form.SECONDS,
        "time of its polls",
        title="poll",
        width=6,
        cell=lambda node, _: _duration(node.poll),
        parts=frozenset({"poll"}),
        align="right",
        keep=30,
        order=lambda node, _: _most_first(node.poll),
    ),
    Field(
        "share",
        lambda node, _: node.cpu / node.poll if node.cpu is not None and node.poll else None,
        title="cpu %",
        width=6,
        cell=_share,
        parts=frozenset({"cpu", "poll"}),
        keep=10,
        order=lambda node, _: -node.cpu / node.poll if node.cpu is not None and node.poll else None,
    ),
    Field(
        "age",
        lambda node, _: node.created_at,
        Form.AGE,
        "time since it was created",
        column="created_at",
        title="age",
        width=6,
        cell=lambda node, context: _since(node.created_at, context),
        parts=frozenset({"created_at"}),
        align="right",
        keep=50,
        absolute="created",
    ),
    Field(
        "idle",
        lambda node, _: node.changed_at,
        Form.AGE,
        "time since its last change",
        column="changed_at",
        title="idle",
        width=6,
        cell=lambda node, context: _since(node.changed_at, context),
        parts=frozenset({"changed_at"}),
        align="right",
        keep=60,
        absolute="changed",
    ),
    Field(
        "due",
        lambda node, _: node.due_at,
        title="due",
        width=9,
        cell=_due,
        parts=frozenset({"due_at"}),
        align="right",
        keep=70,
        absolute="due",
    ),
    Field(
        "finding",
        _codes,
        Form.BEGINNING,
        "code of a problem that was found; any: has one",
        title="findings",
        width=15,
        cell=_findings,
        parts=frozenset({"findings"}),
        keep=80,
        flex=1,
        foreign=True,
        order=lambda node, context: _codes(node, context) or None,
    ),
    Field("phase", lambda node, _: node.phase, Form.BEGINNING, "what the status means, in words of all engines"),
    Field("kind", lambda node, _: node.kind, Form.BEGINNING, "kind of node, such as job or task"),
    Field("engine", lambda node, _: node.engine, Form.BEGINNING, "label of the engine"),
    Field(
        "owner",
        lambda node, _: node.owner,
        Form.PART,
        "worker that has taken it; none: no worker has",
        searched=True,
        column="owner",
    ),
    Field("attempts", lambda node, _: node.attempts, Form.NUMBER, "number of tries", column="attempts"),
    Field("error", lambda node, _: node.error, searched=True),
    Field("id", lambda node, _: node.id, searched=True),
)
COLUMNS: Final = tuple(field for field in FIELDS if field.title)
NAMED: Final[Mapping[str, Field[Node]]] = {field.name: field for field in FIELDS}
