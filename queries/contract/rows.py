"""Columns of an engine's statements, their types, and faults in rows at run time.

The field of a record is a column. Fields with a default are optional columns.
"""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from enum import EnumType
from operator import itemgetter
from types import NoneType, UnionType
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from queries.contract.folder import SUBFOLDERS
from queries.contract.spec import Status
from queries.db.errors import UnreadableError
from queries.db.query import Row, Rows
from queries.records.action import Verdict
from queries.records.node import Count, Match, Node, Phase, Precision
from queries.records.record import Record
from queries.text.json_text import decoded

Json = Annotated[Any, "json"]
JsonText = Annotated[Any, "json as text"]
Time = Annotated[float | Annotated[str, msgspec.Meta(pattern="^-?Infinity$")], "float8"]  # JSON has no infinity
T = TypeVar("T")
Phases = Mapping[str, tuple[Phase, ...]]
ENDED = (Phase.DONE, Phase.CANCELLED)
_LEAST_SURE = (Precision.UNKNOWN, Precision.CAPPED, Precision.ESTIMATED, Precision.EXACT)

_OF_NODE = [f for f in msgspec.structs.fields(Node) if f.name not in ("engine", "phase", "findings")]

TIMES = tuple(field.name for field in _OF_NODE if field.type == float | None)
"""Columns of a node with a time or a duration, in seconds. It may be infinite."""

COMPARED = {
    "phase": "one_of",
    "status": "text",
    "owner": "text",
    "attempts": "between",
    "created_at": "between",
    "changed_at": "between",
}
"""Columns of a node that the server compares with a filter, and how: ``templates/matching_*.sql``."""


_COLUMNS: list[Any] = [
    (f.name, Time | None if f.name in TIMES else f.type, *(() if f.required else (f.default,))) for f in _OF_NODE
]
NodeRow: type[Record] = msgspec.defstruct(
    "NodeRow",
    [("now", float), *_COLUMNS, ("phase", Phase | None, None), ("place", str | None, None)],
    bases=(Record,),
    kw_only=True,
)  # type: ignore[assignment]
"""A row of ``nodes.sql``. Its ids have no label of an engine.

The engine does not record what a statement has no column for. Without ``phase``, it is the phase of the status.
"""


class NodeKey(Record):
    """Columns of ``nodes.sql`` without which no row can be used."""

    id: str
    now: float


class WhichRow(Record):
    """A row of a statement that says which nodes.

    One without an id has what was read in ``cursor``.
    """

    id: str | None
    cursor: str | None
    node: Json = None


class FindRow(Record):
    """A row of ``find.sql``."""

    id: str | None
    matched: Match | None
    node: Json = None


class SearchRow(FindRow, kw_only=True):
    """A row of ``search.sql``."""

    cursor: str | None


class DeadRow(WhichRow, kw_only=True):
    """A row of ``dead.sql``."""

    severity: int | None
    since: float | None
    cause: str | None
    error: str | None
    was: str | None
    is_now: str | None


class ChangedRow(Record):
    """A row of ``changed.sql``. Routine ones are shown on request."""

    id: str | None
    at: float | None
    what: str | None
    old: str | None
    new: str | None
    part: str | None
    place: str | None
    routine: bool | None = None


class CountRow(Record):
    """A row of ``counts.sql``. Rows of the same phase are summed.

    Without ``phase``, it is the phase of the status.
    """

    n: int | None
    precision: Precision
    phase: Phase | None = None
    status: str | None = None


class OptionRow(Record):
    """A row of ``options.sql``."""

    name: str
    value: JsonText
    why: str


class FindingRow(Record):
    """A row of ``findings/<code>.sql``.

    One without an id says that not everything was read: what was found is "at least". Its evidence is NULL after a
    limit of the statement, or an `UnreadPart`.
    """

    id: str | None
    since: float | None
    evidence: Json
    suggest: bool | None = None
    severity: int | None = None


class UnreadPart(Record):
    """Evidence of a row without an id: the part that was not read, or its need.

    ``why``: the reason for which rows cannot be judged now.
    """

    unread: str = "a part of the rows"
    why: str = ""


