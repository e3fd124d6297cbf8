"""The content of ``engine.toml`` as records, without short forms.

:mod:`queries.contract.document` writes these out, and :mod:`queries.contract.rules` has what types cannot express.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec.structs import force_setattr

from queries.records.action import Proof, Risk, Undo
from queries.records.finding import Support
from queries.records.node import Node, Phase, split_id
from queries.records.record import Record
from queries.text.counted import noun_of, plural
from queries.text.psql_text import sql_name, sql_words


def _matching(pattern: str, description: str) -> msgspec.Meta:
    """Return the rule that a text matches, with the words for it."""
    return msgspec.Meta(pattern=f"^{pattern}$", description=description)


A_NAME = "[a-z][a-z0-9_]{0,39}"  # of engines, kinds, actions and findings
A_CONDITION = "a table with at least one condition"
KEY_SEPARATOR = "+"  # between the values of a key of several columns; a shell takes it as it is
KEY_OF_NAME = "by name"  # key of an action before it is known
Name = Annotated[str, _matching(A_NAME, "a name of at most 40 characters: a-z at first, then a-z, 0-9 and _")]
Privilege = Annotated[
    str,
    _matching(
        r"(SELECT|INSERT|UPDATE|DELETE|EXECUTE|USAGE) \S.*",
        "SELECT, INSERT, UPDATE, DELETE, EXECUTE or USAGE and a name",
    ),
]
Function = Annotated[str, _matching(r"\w+\((\w+(, \w+)*)?\)", "written name(type, type)")]
Role = Annotated[str, _matching(r"\w*\*\w*", "a name with one * in it")]
Key = Annotated[str, _matching("[A-Z]", "an upper-case letter")]
Varying = Literal["time", "key", "token", "operator"]
"""Way in which a value may differ between dry run and commit.

``time``: it is as far from ``now()``. ``key``: that of a new row, in a row that refers to it. ``token``: another one
each time, such as a transaction id. ``operator``: it has the name of who acts.
"""
Varies = dict[Varying, tuple[str, ...]]
ColumnOfRow = Annotated[str, _matching(r"(t\.\w+(::\w+)?)?", "a column of a row t, such as t.kind")]


class Recognise(Record, forbid_unknown_fields=True):
    """Structure that identifies the engine in a schema. A name alone never does."""

    # relation -> column -> base type; domains are resolved; ``a|b``: either type, ``*``: any
    relations: dict[str, dict[str, str]]
    # relations, types, channels, triggers and constraints that are roles -> pattern of their names, with one ``*``
    roles: dict[str, Role] = {}
    types: dict[str, tuple[str, ...]] = {}  # enum type -> its labels; composite type -> its attributes
    functions: tuple[Function, ...] = ()  # with the base types of their arguments: ``send(uuid, text)``
    optional: tuple[str, ...] = ()  # relations, columns and labels of enums that may be missing: ``relation.column``
    literals: dict[str, tuple[str, ...]] = {}  # relation -> words its CHECK constraints name
    unique: dict[str, tuple[str, ...]] = {}  # relation -> columns of a unique index it must have
    absent: dict[str, tuple[str, ...]] = {}  # relation -> columns that only a lookalike has


class Need(Record, forbid_unknown_fields=True):
    """Condition for a cheap statement: an index, a small table, or an existing object."""

    why: str = ""  # the reason shown if it is not met; default: names the table
    table: str = ""  # follows from ``ddl``
    columns: tuple[str, ...] = ()  # the first ones of an index that meets it; default: those of ``ddl``
    ddl: str = ""  # the index that is offered; default: one on ``columns``, with the first of ``partial``
    # What must be there: functions of the engine, as ``name()``, executable and safe to call; or a relation, with its
    # schema if that is another one
    exists: tuple[str, ...] = ()
    # Predicates of partial indexes that meet the need, as the server spells them; "" for an index of all rows, which
    # meets it also if one of ``columns`` is in a predicate
    partial: tuple[str, ...] = ()
    whole: bool = True  # a table that is small enough for a full scan meets the need
    column: str = ""  # of ``table``: its existence meets the need

    @property
    def functions(self) -> tuple[str, ...]:
        """Functions of the engine that must exist."""
        return tuple(name[:-2] for name in self.exists if name.endswith("()"))

    @property
    def relation(self) -> str:
        """The relation that must exist, or ""."""
        return next((name for name in self.exists if not name.endswith("()")), "")

    @property
    def full(self) -> bool:
        """Return True if an index of all rows meets the need.

        Such an index has few rows to skip if it has the columns of the predicate.
        """
        named = {word for predicate in self.partial for word in sql_words(predicate)}
        return not self.partial or "" in self.partial or not named.isdisjoint(self.columns)


_MADE = re.compile(
    r"(?:CREATE (?:UNIQUE )?INDEX (?:CONCURRENTLY )?(?:\S+ )?ON (?P<table>\S+) ?(?:USING btree ?)?"
    r"|ALTER TABLE (?P<altered>\S+) ADD (?:CONSTRAINT \S+ )?(?:PRIMARY KEY|UNIQUE) ?)"
    r"\((?P<columns>[^()]+)\)(?: INCLUDE ?\([^()]+\))?(?: WHERE (?P<where>.+))?",
    re.IGNORECASE,
)
_COLUMN = re.compile(r'"?(\w+)"?(?: (?:ASC|DESC))?(?: NULLS (?:FIRST|LAST))?', re.IGNORECASE)


class Index(Record):
    """A btree index. ``where`` is its predicate as written, or ""."""

    table: str
    columns: tuple[str, ...]
    where: str = ""


def index_of(ddl: str) -> Index | None:
    """Return the index that a statement creates, or None if that cannot be read.

    It is a CREATE INDEX on plain columns, or an ALTER TABLE that adds a key.
    """
    match = _MADE.fullmatch(" ".join(ddl.split()))
    columns = [_COLUMN.fullmatch(part.strip()) for part in match["columns"].split(",")] if match else []
    if match is None or None in columns:
        return None
    return Index(
        table=(match["table"] or match["altered"]).strip(':"'),
        columns=tuple(column[1] for column in columns if column),
        where=match["where"] or "",
    )


class Kind(Record, forbid_unknown_fields=True):
    """A kind of node."""

    DERIVED = ("name", "below", "children", "dead", "dead_since")

    name: Name
    title: str = ""  # on screen; default: the name
    table: str = ""  # from which the statements that the folder does not have are derived
    # Column: its primary key. Columns of a key of several with commas, one of a type without ids with a comma behind it
    key: str = "id"
    form: str = ""  # of keys that are no column of ``table``: a type, or texts separated by "|"
    parent: str = ""  # column: the key of its parent; ``KIND.column`` if that is of another kind
    below: str = ""  # kind of its parent
    columns: dict[str, str] = {}  # of its nodes, as SQL
    # Statuses of its nodes that are dead letters, and the column of the time by which they are in order, or ""
    dead: tuple[str, ...] = ()
    dead_since: str = ""
    payloads: dict[str, str] = {}  # detail sections with a stored text, by name: its column
    children: bool = False  # follows from the files with children
    owner: bool = False  # its nodes are the owners of other nodes, and their keys are the values of ``owner``
    not_recorded: tuple[str, ...] = ()  # columns that ``nodes.sql`` has, and that are NULL for this kind

    def __post_init__(self) -> None:
        if not self.title:
            force_setattr(self, "title", self.name.replace("_", " "))
        if "," in self.key:
            columns = (column for column in re.split(r"\s*,\s*", self.key) if column)
            force_setattr(self, "key", KEY_SEPARATOR.join(("", *columns)))  # no column has this name
        if not self.below:
            *kind, column = self.parent.split(".", 1)  # a column may have a dot
            force_setattr(self, "below", "".join(kind) or self.name)
            force_setattr(self, "parent", column)

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns of a key of several, or of a type without ids."""
        return tuple(self.key.split(KEY_SEPARATOR)[1:])

    @property
    def key_columns(self) -> tuple[str, ...]:
        """The columns of its key."""
        return self.keys or (self.key,)


