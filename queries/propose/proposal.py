"""Proposal of an engine: what each column is for, states, actions and questions.

``names.toml`` has the names and words by which columns and statuses are recognised.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal

import msgspec

from queries.contract.id_forms import KEY_TYPES
from queries.contract.spec import A_NAME, KEY_SEPARATOR
from queries.db.database import Database
from queries.db.errors import DatabaseError, attempted
from queries.files.toml_file import TomlFile
from queries.propose.catalog import Beside, Column, NoProposalError, Table, read_alike, read_words, with_units
from queries.propose.worker import Taking, WorkerStatement, unread
from queries.records.action import FREEING
from queries.records.node import Phase
from queries.records.record import Record
from queries.text.psql_text import literal, quoted_name

HELD = ("owner", "taken", "heartbeat", "lease")  # roles of the columns that a worker sets when it takes a task
SIGNS = ("heartbeat", "lease", "taken", "changed")  # roles of the columns that tell when a worker last did something
FINDINGS = ("late", "owner_dead", "failing", "dead_letters")
FAILED_AT = ("failed", "finished", "changed")  # roles of the columns that tell when work failed
LEARNED = ("bool", "int2", "int4", "int8", "text", "varchar", "bpchar", "uuid", "timestamp", "timestamptz", "_text")
OVER = ("failed", "finished")  # roles of the times at which a worker was done with a row
FLAGS = ("is_taken", "is_over", "is_failed")  # roles of columns that are true or false
DOCUMENTS = ("json", "jsonb", "text", "varchar")  # types of columns that may repeat the status
DOCUMENT_ROWS = 1_000  # whose documents are compared with their status
MOST_ROWS = 100_000  # newest rows whose statuses are read for a proposal
GIVEN_UP = "given up"  # status of a row whose attempts are used up
WAITING = (Phase.READY, Phase.SCHEDULED)
LIFE = (Phase.READY, Phase.RUNNING, Phase.DONE, Phase.FAILED)
# Phases that a status may have whose rows show this; the first is that of an unknown word
_ALLOWED = {
    "over": (Phase.DONE, Phase.CANCELLED, Phase.FAILED),
    "failed": (Phase.FAILED, Phase.CANCELLED),
    "error": (Phase.FAILED, Phase.CANCELLED, Phase.SCHEDULED, Phase.READY),  # perhaps of a try before
    "running": (Phase.RUNNING,),
    "scheduled": (Phase.SCHEDULED, Phase.READY, Phase.HELD, Phase.BLOCKED),
    "waiting": (Phase.READY, Phase.SCHEDULED, Phase.BLOCKED, Phase.HELD),
}
_ZEROS = ("0", "-1", "", "epoch", "1970-01-01 00:00:00+00", "1970-01-01 00:00:00", "0001-01-01 00:00:00")
_TIMES = ("due", "finished", "failed", "created", *SIGNS)
_STATE_NAME = re.compile(r"(?:^|_)stat(?:e(?!ment)|us)")
_TIME_NAME = re.compile(r"(?:^|_)(?:time|date|eta|timestamp|ts)(?:_|$)|_(?:at|on|ms|before|after)$")
_DEFAULT_WORD = re.compile(r"'((?:[^']|'')*)'::|(-?\d+)$")
_CONSTANT = re.compile(r"E?'(?:[^']|'')*'(?:::[\w .\"\[\]]+)?|-?[0-9.]+|true|false|now\(\)|CURRENT_TIMESTAMP")
_WORD_END = re.compile("(?<=[a-z0-9])(?=[A-Z])")  # in names such as lockedAt
_SHORT = 2  # length of words that are split from a longer one only at its end, such as at
_PLURALS = (
    ("(?<=series|pecies)$", ""),
    ("(?<=[iu]s)$", ""),
    ("(?<=[^aeiou_])ies$", "y"),
    ("(?<=ss|sh|ch|.x|zz)es$", ""),
    ("(?<=[^s])s$", ""),
)


class Role(Record, forbid_unknown_fields=True):
    """Purpose of a column, and the types and names that such a column has.

    ``like``: pattern of names that suggest the role. ``releasable``: only a column that an action can empty.
    ``of_key``: only a column of the key's type.
    """

    name: str
    types: tuple[str, ...]
    names: tuple[str, ...] = ()
    like: str = ""
    releasable: bool = False
    of_key: bool = False


class TimeFormat(Record, forbid_unknown_fields=True):
    """Expressions from a stored time to a node's time and to a moment, and back."""

    node: str
    moment: str
    stored: str


class Names(Record, forbid_unknown_fields=True):
    """The content of ``names.toml``."""

    words: str
    phases: dict[Phase, tuple[str, ...]]
    machines: tuple[str, ...]
    marks: dict[str, tuple[str, ...]]
    work: str
    aside: str
    people: str
    past: str
    people_words: tuple[str, ...]
    guesses: dict[Phase, str]
    roles: tuple[Role, ...]
    times: dict[str, TimeFormat]
    keys: dict[str, str]
    parts: dict[str, tuple[str, ...]]
    lacks: dict[str, str]
    questions: dict[str, str]
    zeros: dict[str, str]


class StatusRows(Record):
    """Rows of a status: their number, and the share in which each role is set.

    ``shares`` also has ``later``, of those due later, and ``ROLE!``, of those whose column has a value for none: 0.
    """

    n: int
    shares: Mapping[str, float]

    def over(self, *roles: str, least: float = 0.9) -> bool:
        """Return True if nearly all rows have one of these."""
        return any(self.shares.get(role, 0.0) > least for role in roles)


