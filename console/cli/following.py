"""Follow a run in a terminal: say what it does, stop it with Ctrl-C."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from console.cli.output import say
from console.interrupts import signals_call
from queries.runs.runner import Decisions, Runner
from queries.runs.steps import Ask, Pause


async def follow(runner: Runner, decisions: Decisions, line: Callable[[], str], answer: Callable[[Ask], bool]) -> None:
    """Run until the end, a question without an answer, or Ctrl-C.

    ``line`` describes the step of the runner, or is "". ``answer`` decides on a question, or returns False. Ctrl-C and
    SIGTERM leave the run open, once the outcome of what is under way is known. Raises DatabaseError.
    """
    said = ""

    def interrupted() -> None:
        decisions.leave()
        say("Interrupted: waiting for the outcome of what is under way ...")

    with signals_call(interrupted):
        async with contextlib.aclosing(runner.steps()) as steps:
            async for step in steps:
                if isinstance(step, Pause):
                    text = f"Server lost, retrying in {step.seconds:.0f} s. Ctrl-C stops. {step.why}"
                else:
                    text = line()
                if text and text != said:
                    say(said := text)
                if isinstance(step, Ask) and not decisions.left and not answer(step):
                    break
