"""Fields of a node. A new one is stated here, and nowhere else. UI-free."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from console.model.fields.field import Cell, Context, Field, Form
from console.text import formatting
from console.text.spans import Spans
from queries.records.node import Node, Phase

Codes = Mapping[str, Collection[str]]
"""Codes of findings by node id, from the console's own samples. ``Node.findings`` has those of the database."""


def _status(node: Node, context: Context) -> Cell:
    word = node.phase if node.status is None else node.status
    return f"{formatting.glyph(node.phase, context.ascii)} {word}", f"phase-{node.phase}"


def _phase(node: Node, context: Context) -> Spans:
    return [(f"{formatting.glyph(node.phase, context.ascii)} {node.phase}", f"$phase-{node.phase}")]


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
    name: str, form: Form, about: str, *, cell: Callable[[Any], Cell], title: str, width: int, keep: int
) -> Field[Node]:
    """Return the field of a number, sorted with the largest first."""
    return Field(
        name,
        name,
        form,
        about,
        title=title,
        printed=title,
        width=width,
        align="right",
        keep=keep,
        cell=lambda node, _: cell(getattr(node, name)),
        order=lambda node, _: _most_first(getattr(node, name)),
    )


def _timed(name: str, place: str, about: str, *, absolute: str, keep: int) -> Field[Node]:
    """Return the field of a time in the past, which is also a column of nodes.sql."""
    return Field(
        name,
        place,
        Form.AGE,
        about,
        served=True,
        title=name,
        printed=name,
        width=6,
        align="right",
        keep=keep,
        absolute=absolute,
        cell=lambda node, context: _since(getattr(node, place), context),
    )


FIELDS: Final[tuple[Field[Node], ...]] = (
    Field(
        "phase",
        "phase",
        Form.BEGINNING,
        "what the status means, in words of all engines",
        words=tuple(Phase),
        printed="phase",
        spans=_phase,
    ),
    Field(
        "title",
        "title",
        searched=True,
        title="task",
        about="name of the node",
        printed="title",
        width=24,
        flex=3,
        order=lambda node, _: node.title.casefold(),
    ),
    Field(
        "status",
        "status",
        Form.BEGINNING,
        "the engine's own word for what the node does",
        searched=True,
        served=True,
        title="status",
        printed="status",
        width=14,
        keep=90,
        cell=_status,
        parts=frozenset({"status", "phase"}),
        order=lambda node, _: (node.phase, node.status or ""),
    ),
    _measured("revision", Form.NUMBER, "number of changes of the state", cell=_number, title="rev", width=5, keep=70),
    _measured("cpu", Form.SECONDS, "CPU time", cell=_duration, title="cpu", width=6, keep=65),
    _measured("poll", Form.SECONDS, "time of its polls", cell=_duration, title="poll", width=6, keep=60),
    Field(
        "share",
        lambda node, _: _ratio(node),
        title="cpu %",
        about="CPU time, as a share of the time of its polls",
        width=6,
        keep=10,
        cell=_share,
        parts=frozenset({"cpu", "poll"}),
        order=lambda node, _: _most_first(_ratio(node)),
    ),
    _timed("age", "created_at", "time since it was created", absolute="created", keep=40),
    _timed("idle", "changed_at", "time since its last change", absolute="changed", keep=30),
    Field(
        "due",
        "due_at",
        about="when the engine is to continue it",
        title="due",
        printed="due",
        width=9,
        align="right",
        keep=50,
        absolute="due",
        cell=_due,
    ),
    Field(
        "finding",
        _codes,
        Form.BEGINNING,
        "code of a problem that was found; any: has one",
        title="stuck",
        printed="stuck",
        width=15,
        keep=20,
        flex=1,
        style="$warning",
        cell=_findings,
        parts=frozenset({"findings"}),
        order=lambda node, context: _codes(node, context) or None,
    ),
    Field("kind", "kind", Form.BEGINNING, "kind of node, such as job or task"),
    Field("engine", "engine", Form.BEGINNING, "label of the engine"),
    Field("owner", "owner", Form.PART, "worker that has taken it; none: no worker has", searched=True, served=True),
    Field("attempts", "attempts", Form.NUMBER, "number of tries", served=True),
    Field("error", "error", searched=True),
    Field("id", "id", searched=True, printed="id", style="$faint"),
)
COLUMNS: Final = tuple(field for field in FIELDS if field.title)
NAMED: Final[Mapping[str, Field[Node]]] = {field.name: field for field in FIELDS}
