"""The one gate of every write: what was written is what was shown.

The server counts the rows that a transaction inserts, updates and deletes, by table. They include what foreign keys,
triggers and rules did. What the images do not have is named in the dry run and in the audit log, and stops a commit
whose dry run did not show it. So does a changed row that the dry run did not show, or showed otherwise. Nothing here
knows what kind of change it is.

A value is the same if its text is. ``[varies]`` in an engine's folder says what else may differ between the two
transactions. Inserted rows are compared as a multiset of their columns without the key. Nodes that were not dry-run
must do what the others did: in each table as many rows, the same columns, and the same value where all of them got one.

Not counted: what runs in another session (dblink, foreign tables), and what a function does outside of the database.
A row that a trigger wrote and rolled back again in a block of its own is counted.
"""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

import msgspec

from queries.change.images import RowPair
from queries.contract.detect import CHANGES, trust_query
from queries.contract.spec import Varies, Varying
from queries.contract.trust import Trust
from queries.db.database import TableName
from queries.db.errors import ConflictError, DeniedError
from queries.db.query import Query, Rows, statement
from queries.db.transaction import Transaction
from queries.log.choice import AuditLog
from queries.records.action import Change, OtherRows, RowChange, texts_of, time_of
from queries.records.record import Record
from queries.text.json_text import Number

TIME_TOLERANCE_SECONDS = 5.0  # between the distances from now(): a transaction may take as long
AGAIN = "Repeat the dry run."
CATALOGS = "pg_catalog"  # the name of the server's own tables among those that were written
KINDS = ("inserted", "changed", "deleted")

_SCALES = ((1e15, 1e6), (1e12, 1e3), (1e9, 1.0))  # numbers from here on are times in us, in ms, in seconds

Group = tuple[str, str]  # table and kind of a change
Had = Callable[[str, str, bytes], bool]
"""Whether a row of a node had a value, as JSON, in the column of a name."""

WORDS = ("inserted", "updated", "deleted")


class Counts(NamedTuple):
    """Number of rows of a table that were inserted, updated and deleted."""

    inserted: int = 0
    updated: int = 0
    deleted: int = 0

    def minus(self, other: Counts) -> Counts:
        """Return the difference."""
        return Counts(*(now - was for now, was in zip(self, other, strict=True)))


NONE = Counts()


class WrittenRows(Record):
    """Rows that the session has written so far, by table.

    ``counted``: False if the server does not count them. ``policies``: tables of the engine whose row-level security
    restricts this role now. ``at``: the server's clock.
    """

    tables: Mapping[TableName, Counts] = {}
    counted: bool = True
    policies: tuple[str, ...] = ()
    at: float = 0.0

    def since(self, before: WrittenRows) -> dict[TableName, Counts]:
        """Return what was written since ``before``."""
        both = self.tables.keys() | before.tables.keys()
        changes = {t: self.tables.get(t, NONE).minus(before.tables.get(t, NONE)) for t in both}
        return {table: counts for table, counts in changes.items() if counts != NONE}


class UnshownError(ConflictError):
    """The transaction did what the dry run did not show. It is rolled back.

    ``nodes``: why, by node; empty if the node is unknown.
    """

    def __init__(self, why: str, nodes: Mapping[str, str]) -> None:
        super().__init__(why)
        self.nodes = nodes


class MiscountedError(ConflictError):
    """The images show changes that the server did not make.

    The transaction is rolled back.
    """


def written(schema: str, relations: Collection[str]) -> Query:
    """Return the statement for what this session has written.

    It also has the policies of the tables.
    """
    return Query(statement("written"), {"schema": schema, "ids": sorted(relations)}, json={"at": "float"})


def written_rows(rows: Rows) -> WrittenRows:
    """Return what `written` has answered."""
    return WrittenRows(
        tables={
            (r["schema"], r["name"]): Counts(r["inserted"], r["updated"], r["deleted"])
            for r in rows
            if r["schema"] is not None
        },
        counted=rows[0]["counted"],
        policies=tuple(rows[0]["policies"]),
        at=rows[0]["at"],
    )


def imaged(pairs: Iterable[RowPair], schema: str) -> dict[TableName, Counts]:
    """Count the changed rows of the images by table."""
    numbers: dict[str, list[int]] = {}
    for pair in pairs:
        kind = 0 if pair.was is None else 2 if pair.now is None else 1
        numbers.setdefault(pair.table, [0, 0, 0])[kind] += 1
    return {qualified(table, schema): Counts(*counts) for table, counts in numbers.items()}


