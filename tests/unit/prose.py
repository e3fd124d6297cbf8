"""Find old words of docs/glossary.md and docstrings that break the language rules."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
GLOSSARY = ROOT / "docs" / "glossary.md"
FOLDERS = ("console", "queries", "tests")
FILES_READ = ("*.md", "docs/*.md", "docs/compare/*.md", "Makefile", "pyproject.toml", "unstick.py")
ENDINGS = {".py", ".sql", ".toml", ".tcss", ".md", ".txt"}

# Regular expressions for old words with inflected forms, or with other meanings that stay. ~ is a space
# or a line break.
PATTERNS = {
    "rehearse": r"rehears\w+",
    "letter (alone)": r"(?<!dead )(?<!capital )(?<!case )(?<!dead-)letters?",
    "drops out": r"drop(s|ped|ping)?~out",
    "left out": r"(left|leaves?|leaving)~out",
    "let go": r"(lets?|letting)~go",
    "slowed down": r"slow(s|ed)?~down",
    "passed over": r"pass(es|ed)?~over",
    "failed for good": r"fail(s|ed|ing)?~for~good",
    "reminds of": r"reminds?~of",
    "come by": r"(comes?|came|coming)~by",
    "stands": r"(stand|stands|stood)",
    "lies": r"(lie|lies|lain)",
    "gone round": r"(goes|go|gone|went|going)~round",
    "would change": r"would~change~\d+~(node|task|job)s?",
}
# Words of the language that the glossary gives another meaning: only a reader can tell which one is meant.
AMBIGUOUS = {"system (for an engine)", "moved (outcome)", "busy (outcome)", "helps"}

# Names that other programs chose, and the pages that list the old words.
FOREIGN = {
    "docs/glossary.md": None,
    "tests/unit/prose.py": None,
    "queries/engines/*/schema.sql": None,
    "console/demo/server.py": {"nobody"},  # a user of the operating system
    "tests/queries/conftest.py": {"nobody"},
    "tests/queries/test_demo_server.py": {"nobody"},
    "tests/terminal/test_leaving.py": {"zombie"},  # the state of a process
}

RELATIVE = re.compile(r"(What|How|Where|Which|Whether|Who|Whoever|Why|When|As|Those|That)\b")
FIRST_LINE = 80  # characters


class Place(NamedTuple):
    path: str
    line: int
    found: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.found}"


@cache
def files() -> tuple[Path, ...]:
    """Every file that people read: code, SQL, engine texts and documentation."""
    sources = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in ENDINGS]
    pages = [path for pattern in FILES_READ for path in ROOT.glob(pattern)]
    return tuple(sorted(path for path in {*sources, *pages} if path.is_file()))


def old_words() -> list[str]:
    """Return the left column of the glossary's last table."""
    rows = re.findall(
        r"^\| ([^|]+) \| [^|]+ \|$", GLOSSARY.read_text().partition("\n## Words that are not used")[2], re.MULTILINE
    )
    return [old.strip().lower() for old in rows if old.strip() not in ("old", "---")]


def pattern(word: str) -> re.Pattern[str]:
    """Return a pattern for a word, its plural, and a phrase that a line break divides."""
    words = PATTERNS.get(word, re.escape(word).replace("\\ ", "~") + "s?").replace("~", r"\s+(?:(?:#|--) *)?")
    return re.compile(rf"(?:{words})(?!\w)")  # `starts` checks what is before it, which is ten times as fast


def plain(text: str) -> str:
    """Split identifiers into their words; the lines stay the same."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|_", " ", text)


def allowed(path: str, word: str) -> bool:
    return any(Path(path).match(name) and (words is None or word in words) for name, words in FOREIGN.items())


def starts(text: str, hit: re.Match[str]) -> bool:
    """Return True if a hit begins where a word begins."""
    before = text[hit.start() - 1 : hit.start()]
    return not (before.isalnum() or before == "_")


def old_words_in_use() -> list[Place]:
    """Return every place, file names included, where an old word is still used."""
    patterns = {word: pattern(word) for word in old_words() if word not in AMBIGUOUS}
    found = []
    for file in files():
        path = str(file.relative_to(ROOT))
        text = plain(path + "\n" + file.read_text())
        lower = text.lower()
        for word, expression in patterns.items():
            may_be = word in PATTERNS or word.split()[0] in lower  # ten times as fast as the expression
            if may_be and not allowed(path, word):
                hits = {text.count("\n", 0, hit.start()) for hit in expression.finditer(lower) if starts(lower, hit)}
                found += [Place(path, line, word) for line in sorted(hits)]
    return sorted(found)


def docstrings(paths: Iterable[Path]) -> Iterator[tuple[Path, int, str]]:
    """Yield path, line and first line of each docstring."""
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                text = ast.get_docstring(node)
                if text:
                    yield path, node.body[0].lineno, text.splitlines()[0]


def bad_first_lines() -> list[Place]:
    """Return docstring first lines that are too long or begin with a relative word."""
    found = [
        Place(str(path.relative_to(ROOT)), line, first)
        for path, line, first in docstrings(path for path in files() if path.suffix == ".py")
        if RELATIVE.match(first) or len(first) > FIRST_LINE
    ]
    return sorted(found)


def report(places: list[Place]) -> str:
    """Return the places, and their number by folder."""
    folders: dict[str, int] = {}
    for place in places:
        folder = str(Path(place.path).parent)
        folders[folder] = folders.get(folder, 0) + 1
    lines = [*map(str, places), *(f"{number:5} {folder}" for folder, number in sorted(folders.items()))]
    return "\n".join([*lines, f"{len(places)} places"])
