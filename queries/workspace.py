"""Everything open at once: the database, the engines found in it, the audit log."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from queries.contract import loader
from queries.contract.detect import Declined, code, detect, expected, questions, unsafe
from queries.contract.loader import Engine
from queries.contract.spec import Action
from queries.contract.trust import Trust
from queries.db.batched_query import BatchedQuery
from queries.db.database import Database, Server, Transaction
from queries.db.shared_sql import statement
from queries.errors import DatabaseError, LockedError, LostError
from queries.model import AuditLogEntry, Origin, split_id
from queries.read.reader import Reader
from queries.write import audit_log
from queries.write.audit_log import Subject
from queries.write.failover import Journal

_CLOSED = (
    "There is an audit log, the table unstick.audit_log, but the role {role} may not read it: it has no SELECT on it."
)
_NO_CURSOR = "{cursor!r} is no cursor of this audit log: --after takes the one that the page before ended with."


def _doubtful_audit_log(trust: Trust) -> str:
    """Return why an entry written to the table could run code of a role that is not trusted."""
    return trust.unreadable("unstick", ["audit_log"]) or trust.unwritten("unstick", "audit_log")


class UnknownIdError(DatabaseError):
    """An id that names no engine here, or several; str() says which there are."""


class Workspace:
    """One database with its engines. Make it with :meth:`open`, end it with :meth:`close`."""

    def __init__(
        self,
        database: Database,
        engines: Sequence[Engine],
        overrides: Mapping[str, Mapping[str, object]],
        *,
        schema: str,
        context: str,
        trusted: Sequence[str],
        read_only: bool,
        file: Path | None,
        later: bool,
    ) -> None:
        self.database = database
        self.read_only = read_only
        self.engines: dict[str, Reader] = {}
        self.declined: tuple[Declined, ...] = ()
        self.expected = expected(engines)
        self._file = audit_log.File(file, self._origin)
        self.audit_log_file: audit_log.File | None = self._file
        self.audit_log_readable = False
        self.audit_log_closed = ""  # why the table's entries are not shown, if there is one that may not be read
        self.journal = Journal(database, self._file)
        self.locked: frozenset[str] = frozenset()  # tables of which not all was read, as another session locks them
        self._known = engines
        self._overrides = overrides
        self._schema = schema
        self._context = context
        self._trusted = trusted
        self._later = later

    @classmethod
    async def open(
        cls,
        text: str,
        overrides: Mapping[str, Mapping[str, object]] | None = None,
        *,
        schema: str = "",
        context: str = "",
        trusted: Sequence[str] = (),
        read_only: bool = False,
        override_read_only: bool = False,
        file: Path | None = None,
        later: bool = False,
    ) -> Workspace:
        """Connect to what ``text`` names and look for engines. ``overrides`` are thresholds and options by engine
        (``uni2work``) and by schema (``uni2work@archive``), of which the latter win.

        ``schema``: the one to use where several hold the same engine; "" uses all. ``context`` is noted in the local
        audit file. ``trusted``: roles whose objects may run code, besides the current role, superusers and the
        database's owner. ``later``: which variant an engine is may be asked when it is first read. Raises
        DatabaseError. That no engine is there is no error: ``declined`` and ``expected`` tell why.
        """
        known = loader.builtin()
        workspace = cls(
            Database(text, override_read_only=override_read_only),
            known,
            overrides or {},
            schema=schema,
            context=context,
            trusted=trusted,
            read_only=read_only,
            file=file,
            later=later,
        )
        try:
            await workspace.look()
        except BaseException:
            await workspace.close()
            raise
        return workspace

    async def look(self, *, renew: bool = False) -> None:
        """Look (again) for engines, privileges and the audit log. Raises DatabaseError.

        ``renew`` keeps the readers of engines that are still here, and what they have seen. If ``locked`` is not empty
        afterwards, looking once more later will find more.
        """
        asked = [*questions(self._known, self._trusted), BatchedQuery(statement("audit_log_state"))]
        try:
            catalog, types, doubts, (there,) = await self.database.batch(asked)
        except LockedError:  # a table was locked between the look for locks and the look at the table
            catalog, types, doubts, (there,) = await self.database.batch(asked)
        detection = detect(self._known, catalog, types, doubts, self._schema)
        state = audit_log.State(**there)
        self.declined, self.locked = detection.declined, detection.locked
        before = {reader.found.full: reader for reader in self.engines.values()}
        self.engines = {}
        for found in detection.found:
            kept = before.get(found.full)
            if renew and kept is not None and kept.label == found.label:
                kept.variant.found = found
                self.engines[found.label] = kept
                continue
            settings = loader.merged(self._overrides.get(found.engine.name, {}), self._overrides.get(found.full, {}))
            reader = Reader(self.database, found, settings, read_only=self.read_only)
            for option, value in kept.variant.session_options.items() if kept is not None else ():
                reader.variant.set_option(option, value)
            self.engines[found.label] = reader
        for reader in () if self._later else self.engines.values():
            await reader.variant.recognise()
        doubt = _doubtful_audit_log(Trust(doubts)) if state.exists else ""
        self.audit_log_file = None if state.writable and not doubt else self._file
        self.audit_log_readable = state.readable and not doubt
        closed = (
            f"The table unstick.audit_log is not used: {doubt}." if doubt else _CLOSED.format(role=self.server.role)
        )
        self.audit_log_closed = closed if state.exists and not self.audit_log_readable else ""

    @property
    def bulks(self) -> Path:
        """Folder of the lists of unfinished bulks, beside the local audit log."""
        return self._file.path.parent / "bulks"

    async def renew(self) -> None:
        """Ask for the server's facts again: a standby may have been promoted. Raises DatabaseError."""
        await self.database.batch(())

    async def unsafe(self, reader: Reader, action: Action, transaction: Transaction) -> str:
        """Return why an action could run code of a role that is not trusted, as of now. Raises DatabaseError.

        The right to create triggers may be used at any time after the engines were looked for.
        """
        asked = code([reader.engine], self._trusted)
        trust = Trust(await transaction.rows(asked.statement, asked.values))
        if self.audit_log_file is None and (why := _doubtful_audit_log(trust)):
            return why
        found = msgspec.structs.replace(reader.found, unsafe=unsafe(reader.engine, reader.found.schema, trust))
        return found.why_unsafe(action.privileges)

    @property
    def server(self) -> Server:
        """What is at the other end, as of the last connecting."""
        if self.database.server is None:
            raise LostError("There is no connection yet.")
        return self.database.server

    @property
    def audit_log_place(self) -> str:
        """Where entries go: "table", or the path of a file."""
        return audit_log.TABLE if self.audit_log_file is None else str(self.audit_log_file.path)

    def named(self, label: str, local: str = "") -> Reader:
        """Return the reader that ``label`` names: ``uni2work@archive``, or ``uni2work`` if one schema alone holds it.

        ``local`` is the rest of the id that was asked for, if any. Raises UnknownError, also for an ambiguous label.
        """
        found = [r for r in self.engines.values() if label in (r.label, r.found.full, r.engine.name)]
        if not found:
            raise UnknownIdError(f"There is no engine {label!r} here; there is {', '.join(self.engines) or 'none'}.")
        if len(found) > 1:
            forms = " or ".join(f"{reader.label}/{local}" if local else reader.label for reader in found)
            raise UnknownIdError(f"{label!r} is ambiguous: {len(found)} schemas hold this engine. Write {forms}.")
        return found[0]

    def reader(self, node_id: str) -> Reader:
        """The reader of the engine that ``node_id`` belongs to. Raises UnknownError."""
        try:
            label, kind, key = split_id(node_id)
        except ValueError as error:
            raise UnknownIdError(str(error)) from None
        reader = self.named(label, f"{kind}:{key}")
        if reader.engine.kind(kind) is None:
            kinds = ", ".join(k.name for k in reader.engine.spec.kinds)
            raise UnknownIdError(f"{label} has no nodes of kind {kind!r}; its kinds are {kinds}.")
        return reader

    async def audit_entries(
        self, cursor: str | None = None, page: int = 100, node_id: str | None = None
    ) -> tuple[tuple[AuditLogEntry, ...], str | None]:
        """Entries, newest first, and the cursor of the next page; those about ``node_id`` where it is given.

        A node is known by its schema: entries made while its label had the other form count, those of a node of the
        same key in another schema do not. Raises DatabaseError, UnknownError.
        """
        node = None if node_id is None else self._subject(node_id)
        if self.audit_log_readable:
            if cursor is not None and not re.fullmatch("[0-9]{1,18}", cursor):
                raise UnknownIdError(_NO_CURSOR.format(cursor=cursor))
            entries = await audit_log.page(self.database, cursor, page, node)
        elif self.audit_log_file is not None:
            rows = list(self.audit_log_file.entries(node))
            start = 0 if cursor is None else next((n + 1 for n, entry in enumerate(rows) if entry.id == cursor), None)
            if start is None:
                raise UnknownIdError(_NO_CURSOR.format(cursor=cursor))
            entries = tuple(rows[start : start + page])
        else:
            entries = ()
        return entries, entries[-1].id if len(entries) == page else None

    async def done(self, node_id: str, most: int) -> tuple[tuple[AuditLogEntry, ...], str]:
        """Return the newest entries about a node, and why there may be more that cannot be read ("": there are none).

        Raises LostError only: the rest of the node can be shown without them.
        """
        try:
            entries, _ = await self.audit_entries(page=most, node_id=node_id)
        except LostError:
            raise
        except DatabaseError as error:
            return (), error.line
        return entries, self.audit_log_closed

    def _origin(self) -> Origin:
        server = self.server
        return Origin(
            database=server.database,
            host=server.host,
            port=server.port,
            system_identifier=server.system_identifier or "",
            context=self._context,
        )

    def _subject(self, node_id: str) -> Subject:
        reader = self.reader(node_id)
        found, local = reader.found, reader.local(node_id)
        labels = dict.fromkeys((found.label, found.full, found.engine.name))
        return Subject(schema=found.schema, ids=tuple(f"{label}/{local}" for label in labels))

    async def close(self) -> None:
        """End all connections."""
        await self.database.close()
