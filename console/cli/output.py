"""Output of commands: data on stdout, messages on stderr.

A closed pipe is not an error.
"""

from __future__ import annotations

import contextlib
import math
import os
import select
import sys
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TextIO

import msgspec

from console.text.ascii import takes_unicode, to_ascii
from queries.text.safe_text import safe_json, safe_text

if TYPE_CHECKING:
    from console.target import Target
    from console.text.spans import Make, Spans
    from queries.db.database import Database

FORMAT = 1  # of JSON answers; raised when a field is removed or has another meaning
ANSWERING: ContextVar[Database | None] = ContextVar("answering", default=None)  # the database that was opened
PLACE: ContextVar[str] = ContextVar("place", default="")  # the database, as it was named
_INFINITE = {math.inf: "infinity", -math.inf: "-infinity"}


class Output:
    """Writer of one answer, as text or JSON."""

    def __init__(self, *, json: bool = False, ascii: bool = False) -> None:
        self.json = json
        self.ascii = ascii or not takes_unicode(sys.stdout)
        self.width = _width()
        self.repeated = False  # an answer follows another: JSON is one line each
        self.closed = False  # the reader of the pipe is gone
        self._headed = False

    def clear(self) -> None:
        """Make room for the next of repeated answers: an empty terminal, or an empty line."""
        if not self.json and sys.stdout.isatty():
            self._write(("\x1b[H\x1b[2J",), end="")
            self.width = _width()
        elif not self.json and self.repeated:
            self._write(("",))
        self.repeated, self._headed = True, False

    def answer(self, record: object, text: Callable[[], Iterable[str | Spans]]) -> None:
        """Write ``record`` as JSON, or the lines of ``text``."""
        self._headed = False
        if self.json:
            self._write((answered(record, indent=sys.stdout.isatty() and not self.repeated),))
        else:
            self.rows(text())

    def rows(self, lines: Iterable[str | Spans]) -> None:
        """Write lines to stdout, cropped to the terminal."""
        self._write(self._drawn((*self._head(), *lines), sys.stdout, self.width))

    def _head(self) -> Iterator[str]:
        """Yield the line above an answer that a standby gives."""
        from console.text.formatting import behind

        database, headed, self._headed = ANSWERING.get(), self._headed, True
        if not headed and database is not None and database.server is not None and (line := behind(database.server)):
            yield line

    def text(self, record: object, make: Make) -> None:
        """Write ``record`` as JSON, or the lines of ``make``, which wraps them itself."""
        if self.json:
            self.answer(record, lambda: ())
        else:
            self._headed = False
            self._write(self._text(make, sys.stdout, self._head()))

    def show(self, make: Make) -> None:
        """Write the lines of ``make`` to stderr, before a question."""
        _write(sys.stderr, self._text(make, sys.stderr))

    def _text(self, make: Make, stream: TextIO, head: Iterable[str] = ()) -> Iterator[str]:
        """Return the lines of ``make``, whole if stdout is not a terminal."""
        from console.text.spans import UNLIMITED

        return self._drawn((*head, *make(self.width or UNLIMITED)), stream, None)

    def lines(self, text: Iterable[str]) -> None:
        """Write lines to stdout at their full width, in a format of their own."""
        say(*self._head())
        self._write(map(safe_text, text))

    def _drawn(self, lines: Iterable[str | Spans], stream: TextIO, cells: int | None) -> Iterator[str]:
        from console.text import ansi, spans

        coloured = _coloured(stream)
        for line in lines:
            parts = [(line, "")] if isinstance(line, str) else line
            parts = spans.joined(parts) if coloured else [(spans.text(parts), "")]
            safe = [(self._plain(part), style) for part, style in parts]
            drawn = ansi.painted(safe if cells is None else spans.crop(safe, cells)).rstrip()
            yield to_ascii(drawn) if self.ascii else drawn  # a cut is marked

    def _plain(self, line: str) -> str:
        line = safe_text(line)
        return to_ascii(line).encode("ascii", "backslashreplace").decode() if self.ascii else line

    @property
    def unread(self) -> bool:
        """True if the reader of the pipe is gone."""
        poll = select.poll()
        poll.register(sys.stdout, 0)  # an error is always reported
        return self.closed or any(event & select.POLLERR for _, event in poll.poll(0))

    def _write(self, lines: Iterable[str], end: str = "\n") -> None:
        self.closed = not _write(sys.stdout, lines, end) or self.closed


def output_for(target: Target) -> Output:
    """Return the output that the target's options ask for."""
    return Output(json=target.json, ascii=target.ascii)


def say(*lines: str) -> None:
    """Write messages to stderr."""
    _write(sys.stderr, map(safe_text, lines))


def _write(stream: TextIO, lines: Iterable[str], end: str = "\n") -> bool:
    """Write lines. Return False if the reader of the pipe is gone."""
    with _closed_pipe_allowed(stream):
        stream.writelines(line + end for line in lines)
        stream.flush()
        return True
    return False


def answered(record: object, *, indent: bool = False) -> str:
    """Encode an answer as JSON, with its format, and how old the data of a standby is."""
    database, facts = ANSWERING.get(), dict[str, Any](format=FORMAT)
    if database is not None and database.server is not None and database.server.may_lag:
        facts["standby"] = {"data_of": database.server.data_of}
    return encoded({**facts, **msgspec.to_builtins(record, enc_hook=str)}, indent=indent)


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


def _coloured(stream: TextIO) -> bool:
    """Return True on a terminal with colours. NO_COLOR is that of no-color.org."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM", "") not in ("", "dumb")


def _width() -> int | None:
    """Return the terminal's columns, or None if stdout is not a terminal.

    Without a terminal, lines stay whole.
    """
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or None if sys.stdout.isatty() else None
    except (OSError, ValueError):
        return None
