"""For terminals and fonts without the glyphs: everything the console draws of its own accord, in ASCII.

Works on what is about to be sent, so borders and scrollbars are covered too. Each glyph becomes one character: nothing
moves. Dead letters of any script stay what they are.
"""

from __future__ import annotations

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

_GLYPHS = {
    "─━▔▁═": "-",
    "│┃▏▎▍▌▋▊▉▐┆": "|",
    "╭╮╰╯┌┐└┘├┤┬┴┼": "+",
    "▂▃▄▅▆▇█": "#",
    "●•": "*",
    "○": "o",
    "▸›►→": ">",
    "▾↓": "v",
    "↑": "^",
    "←": "<",
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
    "∞": "8",
    "µ": "u",
    "⌫": "<",
}
_PICTURES = {chr(0x2400 + number): "?" for number in range(0x22)}  # of control characters
TABLE = str.maketrans({glyph: plain for glyphs, plain in _GLYPHS.items() for glyph in glyphs} | _PICTURES)


class AsciiFilter(LineFilter):
    """Translates every segment of a line."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [
            segment
            if segment.text.isascii()
            else Segment(segment.text.translate(TABLE), segment.style, segment.control)
            for segment in segments
        ]
