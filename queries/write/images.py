"""Exact images of the rows that an action changes: what its undo restores.

An image has columns as text, so that a cast restores them; JSON would lose key order, duplicate keys and the difference
between SQL NULL and JSON null. An action says which columns it overwrites. A changed row's image has these, a deleted
row's image all columns. The other columns are compared by a digest.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any
from weakref import WeakKeyDictionary

import msgspec

from queries.db.database import Database
from queries.db.errors import DatabaseError
from queries.db.query import Query, Rows
from queries.db.shared_sql import statement
from queries.db.transaction import Transaction
from queries.files.statement import Statement, with_parts
from queries.read.question import Question
from queries.records.action import RowChange
from queries.records.record import Record

ROW_IMAGE_BYTES = 1 << 20  # of text in the image of one row
ENTRY_IMAGE_BYTES = 16 << 20  # ... in the images of one audit log entry

_UNREAD = re.compile(r"[1-9][0-9]{6,} [0-9a-f]{32}")  # size and digest, which bulks of version 0.2.0 kept as the value

RowKey = tuple[str, str]  # table and key of a row, as in RowChange


class RowImage(Record, gc=False, array_like=True):
    """Image of one row, changed for the node with the local id ``id``.

    ``key``: its primary key. ``before``: the overwritten columns, or all columns of a deleted row; None: inserted.
    ``after``: digest of the row afterwards; None: deleted. ``xmin``: transaction that wrote the row as it was
    afterwards, which may be a subtransaction.
    """

    id: str
    key: tuple[str | None, ...]
    before: dict[str, str | None] | None
    after: str | None
    xmin: str | None


class TableImages(Record):
    """Images of rows of one table.

    ``key``: the columns of its primary key. ``columns``: those that were read. ``others``: the other columns.
    """

    table: str
    key: tuple[str, ...]
    columns: tuple[str, ...]
    others: tuple[str, ...]
    rows: tuple[RowImage, ...]


class Images(Record):
    """Images of the rows that one transaction changed.

    ``incomplete``: by local id of a node, why its changes cannot be undone.
    """

    tables: tuple[TableImages, ...] = ()
    incomplete: dict[str, str] = {}

    def without(self, nodes: Iterable[str], why: str) -> Images:
        """Return the images with no rows of these nodes, if there is a reason."""
        if not why:
            return self
        incomplete = {**dict.fromkeys(nodes, why), **self.incomplete}
        tables = (
            msgspec.structs.replace(t, rows=tuple(row for row in t.rows if row.id not in incomplete))
            for t in self.tables
        )
        return Images(tables=tuple(tables), incomplete=incomplete)


class StoredImages(Record):
    """Images as an entry keeps them, and what the server recorded of the entry.

    ``role``: the role that wrote the entry. ``intact``: entry and images have the hashes with which they were written.
    """

    role: str
    engine: str
    schema: str
    images: Images
    intact: bool

    @classmethod
    def of(cls, entry: Mapping[str, Any], text: str | bytes, *, intact: bool) -> StoredImages:
        """Decode images of an entry. Images that cannot be decoded are not intact.

        Nodes are incomplete if a value is the size and digest of a larger one.
        """
        try:
            images = msgspec.json.decode(text, type=Images)
        except (msgspec.MsgspecError, RecursionError):
            images, intact = Images(), False
        rows = [row for table in images.tables for row in table.rows]
        unread = [row.id for row in rows if any(_UNREAD.fullmatch(text or "") for text in (row.before or {}).values())]
        images = images.without(unread, "a value is too large" if unread else "")
        return cls(role=entry["role"], engine=entry["engine"], schema=entry["schema"], images=images, intact=intact)


class Layout(Record):
    """Columns of a table, as ``image_columns.sql`` returns them."""

    name: str
    plain: bool  # not partitioned, and no view
    relation: str
    literal: str
    oid: str
    version: str
    columns: tuple[str, ...]
    forms: tuple[str, ...]  # of a column's text: json, array, text
    varying: tuple[bool, ...]
    generated: tuple[bool, ...]
    others: tuple[str, ...]
    key: tuple[str, ...]
    texts: str
    rest: str

    @property
    def restorable(self) -> bool:
        """Return True if the table's rows can have images."""
        return self.plain and bool(self.key)

    def images(self, rows: Iterable[RowImage]) -> TableImages:
        """Return images of rows of the table."""
        return TableImages(table=self.name, key=self.key, columns=self.columns, others=self.others, rows=tuple(rows))


