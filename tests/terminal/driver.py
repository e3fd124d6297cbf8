"""Run the real program in a pseudo-terminal, send keys, and emulate its screen.

    with Terminal("demo", "--seed", "1", home=folder) as terminal:
        terminal.wait_for("● live")  # a text, a pattern, or a condition; with a deadline, never a sleep
        terminal.press("down", "enter").type("why")
        assert terminal.leave("q") == 0

``raw`` keeps every byte that the program sent, ``screen`` is what the terminal shows.
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

# Until a missing text or state is a failure. After a statement of more than a second the next poll may come a minute
# later.
SECONDS = 180.0
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
_ENTER = "\x1b[?1049h"  # real terminals clear the alternate screen when it is entered; pyte has none
_KITTY = re.compile("\x1b\\[[<=>][0-9;]*u")  # pyte takes it for "restore cursor"
_UNFINISHED = re.compile("\x1b(\\[[0-?]*[ -/]*)?$")
_SGR = re.compile(rb"\x1b\[([0-9;:]*)m")
_RESTING = {7: True, 25: True}  # lines wrap, the cursor is seen; every other mode is off


class Terminal:
    """``python -m console ARGUMENTS`` in a terminal.

    ``home`` is its folder, ``start`` the first page ("": as set).
    """

    def __init__(
        self,
        *arguments: str,
        home: Path,
        size: tuple[int, int] = (120, 36),
        command: tuple[str, ...] = (sys.executable, "-m", "console"),
        ignored: Sequence[signal.Signals] = (),
        start: str = "tree",
        **env: str,
    ) -> None:
        settings = Path(environment(home)["XDG_CONFIG_HOME"], "unstick", "config.toml")
        written = settings.read_text() if settings.exists() else ""
        if start and "start =" not in written:
            settings.parent.mkdir(parents=True, exist_ok=True)
            settings.write_text(f'start = "{start}"\n{written}')
        columns, rows = size
        self.raw = bytearray()
        self.screen = pyte.Screen(columns, rows)
        self._stream = pyte.Stream(self.screen)
        self._decoder = codecs.getincrementaldecoder("utf-8")("strict")
        self._pending = ""
        self._rows: list[str] | None = None  # as drawn since the last output
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
        """End a running program with SIGHUP, then by force."""
        if self._alive():
            with contextlib.suppress(AssertionError):
                self.signal(signal.SIGHUP).ended(10)
        with contextlib.suppress(pexpect.ExceptionPexpect):
            self._child.close(force=True)

    # The screen

    @property
    def rows(self) -> list[str]:
        """The screen's rows without trailing spaces."""
        if self._rows is None:  # pyte draws slowly, and waiting asks many times
            self._rows = [row.rstrip() for row in self.screen.display]
        return self._rows

    @property
    def text(self) -> str:
        """The rows as one text."""
        return "\n".join(self.rows)

    def row(self, text: str) -> str:
        """Return the first row that contains ``text``, or an empty string."""
        return next((row for row in self.rows if text in row), "")

    @property
    def at(self) -> int:
        """The screen row of the list's cursor, or -1."""
        return next((number for number, row in enumerate(self.rows) if row.startswith(("▌", ">"))), -1)

    @property
    def under(self) -> str:
        """The row under the list's cursor."""
        return self.rows[self.at] if self.at >= 0 else ""

    @property
    def colors(self) -> set[str]:
        """Every colour, of text and of backgrounds, on the screen."""
        cells = [cell for row in self.screen.buffer.values() for cell in row.values()]
        return {cell.fg for cell in cells} | {cell.bg for cell in cells}

    # Output

    @property
    def modes(self) -> set[int]:
        """DEC private modes that differ from the terminal's defaults."""
        modes: dict[int, bool] = dict(_RESTING)
        for numbers, switch in _MODES.findall(bytes(self.raw)):
            modes.update({int(number): switch == b"h" for number in numbers.split(b";")})
        return {number for number, on in modes.items() if on != _RESTING.get(number, False)}

    @property
    def attributes(self) -> set[int]:
        """All SGR attributes sent so far, except colours."""
        return {number for parameters in _SGR.findall(bytes(self.raw)) for number in _attributes(parameters)}

    def settings(self) -> list[object]:
        """Return the result of ``termios.tcgetattr``, also after the program's end."""
        return termios.tcgetattr(self._child.child_fd)

    def clear(self) -> None:
        """Erase the screen, as another program does."""
        self.screen.erase_in_display(2)
        self._rows = None

    # Input

    def press(self, *keys: str) -> Self:
        """Press keys by name, or by character."""
        for key in keys:
            self._child.send(KEYS.get(key) or key.encode())
        return self

    def send(self, data: bytes) -> Self:
        """Send bytes as they are."""
        self._child.send(data)
        return self

    def type(self, text: str) -> Self:
        """Type a text."""
        self._child.send(text.encode())
        return self

    def paste(self, text: str) -> Self:
        """Paste a text like a terminal with bracketed paste."""
        self._child.send(b"\x1b[200~" + text.encode() + b"\x1b[201~")
        return self

    def resize(self, columns: int, rows: int) -> Self:
        """Change the size; the program receives SIGWINCH."""
        self.screen.resize(rows, columns)
        self._rows = None
        self._child.setwinsize(rows, columns)
        return self

    def signal(self, number: signal.Signals) -> Self:
        """Send a signal to the program."""
        self._child.kill(number)
        return self

    def hang_up(self) -> None:
        """Close the window: the terminal is gone and cannot be read."""
        self._child.ptyproc.fileobj.close()

    @property
    def process(self) -> psutil.Process:
        """The program."""
        return psutil.Process(self._child.pid)

    # Waiting

    def wait_for(self, *wanted: Wanted, seconds: float = SECONDS) -> Self:
        """Wait until all texts and conditions hold at once."""
        deadline = time.monotonic() + seconds
        while missing := [each for each in wanted if not self._holds(each)]:
            assert time.monotonic() < deadline, f"never saw {missing} in:\n{self.text}"
            assert self._read(0.1) or self._alive(), f"ended without {missing}:\n{self.text}"
        return self

    def without(self, *unwanted: Wanted, seconds: float = SECONDS) -> Self:
        """Wait until no text and no condition holds."""
        return self.wait_for(lambda: not any(self._holds(each) for each in unwanted), seconds=seconds)

    def settled(self, seconds: float = 0.3) -> Self:
        """Wait until the program has sent nothing for ``seconds``."""
        deadline = time.monotonic() + SECONDS
        while self._read(seconds):
            assert time.monotonic() < deadline, "the program never stops sending"
        return self

    def leave(self, *keys: str) -> int:
        """Press keys, wait for the end, and return the exit code (negative: a signal)."""
        self.press(*keys)
        return self.ended()

    def ended(self, seconds: float = SECONDS) -> int:
        """Wait for the end of the program; return its exit code."""
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
        except pexpect.ExceptionPexpect:  # another caller has collected the exit status
            return False

    def _holds(self, wanted: Wanted) -> bool:
        if isinstance(wanted, str):
            return wanted in self.text
        if isinstance(wanted, re.Pattern):
            return wanted.search(self.text) is not None
        return bool(wanted())

    def _read(self, seconds: float, *, to_the_end: bool = False) -> bool:
        """Read and draw for at most ``seconds``; return True if there was output."""
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
        self._rows = None
        self._stream.feed(_KITTY.sub("", text[:cut]).replace(_ENTER, f"{_ENTER}\x1b[2J"))
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
