"""Audit log: the table in the database."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import socket
import string
import time
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from typing import Any

import msgspec

from queries.contract.detect import trust_query
from queries.contract.trust import Trust
from queries.db.connecting import APPLICATION
from queries.db.database import Database
from queries.db.errors import DatabaseError, UnknownIdError
from queries.db.query import FOLDER, Query, Row, Rows, statement
from queries.db.reads import Reads
from queries.db.transaction import Transaction
from queries.files import user_dirs
from queries.files.statement import Statement, sql_text, with_parts
from queries.log.chain import Chain, Verification
from queries.log.settle import FIRED, TransactionMark, send_commit
from queries.records import stored
from queries.records.action import Outcome, Result, RowChange
from queries.records.audit import VIA, AuditLogEntry
from queries.records.images import Images, StoredImages
from queries.records.record import Record
from queries.text.psql_text import quoted_name
from queries.text.safe_text import safe_sql

TABLE = "table"
TABLES = ("audit_log", "audit_images")  # in the schema unstick
NOT_USED = "The table unstick.audit_log is not used: {doubt}."
Extra = Images | msgspec.Raw | None  # beside an entry: images of its rows, or the nodes of the run that it begins
ENTRIES_AT_ONCE = 10  # entries that are read at a time; one may have the rows of 500 nodes
RUN_ENTRIES_AT_ONCE = 50  # entries of a run that are read at a time; one has the results of 500 nodes
ENTRIES_HASHED = 25  # entries of the table that the server hashes at a time; one may have the rows of 500 nodes
_PLAIN = ("id", "at", "role", "xid", "os_user", "host", "engine", "schema", "action", "reason")  # columns as they are
PARTS: dict[str, Any] = {"arguments": dict[str, Any], "results": tuple[Result, ...], "changes": tuple[RowChange, ...]}
NO_CURSOR = "{cursor!r} is not a cursor of this audit log. --after takes the cursor at the end of the previous page."
_UNDEFINED_TABLE = "42P01"
_NOT_HASHED = "The table unstick.audit_log was created without hashes."


class Operator(Record):
    """The operating system user who runs unstick, and the host."""

    os_user: str
    host: str
    application: str = APPLICATION

    @property
    def name(self) -> str:
        """The name that actions write into rows."""
        return f"{self.os_user}@{self.host}"


def operator() -> Operator:
    """Return the user and host of this process."""
    return Operator(os_user=user_dirs.user(), host=socket.gethostname())


class TableState(Record):
    """State of the audit log table.

    ``images``: the table of images can be written and read. ``runs``: an index finds the entries of a run.
    ``policies``: row-level policies hide entries or images from this role. ``creatable``: this role may create it.
    """

    exists: bool
    writable: bool
    readable: bool
    hashed: bool
    images: bool
    runs: bool
    policies: bool
    creatable: bool


class Criteria(Record):
    """Entries to read. An entry must meet all conditions; None is no condition.

    ``who``: part of the role, or of user@host; ``target``: part of the id or of the title of a node, which then must
    also have the ``outcome``. The case of A to Z does not matter. ``since``: seconds since 1970 by the server's clock.
    ``entry``: id of the entry. ``changes``: False reads entries without their rows before and after, which are most of
    an entry.
    """

    who: str | None = None
    since: float | None = None
    action: str | None = None
    target: str | None = None
    outcome: Outcome | None = None
    entry: str | None = None
    changes: bool = True

    def matches(self, entry: AuditLogEntry) -> bool:
        """Return True if an entry meets the conditions, as ``audit_log_page.sql`` does."""
        return (
            (self.who is None or _contains((entry.role, f"{entry.os_user}@{entry.host}"), self.who))
            and (self.since is None or entry.at >= self.since)
            and (self.action is None or entry.action == self.action)
            and (self.entry is None or entry.id == self.entry)
            and (
                (self.target is None and self.outcome is None)
                or any(
                    (self.outcome is None or result.outcome is self.outcome)
                    and (self.target is None or _contains((result.id, result.title), self.target))
                    for result in entry.results
                )
            )
        )


ALL = Criteria()
_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


def _contains(texts: Iterable[object], part: str) -> bool:
    return any(isinstance(text, str) and part.translate(_LOWER) in text.translate(_LOWER) for text in texts)


class Subject(Record):
    """A node whose entries are read.

    ``ids``: its id in each form of its label, the present form first.
    """

    schema: str
    ids: tuple[str, ...]

    def named(self, entry: AuditLogEntry) -> AuditLogEntry:
        """Return the entry with the node's present id instead of its other forms."""
        now = self.ids[0]
        return msgspec.structs.replace(
            entry,
            results=tuple(msgspec.structs.replace(r, id=now) if r.id in self.ids else r for r in entry.results),
            changes=tuple(msgspec.structs.replace(c, id=now) if c.id in self.ids else c for c in entry.changes),
        )


