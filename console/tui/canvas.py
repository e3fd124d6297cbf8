"""Cells and styles of the terminal, of which only changes are sent.

Rich begins and ends each piece of text with its whole style, and Textual sends each line that may have changed. On a
screen with one background and few colours most of that is there already, and a slow line waits for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, islice
from operator import itemgetter

from rich.cells import split_graphemes
from rich.color import ColorSystem
from rich.control import Control
from rich.segment import Segment
from rich.style import Style

PLAIN = "\x1b[0m"
ENDS = {"1": "22", "2": "22", "3": "23", "4": "24", "5": "25", "7": "27", "8": "28", "9": "29"}  # of attributes
DRAWN = frozenset(("4", "5", "7", "9", "21", "51", "52", "53"))  # attributes that are seen on a blank
GAP_CELLS = 6  # equal cells that take fewer bytes than to move over them

Cell = tuple[str, str]  # text and codes of its style; a wide character is followed by empty texts
_text_of = itemgetter(0)
UNPAINTED: Cell = ("", "unknown")


class Canvas:
    """The cells of the terminal, and how other ones are written."""

    def __init__(self, colors: ColorSystem) -> None:
        self._colors = colors
        self._rows: dict[int, list[Cell]] = {}
        self._codes = ""  # of the style that the terminal writes with

    def write(self, x: int, y: int, segments: Iterable[Segment], *, whole: bool = False) -> str:
        """Return what the terminal needs to show these segments at a place.

        ``whole``: also the cells that it should be showing.
        """
        row, new = self._rows.setdefault(y, []), self._cells(segments)
        end = x + len(new)
        row += [UNPAINTED] * (end - len(row))
        old, row[x:end] = row[x:end], new
        parts = [(0, len(new))] if whole else differing(old, new)
        return "".join([self._part(x + start, y, new[start:stop]) for start, stop in parts])

    def end(self) -> str:
        """Return what ends the style of the last cell."""
        codes, self._codes = self._codes, ""
        return PLAIN if codes else ""

    def _cells(self, segments: Iterable[Segment]) -> list[Cell]:
        cells: list[Cell] = []
        for text, style, _ in segments:
            cells += cells_of(text, "" if style is None else codes_of(style, self._colors))
        return cells

    def _part(self, x: int, y: int, cells: Iterable[Cell]) -> str:
        written: list[str] = [Control.move_to(x, y).segment.text]
        for text, codes in cells:
            if codes != self._codes and not (text == " " and codes == ground_of(self._codes)):
                written.append(change(self._codes, codes))
                self._codes = codes
            written.append(text)
        return "".join(written)


def differing(old: Sequence[Cell], new: Sequence[Cell]) -> Iterator[tuple[int, int]]:
    """Yield the parts of a line that differ, as the places of their two ends.

    Terminals differ in the cells of a character of several code points. From the first one on, a line is sent whole:
    otherwise what follows would be where such a terminal has something else.
    """
    places = [place for place, cell in enumerate(new) if cell != old[place]] if old != new else []
    if places and max(map(len, map(_text_of, chain(old, new)))) > 1:
        joined = next(
            at for at, cells in enumerate(zip(old, new, strict=True)) if max(map(len, map(_text_of, cells))) > 1
        )
        yield _whole(min(joined, places[0]), len(new), old, new)
        return
    start = stop = -1
    for place in places:
        if start >= 0 and place - stop > GAP_CELLS:
            yield _whole(start, stop, old, new)
            start = -1
        start, stop = place if start < 0 else start, place + 1
    if start >= 0:
        yield _whole(start, stop, old, new)


def _whole(start: int, stop: int, old: Sequence[Cell], new: Sequence[Cell]) -> tuple[int, int]:
    """Return a part with both halves of wide characters at its ends."""
    while start and "" in (old[start][0], new[start][0]):
        start -= 1
    while stop < len(new) and "" in (old[stop][0], new[stop][0]):
        stop += 1
    return start, stop


@lru_cache(4096)
def cells_of(text: str, codes: str) -> tuple[Cell, ...]:
    """Return the cells of a text."""
    blank = " ", ground_of(codes)
    return tuple(blank if each == " " else (each, codes) for each in _texts(text))


def _texts(text: str) -> Sequence[str]:
    """Return the text of each cell."""
    if text.isascii():
        return text
    cells: list[str] = []
    for start, stop, width in split_graphemes(text)[0]:
        if width:
            cells += [text[start:stop], *[""] * (width - 1)]
        elif cells:
            cells[-1] += text[start:stop]
    return cells


@lru_cache(4096)
def codes_of(style: Style, colors: ColorSystem) -> str:
    """Return the codes of a style, without a link."""
    written = style.update_link(None).render("x", color_system=colors)
    return written[2 : written.index("m")] if written.startswith("\x1b[") else ""


@lru_cache(4096)
def ground_of(codes: str) -> str:
    """Return the codes of the background, or all codes if they draw on a blank."""
    attributes, _, background = _parts(codes)
    return codes if attributes & DRAWN else background


@lru_cache(4096)
def change(before: str, after: str) -> str:
    """Return the control sequence from the codes of one style to those of another."""
    if not after:
        return PLAIN
    old, *old_colors = _parts(before)
    new, *new_colors = _parts(after)
    if not all(code in ENDS for code in old - new):
        return f"\x1b[0;{after}m"
    ended = {ENDS[code] for code in old - new}
    codes = [*sorted(ended), *sorted(code for code in new if code not in old or ENDS.get(code) in ended)]
    for was, color, default in zip(old_colors, new_colors, ("39", "49"), strict=True):
        codes += [color or default] if color != was else []
    return f"\x1b[{';'.join(codes)}m" if codes else ""


def _parts(codes: str) -> tuple[frozenset[str], str, str]:
    """Return the attributes, and the colours of text and background or ""."""
    attributes: set[str] = set()
    colors = {"3": "", "4": ""}
    rest = iter(filter(None, codes.split(";")))
    for code in rest:
        if code in ("38", "48"):
            kind = next(rest)
            colors[code[0]] = ";".join((code, kind, *islice(rest, 3 if kind == "2" else 1)))
        elif len(code) == 1 or code in ("21", "51", "52", "53"):
            attributes.add(code)
        else:
            ground = {"9": "3", "10": "4"}.get(code[:-1], code[0])
            colors[ground] = "" if code in ("39", "49") else code
    return frozenset(attributes), colors["3"], colors["4"]
