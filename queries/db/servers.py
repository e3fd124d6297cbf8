"""Servers that this user has opened, and two primaries of the same data."""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from pathlib import Path
from typing import NamedTuple

import msgspec

from queries.db import dsn
from queries.db.database import Database, Server
from queries.db.errors import DatabaseError
from queries.files.json_lines import JsonLines
from queries.records.record import Record

SERVERS_BYTES = 64 << 10  # size of the file from which it is written again
NOTED_SECONDS = 3600.0  # after which a server that has not changed is noted again
STANDBY_SECONDS = 86400.0  # for which it is remembered that a server had a standby
ANSWER_SECONDS = 1.0  # for all hosts, which are asked at the same time
ASKED_SECONDS = 10.0  # between two questions


class Rules(NamedTuple):
    """Names of other contexts with a rule for the opened server; "" if none has it."""

    production: str = ""
    read_only: str = ""


class KnownServer(Record):
    """A server as it was opened.

    ``started`` and ``at`` are by the server's clock. ``standby_at`` is by that of this machine, when the server was
    last seen with a standby, or 0.
    """

    context: str
    system_identifier: str
    database: str
    started: float
    at: float
    standby_at: float = 0.0

    @property
    def key(self) -> str:
        """A context has one server, the last that it was opened on."""
        return self.context or f"@{self.system_identifier}"

    def is_of(self, server: Server, *, exactly: bool) -> bool:
        """Return True if it is this server, or another one of its cluster.

        ``exactly``: not a copy of its files, which has the same identifier. A copy had another start while this one
        ran.
        """
        same = (self.system_identifier, self.database) == (server.system_identifier, server.database)
        return same and (not exactly or self.started == server.started or server.started > self.at)


class KnownServers:
    """The servers, in a file of ``folder``."""

    def __init__(self, folder: Path) -> None:
        self._file = JsonLines(folder / "servers.jsonl", KnownServer, SERVERS_BYTES)
        self.all = self._file.read

    def note(self, server: Server, context: str) -> None:
        """Note that a server was opened."""
        facts = {name: getattr(server, name) for name in ("system_identifier", "database", "started")}
        now = KnownServer(context=context, at=server.now, **facts)
        before = next((each for each in self.all() if each.key == now.key), None)
        if server.standbys:
            now = msgspec.structs.replace(now, standby_at=time.time() // NOTED_SECONDS * NOTED_SECONDS)
        elif before is not None and before.system_identifier == now.system_identifier:
            now = msgspec.structs.replace(now, standby_at=before.standby_at)
        if before is None or now.at - before.at > NOTED_SECONDS or now != msgspec.structs.replace(before, at=now.at):
            self._file.append(now)

    def had_standby(self, system_identifier: str) -> bool:
        """Return True if the server lately had a standby."""
        since = time.time() - STANDBY_SECONDS
        return any(each.standby_at > since for each in self.all() if each.system_identifier == system_identifier)


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
        if time.monotonic() - self._asked > ASKED_SECONDS:
            hosts: tuple[dsn.Host, ...] = ()
            with contextlib.suppress(ValueError):  # the file of its service has changed
                hosts = dsn.parse(self._database.text).hosts
            self.several = len(hosts) > 1
            servers = await asyncio.gather(*map(self._server, range(len(hosts)))) if self.several else ()
            self.warning, self._lost, self._asked = "", False, time.monotonic()
            for host, other in zip(hosts, servers, strict=False):
                if other is not None and (here := self._database.server) is not None:
                    self._compare(here, other, f"{host.name}:{host.port}")
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