def qualified(table: str, schema: str) -> TableName:
    """Return schema and name of a table of the images.

    They name no schema if it is the engine's.
    """
    where, _, name = table.rpartition(".")
    return where or schema, name


def unimaged(server: Mapping[TableName, Counts], images: Mapping[TableName, Counts]) -> dict[TableName, Counts]:
    """Return what the server wrote beyond the images.

    Raises MiscountedError if it wrote less. A row that moves to another partition counts as deleted and inserted.
    """
    surplus = {}
    for table in server.keys() | images.keys():
        inserted, updated, deleted = server.get(table, NONE).minus(images.get(table, NONE))
        moved = max(min(-updated, inserted, deleted), 0)
        more = Counts(inserted - moved, updated + moved, deleted - moved)
        for word, number in zip(WORDS, more, strict=True):
            if number < 0:
                name, here = table[1], server.get(table, NONE)
                raise MiscountedError(
                    f"The images show {images[table][WORDS.index(word)]} {word} rows of {name}, but the server"
                    f" {word} {here[WORDS.index(word)]}."
                )
        if more != NONE:
            surplus[table] = more
    return surplus


async def others(
    transaction: Transaction,
    more: Mapping[TableName, Counts],
    changed: Iterable[TableName],
    schema: str,
    relations: Collection[str],
) -> tuple[OtherRows, ...]:
    """Return the rows beyond the images, with what may have written them.

    Raises DatabaseError.
    """
    if not more:
        return ()
    args = {"tables": sorted(more), "changed": sorted({*changed, *more})}
    causes = {
        (row["schema"], row["name"]): row["cause"]
        for row in await transaction.rows(statement("written_by"), {"args": args})
    }
    return tuple(
        OtherRows(
            table=f"{where}.{name}" if name else where,
            **dict(zip(WORDS, more[where, name], strict=True)),
            own=where == schema and name in relations,
            cause=causes.get((where, name), ""),
        )
        for where, name in sorted(more)
    )


def hidden(others: Iterable[OtherRows], policies: Iterable[str], schema: str) -> None:
    """Refuse a change of rows that a policy hides.

    Raises DeniedError.
    """
    restricted = {f"{schema}.{name}": name for name in policies}
    for other in others:
        if other.table in restricted and (other.deleted or other.updated):
            name = restricted[other.table]
            raise DeniedError(
                f"row-level policy: it would also have {other.words} of {name} that this role cannot see."
                " A role that sees all rows can do it."
            )


async def touched(transaction: Transaction, log: AuditLog, tables: Iterable[str]) -> str:
    """Return why writing these tables ran code of an untrusted role, or "".

    It is asked before COMMIT, and in a dry run. ``tables``: those that the transaction wrote and its action does not
    name, with their schemas: a trigger may write to any table. The code has run, but nothing is committed. Raises
    DatabaseError.
    """
    parts = {each: [(each[:i], each[i + 1 :]) for i, c in enumerate(each) if c == "."] for each in tables}
    if not parts:
        return ""
    names = {name for pairs in parts.values() for _, name in pairs}
    (rows,) = await transaction.batch([trust_query([], log.trusted, names)])
    trust = Trust(rows)
    whys = (
        trust.unwritten(schema, name, command)
        for pairs in parts.values()
        for schema, name in pairs
        for command in ("", *CHANGES)
    )
    events = trust.event_trigger() if CATALOGS in parts else ""
    why = events or next(filter(None, whys), "")
    return f"{why}. It ran in this transaction, which was rolled back" if why else ""


