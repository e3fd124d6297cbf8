"""Running redrive, in its own task that the screen never cancels."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

from queries.actions import redrive_plan, redrive_world
from queries.actions.redrive_plan import Run
from queries.actions.redrive_rules import Ask, Step
from queries.actions.redrive_world import Console
from queries.db.errors import DatabaseError
from queries.workspace import Workspace


class RedriveRun:
    """A redrive that this console continues.

    ``changed`` is called after each step and at the end. ``error_text``: why it waits for the server, or why it ended
    without a recorded end.
    """

    def __init__(self, workspace: Workspace, run: Run, changed: Callable[[], None]) -> None:
        self.run = run
        self.error_text = ""
        self.ended = False  # this console's part
        self._console = Console()
        self._runner = redrive_world.runner(workspace, run, self._console)
        self._step: Step | None = None
        self._changed = changed
        self.report = redrive_plan.report(run, self._runner.state, None)
        self.task = asyncio.create_task(self._run())

    @property
    def asks(self) -> bool:
        """True while the operator must decide."""
        return isinstance(self._step, Ask) and not self.ended

    def stop(self) -> None:
        """End the redrive: revive no further node."""
        self._console.stop()

    def go_on(self) -> None:
        """Answer the question with "go on"."""
        if isinstance(self._step, Ask):
            self._console.go_on(self._step)

    def leave(self) -> None:
        """End this console's part after the current step. The redrive stays open."""
        self._console.leave()

    async def _run(self) -> None:
        try:
            async with contextlib.aclosing(self._runner.steps()) as steps:
                async for step in steps:
                    self._step = step
                    self._show()
                    if self._console.left:
                        break
        except DatabaseError as error:
            self.error_text = error.line
        except Exception as error:
            # A bug of the console. What was revived is in the audit log.
            self.error_text = f"the console failed: {type(error).__name__}: {error}"
        self.ended = True
        self._changed()

    def _show(self) -> None:
        self.error_text = self._runner.error_text
        self.report = redrive_plan.report(self.run, self._runner.state, self._step, self._runner.durability)
        self._changed()
