"""Stored bytes for people: JSON laid out, text, or a hexdump; every line safe to send to a terminal.

Nothing here is ever written back, so nothing is parsed into values either: JSON keeps its key order, its numbers
as they are spelt and its escapes, and a head that was cut off is laid out as far as it goes.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice

from queries.model import Payload
from queries.read.json_preview import NotJson, layout
from queries.safe_text import safe_text

LINES = 5000

# text may hold tabs, breaks and the escapes of a coloured log
_BINARY = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_MAYBE_JSON = re.compile(r'[ \t\r\n]*+[\[{"\-0-9tfn]')
_ROWS = ((78, 16), (43, 8), (0, 4))  # a hexdump of so many bytes a row needs that width


def size(n: int) -> str:
    """``n`` bytes in the units of ``pg_size_pretty`` (1 kB = 1024 B), with one decimal: ``1.5 kB``."""
    if n < 1024:
        return f"{n} B"
    value, unit = n / 1024, "kB"
    for larger in ("MB", "GB", "TB"):
        if value < 1023.95:
            break
        value, unit = value / 1024, larger
    return f"{value:.1f}".removesuffix(".0") + f" {unit}"


def render(payload: Payload, width: int, limit: int = LINES) -> list[str]:
    """At most ``limit`` lines of at most ``width`` terminal cells (at least 1 of each) that show ``payload``.

    What does not fit is cut with ``…``; a last line says so where bytes or lines are missing.
    """
    _, shown = _classified(payload, width, limit)
    lines, note = list(shown), ""
    if len(lines) > limit:
        note = "… more lines"
    elif len(payload.head) < payload.size:
        note = f"… {size(len(payload.head))} of {size(payload.size)} shown"
    if note:
        lines = [*lines[: limit - 1], cropped(note, width)]
    return lines


def describe(payload: Payload, width: int = 80) -> str:
    """What it is, how large, and how much of it is here: ``JSON, 10 MB (the first 64 kB)``.

    Costs nothing more where ``width`` is the one that it is rendered for.
    """
    if payload.size == 0:
        return "empty"
    kind, _ = _classified(payload, width, LINES)
    missing = len(payload.head) < payload.size
    return f"{kind}, {size(payload.size)}" + (f" (the first {size(len(payload.head))})" if missing else "")


def cropped(line: str, width: int) -> str:
    """``line`` if it fits ``width`` terminal cells, else its beginning and ``…``."""
    if line.isascii():
        return line if len(line) <= width else line[: width - 1] + "…"
    used = kept = 0
    for index, character in enumerate(islice(line, 4 * width + 4)):  # marks that take no cell are not free either
        used += _cells(character)
        if used > width:
            return line[:kept] + "…"
        if used < width:
            kept = index + 1
    return line if len(line) <= 4 * width + 4 else line[:kept] + "…"


def _cells(character: str) -> int:
    if unicodedata.east_asian_width(character) in "WF":
        return 2
    return 0 if unicodedata.category(character) in ("Mn", "Me", "Cf") else 1


@lru_cache(maxsize=4)  # a page is made anew at every look, and megabytes of JSON take a while
def _classified(payload: Payload, width: int, limit: int) -> tuple[str, Sequence[str]]:
    """The kind of payload, and its lines: one more than ``limit`` where there are more."""
    whole = len(payload.head) >= payload.size
    text = _decoded(payload.head, whole)
    if text is None:
        return "binary", list(islice(_hexdump(payload.head, width), limit + 1))
    if _MAYBE_JSON.match(text):
        try:
            lines = layout(text, whole, width, _token)
            return "JSON", [cropped(line, width) for line in islice(lines, limit + 1)]
        except NotJson:
            pass
    return "text", list(_plain(text, width, limit))


def _decoded(head: bytes, whole: bool) -> str | None:
    """As UTF-8, without a last character that was cut in two; None where it is not text."""
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(head, final=whole)
    except UnicodeDecodeError:
        return None
    sample = text[:65536]
    controls = sum(1 for _ in _BINARY.finditer(sample))
    return None if "\0" in sample or controls > len(sample) // 10 else text


def _token(token: str, room: int) -> str:
    """A JSON string or number in ``room`` cells; a cut string says how long it is."""
    shown = safe_text(token[: max(room, 0) + 1])
    if len(token) <= room and cropped(shown, room) == shown:
        return shown
    note = f" ({size(len(token.encode()))})" if token[0] == token[-1] == '"' else ""
    return cropped(shown, max(room - len(note), 1)) + note


def _plain(text: str, width: int, limit: int) -> Iterator[str]:
    lines = text.removesuffix("\n").split("\n", limit + 1)[: limit + 1] if text else []
    for line in lines:
        part = line[: 4 * width + 4].removesuffix("\r").expandtabs(4)
        yield cropped(safe_text(part), width)


def _hexdump(head: bytes, width: int) -> Iterator[str]:
    row = next(n for needed, n in _ROWS if width >= needed)
    for offset in range(0, len(head), row):
        part = head[offset : offset + row]
        text = "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in part)
        yield cropped(f"{offset:08x}  {part.hex(' '):<{3 * row - 1}}  {text}", width)
