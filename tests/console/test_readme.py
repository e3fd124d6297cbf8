"""Commands, settings and names in the README: each one exists."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

import pytest

from console import config
from console.cli import commands
from console.tui import keymap
from queries.contract import loader
from tests.command import ROOT, unstick
from tests.screenshots.__main__ import MOVING, PICTURES, SIZE
from tests.screenshots.picture import CELL, MARGIN

README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"(?m)(?:^ {4}\S.*\n)+", README)
LINES = [line.strip() for block in BLOCKS for line in block.splitlines()]
TYPED = [line for line in LINES if line.startswith("unstick ")] + [
    line for line in re.findall(r"`(unstick [^`]+)`", README) if line != "unstick init"
]


def alternatives(line: str) -> list[list[str]]:
    """Return the words of each command that a line describes.

    ``a | b ID`` describes two commands; brackets are optional words.
    """
    said = re.split(r" {2,}|  #", line)[0].replace("[", "").replace("]", "")
    program, *words = shlex.split(said)
    assert program == "unstick"
    parts: list[list[str]] = [[]]
    for word in words:
        if word == "|":
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


@pytest.mark.parametrize("line", TYPED)
def test_every_command_is_taken(line: str) -> None:
    """``--help`` is answered once the command and its options are known to be some."""
    for words in alternatives(line):
        assert words[0] in commands.unstick.commands or words[0].startswith(("@", "postgresql://"))
        assert unstick(*words, "--help").code == 0


def test_every_command_is_named() -> None:
    named = {words[0] for line in TYPED for words in alternatives(line)}
    assert set(commands.unstick.commands) - named <= {"demo"}  # which make demo starts


def test_the_targets_of_make_are_there() -> None:
    targets = re.findall(r"(?m)^(\w+):", (ROOT / "Makefile").read_text())
    named = {line.split()[1] for line in LINES if line.startswith("make ")}
    assert {"demo", "test"} <= named <= set(targets)


def test_the_settings_are_settings() -> None:
    (text,) = re.findall(r"(?s)```toml\n(.*?)```", README)
    known = loader.builtin()
    config.parse(text, Path("config.toml")).check(
        {s.name: s.spec.thresholds for s in known},
        {s.name: s.spec.options for s in known},
        keymap.ids(action for s in known for action in s.spec.actions),
    )
    assert set(tomllib.loads(text)["contexts"]["prod"]) == set(config.Context.__struct_fields__) - {"name"}


def test_every_engine_and_action_is_named() -> None:
    for each in loader.builtin():
        (row,) = re.findall(rf"(?m)^\| \*\*{each.name}\*\* \|(.*)$", README)
        _, changes, _, _ = row.split("|")
        writing = {action.name for action in each.spec.actions if action.writes}
        assert writing <= set(re.findall(r"\w+", changes)), each.name


def test_every_picture_is_there_and_made_by_the_script() -> None:
    pictures = re.findall(r"\]\(screenshots/([^)]+)\.svg\)", README)
    assert pictures == ["dry_run", MOVING, "stuck", "tree", "dag", "dead_letters", "detail", "result", "audit"]
    assert {path.stem for path in (ROOT / "screenshots").iterdir()} == set(pictures) == {*PICTURES, MOVING}


def test_the_pictures_are_as_wide_as_the_script_makes_them() -> None:
    for name in (*PICTURES, MOVING):
        svg = (ROOT / "screenshots" / f"{name}.svg").read_text()
        width = float(re.findall(r'viewBox="0 0 ([\d.]+) ', svg)[0])
        assert round((width - 2 * MARGIN) / CELL) == SIZE[0] == 120, name


def test_each_picture_shows_its_page() -> None:
    signs = {
        "dry_run": "Will change 3 tasks",
        "stuck": "incidents",
        "tree": "all jobs",
        "dag": "critical path",
        "dead_letters": "dead letters in",
        "detail": "Why it is stuck",
        "result": "3 changed",
        "audit": "children are done",
    }
    wrong = [name for name in PICTURES if signs[name] not in (ROOT / "screenshots" / f"{name}.svg").read_text()]
    assert wrong == []


def test_one_picture_moves_and_is_small() -> None:
    svg = (ROOT / "screenshots" / f"{MOVING}.svg").read_text()
    assert len(svg.encode()) < 400_000
    assert svg.count("@keyframes") > 10
    assert not re.search(r"<script|href=|@import|url\(", svg)  # shown as an image, a page of GitHub allows none of them
    at = [svg.find(text) for text in ("lost", "Rows before and after", "changed", "children are done")]
    assert -1 not in at
