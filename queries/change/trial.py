"""Run what a worker runs next on a node, as the worker's role, and roll it back.

The statements run in a transaction of a change, with its checks of trust, each section in a savepoint of its own.
Nothing here commits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from queries.change import gate
from queries.change.admit import clear
from queries.db.errors import NO_CONNECTION, DatabaseError, LockedError, SlowError
from queries.db.query import Query, RowsOrError
from queries.db.reads import NOW
from queries.db.transaction import Transaction
from queries.evidence.attempt import noted, parts_of, refused
from queries.files.statement import Statement
from queries.log.settle import FIRED
from queries.read.reader import Reader
from queries.records.attempt import Attempt, Step, Trial
from queries.text.counted import counted
from queries.text.psql_text import quoted_name
from queries.workspace import Workspace

STATEMENT_SECONDS = 2.0
LOCK_TIMEOUT = "SET LOCAL lock_timeout = '500ms'"
TRANSIENT = ("40", "53", "57")  # classes of SQLSTATE that say nothing of the node
ROLLED_BACK = "The server rolls the try back: nothing was changed."
SWALLOWED = "changes no row, though each condition of a worker holds: a trigger, rule or row-level policy discards it"


async def attempt(workspace: Workspace, trial: Trial) -> Attempt:
    """Run the statements of a trial, and roll each back. Raises DatabaseError."""
    if trial.refused:
        return Attempt(trial=trial)
    reader = workspace.reader(trial.node_id)
    try:
        async with workspace.database.writing(reader.detected.action_schema) as transaction:
            made = await _run(workspace, transaction, reader, trial)
    except NO_CONNECTION as error:
        raise type(error)(str(error), ROLLED_BACK, code=error.code) from error
    steps = tuple([await _explained(reader, trial, each) for each in made.steps])
    return noted(workspace, msgspec.structs.replace(made, steps=steps))


async def _run(workspace: Workspace, transaction: Transaction, reader: Reader, trial: Trial) -> Attempt:
    log, detected, action = workspace.audit_log, reader.detected, reader.engine.trial
    assert action is not None, "a trial that is not refused has statements"
    count = gate.written(detected.schema, detected.relations)
    clearance, answers = await clear(transaction, log, reader, action, more=[count, NOW])
    if clearance.why:
        return refused(trial, clearance.why)
    first = before = gate.written_rows(answers[0])
    transaction.settings.search(detected.action_schema, clearance.path)
    values, steps = reader.variant.parameters(id=reader.ids.local(trial.node_id)), list[Step]()
    begin = [LOCK_TIMEOUT, *([] if trial.own else [f"SET LOCAL ROLE {quoted_name(trial.role)}"])]
    seconds = STATEMENT_SECONDS * workspace.database.patience
    for name, parts in parts_of(reader, trial.kind, trial.phase).items():
        queries = [Query(Statement(text=text, source=""), command=True) for text in begin]
        queries += [Query(part, values, custom=True, seconds=seconds) for part in parts]
        given = await transaction.each([msgspec.structs.replace(q, apart=True) for q in (*queries, *FIRED)])
        (counts,) = await transaction.batch([count])  # the savepoint is rolled back before, and with it the role
        after = gate.written_rows(counts)
        if isinstance(error := given[-1], DatabaseError) and len(given) <= len(begin):
            return refused(trial, error.line)
        steps.append(_step(name, given, len(queries), after.since(before) if after.counted else {}))
        before = after
    known = {f"{detected.schema}.{privilege.partition(' ')[2]}" for privilege in action.privileges}
    others = {f"{schema}.{table}" for schema, table in before.since(first)} - known
    if why := await gate.touched(transaction, log, sorted(others)):
        return refused(trial, why)
    return Attempt(trial=trial, at=float(answers[1][0]["now"]), steps=tuple(steps))


def _step(name: str, given: Sequence[RowsOrError], last: int, written: Mapping[tuple[str, str], gate.Counts]) -> Step:
    """Return the answer to a section.

    ``last``: the number of queries up to its last statement.
    """
    words = tuple(
        f"{counted(number, 'row')} of {table} {word}"
        for (_, table), counts in sorted(written.items())
        for word, number in zip(gate.WORDS, counts, strict=True)
        if number
    )
    if isinstance(error := given[-1], DatabaseError):
        fields = {"sqlstate": error.code, **(error.fields or {"message": error.line})}
        passing = isinstance(error, LockedError | SlowError) or error.code.startswith(TRANSIENT)
        said = f"{fields['message']} (SQLSTATE {error.code})"
        return Step(statement=name, written=words, error=fields, refused="" if passing else said)
    rows = given[last - 1]
    return Step(statement=name, rows=0 if isinstance(rows, DatabaseError) else len(rows), written=words)


async def _explained(reader: Reader, trial: Trial, step: Step) -> Step:
    """Return a claim that reached no row with the reason.

    These are the conditions that fail. If all hold, something discards the row.
    """
    if step.rows or step.error or step.statement != "claim":
        return step
    for why in await reader.claims.why([trial.node_id], place=False):
        failing = (each for each in why.conditions[:-1] if not each.holds)  # the last one is about workers
        unmet = tuple(each.said for each in failing)
        return msgspec.structs.replace(step, unmet=unmet, refused="" if unmet else SWALLOWED)
    return step
