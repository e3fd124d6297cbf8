"""Reads, also those in lockstep, whose statements are asked together."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import types
from collections.abc import Coroutine, Generator, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, TypeVar

import msgspec

from queries.db.errors import NO_CONNECTION, DatabaseError
from queries.db.query import Query, Rows, RowsOrError, statement
from queries.files.statement import Statement

T = TypeVar("T")
NOW = Query(statement("now"), json={"now": "float"})


class Reads:
    """Source of rows.

    ``steps``: a read that is in lockstep on it runs right now.
    """

    steps = False

    async def each(self, queries: Sequence[Query]) -> list[RowsOrError]:
        """Run several statements together.

        One that fails does not stop the others. Raises an error of NO_CONNECTION only.
        """
        raise NotImplementedError

    async def rows(self, statement: Statement, values: Mapping[str, Any]) -> Rows:
        """Run one statement with the parameters that it names. Raises DatabaseError."""
        return (await self.batch([Query(statement, values)]))[0]

    async def batch(self, queries: Sequence[Query]) -> list[Rows]:
        """Run several statements together. Raises DatabaseError."""
        return [value_of(answer) for answer in (await self.each(queries) if queries else ())]

    async def now(self) -> float:
        """Return the server's time in seconds since 1970. Raises DatabaseError."""
        return float((await self.batch([NOW]))[0][0]["now"])


class InStep(Reads):
    """Source of a read in lockstep, with its own settings; see `Query`."""

    def __init__(self, seconds: float | None = None, *, in_order: bool | None = None) -> None:
        self._seconds, self._in_order = seconds, in_order

    async def each(self, queries: Sequence[Query]) -> list[RowsOrError]:
        """Run several statements together, and with those of the other reads."""
        return await _asked(
            [
                msgspec.structs.replace(
                    query,
                    seconds=self._seconds if query.seconds is None else query.seconds,
                    in_order=self._in_order if query.in_order is None else query.in_order,
                )
                for query in queries
            ]
        )


class Apart(Reads):
    """Source whose statements are apart from the others of a transaction."""

    def __init__(self, source: Reads) -> None:
        self._source = source

    async def each(self, queries: Sequence[Query]) -> list[RowsOrError]:
        """Run several statements together. The first that fails is the last answer."""
        return await self._source.each([msgspec.structs.replace(query, apart=True) for query in queries])


IN_STEP = InStep()


@types.coroutine
def _asked(queries: list[Query]) -> Generator[list[Query], list[RowsOrError], list[RowsOrError]]:
    return (yield queries) if queries else []


async def lockstep(source: Reads, reads: Iterable[Coroutine[Any, Any, Any]], *, raises: bool = False) -> list[Any]:
    """Run reads side by side. Return the result of each, or its DatabaseError.

    When each of them waits for rows, their statements are asked at once. So the number of round trips is that of the
    longest read, however many there are. When all have ended, raises an error of NO_CONNECTION, with ``raises`` any.
    """
    reads = list(reads)
    results: list[Any] = [None] * len(reads)
    raised: list[DatabaseError] = []
    answers: dict[int, Any] = dict.fromkeys(range(len(reads)))
    try:
        while answers:
            asked: dict[int, list[Query]] = {}
            for place, answer in answers.items():
                try:
                    while (waits := _resumed(source, reads[place], answer)) is None:
                        answer = None
                        await asyncio.sleep(0)
                    asked[place] = waits
                except StopIteration as end:
                    results[place] = end.value
                except DatabaseError as error:
                    results[place] = error
                    raised.append(error)
            try:
                every = iter(await source.each([query for queries in asked.values() for query in queries]))
                answers = {place: [*islice(every, len(queries))] for place, queries in asked.items()}
            except DatabaseError as error:
                answers = dict.fromkeys(asked, error)
    finally:
        for read in reads:
            _end(read)
    for failure in raised:
        if raises or isinstance(failure, NO_CONNECTION):
            raise failure
    return results


def _end(read: Coroutine[Any, Any, Any]) -> None:
    """End a read wherever it waits.

    Python leaves an async generator running if a coroutine that waits for it is closed.
    """
    if inspect.getcoroutinestate(read) == inspect.CORO_SUSPENDED:
        with contextlib.suppress(asyncio.CancelledError, DatabaseError, StopIteration):
            read.throw(asyncio.CancelledError())
    read.close()


def _resumed(source: Reads, read: Coroutine[Any, Any, Any], answer: Any) -> list[Query] | None:
    """Let a read run until it waits, and return for which statements.

    None: for one turn of the event loop. It may wait for nothing else.
    """
    waits: list[Query] | None
    before, source.steps = source.steps, True
    try:
        waits = read.throw(answer) if isinstance(answer, DatabaseError) else read.send(answer)
        if not isinstance(waits, list | None):
            waits = read.throw(RuntimeError(f"{read!r} is in lockstep, and waits for {waits!r}"))
    finally:
        source.steps = before
    return waits


def value_of(answer: T | DatabaseError) -> T:
    """Return an answer. Raises it if it is an error."""
    if isinstance(answer, DatabaseError):
        raise answer
    return answer
