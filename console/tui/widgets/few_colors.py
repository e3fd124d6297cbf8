"""Line filters for terminals with 16 or 256 colours.

Of sixteen colours, the nearest is often the wrong one: orange becomes red, a quiet green becomes white, and the
cursor's dark blue becomes a grey on which red cannot be read. Of 256, Rich makes the cursor
teal, and the nearest is the grey of other backgrounds. The filters choose only pairs that can be read.
"""

from __future__ import annotations

from colorsys import rgb_to_hls
from functools import lru_cache

from rich.color import Color as RichColor
from rich.color import ColorType
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter

Rgb = tuple[int, int, int]

BLACK, BLUE, WHITE, GREY, BRIGHT_WHITE = 0, 4, 7, 8, 15
HUES = {1: 0, 3: 60, 2: 120, 6: 180, 4: 240, 5: 300}  # in degrees; the bright form is 8 higher
RED, ALIKE = 1, 20  # degrees within which a colour becomes red: orange has another meaning
NEUTRAL, TINT = 40, 90  # difference of the channels below which a colour is grey, or a tinted background
NEAR_DEGREES = 45  # degrees between a colour and the hue that replaces it
LEAST_CONTRAST = 3.0  # contrast of text and background
QUIET, QUIET_HUE = 5.2, 3.5  # contrast below which text is meant to be faint

# The sixteen colours of xterm and of VGA: terminals differ, and text has to be readable in all of them.
PALETTES: tuple[tuple[Rgb, ...], ...] = (
    (
        *((0, 0, 0), (205, 0, 0), (0, 205, 0), (205, 205, 0), (0, 0, 238), (205, 0, 205), (0, 205, 205)),
        *((229, 229, 229), (127, 127, 127), (255, 0, 0), (0, 255, 0), (255, 255, 0), (92, 92, 255)),
        *((255, 0, 255), (0, 255, 255), (255, 255, 255)),
    ),
    (
        *((0, 0, 0), (170, 0, 0), (0, 170, 0), (170, 85, 0), (0, 0, 170), (170, 0, 170), (0, 170, 170)),
        *((170, 170, 170), (85, 85, 85), (255, 85, 85), (85, 255, 85), (255, 255, 85), (85, 85, 255)),
        *((255, 85, 255), (85, 255, 255), (255, 255, 255)),
    ),
)


class FewColors(LineFilter):
    """Replace each pair of colours by one that the terminal shows well."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self._reduced = reduced if number == 16 else reduced_256

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [
            segment if segment.control or segment.style is None else Segment(segment.text, self._reduced(segment.style))
            for segment in segments
        ]


def filter_for(color_system: str | None) -> list[LineFilter]:
    """Return the filter for a terminal with few colours, as Rich names them, if any."""
    number = {"standard": 16, "256": 256}.get(color_system or "")
    return [FewColors(number)] if number else []


@lru_cache(4096)
def reduced(style: Style) -> Style:
    """Return a style with the colours of the terminal's own palette."""
    text, below = _rgb(style.color), _rgb(style.bgcolor)
    if below is None:
        return style if text is None else style + Style(color=_ansi(_foreground(text, BLACK)))
    at = _background(below)
    if text is None:
        return style + Style(bgcolor=_ansi(at))
    quiet = ratio(text, below) < (QUIET if _chroma(text) < NEUTRAL else QUIET_HUE) and at in (BLACK, BRIGHT_WHITE)
    return style + Style(color=_ansi(_foreground(text, at)), bgcolor=_ansi(at), dim=quiet or None)


LEVELS = (0, 95, 135, 175, 215, 255)
CUBE: tuple[Rgb, ...] = (
    *((red, green, blue) for red in LEVELS for green in LEVELS for blue in LEVELS),
    *((8 + 10 * step,) * 3 for step in range(24)),
)
"""Colours 16 to 255 of a terminal with 256."""

DARK_BLUE = CUBE.index((0, 0, 95))


@lru_cache(4096)
def reduced_256(style: Style) -> Style:
    """Return a style with 256 colours. Text that can be read stays so."""
    text, below = _rgb(style.color), _rgb(style.bgcolor)
    at = None if below is None else DARK_BLUE if _dark_blue(below) else _nearest(below)
    ink = None if text is None else _nearest(text)
    if at is not None and ink is not None and below is not None and text is not None:
        least = min(ratio(text, below), LEAST_CONTRAST)
        while ratio(CUBE[ink], CUBE[at]) < least:
            dark = _luminance(CUBE[at]) < 0.2
            text = tuple(min(channel + 12, 255) if dark else max(channel - 12, 0) for channel in text)  # type: ignore[assignment]
            ink = _nearest(text)
    style += Style(color=None if ink is None else _ansi(16 + ink))
    return style + Style(bgcolor=None if at is None else _ansi(16 + at))


def _dark_blue(color: Rgb) -> bool:
    return sum(color) / 3 < 110 and _chroma(color) >= NEUTRAL - 15 and color[2] > color[0]


@lru_cache(1024)
def _nearest(color: Rgb) -> int:
    return min(
        range(len(CUBE)), key=lambda at: sum((one - other) ** 2 for one, other in zip(CUBE[at], color, strict=True))
    )


def readability(text: int, background: int) -> float:
    """Return the contrast of two of the sixteen colours in the worst palette."""
    return min(ratio(palette[text], palette[background]) for palette in PALETTES)


def ratio(one: Rgb, other: Rgb) -> float:
    """Return the contrast of two colours as WCAG 2 defines it, from 1 to 21."""
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def _foreground(color: Rgb, background: int) -> int:
    if _chroma(color) >= NEUTRAL:
        hue = _hue(color)
        for distance, at in sorted((min(abs(hue - of), 360 - abs(hue - of)), at) for at, of in HUES.items()):
            best = max((at, at + 8), key=lambda each: readability(each, background))
            if distance <= (ALIKE if at == RED else NEAR_DEGREES) and readability(best, background) >= LEAST_CONTRAST:
                return best
    readable = [at for at in (BLACK, WHITE, BRIGHT_WHITE) if readability(at, background) >= LEAST_CONTRAST]
    return min(readable, key=lambda at: abs(_luminance(PALETTES[0][at]) - _luminance(color)))


def _background(color: Rgb) -> int:
    light = sum(color) / 3
    if _chroma(color) >= TINT:
        hue = _hue(color)
        near = min(HUES, key=lambda at: min(abs(hue - HUES[at]), 360 - abs(hue - HUES[at])))
        return near + 8 if light > 170 else near
    if light < 110 and _chroma(color) >= NEUTRAL - 15:
        return BLUE if _dark_blue(color) else GREY
    if light < 90:
        return BLACK
    return WHITE if light < 225 else BRIGHT_WHITE


def _rgb(color: RichColor | None) -> Rgb | None:
    """Return a colour that the console has chosen; None for one of the terminal's own."""
    if color is None or color.type in (ColorType.DEFAULT, ColorType.STANDARD, ColorType.WINDOWS):
        return None
    red, green, blue = color.get_truecolor()
    return red, green, blue


def _ansi(number: int) -> RichColor:
    return RichColor.from_ansi(number)


def _chroma(color: Rgb) -> int:
    return max(color) - min(color)


def _hue(color: Rgb) -> float:
    return rgb_to_hls(*(channel / 255 for channel in color))[0] * 360


@lru_cache(1024)
def _luminance(color: Rgb) -> float:
    red, green, blue = (
        channel / 255 / 12.92 if channel <= 10 else ((channel / 255 + 0.055) / 1.055) ** 2.4 for channel in color
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
