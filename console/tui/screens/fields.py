"""Fields of a change: its reason, then its arguments. Optional ones are folded."""

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
from console.tui.screens.dialog import line, text
from console.tui.widgets.checkbox import Checkbox
from queries.change.plan import ActionInput
from queries.contract.spec import Argument
from queries.text.counted import counted


class WrongFieldError(ValueError):
    """A value cannot be used. ``name``: of the argument, "" for the reason."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(why)
        self.name = name


class Fields(VerticalScroll):
    """The reason and the arguments of an action, as the operator types them."""

    def __init__(self, arguments: Sequence[Argument], before: ActionInput) -> None:
        """``before``: the input to begin with."""
        super().__init__(id="fields", can_focus=False)
        self._arguments, self._before = arguments, before
        self._folded = [a for a in arguments if not a.required and a.type != "flag" and _given(a, before) == a.default]

    def compose(self) -> ComposeResult:
        with Horizontal(classes="reason"):
            yield text("Reason, for the audit log", classes="label")
            yield line(self._before.reason, id="reason", selected=False)
        for argument in self._arguments:
            if argument not in self._folded:
                yield from _field(argument, _given(argument, self._before))
        if self._folded:
            yield Button(f"{counted(len(self._folded), 'optional field')} ...", id="optional")
        with Vertical(id="folded") as folded:
            folded.display = False
            for argument in self._folded:
                yield from _field(argument, _given(argument, self._before))

    @on(Button.Pressed, "#optional")
    def _open_folded(self) -> None:
        self.show(self._folded[0].name)

    def show(self, name: str) -> None:
        """Show the field of an argument, or of the reason (""), and focus it."""
        if any(argument.name == name for argument in self._folded):
            self.query_one("#optional").display = False
            self.query_one("#folded").display = True
        self.query_one(f"#argument-{name}" if name else "#reason").focus()

    @property
    def reason(self) -> str:
        """The typed reason, or ""."""
        return self.query_one("#reason", Input).value.strip()

    def arguments(self) -> dict[str, Any]:
        """Return the values.

        Raises WrongFieldError if one is missing or has the wrong type.
        """
        values = {a.name: _answer(a, self.query_one(f"#argument-{a.name}").value) for a in self._arguments}  # type: ignore[attr-defined]
        return {name: value for name, value in values.items() if value is not None}


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


def _answer(argument: Argument, value: object) -> Any:
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
