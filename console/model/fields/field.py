"""Field of a record: its column, filter, order, group, JSON and help. UI-free."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from operator import attrgetter
from typing import Any, Generic, TypeVar

from console.text import formatting
from console.text.formatting import Align
from console.text.spans import Spans
from queries.records.finding import Incident
from queries.records.node import Node
from queries.records.record import Record

T = TypeVar("T")
U = TypeVar("U")

Cell = tuple[str, str]
"""Text and the name of its style (empty for none)."""
ABSENT: Spans = [(formatting.NONE, "$faint")]
Level = Callable[[T], tuple[str, object]]
"""Returns the key of a record's group, and what the group is about."""


class Form(StrEnum):
    """Way in which a filter compares a value."""

    BEGINNING = "beginning"  # of a word
    PART = "part"  # of a text
    AGE = "age"  # seconds since a time
    SECONDS = "seconds"
    NUMBER = "number"


WORDS = (Form.BEGINNING, Form.PART)
DURATIONS = (Form.AGE, Form.SECONDS)


def _nothing(_: object) -> None:
    return None


def _no_text(_: object) -> str:
    return ""


class Context(Record):
    """Input of a value or a cell apart from the record."""

    now: float = 0.0  # server time; 0 where times are printed in full
    ascii: bool = False
    codes: Mapping[str, Collection[str]] = {}  # codes of the console's own findings, by node id
    below: Mapping[str, int] = {}  # how many nodes with problems are loaded below a node
    documents: Mapping[str, Collection[Any]] = {}  # stored JSON texts, decoded, by node id
    node: Callable[[str], Node | None] = _nothing  # returns a node as last read, by its id
    gone: Collection[str] = ()  # ids of nodes that no longer exist
    trend: Callable[[Incident], str] = _no_text  # returns the sign of an incident's development
    key: Callable[[str], str] = _no_text  # returns the key of an action, by its name
    owner: Callable[[Node], str] = _no_text  # returns the id of the node that owns a node, or ""
    cells: int = 0  # width of the list; 0 where nothing is cropped


NOTHING = Context()


class Bundle(Record, Generic[T]):
    """Record of a row, or the records of a group in one row.

    Args:
        id: id of the row, independent of the rows around it.
        records: the records of the row that match the filter.
        group: what the records have in common, as the grouping returned it; None for a row below a group or without.
        foldable: True if there is something to show below the row.
        above: id of the group below which a record is shown; "" for other rows.
    """

    id: str
    records: tuple[T, ...]
    group: object = None
    above: str = ""
    foldable: bool = False

    @property
    def record(self) -> T | None:
        """The only record of the row; None if there are several."""
        return self.records[0] if len(self.records) == 1 else None


@dataclass(frozen=True)
class Grouping(Generic[T]):
    """A way to group a list.

    ``group_of`` returns a key and what the group is about, ``above`` the same of the group of groups around it.
    """

    title: str
    group_of: Level[T] | None = None
    above: Level[T] | None = None

    def levels(self, depth: int) -> list[Level[T]]:
        """Return how records are grouped on at most ``depth`` levels, the outer one first."""
        return [level for level in (self.above, self.group_of) if level is not None][-depth:]


