"""Private parts of Textual that the console needs, checked on Textual 8.2.8.

A private part may change in any minor release. ``tests/unit/test_textual_compat.py`` fails when the installed Textual
is another minor release, or when one of these parts is gone. Check each function here, then raise ``CHECKED``.
"""

from __future__ import annotations

import asyncio
from base64 import b64encode
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from textual import events, messages
from textual._ansi_sequences import SYNC_END, SYNC_START
from textual._context import active_app
from textual._styles_cache import StylesCache
from textual._xterm_parser import XTermParser
from textual.app import App
from textual.await_complete import AwaitComplete
from textual.color import Color
from textual.geometry import Offset
from textual.message import Message
from textual.reactive import Reactive
from textual.screen import Screen
from textual.style import Style
from textual.widget import Widget
from textual.widgets import Input

from console.tui.multiplexer import passed_on

__all__ = ["SYNC_END", "SYNC_START", "XTermParser"]  # parts that others use as they are

CHECKED = (8, 2)  # minor release
LAYOUTS = 4  # at most, until nothing moves any more
LAYOUT_TURNS = 4  # turns of the event loop until widgets have asked for a layout, or heard of their sizes
# Messages that Textual needs to close a screen, and for which others wait.
OF_CLOSED = (events.Unmount, events.Callback, messages.InvokeLater, messages.Prune, messages.CloseMessages)

R = TypeVar("R")

if TYPE_CHECKING:
    GuardBase = Screen
else:

    class GuardBase(Generic[R]):
        """No widget: Textual inherits styles from the first base that is a widget."""


def text_of(screen: Screen[Any]) -> str:
    """Return the lines of text that a screen shows."""
    strips = screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip) for strip in strips)


class ClosedGuard(GuardBase[R]):
    """First base of every screen: a closed screen handles nothing and closes nothing.

    Textual takes a screen off its stack at once, but removes its widgets later, one after another. Meanwhile the screen
    handles what is in its queue: a second click, an answer, its own ``Mount`` if the app ends first. Such a handler
    does not find its widgets, or closes the screen below.

    A screen that is on no stack yet is not closed: from Python 3.12 on Textual runs tasks eagerly, so ``Compose`` and
    ``Mount`` are handled inside ``push_screen``, before the screen is put on a stack.
    """

    focused = Reactive(None, repaint=False)  # the widgets paint their focus themselves, the screen has none
    _taken_off = False  # off its stack

    @property
    def closed(self) -> bool:
        """True if the screen was taken off its stack, or the app is ending."""
        return self._taken_off or self._pruning or not self.is_attached

    def _pop_result_callback(self) -> None:
        """Mark the screen as closed. Textual calls this to take it off its stack."""
        super()._pop_result_callback()
        self._taken_off = True

    def dismiss(self, result: R | None = None) -> AwaitComplete:
        """Close the screen if it is in front.

        Textual's own method closes the screen in front, whichever it is.
        """
        return super().dismiss(result) if self.is_active else AwaitComplete()

    def _compositor_refresh(self) -> None:
        """Paint what has changed, unless more will be painted in a moment.

        In a batch, Textual would paint and throw it away. With a layout, it would paint before the layout and after it.
        """
        if self.app._batch_count:
            self._scroll_required = True  # so that it is painted after the batch
        elif not (self._repaint_required and (self._layout_required or self._scroll_required)):
            if isinstance(field := self.focused, Input):  # its place is known after a layout only
                self.app.cursor_position = field.cursor_screen_offset - Offset(field.cursor_at_end, 0)
            super()._compositor_refresh()
            # An app that ended with an error may paint once more, after its terminal was left.
            if self.is_active and self.app.is_running and (show := getattr(self.app._driver, "show_cursor", None)):
                show(isinstance(field, Input))

    async def on_event(self, event: events.Event) -> None:
        """Handle an event, unless the screen is closed."""
        if isinstance(event, OF_CLOSED) or not self.closed:
            await super().on_event(event)

    async def _on_message(self, message: Message) -> None:
        """Handle a message, unless the screen is closed."""
        if isinstance(message, OF_CLOSED) or not self.closed:
            await super()._on_message(message)


def adopt(app: App[Any]) -> None:
    """Let the running task find the app, also from a screen that is closed meanwhile.

    Textual looks for it in the task's context, then above the screen. The task that reads began before the app.
    """
    active_app.set(app)


@lru_cache(1024)
def _inner_outer(base_background: Color, background: Color) -> tuple[Style, Style]:
    return Style(background=base_background + background), Style(background=base_background)


def _get_inner_outer(_: StylesCache, base_background: Color, background: Color) -> tuple[Style, Style]:
    return _inner_outer(base_background, background)


def repair_style_cache() -> None:
    """Release the painted lines of removed widgets. Calling it again has no effect.

    ``StylesCache.get_inner_outer`` is a method under ``lru_cache(1024)``, so the cache holds a reference to every
    instance, and each instance holds the painted lines of its widget. Opening 150 screens grew the process by 17 MB.
    Here the styles are cached by their colours alone.
    """
    StylesCache.get_inner_outer = _get_inner_outer  # type: ignore[method-assign, assignment]


async def lay_out(screen: Screen[Any]) -> None:
    """Lay out a screen until nothing moves any more. Paints nothing in a batch.

    A layout gives widgets new sizes, which they hear of later; a scrollbar that appears then needs another one.
    """
    for _ in range(LAYOUTS):
        for _ in range(LAYOUT_TURNS):
            await asyncio.sleep(0)
        if not screen._layout_required:
            return
        screen._refresh_layout()
        screen._layout_required = False


def paint_now(screen: Screen[Any]) -> None:
    """Paint pending changes now. The screen's timer would do it up to 1/60 s later."""
    screen._on_timer_update()


def paint_first(widget: Widget) -> None:
    """Paint what has changed in a widget now, before other messages are handled.

    Textual would paint three messages and a timer later.
    """
    screen = widget.screen
    if screen.is_current and not widget.app._batch_count:
        widget._repaint_required = False
        screen._dirty_widgets.add(widget)
        screen._on_timer_update()


def repaint(app: App[Any]) -> None:
    """Paint every cell.

    A terminal that enters the alternate screen again has cleared them.
    """
    update = app.screen._compositor.render_update(full=True, screen_stack=app._background_screens)
    app._display(app.screen, update)


def fatal_error(app: App[Any]) -> BaseException | None:
    """Return the exception that ended the app; None if it ended normally."""
    return app._exception


def end_with(app: App[Any], error: Exception) -> None:
    """End the app with an error, which `fatal_error` returns."""
    app._handle_exception(error)


def end_after_error(app: App[Any]) -> None:
    """End the app after an exception without printing Textual's traceback."""
    app._close_messages_no_wait()


def send(app: App[Any], sequence: str) -> None:
    """Send a control sequence to the terminal, also through GNU screen."""
    if app._driver is not None:
        app._driver.write(passed_on(sequence))


def copy(app: App[Any], text: str) -> None:
    """Keep a text for the fields, and copy it with OSC 52."""
    app._clipboard = text
    send(app, f"\x1b]52;c;{b64encode(text.encode()).decode()}\a")
