"""The project's vocabulary as frozen records. No I/O.

Times are seconds since 1970-01-01 UTC by the *server's* clock (float; ``inf`` and ``-inf`` are PostgreSQL's
``infinity`` and ``-infinity``). Durations are seconds. ``None`` means that the engine does not record the value, or
that it cannot be read cheaply; it is never shown as 0. JSON output uses these field names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, dataclass_transform

import msgspec

from queries.json_text import decoded


@dataclass_transform(frozen_default=True, kw_only_default=True)
class Record(msgspec.Struct, frozen=True, kw_only=True):
    """Base of every record: immutable, built by keyword, compared by value.

    Records with ``gc=False`` are made in hundreds of thousands by a bulk action. They cannot be part of a cycle.
    """


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


class Undo(StrEnum):
    """Way to undo an action."""

    ROWS = "rows"  # its rows get their images again
    TRANSITION = "transition"  # and append-only tables get a compensating row
    NONE = "none"


class Outcome(StrEnum):
    """Result of an action for one node."""

    CHANGED = "changed"
    STALE = "stale"  # changed since the operator saw it
    GONE = "gone"
    LOCKED = "locked"  # another transaction holds a lock on it
    REFUSED = "refused"
    DENIED = "denied"  # the role lacks a privilege
    CONFLICT = "conflict"  # the server aborted the transaction (unique key, deadlock, serialization)
    UNSENT = "unsent"  # the connection was lost before COMMIT reached the server
    LOST = "lost"  # it was committed, but a failover has undone it
    UNKNOWN = "unknown"  # the server cannot report whether the commit happened


class Answer(StrEnum):
    """Progress of a dead letter since a redrive revived it."""

    FINISHED = "finished"
    MOVED_ON = "moved_on"  # past the place where it had died
    ALIVE = "alive"  # taken by an executor, which may still fail
    SAME_DEATH = "same_death"  # it died again, of the same error
    OTHER_DEATH = "other_death"
    NO_ANSWER = "no_answer"  # not taken yet
    UNKNOWN = "unknown"  # its row is gone, or it was cancelled: nothing tells whether it succeeded


class Support(StrEnum):
    """Support of an engine for an action."""

    NATIVE = "native"
    EMULATED = "emulated"
    EXTERNAL = "external"  # only the engine's own API can do it
    UNSUPPORTED = "unsupported"


class Risk(StrEnum):
    """Cost of a wrong decision. Determines how an action is confirmed."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class Proof(StrEnum):
    """Source of the engine behaviour behind an action or finding: checked or inferred."""

    VERIFIED = "verified"
    ASSUMED = "assumed"


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


class Count(Record):
    """Number of nodes in a phase.

    ``n`` is None if ``precision`` is unknown. A capped count means "at least n".
    """

    phase: Phase
    n: int | None
    precision: Precision


class ScanRequired(Record):
    """Read that would need a full scan: its cost, and the index that would avoid it.

    If ``need`` is empty, the read was tried and ``why`` is the server's error.
    """

    need: str
    why: str
    pages: int  # 8 kB blocks that a scan would read, by the server's statistics
    ddl: str


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


class DeadLetter(Record):
    """A node that its engine has given up on and that no operator has decided on.

    Its id is that of ``node``. Dead letters with equal ``fingerprint`` have the same error, ignoring ids and numbers.
    ``was`` is the state that the engine recorded at the time of death, if it records one. ``is_now`` is the current
    state.
    """

    node: Node
    severity: int  # 1 to 9, as in a `Finding`
    fingerprint: str
    since: float | None = None  # time of death
    error: str | None = None  # as the engine recorded it, truncated if long
    was: str | None = None
    is_now: str | None = None


class DeadLetters(Record):
    """Dead letters, worst and oldest first.

    ``cursor``, ``scope`` and ``scan_required`` are as in `Page`.
    """

    dead_letters: tuple[DeadLetter, ...]
    at: float
    cursor: str | None = None
    scope: str = ""
    scan_required: ScanRequired | None = None


class Fate(Record):
    """Number of dead letters in a group with the same recorded and current state."""

    was: str | None
    is_now: str | None
    n: int


class Group(Record):
    """Dead letters of an engine with the same fingerprint. ``capped``: maybe more."""

    key: str  # of engine and fingerprint
    engine: str
    fingerprint: str
    severity: int  # the worst
    n: int
    capped: bool = False
    first: float | None = None
    last: float | None = None
    fates: tuple[Fate, ...] = ()  # the most frequent first


