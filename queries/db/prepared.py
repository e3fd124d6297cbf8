"""Statements that are prepared once for a connection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncpg
    from asyncpg.prepared_stmt import PreparedStatement


class Prepared:
    """Statements of a connection, by the command that begins their transaction.

    On a ``direct`` connection each has a name, so the server parses it once. Behind a pooler the next transaction may
    have another backend, which does not know the name, so there the server parses it at each run.
    """

    def __init__(self, connection: asyncpg.Connection[Any], *, direct: bool) -> None:
        self._connection, self._direct = connection, direct
        self._known: dict[tuple[str, str], PreparedStatement[Any]] = {}
        self._made = 0  # names are used once

    async def get(self, begin: str, text: str) -> PreparedStatement[Any]:
        """Return the statement; prepare it if it is new. Raises errors of the driver."""
        if (begin, text) not in self._known:
            self._made += 1
            name = f"unstick_{self._made}" if self._direct else ""
            self._known[begin, text] = await self._connection.prepare(text, name=name)
        return self._known[begin, text]

    def forget(self) -> None:
        """Prepare all statements again, because a table has changed."""
        self._known.clear()
