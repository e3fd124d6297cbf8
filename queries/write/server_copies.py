"""Copies of the rows of a bulk, which stay on the server.

The server compares the rows before and after the change, and returns what differs as one text, which goes to the audit
log without decoding. It is possible if the columns that change are those that the action ``overwrites``, if no row is
inserted, and if the server wrote no other row. Otherwise the transaction is rolled back, and
:class:`~queries.write.console_copies.ConsoleCopies` compares the rows of the next one.

A column differs if the server's text of it does. ``RowChange.columns`` says so of rows that come here as JSON, and
``copies_row.sql`` of rows that stay on the server. Neither can do both. A dry run shows the JSON that the action's
``rows`` make of a row, also of inserted rows, of other columns and of tables without images. In a bulk of 20,000 nodes
it takes the server 1.3 to 1.6 times as long to compare that JSON as to compare the images, and the console 1.6 times.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache

import msgspec

from queries.contract.spec import Action
from queries.db.database import TableName
from queries.db.errors import DatabaseError
from queries.db.query import Rows
from queries.db.shared_sql import statement
from queries.db.transaction import Transaction
from queries.files.statement import Statement, with_parts
from queries.read.question import Question
from queries.read.reader import Reader
from queries.records.action import NOT_KEPT, SET
from queries.text.psql_text import literal
from queries.write import gate, images
from queries.write.change import Effect
from queries.write.images import Layout
from queries.write.request import Request
from queries.write.script import Script, image_reader

PART_ROW_BYTES = images.ENTRY_IMAGE_BYTES // 1000  # of the image of a row: those of a part fit into an entry


class IrregularError(DatabaseError):
    """The rows did not change as the action says. The transaction is rolled back."""


def is_possible(reader: Reader, action: Action) -> bool:
    """Return True if the server can compare the rows that an action changes."""
    sections = reader.engine.actions.get(action.script, {})
    return (
        action.independent
        and bool(action.overwrites)
        and len(sections["rows"]) == 1
        and sections["rows"][0].needs <= reader.detected.met_needs
        and not any("copied" in part.parameters for parts in sections.values() for part in parts)
    )


def suits(request: Request) -> bool:
    """Return True if the server can compare the rows of a request."""
    return (
        request.run is not None
        and not request.run.irregular
        and request.seen is not None
        and request.seen.row_digests.keys().isdisjoint(request.versions)  # the console compares them with its copies
        and is_possible(request.reader, request.action)
    )


class ServerCopies:
    """Copies of the rows of nodes that were not dry-run."""

    def __init__(self, request: Request, script: Script) -> None:
        self._request, self._nodes = request, script.nodes
        (self._part,) = request.sections["rows"]
        self.images = script.images or image_reader(request)
        self._before = ""  # the rows before the change, which only the server reads

    @property
    def _layouts(self) -> tuple[Layout, ...]:
        return tuple(layout for layout in self.images.layouts.values() if layout.restorable)

    def question_before(self) -> Question[Rows]:
        """Ask for the rows as one text."""
        return self._nodes.question(_before(self._part, self._layouts)) if self._layouts else Question([], lambda _: [])

    async def before(self, transaction: Transaction, rows: Rows) -> dict[str, str]:
        """Keep the rows, without their digests. Raises IrregularError."""
        if self._nodes.remaining:
            if not rows:
                raise IrregularError("No table has images.")
            self._before = rows[0]["rows"]
        return {}

    def question_after(self) -> Question[Rows]:
        """Ask the server to compare the rows."""
        label, values, images = self._nodes.full(""), self._request.keeps_values, not self._request.no_images
        compared = _compared(self._part, self._layouts, label, keeps_values=values, keeps_images=images)
        return self._nodes.question(compared, copied=self._before, bytes=PART_ROW_BYTES)

    async def after(
        self, transaction: Transaction, rows: Rows, server: Mapping[TableName, gate.Counts] | None
    ) -> Effect:
        """Return the rows that differ.

        Raises IrregularError if they differ in another way than the action says, or if the server wrote other rows.
        """
        self._before = ""  # it is large
        (row,) = rows
        if not row["regular"]:
            raise IrregularError("Rows did not change as the action says.")
        if server is not None and server != self._counts(row["updated"] or (), row["deleted"] or ()):
            raise IrregularError("The server wrote rows that the comparison does not have.")
        images = None if self._request.no_images else msgspec.Raw(row["images"])
        return Effect(compared=msgspec.Raw(row["changes"]), images=images)

    def _counts(self, updated: Iterable[str], deleted: Iterable[str]) -> dict[TableName, gate.Counts]:
        """Count the rows that differ, by the tables that the server names for each."""
        numbers, schema = (Counter(updated), Counter(deleted)), self._request.reader.detected.schema
        names = {*numbers[0], *numbers[1]}
        return {gate.qualified(name, schema): gate.Counts(0, numbers[0][name], numbers[1][name]) for name in names}


@lru_cache(maxsize=8)
def _before(part: Statement, layouts: tuple[Layout, ...]) -> Statement:
    """Return the statement that reads the rows of ``part`` before the change."""
    template = statement("copies_before", *part.parameters)
    return msgspec.structs.replace(
        template, text=with_parts(template.text, {"copied": part.text, "images": images.rows_of(layouts)})
    )


@lru_cache(maxsize=8)
def _compared(
    part: Statement, layouts: tuple[Layout, ...], label: str, *, keeps_values: bool, keeps_images: bool
) -> Statement:
    """Return the statement that compares the rows of ``part``.

    ``label``: the start of the nodes' ids.
    """
    template = statement("copies_compared", *part.parameters)
    parts = {
        "copied": part.text,
        "images": images.rows_of(layouts),
        "compared": "\nUNION ALL\n".join(_row(layout, label, keeps_values) for layout in layouts),
        "tables": ", ".join(map(_table, layouts)) if keeps_images else "",
    }
    return msgspec.structs.replace(template, text=with_parts(template.text, parts))


def _row(layout: Layout, label: str, keeps_values: bool) -> str:
    """Return the statement that compares rows of a table."""
    stored = [n for n, generated in enumerate(layout.generated) if not generated]
    varying = [n for n, varies in enumerate(layout.varying) if varies]

    def differing(side: str, hidden: str) -> str:
        return ", ".join(
            f"CASE WHEN p.deleted OR p.was[{n + 1}] IS DISTINCT FROM p.now[{n + 1}] THEN "
            + _named(layout, n, _value(layout, side, n) if keeps_values else literal(_json(hidden)))
            + " END"
            for n in range(len(layout.columns))
        )

    def image(columns: Iterable[int]) -> str:
        return " || ',' || ".join(_named(layout, n, _quoted(layout, "was", n)) for n in columns) or "''"

    return images.filled(
        "copies_row",
        layout,
        whole="false" if layout.others else "true",
        marks=", ".join(f"left(p.{side}[{n + 1}], 1)" for side in ("was", "now") for n in varying),
        label=literal('{"id":' + _json(label)[:-1]),
        named=literal(f',"table":{_json(layout.name)},"key":'),
        before=differing("was", NOT_KEPT),
        after=differing("now", SET),
        key=" || ',' || ".join(_quoted(layout, "was", layout.columns.index(column)) for column in layout.key),
        kept=image(n for n in stored if layout.columns[n] not in layout.key),
        all=image(stored),
    ).text


def _table(layout: Layout) -> str:
    """Return the images of a table as SQL, which is NULL if there are none."""
    start = literal(_json(layout.images(())).removesuffix("]}"))
    return f"{start} || string_agg(r.image, ',') FILTER (WHERE r.\"table\" = {layout.literal}) || ']}}'"


def _named(layout: Layout, column: int, value: str) -> str:
    """Return SQL of the column's name and of a value in JSON."""
    return f"{literal(_json(layout.columns[column]) + ':')} || {value}"


def _value(layout: Layout, side: str, column: int) -> str:
    """Return SQL of the column's value in JSON.

    A number is a number, an array is an array of texts.
    """
    text = _text(layout, side, column)
    forms = {"json": text, "array": f"to_json({text}::text[])::text", "text": f"to_json({text})::text"}
    return f"coalesce({forms[layout.forms[column]]}, 'null')"


def _quoted(layout: Layout, side: str, column: int) -> str:
    """Return SQL of the column's text as JSON string."""
    return f"coalesce(to_json({_text(layout, side, column)})::text, 'null')"


def _text(layout: Layout, side: str, column: int) -> str:
    text = f"p.{side}[{column + 1}]"
    return f"substr({text}, 2)" if layout.varying[column] else text


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
