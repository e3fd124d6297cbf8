"""Start and end of the console.

The connection begins before Textual is imported, and the first incidents can be shown before that.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Protocol

from console import garbage
from console.model.session import Opener, in_front
from console.target import Target
from queries.db.errors import DatabaseError
from queries.read.reader import Reader
from queries.records.finding import Findings, Incident
from queries.text.safe_text import safe_text
from queries.workspace import Workspace

if TYPE_CHECKING:
    from console.tui.app import UnstickApp

AHEAD: dict[str, Callable[[Reader], Awaitable[Findings | None]]] = {  # first page -> what it shows first
    "tree": Reader.read_ahead,
    "stuck": Reader.read_findings_ahead,
}
HEAD_START = 0.1  # seconds for the first rows before Textual is imported


class Early(Protocol):
    """Writer of incidents to the terminal, before the console can paint."""

    def show(self, incidents: Sequence[Incident], now: float) -> None:
        """Show incidents as of ``now``, in seconds since 1970."""

    def clear(self) -> None:
        """Leave the terminal as it was, because nothing will be painted."""


def run(target: Target, early: Early, greeting: str = "") -> int:
    """Run the console until the operator quits.

    Return the exit code: 1 if it never connected. ``early`` shows incidents that are read before the console can
    paint. The status line shows ``greeting`` until a key is pressed. Raises ConfigError before anything is shown if
    the settings name unknown keys or an unknown theme, and an error of the console itself once the terminal is
    restored.
    """
    importing = True

    async def open_() -> Workspace:
        workspace = await target.open(later=True)
        try:
            label = in_front(workspace.engines, target.context)
            if label is not None and target.config.start in AHEAD:
                with contextlib.suppress(DatabaseError):  # the next read reports it
                    found = await AHEAD[target.config.start](workspace.engines[label])
                    if importing and found is not None:
                        capped = {(label, code) for code in found.capped}
                        early.show(workspace.incidents(found.found, capped, found.at), found.at)
        except BaseException:
            await workspace.close()
            raise
        return workspace

    async def start() -> int:
        nonlocal importing
        ahead = EarlyConnect(open_)
        try:
            await ahead.wait(HEAD_START)
            make = await asyncio.to_thread(_app, target.config.start)
            app = make(ahead, target, greeting=greeting)
        except BaseException:
            early.clear()
            await ahead.drop()
            raise
        importing = False
        try:
            return await _run(app)
        finally:
            await ahead.drop()

    return asyncio.run(start())


class EarlyConnect:
    """Opener that connects at once.

    The first call waits for that attempt; later calls connect again.
    """

    def __init__(self, open_: Opener) -> None:
        self._open = open_
        self._begun: asyncio.Future[Workspace] | None = asyncio.ensure_future(open_())

    async def wait(self, seconds: float) -> None:
        """Wait for that attempt, for at most ``seconds``."""
        if self._begun is not None:
            await asyncio.wait({self._begun}, timeout=seconds)

    async def __call__(self) -> Workspace:
        begun, self._begun = self._begun, None
        return await (begun or self._open())

    async def drop(self) -> None:
        """Close a connection that was opened and never used."""
        begun, self._begun = self._begun, None
        if begun is not None:
            begun.cancel()
            with contextlib.suppress(asyncio.CancelledError, DatabaseError):
                await (await begun).close()


def _app(start: str) -> type[UnstickApp]:
    """Import the app, in a thread of its own: the connection proceeds meanwhile."""
    import_module(f"console.tui.screens.{start}")
    from console.tui.app import UnstickApp

    return UnstickApp


async def _run(app: UnstickApp) -> int:
    collecting = asyncio.create_task(_collect(app.session.begun))
    try:
        with _leaving_on_interrupt(app.exit):
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
    """Resume garbage collection after the first rows are shown."""
    await begun.wait()
    garbage.resume()
