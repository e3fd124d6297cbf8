"""Genuine procrastinate worker, and the tasks that it runs.

``python -m tests.workers.procrastinate_app QUEUE ...`` starts it (default: all queues). ``WORKER_DSN`` names the
database. The tests import the same module to defer jobs as an application does.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from procrastinate import App, PsycopgConnector, RetryStrategy


def connected(dsn: str) -> App:
    """Return the application for a database. Open it before use."""
    new = App(connector=PsycopgConnector(conninfo=dsn))
    new.task(hold, name="hold")
    new.task(fail, name="fail")
    new.task(fail, name="fail_thrice", retry=RetryStrategy(max_attempts=2))
    return new


async def hold(gate: str) -> None:
    """Wait until the file exists."""
    while not Path(gate).exists():
        await asyncio.sleep(0.05)


async def fail(gate: str = "") -> None:
    """Fail, unless the file exists."""
    if not gate or not Path(gate).exists():
        raise ValueError("no such mailbox")


app = connected(os.environ.get("WORKER_DSN", ""))

if __name__ == "__main__":
    # A worker of this engine can miss a notification that comes while it fetches, so it polls, too.
    app.run_worker(
        queues=sys.argv[1:] or None,
        concurrency=4,
        fetch_job_polling_interval=1.0,
        abort_job_polling_interval=600.0,
        update_heartbeat_interval=0.5,
    )
