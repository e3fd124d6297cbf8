"""Commands, settings and names in README and docs: each one exists."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

from console import config
from console.cli import commands
from console.model.filter import parse
from console.tui import keymap
from queries.contract.builtin import builtin
from queries.contract.engine import Engine
from tests import pages
from tests.command import ROOT, unstick
from tests.generated import is_as_made
from tests.screenshots.__main__ import FOLDER as SCREENSHOTS
from tests.screenshots.__main__ import MOVING, PICTURES, SIZE, TREES, VIEWS
from tests.screenshots.picture import CELL, MARGIN
from tests.servers import PostgresServer

README = (ROOT / "README.md").read_text()
DOCUMENTATION = "\n".join(
    [
        README,
        *(
            path.read_text()
            for path in sorted({*(ROOT / "docs").rglob("*.md")} - {*(ROOT / "docs/decisions").iterdir()})
        ),
    ]
)
BLOCKS = re.findall(r"(?m)(?:^ {4}\S.*\n)+", DOCUMENTATION)
LINES = [line.strip() for block in BLOCKS for line in block.splitlines()]
TYPED = [line for line in LINES if line.startswith("unstick ")] + [
    line for line in re.findall(r"`(unstick [^`]+)`", DOCUMENTATION) if line != "unstick init"
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
        assert words[0] in commands.unstick.commands or words[0].startswith(("@", "-", "postgresql://"))
        assert unstick(*words, "--help").code == 0


READING = {
    *("engines", "tree", "stuck", "dead", "blockers", "audit", "changed", "grants"),
    *("info", "metrics", "schema", "find", "runs", "sql", "man", "help"),
}


def read_only() -> list[tuple[str, ...]]:
    """Return the commands that only read, without those that have a placeholder."""
    found = [
        tuple(word for word in words if not word.startswith(("@", "postgresql://")))
        for line in TYPED
        for words in alternatives(line)
        if not {"--watch", "4711", ">"} & set(words)
        and not any(re.fullmatch(r"[A-Z]+(\.\.\.)?", word) for word in words)
    ]
    return sorted({words for words in found if words and words[0] in READING})


@pytest.mark.parametrize("words", read_only(), ids=" ".join)
def test_every_reading_command_is_run(words: tuple[str, ...], every_engine: str, server: PostgresServer) -> None:
    engine = words[words.index("--engine") + 1] if "--engine" in words else ""
    dsn = server.fresh(engine, filled=True) if engine in ("oban", "solid_queue") else every_engine
    answer = unstick(*words, dsn=dsn)
    assert answer.code == (4 if "--exit-code" in words else int("--verify" in words)), answer.err  # there is no table
    assert answer.out or answer.err
    if dsn != every_engine:
        server.drop(dsn)


def test_the_readme_is_read_in_a_minute() -> None:
    assert len(README.splitlines()) <= 120


def test_every_command_is_named() -> None:
    named = {words[0] for line in TYPED for words in alternatives(line)}
    assert set(commands.unstick.commands) - named <= {"demo"}  # which make demo starts


def test_the_targets_of_make_are_there() -> None:
    targets = re.findall(r"(?m)^(\w+):", (ROOT / "Makefile").read_text())
    named = {line.split()[1] for line in LINES if line.startswith("make ")}
    assert {"demo", "test"} <= named <= set(targets)


def test_the_settings_are_settings() -> None:
    (text,) = re.findall(r"(?s)```toml\n(.*?)```", (ROOT / "docs/settings.md").read_text())
    known = builtin()
    settings = config.parse(text, Path("config.toml"))
    settings.check({s.name: s.spec.thresholds for s in known}, {s.name: s.spec.options for s in known})
    settings.check_screen(keymap.ids(action for s in known for action in s.spec.actions), [settings.theme])


def test_each_setting_has_a_meaning_at_its_definition() -> None:
    rows = [*pages.settings(), *pages.engine_settings()]
    assert len(rows) > 140
    assert [row for row in rows if not row[-1]] == []
    assert pages.comment("class A:\n    a: int = 1\n    b: int = 2  # the second\n", "a") == ""


def test_the_engines_are_those_of_the_folders() -> None:
    lines = ["| engine | recognised by | actions that change rows | not available |", "|---|---|---|---|"]
    for each in builtin():
        writing = list(dict.fromkeys(action.name for action in each.spec.actions if action.writes))
        tables = [f"`{name}`" for name in each.spec.recognise.relations]
        more = [f"{len(tables) - 4} more"] if len(tables) > 4 else []
        cells = (", ".join([*tables[:4], *more]), ", ".join(writing), ", ".join(unavailable(each)))
        lines.append(f"| **{each.name}** | {' | '.join(cells)} |")
    is_as_made(ROOT / "docs/supported.md", "engines", "\n".join(lines) + "\n")


def test_the_names_are_those_of_the_folders() -> None:
    *names, last = [f"**{each.name}**" for each in builtin()]
    is_as_made(ROOT / "README.md", "names", f"{', '.join(names)} and {last}.\n")


def test_the_engines_whose_input_can_be_edited_are_those_of_the_folders() -> None:
    (said,) = re.findall(r"`J` edits it .*? \(([\w, ]+)\)", (ROOT / "docs/on-call.md").read_text())
    edited = [each.name for each in builtin() if any(a.name == "edit" and a.writes for a in each.spec.actions)]
    assert said.split(", ") == edited


@pytest.mark.parametrize(
    ("page", "part"),
    [
        ("commands", "command_reference"),
        ("settings", "setting_reference"),
        ("settings", "key_reference"),
        ("settings", "threshold_reference"),
        ("filters", "filter_fields"),
        ("automation", "codes"),
    ],
)
def test_the_references_follow_from_the_definitions(page: str, part: str) -> None:
    is_as_made(ROOT / "docs" / f"{page}.md", part, getattr(pages, part)())


def test_the_filters_are_filters() -> None:
    table = (ROOT / "docs/filters.md").read_text().partition("## Fields")[0]
    terms = re.findall(r"(?m)^\| `([^`]+)` \|", table)
    assert len(terms) == 11
    for term in terms:
        assert parse(term).terms


def unavailable(engine: Engine) -> Iterator[str]:
    """Yield the actions that an engine lacks for some nodes, or in some variant."""
    writing = {action.name for action in engine.spec.actions if action.writes}
    for action in engine.spec.actions:
        if not action.writes:
            of = " ".join(
                [*action.when.values(), *(action.kinds if action.name in writing and not action.when else ())]
            )
            yield f"{action.name} ({of})" if of else action.name


def test_every_picture_is_there_and_made_by_the_script() -> None:
    pictures = set(re.findall(r"\]\((?:docs/)?screenshots/([^)]+)\.svg\)", DOCUMENTATION))
    assert {path.stem for path in SCREENSHOTS.iterdir()} == pictures == {*PICTURES, MOVING}


def test_the_pictures_are_as_wide_as_the_script_makes_them() -> None:
    others = {f"stuck_{view}": size for view, (size, _) in VIEWS.items()}
    for name in (*PICTURES, MOVING):
        svg = (SCREENSHOTS / f"{name}.svg").read_text()
        width = float(re.findall(r'viewBox="0 0 ([\d.]+) ', svg)[0])
        assert round((width - 2 * MARGIN) / CELL) == others.get(name, SIZE)[0], name


def test_every_picture_is_well_formed() -> None:
    for path in SCREENSHOTS.iterdir():
        assert ElementTree.parse(path).getroot().tag.endswith("}svg"), path.name


def test_the_readme_has_the_tree_of_each_of_five_engines() -> None:
    assert set(TREES) == set(re.findall(r"\(screenshots/tree_(\w+)\.svg\)", README))


def test_each_picture_shows_its_page() -> None:
    signs = {
        "dry_run": "Will change 2 tasks",
        "stuck": "incidents",
        **{f"tree_{engine}": "all jobs" for engine in TREES},
        "dag": "critical path",
        "dead_letters": "dead letters in",
        "detail": "Why it is stuck",
        "result": "2 changed",
        "audit": "children are done",
        "undo": "Undo: 2 tasks",
        "redrive": "same death",
        **{f"stuck_{view}": "To do:" for view in VIEWS},
    }
    wrong = [name for name in PICTURES if signs[name] not in (SCREENSHOTS / f"{name}.svg").read_text()]
    assert wrong == []


def test_one_picture_moves_and_is_small() -> None:
    svg = (SCREENSHOTS / f"{MOVING}.svg").read_text()
    assert len(svg.encode()) < 400_000
    assert svg.count("@keyframes") > 10
    assert not re.search(r"<script|href=|@import|url\(", svg)  # shown as an image, a page of GitHub allows none of them
    at = [svg.find(text) for text in ("lost", "Rows before and after", "changed", "children are done")]
    assert -1 not in at