class AuthorQuestion(Record):
    """A question about the engine that only its authors can answer."""

    code: str
    text: str


class ProposedStatus(Record):
    """A status and its phase. ``condition``: of its rows, if the table has no status."""

    word: str
    phase: Phase
    condition: str = ""
    guessed: bool = False
    doubt: str = ""  # what the rows say, if they say another phase than the word


class Missing(Record):
    """A finding or an action that cannot be proposed."""

    name: str
    why: str


class ProposedAction(Record):
    """A proposed action: the phases that it is for, and the columns that it sets.

    ``refused``: SQL condition of rows that it refuses, or "". ``why``: the reason.
    """

    name: str
    phases: tuple[Phase, ...]
    sets: tuple[tuple[Column, str], ...]
    effect: str
    refused: str = ""
    why: str = ""


class Proposal(Record):
    """An engine proposed for a table.

    ``guessed``: the roles that a pattern found. ``sampled``: the statuses come from rows.
    """

    name: str
    kind: str
    table: Table
    key: Column
    roles: Mapping[str, Column]
    guessed: tuple[str, ...] = ()
    states: tuple[ProposedStatus, ...] = ()
    sampled: bool = False
    keys: tuple[str, ...] = ()  # columns of a key of several; ``key`` is then the first
    rows: int = 0  # that were looked at
    zeros: frozenset[str] = frozenset()  # roles whose columns have a value that means none, such as 0
    learned: Mapping[str, str] = {}  # columns that a release sets, as rows that wait have them
    taking: Taking | None = None  # what a worker's statement asks of a row
    met: Mapping[str, int] = {}  # rows that meet it, by status
    typical: Mapping[str, str] = {}  # what most of these have in columns without a role, as SQL
    unmet: Mapping[str, str] = {}  # actions that are not proposed, with the reason
    questions: tuple[AuthorQuestion, ...] = ()
    actions: tuple[ProposedAction, ...] = ()

    def of(self, *phases: Phase) -> tuple[ProposedStatus, ...]:
        """Return the states of these phases."""
        return tuple(state for state in self.states if state.phase in phases)

    def words(self, *phases: Phase) -> list[str]:
        """Return names in ``engine.toml`` for those of these phases that a row can have.

        A name that is a phase and a status is taken for the status: then they are the statuses.
        """
        words, there = {state.word for state in self.states}, {state.phase for state in self.states}
        there |= {Phase.RUNNING} if self.taken else set()
        there |= {Phase.SCHEDULED} if self.splits and Phase.READY in there else set()
        names: list[str] = []
        for phase in phases:
            names += [state.word for state in self.of(phase)] if phase in words else [str(phase)] * (phase in there)
        return names

    def column(self, role: str) -> str:
        """Return the column of a role as SQL, or ""."""
        return self.roles[role].sql if role in self.roles else ""

    def time(self, role: str, of: Literal["node", "moment"]) -> str:
        """Return the time of a role: the name of its column, or SQL."""
        column = self.roles[role]
        expression: str = getattr(names().times[column.form], of)
        return column.name if expression == "{}" else expression.format(column.sql)

    def is_set(self, role: str) -> str:
        """Return the condition that the column of a role has a value."""
        sql = self.roles[role].sql
        return _is_set(self.roles[role]) if role in (*FLAGS, *self.zeros) else f"{sql} IS NOT NULL"

    def moment(self, role: str) -> str:
        """Return the time of a role as SQL."""
        return names().times[self.roles[role].form].moment.format(self.roles[role].sql)

    def stored(self, role: str, moment: str) -> str:
        """Return a moment as a value of the role's column."""
        return names().times[self.roles[role].form].stored.format(moment)

    @property
    def status(self) -> str:
        """The status of a row as SQL."""
        if "status" in self.roles:
            return self.column("status")
        cases = (f"WHEN {state.condition} THEN {literal(state.word)}" for state in self.states if state.condition)
        last = literal(self.states[-1].word)
        return f"CASE {' '.join(cases)} ELSE {last} END" if len(self.states) > 1 else last

    @property
    def splits(self) -> bool:
        """True if rows that wait for a worker are scheduled until they are due."""
        return "due" in self.roles and all(state.word != Phase.SCHEDULED for state in self.states)

    @property
    def taken(self) -> str:
        """SQL condition of a row that a worker has taken, or "" if its status tells it."""
        locks = [role for role in HELD if role in self.roles]
        free = [role for role in locks if not self.roles[role].required or role in self.zeros]
        alone = "status" in self.roles and not self.of(Phase.RUNNING) and len(locks) > 1
        return self.is_set(free[0]) if alone and free else ""

    def lacks(self, part: str) -> str:
        """Return why a finding or an action cannot be proposed, or ""."""
        by_status, roles = "status" in self.roles, self.roles
        if part not in FINDINGS and re.fullmatch(names().past, plain_name(self.table.name)):
            return names().lacks["past"]
        if part in self.unmet:
            return self.unmet[part]
        there: dict[str, Any] = {
            "waiting": self.of(*WAITING),
            "due": "due" in roles,
            "running": self.of(Phase.RUNNING) or (self.taken and self.of(*WAITING)),
            "sign": self.sign,
            "failed_states": self.of(Phase.FAILED),
            "claim": not (self.lacks("late") and self.lacks("owner_dead")) if part == "failing" else True,
            "cancelled_states": self.of(Phase.CANCELLED),
            "ready": self.ready,
            "over": by_status
            or GIVEN_UP in (s.word for s in self.states)
            or (self.ready and any(emptied(roles.get(role)) for role in OVER)),
            "free": by_status or self.learned or any(emptied(roles.get(role)) for role in (*HELD, "is_taken")),
        }
        return next((names().lacks[need] for need in names().parts[part] if not there[need]), "")

    @property
    def missing(self) -> tuple[Missing, ...]:
        """Findings and actions that cannot be proposed."""
        whys = ((part, self.lacks(part)) for part in names().parts)
        return tuple(Missing(name=part, why=why) for part, why in whys if why)

    @property
    def findings(self) -> tuple[str, ...]:
        """Findings, and dead letters, that can be proposed."""
        return tuple(name for name in FINDINGS if not self.lacks(name))

    @property
    def ready(self) -> ProposedStatus | None:
        """The state that a worker takes: that of a new row, or the most usual word."""
        ready = self.of(Phase.READY)
        if claimed := [s for s in self.states if s.word in self.met and s.phase is not Phase.RUNNING]:
            return max(claimed, key=lambda state: self.met[state.word])
        by_default = [state for state in ready if state.word == self.default_word]
        usual = names().phases[Phase.READY]
        by_name = sorted(ready, key=lambda state: (state.guessed, [*usual, plain(state.word)].index(plain(state.word))))
        return next(iter(by_default or by_name), None)

    @property
    def default_word(self) -> str:
        """The status of a new row, or ""."""
        match = _DEFAULT_WORD.match(self.roles["status"].default) if "status" in self.roles else None
        return (match[1] or match[2] or "").replace("''", "'") if match else ""

    @property
    def sign(self) -> str:
        """The role of the column that tells when a worker last did something, or ""."""
        return next((role for role in SIGNS if role in self.roles), "")

    @property
    def sign_sql(self) -> str:
        """SQL of the last sign of a worker, or of the time when it took the row."""
        sign, taken = self.roles[self.sign], self.roles.get("taken", self.roles[self.sign])
        first = sign is not taken and not sign.required and sign.type == taken.type
        return f"coalesce({sign.sql}, {taken.sql})" if first else sign.sql


