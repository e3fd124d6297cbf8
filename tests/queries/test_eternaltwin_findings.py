"""Findings of eternaltwin: nodes with and without them, thresholds and caps."""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from queries.contract import detect
from queries.contract.builtin import builtin
from queries.read import details
from queries.records.finding import Finding
from queries.workspace import Workspace
from tests.db.eternaltwin import LABEL, EternaltwinDb
from tests.queries.builders import opened, reader
from tests.servers import PostgresServer, both_versions

SPEC = next(s for s in builtin() if s.name == LABEL).spec
RUNNER = f"{LABEL}/runner:runner"
HOUR = 3600

Make = Callable[[EternaltwinDb, str], Awaitable[uuid.UUID]]


def task(**columns: Any) -> Make:
    async def make(eternaltwin_db: EternaltwinDb, kind: str) -> uuid.UUID:
        return await eternaltwin_db.task(kind=kind, **columns)

    return make


def blocked(*, others: str | None, age: float = HOUR, **columns: Any) -> Make:
    """Create a Blocked task without a timer; its root has the status ``others``."""

    async def make(eternaltwin_db: EternaltwinDb, kind: str) -> uuid.UUID:
        job = await eternaltwin_db.job()
        if others:
            await eternaltwin_db.task(job, status=others, age=2 * HOUR, kind="Root")
        return await eternaltwin_db.task(job, status="Blocked", age=age, kind=kind, **columns)

    return make


def behind(*, newer: float | None, **columns: Any) -> Make:
    """Create tasks of versions 1 and 2; the latter was polled ``newer`` seconds ago."""

    async def make(eternaltwin_db: EternaltwinDb, kind: str) -> uuid.UUID:
        await eternaltwin_db.task(kind=kind, version=2, age=HOUR, polled=newer)
        return await eternaltwin_db.task(kind=kind, version=1, age=HOUR, **columns)

    return make


# For each finding: a case with it, a case just below its threshold, a case with another threshold of the kind.
CASES: dict[str, tuple[list[Make], list[Make], tuple[Make, float] | None]] = {
    "overdue_timer": (
        [task(status="Blocked", timer=-90), task(status="Blocked", timer=-HOUR)],
        [task(status="Blocked", timer=-50), task(status="Blocked", timer=20), task(status="Available", timer=-90)],
        (task(status="Blocked", timer=-50), 30),
    ),
    "late": (
        [task(polled=None, revision=0, age=700), behind(newer=5, polled=700), behind(newer=5, polled=None)],
        [
            task(polled=None, age=500),
            task(polled=1, age=HOUR),
            task(polled=None, age=700, status="Blocked", timer=9),
            behind(newer=5, polled=500),
            behind(newer=700, polled=800),
            behind(newer=None, polled=800),
            behind(newer=5, polled=700, status="Complete"),
        ],
        (behind(newer=5, polled=500), 400),
    ),
    "lost_wakeup": (
        [blocked(others=None, polled=70), blocked(others="Complete", polled=None), blocked(others=None, polled=HOUR)],
        [
            blocked(others=None, polled=50),
            blocked(others="Available", polled=70),
            blocked(others="Blocked", polled=70),
            blocked(others=None, polled=70, timer=9),
            task(status="Complete", polled=HOUR, age=HOUR),
        ],
        (blocked(others=None, polled=50), 40),
    ),
    "orphaned_task": (
        [blocked(others="Complete"), blocked(others="Complete", timer=30)],
        [blocked(others="Available"), blocked(others=None), task(status="Complete")],
        None,
    ),
    "compute_bound": (
        [task(revision=2, cpu=11, poll=11.5)],
        [
            task(revision=2, cpu=3.9, poll=4),
            task(revision=2, cpu=11, poll=13),
            task(revision=0, cpu=11, poll=11),
            task(revision=2, cpu=11, poll=11, status="Complete"),
        ],
        (task(revision=2, cpu=3.9, poll=4), 1),
    ),
    "leftover_timer": (
        [task(status="Complete", timer=-60), task(status="Available", timer=60)],
        [task(status="Blocked", timer=60), task(status="Available")],
        None,
    ),
}


