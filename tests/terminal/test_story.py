"""The story the console is for: somebody is called, looks around, finds what is stuck, and repairs it."""

from __future__ import annotations

import re

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
    demo.until("› eternaltwin › all jobs", "SendEmail", "2 what is stuck · enter why")
    first = demo.until(lambda: demo.at > 0).at
    demo.press("down", "down").until(lambda: demo.at == first + 2)
    demo.press("up").until(lambda: demo.at == first + 1)
    demo.press("right").until(lambda: "▾" in demo.under, lambda: re.match(" +[├└]", demo.rows[demo.at + 1]))
    demo.press("left").until(lambda: "▸" in demo.under)

    demo.press("/").until("words, field:value").type("phase:blocked").until("filter: phase:blocked")
    demo.until(lambda: jobs(demo) and all("blocked" in row for row in jobs(demo)))
    demo.press("enter").press("escape").without("filter:")


def jobs(demo: Terminal) -> list[str]:
    below = demo.rows.index(demo.row(" task  "))
    return [row for row in demo.rows[below:] if re.match("[▌ ] [▸▾] ", row)]


def find_the_lost_wake_up(demo: Terminal) -> None:
    demo.press("2").until("finding", lambda: demo.at > 0)
    while not re.search("lost wake-up +ArchiveHammerfest", demo.under):
        was = demo.under
        demo.press("down").until(lambda was=was: demo.under != was)
    demo.press("enter").until("Why it is stuck", "eternaltwin/task:", LOST, "nothing is left that could wake it")


def wake_it(demo: Terminal) -> None:
    ask(demo, "seen at three in the morning")
    demo.until("Blocked", "Available")
    demo.press("enter").until("Nothing was changed.").without("W changes 1 node")  # enter alone leaves it as it is

    ask(demo, "nobody else will")
    demo.press("W").until("1 changed", "transaction", "the table in this database")
    demo.press("enter").without("the table in this database")


def ask(demo: Terminal, reason: str) -> None:
    demo.press("W").until("Reason, for the audit log")
    demo.type(reason).until(reason)
    demo.until(re.compile(r"\[x\]"))  # without a timer: the finding that suggests the action says so
    demo.press("enter").until("Rows before and after", "Would change 1 node", "W changes 1 node")


def it_runs_on(demo: Terminal) -> None:
    demo.until(re.compile(f"{LOST} v3 +done"))


def the_audit_log_knows(demo: Terminal) -> None:
    demo.press("4").until(re.compile("wake.*nobody else will"), lambda: "at three" not in demo.text)


def leave(demo: Terminal) -> None:
    assert demo.leave("q") == 0
    assert demo.modes == set()
