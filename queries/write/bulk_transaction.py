"""One write transaction of a bulk, whose rows stay on the server.

The server compares the rows before and after the change, and writes what differs to the audit log itself. That takes
half of the time. It is possible if the columns that change are those that the action ``overwrites``, if no row is
inserted, and if the server wrote no other row. Otherwise the transaction is rolled back, and
:class:`~queries.write.action_transaction.ActionTransaction` runs it again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from queries.contract.spec import Action
from queries.db.database import Table, Transaction
from queries.db.errors import DatabaseError, table_locks
from queries.db.shared_sql import statement
from queries.files.statement import Statement, with_parts
from queries.read.reader import Reader
from queries.records.action import NOT_KEPT, SET
from queries.records.audit import AuditLogEntry
from queries.text.psql_text import literal
from queries.write import audit_log, gate, images
from queries.write.action_transaction import ActionTransaction, Request
from queries.write.images import Layout

ROW_LIMIT = images.ENTRY_LIMIT // 1000  # bytes of the image of a row, so that those of a chunk are within their limit
_LISTS = frozenset(("ids", "versions"))
BETWEEN = "\x1f"  # between the items of a list


class IrregularError(DatabaseError):
    """The rows did not change as the action says. The transaction is rolled back."""


class BulkTransaction(ActionTransaction):
    """Transaction of nodes that were not dry-run."""

    def __init__(self, request: Request, versions: Mapping[str, str]) -> None:
        super().__init__(request, versions)
        self._keeps_values = request.kept.values
        self._layouts: tuple[Layout, ...] = ()
        self._before = ""  # the rows before the change, which only the server reads
        self._values: dict[str, Any] = {}  # more parameters of the next statement
        self._changed: Mapping[Table, gate.Counts] = {}  # what the server wrote
        self._texts: dict[str, str] = {}  # each list of `_nodes` as one text; {}: they must be sent as lists
        self._listed = self._nodes  # those of `_texts`

    @staticmethod
    def is_possible(reader: Reader, action: Action) -> bool:
        """Return True if the server can compare the rows that an action changes."""
        sections = reader.engine.actions.get(action.script, {})
        return (
            action.independent
            and bool(action.overwrites)
            and len(sections["rows"]) == 1
            and sections["rows"][0].needs <= reader.found.met_needs
            and not any("copied" in part.parameters for parts in sections.values() for part in parts)
        )

    @staticmethod
    def suits(request: Request) -> bool:
        """Return True if the server can compare the rows of a request."""
        return (
            request.run is not None
            and not request.run.irregular
            and not request.seen.row_digests  # the console compares them with its copies
            and BulkTransaction.is_possible(request.reader, request.action)
        )

    async def run(self, transaction: Transaction, seen: Mapping[str, str] | None) -> None:
        """Run all steps before the entry. Raises IrregularError."""
        await self._begin(transaction)
        with table_locks():
            await self._admit(transaction, seen)
        if not self.live:
            return
        reader = self._image_reader or self._new_reader()
        await reader.learn(transaction, {name.partition(".")[0] for name in self.action.overwrites})
        self._layouts = tuple(layout for layout in reader.layouts.values() if layout.plain and layout.key)
        if not self._layouts:
            raise IrregularError("No table has images.")
        (part,) = self._sections["rows"]
        before = await self._rows(transaction, _before(part, self._layouts))
        self._before = before[0]["rows"]
        await self._apply(transaction)
        if self.counted:
            self._changed = (await self._counts(transaction)).since(self._written)

    async def log(self, transaction: Transaction, entry: AuditLogEntry) -> str:
        """Write the entry. Return its id, or "" without images. Raises IrregularError."""
        (part,) = self._sections["rows"]
        kept = "copies_entry" if self._image_reader is None else "copies_entry_images"
        logged = _logged(part, self._layouts, kept, self._full(""), self._keeps_values)
        self._values = {"copied": self._before, "args": audit_log.fields(entry), "bytes": ROW_LIMIT}
        written = (await self._rows(transaction, logged))[0]
        self._values, self._before = {}, ""  # they are large, and the journal keeps this transaction
        if not written["regular"]:
            raise IrregularError("Rows did not change as the action says.")
        if self.counted and not self._adds_up(written["updated"] or (), written["deleted"] or ()):
            raise IrregularError("The server wrote rows that the comparison does not have.")
        return written["entry"] or ""

    def _adds_up(self, updated: Iterable[str], deleted: Iterable[str]) -> bool:
        """Return True if the server wrote the rows that differ, and no others."""
        numbers = Counter(updated), Counter(deleted)
        schema = self.reader.found.schema
        rows = {
            gate.qualified(name, schema): gate.Counts(0, numbers[0][name], numbers[1][name])
            for name in {*numbers[0], *numbers[1]}
        }
        return rows == self._changed

    async def _sent(self, transaction: Transaction, part: Statement) -> Sequence[Mapping[str, Any]]:
        """Send a statement with each list as one text.

        The driver takes ten times as long to encode a list.
        """
        if self._nodes is not self._listed:
            self._listed = self._nodes
            self._texts = {name: BETWEEN.join(items) for name, items in self._nodes.items()}
            if any(not all(items) or self._texts[n].split(BETWEEN) != items for n, items in self._nodes.items()):
                self._texts = {}
        joined = with_texts(part) if self._texts else None
        values = {**self._fixed, **self._nodes, **self._values}
        if joined is None:
            return await transaction.rows(part, values)
        return await transaction.rows(joined, values | self._texts)


@lru_cache(maxsize=32)
def with_texts(part: Statement) -> Statement | None:
    """Return the statement with one text for each list.

    The server makes a list of it before it plans. None if the statement casts a list to another type.
    """
    text = part.text
    for name in _LISTS.intersection(part.parameters):
        parameter = f"${part.parameters.index(name) + 1}::"
        if text.count(parameter) > text.count(f"{parameter}text[]"):
            return None
        text = text.replace(f"{parameter}text[]", f"string_to_array({parameter}text, E'\\x1f')")
    return msgspec.structs.replace(part, text=text)


@lru_cache(maxsize=8)
def _before(part: Statement, layouts: tuple[Layout, ...]) -> Statement:
    """Return the statement that reads the rows of ``part`` before the change."""
    found = statement("copies_before", *part.parameters)
    return msgspec.structs.replace(
        found, text=with_parts(found.text, {"copied": part.text, "images": _images(layouts)})
    )


@lru_cache(maxsize=8)
def _logged(part: Statement, layouts: tuple[Layout, ...], kept: str, label: str, keeps_values: bool) -> Statement:
    """Return the statement that writes the entry about the rows of ``part``.

    ``kept``: the statement of the entry. ``label``: the start of the nodes' ids.
    """
    found = statement("copies_logged", *part.parameters)
    entry = statement(kept, *found.parameters)
    parts = {
        "copied": part.text,
        "images": _images(layouts),
        "compared": "\nUNION ALL\n".join(_row(layout, label, keeps_values) for layout in layouts),
        "tables": ", ".join(map(_table, layouts)),
        "entry": entry.text,
    }
    return msgspec.structs.replace(found, text=with_parts(found.text, parts), parameters=entry.parameters)


def _images(layouts: Iterable[Layout]) -> str:
    return "\nUNION ALL\n".join(images.filled("images_row", layout).text for layout in layouts)


def _row(layout: Layout, label: str, keeps_values: bool) -> str:
    """Return the statement that compares rows of a table."""
    stored = [n for n, generated in enumerate(layout.generated) if not generated]

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
    head = {"table": layout.name, "key": layout.key, "columns": layout.columns, "others": layout.others, "rows": []}
    start = literal(_json(head).removesuffix("]}"))
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
