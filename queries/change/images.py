"""Rows as text before and after a change: the one copy of what an action changes.

Two readings are what a dry run shows, what guards a commit, what the gate compares, and what the audit log and an undo
keep. The columns that an action overwrites are read whole, up to 1 MiB. The values of the other columns are compared:
they are read up to 2,000 bytes, and as size and digest beyond.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection, Container, Iterable, Sequence
from itertools import chain
from operator import itemgetter
from weakref import WeakKeyDictionary

import msgspec

from queries.change.script import Nodes
from queries.db.database import Database
from queries.db.errors import UNCHANGED, DatabaseError
from queries.db.query import Query, Row, Rows, statement
from queries.db.reads import Reads
from queries.db.transaction import Transaction
from queries.files.statement import Statement, with_parts
from queries.records.action import RowChange
from queries.records.images import Images, RowImage, TableImages
from queries.records.record import Record
from queries.text.json_text import paired
from queries.text.psql_text import items

ROW_IMAGE_BYTES = 1 << 20  # of text in the image of one row
ENTRY_IMAGE_BYTES = 16 << 20  # ... in the images of one audit log entry
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?")  # that JSON can hold
LONG_CHARACTERS = 100  # of a text that is not sent again to a console that has it
KEPT_CHARACTERS = 8 << 20  # of such texts, for each database
NO_KEY = "The table {} has no primary key, so nothing identifies its rows."
RowKey = tuple[str, str]  # table and key of a row, as in RowChange


class Layout(Record):
    """Columns of a table, as ``image_columns.sql`` returns them.

    Without ``match`` it has no primary key.
    """

    name: str
    plain: bool  # not partitioned, and no view
    relation: str
    oid: str
    oids: tuple[str, ...]
    version: str
    columns: tuple[str, ...]
    forms: tuple[str, ...]  # of a column's text: json, number, array, text
    varying: tuple[bool, ...]
    generated: tuple[bool, ...]
    others: tuple[str, ...]
    other_forms: tuple[str, ...]
    other_varying: tuple[bool, ...]
    key: tuple[str, ...]
    match: str | None
    sort: str | None
    texts: str
    more: str
    rest: str
    key_at: tuple[int, ...] = ()  # of the key among the columns
    every: tuple[tuple[str, str, bool], ...] = ()  # name, form and varying of columns and others

    @property
    def restorable(self) -> bool:
        """Return True if an undo can restore rows of the table."""
        return self.plain and bool(self.key)

    def key_of(self, row: RowText) -> tuple[str | None, ...]:
        """Return the primary key of a row."""
        return tuple([read(row.texts[n]) if self.varying[n] else row.texts[n] for n in self.key_at])

    def json(self, row: RowText) -> dict[str, msgspec.Raw]:
        """Return the columns of a row as JSON."""
        texts = zip(self.every, chain(row.texts, row.more), strict=True)
        return {name: _json(form, varies, text) for (name, form, varies), text in texts}


class RowText(Record, gc=False, kw_only=False):
    """A row as text, as far as a statement read it.

    Values of varying size begin with ``=`` or ``#``; ``image_columns.sql`` says why. ``more``: the columns that are not
    read whole, and ``rest`` their digest. ``digest``: of the whole row. ``own``: this transaction wrote it.
    """

    place: str
    texts: Sequence[str | None]
    more: Sequence[str | None]
    rest: str
    xmin: str
    digest: str
    own: bool

    def equals(self, other: RowText) -> bool:
        """Return True if the rows have the same values."""
        return self.texts == other.texts and self.more == other.more


_fields = itemgetter(*RowText.__struct_fields__)


class RowPair(Record, gc=False, kw_only=False):
    """Row before and after a change, for the nodes ``ids``. None: it is not there."""

    ids: tuple[str, ...]
    table: str
    key: str
    was: RowText | None
    now: RowText | None


class RowsRead(Record):
    """Rows of nodes at one moment.

    ``ids``: the nodes of each. ``unknown``: node, table and place of rows whose table is not known yet.
    """

    rows: dict[RowKey, RowText] = {}
    ids: dict[RowKey, tuple[str, ...]] = {}
    unknown: list[tuple[str, str, str]] = []

    def add(self, node: str, layout: Layout, row: RowText) -> None:
        """Add a row of a node. Raises DatabaseError if its table has no primary key."""
        if not layout.key:
            raise DatabaseError(NO_KEY.format(layout.name), UNCHANGED)
        place = layout.name, " ".join([text or "" for text in layout.key_of(row)])
        self.rows[place] = row
        if node not in (ids := self.ids.get(place, ())):
            self.ids[place] = (*ids, node)

    def digests(self, nodes: Iterable[str], guarded: Container[str]) -> dict[str, str]:
        """Return a digest of each node's rows, equal as long as none of them changes.

        The rows of ``guarded`` nodes change all the time. Their digest covers only the tables and keys.
        """
        parts: dict[str, list[bytes]] = {i: [] for i in nodes}
        if not parts:
            return {}
        for (table, key), row in sorted(self.rows.items(), key=_first):
            for node in self.ids[table, key]:
                if node in parts:
                    values = () if node in guarded else (row.texts, row.more)
                    parts[node].append(msgspec.json.encode((table, key, *values)))
        return {i: hashlib.sha256(b"\n".join(p)).hexdigest() for i, p in parts.items()}


def _first(item: tuple[RowKey, RowText]) -> RowKey:
    return item[0]


class LongTexts:
    """Long texts by digest, which need not come again while rows are locked."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def keep(self, rows: Iterable[RowText]) -> None:
        """Keep the long texts of rows, and forget the oldest if there are too many."""
        texts = self._texts
        for text in chain.from_iterable((*row.texts, *row.more) for row in rows):
            if text is not None and len(text) > LONG_CHARACTERS:
                digest = "~" + hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()
                texts[digest] = texts.pop(digest, text)
        size = sum(map(len, texts.values()))
        for digest in [*texts] if size > KEPT_CHARACTERS else ():
            size -= len(texts.pop(digest)) if size > KEPT_CHARACTERS else 0

    def whole(self, answer: Rows) -> Rows | None:
        """Return rows with the texts of which the digests came; None if one is not known."""
        known, names = self._texts, ("texts", "more")
        rows = [{**row, **{name: [known.get(t, t) for t in row[name] or ()] for name in names}} for row in answer]
        lack = any(t is not None and t[:1] == "~" for row in rows for t in chain(row["texts"], row["more"]))
        return None if lack else rows


