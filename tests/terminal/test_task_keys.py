"""Number of keys for the common tasks of an operator, without the texts typed."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

from tests.command import environment
from tests.console.test_dead import dead
from tests.db.eternaltwin import EternaltwinDb
from tests.db.tasker import TaskerDb
from tests.proof import proof
from tests.simulators.tasker.data import Data
from tests.terminal.driver import Terminal, Wanted

# task -> keys
MOST = {
    "see the worst": 0,
    "wake it": 3,
    "cancel all of a kind": 4,
    "restart the job of a stuck task": 4,
    "resolve the dead letters of one cause": 5,
    "find by the id of an alert": 2,
    "what changed": 1,
    "who did what": 1,
    "hand over": 2,
}


class Operator:
    """Operator at a terminal whose keys are counted."""

    def __init__(self, terminal: Terminal) -> None:
        self.terminal = terminal
        self.keys = 0
        self.done: dict[str, int] = {}

    def press(self, key: str, *wanted: Wanted) -> None:
        self.keys += 1
        self.terminal.press(key).wait_for(*wanted)

    def paste(self, text: str, *wanted: Wanted) -> None:
        self.keys += 1
        self.terminal.paste(text).wait_for(*wanted)

    def act(self, key: str, number: int) -> None:
        """Run an action on what is under the cursor until it is committed."""
        self.press(key, "Reason, for the audit log")
        self.terminal.type("as agreed").wait_for("as agreed")
        self.press("enter", f"Will change {number}")
        self.press(key, f"{number} changed")

    def end(self, task: str) -> None:
        """Note how many keys a task took, and start to count again."""
        self.done[task], self.keys = self.keys, 0

    def away(self, key: str, *unwanted: Wanted) -> None:
        """Press a key that is not counted: it leaves what the last task has opened."""
        self.terminal.press(key).without(*unwanted)


def tasks(terminal: Terminal, node: str) -> dict[str, int]:
    operator = Operator(terminal)
    terminal.wait_for(re.compile(r"^▌ ▸ ‼ overdue timer .* 3 tasks .* W wake", re.MULTILINE))
    operator.end("see the worst")
    operator.act("W", 3)
    operator.end("wake it")
    operator.away("enter", "Close")
    terminal.wait_for(re.compile("! lost wakeup .* 4 tasks")).settled()
    while "lost wakeup" not in terminal.under:
        operator.press("down", "lost wakeup")
        terminal.settled()
    operator.act("C", 4)
    operator.end("cancel all of a kind")
    operator.away("enter", "Close")
    operator.press("5", "cancel", "wake")
    operator.end("what changed")
    audited = re.compile("▌.* cancel +4 changed"), re.compile(" wake +3 changed")
    operator.press("4", re.compile("action +outcome"), *audited)
    operator.end("who did what")
    terminal.press("*").wait_for("2 marked")
    operator.press("y", "Markdown")
    operator.press("enter", "Markdown.")
    operator.end("hand over")
    operator.paste(f"https://alerts.example/{node.rpartition(':')[2]}?from=pager", "Find")
    operator.press("enter", node)
    operator.end("find by the id of an alert")
    return operator.done


def restart(terminal: Terminal) -> int:
    operator = Operator(terminal)
    terminal.wait_for(re.compile(r"^▌ .* overdue timer .* W wake", re.MULTILINE))
    operator.press("R", "its job SendEmail v1 - 0/1", "R again")
    operator.press("R", "Reason, for the audit log")
    terminal.type("as agreed").wait_for("as agreed")
    operator.press("enter", "Will change 1 job")
    operator.press("R", "1 changed")
    return operator.keys


async def test_keys_to_restart_a_job(eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path) -> None:
    await eternaltwin_db.task(polled=0.5)
    await eternaltwin_db.task(status="Blocked", timer=-6000)
    with Terminal(eternaltwin, home=tmp_path, start="stuck", size=(140, 40)) as terminal:
        assert await asyncio.to_thread(restart, terminal) <= MOST["restart the job of a stuck task"]


async def test_keys_for_tasks(eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path) -> None:
    settings = Path(environment(tmp_path)["XDG_CONFIG_HOME"], "unstick", "config.toml")
    settings.parent.mkdir(parents=True)
    settings.write_text('[thresholds.eternaltwin]\nrunner_silent = "1h"\n')  # no runner polls
    await eternaltwin_db.task(polled=0.5)
    found = [await eternaltwin_db.task(status="Blocked", timer=-6000) for _ in range(3)]
    for _ in range(4):
        await eternaltwin_db.task(status="Blocked", polled=600)
    with Terminal(eternaltwin, home=tmp_path, start="stuck", size=(140, 40)) as terminal:
        counted = await asyncio.to_thread(tasks, terminal, str(found[0]))
    assert {task: keys for task, keys in counted.items() if keys > MOST[task]} == {}


def resolve(terminal: Terminal) -> int:
    operator = Operator(terminal)
    terminal.wait_for("● live", lambda: terminal.at > 0)
    operator.press("3", "43 dead letters in 2 groups")
    operator.press("down", lambda: "no such card" in terminal.under)
    operator.act("E", 40)
    return operator.keys


@proof
async def test_keys_to_resolve_forty_dead_letters(tasker_db: TaskerDb, tasker: str, tmp_path: Path) -> None:
    data = Data(1)
    dead(data, 40, error="no such card {n}")
    dead(data, 3)
    await tasker_db.write(data)
    with Terminal(tasker, home=tmp_path, start="stuck", size=(140, 40)) as terminal:
        assert await asyncio.to_thread(resolve, terminal) <= MOST["resolve the dead letters of one cause"]
    assert await tasker_db.value("SELECT count(*) FROM tasks_dlq WHERE resolution_status = 'pending'") == 3