def compare(others: Sequence[OtherRows], shown: Change, nodes: Collection[str]) -> None:
    """Compare rows of other tables with those of the dry run. Raises UnshownError.

    The numbers must be the same for the same nodes. Of fewer nodes there may be fewer. Of nodes that were not dry-run,
    they must be in proportion if each node of the dry run may have written as many.
    """
    seen = {other.table: other for other in shown.others}
    dry_run = shown.nodes

    def differs(now: int, was: int) -> bool:
        if same or subset:
            return now != was if same else now > was
        share, rest = divmod(was, len(dry_run) or 1)
        return now != share * len(nodes) if was and not rest else now > 0 == was

    subset, same = dry_run.issuperset(nodes), dry_run == frozenset(nodes)
    for table in sorted({other.table for other in others} | (set() if subset and not same else seen.keys())):
        now = next((other for other in others if other.table == table), OtherRows(table=table))
        was = seen.get(table, OtherRows(table=table))
        pairs = zip(now.counts, was.counts, strict=True)
        if any(differs(n, w) for n, w in pairs):
            what = f"the dry run showed {was.words}" if any(was.counts) else "the dry run did not show that"
            cause = f" ({now.cause})" if now.cause else ""
            raise UnshownError(f"It would also have {now.words} of {table}{cause}; {what}.", {})


def compare_rows(
    changes: Iterable[RowChange],
    shown: Change,
    nodes: Collection[str],
    contract: Contract,
    at: float,
    had: Had | None,
) -> None:
    """Compare the rows of a commit with those of the dry run. Raises UnshownError.

    ``at``: ``now()`` of the commit. ``had``: before the change; None for an undo, whose script compares each row with
    its image.
    """
    rows = [Row(change, at) for change in changes]
    dry_run = shown.nodes
    whys = shown_nodes(rows, shown, dry_run.intersection(nodes), contract, same=dry_run == frozenset(nodes))
    others = [node for node in nodes if node not in dry_run]
    if had and others and (profile := Profile.of(shown, contract)).known:
        differences = profile.differences([row for row in rows if row.node not in dry_run], others, had)
        whys |= {node: f"{why}. {AGAIN}" for node, why in differences.items()}
    if whys:
        raise UnshownError(next(iter(whys.values())), whys)


class Value(NamedTuple):
    """Value without its times, and these as seconds from ``now()``."""

    exact: Any
    times: tuple[float, ...] = ()

    def equals(self, other: Value) -> bool:
        """Return True if the values differ at most as the contract says."""
        pairs = zip(self.times, other.times, strict=False)
        return self.exact == other.exact and all(abs(a - b) <= TIME_TOLERANCE_SECONDS for a, b in pairs)


class Contract:
    """Allowed differences between two transactions.

    ``keys``: the columns of the primary key of each table. ``operators``: the names of those who act.
    """

    def __init__(self, varies: Varies, keys: Mapping[str, Sequence[str]], operators: Iterable[str]) -> None:
        self.keys = keys
        self._varies = varies
        self._known: dict[str, tuple[set[Varying], bool]] = {}
        self._operators = sorted({*operators} - {""}, key=len, reverse=True)

    def _kinds(self, name: str) -> tuple[set[Varying], bool]:
        """Return how a value may differ, and True if a member of it may."""
        if name not in self._known:
            size = name.count(".") + 1
            globs = [(k, each.replace("[", "[[]").split(".")) for k, names in self._varies.items() for each in names]
            fitting = [(kind, parts) for kind, parts in globs if fnmatchcase(name, ".".join(parts[:size]))]
            kinds = {kind for kind, parts in fitting if len(parts) == size}
            self._known[name] = kinds, any(len(parts) > size for _, parts in fitting)
        return self._known[name]

    def is_same(self, name: str, now: Row, was: Row) -> bool:
        """Return True if a column of two rows may have got the same value."""
        return now.now.get(name) == was.now.get(name) or self.value(name, now).equals(self.value(name, was))

    def value(self, column: str, row: Row) -> Value:
        """Return the new value of a column."""
        name, text = f"{row.table}.{column}", row.now.get(column)
        if text is None or not any(self._kinds(name)):
            return Value(text)
        times: list[float] = []
        exact = self._exact(name, _parsed(bytes(text).decode(errors="surrogateescape")), row.at, times)
        return Value(repr(exact), tuple(times))

    def whole(self, row: Row) -> Value:
        """Return an inserted row without its key."""
        parts: list[Any] = []
        times: list[float] = []
        for name in sorted(row.now.keys() - {*self.keys.get(row.table, ())}):
            value = self.value(name, row)
            parts.append((name, bytes(value.exact) if isinstance(value.exact, msgspec.Raw) else value.exact))
            times += value.times
        return Value(tuple(parts), tuple(times))

    def _exact(self, name: str, value: Any, at: float, times: list[float]) -> Any:
        kinds, within = self._kinds(name)
        if value is not None and kinds & {"key", "token"}:
            return ("another",)
        if "time" in kinds and (time := _time(value)) is not None:
            times.append(time - at)
            return ("time",)
        if "operator" in kinds and isinstance(value, str):
            for operator in self._operators:
                value = value.replace(operator, "\0")
        if within and isinstance(value, str) and value[:1] == "{":  # a document within a document
            with contextlib.suppress(ValueError):
                value = _parsed(value)
        if within and isinstance(value, tuple) and not isinstance(value, Number):
            return tuple((key, self._exact(f"{name}.{key}", each, at, times)) for key, each in value)
        return value