class Status(Record, forbid_unknown_fields=True):
    """A native status and its phase. A status may have several phases."""

    DERIVED = ("native",)

    native: str
    phase: Phase  # the common word
    means: str = ""  # in help
    when: str = ""  # SQL: the condition for this phase, before those that follow


class Explains(NamedTuple):
    """Symptoms that a finding explains: codes, and ``symptom`` words after a ``*``.

    ``matching`` are evidence fields that must be equal in cause and symptom; ``node`` compares the nodes. Without
    ``matching``, it explains them in the whole engine.
    """

    matching: tuple[str, ...]
    findings: tuple[str, ...]

    def names(self, code: str, symptom: str, *, suspected: bool = False) -> bool:
        """Return True if the rule names a finding with this code and ``symptom`` word.

        A suspected cause explains only the findings that are named by their code, because many nodes are late for
        reasons of their own.
        """
        return code in self.findings or (f"*{symptom}" in self.findings and not suspected)


_EITHER = re.compile(r"\[([^][|]*)\|([^][|]*)\]")  # [one node|several]


class FindingSpec(Record, forbid_unknown_fields=True):
    """Finding, detected by one query or, with ``sample``, from the console's samples.

    Findings with equal ``cause`` are one incident. An incident absorbs the findings that its finding ``explains``.
    With ``since``, the query is derived. So it is with ``among``: a part of common table expressions. ``nodes`` has
    the rows with their ``id``, and ``more``, if there is one, whether there may be other rows, unless the statement is
    for given nodes. ``unread``, if there is one, has a row for each part of the rows that was not read: why, the need
    that would lead to them, or NULL after a limit. With ``pattern.alike``, the part has ``failures`` instead: ``id``,
    ``at``, ``error``, and ``first``, true for the rows that are compared. Those are found whose error at least half of
    these have. With ``pattern.regular``, it has ``events``: ``key``, ``id`` and ``at``. Each key is found whose events
    came at regular intervals and do not any more, with the id of its last one.
    """

    DERIVED = ("code", "title", "kind", "finder")

    code: Name
    # With names of evidence fields in braces, and ``[one node|several]``: for several, ``{n}`` is their number
    sentence: str = ""
    title: str = ""  # default: the code
    severity: int = 7  # 1 (minor) to 9 (nothing makes progress)
    proof: Proof = Proof.VERIFIED  # assumed: not compared with the engine's source
    cause: tuple[str, ...] = ()  # evidence fields that name the cause: lock owner, worker, queue, backend
    cause_text: tuple[str, ...] = ()  # evidence fields that are compared without ids and numbers: error messages
    # late, locked, failing or dead_owner, if it is a symptom of that; stalled: the engine does not take or continue the
    # node, although its phase is ready or running
    symptom: str = ""
    # Evidence fields that are equal, ``node``, or ``engine`` -> codes of findings that its incident absorbs
    explains: dict[str, tuple[str, ...]] = {}
    remedy: str = ""  # what to do outside of unstick if no action here removes the cause
    action: str | None = None  # that is suggested
    instead: str = ""  # action that is suggested if ``action`` refuses the nodes
    arguments: dict[str, str] = {}  # of that action: texts with names of evidence fields, such as ``{position}``
    sample: str = ""  # ``samples/<name>.sql``: it is found in samples of the console, unless it is ``renewed``
    constant: tuple[str, ...] = ()  # fields, sampled or of the evidence, that stay constant; they guard the action
    # Sampled fields, any of which changes. Of a number, the evidence has ``grown`` and ``per_minute``; where the sample
    # has ``timeout``, its owner increases it in smaller steps, and only a larger one is a change
    changes: tuple[str, ...] = ()
    # Thresholds, by what must reach them: ``changes``, ``per_minute`` (growth of the number) and ``seconds``
    least: dict[Literal["changes", "per_minute", "seconds"], str] = {}
    # It is found by its statement, and a living owner, which increases the number, "refutes" or "confirms" it
    renewed: Literal["refutes", "confirms"] | None = None
    kind: str = ""  # of the nodes of one that follows from a claim
    where: str = "true"  # SQL, with thresholds as ``:name``
    since: str = ""  # since when: SQL, or a column without ``among``
    evidence: dict[str, str] = {}  # SQL by field; without ``among``, ``age`` is the time since ``since``
    among: str = ""  # ``parts/<name>.sql``, in whose rows it is found, or its lines, also ``-- needs: NAME``
    order: str = ""  # SQL; default: ``since``
    suggest: str = "true"  # SQL: whether the action is suggested
    grade: str = ""  # SQL, with ``among`` or of a finder: the severity of each row instead of ``severity``
    # With ``among``, how its rows are compared -> SQL. ``alike``: the least number of its ``failures`` with the same
    # error; ``regular``: the least time without one of its ``events``
    pattern: dict[Literal["alike", "regular"], str] = {}
    finder: bool = False  # it follows from the claim of its kind

    def __post_init__(self) -> None:
        if not self.title:
            force_setattr(self, "title", self.code.replace("_", " "))

    @property
    def one(self) -> str:
        """Its sentence for one node."""
        return _EITHER.sub(r"\1", self.sentence)

    @property
    def incident(self) -> str:
        """Its sentence for several nodes, with evidence fields of the first, or ""."""
        text = _EITHER.sub(r"\2", self.sentence)
        return "" if text == self.one else text

    @property
    def rules(self) -> tuple[Explains, ...]:
        """Return the rules by which it explains others."""
        each = self.explains.items()
        return tuple(Explains((*filter(None, re.split(r", *|^engine$", on)),), codes) for on, codes in each)

    @property
    def statement(self) -> str:
        """Name of the statement that detects it, or of its samples."""
        return f"samples/{self.sample}" if self.sampled else f"findings/{self.code}"

    @property
    def sampled(self) -> bool:
        """Return True if samples find it."""
        return bool(self.sample) and self.renewed is None

    @property
    def late(self) -> bool:
        """Return True if its nodes are late, as their claim says.

        Evidence: ``why``, None if they wait for nothing but a worker.
        """
        return self.finder and self.code == "late"

    @property
    def several(self) -> str:
        """Noun for its causes, of which three and more are one incident, or ""."""
        return "workers" if self.finder and self.code == "owner_dead" else ""

    @property
    def newest_first(self) -> bool:
        """Return True if its statement begins with the newest nodes, because they fail."""
        return self.symptom == "failing" and not self.sampled


