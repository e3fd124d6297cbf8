"""English of the docs: few clauses with "what" as a noun, many a "you".

Only text that a person wrote for the page counts. Code does not count (fenced, indented, between backticks),
nor do comments and the blocks ``<!-- name -->`` to ``<!-- end -->`` that other tests make from the code. A
question may have a "what": a sentence or heading that ends with a question mark. So may a cell of one word.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import pytest

from tests.command import ROOT
from tests.unit.test_docs import DOCUMENTS

pytestmark = pytest.mark.fast

CLAUSES_PER_1000 = 1.0
YOU_PER_1000 = 10.0
WRITTEN = "steps"  # the only block that a test reads and does not make

NOT_COUNTED = re.compile(
    rf"(?ms)^<!-- (?!{WRITTEN} |end )\w+ -->$.*?^<!-- end -->$|^ *```.*?^ *```$|<!--.*?-->|(?:^ {{4}}\S.*?$\n?)+"
)
CLAUSE = re.compile(r"(?i)\b(?:what(?:ever)?|who(?:m)?ever|which of|also if)\b")
YOU = re.compile(r"(?i)\byou(?:r|rs|rself)?\b")
WORD = re.compile(r"[A-Za-z][\w'-]*")
ENDS = re.compile(  # a paragraph, an item, a row, a cell, a sentence
    r"\n\s*\n|\n(?= *(?:[-*#|]|\d+\.))| \| |^\| |(?<=[.:;])\s+(?=[A-Z*])|(?<=[?!])\s|(?<=[?!][\"*])\s"
)


class English(NamedTuple):
    words: int
    clauses: list[str]
    you: int

    def __str__(self) -> str:
        per = 1000 / max(1, self.words)
        return f"{per * len(self.clauses):5.1f} clauses {per * self.you:5.1f} you in 1,000 of {self.words:6,} words"


def sentences(page: str) -> list[str]:
    """Return sentences, headings and cells of a page; each code is one word."""
    text = re.sub(r"\]\([^)]*\)", "]", re.sub(r"`[^`]*`", "CODE", NOT_COUNTED.sub("\n\n", page)))
    return [" ".join(each.strip("|-*# \n").split()) for each in ENDS.split(text) if each.strip("|-*# \n")]


def english(page: str) -> English:
    said = sentences(page)
    clauses = [each for each in said if " " in each and not each.endswith(("?", '?"')) for _ in CLAUSE.findall(each)]
    return English(sum(len(WORD.findall(each)) for each in said), clauses, sum(len(YOU.findall(each)) for each in said))


@pytest.mark.parametrize(
    "clause",
    [
        "It lists what is stuck.",
        "# What it does",
        "| read | what you see |",
        "Whatever holds the lock has to end.",
        "It ends, also if a row is\ngone.",
        "What is stuck? It says what.",
        "- two nodes, which of them is first",
        "<!-- steps -->\n| 1 | what it means |\n<!-- end -->",
    ],
)
def test_a_clause_counts(clause: str) -> None:
    assert len(english(clause).clauses) == 1


@pytest.mark.parametrize(
    "text",
    [
        "## What is stuck?",
        'You ask: "What else starts?" It says so.',
        "| what | psql |\n|---|---|\n| whatever | the server |",
        "Press `what` or [this](what.md).\n\n    unstick what is typed\n    and what follows",
        "```sh\n# what it runs\n```\nIt also reads it if you ask. <!-- what a comment says -->",
        "<!-- made -->\n| also if | what it is |\n<!-- end -->\nSomewhat whatsoever.",
    ],
)
def test_no_clause_counts(text: str) -> None:
    assert english(text).clauses == []


def test_words_and_readers_are_counted() -> None:
    assert english("You press `a b`, and your\nown [list](you.md) opens.\n\n    you type\n") == (8, [], 2)


def test_the_docs_address_the_reader_without_nouns_that_are_clauses() -> None:
    pages = {str(path.relative_to(ROOT)): english(path.read_text("utf-8")) for path in DOCUMENTS}
    every = English(
        sum(page.words for page in pages.values()),
        [f"{name}: {clause}" for name, page in pages.items() for clause in page.clauses],
        sum(page.you for page in pages.values()),
    )
    report = "\n".join([*every.clauses, *(f"{page}  {name}" for name, page in pages.items()), f"{every}  in all"])
    assert 1000 * len(every.clauses) <= CLAUSES_PER_1000 * every.words, report
    assert 1000 * every.you >= YOU_PER_1000 * every.words, report
