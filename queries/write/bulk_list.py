"""Frozen node list of a bulk action, to resume it after a crash.

One file per bulk in the state folder. The first line is the list: nodes, versions, action, arguments, reason, database.
Before each COMMIT a line with the transaction's id is appended, and afterwards a line with the outcomes. A resumed bulk
queries the status of chunks without outcomes by that id. If the server cannot report it, the nodes stay in the list,
and the version guard skips those that were changed. So a lost or incomplete line costs a query, never a second change.
Each line has a digest. A list with a line that was changed is not used.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
import secrets
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from queries.db.database import Server
from queries.db.errors import DatabaseError
from queries.files.state_file import open_private
from queries.records.action import DryRun, Outcome, Result
from queries.records.audit import AuditLogEntry
from queries.records.record import Record
from queries.write.transaction_mark import TransactionMark

SUFFIX = ".jsonl"
PREFIX = "b"  # of the id of a bulk, which is no id of an audit log entry
OWN_LOCKS = 15.0  # seconds; a transaction's time limit of 10, and time for the server to notice


class BulkHeader(Record):
    """The list before the first chunk.

    Results, row digests and versions are those of the dry run.
    """

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
    titles: dict[str, str] = {}


class StartedChunk(Record):
    """A chunk whose COMMIT is about to be sent. Its entry has no row copies."""

    mark: TransactionMark
    entry: AuditLogEntry

    @property
    def ids(self) -> tuple[str, ...]:
        """Nodes that the transaction changes."""
        return tuple(r.id for r in self.entry.results if r.outcome is Outcome.CHANGED)


class _Line(Record, omit_defaults=True):
    head: BulkHeader | None = None
    started: StartedChunk | None = None
    results: tuple[Result, ...] | None = None


class _Signed(Record):
    """A line of the file. ``digest``: of the bulk's id and the line's text."""

    line: msgspec.Raw
    digest: str


class BulkList:
    """An open list, locked against other processes.

    ``results`` by id; ``chunks`` in order of COMMIT.
    """

    def __init__(self, path: Path, file: int, head: BulkHeader) -> None:
        self.head = head
        self.chunks: list[StartedChunk] = []
        self.results: dict[str, Result] = {}
        self.irregular = False  # rows did not change as the action says
        self._own_locks = 0.0  # monotonic time until which a transaction that lost its console may hold locks
        self._path = path
        self._file: int | None = file

    @property
    def left(self) -> dict[str, str]:
        """Ids and versions of nodes without an outcome."""
        return {i: version for i, version in self.head.versions.items() if i not in self.results}

    def interrupted(self) -> None:
        """Record that a transaction of this bulk lost its client.

        The server aborts it only at its time limit.
        """
        self._own_locks = time.monotonic() + OWN_LOCKS

    @property
    def may_hold_locks(self) -> bool:
        """Return True while an interrupted transaction of this bulk may hold locks."""
        return time.monotonic() < self._own_locks

    @property
    def open(self) -> list[StartedChunk]:
        """Chunks without a known outcome."""
        return [chunk for chunk in self.chunks if not any(i in self.results for i in chunk.ids)]

    def add_chunk(self, mark: TransactionMark, entry: AuditLogEntry) -> None:
        """Record a transaction before its COMMIT.

        A disk error here only costs a query when the bulk is resumed.
        """
        chunk = StartedChunk(mark=mark, entry=msgspec.structs.replace(entry, changes=()))
        self.chunks.append(chunk)
        self._append(_Line(started=chunk))

    def add_results(self, results: Sequence[Result]) -> None:
        """Record results of a chunk."""
        self.results |= {r.id: r for r in results}
        self._append(_Line(results=tuple(results)))

    def close(self) -> None:
        """Unlock the list. Delete it if no node is left."""
        file, self._file = self._file, None
        if file is not None:
            if not self.left:
                self._path.unlink(missing_ok=True)
            os.close(file)

    def remove(self) -> None:
        """Delete the list."""
        self._path.unlink(missing_ok=True)
        self.close()

    def _append(self, line: _Line) -> None:
        if self._file is not None:
            with contextlib.suppress(OSError):
                os.write(self._file, b"\n" + _signed(self.head.id, line) + b"\n")


def create(folder: Path, server: Server, schema: str, dry_run: DryRun) -> BulkList:
    """Write the list of a dry run. Raises DatabaseError if the file cannot be written."""
    head = BulkHeader(
        id=f"{PREFIX}{secrets.token_hex(4)}",
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
        titles=dry_run.titles,
    )
    path = folder / f"{head.id}{SUFFIX}"
    new = path.with_suffix(f".{os.getpid()}")
    try:
        file = open_private(new, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_APPEND)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            _write(file, _signed(head.id, _Line(head=head)) + b"\n")
            os.fsync(file)
            new.replace(path)
        except BaseException:
            os.close(file)
            new.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise DatabaseError(
            f"The list of nodes cannot be written to {folder}: {error.strerror}.",
            "Without it the bulk could not be resumed. Nothing was changed.",
        ) from error
    return BulkList(path, file, head)


def is_id(text: str) -> bool:
    """Return True for the id of a bulk."""
    return re.fullmatch(PREFIX + "[0-9a-f]{8}", text) is not None


def load(folder: Path, name: str, server: Server) -> BulkList:
    """Open an unfinished list.

    Raises DatabaseError if it is missing, changed, in use, or of another database.
    """
    path = folder / f"{Path(name).name}{SUFFIX}"
    try:
        found = _opened(path)
    except BlockingIOError:
        raise DatabaseError(f"The bulk {name} is running in another console.") from None
    except PermissionError as error:
        raise DatabaseError(f"The list {path} is not used: {error.strerror}.", "Nothing was changed.") from None
    except (OSError, msgspec.MsgspecError):
        found = None
    if found is None:
        raise DatabaseError(f"There is no unfinished bulk {name} in {folder}.")
    if not _matches(found.head, server):
        found.close()
        raise DatabaseError(
            f"The bulk {name} belongs to the database {found.head.database} of another server.", "Nothing was changed."
        )
    found.interrupted()
    return found


def unfinished(folder: Path, server: Server) -> Iterator[BulkList]:
    """Yield this database's lists with nodes left that are not in use.

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
                if _matches(found.head, server) and found.left:
                    yield found
            finally:
                found.close()


