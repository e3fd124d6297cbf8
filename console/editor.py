"""Run the operator's editor on a text, in a private file, or another program.

The file is removed in any case.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import IO, Any

from queries.files.state_file import open_file

FALLBACK = "vi"
NAME = "document.json"  # editors recognise the language by it
Streams = tuple[IO[Any] | None, IO[Any] | None, IO[Any] | None]


class EditorError(Exception):
    """The editor did not return a text. str() is a sentence."""


def edited(text: str, limit: int) -> str:
    """Let the operator edit a text, and return at most ``limit`` bytes of it.

    Raises EditorError. The caller waits, so no transaction may be open. Only this user can read the file's folder,
    which also holds the copies that an editor makes.
    """
    words = _command()
    with _Signals() as signals:
        folder = tempfile.mkdtemp(prefix="unstick-", dir=_place())
        try:
            path = Path(folder, NAME)
            path.touch(0o600, exist_ok=False)
            path.write_text(text, "utf-8", newline="")
            _run([*words, str(path)], signals)
            return _read(path, limit)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def run(words: Sequence[str]) -> None:
    """Run a command on the terminal, then wait for Enter. Raises EditorError."""
    with _Signals("The command") as signals:
        _run([*words], signals, pause=b"\r\nPress Enter to go back to unstick.")


def _place() -> str | None:
    """Return the user's runtime folder, which is in memory.

    None: the usual place of temporary files.
    """
    place = os.environ.get("XDG_RUNTIME_DIR", "")
    return place if place and os.access(place, os.W_OK | os.X_OK) else None


def _command() -> list[str]:
    setting = os.environ.get("VISUAL") or os.environ.get("EDITOR") or FALLBACK
    try:
        words = shlex.split(setting)
    except ValueError as error:
        raise EditorError(f"The editor {setting!r} of $VISUAL or $EDITOR cannot be understood: {error}.") from error
    if not words or shutil.which(words[0]) is None:
        raise EditorError(f"The editor {setting!r} was not found: set $EDITOR.")
    return words


def _run(words: list[str], signals: _Signals, pause: bytes = b"") -> None:
    with _terminal() as (stdin, stdout, stderr):
        try:
            signals.process = subprocess.Popen(words, stdin=stdin, stdout=stdout, stderr=stderr, umask=0o077)
        except OSError as error:
            raise EditorError(f"{signals.what} {words[0]!r} could not be started: {error.strerror}.") from error
        code = signals.process.wait()
        ours = stdin or sys.__stdin__, stdout or sys.__stdout__
        if pause and ours[0] and ours[1]:
            os.write(ours[1].fileno(), pause)
            os.read(ours[0].fileno(), 1024)
    number = signals.received or -code
    if number > 0:
        raise EditorError(f"{signals.what} was ended by {signal.Signals(number).name}.")
    if code:
        raise EditorError(f"{signals.what} ended with the exit code {code}.")


class _Signals:
    """Handlers of signals while a program runs.

    The keys of the terminal are the program's. SIGTERM and SIGHUP end it before this process.
    """

    def __init__(self, what: str = "The editor") -> None:
        self.what = what
        self.process: subprocess.Popen[bytes] | None = None
        self.received = 0
        self._before: dict[signal.Signals, Any] = {}
        self._wakeup = -1

    def __enter__(self) -> _Signals:
        # Handlers of Python, not SIG_IGN: the editor would inherit that. An event loop must not see the signals either.
        if threading.current_thread() is threading.main_thread():
            self._wakeup = signal.set_wakeup_fd(-1)
            for number in (signal.SIGINT, signal.SIGQUIT):
                self._before[number] = signal.signal(number, lambda *_: None)
            for number in (signal.SIGTERM, signal.SIGHUP):
                self._before[number] = signal.signal(number, self._end)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        if self._wakeup >= 0:
            signal.set_wakeup_fd(self._wakeup, warn_on_full_buffer=False)
        if self.received:
            signal.raise_signal(self.received)

    def _end(self, number: int, _: FrameType | None) -> None:
        self.received = number
        if self.process is None or self.process.returncode is not None:
            raise EditorError(f"{self.what} was ended by {signal.Signals(number).name}.")
        self.process.terminate()


@contextlib.contextmanager
def _terminal() -> Iterator[Streams]:
    """Yield stdin, stdout and stderr of the editor.

    They are the terminal, also if those of this process are redirected. Without a terminal, the editor's output goes
    to stderr.
    """
    ours = [stream for stream in (sys.__stdin__, sys.__stdout__) if stream is not None]
    if len(ours) == 2 and all(stream.isatty() for stream in ours):
        yield None, None, None
        return
    try:
        terminal = Path("/dev/tty").open("r+b", buffering=0)  # noqa: SIM115
    except OSError:
        with os.fdopen(os.dup(2), "wb", buffering=0) as errors:
            yield None, errors, None
        return
    with terminal:
        yield terminal, terminal, terminal


def _read(path: Path, limit: int) -> str:
    try:
        with open_file(path) as file:
            data = file.read(limit + 1)
    except OSError as error:
        raise EditorError(f"The edited file could not be read: {error.strerror}.") from error
    if len(data) > limit:
        raise EditorError(f"The text has more than {limit} bytes.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise EditorError(f"The text is not UTF-8: {error.reason} at byte {error.start}.") from error
