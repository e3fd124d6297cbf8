"""Demo of eternaltwin: the runner's protocol, and a row of everything in the data."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import datetime, timedelta
from random import Random
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import pytest

from console.demo.engine import Connection
from console.demo.run import Demo
from tests.servers import PostgresServer, both_versions
from tests.simulators.eternaltwin import Eternaltwin, Simulation
from tests.simulators.eternaltwin.data import make
from tests.simulators.eternaltwin.kinds import KINDS, CannotPoll, poll
from tests.simulators.eternaltwin.runner import Polled, Runner, Tick


class Steady(Random):
    """Chance without bad luck: no request ever fails."""

    def random(self) -> float:
        return 0.99


@pytest.fixture
async def db(eternaltwin: str) -> AsyncIterator[Connection]:
    connection = await asyncpg.connect(eternaltwin)
    yield connection
    await connection.close()


@pytest.fixture
async def demo_db(eternaltwin_demo: str) -> AsyncIterator[Connection]:
    connection = await asyncpg.connect(eternaltwin_demo)
    yield connection
    await connection.close()


async def new_task(
    db: Connection, kind: str, state: object, *, status: str = "Available", version: int | None = None
) -> UUID:
    raw = state if isinstance(state, bytes) else json.dumps(state).encode()
    job, task = uuid4(), uuid4()
    await db.execute("INSERT INTO job VALUES ($1, now() - interval '1 hour', NULL, $2)", job, raw)
    await db.execute(
        """INSERT INTO task VALUES ($1, $2, $3, $4, now() - interval '1 hour', NULL, 0, $5::text::task_status,
           '0', '0', $6, NULL)""",
        *(task, job, kind, KINDS[kind].version if version is None else version, status, raw),
    )
    return task


async def row(db: Connection, task: UUID) -> Any:
    found = await db.fetchrow("SELECT *, xmin::text AS xmin FROM task WHERE task_id = $1", task)
    assert found is not None
    return found


async def wait_for(true: Callable[[], Awaitable[bool]], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not await true():
        assert time.monotonic() < deadline, "it did not happen in time"
        await asyncio.sleep(0.02)


# One poll


@both_versions
async def test_a_step_raises_the_revision_and_adds_to_the_durations(db: Connection) -> None:
    task = await new_task(db, "ArchiveDinoparcUser", {"phase": "FetchDinoz", "polls": 2})
    runner = Runner(db, Steady(1))
    assert await runner.tick() == 1
    first = await row(db, task)
    assert first["revision"] == 1
    assert first["status"] == "Available"
    assert json.loads(first["state"])["polls"] == 3
    assert first["polled_at"]["time"] >= first["created_at"]
    assert 0 <= first["polled_at"]["salt"] < 65536
    await runner.tick()
    second = await row(db, task)
    assert second["revision"] == 2
    assert second["polled_at"]["time"] >= first["polled_at"]["time"]
    assert second["cpu_duration"] > first["cpu_duration"] > timedelta()
    assert second["poll_duration"] > second["cpu_duration"]


async def test_a_step_is_discarded_if_another_runner_was_faster(db: Connection) -> None:
    spawning = {"phase": "FetchForum", "spawn": 3}
    task = await new_task(db, "ArchiveHammerfestUser", spawning)
    runner = Runner(db, Steady(1))
    polled = await runner.read(task)
    assert polled is not None
    await db.execute("UPDATE task SET revision = revision + 1, status = 'Complete' WHERE task_id = $1", task)
    before = await row(db, task)
    assert not await runner.write(polled, Tick(await db.fetchval("SELECT now()"), 1))
    assert await row(db, task) == before
    assert await db.fetchval("SELECT count(*) FROM task") == 1
    assert (runner.polls, runner.misses) == (1, 1)


async def test_a_deleted_job_does_not_trouble_a_poll_of_it(db: Connection) -> None:
    task = await new_task(db, "ArchiveHammerfestUser", {"phase": "FetchForum", "spawn": 3})
    runner = Runner(db, Steady(1))
    polled = await runner.read(task)
    assert polled is not None
    await db.execute("DELETE FROM job")
    assert not await runner.write(polled, Tick(await db.fetchval("SELECT now()"), 1))
    assert await db.fetchval("SELECT count(*) FROM task") == 0


@pytest.mark.parametrize(
    ("kind", "version", "state"),
    [
        ("ArchiveDinoparcUser", 1, b'{"phase":"FetchBank"}'),
        ("ArchiveDinoparcUser", 2, b'{"phase":"Fetch\xff'),
        ("ArchiveDinoparcUser", 2, b'{"phase":"NoSuchPhase"}'),
        ("ArchiveDinoparcUser", 2, b"[1, 2]"),
        ("ArchiveDinoparcUser", 2, b'{"phase":"FetchDinoz","polls":"many"}'),
        ("ArchiveHammerfestUser", 3, b'{"phase":"AwaitChildren","children":"none"}'),
        ("SendEmail", 2, b'{"phase":"Deliver","parent":17}'),
        ("Unheard", 1, b'{"phase":"FetchBank"}'),
    ],
)
async def test_what_the_code_does_not_know_stays_as_it_is(
    db: Connection, kind: str, version: int, state: bytes
) -> None:
    task = await new_task(db, kind, state, version=version)
    before = await row(db, task)
    runner = Runner(db, Steady(1))
    assert await runner.tick() == 0
    assert await row(db, task) == before
    with pytest.raises(CannotPoll):
        poll(task, kind, version, state, 0, Random(1))


async def test_every_available_task_is_polled_once_in_a_tick_and_the_longest_ago_first(db: Connection) -> None:
    tasks = [await new_task(db, "ArchiveDinoparcUser", {"phase": "FetchDinoz"}) for _ in range(5)]
    seen: list[Polled] = []
    runner = Runner(db, Steady(1), on_poll=seen.append)
    at: datetime = await db.fetchval("SELECT now()")
    for number, task in enumerate(reversed(tasks)):
        await db.execute(
            "UPDATE task SET polled_at = row($2::timestamptz, 0)::job_tick WHERE task_id = $1",
            *(task, at - timedelta(minutes=9 - number)),
        )
    await runner.tick(at)
    assert [one.task_id for one in seen] == tasks[::-1]


# Timers


async def test_sleeping_sets_a_timer_in_the_same_transaction_and_its_firing_ends_both(db: Connection) -> None:
    task = await new_task(db, "Sleep", {"phase": "Sleep", "seconds": 30})
    runner = Runner(db, Steady(1))
    at: datetime = await db.fetchval("SELECT now()::timestamptz(3)")
    await runner.tick(at)
    assert (await row(db, task))["status"] == "Blocked"
    timer = await db.fetchrow("SELECT deadline, task_id, xmin::text FROM task_timer")
    assert timer is not None
    assert timer["deadline"] == at + timedelta(seconds=30)
    assert timer["xmin"] == (await row(db, task))["xmin"]
    await runner.tick(at + timedelta(seconds=29))
    assert (await row(db, task))["revision"] == 1
    await runner.tick(at + timedelta(seconds=30))
    done = await row(db, task)
    assert (done["status"], done["revision"]) == ("Complete", 2)
    assert done["output"] is not None
    assert await db.fetchval("SELECT count(*) FROM task_timer") == 0


async def test_a_timer_does_not_resurrect_a_complete_task(db: Connection) -> None:
    task = await new_task(db, "Sleep", {"phase": "Awake"}, status="Complete")
    await db.execute("INSERT INTO task_timer VALUES (now() - interval '1 min', $1)", task)
    before = await row(db, task)
    await Runner(db, Steady(1)).tick()
    assert await row(db, task) == before
    assert await db.fetchval("SELECT count(*) FROM task_timer") == 0


async def test_the_demos_fault_overlooks_timers_from_before_its_time(db: Connection) -> None:
    old = await new_task(db, "Sleep", {"phase": "Awake"}, status="Blocked")
    new = await new_task(db, "Sleep", {"phase": "Awake"}, status="Blocked")
    at: datetime = await db.fetchval("SELECT now()::timestamptz(3)")
    await db.execute("INSERT INTO task_timer VALUES ($1, $2), ($3, $4)", at, old, at + timedelta(seconds=1), new)
    await Runner(db, Steady(1), blind_before=at).tick(at + timedelta(seconds=5))
    assert (await row(db, old))["status"] == "Blocked"
    assert (await row(db, new))["status"] == "Complete"
    await Runner(db, Steady(1)).tick(at + timedelta(seconds=5))
    assert (await row(db, old))["status"] == "Complete"


# Children


async def test_children_are_born_with_their_parents_step_and_wake_it_when_complete(db: Connection) -> None:
    task = await new_task(db, "ArchiveHammerfestUser", {"phase": "FetchForum", "spawn": 3, "user": {"id": "1"}})
    runner = Runner(db, Steady(1))
    at: datetime = await db.fetchval("SELECT now()::timestamptz(3)")
    await runner.tick(at)
    parent = await row(db, task)
    children = await db.fetch("SELECT *, xmin::text AS xmin FROM task WHERE task_id <> $1", task)
    assert parent["status"] == "Blocked"
    assert sorted(json.loads(parent["state"])["children"]) == sorted(str(child["task_id"]) for child in children)
    assert {child["xmin"] for child in children} == {parent["xmin"]}
    assert {child["job_id"] for child in children} == {parent["job_id"]}
    assert {child["created_at"] for child in children} == {at}
    assert {json.loads(child["state"])["parent"] for child in children} == {str(task)}
    assert await db.fetchval("SELECT count(*) FROM task_timer") == 0
    for second in range(1, 120):
        await runner.tick(at + timedelta(seconds=second))
    assert await db.fetch("SELECT DISTINCT status::text FROM task") == [("Complete",)]
    assert runner.misses == 0


async def test_a_parent_woken_too_early_blocks_again(db: Connection) -> None:
    child = await new_task(db, "Sleep", {"phase": "Awake"}, status="Blocked")
    state = {"phase": "AwaitChildren", "children": [str(child)]}
    parent = await new_task(db, "ArchiveHammerfestUser", state)
    runner = Runner(db, Steady(1))
    await runner.tick()
    assert (await row(db, parent))["status"] == "Blocked"
    assert (await row(db, parent))["revision"] == 1
    assert json.loads((await row(db, parent))["state"]) == state


async def test_a_spinning_task_rises_in_revision_and_changes_nothing(db: Connection) -> None:
    task = await new_task(db, "RefreshForumThread", {"phase": "AwaitToken"})
    before = await row(db, task)
    runner = Runner(db, Steady(1))
    for _ in range(5):
        await runner.tick()
    after = await row(db, task)
    assert after["revision"] == 5
    assert (after["state"], after["status"]) == (before["state"], before["status"])


# The demo's data

FINDINGS = {
    "starved": """SELECT 1 FROM task WHERE status = 'Available' AND polled_at IS NULL
        AND created_at < now() - interval '1 h'""",
    "high revision": "SELECT 1 FROM task WHERE status = 'Available' AND revision > 100000",
    "overdue timer": "SELECT 1 FROM task_timer WHERE deadline < now() - interval '10 min'",
    "lost wakeup": """SELECT 1 FROM task t WHERE status = 'Blocked'
        AND NOT EXISTS (SELECT 1 FROM task_timer m WHERE m.task_id = t.task_id) AND NOT EXISTS (
            SELECT 1 FROM task o WHERE o.job_id = t.job_id AND o.task_id <> t.task_id AND o.status <> 'Complete')""",
    "timer left on a complete task": "SELECT 1 FROM task JOIN task_timer USING (task_id) WHERE status = 'Complete'",
    "timer left on an available task": "SELECT 1 FROM task JOIN task_timer USING (task_id) WHERE status = 'Available'",
    "version behind": """SELECT 1 FROM task t WHERE status = 'Available' AND (polled_at).time < now() - interval '1 day'
        AND kind_version < (SELECT max(kind_version) FROM task o WHERE o.kind = t.kind)""",
    "blocked leftovers below a complete root": """SELECT 1 FROM task t JOIN job USING (job_id)
        WHERE t.status = 'Complete' AND t.created_at = job.created_at
        AND EXISTS (SELECT 1 FROM task o WHERE o.job_id = t.job_id AND o.status = 'Blocked')""",
    "job without tasks": "SELECT 1 FROM job WHERE NOT EXISTS (SELECT 1 FROM task WHERE task.job_id = job.job_id)",
    "compute-bound": """SELECT 1 FROM task WHERE status = 'Available' AND cpu_duration > interval '1 h'
        AND cpu_duration > 0.9 * poll_duration""",
    "invalid UTF-8": r"SELECT 1 FROM task WHERE position('\xff'::bytea IN state) > 0",
    "raw escape": r"SELECT 1 FROM task WHERE position('\x1b'::bytea IN state) > 0",
    "10 MB": "SELECT 1 FROM task WHERE length(state) BETWEEN 9e6 AND 11e6",
    "months": "SELECT 1 FROM task WHERE extract(year FROM poll_duration) > 0 OR extract(month FROM poll_duration) > 0",
    "infinity": "SELECT 1 FROM task WHERE created_at = '-infinity' AND (polled_at).time = 'infinity'",
    "timer at the end of time": "SELECT 1 FROM task_timer WHERE deadline = 'infinity'",
}


async def missing(db: Connection) -> set[str]:
    return {name for name, query in FINDINGS.items() if not await db.fetchval(f"SELECT EXISTS ({query})")}


def test_the_same_seed_makes_the_same_data() -> None:
    one, same, other = make(7), make(7), make(8)
    assert one.tasks == same.tasks
    assert (one.jobs, one.timers, one.users) == (same.jobs, same.timers, same.users)
    assert {task[0] for task in one.tasks}.isdisjoint(task[0] for task in other.tasks)


@both_versions
async def test_there_is_one_of_everything_and_it_stays_while_the_runner_works(demo_db: Connection) -> None:
    assert await missing(demo_db) == set()
    assert 60 <= await demo_db.fetchval("SELECT count(*) FROM job") <= 90
    assert await demo_db.fetchval("SELECT max(n) FROM (SELECT count(*) n FROM task GROUP BY job_id) AS jobs") == 150
    at: datetime = await demo_db.fetchval("SELECT now()")
    runner = Runner(demo_db, Random(1), blind_before=at)
    for second in range(40):
        await runner.tick(at + timedelta(seconds=second))
    assert runner.polls > 100
    assert runner.misses == 0
    assert await missing(demo_db) == set()


async def test_every_root_is_as_old_as_its_job_and_no_task_is_older(demo_db: Connection) -> None:
    strange = await demo_db.fetchval(
        """SELECT count(*) FROM (
               SELECT min(task.created_at) <> min(job.created_at) AS orphaned,
                   count(*) FILTER (WHERE task.created_at = job.created_at) AS roots
               FROM task JOIN job USING (job_id) GROUP BY job_id) AS jobs
           WHERE orphaned OR roots <> 1"""
    )
    assert strange == 0


@pytest.mark.parametrize("what", ["lost wakeup", "overdue timer"])
async def test_what_is_stuck_on_purpose_runs_on_and_completes_when_woken(demo_db: Connection, what: str) -> None:
    column = "t.task_id" if what == "lost wakeup" else "task_id"
    query = FINDINGS[what].replace("SELECT 1", f"SELECT {column}", 1)
    if what == "lost wakeup":
        query += " AND kind = 'ArchiveHammerfestUser'"
    stuck = [found[0] for found in await demo_db.fetch(query)]
    assert len(stuck) == 3
    at: datetime = await demo_db.fetchval("SELECT now()")
    runner = Runner(demo_db, Steady(1), blind_before=at)
    await runner.tick(at)
    statuses = "SELECT DISTINCT status::text FROM task WHERE task_id = ANY ($1::uuid[])"
    assert await demo_db.fetch(statuses, stuck) == [("Blocked",)]
    await demo_db.execute("UPDATE task SET status = 'Available' WHERE task_id = ANY ($1::uuid[])", stuck)
    await demo_db.execute("DELETE FROM task_timer WHERE task_id = ANY ($1::uuid[])", stuck)
    for second in range(1, 4):
        await runner.tick(at + timedelta(seconds=second))
    assert await demo_db.fetch(statuses, stuck) == [("Complete",)]


async def test_restarting_a_done_job_from_its_initial_state_runs_it_to_its_end_again(demo_db: Connection) -> None:
    found = await demo_db.fetchrow(
        """SELECT task_id, job_id, initial_state FROM task JOIN job USING (job_id, created_at)
           WHERE kind = 'ArchiveHammerfestUser' AND status = 'Complete' LIMIT 1"""
    )
    assert found is not None
    root, job, state = found
    await demo_db.execute("DELETE FROM task WHERE job_id = $1 AND task_id <> $2", job, root)
    await demo_db.execute(
        """UPDATE task SET state = $2, status = 'Available', output = NULL, revision = revision + 1
           WHERE task_id = $1""",
        *(root, state),
    )
    at: datetime = await demo_db.fetchval("SELECT now()")
    runner = Runner(demo_db, Steady(1), blind_before=at)
    for number in range(60):
        await runner.tick(at + timedelta(seconds=number * 5))
    done = await demo_db.fetch("SELECT status::text FROM task WHERE job_id = $1", job)
    assert len(done) > 1
    assert {status for (status,) in done} == {"Complete"}


async def test_new_jobs_keep_arriving(db: Connection) -> None:
    worker = Eternaltwin().worker(db, 1)
    assert isinstance(worker, Simulation)
    for _ in range(30):
        await worker.tick()
    assert await db.fetchval("SELECT count(*) FROM job") == 2
    assert await db.fetchval("SELECT count(*) FROM task WHERE revision > 0") >= 2


# The whole demo


async def test_the_demo_works_and_comes_back_after_its_server_was_away(own_server: PostgresServer) -> None:
    demo = Demo(5, server=own_server)
    await demo.start()

    async def polled() -> Any:
        connection = await asyncpg.connect(demo.dsn)
        try:
            return await connection.fetchval(
                "SELECT max((polled_at).time) FROM eternaltwin.task WHERE status = 'Available'"
            )
        finally:
            await connection.close()

    async def works_on(since: Any) -> bool:
        return bool(await polled() > since)

    first = await polled()
    await wait_for(lambda: works_on(first))
    await asyncio.to_thread(own_server.halt, "immediate")
    await asyncio.to_thread(own_server.start)
    later = await polled()
    await wait_for(lambda: works_on(later))
    await demo.stop()
