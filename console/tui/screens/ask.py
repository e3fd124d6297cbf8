"""Dialog for the reason and the arguments of an action."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.widget import Widget
from textual.widgets import Button, Input, Select

from console.text.arguments import typed
from console.text.views import action as views
from console.tui import keymap
from console.tui.screens.dialog import Dialog, line, text
from console.tui.widgets.checkbox import Checkbox
from console.tui.widgets.line_view import LineView
from queries.change.plan import ActionInput, Plan
from queries.contract.spec import Argument
from queries.text.counted import counted


class AskDialog(Dialog[ActionInput]):
    """Returns the operator's input. There is no dry run without a reason."""

    KEYS = keymap.INPUT

    def __init__(self, plan: Plan, before: ActionInput | None = None, wrong: WrongFieldError | None = None) -> None:
        """``before``: the input to begin with. ``wrong``: why it was not taken."""
        super().__init__(plan.title)
        self._plan = plan
        self._before = before or ActionInput(reason="")
        self._wrong = wrong

    def body(self) -> ComposeResult:
        yield LineView(id="lines")
        with VerticalScroll(id="fields"):
            yield text("Reason, for the audit log", classes="label")
            yield line(self._before.reason, id="reason")
            for argument in self._unfolded:
                yield from _field(argument, _given(argument, self._before))
            if self._folded:
                yield Button(f"{_optional(self._folded)} ...", id="optional")
            with Vertical(id="folded"):
                for argument in self._folded:
                    yield from _field(argument, _given(argument, self._before))
        yield text("", id="wrong")
        with Horizontal(classes="buttons"):
            yield Button("Close", id="leave")
            yield Button("Dry run", id="go", variant="primary")

    def guided(self) -> str:
        return self.host.guide.line(3, "type a reason, then press enter. The dry run changes nothing.")

    def on_mount(self) -> None:
        plan = self._plan
        self.query_one(LineView).put(lambda width: views.about(plan.action, plan.nodes, plan.skipped, width))
        self.say("")
        self.query_one("#folded").display = False
        self.query_one("#reason").focus()
        if self._wrong is not None:
            self._show_wrong(self._wrong)

    @property
    def _folded(self) -> Sequence[Argument]:
        """Optional fields that have no other value than their default."""
        return [a for a in self._plan.asked if _is_optional(a) and _given(a, self._before) == a.default]

    @property
    def _unfolded(self) -> Sequence[Argument]:
        return [argument for argument in self._plan.asked if argument not in self._folded]

    @on(Input.Submitted)
    @on(Button.Pressed, "#go")
    def action_go(self) -> None:
        try:
            self.dismiss(self._answers())
        except WrongFieldError as error:
            self._show_wrong(error)

    def _show_wrong(self, error: WrongFieldError) -> None:
        self.say(str(error))
        if any(argument.name == error.name for argument in self._folded):
            self._unfold()
        self.query_one("#reason" if not error.name else f"#argument-{error.name}").focus()

    @on(Button.Pressed, "#optional")
    def _open_folded(self) -> None:
        self._unfold()
        self.query_one(f"#argument-{self._folded[0].name}").focus()

    def _unfold(self) -> None:
        self.query_one("#optional").display = False
        self.query_one("#folded").display = True

    def _answers(self) -> ActionInput:
        """Return the input.

        Raises WrongFieldError if a value is missing or has the wrong type.
        """
        reason = self.query_one("#reason", Input).value.strip()
        if not reason:
            raise WrongFieldError("", "Enter a reason: it is written to the audit log.")
        arguments = {}
        for argument in self._plan.asked:
            field = self.query_one(f"#argument-{argument.name}")
            value = answer(argument, field.value)  # type: ignore[attr-defined]
            if value is not None:
                arguments[argument.name] = value
        return ActionInput(reason=reason, arguments=arguments)


class WrongFieldError(ValueError):
    """A value cannot be used. ``name``: of the argument, "" for the reason."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(why)
        self.name = name


def _is_optional(argument: Argument) -> bool:
    return not argument.required and argument.type != "flag"


def _optional(arguments: Sequence[Argument]) -> str:
    return counted(len(arguments), "optional field")


def _given(argument: Argument, before: ActionInput) -> str:
    value = before.arguments.get(argument.name)
    if value is None:
        return argument.default
    return value if isinstance(value, str) else json.dumps(value)


def _field(argument: Argument, given: str) -> Iterable[Widget]:
    name = f"argument-{argument.name}"
    if argument.type == "flag":
        yield Checkbox(argument.title, given == "true", id=name)
        return
    yield text(f"{argument.title}{'' if argument.required else ' (optional)'}", classes="label")
    if argument.type == "choice":
        chosen = given or (argument.choices[0] if argument.required and argument.choices else "")
        options = [(choice, choice) for choice in argument.choices]
        yield Select(options, value=chosen or Select.NULL, allow_blank=not argument.required, id=name, compact=True)
    else:
        yield line(given, name, {"int": "a number", "json": "JSON"}.get(argument.type, ""))


def answer(argument: Argument, value: object) -> Any:
    """Convert a field's value to the argument's type; None if empty.

    Raises WrongFieldError.
    """
    if argument.type == "flag":
        return True if value else None
    given = value.strip() if isinstance(value, str) else ""
    if not given:
        if argument.required:
            raise WrongFieldError(argument.name, f"Required: {argument.title}.")
        return None
    try:
        return typed(argument, given)
    except ValueError as error:
        raise WrongFieldError(argument.name, f"Enter {error}: {argument.title}.") from None
