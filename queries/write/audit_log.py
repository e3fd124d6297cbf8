"""Audit log: a table in the database, or else a local file."""

from __future__ import annotations

import base64
import contextlib
import errno
import fcntl
import hashlib
import os
import re
import socket
import string
import time
import zlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeVar

import msgspec

from queries.contract.detect import trust_query
from queries.contract.trust import Trust
from queries.db.connecting import APPLICATION
from queries.db.database import Database
from queries.db.errors import DatabaseError, UnknownIdError
from queries.db.query import Query, Row, Rows
from queries.db.shared_sql import FOLDER, statement
from queries.db.transaction import Transaction
from queries.files import user_dirs
from queries.files.sealed_line import digest_of, sealed
from queries.files.state_file import open_private, write_all
from queries.files.statement import sql_text, with_parts
from queries.read.question import Question
from queries.records import stored
from queries.records.action import Outcome, Result, RowChange, titled
from queries.records.audit import OTHERS, VIA, AuditLogEntry, Origin
from queries.records.record import Record
from queries.text.psql_text import quoted_name
from queries.text.safe_text import safe_sql
from queries.write import audit_chain
from queries.write.audit_chain import INTENT, ChainLink, PgSnapshot, Sequence, Verification
from queries.write.deferred import FIRED
from queries.write.images import Images, StoredImages
from queries.write.transaction_mark import TransactionMark

R = TypeVar("R")

TABLE = "table"
TABLES = ("audit_log", "audit_images")  # in the schema unstick
NOT_USED = "The table unstick.audit_log is not used: {doubt}."
Extra = Images | msgspec.Raw | None  # beside an entry: images of its rows, or the nodes of the run that it begins
BLOCK_BYTES = 1 << 20  # bytes of the local file that are read at a time
TAIL_BYTES = 1 << 12  # bytes at its end that have the head of its last line
ENTRIES_AT_ONCE = 10  # entries that are read at a time; one may have the rows of 500 nodes
RUN_ENTRIES_AT_ONCE = 50  # entries of a run that are read at a time; one has the results of 500 nodes
ENTRIES_HASHED = 25  # entries of the table that the server hashes at a time; one may have the rows of 500 nodes
_PLAIN = ("id", "at", "role", "xid", "os_user", "host", "engine", "schema", "action", "reason")  # columns as they are
_PARTS: dict[str, Any] = {"arguments": dict[str, Any], "results": tuple[Result, ...], "changes": tuple[RowChange, ...]}
FILE_LOCK_SECONDS = 0.5  # to wait for another process that is appending to the local file
_NO_CURSOR = "{cursor!r} is not a cursor of this audit log. --after takes the cursor at the end of the previous page."
_NOT_HASHED = "The table unstick.audit_log was created without hashes."
# The last fields of a line. A text inside of a line cannot look like them: its quotation marks have backslashes.
_HEAD = re.compile(
    rb'"intended":(true|false),"id":"([0-9a-f-]{1,40})","previous":\[[^]\\]{0,200}\],"digest":"([0-9a-f]{64})"\}\n\Z'
)


class _Chained(Record):
    """Fields of a line of the local file that the hash chain needs."""

    id: str
    at: float = 0.0
    intended: bool = False
    previous: tuple[str, ...] = ()
    digest: str | None = None