class ClaimRow(Record):
    """A row of ``claim.sql``: the conditions of a node, in their order.

    ``holds``: true, false or null for each; ``shows``: its value; ``holders``: id of the node that keeps it from
    holding. ``queue_id``: that of the queue.
    """

    id: str
    queue: str | None
    queue_id: str | None
    since: Time | None
    holds: Json
    shows: Json
    holders: Json
    owner: str | None
    taken: Time | None
    held: Time | None


class AfterRow(Record):
    """A row of ``after.sql``: the conditions of a node after an action.

    ``over``: it has ended then.
    """

    id: str
    action: str
    over: bool | None
    holds: Json
    shows: Json


class NextRow(Record):
    """A row of ``next.sql``: a node for which all conditions hold."""

    id: str
    queue: str | None
    since: Time | None


class FunnelRow(Record):
    """A row of ``funnel.sql``: a queue's unfinished nodes.

    ``passed``: how many of them meet the first condition, the first two, and so on. ``more``: there are others that
    were not read.
    """

    queue: str | None
    n: int
    passed: Json
    since: Time | None
    more: bool


class FlowRow(Record):
    """A row of ``flow.sql``.

    It is an unfinished node (open), one of the newest (new), or a sign in the history (came, took, ended, failed) with
    its time in ``ended``. ``first``: what comes before age in the order of workers.
    """

    part: str
    id: str | None
    queue: str | None
    sort: str | None
    owner: str | None
    first: str | None
    taken: Time | None
    held: bool | None
    due: Time | None
    created: Time | None
    ended: Time | None
    failed: bool | None
    revised: int | None


class AliveRow(Record):
    """A row of ``alive.sql``: a worker with its newest sign of life.

    ``alive``: NULL where the sign does not tell. ``serves``: queues that it takes; ``*`` at the end of one is
    any text, NULL all queues. ``only``: it is recorded that it takes no others.
    """

    worker: str
    seen: Time | None
    alive: bool | None
    serves: Json
    only: bool


class SampleRow(Record):
    """A row of ``samples/<name>.sql``."""

    id: str
    seen: JsonText


class RelatedRow(Record):
    """A row of ``related.sql``."""

    id: str | None
    relation: str
    note: str | None


class PlaceRow(Record):
    """A row of ``images.sql``: the ctid of a row that actions on a node may change."""

    id: str
    relation: Annotated[Any, "oid"]
    place: str | None


class LockerRow(PlaceRow, kw_only=True):
    """A row of ``rows.sql``."""

    locker: Annotated[Any, "xid"]


class LockRow(Record):
    """A row of the section ``lock``.

    One without a version was locked for another node.
    """

    id: str | None
    version: str | None
    steady: str | None = None
    unchanged: bool | None = None


class RefusedRow(Record):
    """A row of the section ``refused``."""

    id: str
    why: str
    for_now: bool | None = None


class WitnessRow(Record):
    """A row of the section ``witnesses``."""

    id: str
    witness: str
    verdict: Verdict
    detail: str
    since: float | None = None


class DocumentRow(Record):
    """A row of the section ``document``."""

    id: str
    digest: str | None
    stored: str | None
    document: Annotated[Any, "text or bytes"]
    size: int | None
    why: str | None


class IdRow(Record):
    """A row of the last statement of the section ``change``, or of ``progress.sql``."""

    id: str


class PayloadRow(Record):
    """A row of a detail section with a payload."""

    payload: bytes | None
    size: int | None


SHAPES: dict[str, type[Record]] = {
    "nodes": NodeRow,
    "roots": WhichRow,
    "children": WhichRow,
    "live": WhichRow,
    "matching": WhichRow,
    "find": FindRow,
    "search": SearchRow,
    "dead": DeadRow,
    "changed": ChangedRow,
    "counts": CountRow,
    "options": OptionRow,
    "findings": FindingRow,
    "claim": ClaimRow,
    "after": AfterRow,
    "next": NextRow,
    "funnel": FunnelRow,
    "flow": FlowRow,
    "alive": AliveRow,
    "samples": SampleRow,
    "progress": IdRow,
    "related": RelatedRow,
    "rows": LockerRow,
    "images": PlaceRow,
    ":lock": LockRow,
    ":refused": RefusedRow,
    ":witnesses": WitnessRow,
    ":change": IdRow,
    ":document": DocumentRow,
}
"""Shape of the rows by name of a statement, or by ``:section`` of an action."""

