"""Incidents of estuary: one line for each cause."""

from __future__ import annotations

from queries.workspace import Workspace
from tests.db.estuary import LABEL, ZERO, EstuaryDb
from tests.queries.incident_groups import incidents_of


async def test_an_executor_that_polls_no_type_is_one_incident(estuary_db: EstuaryDb, workspace: Workspace) -> None:
    for type_ in (2, 3, 4):
        for _ in range(4):
            await estuary_db.task(type_, wake=-700)
    held = [await estuary_db.task(2, wake=-1400, beat=1300) for _ in range(3)]
    await estuary_db.task(1, wake=-5, beat=1)  # the other process polls
    shown = await incidents_of(workspace, LABEL)
    assert list(shown) == ["type_not_served"]
    (incident,) = shown["type_not_served"]
    assert {s.code: s.n for s in incident.symptoms} == {"abandoned": len(held)}
    assert incident.action is None
    assert incident.remedy
    assert "The agent polls no type" in incident.sentence


async def test_a_type_that_its_executor_does_not_poll_is_apart(estuary_db: EstuaryDb, workspace: Workspace) -> None:
    for type_ in (3, 4):
        await estuary_db.task(type_, wake=-700)
    await estuary_db.task(2, wake=-5, beat=1)
    shown = await incidents_of(workspace, LABEL)
    assert [i.findings[0].evidence["type"] for i in shown["type_not_served"]] == ["PUBLICATIONS", "DISCOVERS"]
    assert "polls other types" in shown["type_not_served"][0].sentence


async def test_a_heartbeat_ahead_hides_no_type_that_is_not_served(estuary_db: EstuaryDb, workspace: Workspace) -> None:
    await estuary_db.task(2, wake=-700, beat=-7200)
    await estuary_db.task(2, wake=-700)
    assert set(await incidents_of(workspace, LABEL)) == {"future_heartbeat", "type_not_served"}


async def test_one_message_that_many_tasks_cannot_decode(estuary_db: EstuaryDb, workspace: Workspace) -> None:
    for n in range(9):
        inbox = [(ZERO, {"type": "spec_published", "pub_id": f"not {n}"})]
        await estuary_db.task(2, wake=-900 - n, beat=240, inbox=inbox)
    await estuary_db.task(2, wake=-5, beat=1)
    shown = await incidents_of(workspace, LABEL)
    (incident,) = shown.pop("undecodable_message")
    assert not shown
    assert incident.n == 9
    assert {s.code: s.n for s in incident.symptoms} == {"overdue_and_still_locked": 9}


async def test_tasks_locked_by_dead_workers_are_released_together(estuary_db: EstuaryDb, workspace: Workspace) -> None:
    for n in range(5):
        await estuary_db.task(2 + n % 2, wake=None if n % 2 else 900, beat=400 + n)
    shown = await incidents_of(workspace, LABEL)
    (incident,) = shown.pop("locked_by_a_dead_worker")
    assert not shown
    assert (incident.n, incident.action) == (5, "release")
