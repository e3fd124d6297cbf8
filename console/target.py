"""A database to connect to, merged with the settings that apply to it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from console.config import Config, Context
from queries.contract.builtin import builtin
from queries.contract.engine import Engine
from queries.contract.outside import NONE, OutsideEngines, outside_engines
from queries.db.redaction import redact
from queries.records.record import Record
from queries.text import shell
from queries.workspace import Workspace


class Target(Record):
    """A database and how to use it.

    The command line builds one; everything else takes it whole.
    """

    config: Config
    dsn: str = ""  # in any form that psql accepts; "" for the libpq environment
    context: Context | None = None  # the context that names the database, None for a connection string
    schema: str = ""  # the one to use if several schemas hold the same engine, "" for all
    trusted: tuple[str, ...] = ()  # roles whose objects may run code
    read_only: bool = False
    override_read_only: bool = False
    local_log: bool = False  # change rows although the role may not write the audit log table
    ascii: bool = False
    json: bool = False
    interval: float = 2.0  # seconds between two refreshes
    engine_folders: tuple[Path, ...] = ()  # folders with engines, in addition to those of the settings
    outside: OutsideEngines = NONE  # engines outside of the package
    words: tuple[str, ...] = ()  # of the command line, which select this database, without passwords

    def __repr__(self) -> str:
        return f"Target(dsn={redact(self.dsn)!r}, context={self.name!r})"

    @property
    def name(self) -> str:
        """Name of the context, "" for a connection string."""
        return self.context.name if self.context else ""

    @property
    def production(self) -> bool:
        """True if the context is a production database."""
        return bool(self.context and self.context.production)

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
        read_only = self.read_only and not (self.context and self.context.read_only)
        at = self.words.index("--config") if "--config" in self.words else len(self.words)
        return msgspec.structs.replace(
            self,
            dsn=context.dsn,
            context=context,
            schema=context.schema,
            trusted=context.trusted_owners,
            read_only=context.read_only or read_only,
            override_read_only=context.override_read_only,
            local_log=context.local_log,
            outside=outside(self.config, context, self.engine_folders),
            words=(f"@{name}", *self.words[at : at + 2], *engine_words(self.engine_folders)),
        )

    async def open(self, *, later: bool = False) -> Workspace:
        """Connect to the database.

        ``later`` determines engine variants at their first read. Raises DatabaseError.
        """
        return await Workspace(
            self.dsn,
            self.config.overrides(),
            schema=self.schema,
            trusted=self.trusted,
            context=self.name,
            read_only=self.read_only,
            override_read_only=self.override_read_only,
            local_log=self.local_log,
            images=self.context is None or self.context.images,
            outside=self.outside,
            words=self.words,
        ).open(later=later)


def outside(config: Config, context: Context | None, given: Iterable[Path]) -> OutsideEngines:
    """Load the engines outside of the package.

    They are those of the settings, of the context, and of the ``given`` folders.
    """
    trusted = {name for name, settings in config.engines.items() if settings.trust}
    return outside_engines((*config.engine_folders(context), *given), trusted)


def engine_words(given: Iterable[Path]) -> Iterator[str]:
    """Yield the words of a command that name the same folders."""
    for folder in given:
        yield from ("--engines", str(folder))