@cache
def names() -> Names:
    """Return the content of ``names.toml``."""
    path = Path(__file__).parent / "names.toml"
    return TomlFile(str(path), path.read_text("utf-8")).decode(Names)


async def propose(
    database: Database, table: Table, name: str, most: int = MOST_ROWS, statements: Iterable[tuple[str, str]] = ()
) -> Proposal:
    """Return the proposal for a table.

    ``statements``: where each was found, and its text; "": the author gave it. The first by which a worker takes rows
    that wait is the claim. Phases, and statuses that no type lists, come from ``most`` rows. Raises DatabaseErrors.
    """
    proposal = await _of_rows(database, await with_units(database, table, most), name, most)
    for source, statement in statements:
        with contextlib.suppress(*[NoProposalError] * bool(source)):
            proposal = await _claimed(database, proposal, statement, most, source)
            break
    if most == MOST_ROWS and (document := await _repeating(database, proposal)):  # a guess reads no documents
        why = names().lacks["document"].format(document)
        proposal = _completed(proposal, unmet={part: why for part in names().parts if part not in FINDINGS})
    if proposal.taking or any(action.name == "release" for action in proposal.actions):
        learned, typical = await _learned(database, proposal, most)
        proposal = _completed(proposal, learned=learned, typical=typical)
    if proposal.taking and proposal.actions:
        proposal = _completed(proposal, unmet=await _unmet(database, proposal, proposal.taking, most))
    return proposal


async def _claimed(database: Database, base: Proposal, statement: str, most: int, source: str = "") -> Proposal:
    """Return a proposal with the claim of a statement. Raises DatabaseErrors."""
    changed = {column.name for action in base.actions for column, _ in action.sets}
    values = {base.roles[role].name: "" for role in HELD if role in base.roles}
    values |= {c.name: base.stored(r, "now()") for r, c in base.roles.items() if r in ("due", "lease")}
    if source and base.ready and "status" in base.roles:  # the server has put parameters in place of values
        values[base.roles["status"].name] = literal(base.ready.word)
    taking = WorkerStatement(statement, base.table).taking(changed, values, found=bool(source))
    taking = msgspec.structs.replace(taking, source=source, text=" ".join(statement.split()))
    met = await _met(database, base, taking, most)
    if source and not (base.ready and max(met, key=met.__getitem__, default="") == base.ready.word):
        raise unread("it takes other rows than those that wait")
    return _completed(base, taking=taking, met=met)


async def _of_rows(database: Database, table: Table, name: str, most: int) -> Proposal:
    roles, _ = _roles(table, _key(table))
    status = roles.get("status")
    facts = _facts(roles)
    words = await read_words(database, table, status.sql if status else "NULL", [*facts.values()], most)
    if status and not any(word is not None for word, _, _ in words) and not status.words:
        words = await read_words(database, table, "NULL", [*facts.values()], most)
    rows = {word or "": StatusRows(n=n, shares=dict(zip(facts, shares, strict=True))) for word, n, shares in words}
    listed = status.words if status else ()
    there = () if listed or not status else [word for word in rows if word]
    given = listed or (sorted(there, key=int) if status and status.number else there)
    return proposal_of(table, name, given, sampled=status is not None and not listed, rows=rows)