_TEXT = ("text", "varchar", "bpchar", "name")
_SERVER = {
    str: _TEXT,
    int: ("int8", "int4", "int2"),
    float: ("float8", "float4"),
    bool: ("bool",),
    bytes: ("bytea",),
    "json": ("jsonb", "json"),
    "json as text": ("jsonb", "json", *_TEXT),
    "text or bytes": (*_TEXT, "bytea"),
    "oid": ("oid",),
    "xid": ("xid",),
    "float8": ("float8", "float4"),
}
_WORDS = {
    "int": "a whole number",
    "float": "a number; times and durations are float8, in seconds",
    "str": "text",
    "bool": "true or false",
    "null": "NULL",
}


def columns(shape: type[Record]) -> dict[str, tuple[str, ...]]:
    """Return the server's types that each column may have; the first one is usual."""
    hints = get_type_hints(shape, include_extras=True)
    return {name: _types(hints[name]) for name in shape.__struct_fields__}


def required(shape: type[Record]) -> frozenset[str]:
    """Return the columns that must be there."""
    return frozenset(field.name for field in msgspec.structs.fields(shape) if field.required)


@functools.cache
def json_kinds(shape: type[Record]) -> Mapping[str, str] | None:
    """Return the columns whose values differ in JSON, and how.

    None if JSON cannot have a column's values.
    """
    kinds = {name: _json_kind(types) for name, types in columns(shape).items()}
    return None if "" in kinds.values() else {name: kind for name, kind in kinds.items() if kind != "same"}


def _json_kind(types: tuple[str, ...]) -> str:
    if not {"bytea", "oid", "xid"}.isdisjoint(types):
        return ""
    if "jsonb" in types:
        return "json as text" if "text" in types else "json"
    return "float" if "float8" in types else "same"


def _types(hint: Any) -> tuple[str, ...]:
    if get_origin(hint) is Annotated:
        return _SERVER[get_args(hint)[1]]
    if isinstance(hint, EnumType):
        return _TEXT
    if isinstance(hint, UnionType) or get_origin(hint) is not None:
        return next(_types(part) for part in get_args(hint) if part is not NoneType)
    return _SERVER[hint]


def verify(rows: Rows, shape: type[Record], source: str) -> None:
    """Raise UnreadableError about the first value that its column does not allow."""
    if not rows:
        return
    with contextlib.suppress(KeyError, msgspec.ValidationError):  # tuples take a tenth of the time of dicts
        read, tuples = _as_tuples(shape, frozenset(rows[0].keys()))
        msgspec.convert(list(map(read, rows)), tuples, strict=True)
        return
    plain = [dict(row) for row in rows]
    try:
        msgspec.convert(plain, list[shape], strict=True)  # type: ignore[valid-type]
    except msgspec.ValidationError as error:
        raise UnreadableError(f"{short(source)}: {_explained(plain, str(error))}.") from None


@functools.cache
def _as_tuples(shape: type[Record], columns: frozenset[str]) -> tuple[itemgetter[Any], Any]:
    """Return what reads the columns of a shape from a row, and the type of such rows."""
    fields = [f for f in msgspec.structs.fields(shape) if f.required or f.name in columns]
    types = tuple(f.type for f in fields)
    row: Any = tuple[types] if len(types) > 1 else types[0]  # type: ignore[valid-type]
    return itemgetter(*(f.name for f in fields)), list[row]


def why_not(row: Mapping[str, Any], shape: type[Record], source: str) -> str:
    """Return which value of a row its column does not allow, or ""."""
    try:
        verify([row], shape, source)
    except UnreadableError as error:
        return error.line
    return ""


