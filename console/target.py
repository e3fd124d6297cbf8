"""A database to connect to, merged with the settings that apply to it."""

from __future__ import annotations

import msgspec

from console.config import Config, Context
from queries.db.redaction import redact
from queries.model import Record
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
    ascii: bool = False
    json: bool = False
    interval: float = 2.0  # seconds between two refreshes
    words: tuple[str, ...] = ()  # of the command line, which select this database; passwords are hidden

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
            words=(f"@{name}", *self.words[at : at + 2]),
        )

    async def open(self, *, later: bool = False) -> Workspace:
        """Connect to the database.

        ``later`` determines engine variants at their first read. Raises DatabaseError.
        """
        return await Workspace.open(
            self.dsn,
            self.config.overrides(),
            schema=self.schema,
            trusted=self.trusted,
            context=self.name,
            read_only=self.read_only,
            override_read_only=self.override_read_only,
            later=later,
        )
