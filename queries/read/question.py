"""Questions that travel together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any, Generic, TypeVar

from queries.db.errors import DatabaseError
from queries.db.query import Query, Rows
from queries.db.shared_sql import statement
from queries.db.transaction import Reads
from queries.records.record import Record

R = TypeVar("R")


class Question(Record, Generic[R], kw_only=False):
    """A question: its statements, and the function that reads their answers.

    It may raise DatabaseError.
    """

    queries: Sequence[Query]
    read: Callable[[Sequence[Rows]], R]

    async def answer(self, transaction: Reads) -> R:
        """Ask, and return the answer. Raises DatabaseError."""
        return self.read(await transaction.batch(self.queries))


NOW = Question([Query(statement("now"))], lambda answers: float(answers[0][0]["now"]))
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
    answers = iter(await transaction.each([query for each in questions for query in each.queries]))
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