class DeadLetterReport(Record):
    """Dead letters of one engine and their groups, worst first.

    ``meaning`` explains what a dead letter is in this engine.
    """

    engine: str
    meaning: str
    at: float | None = None
    dead_letters: tuple[DeadLetter, ...] = ()
    groups: tuple[Group, ...] = ()
    capped: bool = False  # there may be more
    scope: str = ""  # as in a `Page`
    scan_required: ScanRequired | None = None
    unreadable: str = ""  # why they cannot be read


OPEN = "..."  # value of a suggested action's argument that the operator must choose


class Finding(Record):
    """One detected problem of one node."""

    engine: str
    node_id: str
    code: str
    title: str
    sentence: str
    severity: int  # 1 (minor) .. 9 (nothing makes progress)
    proof: Proof
    since: float | None = None
    action: str | None = None  # the suggested action, if there is one
    arguments: dict[str, str] = {}  # of the suggested action, from the evidence; `OPEN`: the operator decides
    guard: str = ""  # opaque token that guards the suggested action instead of the node's version
    evidence: dict[str, Any] = {}
    affects: tuple[str, ...] = ()  # labels of the engines that a finding about the server concerns
    suspected: bool = False  # shown only as the cause of symptoms that nothing else explains


class Symptom(Record):
    """Findings of one code that an incident explains.

    ``n`` counts their nodes; ``capped``: at least.
    """

    engine: str
    code: str
    title: str
    n: int
    capped: bool = False


class Incident(Record):
    """Findings with one cause, and the findings that this cause explains.

    ``n`` counts distinct nodes, symptoms included; ``capped``: at least. ``action`` is set if it applies to every node
    in ``node_ids`` with the same ``arguments``; it removes the cause. ``remedy`` says what to do outside of unstick.
    """

    key: str  # stable while the cause lasts
    engine: str
    code: str
    title: str
    sentence: str
    severity: int
    proof: Proof
    n: int
    capped: bool = False
    since: float | None = None  # the oldest, symptoms included
    action: str | None = None
    arguments: dict[str, str] = {}
    remedy: str = ""
    symptoms: tuple[Symptom, ...] = ()
    findings: tuple[Finding, ...] = ()  # of the cause, oldest first
    explained: tuple[Finding, ...] = ()  # the symptoms' findings, worst first

    @property
    def node_ids(self) -> tuple[str, ...]:
        """Return the nodes of the cause."""
        return tuple(dict.fromkeys(finding.node_id for finding in self.findings))


class Stuck(Record):
    """Incidents of all engines and of the server, worst first.

    ``capped`` lists engine label and code of findings of which more exist than were read.
    """

    incidents: tuple[Incident, ...]
    at: float
    skipped_findings: tuple[SkippedFinding, ...] = ()
    capped: tuple[tuple[str, str], ...] = ()


class SkippedFinding(Record):
    """Check that was not made, and why.

    ``failed``: it was tried, and ``why`` is the server's error.
    """

    engine: str
    code: str
    why: str
    ddl: str | None = None
    failed: bool = False


class Findings(Record):
    """Findings, worst first, then oldest.

    ``capped`` lists the codes with more findings than were read. ``unread``: why
    half of the checks or more failed, or "".
    """

    found: tuple[Finding, ...]
    at: float
    skipped_findings: tuple[SkippedFinding, ...] = ()
    capped: tuple[str, ...] = ()
    unread: str = ""