def _completed(base: Proposal, **changes: Any) -> Proposal:
    """Return a proposal with changes, and the actions and questions that follow."""
    base = msgspec.structs.replace(base, **changes)
    base = msgspec.structs.replace(base, actions=tuple(_actions(base)))
    return msgspec.structs.replace(base, questions=tuple(_questions(base)))


async def _met(database: Database, base: Proposal, taking: Taking, most: int) -> dict[str, int]:
    """Return the rows of each status that meet a statement. Raises NoProposalError."""
    facts = [f"coalesce({_here(base, taking.whole)}, false)"]
    counts = await attempted(read_words(database, base.table, base.status, facts, most))
    if isinstance(counts, DatabaseError):
        raise unread(f"the server refuses {taking.whole}: {counts.line}")
    return {word or "": round(n * share) for word, n, (share,) in counts if share}


def _here(base: Proposal, sql: str) -> str:
    return sql.replace(':"schema"', quoted_name(base.table.schema))


def _groups(base: Proposal) -> dict[str, str]:
    """Return the rows of actions, as SQL by name."""
    taken = f" OR {base.taken}" if base.taken else ""
    due = f"{base.column('due')} > {base.stored('due', 'now()')}" if base.splits else ""
    later = f" OR ({one_of(base.status, base.of(Phase.READY))} AND {due})" if due else ""
    phases = {"release": Phase.RUNNING, "retry": Phase.FAILED, "wake": Phase.SCHEDULED}
    more = {"release": taken, "wake": later}
    return {name: one_of(base.status, base.of(phase)) + more.get(name, "") for name, phase in phases.items()}


async def _learned(database: Database, base: Proposal, most: int) -> tuple[dict[str, str], dict[str, str]]:
    """Return what only rows that wait share, and what they share of a statement."""
    waiting = _here(base, base.taking.whole) if base.taking and base.met else one_of(base.status, base.of(Phase.READY))
    group = f"CASE WHEN {_groups(base)['release']} THEN 'running' WHEN {waiting} THEN 'waiting' END"
    named = {column.name for role, column in base.roles.items() if role not in (*HELD, *OVER, *FLAGS, "is_free")}
    free = (c for c in base.table.columns if c.builtin and not c.generated and c.name != base.key.name)
    columns = [column for column in free if column.type in LEARNED]
    alike = await read_alike(database, base.table, group, columns, most)
    asked = {name for names in base.taking.columns.values() for name in names} if base.taking else set()
    runs, learned, typical = any(part == "running" for _, part in alike), dict[str, str](), dict[str, str]()
    for column in columns:
        held, idle = (alike.get((column.name, part), {}) for part in ("running", "waiting"))
        value, share = max(idle.items(), key=lambda each: each[1], default=(None, 0.0))
        shared = "NULL" if value is None else literal(value)
        by_chance = column.is_time and value not in (None, *_ZEROS)  # rows of one transaction
        if runs and share >= 0.95 and held.get(value, 0.0) <= 0.2 and column.name not in named and not by_chance:
            learned[column.name] = shared
        if column.name in asked - (named - {base.roles["left"].name if "left" in base.roles else ""}) and share > 0.5:
            typical[column.name] = shared
    return learned, typical


async def _unmet(database: Database, base: Proposal, taking: Taking, most: int) -> dict[str, str]:
    """Return actions after which most rows do not meet the statement, and why."""
    asked: dict[tuple[str, str], str] = {}
    for action in (each for each in base.actions if each.name in FREEING):
        values = {column.name: column.default if sql == "DEFAULT" else sql for column, sql in action.sets}
        known = all(sql != "DEFAULT" or _CONSTANT.fullmatch(column.default) for column, sql in action.sets)
        for name, condition in taking.conditions.items() if known else ():
            columns = [base.table.column(column) for column in taking.columns[name]]
            row = (f"({values.get(c.name, f't.{c.sql}')})::{c.sql_type} AS {c.sql}" for c in columns)
            now = _here(base, condition).replace("now()", "clock_timestamp()")  # a worker asks a moment later
            asked[action.name, name] = f"coalesce((SELECT {now} FROM (SELECT {', '.join(row)}) AS t), false)"
    group = " ".join(f"WHEN {rows} THEN {literal(name)}" for name, rows in _groups(base).items())
    unmet = {}
    for word, n, shares in await read_words(database, base.table, f"CASE {group} END", [*asked.values()], most):
        for (of, name), share in zip(asked, shares, strict=True):
            if of == word and share < 0.5:
                unmet[of] = names().lacks["unmet"].format(round(n * (1 - share)), n, taking.conditions[name])
    return unmet


async def _repeating(database: Database, base: Proposal) -> str:
    """Return the column of documents that repeat the status of their rows, or ""."""
    status = base.roles.get("status")
    columns = [c for c in base.table.columns if c.builtin and c.type in DOCUMENTS and c is not status]
    if status is None or not columns:
        return ""
    is_in = "left({0}::text, 1) IN ('{{', '[') AND position(lower({1}::text) || '\"' in lower({0}::text)) > 0"
    if status.number:
        is_in = "{0}::text ~* ('\"[^\"]*(stat|phase)[^\"]*\": ?' || {1}::text || '[,}}]')"
    facts = [f"coalesce({is_in.format(column.sql, status.sql)}, false)" for column in columns]
    every = [row[2] for row in await read_words(database, base.table, status.sql, facts, DOCUMENT_ROWS) if row[0]]
    return next((c.name for n, c in enumerate(columns) if every and all(each[n] > 0.9 for each in every)), "")


