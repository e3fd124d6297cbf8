"""Pictures of a terminal: colours, and the lines of a moving picture."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pyte

from tests.screenshots.picture import Frame, frame, moving, picture


def shown(*lines: str) -> Frame:
    screen = pyte.Screen(20, 3)
    pyte.Stream(screen).feed("\r\n".join(lines))
    return frame(screen)


def visible(svg: str, percent: float) -> list[str]:
    """Return the texts that a moving picture shows at this time, from top to bottom."""
    hidden = set()
    for name, steps in re.findall(r"@keyframes (f\d+)\{((?:[\d.]+%\{[^}]*\})+)\}", svg):
        states = [(float(at), state) for at, state in re.findall(r"([\d.]+)%\{visibility:(\w+)\}", steps)]
        if [state for at, state in states if at <= percent][-1] == "hidden":
            hidden.add(name)
    root = ElementTree.fromstring(svg)
    texts = [
        (float(text.get("y", "0")), text.text or "")
        for group in root.iter()
        if group.tag.endswith("}g") and group.get("class") not in hidden
        for text in group
        if text.tag.endswith("}text")
    ]
    return [text for _, text in sorted(texts)]


def test_a_moving_picture_shows_each_screen_in_turn() -> None:
    screens = [("one", "same", "a"), ("two", "same", "b"), ("one", "same", "c")]
    svg = moving([(shown(*lines), seconds) for lines, seconds in zip(screens, (1, 2, 1), strict=True)], "title")
    assert visible(svg, 10) == ["one", "same", "a"]
    assert visible(svg, 24.9) == ["one", "same", "a"]
    assert visible(svg, 25.1) == ["two", "same", "b"]
    assert visible(svg, 74) == ["two", "same", "b"]
    assert visible(svg, 76) == ["one", "same", "c"]
    assert svg.count(">same<") == svg.count(">one<") == 1  # drawn once


def test_colours_and_text_of_a_screen() -> None:
    svg = picture(shown("\x1b[31mred\x1b[0m  \x1b[7mback <&\x1b[0m", "\x1b[1;38;2;1;2;3mbold"), "a < b")
    root = ElementTree.fromstring(svg)
    texts = {text.text: (text.get("fill"), text.get("class")) for text in root.iter() if text.tag.endswith("}text")}
    assert texts["red"] == ("#cd0000", None)
    assert texts["back <&"] == ("#000000", None)
    assert texts["bold"] == ("#010203", "b")
    assert "a < b" in texts