class LockSession(Record):
    """A session, or a prepared transaction, that holds or waits for locks.

    ``id`` is ``server/backend:PID`` or ``server/prepared:GID``. A pid is used again: only together with
    ``backend_start`` it names a session. ``hidden``: the role may not see what the session does.
    """

    id: str
    pid: int | None = None
    gid: str = ""  # of a prepared transaction, which has no session
    backend_start: float | None = None
    application: str = ""
    role: str = ""
    client: str = ""
    database: str = ""
    type: str = ""  # of the backend
    state: str = ""
    wait: str = ""
    since: float | None = None  # begin of its transaction, or when it was prepared
    state_since: float | None = None
    query: str = ""  # begin of its current or last statement
    hidden: bool = False
    tables: tuple[str, ...] = ()  # of engines, which it changes or locks
    engines: tuple[str, ...] = ()  # labels of these engines
    waits_for: str = ""
    waits_since: float | None = None
    blocked_by: tuple[str, ...] = ()  # ids

    @property
    def name(self) -> str:
        """Short name, as in messages."""
        if self.pid is None:
            return f"prepared transaction {self.gid}"
        return f"pid {self.pid} ({self.application or self.type or 'no name'}, role {self.role or '?'})"

    @property
    def waits_for_row(self) -> bool:
        """True if it waits for a row that another transaction locks."""
        return self.waits_for.startswith("a row")

    @property
    def target(self) -> str:
        """Id of this session alone, for actions; "" if it has none or its start is hidden."""
        return "" if self.pid is None or self.backend_start is None else f"{self.id}@{self.backend_start:.6f}"


class RowHolder(Record):
    """A session that locks a row of a node; if not ``sure``, one of several that may."""

    node_id: str
    table: str
    session_id: str
    mode: str = ""  # of a shared lock, as in pg_get_multixact_members()
    sure: bool = True


class Blockers(Record):
    """Sessions that lock rows of nodes, and sessions that wait, at one moment.

    ``waiters`` are the sessions that wait for these rows. ``root_ids`` are the sessions at the end of the chains: those
    of the holders and waiters, or without ``node_ids`` all that block or change the engines' tables.
    """

    at: float
    node_ids: tuple[str, ...] = ()
    holders: tuple[RowHolder, ...] = ()
    waiters: tuple[str, ...] = ()
    root_ids: tuple[str, ...] = ()
    sessions: tuple[LockSession, ...] = ()
    notes: tuple[str, ...] = ()

    def session(self, session_id: str) -> LockSession | None:
        """Return the session of that id, or None."""
        return next((s for s in self.sessions if s.id == session_id), None)

    def roots(self, session_id: str) -> tuple[LockSession, ...]:
        """Return the sessions at the end of the chain of waits, which wait for none.

        In a deadlock there is none; then all sessions of the chain are returned.
        """
        sessions = {s.id: s for s in self.sessions}
        chain: dict[str, LockSession] = {}
        left = [session_id]
        while left:
            session = sessions.get(left.pop())
            if session is not None and session.id not in chain:
                chain[session.id] = session
                left += session.blocked_by
        return tuple(s for s in chain.values() if not s.blocked_by) or tuple(chain.values())

    def waiting_for(self, session_id: str) -> tuple[LockSession, ...]:
        """Return the sessions that wait for a session, the longest wait first."""
        waiting = (s for s in self.sessions if session_id in s.blocked_by)
        return tuple(sorted(waiting, key=lambda s: (s.waits_since is None, s.waits_since or 0.0, s.id)))


class Payload(Record):
    """First bytes of a stored value. ``size`` is the full length in bytes."""

    head: bytes
    size: int


class Section(Record):
    """One part of a node's detail page: a table of values, or a payload.

    ``drawn`` names the drawing that shows the table best, one of `DRAWN`, which lists its columns.
    """

    name: str
    title: str
    drawn: str = ""
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Any, ...], ...] = ()
    payload: Payload | None = None
    scan_required: ScanRequired | None = None


# Columns of a section that is drawn, in any order. A NULL phase is that of the state, if it has only one.
# graph     one row per step: id and name text; parents text[], ids of the preceding steps; state text; phase text;
#           seconds float8, its duration since its parents were done; note text. The last three may be NULL.
# timeline  one row per change, newest first: at float8, seconds since 1970; lane text, the thing that changed; state
#           text, its new value; phase text, or NULL for a moment that begins no state; waited float8, seconds since the
#           previous change; waited_for and note text. The last four may be NULL.
DRAWN = {
    "graph": frozenset({"id", "name", "parents", "state", "phase", "seconds", "note"}),
    "timeline": frozenset({"at", "lane", "state", "phase", "waited", "waited_for", "note"}),
}


class Detail(Record):
    """One node with its detail sections and findings.

    ``children`` is the first page of its children; None for kinds without children.
    """

    node: Node
    at: float
    sections: tuple[Section, ...] = ()
    findings: tuple[Finding, ...] = ()
    children: Page | None = None
    skipped_findings: tuple[SkippedFinding, ...] = ()  # those that could not be looked for