def proposal_of(
    table: Table,
    name: str,
    words: Sequence[str],
    *,
    sampled: bool = False,
    rows: Mapping[str, StatusRows] = {},
) -> Proposal:
    """Return the proposal for a table whose status has these words.

    ``sampled``: they were read from rows. ``rows``: those of each status. Raises NoProposalError.
    """
    key = _key(table)
    roles, guessed = _roles(table, key)
    roles, rows = _by_rows(roles, rows)
    rows, always = _telling(rows)
    roles = {role: column for role, column in roles.items() if role not in always}
    if "status" not in roles or not words:  # the states then come from other columns
        words = ()
        roles.pop("status", None)
    zeros = {role for role in (*HELD, *OVER) if role in roles and _has_zero(roles[role], role, rows)}
    base = Proposal(
        name=name,
        kind=_kind(table.name),
        table=table,
        key=key,
        keys=() if (key.name,) in table.keys and key.builtin and key.type in KEY_TYPES else table.keys[0],
        roles=roles,
        guessed=tuple(role for role in roles if role in guessed),
        sampled=sampled,
        rows=sum(each.n for each in rows.values()),
        zeros=frozenset(zeros),
    )
    states = _apart([settled(state_of(word), rows.get(word), word == base.default_word) for word in words], rows)
    odd = [s.word for s in states if s.guessed and s.phase is Phase.RUNNING and state_of(s.word).phase is Phase.UNKNOWN]
    if len(odd) > 1:  # workers leave their names in rows that are over, too
        states = tuple(ProposedStatus(word=s.word, phase=Phase.UNKNOWN) if s.word in odd else s for s in states)
    return _completed(base, states=states or tuple(_derived(base)))


def one_of(status: str, states: Sequence[ProposedStatus]) -> str:
    """Return the condition of rows of these states."""
    return f"({status}) IN ({', '.join(literal(state.word) for state in states)})" if states else "false"


def engine_name(table: str) -> str:
    """Return the name of an engine for a table."""
    return re.sub(r"[^a-z0-9]+", "_", table.lower()).strip("_0123456789")[:40] or "engine"


def _kind(table: str) -> str:
    name = engine_name(table)
    plural, one = next((each for each in _PLURALS if re.search(each[0], name)), ("$", ""))
    name = re.sub(plural, one, name)
    return name if re.fullmatch(A_NAME, name) else "task"


def _key(table: Table) -> Column:
    if "." in table.name:
        raise NoProposalError(f"The name {table.name} has a dot.", "A folder writes columns as table.column.")
    if odd_names := [name for columns in table.keys for name in columns if {",", KEY_SEPARATOR} & {*name}]:
        raise NoProposalError(f"The name {odd_names[0]} has a separator of keys.", "A folder writes keys as a, b.")
    single = [columns[0] for columns in table.keys if len(columns) == 1]
    if not table.keys:
        raise NoProposalError(f"The table {table.name} has no key.", "A row that has no key cannot be named again.")
    first = next((c for c in map(table.column, single) if c.type in KEY_TYPES and c.builtin), None)
    odd = [] if first else [c for c in map(table.column, table.keys[0]) if not (c.enum or c.type in names().keys)]
    if odd:
        why = f"The key {odd[0].name} of {table.name} is of type {odd[0].type}."
        raise NoProposalError(why, f"A key is one of {', '.join(names().keys)}.")
    return first or table.column(table.keys[0][0])


# Columns


def roles_of(table: Table) -> dict[str, Column]:
    """Return the columns of a table by their roles. Its key is any."""
    return _roles(table, table.columns[0])[0]


def _roles(table: Table, key: Column) -> tuple[dict[str, Column], set[str]]:
    alone = key.name if (key.name,) in table.keys else ""
    free = {column.name: column for column in table.columns if column.name != alone and not column.generated}
    roles: dict[str, Column] = {}
    guessed = set()
    for name, of in table.parents:
        if of == key.name and name in free and "parent" not in roles:
            roles["parent"] = free.pop(name)
    for role in names().roles:
        fitting = [column for column in free.values() if _fits(column, role, key)]
        if role.name not in roles and fitting:
            best = min(
                fitting, key=lambda column: [*role.names, plain_name(column.name)].index(plain_name(column.name))
            )
            roles[role.name] = free.pop(best.name)
            guessed |= {role.name} if role.like else set()
    held = "finished" not in roles and {"owner", "lease", "heartbeat"} & roles.keys()
    if held and "taken" in roles and plain_name(roles["taken"].name) in ("delivered_at", "performed_at"):
        roles["finished"] = roles.pop("taken")
    if "owner" in roles and (roles["owner"].refers or not any(role in roles for role in HELD[1:])):
        del roles["owner"]  # it may be anything that has the row: only a question
    return roles, guessed


def _fits(column: Column, role: Role, key: Column) -> bool:
    time = "timestamptz" in role.types
    fits = ("enum" if column.enum else column.type if column.builtin else "") in role.types
    if not (column.is_time or (fits and column.unit != "no") if time else fits):
        return False
    if (role.releasable and column.required and not column.default) or (role.of_key and column.type != key.type):
        return False
    name = plain_name(column.name)
    life = {*LIFE} & {state_of(word).phase for word in column.words if role.name == "status"}  # whatever its name
    return len(life) > 2 or name in role.names or (bool(role.like) and re.fullmatch(role.like, name) is not None)


