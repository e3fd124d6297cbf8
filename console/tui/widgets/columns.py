"""Columns of the tree: cells, widths, and the order in which they are omitted."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from msgspec import structs

from console.text import formatting
from queries.records.node import Node
from queries.records.record import Record

GAP = 1
GLYPH = 2  # cells of a phase's glyph, before a status
MIN_TITLE = 20  # cells that the first column keeps while another column can be dropped

Cell = tuple[str, str]
"""Text and the name of its style (empty for none)."""


class RenderContext(Record):
    """Input of a cell apart from its node."""

    now: float = 0.0  # server time
    ascii: bool = False
    codes: Mapping[str, Collection[str]] = {}  # codes of the console's own findings, by node id


class TreeColumn(Record):
    """One column."""

    key: str
    title: str
    width: int  # in cells
    render: Callable[[Node, RenderContext], Cell]
    fields: frozenset[str] = frozenset()  # fields of `Node` whose change highlights the cell
    align: formatting.Align = "left"
    priority: int = 0  # on a narrow screen the lowest is dropped first
    flex: int = 0  # share of the remaining width
    foreign: bool = False  # the text comes from the database and has to be escaped
    absolute: str = ""  # heading of a column of times, if they are not relative
    heading: str = ""  # shown instead of the title
    value: Callable[[Node, RenderContext], Any] | None = None  # what the column is sorted by


def recorded(columns: Sequence[TreeColumn], missing: Collection[str], statuses: Iterable[str] = ()) -> list[TreeColumn]:
    """Return an engine's columns, without the ``missing`` fields it does not record.

    The status gets a share of the remaining width if some of the engine's ``statuses`` are long.
    """
    empty = set(missing) - {"status"}  # a missing status is replaced by the phase
    long = max(map(formatting.width, statuses), default=0) + GLYPH
    return [
        structs.replace(column, flex=2) if column.key == "status" and long > column.width else _timed(column)
        for column in columns
        if not column.fields & empty
    ]


def _timed(column: TreeColumn) -> TreeColumn:
    """Return a column with the width and the heading for the chosen form of times."""
    width = formatting.time_width(column.width)
    if not column.absolute or width == column.width:
        return column
    return structs.replace(column, width=width, heading=column.absolute)


Layout = tuple[tuple[TreeColumn, int], ...]


def layout(columns: Sequence[TreeColumn], width: int) -> Layout:
    """Return the columns that fit into ``width`` cells, each with its width.

    The first column is never dropped.
    """
    kept = list(columns)
    while len(kept) > 1 and _needed(kept) > width:
        kept.remove(min(kept[1:], key=lambda column: column.priority))
    spare = max(width - _needed(kept), 0)
    shares = sum(column.flex for column in kept)
    widths = [column.width + (spare * column.flex // shares if shares else 0) for column in kept]
    widths[0] = max(width - sum(widths[1:]) - GAP * (len(kept) - 1), 1)
    return tuple(zip(kept, widths, strict=True))


def _needed(columns: Sequence[TreeColumn]) -> int:
    first, *rest = columns
    return min(first.width, MIN_TITLE) + sum(column.width + GAP for column in rest)


def _title(node: Node, context: RenderContext) -> Cell:
    return node.title, ""


def _status(node: Node, context: RenderContext) -> Cell:
    word = node.phase if node.status is None else node.status
    return f"{formatting.glyph(node.phase, context.ascii)} {word}", f"phase-{node.phase}"


def _number(value: int | None) -> Cell:
    return (
        (formatting.NONE, "muted")
        if value is None
        else (str(value) if value < 100_000 else formatting.short(value), "")
    )


def _duration(seconds: float | None) -> Cell:
    return formatting.duration(seconds), "muted" if not seconds else ""


def _share(node: Node, context: RenderContext) -> Cell:
    text = formatting.bar(node.cpu, node.poll, 6, context.ascii)
    return text, "muted" if text == formatting.NONE else "bar"


def _since(instant: float | None, context: RenderContext) -> Cell:
    return formatting.since(instant, context.now), "muted" if instant is None else ""


def _due(node: Node, context: RenderContext) -> Cell:
    if node.due_at is None:
        return formatting.NONE, "muted"
    left = node.due_at - context.now
    return formatting.until(node.due_at, context.now), "late" if left < 0 else ""


def _codes(node: Node, context: RenderContext) -> list[str]:
    return list(dict.fromkeys((*node.findings, *context.codes.get(node.id, ()))))


def _most_first(value: float | None) -> float | None:
    return None if value is None else -value


def _findings(node: Node, context: RenderContext) -> Cell:
    codes = _codes(node, context)
    if not codes:
        return "", ""
    more = f" +{len(codes) - 1}" if len(codes) > 1 else ""
    return f"{codes[0].replace('_', ' ')}{more}", "finding"


TASKS: tuple[TreeColumn, ...] = (
    TreeColumn(
        key="title",
        title="task",
        width=24,
        render=_title,
        fields=frozenset({"title"}),
        flex=3,
        foreign=True,
        value=lambda node, _: node.title.casefold(),
    ),
    TreeColumn(
        key="status",
        title="status",
        width=14,
        render=_status,
        fields=frozenset({"status", "phase"}),
        priority=90,
        foreign=True,
        value=lambda node, _: (node.phase, node.status or ""),
    ),
    TreeColumn(
        key="revision",
        title="rev",
        width=5,
        render=lambda node, _: _number(node.revision),
        fields=frozenset({"revision"}),
        align="right",
        priority=40,
        value=lambda node, _: _most_first(node.revision),
    ),
    TreeColumn(
        key="cpu",
        title="cpu",
        width=6,
        render=lambda node, _: _duration(node.cpu),
        fields=frozenset({"cpu"}),
        align="right",
        priority=20,
        value=lambda node, _: _most_first(node.cpu),
    ),
    TreeColumn(
        key="poll",
        title="poll",
        width=6,
        render=lambda node, _: _duration(node.poll),
        fields=frozenset({"poll"}),
        align="right",
        priority=30,
        value=lambda node, _: _most_first(node.poll),
    ),
    TreeColumn(
        key="share",
        title="cpu %",
        width=6,
        render=_share,
        fields=frozenset({"cpu", "poll"}),
        priority=10,
        value=lambda node, _: -node.cpu / node.poll if node.cpu is not None and node.poll else None,
    ),
    TreeColumn(
        key="age",
        title="age",
        width=6,
        render=lambda node, context: _since(node.created_at, context),
        fields=frozenset({"created_at"}),
        align="right",
        priority=50,
        absolute="created",
        value=lambda node, _: node.created_at,
    ),
    TreeColumn(
        key="changed",
        title="idle",
        width=6,
        render=lambda node, context: _since(node.changed_at, context),
        fields=frozenset({"changed_at"}),
        align="right",
        priority=60,
        absolute="changed",
        value=lambda node, _: node.changed_at,
    ),
    TreeColumn(
        key="due",
        title="due",
        width=9,
        render=_due,
        fields=frozenset({"due_at"}),
        align="right",
        priority=70,
        absolute="due",
        value=lambda node, _: node.due_at,
    ),
    TreeColumn(
        key="findings",
        title="findings",
        width=15,
        render=_findings,
        fields=frozenset({"findings"}),
        priority=80,
        flex=1,
        foreign=True,
        value=lambda node, context: _codes(node, context) or None,
    ),
)
