"""Choice of the audit log: the table of an open database, or else the local file.

Also the reasons against the table, and the entries as the console shows them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from pathlib import Path

import msgspec

from queries.contract.trust import Trust
from queries.db.database import Database, Server
from queries.db.errors import DatabaseError, MissingError, UnknownIdError, attempted
from queries.read.question import Question
from queries.read.reader import Reader
from queries.records.audit import AuditLogEntry, Origin
from queries.write import audit_log
from queries.write.audit_chain import Verification
from queries.write.audit_log import ALL, Criteria, Subject
from queries.write.failover import Journal, Receipt

NO_IMAGES = "the settings of this context forbid images of rows (images = false)"
NO_TABLE = "the database has no table for images: `unstick init` creates it"
NO_INSERT = "The role {role} may not write the audit log, because it has no INSERT on the table unstick.audit_log"
LOCAL_LOG = (
    "{why}. The owner of the table grants what is missing with `unstick init --operator {role}`."
    " --local-log changes rows anyway, and writes the entries to a file of this user"
)
NO_RUNS = "it needs the audit log table, and the right to write and read it: `unstick init` creates it"
OLD_TABLE = "the audit log table is from an earlier version: `unstick init` adds what it needs"
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
        self.file = audit_log.File(path, self._origin)
        self.destination: audit_log.Log = self.file
        self.source: audit_log.Log = self.file
        self.no_entries = self.no_images = self.unreadable = ""
        self.no_runs = NO_RUNS
        self.keeps_values = images
        self.journal = Journal(database, self.file, context)
        self._database, self._server, self._reader = database, server, reader
        self._context, self._trusted, self._local_log = context, tuple(trusted), local_log

    def choose(self, state: audit_log.TableState, trust: Trust) -> None:
        """Choose where entries are written and read."""
        doubt = audit_log.doubt(trust) if state.exists else ""
        role, readable = self._server().role, state.readable and not state.policies and not doubt
        table = audit_log.Table(self._database, state, self._trusted, readable=readable)
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

    def doubt(self, trust: Trust) -> str:
        """Return why writing an entry could run code of an untrusted role, or ""."""
        return audit_log.doubt(trust) if self.in_table else ""

    def trigger_makers(self, trust: Trust) -> tuple[str, ...]:
        """Return untrusted roles that can create triggers on the tables of entries."""
        tables = [f"INSERT {table}" for table in audit_log.TABLES]
        return trust.trigger_makers("unstick", tables) if self.in_table else ()

    def trust_of_entry(self, trust: Trust, *, images: bool) -> Question[Trust]:
        """Ask again whose code an entry would run, if that may have changed.

        It may if an untrusted role can create triggers on the tables of entries, which are locked then. ``trust``: as
        the change has read it. ``images``: the entry has images.
        """
        return self.destination.trust(images=images) if self.trigger_makers(trust) else Question([], lambda _: trust)

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
        return await audit_log.page(self.source, cursor, limit, self._subject(node_id), conditions)

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
        lost = await attempted(self.receipts(node_id))
        lines = () if isinstance(lost, DatabaseError) else tuple(self.sentence(each, node_id) for each in lost)
        return entries, " ".join(filter(None, (*lines, why)))

    async def receipts(self, node_id: str | None = None, conditions: Criteria = ALL) -> tuple[Receipt, ...]:
        """Return receipts of commits that a failover has lost, or may lose.

        The newest is the first. Arguments as for `page`. Raises DatabaseError, UnknownIdError.
        """
        subject, receipts = self._subject(node_id), []
        for each in reversed(await self.journal.receipts()):
            entry = each.present
            if subject is not None:
                if entry.schema != subject.schema or each.changed.isdisjoint(subject.ids):
                    continue
                entry = subject.named(entry)
            if conditions.matches(entry):
                receipts.append(msgspec.structs.replace(each, entry=entry))
        return tuple(receipts)

    async def news(self) -> list[str]:
        """Return a sentence for each loss that was found since the last call.

        Raises an error of NO_CONNECTION only.
        """
        await attempted(self.journal.receipts())
        news, self.journal.news = self.journal.news, []
        return [self.sentence(each) for each in news]

    def sentence(self, receipt: Receipt, node_id: str | None = None) -> str:
        """Return a sentence about a commit, and the node that it names."""
        return receipt.sentence(self._server().history, node_id or "")

    async def find(self, name: str, *, changes: bool = False) -> tuple[AuditLogEntry, ...]:
        """Return the entry of the id ``name``, or the entries of that run, newest first.

        ``changes``: read the rows of an entry; those of a run are not read. Raises UnknownIdError, DatabaseError.
        """
        if not audit_log.is_id(name):
            raise UnknownIdError(f"{name!r} is not the id of an entry. `unstick audit` lists the entries.")
        source = self.source
        entry = await source.entry(name, changes=changes)
        entries = () if entry is None else (entry,)
        if entry is None or entry.run == name:  # it may have begun in a file
            entries = (*await source.of_run(name), *entries)
        if not entries and self.unreadable:
            raise DatabaseError(self.unreadable)
        if not entries:
            raise MissingError(f"{await self._missing(name)} `unstick audit` lists the entries.")
        return entries

    async def _missing(self, name: str) -> str:
        """Return why there is no entry of that id, as far as this machine has its receipt."""
        for receipt in (*await self.journal.receipts(), *self.journal.own()):
            entry = receipt.entry
            if name in (entry.id, entry.run):
                missing = f"{entry.action} of {entry.named()} was committed (transaction {entry.xid}): it may be there."
                doubtful = receipt.lost or receipt.mark.history != self._server().history
                return self.sentence(receipt) if doubtful else f"The audit log lacks entry {name}, although {missing}"
        return f"The audit log has no entry {name}."

    async def verify(self, heads: Iterable[str] = ()) -> Verification:
        """Verify the hash chain of the table, or else of the local file.

        Raises DatabaseError. ``heads``: those that were exported earlier.
        """
        if self.unreadable:
            raise DatabaseError(self.unreadable)
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
