"""Delivery of keys and pasted text to the screen, one at a time and in order.

Textual sends a key to the focused widget. From there the key bubbles up to the app, which runs the command. Textual
would send a second key that arrives meanwhile to the same widget, before the first key's command can open a field or a
dialog: text meant for the field would run as commands. Here the second key waits for the whole effect of the first.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

from textual.app import App
from textual.dom import DOMNode
from textual.events import Key, Paste
from textual.message_pump import MessagePump

LIMIT = 10.0  # seconds until the next key is delivered although the effect of the one before has not ended
ROUNDS = 2  # at least: the key itself, then the messages that widgets post because of it


class Keyboard:
    """A queue of keys and pasted text in front of an app."""

    def __init__(
        self, app: App[Any], deliver: Callable[[Key | Paste], Awaitable[None]], opening: Callable[[], bool]
    ) -> None:
        """Create an empty queue.

        ``deliver`` gives one event to the focused widget. ``opening``: a worker is about to open a dialog.
        """
        self._app = app
        self._deliver = deliver
        self._opening = opening
        self._waiting: asyncio.Queue[Key | Paste] = asyncio.Queue()

    def put(self, event: Key | Paste) -> None:
        """Add a key or pasted text to the queue.

        The lines of a text are joined, because a field would keep only the first.
        """
        if isinstance(event, Paste):
            event = Paste(" ".join(event.text.splitlines()))
        self._waiting.put_nowait(event)

    async def run(self) -> None:
        """Deliver what is in the queue, until cancelled."""
        while True:
            event = await self._waiting.get()
            await self._deliver(event)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LIMIT):
                    await self._handled()
            self._waiting.task_done()

    async def idle(self) -> None:
        """Wait until every event in the queue has had its whole effect."""
        await self._waiting.join()

    async def _handled(self) -> None:
        """Wait until the last event and all messages that followed it are handled.

        Messages travel from the focused widget up to the app. So each of these queues is emptied in that order until no
        screen opens or closes and the focus stays. A new screen empties its queue only after it has been composed.
        """
        rounds, before, now = 0, None, self._target()
        while rounds < ROUNDS or now is not before or self._opening():
            for pump in now.ancestors_with_self:
                await _emptied(pump)
            rounds, before, now = rounds + 1, now, self._target()

    def _target(self) -> DOMNode:
        return self._app.focused or self._app.screen


async def _emptied(pump: MessagePump) -> None:
    """Wait until all messages that are in the queue of ``pump`` now have been handled."""
    reached = asyncio.Event()
    if pump.call_later(reached.set):
        await reached.wait()