# Objects are their members, and numbers as spelled. json.loads would make one each time.
_parsed = json.JSONDecoder(parse_float=Number, parse_int=Number, object_pairs_hook=tuple).decode


def _time(value: Any) -> float | None:
    """Return a time in seconds since 1970, or None. A time without a zone is in UTC."""
    try:
        if isinstance(value, Number):
            number = float(value.text)
            return next((number / scale for least, scale in _SCALES if number >= least), None)
        time = datetime.fromisoformat(value)
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    except (TypeError, ValueError, OverflowError):
        return None


class Row:
    """Changed row, column by column as JSON. ``at``: ``now()`` of its transaction."""

    __slots__ = ("at", "columns", "kind", "node", "now", "place", "table", "was")

    def __init__(self, change: RowChange, at: float) -> None:
        self.node, self.table, self.at = change.id, change.table, time_of(change, at)
        self.place = change.table, change.key
        self.was, self.now = texts_of(change.before), texts_of(change.after)
        self.kind = KINDS[0 if change.before is None else 2 if change.after is None else 1]
        names = self.now or self.was
        self.columns = [n for n in names if self.kind != "changed" or self.now[n] != self.was.get(n)]


def shown_nodes(
    now: Iterable[Row], shown: Change, overlap: Collection[str], contract: Contract, *, same: bool
) -> dict[str, str]:
    """Return by node how its rows differ from those of the dry run.

    A row that nodes share may be listed under any of them. ``overlap``: the nodes of both, which may have the ``same``.
    """
    if not overlap:
        return {}
    rows = [row for row in now if row.node in overlap]
    before = [Row(change, shown.at or 0.0) for change in shown.changes]
    whys: dict[str, str] = {}

    keyed, expected = ({row.place: row for row in some if row.kind != "inserted"} for some in (rows, before))
    for place, row in sorted(keyed.items()):
        was = expected.get(place)
        why = "it changed a row that the dry run did not show" if was is None else _difference(row, was, contract)
        if why:
            whys.setdefault(row.node, f"{why} ({row.table})")
    for place in sorted(expected.keys() - keyed.keys()) if same else ():
        whys.setdefault(expected[place].node, f"it did not change a row that the dry run changed ({place[0]})")
    others = [row for row in rows if row.kind == "inserted"], [row for row in before if row.kind == "inserted"]
    for row, why in _unmatched(*others, contract, same=same):
        whys.setdefault(row.node if row.node in overlap else min(overlap), f"{why} ({row.table})")
    return {node: f"the commit differs: {why}. {AGAIN}" for node, why in whys.items()}


def _difference(now: Row, was: Row, contract: Contract) -> str:
    table = now.table
    if now.kind != was.kind:
        return f"the commit {now.kind} a row of {table}, unlike the dry run"
    for name in now.columns if now.kind == "changed" else ():
        if name not in was.columns:
            return f"the commit changed {table}.{name}, which the dry run did not"
        # Another transaction may have changed it since; the versions say whether that matters.
        if now.was[name] == was.was[name] and not contract.is_same(name, now, was):
            return f"the commit set {table}.{name} to another value than the dry run"
    for name in was.columns if now.kind == "changed" else ():
        if name not in now.columns and now.was.get(name, was.was[name]) == was.was[name]:
            return f"the commit did not change {table}.{name}, which the dry run did"
    return ""


