"""The ten tasks of an operator, typed in a real terminal from the start screen.

``Operator`` counts the keys. A text with the Enter that ends it is one key, and so is a pasted text.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from queries.log import audit_log
from tests.command import environment, fetch
from tests.console.test_dead import dead
from tests.db.eternaltwin import EternaltwinDb
from tests.db.tasker import TaskerDb
from tests.proof import most_in_proof
from tests.queries.builders import do, opened
from tests.queries.test_mass import FAILED
from tests.servers import PostgresServer, all_engines_database
from tests.simulators.tasker.data import Data
from tests.terminal.driver import Terminal, Wanted

QUIET = '[thresholds.eternaltwin]\nrunner_silent = "1h"\n'  # no runner polls
COPIED = re.compile(rb"\x1b\]52;c;([A-Za-z0-9+/=]+)")  # to the terminal's clipboard
CHANGES = 250  # more than a page of the list

Start = Callable[[str], AbstractContextManager[Terminal]]


class Operator:
    """Operator at a terminal whose keys are counted."""

    def __init__(self, terminal: Terminal) -> None:
        self.terminal = terminal
        self.keys = 0

    def press(self, key: str, *wanted: Wanted) -> None:
        self.keys += 1
        self.terminal.press(key).wait_for(*wanted)

    def enter(self, text: str, *shown: Wanted) -> Terminal:
        """Type a text, wait until it is shown, and end it."""
        self.keys += 1
        return self.terminal.type(text).wait_for(text, *shown).press("enter")

    def paste(self, text: str, *wanted: Wanted) -> None:
        self.keys += 1
        self.terminal.paste(text).wait_for(*wanted)

    def give_a_reason(self, key: str, number: int) -> None:
        """Give a reason in the dialog of an action, and commit with its key."""
        self.terminal.wait_for("Reason, for the audit log")
        self.enter("as agreed").wait_for(f"{key} apply to {number} ")
        self.press(key, f"{number} changed", "Close")

    def act(self, key: str, number: int) -> None:
        """Run an action on what is under the cursor, and commit it."""
        self.press(key)
        self.give_a_reason(key, number)


@pytest.fixture
def start(tmp_path: Path) -> Start:
    """Function that starts the console on a database, with its start screen."""
    settings = Path(environment(tmp_path)["XDG_CONFIG_HOME"], "unstick", "config.toml")
    settings.parent.mkdir(parents=True)
    settings.write_text(QUIET)

    @contextmanager
    def started(dsn: str) -> Iterator[Terminal]:
        with Terminal(dsn, home=tmp_path, start="stuck", size=(140, 40)) as terminal:
            yield terminal.wait_for("● live", "2 now")

    return started


@pytest.fixture
async def due(eternaltwin_db: EternaltwinDb) -> list[str]:
    """Ids of three tasks whose timer is overdue, in one incident."""
    await eternaltwin_db.task(polled=0.5)
    return [eternaltwin_db.id(await eternaltwin_db.task(status="Blocked", timer=-6000)) for _ in range(3)]


def cursor_on(terminal: Terminal, text: str) -> None:
    """Wait until the cursor is on a row with this text."""
    terminal.wait_for(lambda: text in terminal.under)


async def statuses(db: EternaltwinDb) -> dict[str, int]:
    """Return the number of tasks of each status."""
    found = await db.connection.fetch("SELECT status::text, count(*) FROM task GROUP BY 1")
    return {row["status"]: row["count"] for row in found}


def test_see_the_worst(server: PostgresServer, start: Start) -> None:
    dsn = server.fresh("agent_jobs", filled=True)
    server.sql(FAILED["agent_jobs"].format(many=10_000, start=0, gap=0.01, error="gateway timeout"), dsn)
    with start(dsn) as terminal:
        terminal.wait_for(lambda: terminal.at > 0, "gateway timeout").settled()
        first = terminal.at
        assert "gateway timeout" in "\n".join(terminal.rows[first : first + 2]), terminal.text
    server.drop(dsn)


async def test_wake_it(eternaltwin_db: EternaltwinDb, eternaltwin: str, due: list[str], start: Start) -> None:
    with start(eternaltwin) as terminal:
        cursor_on(terminal, "overdue timer")
        operator = Operator(terminal)
        operator.act("W", 3)
        assert operator.keys <= 3
        assert await statuses(eternaltwin_db) == {"Available": 4}
        terminal.press("5").wait_for("by operators: 1 wake").without("Close")  # no key is needed to close the result


async def test_cancel_all_of_a_kind(eternaltwin_db: EternaltwinDb, eternaltwin: str, start: Start) -> None:
    for kind, number in (("SendEmail", 120), ("Archive", 3)):  # more than a list or a search reads at once
        await eternaltwin_db.tasks(await eternaltwin_db.jobs(number), kind=kind)
    with start(eternaltwin) as terminal:
        operator = Operator(terminal)
        operator.press(":", "Search for commands")
        operator.enter("cancel kind:task SendEmail", "Cancel: all tasks of eternaltwin that match")
        operator.give_a_reason("C", 120)
        assert operator.keys <= 4
    assert await statuses(eternaltwin_db) == {"Complete": 120, "Available": 3}


async def test_restart_the_job_of_a_stuck_task(eternaltwin_db: EternaltwinDb, eternaltwin: str, start: Start) -> None:
    await eternaltwin_db.task(status="Blocked", timer=-6000)
    with start(eternaltwin) as terminal:
        cursor_on(terminal, "overdue timer")
        operator = Operator(terminal)
        operator.press("R", "its job SendEmail v1 - 0/1", "R again")
        operator.act("R", 1)
        assert operator.keys <= 4
    assert await statuses(eternaltwin_db) == {"Available": 1}


async def test_resolve_forty_dead_letters_of_one_cause(tasker_db: TaskerDb, tasker: str, start: Start) -> None:
    data = Data(1)
    dead(data, 40, error="no such card {n}")
    dead(data, 3)
    await tasker_db.write(data)
    with start(tasker) as terminal:
        operator = Operator(terminal)
        operator.press("3", "43 dead letters in 2 groups")
        operator.press("down", lambda: "no such card" in terminal.under)
        operator.act("E", 40)
        assert operator.keys <= 5
    assert await tasker_db.value("SELECT count(*) FROM tasks_dlq WHERE resolution_status = 'pending'") == 3


@pytest.mark.parametrize(
    ("query", "text"),
    most_in_proof(
        [
            ("SELECT 'eternaltwin/task:' || task_id FROM eternaltwin.task LIMIT 1", "ALERT task {key} is late"),
            ("SELECT 'eternaltwin/task:' || task_id FROM eternaltwin.task LIMIT 1", "{full}"),
            (
                "SELECT 'tasker/step:' || workflow_step_uuid FROM tasker.workflow_steps LIMIT 1",
                "https://ops/steps/{key}?a=1",
            ),
            ("SELECT 'estuary/task:' || task_id FROM estuary.tasks LIMIT 1", "task_id={key} overdue"),
            ("SELECT 'agent_jobs/job:' || id FROM agent_jobs.jobs LIMIT 1", "{key}"),
            ("SELECT 'uni2work/job:' || max(id) FROM uni2work.queued_job", '{{"job_id": {key}, "level": "error"}}'),
        ],
    ),
)
def test_find_the_id_of_an_alert(every_engine: str, start: Start, query: str, text: str) -> None:
    full = str(fetch(every_engine, query)[0][0])
    with start(every_engine) as terminal:
        operator = Operator(terminal)
        operator.paste(text.format(full=full, key=full.partition(":")[2]), "Find in all engines")
        operator.press("enter", "Recorded", full)
        assert operator.keys <= 2


async def test_changed_in_ten_minutes(server: PostgresServer, start: Start) -> None:
    dsn = await all_engines_database(server, "eternaltwin", "agent_jobs")
    server.sql(
        f"""INSERT INTO agent_jobs.jobs (job_id, agent_id, user_id, status, error, created_at, completed_at, updated_at)
        SELECT 'fresh ' || n, a.id, a.user_id, 'failed', 'gateway timeout', now() - interval '10 minutes',
               now() - n * interval '1 s', now() - n * interval '1 s'
          FROM generate_series(1, {CHANGES}) AS n, (SELECT id, user_id FROM agent_jobs.agents LIMIT 1) AS a""",
        dsn,
    )

    def finished() -> int:
        """Return the number of finished jobs that the page names."""
        return max(map(int, re.findall(r"agent_jobs: (\d+) finished", terminal.text)), default=0)

    with start(dsn) as terminal:
        operator = Operator(terminal)
        operator.press("5", lambda: finished() >= CHANGES, re.compile(r"eternaltwin: \d+ "))
        assert operator.keys <= 1
    server.drop(dsn)


async def test_who_did_what(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, due: list[str], start: Start, tmp_path: Path
) -> None:
    await eternaltwin_db.sql(audit_log.ddl())
    workspace = await opened(eternaltwin, tmp_path)
    await do(workspace, "wake", due[:1])
    await workspace.close()
    with start(eternaltwin) as terminal:
        operator = Operator(terminal)
        operator.press("4", re.compile(f"(?m)^▌.* wake +1 changed +{due[0]} +postgres \\(anna@laptop\\) "))
        assert operator.keys <= 1


async def test_undo(eternaltwin_db: EternaltwinDb, eternaltwin: str, due: list[str], start: Start) -> None:
    await eternaltwin_db.sql(audit_log.ddl())
    with start(eternaltwin) as terminal:
        cursor_on(terminal, "overdue timer")
        operator = Operator(terminal)
        operator.act("W", 3)
        operator.keys = 0
        operator.act("U", 3)  # from the result
        assert operator.keys <= 3
        assert await statuses(eternaltwin_db) == {"Blocked": 3, "Available": 1}
        operator.keys = 0
        operator.press("4", re.compile("(?m)^▌.* undo "))
        operator.act("U", 3)  # from the log: it undoes the undo
        assert operator.keys <= 4
        assert await statuses(eternaltwin_db) == {"Available": 4}


async def test_hand_over(eternaltwin: str, due: list[str], start: Start) -> None:
    with start(eternaltwin) as terminal:
        cursor_on(terminal, "overdue timer")
        operator = Operator(terminal)
        operator.press("H", "shift as Markdown")
        operator.press("enter", "Sent to the terminal: shift as Markdown.")
        assert operator.keys <= 2
        copied = base64.b64decode(COPIED.findall(bytes(terminal.raw))[-1]).decode()
    assert "overdue timer" in copied.split("## ")[1]
