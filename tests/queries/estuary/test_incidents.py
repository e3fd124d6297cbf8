"""Incidents of estuary: one line for each cause."""

from __future__ import annotations

from queries.workspace import Workspace
from tests.db.estuary import LABEL, ZERO, EstuaryDb
from tests.queries.incident_groups import incidents_of, the_only


async def test_an_executor_that_polls_no_type_is_one_incident(estuary_db: EstuaryDb, workspace: Workspace) -> None:
    for type_ in (2, 3, 4):
        for _ in range(4):
            await estuary_db.task(type_, wake=-700)
    held = [await estuary_db.task(2, wake=-1400, beat=1300) for _ in range(3)]
    await estuary_db.task(1, wake=-5, beat=1)  # the other process polls
    shown = await incidents_of(workspace, LABEL)
    assert list(shown) == ["not_served"]
    (incident,) = shown["not_served"]
    assert {s.code: s.n for s in incident.symptoms} == {"abandoned": len(held)}
    assert incident.action is None
    assert incident.remedy
    assert "The agent polls no type" in incident.sentence


async def test_types_that_their_executor_does_not_poll_are_one_incident(
    estuary_db: EstuaryDb, workspace: Workspace
) -> None:
    for type_ in (3, 4):
        await estuary_db.task(type_, wake=-700)
    await estuary_db.task(5, wake=-700)
    await estuary_db.task(2, wake=-5, beat=1)
    agent, unknown = (await incidents_of(workspace, LABEL))["not_served"]
    assert [f.evidence["type"] for f in agent.findings] == ["PUBLICATIONS", "DISCOVERS"]
    assert "The agent polls other types" in agent.sentence
    assert "No executor is seen that serves this type" in unknown.sentence


async def test_no_executor_polls_anything_is_one_incident(estuary_db: EstuaryDb, workspace: Workspace) -> None:
    for type_ in (1, 2, 3, 32767):
        await estuary_db.task(type_, wake=-700)
    await estuary_db.task(1, wake=-1400, beat=900)
    (incident,) = (await incidents_of(workspace, LABEL))["not_served"]
    assert (len(incident.findings), incident.n) == (4, 4)
    down = "the agent and the data-plane-controller and the executor of FIBONACCI take none"
    assert f"No task is being polled: {down}" in incident.sentence


async def test_executors_that_take_other_types_are_not_down(estuary_db: EstuaryDb, workspace: Workspace) -> None:
    """Their polls are too short to be seen, but their tasks become due and none waits."""
    for type_ in (5, 32767):
        await estuary_db.task(type_, wake=-700)
    for n in range(40):
        await estuary_db.task(2, wake=15 * n + 5)
    incidents = (await incidents_of(workspace, LABEL))["not_served"]
    assert ["No executor is seen that serves this type" in i.sentence for i in incidents] == [True, True]


async def test_long_polls_that_take_all_slots(estuary_db: EstuaryDb, workspace: Workspace) -> None:
    for n in range(3):
        await estuary_db.task(3, wake=-7200 - n, beat=40 + n)
    for type_, n in ((2, 6), (3, 2), (4, 1)):
        for _ in range(n):
            await estuary_db.task(type_, wake=-700 if type_ == 3 else -130)
    await estuary_db.task(1, wake=-5, beat=1)  # the other process polls
    incident = await the_only(workspace, LABEL, "slots_in_use", symptoms={"overdue_and_still_locked": 3})
    assert (incident.action, len(incident.findings)) == (None, 3)
    assert "All that the agent polls was due before that: 3 of PUBLICATIONS, the first since" in incident.sentence
    await estuary_db.task(7, wake=-100, beat=10)  # a later task is taken
    assert set(await incidents_of(workspace, LABEL)) == {"not_served", "late", "overdue_and_still_locked"}


async def test_a_malformed_message_stops_all_tasks_of_its_dequeue(estuary_db: EstuaryDb, workspace: Workspace) -> None:
    """The engine decodes the rows of a dequeue together.

    The heartbeats that it wrote are equal.
    """
    poison = await estuary_db.task(2, wake=-3600, beat=100, inbox=['{"type": "shard_failed"}'])
    for n in range(5):
        await estuary_db.task(2, wake=-3000 - n, beat=90)
    other = await estuary_db.task(2, wake=-2000, beat=20)
    await estuary_db.sql(
        "UPDATE tasks SET heartbeat = now() - interval '100 s' WHERE task_id <> $1::text::macaddr8", other
    )
    shown = await incidents_of(workspace, LABEL)
    (incident,) = shown.pop("undecodable_message")
    assert [f.node_id for f in incident.findings] == [estuary_db.id(poison)]
    assert incident.action == "drop"
    assert {s.code: s.n for s in incident.symptoms} == {"overdue_and_still_locked": 6}
    assert "no task that it took is polled; it took 5 others" in incident.sentence
    (left,) = shown.pop("overdue_and_still_locked")
    assert [f.node_id for f in left.findings] == [estuary_db.id(other)]


async def test_a_heartbeat_ahead_hides_no_type_that_is_not_served(estuary_db: EstuaryDb, workspace: Workspace) -> None:
    await estuary_db.task(2, wake=-700, beat=-7200)
    await estuary_db.task(2, wake=-700)
    assert set(await incidents_of(workspace, LABEL)) == {"future_heartbeat", "not_served"}


async def test_one_message_that_many_tasks_cannot_decode(estuary_db: EstuaryDb, workspace: Workspace) -> None:
    for n in range(9):
        inbox = [(ZERO, {"type": "spec_published", "pub_id": f"not {n}"})]
        await estuary_db.task(2, wake=-900 - n, beat=240, inbox=inbox)
    await estuary_db.task(2, wake=-5, beat=1)
    await the_only(workspace, LABEL, "undecodable_message", n=9, symptoms={"overdue_and_still_locked": 9})


async def test_tasks_locked_by_dead_workers_are_released_together(estuary_db: EstuaryDb, workspace: Workspace) -> None:
    for n in range(5):
        await estuary_db.task(2 + n % 2, wake=None if n % 2 else 900, beat=400 + n)
    await the_only(workspace, LABEL, "owner_dead", n=5, action="release")