_layouts: WeakKeyDictionary[Database, dict[tuple[str, str, tuple[str, ...]], Layout]] = WeakKeyDictionary()
_others: WeakKeyDictionary[Database, dict[tuple[str, ...], set[str]]] = WeakKeyDictionary()  # oids, by columns
_texts: WeakKeyDictionary[Database, LongTexts] = WeakKeyDictionary()


class ImageReader:
    """Reads rows of an engine's tables as text, in one transaction.

    ``columns``: the columns to read whole, as ``table.column`` or ``table.*``. Rows of the engine's other tables are
    not read.
    """

    def __init__(self, database: Database, schema: str, columns: Iterable[str]) -> None:
        self._schema = schema
        self._columns: dict[str, list[str]] = {}
        names = tuple(columns)
        for name in names:
            table, _, column = name.partition(".")
            self._columns.setdefault(table, []).append(column)
        self._known = _layouts.setdefault(database, {})
        self._absent: set[str] = set()
        self._asked: set[str] = set()  # tables that the last question was about
        self._ignored = _others.setdefault(database, {}).setdefault(names, set())  # oids of tables that are not read
        self.layouts: dict[str, Layout] = {}
        self.texts = _texts.setdefault(database, LongTexts())
        self._last: tuple[str | None, Rows] = None, ()  # digest of the rows that were read last, and these

    def queries(self, nodes: Nodes, part: Statement, *, brief: bool) -> list[Query]:
        """Return the statement for the rows of nodes. ``part`` returns their places.

        Those that were read last do not come again. ``brief``: long texts come as their digests. See `whole`.
        """
        template = statement("images", *part.parameters)
        text = with_parts(template.text, {"images": rows_of([*self.layouts.values()]), "located": part.text})
        queries = nodes.queries(msgspec.structs.replace(part, text=text, parameters=template.parameters), json={})
        own = {"bytes": LONG_CHARACTERS if brief else None, "cursor": self._last[0]}
        return [msgspec.structs.replace(query, values={**query.values, **own}) for query in queries]

    def whole(self, answer: Rows) -> Rows | None:
        """Return the rows of an answer, or the last ones; None if a text is not known."""
        digest = next((row["digest"] for row in answer if row["id"] is None), None)
        if digest is None or digest != self._last[0]:
            rows = self.texts.whole([row for row in answer if row["id"] is not None])
            if rows is None:
                return None
            self._last = digest, rows
        return self._last[1]

    def read(self, nodes: Nodes, answer: Rows) -> RowsRead:
        """Return the rows of an answer, as far as their tables are known."""
        rows, by_oid = RowsRead(), {oid: layout for layout in self.layouts.values() for oid in layout.oids}
        prefix = nodes.full("")
        for row in answer:
            layout = by_oid.get(row["relation"])
            if layout is not None and row["rest"] is not None:
                rows.add(prefix + row["id"], layout, row_text(row))
            elif row["relation"] not in self._ignored:
                rows.unknown.append((prefix + row["id"], row["relation"], row["place"]))
        return rows

    async def completed(self, transaction: Reads, rows: RowsRead) -> RowsRead:
        """Return the rows with those of tables that are new, or have other columns.

        Raises DatabaseError.
        """
        by_relation: dict[str, list[tuple[str, str]]] = {}
        for node, relation, place in rows.unknown:
            by_relation.setdefault(relation, []).append((node, place))
        for relation, located in by_relation.items():
            layout = await self._learned(transaction, relation)
            if layout is None:
                self._ignored.add(relation)
                continue
            values = {"changes": [(relation, place) for _, place in located]}
            try:
                answer = await transaction.rows(filled("images_at", layout, images=rows_of([layout])), values)
            except DatabaseError:  # a column may be gone
                self._known.clear()
                raise
            for row in answer:
                rows.add(located[row["n"]][0], layout, row_text(row))
        rows.unknown.clear()
        return rows

    async def _learned(self, transaction: Reads, relation: str) -> Layout | None:
        """Return the columns of a table, read again; None if its rows are not read."""
        asked = {"oid": relation, "columns": ["*"], "bytes": ROW_IMAGE_BYTES}
        for row in await transaction.rows(statement("image_columns"), {"schema": self._schema, "args": [asked]}):
            name: str = row["name"]
            if "." in name:  # it is in another schema
                self._columns[name] = ["*"]
                self._learn({name}, [row])
            elif name in self._columns:
                self.layouts.pop(name, None)
                await self.learn(transaction, [name], again=True)
            return self.layouts.get(name)
        return None

    async def learn(self, transaction: Reads, tables: Iterable[str] | None = None, *, again: bool = False) -> None:
        """Read the columns of tables, or of all, unless they are known.

        Raises DatabaseError.
        """
        self.learned(await transaction.batch(self.unknown(tables, again=again)))

    def unknown(self, tables: Iterable[str] | None = None, *, again: bool = False) -> list[Query]:
        """Return the statement for the columns of tables that are not known.

        ``tables``: None for all. Its answer is for `learned`.
        """
        asked = []
        names = self._columns.keys() & set(self._columns if tables is None else tables)
        for table in sorted(names - self.layouts.keys() - self._absent):
            layout = self._known.get((self._schema, table, tuple(self._columns[table])))
            if layout is not None and not again:
                self.layouts[table] = layout
            else:
                asked.append({"name": table, "columns": self._columns[table], "bytes": ROW_IMAGE_BYTES})
        self._asked = {str(each["name"]) for each in asked}
        values = {"schema": self._schema, "args": asked}
        return [Query(statement("image_columns"), values, json={})] if asked else []

    def learned(self, answers: Iterable[Rows]) -> None:
        """Keep the columns of tables that `unknown` has asked for."""
        for rows in answers:
            self._learn(self._asked, rows)

    def _learn(self, names: set[str], rows: Rows) -> None:
        self._absent |= names
        for row in rows:
            layout = msgspec.convert(dict(row), Layout, strict=False)  # the driver knows no array of bool
            key_at = tuple(map(layout.columns.index, layout.key))
            forms, varying = layout.forms + layout.other_forms, layout.varying + layout.other_varying
            every = tuple(zip(layout.columns + layout.others, forms, varying, strict=True))
            layout = msgspec.structs.replace(layout, key_at=key_at, every=every)
            self.layouts[layout.name] = layout
            self._absent.discard(layout.name)
            self._known[self._schema, layout.name, tuple(self._columns[layout.name])] = layout

    async def with_missing(self, transaction: Reads, before: RowsRead, after: RowsRead) -> RowsRead:
        """Return the rows after a change, with those that only their key finds now.

        Raises DatabaseError.
        """
        missing: dict[str, list[RowKey]] = {}
        for place in before.rows.keys() - after.rows.keys():
            missing.setdefault(place[0], []).append(place)
        for table, places in sorted(missing.items()):
            layout = self.layouts[table]
            places.sort()
            sought = self.finding(layout, [layout.key_of(before.rows[place]) for place in places])
            for row in (await transaction.batch([sought]))[0]:
                for node in before.ids[places[row["n"]]] if row["rest"] is not None else ():
                    after.add(node, layout, row_text(row))
        return after

    @staticmethod
    def finding(layout: Layout, keys: Sequence[Sequence[str | None]], lock: str = "") -> Query:
        """Return the statement for rows by their primary keys."""
        own = {"match": layout.match or "false", "sort": layout.sort or "1", "lock": lock}
        sent = filled("images_find", layout, images=rows_of([layout]), **own)
        return Query(sent, {"changes": keys})

    async def pairs(self, transaction: Transaction, before: RowsRead, after: RowsRead) -> list[RowPair]:
        """Return the rows that differ, without those that another transaction has written.

        Raises DatabaseError.
        """
        pairs = []
        for place in sorted(before.rows.keys() | after.rows.keys()):
            was, now = before.rows.get(place), after.rows.get(place)
            if was is None or now is None or not was.equals(now):
                pairs.append(RowPair(before.ids.get(place) or after.ids[place], *place, was, now))
        xids = sorted({pair.now.xmin for pair in pairs if pair.now is not None and not pair.now.own})
        if not xids:
            return pairs
        own = {row["xid"] for row in await transaction.rows(statement("xacts_running"), {"ids": xids})}
        return [p for p in pairs if p.now is None or p.now.own or p.now.xmin in own]

    def change(self, pair: RowPair, node: str, *, whole: bool) -> RowChange:
        """Return a change as JSON. ``whole``: with the columns that are equal."""
        layout, was, now = self.layouts[pair.table], pair.was, pair.now
        if was is None or now is None or whole:
            before, after = (None if row is None else layout.json(row) for row in (was, now))
        else:
            both = zip(layout.every, chain(was.texts, was.more), chain(now.texts, now.more), strict=True)
            differing = [(*column, old, new) for column, old, new in both if old != new]
            before = {name: _json(form, varies, old) for name, form, varies, old, _ in differing}
            after = {name: _json(form, varies, new) for name, form, varies, _, new in differing}
        return RowChange(id=node, table=pair.table, key=pair.key, before=before, after=after)

    def collect(self, pairs: Sequence[RowPair], local: Callable[[str], str], nodes: Collection[str]) -> Images:
        """Return the images for an undo of ``nodes``. ``local`` returns a local id."""
        tables: dict[str, list[RowImage]] = {}
        incomplete: dict[str, str] = {}
        size = 0
        for pair in pairs:
            layout = self.layouts[pair.table]
            for node in [local(i) for i in pair.ids if i in nodes]:
                if "." in pair.table or not layout.restorable:
                    incomplete.setdefault(node, _unknown(pair.table, layout))
                    continue
                image, bytes_, why = _image(layout, node, pair.was, pair.now)
                size += bytes_
                if size > ENTRY_IMAGE_BYTES:
                    why = why or f"the images of all rows are more than {_bytes(ENTRY_IMAGE_BYTES)}"
                if why:
                    incomplete.setdefault(node, why)
                tables.setdefault(pair.table, []).append(image)
        kept = []
        for table, images in tables.items():
            of = self.layouts[table]
            rows = tuple(image for image in images if image.id not in incomplete)
            kept.append(TableImages(table=table, key=of.key, columns=of.columns, others=of.others, rows=rows))
        return Images(tables=tuple(kept), incomplete=incomplete)


