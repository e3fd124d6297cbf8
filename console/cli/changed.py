"""``changed``: what the engines and the operators changed since a time."""

from __future__ import annotations

from console.cli import tables
from console.cli.audit import parse_since
from console.cli.output import output_for, say
from console.cli.target import access_warnings, opened
from console.model.fields.change import FIELDS
from console.target import Target
from console.text import formatting
from console.text.pages import changes as pages


async def changed(target: Target, *, since: str, limit: int, after: str | None) -> int:
    """List changes, newest first. Return the exit code."""
    seconds = parse_since(since)
    async with opened(target, empty=True) as workspace:
        answer = await workspace.changed(seconds, after, limit)
        warnings = [line for reader in workspace.engines.values() for line in access_warnings(workspace, reader)]
    output_for(target).answer(answer, lambda: tables.listed(FIELDS, answer.changes))
    say(*warnings, *pages.notes(answer))
    if answer.capped:
        say(f"Capped: these are the newest {len(answer.changes)}. There are more: --after {answer.cursor}")
    elif not answer.changes:
        say(f"No change was recorded since {formatting.instant(answer.since)}.")
    return int(bool(warnings) or any(source.unreadable for source in answer.sources))
