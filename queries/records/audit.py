"""Entries of the audit log."""

from __future__ import annotations

from typing import Any

from queries.records.action import Outcome, Result, RowChange, titles_of
from queries.records.record import Record


class Origin(Record):
    """Database that an entry of the local audit file is about.

    ``system_identifier`` comes from pg_control_system(); "" if unknown.
    """

    database: str
    host: str
    port: int | None
    system_identifier: str = ""
    context: str = ""

    def same(self, other: Origin) -> bool:
        """Return True for the same database.

        Databases are compared by the server's identifier, or else by host and port.
        """
        if self.system_identifier and other.system_identifier:
            server = self.system_identifier == other.system_identifier
        else:
            server = (self.host, self.port) == (other.host, other.port)
        return server and self.database == other.database


RUN = "run"  # among the arguments of an entry: the run that it is a part of, or begins
END = "end"  # event of the last entry of a run

VIA = "via"  # ... the user before sudo or su, as far as the operator's machine says; not verified
OTHERS = "other_rows"  # ... the rows of other tables that were written, in words


class AuditLogEntry(Record):
    """Record of an action: who changed which rows, when, why, with which outcome.

    ``origin`` is set only in the local file. ``unreadable``: why its arguments, outcomes or rows are missing, which
    unstick did not write.
    """

    id: str
    at: float
    role: str
    os_user: str
    host: str
    engine: str
    schema: str
    action: str
    reason: str
    arguments: dict[str, Any] = {}
    xid: str | None = None
    results: tuple[Result, ...] = ()
    changes: tuple[RowChange, ...] = ()
    origin: Origin | None = None
    unreadable: str = ""

    @property
    def run(self) -> str:
        """Id of the run that it is a part of, or begins; or ""."""
        return str(self.event.get("id", self.id)) if isinstance(self.arguments.get(RUN), dict) else ""

    @property
    def event(self) -> dict[str, Any]:
        """Argument that names its run, with the ``event`` unless it is a change.

        Empty without a run.
        """
        run = self.arguments.get(RUN)
        return run if isinstance(run, dict) else {}

    @property
    def is_end(self) -> bool:
        """Return True if its run has ended with it."""
        return self.event.get("event") == END

    @property
    def who(self) -> str:
        """The operator, as in messages."""
        return f"{self.os_user}@{self.host} (role {self.role})"

    @property
    def titles(self) -> dict[str, str]:
        """Titles of the nodes that were recorded."""
        return titles_of(self.results)

    @property
    def target(self) -> Result | None:
        """The first node that was changed, or else the first node."""
        return next((r for r in self.results if r.outcome is Outcome.CHANGED), next(iter(self.results), None))

    def named(self, node_id: str = "") -> str:
        """Return title and id of one node, or of the first one with the number of others."""
        first = next((r for r in self.results if r.id == node_id), self.target)
        if first is None:
            return f"run {self.run}" if self.run else ""
        others = 0 if node_id else len(self.results) - 1
        return f"{first.name} {first.id}".lstrip() + (f" +{others:,} more" if others else "")
