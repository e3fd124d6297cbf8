"""Start and end of the console.

The first read begins before Textual is imported.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING

from console import garbage
from console.model.session import Session
from console.target import Target
from console.tui.multiplexer import GIVE_TITLE_BACK, in_screen, passed_on
from queries.text.safe_text import safe_text

if TYPE_CHECKING:
    from console.tui.app import UnstickApp
    from console.tui.guide import Guide


def run(target: Target, guide: Guide | None = None) -> int:
    """Run the console until the operator quits.

    Return the exit code: 1 if it never connected. ``guide`` leads through the first repair. Raises
    ConfigError before anything is shown if the settings name unknown keys or an unknown theme, and an error of the
    console itself once the terminal is restored.
    """

    if in_screen() and os.environ.get("COLORTERM"):  # of the terminal, whose 24-bit colours screen does not pass on
        os.environ.setdefault("TEXTUAL_COLOR_SYSTEM", "256")

    async def start() -> int:
        session = Session(lambda: target.open(later=True), target.interval)
        session.findings_first = target.config.start == "stuck"
        session.begin()
        try:
            make = await asyncio.to_thread(_app, target.config.start)
            app = make(session, target, guide=guide)
        except BaseException:
            await session.close()
            raise
        return await _run(app, mouse=target.config.mouse)

    return asyncio.run(start())


def _app(start: str) -> type[UnstickApp]:
    """Import the app, in a thread of its own: the connection proceeds meanwhile."""
    import_module(f"console.tui.screens.{start}")
    from console.tui.app import UnstickApp

    return UnstickApp


async def _run(app: UnstickApp, *, mouse: bool) -> int:
    collecting = asyncio.create_task(_collect(app.session.begun))
    try:
        with _leaving_on_interrupt(app.exit):
            await app.run_async(mouse=mouse)
    finally:
        collecting.cancel()
        if app.terminal_title:
            with contextlib.suppress(OSError):  # stderr is closed
                sys.stderr.write(passed_on(GIVE_TITLE_BACK))
        if app.session.works.under_way:
            _say("Waiting for the change under way ...")
        await app.session.close()
        for line in app.session.works.unseen():
            _say(line)
    if app.fault is not None:
        raise app.fault
    return 0 if app.session.workspace is not None else 1


def _say(line: str) -> None:
    with contextlib.suppress(OSError):  # stderr is closed
        print(safe_text(line), file=sys.stderr)  # noqa: T201


@contextlib.contextmanager
def _leaving_on_interrupt(leave: Callable[[], object]) -> Iterator[None]:
    """Handle the first SIGINT by calling ``leave`` in the running loop.

    Later ones use asyncio's handler. That handler cancels, and Textual swallows a cancellation while it waits for
    one of its own tasks.
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
    await begun.wait()
    garbage.resume()
