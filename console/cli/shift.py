"""``shift``: what is open, what was done, and what is stuck again, to hand over."""

from __future__ import annotations

from console.cli import stuck
from console.cli.options import option_value
from console.cli.output import output_for, say
from console.cli.target import opened
from console.model import hand_over
from console.target import Target
from queries.read.findings import FINDING_NODES
from queries.text import duration


async def shift(target: Target, *, since: str, markdown: bool) -> int:
    """Print the hand-over of a time. Return the exit code."""
    seconds = option_value("--since", duration.parse, since)
    async with opened(target) as workspace:
        readers = list(workspace.engines.values())
        now, notes = await stuck.read(workspace, readers, FINDING_NODES, None)
        where = target.where(workspace.server)
        made = await hand_over.read_shift(workspace, where, now, readers, now.at - seconds)
    say(*notes)
    output_for(target).answer(made, lambda: hand_over.shift_lines(made, marked=markdown))
    return int(bool(notes))
