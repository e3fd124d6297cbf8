"""What became of a COMMIT whose answer was lost: the server knows, and is asked."""

from __future__ import annotations

import asyncio
import time

from queries.database import Database
from queries.fault import DatabaseError, LostError, UnreachableError
from queries.files import statement

SETTLING = 30.0  # seconds; a server that lost us breaks our transaction off within its idle timeout


async def settled(database: Database, xid: str, history: str) -> str:
    """Ask the server what became of a transaction whose COMMIT got no answer."""
    deadline = time.monotonic() + SETTLING
    while True:
        try:
            async with database.reading() as transaction:
                rows = await transaction.rows(statement("xact_status"), {"id": xid, "query": history})
            status = rows[0]["status"]
            if status != "in progress":
                return str(status or "unknown")
        except (LostError, UnreachableError):
            pass
        except DatabaseError:
            return "unknown"
        if time.monotonic() > deadline:
            return "unknown"
        await asyncio.sleep(min(database.backoff.next(), 1.0))
