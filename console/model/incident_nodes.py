"""All nodes of an incident of which a finding's statement read only some. UI-free.

The statement has no limit for nodes that it is given. So the unfinished nodes and the dead letters are read page by
page, and each page is compared with the finding. Other finished nodes are not looked through: there may be millions.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

from console.model.walk import all_pages, dead_letters
from queries.read.nodes import NODES_AT_ONCE
from queries.read.reader import Reader
from queries.records.finding import Finding, Incident
from queries.records.record import Record
from queries.snapshot import incidents
from queries.workspace import Workspace

SEARCHED_NODES = 100_000  # nodes that are compared with the finding


class Whole(Record):
    """Incident with all its nodes, and why there may be more ("" if not)."""

    incident: Incident
    why: str = ""


async def whole(workspace: Workspace, incident: Incident, limit: int | None = None) -> Whole:
    """Return an incident with the nodes that were not read.

    Reading ends at ``limit`` nodes. Raises DatabaseError.
    """
    if limit is not None and len(incident.node_ids) >= limit:
        return Whole(incident=incident)
    reader = workspace.engines[incident.engine]
    spec = reader.findings.specs.get(incident.code)
    if spec is None or spec.sampled:
        return Whole(incident=incident, why="the samples have only some nodes")
    findings: list[Finding] = [*incident.findings, *incident.explained]
    seen = {finding.node_id for finding in findings}
    not_met = {finding.node_id for finding in incident.findings}
    why: list[str] = []
    newest = incident
    async for ids in _pages(reader, why):
        not_met.difference_update(ids)
        others = [id_ for id_ in ids if id_ not in seen]
        seen.update(others)
        async with reader.database.reading() as transaction:
            matching, unread = await reader.findings.nodes_of(transaction, spec, others) if others else ((), "")
        why += [unread] if unread else []
        if matching:
            findings += (await reader.findings.read(matching, limit=len(matching))).findings
            now = incidents(workspace, findings)
            newest = next((each for each in now if each.key == incident.key), newest)
        if limit is not None and len(newest.node_ids) >= limit:
            return Whole(incident=newest)
        if len(seen) >= SEARCHED_NODES:
            why.append(f"only {len(seen)} nodes were compared with it")
            break
    if not_met:
        why.append("of nodes that have finished, it has only those that were read")
    return Whole(incident=newest, why=next(iter(why), ""))


async def _pages(reader: Reader, why: list[str]) -> AsyncIterator[list[str]]:
    """Yield the ids of unfinished nodes, then of dead letters.

    Adds why some are missing.
    """
    async for live in all_pages(reader.pages.live, NODES_AT_ONCE):
        yield [node.id for node in live.nodes]
        why += [f"only {live.scope} were read"] if live.scope else []
        why += [live.scan_required.why] if live.scan_required else []
    async for dead in dead_letters(reader, NODES_AT_ONCE):
        yield [node.id for node in dead.nodes]
