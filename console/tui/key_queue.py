"""Delivery of keys, pasted text and clicks to the screen, in order.

Textual sends a key to the focused widget. From there the key bubbles up to the app, which runs the command. Textual
would send a second key that arrives meanwhile to the same widget, before the first key's command can open a field or a
dialog: text meant for the field would run as commands. Here the second key waits for the whole effect of the first.

A key goes to the screen that the first key opens. A click does not: it was aimed at what was on the screen before.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

from textual.app import App, ScreenStackError
from textual.dom import DOMNode
from textual.errors import NoWidget
from textual.events import Callback, Key, MouseDown, MouseUp, Paste
from textual.message_pump import MessagePump
from textual.screen import Screen

EFFECT_SECONDS = 10.0  # seconds until the next key is delivered although the effect of the one before has not ended
MESSAGE_ROUNDS = 2  # of a key, at least: the key itself, then the messages that widgets post because of it

Typed = Key | Paste | MouseDown | MouseUp


class Keyboard:
    """A queue of keys, pasted text and clicks in front of an app."""

    def __init__(self, app: App[Any], deliver: Callable[[Typed], Awaitable[None]], opening: Callable[[], bool]) -> None:
        """Create an empty queue.

        ``deliver`` gives one event to the widget with the focus, or under the mouse. ``opening``: a worker is about to
        open a dialog.
        """
        self._app = app
        self._deliver = deliver
        self._opening = opening
        self._waiting: asyncio.Queue[tuple[Typed, Screen[Any] | None]] = asyncio.Queue()
        self._clicked: tuple[MouseDown | MouseUp, Screen[Any] | None] | None = None  # the last one, and its screen

    def put(self, event: Typed) -> None:
        """Add an event to the queue.

        The lines of a text are joined: a field would keep only the first.
        """
        if isinstance(event, Paste):
            event = Paste(" ".join(event.text.splitlines()))
        aimed = self._aimed(event) if isinstance(event, MouseDown | MouseUp) else None
        self._waiting.put_nowait((event, aimed))

    def _aimed(self, event: MouseDown | MouseUp) -> Screen[Any] | None:
        """Return the screen that a click was meant for.

        All clicks of a double click are meant for the screen of the first: its effect may have opened another, where a
        button is at the same place.
        """
        screen = self._front()
        if self._clicked is not None:
            before, first = self._clicked
            again = event.time - before.time <= self._app.CLICK_CHAIN_TIME_THRESHOLD
            screen = first if again and event.screen_offset == before.screen_offset else screen
        self._clicked = event, screen
        return screen

    async def run(self) -> None:
        """Deliver what is in the queue, until cancelled."""
        while True:
            event, aimed = await self._waiting.get()
            if aimed is None or aimed is self._front():
                under = self._under(event)
                await self._deliver(event)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(EFFECT_SECONDS):
                        await self._handled(under)
            else:
                self._app.capture_mouse(None)  # by a widget of the screen that was closed
            self._waiting.task_done()

    async def idle(self) -> None:
        """Wait until every event in the queue has had its whole effect."""
        await self._waiting.join()

    async def _handled(self, under: DOMNode | None) -> None:
        """Wait until the last event and all messages that followed it are handled.

        Messages travel from the focused widget, or the one ``under`` the mouse, up to the app. So each of these queues
        is emptied in that order until no screen opens or closes and the focus stays. A new screen empties its queue
        only after it has been composed.
        """
        path = [] if under is None else under.ancestors_with_self
        rounds, before, now = 0, None, self._target()
        while now is not None and (rounds < MESSAGE_ROUNDS or now is not before or self._opening()):
            for pump in dict.fromkeys([*path, *now.ancestors_with_self]):
                await _emptied(pump)
            rounds, before, now = rounds + 1, now, self._target()

    def _target(self) -> DOMNode | None:
        """Return the widget that gets the next key. None once the app is ending."""
        return self._app.focused or self._front()

    def _front(self) -> Screen[Any] | None:
        """Return the screen in front. None before the first one and at the end."""
        with contextlib.suppress(ScreenStackError):
            return self._app.screen if self._app.is_running else None
        return None

    def _under(self, event: Typed) -> DOMNode | None:
        """Return the widget that gets a click."""
        if not isinstance(event, MouseDown | MouseUp):
            return None
        with contextlib.suppress(NoWidget):
            return self._app.mouse_captured or self._app.get_widget_at(event.x, event.y)[0]
        return None


async def _emptied(pump: MessagePump) -> None:
    """Wait until all messages that are in the queue of ``pump`` now have been handled."""
    reached = asyncio.Event()
    if pump.post_message(Callback(reached.set)):  # `call_later` wraps it, and inspects the signature each time
        await reached.wait()
