"""Fields of a node. A new one is stated here, and nowhere else. UI-free."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

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


def _ratio(node: Node) -> float | None:
    return node.cpu / node.poll if node.cpu is not None and node.poll else None


def _measured(
    name: str,
    get: Callable[[Node], Any],
    form: Form,
    about: str,
    *,
    cell: Callable[[Any], Cell],
    title: str,
    width: int,
    keep: int,
) -> Field[Node]:
    """Return the field of a number, sorted with the largest first."""
    return Field(
        name,
        lambda node, _: get(node),
        form,
        about,
        title=title,
        width=width,
        cell=lambda node, _: cell(get(node)),
        parts=frozenset({name}),
        align="right",
        keep=keep,
        order=lambda node, _: _most_first(get(node)),
    )


def _timed(
    name: str, get: Callable[[Node], float | None], about: str, *, column: str, absolute: str, keep: int
) -> Field[Node]:
    """Return the field of a time in the past, which is also a column of nodes.sql."""
    return Field(
        name,
        lambda node, _: get(node),
        Form.AGE,
        about,
        column=column,
        title=name,
        width=6,
        cell=lambda node, context: _since(get(node), context),
        parts=frozenset({column}),
        align="right",
        keep=keep,
        absolute=absolute,
    )


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
    _measured(
        "revision",
        lambda node: node.revision,
        Form.NUMBER,
        "number of changes of the state",
        cell=_number,
        title="rev",
        width=5,
        keep=40,
    ),
    _measured("cpu", lambda node: node.cpu, Form.SECONDS, "CPU time", cell=_duration, title="cpu", width=6, keep=20),
    _measured(
        "poll",
        lambda node: node.poll,
        Form.SECONDS,
        "time of its polls",
        cell=_duration,
        title="poll",
        width=6,
        keep=30,
    ),
    Field(
        "share",
        lambda node, _: _ratio(node),
        title="cpu %",
        width=6,
        cell=_share,
        parts=frozenset({"cpu", "poll"}),
        keep=10,
        order=lambda node, _: _most_first(_ratio(node)),
    ),
    _timed(
        "age",
        lambda node: node.created_at,
        "time since it was created",
        column="created_at",
        absolute="created",
        keep=50,
    ),
    _timed(
        "idle",
        lambda node: node.changed_at,
        "time since its last change",
        column="changed_at",
        absolute="changed",
        keep=60,
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