@cache
def plain_name(name: str) -> str:
    """Return a name in lower case, with underscores; status for c_status."""
    parts = re.split(r"[_\W]+", re.sub("^[a-pr-z]_", "", _WORD_END.sub("_", name).lower().strip("_")))
    return "_".join("_".join(_split(part)) for part in parts)


def _split(part: str) -> list[str]:
    """Return the known words of which a part consists, or the part."""
    words = _words()
    if part in words:
        return [part]
    for n in range(len(part) - 1, _SHORT, -1):
        if part[:n] in words and (rest := _split(part[n:])) and all(each in words for each in rest):
            return [part[:n], *rest]
    return [part]


@cache
def _words() -> frozenset[str]:
    return frozenset(names().words.split())


# States


def _facts(roles: Mapping[str, Column]) -> dict[str, str]:
    """Return what is asked of rows, as SQL by name: see `StatusRows`."""
    facts = {}
    for role, column in roles.items():
        if role in (*HELD, *OVER, "due", "error", *FLAGS):
            facts[role] = f"coalesce({_is_set(column)}, false)"
        if role in (*HELD, *OVER):
            facts[f"{role}!"] = f"{column.sql} IS NOT NULL AND NOT coalesce({_is_set(column)}, false)"
    if due := roles.get("due"):
        facts["later"] = f"coalesce({names().times[due.form].moment.format(due.sql)} > now(), false)"
    return facts


def _is_set(column: Column) -> str:
    """Return the condition that a row has a value that is not one for none."""
    form = names().zeros.get(column.type, "{} IS NOT NULL") if column.builtin else "{} IS NOT NULL"
    return form.format(column.sql)


def _has_zero(column: Column, role: str, rows: Mapping[str, StatusRows]) -> bool:
    """Return True if a value of the column means none, as its default or its rows say."""
    match = _DEFAULT_WORD.match(column.default)
    default = column.default == "false" or (match is not None and (match[1] or match[2]) in _ZEROS)
    return default or any(each.over(f"{role}!", least=0.0) for each in rows.values())


def settled(state: ProposedStatus, rows: StatusRows | None, default: bool) -> ProposedStatus:
    """Return a status with the phase that its rows and its word allow."""
    seen = _seen(rows, state.phase) if rows else ""
    if rows is None or not seen or state.phase in _ALLOWED[seen]:
        return state
    if state.phase is Phase.UNKNOWN and seen == "waiting":
        ends = any(role in rows.shares for role in OVER)
        phase = Phase.READY if default or ends else Phase.UNKNOWN
        return msgspec.structs.replace(state, phase=phase, guessed=phase is not Phase.UNKNOWN)
    first = _ALLOWED[seen][0]
    if state.phase is Phase.UNKNOWN:
        return msgspec.structs.replace(state, phase=first, guessed=True)
    shown = HELD[:2] if state.phase is Phase.RUNNING else OVER
    if seen == "waiting" and state.guessed and (default or any(role in rows.shares for role in shown)):
        return msgspec.structs.replace(state, phase=first, doubt=seen)
    against = (seen == "running" and state.phase in WAITING and any(role in rows.shares for role in OVER)) or (
        seen in ("over", "failed", "error")
        and state.phase in (*WAITING, Phase.RUNNING)
        and "retry" not in plain(state.word)  # it shows the try before
    )
    if not against:
        ended = seen == "running" and state.phase not in WAITING and not rows.shares.keys() & {*OVER}
        return state if ended else msgspec.structs.replace(state, doubt=seen)  # a worker leaves its name
    return msgspec.structs.replace(state, phase=first, guessed=True, doubt=seen)


def _apart(states: Sequence[ProposedStatus], rows: Mapping[str, StatusRows]) -> tuple[ProposedStatus, ...]:
    """Return the states, each with the phase that the others leave it.

    One that seems to wait, and whose rows workers hold, is running if another one waits.
    """
    waits = [state for state in states if state.phase in WAITING]
    held = [state for state in waits if state.doubt == "running"]
    if not any(state.word in rows for state in waits if state not in held):
        return tuple(states)
    return tuple(msgspec.structs.replace(s, phase=Phase.RUNNING, guessed=True) if s in held else s for s in states)


def _by_rows(
    roles: dict[str, Column], rows: Mapping[str, StatusRows]
) -> tuple[dict[str, Column], Mapping[str, StatusRows]]:
    """Return roles and rows, with a time of taking or of the end that rows tell."""
    every = [*rows.values()]
    late = any(each.over("due") for each in every) and not any(each.shares["later"] for each in every)
    late = late and any(each.shares["due"] < 0.1 for each in every)
    ends = any(each.over("finished") and state_of(word).phase is Phase.RUNNING for word, each in rows.items())
    role, to = "due" if late else "finished" if ends else "", "taken"
    if "taken" in roles and late and all(each.over("taken") for each in every if each.over("due")):
        to = "finished"  # only rows that were taken have it, and none is later
    if not role or to in roles:
        return roles, rows
    moved = {role: to, f"{role}!": f"{to}!"}
    return {moved.get(name, name): column for name, column in roles.items()}, {
        word: StatusRows(n=each.n, shares={moved.get(name, name): share for name, share in each.shares.items()})
        for word, each in rows.items()
    }


