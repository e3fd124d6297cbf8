"""Write ``screenshots/*.svg`` from the demo: ``python -m tests.screenshots``.

It waits for texts on the screen, never for a time. Times and names differ between runs.
"""

from __future__ import annotations

import asyncio
import re
import sys
import tempfile
from pathlib import Path

from console.config import Context
from console.demo.run import FIRST, demo
from tests.console.tui_driver import TuiDriver, run_tui
from tests.screenshots.picture import picture

FOLDER = Path(__file__).parents[2] / "screenshots"
SIZE = (120, 36)


async def main() -> None:
    """Start the demo, press the keys, save the screenshots."""
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        async with demo(1) as dsn:
            context = Context(name="demo", dsn=dsn, engine=FIRST)
            async with run_tui(dsn, Path(folder), size=SIZE, context=context, interval=2.0) as tui:
                await play(tui)


async def play(tui: TuiDriver) -> None:
    """Find a stuck task, open it, repair it, and show the other screens."""
    await tui.wait_for("● live", "all jobs", "stuck")
    await tui.press("2")
    await down_to(tui, "lost wakeup")
    await tui.wait_for("W Wake")
    await tui.press("right", "down")
    await tui.wait_for(lambda: under(tui).lstrip("▌ ").startswith("lost wakeup"), "W Wake")
    keep(tui, "stuck")

    await tui.press("o")
    await tui.wait_for("lost wakeup", "W Wake")
    await tui.press(*["down"] * 9, *["up"] * 18, *["down"] * 9)  # with some rows above it and below
    await tui.wait_for("lost wakeup", "RefreshForumThread v2", "W Wake")
    keep(tui, "tree")

    await tui.press("2")
    await tui.wait_for("W Wake")
    await tui.press("enter")
    await tui.wait_for("Why it is stuck", "Initial state", "W Wake")
    keep(tui, "detail")

    await tui.press("W")
    await tui.wait_for("Reason, for the audit log")
    await tui.type("children are done, wake-up missed")
    await tui.press("enter")
    await tui.wait_for("Rows before and after", "W apply to 1")
    keep(tui, "dry_run")

    await tui.press("W")
    await tui.wait_for("1 changed", "transaction")
    keep(tui, "result")

    await tui.press("enter")
    await tui.press("2")
    await down_to(tui, "overdue timer")
    await tui.wait_for("W Wake")
    await tui.press("W")
    await tui.wait_for("Reason, for the audit log")
    await tui.type("timer long past")
    await tui.press("enter")
    await tui.wait_for("W apply to ")
    await tui.press("W")
    await tui.wait_for(" changed", "Close")
    await tui.press("enter", "4")
    await tui.wait_for("timer long past", "children are done")
    keep(tui, "audit")

    await tui.press("3")
    await tui.wait_for("nightly_report")
    await down_to(tui, ".*nightly_report")
    await tui.press("right", "down", "enter")
    await tui.wait_for("Steps  ", "merge_regions", "publish")
    keep(tui, "dag")

    await tui.press("escape", "1")
    await tui.wait_for("all jobs")
    labels = list(tui.app.session.engines)
    here = next(number for number, label in enumerate(labels) if f"› {label} ›" in tui.text)
    await tui.press(*["tab"] * ((labels.index("tasker") - here) % len(labels)))
    await tui.wait_for("▸ tasker", "▸ shop")
    await down_to(tui, "▸ shop")
    await tui.press("right")
    await tui.wait_for("▾ shop", "▸ fulfil_order")
    await tui.press("down", "right")
    await tui.wait_for("▾ fulfil_order", "blocked by failures")
    keep(tui, "engines")
    await tui.press("3")
    await tui.wait_for("dead letters in")
    while "E Resolve dead letter" not in tui.text or "▸" not in under(tui):
        await tui.press("down")
        await tui.pilot.pause()
    await tui.press("right")
    await tui.wait_for(lambda: "▾" in under(tui))
    keep(tui, "dead_letters")

    await tui.press("question_mark")
    await tui.wait_for("Keys everywhere")
    keep(tui, "help")


async def down_to(tui: TuiDriver, title: str) -> None:
    """Put the list's cursor on the first row with this title."""
    await tui.press("home")
    while not re.search(rf"^▌[ ▸▾]*(\d )?{title}", tui.text, re.MULTILINE):
        before = tui.text
        await tui.press("down")
        await tui.wait_for(lambda before=before: tui.text != before)


def under(tui: TuiDriver) -> str:
    """Return the line under the cursor."""
    return next((line for line in tui.text.splitlines() if line.startswith("▌")), "")


def keep(tui: TuiDriver, name: str) -> None:
    """Write the screen as it is."""
    path = FOLDER / f"{name}.svg"
    path.write_text(picture(tui.app, name))
    print(f"{path.relative_to(FOLDER.parent)}  {path.stat().st_size / 1024:.0f} kB", file=sys.stderr)


asyncio.run(main())