def row_text(row: Row) -> RowText:
    """Return a row of a statement that reads images."""
    return RowText(*_fields(row))


def _image(layout: Layout, node: str, was: RowText | None, now: RowText | None) -> tuple[RowImage, int, str]:
    """Return the image of a row, its size, and why it is incomplete, or ""."""
    before: dict[str, str | None] | None = None if was is None else {}
    size, why, key = 0, "", () if now is None else layout.key_at  # a change leaves the key
    for n, text in enumerate(() if was is None else was.texts):
        if before is not None and n not in key and not layout.generated[n]:
            size += len(text or "")
            column, varying = layout.columns[n], layout.varying[n]
            if varying and text is not None and text[0] == "#":
                why = f"{_bytes(int(text[1:].split(' ')[0]))} of {layout.name}.{column}"
            before[column] = read(text) if varying else text
    if was is not None and (layout.others if now is None else was.rest != now.rest):
        why = f"other columns of {layout.name} were changed too, for example by a trigger"
    if not why and size > ROW_IMAGE_BYTES:
        why = f"{_bytes(size)} of a row of {layout.name}"
    of_key = was or now
    assert of_key is not None  # a change has a row before or after it
    after, xmin = (None, None) if now is None else (now.digest, now.xmin)
    return RowImage(id=node, key=layout.key_of(of_key), before=before, after=after, xmin=xmin), size, why