@dataclass(frozen=True)
class Field(Generic[T]):
    """Value that is known of a record.

    Args:
        name: its name in filters.
        get: its place in the record and in the record's JSON, such as ``node.owner``, or a function that returns it: a
            text, several texts, a number, seconds, or a time in seconds since 1970; None: not recorded.
        form: how a filter compares it; None: by a bare word only.
        about: one line for help.
        searched: True if a bare word is looked for in it.
        words: the only texts that it can have, if they are few.
        group: how a list is grouped by it.
        title: heading of its column on the screen; "" without one.
        printed: heading of its column in the text of a command; "" without one.
        width: of its column, in cells; 0 in a list: the rest.
        align: of its column.
        needs: cells of the narrowest list that has the column.
        keep: the tree drops the column with the lowest first on a narrow screen.
        flex: share of the remaining width in the tree.
        absolute: heading of a column of times, if they are not relative.
        fact: its name on the screen of a record; "" if it is not on it.
        previewed: True if a preview of the record has it too.
        style: of its text in a list and in a command.
        spans: its text in a list and in a command, if that is not the value.
        row: its text in a row of a list; default: what the records of the row have in common.
        cell: its text and style in the tree.
        parts: fields of the record whose change highlights the cell; default: that in ``get``.
        order: what records are sorted by; default: the value.
        row_order: what rows of a list are sorted by; default: what their records have in common.
        fact_spans: its text on the screen of a record, if that is not the value; [] if the screen omits it.
        is_read: False for a record that no filter by the field matches, because the value was not read.
    """

    name: str
    get: str | Callable[[T, Context], Any]
    form: Form | None = None
    about: str = ""
    searched: bool = False
    words: Collection[str] = ()
    group: Grouping[T] | None = None
    title: str = ""
    printed: str = ""
    width: int = 0
    align: Align = "left"
    needs: int = 0
    keep: int = 0
    flex: int = 0
    absolute: str = ""
    fact: str = ""
    previewed: bool = False
    style: str = ""
    spans: Callable[[T, Context], Spans] | None = None
    row: Callable[[Bundle[T], Context], Spans] | None = None
    cell: Callable[[T, Context], Cell] | None = None
    parts: frozenset[str] = frozenset()
    order: Callable[[T, Context], Any] | None = None
    row_order: Callable[[Bundle[T], Context], Any] | None = None
    fact_spans: Callable[[T, Context], Spans] | None = None
    is_read: Callable[[T, Context], bool] | None = None

    def __post_init__(self) -> None:
        if self.json and not self.parts:
            object.__setattr__(self, "parts", frozenset({self.json}))

    @property
    def json(self) -> str:
        """Its place in the record's JSON, or "" if it is made of other values."""
        return self.get if isinstance(self.get, str) else ""

    def value(self, record: T, context: Context) -> Any:
        """Return the value of a record."""
        return self.read(context)(record)

    def read(self, context: Context) -> Callable[[T], Any]:
        """Return a reader of the value."""
        get = self.get
        return _at(get) if isinstance(get, str) else lambda record: get(record, context)

    def texts(self, record: T, context: Context) -> Sequence[str]:
        """Return the texts of a field with words."""
        return texts_of(self.value(record, context))

    def render(self, record: T, context: Context) -> Cell:
        """Return the text of the record's cell in the tree, and its style."""
        if self.cell is not None:
            return self.cell(record, context)
        return " ".join(self.texts(record, context)), self.style

    def shown(self, record: T, context: Context) -> Spans:
        """Return the text of the record's cell in a list and in a command."""
        if self.spans is not None:
            return self.spans(record, context)
        if self.cell is not None and not (self.searched or self.form in WORDS):
            return [(self.cell(record, context)[0], self.style)]
        value = self.value(record, context)
        if isinstance(value, int | float):
            text = formatting.duration(value) if self.form is Form.SECONDS else f"{value:,}"
            return [(moment(value, context) if self.form is Form.AGE else text, self.style)]
        return [(" ".join(self.texts(record, context)), self.style)]

    def stated(self, record: T, context: Context) -> Spans:
        """Return the text on the record's screen."""
        if self.fact_spans is not None:
            return self.fact_spans(record, context)
        value = self.value(record, context)
        if value is None:
            return ABSENT
        if self.form is Form.AGE:
            ahead = value - context.now
            return dated(value, formatting.due(ahead) if ahead > 0 else f"{formatting.age(-ahead)} ago")
        return [(formatting.duration(value) if self.form is Form.SECONDS else str(value), "")]

    def shown_in(self, row: Bundle[T], context: Context) -> Spans:
        """Return the text of the row's cell in a list."""
        if self.row is not None:
            return self.row(row, context)
        return common(self.shown(record, context) for record in row.records) or []

    def sorted_by(self, row: T | Bundle[T], context: Context) -> Any:
        """Return what the records of a tree, or the rows of a list, are sorted by."""
        if not isinstance(row, Bundle):
            return self.value(row, context) if self.order is None else self.order(row, context)
        if self.row_order is not None:
            return self.row_order(row, context)
        return common(self.sorted_by(record, context) for record in row.records)


