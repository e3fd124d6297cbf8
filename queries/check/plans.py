"""Rows that each automatic statement reads in large tables.

The rows of the fixture are multiplied. With the indexes that the needs propose, no statement may read a tenth of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from queries.check.actions import Trial, Tried
from queries.check.explain import explained
from queries.check.report import Notebook
from queries.check.scripts import query, script
from queries.check.subject import Subject
from queries.contract.detect import DetectedEngine
from queries.contract.engine import Engine
from queries.contract.needs import OF_EXPRESSION
from queries.db.errors import DatabaseError
from queries.db.query import Query, RowsOrError
from queries.db.transaction import Transaction
from queries.files.statement import Statement
from queries.read.nodes import PAGE_NODES
from queries.read.reader import Reader
from queries.text.psql_text import array

TABLE_ROWS = 1_000_000  # of each table
READ_PART = 10  # a statement that reads more than this part of the rows is not bounded
DUPLICATE = "42P07"  # SQLSTATE of a name that is taken
SCANS = {"Relation Name", "Index Name"}  # of a node that reads a table; one above it may put several together
EXACT = "exact"


class ReadCount:
    """Rows that the statements of an action read without an index."""

    def __init__(self, transaction: Transaction) -> None:
        self.read: list[tuple[Statement, int]] = []
        self._each = transaction.each
        setattr(transaction, "each", self.each)  # noqa: B010

    async def each(self, queries: Sequence[Query], take: Callable[[RowsOrError], None] | None = None) -> Sequence[Any]:
        """Run statements one by one, and count what each of them reads."""
        answers: list[RowsOrError] = []
        count = Query(query("rows_read"))
        for each in queries:
            before, *answer = await self._each([count, each, *([] if each.apart else [count])])
            answers += answer[:1]
            if len(answer) == 2 and not isinstance(before, DatabaseError) and not isinstance(answer[1], DatabaseError):
                self.read.append((each.statement, answer[1][0]["n"] - before[0]["n"]))
            if isinstance(answers[-1], DatabaseError):
                break
        return answers


async def check_plans(subject: Subject, notes: Notebook) -> None:
    """Run each automatic statement, and each action on one node, on large tables.

    Raises DatabaseError.
    """
    lab, rows = subject.lab, subject.rows
    database, small = await lab.filled(), await lab.filled()
    with notes.skipped("the rows could not be multiplied"):
        async with subject.opened(database) as (_, reader):
            detected = reader.detected
        await _create_indexes(subject, small, detected)
        async with subject.opened(small) as (_, reader):
            few, sizes = await _counts(reader)
        await lab.run(database, multiply(detected.engine, detected.schema, detected.relations, rows))
        await _create_indexes(subject, database, detected)
        await lab.run(database, script("vacuum"))
        async with subject.opened(database) as (_, reader):
            await _check(reader, rows, notes)
            await _check_counts(reader, few, sizes, notes)
            for each in subject.tried:
                with notes.skipped(f"{each.action.name} was not tried with many rows"):
                    await _check_action(reader, each, rows, notes)


def multiply(engine: Engine, schema: str, tables: Iterable[str], rows: int) -> str:
    """Return the script that multiplies the rows of an engine's tables.

    Not each engine has foreign keys, so the kinds tell which columns refer to a parent.
    """
    return script("multiply", schema=schema, tables=array(tables), references=references(engine), rows=str(rows))


def references(engine: Engine) -> str:
    """Return the columns that refer to a parent, as the kinds name them, in JSON."""
    kinds = {kind.name: kind for kind in engine.spec.kinds}
    below = ((kind, kinds[kind.below]) for kind in kinds.values() if kind.parent)
    columns = [{"table": k.table, "column": k.parent, "of": p.table, "key": p.key} for k, p in below]
    return msgspec.json.encode(columns).decode()


async def _create_indexes(subject: Subject, database: str, detected: DetectedEngine) -> None:
    """Create the indexes that the needs propose, unless there is one of the name."""
    for need in subject.engine.spec.needs.values():
        try:
            await subject.lab.create_index(database, detected.schema, need.ddl)
        except DatabaseError as error:
            if error.code != DUPLICATE:
                raise


async def _check(reader: Reader, rows: int, notes: Notebook) -> None:
    roots = [reader.ids.local(node.id) for node in (await reader.pages.roots()).nodes]
    for name in reader.engine.statements:
        if name.partition("/")[0] not in (
            "roots",
            "live",
            "children",
            "counts",
            "dead",
            "findings",
            "samples",
            "nodes",
            "next",
            "funnel",
            "flow",
            "alive",
        ):
            continue
        for kind in {local.partition(":")[0] for local in roots} if name in ("children", "nodes") else {""}:
            chosen = reader.variant.select(name, kind=kind)
            if chosen is None:
                notes.note(f"{name}: {_unmet(reader, name)}. It is offered with its cost and not run by itself")
                continue
            of_kind = [local for local in roots if local.startswith(kind)]
            given = {"ids": of_kind if name == "nodes" else None, "places": []}
            values = reader.variant.parameters(
                cursor=None, limit=PAGE_NODES, parent=next(iter(of_kind), ""), queues=None, **given
            )
            notes.number += 1
            with notes.errors(chosen):
                read = await _read(reader, chosen, values)
                if read > rows // READ_PART:
                    notes.fault(chosen, f"{name}: it reads {read:,} rows of tables with {rows:,}: no index bounds it")


async def _counts(reader: Reader) -> tuple[Mapping[str, int], Mapping[str, int]]:
    """Return the counts that are called exact, by phase, and the rows of each table."""
    chosen = reader.variant.select("counts")
    async with reader.database.reading() as transaction:
        rows = await transaction.rows(chosen, reader.variant.parameters()) if chosen else ()
        names = {"ids": sorted(reader.detected.relations), "schema": reader.detected.schema}
        sizes = {row["name"]: row["n"] for row in await transaction.rows(query("sizes"), names)}
    exact = [row for row in rows if row["n"] and row.get("precision", EXACT) == EXACT]
    return {str(row.get("phase") or row.get("status")): row["n"] for row in exact}, sizes


async def _check_counts(reader: Reader, few: Mapping[str, int], sizes: Mapping[str, int], notes: Notebook) -> None:
    """Compare exact counts of the large tables with those of the fixture."""
    many, now = await _counts(reader)
    times = min((now[name] / size for name, size in sizes.items() if size and name in now), default=1.0)
    for phase, number in many.items():
        if few.get(phase, 0) * times / 2 > number:
            message = f"counts: {number:,} {phase} is called exact, and there are about {few[phase] * times:,.0f}"
            notes.fault(reader.variant.select("counts"), f"{message}: a capped count says 'capped'")


async def _check_action(reader: Reader, tried: Tried, rows: int, notes: Notebook) -> None:
    """Run an action on one node, and count what each of its statements reads."""
    nodes = (await reader.nodes.read([next(iter(tried.changed))])).nodes
    for node in nodes:
        one = tried.of(node.id, node.version)
        request = one.request(reader)
        async with reader.database.writing(reader.detected.action_schema) as transaction:
            # Copies may all be of one parent, and the server then reads the table whole although an index is there.
            await transaction.control("SET LOCAL enable_seqscan = off; SET LOCAL max_parallel_workers_per_gather = 0")
            count = ReadCount(transaction)
            await Trial(request).run(transaction)
        notes.number += 1
        for part, read in count.read:
            if read > rows // READ_PART:
                message = f"it reads {read:,} rows of a table with {rows:,} to change one node: no index bounds it"
                notes.fault(part, f"{tried.action.name}: {message}")


def _unmet(reader: Reader, name: str) -> str:
    """Return why no variant of a statement can run with the proposed indexes."""
    needs = {need for each in reader.engine.statements[name] for need in each.needs - reader.detected.met_needs}
    whys = [reader.engine.spec.needs[need].why for need in sorted(needs)]
    own = f"; {name}.sql with an index of its own in needs can" if any(n.endswith(OF_EXPRESSION) for n in needs) else ""
    return " and ".join(whys) + own


async def _read(reader: Reader, chosen: Statement, values: Mapping[str, Any]) -> int:
    """Return the most rows that a part of a statement reads of one table."""
    async with reader.database.reading_alone() as transaction:
        plan = (await explained(transaction, chosen, values))["Plan"]
    return max((round(_rows(node)) for node in _nodes(plan) if node.keys() & SCANS), default=0)


def _nodes(node: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield node
    for part in node.get("Plans", ()):
        yield from _nodes(part)


def _rows(node: Mapping[str, Any]) -> float:
    """Return the rows that a plan node returned or filtered, in all its loops."""
    each = sum(node.get(key, 0) for key in ("Actual Rows", "Rows Removed by Filter", "Rows Removed by Index Recheck"))
    return float(each * node.get("Actual Loops", 1))
