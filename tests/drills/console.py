"""Read a database as the console does.

No other module of the drills knows how incidents are made.
"""

from __future__ import annotations

import asyncio

from queries import snapshot
from queries.records.finding import Incident
from queries.workspace import Workspace

COUNTED = 1.2  # seconds in which each busy session reports its counters
PAUSE = 0.7  # seconds between two samples


async def shown(workspace: Workspace, watch: float = 0.0, *, twice: bool = True) -> tuple[tuple[Incident, ...], bool]:
    """Return the incidents of engines and server, and whether a check failed.

    Checks fail on a busy machine.
    ``watch``: seconds of samples before. ``twice``: read the counters of the server again, after the time in which its
    sessions report them, if they have no earlier values to be compared with.
    """
    readers = workspace.engines.values()
    loop = asyncio.get_running_loop()
    until = loop.time() + watch
    if watch:
        await snapshot.server_problems(workspace, ())  # counters are compared with those of the first read
    while watch:
        for reader in readers:
            await reader.samples.take()
        if loop.time() >= until:
            break
        await asyncio.sleep(PAUSE)
    found, capped, unread, failed = [], [], {}, False
    for reader in readers:
        part = await reader.findings.read()
        found += [*part.findings, *reader.findings.sampled()]
        failed |= any(check.failed for check in part.skipped_findings)
        unread |= {reader.label: part.unread} if part.unread else {}
        capped += [(reader.label, code) for code in part.capped]
    server = await snapshot.server_problems(workspace, found, unread)
    if twice and workspace.server_findings.counts_once(()):
        await asyncio.sleep(COUNTED)
        server = await snapshot.server_problems(workspace, found, unread)
    found += server.findings
    failed |= any(check.failed for check in server.skipped_findings)
    return snapshot.incidents(workspace, found, capped), failed
