"""Dialogs that say why a key does nothing, or offer what it could do.

They take the keys typed for the dialog that did not open.
"""

from __future__ import annotations

from collections.abc import Mapping

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical

from console.text.pages.change_summary import titles
from console.text.pages.lines import BLANK, command_lines, wrapped
from console.tui import keymap
from console.tui.bindings import bindings
from console.tui.screens.copy import CopyScreen, command_choices
from console.tui.screens.dialog import Dialog, Title, text
from console.tui.widgets.line_view import LineView
from queries.actions.plan import Plan


class RefusedScreen(Dialog[None]):
    """Dialog that only escape closes. Its commands can be copied.

    A reason typed too early ends with enter and must not run commands.
    """

    BINDINGS = bindings(keymap.COMMANDS)

    def __init__(self, title: str, why: str, commands: Mapping[str, str] | None = None) -> None:
        super().__init__()
        self._title = title
        self._commands = commands or {}
        self._why = why.replace("\n", " ")  # an error may have two lines

    def compose(self) -> ComposeResult:
        with Vertical(id="box", classes="fitting"):
            yield Title(self._title, self.host.context)
            yield LineView(id="page")
            keys = f"{self.hints(*keymap.COMMANDS)}; " if self._commands else ""
            yield text(f"{keys}esc closes; other keys do nothing here", classes="keys")

    def on_mount(self) -> None:
        commands = [BLANK, *command_lines(self._commands, 0)] if self._commands else []
        self.query_one(LineView).put(lambda width: [*wrapped(self._why, width, "$warning", 0), *commands])

    def action_copy(self) -> None:
        if self._commands:
            self.app.push_screen(CopyScreen(command_choices("command", self._commands)), self._copied)

    def _copied(self, message: str | None) -> None:
        if message:
            self.host.say(message, "good")


class OfferScreen(Dialog[bool]):
    """Offers an action on the jobs of the selected nodes, which the nodes do not have.

    Returns True if the key of the action is pressed again.
    """

    def __init__(self, why: str, plan: Plan) -> None:
        super().__init__()
        self._why = why
        self._plan = plan

    def compose(self) -> ComposeResult:
        with Vertical(id="box", classes="fitting"):
            yield Title("Not for this node", self.host.context)
            yield LineView(id="page")
            yield text(f"{self._plan.key} again: {self._plan.title} · {self.hints(*keymap.DIALOG)}", classes="keys")

    def on_mount(self) -> None:
        plan = self._plan
        jobs = "its job" if len(plan.nodes) == 1 else "their jobs"
        named = titles(plan.versions, plan.titles)
        offer = f"{plan.key} acts on {jobs} {named}. {plan.action.effect} Nothing is changed before a dry run."
        self.query_one(LineView).put(
            lambda width: [*wrapped(self._why, width, "$warning", 0), *wrapped(offer, width, "", 0)]
        )

    def on_key(self, event: events.Key) -> None:
        if event.key == self._plan.key:
            event.stop()
            self.dismiss(True)
