"""Private parts of Textual that the console needs, checked on Textual 8.2.8.

A private part may change in any minor release. ``tests/unit/test_textual_compat.py`` fails when the installed Textual
is another minor release, or when one of these parts is gone. Check each function here, then raise ``CHECKED``.
"""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import os
import select
import threading
from base64 import b64encode
from collections.abc import Callable
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from click import ClickException
from textual import events, messages, on
from textual._context import active_app
from textual._xterm_parser import XTermParser
from textual.app import App
from textual.await_complete import AwaitComplete
from textual.command import CommandPalette
from textual.constants import ESCAPE_DELAY
from textual.drivers.linux_driver import LinuxDriver
from textual.errors import NoWidget
from textual.geometry import Offset
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Input
from textual.worker import WorkerFailed

from console.tui.multiplexer import passed_on

decoder = codecs.getincrementaldecoder("utf-8")
READ_BYTES = 4096  # at most, at once, of the terminal
CHECKED = (8, 2)  # minor release
LAYOUTS = 4  # at most, until nothing moves any more
LAYOUT_TURNS = 4  # turns of the event loop until widgets have asked for a layout, or heard of their sizes
HIDE, SHOW = "\x1b[?25l", "\x1b[?25h"  # the terminal's cursor
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
        """Paint, and show the terminal's cursor in a field: screen readers follow it.

        Textual hides it, and puts it one cell too far at the end of a text. What it paints in a batch is lost.
        """
        if self.app._batch_count:
            self._scroll_required = True  # so that it is painted after the batch
            return
        if isinstance(field := self.focused, Input):  # its place is known after a layout only
            self.app.cursor_position = field.cursor_screen_offset - Offset(field.cursor_at_end, 0)
        super()._compositor_refresh()
        # An app that ended with an error may paint once more, after its terminal was left.
        if self.is_active and self.app.is_running and self.app._driver is not None:
            self.app._driver.write(SHOW if isinstance(field, Input) else HIDE)

    async def on_event(self, event: events.Event) -> None:
        """Handle an event, unless the screen is closed."""
        if isinstance(event, OF_CLOSED) or not self.closed:
            await super().on_event(event)

    async def _on_message(self, message: Message) -> None:
        if isinstance(message, OF_CLOSED) or not self.closed:
            await super()._on_message(message)


class QuietApp(App[None]):
    """App that prints no traceback: its local variables may contain secrets."""

    def _fatal_error(self) -> None:
        self._close_messages_no_wait()


async def lay_out(screen: Screen[Any]) -> None:
    """Lay out a screen in a batch until nothing moves, and paint it once.

    A layout gives widgets new sizes, which they hear of later; a scrollbar that appears then needs another one.
    """
    for _ in range(LAYOUTS):
        for _ in range(LAYOUT_TURNS):
            await asyncio.sleep(0)
        if not screen._layout_required:
            return
        screen._refresh_layout()
        screen._layout_required = False


def adopt(app: App[Any]) -> None:
    """Let the running task find the app, also from a screen that is closed meanwhile.

    Textual looks for it in the task's context, then above the screen. The task that reads began before the app.
    """
    active_app.set(app)


def fatal_error(app: App[Any]) -> BaseException | None:
    """Return the exception that ended the app; None if it ended normally."""
    return app._exception


def end_with(app: App[Any], error: Exception) -> None:
    """End the app with an error, which `fatal_error` returns."""
    app._handle_exception(error)


def send(app: App[Any], sequence: str) -> None:
    """Send a control sequence to the terminal, also through GNU screen."""
    if app._driver is not None:
        app._driver.write(passed_on(sequence))


def copy(app: App[Any], text: str) -> None:
    """Keep a text for the fields, and copy it with OSC 52."""
    app._clipboard = text
    send(app, f"\x1b]52;c;{b64encode(text.encode()).decode()}\a")


class Terminal(LinuxDriver):
    """Textual's driver: a failing thread ends the app, and an idle one sleeps.

    Textual's writer ends at its first error; a later write waits for it without end. Its reader looks ten times a
    second, which takes a third of the CPU time of a paused console, and it fails at bytes that are no UTF-8.
    """

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        file: Any = self._file
        write, flush = self._reporting(file.write), self._reporting(file.flush)
        self._file = cast(Any, SimpleNamespace(write=write, flush=flush, fileno=file.fileno))
        self.exit_event = self._end_of_keys = WakingEvent()

    def _reporting(self, do: Callable[..., object]) -> Callable[..., None]:
        def reporting(*arguments: object) -> None:
            try:
                do(*arguments)
            except Exception as error:
                self._failed(error)

        return reporting

    def _failed(self, error: Exception) -> None:
        """End the console with the error of a thread: Textual's own way exits with 0."""
        if isinstance(error, OSError):
            error = ClickException(f"The terminal cannot be used any more: {error.strerror or 'it was closed'}.")
        self._app.call_later(end_with, self._app, error)

    def _run_input_thread(self) -> None:
        self._reporting(self.run_input_thread)()

    def run_input_thread(self) -> None:
        """Read keys, and sleep while there are none."""
        parser, decode = XTermParser(), decoder("replace").decode
        pause: float | None = None
        while not self._end_of_keys.is_set():
            ready = select.select([self.fileno, self._end_of_keys], [], [], pause)[0]
            if self.fileno in ready:
                if not (data := os.read(self.fileno, READ_BYTES)):
                    raise OSError("end of file")
                for event in parser.feed(text) if (text := decode(data)) else ():  # "": half of a character came
                    self.process_message(event)
            for event in parser.tick():
                self.process_message(event)
            pause = ESCAPE_DELAY if ready else None  # a lone escape is a key once nothing has followed it for a while

    def _sigcont_application(self, *arguments: Any) -> None:
        if self._auto_restart and self._key_thread is not None and self._key_thread.is_alive():
            self.suspend_application_mode()  # it was stopped by SIGSTOP, of which no program hears
            self._must_signal_resume = True
        super()._sigcont_application()


class WakingEvent(threading.Event):
    """Event that also wakes a thread that waits for a file."""

    def __init__(self) -> None:
        super().__init__()
        self._reader, self._writer = os.pipe()

    def fileno(self) -> int:
        """Return what is readable while the event is set."""
        return self._reader

    def set(self) -> None:
        """Set the event, which is not set."""
        super().set()
        os.write(self._writer, b"!")

    def clear(self) -> None:
        """Clear the event, which is set."""
        super().clear()
        os.read(self._reader, 1)


class Palette(ClosedGuard[None], CommandPalette):
    """Textual's palette, which crashes (8.2.8) in two cases.

    A page key arrives before the list is laid out, or a click where nothing is: before it the terminal became smaller.
    """

    DEFAULT_CSS = "Palette SearchIcon { display: none; }"

    def on_click(self, event: events.Click) -> None:
        try:
            self.get_widget_at(event.screen_x, event.screen_y)
        except NoWidget:
            event.prevent_default()

    @on(Input.Submitted)
    async def _wait_for_the_list(self) -> None:
        """Wait for the commands of the whole text: Enter must not take an older one."""
        for worker in [worker for worker in self.workers if worker.node is self]:
            with contextlib.suppress(WorkerFailed):
                await worker.wait()

    def _action_command_list(self, action: str) -> None:
        with contextlib.suppress(KeyError):
            super()._action_command_list(action)