class Line(NamedTuple):
    """A line of the local file.

    ``intended``: it was written before COMMIT, with the mark of its transaction. ``images``: of its rows, or the nodes
    of the run that it begins; compressed, or "".
    """

    text: bytes
    entry: AuditLogEntry
    intended: bool
    mark: TransactionMark | None
    images: str

    @property
    def intact(self) -> bool:
        """Return True if the line has its hash."""
        link = _link(self.text)
        return link is not None and link.recorded == link.digest

    @property
    def kept(self) -> bytes:
        """Return the images, or the nodes, as JSON; nothing if they cannot be read."""
        try:
            return zlib.decompress(base64.b64decode(self.images))
        except (ValueError, zlib.error):
            return b""


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
    ``policies``: row-level policies hide entries or images from this role.
    """

    exists: bool
    writable: bool
    readable: bool
    hashed: bool
    images: bool
    runs: bool
    policies: bool


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
    return msgspec.json.encode({**_plain(entry), "changes": ()}).decode()


class EntryProof(Record):
    """Proof by an entry of the table: it has the entry of each committed change."""

    entry: AuditLogEntry

    async def was_committed(self, transaction: Transaction) -> bool | None:
        """Return True if the table has the entry.

        None if the table cannot be read. Raises DatabaseError.
        """
        values = {"id": self.entry.xid, "args": fields(self.entry)}
        holds: bool | None = (await transaction.rows(statement("audit_log_holds"), values))[0]["holds"]
        return holds


def _plain(entry: AuditLogEntry) -> Mapping[str, Any]:
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
            raise UnknownIdError(_NO_CURSOR.format(cursor=after))
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
        entries, _ = await page(self, cursor, 1, None, Criteria(entry=name, changes=changes))
        return next(iter(entries), None)

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
        """Verify the hash chain. Raises DatabaseError."""
        if not self._state.hashed:
            raise DatabaseError(_NOT_HASHED, "Run `unstick init`: it adds hashes to the entries from then on.")
        sequence = await self._sequence()  # before the entries: later ones only add to them
        return await audit_chain.verify(self.place, self._links(), heads, sequence)

    def trust(self, *, images: bool = False) -> Question[Trust]:
        """Lock the tables of an entry, and ask whose code it would run.

        Others create no triggers then until the transaction ends. LOCK TABLE needs privileges on the whole table, and
        operators have those on some columns; so the statement that writes the entry is parsed. ``images``: the entry
        has images, or begins a run.
        """
        append = Query(statement("audit_images_append" if images else "audit_log_append"), parsed=True)
        return Question([append, trust_query([], self._trusted)], lambda answers: Trust(answers[-1]))

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
        begins a run has the list of its nodes instead of images. Return the id of the entry, or "" without images.
        Raises DatabaseError; the caller must then change nothing.
        """
        refuse_doubt(trust)
        values = {"args": fields(entry), "changes": msgspec.json.encode(entry.changes).decode()}
        if images is not None:
            values["images"] = msgspec.json.encode(images).decode()
        append = Query(statement("audit_log_append" if images is None else "audit_images_append"), values)
        if not self._readable:
            before, _, *_, after = await transaction.batch([_COUNTS, append, *FIRED.queries, _COUNTS])
            if not _is_counted(before, after, images=images is not None):
                raise NotKeptError
            return ""
        kept = statement("audit_images_kept" if self._state.hashed else "audit_log_kept")
        digest = "NULL" if images is None else f"({statement('audit_images_digest').text})"
        back = Query(msgspec.structs.replace(kept, text=with_parts(kept.text, {"images": digest})), values)
        _, *_, rows = await transaction.batch([append, *FIRED.queries, back])
        if not rows or not _is_kept(rows[0], values):
            raise NotKeptError
        return "" if images is None else str(rows[0]["entry"])

    def settle(self, entry: AuditLogEntry) -> None:
        """Note nothing: the entry is there if and only if its transaction has committed."""

    def proof(self, entry: AuditLogEntry, rows: R) -> R | EntryProof:
        """Return the entry as proof."""
        return EntryProof(entry=entry)

    async def images(self, transaction: Transaction, entry: str) -> StoredImages | None:
        """Return the images of an entry, or None. Raises DatabaseError."""
        rows: Rows = await transaction.rows(statement("audit_images"), {"id": entry})
        return None if not rows else StoredImages.of(rows[0], rows[0]["images"], intact=rows[0]["intact"])

    async def _sequence(self) -> Sequence | None:
        """Read the sequence of the ids.

        None if this role may not read it. Raises DatabaseError.
        """
        async with self.database.reading() as transaction:
            (state,) = await transaction.rows(statement("audit_log_sequence_state"), {})
            if not state["readable"]:
                return None
            (row,) = await transaction.rows(statement("audit_log_sequence"), {})
        return Sequence(last=row["last"], exact=row["exact"], writers=state["writers"])

    async def _links(self) -> AsyncIterator[ChainLink]:
        """Yield the hash chain, oldest first.

        The images of the entries are compared with their hashes, too. Raises DatabaseError.
        """
        cursor: str | None = None
        more = True
        while more:
            async with self.database.reading() as transaction:
                rows = await transaction.rows(
                    statement("audit_log_verify"), {"cursor": cursor, "limit": ENTRIES_HASHED}
                )
                digests = {}
                if self._state.images and rows:
                    ids = [row["id"] for row in rows]
                    images = await transaction.rows(statement("audit_images_verify"), {"ids": ids})
                    digests = {row["id"]: row["digest"] for row in images}
            for row in rows:
                fields = {name: value for name, value in row.items() if name not in _PARTS}
                own = fields.pop("images_digest")
                if digests.get(row["id"], own) != own:
                    fields["digest"] = ""  # equal to no hash
                seen = None if row["seen"] is None else PgSnapshot.parse(row["seen"])
                previous = tuple(row["previous"] or ())
                fields |= {"xid": int(row["xid"]), "seen": seen, "previous": previous, "unreadable": _parts(row)[1]}
                yield ChainLink(**fields)
            more = len(rows) == ENTRIES_HASHED
            cursor = rows[-1]["id"] if rows else None


