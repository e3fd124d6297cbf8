"""Text from the bytes that a terminal sends, which may be no UTF-8."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable

_X10_MOUSE = re.compile(rb"\x1b\[M...", re.DOTALL)  # its last bytes are numbers, above 127 from column 96 on
_CSI, _ESCAPE_CSI = b"\x9b", b"\x1b["


def decoder() -> Callable[[bytes], str]:
    """Return a function that decodes what is read, piece by piece.

    A character may come in two pieces. Bytes that are no UTF-8 become U+FFFD. A key of a terminal with 8-bit controls
    is the same key with ESC: at the begin of a piece only, because a pasted text must not end its own paste.
    """
    utf8 = codecs.getincrementaldecoder("utf-8")("replace")

    def decoded(data: bytes) -> str:
        if data.startswith(_CSI) and not utf8.getstate()[0]:  # else it may be the middle of a character
            data = _ESCAPE_CSI + data[1:]
        return utf8.decode(_X10_MOUSE.sub(_as_ascii, data))

    return decoded


def _as_ascii(report: re.Match[bytes]) -> bytes:
    """Return a report of the mouse with one character for each byte."""
    return bytes(min(byte, 127) for byte in report[0])
