"""Fields of a dead letter, in the group of its error. UI-free."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final

from console.model.fields import node
from console.model.fields.field import Bundle, Context, Field, Form, Grouping, RecordType, by, moment, within
from console.text import formatting
from console.text.severity import band, sign
from console.text.spans import Spans
from queries.read.dead_letters import exception, fold
from queries.records.dead_letter import DeadLetter, ErrorSummary, Group
from queries.records.node import split_id
from queries.records.record import Record


class GroupedDeadLetter(Record):
    """A dead letter and the group of its error."""

    dead_letter: DeadLetter
    group: Group

    @property
    def key(self) -> str:
        """Id of the item: of its node."""
        return self.dead_letter.node.id


class EngineSection(Record):
    """The dead letters of an engine, in their groups."""

    engine: str


def severity_of(row: Bundle[GroupedDeadLetter]) -> int:
    """Return the severity of the worst dead letter of a row."""
    return max(item.dead_letter.severity for item in row.records)


def error_of(row: Bundle[GroupedDeadLetter]) -> str:
    """Return the error of a row, or what else its dead letters are grouped by."""
    if isinstance(row.group, Group):
        return row.group.fingerprint
    return str(row.group) if row.group is not None else row.records[0].group.fingerprint


def number(group: Group | ErrorSummary) -> str:
    """Return the number of dead letters of a group.

    For example ``12+`` if not all were read.
    """
    return f"{group.n}{'+' if group.capped else ''}"


def _error(row: Bundle[GroupedDeadLetter], context: Context) -> Spans:
    if row.group is None and row.record is not None:
        dead_letter = row.record.dead_letter
        _, _, key = split_id(dead_letter.node.id)
        text = dead_letter.error or dead_letter.node.title
        # ids generated in order differ at their ends
        return [(key[-12:], ""), ("  ", ""), (text, "$faint")]
    worst = severity_of(row)
    return [(f"{sign(worst, context.ascii)} {error_of(row)}", f"bold {band(worst).ink}")]


def _count(row: Bundle[GroupedDeadLetter], context: Context) -> Spans:
    if row.group is None:
        return []
    if isinstance(row.group, Group) and len(row.records) >= row.group.n:
        return [(number(row.group), "bold")]
    return [(f"{len(row.records)}{_bound(row, '+')}", "bold")]


def _times(row: Bundle[GroupedDeadLetter]) -> list[float]:
    return [since for i in row.records if (since := i.dead_letter.since) is not None and math.isfinite(since)]


def _first(row: Bundle[GroupedDeadLetter], context: Context) -> Spans:
    if row.group is None and not _times(row):
        return []
    return _time(min(_times(row), default=None), context, _bound(row, "≥"))


def _last(row: Bundle[GroupedDeadLetter], context: Context) -> Spans:
    return _time(max(_times(row), default=None), context, _bound(row, "≤")) if row.group is not None else []


def _bound(row: Bundle[GroupedDeadLetter], bound: str) -> str:
    return bound if row.group is not None and any(item.group.capped for item in row.records) else ""


def _time(at: float | None, context: Context, bound: str) -> Spans:
    return [(formatting.NONE if at is None else moment(at, context, bound), "")]


def _state(row: Bundle[GroupedDeadLetter], context: Context) -> Spans:
    if row.record is not None:
        return _transition(row.record.dead_letter.was, row.record.dead_letter.is_now)
    if not isinstance(row.group, Group) or not row.group.fates:
        return []
    first, *rest = row.group.fates
    more = f"+{sum(each.n for each in rest)} " if rest else ""
    return [(more, "bold $accent"), *_transition(first.was, first.is_now)]


def _transition(was: str | None, is_now: str | None) -> Spans:
    if was is None or was == is_now:
        return [(f"still {is_now or ''}" if was is not None else is_now or "", "$faint")]
    return [(was, "$faint"), (" → ", ""), (is_now or "", "bold")]


def _exception(item: GroupedDeadLetter) -> str:
    error = item.dead_letter.error or ""
    return exception(error) or fold(error) or item.group.fingerprint


def _of_node(name: str) -> Field[GroupedDeadLetter]:
    return within(node.NAMED[name], "dead_letter.node", title="")


FIELDS: Final[tuple[Field[GroupedDeadLetter], ...]] = (
    Field(
        "error",
        lambda item, _: (item.dead_letter.error, item.dead_letter.fingerprint),
        Form.PART,
        "error of the dead letter",
        searched=True,
        group=Grouping(
            "error",
            lambda item: (f"{item.group.engine}\n{item.group.fingerprint}", item.group),
            lambda item: (item.group.engine, EngineSection(engine=item.group.engine)),
        ),
        title="error",
        row=_error,
        row_order=lambda row, _: error_of(row),
    ),
    Field(
        "exception", lambda item, _: exception(item.dead_letter.error or ""), Form.BEGINNING,
        "class of the exception that its error names", group=by("exception", _exception),
    ),
    Field(
        "count", lambda item, _: 1, title="count", about="number of dead letters of the group", width=7, align="right",
        row=_count, row_order=lambda row, _: -len(row.records),
    ),
    Field(
        "since", "dead_letter.since", Form.AGE, "time since its death", title="first", printed="since", width=6,
        align="right", needs=50, absolute="first", row=_first, row_order=lambda row, _: min(_times(row), default=None),
    ),
    Field(
        "last", "dead_letter.since", title="last", about="time since the newest of them failed", width=6, align="right",
        needs=64, absolute="last", row=_last, row_order=lambda row, _: max(_times(row), default=None),
    ),
    Field(
        "status",
        "dead_letter.is_now",
        Form.BEGINNING,
        "its current state",
        searched=True,
        group=Grouping(
            "current state", lambda item: (f"state {item.dead_letter.is_now}", item.dead_letter.is_now or "unknown")
        ),
        title="current state",
        printed="current state",
        width=38,
        needs=104,
        spans=lambda item, _: _transition(item.dead_letter.was, item.dead_letter.is_now),
        row=_state,
        row_order=lambda row, _: row.records[0].dead_letter.is_now,
    ),
    Field("severity", "dead_letter.severity", Form.NUMBER, "1 (minor) to 9 (nothing makes progress)"),
    replace(_of_node("engine"), group=by("engine", lambda item: item.group.engine)),
    replace(_of_node("kind"), group=by("kind", lambda item: item.dead_letter.node.kind)),
    _of_node("title"),
    _of_node("id"),
    _of_node("phase"),
    _of_node("owner"),
    _of_node("attempts"),
)  # fmt: skip
NAMED: Final = {field.name: field for field in FIELDS}
DEAD_LETTERS: Final = RecordType[GroupedDeadLetter](
    "dead letter", lambda item: item.key, FIELDS, grouped=True, severity=severity_of
)