def filled(name: str, layout: Layout, **parts: str) -> Statement:
    """Return the statement ``name`` for a table. The server quoted the names in it."""
    template = statement(name)
    own = {"relation": layout.relation, "oid": layout.oid, "version": layout.version}
    own |= {"oids": "{" + ",".join(layout.oids) + "}", "texts": layout.texts, "more": layout.more, "rest": layout.rest}
    return msgspec.structs.replace(template, text=with_parts(template.text, {**own, **parts}))


def rows_of(layouts: Iterable[Layout]) -> str:
    """Return SQL of the image of a located row, whose table has one of these layouts."""
    return (
        "\nUNION ALL\n".join(filled("images_row", layout).text for layout in layouts) or statement("images_none").text
    )


def read(text: str | None) -> str | None:
    """Return a value of varying size, or its size and digest if it was not read."""
    if text is None or text[0] == "=":
        return text and text[1:]
    return "{} bytes, md5 {}".format(*text[1:].split(" ", 1))


def _json(form: str, varies: bool, text: str | None) -> msgspec.Raw:
    """Return a value as JSON. An array becomes a list of texts."""
    value = read(text) if varies else text
    if value is None or text is None or (varies and text[0] == "#"):
        return msgspec.Raw(msgspec.json.encode(value))
    if form == "json" or (form == "number" and _NUMBER.fullmatch(value)):
        return msgspec.Raw((paired(value).strip() if varies else value).encode())  # as a decoder reads it
    return msgspec.Raw(msgspec.json.encode(items(value) if form == "array" else value))


def _bytes(number: int) -> str:
    return f"{number / 1000:.0f} kB" if number < 1_000_000 else f"{number / 1_000_000:.1f} MB"


def _unknown(table: str, layout: Layout) -> str:
    if not layout.plain:
        return f"the table {table} is partitioned"
    return f"it also changes {table}, which undo does not restore"
