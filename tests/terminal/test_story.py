"""An operator on call finds a stuck task and repairs it."""

from __future__ import annotations

import re
from pathlib import Path

from tests.terminal.driver import Terminal

LOST = "ArchiveHammerfestUser"


def test_from_the_first_look_to_the_repaired_task(demo: Terminal) -> None:
    look_around(demo)
    find_the_lost_wake_up(demo)
    wake_it(demo)
    it_runs_on(demo)
    the_audit_log_knows(demo)
    leave(demo)


def look_around(demo: Terminal) -> None:
    demo.wait_for("› eternaltwin › all jobs", "ArchiveDino", "press 2 to list what is stuck")
    first = demo.wait_for(lambda: demo.at > 0).at
    demo.press("down", "down").wait_for(lambda: demo.at == first + 2)
    demo.press("up", "up").wait_for(lambda: demo.at == first, lambda: "▾" in demo.under)  # open down to what is stuck
    demo.press("left").wait_for(lambda: "▸" in demo.under)
    demo.press("right").wait_for(lambda: "▾" in demo.under, lambda: re.match(" +[├└]", demo.rows[demo.at + 1]))

    demo.press("/").wait_for("words, field:value").type("phase:blocked").wait_for("filter: phase:blocked")
    demo.wait_for(lambda: jobs(demo) and all("blocked" in row for row in jobs(demo)))
    demo.press("enter").press("escape").without("filter:")


def jobs(demo: Terminal) -> list[str]:
    below = demo.rows.index(demo.row(" task  "))
    return [row for row in demo.rows[below:] if re.match("[▌ ] [▸▾] ", row)]


def find_the_lost_wake_up(demo: Terminal) -> None:
    demo.press("2").wait_for(re.compile(r"\d+ incidents"), lambda: demo.at > 0)  # all engines have answered
    demo.press("m").without(" folded")
    go_down_to(demo, "lost wakeup")
    demo.press("right")
    go_down_to(demo, "^▌ +[├└] +! lost wakeup +ArchiveHammerfest")
    demo.press("enter").wait_for("Why it is stuck", "eternaltwin/task:", LOST, "suggested action: W Wake")


def go_down_to(demo: Terminal, row: str) -> None:
    """Press down until the row is under the cursor.

    If it has moved up meanwhile, begin again at the top.
    """
    tops = 0
    while not re.search(row, demo.under):
        was = demo.under
        try:
            demo.press("down").wait_for(lambda was=was: demo.under not in ("", was), seconds=10).settled()
        except AssertionError:  # the last row
            tops += 1
            assert tops < 3, f"there is no {row} in:\n{demo.text}"
            demo.press("home")


def wake_it(demo: Terminal) -> None:
    ask(demo, "seen at three in the morning")
    demo.wait_for("Blocked", "Available")
    demo.press("escape").wait_for("Nothing was changed.").without("W apply to 1")

    ask(demo, "its wake-up was lost")
    demo.press("W").wait_for("1 changed", "transaction", "the table in this database")
    demo.press("enter").without("the table in this database")


def ask(demo: Terminal, reason: str) -> None:
    demo.press("W").wait_for("Reason, for the audit log")
    demo.type(reason).wait_for(reason)
    demo.wait_for(re.compile(r"\[x\]"))  # without a timer: the finding that suggests the action says so
    demo.press("enter").wait_for("Rows before and after", "Will change 1", "W apply to 1")


def it_runs_on(demo: Terminal) -> None:
    demo.wait_for(re.compile(f"{LOST} v3 +done"))


def the_audit_log_knows(demo: Terminal) -> None:
    demo.press("4").wait_for(re.compile("wake.*its wake-up was lost"), lambda: "at three" not in demo.text)


def leave(demo: Terminal) -> None:
    assert demo.leave("q") == 0
    assert demo.modes == set()


def test_it_starts_with_what_is_stuck(eternaltwin_demo: str, tmp_path: Path) -> None:
    with Terminal(eternaltwin_demo, home=tmp_path, start="stuck") as terminal:
        terminal.wait_for("lost wakeup", "incidents", "● live", lambda: terminal.at > 0)
        assert terminal.leave("q") == 0
