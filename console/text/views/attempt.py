"""Lines about a try: what would run, and the server's answer."""

from __future__ import annotations

from collections.abc import Iterator

from console.text.spans import Spans
from console.text.views.lines import heading, pairs, section, stacked, wrapped
from queries.records.attempt import Attempt, Step, Trial
from queries.text.counted import counted

KEPT = (
    "All of it is rolled back. A rollback does not take back the values that sequences gave, and what a trigger does"
    " outside of this database (dblink, foreign tables, files). NOTIFY is not sent."
)


def question(trial: Trial, cells: int) -> list[Spans]:
    """Return the statements, the role, and what a rollback does not take back."""
    if trial.refused:
        return wrapped(f"Not tried: {trial.refused}.", cells, "$warning", 0)
    assumed = " Not all of it was compared with the engine's source." if trial.assumed else ""
    return stacked(
        wrapped(f"As role {trial.role} ({trial.why}): a worker's next statements on it.{assumed}", cells, "", 0),
        wrapped(KEPT, cells, "$warning", 0),
        *(
            section(name, (part for line in text.splitlines() for part in wrapped(line, cells)))
            for name, text in trial.statements.items()
        ),
    )


def answer(made: Attempt, cells: int) -> list[Spans]:
    """Return what the server answered."""
    if made.trial.refused:
        return question(made.trial, cells)
    lines = [line for step in made.steps for line in _step(step, made.trial.role, cells)]
    return [heading(made.trial.node_id), *lines, *wrapped("Rolled back: nothing was changed.", cells)]


def _step(step: Step, role: str, cells: int) -> Iterator[Spans]:
    who = f"{step.statement}, as role {role}:"
    if step.error:
        yield from wrapped(f"✗ {who} {step.error['message']}", cells, "$error")
        yield from pairs(((name, text) for name, text in step.error.items() if name != "message"), cells, 4)
    elif step.rows:
        yield from wrapped(f"✓ {who} {counted(step.rows, 'row')}", cells, "$success")
        yield from wrapped(", ".join(step.written), cells, "$faint", 4)
    else:
        why = step.refused or (f"does not hold: {', '.join(step.unmet)}" if step.unmet else "")
        yield from wrapped(f"✗ {who} 0 rows{'; ' if why else ''}{why}", cells, "$error" if step.refused else "$warning")
