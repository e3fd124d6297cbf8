"""Tasks that begin at once, as in the program from Python 3.12 on.

``App.run_async`` sets ``asyncio.eager_task_factory`` where Python has it, ``App.run_test`` does not. So a test says for
itself how tasks begin: ``run_tui`` does as the program, and ``eager=True`` begins them at once on Python 3.11, too.
"""

from __future__ import annotations

import asyncio
from asyncio.tasks import _enter_task, _leave_task
from collections.abc import Callable
from contextvars import Context
from typing import Any

# As the program; and at once, where the program does not.
AS_PROGRAM = hasattr(asyncio, "eager_task_factory")
EACH_WAY = sorted({AS_PROGRAM, True})


def _begin_at_once(loop: asyncio.AbstractEventLoop, coroutine: Any, context: Context | None = None) -> Any:
    """Return a task that has run until its first wait, on Python 3.11."""
    if not loop.is_running():
        return asyncio.Task(coroutine, loop=loop, context=context)
    steps: list[tuple[Callable[..., None], tuple[Any, ...], Context | None]] = []

    def keep(step: Callable[..., None], *arguments: Any, context: Context | None = None) -> None:
        steps.append((step, arguments, context))

    loop.call_soon = keep  # type: ignore[method-assign, assignment]
    try:
        task = asyncio.Task(coroutine, loop=loop, context=context)
    finally:
        del loop.call_soon  # type: ignore[method-assign]
    ((step, arguments, of_step),) = steps
    running = asyncio.current_task(loop)
    if running is not None:
        _leave_task(loop, running)
    try:
        assert of_step is not None
        of_step.run(step, *arguments)
    finally:
        if running is not None:
            _enter_task(loop, running)
    return task


def begin_tasks(*, eager: bool = AS_PROGRAM) -> None:
    """Let the running loop begin tasks at once, or when it comes to them."""
    factory = getattr(asyncio, "eager_task_factory", _begin_at_once)
    asyncio.get_running_loop().set_task_factory(factory if eager else None)
