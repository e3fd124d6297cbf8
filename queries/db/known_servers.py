"""Servers that this user has opened: where, under the name of which context, and whether they had standbys."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec

from queries.db.database import Server
from queries.files.json_lines import JsonLines
from queries.records.record import Record

SERVERS = "servers.jsonl"
SERVERS_BYTES = 64 << 10  # size of the file from which it is written again
NOTED_SECONDS = 3600.0  # after which a server that has not changed is noted again
STANDBY_SECONDS = 86400.0  # for which it is remembered that a server had a standby


class KnownServer(Record):
    """A server as it was opened.

    ``context``: the name of the context, or "". ``started`` and ``at`` are by the server's clock, ``standby_at`` is by
    that of this machine: when it was last seen with a standby, or 0.
    """

    context: str
    system_identifier: str
    database: str
    host: str
    port: int | None
    started: float
    at: float
    standby_at: float = 0.0

    @property
    def key(self) -> tuple[str, str, str, str, int | None]:
        """Identity of the server, as it was opened."""
        return self.context, self.system_identifier, self.database, self.host, self.port


class KnownServers:
    """The servers, in a file of ``folder``."""

    def __init__(self, folder: Path) -> None:
        self._file = JsonLines(folder / SERVERS, KnownServer, SERVERS_BYTES)

    def all(self) -> list[KnownServer]:
        """Return the servers, the last one that was opened at the end."""
        return self._file.read()

    def note(self, server: Server, context: str) -> None:
        """Note that a server was opened."""
        facts = {name: getattr(server, name) for name in ("system_identifier", "database", "host", "port", "started")}
        known = KnownServer(context=context, at=server.now, **facts)
        before = next((each for each in self.all() if each.key == known.key), msgspec.structs.replace(known, at=0.0))
        seen = time.time() if server.standbys else before.standby_at
        is_old = known.at - before.at > NOTED_SECONDS or seen - before.standby_at > NOTED_SECONDS
        if is_old or known.started != before.started:
            self._file.append(msgspec.structs.replace(known, standby_at=seen))

    def had_standby(self, system_identifier: str) -> bool:
        """Return True if the server lately had a standby."""
        since = time.time() - STANDBY_SECONDS
        return any(each.standby_at > since for each in self.all() if each.system_identifier == system_identifier)
