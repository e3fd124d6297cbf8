"""Edit the stored text of a node in the operator's editor."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

import msgspec
from textual.app import SuspendNotSupported

from console import editor
from console.tui import keymap
from console.tui.screens.base import MainScreen
from console.tui.screens.refused import TextDialog, reason
from queries.change.edit import TextError, checked, planned, shown
from queries.change.plan import Plan
from queries.db.errors import NO_CONNECTION, DatabaseError
from queries.read import documents

T = TypeVar("T")
NO_TERMINAL = (
    "This terminal cannot be handed to another program. `unstick do edit ID --input FILE` takes the text from a file."
)


async def edited_plan(screen: MainScreen, plan: Plan) -> Plan | None:
    """Let the operator edit the text of the plan's node, and return the plan.

    None: nothing is to be stored, and the screen says why. No transaction is open while the editor runs.
    """
    session, node = screen.session, plan.nodes[0]
    workspace, reader = session.workspace, session.engines.get(plan.label)
    if workspace is None or reader is None:
        screen.host.refuse(f"{plan.title}: {plan.label} is not in the database.")
        return None
    try:
        document = await documents.read(reader, plan.action, node.id)
        given = shown(document.text)
        while True:
            async with workspace.database.at_rest():
                given = on_terminal(screen, partial(editor.edited, given, 4 * documents.DOCUMENT_BYTES))
            try:
                made = await checked(reader, node, planned(workspace, reader, plan.name, node, document, given))
                return msgspec.structs.replace(made, key=plan.key)
            except (TextError, *NO_CONNECTION) as error:
                again = not isinstance(error, TextError) or error.again
                if not again or not await screen.app.push_screen_wait(WrongTextDialog(plan.title, str(error))):
                    raise
    except (DatabaseError, editor.EditorError) as error:
        screen.host.refuse(f"{plan.title}: {error} Nothing was changed.")
        return None


def on_terminal(screen: MainScreen, run: Callable[[], T]) -> T:
    """Run a program on the terminal. The whole console waits. Raises EditorError.

    An error must not leave the body of Textual's ``suspend`` (8.2): the screen would not come back.
    """
    result: T | editor.EditorError
    try:
        with screen.app.suspend():
            try:
                result = run()
            except editor.EditorError as error:
                result = error
    except SuspendNotSupported as error:
        raise editor.EditorError(NO_TERMINAL) from error
    if isinstance(result, editor.EditorError):
        raise result
    return result


class WrongTextDialog(TextDialog):
    """Says why a text cannot be stored. Returns True to edit it again."""

    KEYS = keymap.EDITED

    def __init__(self, heading: str, why: str) -> None:
        super().__init__(heading, lambda width: reason(why, width))
