"""Findings of estuary about skipped tasks, times and cycles."""

from __future__ import annotations

from queries.workspace import Workspace
from tests.db.estuary import LABEL, ZERO, EstuaryDb
from tests.queries.builders import findings_of
from tests.queries.incident_groups import incidents_of
from tests.servers import both_versions

WAITING = {"Waiting": {"partial": 1, "pending": 1}}


@both_versions
async def test_tasks_that_executors_skip(estuary_db: EstuaryDb, workspace: Workspace) -> None:
    skipped = [await estuary_db.task(wake=-700 - n) for n in range(3)]
    await estuary_db.task(wake=-50)
    await estuary_db.task(wake=-20, beat=1)
    codes = await findings_of(workspace, LABEL)
    assert set(codes) == {"late"}
    assert {f.node_id for f in codes["late"]} == {estuary_db.id(task) for task in skipped}
    (incident,) = (await incidents_of(workspace, LABEL))["late"]
    assert (incident.n, incident.action) == (3, None)
    assert "Tasks that became due later are polled" in incident.sentence
    assert set(await findings_of(workspace, LABEL, ids=[estuary_db.id(skipped[0])])) == {"late"}


async def test_a_backlog_is_late_only_after_its_time(estuary_db: EstuaryDb, workspace: Workspace) -> None:
    await estuary_db.task(wake=-500, beat=100)
    for n in range(30):
        await estuary_db.task(wake=-490 + 10 * n)
    assert await findings_of(workspace, LABEL) == {}
    await estuary_db.sql("UPDATE tasks SET wake_at = wake_at - interval '200 seconds'")
    codes = await findings_of(workspace, LABEL)
    assert set(codes) == {"slots_in_use"}
    assert [(f.evidence["waiting"], f.evidence["polled"]) for f in codes["slots_in_use"]] == [
        (30, "1 of LIVE_SPEC_CONTROLLER")
    ]


@both_versions
async def test_a_message_that_is_not_known_of_a_task_held_long(estuary_db: EstuaryDb, workspace: Workspace) -> None:
    """Each retry renews the heartbeat, so it may be young."""
    inbox = [(ZERO, {"type": "no such"})]
    held = estuary_db.id(await estuary_db.task(2, wake=-1000, beat=20, inbox=inbox))
    shorter = estuary_db.id(await estuary_db.task(2, wake=-800, beat=20, inbox=inbox))
    codes = await findings_of(workspace, LABEL)
    assert [f.node_id for f in codes["undecodable_message"]] == [held]
    assert [f.node_id for f in codes["unrecognised_message"]] == [shorter]
    assert "locked and due since" in codes["undecodable_message"][0].sentence
    assert set(await findings_of(workspace, LABEL, ids=[held])) == {"undecodable_message", "overdue_and_still_locked"}
    await estuary_db.task(2, wake=-900)  # tasks of the type wait: the poll may have begun just now
    assert "undecodable_message" not in await findings_of(workspace, LABEL)
    assert "undecodable_message" not in await findings_of(workspace, LABEL, ids=[held])


@both_versions
async def test_polls_that_are_too_short_to_be_seen(estuary_db: EstuaryDb, workspace: Workspace) -> None:
    late = await estuary_db.task(wake=-3600)
    for n in range(60):
        await estuary_db.task(wake=10 * n + 5)
    codes = await findings_of(workspace, LABEL)
    assert set(codes) == {"late"}
    (finding,) = codes["late"]
    assert (finding.node_id, finding.evidence["reason"]) == (estuary_db.id(late), "unknown")
    for n in range(30):
        await estuary_db.task(wake=-20 - 20 * n)
    assert set(await findings_of(workspace, LABEL)) == {"not_served"}, "now as many wait as become due"


@both_versions
async def test_a_task_due_far_beyond_those_of_its_type(estuary_db: EstuaryDb, workspace: Workspace) -> None:
    far = await estuary_db.task(2, wake=3e9)
    for n in range(5):
        await estuary_db.task(2, wake=60 + n)
        await estuary_db.task(8, wake=(20 + n) * 86400)
    await estuary_db.task(8, wake=300 * 86400)
    endless = await estuary_db.task(7, wake="infinity")
    codes = await findings_of(workspace, LABEL)
    assert set(codes) == {"due_far_ahead"}
    assert {f.node_id for f in codes["due_far_ahead"]} == {estuary_db.id(far), estuary_db.id(endless)}
    assert {f.action for f in codes["due_far_ahead"]} == {"wake"}


@both_versions
async def test_an_id_generated_ahead_of_the_clock(estuary_db: EstuaryDb, workspace: Workspace) -> None:
    generated = (
        "SELECT lpad(to_hex((1000 * (extract(epoch FROM now()) + $1 - 1600000000))::int8 << 23), 16, '0')"
        "::macaddr8::text"
    )
    ahead, little, odd = [await estuary_db.value(generated, seconds) for seconds in (7200, 60, 90 * 86400)]
    for id_ in (ahead, little, odd):
        await estuary_db.task(id_=id_)
    codes = await findings_of(workspace, LABEL)
    assert {code: [f.node_id for f in each] for code, each in codes.items()} == {
        "created_ahead": [estuary_db.id(ahead)]
    }


@both_versions
async def test_tasks_that_wait_for_each_other(estuary_db: EstuaryDb, workspace: Workspace) -> None:
    first = await estuary_db.task(32767, state=WAITING)
    second = await estuary_db.task(32767, state=WAITING, parent=first)
    await estuary_db.sql(
        "UPDATE tasks SET parent_id = $2::text::macaddr8 WHERE task_id = $1::text::macaddr8", first, second
    )
    root = await estuary_db.task(32767, state=WAITING)
    await estuary_db.task(32767, parent=root, wake=60)
    codes = await findings_of(workspace, LABEL)
    assert set(codes) == {"dependency_cycle"}
    assert {f.node_id for f in codes["dependency_cycle"]} == {estuary_db.id(task) for task in (first, second)}
    assert len((await incidents_of(workspace, LABEL))["dependency_cycle"]) == 1
    assert set(await findings_of(workspace, LABEL, ids=[estuary_db.id(first)])) == {"dependency_cycle"}
