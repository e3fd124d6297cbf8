"""Runs in the local audit file, where the audit log table cannot hold them.

As in the table, a run is its first entry, whose id is its name, and each later entry names it. But a line is not a part
of a transaction: one is appended before COMMIT, with the transaction's mark, and another after it. So a console that
continues the run asks the server for transactions without an outcome. If the server cannot tell, their nodes are
unknown. A lost line costs a query, and at most a change that its version guard refuses. A run with a line that was
changed is not used. A file with the name of the run, in a folder beside the audit file, is locked by the console that
continues it, and is deleted when the run has ended. A console that takes the run over replaces the file: the other one
changes nothing more, because its file has no name. The transactions and the events share the advisory lock of the run,
as those in the table do.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from queries.db.database import Database
from queries.db.errors import DatabaseError, LockedError
from queries.db.transaction import Transaction
from queries.files.state_file import make_private, open_private
from queries.records.action import Outcome, Result
from queries.records.audit import END, AuditLogEntry
from queries.records.run import Member
from queries.write import audit_log, commit_status, failover, run_log
from queries.write.log_file import Line, Log, LogFile
from queries.write.run_log import ListedRun
from queries.write.transaction_mark import Provable, TransactionMark

RECALLED = "committed before the console ended (transaction {xid})"


class Local(NamedTuple):
    """The local file, as a place for runs.

    ``log``: has the entries of the changes; a table that cannot hold the run, or the file.
    """

    database: Database
    file: LogFile
    log: Log

    @property
    def locks(self) -> Path:
        """Folder of the locks of runs that have not ended."""
        return self.file.path.parent / "runs"


class FileRun:
    """A run in the local audit file, continued by this process."""

    def __init__(self, local: Local, begun: AuditLogEntry, members: msgspec.Raw) -> None:
        self.id, self.begun, self.members = begun.id, begun, members
        self.file, self.place = local.file, local.file.place
        self.ended = False
        self._database, self._log = local.database, local.log
        self._proofs: dict[str, Provable] = {}  # of the transactions of this process
        self._path = local.locks / begun.id
        self._locked: int | None = None

    def lock(self) -> FileRun:
        """Lock the run, and return it.

        Raises DatabaseError, LockedError if another process continues it.
        """
        self._locked = _lock(self._path)
        return self

    async def guard(self, transaction: Transaction) -> None:
        """Share the lock of the run.

        Raises OvertakenError if another process continues it.
        """
        await run_log.share(transaction, self._database, self.id)
        self._check()

    def named(self, **more: Any) -> dict[str, Any]:
        """Return the argument of an audit log entry."""
        return {"id": self.id, **more}

    def sending(self, mark: TransactionMark, proof: Provable) -> None:
        """Keep what proves that a transaction was committed."""
        self._proofs[mark.xid] = proof

    async def take_over(self, entry: AuditLogEntry) -> bool:
        """Lock the run, also instead of the process that did. Return True.

        Raises DatabaseError.
        """
        self._locked = _lock(self._path, instead=True)
        return True

    async def record(self, entry: AuditLogEntry, event: Mapping[str, Any]) -> None:
        """Append the entry of an event. Raises DatabaseError, OvertakenError."""
        async with run_log.locked(self._database, self.id, run_log.SHARED):
            self._check()
            named = msgspec.structs.replace(entry, id=audit_log.entry_id(), at=time.time())
            self.file.append(run_log.naming(named, self.named(**event)), intended=False)
        self.ended = event["event"] == END

    async def entries(self, *, guarded: bool = True) -> list[AuditLogEntry]:
        """Return its entries, once no transaction of it is running.

        The server is asked for transactions without an outcome, and after a failover for all. Raises DatabaseError.
        """
        entries: list[AuditLogEntry] = []
        async with run_log.locked(self._database, self.id):
            if guarded:
                self._check()
            for line, outcome in _changes(self._lines()):
                entry = line.entry if outcome is None else await self._entry(line, outcome)
                if entry is not None:
                    entries.append(entry)
        self.ended = bool(entries) and entries[0].is_end
        return entries[::-1]

    async def entries_so_far(self) -> list[AuditLogEntry]:
        """Return its entries, once no transaction of it is running.

        The lines alone do not tell what became of one. Raises DatabaseError.
        """
        return await self.entries(guarded=False)

    def listed(self) -> ListedRun:
        """Return the run in a list, as far as it is recorded. Raises DatabaseError."""
        last, changed = None, 0
        for line, outcome in _changes(self._lines()):
            last = last or line.entry
            changed += sum(r.outcome is Outcome.CHANGED for r in outcome or ())
        self.ended = last is not None and last.is_end
        return ListedRun(
            begun=self.begun,
            changed=changed,
            last_at=self.begun.at if last is None else last.at,
            ended=last.event if last is not None and last.is_end else None,
            place=self.place,
        )

    def close(self) -> None:
        """Unlock the run."""
        lock, self._locked = self._locked, None
        if lock is not None:
            with contextlib.suppress(OSError), _alone(self._path.parent):
                if self.ended and os.fstat(lock).st_nlink:  # else the file with its name is another console's
                    self._path.unlink()
            os.close(lock)

    def _check(self) -> None:
        with contextlib.suppress(OSError):
            if self._locked is not None and os.fstat(self._locked).st_nlink:
                return
        raise run_log.overtaken(self.id, "Another console", ended=self.listed().ended is not None)

    def _lines(self) -> Iterator[Line]:
        """Yield the lines of the run after its beginning, the last first.

        Raises DatabaseError.
        """
        for line in self.file.lines(self.id.encode()):
            if line.entry.id == self.id:
                return
            if line.entry.run == self.id:
                yield line

    async def _entry(self, line: Line, outcome: tuple[Result, ...]) -> AuditLogEntry | None:
        """Return the entry of a transaction, or None if it was rolled back.

        ``outcome``: as it was recorded last; empty if the console ended before.
        """
        entry, mark = line.entry, line.mark
        assert self._database.server is not None
        if mark is None:
            raise run_log.tampered(self.id, self._path)
        doubtful = not outcome or any(r.outcome is Outcome.UNKNOWN for r in outcome)
        results = outcome
        if doubtful or (_has(outcome, Outcome.CHANGED) and mark.history != self._database.server.history):
            own = self._proofs.get(mark.xid)
            status = await commit_status.status_now(
                self._database, mark, own if self._log is self.file else audit_log.EntryProof(entry=entry)
            )
            fates = {
                commit_status.COMMITTED: (Outcome.CHANGED, "" if own else RECALLED.format(xid=mark.xid)),
                commit_status.ABORTED: (Outcome.UNSENT, commit_status.ROLLED_BACK),
                commit_status.UNKNOWN: (Outcome.UNKNOWN, commit_status.UNSETTLED.format(xid=mark.xid)),
            }
            if not doubtful:
                fates = {commit_status.ABORTED: (Outcome.LOST, failover.LOST)}
            fate, why = fates.get(status, (Outcome.CHANGED, ""))
            results = tuple(
                msgspec.structs.replace(r, outcome=fate, why=why or r.why) if r.outcome is Outcome.CHANGED else r
                for r in (entry.results if doubtful else outcome)
            )
            if status != commit_status.UNKNOWN and results != outcome:
                self.file.settle(entry, results)
        if not (_has(results, Outcome.CHANGED) or _has(results, Outcome.UNKNOWN)):
            return None
        return msgspec.structs.replace(entry, at=mark.at, results=results, xid=mark.xid)


def begin(local: Local, entry: AuditLogEntry, event: Mapping[str, Any], members: Sequence[Member]) -> FileRun:
    """Write the first entry of a run, and lock it.

    Raises DatabaseError if that is not possible. Nothing can be changed then.
    """
    nodes = run_log.listed_members(members)
    named = run_log.naming(entry, run_log.beginning(event, nodes))
    entry = msgspec.structs.replace(named, id=audit_log.entry_id(), at=time.time())
    local.file.append(entry, intended=False, images=nodes)
    return FileRun(local, entry, nodes).lock()


def is_id(text: str) -> bool:
    """Return True for the id of a run in a file, also of one that version 0.2.0 began."""
    return re.fullmatch("[0-9a-f]{1,20}-[0-9a-f]{1,10}|b[0-9a-f]{8}", text) is not None


def load(local: Local, name: str) -> FileRun | None:
    """Return a run; None if the file has none of this name.

    Raises DatabaseError if it is changed, or of another database.
    """
    if (run := _read(local, name)) is None:
        return None
    origin = run.begun.origin
    if origin is None or not origin.same(local.file.origin()):
        owner = "" if origin is None else f"the database {origin.database} of "
        raise DatabaseError(f"The run {name} belongs to {owner}another server.", "Nothing was changed.")
    return run


def _read(local: Local, name: str) -> FileRun | None:
    """Return a run of any database, not locked. Raises DatabaseError if it is changed."""
    if not is_id(name):
        return None
    lines = local.file.lines(f'"id":"{name}"'.encode())
    line = next((line for line in lines if line.entry.id == name == line.entry.run), None)
    if line is None:
        if (path := local.locks / f"{name}.jsonl").exists():
            raise DatabaseError(f"The file {path} is of version 0.2.0, which continues it.", "Nothing was changed.")
        return None
    entry, members = line.entry, line.kept
    if not run_log.has_members(entry.event, members):
        raise run_log.tampered(name, local.locks / name)
    return FileRun(local, entry, msgspec.Raw(members))


def unfinished(local: Local, *, idle: bool = False) -> tuple[list[ListedRun], list[str]]:
    """Return this database's runs that have not ended, and why others cannot be read.

    ``idle``: only those that no process continues.
    """
    try:
        names = sorted({path.name.removesuffix(".jsonl") for path in local.locks.iterdir()})
    except FileNotFoundError:
        return [], []
    except OSError as error:
        return [], [f"The folder {local.locks} cannot be read: {error.strerror}."]
    runs: list[ListedRun] = []
    unread: dict[str, None] = {}
    for name in filter(is_id, names):
        try:
            if (run := _read(local, name)) is None:
                why = f"{local.file.path} has lost the beginning of the run {name}."
                raise DatabaseError(why + run_log.UNLISTED.format(file=local.locks / name))
            if run.begun.origin is not None and run.begun.origin.same(local.file.origin()):
                with contextlib.closing(run.lock() if idle else run):
                    entry = run.listed()
                runs += [entry] if entry.ended is None else []
        except LockedError:
            continue
        except DatabaseError as error:
            unread[error.line] = None
    return runs, list(unread)


def _lock(path: Path, *, instead: bool = False) -> int:
    """Lock a run.

    ``instead``: of the process that has locked it. Raises DatabaseError, LockedError.
    """
    try:
        make_private(path.parent)
        with _alone(path.parent):
            try:
                return _locked_file(path)
            except BlockingIOError as error:
                if not instead:
                    why = f"The run {path.name} is running in another console."
                    raise LockedError(why, "Nothing was changed.") from error
            path.unlink()
            return _locked_file(path)
    except OSError as error:
        raise DatabaseError(f"The file {path} is not used: {error.strerror}.", "Nothing was changed.") from error


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Let no other process create, lock or delete a file of the folder meanwhile.

    Raises OSError.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _locked_file(path: Path) -> int:
    """Create a missing file, and lock it.

    Raises OSError; it is BlockingIOError if another process has locked it.
    """
    lock = open_private(path, os.O_CREAT | os.O_RDWR)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        raise
    return lock


def _changes(lines: Iterable[Line]) -> Iterator[tuple[Line, tuple[Result, ...] | None]]:
    """Yield each event, and each change with its last outcome, the last first.

    An event has None; a change without an outcome has no results.
    """
    outcomes: dict[str, tuple[Result, ...]] = {}
    for line in lines:
        if "event" in line.entry.event:
            yield line, None
        elif line.intended:
            yield line, outcomes.pop(line.entry.id, ())
        else:
            outcomes.setdefault(line.entry.id, line.entry.results)


def _has(results: Iterable[Result], outcome: Outcome) -> bool:
    return any(result.outcome is outcome for result in results)
