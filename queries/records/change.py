"""Changes that engines and operators made."""

from __future__ import annotations

from queries.records.audit import AuditLogEntry
from queries.records.node import Node, ScanRequired
from queries.records.record import Record

NOT_READ = "not searched: unstick does not read the changes of this engine"  # scope of an engine without the statement


class NodeChange(Record):
    """NodeChange of a node, or an action of an operator.

    ``id`` is the node, or the first target of the action. ``old`` and ``new`` are native statuses; ``new`` is the
    present one if the engine does not record it with the change. An action has its ``entry``, without the rows.
    """

    at: float
    engine: str
    id: str
    what: str
    title: str = ""
    old: str | None = None
    new: str | None = None
    node: Node | None = None  # as it is now; None if it is gone, and for an action
    entry: AuditLogEntry | None = None


class ChangeSource(Record):
    """Source of changes: an engine, or the audit log.

    ``recorded`` says which changes have a recorded time, ``scope`` what was searched if not everything was.
    ``scan_required`` has the index that would serve more. ``routine``: how many changes of each kind are not
    shown, because they say only that work goes on; where a page is full, there are more.
    """

    name: str
    recorded: str = ""
    scope: str = ""
    scan_required: ScanRequired | None = None
    unreadable: str = ""
    routine: dict[str, int] = {}


class Changes(Record):
    """Changes of all engines and of the operators since a time, newest first.

    ``capped``: there are more, and ``cursor`` continues.
    """

    changes: tuple[NodeChange, ...]
    at: float
    since: float
    sources: tuple[ChangeSource, ...]
    capped: bool = False
    cursor: str | None = None
