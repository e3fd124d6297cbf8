"""Audit log of a database without the table: JSON lines in a file of this user.

An entry is a line that is flushed to disk before COMMIT, with the mark of its transaction and the images of its rows;
another line after the answer has its outcome. The file belongs to the user, so nothing proves its lines to others.
"""

from __future__ import annotations

import base64
import contextlib
import os
import zlib
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import msgspec

from queries.contract.trust import Trust
from queries.db.errors import DatabaseError, UnknownIdError
from queries.db.transaction import Transaction
from queries.files import user_dirs
from queries.files.state_file import open_private, write_all
from queries.log.audit_log import (
    ALL,
    ENTRIES_AT_ONCE,
    NO_CURSOR,
    PARTS,
    Criteria,
    Extra,
    Subject,
    Table,
    parts_of,
    plain,
)
from queries.log.settle import TransactionMark
from queries.records import stored
from queries.records.action import Outcome, Result, titled
from queries.records.audit import OTHERS, AuditLogEntry, Origin
from queries.records.images import StoredImages

BLOCK_BYTES = 1 << 20  # bytes of the file that are read at a time
NO_OUTCOME = "no outcome was recorded: the console or its disk failed during COMMIT"


class Line(NamedTuple):
    """A line of the file.

    ``intended``: it was written before COMMIT, with the mark of its transaction. ``images``: of its rows, or the nodes
    of the run that it begins; compressed, or "".
    """

    entry: AuditLogEntry
    intended: bool
    mark: TransactionMark | None
    images: str

    @property
    def kept(self) -> bytes:
        """Return the images, or the nodes, as JSON; nothing if they cannot be read."""
        try:
            return zlib.decompress(base64.b64decode(self.images))
        except (ValueError, zlib.error):
            return b""


class LogFile:
    """Entries of this user, of all databases.

    The file is not used if another user can write it.
    """

    def __init__(self, path: Path | None, origin: Callable[[], Origin]) -> None:
        """``origin`` returns the open database.

        It is written to each entry, and only its entries are read.
        """
        self.path = path or user_dirs.audit_log()
        self.origin = origin

    @property
    def place(self) -> str:
        """Path of the file."""
        return str(self.path)

    def append(
        self, entry: AuditLogEntry, *, intended: bool, images: Extra = None, mark: TransactionMark | None = None
    ) -> None:
        """Append an entry, and flush it to disk.

        Raises DatabaseError if the file cannot be written; the caller must then change nothing.
        """
        fields = {**plain(entry), "origin": self.origin(), "intended": intended}
        if mark is not None:
            fields["mark"] = mark
        if images is not None:
            fields["images"] = zlib.compress(msgspec.json.encode(images))
        try:
            with os.fdopen(open_private(self.path, os.O_APPEND | os.O_CREAT | os.O_RDWR), "r+b", 0) as file:
                end = file.seek(0, os.SEEK_END)
                # A full disk or a crash leaves an incomplete line. A line appended to it would be unreadable.
                incomplete = end > 0 and os.pread(file.fileno(), 1, end - 1) != b"\n"
                write_all(file.fileno(), b"\n" * incomplete + msgspec.json.encode(fields) + b"\n")
                os.fsync(file.fileno())
        except OSError as error:
            raise DatabaseError(
                f"The audit log file {self.path} cannot be used: {error.strerror}.",
                "Run `unstick init` to create an audit log table in the database instead.",
            ) from error

    async def write(
        self,
        transaction: Transaction,
        entry: AuditLogEntry,
        trust: Trust,
        images: Extra = None,
        mark: TransactionMark | None = None,
    ) -> str:
        """Append an entry before COMMIT, and return its id. Raises DatabaseError."""
        self.append(entry, intended=True, images=images, mark=mark)
        return entry.id

    def settle(self, entry: AuditLogEntry, results: Iterable[Result] = ()) -> None:
        """Append the entry with its outcome, or with other ``results``.

        A disk error only costs that.
        """
        later = {result.id: result for result in titled(results, entry.titles)}
        outcome = msgspec.structs.replace(entry, results=tuple(later.get(r.id, r) for r in entry.results))
        with contextlib.suppress(DatabaseError):
            self.append(outcome, intended=False)

    async def trust(self, transaction: Transaction, *, images: bool = False) -> Trust:
        """Ask nothing: a line runs no code."""
        return Trust()

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
            raise UnknownIdError(NO_CURSOR.format(cursor=after))
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

    async def images(self, transaction: Transaction, entry: str) -> StoredImages | None:
        """Return the images of an entry, or None. Raises DatabaseError."""
        for line in self.lines(entry.encode()):
            if line.entry.id == entry and line.images:
                own = msgspec.structs.asdict(line.entry) | {"others": str(line.entry.arguments.get(OTHERS, ""))}
                return StoredImages.of(own, line.kept, intact=True)
        return None

    def changes(self, since: float) -> Iterator[tuple[AuditLogEntry, TransactionMark]]:
        """Yield this database's changes from ``since`` on, with their last outcomes.

        The newest is the first. Nodes of a change without an outcome are unknown. Raises DatabaseError.
        """
        here, outcomes = self.origin(), dict[str, AuditLogEntry]()
        for line in self.lines():
            entry = line.entry
            if entry.at < since:
                return
            if line.intended and line.mark and entry.origin is not None and entry.origin.same(here):
                outcome = outcomes.pop(entry.id, None) or _without_outcome(entry)
                yield outcome, line.mark
            elif not line.intended:
                outcomes.setdefault(entry.id, entry)

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
            raise DatabaseError(f"The audit log file {self.path} cannot be read: {error.strerror}.") from error

    def _open(self) -> BinaryIO:
        return open(self.path, "rb", opener=open_private)

    def _entries(self, node: Subject | None, conditions: Criteria) -> Iterator[AuditLogEntry]:
        """Yield entries, each with its last outcome.

        Entries without an origin are ignored.
        """
        here = self.origin()
        ids: set[str] = set()
        for line in self.lines():
            entry = line.entry
            if entry.id in ids or entry.origin is None or not entry.origin.same(here):
                continue
            ids.add(entry.id)
            if line.intended:
                entry = _without_outcome(entry)
            if node is not None:
                if entry.schema != node.schema or not any(r.id in node.ids for r in entry.results):
                    continue
                entry = node.named(entry)
            if conditions.matches(entry):
                yield entry if conditions.changes else msgspec.structs.replace(entry, changes=())


Log = Table | LogFile
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


def _without_outcome(entry: AuditLogEntry) -> AuditLogEntry:
    """Return an intended entry that has no outcome: its changes are unknown."""
    unknown = {"outcome": Outcome.UNKNOWN, "why": NO_OUTCOME}
    results = (msgspec.structs.replace(r, **unknown) if r.outcome is Outcome.CHANGED else r for r in entry.results)
    return msgspec.structs.replace(entry, results=tuple(results))


def _parsed(text: bytes) -> Line | None:
    """Return a line, or None if it is no entry."""
    try:
        fields = stored.read(text, dict[str, Any])
        parts, why = parts_of(fields, stored.record)
        entry = stored.record({k: v for k, v in fields.items() if k not in PARTS}, AuditLogEntry, strict=False)
        return Line(
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