class RowText(Record, gc=False, kw_only=False):
    """A row as text, as far as a statement read it.

    Values of varying size begin with ``=`` or ``#``; ``image_columns.sql`` says why. ``rest``: digest of the columns
    that were not read. ``digest``: of the whole row.
    """

    place: str
    rest: str
    texts: Sequence[str | None] = ()
    xmin: str = ""
    digest: str = ""


_layouts: WeakKeyDictionary[Database, dict[tuple[str, str, tuple[str, ...]], Layout]] = WeakKeyDictionary()


class ImageReader:
    """Reads rows of an engine's tables as text, in one transaction.

    ``columns``: the columns to read, as ``table.column`` or ``table.*``. Other tables are not read.
    """

    def __init__(self, database: Database, schema: str, columns: Iterable[str]) -> None:
        self._schema = schema
        self._columns: dict[str, list[str]] = {}
        for name in columns:
            table, _, column = name.partition(".")
            self._columns.setdefault(table, []).append(column)
        self._known = _layouts.setdefault(database, {})
        self._absent: set[str] = set()
        self.layouts: dict[str, Layout] = {}

    def copying(self, part: Statement, name: str) -> Statement:
        """Return the statement ``part``, which copies rows, with images beside them.

        ``name``: ``images_before`` or ``images_after``. The columns of the tables have been learned.
        """
        images = rows_of(layout for layout in self.layouts.values() if layout.plain)
        if not images:
            return part
        return msgspec.structs.replace(
            part, text=with_parts(statement(name).text, {"images": images, "copied": part.text})
        )

    async def completed(
        self, transaction: Transaction, places: Mapping[RowKey, str], texts: Mapping[RowKey, RowText]
    ) -> Mapping[RowKey, RowText]:
        """Return ``texts`` and the rows at physical ``places`` that it lacks.

        A row that was changed since is missing. Raises DatabaseError.
        """
        images = dict(texts)
        for table, layout in list(self.layouts.items()):
            keys = {at: place for place, at in places.items() if place[0] == table and place not in texts}
            for row in await self._rows(transaction, table, list(keys)) if keys and layout.plain else ():
                images[keys[row["place"]]] = RowText(**row)
        return images

    async def _rows(self, transaction: Transaction, table: str, places: list[str]) -> Sequence[Any]:
        """Read rows. If the columns have changed, learn them again."""
        try:
            rows = await transaction.rows(_rows_at(self.layouts[table]), {"places": places})
        except DatabaseError:  # a column may be gone
            self._known.clear()
            raise
        if len(rows) == len(places):
            return rows
        del self.layouts[table]
        await self.learn(transaction, [table], again=True)
        return await transaction.rows(_rows_at(self.layouts[table]), {"places": places})

    async def learn(self, transaction: Transaction, tables: Iterable[str], *, again: bool = False) -> None:
        """Read the columns of tables, unless they are known. Raises DatabaseError."""
        await self.learning(tables, again=again).answer(transaction)

    def learning(self, tables: Iterable[str] | None = None, *, again: bool = False) -> Question[None]:
        """Ask for the columns of tables, or of all, unless they are known."""
        tables_read = []
        names = self._columns.keys() & set(self._columns if tables is None else tables)
        for table in sorted(names - self.layouts.keys() - self._absent):
            layout = self._known.get((self._schema, table, tuple(self._columns[table])))
            if layout is not None and not again:
                self.layouts[table] = layout
            else:
                tables_read.append({"name": table, "columns": self._columns[table], "bytes": ROW_IMAGE_BYTES})
        values = {"schema": self._schema, "args": tables_read}
        queries = [Query(statement("image_columns"), values)] if tables_read else []
        return Question(queries, lambda answers: self._learn({str(each["name"]) for each in tables_read}, answers))

    def _learn(self, names: set[str], answers: Sequence[Rows]) -> None:
        self._absent |= names
        for row in chain.from_iterable(answers):
            layout = msgspec.convert(
                dict(row), Layout, strict=False
            )  # an array of bool is no type that the driver knows
            self.layouts[layout.name] = layout
            self._absent.discard(layout.name)
            self._known[self._schema, layout.name, tuple(self._columns[layout.name])] = layout

    def collect(
        self,
        changes: Sequence[RowChange],
        before: Mapping[RowKey, RowText],
        after: Mapping[RowKey, RowText],
        local: Callable[[str], str],
    ) -> Images:
        """Return the images of changed rows. ``local`` returns a node's local id."""
        tables: dict[str, list[RowImage]] = {}
        incomplete: dict[str, str] = {}
        size = 0
        makers = {name: _Maker(layout) for name, layout in self.layouts.items() if layout.restorable}
        for change in changes:
            node, place = local(change.id), (change.table, change.key)
            make = makers.get(change.table)
            if make is None:
                incomplete.setdefault(node, _unknown(change.table, self.layouts.get(change.table)))
                continue
            was = None if change.before is None else before.get(place)
            now = None if change.after is None else after.get(place)
            if (was is None) != (change.before is None) or (now is None) != (change.after is None):
                incomplete.setdefault(node, f"the row of {change.table} was changed while it was copied")
                continue
            image, bytes_, why = make.image(node, was, now)
            size += bytes_
            if size > ENTRY_IMAGE_BYTES:
                why = why or f"the images of all rows are more than {_bytes(ENTRY_IMAGE_BYTES)}"
            if why:
                incomplete.setdefault(node, why)
            tables.setdefault(change.table, []).append(image)
        return Images(
            tables=tuple(
                self.layouts[table].images(row for row in rows if row.id not in incomplete)
                for table, rows in tables.items()
            ),
            incomplete=incomplete,
        )


