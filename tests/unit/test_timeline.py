"""Timeline: spans, wait lengths, and no terminal control characters."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.text import formatting, timeline
from console.text.ascii import to_ascii
from console.text.timeline import Change
from queries.records.node import Phase
from tests.command import hidden

T = 1_700_000_000.0  # 22:13:20 UTC
TEXTS = st.text(max_size=40) | st.sampled_from(["\x1b[2J", "[bold]x[/]", "\u202eabc", "漢字" * 30, "\x9b31m", ""])


def text(found: Sequence[Change], width: int = 80, now: float = T + 9000) -> str:
    return "\n".join("".join(t for t, _ in line).rstrip() for line in timeline.draw(found, width, now))


def change(after: float, lane: str, state: str, phase: Phase | None = None, **more: object) -> Change:
    return Change(at=T + after, lane=lane, state=state, phase=phase, **more)  # type: ignore[arg-type]


CHARGE = [
    change(100, "charge", "error", Phase.FAILED, waited=40.0, waited_for="for the handler", note="worker 7: 503"),
    change(60, "charge", "in_progress", Phase.RUNNING, waited=60.0, waited_for="for a worker"),
    change(50, "pack", "complete", Phase.DONE, waited=50.0),
    change(0, "charge", "enqueued", Phase.READY),
    change(0, "pack", "in_progress", Phase.RUNNING),
]


def test_a_picture() -> None:
    assert text(CHARGE, 60, T + 120).splitlines() == [
        "  charge  ○○○○○○○○○○○○○○○○○►►►►►►►►►►✗✗✗✗✗✗  error for 20s",
        "  pack    ►►►►►►►►►►►►►✓···················  complete for 1m",
        "          22:13:20Z ─── 2m00s ─── 22:15:20Z",
        "",
        "  2023-11-14",
        "  22:15:00Z  ✗ error        charge     40s for the handler",
        "               worker 7: 503",
        "  22:14:20Z  ► in_progress  charge   1m00s for a worker",
        "  22:14:10Z  ✓ complete     pack       50s",
        "  22:13:20Z  ○ enqueued     charge",
        "  22:13:20Z  ► in_progress  pack",
    ]


def test_what_goes_on_reaches_to_now() -> None:
    """A step at work for 17 minutes in a task whose changes span half a second."""
    found = [
        change(0.6, "charge", "in_progress", Phase.RUNNING),
        change(0.3, "check", "complete", Phase.DONE),
        change(0, "charge", "enqueued", Phase.READY),
        change(0, "check", "in_progress", Phase.RUNNING),
    ]
    lane, other, axis = text(found, 70, T + 1021).splitlines()[:3]
    assert lane.count(formatting.GLYPHS[Phase.RUNNING]) > 30
    assert lane.endswith("in_progress for 17m")
    assert other.count(formatting.GLYPHS[Phase.DONE]) == 1
    assert "17m01s" in axis


def test_what_has_ended_ends_with_the_last_change() -> None:
    found = [change(100, "a", "complete", Phase.DONE), change(0, "a", "in_progress", Phase.RUNNING)]
    assert "1m40s" in text(found, 60).splitlines()[1]


def test_in_ascii_it_says_the_same() -> None:
    drawn = to_ascii(text(CHARGE, 60, T + 120))
    assert drawn.isascii()
    assert "oooo>>>" in drawn
    assert "x  error for 20" in drawn


def test_moments_are_counted() -> None:
    found = [change(300 * n, "failing again", "again") for n in (3, 2, 1, 0)]
    lines = text(found, 70).splitlines()
    assert lines[0].count("●") == 4
    assert lines[0].endswith("4 times since 22:13:20Z")
    assert text(found[:1], 60).splitlines()[0].endswith("once, at 22:28:20Z")


def test_another_day_is_shown() -> None:
    lines = text([change(90_000, "a", "x"), change(0, "a", "y")]).splitlines()
    assert [line for line in lines if line.startswith("  2023")] == ["  2023-11-15", "  2023-11-14"]


def test_a_wait_is_as_long_as_it_was_beside_the_longest() -> None:
    lines = text(CHARGE, 110).splitlines()
    bars = [sum(c == "█" for c in line) for line in lines if " 40s" in line or "1m00s" in line][-2:]
    assert bars == [5, 8]


@given(st.lists(st.tuples(st.integers(0, 100), st.sampled_from(Phase)), min_size=1, max_size=12), st.integers(10, 120))
def test_each_cell_shows_what_held_longest_in_it(rows: list[tuple[int, Phase]], cells: int) -> None:
    rows.sort(key=lambda row: row[0])
    line = [change(at, "a", "s", phase) for at, phase in rows]
    first, last = line[0].at, line[-1].at
    drawn = "".join(t for t, _ in timeline.draw_lane(line, first, last, cells))
    assert len(drawn) == cells
    step = (last - first) / cells
    for at, sign in enumerate(drawn):
        begin, end = first + at * step, first + (at + 1) * step
        there = {
            formatting.GLYPHS[c.phase]
            for c, after in zip(line, [*line[1:], None], strict=True)
            if c.phase and c.at <= end + 1e-6 and (after is None or after.at >= begin - 1e-6)
        }
        assert sign in there | {"·"}
        if step == 0:
            break


@given(
    st.lists(
        st.builds(
            Change,
            at=st.floats(-1e12, 1e12),
            lane=TEXTS,
            state=TEXTS,
            phase=st.none() | st.sampled_from(Phase),
            waited=st.none() | st.floats(),
            waited_for=st.none() | TEXTS,
            note=st.none() | TEXTS,
        ),
        max_size=20,
    ),
    st.integers(40, 160),
)
def test_odd_values_are_harmless_and_keep_to_the_width(found: list[Change], width: int) -> None:
    drawn = text(found, width)
    assert not hidden(drawn.replace("\n", ""))
    if width >= 60:
        assert max(map(formatting.width, drawn.split("\n"))) <= width


def test_many_lanes_and_changes_are_counted() -> None:
    found = [change(n, f"lane {n}", "s", Phase.READY) for n in range(400)][::-1]
    lines = text(found).splitlines()
    assert "  and 340 more" in lines
    assert lines[-1] == "  and 100 older ones"


@pytest.mark.parametrize("at", [math.inf, -math.inf, math.nan, None])
def test_a_change_without_a_time_is_skipped(at: float | None) -> None:
    columns = ("at", "lane", "state", "phase", "waited", "waited_for", "note")
    assert timeline.changes(columns, [(at, "a", "b", None, None, None, None)]) == []
    (found,) = timeline.changes(columns, [(T, "a", "b", "done", 1.0, "for x", "n")])
    assert found == change(0, "a", "b", Phase.DONE, waited=1.0, waited_for="for x", note="n")
    assert text([]) == ""
