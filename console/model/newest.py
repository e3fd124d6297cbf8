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
        self._after: list[str | None] = []  # keys of the pages after the last record, and before it those after gaps
        self._key = key

    @property
    def after(self) -> str | None:
        """Key of the page to read next: in the newest gap, else with older records."""
        return self._after[-1] if self._after else None

    @property
    def gap(self) -> bool:
        """True if records between loaded ones were not read."""
        return len(self._after) > 1

    def refresh(self, page: Iterable[T], cursor: str | None, since: float = -inf) -> None:
        """Take the newest page. Dismiss what happened before ``since``, and nothing else."""
        newest = self._by_key(page)
        kept = self._by_key(record for record in self.records if record.at >= since)
        if not self.read or (cursor is not None and not newest.keys() & kept.keys()):
            self._after = [*(self._after if kept else ()), cursor]
        self.read = True
        self._keep(kept | newest)

    def add(self, page: Iterable[T], cursor: str | None) -> None:
        """Take the page of the key ``after``."""
        older, known = self._by_key(page), self._by_key(self.records)
        closed = self.gap and older.keys() & known.keys()
        self._after = [None] if cursor is None else self._after[:-1] + [cursor] * (not closed)
        self._keep(known | older)

    def _by_key(self, records: Iterable[T]) -> dict[str, T]:
        return {self._key(record): record for record in records}

    def _keep(self, records: dict[str, T]) -> None:
        self.records = sorted(records.values(), key=lambda record: -record.at)
