"""The part of a line that differs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from console.tui.widgets.changed_cells import changed_cells

RED, BLUE = Style(color="red"), Style(color="blue")


@pytest.mark.parametrize(
    ("before", "after", "part"),
    [
        ("same", "same", None),
        ("load 2.3%", "load 2.9%", (7, 1)),
        ("abc", "abcd", (3, 1)),
        ("abcd", "abc", (3, 1)),
        ("a漢b", "a字b", (1, 2)),
        ("a漢b", "axyb", (1, 2)),
        ("axyb", "a漢b", (1, 2)),
        ("", "", None),
    ],
)
def test_text(before: str, after: str, part: tuple[int, int] | None) -> None:
    assert changed_cells([Segment(before)], [Segment(after)]) == part


def test_styles() -> None:
    before = [Segment("ab", RED), Segment("cd", RED)]
    after = [Segment("a", RED), Segment("bc", BLUE), Segment("d", RED)]
    assert changed_cells(before, after) == (1, 2)
    assert changed_cells(before, [Segment("abcd", RED)]) is None


LINES = st.lists(st.tuples(st.text("ab漢 ", max_size=4), st.sampled_from([RED, BLUE])), max_size=4)


@given(LINES, LINES)
def test_the_part_makes_one_line_of_the_other(one: list[tuple[str, Style]], other: list[tuple[str, Style]]) -> None:
    before, after = (Strip([Segment(*each) for each in line]).adjust_cell_length(20) for line in (one, other))
    part = changed_cells(before, after)
    start, cells = part or (0, 0)
    patched = Strip.join([before.crop(0, start), after.crop(start, start + cells), before.crop(start + cells)])
    assert changed_cells(patched, after) is None
