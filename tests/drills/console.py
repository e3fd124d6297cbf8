"""Read a database as the console does.

No other module of the drills knows how incidents are made.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from queries.contract.server_spec import LABEL, server_spec
from queries.model import Incident
from queries.read.incidents import incidents
from queries.read.server_findings import ServerFindings
from queries.workspace import Workspace

PAUSE = 0.7  # seconds between two samples


async def shown(
    workspace: Workspace, watch: float = 0.0, limits: Mapping[str, float] | None = None
) -> tuple[Incident, ...]:
    """Return the incidents of all engines and of the server.

    ``watch``: seconds of samples before. ``limits`` replace thresholds of the findings about the server.
    """
    readers = list(workspace.engines.values())
    server = ServerFindings(workspace.database, [reader.found for reader in readers])
    server.settings |= limits or {}
    loop = asyncio.get_running_loop()
    until = loop.time() + watch
    while watch:
        for reader in readers:
            await reader.sample()
        if loop.time() >= until:
            break
        await asyncio.sleep(PAUSE)
    found, capped = list((await server.findings()).found), []
    specs = {LABEL: {spec.code: spec for spec in server_spec().findings}}
    for reader in readers:
        specs[reader.label] = {spec.code: spec for spec in reader.engine.spec.findings}
        part = await reader.findings()
        found += [*part.found, *reader.watched()]
        capped += [(reader.label, code) for code in part.capped]
    return incidents(found, specs, capped)
