"""``try``: a worker's next statement on a node, rolled back."""

from __future__ import annotations

from console.cli import find, prompts
from console.cli.exit_codes import SKIPPED
from console.cli.output import output_for, say
from console.cli.target import missing, opened
from console.target import Target
from console.text.views import attempt as views
from queries.change.trial import attempt as tried
from queries.evidence.attempt import prepare
from queries.records.attempt import Attempt


async def attempt(target: Target, text: str, *, role: str | None, yes: bool) -> int:
    """Try what a worker runs next on a node, if the operator agrees.

    Return the exit code: 3 if a worker could not do it, or if it was not tried.
    """
    output = output_for(target)
    async with opened(target) as workspace:
        node_id = await find.node_id(workspace, text)
        if not node_id:
            return SKIPPED
        reader = workspace.reader(node_id)
        trial = await prepare(workspace, node_id, role or "")
        if trial is None:
            say(missing(reader, node_id))
            return SKIPPED
        if not (trial.refused or yes):
            output.show(lambda cells: views.question(trial, cells))
            if not prompts.agreed("Try it?"):
                say("Not tried. Nothing was changed.")
                return SKIPPED
        made = Attempt(trial=trial) if trial.refused else await tried(workspace, trial)
    output.text(made, lambda cells: views.answer(made, cells))
    return 0 if made.passed else SKIPPED