async def found(workspace: Workspace, code: str, **options: Any) -> dict[str, Finding]:
    findings = await reader(workspace).findings.read(**options)
    assert findings.skipped_findings == ()
    return {f.node_id: f for f in findings.findings if f.code == code}


def test_every_finding_is_covered_here() -> None:
    independent = {"runner_silent", "runner_stalled", "spinning", "busy_polling", "empty_job", "crowded"}
    in_other_files = {
        "runner_clock_ahead", "runner_clock_behind", "polls_dated_back",
        "timers_not_taken", "deadlocked", "impossible_times", "created_ahead", "due_far_ahead", "schedule_missed",
    }  # fmt: skip
    assert {f.code for f in SPEC.findings} == {*CASES, *independent, *in_other_files}


@both_versions
@pytest.mark.parametrize("code", CASES)
async def test_it_is_about_these_and_not_about_their_neighbours(
    eternaltwin_db: EternaltwinDb, workspace: Workspace, code: str
) -> None:
    yes, no, _ = CASES[code]
    ids = [eternaltwin_db.id(await make(eternaltwin_db, f"Yes{n}")) for n, make in enumerate(yes)]
    others = [eternaltwin_db.id(await make(eternaltwin_db, f"No{n}")) for n, make in enumerate(no)]
    there = await found(workspace, code)
    assert set(ids) <= set(there)
    assert not set(others) & set(there)

    spec = next(f for f in SPEC.findings if f.code == code)
    finding = there[ids[0]]
    assert (finding.title, finding.severity, finding.proof, finding.action) == (
        spec.title, spec.severity, spec.proof, spec.action
    )  # fmt: skip
    assert "?" not in finding.sentence
    assert "{" not in finding.sentence
    assert finding.since is not None
    assert finding.evidence

    assert set(await found(workspace, code, ids=[ids[0], others[0]])) == {ids[0]}
    assert await found(workspace, code, ids=others) == {}
    detail = await details.read(reader(workspace), ids[0])
    assert detail is not None
    assert code in {f.code for f in detail.findings}
    assert code in detail.node.findings


@pytest.mark.parametrize("code", [code for code, case in CASES.items() if case[2]])
async def test_its_threshold_can_be_set_by_kind(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path, code: str
) -> None:
    override = CASES[code][2]
    assert override is not None
    make, limit = override
    touchy, usual = (
        eternaltwin_db.id(await make(eternaltwin_db, "Touchy")),
        eternaltwin_db.id(await make(eternaltwin_db, "Usual")),
    )
    for overrides, expected in (
        ({}, set()),
        ({"Touchy": {code: limit}}, {touchy}),
        ({code: limit}, {touchy, usual}),
        ({code: limit, "Touchy": {code: 1e9}}, {usual}),
    ):
        workspace = await opened(eternaltwin, tmp_path, overrides={LABEL: overrides})
        assert set(await found(workspace, code)) & {touchy, usual} == expected
        await workspace.close()


@pytest.mark.parametrize("code", CASES)
async def test_more_than_asked_for_is_said_to_be_capped(
    eternaltwin_db: EternaltwinDb, workspace: Workspace, code: str
) -> None:
    ids = {eternaltwin_db.id(await CASES[code][0][0](eternaltwin_db, f"Kind{n}")) for n in range(3)}
    for page, capped in ((2, True), (3, False)):
        findings = await reader(workspace).findings.read(ids=ids, limit=page)
        assert len([f for f in findings.findings if f.code == code]) == page
        assert (code in findings.capped) == capped


