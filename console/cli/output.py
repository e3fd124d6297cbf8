"""Output of commands: data on stdout, messages on stderr.

A closed pipe is not an error.
"""

from __future__ import annotations

import contextlib
import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TextIO

import msgspec

from queries.safe_text import safe_json, safe_text

if TYPE_CHECKING:
    from console.target import Target
    from console.text.spans import Make

FORMAT = 1  # of JSON answers; raised when a field is removed or has another meaning
_INFINITE = {math.inf: "infinity", -math.inf: "-infinity"}


class Output:
    """Writer of one answer, as text or JSON."""

    def __init__(self, *, json: bool = False, ascii: bool = False) -> None:
        self.json = json
        self.ascii = ascii or not _unicode(sys.stdout)
        self.width = _width()

    def answer(self, record: object, text: Callable[[], Iterable[str]]) -> None:
        """Write ``record`` as JSON, or the lines of ``text``."""
        if self.json:
            self._write((answered(record, indent=sys.stdout.isatty()),))
        else:
            self._write(self._fitting(line) for line in text())

    def page(self, record: object, make: Make) -> None:
        """Write ``record`` as JSON, or the lines of ``make``, which wraps them itself."""
        if self.json:
            self.answer(record, lambda: ())
        else:
            self._write(self.text(make))

    def text(self, make: Make) -> Iterator[str]:
        """Yield the lines of ``make``, whole if stdout is not a terminal."""
        from console.text import spans

        for line in make(self.width or spans.UNLIMITED):
            yield self._plain(spans.text(line).rstrip())

    def lines(self, text: Iterable[str]) -> None:
        """Write lines to stdout at their full width."""
        self._write(map(safe_text, text))

    def _fitting(self, line: str) -> str:
        from console.text.formatting import crop

        line = self._plain(line)
        return line if self.width is None else crop(line, self.width, self.ascii)

    def _plain(self, line: str) -> str:
        from console.text.ascii import to_ascii

        line = safe_text(line)
        return to_ascii(line).encode("ascii", "backslashreplace").decode() if self.ascii else line

    def _write(self, lines: Iterable[str]) -> None:
        with _closed_pipe_allowed(sys.stdout):
            for line in lines:
                sys.stdout.write(line + "\n")
            sys.stdout.flush()


def output_for(target: Target) -> Output:
    """Return the output that the target's options ask for."""
    return Output(json=target.json, ascii=target.ascii)


def say(*lines: str) -> None:
    """Write messages to stderr."""
    with _closed_pipe_allowed(sys.stderr):
        for line in lines:
            sys.stderr.write(safe_text(line) + "\n")
        sys.stderr.flush()


def answered(record: object, *, indent: bool = False) -> str:
    """Encode an answer as JSON, with the number of its format."""
    return encoded({"format": FORMAT, **msgspec.to_builtins(record, enc_hook=str)}, indent=indent)


def encoded(record: object, *, indent: bool = False) -> str:
    """Encode a record as JSON. Infinite numbers become strings, because JSON has none."""
    raw = msgspec.json.encode(_finite(msgspec.to_builtins(record, enc_hook=str)))
    text = (msgspec.json.format(raw, indent=2) if indent else raw).decode()
    return safe_json(text)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return _INFINITE.get(value, "nan")
    return value


@contextlib.contextmanager
def _closed_pipe_allowed(stream: TextIO) -> Iterator[None]:
    """Discard output after the reader (such as ``head``) closed the pipe.

    Raises ClickException for any other write error, such as a full disk.
    """
    try:
        yield
    except OSError as error:
        # Redirect the stream: flushing its buffer at interpreter exit would fail again.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
        if not isinstance(error, BrokenPipeError):
            from click import ClickException

            raise ClickException(f"The output cannot be written: {error.strerror}.") from error


def _unicode(stream: TextIO) -> bool:
    try:
        "■–…".encode(stream.encoding or "ascii")
    except (UnicodeError, LookupError):
        return False
    return True


def _width() -> int | None:
    """Return the terminal's columns, or None if stdout is not a terminal.

    Without a terminal, lines stay whole.
    """
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or None if sys.stdout.isatty() else None
    except (OSError, ValueError):
        return None
