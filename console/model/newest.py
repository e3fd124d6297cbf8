"""Newest records of a log, and older ones as far as they were read. UI-free."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import inf
from typing import Generic, Protocol, TypeVar


class Logged(Protocol):
    """A record of what happened at a time."""

    @property
    def at(self) -> float: ...


T = TypeVar("T", bound=Logged)


class Newest(Generic[T]):
    """Records of a log, newest first. ``key`` returns the id of a record."""

    def __init__(self, key: Callable[[T], str]) -> None:
        self.records: Sequence[T] = ()
        self.read = False  # whether a page was read
        self.after: str | None = None  # key of the page with older ones
        self._key = key

    def refresh(self, page: Iterable[T], cursor: str | None, since: float = -inf) -> None:
        """Take the newest page. Dismiss what happened before ``since``.

        If records between it and the earlier ones were not read, the earlier ones are dismissed, so that the list has
        no gap.
        """
        newest = {self._key(record): record for record in page}
        kept = {self._key(record): record for record in self.records if record.at >= since}
        if not self.read or (cursor is not None and not newest.keys() & kept.keys()):
            kept, self.read, self.after = {}, True, cursor
        self._keep(kept | newest)

    def add(self, page: Iterable[T], cursor: str | None) -> None:
        """Take the page after the last one."""
        older = {self._key(record): record for record in page}
        self.after = cursor
        self._keep({self._key(record): record for record in self.records} | older)

    def _keep(self, records: dict[str, T]) -> None:
        self.records = sorted(records.values(), key=lambda record: -record.at)
