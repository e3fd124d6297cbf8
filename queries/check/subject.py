"""An engine that is checked, and the server on which it is."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Sequence

from queries.check.actions import Tried
from queries.check.lab import Lab
from queries.contract.engine import Engine
from queries.read.reader import Reader
from queries.records.record import Record
from queries.workspace import Workspace


class Subject(Record):
    """An engine on the server of a lab.

    ``tried``: its actions, each with the nodes of the fixture that it changes.
    ``outside``: the engine itself, unless it is one of the package. ``rows``: of each of the large tables.
    """

    engine: Engine
    outside: tuple[Engine, ...]
    lab: Lab
    rows: int
    tried: Sequence[Tried] = ()

    @contextlib.asynccontextmanager
    async def opened(
        self, database: str, *, user: str | None = None, password: str | None = None
    ) -> AsyncIterator[tuple[Workspace, Reader]]:
        """Open a workspace on a database that has the engine. Raises DatabaseError."""
        async with self.lab.opened(database, self.outside, user=user, password=password) as workspace:
            yield workspace, workspace.engines[self.engine.name]
