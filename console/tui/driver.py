"""The terminal the console runs in, which may be closed under it."""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

from click import ClickException
from textual.constants import ESCAPE_DELAY
from textual.drivers.linux_driver import LinuxDriver

from console.tui.terminal_bytes import decoder
from console.tui.textual_compat import XTermParser, end_with

READ_BYTES = 4096  # at most, at once


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

    def _sigcont_application(self, *arguments: Any) -> None:
        """Start again. End the old thread first.

        After SIGSTOP, of which no program hears, it still reads keys.
        """
        if self._auto_restart and self._key_thread is not None and self._key_thread.is_alive():
            self.suspend_application_mode()
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