class _Maker:
    """Makes the images of rows of one table. A bulk has hundreds of thousands."""

    def __init__(self, layout: Layout) -> None:
        numbers = [n for n, generated in enumerate(layout.generated) if not generated]
        self._layout = layout
        self._all = [(layout.columns[n], n, layout.varying[n]) for n in numbers]
        self._others = [column for column in self._all if column[0] not in layout.key]  # a change leaves the key
        self._key = [(n, layout.varying[n]) for n in map(layout.columns.index, layout.key)]

    def image(self, node: str, was: RowText | None, now: RowText | None) -> tuple[RowImage, int, str]:
        """Return the image of a row, its size, and why it is incomplete, or ""."""
        layout = self._layout
        before: dict[str, str | None] | None = None
        size, why = 0, ""
        if was is not None:
            before = {}
            texts = was.texts
            for column, n, varying in self._all if now is None else self._others:
                text = texts[n]
                if text is not None:
                    size += len(text)
                    if varying:
                        if text[0] == "#":
                            why = f"{_bytes(int(text[1:].split(' ')[0]))} of {layout.name}.{column}"
                        text = _read(text)
                before[column] = text
            if (now is None and layout.others) or (now is not None and was.rest != now.rest):
                why = f"other columns of {layout.name} were changed too, for example by a trigger"
        key_row = was or now
        assert key_row is not None  # a change has a row before or after it
        texts = key_row.texts
        image = RowImage(
            id=node,
            key=tuple([_read(texts[n]) if varying else texts[n] for n, varying in self._key]),
            before=before,
            after=None if now is None else now.digest,
            xmin=None if now is None else now.xmin,
        )
        if not why and size > ROW_IMAGE_BYTES:
            why = f"{_bytes(size)} of a row of {layout.name}"
        return image, size, why


def filled(name: str, layout: Layout, **parts: str) -> Statement:
    """Return the statement ``name`` for a table. The server quoted the names in it."""
    template = statement(name)
    own = {"relation": layout.relation, "oid": layout.oid, "version": layout.version, "table": layout.literal}
    text = with_parts(template.text, {**own, "texts": layout.texts, "rest": layout.rest, **parts})
    return msgspec.structs.replace(template, text=text)


def rows_of(layouts: Iterable[Layout]) -> str:
    """Return SQL of the image of a row copy, whose table has one of these layouts."""
    return "\nUNION ALL\n".join(filled("images_row", layout).text for layout in layouts)


def _rows_at(layout: Layout) -> Statement:
    return filled("images", layout, images=rows_of([layout]))


def values(layout: Layout, row: RowText) -> dict[str, str | None]:
    """Return the values of a row as texts.

    A value that was not read is its size and digest.
    """
    parts = zip(layout.columns, row.texts, layout.varying, strict=True)
    return {column: _read(text) if varying else text for column, text, varying in parts}


def _read(text: str | None) -> str | None:
    """Return a value of varying size."""
    if text is None or text[0] == "=":
        return text and text[1:]
    return "{} bytes, md5 {}".format(*text[1:].split(" ", 1))


def _bytes(number: int) -> str:
    return f"{number / 1000:.0f} kB" if number < 1_000_000 else f"{number / 1_000_000:.1f} MB"


def _unknown(table: str, layout: Layout | None) -> str:
    if layout is None:
        return f"it also changes {table}, which undo does not restore"
    if not layout.plain:
        return f"the table {table} is partitioned"
    return f"the table {table} has no primary key"
