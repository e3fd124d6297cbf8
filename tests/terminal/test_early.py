"""The first incidents are on the terminal before the console has painted."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.db.eternaltwin import EternaltwinDb
from tests.terminal.driver import EARLY, Terminal

# The console's main program. Changes before it make the start slow.
PROGRAM = """
import sys, time
from console.cli.main import main
from console.tui import run
run.HEAD_START = 60
{slow}
sys.exit(main())
"""
HANGS = "run._app = lambda start: time.sleep(4)"
FAILS = "run._app = lambda start: 1 / 0"


def program(slow: str = "") -> tuple[str, ...]:
    return (sys.executable, "-c", PROGRAM.format(slow=slow))


async def overdue(db: EternaltwinDb) -> str:
    """Make an overdue timer; return its node."""
    return str(await db.task(status="Blocked", timer=-6000))


async def test_incidents_come_before_the_console(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    node = await overdue(eternaltwin_db)

    def watch() -> None:
        with Terminal(eternaltwin, home=tmp_path, start="stuck", command=program()) as terminal:
            terminal.wait_for("W wake", "overdue timer")
            early, _, painted = bytes(terminal.raw).partition(EARLY.encode())
            assert b"overdue timer" in early
            assert node.encode() in early
            assert b"overdue timer" in painted
            assert EARLY not in terminal.text
            assert 1049 in terminal.modes
            assert terminal.leave("q") == 0
            assert terminal.modes == set()

    await asyncio.to_thread(watch)


def interrupted(terminal: Terminal) -> None:
    terminal.wait_for(EARLY).signal(signal.SIGINT)


@pytest.mark.parametrize(
    ("slow", "end", "code"),
    [(HANGS, interrupted, 130), (FAILS, lambda terminal: None, 1)],
    ids=["interrupted", "failed"],
)
async def test_an_early_end_restores_the_terminal(
    slow: str,
    end: Callable[[Terminal], None],
    code: int,
    eternaltwin_db: EternaltwinDb,
    eternaltwin: str,
    tmp_path: Path,
) -> None:
    await overdue(eternaltwin_db)

    def watch() -> None:
        with Terminal(eternaltwin, home=tmp_path, start="stuck", command=program(slow)) as terminal:
            end(terminal)
            assert terminal.ended() == code
            assert EARLY.encode() in terminal.raw
            assert terminal.modes == set()
            assert "Traceback" not in terminal.text

    await asyncio.to_thread(watch)


@pytest.mark.parametrize("size", [(60, 10), (80, 24)])
async def test_early_incidents_fit_the_terminal(
    size: tuple[int, int], eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    for _ in range(20):
        await eternaltwin_db.task(status="Blocked", timer=-6000)
        await eternaltwin_db.task(status="Blocked", polled=600)
    columns, rows = size

    def watch() -> None:
        with Terminal(eternaltwin, home=tmp_path, start="stuck", command=program(HANGS), size=size) as terminal:
            terminal.wait_for(EARLY)
            assert terminal.rows[0].startswith("overdue timer")
            assert EARLY in terminal.rows[rows - 2]
            assert all(len(row) <= columns for row in terminal.rows)

    await asyncio.to_thread(watch)


@pytest.mark.parametrize(("name", "value"), [("TERM", "dumb"), ("NO_COLOR", "1")])
async def test_early_incidents_suit_the_terminal(
    name: str, value: str, eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    await overdue(eternaltwin_db)

    def watch() -> None:
        with Terminal(eternaltwin, home=tmp_path, start="stuck", command=program(), **{name: value}) as terminal:
            terminal.wait_for("overdue timer", "● live")
            early, sign, _ = bytes(terminal.raw).partition(EARLY.encode())
            assert bool(sign) == (name != "TERM")
            assert not sign or b"\x1b[31m" not in early
            assert terminal.leave("q") == 0

    await asyncio.to_thread(watch)
