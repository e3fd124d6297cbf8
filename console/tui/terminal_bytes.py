"""Text from the bytes that a terminal sends, which may be no UTF-8."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable

_X10_MOUSE = re.compile(rb"\x1b\[M.{3}", re.DOTALL)  # its last bytes are numbers, above 127 from column 96 on
_BEGUN = re.compile(rb"\x1b\[M.{0,2}\Z", re.DOTALL)
_CSI, _ESCAPE_CSI = b"\x9b", b"\x1b["


def decoder() -> Callable[[bytes], str]:
    """Return a function that decodes what is read, piece by piece.

    A character may come in two pieces. Bytes that are no UTF-8 become U+FFFD. A key of a terminal with 8-bit controls
    is the same key with ESC: at the begin of a piece only, because a pasted text must not end its own paste. Reports of
    the mouse with three bytes are dropped: such a byte may be no UTF-8, or a key.
    """
    utf8, begun = codecs.getincrementaldecoder("utf-8")("replace"), b""

    def decoded(data: bytes) -> str:
        nonlocal begun
        if data.startswith(_CSI) and not (begun or utf8.getstate()[0]):  # else it may be the middle of a character
            data = _ESCAPE_CSI + data[1:]
        data = _X10_MOUSE.sub(b"", begun + data)
        cut = _BEGUN.search(data)
        begun = cut[0] if cut else b""
        return utf8.decode(data.removesuffix(begun))

    return decoded