def _telling(rows: Mapping[str, StatusRows]) -> tuple[dict[str, StatusRows], set[str]]:
    """Return rows without the shares of every status, and whose times these are."""
    every = [each.shares for each in rows.values()]
    names_ = {role for role in (*HELD, *OVER) if len(every) > 2 and all(each.get(role, 0) > 0.9 for each in every)}
    named = {
        word: msgspec.structs.replace(each, shares={k: v for k, v in each.shares.items() if k not in names_})
        for word, each in rows.items()
    }
    return named, names_ & {"taken", "lease"}


def _seen(rows: StatusRows, phase: Phase) -> str:
    """Return what nearly all rows of a status show, or ""."""
    if rows.over(*OVER, "is_over", "is_failed"):
        return "failed" if rows.over("failed", "is_failed") or rows.over("error", least=0.5) else "over"
    if rows.over("error"):
        return "error"
    if rows.over("later") and phase in (*WAITING, Phase.UNKNOWN):
        return "scheduled"
    if rows.over(*HELD, "is_taken"):
        return "running"
    if rows.over("later"):
        return "scheduled"
    return "waiting" if rows.shares.keys() & {"owner", "taken", "lease", *OVER} else ""


def state_of(word: str) -> ProposedStatus:
    """Return a status with its usual phase, else a guess from its form, else UNKNOWN."""
    usual = next((phase for phase, words in names().phases.items() if plain(word) in words), None)
    guesses = (phase for phase, like in names().guesses.items() if re.fullmatch(like, plain(word)))
    guess = next(guesses, Phase.UNKNOWN) if usual is None else usual
    return ProposedStatus(word=word, phase=guess, guessed=usual is None and guess is not Phase.UNKNOWN)


def plain(word: str) -> str:
    """Return a word in lower case, with underscores between its parts."""
    return re.sub(r"[^a-z]+", "_", _WORD_END.sub("_", word).lower()).strip("_")


def _derived(base: Proposal) -> Iterator[ProposedStatus]:
    """Yield states that come from times and the worker, for a table without a status.

    The first that fits counts. Only a column that may be NULL tells anything.
    """
    if "failed" in base.roles and base.roles["failed"].required:
        yield ProposedStatus(word="failed", phase=Phase.FAILED)  # a table of failures
        return
    telling = {role for role, column in base.roles.items() if not column.required or role in (*base.zeros, *FLAGS)}
    held = next((role for role in ("is_taken", "owner", "taken", "lease") if role in telling), "")
    ends = [("finished", Phase.DONE, "is_over"), ("failed", Phase.FAILED, "is_failed")]
    for role, wrong in (("is_over", "NOT ({})"), ("exit", "{} <> 0")):  # it has ended without success
        if {role, "finished"} <= base.roles.keys() and "is_failed" not in base.roles:
            ended = wrong.format(base.is_set(role) if role in FLAGS else base.column(role))
            yield ProposedStatus(word="failed", phase=Phase.FAILED, condition=f"{ended} AND {base.is_set('finished')}")
    for word, phase, flag in ends[:: -1 if "is_failed" in telling else 1]:
        if role := next((role for role in (flag, word) if role in telling), ""):
            yield ProposedStatus(word=word, phase=phase, condition=base.is_set(role))
    if held:
        yield ProposedStatus(word="taken", phase=Phase.RUNNING, condition=base.is_set(held))
    if "left" in base.roles and "failed" not in telling:
        yield ProposedStatus(word=GIVEN_UP, phase=Phase.FAILED, condition=f"{base.column('left')} <= 0")
    if {"attempts", "most"} <= base.roles.keys() and "failed" not in telling:
        used_up = f"{base.column('attempts')} >= {base.column('most')}"
        yield ProposedStatus(word=GIVEN_UP, phase=Phase.FAILED, condition=used_up)
    yield ProposedStatus(word="waiting", phase=Phase.READY)


# Actions


def _actions(base: Proposal) -> Iterator[ProposedAction]:
    ready, roles = base.ready, base.roles
    now = _set(roles.get("due"), base.stored("due", "now()") if "due" in roles else "")
    back = _set(roles.get("status"), literal(ready.word) if ready else "")
    again = _set(roles.get("attempts"), "0")
    if "left" in roles:  # as rows that a worker would take have it
        again += _set(roles["left"], base.typical.get(roles["left"].name, "")) or emptied(roles["left"])
    free = [each for role in (*HELD, "is_taken") for each in emptied(roles.get(role))]
    like_waiting = {column.name: (column, value) for column, value in free}
    for name, value in base.learned.items():
        like_waiting[name] = (base.table.column(name), value)
    over = [each for role in (*OVER, *FLAGS) for each in emptied(roles.get(role))]
    if not base.lacks("wake"):
        moved = back if base.taking and base.of(Phase.SCHEDULED) else []  # no scheduler of the engine has to move it
        yield ProposedAction(name="wake", phases=(Phase.SCHEDULED,), sets=(*moved, *now), effect="It is due now.")
    if not base.lacks("retry"):
        effect = "It waits for a worker again, with no attempts." if again else "It waits for a worker again."
        yield ProposedAction(
            name="retry",
            phases=(Phase.FAILED,),
            sets=tuple({c.name: (c, v) for c, v in (*back, *now, *again, *like_waiting.values(), *over)}.values()),
            effect=effect,
        )
    if not base.lacks("release"):
        asked = {name for names in base.taking.columns.values() for name in names} if base.taking else set()
        due = [(column, f"least({column.sql}, {value})") for column, value in now if column.name in asked]
        yield ProposedAction(
            name="release",
            phases=(Phase.RUNNING,),
            sets=(*back, *like_waiting.values(), *due),
            effect="It has no worker and waits for one again.",
            refused=f"({base.sign_sql} < {base.stored(base.sign, 'now() - :stale')}) IS NOT TRUE",
            why="its worker has shown a sign of life",
        )
    if not base.lacks("cancel"):
        cancel = _set(roles.get("status"), literal(base.of(Phase.CANCELLED)[0].word))
        finished = roles.get("finished")
        if finished and any(re.search(rf"\b{re.escape(finished.name)}\b", check) for check in base.table.checks):
            cancel += _set(finished, base.stored("finished", "now()"))
        yield ProposedAction(
            name="cancel",
            phases=WAITING,
            sets=tuple(cancel),
            effect="It is cancelled and will not run.",
            refused=base.taken,
            why="a worker has taken it" if base.taken else "",
        )


