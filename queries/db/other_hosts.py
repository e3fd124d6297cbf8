"""The other hosts of a connection string: if one is a primary of the same data too, the cluster is split."""

from __future__ import annotations

import asyncio
import math
from time import monotonic

from queries.db import dsn
from queries.db.database import Database, Server
from queries.db.errors import DatabaseError

ANSWER_SECONDS = 1.0  # for all hosts, which are asked at the same time
ASKED_SECONDS = 10.0  # between two questions


class OtherHosts:
    """The hosts of a database's connection string. ``warning``: that two are primaries, or ""."""

    def __init__(self, database: Database) -> None:
        self.warning = ""
        self._database = database
        self._hosts: tuple[dsn.Host, ...] | None = None
        self._lost = False  # what this server commits
        self._asked = -math.inf

    async def check(self) -> None:
        """Ask the other hosts, unless that was done lately.

        Raises DatabaseError if the cluster is split and this server may be the one that will be given up.
        """
        if self._hosts is None:
            self._hosts = dsn.parse(self._database.text).hosts
        if len(self._hosts) > 1 and monotonic() - self._asked > ASKED_SECONDS:
            servers = await asyncio.gather(*map(self._server, range(len(self._hosts))))
            self._compare(
                {f"{h.name or h.address}:{h.port}": s for h, s in zip(self._hosts, servers, strict=True) if s}
            )
            self._asked = monotonic()
        if self._lost:
            raise DatabaseError(self.warning, "Nothing was changed.")

    async def _server(self, host: int) -> Server | None:
        """Return the facts of a host; None without an answer in time."""
        database = Database(self._database.text, host=host)
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                await database.renew()
        except (DatabaseError, TimeoutError):
            return None
        finally:
            await database.close()
        return database.server

    def _compare(self, servers: dict[str, Server]) -> None:
        here = self._database.server
        self.warning, self._lost = "", False
        if here is None:
            return
        for place, other in servers.items():
            same = other.system_identifier == here.system_identifier
            if other.standby or here.standby or not same or other.life == here.life:
                continue
            self._lost |= (other.timeline or 0) >= (here.timeline or 0)
            loses = "this server" if self._lost else place
            self.warning = (
                f"Two primaries of the same data: {place} (timeline {other.timeline}), and this server,"
                f" {here.host}:{here.port} (timeline {here.timeline}). The changes of {loses} will be lost."
            )