class Verdict(StrEnum):
    """Conclusion from a witness, or from all of them, about a node's owner."""

    DEAD = "dead"
    ALIVE = "alive"
    UNKNOWN = "unknown"  # also if the engine does not record it; never counts as dead


class Witness(Record, gc=False):
    """Sign of life or death of a node's owner: name, conclusion, value."""

    name: str
    verdict: Verdict
    detail: str


class Owner(Record, gc=False):
    """Witnesses about the owner of a node: a worker, an executor or an instance.

    ``summary`` counts them in words. ``witnesses`` is empty if the action has many nodes.
    """

    verdict: Verdict
    summary: str
    witnesses: tuple[Witness, ...] = ()


class Result(Record, gc=False):
    """Outcome of an action for one node.

    ``why`` is a sentence unless the outcome is ``changed``; nodes with equal ones are listed together. ``detail`` is
    what differs between them: values, the transaction that wrote the row. ``owner`` is set for actions that take work
    from an owner. ``title`` is the node's title when the operator selected it. ``commands`` do outside of unstick what
    the action cannot do, by the place where they are run.
    """

    id: str
    outcome: Outcome
    why: str = ""
    detail: str | msgspec.UnsetType = msgspec.UNSET
    owner: Owner | msgspec.UnsetType = msgspec.UNSET
    title: str | msgspec.UnsetType = msgspec.UNSET
    commands: dict[str, str] | msgspec.UnsetType = msgspec.UNSET

    @property
    def sentence(self) -> str:
        """Reason and detail in one text."""
        return f"{self.why}: {self.detail}" if isinstance(self.detail, str) else self.why


def titled(results: Iterable[Result], titles: Mapping[str, str]) -> tuple[Result, ...]:
    """Return the results with the titles of their nodes, as far as they are known."""
    if not titles:
        return tuple(results)
    return tuple(msgspec.structs.replace(r, title=titles[r.id]) if r.id in titles else r for r in results)


NOT_KEPT, SET = "(not kept)", "(another value)"  # in the log of a context that keeps no values: from, to


class RowChange(Record, gc=False):
    """Row that an action touched for node ``id``.

    ``before`` None: inserted; ``after`` None: deleted.
    """

    id: str
    table: str
    key: str
    before: dict[str, Any] | None
    after: dict[str, Any] | None

    def read(self) -> RowChange:
        """Return the change with both rows decoded from the server's JSON."""
        return RowChange(id=self.id, table=self.table, key=self.key, before=_read(self.before), after=_read(self.after))

    def differing(self) -> RowChange:
        """Return the change with only the columns that differ.

        An inserted or deleted row keeps all columns. Values of the server's JSON are not decoded, so that they keep all
        their digits.
        """
        if self.before is None or self.after is None:
            return self
        was, now = _columns(self.before), _columns(self.after)
        names = [n for n in was | now if was.get(n, ...) != now.get(n, ...)]
        before, after = {n: was[n] for n in names if n in was}, {n: now[n] for n in names if n in now}
        return RowChange(id=self.id, table=self.table, key=self.key, before=before, after=after)

    def without_values(self) -> RowChange:
        """Return the change with the names of the columns, and no value of them."""
        before = None if self.before is None else dict.fromkeys(_columns(self.before), NOT_KEPT)
        after = None if self.after is None else dict.fromkeys(_columns(self.after), NOT_KEPT if before is None else SET)
        return RowChange(id=self.id, table=self.table, key=self.key, before=before, after=after)


_ROW = msgspec.json.Decoder(dict[str, msgspec.Raw])


def _read(row: Any) -> Any:
    return decoded(bytes(row)) if isinstance(row, msgspec.Raw) else row


def _columns(row: Any) -> dict[str, Any]:
    return _ROW.decode(row) if isinstance(row, msgspec.Raw) else row


class Reach(Record):
    """Nodes that an action reaches in one way.

    ``code``: ``becomes`` (``what`` is the phase), ``appears``, ``disappears``, ``begins`` and ``ends`` (``what`` is the
    code of a finding), ``follows`` (ready nodes of a job that changes), or how they are related: ``parent``,
    ``descendant``, ``waiter``, ``sibling``. ``number`` None: unknown, and ``note`` says why. CAPPED: at least that
    number, and ``note`` says why.
    """

    code: str
    what: str = ""
    number: int | None = None
    precision: Precision = Precision.EXACT
    ids: tuple[str, ...] = ()
    note: str = ""


