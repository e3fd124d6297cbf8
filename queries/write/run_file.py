"""Runs in files of this machine, where the audit log table cannot hold them.

One file per run in the state folder. The first line has its beginning and its nodes. Before each COMMIT a line with the
transaction's id is appended, and afterwards a line with the outcomes. A console that continues the run asks the server
for transactions without outcomes by that id. If the server cannot tell, their nodes are unknown. So a lost line costs a
query, and at most a change that its version guard refuses. Each line has a digest. A file with a line that was changed
is not used. The transactions share the advisory lock of the run, as those in the table do.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import secrets
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from queries.db.database import Database, Server
from queries.db.errors import DatabaseError
from queries.db.transaction import Transaction
from queries.files.sealed_line import digest_of, sealed
from queries.files.state_file import open_private, write_all
from queries.records.action import Outcome, Result
from queries.records.audit import AuditLogEntry
from queries.records.record import Record
from queries.records.run import Member
from queries.write import audit_log, commit_status, failover, run_log
from queries.write.run_log import Begun, Entry, Listed, Provable
from queries.write.transaction_mark import TransactionMark

SUFFIX = ".jsonl"
PREFIX = "b"  # of the id of a run in a file, which is no id of an audit log entry
RECALLED = "committed before the console ended (transaction {xid})"


class Head(Record):
    """The first line: the beginning, and the database."""

    begun: Begun
    database: str
    system_identifier: str


class Sent(Record):
    """A transaction whose COMMIT is about to be sent. Its entry has no row copies."""

    mark: TransactionMark
    entry: AuditLogEntry

    @property
    def ids(self) -> tuple[str, ...]:
        """Nodes that the transaction changes."""
        return tuple(r.id for r in self.entry.results if r.outcome is Outcome.CHANGED)


class Settled(Record):
    """Outcome of a transaction. No ``results``: it was rolled back."""

    xid: str
    at: float
    results: tuple[Result, ...]


class _Line(Record, omit_defaults=True):
    head: Head | None = None
    sent: Sent | None = None
    settled: Settled | None = None
    event: Entry | None = None
    digest: str = ""


class FileRun:
    """A run in a file that is locked against other processes."""

    def __init__(self, path: Path, file: int, head: Head, lines: Iterable[_Line] = ()) -> None:
        self.id, self.place = head.begun.id, str(path)
        self.head, self.begun = head, head.begun
        self.irregular = False
        self.ended = False
        self._path = path
        self._file: int | None = file
        self._sent: dict[str, Sent] = {}  # by transaction
        self._settled: dict[str, Settled] = {}
        self._events: list[Entry] = []
        self._changes: dict[str, Provable] = {}  # transactions of this process
        self._database: Database | None = None
        self._audit_log: audit_log.File | None = None
        for line in lines:
            self._take(line)

    def connect(self, database: Database, file: audit_log.File | None) -> FileRun:
        """Return it for this database.

        ``file``: the local audit log; None: entries are written to the table.
        """
        self._database, self._audit_log = database, file
        return self

    @property
    def listed(self) -> Listed:
        """The run in a list, as far as it is recorded."""
        changed = sum(r.outcome is Outcome.CHANGED for s in self._settled.values() for r in s.results)
        last_at = max([self.begun.at, *(s.at for s in self._settled.values()), *(e.at for e in self._events)])
        return Listed(begun=self.begun, changed=changed, last_at=last_at, place=self.place)

    async def guard(self, transaction: Transaction) -> None:
        """Share the lock of the run. Raises OvertakenError."""
        await run_log.guard_alone(transaction, self.id)

    def named(self, **more: Any) -> dict[str, Any]:
        """Return the argument of an audit log entry."""
        return {"id": self.id, **more}

    def sending(self, mark: TransactionMark, entry: AuditLogEntry, change: Provable) -> None:
        """Record a transaction before its COMMIT.

        A disk error here only costs a query when the run is continued.
        """
        self._changes[mark.xid] = change
        self._append(_Line(sent=Sent(mark=mark, entry=msgspec.structs.replace(entry, changes=()))))

    def settled(self, mark: TransactionMark, results: tuple[Result, ...]) -> None:
        """Record the outcome of a transaction."""
        self._append(_Line(settled=Settled(xid=mark.xid, at=mark.at, results=results)))

    async def take_over(self, entry: AuditLogEntry) -> None:
        """Nothing to do: the lock of the file keeps other processes away."""

    async def record(self, entry: AuditLogEntry, event: Mapping[str, Any]) -> None:
        """Record an event."""
        self._append(_Line(event=Entry(at=time.time(), event=dict(event), results=entry.results)))

    async def entries(self, *, guarded: bool = True) -> list[Entry]:
        """Return its entries, once no transaction of it is running.

        The server is asked for transactions without an outcome, and after a failover for all. Raises DatabaseError.
        """
        assert self._database is not None
        await run_log.wait_for_end(self._database, self.id)
        found = [await self._entry(xid, sent) for xid, sent in self._sent.items()]
        return sorted([*filter(None, found), *self._events], key=lambda entry: entry.at)

    async def _entry(self, xid: str, sent: Sent) -> Entry | None:
        """Return the entry of a transaction, or None if it was rolled back."""
        assert self._database is not None
        assert self._database.server is not None
        known = self._settled.get(xid)
        entry = Entry(at=sent.mark.at, event=self.named(), results=(), id=sent.entry.id, xid=xid)
        if known is not None and not known.results:
            return None  # rolled back
        if known is not None and sent.mark.history == self._database.server.history:
            return msgspec.structs.replace(entry, results=known.results)
        change = self._changes.get(xid)
        status = await commit_status.status_now(
            self._database, sent.mark, change, sent.entry, table=self._audit_log is None
        )
        results: list[Result] = []
        if status == commit_status.COMMITTED:
            why = RECALLED.format(xid=xid) if change is None else ""
            results = [Result(id=i, outcome=Outcome.CHANGED, why=why) for i in sent.ids]
        elif status == commit_status.UNKNOWN:
            if known is not None:
                return msgspec.structs.replace(entry, results=known.results)
            results = [
                Result(id=i, outcome=Outcome.UNKNOWN, why=commit_status.UNSETTLED.format(xid=xid)) for i in sent.ids
            ]
        if self._audit_log is not None and status != commit_status.UNKNOWN:
            gone = (Outcome.UNSENT, commit_status.ROLLED_BACK) if known is None else (Outcome.LOST, failover.LOST)
            rolled_back = [Result(id=i, outcome=gone[0], why=gone[1]) for i in sent.ids]
            audit_log.correct(self._audit_log, sent.entry, results or rolled_back)
        if status != commit_status.UNKNOWN and known is None:  # after the correction: what is settled is asked no more
            self.settled(sent.mark, tuple(results))
        return msgspec.structs.replace(entry, results=tuple(results)) if results else None

    def close(self) -> None:
        """Unlock the file. Delete it if the run has ended."""
        file, self._file = self._file, None
        if file is not None:
            if self.ended:
                self._path.unlink(missing_ok=True)
            os.close(file)

    def _take(self, line: _Line) -> None:
        if line.sent is not None:
            self._sent[line.sent.mark.xid] = line.sent
        elif line.settled is not None:
            self._settled[line.settled.xid] = line.settled
        elif line.event is not None:
            self._events.append(line.event)
            self.ended = self.ended or line.event.event.get("event") == run_log.END

    def _append(self, line: _Line) -> None:
        self._take(line)
        if self._file is not None:
            with contextlib.suppress(OSError):
                write_all(self._file, b"\n" + sealed(msgspec.json.encode(line), self.id) + b"\n")


def begin(
    folder: Path, server: Server, entry: AuditLogEntry, event: Mapping[str, Any], members: Sequence[Member]
) -> FileRun:
    """Write the beginning of a run.

    Raises DatabaseError if the file cannot be written.
    """
    name = f"{PREFIX}{secrets.token_hex(4)}"
    begun = run_log.begun_of(entry, name, time.time(), event, run_log.listed_members(members))
    head = Head(begun=begun, database=server.database, system_identifier=server.system_identifier)
    path = folder / f"{name}{SUFFIX}"
    new = path.with_suffix(f".{os.getpid()}")
    try:
        file = open_private(new, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_APPEND)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            write_all(file, sealed(msgspec.json.encode(_Line(head=head)), name) + b"\n")
            os.fsync(file)
            new.replace(path)
        except BaseException:
            os.close(file)
            new.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise DatabaseError(
            f"The list of nodes cannot be written to {folder}: {error.strerror}.",
            "Without it the run could not be continued. Nothing was changed.",
        ) from error
    return FileRun(path, file, head)


def is_id(text: str) -> bool:
    """Return True for the id of a run in a file."""
    return re.fullmatch(PREFIX + "[0-9a-f]{8}", text) is not None


def load(folder: Path, name: str, server: Server) -> FileRun:
    """Open a run that has not ended.

    Raises DatabaseError if it is missing, changed, in use, or of another database.
    """
    path = folder / f"{Path(name).name}{SUFFIX}"
    try:
        found = _opened(path)
    except BlockingIOError:
        raise DatabaseError(f"The run {name} is running in another console.") from None
    except PermissionError as error:
        raise DatabaseError(f"The file {path} is not used: {error.strerror}.", "Nothing was changed.") from None
    except (OSError, msgspec.MsgspecError):
        found = None
    if found is None:
        raise DatabaseError(f"There is no unfinished run {name} in {folder}.")
    if not _matches(found.head, server):
        found.close()
        raise DatabaseError(
            f"The run {name} belongs to the database {found.head.database} of another server.", "Nothing was changed."
        )
    return found


def unfinished(folder: Path, server: Server) -> Iterator[FileRun]:
    """Yield this database's runs that have not ended and are not in use.

    Each is closed before the next is opened.
    """
    try:
        paths = sorted(folder.glob(f"*{SUFFIX}"))
    except OSError:
        return
    for path in paths:
        with contextlib.suppress(OSError, msgspec.MsgspecError, DatabaseError):
            found = _opened(path)
            if found is None:
                continue
            try:
                if _matches(found.head, server) and not found.ended:
                    yield found
            finally:
                found.close()


def _matches(head: Head, server: Server) -> bool:
    return (head.system_identifier, head.database) == (server.system_identifier, server.database)


def _opened(path: Path) -> FileRun | None:
    """Read and lock a file; None if its first line is missing.

    Raises OSError, also if other users can write it, and DatabaseError if it was changed.
    """
    file = open_private(path, os.O_RDWR | os.O_APPEND)
    run = None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with os.fdopen(os.dup(file), "rb") as stream:
            lines = list(_parsed(path, stream))
        if lines and lines[0].head is not None:
            run = FileRun(path, file, lines[0].head, lines[1:])
        return run
    finally:
        if run is None:
            os.close(file)


def _parsed(path: Path, lines: Iterable[bytes]) -> Iterator[_Line]:
    for text in lines:
        try:
            line = msgspec.json.decode(text, type=_Line)
        except msgspec.MsgspecError:
            if _is_whole(text):
                raise _changed(path) from None
            continue  # incomplete or blank
        if line.digest != digest_of(text.rstrip(b"\n"), path.stem):
            raise _changed(path)
        yield line


def _is_whole(text: bytes) -> bool:
    """Return True for a line of JSON.

    A crash leaves no line that is whole and has no digest.
    """
    try:
        return isinstance(msgspec.json.decode(text), dict)
    except msgspec.MsgspecError:
        return False


def _changed(path: Path) -> DatabaseError:
    return DatabaseError(
        f"The file {path} was changed, or an earlier version wrote it, so it is not used.", "Nothing was changed."
    )
