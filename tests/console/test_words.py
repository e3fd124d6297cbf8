"""Words on the screens are plain, explained, or from the database."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

import asyncpg
import pytest

from console.model.fields import audit_entry, change, dead_letter, hit, incident, node
from console.text.glossary import WORDS, words_in
from tests.command import ROOT
from tests.console.tui_driver import TuiDriver, run_tui
from tests.db.eternaltwin import EternaltwinDb

LIST = Path(__file__).with_name("words.txt")
SIZES = [(60, 20), (80, 24), (120, 35), (200, 50)]
LOOKED_UP = 10  # words of the first screen that a Python programmer may have to look up
WORD = re.compile(r"(?<![\w./:=@-])[a-z]{3,}(?![\w./:=@…~-])")  # no part of an identifier, path or cut text


def words(text: str) -> set[str]:
    return set(re.findall("[a-z]+", text.lower()))


def plain() -> set[str]:
    return words(LIST.read_text())


def engines() -> set[str]:
    """Words of the engines' folders, which help explains by engine."""
    return {word for path in (ROOT / "queries" / "engines").rglob("*.toml") for word in words(path.read_text())}


async def stored(dsn: str) -> set[str]:
    """Words of all rows of the database."""
    connection = await asyncpg.connect(dsn)
    tables = await connection.fetch(
        "SELECT format('%I.%I', schemaname, tablename) FROM pg_tables WHERE schemaname !~ '^(pg_|information_schema)'"
    )
    found = set[str]()
    for (table,) in tables:
        for (row,) in await connection.fetch(f"SELECT t::text FROM {table} t LIMIT 5000"):
            found |= words(row)
    await connection.close()
    return found


async def pages(tui: TuiDriver) -> list[str]:
    """Return what the first screens show."""
    shown = []
    for key, ready in (("2", "incident"), ("1", "status"), ("3", "error"), ("4", "when"), ("5", "change ")):
        await tui.press(key)
        await tui.wait_for(ready, lambda: "eading" not in tui.text and "● live" in tui.text)
        shown.append(tui.text)
    return shown


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_each_word_is_plain_or_explained(every_engine: str, tmp_path: Path, size: tuple[int, int]) -> None:
    known = plain() | {part for word in WORDS for part in words(word)} | engines() | await stored(every_engine)
    async with run_tui(every_engine, tmp_path, size=size, start="stuck") as tui:
        state = tui.app.session.state
        await tui.wait_for("● live", lambda: state.findings_loaded)
        found = {word for text in await pages(tui) for word in WORD.findall(text)}
    assert sorted(found - known) == [], f"plain words belong into {LIST.name}, others into console/text/glossary.py"


@pytest.mark.parametrize("size", [(80, 24), (120, 35)], ids=str)
async def test_few_words_of_the_first_screen_have_to_be_looked_up(
    every_engine: str, tmp_path: Path, size: tuple[int, int]
) -> None:
    async with run_tui(every_engine, tmp_path, size=size, start="stuck") as tui:
        state = tui.app.session.state
        await tui.wait_for("● live", lambda: state.findings_loaded)
        text = tui.text
    found = {word for word, _ in words_in(text)} - plain()
    assert len(found) <= LOOKED_UP, f"{sorted(found)}\n{text}"


async def test_help_explains_the_row_and_the_words_in_view(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    await eternaltwin_db.task(status="Blocked", timer=-7200)
    async with run_tui(eternaltwin, tmp_path, size=(120, 50), start="stuck") as tui:
        await tui.wait_for("▌", "overdue timer", "W wake", "W Wake", "◷ 1")
        await tui.press("question_mark")
        text = await tui.wait_for("The row", "Words of the screen", "Its time has not come.")
        assert "overdue timer  " in text.partition("Words of the screen")[0]
        assert "what it holds back: a title, or how many" in text.partition("Words of the screen")[2]
        assert "finding" not in text.partition("Words of the screen")[0].lower()


@pytest.mark.parametrize("fields", [audit_entry, change, dead_letter, hit, incident, node])
def test_each_heading_is_explained(fields: ModuleType) -> None:
    assert not [field.name for field in fields.FIELDS if field.title and not field.about]
