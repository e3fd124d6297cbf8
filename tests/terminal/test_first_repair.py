"""The first repair of the docs, step by step, on the demo."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.command import ROOT
from tests.terminal.driver import KEYS, Terminal

STEP = re.compile(r"(?m)^\| \d+ \|(.*?)\|(.*?)\|")


@pytest.fixture
def started(tmp_path: Path) -> Terminal:
    return Terminal("demo", "--seed", "1", home=tmp_path, start="")


def test_each_step_shows_what_the_page_says(started: Terminal) -> None:
    (table,) = re.findall(r"(?s)<!-- steps -->(.*?)<!-- end -->", (ROOT / "docs/first-repair.md").read_text())
    steps = [[re.findall("`([^`]+)`", cell) for cell in row] for row in STEP.findall(table)]
    assert len(steps) == 10
    with started as terminal:
        for typed, shown in steps[:-1]:
            for words in typed:
                key = words.lower() if words.lower() in KEYS else words
                if key in KEYS or len(key) == 1:
                    terminal.press(key)
                else:
                    terminal.type(key).wait_for(key)
            terminal.wait_for(*shown).settled()
            if not typed:  # the list may be empty at first
                terminal.wait_for(lambda: terminal.at > 0)
        assert terminal.leave(*steps[-1][0]) == 0
