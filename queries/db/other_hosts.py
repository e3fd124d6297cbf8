"""Hosts of one connection string that are two primaries of the same data."""

from __future__ import annotations

import asyncio
import contextlib
import math
from time import monotonic

from queries.db import dsn
from queries.db.database import Database, Server
from queries.db.errors import DatabaseError

ANSWER_SECONDS = 1.0  # for all hosts, which are asked at the same time
ASKED_SECONDS = 10.0  # between two questions


class OtherHosts:
    """Hosts of a connection string.

    ``several``: there is more than one. ``warning``: that two of them are primaries of the same data, or "".
    """

    def __init__(self, database: Database) -> None:
        self.several, self.warning = False, ""
        self._database = database
        self._lost = False  # what this server commits
        self._asked = -math.inf

    async def check(self) -> None:
        """Ask the other hosts, unless that was done lately.

        Raises DatabaseError if the cluster is split and this server may be the one that will be given up.
        """
        if monotonic() - self._asked > ASKED_SECONDS:
            hosts: tuple[dsn.Host, ...] = ()
            with contextlib.suppress(ValueError):  # the file of its service has changed
                hosts = dsn.parse(self._database.text).hosts
            self.several = len(hosts) > 1
            servers = await asyncio.gather(*map(self._server, range(len(hosts)))) if self.several else ()
            self.warning, self._lost, self._asked = "", False, monotonic()
            for host, other in zip(hosts, servers, strict=False):
                if other is not None and (here := self._database.server) is not None:
                    self._compare(here, other, f"{host.name or host.address}:{host.port}")
        if self._lost:
            raise DatabaseError(self.warning, "Nothing was changed.")

    async def _server(self, host: int) -> Server | None:
        """Return the facts of a host; None without an answer in time."""
        database = Database(self._database.text)
        database.only_host = host
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                await database.renew()
        except (DatabaseError, TimeoutError):
            return None
        finally:
            await database.close()
        return database.server

    def _compare(self, here: Server, other: Server, place: str) -> None:
        if here.standby or other.standby or other.life == here.life:
            return
        if other.system_identifier == here.system_identifier:
            self._lost |= (other.timeline or 0) >= (here.timeline or 0)
            self.warning = (
                f"Two primaries of the same data: {place} (timeline {other.timeline}), and this server,"
                f" {here.host}:{here.port} (timeline {here.timeline}). The changes of"
                f" {'this server' if self._lost else place} will be lost."
            )
