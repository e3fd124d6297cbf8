"""Genuine worker of Oban, and its jobs, for Python 3.12 and newer.

``python tests/workers/oban_app.py start QUEUE ...`` starts a node in the database ``WORKER_DSN``. ``install``, and
``enqueue WORKER QUEUE GATE [seconds]``, call the engine's own tools. It runs in an environment of its own, so it
imports nothing of the tests.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

from oban import Oban, worker
from oban.schema import install
from psycopg_pool import AsyncConnectionPool


@worker(queue="default")
class Hold:
    """Wait until the file exists."""

    async def process(self, job: Any) -> None:
        while not Path(job.args["gate"]).exists():
            await asyncio.sleep(0.05)


@worker(queue="default", max_attempts=1)
class Fail:
    """Fail, unless the file exists."""

    async def process(self, job: Any) -> None:
        if not Path(job.args["gate"]).exists():
            raise ValueError("no such mailbox")


WORKERS = {"Hold": Hold, "Fail": Fail}


async def main(command: str, *arguments: str) -> None:
    async with AsyncConnectionPool(os.environ["WORKER_DSN"], min_size=1, max_size=4) as pool:
        match command, *arguments:
            case ("install",):
                await install(pool)
            case "enqueue", name, queue, gate, *seconds:
                async with Oban(pool=pool):
                    later = {"schedule_in": float(seconds[0])} if seconds else {}
                    print((await WORKERS[name].enqueue({"gate": gate}, queue=queue, **later)).id)
            case "start", *queues:
                async with Oban(pool=pool, queues=dict.fromkeys(queues, 4), stager={"interval": 0.2}):
                    await asyncio.Event().wait()
            case _:
                raise SystemExit(2)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
