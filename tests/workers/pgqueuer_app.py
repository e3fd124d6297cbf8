"""Genuine pgqueuer worker, and the entrypoints that it serves.

``python -m tests.workers.pgqueuer_app ENTRYPOINT ...`` starts it. ``WORKER_DSN`` names the database.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path

import asyncpg
from pgqueuer import AsyncpgDriver, PgQueuer
from pgqueuer.models import Context, Job


async def hold(job: Job, context: Context) -> None:
    """Wait until the file of the payload exists, or the job is cancelled."""
    gate = Path((job.payload or b"").decode())
    with context.cancellation:
        while not gate.exists():
            await asyncio.sleep(0.05)


async def fail(job: Job) -> None:
    """Fail, unless the file of the payload exists."""
    if not Path((job.payload or b"").decode()).exists():
        raise ValueError("no such mailbox")


def served(queue: PgQueuer, names: Iterable[str]) -> None:
    """Register entrypoints by their names."""
    for name in names:
        if name.startswith("fail"):
            queue.entrypoint(name, on_failure="hold" if name == "fail_held" else "delete")(fail)
        else:
            queue.entrypoint(name, concurrency_limit=1 if name == "one_by_one" else 0)(hold)


async def main(names: Iterable[str]) -> None:
    name = {"application_name": os.environ["WORKER_NAME"]}
    queue = PgQueuer(AsyncpgDriver(await asyncpg.connect(os.environ["WORKER_DSN"], server_settings=name)))
    served(queue, names)
    # It polls so rarely that only a notification lets it see a job in time, and it takes no jobs of silent workers by
    # itself, as if it had been started a moment before.
    await queue.run(dequeue_timeout=timedelta(minutes=10), batch_size=1, heartbeat_timeout=timedelta(days=1))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