async def test_the_worst_come_first_and_then_the_oldest(eternaltwin_db: EternaltwinDb, workspace: Workspace) -> None:
    newer, older = [await eternaltwin_db.task(status="Blocked", timer=-age) for age in (100, 1000)]
    leftover = await eternaltwin_db.task(status="Complete", timer=60)
    findings = await reader(workspace).findings.read()
    assert [(f.code, f.node_id) for f in findings.findings] == [
        ("overdue_timer", eternaltwin_db.id(older)),
        ("overdue_timer", eternaltwin_db.id(newer)),
        ("leftover_timer", eternaltwin_db.id(leftover)),
    ]  # fmt: skip


# Jobs, and the runner


@both_versions
async def test_a_job_without_tasks(
    eternaltwin_db: EternaltwinDb, workspace: Workspace, eternaltwin: str, tmp_path: Path
) -> None:
    old, new, full = (
        await eternaltwin_db.job(age=HOUR),
        await eternaltwin_db.job(age=60),
        await eternaltwin_db.job(age=HOUR),
    )
    await eternaltwin_db.task(full, status="Complete")
    there = await found(workspace, "empty_job")
    assert set(there) == {eternaltwin_db.id(old, "job")}
    assert there[eternaltwin_db.id(old, "job")].action == "delete"
    assert await found(workspace, "empty_job", ids=[eternaltwin_db.id(full, "job")]) == {}
    again = await opened(eternaltwin, tmp_path, overrides={LABEL: {"empty_job": 30.0}})
    assert set(await found(again, "empty_job")) == {eternaltwin_db.id(old, "job"), eternaltwin_db.id(new, "job")}
    assert (await reader(again).findings.read(limit=1)).capped == ("empty_job",)
    await again.close()


MANY = """INSERT INTO task (task_id, job_id, kind, kind_version, created_at, polled_at, revision, status,
                                cpu_duration, poll_duration, state)
          SELECT gen_random_uuid(), $1::uuid, 'CrawlUserPage', 1, now() - make_interval(secs => $3::int),
                 CASE WHEN n % 2 = 0 THEN row(now() - interval '5 s', 0)::job_tick END, 1, 'Available',
                 '0 s', '0 s', '{}'
            FROM generate_series(1, $2::int) n"""


@both_versions
@pytest.mark.parametrize(
    ("own", "others", "waits", "says"),
    [
        (980, 20, 300, "owns 980 of 1000 Available tasks (98 %). 20 tasks of other jobs wait, the first for 5m00s"),
        (5_200, 20, 300, "of 5000 that were read"),
        (980, 20, 30, ""),  # they get their turns
        (980, 200, 300, ""),
        (300, 3, 300, ""),
        (980, 0, 300, ""),
    ],
)
async def test_a_job_that_owns_nearly_all_waiting_tasks(
    eternaltwin_db: EternaltwinDb, workspace: Workspace, own: int, others: int, waits: int, says: str
) -> None:
    owner, other = await eternaltwin_db.job(age=HOUR), await eternaltwin_db.job(age=HOUR)
    await eternaltwin_db.task(other, polled=waits) if others else None
    await eternaltwin_db.sql(MANY, owner, own, HOUR)
    await eternaltwin_db.sql(MANY, other, max(others - 1, 0), waits)
    there = await found(workspace, "crowded")
    assert set(there) == ({eternaltwin_db.id(owner, "job")} if says else set())
    for finding in there.values():
        assert says in finding.sentence
        assert finding.action is None, "it may be meant to"
    assert set(await found(workspace, "crowded", ids=[eternaltwin_db.id(other, "job")])) == set()


@both_versions
async def test_a_silent_runner(eternaltwin_db: EternaltwinDb, workspace: Workspace) -> None:
    assert await found(workspace, "runner_silent") == {}, "nothing waits"
    fresh = await eternaltwin_db.task(polled=None, age=5)
    assert await found(workspace, "runner_silent") == {}, "nothing waits for long"
    await eternaltwin_db.task(polled=100, age=HOUR)
    for status in ("Available", "Complete"):
        broken = await eternaltwin_db.task(polled=5, status=status)
        await eternaltwin_db.sql("UPDATE task SET polled_at = row('infinity', 0)::job_tick WHERE task_id = $1", broken)
    there = (await found(workspace, "runner_silent"))[RUNNER]
    assert there.evidence["waiting"] == "3", "a poll at infinity is ignored"
    assert there.evidence["ahead"] == ""
    assert await found(workspace, "runner_silent", ids=[eternaltwin_db.id(fresh)]) == {}
    assert set(await found(workspace, "runner_silent", ids=[RUNNER])) == {RUNNER}
    await eternaltwin_db.task(polled=5, status="Complete")
    assert await found(workspace, "runner_silent") == {}, "the last poll completed its task"


