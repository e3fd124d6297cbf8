"""The real program in a real pseudo-terminal: keys go in, bytes come out and are drawn on a screen of our own.

    with Terminal("demo", "--seed", "1", home=folder) as terminal:
        terminal.wait_for("● live")  # a text, a pattern, or a condition; with a deadline, never a sleep
        terminal.press("down", "enter").type("why")
        assert terminal.leave("q") == 0

``raw`` keeps every byte that was sent, so that a test can also say what must never be sent.
"""

from __future__ import annotations

import codecs
import contextlib
import re
import signal
import sys
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import pexpect
import psutil
import pyte

from tests.command import ROOT, environment

SECONDS = 60.0  # until a missing text or state is a failure, on a machine with a load of 10 too
KEYS: Mapping[str, bytes] = {
    "enter": b"\r",
    "escape": b"\x1b",
    "tab": b"\t",
    "space": b" ",
    "backspace": b"\x7f",
    "up": b"\x1b[A",
    "down": b"\x1b[B",
    "right": b"\x1b[C",
    "left": b"\x1b[D",
    "home": b"\x1b[H",
    "end": b"\x1b[F",
    "pageup": b"\x1b[5~",
    "pagedown": b"\x1b[6~",
    "f1": b"\x1bOP",
    "f5": b"\x1b[15~",
    "ctrl+c": b"\x03",
    "ctrl+p": b"\x10",
    "ctrl+z": b"\x1a",
}

Wanted = str | re.Pattern[str] | Callable[[], object]

_MODES = re.compile(rb"\x1b\[\?([0-9;]+)([hl])")
_KITTY = re.compile("\x1b\\[[<=>][0-9;]*u")  # pyte takes it for "restore cursor"
_UNFINISHED = re.compile("\x1b(\\[[0-?]*[ -/]*)?$")
_SGR = re.compile(rb"\x1b\[([0-9;:]*)m")
_RESTING = {7: True, 25: True}  # lines wrap, the cursor is seen; every other mode is off


