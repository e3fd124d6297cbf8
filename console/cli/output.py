"""stdout is data, stderr is talk. Whoever stops reading ends neither with a traceback."""

from __future__ import annotations

import contextlib
import math
import os
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TextIO

import msgspec

from queries.safe_text import safe_json, safe_text

if TYPE_CHECKING:
    from console.target import Target

_ENDLESS = {math.inf: "infinity", -math.inf: "-infinity"}


class Whole(str):
    """A line that is to be copied, so that it is not cut where the terminal ends."""


class Output:
    """Where a command's answer goes, as text or JSON."""

    def __init__(self, *, json: bool = False, ascii: bool = False) -> None:
        self.json = json
        self.ascii = ascii or not _unicode(sys.stdout)
        self.width = _width()

    def answer(self, record: object, text: Callable[[], Iterable[str]]) -> None:
        """Write ``record`` as JSON, or else the lines of ``text``."""
        if self.json:
            self._write((encoded(record, indent=sys.stdout.isatty()),))
        else:
            self._write(self._fitting(line) for line in text())

    def lines(self, text: Iterable[str]) -> None:
        """Write lines to stdout in their full width."""
        self._write(map(safe_text, text))

    def _fitting(self, line: str) -> str:
        whole, line = isinstance(line, Whole), safe_text(line)
        if self.ascii and not line.isascii():
            line = line.translate(_PLAIN).encode("ascii", "backslashreplace").decode()
        if self.width is None or whole:
            return line
        from queries.read.payload import cropped

        return cropped(line, self.width)

    def _write(self, lines: Iterable[str]) -> None:
        with _readers_may_leave(sys.stdout):
            for line in lines:
                sys.stdout.write(line + "\n")
            sys.stdout.flush()


_PLAIN = str.maketrans(
    {"–": "-", "…": "~", "·": "-", "→": "->", "≈": "~", "µ": "u", "∞": "inf"}
    | {safe_text(chr(code)): safe_text(chr(code), ascii=True) for code in (*range(0x20), 0x7F)}
)


def output_for(target: Target) -> Output:
    """Return the output that the target's options ask for."""
    return Output(json=target.json, ascii=target.ascii)


def say(*lines: str) -> None:
    """Write lines to stderr."""
    with _readers_may_leave(sys.stderr):
        for line in lines:
            sys.stderr.write(safe_text(line) + "\n")
        sys.stderr.flush()


def encoded(record: object, *, indent: bool = False) -> str:
    """A record as JSON. Infinite times are words, as JSON has no number for them."""
    raw = msgspec.json.encode(_finite(msgspec.to_builtins(record, enc_hook=str)))
    text = (msgspec.json.format(raw, indent=2) if indent else raw).decode()
    return safe_json(text)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return _ENDLESS.get(value, "nan")
    return value


@contextlib.contextmanager
def _readers_may_leave(stream: TextIO) -> Any:
    """``| head`` closes the pipe when it has enough: the rest is written to nowhere, and that is no error.

    Raises ClickException where it cannot be written for another reason, such as a full disk.
    """
    try:
        yield
    except OSError as error:
        # What is still buffered would fail once more when the interpreter ends.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
        if not isinstance(error, BrokenPipeError):
            from click import ClickException

            raise ClickException(f"The answer cannot be written: {error.strerror}.") from error


def _unicode(stream: TextIO) -> bool:
    try:
        "■–…".encode(stream.encoding or "ascii")
    except (UnicodeError, LookupError):
        return False
    return True


def _width() -> int | None:
    """Columns of the terminal; None where the answer goes elsewhere, and nothing is cut off."""
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or None if sys.stdout.isatty() else None
    except (OSError, ValueError):
        return None