async def test_a_runner_that_never_was(eternaltwin_db: EternaltwinDb, workspace: Workspace) -> None:
    await eternaltwin_db.task(polled=None, age=HOUR)
    there = (await found(workspace, "runner_silent"))[RUNNER]
    assert there.since is None
    assert there.evidence["newest_poll"] == "the beginning"


async def polls(eternaltwin_db: EternaltwinDb, sql: str = "") -> None:
    """Run one tick: poll every Available task at ``clock_timestamp()``."""
    await eternaltwin_db.sql(
        f"UPDATE task SET revision = revision + 1, polled_at = row(clock_timestamp(), 1)::job_tick {sql}"
        " WHERE status = 'Available'"
    )


@both_versions
async def test_spinning_is_polled_again_and_again_with_the_same_state(
    eternaltwin_db: EternaltwinDb, workspace: Workspace
) -> None:
    spinning = await eternaltwin_db.task(state=b"same")
    working = await eternaltwin_db.task(state=b"moves", kind="Working")
    for looks in range(6):
        assert reader(workspace).findings.sampled() == (), f"after {looks} looks"
        await reader(workspace).samples.take()
        await polls(eternaltwin_db)
        await eternaltwin_db.sql("UPDATE task SET state = state || 'x' WHERE task_id = $1", working)
    (finding,) = reader(workspace).findings.sampled()
    assert (finding.node_id, finding.code, finding.action) == (eternaltwin_db.id(spinning), "spinning", "cancel")
    assert finding.evidence["changes"] == 5
    assert finding.evidence["grown"] == 5
    assert finding.guard
    detail = await details.read(reader(workspace), eternaltwin_db.id(spinning))
    assert detail is not None
    assert "spinning" in detail.node.findings
    await eternaltwin_db.sql("UPDATE task SET state = 'on'")
    await reader(workspace).samples.take()
    assert reader(workspace).findings.sampled() == ()