class Terminal:
    """``python -m console ARGUMENTS`` in a terminal of ``size`` columns and rows. ``home`` holds its files."""

    def __init__(
        self,
        *arguments: str,
        home: Path,
        size: tuple[int, int] = (120, 36),
        command: tuple[str, ...] = (sys.executable, "-m", "console"),
        ignored: Sequence[signal.Signals] = (),
        **env: str,
    ) -> None:
        columns, rows = size
        self.raw = bytearray()
        self._screen = pyte.Screen(columns, rows)
        self._stream = pyte.Stream(self._screen)
        self._decoder = codecs.getincrementaldecoder("utf-8")("strict")
        self._pending = ""
        clean = {
            name: value
            for name, value in environment(home).items()
            if name not in ("NO_COLOR", "COLUMNS", "LINES") and not name.startswith(("TEXTUAL", "LC_"))
        }
        env = {**clean, "TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8", **env}
        self._child = pexpect.spawn(
            command[0],
            [*command[1:], *arguments],
            cwd=str(ROOT),
            env=env,
            dimensions=(rows, columns),
            timeout=SECONDS,
            preexec_fn=lambda: [signal.signal(number, signal.SIG_IGN) for number in ignored],
        )
        self._child.delaybeforesend = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End it, if it still runs, as a closed window does; and only if that does not help, at once."""
        if self._alive():
            with contextlib.suppress(AssertionError):
                self.signal(signal.SIGHUP).ended(10)
        with contextlib.suppress(pexpect.ExceptionPexpect):
            self._child.close(force=True)

    # what is to be seen

    @property
    def rows(self) -> list[str]:
        """The screen's rows, without the blanks at their ends. A wide character is followed by nothing."""
        return [row.rstrip() for row in self._screen.display]

    @property
    def text(self) -> str:
        """The rows as one text."""
        return "\n".join(self.rows)

    def row(self, text: str) -> str:
        """The first row that contains ``text``, or an empty one."""
        return next((row for row in self.rows if text in row), "")

    @property
    def at(self) -> int:
        """The screen row of the list's cursor, -1 where there is none."""
        return next((number for number, row in enumerate(self.rows) if row.startswith(("▌", ">"))), -1)

    @property
    def under(self) -> str:
        """The row under the list's cursor."""
        return self.rows[self.at] if self.at >= 0 else ""

    @property
    def colors(self) -> set[str]:
        """Every colour, of text and of backgrounds, on the screen."""
        cells = [cell for row in self._screen.buffer.values() for cell in row.values()]
        return {cell.fg for cell in cells} | {cell.bg for cell in cells}

    # what was sent to it

    @property
    def modes(self) -> set[int]:
        """DEC private modes that differ from a terminal at rest, by what was sent so far."""
        modes: dict[int, bool] = dict(_RESTING)
        for numbers, switch in _MODES.findall(bytes(self.raw)):
            modes.update({int(number): switch == b"h" for number in numbers.split(b";")})
        return {number for number, on in modes.items() if on != _RESTING.get(number, False)}

    @property
    def attributes(self) -> set[int]:
        """Every SGR attribute that was ever sent, colours and their arguments aside."""
        return {number for parameters in _SGR.findall(bytes(self.raw)) for number in _attributes(parameters)}

    def settings(self) -> list[object]:
        """The line discipline's settings, as ``termios.tcgetattr`` gives them; they can be read after its end too."""
        return termios.tcgetattr(self._child.child_fd)

    # what is done to it

    def press(self, *keys: str) -> Self:
        """Press keys by name, or by character."""
        for key in keys:
            self._child.send(KEYS.get(key) or key.encode())
        return self

    def type(self, text: str) -> Self:
        """Type a text."""
        self._child.send(text.encode())
        return self

    def paste(self, text: str) -> Self:
        """Paste a text, as a terminal with bracketed paste does."""
        self._child.send(b"\x1b[200~" + text.encode() + b"\x1b[201~")
        return self

    def resize(self, columns: int, rows: int) -> Self:
        """Give it another size, which the program hears of by SIGWINCH."""
        self._screen.resize(rows, columns)
        self._child.setwinsize(rows, columns)
        return self

    def signal(self, number: signal.Signals) -> Self:
        """Send a signal to the program."""
        self._child.kill(number)
        return self

    def hang_up(self) -> None:
        """Close the window: the terminal itself goes away, and nothing can be read from it any more."""
        self._child.ptyproc.fileobj.close()

    @property
    def process(self) -> psutil.Process:
        """The program."""
        return psutil.Process(self._child.pid)

    # waiting

    def wait_for(self, *wanted: Wanted, seconds: float = SECONDS) -> Self:
        """Wait until all that is wanted holds at once."""
        deadline = time.monotonic() + seconds
        while missing := [each for each in wanted if not self._holds(each)]:
            assert time.monotonic() < deadline, f"never saw {missing} in:\n{self.text}"
            assert self._read(0.1) or self._alive(), f"ended without {missing}:\n{self.text}"
        return self

    def without(self, *unwanted: Wanted, seconds: float = SECONDS) -> Self:
        """Wait until nothing that is not wanted holds."""
        return self.wait_for(lambda: not any(self._holds(each) for each in unwanted), seconds=seconds)

    def settled(self, seconds: float = 0.3) -> Self:
        """Wait until nothing was sent for so long. Only for a picture that is at rest."""
        deadline = time.monotonic() + SECONDS
        while self._read(seconds):
            assert time.monotonic() < deadline, "it never comes to rest"
        return self

    def leave(self, *keys: str) -> int:
        """Press the keys that end it; its exit code, minus the number of the signal that killed it."""
        self.press(*keys)
        return self.ended()

    def ended(self, seconds: float = SECONDS) -> int:
        """Wait until it has ended; its exit code."""
        deadline = time.monotonic() + seconds
        with contextlib.suppress(ValueError, OSError, pexpect.EOF):  # ValueError, OSError: the terminal was closed
            while self._read(0.1, to_the_end=True) or self._alive():
                assert time.monotonic() < deadline, f"does not end:\n{self.text}"
        while self._alive():
            assert time.monotonic() < deadline, f"does not end:\n{self.text}"
            time.sleep(0.01)
        return self._child.exitstatus if self._child.exitstatus is not None else -int(self._child.signalstatus or 0)

    def _alive(self) -> bool:
        try:
            return bool(self._child.isalive())
        except pexpect.ExceptionPexpect:  # somebody else heard how it ended
            return False

    def _holds(self, wanted: Wanted) -> bool:
        if isinstance(wanted, str):
            return wanted in self.text
        if isinstance(wanted, re.Pattern):
            return wanted.search(self.text) is not None
        return bool(wanted())

    def _read(self, seconds: float, *, to_the_end: bool = False) -> bool:
        """Draw what is sent within so many seconds. Whether there was anything."""
        try:
            data = self._child.read_nonblocking(65536, timeout=seconds)
        except pexpect.TIMEOUT:
            return False
        except pexpect.EOF:
            if to_the_end:
                raise
            return False
        self.raw += data
        text = self._pending + self._decoder.decode(data)
        unfinished = _UNFINISHED.search(text)
        cut = unfinished.start() if unfinished else len(text)
        self._pending = text[cut:]
        self._stream.feed(_KITTY.sub("", text[:cut]))
        return True


def _attributes(parameters: bytes) -> list[int]:
    numbers = [int(part or 0) for part in re.split(b"[;:]", parameters)]
    found = []
    while numbers:
        number = numbers.pop(0)
        if number in (38, 48, 58) and numbers:
            del numbers[: 2 if numbers[0] == 5 else 4]
        else:
            found.append(number)
    return found
