"""Read a database as the console does.

No other module of the drills knows how incidents are made.
"""

from __future__ import annotations

import asyncio

from queries.records.finding import Incident
from queries.snapshot import server_problems, snapshot, take_samples
from queries.workspace import Workspace

PAUSE = 0.7  # seconds between two samples


async def shown(workspace: Workspace, watch: float = 0.0, *, twice: bool = True) -> tuple[tuple[Incident, ...], bool]:
    """Return the incidents of engines and server, and whether a check failed.

    Checks fail on a busy machine.
    ``watch``: seconds of samples before. ``twice``: read the counters of the server again, after the time in which its
    sessions report them, if they have no earlier values to be compared with.
    """
    readers = list(workspace.engines.values())
    loop = asyncio.get_running_loop()
    until = loop.time() + watch
    failed = False
    if watch:
        await server_problems(workspace, ())  # counters are compared with those of the first read
    while watch:
        failed = bool(await take_samples(workspace, readers))
        if loop.time() >= until:
            break
        await asyncio.sleep(PAUSE)
    now = await snapshot(workspace, readers, once=twice)
    return now.incidents, failed or any(check.failed for check in now.skipped_findings)