def entry_of(row: Mapping[str, Any]) -> AuditLogEntry:
    """Return an entry from its row, which may lack ``results`` and ``changes``.

    The entry is unreadable if unstick did not write its content.
    """
    parts, why = _parts(row)
    return AuditLogEntry(**{name: row[name] for name in _PLAIN}, **parts, unreadable=why)


def _parts(row: Mapping[str, Any], read: Callable[[Any, Any], Any] = stored.read) -> tuple[dict[str, Any], str]:
    """Return the JSON columns of an entry that can be read, and why others cannot."""
    parts: dict[str, Any] = {}
    whys = []
    for name, kind in _PARTS.items():
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

    ``trusted``: roles whose objects may run code. Raises DatabaseError.
    """
    async with database.writing() as transaction:
        (rows,) = await transaction.batch([trust_query([], list(trusted))])
        trust = Trust(rows)
        refuse_doubt(trust)
        if why := trust.event_trigger():
            raise DatabaseError(f"The audit log is not created: {why}.", "Nothing was changed.")
        await transaction.control(script(operators))
        await transaction.control("COMMIT")


class File:
    """Local audit log, for databases without the table: JSON lines.

    A line is written before COMMIT ("intended"), and another after it with the outcome. Each is flushed to disk, so a
    crash in between leaves the first.
    """

    def __init__(self, path: Path | None, origin: Callable[[], Origin]) -> None:
        """``origin`` returns the open database.

        It is written to each entry, and only its entries are read.
        """
        self.path = path or user_dirs.folder("state") / "audit_log.jsonl"
        self.origin = origin

    def append(
        self,
        entry: AuditLogEntry,
        *,
        intended: bool,
        images: Extra = None,
        mark: TransactionMark | None = None,
    ) -> None:
        """Append an entry.

        The intended one has the mark of its transaction and the images, which are compressed. The one that begins a run
        has the list of its nodes instead of images. Raises DatabaseError if the file cannot be written; the caller must
        then change nothing.
        """
        fields = {**_plain(entry), "origin": self.origin()}
        if mark is not None:
            fields["mark"] = mark
        if images is not None:
            fields["images"] = zlib.compress(msgspec.json.encode(images))
        del fields["id"]  # it goes to the end: the next writer reads the end of a line, whatever its length
        fields |= {"intended": intended, "id": entry.id}
        try:
            with os.fdopen(open_private(self.path, os.O_APPEND | os.O_CREAT | os.O_RDWR), "r+b", 0) as file:
                with _alone(file.fileno()):
                    end = file.seek(0, os.SEEK_END)
                    # A full disk or a crash leaves an incomplete line. A line appended to it would be unreadable.
                    incomplete = end > 0 and os.pread(file.fileno(), 1, end - 1) != b"\n"
                    line = sealed(msgspec.json.encode({**fields, "previous": _heads(file.fileno(), end)})) + b"\n"
                    write_all(file.fileno(), b"\n" + line if incomplete else line)
                os.fsync(file.fileno())
        except OSError as error:
            raise DatabaseError(
                f"The audit log file {self.path} cannot be used: {error.strerror}.",
                "Run `unstick init` to create an audit log table in the database instead.",
            ) from error

    @property
    def place(self) -> str:
        """Path of the file."""
        return str(self.path)

    async def entries(
        self,
        after: str | None = None,
        node: Subject | None = None,
        conditions: Criteria = ALL,
        at_once: int = ENTRIES_AT_ONCE,
    ) -> AsyncGenerator[AuditLogEntry]:
        """Yield this database's entries, newest first, one at a time.

        Raises DatabaseError, UnknownIdError.
        """
        entries = self._entries(node, conditions)
        if after is not None and not any(entry.id == after for entry in entries):
            raise UnknownIdError(_NO_CURSOR.format(cursor=after))
        for entry in entries:
            yield entry

    async def entry(self, name: str, *, changes: bool) -> AuditLogEntry | None:
        """Return the entry of this id. Raises DatabaseError."""
        return next(self._entries(None, Criteria(entry=name, changes=changes)), None)

    async def of_run(self, run: str) -> tuple[AuditLogEntry, ...]:
        """Return the entries of a run, newest first, without their rows.

        Raises DatabaseError.
        """
        entries = self._entries(None, Criteria(changes=False))
        return tuple(entry for entry in entries if entry.run == run != entry.id)

    async def verify(self, heads: Iterable[str]) -> Verification:
        """Verify the hash chain. Raises DatabaseError."""
        return await audit_chain.verify(self.place, self.links(), heads)

    def trust(self, *, images: bool = False) -> Question[Trust]:
        """Ask nothing: a line runs no code."""
        return Question([], lambda _: Trust())

    async def write(
        self,
        transaction: Transaction,
        entry: AuditLogEntry,
        trust: Trust,
        images: Extra = None,
        mark: TransactionMark | None = None,
    ) -> str:
        """Append an entry that is intended. Raises DatabaseError."""
        self.append(entry, intended=True, images=images, mark=mark)
        return entry.id

    def settle(self, entry: AuditLogEntry) -> None:
        """Append the entry with its outcome. A disk error only costs that."""
        with contextlib.suppress(DatabaseError):
            self.append(entry, intended=False)

    def proof(self, entry: AuditLogEntry, rows: R) -> R | EntryProof:
        """Return the rows as proof."""
        return rows

    def _entries(self, node: Subject | None, conditions: Criteria) -> Iterator[AuditLogEntry]:
        """Yield entries.

        An intended entry without outcome is yielded as unknown. Entries without an origin are ignored.
        """
        here = self.origin()
        ids: set[str] = set()
        for line in self.lines():
            entry = line.entry
            if entry.id in ids or entry.origin is None or not entry.origin.same(here):
                continue
            ids.add(entry.id)
            if line.intended:
                entry = msgspec.structs.replace(entry, results=tuple(map(_unknown, entry.results)))
            if node is not None:
                if entry.schema != node.schema or not any(r.id in node.ids for r in entry.results):
                    continue
                entry = node.named(entry)
            if conditions.matches(entry):
                yield entry if conditions.changes else msgspec.structs.replace(entry, changes=())

    async def links(self) -> AsyncIterator[ChainLink | None]:
        """Yield the hash chain of the lines of all databases, oldest first.

        None is a line that is no entry. Raises DatabaseError.
        """
        try:
            with self._open() as file:
                for line in file:
                    yield _link(line.rstrip(b"\n"))
        except FileNotFoundError:
            return
        except OSError as error:
            raise self._unreadable(error) from error

    def _unreadable(self, error: OSError) -> DatabaseError:
        return DatabaseError(f"The audit log file {self.path} cannot be read: {error.strerror}.")

    async def images(self, transaction: Transaction, entry: str) -> StoredImages | None:
        """Return the images of an entry, or None. Raises DatabaseError."""
        for line in self.lines(entry.encode()):
            if line.entry.id == entry and line.images:
                own = msgspec.structs.asdict(line.entry) | {"others": str(line.entry.arguments.get(OTHERS, ""))}
                return StoredImages.of(own, line.kept, intact=line.intact)
        return None

    def _open(self) -> BinaryIO:
        return open(self.path, "rb", opener=open_private)

    def lines(self, part: bytes = b"") -> Iterator[Line]:
        """Yield the lines of all databases that have a part, the last first.

        Holds one BLOCK_BYTES of the file and one line. Raises DatabaseError.
        """
        try:
            with self._open() as file:
                for text in _backwards(file.fileno(), file.seek(0, os.SEEK_END)):
                    if part in text and (line := _parsed(text)):
                        yield line
        except FileNotFoundError:
            return
        except OSError as error:
            raise self._unreadable(error) from error


Log = Table | File
"""Audit log of a database: the table, or else the local file."""


async def page(
    log: Log, cursor: str | None, size: int, node: Subject | None = None, conditions: Criteria = ALL
) -> tuple[tuple[AuditLogEntry, ...], str | None]:
    """Read entries, newest first, and the cursor of the next page.

    Raises DatabaseError, UnknownIdError.
    """
    some: list[AuditLogEntry] = []
    async with contextlib.aclosing(log.entries(cursor, node, conditions, size)) as entries:
        async for entry in entries:
            some.append(entry)
            if len(some) == size:
                return tuple(some), entry.id
    return tuple(some), None


def _parsed(text: bytes) -> Line | None:
    """Return a line, or None if it is no entry."""
    try:
        fields = stored.read(text, dict[str, Any])
        parts, why = _parts(fields, stored.record)
        entry = stored.record({k: v for k, v in fields.items() if k not in _PARTS}, AuditLogEntry, strict=False)
        return Line(
            text=text,
            entry=msgspec.structs.replace(entry, **parts, unreadable=why),
            intended=bool(fields["intended"]),
            mark=stored.record(fields.get("mark"), TransactionMark | None),  # type: ignore[arg-type]
            images=str(fields.get("images", "")),
        )
    except (stored.UnreadableError, KeyError):
        return None


def _backwards(descriptor: int, end: int) -> Iterator[bytes]:
    """Yield the lines of a file before the byte ``end``, the last first."""
    parts: list[bytes] = []  # of the first line that is not complete yet, the last part first
    while end:
        size = min(BLOCK_BYTES, end)
        end -= size
        first, *lines = os.pread(descriptor, size, end).split(b"\n")
        if lines:
            yield lines.pop() + b"".join(reversed(parts))
            yield from reversed(lines)
            parts = []
        parts.append(first)
    yield b"".join(reversed(parts))


def _heads(descriptor: int, end: int) -> list[str]:
    """Return the head that the next line follows: the last intact line with a hash.

    Reads the end of the file. Only after an incomplete line or one of an earlier version it reads more.
    """
    size = min(TAIL_BYTES, end)
    if head := _HEAD.search(os.pread(descriptor, size, end - size)):
        intended, name, digest = (part.decode() for part in head.groups())
        return [f"{name}{INTENT if intended == 'true' else ''}:{digest}"]
    lines = _backwards(descriptor, end)
    return next(([link.head] for line in lines if (link := _link(line)) and link.recorded), [])


@contextlib.contextmanager
def _alone(descriptor: int) -> Iterator[None]:
    """Keep other processes from appending between reading and writing.

    Without a lock after FILE_LOCK_SECONDS, as on some network file systems, the line is written all the same: an entry
    that is not followed by the next is better than none.
    """
    until = time.monotonic() + FILE_LOCK_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EAGAIN, errno.EINTR) and time.monotonic() < until:
                time.sleep(0.001)
                continue
        break
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_UN)


def _link(line: bytes) -> ChainLink | None:
    """Return a line's place in the hash chain, or None for an incomplete line."""
    try:
        fields = stored.read(line, _Chained)
    except stored.UnreadableError:
        return None
    name = fields.id + INTENT if fields.intended else fields.id
    return ChainLink(id=name, at=fields.at, previous=fields.previous, recorded=fields.digest, digest=digest_of(line))


def correct(file: File, entry: AuditLogEntry, results: Iterable[Result]) -> None:
    """Append an entry with other results of some nodes to the local file.

    A disk error only costs the correction.
    """
    later = {r.id: r for r in titled(results, entry.titles)}
    corrected = msgspec.structs.replace(entry, results=tuple(later.get(r.id, r) for r in entry.results))
    file.settle(corrected)


def _unknown(result: Result) -> Result:
    """Return the result of an intended change without outcome: unknown."""
    if result.outcome is not Outcome.CHANGED:
        return result
    why = "no outcome was recorded: the console or its disk failed during COMMIT"
    return msgspec.structs.replace(result, outcome=Outcome.UNKNOWN, why=why)


def is_id(text: str) -> bool:
    """Return True if a text has the form of an entry's id."""
    return re.fullmatch("[0-9a-f-]{1,40}", text) is not None


def is_table_id(text: str) -> bool:
    """Return True if a text has the form of the id of an entry in the table."""
    return text.isascii() and text.isdecimal() and len(text) <= 17


def entry_id() -> str:
    """Return a new id for an entry of the file, ordered by time."""
    return f"{time.time_ns():x}-{os.getpid():x}"