def fields(entry: AuditLogEntry) -> str:
    """Return the entry without its changes as JSON, a parameter of statements."""
    return msgspec.json.encode({**plain(entry), "changes": ()}).decode()


class EntryProof(Record):
    """Proof by an entry of the table: it has the entry of each committed change."""

    entry: AuditLogEntry

    async def was_committed(self, transaction: Reads) -> bool | None:
        """Return True if the table has the entry.

        None if the table cannot be read. Raises DatabaseError.
        """
        values = {"id": self.entry.xid, "args": fields(self.entry)}
        holds: bool | None = (await transaction.rows(statement("audit_log_holds"), values))[0]["holds"]
        return holds


def plain(entry: AuditLogEntry) -> Mapping[str, Any]:
    hint = user_dirs.came_from()
    via = {VIA: f"{hint} (not verified)"} if hint else {}
    return {**msgspec.structs.asdict(entry), "application": APPLICATION, "arguments": {**via, **entry.arguments}}


def doubt(trust: Trust) -> str:
    """Return why an entry in the table could run code of an untrusted role, or ""."""
    return trust.unreadable("unstick", TABLES) or next(
        filter(None, (trust.unwritten("unstick", table, word) for table in TABLES for word in ("", "INSERT"))), ""
    )


def refuse_doubt(trust: Trust) -> None:
    """Raise DatabaseError if an entry could run code of an untrusted role."""
    if why := doubt(trust):
        raise DatabaseError(NOT_USED.format(doubt=why), "Nothing was changed.")


class NotKeptError(DatabaseError):
    """The audit log does not have the entry that was written to it."""

    def __init__(self) -> None:
        super().__init__(
            "The audit log did not keep the entry as it was written: a trigger, a rule or a policy on unstick.audit_log"
            " or unstick.audit_images has removed or changed it, or its hash trigger is off.",
            "Nothing was changed. `unstick init` repairs the hash trigger; the owner of the table removes the others.",
        )


_COUNTS = Query(statement("audit_log_counts"))


def _is_counted(before: Rows, after: Rows, *, images: bool) -> bool:
    """Return True if the server has inserted an entry and its images alone."""
    words = ("inserted", "updated", "deleted")
    numbers = {now["name"]: [now[w] - was[w] for w in words] for was, now in zip(before, after, strict=True)}
    return not numbers or numbers == {
        "audit_log": [1, 0, 0],
        **({"audit_images": [int(images), 0, 0]} if "audit_images" in numbers else {}),
    }


def _is_kept(row: Row, values: Mapping[str, str]) -> bool:
    """Return True if an entry and its images are as they were written."""
    changes, images = _digest(values["changes"]), _digest(values["images"]) if "images" in values else None
    if not row["same"] or row["changes"] not in (changes, None):
        return False
    return "hashed" not in row or (row["hashed"] and images == row["images_digest"] == row["images"])


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


