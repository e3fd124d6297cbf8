"""Databases of one server, made for checks and dropped after them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Protocol

from queries.check.scripts import script
from queries.contract.engine import Engine
from queries.contract.outside import OutsideEngines
from queries.db.database import Database, execute
from queries.log import audit_log
from queries.workspace import Workspace

TIMEOUT_FACTOR = 20.0  # of the time limits of statements: a slow machine is no fault of an engine

_numbers = count(1)


class Server(Protocol):
    """A server that is used for checks only."""

    def dsn(self, database: str = "postgres", *, user: str | None = None, password: str | None = None) -> str:
        """Return a connection string. Default: the superuser's."""


class Lab:
    """Databases with one engine's tables and rows.

    ``schema`` and ``fixture`` are scripts that make them. ``template``: a database that has them already. ``folder`` is
    for local audit logs. ``overrides``: thresholds and options by engine.
    """

    def __init__(
        self,
        server: Server,
        folder: Path,
        schema: str,
        fixture: str,
        template: str = "",
        overrides: Mapping[str, Mapping[str, object]] | None = None,
    ) -> None:
        self.server = server
        self.folder = folder
        self.schema, self.fixture = schema, fixture
        self.overrides = overrides
        self._template = template
        self._made: list[str] = []

    def name(self, prefix: str) -> str:
        """Return a name that no other check uses."""
        return f"unstick_{prefix}_{os.getpid()}_{next(_numbers)}"

    async def empty(self) -> str:
        """Return the name of a new, empty database. Raises DatabaseError."""
        return await self._create("template0")

    async def filled(self) -> str:
        """Return the name of a new database with tables, rows and audit log.

        Raises DatabaseError.
        """
        if not self._template:
            self._template = await self.empty()
            await self.run(self._template, f"{self.schema}\n;{self.fixture}")
        if self._template not in self._made:
            copy = await self._create(self._template)
            await self.run(copy, f"{audit_log.ddl()}; ANALYZE")
            self._template = copy
        return await self._create(self._template)

    async def run(self, database: str, text: str, schema: str = "") -> None:
        """Run a script in a database as superuser. Raises DatabaseError.

        ``schema``: a schema for what it makes. If there is none of this name, it is created.
        """
        begin = script("in_schema", schema=schema) if schema else ""
        await execute(self.server.dsn(database), begin + text)

    async def create_index(self, database: str, schema: str, ddl: str) -> None:
        """Create an index on a table of a schema. Raises DatabaseError.

        CONCURRENTLY is not possible in a script.
        """
        await self.run(database, ddl.replace("CONCURRENTLY ", ""), schema)

    async def _create(self, template: str) -> str:
        name = self.name("check")
        await execute(self.server.dsn(), script("create_database", database=name, template=template))
        self._made.append(name)
        return name

    @contextlib.asynccontextmanager
    async def opened(
        self, database: str, engines: Sequence[Engine] = (), *, user: str | None = None, password: str | None = None
    ) -> AsyncIterator[Workspace]:
        """Open a workspace on a database, with these engines outside of the package.

        Raises DatabaseError.
        """
        workspace = await Workspace(
            Database(self.server.dsn(database, user=user, password=password), patience=TIMEOUT_FACTOR),
            self.overrides,
            file=self.folder / f"{database}.jsonl",
            outside=OutsideEngines(engines=tuple(engines)),
        ).open()
        try:
            yield workspace
        finally:
            await workspace.close()

    async def close(self) -> None:
        """Drop all databases. Raises DatabaseError."""
        for name in self._made:
            await execute(self.server.dsn(), script("drop_database", database=name))
        self._made.clear()
