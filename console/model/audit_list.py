"""Entries of the audit log as a list: what it is filtered and grouped by. UI-free."""

from __future__ import annotations

from typing import Final

from console.model.fields.field import Field, Form
from console.model.filter import Fields
from console.model.row_list import Grouping
from console.text.pages.audit_entry import target
from queries.records.audit import AuditLogEntry


def who(entry: AuditLogEntry) -> str:
    """Return who acted: the user of the machine, else the role of the database."""
    return f"{entry.os_user}@{entry.host}" if entry.os_user else entry.role


def _targets(entry: AuditLogEntry) -> list[str]:
    """Return the ids of the nodes, and their titles as far as they were recorded."""
    return [*(result.id for result in entry.results), *entry.titles.values()]


ACTION: Final = Field[AuditLogEntry]("action", lambda e, _: e.action, Form.BEGINNING, searched=True)
ENGINE: Final = Field[AuditLogEntry]("engine", lambda e, _: e.engine, Form.BEGINNING)
WHO: Final = Field[AuditLogEntry](
    "who", lambda e, _: (who(e), e.role), Form.PART, searched=True, cell=lambda e, _: (who(e), "")
)
REASON: Final = Field[AuditLogEntry]("reason", lambda e, _: e.reason, Form.PART, searched=True)
TARGET: Final = Field[AuditLogEntry](
    "target", lambda e, _: _targets(e), Form.PART, searched=True, cell=lambda e, _: (target(e), "")
)
FIELDS: Final[Fields[AuditLogEntry]] = Fields(
    (
        ACTION,
        ENGINE,
        WHO,
        REASON,
        Field("entry", lambda e, _: e.id, searched=True),
        TARGET,
        Field("outcome", lambda e, _: [result.outcome for result in e.results], Form.BEGINNING),
        Field("id", lambda e, _: [result.id for result in e.results], Form.BEGINNING),
        Field("age", lambda e, _: e.at, Form.AGE),
        Field("nodes", lambda e, _: len(e.results), Form.NUMBER),
    )
)
GROUPINGS: Final[tuple[Grouping[AuditLogEntry], ...]] = (
    Grouping("entry"),
    Grouping("who", lambda entry: (f"who {who(entry)}", who(entry))),
    Grouping("action", lambda entry: (f"action {entry.action}", entry.action)),
    Grouping("engine", lambda entry: (f"engine {entry.engine}", entry.engine)),
)