@dataclass(frozen=True)
class RecordType(Generic[T]):
    """Type of the records of a list.

    Args:
        noun: name of one record.
        key: returns the id of a record.
        fields: its values.
        row: name of a row in the list without groups.
        grouped: True if the list is grouped until the operator chooses otherwise.
        acted_on: returns False for a record that is only shown in its group: an action on the group leaves it out. In
            the first grouping, such records are rows of their own where no other one of their group matches the filter.
        severity: returns that of a row, if rows have one.
    """

    noun: str
    key: Callable[[T], str]
    fields: tuple[Field[T], ...]
    row: str = ""
    grouped: bool = False
    acted_on: Callable[[T], bool] = lambda record: True
    severity: Callable[[Bundle[T]], int] | None = None

    @property
    def groupings(self) -> tuple[Grouping[T], ...]:
        """The ways to group a list, in the order in which the operator chooses them."""
        groups = tuple(field.group for field in self.fields if field.group is not None)
        flat = Grouping[T](self.row or self.noun)
        return (*groups, flat) if self.grouped else (flat, *groups)


def texts_of(value: str | Iterable[str] | None) -> Sequence[str]:
    """Return the texts of a value of words."""
    if isinstance(value, str):
        return (value,) if value else ()
    return [text for text in value or () if text]


def common(values: Iterable[T]) -> T | None:
    """Return the value that all have, or None."""
    each = iter(values)
    first = next(each, None)
    return first if all(value == first for value in each) else None


def by(title: str, label: Callable[[T], str]) -> Grouping[T]:
    """Return the grouping by a text."""
    shown = formatting.engine_label if title == "engine" else str
    return Grouping(title, lambda record: (f"{title} {label(record)}", shown(label(record))))


def moment(at: float, context: Context, bound: str = "") -> str:
    """Return a time in the past as a list shows it, or in full without a server time.

    ``bound``: as in `formatting.since`.
    """
    return formatting.since(at, context.now, bound) if context.now else formatting.instant(at)


def dated(at: float, about: str) -> Spans:
    """Return a time in full, and how it relates to the present."""
    return [(formatting.instant(at), ""), (f"  {about}", "$faint")]


def within(
    field: Field[T], place: str, inner: Callable[[U, Context], T | None] | None = None, **other: Any
) -> Field[U]:
    """Return a field as that of a record that contains, or leads to, this one.

    Args:
        field: the field, whose order, text and cell go with it.
        place: the place of this record in the other one and in its JSON; "" if it is not part of it.
        inner: returns this record; default: what is at ``place``.
        other: what differs.
    """
    inner_of = inner or (lambda record, _: _at(place)(record))

    def through(function: Callable[[T, Context], Any] | None, nothing: Any = None) -> Any:
        def call(record: U, context: Context) -> Any:
            this = inner_of(record, context)
            return nothing if this is None or function is None else function(this, context)

        return None if function is None else call

    get = f"{place}.{field.json}" if place and field.json else through(field.value)
    taken = {"spans": through(field.spans, []), "cell": through(field.cell, ("", "")), "order": through(field.order)}
    bare: Any = replace(field, get=get, **taken, parts=frozenset(), group=None, row=None, row_order=None, fact="")
    return replace(bare, **other)


@cache
def _at(place: str) -> Callable[[Any], Any]:
    """Return the function that returns what is at a place of a record."""
    names = place.split(".")
    if len(names) == 1:
        return attrgetter(place)

    def read(record: Any) -> Any:
        for name in names:
            if record is None:
                break
            record = getattr(record, name)
        return record

    return read
