"""Before a rehearsal: why, and what else the verb wants to know."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.widget import Widget
from textual.widgets import Button, Checkbox, Input, Select

from console.pages import plan as pages
from console.widgets.page import Page
from queries.model import Record
from queries.spec import Argument

from .dialog import Dialog, Title, text

if TYPE_CHECKING:
    from .verb import Plan


class Asked(Record):
    """The operator's answers."""

    reason: str
    arguments: dict[str, Any] = {}


class AskScreen(Dialog[Asked]):
    """Nothing is changed and nothing is rehearsed before a reason is given."""

    def __init__(self, plan: Plan) -> None:
        super().__init__()
        self._plan = plan

    def compose(self) -> ComposeResult:
        with Vertical(id="box", classes="fitting"):
            yield Title(self._plan.what, self.unstick)
            yield Page(id="page")
            with VerticalScroll(id="fields"):
                yield text("Reason, for the ledger", classes="label")
                yield _line("reason", "")
                for argument in self._plan.verb.arguments:
                    yield from _field(argument)
            yield text("", id="wrong")
            with Horizontal(classes="buttons"):
                yield Button("Cancel", id="cancel")
                yield Button("Rehearse", id="go", variant="primary")
            yield text("enter rehearses: that changes nothing · esc leaves", classes="keys")

    def on_mount(self) -> None:
        plan = self._plan
        self.query_one(Page).put(lambda width: pages.about(plan.verb, plan.nodes, plan.left_out, width))
        self.query_one("#reason").focus()

    @on(Input.Submitted)
    @on(Button.Pressed, "#go")
    def _go(self) -> None:
        try:
            self.dismiss(self._answers())
        except ValueError as error:
            self.query_one("#wrong").update(str(error))  # type: ignore[attr-defined]
            self.call_after_refresh(self.fit)

    @on(Button.Pressed, "#cancel")
    def _cancel(self) -> None:
        self.dismiss(None)

    def _answers(self) -> Asked:
        """Raises ValueError, in words for the operator, where something is missing or not of its type."""
        reason = self.query_one("#reason", Input).value.strip()
        if not reason:
            self.query_one("#reason").focus()
            raise ValueError("A reason is needed: it goes into the ledger.")
        arguments = {}
        for argument in self._plan.verb.arguments:
            field = self.query_one(f"#argument-{argument.name}")
            value = answer(argument, field.value)  # type: ignore[attr-defined]
            if value is not None:
                arguments[argument.name] = value
        return Asked(reason=reason, arguments=arguments)


def _line(id: str, value: str, placeholder: str = "") -> Input:
    line = Input(value=value, id=id, placeholder=placeholder)
    line.cursor_blink = False
    return line


def _field(argument: Argument) -> Iterable[Widget]:
    name = f"argument-{argument.name}"
    if argument.type == "flag":
        yield Checkbox(_plain(argument.title), argument.default == "true", id=name)
        return
    yield text(f"{argument.title}{'' if argument.required else ' (may stay empty)'}", classes="label")
    if argument.type == "choice":
        chosen = argument.default or (argument.choices[0] if argument.required and argument.choices else "")
        options = [(choice, choice) for choice in argument.choices]
        yield Select(options, value=chosen or Select.NULL, allow_blank=not argument.required, id=name)
    else:
        yield _line(name, argument.default, {"int": "a number", "json": "JSON"}.get(argument.type, ""))


def _plain(title: str) -> Any:
    from textual.content import Content

    return Content(title)


def answer(argument: Argument, value: object) -> Any:
    """What was put into a field as the verb takes it; None where it stayed empty. Raises ValueError."""
    if argument.type == "flag":
        return True if value else None
    given = value.strip() if isinstance(value, str) else ""
    if not given:
        if argument.required:
            raise ValueError(f"{argument.name} is needed: {argument.title}.")
        return None
    try:
        if argument.type == "int":
            return int(given)
        if argument.type == "json":
            return json.loads(given)
    except ValueError:
        kind = "a whole number" if argument.type == "int" else "JSON"
        raise ValueError(f"{argument.name} must be {kind}.") from None
    return given
