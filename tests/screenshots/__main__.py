"""``python -m tests.screenshots`` writes ``screenshots/*.svg``: the demo's data, the real console, one story.

It waits for states of the screen, never for a time. What time it is and who is on call differ from run to run.
"""

from __future__ import annotations

import asyncio
import re
import sys
import tempfile
from pathlib import Path

from console.config import Context
from console.demo.run import FIRST, demo
from tests.console.stage import Stage, staged
from tests.screenshots.picture import picture

FOLDER = Path(__file__).parents[2] / "screenshots"
SIZE = (120, 36)


async def main() -> None:
    """Start the demo, play the story, keep its pictures."""
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        async with demo(1) as dsn:
            context = Context(name="demo", dsn=dsn, engine=FIRST)
            async with staged(dsn, Path(folder), size=SIZE, context=context, interval=2.0) as stage:
                await play(stage)


async def play(stage: Stage) -> None:
    """On call: what is stuck, where it stands in its tree, why, what would help, and what came of it."""
    await stage.until("● live", "all jobs", "stuck")
    await stage.press("2")
    await down_to(stage, "lost wake-up")
    await stage.until("W Wake")
    keep(stage, "stuck")

    await stage.press("o")
    await stage.until("lost wakeup", "W Wake")
    await stage.press(*["down"] * 9, *["up"] * 18, *["down"] * 9)  # with some rows above it and below
    await stage.until("lost wakeup", "RefreshForumThread v2", "W Wake")
    keep(stage, "tree")

    await stage.press("2")
    await stage.until("W Wake")
    await stage.press("enter")
    await stage.until("Why it is stuck", "Initial state", "W Wake")
    keep(stage, "detail")

    await stage.press("W")
    await stage.until("Reason, for the audit log")
    await stage.type("children are done, nobody woke it")
    await stage.press("enter")
    await stage.until("Rows before and after", "W changes 1 node")
    keep(stage, "dry_run")

    await stage.press("W")
    await stage.until("1 changed", "transaction")
    keep(stage, "result")

    await stage.press("enter")
    await stage.press("2")
    await down_to(stage, "timer overdue")
    await stage.until("W Wake")
    await stage.press("W")
    await stage.until("Reason, for the audit log")
    await stage.type("timer long past")
    await stage.press("enter")
    await stage.until("W changes 1 node")
    await stage.press("W")
    await stage.until("1 changed", "transaction")
    await stage.press("enter", "4")
    await stage.until("timer long past", "children are done")
    keep(stage, "audit")

    await stage.press("2")
    await down_to(stage, r"blocked by fail\S* +nightly_ledger")
    await stage.press("enter")
    await stage.until("Steps  ", "merge_regions", "publish")
    keep(stage, "dag")

    await stage.press("escape", "1")
    await stage.until("all jobs")
    labels = list(stage.app.session.engines)
    here = next(number for number, label in enumerate(labels) if f"› {label} ›" in stage.text)
    await stage.press(*["tab"] * ((labels.index("tasker") - here) % len(labels)))
    await stage.until("▸ tasker", "▸ shop")
    await down_to(stage, "▸ shop")
    await stage.press("right")
    await stage.until("▾ shop", "▸ fulfil_order")
    await stage.press("down", "right")
    await stage.until("▾ fulfil_order", "blocked by failures")
    keep(stage, "five")
    await stage.press("3")
    await stage.until("dead letters in", "never enter the dead-letter queue")
    await stage.press(*["down"] * 4)
    await stage.until("E Resolve dead letter")
    await stage.press("right")
    await stage.until("▾")
    keep(stage, "desk")

    await stage.press("question_mark")
    await stage.until("Keys everywhere")
    keep(stage, "help")


async def down_to(stage: Stage, title: str) -> None:
    """Put the list's cursor on the first row with this title."""
    await stage.press("home")
    while not re.search(f"^▌ *{title}", stage.text, re.MULTILINE):
        before = stage.text
        await stage.press("down")
        await stage.until(lambda before=before: stage.text != before)


def keep(stage: Stage, name: str) -> None:
    """Write the screen as it is."""
    path = FOLDER / f"{name}.svg"
    path.write_text(picture(stage.app, name))
    print(f"{path.relative_to(FOLDER.parent)}  {path.stat().st_size / 1024:.0f} kB", file=sys.stderr)


asyncio.run(main())
