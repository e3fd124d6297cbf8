"""Several reads in one transaction, of which one may fail."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from queries.db.database import Transaction
from queries.db.errors import NO_CONNECTION, DatabaseError

T = TypeVar("T")


async def in_turn(
    transaction: Transaction,
    left: list[T],
    read: Callable[[Transaction, T], Awaitable[None]],
    failed: Callable[[T, str], None],
) -> None:
    """Read and remove the items of ``left`` until one fails.

    A failure aborts the transaction, so the caller needs a new one for the remaining items. Connection errors are
    raised.
    """
    while left:
        item = left.pop(0)
        try:
            await read(transaction, item)
        except NO_CONNECTION:
            raise
        except DatabaseError as error:
            failed(item, error.line)
            return
