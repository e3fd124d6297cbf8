"""Fields of a node that a search has found. UI-free."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from console.model.fields import node
from console.model.fields.field import Bundle, Context, Field, Form, RecordType, by, within
from console.text.spans import Spans
from queries.records.node import Hit, Match


def _kind(hit: Hit) -> str:
    return f"{hit.node.engine} {hit.node.kind}"


def _phase(row: Bundle[Hit], context: Context) -> Spans:
    if row.record is None:
        return [(str(len(row.records)), "bold")]
    return node.NAMED["phase"].shown(row.record.node, context)


def _title(row: Bundle[Hit], context: Context) -> Spans:
    return [(str(row.group), "bold")] if row.foldable else [(row.records[0].node.title, "")]


COLUMNS: Final[dict[str, dict[str, Any]]] = {
    "phase": {"title": "phase", "width": 13, "row": _phase},
    "title": {"title": "title", "width": 0, "row": _title},
    "finding": {"title": "stuck", "width": 16, "needs": 80},
    "age": {"title": "age", "needs": 70, "order": lambda hit, _: -(hit.node.created_at or 0.0)},
    "engine": {"title": "engine", "width": 12, "needs": 50, "group": by("engine", lambda hit: hit.node.engine)},
    "kind": {"group": by("kind", _kind)},
}
"""What differs from the fields of a node. Its other fields have no column on the screen."""


def _fields() -> Iterator[Field[Hit]]:
    for field in node.FIELDS:
        yield within(field, "node", **{"title": "", **COLUMNS.get(field.name, {})})
        if field.name == "title":
            yield MATCHED


MATCHED: Final = Field[Hit](
    "matched",
    "matched",
    Form.BEGINNING,
    "part of the node that has the text",
    words=tuple(Match),
    group=by("match", lambda hit: hit.matched),
    title="matched",
    printed="matched",
    width=9,
    needs=60,
    style="$faint",
)
FIELDS: Final[tuple[Field[Hit], ...]] = (
    *_fields(),
    Field(
        "local",
        lambda hit, _: hit.node.id.partition("/")[2],
        about="its id in the engine",
        title="id",
        width=46,
        needs=120,
        style="$faint",
    ),
)
HITS: Final = RecordType[Hit]("hit", lambda hit: hit.node.id, FIELDS, row="node")
