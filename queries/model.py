"""The words of the project as frozen records; no I/O.

Times are seconds since 1970-01-01 UTC by the *server's* clock (float; ``inf`` and ``-inf`` are PostgreSQL's
``infinity`` and ``-infinity``), durations are seconds. ``None`` means that the engine does not record the value
or that it is not known cheaply; it is never shown as 0. JSON output uses these field names.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, dataclass_transform

import msgspec


@dataclass_transform(frozen_default=True, kw_only_default=True)
class Record(msgspec.Struct, frozen=True, kw_only=True):
    """Base of every record here: immutable, built by keyword, comparable by value.

    Of those with ``gc=False`` a bulk action makes and keeps hundreds of thousands; they can be in no cycle.
    """


class Phase(StrEnum):
    """What a native status means, in one vocabulary for every engine. Worst first, for "the worst of"."""

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
    """How a number was come by."""

    EXACT = "exact"
    ESTIMATED = "estimated"
    CAPPED = "capped"
    UNKNOWN = "unknown"


class Outcome(StrEnum):
    """What happened to one node when an action was applied to it."""

    CHANGED = "changed"
    STALE = "stale"  # somebody else changed it since the operator saw it
    GONE = "gone"
    LOCKED = "locked"  # locked by another transaction right now
    REFUSED = "refused"
    DENIED = "denied"  # a privilege is missing
    CONFLICT = "conflict"  # the database broke the transaction off (unique key, deadlock, serialization)
    LOST = "lost"  # it was committed, and a failover has undone it
    UNKNOWN = "unknown"  # the server cannot say whether the commit happened


class Support(StrEnum):
    """How an engine takes part in an action."""

    NATIVE = "native"
    EMULATED = "emulated"
    EXTERNAL = "external"  # only the engine's own API can
    UNSUPPORTED = "unsupported"


class Risk(StrEnum):
    """Cost of a wrong decision. Determines how an action is confirmed."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class Proof(StrEnum):
    """Whether what an action or finding relies on was checked against the engine, or inferred."""

    VERIFIED = "verified"
    ASSUMED = "assumed"


class Node(Record):
    """Anything in a tree that has a status. ``id`` reads ``engine/kind:key``; ``version`` is what was seen, opaque."""

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


class Count(Record):
    """How many nodes are in a phase. ``n`` is None where ``precision`` is unknown; a capped count is "at least n"."""

    phase: Phase
    n: int | None
    precision: Precision


class ScanRequired(Record):
    """Why something was not read without being asked: what it would cost and what index would make it cheap.

    Without a ``need`` it was tried, and ``why`` is what the server said.
    """

    need: str
    why: str
    pages: int  # 8 kB blocks that a scan would read, by the server's statistics
    ddl: str


class Availability(Record):
    """Whether an action can be done (to a node), and if not, why, in one line."""

    ok: bool
    why: str = ""


class Page(Record):
    """Nodes in order, read at ``at`` (server clock). ``cursor`` fetches the next page; None at the end.

    ``only``: what was looked at, where that is not all and no cursor leads to the rest: ``500 users``.
    """

    nodes: tuple[Node, ...]
    at: float
    cursor: str | None = None
    only: str = ""
    scan_required: ScanRequired | None = None


class DeadLetter(Record):
    """Work that its engine has given up on, and that nobody has decided on. Its id is that of ``node``.

    Those with one ``fingerprint`` died of the same, ids and numbers aside. ``was`` is the state that was noted when it
    died, where the engine notes one; ``is_now`` what has become of its work since.
    """

    node: Node
    severity: int  # as of a finding
    fingerprint: str
    since: float | None = None  # when it died
    error: str | None = None  # as it stands there, cut off where it is long
    was: str | None = None
    is_now: str | None = None


class DeadLetters(Record):
    """Dead letters, worst and oldest first. ``cursor``, ``only`` and ``scan_required`` are those of a `Page`."""

    dead_letters: tuple[DeadLetter, ...]
    at: float
    cursor: str | None = None
    only: str = ""
    scan_required: ScanRequired | None = None


class Fate(Record):
    """How many dead letters of a group were one thing and are another now."""

    was: str | None
    is_now: str | None
    n: int


class Group(Record):
    """Dead letters of one engine with the same fingerprint. ``capped``: there may be more, not all were read."""

    engine: str
    fingerprint: str
    severity: int  # the worst
    n: int
    capped: bool = False
    first: float | None = None
    last: float | None = None
    fates: tuple[Fate, ...] = ()  # the most frequent first


class DeadLetterReport(Record):
    """Dead letters of one engine: what they are there, the list, and its groups, worst first."""

    engine: str
    meaning: str
    at: float | None = None
    dead_letters: tuple[DeadLetter, ...] = ()
    groups: tuple[Group, ...] = ()
    capped: bool = False  # there are more, or may be
    only: str = ""  # as in a `Page`
    scan_required: ScanRequired | None = None
    unreadable: str = ""  # why it cannot be read


OPEN = "..."  # an argument that a suggested action needs and the operator decides


