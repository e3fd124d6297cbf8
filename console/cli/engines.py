"""``engines``: task engines of the database, their counts and their actions."""

from __future__ import annotations

from collections.abc import Iterator

from console.cli import tables
from console.cli.exit_codes import FAILED
from console.cli.output import output_for, say
from console.cli.target import access_warnings, no_engine_lines, opened
from console.target import Target
from console.text.arguments import arguments
from console.text.spans import Spans
from console.text.views.lines import Cell, aligned
from queries.contract.detect import Declined
from queries.contract.outside import BrokenFolder
from queries.contract.spec import Action
from queries.read.reader import Reader
from queries.records.node import Count
from queries.records.record import Record
from queries.records.snapshot import Part
from queries.snapshot import counted


class ActionSummary(Record):
    """An action of an engine and its availability in this database."""

    action: Action
    available: bool
    why: str


class Engines(Record):
    """The engines of a database, schemas that resemble one, and tables of each engine.

    ``broken`` are folders that are not used.
    """

    engines: tuple[EngineSummary, ...]
    declined: tuple[Declined, ...]
    broken: tuple[BrokenFolder, ...]
    expected: tuple[str, ...]


class EngineSummary(Record):
    """A detected engine: identity, counts, actions and missing indexes."""

    label: str
    schema: str
    title: str
    about: str
    notes: tuple[str, ...]  # the detected variant and its evidence
    counts: tuple[Count, ...]
    actions: tuple[ActionSummary, ...]
    missing: tuple[str, ...]  # DDL of indexes that would make a statement cheap
    unreadable: str = ""  # why the engine cannot be read
    origin: str = ""  # folder of an engine that is not of unstick
    unproven: str = ""  # why its actions are off
    guess: str = ""  # why a table that no folder describes is read as one
    policies: tuple[str, ...] = ()  # tables with row-level security, which may hide rows


async def engines(target: Target) -> int:
    """List the engines. Return the exit code."""
    async with opened(target, empty=True) as workspace:
        summaries = await workspace.database.together(*map(_summary, workspace.engines.values()))
        lines = access_warnings(workspace, workspace.engines.values())
    declined = workspace.declined
    answer = Engines(engines=tuple(summaries), declined=declined, broken=workspace.broken, expected=workspace.expected)
    output_for(target).answer(answer, lambda: (line for engine in summaries for line in _text(engine)))
    if not summaries:
        say(*no_engine_lines(workspace))
        return FAILED
    for each in workspace.declined_alike:
        say(f"Declined {each.engine} in {each.schema}: {each.why}")
    lines += [f"{engine.label}: {engine.unreadable}" for engine in summaries if engine.unreadable]
    say(*lines)
    return int(bool(lines or workspace.broken))


async def _summary(reader: Reader) -> EngineSummary:
    part = await counted(reader, Part(label=reader.label))
    spec = reader.engine.spec
    actions = []
    for action in reader.engine.actions_here:
        available = reader.availability(action)
        actions.append(ActionSummary(action=action, available=available.ok, why=available.why))
    return EngineSummary(
        label=reader.label,
        schema=reader.detected.schema,
        title=spec.title,
        notes=reader.variant.notes,
        about=spec.about,
        counts=part.counts or (),
        actions=tuple(actions),
        missing=tuple(need.ddl for need in reader.detected.missing()),
        unreadable=part.uncounted,
        origin=reader.engine.origin,
        unproven=reader.engine.unproven,
        guess=reader.engine.guess,
        policies=reader.detected.policies,
    )


def _text(engine: EngineSummary) -> Iterator[str | Spans]:
    yield [(engine.label, "bold $primary"), (f"  {engine.title}, in schema {engine.schema}", "")]
    if engine.origin:
        yield [(f"  own engine: {engine.origin}", "$warning" if engine.unproven else "")]
    if engine.guess:
        yield [(f"  {engine.guess}", "$warning")]
    yield from (f"  {note}" for note in engine.notes)
    visible = " (rows visible under row-level security)" if engine.policies else ""
    yield "  " + (engine.unreadable or tables.counts(engine.counts)) + visible
    rows: list[list[Cell]] = []
    if engine.guess and engine.actions:
        names = ", ".join(here.action.name for here in engine.actions)
        yield [(f"  proposed actions: {names}. {engine.unproven}.", "$faint")]
    for here in engine.actions if not engine.guess else ():
        name = (here.action.name, "bold" if here.available else "$faint")
        effect = (here.action.effect, "") if here.available else (f"not available: {here.why}", "$faint")
        rows.append(["", [name], [("/".join(here.action.kinds), "$faint")], [effect]])
        rows += [["", "", "", [(f"{word}: {meaning}", "$faint")]] for word, meaning in arguments(here.action)]
    yield from aligned(rows)
    for ddl in engine.missing:
        yield f"  suggested index: {ddl}"
