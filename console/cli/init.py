"""``init``: create the table of the audit log. Shows the statements first."""

from __future__ import annotations

import click

from console.cli.carry_out import changing, to_the_outcome
from console.cli.exit_codes import FAILED
from console.cli.output import output_for, say
from console.cli.prompts import agreed
from console.cli.target import opened
from console.target import Target
from queries.log import audit_log

_PUBLISHED = (
    "Warning: the publication {name} is FOR ALL TABLES and will publish unstick.audit_log. A subscriber without this"
    " table stops at the first entry, and this server then retains WAL for it."
)
_SUBSCRIBER = "First run the output of `unstick init --sql` on every subscriber."


@changing
async def init(target: Target, *, sql: bool, operators: tuple[str, ...], yes: bool) -> int:
    """Create the audit log and grant it to ``operators``. Return the exit code."""
    script = audit_log.script(operators)
    if sql:
        output_for(target).lines(script.rstrip("\n").split("\n"))
        return 0
    async with opened(target, empty=True) as workspace:
        if workspace.read_only:
            raise click.UsageError(f"The audit log cannot be created: {workspace.read_only}.")
        say(*script.rstrip("\n").split("\n"), "")
        for name in await audit_log.publications(workspace.database):
            say(_PUBLISHED.format(name=name), _SUBSCRIBER, "")
        server = workspace.server
        if not yes and not agreed(f"Run this in the database {server.database} as {server.role}?"):
            say("Nothing was changed.")
            return FAILED
        with to_the_outcome():
            await audit_log.create(workspace.database, operators, target.context.trusted_owners)
    say(f"The audit log is now the table unstick.audit_log in {server.database}.")
    return 0