class Table:
    """The audit log table. ``readable`` False: it is written only.

    ``trusted``: roles whose objects may run code.
    """

    place = TABLE

    def __init__(self, database: Database, state: TableState, trusted: tuple[str, ...], *, readable: bool) -> None:
        self.database = database
        self._state, self._trusted, self._readable = state, trusted, readable

    async def entries(
        self,
        after: str | None = None,
        node: Subject | None = None,
        conditions: Criteria = ALL,
        at_once: int = ENTRIES_AT_ONCE,
    ) -> AsyncGenerator[AuditLogEntry]:
        """Yield entries, newest first, in bounded memory.

        ``after``: id of an entry; only older ones. ``node``: only entries about it. ``at_once``: entries that are read
        at a time. A statement looks at a bounded number of entries, so a filter that few entries match takes several.
        Raises DatabaseError, UnknownIdError.
        """
        if after is not None and not re.fullmatch("[0-9]{1,18}", after):
            raise UnknownIdError(NO_CURSOR.format(cursor=after))
        ids, schema = (None, None) if node is None else (node.ids, node.schema)
        values = {"ids": ids, "query": schema, "limit": at_once, "args": msgspec.json.encode(conditions).decode()}
        more = self._readable
        while more:
            async with self.database.reading() as transaction:
                rows = await transaction.rows(statement("audit_log_page"), {"cursor": after, **values})
            entries = [entry_of(row) for row in rows if row["results"] is not None]
            for entry in entries:
                yield entry if node is None else node.named(entry)
            unseen = next((row["id"] for row in rows if row["results"] is None), None)
            after = entries[-1].id if len(entries) == at_once else unseen
            more = after is not None

    async def entry(self, name: str, *, changes: bool) -> AuditLogEntry | None:
        """Return the entry of this id. Raises DatabaseError."""
        if not is_table_id(name):
            return None
        cursor = str(int(name) + 1)  # the entry is the first one before it
        found = self.entries(cursor, None, Criteria(entry=name, changes=changes), 1)
        async with contextlib.aclosing(found):
            return await anext(found, None)

    async def of_run(self, run: str) -> tuple[AuditLogEntry, ...]:
        """Return the entries of a run, newest first, without their rows.

        Raises DatabaseError.
        """
        entries: list[AuditLogEntry] = []
        more = self._readable
        while more:
            values = {"id": run, "cursor": entries[-1].id if entries else None, "limit": RUN_ENTRIES_AT_ONCE}
            async with self.database.reading() as transaction:
                rows = await transaction.rows(statement("run_entries"), values)
            entries += map(entry_of, rows)
            more = len(rows) == RUN_ENTRIES_AT_ONCE
        return tuple(entries)

    async def verify(self, heads: Iterable[str]) -> Verification:
        """Verify the hash chain and the images, page by page. Raises DatabaseError."""
        if not self._state.hashed:
            raise DatabaseError(_NOT_HASHED, "Run `unstick init`: it adds hashes to the entries from then on.")
        sequence = await self._sequence()  # before the entries: later ones only add to them
        query, chain = statement("audit_log_verify"), Chain(heads)
        images = f"({statement('audit_images_digest').text})" if self._state.images else "NULL"
        query = msgspec.structs.replace(query, text=with_parts(query.text, {"images": images}))
        rows: Rows = [{"id": None}] * ENTRIES_HASHED
        while len(rows) == ENTRIES_HASHED:
            async with self.database.reading() as transaction:
                rows = await transaction.rows(query, {"cursor": rows[-1]["id"], "limit": ENTRIES_HASHED})
            for row in rows:
                chain.add(row, parts_of(row)[1])
        if sequence is not None:
            chain.compare(**sequence)
        return chain.result(self.place)

    async def trust(self, transaction: Transaction, *, images: bool = False) -> Trust:
        """Lock the tables of an entry, and ask whose code it would run.

        Others create no triggers then until the transaction ends. LOCK TABLE needs privileges on the whole table, and
        operators have those on some columns; so the statement that writes the entry is parsed. ``images``: the entry
        has images, or begins a run. Raises DatabaseError.
        """
        append = Query(statement("audit_images_append" if images else "audit_log_append"), parsed=True)
        return Trust((await transaction.batch([append, trust_query([], self._trusted)]))[-1])

    def statements(self, *, images: bool) -> tuple[Statement, Statement]:
        """Return the statement that writes an entry, and the one that reads it back."""
        kept = statement("audit_images_kept" if self._state.hashed else "audit_log_kept")
        digest = f"({statement('audit_images_digest').text})" if images else "NULL"
        back = msgspec.structs.replace(kept, text=with_parts(kept.text, {"images": digest}))
        return statement("audit_images_append" if images else "audit_log_append"), back

    async def write(
        self,
        transaction: Transaction,
        entry: AuditLogEntry,
        trust: Trust,
        images: Extra = None,
        mark: TransactionMark | None = None,
    ) -> str:
        """Write an entry and the images of its rows before COMMIT.

        ``trust``: as `trust` or `AuditLog.trust_of_entry` returns it. ``mark``: of the transaction. The entry that
        begins a run has the list of its nodes instead of images. Return the id of the entry, or "" if it may not be
        read. Raises DatabaseError; the caller must then change nothing.
        """
        refuse_doubt(trust)
        values = {"args": fields(entry), "changes": msgspec.json.encode(entry.changes).decode()}
        if images is not None:
            values["images"] = msgspec.json.encode(images).decode()
        append, back = (Query(each, values) for each in self.statements(images=images is not None))
        if not self._readable:
            before, _, *_, after = await transaction.batch([_COUNTS, append, *FIRED, _COUNTS])
            if not _is_counted(before, after, images=images is not None):
                raise NotKeptError
            return ""
        _, *_, rows = await transaction.batch([append, *FIRED, back])
        if not rows or not _is_kept(rows[0], values):
            raise NotKeptError
        return str(rows[0]["entry"])

    def settle(self, entry: AuditLogEntry) -> None:
        """Note nothing: the entry is there if and only if its transaction has committed."""

    async def images(self, transaction: Transaction, entry: str) -> StoredImages | None:
        """Return the images of an entry, or None. Raises DatabaseError."""
        try:
            rows: Rows = await transaction.rows(statement("audit_images"), {"id": entry})
        except DatabaseError as error:
            if error.code != _UNDEFINED_TABLE:
                raise
            why = f"The entry {entry} has no images of its rows, so it cannot be undone: the table for them is missing."
            raise DatabaseError(why, "Nothing was changed. `unstick init` creates it for later changes.") from error
        return None if not rows else StoredImages.of(rows[0], rows[0]["images"], intact=rows[0]["intact"])

    async def _sequence(self) -> Mapping[str, Any] | None:
        """Read the sequence of the ids; None if this role may not. Raises DatabaseError."""
        async with self.database.reading() as transaction:
            (state,) = await transaction.rows(statement("audit_log_sequence_state"), {})
            if not state["readable"]:
                return None
            (row,) = await transaction.rows(statement("audit_log_sequence"), {})
        return {"last": row["last"], "exact": row["exact"], "writers": state["writers"]}