class Worker(Record, forbid_unknown_fields=True):
    """Statements of one kind of worker. The console checks if its role may run them."""

    DERIVED = ("title",)

    title: str
    # ``"UPDATE task"``, ``"EXECUTE send"``; ``"UPDATE pgmq.q_*"``: on tables whose names begin so, for its own queues
    privileges: tuple[Privilege, ...]
    channels: tuple[str, ...] = ()  # that it notifies or listens to
    indexes: tuple[str, ...] = ()  # that its dequeue needs: statements that create them


class Own(Record):
    """Objects on the engine's tables that belong to the engine.

    They come from the facts in ``catalog.toml``.

    Objects and columns are written by their meaning, as ``server/findings/catalog.sql`` spells it. ``objects``
    are those of any version, ``unique`` the unique indexes of every version, ``always`` its checks, foreign keys,
    defaults, triggers and functions. ``columns`` are those of any version with their types, by table. ``varies``:
    what the engine itself may change.
    """

    objects: tuple[str, ...] = ()
    unique: tuple[str, ...] = ()
    always: tuple[str, ...] = ()
    columns: dict[str, tuple[str, ...]] = {}
    varies: tuple[str, ...] = ()


NO_TIME = "NULL::timestamptz"  # of a claim that does not say it


class Condition(Record, forbid_unknown_fields=True):
    """Condition under which workers take a node."""

    DERIVED = ("name", "needs")

    name: str
    holds: str  # SQL of the row ``t``: true, false, or NULL where it is not known
    shows: str = "NULL"  # SQL of the value that decides
    holder: str = "NULL"  # SQL of the id of the node that keeps it from holding
    why: str = ""  # SQL of a sentence, if a node that is due may be late because it fails
    needs: tuple[str, ...] = ()  # of the optional tables that it reads, without which it is not known


