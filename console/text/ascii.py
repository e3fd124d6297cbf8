"""ASCII replacements of the signs that the console draws.

Each is one character, so that nothing moves.
"""

from __future__ import annotations

from typing import Final, TextIO

_SIGNS: Final = {
    "─▔▁╶╴": "-",
    "│▏▎▍▌▋▊▉▐┆╵╷": "|",
    "╭╮╰╯┌┐└┘├┤┬┴┼": "+",
    "━═╸╺╼╾": "=",
    "┃╹╻╽╿": "!",
    "┍┎┏┑┒┓┕┖┗┙┚┛┝┞┟┠┡┢┣┥┦┧┨┩┪┫┭┮┯┰┱┲┳┵┶┷┸┹┺┻┽┾┿╀╁╂╃╄╅╆╇╈╉╊╋": "*",
    "▂▃▄▅▆▇█": "#",
    "●•": "*",
    "○": "o",
    "▸›►→≥": ">",
    "▾↓": "v",
    "↑": "^",
    "←⌫≤": "<",
    "…": "~",
    "·": ".",
    "–—": "-",
    "✓": "+",
    "✗": "x",
    "■": "#",
    "◆": "=",
    "◷": "@",
    "⊘": "/",
    "≈": "~",
    "µ": "u",
    "‼": "!",
    "▲": "^",
    "▼": "v",
}
_CONTROL_PICTURES: Final = {chr(0x2400 + number): "?" for number in range(0x22)}

TABLE: Final = str.maketrans({sign: plain for signs, plain in _SIGNS.items() for sign in signs} | _CONTROL_PICTURES)


def to_ascii(text: str) -> str:
    """Return ``text`` with the console's own signs in ASCII.

    Text of any script does not change.
    """
    return text if text.isascii() else text.translate(TABLE)


def takes_unicode(stream: TextIO | None) -> bool:
    """Return True if a stream can show what unstick draws."""
    try:
        "■▸–…".encode(getattr(stream, "encoding", None) or "ascii")
    except (UnicodeError, LookupError):
        return False
    return True
