"""The one gate of every write: what was written is what was shown.

The server counts the rows that a transaction inserts, updates and deletes, by table. They include what foreign keys,
triggers and rules did. What the images do not have is named in the dry run and in the audit log, and stops a commit
whose dry run did not show it. So does a changed row that the dry run did not show, or showed otherwise
(:mod:`~queries.write.compare`). Nothing here knows what kind of change it is.

Not counted: what runs in another session (dblink, foreign tables), and what a function does outside of the database.
A row that a trigger wrote and rolled back again in a block of its own is counted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from queries.db.database import TableName
from queries.db.errors import ConflictError, DeniedError
from queries.db.query import Query, Rows
from queries.db.shared_sql import statement
from queries.db.transaction import Transaction
from queries.read.question import Question
from queries.records.action import DryRun, OtherRows, RowChange
from queries.records.record import Record
from queries.write.compare import AGAIN, Contract, Had, Profile, Row, shown_nodes
from queries.write.image_reader import RowPair

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


def compare(others: Sequence[OtherRows], shown: DryRun, nodes: Collection[str]) -> None:
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
    shown: DryRun,
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
