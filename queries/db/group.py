"""Reads side by side, whose statements are asked together."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Coroutine, Sequence
from contextvars import ContextVar
from itertools import islice
from typing import Any

import msgspec

from queries.db.query import Query, RowsOrError
from queries.db.transaction import Reads, Transaction

SEND_AFTER_SECONDS = 0.2  # for which statements wait for a read that does not wait for rows


class ReadGroup:
    """Reads that share one transaction.

    When each of them waits for rows, the statements of all are sent at once. So the number of round trips is that of
    the longest read, however many there are.
    """

    def __init__(self, owner: object, transaction: Transaction) -> None:
        self.owner = owner
        self._transaction = transaction
        self._waiting: list[_Request] = []
        self._running = 0
        self._sending: asyncio.Task[None] | None = None
        self.ended = False

    async def run(self, reads: Sequence[Coroutine[Any, Any, Any]]) -> list[Any]:
        """Return the results of reads, in their order.

        All of them end before the first error is raised.
        """
        self._running += len(reads)
        token = GROUP.set(self)
        try:
            tasks = [asyncio.ensure_future(self._read(read)) for read in reads]
        finally:
            GROUP.reset(token)
        try:
            results = await asyncio.gather(*tasks, return_exceptions=True)
        except asyncio.CancelledError:
            for task in (*tasks, *([self._sending] if self._sending else [])):
                task.cancel()
            await asyncio.wait(tasks)
            raise
        for result in results:
            if isinstance(result, BaseException):
                raise result
        return results

    async def join(self, reads: Sequence[Coroutine[Any, Any, Any]]) -> list[Any]:
        """Run reads of one that is in the group, which waits for them."""
        self._running -= 1
        try:
            return await self.run(reads)
        finally:
            self._running += 1

    async def _read(self, read: Awaitable[Any]) -> Any:
        try:
            return await read
        finally:
            self._running -= 1
            self._send_if_all_wait()

    async def each(self, queries: Sequence[Query]) -> list[RowsOrError]:
        """Run statements with those of the other reads.

        Raises an error of NO_CONNECTION only.
        """
        if not queries:
            return []
        request = _Request(queries)
        self._waiting.append(request)
        self._send_if_all_wait()
        asyncio.get_running_loop().call_later(SEND_AFTER_SECONDS, self._send)
        return await request.answers

    def _send_if_all_wait(self) -> None:
        if len(self._waiting) >= self._running:
            self._send()

    def _send(self) -> None:
        if self._waiting and (self._sending is None or self._sending.done()):
            self._sending = asyncio.ensure_future(self._exchange())

    async def _exchange(self) -> None:
        """Send what waits until nothing does."""
        while self._waiting:
            waiting, self._waiting = self._waiting, []
            queries = [query for request in waiting for query in request.queries]
            try:
                answers = iter(await self._transaction.each(queries))
                for request in waiting:
                    request.answer([*islice(answers, len(request.queries))])
            except BaseException as error:
                for request in waiting:
                    request.fail(error)
                if not isinstance(error, Exception):
                    raise
            await asyncio.sleep(0)
            if self._waiting and len(self._waiting) < self._running:
                asyncio.get_running_loop().call_later(SEND_AFTER_SECONDS, self._send)
                return


class _Request:
    """Statements of one read, and their answers when all have come."""

    def __init__(self, queries: Sequence[Query]) -> None:
        self.queries = queries
        self.answers: asyncio.Future[list[RowsOrError]] = asyncio.get_running_loop().create_future()

    def answer(self, answers: list[RowsOrError]) -> None:
        if not self.answers.done():
            self.answers.set_result(answers)

    def fail(self, error: BaseException) -> None:
        if not self.answers.done():
            self.answers.set_exception(error)


class SharedReads(Reads):
    """Reads of one member of a group, with its own settings."""

    def __init__(self, group: ReadGroup, seconds: float, *, in_order: bool) -> None:
        self._group, self._seconds, self._in_order = group, seconds, in_order

    async def each(self, queries: Sequence[Query]) -> list[RowsOrError]:
        """Run several statements together, and with those of the other reads.

        One that fails does not stop the others. Raises an error of NO_CONNECTION only.
        """
        return await self._group.each(
            [msgspec.structs.replace(query, in_order=self._in_order, seconds=self._seconds) for query in queries]
        )


GROUP: ContextVar[ReadGroup | None] = ContextVar("group", default=None)
