"""The terminal the console runs in, which may be closed under it."""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import select
import termios
import threading
from collections.abc import Callable
from typing import Any, TextIO, cast

from click import ClickException
from textual.constants import ESCAPE_DELAY
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message

from console.tui.terminal_bytes import decoder
from console.tui.textual_compat import SYNC_END, SYNC_START, XTermParser, end_with

HIDE, SHOW = "\x1b[?25l", "\x1b[?25h"  # the terminal's cursor
KITTY_OFF = "\x1b[<u"  # one level of the Kitty keyboard protocol
READ_BYTES = 4096  # at most, at once


class Terminal(LinuxDriver):
    """Textual's driver, which ends the app when the terminal is gone.

    Textual's own writer thread ends at the first error; a later write then waits for it without end.
    """

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self._file = cast(Any, Output(cast(TextIO, self._file), self._failed))
        self._update: list[str] = []  # parts of an update that has not ended
        self._cursor_seen = False
        self.exit_event = self._end_of_keys = WakingEvent()

    def write(self, data: str) -> None:
        """Write to the terminal.

        Write an update as a whole: each write wakes the writer thread.
        """
        if data != SYNC_START and not self._update:
            self._cursor_seen = data == SHOW or (self._cursor_seen and data != HIDE)
            super().write(data)
            return
        self._update.append(data)
        if data == SYNC_END:
            whole, self._update = "".join(self._update), []
            super().write(whole)

    def show_cursor(self, seen: bool) -> None:
        """Show or hide the terminal's cursor, which screen readers follow in a field."""
        if seen != self._cursor_seen:
            self.write(SHOW if seen else HIDE)

    def send_message(self, message: Message) -> None:
        """Send a message to the app.

        Textual makes a task for each, which takes a turn of the event loop.
        """
        self._app.post_message(message)

    def _run_input_thread(self) -> None:
        try:
            self.run_input_thread()
        except Exception as error:
            self._failed(error)

    def _failed(self, error: Exception) -> None:
        """End the console with the error of a thread: Textual's own way exits with 0."""
        if isinstance(error, OSError):
            error = ClickException(f"The terminal cannot be used any more: {error.strerror or 'it was closed'}.")
        self._app.call_later(end_with, self._app, error)

    def run_input_thread(self) -> None:
        """Read keys, and sleep while there are none.

        Textual's own loop looks ten times a second, which takes a third of the CPU time of a paused console.
        """
        parser, decode = XTermParser(), decoder()
        pause: float | None = None
        while not self._end_of_keys.is_set():
            ready = select.select([self.fileno, self._end_of_keys], [], [], pause)[0]
            if self.fileno in ready:
                data = os.read(self.fileno, READ_BYTES)
                if not data:
                    raise OSError("end of file")
                text = decode(data)
                for event in parser.feed(text) if text else ():  # "" would be the end: half of a character came
                    self.process_message(event)
            for event in parser.tick():
                self.process_message(event)
            pause = ESCAPE_DELAY if ready else None  # a lone escape is a key once nothing has followed it for a while

    # Both signals may come in the middle of a write, whose lock a second write would wait for. So they are handled when
    # the event loop is free.

    def _sigtstp_application(self, *arguments: Any) -> None:
        asyncio.get_running_loop().call_soon_threadsafe(super()._sigtstp_application, *arguments)

    def _sigcont_application(self, *arguments: Any) -> None:
        if self._auto_restart:
            asyncio.get_running_loop().call_soon_threadsafe(self._continue)

    def _continue(self) -> None:
        """Start again, and let the app repaint, also after SIGSTOP.

        SIGSTOP leaves the thread that reads keys alive: a second one would compete with it. Textual's own way to end
        it throws away the keys that were typed meanwhile.
        """
        self._must_signal_resume = True
        if self._key_thread is not None and self._key_thread.is_alive():
            self.exit_event.set()
            self._key_thread.join()
            self.exit_event.clear()
            if self.attrs_before is not None:
                with contextlib.suppress(termios.error):
                    termios.tcsetattr(self.fileno, termios.TCSANOW, self.attrs_before)
            self.write(KITTY_OFF)  # each start adds a level
            self.close()
        self.resume_application_mode()


class WakingEvent(threading.Event):
    """Event that also wakes a thread that waits for a file."""

    def __init__(self) -> None:
        super().__init__()
        self._reader, self._writer = os.pipe()

    def fileno(self) -> int:
        """Return what is readable while the event is set."""
        return self._reader

    def set(self) -> None:
        """Set the event."""
        if not self.is_set():
            super().set()
            os.write(self._writer, b"!")

    def clear(self) -> None:
        """Clear the event."""
        if self.is_set():
            super().clear()
            os.read(self._reader, 1)


class Output(io.TextIOBase):
    """Writer to ``file``.

    After the first failed write, it calls ``failed`` once with the error, and discards the rest.
    """

    def __init__(self, file: TextIO, failed: Callable[[Exception], object]) -> None:
        self._file = file
        self._failed = failed
        self._lost = False

    def write(self, text: str) -> int:
        self._do(lambda: self._file.write(text))
        return len(text)

    def flush(self) -> None:
        self._do(self._file.flush)

    def fileno(self) -> int:
        return self._file.fileno()

    def _do(self, what: Callable[[], object]) -> None:
        if self._lost:
            return
        try:
            what()
        except Exception as error:  # any would end Textual's thread
            self._lost = True
            self._failed(error)
