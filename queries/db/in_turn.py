"""Several reads in one transaction, of which one may fail."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from queries.db.database import Transaction
from queries.errors import DatabaseError, LostError, UnreachableError

T = TypeVar("T")


async def in_turn(
    transaction: Transaction,
    left: list[T],
    read: Callable[[Transaction, T], Awaitable[None]],
    failed: Callable[[T, str], None],
) -> None:
    """Read what is left until one of it fails. That breaks the transaction off: the others need a new one."""
    while left:
        one = left.pop(0)
        try:
            await read(transaction, one)
        except (LostError, UnreachableError):
            raise
        except DatabaseError as error:
            failed(one, error.line)
            return