def _set(column: Column | None, value: str) -> list[tuple[Column, str]]:
    return [(column, value)] if column is not None and value else []


def emptied(column: Column | None) -> list[tuple[Column, str]]:
    """Return how an action empties a column.

    A column that is never NULL gets its default, written out if it is a constant.
    """
    if column is None or (column.required and not column.default):
        return []
    zero = _has_zero(column, "", {})  # 0 is not NULL: a worker looks for what a new row has
    default = column.default if _CONSTANT.fullmatch(column.default) else "DEFAULT"
    return [(column, default if column.required or zero else "NULL")]


# Questions


def _questions(base: Proposal) -> Iterator[AuthorQuestion]:
    """Yield the questions for which all that they are about is there."""
    table, roles, first, ready = base.table, base.roles, base.ready, base.of(Phase.READY)
    status, due, attempts, parent = (roles.get(name) for name in ("status", "due", "attempts", "parent"))
    actions = {action.name for action in base.actions}
    words, number = ", ".join(state.word for state in base.states), status is not None and status.number
    used = {base.key.name, *(column.name for column in roles.values())}
    free = [column for column in table.columns if column.name not in used and not column.generated]
    fitting = {name: [c for c in free if any(_fits(c, role, base.key) for role in names().roles if role.name == name)]
               for name in ("owner", "status")}  # fmt: skip
    states = (c for c in free if _STATE_NAME.search(plain_name(c.name)) or c.type == "bool" or c in fitting["status"])
    times = (c for c in free if c.type in ("timestamptz", "timestamp", "date") or may_be_time(c))
    forms = {form: ", ".join(dict.fromkeys(roles[r].name for r in _TIMES if r in roles and roles[r].form == form))
             for form in ("timestamp", "int8", "int4")}  # fmt: skip
    triggers = (f"{t.name} ({t.function}{', which notifies' if t.notifies else ''})" for t in table.triggers)
    more = [f"{table.more} more"] if table.more else []
    since = f"since its {roles['created'].name}" if "created" in roles else "but not since when"
    others = [first.word, *(state.word for state in ready if state != first)] if first and len(ready) > 1 else []
    alone = parent and parent.name not in {name for name, _ in table.parents}
    asked: list[tuple[Any, ...]] = [
        ("no_words" if base.sampled else "no_status", words, status is None),
        ("number_status", status and status.name, status and status.type, words, number),
        ("free_text", base.sampled and status and not number),
        ("other_status", _listed(states), status or not base.sampled),
        ("guessed_words", ", ".join(f"{state.word} = {state.phase}" for state in base.states if state.guessed)),
        ("other_owner", ", ".join(column.name for column in fitting["owner"])),
        ("lock_alone", base.taken),
        ("unknown_words", ", ".join(state.word for state in base.of(Phase.UNKNOWN)), not number),
        ("ready_word", ", ".join(others), first and first.word != base.default_word),
        ("cancel" if base.of(Phase.CANCELLED) else "no_cancelled", status),
        ("guessed_columns", ", ".join(f"{roles[role].name} = {role}" for role in base.guessed)),
        ("stale", roles[base.sign].name if base.sign else "not recorded", base.of(Phase.RUNNING) or base.taken),
        ("other_time", _listed(times)),
        ("no_due", due and due.name, since, due and not due.required and not base.lacks("late")),
        ("time_zone", forms["timestamp"]),
        ("time_unit", forms["int8"], "milliseconds since 1970"),
        ("time_unit", forms["int4"], "seconds since 1970"),
        *((f"attempts_on_{name}", attempts and attempts.name) for name in ("retry", "release") if name in actions),
        ("found", base.taking and base.taking.text[:500], base.taking and base.taking.source),
        ("claim", actions and not base.taking),
        ("notify", actions),
        ("triggers", ", ".join(triggers)),
        ("parent", alone and parent and parent.name, base.key.name),
        ("checks", "; ".join(table.checks), actions),
        ("beside", ", ".join([*map(_beside, table.beside), *more])),
    ]
    for code, *about in asked:
        if all(about):
            yield AuthorQuestion(code=code, text=names().questions[code].format(*about))


def _listed(columns: Iterable[Column]) -> str:
    return ", ".join(f"{column.name} ({column.type})" for column in columns)


def _beside(table: Beside) -> str:
    """Return the name of another table, and how it is related."""
    how = [f"{table.refers} refers to it"] if table.refers else []
    how += ["it refers to this table"] if table.referred else []
    return f"{table.name} ({', '.join(how)})" if how else table.name


def may_be_time(column: Column) -> bool:
    """Return True for a number with the name of a time."""
    named = _TIME_NAME.search(plain_name(column.name)) is not None
    return named and column.type in ("int4", "int8", "float8", "numeric")