class BlastRadius(Record):
    """Nodes that an action reaches, measured in its dry run.

    ``seconds``: of the dry run's transaction that the measurement took, while rows were locked. ``beyond``: effects
    outside of this database.
    """

    reached: tuple[Reach, ...]
    seconds: float
    beyond: str = "not known"


class Mark(Record):
    """Place of an edited text that differs from the texts it was compared with.

    ``code``: ``unknown_key``, ``missing_key``, ``type_change`` or ``out_of_range``. ``new``: the edit causes it; else
    it was there before.
    """

    path: str  # $.items[2].price
    code: str
    what: str
    new: bool = True


class Edit(Record):
    """An edited text: its difference to the stored one, and what is unusual about it.

    ``compared``: number of successes of the same kind; 0: it was compared with the stored text only. ``scope`` says
    which successes were read, or why none. ``notes``: what the column does to the text.
    """

    diff: tuple[str, ...]  # lines that begin with "-", "+" or " ", and "@@" between distant ones
    marks: tuple[Mark, ...] = ()
    compared: int = 0
    scope: str = ""
    notes: tuple[str, ...] = ()


class OtherRows(Record):
    """Rows of one table that an action wrote and does not show.

    The server counts them. ``table`` with its schema; a schema alone is that of the server's catalogs.
    ``own``: it is a table of the engine. ``cause``: the foreign keys, triggers or rules that may have written them.
    """

    table: str
    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    own: bool = False
    cause: str = ""

    @property
    def counts(self) -> tuple[int, int, int]:
        """Numbers of inserted, updated and deleted rows."""
        return self.inserted, self.updated, self.deleted

    @property
    def words(self) -> str:
        """The numbers in words: ``deleted 2 rows, inserted 1 row``."""
        named = (("deleted", self.deleted), ("updated", self.updated), ("inserted", self.inserted))
        return ", ".join(f"{word} {n:,} {'row' if n == 1 else 'rows'}" for word, n in named if n) or "written no row"


class DryRun(Record):
    """Result of an action's real SQL, run and rolled back.

    ``versions`` and ``row_digests`` guard the commit.
    ``for_now``: refused nodes that an executor is working on; :mod:`queries.actions.wait` can wait for them.
    ``steady``: for each node, the state that must not change during the wait.
    ``titles``: of the nodes, for the audit log.
    ``blast_radius``: None if it was not asked for, or nothing will change.
    """

    engine: str
    action: str
    reason: str
    arguments: dict[str, Any]
    results: tuple[Result, ...]  # `changed` means that the commit will change it
    changes: tuple[RowChange, ...]
    versions: dict[str, str]
    row_digests: dict[str, str]
    at: float
    audit_log: str  # destination of the entry: "table" or a file's path
    for_now: tuple[str, ...] = ()
    steady: dict[str, str | None] = {}
    titles: dict[str, str] = {}
    blast_radius: BlastRadius | None = None
    wait: float = 0.0  # seconds that the operator agreed to wait for such nodes
    irreversible: dict[str, str] = {}  # nodes whose change cannot be undone, with the reason
    # The wait is running: nodes are changed in their current version if ``steady`` is unchanged.
    waited: bool = False
    edit: Edit | None = None  # of an action with an edited text
    undoes: str = ""  # of an undo: the action that it undoes and the roles that did it
    others: tuple[OtherRows, ...] = ()  # rows beyond ``changes``: by foreign keys, triggers, rules
    uncounted: bool = False  # the server does not count rows, so there may be others
    operator: str = ""  # whose dry run it is; actions write the name into rows
    held: float = 0.0  # seconds that the longest transaction held row locks, without measuring the blast radius

    @property
    def removed(self) -> tuple[OtherRows, ...]:
        """Tables of which rows are deleted that are not shown, and that do not come back."""
        return tuple(other for other in self.others if other.deleted)


class Durability(StrEnum):
    """Risk that a failover loses a committed change.

    ``local``: the server has no standby. ``synchronous``: a standby confirmed it. ``asynchronous``: standbys receive it
    after COMMIT. ``unconfirmed``: COMMIT should have waited for a standby, which did not confirm it.
    """

    LOCAL = "local"
    SYNCHRONOUS = "synchronous"
    ASYNCHRONOUS = "asynchronous"
    UNCONFIRMED = "unconfirmed"

    @property
    def losable(self) -> bool:
        """Return True if a failover may lose the change."""
        return self in (Durability.ASYNCHRONOUS, Durability.UNCONFIRMED)


