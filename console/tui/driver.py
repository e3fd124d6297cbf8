"""The terminal the console runs in, which may be closed under it."""

from __future__ import annotations

import asyncio
import contextlib
import io
import termios
from collections.abc import Callable
from typing import Any, TextIO, cast

from textual.drivers.linux_driver import LinuxDriver

from console.tui.textual_compat import SYNC_END, SYNC_START

KITTY_OFF = "\x1b[<u"  # one level of the Kitty keyboard protocol


class Terminal(LinuxDriver):
    """Textual's driver, which ends the app when the terminal is gone.

    Textual's own writer thread ends at the first error; a later write then waits for it without end.
    """

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self._file = cast(Any, Output(cast(TextIO, self._file), lambda: self._app.call_later(self._app.exit)))
        self._update: list[str] = []  # parts of an update that has not ended

    def write(self, data: str) -> None:
        """Write to the terminal.

        Write an update as a whole: each write wakes the writer thread.
        """
        if data != SYNC_START and not self._update:
            super().write(data)
            return
        self._update.append(data)
        if data == SYNC_END:
            whole, self._update = "".join(self._update), []
            super().write(whole)

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


class Output(io.TextIOBase):
    """Writer to ``file``.

    After the first failed write, it calls ``gone`` once and discards the rest.
    """

    def __init__(self, file: TextIO, gone: Callable[[], object]) -> None:
        self._file = file
        self._gone = gone
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
        except OSError:
            self._lost = True
            self._gone()
