"""Dialog that tries a worker's next statement on a node, if the operator agrees."""

from __future__ import annotations

from functools import partial

from textual.app import ComposeResult

from console.text.views import attempt as views
from console.text.views.lines import wrapped
from console.tui import keymap
from console.tui.screens.dialog import Dialog, text
from console.tui.widgets.line_view import LineView
from queries.change.trial import attempt
from queries.db.errors import DatabaseError
from queries.evidence.attempt import prepare
from queries.records.attempt import Trial
from queries.records.node import Node


class TryDialog(Dialog[bool]):
    """Shows what would run and as which role, then the server's answer.

    Nothing is locked while the operator reads.
    """

    KEYS = keymap.TRY

    def __init__(self, node: Node) -> None:
        super().__init__(f"Try: {node.title}")
        self._node = node
        self._trial: Trial | None = None

    def body(self) -> ComposeResult:
        yield LineView(id="lines")
        yield text("", id="wrong")

    def on_mount(self) -> None:
        view = self.query_one(LineView)
        view.put(partial(wrapped, "Reading the worker's role …", indent=0))
        view.focus()
        self.run_worker(self._prepare(), group="try", exclusive=True)

    async def _prepare(self) -> None:
        workspace = self.session.workspace
        if workspace is None:
            return
        try:
            trial = self._trial = await prepare(workspace, self._node.id)
        except DatabaseError as error:
            self.say(str(error))
            return
        gone = partial(wrapped, "It no longer exists.", indent=0)
        self.query_one(LineView).put(gone if trial is None else partial(views.question, trial))

    def action_run(self) -> None:
        trial, self._trial = self._trial, None
        if trial is not None and not trial.refused:
            self.say("Trying …")
            self.run_worker(self._run(trial), group="try", exclusive=True)

    async def _run(self, trial: Trial) -> None:
        workspace = self.session.workspace
        if workspace is None:
            return
        try:
            made = await attempt(workspace, trial)
        except DatabaseError as error:
            self.say(str(error))
            return
        self._trial = trial  # the key tries it again
        self.say("")
        self.query_one(LineView).put(partial(views.answer, made))
        self.session.run_now()
