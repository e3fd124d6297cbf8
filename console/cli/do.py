"""``do``: the plan of an action on the nodes that the operator selects."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TextIO

import click
import msgspec

from console.cli.arguments import arguments_of, unknown_action
from console.cli.carry_out import Consent, EmptyError, changing
from console.cli.options import option_value
from console.cli.output import say
from console.cli.plain_change import change
from console.cli.selected import STDIN, Selected, Source
from console.cli.target import full_ids, opened, resolve_nodes
from console.interrupts import ctrl_c_raises
from console.target import Target
from queries.change.colleagues import with_entries
from queries.change.plan import UNDO, Plan, plan_versions
from queries.change.run import messages as run_messages
from queries.contract.server_spec import LABEL
from queries.contract.spec import Action
from queries.read import guard_token
from queries.read.reader import Reader
from queries.records.action import Change, Outcome, Result
from queries.records.finding import OPEN
from queries.records.node import Node, split_id
from queries.text.safe_text import lost_bytes
from queries.text.shell import typed_id
from queries.workspace import Workspace


@changing
async def do(
    target: Target,
    action: str,
    source: Source,
    consent: Consent,
    *,
    arguments: Sequence[str],
    guards: Sequence[str],
    wait: float,
    edit: bool = False,
    input: TextIO | None = None,
) -> int:
    """Dry-run an action, confirm it and commit it. Return the exit code."""
    reason = consent.said
    given_guards = _guarded(source.ids, guards)
    async with opened(target, later=True) as workspace:  # its first read does it, with others
        selection = await _selected(target, workspace, source, action)
        full = await full_ids(workspace, selection.ids)
        nodes = tuple(dict.fromkeys(full.values()))
        guarded = {**selection.guards, **{full.get(i, i): guard for i, guard in given_guards.items()}}
        typed_names = {word.partition("=")[0] for word in arguments}
        arguments = [*arguments, *(w for w in selection.arguments if w.partition("=")[0] not in typed_names)]
        if any(node.startswith(f"{LABEL}/") for node in nodes):
            from queries.change import signals

            say(*await run_messages(workspace))
            plan = signals.plan(action, nodes)
            return await change(target, workspace, plan, [plan.action], consent, {}, reason=reason)
        reader = _reader(workspace, nodes)
        reads = (run_messages(workspace), resolve_nodes(reader, nodes))
        messages, records = await workspace.database.together(*reads)
        say(*messages)
        variants = variants_of(reader, action, nodes)
        values = arguments_of(variants, arguments, preview=consent.preview)
        versions = {node.id: guarded.get(typed, node.version) for typed, node in records.items()}
        missing = Change(results=tuple(_gone(reader, i) for i in nodes if i not in records), at=workspace.server.now)
        gone = (await with_entries(workspace, [missing]))[0].results
        if any(variant.document is not None for variant in variants):
            from console.cli.edited import edited_plan

            plan = await edited_plan(workspace, reader, action, nodes, records, edit=edit, input=input)
        elif (edit or input is not None) and any(variant.writes for variant in variants):
            raise click.UsageError(f"--edit and --input are for actions that edit a text; {action} does not.")
        else:
            plan = plan_versions(workspace, reader.label, action, versions, {n.id: n.title for n in records.values()})
        refused = {**plan.refused, **dict(_for_the_job(target, reader, plan, records.values()))}
        plan = msgspec.structs.replace(plan, nodes=tuple(records.values()), skipped=gone, refused=refused)
        values |= plan.arguments
        return await change(target, workspace, plan, variants, consent, values, reason=reason, gone=gone, wait=wait)


async def _selected(target: Target, workspace: Workspace, source: Source, action: str) -> Selected:
    """Return at most ``source.limit`` nodes. Raises EmptyError, DatabaseError."""
    if source.ids:
        selection = Selected(ids=tuple(dict.fromkeys(_typed_ids(source.ids))))
    else:
        from console.cli import searched, tree

        if source.incident is not None:
            selection = await searched.of_incident(workspace, source.incident, action, source.limit)
        elif source.group is not None:
            selection = await searched.of_group(workspace, source.group, source.limit)
        else:
            conditions = tree.parsed(str(source.filter), target)
            selection = await searched.matching(workspace, conditions, action, source.engine, source.limit)
    if not selection.ids:
        raise EmptyError("The selection is empty: no node was selected.\nNothing was changed.")
    if source.limit is not None and len(selection.ids) > source.limit:
        say(f"--limit: {source.limit} of {len(selection.ids)} selected nodes are acted on.")
        selection = msgspec.structs.replace(selection, ids=selection.ids[: source.limit])
    return selection


def _typed_ids(ids: Iterable[str]) -> Iterable[str]:
    for id_ in ids:
        if id_ != STDIN:
            yield id_
            continue
        if isinstance(sys.stdin, io.TextIOWrapper):
            sys.stdin.reconfigure(newline="\n")  # a key may have another line break
        with ctrl_c_raises():
            lines = [line.removesuffix("\n") for line in sys.stdin]
        yield from (option_value("-", typed_id, line) for line in lines if line)


def _guarded(nodes: Sequence[str], guards: Sequence[str]) -> dict[str, str]:
    """Return the guard tokens by node id as typed. Raises UsageError."""
    if guards and STDIN in nodes:
        raise click.UsageError("--guard is not for ids on stdin.")
    if guards and len(guards) != len(nodes):
        raise click.UsageError(f"--guard is given {len(guards)} times for {len(nodes)} nodes. Give one per node.")
    wrong = next((text for text in guards if not guard_token.is_valid(text)), None)
    if wrong is not None:
        raise click.UsageError(f"--guard {wrong!r} is not a guard token. Copy it from the output of stuck.")
    return dict(zip(nodes, guards, strict=False))


def _reader(workspace: Workspace, nodes: Sequence[str]) -> Reader:
    """Return the reader of the engine that holds all the nodes.

    Raises UnknownIdError, UsageError.
    """
    readers = {reader.label: reader for reader in map(workspace.reader, nodes)}
    if len(readers) > 1:
        raise click.UsageError(f"The nodes belong to several engines ({', '.join(readers)}). Run one per engine.")
    return next(iter(readers.values()))


def variants_of(reader: Reader, name: str, nodes: Sequence[str]) -> list[Action]:
    """Return the action for each kind of the nodes.

    Raises UsageError for an unknown action.
    """
    if name == UNDO.name:
        return [UNDO]
    names = {action.name for action in reader.engine.spec.actions}
    if name not in names:
        raise unknown_action(name, names)
    kinds = dict.fromkeys(split_id(node)[1] for node in nodes)
    return [action for kind in kinds for action in reader.engine.actions_of(kind) if action.name == name]


def _for_the_job(target: Target, reader: Reader, plan: Plan, nodes: Iterable[Node]) -> Iterator[tuple[str, Result]]:
    """Yield refusals of nodes whose job or parent has the action: its command."""
    for node in nodes:
        ids = [i for i in (node.job_id, node.parent_id) if i and reader.engine.action(plan.name, split_id(i)[1])]
        if ids and reader.engine.action(plan.name, node.kind) is None and node.id in plan.refused:
            command = {split_id(ids[0])[1]: target.command("do", plan.name, ids[0], "--reason", OPEN)}
            yield node.id, msgspec.structs.replace(plan.refused[node.id], commands=command)


def _gone(reader: Reader, node_id: str) -> Result:
    """Return the outcome of a missing node: gone, or denied if a policy may hide it."""
    if reader.detected.policies:
        why = "row-level policy: this role sees no row with this id; it may be hidden or deleted"
        return Result(id=node_id, outcome=Outcome.DENIED, why=why)
    return Result(
        id=node_id, outcome=Outcome.GONE, why=f"not found; it may have been deleted. {lost_bytes(node_id)}".rstrip(". ")
    )
