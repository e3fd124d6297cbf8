"""Weigh findings by all that was read, before they are grouped.

Here all that was read meets: what one part knows refutes, explains or marks what another part guesses. No finding has
its own refuter.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from queries.evidence import facts, throughput
from queries.evidence.differs import Differences, joined
from queries.evidence.repeated import done_lately, with_done
from queries.evidence.usual import unusual
from queries.read.blockers import ROW_LOCKED
from queries.read.incidents import LOCKED_BY
from queries.records.finding import Finding
from queries.records.snapshot import Part
from queries.workspace import Workspace


async def weighed(
    workspace: Workspace, parts: Sequence[Part], server: Part, differ: Sequence[Differences]
) -> tuple[list[Part], Part]:
    """Return the parts of the engines and of the server, weighed by each other.

    ``differ``: what differs in those of the engines. Raises an error of NO_CONNECTION only.
    """
    engines, read = workspace.engines, workspace.server_findings
    locked = {each.node_id for each in server.findings.findings if each.code == ROW_LOCKED}
    judged = [throughput.judged(engines[part.label], part, read, locked) for part in parts]
    parts = [part for part, _ in judged]
    server = server.with_findings((*server.findings.findings, *(each for _, more in judged for each in more)))
    server = facts.without_dead_holders(workspace, parts, server)
    parts, server = facts.with_clocks([facts.calmed(workspace, part) for part in parts], server)
    parts = [*map(joined, parts, differ)]
    more = (
        each for part in parts if part.label in engines for each in unusual(engines[part.label], part, read.counters)
    )
    server = server.with_findings((*server.findings.findings, *more))
    findings = [finding for part in parts for finding in part.findings.findings]
    done = await done_lately(workspace, findings, at := server.findings.at)
    parts = [_behind_locks(part, server.findings.findings) for part in parts]
    tried = server.findings.findings
    if workspace.tried:
        from queries.evidence.attempt import refusals  # a command has tried nothing before

        tried = (*tried, *await refusals(workspace))
    said = [[with_done(workspace, each, done, at) for each in part.findings.findings] for part in parts]
    return [*map(Part.with_findings, parts, said)], server.with_findings(tried)


def _behind_locks(part: Part, of_server: Iterable[Finding]) -> Part:
    """Return a part whose suggestions name who locks the rows of their nodes."""
    holders = {each.node_id: each.evidence["holder"] for each in of_server if each.code == ROW_LOCKED}
    findings = list(part.findings.findings)
    for place, each in enumerate(findings):
        if each.action and (holder := holders.get(each.node_id)):
            why = f"{holder} locks the row of {each.node_id} now, so {each.action} would skip it"
            findings[place] = msgspec.structs.replace(each, evidence={**each.evidence, LOCKED_BY: why})
    return part.with_findings(findings)