async def test_spinning_has_a_threshold_by_kind(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    touchy, _ = await eternaltwin_db.task(kind="Touchy"), await eternaltwin_db.task(kind="Usual")
    workspace = await opened(eternaltwin, tmp_path, overrides={LABEL: {"Touchy": {"spinning_polls": 2}}})
    for _ in range(3):
        await reader(workspace).samples.take()
        await polls(eternaltwin_db)
    assert [f.node_id for f in reader(workspace).findings.sampled()] == [eternaltwin_db.id(touchy)]
    await workspace.close()


async def test_very_many_polls_are_a_rate_without_progress(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    """A task that makes progress, or is polled rarely, has no finding."""
    old = await eternaltwin_db.task(revision=50_000_000, age=90 * 86400)
    locked, working, slow = [await eternaltwin_db.task(revision=n) for n in (10, 20_000, 50_000)]
    workspace = await opened(
        eternaltwin, tmp_path, overrides={LABEL: {"busy_polling": 0.0, "Slow": {"busy_polls": 1e12}}}
    )
    await eternaltwin_db.sql("UPDATE task SET kind = 'Slow' WHERE task_id = $1", slow)
    look = reader(workspace)

    def there() -> dict[str, Finding]:
        return {f.node_id: f for f in look.findings.sampled() if f.code == "busy_polling"}

    assert {f.code for f in (await look.findings.read()).findings} == set(), "a total says nothing"
    await look.samples.take()
    for _ in range(3):
        assert there() == {}
        await eternaltwin_db.sql(
            "UPDATE task SET revision = revision + 1000 WHERE task_id = ANY ($1)", [locked, working, slow]
        )
        await eternaltwin_db.sql("UPDATE task SET state = state || 'x' WHERE task_id = $1", working)
    await look.samples.take()
    assert set(there()) == {eternaltwin_db.id(locked)}
    finding = there()[eternaltwin_db.id(locked)]
    assert finding.evidence["grown"] == 3000
    assert finding.evidence["per_minute"] >= 60
    assert (finding.action, finding.guard) == (None, "")
    await eternaltwin_db.sql("UPDATE task SET state = 'on' WHERE task_id = $1", locked)
    await look.samples.take()
    assert there() == {}
    assert eternaltwin_db.id(old) not in there()
    await workspace.close()


FUTURE = ("infinity", "294276-12-31 23:59:59", "9999-12-31 23:59:59")


@both_versions
@pytest.mark.parametrize("status", ["Available", "Complete"])
@pytest.mark.parametrize("future", [*FUTURE, "now() + interval '10 minutes'"])
async def test_a_poll_in_the_future_hides_neither_a_silent_nor_a_healthy_runner(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path, status: str, future: str
) -> None:
    workspace = await opened(eternaltwin, tmp_path, overrides={LABEL: {"runner_silent": 30.0}})
    look = reader(workspace)
    task = await eternaltwin_db.task(polled=40, age=HOUR)
    broken = await eternaltwin_db.task(status=status, age=HOUR)
    at = future if future.startswith("now()") else f"'{future}'"
    await eternaltwin_db.sql(f"UPDATE task SET polled_at = row({at}, 0)::job_tick WHERE task_id = $1", broken)

    async def phase() -> str:
        return (await look.nodes.read([RUNNER])).nodes[0].phase

    assert set(await found(workspace, "runner_silent")) == {RUNNER}
    assert await phase() == "unknown"
    await eternaltwin_db.sql("UPDATE task SET polled_at = row(now(), 1)::job_tick WHERE task_id = $1", task)
    assert await found(workspace, "runner_silent") == {}
    assert await phase() == "running"
    await workspace.close()


@pytest.mark.parametrize("future", FUTURE)
async def test_a_poll_in_the_future_does_not_stall_a_runner_that_goes_on(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path, future: str
) -> None:
    workspace = await opened(eternaltwin, tmp_path, overrides={LABEL: {"runner_silent": 1e-6}})
    look = reader(workspace)
    going = await eternaltwin_db.task(polled=40, age=HOUR)
    for status in ("Available", "Complete"):
        broken = await eternaltwin_db.task(status=status, age=HOUR)
        await eternaltwin_db.sql(f"UPDATE task SET polled_at = row('{future}', 0)::job_tick WHERE task_id = $1", broken)
    for write in ("polled_at = row(clock_timestamp(), 1)::job_tick", "revision = revision + 1"):
        for n in range(3):
            await look.samples.take()
            assert n == 0 or "runner_stalled" not in {f.code for f in look.findings.sampled()}, write
            await eternaltwin_db.sql(f"UPDATE task SET {write} WHERE task_id = $1", going)
    await look.samples.take()
    await look.samples.take()
    assert "runner_stalled" in {f.code for f in look.findings.sampled()}
    await workspace.close()


async def test_a_version_that_was_polled_in_the_future_leaves_none_behind(
    eternaltwin_db: EternaltwinDb, workspace: Workspace
) -> None:
    await eternaltwin_db.task(kind="Mail", version=1, age=HOUR, polled=700)
    newer = await eternaltwin_db.task(kind="Mail", version=2, age=HOUR)
    await eternaltwin_db.sql("UPDATE task SET polled_at = row('9999-12-31', 0)::job_tick WHERE task_id = $1", newer)
    assert await found(workspace, "late") == {}


async def test_a_stalled_runner_shows_after_its_time(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    workspace = await opened(eternaltwin, tmp_path, overrides={LABEL: {"runner_silent": 1e-6}})
    looks = reader(workspace)

    async def stalled() -> list[str]:
        await looks.samples.take()
        return [f.node_id for f in looks.findings.sampled() if f.code == "runner_stalled"]

    await eternaltwin_db.task()
    broken = await eternaltwin_db.task(status="Complete")
    await eternaltwin_db.sql("UPDATE task SET polled_at = row('infinity', 0)::job_tick WHERE task_id = $1", broken)
    assert await stalled() == [], "one sample is not enough"
    assert await stalled() == [RUNNER]
    await polls(eternaltwin_db)
    assert await stalled() == []
    assert await stalled() == [RUNNER]
    await eternaltwin_db.sql("UPDATE task SET status = 'Complete'")
    assert await stalled() == [RUNNER], "one sample without it may have missed it"
    assert await stalled() == [], "nothing waits"
    await workspace.close()


# Skipped findings


@both_versions
async def test_a_large_table_leaves_some_unchecked(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(detect, "SMALL_TABLE_BLOCKS", -1)
    overdue = await eternaltwin_db.task(status="Blocked", timer=-100)
    workspace = await opened(eternaltwin, tmp_path)
    findings = await reader(workspace).findings.read()
    assert [(f.node_id, f.code) for f in findings.findings] == [(eternaltwin_db.id(overdue), "overdue_timer")]
    skipped_findings = {u.code: u for u in findings.skipped_findings}
    assert set(skipped_findings) == {"lost_wakeup", "deadlocked", "orphaned_task", "empty_job", "schedule_missed"}
    assert all((u.ddl or "").startswith("CREATE INDEX CONCURRENTLY ") for u in skipped_findings.values())
    await workspace.close()


async def test_one_that_cannot_be_looked_for_does_not_hide_the_others(
    eternaltwin_db: EternaltwinDb, server: PostgresServer, eternaltwin: str, tmp_path: Path
) -> None:
    role = server.unique("role")
    server.sql(f"CREATE ROLE {role} LOGIN PASSWORD 'x'")
    server.sql(f"GRANT SELECT ON job, task TO {role}", eternaltwin)
    await eternaltwin_db.task(polled=None, age=HOUR)
    workspace = await opened(server.dsn(eternaltwin.rpartition("/")[2], user=role, password="x"), tmp_path)
    findings = await reader(workspace).findings.read()
    assert {(f.node_id, f.code) for f in findings.findings} == {(RUNNER, "runner_silent")}
    assert {u.code: u.why for u in findings.skipped_findings} == dict.fromkeys(
        (
            "runner_clock_behind",
            "timers_not_taken",
            "overdue_timer",
            "lost_wakeup",
            "late",
            "deadlocked",
            "due_far_ahead",
            "leftover_timer",
        ),
        "Permission denied for table task_timer.",
    )
    await workspace.close()


@both_versions
async def test_endless_times_do_no_harm(eternaltwin_db: EternaltwinDb, workspace: Workspace) -> None:
    """A row with an infinite time does not hide the others."""
    ids = await eternaltwin_db.tasks(await eternaltwin_db.jobs(3), status="Blocked", timer=-100)
    await eternaltwin_db.sql("INSERT INTO task_timer SELECT '-infinity', task_id FROM task")
    await eternaltwin_db.sql("UPDATE task SET created_at = '-infinity', polled_at = row('-infinity', 0)::job_tick")
    await eternaltwin_db.task(revision=20_000, polled=1)
    overdue = await found(workspace, "overdue_timer")
    assert set(overdue) == {eternaltwin_db.id(i) for i in ids}
    assert {f.since for f in overdue.values()} == {float("-inf")}
    for i in ids:
        detail = await details.read(reader(workspace), eternaltwin_db.id(i))
        assert detail is not None
        timers = next(s for s in detail.sections if s.name == "timers")
        assert ("-infinity", "always late") in timers.rows
