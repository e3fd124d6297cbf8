"""Choice of the audit log: the table of an open database, or else the local file.

Also the reasons against the table, and the entries as the console shows them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from queries.contract.trust import Trust
from queries.db.database import Database, Server
from queries.db.errors import DatabaseError, MissingError, UnknownIdError, attempted
from queries.db.transaction import Transaction
from queries.log import audit_log
from queries.log.audit_log import ALL, Criteria, Subject
from queries.log.chain import Verification
from queries.log.log_file import Log, LogFile, page
from queries.log.receipts import Receipt, Receipts
from queries.log.settle import Provable, TransactionMark
from queries.read.reader import Reader
from queries.records.audit import AuditLogEntry, Origin
from queries.records.images import StoredImages

NO_IMAGES = "the settings of this context forbid images of rows (images = false)"
NO_TABLE = "the database has no table for images: `unstick init` creates it"
NO_INSERT = "The role {role} may not write the audit log, because it has no INSERT on the table unstick.audit_log"
LOCAL_LOG = (
    "{why}. The owner of the table grants what is missing with `unstick init --operator {role}`."
    " --local-log changes rows anyway, and writes the entries to a file of this user"
)
NO_RUNS = "it needs the audit log table, and the right to write and read it: `unstick init` creates it"
OLD_TABLE = "the audit log table is from an earlier version: `unstick init` adds what it needs"
NEWS_SHOWN = 3  # changes that have a sentence of their own
NOT_VERIFIED = (
    "The entries are in the file {file}, which is not verified: it has no hashes. A user can change its own file"
)
_CLOSED = (
    "The audit log is the table unstick.audit_log. The role {role} may not read it, because it has no SELECT on it."
)
_POLICIES = (
    "Row-level policies on unstick.audit_log or unstick.audit_images may hide entries from the role {role}, so nothing"
    " is said of them. A superuser, a role with BYPASSRLS or the owner sees all."
)


class AuditLog:
    """Audit log of an open database: the table, or else the local file.

    ``file``: the local file, also where the table is used. ``destination``: entries are written to it. ``source``:
    entries are read from it. The reasons are "" if there is none. ``no_entries``: why no change can be recorded where
    it must be. ``no_images``: why no images of changed rows are kept. ``no_runs``: why the table cannot hold runs.
    ``unreadable``: why the table's entries are not shown. ``keeps_values`` False: it has no value of a changed row.
    """

    def __init__(
        self,
        database: Database,
        path: Path | None,
        *,
        server: Callable[[], Server],
        reader: Callable[[str], Reader],
        context: str,
        trusted: Sequence[str],
        images: bool,
        local_log: bool,
    ) -> None:
        """``server`` returns the server's facts, ``reader`` the reader of a node.

        ``path``: of the local file; None is that of the user. The others are those of a `Workspace`.
        """
        self.file = LogFile(path, self._origin)
        self.destination: Log = self.file
        self.source: Log = self.file
        self.no_entries = self.no_images = self.unreadable = ""
        self.no_runs = NO_RUNS
        self.exists = self.may_create = False  # the table; the role may create it
        self.keeps_values = images
        self.receipts = Receipts(database, self.file, context)
        self.lost: list[AuditLogEntry] = []  # that a failover took out of the table, as far as the server was asked
        self._asked = ""  # life of the server that was asked for what it lacks
        self.said: set[object] = set()  # what `news` has named: entries, and transactions with their fates
        self._database, self._server, self._reader = database, server, reader
        self.trusted = tuple(trusted)
        self._context, self._local_log = context, local_log

    def choose(self, there: Mapping[str, Any], trust: Trust) -> None:
        """Choose where entries are written and read.

        ``there``: the fields of the table's state.
        """
        state = audit_log.TableState(**there)
        self.exists, self.may_create = state.exists, state.creatable and not state.exists
        doubt = audit_log.doubt(trust) if state.exists else ""
        role, readable = self._server().role, state.readable and not state.policies and not doubt
        table = audit_log.Table(self._database, state, self.trusted, readable=readable)
        self.destination = table if state.writable and not doubt else self.file
        self.source = table if readable else self.destination
        self.no_entries = ""
        if state.exists and not self.in_table and not self._local_log:
            why = f"the table unstick.audit_log is not used: {doubt}" if doubt else NO_INSERT.format(role=role)
            self.no_entries = LOCAL_LOG.format(why=why, role=role)
        self.no_images = ""
        if not self.keeps_values:
            self.no_images = NO_IMAGES
        elif self.in_table and state.policies:
            self.no_images = _POLICIES.format(role=role)
        elif self.in_table and not (state.images and readable):
            self.no_images = NO_TABLE
        if doubt:
            closed = audit_log.NOT_USED.format(doubt=doubt)
        else:
            closed = (_POLICIES if state.readable else _CLOSED).format(role=role)
        self.no_runs = "" if self.in_table and readable else NO_RUNS
        if not self.no_runs and not (state.runs and state.images):
            self.no_runs = OLD_TABLE
        self.unreadable = closed if state.exists and not readable else ""

    async def create(self) -> None:
        """Create the table. Raises DatabaseError, also if a publication would publish it."""
        for name in await audit_log.publications(self._database):
            why = f"The publication {name} is FOR ALL TABLES, so a subscriber without the table would stop."
            raise DatabaseError(why, "`unstick init` says what to do first.")
        await audit_log.create(self._database, (), self.trusted)

    def doubt(self, trust: Trust) -> str:
        """Return why writing an entry could run code of an untrusted role, or ""."""
        return audit_log.doubt(trust) if self.in_table else ""

    def trigger_makers(self, trust: Trust) -> tuple[str, ...]:
        """Return untrusted roles that can create triggers on the tables of entries."""
        tables = [f"INSERT {table}" for table in audit_log.TABLES]
        return trust.trigger_makers("unstick", tables) if self.in_table else ()

    async def trust_of_entry(self, transaction: Transaction, trust: Trust, *, images: bool) -> Trust:
        """Ask again whose code an entry would run, if that may have changed.

        It may if an untrusted role can create triggers on the tables of entries, which are locked then. ``trust``: as
        the change has read it. ``images``: the entry has images. Raises DatabaseError.
        """
        return await self.destination.trust(transaction, images=images) if self.trigger_makers(trust) else trust

    @property
    def in_table(self) -> bool:
        """Return True if entries are written to the table."""
        return self.destination is not self.file

    @property
    def run_table(self) -> audit_log.Table | None:
        """The table, if it can hold runs."""
        table = self.destination
        return None if self.no_runs or not isinstance(table, audit_log.Table) else table

    @property
    def place(self) -> str:
        """Destination of entries: "table", or the path of a file."""
        return self.destination.place

    async def page(
        self, cursor: str | None = None, limit: int = 100, node_id: str | None = None, conditions: Criteria = ALL
    ) -> tuple[tuple[AuditLogEntry, ...], str | None]:
        """Return entries, newest first, and the cursor of the next page.

        Raises DatabaseError, UnknownIdError. ``node_id`` selects the entries about one node. Entries under another
        form of its label are included; those about a node with the same key in another schema are not.
        """
        return await page(self.source, cursor, limit, self._subject(node_id), conditions)

    def stream(self, node_id: str | None = None, conditions: Criteria = ALL) -> AsyncIterator[AuditLogEntry]:
        """Yield the entries of all pages of `page`, in bounded memory.

        Raises DatabaseError, UnknownIdError.
        """
        return self.source.entries(None, self._subject(node_id), conditions)

    async def newest(
        self, node_id: str | None, most: int, cursor: str | None = None, conditions: Criteria = ALL
    ) -> tuple[tuple[AuditLogEntry, ...], str]:
        """Return the newest entries about a node, and why others cannot be read, or "".

        Raises an error of NO_CONNECTION only, because the rest of the node can be shown without entries.
        """
        answer = await attempted(self.page(cursor, most, node_id, conditions))
        entries, why = ((), answer.line) if isinstance(answer, DatabaseError) else (answer[0], self.unreadable)
        lacking = await attempted(self.lacking(node_id))
        lines = () if isinstance(lacking, DatabaseError) else tuple(each.sentence(node_id or "") for each in lacking)
        return entries, " ".join(filter(None, (*lines, why)))

    def note(self, mark: TransactionMark, entry: AuditLogEntry, proof: Provable, *, answered: bool) -> None:
        """Keep a receipt of a transaction whose COMMIT was sent.

        ``entry``: with its id, or "" if the role may not read it. ``answered`` False: it is not known if it was
        committed.
        """
        if entry.id:
            self.receipts.add(mark, entry, proof, answered=answered, in_table=self.in_table)
        self._asked = self._asked if answered else ""

    async def lacking(self, node_id: str | None = None, conditions: Criteria = ALL) -> tuple[Receipt, ...]:
        """Return changes of this user that the server lacks, or may lack.

        Those of the last day, the newest first. Arguments as for `page`. Raises DatabaseError, UnknownIdError.
        """
        if self.unreadable:
            return ()
        lacking = await self.receipts.lacking(self._subject(node_id), in_table=self.in_table)
        if node_id is None:
            self.lost = [r.present for r in lacking if r.lost]
        return tuple(r for r in reversed(lacking) if conditions.matches(r.present))

    async def news(self) -> list[str]:
        """Return sentences about changes that the server lacks, each once.

        A server is asked once in its life. Raises an error of NO_CONNECTION only.
        """
        life = self._server().life
        if self._asked == life:
            return []
        lacking = await attempted(self.lacking())
        if isinstance(lacking, DatabaseError):
            return []
        self._asked = life
        sentences = [each.sentence() for each in lacking if (each.key, each.fate) not in self.said]
        self.said |= {said for each in lacking for said in ((each.key, each.fate), each.entry.id)}
        more = len(sentences) - NEWS_SHOWN
        return sentences[:NEWS_SHOWN] + ([f"And {more} more: `unstick audit` lists them."] if more > 0 else [])

    async def find(self, name: str, *, changes: bool = False) -> tuple[AuditLogEntry, ...]:
        """Return the entry of the id ``name``, or the entries of that run, newest first.

        ``changes``: read the rows of an entry; those of a run are not read. Raises UnknownIdError, DatabaseError.
        """
        if not audit_log.is_id(name):
            lists = self._database.command("audit", *[name] * ("/" in name))
            raise UnknownIdError(f"{name!r} is not the id of an entry. `{lists}` lists them.")
        for log in dict.fromkeys((self.source, self._log_of(name))):
            entry = await log.entry(name, changes=changes)
            entries = () if entry is None else (entry,)
            if entry is None or entry.run == name:  # it may have begun in a file
                entries = (*await log.of_run(name), *entries)
            if entries:
                return entries
        if self.unreadable:
            raise DatabaseError(self.unreadable)
        raise MissingError(f"{await self._missing(name)} `{self._database.command('audit')}` lists the entries.")

    async def images(self, transaction: Transaction, entry: str) -> StoredImages | None:
        """Return the images of an entry, or None. Raises DatabaseError."""
        return await self._log_of(entry).images(transaction, entry)

    def _log_of(self, entry: str) -> Log:
        """Return the log with the entry of this id.

        A file of this user may be older than the table.
        """
        return self.source if audit_log.is_table_id(entry) else self.file

    async def _missing(self, name: str) -> str:
        """Return why there is no entry of that id, as far as this machine has its receipt."""
        receipts = (each for each in await self.lacking() if name in (each.entry.id, each.entry.run))
        return next((each.sentence() for each in receipts), f"The audit log has no entry {name}.")

    async def verify(self, heads: Iterable[str] = ()) -> Verification:
        """Verify the hash chain of the table. ``heads``: those that were exported earlier.

        Raises DatabaseError, also without the table: the lines of a user's own file have no hashes.
        """
        if self.unreadable:
            raise DatabaseError(self.unreadable)
        if isinstance(self.source, LogFile):
            raise DatabaseError(NOT_VERIFIED.format(file=self.file.path), "`unstick init` creates the table.")
        return await self.source.verify(heads)

    def _origin(self) -> Origin:
        server = self._server()
        return Origin(
            database=server.database,
            host=server.host,
            port=server.port,
            system_identifier=server.system_identifier or "",
            context=self._context,
        )

    def _subject(self, node_id: str | None) -> Subject | None:
        if node_id is None:
            return None
        reader = self._reader(node_id)
        detected, local = reader.detected, reader.ids.local(node_id)
        labels = dict.fromkeys((detected.label, detected.full, detected.engine.name))
        return Subject(schema=detected.schema, ids=tuple(f"{label}/{local}" for label in labels))
