"""Keys, pasted text and clicks, each after the whole effect of the one before.

Textual sends a key to the widget with the focus at once. A second key would reach the same widget before the first one
can open a field or a dialog: text meant for the field would run as commands.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

from textual.app import App, ScreenStackError
from textual.events import Callback, Key, MouseDown, MouseUp, Paste
from textual.screen import Screen

PAUSE_SECONDS = 0.6  # between two keys, after which the second one is no longer typed without a look
EFFECT_SECONDS = 10.0  # seconds until the next key is delivered although the effect of the one before has not ended
MESSAGE_ROUNDS = 2  # of a key, at least: the key itself, then the messages that widgets post because of it

Typed = Key | Paste | MouseDown | MouseUp


class Keyboard:
    """Queue in front of an app.

    ``deliver`` gives one event to the widget with the focus, or under the mouse. ``opening``: a worker is about to open
    a dialog. ``idle`` waits until every event has had its whole effect.
    """

    def __init__(self, app: App[Any], deliver: Callable[[Typed], Awaitable[None]], opening: Callable[[], bool]) -> None:
        self._app, self._deliver, self._opening = app, deliver, opening
        self._last = 0.0  # time of the last event
        self.ignoring = False  # text that is typed on without a pause, for a dialog that did not open
        self._waiting: asyncio.Queue[tuple[Typed, Screen[Any] | None]] = asyncio.Queue()
        self.idle = self._waiting.join

    def put(self, event: Typed) -> None:
        """Add an event. A click is for the screen that is in front now."""
        if isinstance(event, Paste):
            event = Paste(" ".join(event.text.splitlines()))  # a field would keep only the first line
        self._waiting.put_nowait((event, self._front() if isinstance(event, MouseDown | MouseUp) else None))

    async def run(self) -> None:
        """Deliver what is in the queue, until cancelled."""
        while True:
            event, aimed = await self._waiting.get()
            typed = isinstance(event, Key) and (event.is_printable or event.key in ("enter", "backspace"))
            self.ignoring = self.ignoring and typed and event.time - self._last < PAUSE_SECONDS
            self._last = event.time
            if aimed is not None and aimed is not self._front():
                self._app.capture_mouse(None)  # by a widget of the screen that was closed
            elif not self.ignoring:
                await self._deliver(event)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(EFFECT_SECONDS):
                        await self._handled()
            self._waiting.task_done()

    async def _handled(self) -> None:
        """Empty the queues from the focus up to the app, until the focus stays."""
        rounds, before = 0, None
        while (now := self._app.focused or self._front()) is not None:
            if rounds >= MESSAGE_ROUNDS and now is before and not self._opening():
                return
            for pump in now.ancestors_with_self:
                reached = asyncio.Event()
                if pump.post_message(Callback(reached.set)):
                    await reached.wait()
            rounds, before = rounds + 1, now

    def _front(self) -> Screen[Any] | None:
        """Return the screen in front. None before the first one and at the end."""
        with contextlib.suppress(ScreenStackError):
            return self._app.screen if self._app.is_running else None
        return None
