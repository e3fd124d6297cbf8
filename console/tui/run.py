"""From the settings to the open console. The server is asked before Textual is there: it answers while that is read."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING

from console import garbage
from console.model.session import Opener, in_front
from console.target import Target
from queries.errors import DatabaseError
from queries.safe_text import safe_text
from queries.workspace import Workspace

if TYPE_CHECKING:
    from console.tui.app import UnstickApp

# What `app` imports, in parts of some milliseconds.
BITS = (
    "rich.color",
    "rich.text",
    "rich.console",
    "textual",
    "textual.dom",
    "textual._compositor",
    "textual.screen",
    "textual.widgets.input",
    "textual.containers",
    "textual.command",
    "textual.app",
    "console.tui.screens.base",
    "console.tui.app",
    "console.tui.screens.tree",
)
STEPS = 4  # turns of the event loop that an answer of the server takes to become the next question


def run(target: Target, greeting: str = "") -> int:
    """Run the console until the operator quits. Return the exit code: 1 if it never connected.

    The status line shows ``greeting`` until a key is pressed. Raises ConfigError before anything is shown if the
    settings name unknown keys or an unknown theme, and an error of the console itself once the terminal is restored.
    """

    async def open_() -> Workspace:
        workspace = await target.open(later=True)
        try:
            label = in_front(workspace.engines, target.context)
            if label is not None:
                with contextlib.suppress(DatabaseError):  # who reads it next is told
                    await workspace.engines[label].read_ahead()
        except BaseException:
            await workspace.close()
            raise
        return workspace

    async def start() -> int:
        ahead = EarlyConnect(open_)
        try:
            make = await _app()
            return await _run(make(ahead, target, greeting=greeting))
        finally:
            await ahead.drop()

    return asyncio.run(start())


class EarlyConnect:
    """An opener that has begun before it is asked."""

    def __init__(self, open_: Opener) -> None:
        self._open = open_
        self._begun: asyncio.Future[Workspace] | None = asyncio.ensure_future(open_())

    async def __call__(self) -> Workspace:
        begun, self._begun = self._begun, None
        return await (begun or self._open())

    async def drop(self) -> None:
        """Close what was opened and not asked for."""
        begun, self._begun = self._begun, None
        if begun is not None:
            begun.cancel()
            with contextlib.suppress(asyncio.CancelledError, DatabaseError):
                await (await begun).close()


async def _app() -> type[UnstickApp]:
    """Import the app, bit by bit: in between, the connection takes its next step. (A thread would cost more.)"""
    for bit in BITS:
        import_module(bit)
        for _ in range(STEPS):
            await asyncio.sleep(0)
    from console.tui.app import UnstickApp

    return UnstickApp


async def _run(app: UnstickApp) -> int:
    collecting = asyncio.create_task(_collect(app.session.begun))
    try:
        with _told_to_leave(app.exit):
            await app.run_async()
    finally:
        collecting.cancel()
        if any(not work.ended for work in app.session.works):
            _say("Waiting for the change under way ...")
        await app.session.close()
        for line in app.session.unseen():
            _say(line)
    if app.fault is not None:
        raise app.fault
    return 0 if app.session.workspace is not None else 1


def _say(line: str) -> None:
    with contextlib.suppress(OSError):  # nobody is there to read it
        print(safe_text(line), file=sys.stderr)  # noqa: T201


@contextlib.contextmanager
def _told_to_leave(leave: Callable[[], object]) -> Iterator[None]:
    """Have the first SIGINT call ``leave``, in the running loop. The next ones are asyncio's, which cancels.

    Cancelling first would not do: a cancellation that meets Textual while it waits for a part of itself is swallowed.
    """
    loop = asyncio.get_running_loop()
    before = signal.getsignal(signal.SIGINT)

    def first(*_: object) -> None:
        signal.signal(signal.SIGINT, before)
        loop.call_soon_threadsafe(leave)

    signal.signal(signal.SIGINT, first)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


async def _collect(begun: asyncio.Event) -> None:
    """Look for garbage only once there is something to see; what is there by then stays."""
    await begun.wait()
    garbage.resume()
