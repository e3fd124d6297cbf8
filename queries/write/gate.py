"""The one gate of every write: what was written is what was shown.

The server counts the rows that a transaction inserts, updates and deletes, by table. They include what foreign keys,
triggers and rules did. What the row copies do not have is named in the dry run and in the audit log, and stops a commit
whose dry run did not show it. So does a changed row that the dry run did not show, or showed otherwise. Nothing here
knows what kind of change it is.

Not counted: what runs in another session (dblink, foreign tables), and what a function does outside of the database.
A row that a trigger wrote and rolled back again in a block of its own is counted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from queries.db.database import TableName
from queries.db.errors import ConflictError, DeniedError
from queries.db.query import Query, Rows
from queries.db.shared_sql import statement
from queries.db.transaction import Transaction
from queries.read.question import Question
from queries.records.action import DryRun, OtherRows, RowChange, is_same
from queries.records.record import Record

WORDS = ("inserted", "updated", "deleted")
EPOCH = 1_000_000_000  # a number from here on may be a time or an id, which differs between dry run and commit

# Parts of a text that may differ between dry run and commit: ids and tokens, then times and numbers.
_VARYING = re.compile(r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b|\b[0-9a-fA-F]{16,}\b|\d+(?:\.\d+)?")


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
    """The row copies show changes that the server did not make.

    The transaction is rolled back.
    """


def written(schema: str, relations: Collection[str]) -> Question[WrittenRows]:
    """Ask what this session has written, and for the policies of the tables."""
    return Question([Query(statement("written"), {"schema": schema, "ids": sorted(relations)})], _written)


def _written(answers: Sequence[Rows]) -> WrittenRows:
    (rows,) = answers
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


def copied(changes: Iterable[RowChange], schema: str) -> dict[TableName, Counts]:
    """Count the changed rows of the copies by table. Nodes may share a row."""
    rows = {(c.table, c.key): (c.before is None, c.after is None) for c in changes}
    numbers: dict[TableName, list[int]] = {}
    for (table, _), (inserted, deleted) in rows.items():
        numbers.setdefault(qualified(table, schema), [0, 0, 0])[0 if inserted else 2 if deleted else 1] += 1
    return {table: Counts(*counts) for table, counts in numbers.items()}


def qualified(table: str, schema: str) -> TableName:
    """Return schema and name of a table of the copies.

    They name no schema if it is the engine's.
    """
    where, _, name = table.rpartition(".")
    return where or schema, name


def uncopied(server: Mapping[TableName, Counts], copies: Mapping[TableName, Counts]) -> dict[TableName, Counts]:
    """Return what the server wrote beyond the copies.

    Raises MiscountedError if it wrote less. A row that moves to another partition counts as deleted and inserted.
    """
    surplus = {}
    for table in server.keys() | copies.keys():
        inserted, updated, deleted = server.get(table, NONE).minus(copies.get(table, NONE))
        moved = max(min(-updated, inserted, deleted), 0)
        more = Counts(inserted - moved, updated + moved, deleted - moved)
        for word, number in zip(WORDS, more, strict=True):
            if number < 0:
                name, here = table[1], server.get(table, NONE)
                raise MiscountedError(
                    f"The row copies show {copies[table][WORDS.index(word)]} {word} rows of {name}, but the server"
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
    """Return the rows beyond the copies, with what may have written them.

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


def compare(others: Sequence[OtherRows], shown: DryRun, nodes: Collection[str]) -> None:
    """Compare rows of other tables with those of the dry run. Raises UnshownError.

    The numbers must be the same for the same nodes. Of fewer nodes there may be fewer. Of nodes that were not dry-run,
    only the tables are known.
    """
    seen = {other.table: other for other in shown.others}
    dry_run = shown.nodes
    subset, same = dry_run.issuperset(nodes), dry_run == frozenset(nodes)
    for table in sorted({*seen, *(other.table for other in others)} if same else {other.table for other in others}):
        now = next((other for other in others if other.table == table), OtherRows(table=table))
        was = seen.get(table, OtherRows(table=table))
        pairs = zip(now.counts, was.counts, strict=True)
        if any(n != w if same else n > w if subset else (n and not w) for n, w in pairs):
            what = f"the dry run showed {was.words}" if any(was.counts) else "the dry run did not show that"
            cause = f" ({now.cause})" if now.cause else ""
            raise UnshownError(f"It would also have {now.words} of {table}{cause}; {what}.", {})


