"""``grants``: minimal privileges of viewers and operators, printed as statements."""

from __future__ import annotations

from collections.abc import Sequence

from console.cli.output import output_for
from console.cli.target import opened, select_readers
from console.target import Target
from queries.read.grants import grants as statements_for
from queries.records.record import Record
from queries.text.safe_text import safe_sql

VIEWER, OPERATOR = "viewer", "operator"


class Grants(Record):
    """Statements by engine label."""

    grants: dict[str, tuple[str, ...]]


async def grants(target: Target, viewers: Sequence[str], operators: Sequence[str], engine: str | None) -> int:
    """Print the statements for the detected engines. Return the exit code."""
    if not (viewers or operators):
        viewers, operators = [VIEWER], [OPERATOR]
    async with opened(target) as workspace:
        by_engine = {
            reader.label: tuple(map(safe_sql, await statements_for(workspace.database, reader, viewers, operators)))
            for reader in select_readers(workspace, engine)
        }
    output_for(target).answer(
        Grants(grants=by_engine),
        lambda: (
            line for label, statements in by_engine.items() for line in (f"-- {label}", *(f"{s};" for s in statements))
        ),
    )
    return 0
