"""Private files of JSON lines, to which several processes append."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Hashable
from pathlib import Path
from typing import Generic, Protocol, TypeVar

import msgspec

from queries.files.state_file import open_private, write_all
from queries.records import stored


class _Keyed(Protocol):
    @property
    def key(self) -> Hashable: ...


T = TypeVar("T", bound=_Keyed)
LINE_BYTES = 1 << 20  # a longer record is not kept


class JsonLines(Generic[T]):
    """A file of records. A later record replaces an earlier one with the same ``key``.

    ``most``: size of the file from which it is written again with the newer half of its records. A disk error
    costs only the record.
    """

    def __init__(self, path: Path, kind: type[T], most: int) -> None:
        self._path, self._kind, self._most = path, kind, most

    def read(self) -> list[T]:
        """Return the records, oldest first. Lines that cannot be read are skipped."""
        records: dict[Hashable, T] = {}
        with contextlib.suppress(OSError), open(self._path, "rb", opener=open_private) as file:
            while line := file.readline(LINE_BYTES):
                with contextlib.suppress(stored.UnreadableError):
                    record = stored.read(line, self._kind)
                    records.pop(record.key, None)
                    records[record.key] = record
        return [*records.values()]

    def append(self, record: T) -> None:
        """Append a record."""
        line = b"\n" + msgspec.json.encode(record) + b"\n"  # the line before may be incomplete
        if len(line) > LINE_BYTES:
            return
        with contextlib.suppress(OSError):
            file = open_private(self._path, os.O_CREAT | os.O_APPEND | os.O_RDWR)
            try:
                fcntl.flock(file, fcntl.LOCK_EX)
                if os.fstat(file).st_size > self._most:
                    records = self.read()
                    os.ftruncate(file, 0)
                    for each in records[len(records) // 2 :]:
                        write_all(file, msgspec.json.encode(each) + b"\n")
                write_all(file, line)
            finally:
                os.close(file)
