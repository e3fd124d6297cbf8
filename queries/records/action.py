"""Changes of actions: outcomes of nodes, rows before and after."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any

import msgspec

from queries.records.node import Value
from queries.records.record import Record
from queries.text.counted import counted
from queries.text.json_text import decoded

FREEING = ("wake", "release", "retry")  # actions after which a worker should take the nodes


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


class Risk(StrEnum):
    """Cost of a wrong decision. Determines how an action is confirmed."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class Proof(StrEnum):
    """Source of the engine behaviour behind an action or finding: checked or inferred."""

    VERIFIED = "verified"
    ASSUMED = "assumed"


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
    def name(self) -> str:
        """Title of the node, or ""."""
        return self.title if isinstance(self.title, str) else ""

    @property
    def sentence(self) -> str:
        """Reason and detail in one text."""
        return f"{self.why}: {self.detail}" if isinstance(self.detail, str) else self.why


def titles_of(results: Iterable[Result]) -> dict[str, str]:
    """Return the titles of the nodes by id, as far as they are known."""
    return {result.id: result.title for result in results if isinstance(result.title, str)}


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

    def read(self, at: float | None = None) -> RowChange:
        """Return the change with decoded rows. ``at``: ``now()`` of its transaction."""
        before, after = _read(self.before, at), _read(self.after, at)
        return RowChange(id=self.id, table=self.table, key=self.key, before=before, after=after)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that differ: all of an inserted or deleted row.

        A column differs if the server's text of it does; of decoded rows, as far as the values tell the texts apart.
        """
        was = {} if self.before is None else _columns(self.before)
        now = {} if self.after is None else _columns(self.after)
        return tuple(n for n in was | now if not is_same(was.get(n, ...), now.get(n, ...)))

    def differing(self) -> RowChange:
        """Return the change with only the columns that differ.

        An inserted or deleted row keeps all columns. Values of the server's JSON are not decoded, so that they keep all
        their digits.
        """
        if self.before is None or self.after is None:
            return self
        was, now, names = _columns(self.before), _columns(self.after), self.columns
        before, after = {n: was[n] for n in names if n in was}, {n: now[n] for n in names if n in now}
        return RowChange(id=self.id, table=self.table, key=self.key, before=before, after=after)

    def without_values(self) -> RowChange:
        """Return the change with the names of the columns, and no value of them."""
        before = None if self.before is None else dict.fromkeys(_columns(self.before), NOT_KEPT)
        after = None if self.after is None else dict.fromkeys(_columns(self.after), NOT_KEPT if before is None else SET)
        return RowChange(id=self.id, table=self.table, key=self.key, before=before, after=after)


_ROW = msgspec.json.Decoder(dict[str, msgspec.Raw])


class ReadRow(dict[str, Any]):
    """Decoded row with its JSON, which has all digits, and ``now()`` of its change."""

    text: bytes
    at: float | None = None


class _RowTexts(Record):
    before: dict[str, msgspec.Raw] | None
    after: dict[str, msgspec.Raw] | None


def with_digits(changes: tuple[RowChange, ...], text: str | bytes) -> tuple[RowChange, ...]:
    """Return decoded changes with the texts of their rows, which have all digits."""
    try:
        texts = msgspec.json.decode(text, type=tuple[_RowTexts, ...])
    except (UnicodeDecodeError, msgspec.DecodeError, RecursionError):
        return changes
    both = zip(changes, texts, strict=True)
    rows = (RowChange(id=c.id, table=c.table, key=c.key, before=t.before, after=t.after) for c, t in both)
    return tuple(row.read() for row in rows)


def _read(row: Any, at: float | None = None) -> Any:
    if row is None or isinstance(row, ReadRow):
        return row
    text = msgspec.json.encode(row)
    read = ReadRow(decoded(text))
    read.text, read.at = text, at
    return read


def texts_of(row: Any) -> dict[str, msgspec.Raw]:
    """Return the columns of a row as JSON texts."""
    if isinstance(row, dict) and not isinstance(row, ReadRow):
        return row
    return {} if row is None else _ROW.decode(row.text if isinstance(row, ReadRow) else row)


def time_of(change: RowChange, at: float) -> float:
    """Return ``now()`` of a change, or ``at`` if its rows do not have it."""
    row = change.after if change.before is None else change.before
    return at if not isinstance(row, ReadRow) or row.at is None else row.at


def _columns(row: Any) -> dict[str, Any]:
    return _ROW.decode(row) if isinstance(row, msgspec.Raw) else row


def is_same(was: Any, now: Any) -> bool:
    """Return True if two decoded values have the same text in JSON.

    These do not: 1 and true, and two objects with their keys in another order.
    """
    if was != now or type(was) is not type(now):
        return False
    return not isinstance(was, dict | list) or msgspec.json.encode(was) == msgspec.json.encode(now)


class Reach(Value, kw_only=True):
    """Nodes that an action reaches in one way.

    ``code``: ``becomes`` (``what`` is the phase), ``appears``, ``disappears``, ``begins`` and ``ends`` (``what`` is the
    code of a finding), ``follows`` (ready nodes of a job that changes), or how they are related: ``parent``,
    ``descendant``, ``waiter``, ``sibling``. If the number is not read or capped, ``note`` says why.
    """

    code: str
    what: str = ""
    n: int | None = msgspec.field(default=None, name="number")
    ids: tuple[str, ...] = ()
    note: str = ""


class BlastRadius(Record):
    """Nodes that an action reaches, measured in its dry run.

    ``seconds``: of the dry run's transaction that the measurement took, while rows were locked. ``beyond``: effects
    outside of this database. ``titles``: of the nodes that exist.
    """

    reached: tuple[Reach, ...]
    seconds: float
    titles: dict[str, str] = {}
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
        return ", ".join(f"{word} {counted(n, 'row')}" for word, n in named if n) or "written no row"


class Durability(StrEnum):
    """Risk that a failover loses a committed change.

    ``local``: nothing shows that the server ever had a standby. ``synchronous``: a standby confirmed it.
    ``asynchronous``: standbys receive it after COMMIT. ``detached``: no standby streams now, but the server has a
    replication slot, an earlier promotion, or had a standby lately. ``unconfirmed``: COMMIT should have waited for a
    standby, which did not confirm it.
    """

    LOCAL = "local"
    SYNCHRONOUS = "synchronous"
    ASYNCHRONOUS = "asynchronous"
    DETACHED = "detached"
    UNCONFIRMED = "unconfirmed"


def least_certain(durabilities: Iterable[Durability | None]) -> Durability | None:
    """Return the least certain durability; None if nothing was committed."""
    order = [*Durability]
    return max(filter(None, durabilities), key=order.index, default=None)


class Change(Record):
    """Change of nodes: a dry run shows it, a commit does it, an undo gives it back.

    ``versions`` and ``row_digests`` of a dry run guard its commit. ``for_now``: refused nodes that an executor is
    working on; :mod:`queries.change.loop` can wait for them. ``steady``: for each node, the state that must not change
    during the wait. ``blast_radius``: None if it was not asked for, or nothing will change. ``others``: rows beyond
    ``changes``, by foreign keys, triggers, rules. ``xid``: ids of its transactions as text; None if nothing was
    written. ``logged``: number of changed nodes whose rows are in the audit log, but not in ``changes``.
    ``durability``: of the least certain transaction. ``durable``: number of changed nodes by durability. ``lost``: why
    the server was lost before nodes changed, which can be tried again; or "". ``error``: why nothing was tried, and
    that nothing was changed.
    """

    results: tuple[Result, ...] = ()  # of a dry run, `changed` means that the commit will change it
    changes: tuple[RowChange, ...] = ()
    engine: str = ""
    action: str = ""
    reason: str = ""
    arguments: dict[str, Any] = {}
    operator: str = ""  # who acts; actions write the name into rows
    versions: dict[str, str] = {}
    row_digests: dict[str, str] = {}
    at: float | None = None  # None: nothing was read
    audit_log: str | None = None  # destination of the entry: "table", a file's path, or None (nothing to write)
    for_now: tuple[str, ...] = ()
    steady: dict[str, str | None] = {}
    titles: dict[str, str] = {}
    blast_radius: BlastRadius | None = None
    wait: float = 0.0  # seconds that the operator agreed to wait for such nodes
    irreversible: dict[str, str] = {}  # nodes whose change cannot be undone, with the reason
    unmet: dict[str, str] = {}  # nodes that no worker takes after it, with the conditions that fail
    # The wait is running: nodes are changed in their current version if ``steady`` is unchanged.
    waited: bool = False
    edit: Edit | None = None  # of an action with an edited text
    undoes: str = ""  # of an undo: the action that it undoes and the roles that did it
    others: tuple[OtherRows, ...] = ()
    in_runs: tuple[str, ...] = ()  # of a dry run: sentences about open runs that have its nodes
    uncounted: bool = False  # the server does not count rows, so there may be others
    held: float = 0.0  # seconds that the longest transaction held row locks, without measuring the blast radius
    xid: str | None = None
    entries: tuple[str, ...] = ()  # ids of the audit log entries, as far as the server returned them
    run: str = ""  # id of the run, which its entries have
    logged: int = 0
    durability: Durability | None = None
    durable: dict[Durability, int] = {}
    lost: str = ""
    error: str | msgspec.UnsetType = msgspec.UNSET

    @property
    def nodes(self) -> frozenset[str]:
        """Nodes that it changed."""
        return frozenset(result.id for result in self.results if result.outcome is Outcome.CHANGED)

    @property
    def verdicts(self) -> dict[str, Verdict]:
        """Verdicts about the owners of the nodes, as far as there are witnesses."""
        return {result.id: result.owner.verdict for result in self.results if isinstance(result.owner, Owner)}

    @property
    def awaited(self) -> Mapping[str, str | None] | None:
        """State of the nodes that must be unchanged, if the operator waits for them."""
        return self.steady if self.waited else None

    @property
    def removed(self) -> tuple[OtherRows, ...]:
        """Tables of which rows are deleted that are not shown, and that do not come back."""
        return tuple(other for other in self.others if other.deleted)


def merged(changes: Iterable[Change]) -> Change:
    """Return one change of those of several transactions, without what was asked.

    Its results are ordered by id.
    """
    every = tuple(changes)
    others: dict[str, OtherRows] = {}
    for other in (other for each in every for other in each.others):
        was = others.get(other.table, OtherRows(table=other.table))
        sums = (now + before for now, before in zip(other.counts, was.counts, strict=True))
        numbers = dict(zip(("inserted", "updated", "deleted"), sums, strict=True))
        others[other.table] = msgspec.structs.replace(other, **numbers)
    return Change(
        results=tuple(sorted((r for each in every for r in each.results), key=lambda r: r.id)),
        changes=tuple(row for each in every for row in each.changes),
        row_digests={i: digest for each in every for i, digest in each.row_digests.items()},
        at=max((each.at for each in every if each.at is not None), default=None),
        audit_log=next((each.audit_log for each in every if each.audit_log), None),
        for_now=tuple(i for each in every for i in each.for_now),
        steady={i: text for each in every for i, text in each.steady.items()},
        irreversible={i: why for each in every for i, why in each.irreversible.items()},
        unmet={i: names for each in every for i, names in each.unmet.items()},
        others=tuple(others[table] for table in sorted(others)),
        uncounted=any(each.uncounted for each in every),
        held=max((each.held for each in every), default=0.0),
        xid=" ".join(each.xid for each in every if each.xid) or None,
        entries=tuple(entry for each in every for entry in each.entries),
        logged=sum(each.logged for each in every),
        durability=least_certain(each.durability for each in every),
        lost=next((each.lost for each in every if each.lost), ""),
    )
