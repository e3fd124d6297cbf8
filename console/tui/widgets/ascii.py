"""Line filter for terminals and fonts without the console's signs."""

from __future__ import annotations

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

from console.text.ascii import to_ascii


class AsciiFilter(LineFilter):
    """Replace signs in each segment before it is sent, borders and scrollbars too."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [
            segment if segment.text.isascii() else Segment(to_ascii(segment.text), segment.style, segment.control)
            for segment in segments
        ]