def compare_rows(changes: Iterable[RowChange], shown: DryRun, nodes: Collection[str], operator: str) -> None:
    """Compare the rows that ``operator`` changes with those of the dry run.

    Raises UnshownError. A row that nodes share may be listed under any of them. Inserted rows get new keys, so they are
    counted. Another operator may have made the dry run, and actions write the name.
    """
    dry_run = shown.nodes
    overlap = dry_run.intersection(nodes)
    changes_read = [change.read() for change in changes if change.id in overlap]
    names = "|".join(map(re.escape, sorted({operator, shown.operator} - {""}, key=len, reverse=True)))
    varying = re.compile(f"{names}|{_VARYING.pattern}") if names else _VARYING
    rows = {(c.table, c.key): c for c in changes_read if c.before is not None}
    before = {(c.table, c.key): c for c in shown.changes if c.before is not None}
    whys: dict[str, str] = {}
    for place, change in sorted(rows.items()):
        was = before.get(place)
        why = "it changed a row that the dry run did not show" if was is None else _columns_differ(change, was, varying)
        if why:
            whys.setdefault(change.id, f"the commit differs: {why} ({change.table}). Repeat the dry run.")
    if overlap == dry_run and overlap.issuperset(nodes):
        made, expected = (Counter(c.table for c in each if c.before is None) for each in (changes_read, shown.changes))
        for place in sorted(before.keys() - rows.keys()):
            why = "it did not change a row that the dry run changed"
            whys.setdefault(before[place].id, f"the commit differs: {why} ({place[0]}). Repeat the dry run.")
        for table in sorted(made.keys() | expected.keys()):
            if made[table] != expected[table]:
                why = f"it inserted {made[table]} rows of {table}, and the dry run {expected[table]}"
                raise UnshownError(f"The commit differs: {why}.", {})
    if whys:
        raise UnshownError(next(iter(whys.values())), whys)


def _columns_differ(now: RowChange, was: RowChange, varying: re.Pattern[str]) -> str:
    """Return how a row's change differs from that of the dry run, or ""."""
    if (now.after is None) != (was.after is None):
        return f"the commit {'deleted' if now.after is None else 'changed'} a row of {now.table}, unlike the dry run"
    if now.after is None or was.after is None or now.before is None or was.before is None:
        return ""
    shown = was.columns
    for name in now.columns:
        if not is_same(now.before.get(name), was.before.get(name)):
            continue  # another transaction has changed it since; the versions say whether that matters
        if name not in shown:
            return f"the commit changed {now.table}.{name}, which the dry run did not"
        if not _alike(now.after.get(name), was.after.get(name), varying):
            return f"the commit set {now.table}.{name} to another value than the dry run"
    return ""


def _alike(now: Any, was: Any, varying: re.Pattern[str]) -> bool:
    """Return True if two values differ at most in times, ids, tokens and operators."""
    if is_same(now, was):
        return True
    if isinstance(now, str) and isinstance(was, str):
        return varying.sub("0", now) == varying.sub("0", was)
    if isinstance(now, bool) or isinstance(was, bool):
        return False
    if isinstance(now, int | float) and isinstance(was, int | float):
        return min(now, was) >= EPOCH
    if isinstance(now, list) and isinstance(was, list):
        return len(now) == len(was) and all(_alike(a, b, varying) for a, b in zip(now, was, strict=True))
    if isinstance(now, dict) and isinstance(was, dict):
        return now.keys() == was.keys() and all(_alike(value, was[key], varying) for key, value in now.items())
    return False
