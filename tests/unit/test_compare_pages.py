"""Claims of docs/compare about neighbours have their sources beside them.

The rule: a block is a paragraph, an item of a list, or a row of a table. Two kinds of blocks end with a comment
``<!-- source: WHERE, read YYYY-MM -->``: those that name a neighbour of the page, and the items below the heading
"Better in" with its name. Headings, code and the first row of a table need none.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.command import ROOT

NEIGHBOURS = {
    "oban-web": "Oban Web",
    "river-ui": "River",
    "pg-boss": "pg-boss|dashboard",
    "mission-control": "Mission Control",
    "pg-activity": "pg_activity",
    "psql": "psql",
    "agents-and-undo": "sw-postgres-mcp|mcp-postgres-guard|pg-airlock|pg_agent_gate|pgVolvra|EterDB",
}
PAGES = sorted((ROOT / "docs/compare").glob("*.md"))
SOURCE = re.compile(r"<!-- source: [^<>]{10,}, (run and )?read 20\d\d-(0[1-9]|1[0-2]) -->")


def blocks(text: str) -> list[tuple[str, str]]:
    """Return the paragraphs, items and rows of a page, each with the heading above it."""
    found, heading = [], ""
    for block in re.split(r"\n\s*\n|\n(?=[-|])", text):
        if block.startswith("#"):
            heading = block
        elif not block.startswith(("    ", "|---", "| tool |", "| |")):
            found.append((heading, block))
    return found


def without_source(text: str, names: str) -> list[str]:
    """Return the blocks that make a claim about a neighbour and have no source."""
    about = rf"## Better in (the )?({names})"
    return [
        block
        for heading, block in blocks(text)
        if (re.search(names, block) or (re.match(about, heading) and block.startswith("-")))
        and not SOURCE.search(block)
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_each_claim_about_a_neighbour_has_its_source(page: Path) -> None:
    names = NEIGHBOURS.get(page.stem, "|".join(NEIGHBOURS.values()))
    assert without_source(page.read_text(), names) == []


def test_a_claim_without_a_source_is_found() -> None:
    known = "It asks. <!-- source: example.org/changes 2.1, read 2026-11 -->"
    page = f"# A\n\nToad is a page.\n\n## Better in Toad\n\n- It sings.\n- {known}\n\n## Better in us\n\n- It reads.\n"
    assert without_source(page, "Toad") == ["Toad is a page.", "- It sings."]
    assert without_source("| Toad | all <!-- source: hearsay, read 2026-13 --> |", "Toad") != []
