"""The terminal shows what was painted, although only what differs is sent."""

from __future__ import annotations

import pyte
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.color import ColorSystem
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from console.tui.canvas import Canvas, change

COLUMNS, LINES = 12, 3
STYLES = (
    None,
    Style(color="red"),
    Style(color="#112233", bgcolor="#445566", bold=True),
    Style(bgcolor="#445566", dim=True, italic=True),
    Style(color="bright_blue", bgcolor="default", underline=True),
    Style(color="color(99)", bgcolor="color(7)", reverse=True, strike=True),
    Style(bgcolor="bright_green"),
)
PIECES = st.lists(st.tuples(st.text("ab漢 é–", max_size=5), st.sampled_from(STYLES)), max_size=4)
PAINTS = st.lists(st.tuples(st.integers(0, COLUMNS - 1), st.integers(0, LINES - 1), PIECES), max_size=8)


def terminal(written: str) -> list[list[object]]:
    """Return what the cells of a terminal look like."""
    screen = pyte.Screen(COLUMNS, LINES)
    pyte.Stream(screen).feed(written)
    return [[look(screen.buffer[y][x]) for x in range(COLUMNS)] for y in range(LINES)]


def look(cell: pyte.screens.Char) -> object:
    """Return a cell, without what is not seen on a blank."""
    drawn = cell.underscore or cell.reverse or cell.strikethrough
    return (cell.data, cell.bg) if cell.data == " " and not drawn else cell


@given(PAINTS)
def test_what_was_painted(paints: list[tuple[int, int, list[tuple[str, Style | None]]]]) -> None:
    canvas, naive = Canvas(ColorSystem.TRUECOLOR), ""
    written = naive = "\x1b[0m"
    for x, y, pieces in paints:
        strip = Strip([Segment(text, style) for text, style in pieces if text]).crop(0, COLUMNS - x)
        written += canvas.write(x, y, strip) + canvas.end()
        naive += f"\x1b[{y + 1};{x + 1}H" + "".join(style.render(text) if style else text for text, style, _ in strip)
    assert terminal(written) == terminal(naive)


def test_only_cells_that_differ_are_sent() -> None:
    canvas = Canvas(ColorSystem.TRUECOLOR)
    assert canvas.write(0, 0, [Segment("running 17s, 3 rows")]) == "\x1b[1;1Hrunning 17s, 3 rows"
    assert canvas.write(0, 0, [Segment("running 18s, 4 rows")]) == "\x1b[1;10H8s, 4"
    assert canvas.write(0, 0, [Segment("Running 18s, 5 rows")]) == "\x1b[1;1HR\x1b[1;14H5"
    assert canvas.write(0, 0, [Segment("Running 18s, 5 rows")]) == ""
    assert canvas.write(0, 0, [Segment("Running")], whole=True) == "\x1b[1;1HRunning"


def test_both_halves_of_a_wide_character_are_sent() -> None:
    canvas = Canvas(ColorSystem.TRUECOLOR)
    canvas.write(0, 0, [Segment("a漢b")])
    assert canvas.write(0, 0, [Segment("axyb")]) == "\x1b[1;2Hxy"
    assert canvas.write(0, 0, [Segment("a漢b")]) == "\x1b[1;2H漢"


def test_a_line_is_sent_from_the_first_character_that_terminals_measure_differently() -> None:
    canvas = Canvas(ColorSystem.TRUECOLOR)
    canvas.write(0, 0, [Segment("job \U0001f44d\U0001f3fd import failed 12")])
    assert canvas.write(0, 0, [Segment("job ok import failed 12")]) == "\x1b[1;5Hok import failed 12"
    assert canvas.write(0, 0, [Segment("job ok import failed 13")]) == "\x1b[1;23H3"


def test_a_style_is_sent_once() -> None:
    canvas = Canvas(ColorSystem.TRUECOLOR)
    bold, plain = Style(color="#010203", bgcolor="#040506", bold=True), Style(color="#070809", bgcolor="#040506")
    sent = canvas.write(0, 0, [Segment("a", bold), Segment(" b", bold), Segment(" c", plain)])
    assert sent == "\x1b[1;1H\x1b[1;38;2;1;2;3;48;2;4;5;6ma b \x1b[22;38;2;7;8;9mc"
    assert canvas.end() == "\x1b[0m"
    assert canvas.end() == ""


@pytest.mark.parametrize(
    ("before", "after", "sent"),
    [
        ("", "1", "\x1b[1m"),
        ("1", "", "\x1b[0m"),
        ("1;2;31", "2;31", "\x1b[22;2m"),  # bold and faint end together
        ("31;41", "41", "\x1b[39m"),
        ("38;5;9;48;2;1;2;3", "38;5;9", "\x1b[49m"),
        ("91;104", "92;104", "\x1b[92m"),
        ("53;31", "31", "\x1b[0;31m"),  # not all terminals end an overline
    ],
)
def test_a_change_of_style(before: str, after: str, sent: str) -> None:
    assert change(before, after) == sent
