"""Render stored bytes as terminal-safe lines: indented JSON, text or a hexdump.

JSON is not parsed into values, so it keeps its key order, the spelling of its numbers and its escapes. A truncated
value is rendered as far as it goes.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice

from console.text.formatting import crop, size
from queries.records.detail import Payload
from queries.text.json_text import NotJson, layout
from queries.text.safe_text import safe_text

LINES_SHOWN = 5000

# Text may hold tabs, line breaks and the escapes of a coloured log.
_BINARY = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_MAYBE_JSON = re.compile(r'[ \t\r\n]*+[\[{"\-0-9tfn]')
_ROWS = ((78, 16), (43, 8), (0, 4))  # minimum width for this number of bytes per row of a hexdump


def render(payload: Payload, width: int, limit: int = LINES_SHOWN) -> list[str]:
    """Return at most ``limit`` lines of at most ``width`` cells that show ``payload``.

    Both numbers are at least 1. ``…`` marks a cut line. The last line says if bytes or lines are missing.
    """
    _, shown = _classified(payload, width, limit)
    lines, note = list(shown), ""
    if len(lines) > limit:
        note = "… more lines"
    elif len(payload.head) < payload.size:
        note = f"… {size(len(payload.head))} of {size(payload.size)} shown"
    if note:
        lines = [*lines[: limit - 1], crop(note, width)]
    return lines


def describe(payload: Payload, width: int = 80) -> str:
    """Return format, size and available part: ``JSON, 10 MB (the first 64 kB)``.

    Free of cost if `render` has used the same ``width``.
    """
    if payload.size == 0:
        return "empty"
    kind, _ = _classified(payload, width, LINES_SHOWN)
    missing = len(payload.head) < payload.size
    return f"{kind}, {size(payload.size)}" + (f" (the first {size(len(payload.head))})" if missing else "")


@lru_cache(maxsize=4)  # screens are rendered at every refresh, and megabytes of JSON take a while
def _classified(payload: Payload, width: int, limit: int) -> tuple[str, Sequence[str]]:
    """Return the format and the lines, ``limit`` + 1 of them if there are more."""
    whole = len(payload.head) >= payload.size
    text = _decoded(payload.head, whole)
    if text is None:
        return "binary", list(islice(_hexdump(payload.head, width), limit + 1))
    if _MAYBE_JSON.match(text):
        try:
            lines = layout(text, whole, width, _token)
            return "JSON", [crop(line, width) for line in islice(lines, limit + 1)]
        except NotJson:
            pass
    return "text", list(_plain(text, width, limit))


def _decoded(head: bytes, whole: bool) -> str | None:
    """Decode UTF-8 without a last character that was cut; return None if not text."""
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(head, final=whole)
    except UnicodeDecodeError:
        return None
    sample = text[:65536]
    controls = sum(1 for _ in _BINARY.finditer(sample))
    return None if "\0" in sample or controls > len(sample) // 10 else text


def _token(token: str, room: int) -> str:
    """Return a JSON string or number in ``room`` cells; a cut string shows its size."""
    shown = safe_text(token[: max(room, 0) + 1])
    if len(token) <= room and crop(shown, room) == shown:
        return shown
    note = f" ({size(len(token.encode()))})" if token[0] == token[-1] == '"' else ""
    return crop(shown, max(room - len(note), 1)) + note


def _plain(text: str, width: int, limit: int) -> Iterator[str]:
    lines = text.removesuffix("\n").split("\n", limit + 1)[: limit + 1] if text else []
    for line in lines:
        part = line[: 4 * width + 4].removesuffix("\r").expandtabs(4)
        yield crop(safe_text(part), width)


def _hexdump(head: bytes, width: int) -> Iterator[str]:
    row = next(n for needed, n in _ROWS if width >= needed)
    for offset in range(0, len(head), row):
        part = head[offset : offset + row]
        text = "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in part)
        yield crop(f"{offset:08x}  {part.hex(' '):<{3 * row - 1}}  {text}", width)
