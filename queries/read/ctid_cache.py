"""Where rows were in their tables when they were last read. No I/O.

A row of ``nodes.sql`` may have a ``place``, its ctid. The next time its node is read that is among the ``places``: the
row is had there without a walk down an index. Another may be there by then, or none, so the statement compares the
ids, and looks up by them what is left.
"""

from __future__ import annotations

from collections.abc import Iterable

MOST = 20_000  # as many as a screen holds, some 5 MB


class CtidCache:
    """The places of rows by the ids of their nodes; of ``MOST``, those read last."""

    def __init__(self) -> None:
        self._places: dict[str, str] = {}

    def note(self, id_: str, place: str | None) -> None:
        """Where this one is now, if that is told."""
        self._places.pop(id_, None)
        if place is not None:
            self._places[id_] = place
        if len(self._places) > MOST:
            del self._places[next(iter(self._places))]

    def of(self, ids: Iterable[str]) -> list[str]:
        """Those of them that are known."""
        return [self._places[id_] for id_ in ids if id_ in self._places]
