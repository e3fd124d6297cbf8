"""``show``: one node in full."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import partial

import msgspec
from msgspec import structs

from console.cli import find, suggested
from console.cli.exit_codes import SKIPPED
from console.cli.output import encoded, output_for, say
from console.cli.target import missing, opened
from console.model.fields.node import facts
from console.model.fields.payload import is_whole
from console.target import Target
from console.text.arguments import arguments
from console.text.views import detail as views
from queries.read import details
from queries.read.reader import Reader
from queries.records.detail import Section
from queries.records.node import Node
from queries.text.json_text import decoded


async def show(target: Target, text: str, size: int) -> int:
    """Show the node that ``text`` names. Return the exit code: 3 if there is none."""
    async with opened(target) as workspace:
        node_id = await find.node_id(workspace, text)
        if not node_id:
            return SKIPPED
        reader = workspace.reader(node_id)
        detail = await details.read(reader, node_id, size)
        if detail is None:
            say(missing(reader, node_id))
            return SKIPPED
        entries, unreadable = await workspace.audit_log.newest(detail.node.id, 5)
    say(*filter(None, [unreadable if target.json else ""]))
    actions = list(_actions(reader, detail.node))
    output = output_for(target)
    output.text(
        structs.replace(detail, sections=tuple(map(_with_json, detail.sections))) if target.json else detail,
        lambda cells: views.detail(
            detail,
            cells,
            now=detail.at,
            engine=reader.engine,
            helps=partial(suggested.command, target),
            facts=facts(detail.node, detail.at, reader.engine),
            entries=entries,
            why_unread=unreadable,
            actions=actions,
        ),
    )
    return 0


def _with_json(section: Section) -> Section:
    """Return a section whose stored value is also there as JSON, if it is JSON."""
    payload = section.payload
    if payload is not None and is_whole(payload):
        with contextlib.suppress(msgspec.DecodeError, RecursionError):
            document = decoded(payload.head)
            encoded(document)
            return structs.replace(section, payload=structs.replace(payload, json=document))
    return section


def _actions(reader: Reader, node: Node) -> Iterator[tuple[str, str]]:
    for action in reader.engine.actions_of(node.kind):
        available = reader.availability(action, node)
        yield action.name, action.effect if available.ok else f"not available: {available.why}"
        if available.ok:
            yield from (("", f"{word}: {meaning}") for word, meaning in arguments(action))
        yield from (("", f"{place}: {command}") for place, command in available.commands.items())