class Outcomes(Record):
    """Outcomes of a commit.

    ``xid`` is the transaction's id as text; None if nothing was written. ``logged``: number of changed nodes whose rows
    are in the audit log, but not in ``changes``. ``durability``: of the least certain transaction, None if nothing was
    committed.
    """

    results: tuple[Result, ...]
    changes: tuple[RowChange, ...] = ()
    xid: str | None = None
    audit_log: str | None = None  # destination of the entry: "table", a file's path, or None (nothing changed)
    for_now: tuple[str, ...] = ()  # refused nodes that an executor is working on
    entries: tuple[str, ...] = ()  # ids of the audit log entries, as far as the server returned them
    bulk: str = ""  # id of the bulk, which its entries have
    logged: int = 0
    durability: Durability | None = None


class CohortReport(Record):
    """A cohort of a redrive. ``answers``: number of revived nodes with each answer."""

    size: int
    revived: int = 0
    skipped: int = 0
    answers: dict[Answer, int] = {}


class RedriveReport(Record):
    """State of a redrive.

    ``state``: running, asking, or why it ended: done, budget, stopped. ``question``: what only the operator can decide,
    about ``asked_ids``. ``cohorts`` is empty in a list of redrives. ``skipped``: nodes that were not revived, by name.
    ``durability``: of the least certain cohort that this console has revived.
    """

    run: str
    engine: str
    action: str
    selection: str
    reason: str
    who: str
    at: float
    state: str
    nodes: int
    revived: int
    question: str = ""
    asked_ids: tuple[str, ...] = ()
    cohorts: tuple[CohortReport, ...] = ()
    answers: dict[Answer, int] = {}
    skipped: tuple[Result, ...] = ()
    durability: Durability | None = None


class RedrivePreview(Record):
    """Plan of a redrive: the sizes of its cohorts, and the dry run of the first one."""

    engine: str
    action: str
    selection: str
    nodes: int
    cohorts: tuple[int, ...]
    budget: str
    pace: str
    wait: float
    dry_run: DryRun


class Redrives(Record):
    """Redrives, newest first."""

    redrives: tuple[RedriveReport, ...]


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


BULK = "bulk"  # among the arguments of an entry: the id of its bulk
OTHERS = "other_rows"  # ... the rows of other tables that were written, in words


class AuditLogEntry(Record):
    """Record of an action: who changed which rows, when, why, with which outcome.

    ``origin`` is set only in the local file.
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

    @property
    def bulk(self) -> str:
        """Id of the bulk that it is a part of, or ""."""
        return str(self.arguments.get(BULK, ""))

    @property
    def titles(self) -> dict[str, str]:
        """Titles of the nodes that were recorded."""
        return {r.id: r.title for r in self.results if isinstance(r.title, str)}

    @property
    def target(self) -> Result | None:
        """The first node that was changed, or else the first node."""
        return next((r for r in self.results if r.outcome is Outcome.CHANGED), next(iter(self.results), None))


class Change(Record):
    """Change of a node, or an action of an operator.

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
    ``scan_required`` has the index that would serve more.
    """

    name: str
    recorded: str = ""
    scope: str = ""
    scan_required: ScanRequired | None = None
    unreadable: str = ""


class Changes(Record):
    """Changes of all engines and of the operators since a time, newest first.

    ``capped``: there are more, and ``cursor`` continues.
    """

    changes: tuple[Change, ...]
    at: float
    since: float
    sources: tuple[ChangeSource, ...]
    capped: bool = False
    cursor: str | None = None


def a_kind(kind: str) -> str:
    """Return a kind of nodes with its article: ``a task``, ``an agent``."""
    return f"{'an' if kind[:1].lower() in set('aeio') else 'a'} {kind}"


def split_id(node_id: str) -> tuple[str, str, str]:
    """Split ``engine/kind:key`` into three parts. Raises ValueError for another form."""
    engine, slash, local = node_id.partition("/")
    kind, colon, key = local.partition(":")
    if not (engine and slash and kind and colon and key):
        raise ValueError(f"not a node id: {node_id!r} (expected engine/kind:key)")
    return engine, kind, key
