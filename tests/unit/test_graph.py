"""Drawing of a graph: following the drawn lines gives the same graph back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import pairwise, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.text import graph
from console.text.ascii import to_ascii
from console.text.graph import HEAVY, Row, Step
from queries.records.node import Phase
from tests.command import hidden

Edges = set[tuple[str, str]]


def step(key: str, above: str = "", seconds: float | None = None, phase: Phase = Phase.DONE, **more: str) -> Step:
    return Step(id=key, name=key, phase=phase, parents=tuple(above.split()), seconds=seconds, **more)


@st.composite
def graphs(draw: st.DrawFn, most: int = 24) -> list[Step]:
    """Graphs without circles, their rows in any order."""
    n = draw(st.integers(1, most))
    found = []
    for i in range(n):
        above = draw(st.sets(st.integers(0, i - 1), max_size=4)) if i else set()
        seconds = draw(st.none() | st.sampled_from([0.0, 1.0, 2.0, 7.0]))
        found.append(step(f"s{i}", " ".join(f"s{p}" for p in above), seconds, draw(st.sampled_from(Phase))))
    return draw(st.permutations(found))


def edges(found: Sequence[Step]) -> Edges:
    return {(parent, s.id) for s in found for parent in s.parents}


def follow(rows: Sequence[Row]) -> tuple[Edges, Edges]:
    """Return all edges and the heavy ones, found only from the arms of each cell.

    Along a step's row, from the step outwards: what comes from above in a column that belongs to the row (it has an arm
    towards the step) is a parent's if it ends there or is left of the step; else the step leads into it.
    """
    found: Edges = set()
    heavy: Edges = set()
    rails: list[dict[str, bool]] = [{} for _ in range(max(len(r.cells) for r in rows))]  # step -> drawn heavy so far
    for number, row in enumerate(rows):
        cells = row.cells
        if row.step is None or row.level is None:
            for at, (up, down, left, right) in enumerate(cells):
                assert (up > 0) == (down > 0) == bool(rails[at])
                assert not left
                assert not right
            continue
        above = [dict(rail) for rail in rails]
        for at, (up, down, left, right) in enumerate(cells):
            if at == row.at:
                continue
            assert (up > 0) == bool(above[at]), "a rail comes from somewhere"
            towards, cross = (right, left) if at < row.at else (left, right)
            if not towards or not (up or down):
                assert down or not up, "a rail that ends, ends at a step"
                continue
            between = row.links[min(at, row.at) : max(at, row.at)]
            assert all(between), "the line comes to the step"
            if up and (at < row.at or not down):
                for parent in above[at]:
                    found.add((parent, row.step.id))
                    if up == HEAVY == towards and set(between) == {HEAVY} and above[at][parent]:
                        heavy.add((parent, row.step.id))
                rails[at] = above[at] if down else {}
            else:
                assert at > row.at
                rails[at] = {**above[at], row.step.id: down == HEAVY and towards == HEAVY}
            assert cross in (0, 1, 2)
        mine = above[row.at]
        for parent in mine:
            found.add((parent, row.step.id))
            if mine[parent] and number and rows[number - 1].cells[row.at][1] == HEAVY:
                heavy.add((parent, row.step.id))
        rest = rows[number + 1 :]
        goes_on = bool(rest) and row.at < len(rest[0].cells) and rest[0].cells[row.at][0]
        rails[row.at] = {row.step.id: goes_on == HEAVY} if goes_on else {}
    assert not any(rails), "every rail ends at a step"
    return found, heavy


@given(graphs(), st.integers(1, 30))
def test_what_is_drawn_is_the_graph(found: list[Step], rails: int) -> None:
    rows = graph.layout(found, rails)
    drawn, _ = follow(rows)
    unlinked = {(parent, row.step.id) for row in rows if row.step for parent in row.unlinked}
    assert drawn | unlinked == edges(found)
    assert not drawn & unlinked
    if rails >= 2 * len(found):
        assert not unlinked, "there is room for all"


@given(graphs())
def test_every_edge_goes_down_a_level(found: list[Step]) -> None:
    rows = [row for row in graph.layout(found) if row.step]
    place = {row.step.id: n for n, row in enumerate(rows) if row.step}
    level = {row.step.id: row.level for row in rows if row.step}
    assert set(level) == {s.id for s in found}
    for above, below in edges(found):
        assert (level[above] or 0) < (level[below] or 0)
        assert place[above] < place[below]
    for s in found:
        assert level[s.id] == max(((level[p] or 0) + 1 for p in s.parents), default=0), "the longest way"


@given(graphs(most=9))
def test_the_critical_path_is_the_longest_of_all(found: list[Step]) -> None:
    below: dict[str, list[str]] = {s.id: [] for s in found}
    seconds = {s.id: s.seconds or 0.0 for s in found}
    for parent, child in edges(found):
        below[parent].append(child)

    @cache
    def longest(key: str) -> tuple[float, int]:
        rest = max((longest(child) for child in below[key]), default=(0.0, 0))
        return seconds[key] + rest[0], 1 + rest[1]

    path = graph.critical(found, graph.levels({s.id: s.parents for s in found}))
    assert set(pairwise(path)) <= edges(found)
    assert (sum(seconds[key] for key in path), len(path)) == max(longest(s.id) for s in found)


@given(graphs())
def test_the_heavy_rails_are_the_critical_path(found: list[Step]) -> None:
    rows = graph.layout(found, 2 * len(found))
    _, heavy = follow(rows)
    path = graph.critical(found, graph.levels({s.id: s.parents for s in found}))
    assert heavy == set(pairwise(path))
    assert {row.step.id for row in rows if row.step and row.critical} == set(path)


@given(graphs(), st.integers(30, 160))
def test_it_keeps_to_its_width(found: list[Step], width: int) -> None:
    lines = graph.draw([*found], width)
    texts = ["".join(text for text, _ in line) for line in lines]
    if width >= 60:
        assert max(map(len, texts)) <= width
    assert all(to_ascii(text).isascii() for text in texts)
    for s in found:
        assert any(s.id in text for text in texts)


def text(found: Sequence[Step], width: int = 80) -> str:
    return "\n".join("".join(t for t, _ in line).rstrip() for line in graph.draw(found, width))


SHOP = [
    step("validate", seconds=1, state="complete"),
    step("reserve", "validate", 300, state="complete"),
    step("charge", "validate", 8, state="complete"),
    step("pack", "reserve charge", 200, Phase.READY, state="pending", note="could run"),
    step("book", "reserve", 800, Phase.FAILED, state="error", note="attempt 2/3, 503"),
    step("confirm", "pack book charge", None, Phase.BLOCKED, state="pending"),
]


def test_a_picture() -> None:
    assert text(SHOP).splitlines() == [
        " 0 ✓       validate  complete      1s",
        "   ┃",
        " 1 ┠─✓     charge    complete      8s",
        "   ✓ │     reserve   complete   5m00s",
        "   ┃ │",
        " 2 ┠─┼─○─┐ pack      pending    3m20s  could run",
        "   ✗━│━━━┪ book      error     13m20s  attempt 2/3, 503",
        "     │   ┃",
        " 3 ■━┷━━━┛ confirm   pending        –",
    ]
    assert graph.summary(SHOP) == "6 steps on 4 levels; heavy: the critical path, 18m21s"


def test_the_same_picture_in_ascii() -> None:
    assert to_ascii(text(SHOP)).splitlines()[5:] == [
        " 2 *-+-o-+ pack      pending    3m20s  could run",
        "   x=|===* book      error     13m20s  attempt 2/3, 503",
        "     |   !",
        " 3 #=*===* confirm   pending        -",
    ]


def test_in_ascii_each_rail_has_its_direction_and_its_weight() -> None:
    for arms, sign in zip(product(range(3), repeat=4), graph.ARMS, strict=True):
        way = any(arms[:2]) + 2 * any(arms[2:])
        assert to_ascii(sign) == (" !=*" if HEAVY in arms else " |-+")[way], sign


def test_a_note_without_room_goes_below() -> None:
    assert text(SHOP, 48).splitlines()[5:10] == [
        " 2 ┠─┼─○─┐ pack      pending    3m20s",
        "   ┃ │   │ could run",
        "   ✗━│━━━┪ book      error     13m20s",
        "     │   ┃ attempt 2/3, 503",
        "     │   ┃",
    ]


def test_steps_in_a_circle_are_below_and_name_their_parents() -> None:
    found = [step("a"), step("b", "a c"), step("c", "b"), step("d", "c"), step("self", "self"), step("orphan", "gone")]
    lines = text(found).splitlines()
    assert lines[0].startswith(" 0 ✓ a")
    assert [" ".join(line.split()) for line in lines if "after" in line] == [
        "✓ orphan – also after gone",
        "? ✓ b – also after a, c",
        "✓ c – also after b",
        "✓ d – also after c",
        "✓ self – also after self",
    ]


@pytest.mark.parametrize("width", [60, 120])
def test_two_hundred_steps_side_by_side_are_as_wide_as_the_page(width: int) -> None:
    wide = [step("top"), *(step(f"s{i:03}", "top", i) for i in range(200))]
    wide.append(step("join", " ".join(s.id for s in wide[1:])))
    rows = graph.layout(wide, 8)
    assert follow(rows)[0] == edges(wide), "two rails carry them all"
    assert max(len(line) for line in text(wide, width).splitlines()) <= width
    mesh = [
        step(f"{n}-{i}", " ".join(f"{n - 1}-{j}" for j in range(20)) if n else "") for n in range(10) for i in range(20)
    ]
    lines = text(mesh, width).splitlines()
    assert max(map(len, lines)) <= width
    assert any("also after" in line for line in lines), "what has no rail is named"


def test_steps_beyond_the_limit_are_counted() -> None:
    assert text([step(f"s{i}") for i in range(graph.MAX_STEPS + 7)]).endswith("and 7 more steps")


@given(st.text(max_size=40) | st.sampled_from(["\x1b[2J", "[bold]x[/]", "\u202eabc", "漢字" * 30, "\x9b31m"]))
def test_hostile_names_are_harmless(name: str) -> None:
    found = [step("a"), Step(id=name, name=name, phase=Phase.FAILED, state=name, parents=("a", name), note=name)]
    drawn = text(found, 60)
    assert not hidden(drawn.replace("\n", ""))


@pytest.mark.parametrize("seconds", [float("inf"), float("nan"), -5.0, 1e300])
def test_times_that_cannot_be(seconds: float) -> None:
    assert len(text([step("a", seconds=seconds), step("b", "a", 1.0)]).splitlines()) == 3


def test_rows_of_a_section() -> None:
    columns = ("id", "name", "parents", "state", "phase", "seconds", "note")
    rows: list[Sequence[object]] = [
        ("1", "a", None, "pending", "ready", None, None),
        ("1", "again", [], "x", "done", 1.0, "n"),
    ]
    (one,) = graph.steps(columns, rows)
    assert one == Step(id="1", name="a", phase=Phase.READY, state="pending")


def test_levels_of_an_empty_graph() -> None:
    nothing: Mapping[str, Sequence[str]] = {}
    assert graph.levels(nothing) == {}
    assert text([]) == ""
    assert graph.summary([]) == "0 steps"