def entry_of(row: Mapping[str, Any]) -> AuditLogEntry:
    """Return an entry from its row, which may lack ``results`` and ``changes``.

    The entry is unreadable if unstick did not write its content.
    """
    parts, why = parts_of(row)
    return AuditLogEntry(**{name: row[name] for name in _PLAIN}, **parts, unreadable=why)


def parts_of(row: Mapping[str, Any], read: Callable[[Any, Any], Any] = stored.read) -> tuple[dict[str, Any], str]:
    """Return the JSON columns of an entry that can be read, and why others cannot."""
    parts: dict[str, Any] = {}
    whys = []
    for name, kind in PARTS.items():
        try:
            parts |= {name: read(row[name], kind)} if name in row else {}
        except stored.UnreadableError as error:
            whys.append(f"{name}: {error}")
    return parts, "; ".join(whys)


def ddl() -> str:
    """Return the DDL of the audit log table."""
    return sql_text(FOLDER / "audit_log_schema.sql").text


def grants(role: str) -> str:
    """Return the GRANT statements that let ``role`` write to the audit log."""
    quoted = safe_sql(quoted_name(role))
    return (FOLDER / "audit_log_grant.sql").read_text("utf-8").replace("{role}", quoted)


def script(operators: Iterable[str]) -> str:
    """Return the SQL of ``unstick init``: the table and the roles' privileges."""
    return "\n".join([ddl(), *map(grants, operators)])


async def publications(database: Database) -> tuple[str, ...]:
    """Return publications FOR ALL TABLES, which would publish the audit log table too.

    Raises DatabaseError.
    """
    async with database.reading() as transaction:
        return tuple(row["name"] for row in await transaction.rows(statement("publications"), {}))


async def create(database: Database, operators: Iterable[str], trusted: Iterable[str] = ()) -> None:
    """Run the script in one transaction. An existing audit log keeps its entries.

    ``trusted``: roles whose objects may run code. Raises DatabaseError; InDoubtError if it may have been created.
    """
    async with database.writing() as transaction:
        (rows,) = await transaction.batch([trust_query([], list(trusted))])
        trust = Trust(rows)
        refuse_doubt(trust)
        if why := trust.event_trigger():
            raise DatabaseError(f"The audit log is not created: {why}.", "Nothing was changed.")
        await transaction.control(script(operators))
        if await send_commit(transaction) is None:
            raise InDoubtError(
                "The connection was lost during COMMIT. It is not known whether the audit log was created.",
                "`unstick init` may be run again: it keeps the entries of an audit log that is there.",
            )


class InDoubtError(DatabaseError):
    """The answer to COMMIT was lost."""


def is_id(text: str) -> bool:
    """Return True if a text has the form of an entry's id."""
    return re.fullmatch("[0-9a-f-]{1,40}", text) is not None


def is_table_id(text: str) -> bool:
    """Return True if a text has the form of the id of an entry in the table."""
    return text.isascii() and text.isdecimal() and len(text) <= 17


def entry_id() -> str:
    """Return a new id for an entry of the file, ordered by time."""
    return f"{time.time_ns():x}-{os.getpid():x}"
