"""The script that undoes the changes of an audit log entry.

A row is restored only if it is still as the entry left it: the same transaction wrote it, and its digest is the same. A
node is undone as a whole or not at all. In append-only tables no row is changed; the engine's own SQL adds a row that
compensates. Afterwards ``RowChange.columns`` says which columns differ from the images, as it does of every change.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from queries.contract.spec import Action
from queries.db.errors import DatabaseError, attempting, table_locks
from queries.db.query import Query, Rows
from queries.db.shared_sql import statement
from queries.db.transaction import Transaction
from queries.files.statement import Statement
from queries.read.question import Question, Questions, answered, together
from queries.records.action import Outcome, Result, Risk, RowChange, Undo
from queries.records.finding import Support
from queries.records.node import Phase
from queries.records.record import Record
from queries.write import audit_log, image_reader, undo_rights
from queries.write.admit import HELD
from queries.write.image_reader import ImageReader, Layout, RowKey, RowsRead, RowText
from queries.write.images import Images, RowImage, TableImages
from queries.write.nodes import Nodes
from queries.write.request import Request
from queries.write.script import GuardMissedError, HasImages

NAME = "undo"
VALUE_CHARACTERS = 4000  # characters of a value in the detail of a result

ACTION = Action(
    name=NAME,
    key="U",
    title="Undo",
    kinds=(),
    support=Support.NATIVE,
    effect="Rows that are still as the action left them get their earlier values. Other nodes are skipped by name.",
    risk=Risk.MEDIUM,
    undo=Undo.ROWS,
)

NO_IMAGES = "irreversible: no images of its rows were kept"
INCOMPLETE = "image incomplete: {}"
COLUMNS = "irreversible: the columns of {} have changed since"
KEY = "irreversible: the primary key of {} has changed since"
NOT_BACK = "{} is not as before, because of a trigger, a rule or a row-level policy of the table"
STAYS = "what triggers and foreign keys did stays: {}"
HIDDEN = "policies on {} may hide rows that are not back"


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
        self._others = ""  # rows of other tables that the action has written
        self._hidden_from_author: tuple[str, ...] = ()  # tables of which policies hide rows from the entry's writer

    async def load(self, transaction: Transaction, log: HasImages) -> None:
        """Read the images of the entry. Raises DatabaseError."""
        entry = await log.images(transaction, self._entry)
        if entry is None:
            raise DatabaseError(
                f"The entry {self._entry} has no images of its rows, so it cannot be undone.", "Nothing was changed."
            )
        why = undo_rights.why_foreign(self.reader, entry)
        if not why:
            doubts = await undo_rights.author_doubts(transaction, self.reader, entry, in_table=self._in_table)
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
        needs = (f"{need['word']} {need['table']}" for need in undo_rights.needs(self.reader, images.tables))
        words = tuple(dict.fromkeys((*locks, *needs)))
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
        self._parts = {p.name: p for p in _parents_first(parts) if p.name in layouts and layouts[p.name].restorable}

    @property
    def _append_only(self) -> tuple[str, ...]:
        return self.reader.engine.spec.undo.append_only

    @property
    def _counters(self) -> tuple[str, ...]:
        return self.reader.engine.spec.undo.counters

    async def admit(self, transaction: Transaction, then: Questions) -> list[Any]:
        """Lock the rows; skip nodes with a row that is not as the entry left it."""
        self._skip_unrestorable()
        rows = self._kept.values()
        question = together(
            self._finding([r for r in rows if r.image.after is not None], lock=True),
            self._finding([r for r in rows if r.image.after is None], lock=False),
        )
        locked, others = await question.answer(transaction)
        states: dict[RowKey, RowState] = {**locked, **others}
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
        return await answered(transaction, then())

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

    def _finding(self, rows: Sequence[KeptRow], *, lock: bool) -> Question[dict[RowKey, RowState]]:
        """Ask for rows, as they are now."""
        clause = "FOR NO KEY UPDATE OF t SKIP LOCKED" if lock else ""
        by_table = {table: [row for row in rows if row.table == table] for table in self._parts}
        rows_of = {table: each for table, each in by_table.items() if each}

        def read(answers: Sequence[Rows]) -> dict[RowKey, RowState]:
            pairs = zip(rows_of.values(), answers, strict=True)
            return {each[row["n"]].place: _state(row) for each, rows in pairs for row in rows}

        layouts = self.images.layouts
        finding = [
            ImageReader.finding(layouts[table], [row.image.key for row in each], clause)
            for table, each in rows_of.items()
        ]
        return Question([query for each in finding for query in each.queries], read)

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
        with transaction.apart(), attempting():  # part of a reason is more than none
            nodes = {n.id: n.phase for n in await self.reader.nodes.existing(sorted(changed)).answer(transaction)}
            if self._in_table and xids:
                rows = await transaction.rows(statement("undo_writers"), {"ids": xids})
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

    async def change(self, transaction: Transaction, then: Questions) -> tuple[set[str], list[Any]]:
        """Delete inserted rows, insert deleted rows, update the others.

        Return the nodes that were undone.
        """
        self._changed = True
        rows = [row for row in self._kept.values() if self._concerned(row.place)]
        plain = [row for row in rows if row.table not in self._append_only]
        children_first = list(reversed(self._parts))
        for table in children_first:
            made = [r for r in plain if r.table == table and r.image.before is None]
            await self._run(transaction, "undo_delete", made)
        for table in self._parts:
            gone = [r for r in plain if r.table == table and r.image.after is None]
            await self._run(transaction, "undo_insert", gone)
        for table in self._parts:
            both = [r for r in plain if r.table == table and r.image.before is not None and r.image.after is not None]
            await self._run(transaction, "undo_update", both)
        for table in children_first:
            if table in self._append_only:
                await self._compensate(transaction, [r for r in rows if r.table == table])
        return set(self.nodes.remaining), await answered(transaction, then())

    async def _run(self, transaction: Transaction, name: str, rows: Sequence[KeptRow]) -> None:
        if not rows:
            return
        changes = []
        for row in rows:
            now = self._now.get(row.place)
            position = {} if now is None else {"place": now.place, "xmin": now.xmin}
            changes.append({**position, "before": row.image.before})
        values = {"changes": changes, "places": [change["place"] for change in changes if "place" in change]}
        await transaction.rows(self._statement(name, rows[0].table), values)

    async def _compensate(self, transaction: Transaction, rows: Sequence[KeptRow]) -> None:
        """Add the rows that compensate changes of an append-only table."""
        if not rows:
            return
        table = rows[0].table
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

    def question(self) -> Question[RowsRead]:
        """Ask for the rows after the change."""
        if not self._changed:
            return Question([], lambda _: RowsRead())
        rows = [r for r in (*self._kept.values(), *self._added.values()) if self._concerned(r.place)]
        question = self._finding(rows, lock=False)
        return Question(question.queries, lambda answers: self._read(_images_of(question.read(answers))))

    async def rows(self, transaction: Transaction, answer: RowsRead, before: RowsRead | None = None) -> RowsRead:
        """Return the rows, which are compared with the images after the change."""
        if before is None:
            return self._read(self._now)
        self._check_restored(answer.rows)
        return answer

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


def result_of(results: Iterable[Result]) -> dict[str, str]:
    """Return the nodes of an entry that can be undone, with their titles."""
    done = (Outcome.CHANGED, Outcome.UNKNOWN)
    return {r.id: r.name for r in results if r.outcome in done}
