"""Check what an audit log entry asks an undo to change, before it runs.

An operator with few privileges may write entries, and a colleague with more may undo them. So an undo makes only
changes that the engine's actions make, and that the writer of the entry could make with its own privileges.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from queries.db.shared_sql import statement
from queries.db.transaction import Reads, Transaction
from queries.read.reader import Reader
from queries.records.action import Undo
from queries.write.images import StoredImages, TableImages

ALTERED = "the entry or its images were changed after they were written (`unstick audit --verify`)"
ELSEWHERE = "the entry is about {engine} in the schema {schema}, not about this engine"
FOREIGN = "no action of {engine} {does} {name}, so the entry does not come from an action"
UNKNOWN_ROLE = "the role {author}, which wrote the entry, does not exist any more, so its privileges are unknown"
LACKS = "{author} wrote the entry and lacks {what}: an undo makes no change that its writer could not make"
POLICIES = (
    "row-level policies of {what} decide which rows {author}, who wrote the entry, can change: "
    "only {author} can undo it"
)
NAMES_OTHERS = (
    "{author} can write any role into the audit log, so the entry may be from {author}, who cannot change {what}: "
    "check who has INSERT or UPDATE on unstick.audit_log"
)


def why_foreign(reader: Reader, stored: StoredImages) -> str:
    """Return why no action of the engine wrote these images, or ""."""
    if not stored.intact:
        return ALTERED
    name = reader.engine.name
    if not reader.is_of(stored.engine, stored.schema):
        return ELSEWHERE.format(engine=stored.engine, schema=stored.schema)
    spec = reader.engine.spec
    columns: dict[str, set[str]] = {}
    for full in (
        *(c for action in spec.actions if action.undo is not Undo.NONE for c in action.overwrites),
        *spec.undo.counters,
    ):
        owner, _, column = full.partition(".")
        columns.setdefault(owner, set()).add(column)
    for table in stored.images.tables:
        own = columns.get(table.table, set())
        if table.table not in reader.detected.relations or not (own or table.table in spec.undo.append_only):
            return FOREIGN.format(engine=name, does="changes", name=table.table)
        if table.table in spec.undo.append_only or "*" in own:
            continue
        if any(row.before is None or row.after is None for row in table.rows):
            return FOREIGN.format(engine=name, does="inserts or deletes rows of", name=table.table)
        others = {column for row in table.rows for column in row.before or ()} - own
        if others:
            return FOREIGN.format(engine=name, does="changes", name=f"{table.table}.{min(others)}")
    return ""


async def author_doubts(
    transaction: Transaction, reader: Reader, stored: StoredImages, *, in_table: bool
) -> tuple[str, tuple[str, ...]]:
    """Return why the writer of an entry could not make the changes of its undo, or "".

    Also return the tables of which policies may have hidden rows from the writer. Raises DatabaseError.
    """
    uses = list(needs(reader, stored.images.tables))
    rows = await _lacking(transaction, reader, stored.role, uses, in_table=in_table)
    hidden = tuple(dict.fromkeys(row["what"] for row in rows if row["sort"] == "policies"))
    changed = {table.table for table in stored.images.tables}
    forms = {"missing": UNKNOWN_ROLE, "lacks": LACKS, "policies": POLICIES}
    for row in rows:
        if row["sort"] != "policies" or row["what"] in changed:
            form = forms[row["sort"]] if row["author"] == stored.role else NAMES_OTHERS
            what = row["what"] if form is not NAMES_OTHERS else row["what"].rpartition(" ")[2]
            return form.format(author=row["author"], what=what), hidden
    return "", hidden


async def run_doubts(transaction: Reads, reader: Reader, author: str, privileges: Iterable[str]) -> str:
    """Return why the role that began a run could not run it, or "".

    ``privileges``: of the action, as ``"UPDATE task"``. Raises DatabaseError.
    """
    parts = [privilege.partition(" ") for privilege in privileges]
    needs = [
        {"table": name, "word": word, "column": None} for word, _, name in parts if name in reader.detected.relations
    ]
    rows = await _lacking(transaction, reader, author, needs, in_table=True)
    row = next((row for row in rows if row["sort"] != "policies"), None)
    if row is None:
        return ""
    if row["sort"] == "missing":
        return f"the role {author}, which began it, does not exist any more"
    if row["author"] == author:
        return f"{author} began it and lacks {row['what']}"
    return NAMES_OTHERS.format(author=row["author"], what=row["what"].rpartition(" ")[2])


async def _lacking(
    transaction: Reads,
    reader: Reader,
    author: str,
    needs: Sequence[Mapping[str, str | None]],
    *,
    in_table: bool,
) -> Sequence[Any]:
    values = {
        "schema": reader.detected.schema,
        "query": sorted(reader.detected.relations),
        "args": {"author": author, "in_table": in_table, "needs": needs},
    }
    return await transaction.rows(statement("undo_author"), values)


def needs(reader: Reader, tables: Iterable[TableImages]) -> Iterator[Mapping[str, str | None]]:
    """Yield the privileges that restoring the rows of tables uses."""
    undo = reader.engine.spec.undo
    for table in tables:
        name = table.table
        if name in undo.append_only:
            yield {"table": name, "word": "INSERT", "column": None}
            continue
        counters = {c.partition(".")[2] for c in undo.counters if c.partition(".")[0] == name}
        updated = {c for row in table.rows if row.after is not None for c in row.before or ()}
        if any(row.before is not None and row.after is not None for row in table.rows):
            yield from ({"table": name, "word": "UPDATE", "column": c} for c in sorted(updated | counters))
        if any(row.after is None for row in table.rows):
            yield from ({"table": name, "word": "INSERT", "column": c} for c in table.columns)
        if any(row.before is None for row in table.rows):
            yield {"table": name, "word": "DELETE", "column": None}
