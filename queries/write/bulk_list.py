"""Frozen list of a bulk action: what is left of it can be continued, also after the console was killed.

One file per bulk in the state folder. Its first line is the list: nodes, versions, action, arguments, reason, database.
A line follows before each COMMIT, with the transaction's id, and one with the outcomes. A chunk without outcomes is
asked for by that id; where the server cannot tell, the nodes are left, and the guard by version reports those that were
changed. So a line that is lost, or torn at the end, costs a question and never a second change.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from queries.db.database import Server
from queries.errors import DatabaseError
from queries.model import AuditLogEntry, DryRun, Outcome, Record, Result
from queries.state_file import open_private
from queries.write.transaction_mark import TransactionMark

SUFFIX = ".jsonl"
OWN_LOCKS = 15.0  # seconds; a transaction's time limit is 10, and the server has to notice


class BulkHeader(Record):
    """The list as it was before the first chunk. Results, witness and versions are those of the dry run."""

    id: str
    database: str
    system_identifier: str
    label: str
    schema: str
    action: str
    reason: str
    arguments: dict[str, Any]
    results: tuple[Result, ...]  # of nodes that were skipped in the dry run
    versions: dict[str, str]
    row_digests: dict[str, str]
    at: float


class StartedChunk(Record):
    """A chunk whose COMMIT is about to be sent. Its entry has no copies of rows."""

    mark: TransactionMark
    entry: AuditLogEntry

    @property
    def ids(self) -> tuple[str, ...]:
        """Nodes that the transaction changes."""
        return tuple(r.id for r in self.entry.results if r.outcome is Outcome.CHANGED)


class _Line(Record, omit_defaults=True):
    head: BulkHeader | None = None
    begun: StartedChunk | None = None
    told: tuple[Result, ...] | None = None


class BulkList:
    """An open list, locked against other processes. ``told`` are outcomes by id, ``chunks`` in the order of COMMIT."""

    def __init__(self, path: Path, file: int, head: BulkHeader) -> None:
        self.head = head
        self.chunks: list[StartedChunk] = []
        self.told: dict[str, Result] = {}
        self._own_locks = 0.0  # monotonic time until which a transaction that lost its console may hold locks
        self._path = path
        self._file: int | None = file

    @property
    def left(self) -> dict[str, str]:
        """Ids and versions of the nodes that have no outcome."""
        return {i: version for i, version in self.head.versions.items() if i not in self.told}

    def interrupted(self) -> None:
        """Note that a transaction of this bulk lost its console: the server ends it only at its time limit."""
        self._own_locks = time.monotonic() + OWN_LOCKS

    @property
    def may_hold_locks(self) -> bool:
        """Return True while a transaction of this bulk may be what holds a locked node."""
        return time.monotonic() < self._own_locks

    @property
    def open(self) -> list[StartedChunk]:
        """Chunks whose outcome is not known."""
        return [chunk for chunk in self.chunks if not any(i in self.told for i in chunk.ids)]

    def begun(self, mark: TransactionMark, entry: AuditLogEntry) -> None:
        """Note a transaction before its COMMIT. A disk that fails here only costs the question by its id."""
        begun = StartedChunk(mark=mark, entry=msgspec.structs.replace(entry, changes=()))
        self.chunks.append(begun)
        self._append(_Line(begun=begun))

    def outcomes(self, results: Sequence[Result]) -> None:
        """Note outcomes of a chunk."""
        self.told |= {r.id: r for r in results}
        self._append(_Line(told=tuple(results)))

    def close(self) -> None:
        """Let others have the list; one with no node left is removed."""
        file, self._file = self._file, None
        if file is not None:
            if not self.left:
                self._path.unlink(missing_ok=True)
            os.close(file)

    def remove(self) -> None:
        """Forget what is left."""
        self._path.unlink(missing_ok=True)
        self.close()

    def _append(self, line: _Line) -> None:
        if self._file is not None:
            with contextlib.suppress(OSError):
                os.write(self._file, b"\n" + msgspec.json.encode(line) + b"\n")


def create(folder: Path, server: Server, schema: str, dry_run: DryRun) -> BulkList:
    """Write the list of what was dry-run. Raises DatabaseError where that is not possible."""
    head = BulkHeader(
        id=secrets.token_hex(3),
        database=server.database,
        system_identifier=server.system_identifier,
        label=dry_run.engine,
        schema=schema,
        action=dry_run.action,
        reason=dry_run.reason,
        arguments=dry_run.arguments,
        results=tuple(r for r in dry_run.results if r.outcome is not Outcome.CHANGED),
        versions=dry_run.versions,
        row_digests=dry_run.row_digests,
        at=dry_run.at,
    )
    path = folder / f"{head.id}{SUFFIX}"
    new = path.with_suffix(f".{os.getpid()}")
    try:
        file = open_private(new, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_APPEND)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            _write(file, msgspec.json.encode(_Line(head=head)) + b"\n")
            os.fsync(file)
            new.replace(path)
        except BaseException:
            os.close(file)
            new.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise DatabaseError(
            f"The list of the nodes cannot be written to {folder}: {error.strerror}.",
            "Without it a bulk could not be continued. Nothing was changed.",
        ) from error
    return BulkList(path, file, head)


def load(folder: Path, name: str, server: Server) -> BulkList:
    """Open an unfinished list. Raises DatabaseError: none of that name, of another database, or in use."""
    path = folder / f"{Path(name).name}{SUFFIX}"
    try:
        found = _opened(path)
    except BlockingIOError:
        raise DatabaseError(f"The bulk {name} is running in another console.") from None
    except (OSError, msgspec.MsgspecError):
        found = None
    if found is None:
        raise DatabaseError(f"There is no unfinished bulk {name} in {folder}.")
    if not _about(found.head, server):
        found.close()
        raise DatabaseError(
            f"The bulk {name} belongs to the database {found.head.database} of another server.", "Nothing was changed."
        )
    found.interrupted()
    return found


def unfinished(folder: Path, server: Server) -> Iterator[BulkList]:
    """Lists of this database with nodes left, that no running console has. Each is closed before the next is read."""
    try:
        paths = sorted(folder.glob(f"*{SUFFIX}"))
    except OSError:
        return
    for path in paths:
        with contextlib.suppress(OSError, msgspec.MsgspecError):
            found = _opened(path)
            if found is None:
                continue
            try:
                if _about(found.head, server) and found.left:
                    yield found
            finally:
                found.close()


def _about(head: BulkHeader, server: Server) -> bool:
    return (head.system_identifier, head.database) == (server.system_identifier, server.database)


def _opened(path: Path) -> BulkList | None:
    """Read a list and lock it. None where it was never begun. Raises OSError, also where others could write it."""
    file = open_private(path, os.O_RDWR | os.O_APPEND)
    bulk_list = None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with os.fdopen(os.dup(file), "rb") as stream:
            bulk_list = _parsed(path, file, stream)
        return bulk_list
    finally:
        if bulk_list is None:
            os.close(file)


def _parsed(path: Path, file: int, lines: Iterable[bytes]) -> BulkList | None:
    bulk_list: BulkList | None = None
    for text in lines:
        try:
            line = msgspec.json.decode(text, type=_Line)
        except msgspec.MsgspecError:
            continue  # torn, or blank
        if line.head is not None and bulk_list is None:
            bulk_list = BulkList(path, file, line.head)
        elif bulk_list is not None and line.begun is not None:
            bulk_list.chunks.append(line.begun)
        elif bulk_list is not None and line.told is not None:
            bulk_list.told |= {r.id: r for r in line.told}
    return bulk_list


def _write(file: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]


def remaining(head: BulkHeader, again: DryRun, left: Mapping[str, str]) -> DryRun:
    """The dry run of what is left, with the first dry run's witness for the nodes that were not looked at again."""
    return msgspec.structs.replace(again, versions=dict(left), row_digests={**head.row_digests, **again.row_digests})