class Claim(Record, forbid_unknown_fields=True):
    """Claim of workers on nodes of a kind: the engine's dequeue, in its order."""

    DERIVED = ("kind", "queue_id")

    kind: str
    conditions: Annotated[tuple[Condition, ...], msgspec.Meta(min_length=1, description=A_CONDITION)]  # by name
    proof: Proof = Proof.VERIFIED  # assumed: no author and no worker's statement says it, so no action is available
    order: str = ""  # SQL: in which a worker takes the nodes; default: as they are due
    # Condition of the rows that are counted -> order of the index that leads to them; default: unfinished statuses
    unfinished: dict[str, str] = {}
    finders: tuple[Literal["late", "owner_dead", "failing"], ...] = ()  # findings that follow from it
    # Rows -> names in ``needs`` that lead to them; default: that of the status, and for ``late`` rows those of
    # ``unfinished``. Without one for ``failed``, the newest nodes are looked at
    needs: dict[Literal["unfinished", "late", "running", "failed"], tuple[str, ...]] = {}
    beside: dict[str, str] = {}  # name -> query over the row ``t``, whose first row the conditions may name
    queue: str = "NULL"  # SQL of what a worker must serve
    queue_id: str = "NULL"  # SQL of the id of its node, of the kind ``noun``
    since: str = NO_TIME  # SQL of the time since which it could be taken; default: the column ``due_at``
    owner: str = "NULL"  # SQL of who has taken a running row; default: the column ``owner``
    taken: str = NO_TIME  # SQL: since when
    held: str = NO_TIME  # SQL: until when
    seen: str = ""  # SQL of the last sign of life of its owner
    dead: str = ""  # SQL: its owner is dead; default: it is not ``held`` any more
    running: dict[str, str] = {}  # conditions of running rows, if others than ``unfinished`` lead to them
    # Finder -> SQL of a limited FROM item, instead of the table, or a part. One that reads ``:ids`` has more columns
    rows: dict[str, str] = {}
    more: dict[str, str] = {}  # finder -> SQL, true if its ``rows`` may omit nodes
    noun: str = "queue"  # word for a queue
    failed: dict[str, str] = {}  # conditions of nodes that no worker takes again; default: failed statuses
    failed_at: str = NO_TIME  # SQL: when it failed; default: the column ``changed_at``
    sort: str = ""  # SQL of the name of the work; default: that of the queue
    created: str = NO_TIME  # SQL, if the key grows: the newest rows show what comes and ends
    ended: str = NO_TIME  # SQL: when it ended
    # A query of few rows ``queue``, ``sort``, ``at`` and ``what`` (came, took, ended, failed) of the history; it may
    # have a column ``began``
    signs: str = ""
    revised: str = "NULL"  # SQL: how often a waiting row was put off

    @property
    def rank(self) -> tuple[str, str]:
        """SQL and name of what comes before age in the order of workers, or ""."""
        terms = (term.removesuffix(" DESC") for term in self.order.split(", "))
        term = next((each for each in terms if each != self.queue), "")
        name = re.fullmatch(r"\w+\.(\w+)", term)
        aged = name and any(re.search(rf"\b{name[1]}\b", sql) for sql in (self.since, self.created))
        return (term, name[1]) if name and not aged and name[1] != "id" else ("NULL", "")


