"""``why``: why no worker takes a node, and how many of each queue get how far."""

from __future__ import annotations

from click import UsageError

from console.cli import find
from console.cli.exit_codes import SKIPPED
from console.cli.output import output_for, say
from console.cli.target import opened, select_readers
from console.target import Target
from console.text.views import why as views
from queries.claim.answers import Funnel, Why
from queries.read.holders import Holder, holders
from queries.records.record import Record


class Whys(Record):
    """Conditions under which workers take nodes, and their holders.

    Without ids: how many nodes of each queue meet them.
    """

    nodes: tuple[Why, ...] = ()
    holders: tuple[Holder, ...] = ()
    engines: dict[str, tuple[Funnel, ...]] = {}


async def why(target: Target, text: str | None, *, engine: str | None, sample: float | None = None) -> int:
    """Show why a node is not taken, or the funnel of each engine.

    ``sample``: seconds in which the rate of a node's queue is measured. Return the exit code: 3 if there is no answer.
    """
    if sample is not None and text is None:
        raise UsageError("--sample measures the queue of one node: name its ID.")
    async with opened(target) as workspace:
        if text is None:
            readers = [each for each in select_readers(workspace, engine) if each.claims.kinds]
            read = await workspace.database.together(*(each.claims.funnels() for each in readers))
            answer = Whys(engines={each.label: funnels for each, funnels in zip(readers, read, strict=True)})
        else:
            node_id = await find.node_id(workspace, text)
            if not node_id:
                return SKIPPED
            reader = workspace.reader(node_id)
            nodes = await reader.claims.why([node_id])
            nodes = await reader.claims.measured(nodes[0], sample) if sample and nodes else nodes
            answer = Whys(nodes=nodes, holders=await holders(reader, nodes))
            if not answer.nodes:
                say(f"{node_id}: it does not exist, or its kind is none that a worker takes.")
                return SKIPPED
        at = await workspace.now()
    output_for(target).text(answer, lambda cells: views.lines(answer.nodes, answer.holders, answer.engines, cells, at))
    return 0
