"""A database to connect to, merged with the settings that apply to it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from console.config import UNNAMED, Config, Context, outside
from queries.contract.builtin import builtin
from queries.contract.engine import Engine
from queries.contract.outside import NONE, OutsideEngines
from queries.db import dsn
from queries.db.database import Database, Server
from queries.db.dsn import ConnectionTarget
from queries.db.redaction import redact
from queries.db.servers import KnownServer, Rules
from queries.records.record import Record
from queries.records.where import Where
from queries.text import shell
from queries.workspace import Workspace


class Target(Record):
    """A database and how to use it.

    The command line builds one; everything else takes it whole.
    """

    config: Config
    context: Context = UNNAMED  # the database, with what the options say of it
    ascii: bool = False
    json: bool = False
    interval: float = 2.0  # seconds between two refreshes
    engine_folders: tuple[Path, ...] = ()  # folders with engines, in addition to those of the settings
    outside: OutsideEngines = NONE  # engines outside of the package
    words: tuple[str, ...] = ()  # of the command line, which select this database, without passwords

    def __repr__(self) -> str:
        return f"Target(dsn={redact(self.context.dsn)!r}, context={self.name!r})"

    @property
    def name(self) -> str:
        """Name of the context, "" for a connection string."""
        return self.context.name

    def where(self, server: Server | None) -> Where:
        """Return the database as it was typed, and what its server says.

        Without passwords.
        """
        database, role = (server.database, server.role) if server else ("", "")
        try:
            typed = dsn.parse(self.context.dsn)
        except ValueError:  # a file of libpq has changed since the database was opened
            words = f"@{self.name}" if self.name else redact(self.context.dsn)
        else:
            hosts = (f"{host.name}{f':{host.port}' * (host.port != dsn.DEFAULT_PORT)}" for host in typed.hosts)
            names = [f"@{self.name}"] * bool(self.name) + [f"service {typed.service}"] * bool(typed.service)
            words = "  ".join([*names, ", ".join(hosts)])
            database, role = database or typed.database, role or typed.user
        return Where(typed=words, cluster_name=server.cluster_name if server else "", database=database, role=role)

    @property
    def engines(self) -> tuple[Engine, ...]:
        """All engines that are looked for."""
        return (*builtin(), *self.outside.engines)

    def command(self, *words: str) -> str:
        """Return the shell command of unstick with these words, for this database."""
        return shell.unstick(words, self.words)

    def switched(self, name: str) -> Target:
        """Return the database of another context of the same settings. Raises ConfigError.

        A console that was started with ``--read-only`` stays so. Other options of the start do not apply.
        """
        context = self.config.context(name)
        read_only = self.context.read_only and not self.config.contexts.get(self.name, UNNAMED).read_only
        at = self.words.index("--config") if "--config" in self.words else len(self.words)
        return msgspec.structs.replace(
            self,
            context=msgspec.structs.replace(context, read_only=context.read_only or read_only),
            outside=outside(self.config, context, self.engine_folders),
            words=(f"@{name}", *self.words[at : at + 2], *engine_words(self.engine_folders)),
        )

    async def open(self, *, later: bool = False) -> Workspace:
        """Connect to the database.

        ``later`` determines engine variants at their first read. Raises DatabaseError.
        """
        context = self.context
        return await Workspace(
            Database(context.dsn, override_read_only=context.override_read_only, words=self.words),
            self.config.overrides(),
            schema=context.schema,
            trusted=context.trusted_owners,
            context=context.name,
            read_only=context.read_only,
            local_log=context.local_log,
            images=context.images,
            outside=self.outside,
            guess=context.guess,
            not_work=context.not_work,
            rules=self.rules,
        ).open(later=later)

    def production(self, workspace: Workspace | None) -> str:
        """Return the context that makes the server a production server, or ""."""
        if self.context.production:
            return self.name
        return workspace.rules.production if workspace is not None else ""

    def rules(self, server: Server, known: Sequence[KnownServer]) -> Rules:
        """Return the rules of the other contexts that name the opened server.

        A production context may change what another one only reads.
        """
        ruled = (each for each in self.config.contexts.values() if each.production or each.read_only)
        others = [each for each in ruled if self._names(each, server, known)]
        return Rules(
            production=next((each.name for each in others if each.production), ""),
            read_only=next((each.name for each in others if each.read_only and not self.context.production), ""),
        )

    def _names(self, context: Context, server: Server, known: Sequence[KnownServer]) -> bool:
        """Return True if the settings or the last use of another context name the server."""
        if context.name == self.name:
            return False
        if any(each.context == context.name and each.is_of(server, exactly=bool(self.name)) for each in known):
            return True
        try:
            typed, other = dsn.parse(self.context.dsn), dsn.parse(context.dsn)
        except ValueError:  # of the other one: this one was opened
            return False
        places = {*_places(typed), (_place(server.host), server.port or 0)}
        return other.database in (typed.database, server.database) and not places.isdisjoint(_places(other))


def _places(target: ConnectionTarget) -> Iterator[tuple[str, int]]:
    yield from ((_place(host.name), host.port) for host in target.hosts)


def _place(host: str) -> str:
    """Return one name of a host that has several."""
    name = host.lower().removesuffix(".")
    return "localhost" if name in ("127.0.0.1", "::1") else name


def engine_words(places: Iterable[Path]) -> Iterator[str]:
    """Yield the words of a command that name the same folders."""
    for folder in places:
        yield from ("--engines", str(folder))