def finders(claim: Claim) -> Iterator[FindingSpec]:
    """Yield the findings that follow from a claim, with their names in all engines."""
    noun, of = noun_of(claim.kind), f" of the {claim.noun} {{{claim.noun}}}" if claim.queue != "NULL" else ""
    resource = ("resource",) if any(each.why for each in claim.conditions) else ()
    nouns, failed = plural(noun), claim.failed_at != NO_TIME
    at, first = (" at {taken}", ", the first at {taken},") if claim.taken != NO_TIME else ("", "")
    if "late" in claim.finders:
        yield FindingSpec(
            code="late",
            kind=claim.kind,
            sentence=f"[The {noun}{of} is due|{{n}} {nouns}{of} are due, the first] since {{since}}, "
            "and no worker has taken [it|them]. {why}.",
            cause=(*((claim.noun,) if of else ()), *resource),
            symptom="late",
            severity=6,
            remedy="Look at the workers, and at what they run: unstick why.",
            finder=True,
        )
    if "owner_dead" in claim.finders:
        yield FindingSpec(
            code="owner_dead",
            kind=claim.kind,
            sentence=f"{{owner}} took [the {noun}{at}|{{n}} {nouns}{first}] and gives no sign of life. "
            "No worker takes [it|them].",
            cause=("owner",),
            symptom="dead_owner",
            explains={"resource": ("late",)} if resource and "late" in claim.finders else {},
            severity=8,
            action="release",
            finder=True,
        )
    if "failing" in claim.finders:
        yield FindingSpec(
            code="failing",
            kind=claim.kind,
            sentence=f"[The {noun}{of} failed{' at {failed}' if failed else ''}|"
            f"{{n}} {nouns}{of} failed{', the last at {failed}' if failed else ''}]: {{error}}.",
            cause=(claim.noun,) if of else (),
            cause_text=("error",),
            symptom="failing",
            severity=5,
            remedy=f"Remove the cause of the error first. {nouns.capitalize()} that run before fail again.",
            action="retry",
            finder=True,
        )


def _with_needs(condition: Condition, beside: Mapping[str, str], optional: Mapping[str, str]) -> Condition:
    """Return a condition with the needs of the optional tables that it reads.

    ``optional``: table of each such need.
    """
    text = " ".join((condition.holds, condition.shows, condition.holder))
    text += " ".join(query for name, query in beside.items() if re.search(rf"\b{name}\.", text))
    names = tuple(name for name, table in optional.items() if re.search(rf"\b{table}\b", text))
    return msgspec.structs.replace(condition, needs=names) if names else condition


def _with_own(finder: FindingSpec, own: FindingSpec) -> FindingSpec:
    """Return a finding that follows from a claim, with what the engine says of it."""
    default = FindingSpec(code=own.code)
    said = {name: value for name, value in msgspec.structs.asdict(own).items() if value != getattr(default, name)}
    return msgspec.structs.replace(finder, **said)


HARMS = {
    **dict.fromkeys(("retry", "restart", "run_now"), "runs work twice"),
    **dict.fromkeys(("delete", "drop"), "deletes something"),
    "cancel": "ends work that cannot be got back",
}  # actions that no guess suggests, with what they do
GONE = "gone"  # name of the argument by which an operator says that an owner is gone although a witness is alive


class Argument(Record, forbid_unknown_fields=True):
    """A value that an action requires from the operator."""

    DERIVED = ("name", "default")

    name: str
    title: str  # what the dialog asks
    # document: a stored JSON text to edit, which the file's section ``document`` reads;
    # title: the node's title up to the last ``" - "``, which the operator types in production only
    type: Literal["text", "int", "flag", "choice", "json", "document", "title"] = "text"
    required: bool = False  # the operator must give it
    choices: tuple[str, ...] = ()  # of a choice; the first one is the default, unless it is ``required``
    default: str = ""

    def __post_init__(self) -> None:
        if self.choices:
            force_setattr(self, "type", "choice")
        if self.choices and not self.required:
            force_setattr(self, "default", self.choices[0])


class Refusal(Record, forbid_unknown_fields=True):
    """Condition under which an action refuses a node."""

    when: str  # SQL
    why: str  # the reason; ``{name}`` in it is a threshold, ``{status}`` the node's status


RECORDED = tuple(name for name in Node.__struct_fields__[-len(Node.__struct_defaults__) :] if name != "findings")
"""Columns of a node that an engine may not record."""

TITLE_END = " - "  # between the name of a node and its progress

# Keys of the actions that many engines have. An action never means two things, and neither does its key.
KEYS = {
    "wake": "W",
    "release": "L",
    "retry": "T",
    "restart": "R",
    "cancel": "C",
    "pause": "P",
    "resume": "U",
    "edit": "J",
    "delete": "D",
    "send": "M",
    "skip": "K",
    "run_now": "N",
    "mark_failed": "X",
    "abort": "A",
}
TITLES = {"edit": "Edit and retry", "send": "Send message"}  # other than their names
_VARYING: dict[Varying, str] = {  # words of SQL whose value differs between two transactions
    "time": r"\b(?:now|clock_timestamp|statement_timestamp|current_timestamp|localtimestamp)\b",
    "key": r"\bnextval\b",
    "token": r"\b(?:gen_random_uuid|pg_current_xact_id)\b",
    "operator": r":operator\b",
}
_PLAIN_KEY = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:@/+-]*")


