"""Questions to an engine or the server, and those that are asked together."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Generic, TypeVar

from queries.contract.rows import SHAPES, json_kinds, verify
from queries.contract.variant import EngineVariant
from queries.db.database import ASKED_READ_SECONDS, READ_SECONDS
from queries.db.errors import DatabaseError
from queries.db.query import Query, Rows, RowsOrError
from queries.db.shared_sql import statement
from queries.db.transaction import Reads
from queries.files.statement import Statement
from queries.records.node import ScanRequired
from queries.records.record import Record

R = TypeVar("R")
RESTING = ("counts", "samples")  # statements that a refresh need not run for a minute


class Question(Record, Generic[R], kw_only=False):
    """A question: its statements, and the function that reads their answers.

    It may raise DatabaseError.
    """

    queries: Sequence[Query]
    read: Callable[[Sequence[Rows]], R]

    async def answer(self, transaction: Reads) -> R:
        """Ask, and return the answer. Raises DatabaseError."""
        return self.read(await transaction.batch(self.queries))


NOW = Question([Query(statement("now"), json={"now": "float"})], lambda answers: float(answers[0][0]["now"]))
"""The server's time in seconds since 1970."""

Questions = Callable[[], Sequence[Question[Any]]]
"""Questions that depend on what is known when they are asked."""


def together(*questions: Question[Any]) -> Question[list[Any]]:
    """Return one question of several. Its answer is a list."""

    def read(answers: Sequence[Rows]) -> list[Any]:
        rest = iter(answers)
        return [each.read(list(islice(rest, len(each.queries)))) for each in questions]

    return Question([query for each in questions for query in each.queries], read)


def value_of(answer: R | DatabaseError) -> R:
    """Return an answer of `answered`. Raises it if it is an error."""
    if isinstance(answer, DatabaseError):
        raise answer
    return answer


async def answered(transaction: Reads, questions: Sequence[Question[Any]]) -> list[Any]:
    """Ask together. Return the answer to each question, or the DatabaseError.

    In a transaction that writes, those after the first that failed are missing. Raises an error of NO_CONNECTION only.
    """
    answers = await transaction.each([query for each in questions for query in each.queries])
    return read_answers(iter(answers), questions)


def read_answers(answers: Iterator[RowsOrError], questions: Sequence[Question[Any]]) -> list[Any]:
    """Return the answer to each question, or the DatabaseError.

    Those that were not answered are missing.
    """
    results: list[Any] = []
    for each in questions:
        rows = list(islice(answers, len(each.queries)))
        error = next((row for row in rows if isinstance(row, DatabaseError)), None)
        if error is None and len(rows) < len(each.queries):
            break
        try:
            results.append(error or each.read([row for row in rows if not isinstance(row, DatabaseError)]))
        except DatabaseError as unreadable:
            results.append(unreadable)
    return results


def rows_of(chosen: Statement, name: str, values: Mapping[str, Any]) -> Question[Rows]:
    """Ask for the rows of a statement. ``name``: of their shape."""

    def read(answers: Sequence[Rows]) -> Rows:
        verify(answers[0], SHAPES[name], chosen.source)
        return answers[0]

    return Question([Query(chosen, values, json=json_kinds(SHAPES[name]), rests=name in RESTING)], read)


@contextlib.asynccontextmanager
async def reading(variant: EngineVariant, *, in_order: bool = True, allow_scan: bool = False) -> AsyncIterator[Reads]:
    """Begin a transaction for statements of an engine, whose variant is known then.

    So are the policies of its tables, with the first answer. ``in_order``: its statements read the first few rows in an
    index's order. ``allow_scan``: it may take longer.
    """
    seconds = ASKED_READ_SECONDS if allow_scan else READ_SECONDS
    async with variant.database.reading(seconds, in_order=in_order and not allow_scan) as transaction:
        await variant.recognise(transaction)
        yield _WithPolicies(transaction, variant)


class _WithPolicies(Reads):
    """Reads that first ask for the policies of tables, in the same message."""

    def __init__(self, source: Reads, variant: EngineVariant) -> None:
        self._source, self._variant = source, variant
        self._asked = False

    async def each(self, queries: Sequence[Query]) -> list[RowsOrError]:
        if self._asked or not queries:
            return await self._source.each(queries)
        self._asked = True
        policies, *answers = await self._source.each([self._variant.asked_policies, *queries])
        if not isinstance(policies, DatabaseError):
            self._variant.note_policies(policies)
        return answers


def needed(variant: EngineVariant, name: str) -> Statement:
    """Return the best variant of a statement. Raises DatabaseError if there is none."""
    chosen = variant.select(name)
    if chosen is None:
        raise DatabaseError(f"{variant.label}: {name} cannot be read here.", scan_required(variant, name).why)
    return chosen


def scan_required(variant: EngineVariant, name: str, kind: str = "") -> ScanRequired:
    """Return the first unmet need of a statement, and the cost of a scan."""
    variants = (s for s in variant.engine.statements[name] if s.is_for(kind))
    return scan_of(variant, next((n for s in variants for n in sorted(s.needs - variant.detected.met_needs)), ""))


def scan_of(variant: EngineVariant, unmet: str) -> ScanRequired:
    """Return a need that is not met, and the cost of a scan instead."""
    need = variant.engine.spec.needs[unmet]
    relation = variant.detected.relations.get(need.table)
    return ScanRequired(need=unmet, why=need.why, blocks=relation.blocks if relation else 0, ddl=need.ddl)