def _matches(head: BulkHeader, server: Server) -> bool:
    return (head.system_identifier, head.database) == (server.system_identifier, server.database)


def _opened(path: Path) -> BulkList | None:
    """Read and lock a list; None if its first line is missing.

    Raises OSError, also if other users can write it, and DatabaseError if it was changed.
    """
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
            signed = msgspec.json.decode(text, type=_Signed)
        except msgspec.MsgspecError:
            if _is_whole(text):
                raise _changed(path) from None
            continue  # incomplete or blank
        if signed.digest != _digest(path.stem, bytes(signed.line)):
            raise _changed(path)
        line = msgspec.json.decode(signed.line, type=_Line)
        if line.head is not None and bulk_list is None:
            bulk_list = BulkList(path, file, line.head)
        elif bulk_list is not None and line.started is not None:
            bulk_list.chunks.append(line.started)
        elif bulk_list is not None and line.results is not None:
            bulk_list.results |= {r.id: r for r in line.results}
    return bulk_list


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
        f"The list {path} was changed, or an earlier version wrote it, so it is not used.", "Nothing was changed."
    )


def _digest(bulk: str, line: bytes) -> str:
    return hashlib.sha256(bulk.encode() + b"\n" + line).hexdigest()


def _signed(bulk: str, line: _Line) -> bytes:
    text = msgspec.json.encode(line)
    return msgspec.json.encode(_Signed(line=msgspec.Raw(text), digest=_digest(bulk, text)))


def _write(file: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]


def remaining(head: BulkHeader, again: DryRun, left: Mapping[str, str]) -> DryRun:
    """Return the dry run of the rest of a bulk.

    Nodes beyond the first 500 have row digests of the original dry run.
    """
    return msgspec.structs.replace(again, versions=dict(left), row_digests={**head.row_digests, **again.row_digests})