class Action(Record, forbid_unknown_fields=True, rename={"from_": "from"}):
    """An action on nodes of these kinds, in these phases (empty: in any phase).

    With ``set`` or ``delete``, its statements are derived: it sets these columns or deletes the rows, of nodes that
    have one of the statuses or phases ``from`` and that no ``refuse`` excludes.
    """

    DERIVED = ("name", "key", "file", "overwrites", "privileges", "needs", "waits", "arguments")

    name: Name
    key: str = KEY_OF_NAME
    title: str = ""  # default: the name, or what other actions of the name have
    kinds: tuple[str, ...] = ()  # default: the only kind, or those of other actions of the name
    support: Support = Support.NATIVE  # emulated if there is a ``why``
    from_: tuple[str, ...] = ()  # statuses or phases of the nodes; default: any
    set: dict[str, str] = {}  # SQL by column, with thresholds and arguments as ``:name``
    delete: bool = False  # it deletes the rows
    refuse: tuple[Refusal, ...] = ()  # conditions under which it refuses a node
    effect: str = ""  # default: what ``set`` or ``delete`` does
    next: str = ""  # what the engine does afterwards
    why: str = ""  # why it is no action of the engine, or why unstick cannot carry it out
    # Of an external action: what to run, by the place where it is run; ``{key}`` is that of the node
    command: dict[str, str] = {}
    file: str = ""  # default: NAME_KIND, if there is such a file, or the name
    phases: tuple[Phase, ...] = ()  # default: those of ``from``
    risk: Risk = Risk.MEDIUM  # high if the confirmation is typed
    proof: Proof = Proof.VERIFIED  # assumed: not compared with the engine's source
    fences: bool = False  # the engine discards what an owner that lives does afterwards
    guard: str = "rows"  # "rows": no touched row may have changed since the dry run; "node": the node may not
    confirm: str = "button"  # or "typed"
    undo: Undo | None = None  # follows from its statements; none: it cannot be undone
    undo_note: str = ""  # why it cannot be undone, or what an undo leaves as it is
    # By its statements: ``table.column``, or ``table.*`` for a table whose rows they insert or delete
    overwrites: tuple[str, ...] = ()
    privileges: tuple[Privilege, ...] = ()  # that its statements need
    needs: tuple[str, ...] = ()  # of its section ``change``, and of functions that its statements call
    waits: bool = False  # the operator may wait for nodes that a ``refused`` row marks ``for_now``
    arguments: tuple[Argument, ...] = ()  # those of the engine that its statements name
    when: dict[str, str] = {}  # options that must have these values, for actions that differ by variant

    def __post_init__(self) -> None:
        if self.why and self.support is Support.NATIVE:
            force_setattr(self, "support", Support.EMULATED)
        if self.confirm == "typed":
            force_setattr(self, "risk", Risk.HIGH)
        if not self.effect and (self.set or self.delete):
            sets = ", ".join(f"{column} = {value}" for column, value in self.set.items())
            force_setattr(self, "effect", "Deletes the row." if self.delete else f"Sets {sets}.")

    @property
    def writes(self) -> bool:
        """Return True if unstick can carry the action out."""
        return self.support in (Support.NATIVE, Support.EMULATED)

    def commands(self, node_id: str) -> dict[str, str]:
        """Return its commands for a node, by the place where they are run.

        A key with characters that a shell or a language could take for more than text is left to the operator: ``KEY``.
        """
        key = split_id(node_id)[2]
        return {
            place: text.replace("{key}", key if _PLAIN_KEY.fullmatch(key) else "KEY")
            for place, text in self.command.items()
        }

    @property
    def undo_privileges(self) -> tuple[str, ...]:
        """Privileges that its undo needs in addition.

        It inserts deleted rows, and deletes inserted ones.
        """
        if self.undo is Undo.NONE:
            return ()
        whole = [name.removesuffix(".*") for name in self.overwrites if name.endswith(".*")]
        made = [table for table in whole if f"INSERT {table}" in self.privileges]
        return (*(f"INSERT {t}" for t in whole), *(f"{word} {t}" for t in made for word in ("UPDATE", "DELETE")))

    @property
    def document(self) -> Argument | None:
        """The argument that is a stored text to edit, or None."""
        return next((a for a in self.arguments if a.type == "document"), None)

    def overrules(self, arguments: Mapping[str, Any]) -> bool:
        """Return True if the operator takes work also from an owner that may live."""
        return not any(a.name == GONE for a in self.arguments) or arguments.get(GONE) is True

    @property
    def typed(self) -> tuple[Argument, ...]:
        """Arguments that the operator types: all but the text to edit."""
        return tuple(a for a in self.arguments if a.type != "document")

    @property
    def script(self) -> str:
        """Name of the action's file under ``actions/``."""
        return self.file or self.name


GROUP, OWNERS = "group", "owners"  # names of options that :class:`Option` explains


