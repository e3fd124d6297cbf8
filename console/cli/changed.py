"""``changed``: what the engines and the operators changed since a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from console.cli import tables
from console.cli.options import option_value
from console.cli.output import output_for, say
from console.cli.target import access_warnings, opened
from console.cli.tree import parsed
from console.model.fields.change import CHANGES_COUNTED, FIELDS
from console.model.fields.field import Context
from console.model.filter import Fields
from console.target import Target
from console.text import formatting
from console.text.spans import Spans
from console.text.views import changes as views
from queries.changed import read_changes
from queries.text import duration


async def changed(
    target: Target,
    *,
    since: str,
    limit: int,
    after: str | None,
    filters: Sequence[str],
    routine: bool,
    allow_scan: bool,
) -> int:
    """List changes, newest first, below the numbers of all. Return the exit code."""
    seconds = option_value("--since", duration.parse, since)
    fields = Fields(FIELDS)
    conditions = parsed(" ".join(filters), target, fields)
    async with opened(target, empty=True) as workspace:
        answer = whole = await read_changes(workspace, seconds, after, limit, routine=routine, allow_scan=allow_scan)
        if answer.capped and after is None and limit < CHANGES_COUNTED and not allow_scan:  # or it would scan twice
            whole = await read_changes(workspace, seconds, None, CHANGES_COUNTED, routine=routine)
        warnings = access_warnings(workspace, workspace.engines.values())
    matches = fields.matches(conditions, Context(now=answer.at))
    counted, matching = [*filter(matches, whole.changes)], tuple(filter(matches, answer.changes))
    shown = msgspec.structs.replace(answer, changes=matching)

    def lines() -> Iterator[str | Spans]:
        yield from views.counts(counted, capped=whole.capped)
        yield from tables.listed(FIELDS, matching)

    output_for(target).answer(shown, lines)
    say(*warnings, *views.notes(answer, "--allow-scan"))
    if rest := views.routine(answer):
        say(f"Not shown, of the newest: {rest}. --all shows them.")
    if filters and len(matching) < len(answer.changes):
        say(f"{len(matching)} of the {len(answer.changes)} changes that were read match the filter.")
    if answer.capped:
        say(f"Capped: these are the newest {len(answer.changes)}. There are more: --after {answer.cursor}")
    elif not answer.changes:
        say(f"{views.none(answer)} since {formatting.instant(answer.since)}.")
    return int(bool(warnings) or any(source.unreadable for source in answer.sources))
