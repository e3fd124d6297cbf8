"""Cache of ctids, so that a refresh can fetch rows by TID instead of by index.

A row of ``nodes.sql`` may have a ``place``, its ctid. The next statement about its node has it in ``places``. Another
row or none may be at that place by then, so the statement compares ids and finds the remaining rows by index.
"""

from __future__ import annotations

from collections.abc import Iterable

CACHED_ROWS = 20_000  # rows of the largest tree on screen; about 5 MB


class CtidCache:
    """ctids by node id, at most ``CACHED_ROWS``; the least recently read are dropped."""

    def __init__(self) -> None:
        self._places: dict[str, str] = {}

    def note(self, id_: str, place: str | None) -> None:
        """Store the ctid of a node; None removes it."""
        self._places.pop(id_, None)
        if place is not None:
            self._places[id_] = place
        if len(self._places) > CACHED_ROWS:
            del self._places[next(iter(self._places))]

    def of(self, ids: Iterable[str]) -> list[str]:
        """Return the known ctids of these nodes."""
        return [self._places[id_] for id_ in ids if id_ in self._places]