class Option(Record, forbid_unknown_fields=True):
    """Setting of an engine: a choice, any text, or a table of names to texts.

    The choices of the option ``group`` group the engine's tree, and a key selects the next one. The names in the option
    ``owners`` are columns of other tables, ``table.column`` or ``*.column``, that hold keys of the first kind; actions
    that delete rows read them.
    """

    choices: tuple[str, ...] = ()  # its values; an action for one with the name of a need requires that need
    default: str | dict[str, str] = ""  # its value


class EngineSpec(Record, forbid_unknown_fields=True):
    """The content of ``engine.toml``."""

    DERIVED = ("own", "append_only")

    title: str  # on screen
    about: str  # what the engine is, in a sentence
    recognise: Recognise  # structure that identifies it
    kinds: tuple[Kind, ...]  # by name
    # A sentence: what a dead letter is in this engine, or why there are none. ``dead.sql`` follows from it and from the
    # failed statuses of a table, by the column ``due_at`` or the key
    dead: str = ""
    declines: dict[str, tuple[str, ...]] = {}  # the reason shown -> relations that only a lookalike has, all of them
    # What needs its schema on the search_path, because it uses unqualified names: nothing, the statements of its
    # workers, or its functions and triggers, too
    unqualified: Literal["nothing", "workers", "functions"] = "workers"
    needs: dict[str, Need] = {}  # conditions for cheap statements, by name
    statuses: tuple[Status, ...] = ()  # by native status: ``"phase: meaning"``
    stale_by: tuple[str, ...] = ()  # unique indexes (``*``: any text) that a concurrent change violates
    thresholds: dict[str, str | int | float | dict[str, str | int | float]] = {}  # by name, or by kind and name
    thresholds_by: ColumnOfRow = ""  # column of a row ``t``: its kind. ``:stale_of_kind`` is then the threshold for it
    options: dict[str, Option] = {}  # settings of the engine, by name
    findings: tuple[FindingSpec, ...] = ()  # by code
    actions: tuple[Action, ...] = ()  # by name
    keys: dict[Key, str] = {}  # key -> action that has another one, or none, in other engines
    arguments: dict[str, Argument] = {}  # by name, each for the actions whose statements name it
    workers: tuple[Worker, ...] = ()  # by title
    own: Own = Own()
    # "UPDATE task", "EXECUTE send" -> columns and privileges that an action with this effect overwrites and needs in
    # addition, by triggers, cascades and functions
    effects: dict[Privilege, tuple[str, ...]] = {}
    # Columns that an undo increases and never sets back, as ``table.column``, because writers compare them
    counters: tuple[str, ...] = ()
    append_only: tuple[str, ...] = ()  # tables in which an undo changes no row: ``undo/<table>.sql`` adds one
    # Columns that may differ between dry run and commit: ``table.column``, ``table.column.name`` for a member of a JSON
    # object, ``schema.q_*.column`` of tables in another schema. What actions ``set`` follows
    varies: Varies = {}
    # Kind -> how the fingerprints of its dead letters begin -> action that revives these; default: ``retry``
    redrive: dict[str, dict[str, str]] = {}
    claim: tuple[Claim, ...] = ()  # by kind: what a worker would take
    # Table whose new rows are new work -> what happens to the row of finished work; default: work is not counted
    flow: dict[str, Literal["kept", "deleted"]] = {}

    def __post_init__(self) -> None:
        """Add what follows from other settings, where it is not there yet."""
        force_setattr(self, "kinds", tuple(map(self._with_columns, self.kinds)))
        force_setattr(self, "varies", self._with_set(self.varies))
        force_setattr(self, "claim", tuple(map(self._with_kind, self.claim)))
        actions = {action.name for action in self.actions}
        found = (each for claim in self.claim for each in finders(claim))
        derived = {f.code: f if f.action in actions else msgspec.structs.replace(f, action=None) for f in found}
        own = [_with_own(derived.pop(each.code), each) if each.code in derived else each for each in self.findings]
        force_setattr(self, "findings", (*own, *derived.values()))
        if not all(map(_is_complete, self.actions)):
            force_setattr(self, "actions", tuple(map(self._completed, self.actions)))

    @property
    def privileges(self) -> frozenset[str]:
        """Privileges that the actions need."""
        return frozenset(privilege for action in self.actions for privilege in action.privileges)

    @property
    def deletes(self) -> bool | None:
        """Return True if rows of finished work are deleted, None if work is not counted."""
        return next((rows == "deleted" for rows in self.flow.values()), None)

    @property
    def threshold_field(self) -> str:
        """Field of a sample with its kind: the column in ``thresholds_by``."""
        return self.thresholds_by.removeprefix("t.").partition("::")[0]

    @property
    def parents(self) -> frozenset[str]:
        """Kinds whose nodes may have children."""
        below = (kind.below for kind in self.kinds if kind.parent)
        return frozenset((*below, *(kind.name for kind in self.kinds if kind.children)))

    @property
    def revived(self) -> frozenset[str]:
        """Kinds whose dead letters an action revives."""
        retried = (kind for a in self.actions if a.name == "retry" and a.writes for kind in a.kinds)
        return frozenset(self.redrive or retried)

    def revival(self, kind: str, fingerprint: str) -> str:
        """Return the name of the action that revives a dead letter, or ""."""
        causes = self.redrive.get(kind, {} if self.redrive else {"": "retry"})
        action = next((action for cause, action in causes.items() if fingerprint.startswith(cause)), "")
        return action if kind in self.revived else ""

    def kind_of(self, finding: FindingSpec) -> str:
        """Return the kind of a finding's nodes: the written one, the only one, or ""."""
        return finding.kind or (self.kinds[0].name if len(self.kinds) == 1 else "")

    def statuses_of(self, words: Iterable[str]) -> dict[str, tuple[Status, ...]]:
        """Return the statuses that are, or have a phase that is, one of these words."""
        matches: dict[str, tuple[Status, ...]] = {}
        natives = {status.native for status in self.statuses}
        for word in words:
            for status in self.statuses:
                if word == (status.native if word in natives else status.phase):
                    matches[status.native] = (*matches.get(status.native, ()), status)
        return matches

    def _with_columns(self, kind: Kind) -> Kind:
        """Return a kind with the columns of its table that a node has by the same name."""
        relation = self.recognise.relations.get(kind.table, {})
        same = {name: name for name in ("title", *RECORDED) if name in relation and not name.endswith("_id")}
        return msgspec.structs.replace(kind, columns={**same, **kind.columns}) if same.keys() - kind.columns else kind

    def _with_kind(self, claim: Claim) -> Claim:
        """Return a claim with what the columns of its kind say."""
        kind = next((kind for kind in self.kinds if kind.name == claim.kind), None)
        if kind is None:
            return claim
        relation = self.recognise.relations.get(kind.table, {})
        optional = {name: need.table for name, need in self.needs.items() if need.table in self.recognise.optional}
        of = {name: column for name, column in kind.columns.items() if column in relation}
        of_queue = "NULL"
        if kind.below == claim.noun != kind.name:
            of_queue = f"t.{sql_name(kind.parent)}"
        elif claim.queue != "NULL" and any(each.name == claim.noun and not each.table for each in self.kinds):
            of_queue = claim.queue
        due, owner = (f"t.{sql_name(of[n])}" if n in of else "" for n in ("due_at", "owner"))
        return msgspec.structs.replace(
            claim,
            conditions=tuple(_with_needs(each, claim.beside, optional) for each in claim.conditions),
            queue_id=of_queue if of_queue == "NULL" else f"'{claim.noun}:' || ({of_queue})",
            since=claim.since if claim.since != NO_TIME else of.get("due_at", NO_TIME),
            owner=claim.owner if claim.owner != "NULL" else owner or "NULL",
            order=claim.order or ", ".join(filter(None, (due, f"t.{sql_name(kind.key)}"))),
            failed_at=claim.failed_at if claim.failed_at != NO_TIME else of.get("changed_at", NO_TIME),
        )

    def _with_set(self, varies: Varies) -> Varies:
        """Return what may differ, with what follows from the columns that actions set."""
        tables = {kind.name: kind.table for kind in self.kinds}
        only = next(iter(tables.values())) if len(tables) == 1 else ""
        names = {kind: list(varies.get(kind, ())) for kind in _VARYING}
        for action in self.actions:
            for column, text in action.set.items():
                for kind, words in _VARYING.items():
                    name = f"{tables.get(next(iter(action.kinds), ''), only)}.{column}"
                    if name not in names[kind] and re.search(words, text):
                        names[kind].append(name)
        return {kind: tuple(each) for kind, each in names.items()}

    def _completed(self, action: Action) -> Action:
        """Return an action with its title, key, kinds and phases.

        An action that unstick cannot carry out has title, key and kinds of the others of its name.
        """
        keys = {**KEYS, **{name: key for key, name in self.keys.items()}}
        others = [] if action.writes else [a for a in self.actions if a.name == action.name and a is not action]
        every = tuple(kind.name for kind in self.kinds)
        shared = every if len(every) == 1 else tuple(dict.fromkeys(kind for each in others for kind in each.kinds))
        theirs = next((each.title for each in others if each.title), "")
        phases = {each.phase for some in self.statuses_of(action.from_).values() for each in some}
        return msgspec.structs.replace(
            action,
            title=action.title or theirs or TITLES.get(action.name, action.name.replace("_", " ").capitalize()),
            key=keys.get(action.name, "") if action.key == KEY_OF_NAME else action.key,
            kinds=action.kinds or shared,
            phases=action.phases or tuple(phase for phase in Phase if phase in phases),
        )


def _is_complete(action: Action) -> bool:
    """Return True if nothing of an action follows from other settings."""
    named = action.title != "" and action.key != KEY_OF_NAME
    return named and bool(action.kinds) and bool(action.phases or not action.from_)
