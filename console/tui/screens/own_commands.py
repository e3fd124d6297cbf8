"""Dialog that runs a command of the operator's settings on a node."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from textual import on
from textual.app import ComposeResult

from console import editor
from console.config import field_of
from console.model.fields.field import NOTHING
from console.model.fields.node import NAMED
from console.model.flat_list import FlatList
from console.text.spans import Spans
from console.text.views.lines import wrapped
from console.tui import keymap
from console.tui.screens.base import MainScreen
from console.tui.screens.copy import FIELDS, CopyChoice
from console.tui.screens.dialog import Dialog, text
from console.tui.screens.edited import on_terminal
from console.tui.widgets.line_view import LineView
from console.tui.widgets.list_table import ListTable
from console.tui.widgets.look import Look
from queries.records.node import Node, split_id

ROWS_SHOWN = 8  # of the list, with its heading


def arguments(words: Iterable[str], node: Node) -> list[str]:
    """Return the arguments, each ``{field}`` replaced by what the node has.

    A value is one whole argument. Raises EditorError for one that could be an option of the program.
    """
    return [_value(name, node) if (name := field_of(word)) else word for word in words]


def _value(name: str, node: Node) -> str:
    value = str((split_id(node.id)[2] if name == "key" else NAMED[name].value(node, NOTHING)) or "")
    if not value or value.startswith("-") or "\0" in value:
        problem = "begins with -" if value.startswith("-") else "is no argument" if value else "is not recorded"
        raise editor.EditorError(f"The {name} of this {node.kind} {problem}.")
    return value


async def run_own_command(screen: MainScreen, node: Node, commands: Mapping[str, Sequence[str]]) -> None:
    """Run the command that the operator chooses, while no transaction is open."""
    words, workspace = await screen.app.push_screen_wait(OwnCommandsDialog(node, commands)), screen.session.workspace
    if words is None or workspace is None:
        return
    try:
        async with workspace.database.at_rest():
            on_terminal(screen, partial(editor.run, words))
        screen.say(f"{words[0]} has ended.", "good")
    except editor.EditorError as error:
        screen.refuse(str(error))


class OwnCommandsDialog(Dialog[list[str]]):
    """Shows the arguments of a command, and returns those of the chosen one."""

    KEYS = keymap.OWN_COMMANDS

    def __init__(self, node: Node, commands: Mapping[str, Sequence[str]]) -> None:
        super().__init__(f"Run on {node.title}")
        self._node, self._commands = node, commands
        self._rows = FlatList[CopyChoice](leaf=lambda choice: True)
        self._rows.put(None, [CopyChoice(title=name, text=" ".join(words)) for name, words in commands.items()])

    def body(self) -> ComposeResult:
        yield ListTable(self._rows, Look(FIELDS), id="choices")
        yield LineView(id="lines")
        yield text("", id="wrong")

    def on_mount(self) -> None:
        self.query_one(ListTable).focus().styles.height = min(len(self._rows) + 1, ROWS_SHOWN)
        self._moved()

    def _words(self) -> list[str]:
        return arguments(self._commands[self._rows.current.title] if self._rows.current else (), self._node)

    @on(ListTable.Cursor)
    def _moved(self) -> None:
        self.query_one(LineView).put(self._lines)

    def _lines(self, width: int) -> list[Spans]:
        try:
            return [line for word in self._words() for line in wrapped(word, width)]
        except editor.EditorError as error:
            return wrapped(str(error), width, "$warning")

    @on(ListTable.Open)
    def action_run(self) -> None:
        try:
            self.dismiss(self._words())
        except editor.EditorError as error:
            self.say(f"{error} Nothing was run.")
