"""The script that undoes the changes of an audit log entry.

A row is restored only if it is still as the entry left it: the same transaction wrote it, and its digest is the same. A
node is undone as a whole or not at all. In append-only tables no row is changed; the engine's own SQL adds a row that
compensates. Afterwards ``RowChange.columns`` says which columns differ from the images, as it does of every change.

An operator with few privileges may write entries, and a colleague with more may undo them. So an undo makes only
changes that the engine's actions make, and that the writer of the entry could make with its own privileges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from queries.change import images as image_reader
from queries.change.admit import HELD
from queries.change.images import ImageReader, Layout, RowKey, RowsRead, RowText
from queries.change.script import GuardMissedError, Nodes, Request
from queries.db.errors import DatabaseError, attempting, table_locks
from queries.db.query import Query, Rows, RowsOrError, statement
from queries.db.reads import Apart, Reads
from queries.db.transaction import Transaction
from queries.files.statement import Statement
from queries.log import audit_log
from queries.log.choice import AuditLog
from queries.read.reader import Reader
from queries.records.action import Outcome, RowChange, Undo
from queries.records.images import Images, RowImage, StoredImages, TableImages
from queries.records.node import Phase
from queries.records.record import Record

VALUE_CHARACTERS = 4000  # characters of a value in the detail of a result

NO_IMAGES = "irreversible: no images of its rows were kept"
INCOMPLETE = "image incomplete: {}"
COLUMNS = "irreversible: the columns of {} have changed since"
KEY = "irreversible: the primary key of {} has changed since"
NOT_BACK = "{} is not as before, because of a trigger, a rule or a row-level policy of the table"
STAYS = "what triggers and foreign keys did stays: {}"
HIDDEN = "policies on {} may hide rows that are not back"
ALTERED = "the entry or its images were changed after they were written (`unstick audit --verify`)"
ELSEWHERE = "the entry is about {engine} in the schema {schema}, not about this engine"
FOREIGN = "no action of {engine} {does} {name}, so the entry does not come from an action"
UNKNOWN_ROLE = "the role {author}, which wrote the entry, does not exist any more, so its privileges are unknown"
LACKS = "{author} wrote the entry and lacks {what}: an undo makes no change that its writer could not make"
POLICIES = (
    "row-level policies of {what} decide which rows {author}, who wrote the entry, can change: "
    "only {author} can undo it"
)
NAMES_OTHERS = (
    "{author} can write any role into the audit log, so the entry may be from {author}, who cannot change {what}: "
    "check who has INSERT or UPDATE on unstick.audit_log"
)


class Parts(Record):
    """Parts of the statements for one table, as ``undo_columns.sql`` returns them."""

    name: str
    sets: str | None
    names: str
    values: str
    parents: tuple[str, ...]


class KeptRow(Record, gc=False):
    """A row to restore, its table and its key as one text.

    ``ids``: the nodes for which it was changed.
    """

    table: str
    key: str
    image: RowImage
    ids: tuple[str, ...]

    @property
    def place(self) -> RowKey:
        """Identity of the row among the rows of the entry."""
        return self.table, self.key


class RowState(NamedTuple):
    """A row as it is now.

    ``taken``: it exists, and no other transaction locks it. ``image``: None if it was changed meanwhile.
    """

    taken: bool
    present: bool
    image: RowText | None


Sought = tuple[Sequence[KeptRow], Query]
"""Rows, and the statement that finds them."""


class UndoScript:
    """Gives the rows of an entry the values of their images."""

    restores = True

    def __init__(self, request: Request, nodes: Nodes) -> None:
        self.action, self.nodes = request.action, nodes
        self.reader = request.reader
        self._entry = str(request.arguments.get("entry", ""))
        self._images = Images()
        self._kept: dict[RowKey, KeptRow] = {}
        self._parts: dict[str, Parts] = {}
        self._added: dict[RowKey, KeptRow] = {}  # rows that compensate
        self.images = ImageReader(self.reader.database, "", ())
        self._now: dict[RowKey, RowText] = {}
        self._changed = False
        self._sought: list[Sought] = []
        self._others = ""  # rows of other tables that the action has written
        self._hidden_from_author: tuple[str, ...] = ()  # tables of which policies hide rows from the entry's writer

    async def load(self, transaction: Transaction, log: AuditLog) -> None:
        """Read the images of the entry. Raises DatabaseError."""
        entry = await log.images(transaction, self._entry)
        if entry is None:
            raise DatabaseError(
                f"The entry {self._entry} has no images of its rows, so it cannot be undone.", "Nothing was changed."
            )
        why = why_foreign(self.reader, entry)
        if not why:
            doubts = await author_doubts(transaction, self.reader, entry, in_table=self._in_table)
            why, self._hidden_from_author = doubts
        if why:
            self.nodes.skip_all(Outcome.REFUSED, why)
            return
        self._others = entry.others
        await self._learn(transaction, entry.images)

    async def _learn(self, transaction: Transaction, images: Images) -> None:
        """Keep images, and read the columns of their tables. Raises DatabaseError."""
        self._images = images
        names = [t.table for t in images.tables]
        locks = [" ".join(("UPDATE", t.table)) for t in images.tables if any(row.after is not None for row in t.rows)]
        needed = (f"{need['word']} {need['table']}" for need in needs(self.reader, images.tables))
        words = tuple(dict.fromkeys((*locks, *needed)))
        self.action = msgspec.structs.replace(self.action, privileges=words)
        detected = self.reader.detected
        rows: dict[RowKey, KeptRow] = {}
        for table in images.tables:
            for image in table.rows:
                key = _text(image.key)
                before = rows.get((table.table, key))
                ids = (*(before.ids if before else ()), self.nodes.full(image.id))
                rows[table.table, key] = KeptRow(table=table.table, key=key, image=image, ids=ids)
        self._kept = rows
        read = [f"{t.table}.{c}" for t in images.tables for c in (t.columns if t.others else ("*",))]
        self.images = ImageReader(self.reader.database, detected.schema, read)
        tables = [
            {
                "name": t.table,
                "columns": sorted({c for row in t.rows for c in row.before or ()} - set(t.key)),
                "counters": [c.partition(".")[2] for c in self._counters if c.partition(".")[0] == t.table],
            }
            for t in images.tables
        ]
        values = {"schema": detected.schema, "args": tables}
        with table_locks():
            *_, columns = await transaction.batch([*detected.locks(words), Query(statement("undo_columns"), values)])
        parts = [msgspec.convert(dict(row), Parts) for row in columns]
        await self.images.learn(transaction, names, again=True)
        layouts = self.images.layouts
        self._parts = {p.name: p for p in _parents_first(parts) if layouts[p.name].restorable}

    @property
    def _append_only(self) -> tuple[str, ...]:
        return self.reader.engine.spec.append_only

    @property
    def _counters(self) -> tuple[str, ...]:
        return self.reader.engine.spec.counters

    async def admit(self, transaction: Transaction, then: Callable[[], Sequence[Query]]) -> list[Rows]:
        """Lock the rows; skip nodes with a row that is not as the entry left it."""
        self._skip_unrestorable()
        rows = self._kept.values()
        locked = self._finding([row for row in rows if row.image.after is not None], lock=True)
        others = self._finding([row for row in rows if row.image.after is None], lock=False)
        sought = [*locked, *others]
        states = _states(sought, await transaction.batch([query for _, query in sought]))
        self._now = _images_of(states)
        changed: dict[str, tuple[Outcome, str, str | None]] = {}
        for place, row in self._kept.items():
            if place in states and (verdict := _verdict(row, states[place])):
                changed |= {i: verdict for i in row.ids if i not in changed}
        reasons = await self._reasons(transaction, {i: v for i, v in changed.items() if i in self.nodes.remaining})
        for node_id, (outcome, why, detail) in reasons.items():
            self.nodes.skip(node_id, outcome, why, detail)
        await self._skip_refused(transaction)
        self._skip_sharing()
        return await transaction.batch(then())

    def digests(self, before: RowsRead) -> dict[str, str]:
        """Return the entry for each node: the rows were compared with its images."""
        return dict.fromkeys(self.nodes.remaining, self._entry)

    def _skip_unrestorable(self) -> None:
        """Skip nodes without complete images, or with other columns by now."""
        imaged = {i for row in self._kept.values() for i in row.ids}
        layouts = self.images.layouts
        altered = {
            t.table: KEY if t.table not in self._parts or t.key != layouts[t.table].key else COLUMNS
            for t in self._images.tables
            if t.table not in self._parts or not _same_columns(t, layouts[t.table])
        }
        for node_id in list(self.nodes.remaining):
            local = self.reader.ids.local(node_id)
            tables = sorted({r.table for r in self._kept.values() if node_id in r.ids} & altered.keys())
            if local in self._images.incomplete:
                self.nodes.skip(node_id, Outcome.REFUSED, INCOMPLETE.format(self._images.incomplete[local]))
            elif node_id not in imaged:
                self.nodes.skip(node_id, Outcome.REFUSED, NO_IMAGES)
            elif tables:
                self.nodes.skip(node_id, Outcome.REFUSED, altered[tables[0]].format(tables[0]))

    async def _skip_refused(self, transaction: Transaction) -> None:
        """Skip nodes to whose state the engine cannot lead back."""
        for table in self._append_only:
            rows = [r for r in self._kept.values() if r.table == table and self._concerned(r.place)]
            for part in self.reader.engine.actions[f"undo/{table}"].get("refused", ()) if rows else ():
                for row in await transaction.rows(part, self._compensated(rows)):
                    if self.nodes.full(row["id"]) in self.nodes.remaining:
                        self.nodes.skip(self.nodes.full(row["id"]), Outcome.REFUSED, row["why"])

    def _skip_sharing(self) -> None:
        """Skip nodes that share a changed row with a node that is not undone."""
        while True:
            remaining = set(self.nodes.remaining)
            split = [row for row in self._kept.values() if not remaining.issuperset(row.ids)]
            shared = {i: row for row in split for i in row.ids if i in remaining}
            if not shared:
                return
            for node_id, row in shared.items():
                other = next(i for i in row.ids if i not in remaining)
                why = f"the action changed a row of {row.table} for it and for {other}, which is not undone"
                self.nodes.skip(node_id, Outcome.REFUSED, why)

    def _concerned(self, place: RowKey) -> bool:
        row = self._kept.get(place) or self._added.get(place)
        return row is not None and any(i in self.nodes.remaining for i in row.ids)

    def _finding(self, rows: Sequence[KeptRow], *, lock: bool) -> list[Sought]:
        """Return the statements for rows as they are now, one for each table."""
        clause = "FOR NO KEY UPDATE OF t SKIP LOCKED" if lock else ""
        by_table = {table: [row for row in rows if row.table == table] for table in self._parts}
        return [
            (each, ImageReader.finding(self.images.layouts[table], [row.image.key for row in each], clause))
            for table, each in by_table.items()
            if each
        ]

    def _statement(self, name: str, table: str) -> Statement:
        parts = self._parts[table]
        own = {"names": parts.names, "values": parts.values, "sets": parts.sets or ""}
        return image_reader.filled(name, self.images.layouts[table], **own)

    async def _reasons(
        self, transaction: Transaction, changed: Mapping[str, tuple[Outcome, str, str | None]]
    ) -> dict[str, tuple[Outcome, str, str]]:
        """Return why nodes are skipped, and by which transaction.

        Names the audit log entry, or the engine, as far as these can be read.
        """
        if not changed:
            return {}
        xids = sorted({xid for _, _, xid in changed.values() if xid})
        writers: dict[str, str] = {}
        nodes: dict[str, Phase] = {}
        apart = Apart(transaction)
        with attempting():  # part of a reason is more than none
            nodes = {n.id: n.phase for n in await self.reader.nodes.existing(apart, sorted(changed))}
            if self._in_table and xids:
                rows = await apart.rows(statement("undo_writers"), {"ids": xids})
                writers = {r["xid"]: f" (audit log entry {r['entry']}: {r['action']} by {r['who']})" for r in rows}
        reasons = {}
        for node_id, (outcome, why, xid) in changed.items():
            by = f"by transaction {xid}{writers.get(xid, '')}" if xid else ""
            taken = outcome is Outcome.STALE and xid not in writers and nodes.get(node_id) is Phase.RUNNING
            reasons[node_id] = outcome, ("taken by the engine: " if taken else "") + why, by
        return reasons

    @property
    def _in_table(self) -> bool:
        return audit_log.is_table_id(self._entry)

    async def change(
        self, transaction: Transaction, then: Callable[[], Sequence[Query]]
    ) -> tuple[set[str], list[RowsOrError]]:
        """Delete inserted rows, insert deleted rows, update the others.

        Return the nodes that were undone.
        """
        self._changed = True
        rows = [row for row in self._kept.values() if self._concerned(row.place)]
        plain = [row for row in rows if row.table not in self._append_only]
        children_first = list(reversed(self._parts))
        for table in children_first:
            made = [r for r in plain if r.table == table and r.image.before is None]
            await self._run(transaction, "undo_delete", table, made)
        for table in self._parts:
            gone = [r for r in plain if r.table == table and r.image.after is None]
            await self._run(transaction, "undo_insert", table, gone)
        for table in self._parts:
            both = [r for r in plain if r.table == table and r.image.before is not None and r.image.after is not None]
            await self._run(transaction, "undo_update", table, both)
        for table in children_first:
            if table in self._append_only:
                await self._compensate(transaction, table, [r for r in rows if r.table == table])
        return set(self.nodes.remaining), await transaction.each([*then()])

    async def _run(self, transaction: Transaction, name: str, table: str, rows: Sequence[KeptRow]) -> None:
        if not rows:
            return
        changes = []
        for row in rows:
            now = self._now.get(row.place)
            position = {} if now is None else {"place": now.place, "xmin": now.xmin}
            changes.append({**position, "before": row.image.before})
        values = {"changes": changes, "places": [change["place"] for change in changes if "place" in change]}
        await transaction.rows(self._statement(name, table), values)

    async def _compensate(self, transaction: Transaction, table: str, rows: Sequence[KeptRow]) -> None:
        """Add the rows that compensate changes of an append-only table."""
        if not rows:
            return
        sections = self.reader.engine.actions[f"undo/{table}"]
        values = self._compensated(rows)
        for part in sections["change"]:
            await transaction.rows(part, values)
        for part in sections["added"]:
            for row in await transaction.rows(part, values):
                image = RowImage(id=row["id"], key=tuple(row["key"]), before=None, after=None, xmin=None)
                kept = KeptRow(table=table, key=_text(image.key), image=image, ids=(self.nodes.full(row["id"]),))
                self._added[kept.place] = kept

    def _compensated(self, rows: Iterable[KeptRow]) -> Mapping[str, Any]:
        """Return the parameters of the statements for an append-only table."""
        changes = [
            {"id": self.reader.ids.local(i), "key": row.image.key, "inserted": row.image.before is None}
            for row in rows
            for i in row.ids
        ]
        return {**self.nodes.parameters, "changes": changes}

    def row_queries(self) -> list[Query]:
        """Return the statements for the rows after the change."""
        rows = [r for r in (*self._kept.values(), *self._added.values()) if self._concerned(r.place)]
        self._sought = self._finding(rows, lock=False) if self._changed else []
        return [query for _, query in self._sought]

    async def rows(
        self, transaction: Transaction, answers: Sequence[RowsOrError], before: RowsRead | None = None
    ) -> RowsRead:
        """Return the rows. Those after the change are compared with the images."""
        if before is None:
            return self._read(self._now)
        rows = [each for each in answers if not isinstance(each, DatabaseError)]
        now = self._read(_images_of(_states(self._sought, rows)))
        self._check_restored(now.rows)
        return now

    def _check_restored(self, now: Mapping[RowKey, RowText]) -> None:
        """Note columns that differ from the images.

        Raises GuardMissedError for nodes of which a row or a value did not come back.
        """
        missed: dict[str, str] = {}
        for place, row in self._kept.items():
            if not self._concerned(place) or row.table in self._append_only:
                continue
            text, was = now.get(place), self._now.get(place)
            what = f"the row of {row.table}"
            if (text is None) is (row.image.before is None):
                what = "" if text is None else self._compare(row, text, was)
            for node_id in row.ids if what else ():
                missed.setdefault(node_id, NOT_BACK.format(what))
        if missed:
            raise GuardMissedError(list(missed), missed)
        for row in self._added.values():
            self._note(row.ids, f"{row.table} has a new row")
        if self._others:
            self._note(self.nodes.remaining, STAYS.format(self._others))
        hidden = sorted({*self._hidden_from_author, *self.reader.detected.policies})
        if hidden:
            self._note(self.nodes.remaining, HIDDEN.format(", ".join(hidden)))

    def _compare(self, row: KeptRow, text: RowText, was: RowText | None) -> str:
        """Note columns that differ from the image. Return what kept its value, or ""."""
        if was is not None and text.xmin == was.xmin:
            return f"the row of {row.table}"
        layout = self.images.layouts[row.table]
        generated = {c for c, made in zip(layout.columns, layout.generated, strict=True) if made}
        now, old = _values(layout, text), {} if was is None else _values(layout, was)
        expected = {**old, **(row.image.before or {})}
        for column in RowChange(id="", table=row.table, key=row.key, before=expected, after=now).columns:
            if column in generated or column not in now:  # an image may have a column that is gone
                continue
            value, name = now[column], f"{row.table}.{column}"
            if column in old and value == old[column]:
                return name
            self._note(row.ids, f"{name} differs", f"{name} is {_short(value)}, not {_short(expected.get(column))}")
        return ""

    def _note(self, ids: Iterable[str], what: str, detail: str = "") -> None:
        for node_id in ids:
            notes = self.nodes.notes
            why, details = notes.get(node_id, ("undone, but ", ""))
            more = "" if what in why else what if node_id not in notes else f", {what}"
            if detail and detail not in details:
                details += f", {detail}" if details else detail
            notes[node_id] = why + more, details

    def _read(self, texts: Mapping[RowKey, RowText]) -> RowsRead:
        """Return rows as they were read, for the nodes that remain."""
        rows = RowsRead()
        for place, text in texts.items():
            row = self._kept.get(place) or self._added[place]
            for node in row.ids:
                if node in self.nodes.remaining:
                    rows.add(node, self.images.layouts[row.table], text)
        return rows


def _values(layout: Layout, row: RowText) -> dict[str, str | None]:
    """Return the columns of a row that an image has, as texts."""
    columns = zip(layout.columns, layout.varying, row.texts, strict=True)
    return {name: image_reader.read(text) if varying else text for name, varying, text in columns}


def _same_columns(kept: TableImages, layout: Layout) -> bool:
    return (kept.key, kept.columns, kept.others) == (layout.key, layout.columns, layout.others)


def _state(row: Mapping[str, Any]) -> RowState:
    image = None if row["rest"] is None else image_reader.row_text(row)
    return RowState(row["place"] is not None, row["present"], image)


def _states(sought: Iterable[Sought], answers: Iterable[Rows]) -> dict[RowKey, RowState]:
    pairs = zip(sought, answers, strict=True)
    return {rows[row["n"]].place: _state(row) for (rows, _), found in pairs for row in found}


def _images_of(rows: Mapping[RowKey, RowState]) -> dict[RowKey, RowText]:
    return {place: row.image for place, row in rows.items() if row.image is not None}


def _verdict(row: KeptRow, state: RowState) -> tuple[Outcome, str, str | None] | None:
    """Return outcome, reason and writer if a row was changed since, or None."""
    taken, present, now = state
    if row.image.after is None:
        if not present:
            return None
        return Outcome.STALE, f"touched since: {row.table} has a row with this key again", now.xmin if now else None
    if not present:
        return Outcome.GONE, f"touched since: the row of {row.table} was deleted", None
    if not taken:
        return Outcome.LOCKED, HELD, None
    if now is None or now.xmin != row.image.xmin or now.digest != row.image.after:
        return Outcome.STALE, f"touched since: the row of {row.table} was changed", now.xmin if now else None
    return None


def _parents_first(parts: Iterable[Parts]) -> list[Parts]:
    """Order tables so that each comes after those that it references."""
    pending = {p.name: p for p in parts}
    ordered: list[Parts] = []
    while pending:
        name = next((n for n, p in pending.items() if not any(r in pending for r in p.parents)), next(iter(pending)))
        ordered.append(pending.pop(name))
    return ordered


def _text(key: Iterable[str | None]) -> str:
    return " ".join(text or "" for text in key)


def _short(text: str | None) -> str | None:
    if text is None or len(text) <= VALUE_CHARACTERS:
        return text
    return f"{text[:VALUE_CHARACTERS]}... {len(text)} characters"


def why_foreign(reader: Reader, stored: StoredImages) -> str:
    """Return why no action of the engine wrote these images, or ""."""
    if not stored.intact:
        return ALTERED
    name = reader.engine.name
    if not reader.is_of(stored.engine, stored.schema):
        return ELSEWHERE.format(engine=stored.engine, schema=stored.schema)
    spec = reader.engine.spec
    columns: dict[str, set[str]] = {}
    for full in (
        *(c for action in spec.actions if action.undo is not Undo.NONE for c in action.overwrites),
        *spec.counters,
    ):
        owner, _, column = full.partition(".")
        columns.setdefault(owner, set()).add(column)
    for table in stored.images.tables:
        own = columns.get(table.table, set())
        if table.table not in reader.detected.relations or not (own or table.table in spec.append_only):
            return FOREIGN.format(engine=name, does="changes", name=table.table)
        if table.table in spec.append_only or "*" in own:
            continue
        if any(row.before is None or row.after is None for row in table.rows):
            return FOREIGN.format(engine=name, does="inserts or deletes rows of", name=table.table)
        others = {column for row in table.rows for column in row.before or ()} - own
        if others:
            return FOREIGN.format(engine=name, does="changes", name=f"{table.table}.{min(others)}")
    return ""


async def author_doubts(
    transaction: Transaction, reader: Reader, stored: StoredImages, *, in_table: bool
) -> tuple[str, tuple[str, ...]]:
    """Return why the writer of an entry could not make the changes of its undo, or "".

    Also return the tables of which policies may have hidden rows from the writer. Raises DatabaseError.
    """
    uses = list(needs(reader, stored.images.tables))
    rows = await _lacking(transaction, reader, stored.role, uses, in_table=in_table)
    hidden = tuple(dict.fromkeys(row["what"] for row in rows if row["sort"] == "policies"))
    changed = {table.table for table in stored.images.tables}
    forms = {"missing": UNKNOWN_ROLE, "lacks": LACKS, "policies": POLICIES}
    for row in rows:
        if row["sort"] != "policies" or row["what"] in changed:
            form = forms[row["sort"]] if row["author"] == stored.role else NAMES_OTHERS
            what = row["what"] if form is not NAMES_OTHERS else row["what"].rpartition(" ")[2]
            return form.format(author=row["author"], what=what), hidden
    return "", hidden


async def run_doubts(transaction: Reads, reader: Reader, author: str, privileges: Iterable[str]) -> str:
    """Return why the role that began a run could not run it, or "".

    ``privileges``: of the action, as ``"UPDATE task"``. Raises DatabaseError.
    """
    parts = [privilege.partition(" ") for privilege in privileges]
    needs = [
        {"table": name, "word": word, "column": None} for word, _, name in parts if name in reader.detected.relations
    ]
    rows = await _lacking(transaction, reader, author, needs, in_table=True)
    row = next((row for row in rows if row["sort"] != "policies"), None)
    if row is None:
        return ""
    if row["sort"] == "missing":
        return f"the role {author}, which began it, does not exist any more"
    if row["author"] == author:
        return f"{author} began it and lacks {row['what']}"
    return NAMES_OTHERS.format(author=row["author"], what=row["what"].rpartition(" ")[2])


async def _lacking(
    transaction: Reads,
    reader: Reader,
    author: str,
    needs: Sequence[Mapping[str, str | None]],
    *,
    in_table: bool,
) -> Sequence[Any]:
    values = {
        "schema": reader.detected.schema,
        "query": sorted(reader.detected.relations),
        "args": {"author": author, "in_table": in_table, "needs": needs},
    }
    return await transaction.rows(statement("undo_author"), values)


def needs(reader: Reader, tables: Iterable[TableImages]) -> Iterator[Mapping[str, str | None]]:
    """Yield the privileges that restoring the rows of tables uses."""
    spec = reader.engine.spec
    for table in tables:
        name = table.table
        if name in spec.append_only:
            yield {"table": name, "word": "INSERT", "column": None}
            continue
        counters = {c.partition(".")[2] for c in spec.counters if c.partition(".")[0] == name}
        updated = {c for row in table.rows if row.after is not None for c in row.before or ()}
        if any(row.before is not None and row.after is not None for row in table.rows):
            yield from ({"table": name, "word": "UPDATE", "column": c} for c in sorted(updated | counters))
        if any(row.after is None for row in table.rows):
            yield from ({"table": name, "word": "INSERT", "column": c} for c in table.columns)
        if any(row.before is None for row in table.rows):
            yield {"table": name, "word": "DELETE", "column": None}