def json_object(row: Mapping[str, Any], column: str, source: str) -> dict[str, Any]:
    """Return a column that holds a JSON object. Raises UnreadableError."""
    try:
        return msgspec.convert(decoded(row[column]), dict[str, Any])
    except (msgspec.MsgspecError, TypeError):
        shown = str(row[column])[:80]
        raise UnreadableError(f"{short(source)}: the column {column} has {shown}, not a JSON object.") from None


def json_part(evidence: object) -> UnreadPart:
    """Return the evidence of a row without an id.

    A fault in it does not hide the findings of the other rows.
    """
    with contextlib.suppress(msgspec.MsgspecError, TypeError):
        return msgspec.convert(decoded(evidence) if isinstance(evidence, str) else evidence, UnreadPart)
    return UnreadPart()


def short(source: str) -> str:
    """Return a file's path from its engine's folder on, for messages."""
    parts = source.split("/")
    return "/".join(parts[-3 if len(parts) > 2 and parts[-2] in SUBFOLDERS else -2 :])


def _explained(rows: Rows, message: str) -> str:
    """Return msgspec's message in the words of SQL."""
    problem, _, path = message.partition(" - at `$[")
    missing = re.match(r"Object missing required field `(\w+)`", problem)
    if missing:
        return f"the column {missing[1]} is missing"
    place = re.match(r"(\d+)\]\.(\w+)", path)
    if place is None:
        return problem
    value = rows[int(place[1])].get(place[2])
    shown = "NULL" if value is None else repr(value) if isinstance(value, str) else f"{value} ({type(value).__name__})"
    match = re.match(r"Expected `([^`]+)`", problem)
    if match is None:
        return f"the column {place[2]} has {shown[:80]}, which is not one of its words"
    kinds = ["float"] if "matching regex" in problem else match[1].split(" | ")
    words = " or ".join(_WORDS.get(kind, kind) for kind in kinds)
    return f"the column {place[2]} has {shown[:80]}, not {words}"


def phases_of(statuses: Iterable[Status]) -> Phases:
    """Return the phases that each status may have."""
    phases: dict[str, tuple[Phase, ...]] = {}
    for status in statuses:
        phases[status.native] = tuple(dict.fromkeys((*phases.get(status.native, ()), status.phase)))
    return phases


def phase_of(row: Row, phases: Phases) -> Phase:
    """Return the column ``phase`` of a row, else the phase of its status.

    Raises UnreadableError if there is none, ValueError for an unknown word.
    """
    if row.get("phase") is not None:
        return Phase(row["phase"])
    status = row.get("status")
    if status is None:
        raise UnreadableError("the columns phase and status have NULL; one of them is required")
    choices = phases.get(status, (Phase.UNKNOWN,))
    if len(choices) > 1:
        words = " or ".join(choices)
        raise UnreadableError(f"the column phase has NULL, and the status {status!r} may be {words}")
    return choices[0]


def counts_of(rows: Iterable[Row], phases: Phases) -> tuple[Count, ...]:
    """Return the sum of each phase. Raises as :func:`phase_of`.

    A sum is as sure as its least sure part. If a part is unknown, it is the least number.
    """
    parts: dict[Phase, list[Row]] = {}
    for row in rows:
        parts.setdefault(phase_of(row, phases), []).append(row)
    return tuple(_sum(phase, some) for phase, some in parts.items())


def drawn_phase(row: Row, phases: Phases) -> str | None:
    """Return the phase of a row of a drawing, else the only one of its state."""
    choices = phases.get(row["state"], ())
    return choices[0] if row["phase"] is None and len(choices) == 1 else row["phase"]


def _sum(phase: Phase, rows: Sequence[Row]) -> Count:
    numbers = [row["n"] for row in rows if row["n"] is not None and row["precision"] != Precision.UNKNOWN]
    least = next(each for each in _LEAST_SURE if any(row["precision"] == each for row in rows))
    return Count(
        phase=phase,
        n=sum(numbers) if numbers else None,
        precision=Precision.CAPPED if numbers and least is Precision.UNKNOWN else least,
    )