class Finding(Record):
    """A reason to look at a node."""

    engine: str
    node_id: str
    code: str
    title: str
    sentence: str
    severity: int  # 1 (look when there is time) .. 9 (nothing moves)
    proof: Proof
    since: float | None = None
    action: str | None = None  # the action that helps, if there is one
    arguments: dict[str, str] = {}  # what that action is to be given, from the evidence; `OPEN`: to be decided
    guard: str = ""  # what that action is to be guarded with in place of the node's version; opaque
    evidence: dict[str, Any] = {}


class SkippedFinding(Record):
    """A finding that was not looked for, and why. ``failed``: it was tried, and ``why`` is what the server said."""

    engine: str
    code: str
    why: str
    ddl: str | None = None
    failed: bool = False


class Findings(Record):
    """Findings, worst first, then oldest. ``capped`` names the codes of which there are more than were read."""

    found: tuple[Finding, ...]
    at: float
    skipped_findings: tuple[SkippedFinding, ...] = ()
    capped: tuple[str, ...] = ()


class Payload(Record):
    """The first bytes of a stored value. ``size`` is the whole length in bytes."""

    head: bytes
    size: int


class Section(Record):
    """One part of a node's detail page: a table of values, or a payload.

    ``drawn``: what the table is better looked at as, one of `DRAWN`; its columns are those given there.
    """

    name: str
    title: str
    drawn: str = ""
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Any, ...], ...] = ()
    payload: Payload | None = None
    scan_required: ScanRequired | None = None


# The columns of a section that is drawn, in any order:
# graph     one row a step: id and name text; parents text[], ids of the steps it comes after; state text; phase text;
#           seconds float8, how long it has taken since its parents were done; note text. The last two may be NULL.
# timeline  one row a change, newest first: at float8, seconds since 1970; lane text, what changed; state text, to what;
#           phase text, or NULL where it is a moment and not the beginning of a state; waited float8, seconds since the
#           change before; waited_for and note text. The last four may be NULL.
DRAWN = {
    "graph": frozenset({"id", "name", "parents", "state", "phase", "seconds", "note"}),
    "timeline": frozenset({"at", "lane", "state", "phase", "waited", "waited_for", "note"}),
}


class Detail(Record):
    """One node whole."""

    node: Node
    at: float
    sections: tuple[Section, ...] = ()
    findings: tuple[Finding, ...] = ()


class Result(Record, gc=False):
    """The outcome of an action for one node; ``why`` says it in a sentence where it is not ``changed``."""

    id: str
    outcome: Outcome
    why: str = ""


class RowChange(Record, gc=False):
    """One row an action touched, on behalf of node ``id``. ``before`` None: inserted; ``after`` None: deleted."""

    id: str
    table: str
    key: str
    before: dict[str, Any] | None
    after: dict[str, Any] | None

    def read(self) -> RowChange:
        """With its rows as mappings, where they are still as the server spelled them."""
        return RowChange(id=self.id, table=self.table, key=self.key, before=_read(self.before), after=_read(self.after))


def _read(row: Any) -> Any:
    return msgspec.json.decode(row) if isinstance(row, msgspec.Raw) else row


class DryRun(Record):
    """An action's real SQL, run and rolled back. ``versions`` and ``row_digests`` are what a commit is guarded with.

    ``for_now``: refused nodes that an executor has at the moment; :mod:`queries.actions.wait` can wait for them.
    ``steady``: by node, what must not change meanwhile.
    """

    engine: str
    action: str
    reason: str
    arguments: dict[str, Any]
    results: tuple[Result, ...]  # `changed` here means: would change
    changes: tuple[RowChange, ...]
    versions: dict[str, str]
    row_digests: dict[str, str]
    at: float
    audit_log: str  # where the entry will go: "table" or a file's path
    for_now: tuple[str, ...] = ()
    steady: dict[str, str | None] = {}
    wait: float = 0.0  # seconds that the operator agreed to wait for them
    waited: bool = (
        False  # that time is running: nodes are taken in the version that they have, if ``steady`` is as it was
    )


class Outcomes(Record):
    """What a commit did, per node. ``xid`` is the transaction's id as text; None where nothing was written."""

    results: tuple[Result, ...]
    changes: tuple[RowChange, ...] = ()
    xid: str | None = None
    audit_log: str | None = None  # where the entry went: "table", a file's path, or None (nothing changed)
    for_now: tuple[str, ...] = ()  # refused nodes that an executor has at the moment


class Origin(Record):
    """The database that an entry of the local audit file is about.

    ``system_identifier`` is that of pg_control_system(), "" where it is not known.
    """

    database: str
    host: str
    port: int | None
    system_identifier: str = ""
    context: str = ""

    def same(self, other: Origin) -> bool:
        """Return True for the same database: by the server's identifier, else by host and port."""
        if self.system_identifier and other.system_identifier:
            server = self.system_identifier == other.system_identifier
        else:
            server = (self.host, self.port) == (other.host, other.port)
        return server and self.database == other.database


class AuditLogEntry(Record):
    """Who did what to which rows, when, why, and what became of it. ``origin`` is set in the local file only."""

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


def split_id(node_id: str) -> tuple[str, str, str]:
    """``engine/kind:key`` into its three parts. Raises ValueError where it is not of that form."""
    engine, slash, local = node_id.partition("/")
    kind, colon, key = local.partition(":")
    if not (engine and slash and kind and colon and key):
        raise ValueError(f"not a node id: {node_id!r} (they read engine/kind:key)")
    return engine, kind, key
