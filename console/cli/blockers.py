"""``blockers``: who locks the rows of a node, and who waits for whom."""

from __future__ import annotations

from console.cli.exit_codes import SKIPPED
from console.cli.output import output_for, say
from console.cli.target import full_ids, missing, opened, resolve_nodes
from console.target import Target
from console.text.views import blockers as views
from queries.read.blockers import blockers as read


async def blockers(target: Target, node_id: str | None) -> int:
    """Show the chains of waits. Return the exit code: 3 if the node does not exist."""
    async with opened(target) as workspace:
        ids: list[str] = []
        if node_id is not None:
            node_id = (await full_ids(workspace, [node_id]))[node_id]
            reader = workspace.reader(node_id)
            ids = [node.id for node in (await resolve_nodes(reader, [node_id])).values()]
            if not ids:
                say(missing(reader, node_id))
                return SKIPPED
        chains = await read(workspace.database, workspace.engines, ids)
    output_for(target).text(chains, lambda cells: views.blockers_lines(chains, cells, target.command))
    return 0
