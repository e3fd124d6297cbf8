"""``grants``: what the roles need that look, and those that change something. Only printed."""

from __future__ import annotations

from collections.abc import Sequence

from console.cli.output import output_for
from console.cli.target import opened, select_readers
from console.target import Target
from queries.safe_text import safe_sql
from queries.write.grants import grants as asked

VIEWER, OPERATOR = "viewer", "operator"


async def grants(target: Target, viewers: Sequence[str], operators: Sequence[str], engine: str | None) -> int:
    """Print the statements for the engines that are here. The exit code."""
    if not (viewers or operators):
        viewers, operators = [VIEWER], [OPERATOR]
    async with opened(target) as workspace:
        found = {
            reader.label: tuple(map(safe_sql, await asked(workspace.database, reader, viewers, operators)))
            for reader in select_readers(workspace, engine)
        }
    output_for(target).answer(
        {"grants": found},
        lambda: (
            line for label, statements in found.items() for line in (f"-- {label}", *(f"{s};" for s in statements))
        ),
    )
    return 0