def _unmatched(now: Sequence[Row], was: Sequence[Row], contract: Contract, *, same: bool) -> Iterable[tuple[Row, str]]:
    """Yield inserted rows without a partner; with ``same`` also those of the dry run."""
    partners: dict[str, dict[Any, list[tuple[Value, Row]]]] = {}
    for row in was:
        value = contract.whole(row)
        partners.setdefault(row.table, {}).setdefault(value.exact, []).append((value, row))
    for row in now:
        value, group = contract.whole(row), partners.get(row.table, {})
        alike = group.get(value.exact, [])
        partner = next((n for n, (other, _) in enumerate(alike) if value.equals(other)), None)
        if partner is not None:
            del alike[partner]
        elif not any(group.values()):
            yield row, f"it inserted a row of {row.table}, which the dry run did not"
        else:
            names = [n for n in row.now if n not in contract.keys.get(row.table, ())]
            unlike = ([n for n in names if not contract.is_same(n, row, o)] for some in group.values() for _, o in some)
            named = [f": {row.table}.{name} is another" for name in min(unlike, key=len)]
            yield row, f"it inserted another row of {row.table} than the dry run{''.join(named[:1])}"
    left = (row for group in partners.values() for some in group.values() for _, row in some)
    yield from ((row, "it has not inserted a row as the dry run did") for row in left if same)


class Profile:
    """Rows that the nodes of a dry run changed, by table and kind."""

    _last: tuple[tuple[RowChange, ...], Profile] | None = None

    def __init__(self, shown: Change, contract: Contract) -> None:
        self._contract = contract
        rows = [Row(change, shown.at or 0.0) for change in shown.changes]
        nodes = {*shown.nodes, *(row.node for row in rows)}
        counts = Counter((row.node, row.table, row.kind) for row in rows)
        self._rows: dict[Group, list[Row]] = {}
        for row in rows:
            self._rows.setdefault((row.table, row.kind), []).append(row)
        each = {group: [counts[(node, *group)] for node in nodes] for group in self._rows}
        self._counts = {group: (min(numbers), max(numbers)) for group, numbers in each.items()}
        self._columns = {group: {n for row in some for n in row.columns} for group, some in self._rows.items()}
        self._constants = {group: [*filter(self._is_constant(group), names)] for group, names in self._columns.items()}
        self.known = bool(rows)

    @classmethod
    def of(cls, shown: Change, contract: Contract) -> Profile:
        """Return the profile of a dry run. A bulk asks for the same one with each part."""
        if cls._last is None or cls._last[0] is not shown.changes:
            cls._last = shown.changes, cls(shown, contract)
        return cls._last[1]

    def _is_constant(self, group: Group) -> Callable[[str], bool]:
        """Return whether several nodes got the same value in a column."""
        rows, key = self._rows[group], self._contract.keys.get(group[0], ())
        several = len({row.node for row in rows}) > 1

        def is_constant(name: str) -> bool:
            same = (name in row.columns and self._contract.is_same(name, row, rows[0]) for row in rows)
            return several and name not in key and all(same)

        return is_constant

    def differences(self, rows: Sequence[Row], nodes: Collection[str], had: Had) -> dict[str, str]:
        """Return by node what it did that no node of the dry run has done."""
        counts = Counter([(row.node, row.table, row.kind) for row in rows])
        whys: dict[str, str] = {}
        for node, table, kind in sorted(counts):
            if (table, kind) not in self._counts:
                whys.setdefault(node, f"the commit {kind} a row of {table}, which no node of the dry run did")
        for (table, kind), (least, most) in sorted(self._counts.items()):
            for node in nodes:
                if not least <= (n := counts[node, table, kind]) <= most:
                    whys.setdefault(node, f"the commit {kind} {n} rows of {table}, which no node of the dry run did")
        for row in rows:
            if row.node not in whys and (why := self._row_difference(row, had)):
                whys[row.node] = why
        return whys

    def _row_difference(self, row: Row, had: Had) -> str:
        rows, is_same = self._rows[row.table, row.kind], self._contract.is_same
        for name in row.columns:
            if name not in self._columns[row.table, row.kind] and not all(is_same(name, row, other) for other in rows):
                return f"the commit changed {row.table}.{name}, which no node of the dry run did"
        for name in self._constants[row.table, row.kind]:
            if name not in row.columns:
                return f"the commit did not change {row.table}.{name}, which each node of the dry run did"
            copied = row.kind == "inserted" and had(row.node, name, bytes(row.now[name]))
            depends = row.kind == "changed" and row.was[name] != rows[0].was[name]  # on the value before
            if not (copied or depends or is_same(name, row, rows[0])):
                return f"the commit set {row.table}.{name} to another value than for each node of the dry run"
        return ""
