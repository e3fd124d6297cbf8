"""Repeat a command's answer until Ctrl-C or until the reader of the pipe is gone."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from click import UsageError

from console.cli.output import Output, say
from console.model.timer import Timer
from queries.db.connecting import Backoff
from queries.db.errors import NO_CONNECTION, DatabaseError
from queries.workspace import Workspace


async def repeat(
    workspace: Workspace, output: Output, interval: float, once: Callable[[], Awaitable[int]], *, clear: bool = True
) -> int:
    """Call ``once`` at each interval, or later to limit the server's load.

    ``clear``: on a terminal, each answer replaces the one before it. A read that fails is reported and tried again,
    later and later while there is no connection, and so is one whose engine is gone. Return the last exit code.
    """
    timer, backoff = Timer(interval), Backoff()
    code, pause, worked_once = 0, 0.0, False
    while not output.unread:
        await asyncio.sleep(max(timer.wait(), pause))
        pause = 0.0
        timer.begin()
        cost = workspace.database.load.cost
        if clear:
            output.clear()
        try:
            await workspace.detect_again()
            code = await once()
            backoff.reset()
            worked_once = True
        except UsageError as error:
            if not worked_once:
                raise
            say(error.message)
            code = 1
        except DatabaseError as error:
            say(*str(error).splitlines())
            code = 1
            if isinstance(error, NO_CONNECTION):
                pause = workspace.database.rests or backoff.next(error)
        timer.end(workspace.database.load.cost - cost)
    return code
