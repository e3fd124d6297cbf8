"""Terminals with 16 and 256 colours: every pair of every theme can be read."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from rich.color import Color as RichColor
from rich.style import Style
from textual.color import Color
from textual.theme import Theme

from console.tui import theme
from console.tui.widgets.few_colors import CUBE, LEAST_CONTRAST, ratio, readability, reduced, reduced_256
from queries.records.node import Phase

TEXTS = ("foreground", "primary", "accent", "warning", "error", "success", "faint", "added", "removed")
INKS = [*TEXTS, *(f"phase-{phase}" for phase in Phase)]


def backgrounds(of: Theme) -> Iterator[tuple[str, Color]]:
    """Yield the backgrounds on which the console writes, as the style sheets mix them."""
    base = Color.parse(of.background or "")
    primary, accent = Color.parse(of.primary), Color.parse(of.accent or "")
    yield "background", base
    yield "surface", Color.parse(of.surface or "")
    yield "panel", Color.parse(of.panel or "")
    yield "cursor", base.blend(primary, 0.25)
    yield "changed", base.blend(accent, 0.25)
    yield "cursor without focus", base.blend(Color.parse(of.foreground or ""), 0.1)


def color(of: Theme, name: str) -> Color:
    return Color.parse(of.variables.get(name) or getattr(of, name))


def number(of: RichColor | None) -> int:
    """Return the number of one of the sixteen colours."""
    assert of is not None
    assert of.number is not None
    return of.number


@pytest.mark.parametrize("of", theme.THEMES, ids=lambda each: each.name)
def test_every_pair_can_be_read(of: Theme) -> None:
    for below, background in backgrounds(of):
        for ink in INKS:
            style = reduced(Style(color=color(of, ink).rich_color, bgcolor=background.rich_color))
            assert readability(number(style.color), number(style.bgcolor)) >= LEAST_CONTRAST, (ink, below)


@pytest.mark.parametrize("of", theme.THEMES, ids=lambda each: each.name)
def test_every_pair_can_be_read_in_256_colours(of: Theme) -> None:
    for below, background in backgrounds(of):
        for ink in INKS:
            style = reduced_256(Style(color=color(of, ink).rich_color, bgcolor=background.rich_color))
            text, paper = CUBE[number(style.color) - 16], CUBE[number(style.bgcolor) - 16]
            assert ratio(text, paper) >= LEAST_CONTRAST, (ink, below)
            if below == "cursor":
                assert max(paper) - min(paper) < 100  # a tint, not teal


@pytest.mark.parametrize(("colors", "name"), [("0;15", "-light"), ("0;default;7", "-light"), ("15;0", ""), ("", "")])
def test_a_light_terminal_has_a_light_theme(colors: str, name: str) -> None:
    assert theme.of_terminal(colors) == f"{theme.DEFAULT}{name}"


def test_major_is_not_critical_on_a_light_screen() -> None:
    of, below = theme.THEMES[1], Color.parse(theme.THEMES[1].background or "").rich_color
    critical, major = (
        number(reduced(Style(color=color(of, name).rich_color, bgcolor=below)).color)
        for name in ("phase-failed", "warning")
    )
    assert (critical, major) == (1, 0)


@pytest.mark.parametrize("of", theme.THEMES, ids=lambda each: each.name)
def test_every_pair_can_be_read_in_true_colour(of: Theme) -> None:
    unreadable = {
        (ink, below)
        for below, background in backgrounds(of)
        for ink in INKS
        if ratio(color(of, ink).rgb, background.rgb) < LEAST_CONTRAST
    }
    assert unreadable == set()


def test_phases_keep_their_hues_on_a_dark_screen() -> None:
    of, below = theme.THEMES[0], Color.parse(theme.THEMES[0].background or "").rich_color
    found = {}
    for phase in (Phase.FAILED, Phase.BLOCKED, Phase.HELD, Phase.RUNNING, Phase.READY, Phase.SCHEDULED):
        style = reduced(Style(color=color(of, f"phase-{phase}").rich_color, bgcolor=below))
        found[phase] = number(style.color)
    assert found == {
        Phase.FAILED: 9,
        Phase.BLOCKED: 11,
        Phase.HELD: 13,
        Phase.RUNNING: 14,
        Phase.READY: 10,
        Phase.SCHEDULED: 12,
    }


@pytest.mark.parametrize("of", theme.THEMES, ids=lambda each: each.name)
def test_the_cursor_differs_from_the_other_rows(of: Theme) -> None:
    found = {name: reduced(Style(bgcolor=each.rich_color)).bgcolor for name, each in backgrounds(of)}
    assert found["cursor"] != found["background"]
    found = {name: reduced_256(Style(bgcolor=each.rich_color)).bgcolor for name, each in backgrounds(of)}
    assert found["cursor"] not in [paper for name, paper in found.items() if name != "cursor"]


@pytest.mark.parametrize("of", theme.THEMES, ids=lambda each: each.name)
def test_orange_means_one_thing(of: Theme) -> None:
    others = {ink: color(of, ink).rgb for ink in INKS if ink not in ("warning", "faint")}
    assert [ink for ink, rgb in others.items() if rgb == color(of, "warning").rgb] == []


def test_colours_of_the_terminal_stay() -> None:
    assert reduced(Style(bold=True)) == Style(bold=True)
    assert reduced(Style(color="red")) == Style(color="red")


@pytest.mark.parametrize("of", theme.THEMES, ids=lambda each: each.name)
def test_without_colour_the_worst_is_not_the_faintest(of: Theme) -> None:
    grey = theme.without_hue(of)
    below = Color.parse(of.background or "").monochrome.rgb
    critical, major, faint = (
        ratio(color(grey, name).monochrome.rgb, below) for name in ("phase-failed", "warning", "faint")
    )
    assert critical > major >= faint


@pytest.mark.parametrize(
    ("colors", "light"), [("0;15", True), ("0;default;7", True), ("15;0", False), ("7;8", False), ("", False)]
)
def test_the_theme_is_light_on_a_terminal_that_says_so(colors: str, light: bool) -> None:
    assert (theme.of_terminal(colors) == "unstick-light") == light
