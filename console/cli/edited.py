"""The edited text of an action: from the operator's editor, a file, or stdin."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TextIO

import click

from console import editor
from console.cli import prompts
from console.cli.output import say
from console.cli.target import missing
from console.interrupts import ctrl_c_raises
from queries.change.edit import TextError, checked, planned, shown
from queries.change.plan import Plan
from queries.db.errors import UNCHANGED, DatabaseError
from queries.read import documents
from queries.read.reader import Reader
from queries.records.node import Node, a_kind
from queries.workspace import Workspace


async def edited_plan(
    workspace: Workspace,
    reader: Reader,
    name: str,
    ids: Sequence[str],
    nodes: Mapping[str, Node],
    *,
    edit: bool,
    input: TextIO | None,
) -> Plan:
    """Read the text of the node, have it edited, and return the plan.

    No transaction is open while the operator edits. Raises DatabaseError, UsageError.
    """
    if len(ids) != 1:
        raise click.UsageError(f"{name} edits the text of one node at a time: {len(ids)} were given.")
    if edit and input is not None:
        raise click.UsageError("Give one of --edit and --input.")
    if not edit and input is None and not sys.stdin.isatty():
        raise click.UsageError(f"{name} needs --input FILE, or --edit. At a terminal it opens $EDITOR.")
    node = nodes.get(ids[0])
    if node is None:
        raise DatabaseError(missing(reader, ids[0]), UNCHANGED)
    action = reader.engine.action(name, node.kind)
    if action is None:
        raise click.UsageError(f"{name} is not for {a_kind(node.kind)}.")
    if not (available := reader.availability(action, node)).ok:
        raise DatabaseError(f"{action.title}: {available.why}.", UNCHANGED)
    document = await documents.read(reader, action, node.id)
    text = shown(document.text)
    while True:
        text = _typed(text) if input is None else _given(input)
        try:
            return await checked(reader, node, planned(workspace, reader, name, node, document, text))
        except TextError as error:
            if input is not None or not error.again or not sys.stdin.isatty():
                raise
            say(*str(error).splitlines())
            if not prompts.agreed("Edit it again?"):
                raise


def _typed(text: str) -> str:
    try:
        return editor.edited(text, 4 * documents.DOCUMENT_BYTES)  # it is indented
    except editor.EditorError as error:
        raise DatabaseError(str(error), UNCHANGED) from error


def _given(input: TextIO) -> str:
    try:
        with ctrl_c_raises():
            text = input.read(4 * documents.DOCUMENT_BYTES + 1)
    except UnicodeDecodeError as error:
        raise DatabaseError(f"The text is not UTF-8: {error.reason} at byte {error.start}.", UNCHANGED) from error
    if len(text) > 4 * documents.DOCUMENT_BYTES:
        raise DatabaseError(f"The text has more than {4 * documents.DOCUMENT_BYTES} characters.", UNCHANGED)
    return text
