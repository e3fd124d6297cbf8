"""Nodes, pages of nodes, and what a search finds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

import msgspec

from queries.records.record import Record


class Phase(StrEnum):
    """Meaning of a native status, common to all engines. Ordered from worst to best."""

    FAILED = "failed"
    BLOCKED = "blocked"
    HELD = "held"
    RUNNING = "running"
    READY = "ready"
    SCHEDULED = "scheduled"
    UNKNOWN = "unknown"
    CANCELLED = "cancelled"
    DONE = "done"


class Precision(StrEnum):
    """Reliability of a number."""

    EXACT = "exact"
    ESTIMATED = "estimated"
    CAPPED = "capped"
    UNKNOWN = "unknown"


class Node(Record):
    """Anything in a tree that has a status.

    ``id`` has the form ``engine/kind:key``. ``version`` is an opaque token of the row state that was read.
    """

    engine: str
    id: str
    kind: str
    title: str
    phase: Phase
    version: str
    parent_id: str | None = None
    job_id: str | None = None
    status: str | None = None  # the engine's own word
    revision: int | None = None
    cpu: float | None = None
    poll: float | None = None
    created_at: float | None = None
    changed_at: float | None = None
    due_at: float | None = None
    owner: str | None = None
    heartbeat_at: float | None = None
    attempts: int | None = None
    max_attempts: int | None = None
    error: str | None = None
    findings: tuple[str, ...] = ()


class Value(Record):
    """Number as it was read. ``n`` None: not read. Capped: at least ``n``."""

    n: int | None = None
    precision: Precision = Precision.EXACT


class Count(Value, kw_only=True):
    """Number of nodes in a phase."""

    phase: Phase


class ScanRequired(Record):
    """Read that would need a full scan: its cost, and the index that would avoid it.

    If ``need`` is empty, the read was tried and ``why`` is the server's error.
    """

    need: str
    why: str
    blocks: int = msgspec.field(name="pages")  # of 8 kB, that a scan would read, by the server's statistics
    ddl: str

    @property
    def note(self) -> str:
        """Reason for the scan, and the index that would avoid it."""
        return f"{self.why} ({self.ddl})" if self.ddl else self.why


class Availability(Record):
    """Availability of an action. ``why`` is one line if the action is unavailable."""

    ok: bool
    why: str = ""
    commands: dict[str, str] = {}  # of an external action, for the node, by the place where they are run


class Page(Record):
    """Nodes in order, read at ``at`` (server clock).

    ``cursor`` fetches the next page; None at the end. ``scope`` describes the part that was read if no cursor leads to
    the rest, for example ``500 users``.
    """

    nodes: tuple[Node, ...]
    at: float
    cursor: str | None = None
    scope: str = ""
    scan_required: ScanRequired | None = None


class Match(StrEnum):
    """Part of a node that a search has found. Ordered from the surest to the vaguest."""

    ID = "id"
    REFERENCE = "reference"  # another id that the engine records, or a tag
    BEGINNING = "beginning"  # the beginning of its id
    TITLE = "title"
    ERROR = "error"
    PAYLOAD = "payload"  # a stored value
    FILTER = "filter"  # all of it, with a filter


class Hit(Record):
    """A node that a search has found."""

    node: Node
    matched: Match


TOO_LARGE = "without values of more than"  # in what a search.sql says of itself


class Hits(Record):
    """Answer of one engine to a search, the surest hits first.

    ``capped``: there may be more. ``searched`` describes the texts that were searched. ``unsearched`` is the reason why
    no text was searched, and ``unreadable`` the reason why the engine could not be searched.
    """

    engine: str
    hits: tuple[Hit, ...] = ()
    at: float = 0.0
    capped: bool = False
    searched: str = ""
    unsearched: str = ""
    unreadable: str = ""

    @property
    def partial(self) -> bool:
        """Return True if values were too large to be searched unasked."""
        return TOO_LARGE in self.searched

    @property
    def nodes(self) -> tuple[Node, ...]:
        """Return the nodes that were found."""
        return tuple(hit.node for hit in self.hits)


class Search(Record):
    """Search for a text in several engines: the ids in it, and the answers."""

    text: str
    ids: tuple[str, ...]
    engines: tuple[Hits, ...]


def a_kind(kind: str) -> str:
    """Return a kind of nodes with its article: ``a task``, ``an agent``."""
    return f"{'an' if kind[:1].lower() in set('aeio') else 'a'} {kind}"


def split_id(node_id: str) -> tuple[str, str, str]:
    """Split ``engine/kind:key`` into three parts, of which the key may be empty.

    Raises ValueError for another form.
    """
    engine, slash, local = node_id.partition("/")
    kind, colon, key = local.partition(":")
    if not (engine and slash and kind and colon):
        raise ValueError(f"not a node id: {node_id!r} (expected engine/kind:key)")
    return engine, kind, key


def marked(nodes: Iterable[Node], codes: Mapping[str, Sequence[str]]) -> tuple[Node, ...]:
    """Return the nodes with the codes of their findings."""
    return tuple(msgspec.structs.replace(node, findings=tuple(codes.get(node.id, ()))) for node in nodes)
