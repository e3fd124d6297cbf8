"""Actions of estuary: rows before and after, refusals, and unchanged other rows.

They follow the engine's rules. During a poll only the task's executor changes its inbox, state and wake_at.
Only a heartbeat of the year 1 marks an idle task.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from queries.records.action import Outcome
from queries.workspace import Workspace
from tests.db.estuary import LABEL, ZERO, EstuaryDb
from tests.queries.builders import do, opened, outcomes_of, seen
from tests.servers import PostgresServer, both_versions

CHANGED, REFUSED, STALE, LOCKED = Outcome.CHANGED, Outcome.REFUSED, Outcome.STALE, Outcome.LOCKED
DEPENDENCY, SHARD = {"type": "dependency_updated"}, {"type": "shard_failed"}
PLANE = "15:00:00:00:00:00:00:01"
TYPED = {"confirm": PLANE}


def sent(message: Any, sender: str = ZERO) -> str:
    """Return a message as the engine stores it."""
    return f'["{sender}", {json.dumps(message)}]'


async def apply(workspace: Workspace, action: str, task: str, **arguments: Any) -> tuple[Outcome, str]:
    """Apply an action to one task; return the outcome and its reason."""
    outcomes = await do(workspace, action, [EstuaryDb.id(task)], arguments, LABEL)
    return outcomes.results[0].outcome, outcomes.results[0].why


def changed(before: Any, after: Any) -> dict[str, Any]:
    """Return the changed columns, without ages and version."""
    return {k: after[k] for k in after.keys() if after[k] != before[k] and k not in ("due", "age", "version")}  # noqa: SIM118


# wake


@both_versions
@pytest.mark.parametrize("wake", [None, 3600, "infinity"])
async def test_wake_makes_an_idle_task_due_and_nothing_else(
    estuary_db: EstuaryDb, workspace: Workspace, wake: Any
) -> None:
    other = await estuary_db.row(await estuary_db.task(wake=50))
    task = await estuary_db.task(wake=wake, state={"messages_processed": 1}, inbox=[(ZERO, SHARD)])
    before = await estuary_db.row(task)
    assert await apply(workspace, "wake", task) == (CHANGED, "")
    after = await estuary_db.row(task)
    assert set(changed(before, after)) == {"wake_at"}
    assert after["due"] <= 0
    assert changed(other, await estuary_db.row(other["task_id"])) == {}


@pytest.mark.parametrize(
    ("wake", "beat", "reason"), [(-9, 5, "locked"), (-9, 500, "locked"), (60, 5, "locked"), (-9, None, "due")]
)
async def test_wake_leaves_held_and_due_tasks(
    estuary_db: EstuaryDb, workspace: Workspace, wake: float, beat: float | None, reason: str
) -> None:
    task = await estuary_db.task(wake=wake, beat=beat)
    before = await estuary_db.digest()
    outcome, because = await apply(workspace, "wake", task)
    assert outcome is REFUSED
    assert reason in because
    assert await estuary_db.digest() == before


@both_versions
@pytest.mark.parametrize(
    ("type_", "state", "inbox", "outcome"),
    [
        (1, None, None, REFUSED),
        (1, {"status": "Idle"}, None, CHANGED),
        (1, None, [(ZERO, {"start": PLANE})], CHANGED),
        (32767, None, None, REFUSED),
        (32767, '"Init"', None, REFUSED),
        (32767, {"Waiting": {"partial": 1, "pending": 1}}, None, CHANGED),
        (32767, {"SpawnOne": 4}, None, CHANGED),
        (32767, '"Finished"', None, CHANGED),
        (2, None, None, CHANGED),
        (77, None, None, CHANGED),
    ],
)
async def test_wake_asks_twice_where_a_poll_without_a_message_fails(
    estuary_db: EstuaryDb, workspace: Workspace, type_: int, state: Any, inbox: Any, outcome: Outcome
) -> None:
    task = await estuary_db.task(type_, state=state, inbox=inbox)
    assert (await apply(workspace, "wake", task))[0] is outcome
    if outcome is REFUSED:
        assert (await apply(workspace, "wake", task, regardless=True))[0] is CHANGED


# send


@both_versions
@pytest.mark.parametrize("beat", [None, 10, 400, "-infinity", "2090-01-01"])
async def test_send_goes_where_the_engine_puts_it(estuary_db: EstuaryDb, workspace: Workspace, beat: Any) -> None:
    old = sent(DEPENDENCY)
    task = await estuary_db.task(
        wake=100 if beat is None else -100, beat=beat, inbox=[old], inbox_next=None if beat is None else [old]
    )
    before = await estuary_db.row(task)
    assert await apply(workspace, "send", task, message=SHARD) == (CHANGED, "")
    after = await estuary_db.row(task)
    box, other = ("inbox", "inbox_next") if beat is None else ("inbox_next", "inbox")
    assert [json.loads(e) for e in after[box]] == [json.loads(old), [ZERO, SHARD]]
    assert after[other] == before[other]
    assert after["due"] <= 0
    assert (after["heartbeat"], after["state"]) == (before["heartbeat"], before["state"])


@both_versions
@pytest.mark.parametrize(
    ("type_", "arguments", "reason"),
    [
        (2, {}, "message"),
        (2, {"message": None}, "eof"),
        (2, {"message": "dependency_updated"}, "LIVE_SPEC_CONTROLLER"),
        (2, {"message": {"type": "spec_published"}}, "not a message of"),
        (2, {"message": {"type": "republish", "reason": 3}}, "not a message of"),
        (2, {"message": {"type": "manual_trigger", "user_id": "me"}}, "not a message of"),
        (2, {"message": [{"type": "shard_failed"}]}, "not a message of"),
        (2, {"message": {"type": ["shard_failed"]}}, "not a message of"),
        (2, {"message": {"type": "wake"}}, "not a message of"),
        (2, {"eof": True, "message": SHARD}, "eof"),
        (2, {"message": SHARD, "sender": "me"}, "sender"),
        (1, {"message": {"type": "converge"}}, "not a message of"),
        (1, {"message": {"start": PLANE}}, "state"),
        (1, {"eof": True}, "state"),
        (10, {"message": "resume"}, "not a message of"),
        (99, {"message": SHARD}, "unchecked"),
    ],
)
async def test_send_refuses_what_would_fail_the_poll(
    estuary_db: EstuaryDb, workspace: Workspace, type_: int, arguments: Any, reason: str
) -> None:
    task = await estuary_db.task(type_, state={"status": "Idle"}, wake=60)
    before = await estuary_db.digest()
    outcome, because = await apply(workspace, "send", task, **arguments)
    assert outcome is REFUSED
    assert reason in because
    assert await estuary_db.digest() == before


async def test_a_new_data_plane_takes_its_start_and_nothing_else(estuary_db: EstuaryDb, workspace: Workspace) -> None:
    task = await estuary_db.task(1)
    assert (await apply(workspace, "send", task, message="converge"))[0] is REFUSED
    assert (await apply(workspace, "send", task, message={"start": PLANE}))[0] is CHANGED


@both_versions
async def test_an_eof_is_sent_by_name_alone(estuary_db: EstuaryDb, workspace: Workspace) -> None:
    child = "16:00:00:00:00:00:00:01"
    task = await estuary_db.task(32767, state={"Waiting": {"partial": 1, "pending": 1}})
    assert (await apply(workspace, "send", task, eof=True, sender=child))[0] is CHANGED
    assert (await estuary_db.row(task))["inbox"] == [sent(None, child)]


async def test_a_type_that_is_not_known_is_sent_to_unchecked(estuary_db: EstuaryDb, workspace: Workspace) -> None:
    task = await estuary_db.task(99)
    assert (await apply(workspace, "send", task, message={"any": 1}, unchecked=True))[0] is CHANGED


async def test_the_messages_of_a_type_are_configurable(estuary_db: EstuaryDb, estuary: str, tmp_path: Path) -> None:
    mine = {"messages": {"99": 'strict $ == "go"'}, "names": {"99": "GOER"}, "takes": {"99": '"go"'}}
    workspace = await opened(estuary, tmp_path, overrides={LABEL: mine})
    task = await estuary_db.task(99)
    outcome, because = await apply(workspace, "send", task, message="stop")
    assert (outcome, '"go"' in because) == (REFUSED, True)
    assert (await apply(workspace, "send", task, message="go"))[0] is CHANGED
    controller = await estuary_db.task(2, wake=60)
    assert (await apply(workspace, "send", controller, message=SHARD))[0] is CHANGED, "the others are kept"
    await workspace.close()


async def test_a_message_to_a_task_that_is_gone_is_not_reported_as_sent(
    estuary_db: EstuaryDb, workspace: Workspace
) -> None:
    """The engine's function silently does nothing if the task does not exist."""
    task = await estuary_db.task(wake=60)
    was = await seen(workspace, [estuary_db.id(task)], LABEL)
    await estuary_db.sql("DELETE FROM tasks")
    outcomes = await do(workspace, "send", was, {"message": SHARD}, LABEL)
    assert outcomes_of(outcomes) == {estuary_db.id(task): Outcome.GONE}


# fence and release


@both_versions
@pytest.mark.parametrize("beat", [0.01, 100, 295, "2090-01-01"])
async def test_fence_writes_a_heartbeat_of_its_own(estuary_db: EstuaryDb, workspace: Workspace, beat: Any) -> None:
    task = await estuary_db.task(wake=-900, beat=beat, inbox=[(ZERO, SHARD)], inbox_next=[(ZERO, SHARD)])
    before = await estuary_db.row(task)
    assert await apply(workspace, "fence", task) == (CHANGED, "")
    after = await estuary_db.row(task)
    assert set(changed(before, after)) == {"heartbeat"}
    assert 0 <= after["age"] < 5


@pytest.mark.parametrize(("beat", "reason"), [(None, "idle"), (301, "Release"), ("-infinity", "Release")])
async def test_fence_is_for_live_polls(estuary_db: EstuaryDb, workspace: Workspace, beat: Any, reason: str) -> None:
    task = await estuary_db.task(wake=-900, beat=beat)
    before = await estuary_db.digest()
    outcome, because = await apply(workspace, "fence", task)
    assert outcome is REFUSED
    assert reason in because
    assert await estuary_db.digest() == before


@both_versions
@pytest.mark.parametrize(
    ("type_", "wake", "beat"), [(2, -900, 301), (2, None, 301), (2, 50, 301), (1, -90, 61), (2, None, "-infinity")]
)
async def test_release_makes_it_idle_and_due_with_all_messages_in_order(
    estuary_db: EstuaryDb, workspace: Workspace, type_: int, wake: Any, beat: Any
) -> None:
    first, second, third = ({"type": "republish", "reason": str(n)} for n in range(3))
    task = await estuary_db.task(
        type_, wake=wake, beat=beat, inbox=[(ZERO, first)], inbox_next=[(ZERO, second), (ZERO, third)]
    )
    before = await estuary_db.row(task)
    assert await apply(workspace, "release", task) == (CHANGED, "")
    after = await estuary_db.row(task)
    assert after["idle"], "send_to_task compares with this value"
    assert after["heartbeat"] == "0001-01-01 00:00:00+00"
    assert [json.loads(e)[1] for e in after["inbox"]] == [first, second, third]
    assert after["inbox_next"] is None
    assert after["due"] <= 0
    assert after["state"] == before["state"]
    await estuary_db.send(task, SHARD)
    assert len((await estuary_db.row(task))["inbox"]) == 4, "inbox_next is empty"


@both_versions
@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Tokyo"])
async def test_the_mark_of_an_idle_task_is_the_same_in_every_time_zone(
    estuary_db: EstuaryDb, estuary: str, server: PostgresServer, tmp_path: Path, zone: str
) -> None:
    """The year 1 is shown as 1 BC west of Greenwich, and old offsets have odd minutes."""
    database = estuary.rpartition("/")[2]
    server.sql(
        f"ALTER DATABASE {database} SET TimeZone = '{zone}'; ALTER DATABASE {database} SET DateStyle = 'SQL, DMY'"
    )
    workspace = await opened(estuary, tmp_path)
    held, idle = await estuary_db.task(wake=-900, beat=301), await estuary_db.task(wake=60)
    nodes = (await workspace.engines[LABEL].nodes.read([estuary_db.id(held), estuary_db.id(idle)])).nodes
    assert [n.status for n in nodes] == ["reclaimable", "sleeping"]
    assert (await apply(workspace, "release", held))[0] is CHANGED
    assert (await apply(workspace, "wake", idle))[0] is CHANGED
    for task in (held, idle):
        assert (await estuary_db.row(task))["idle"]
        assert (await apply(workspace, "send", task, message=SHARD))[0] is CHANGED
        after = await estuary_db.row(task)
        assert (len(after["inbox"]), after["inbox_next"]) == (1, None)
    assert (await workspace.engines[LABEL].findings.read()).skipped_findings == ()
    await workspace.close()


async def test_release_without_messages_leaves_no_empty_box(estuary_db: EstuaryDb, workspace: Workspace) -> None:
    task = await estuary_db.task(wake=-900, beat=400)
    await apply(workspace, "release", task)
    assert (await estuary_db.row(task))["inbox"] is None


@pytest.mark.parametrize(
    ("type_", "beat", "reason"), [(2, 295, "early"), (2, 0, "Fence"), (1, 55, "early"), (2, None, "idle")]
)
async def test_release_is_refused_below_the_timeout(
    estuary_db: EstuaryDb, workspace: Workspace, type_: int, beat: Any, reason: str
) -> None:
    task = await estuary_db.task(type_, wake=-900, beat=beat)
    before = await estuary_db.digest()
    outcome, because = await apply(workspace, "release", task)
    assert outcome is REFUSED
    assert reason in because
    assert await estuary_db.digest() == before


async def test_the_timeout_is_the_operators(estuary_db: EstuaryDb, estuary: str, tmp_path: Path) -> None:
    mine: dict[str, object] = {"heartbeat_timeout": 20.0, "1": {"heartbeat_timeout": 1000.0}}
    workspace = await opened(estuary, tmp_path, overrides={LABEL: mine})
    assert (await apply(workspace, "release", await estuary_db.task(2, wake=-900, beat=21)))[0] is CHANGED
    assert (await apply(workspace, "release", await estuary_db.task(1, wake=-900, beat=995)))[0] is REFUSED
    settings = workspace.engines[LABEL].engine.settings
    kept = {"dequeue_interval": 10.0, "long_poll": 10800.0}
    assert settings["1"] == {"heartbeat_timeout": 1000.0, **kept}, "what was not overridden stays"
    await workspace.close()


# park and drop


@both_versions
@pytest.mark.parametrize("wake", [-5, 500])
async def test_park_suspends(estuary_db: EstuaryDb, workspace: Workspace, wake: float) -> None:
    task = await estuary_db.task(wake=wake, state={"total_successes": 4})
    before = await estuary_db.row(task)
    assert await apply(workspace, "park", task) == (CHANGED, "")
    after = await estuary_db.row(task)
    assert changed(before, after) == {"wake_at": None}
    await estuary_db.send(task, SHARD)
    assert (await estuary_db.row(task))["due"] <= 0, "a message still wakes it"


@pytest.mark.parametrize(
    ("wake", "beat", "inbox", "reason"),
    [
        (-5, 10, None, "locked"),
        (-5, 400, None, "locked"),
        (60, None, [(ZERO, SHARD)], "inbox"),
        (None, None, None, "already"),
    ],
)
async def test_park_is_refused_where_it_would_strand_the_task(
    estuary_db: EstuaryDb, workspace: Workspace, wake: Any, beat: Any, inbox: Any, reason: str
) -> None:
    task = await estuary_db.task(wake=wake, beat=beat, inbox=inbox)
    before = await estuary_db.digest()
    outcome, because = await apply(workspace, "park", task)
    assert outcome is REFUSED
    assert reason in because
    assert await estuary_db.digest() == before


@both_versions
@pytest.mark.parametrize("beat", [None, 400])
@pytest.mark.parametrize(("position", "left"), [(1, "bc"), (2, "ac"), (3, "ab")])
async def test_drop_takes_one_message_out(
    estuary_db: EstuaryDb, workspace: Workspace, beat: Any, position: int, left: str
) -> None:
    inbox = ['"poison"' if n == position else sent(c) for n, c in enumerate("abc", 1)]
    aside = [sent("d")] if beat else None
    task = await estuary_db.task(wake=-900, beat=beat, inbox=inbox, inbox_next=aside)
    before = await estuary_db.row(task)
    outcomes = await do(workspace, "drop", [estuary_db.id(task)], await estuary_db.named(task, position), LABEL)
    after = await estuary_db.row(task)
    assert outcomes_of(outcomes) == {estuary_db.id(task): CHANGED}
    assert changed(before, after) == {"inbox": [sent(c) for c in left]}
    shown = outcomes.changes[0]
    assert shown.before is not None
    assert shown.after is not None
    assert (shown.before["inbox"], shown.after["inbox"]) == (inbox, after["inbox"]), "both as they are stored"


async def test_dropping_the_only_message_leaves_no_box(estuary_db: EstuaryDb, workspace: Workspace) -> None:
    task = await estuary_db.task(wake=-900, inbox=[None])
    assert (await apply(workspace, "drop", task, **await estuary_db.named(task, 1)))[0] is CHANGED
    assert (await estuary_db.row(task))["inbox"] is None


@pytest.mark.parametrize(
    ("beat", "position", "reason"),
    [(10, 1, "heartbeat"), (None, 0, "message 0"), (None, 3, "message 3"), (None, -1, "message -1")],
)
async def test_drop_is_refused(
    estuary_db: EstuaryDb, workspace: Workspace, beat: Any, position: int, reason: str
) -> None:
    task = await estuary_db.task(wake=-900, beat=beat, inbox=[sent("a"), sent("b")])
    before = await estuary_db.digest()
    outcome, because = await apply(workspace, "drop", task, **await estuary_db.named(task, position))
    assert outcome is REFUSED
    assert reason in because
    assert await estuary_db.digest() == before


# restart


@both_versions
@pytest.mark.parametrize(
    ("type_", "state", "first", "made"),
    [
        (2, {"messages_processed": 3}, ..., None),
        (3, None, ..., {"type": "queued"}),
        (8, {"migration_id": PLANE}, ..., {"initialize": {"migration_id": PLANE}}),
        (8, None, {"initialize": {"migration_id": PLANE}}, {"initialize": {"migration_id": PLANE}}),
        (10, {"x": 1}, ..., "Resume"),
        (12, {}, ..., {"type": "wake"}),
        (32767, '"Finished"', {"value": 3}, {"value": 3}),
        (99, {"x": 1}, {"any": "thing"}, {"any": "thing"}),
    ],
)
async def test_restart_starts_with_the_first_message(
    estuary_db: EstuaryDb, workspace: Workspace, type_: int, state: Any, first: Any, made: Any
) -> None:
    kept = [] if type_ == 8 else [sent(SHARD)]  # type 8 never reads a second message
    task = await estuary_db.task(type_, state=state, wake=900, inbox=kept or None)
    before = await estuary_db.row(task)
    assert await apply(workspace, "restart", task, **({} if first is ... else {"first_message": first})) == (
        CHANGED,
        "",
    )
    after = await estuary_db.row(task)
    assert after["state"] is None
    assert after["due"] <= 0
    expected = [] if made is None else [[ZERO, made]]
    assert [json.loads(e) for e in after["inbox"]] == expected + [json.loads(k) for k in kept]
    assert set(changed(before, after)) <= {"state", "wake_at", "inbox"}


IDLE = {"status": "Idle", "data_plane_id": PLANE, "stack_name": "x", "stack": {"config": {}}}


@both_versions
async def test_a_data_plane_is_restarted_when_idle_and_with_its_id_typed(
    estuary_db: EstuaryDb, workspace: Workspace
) -> None:
    task = await estuary_db.task(1, state=IDLE, wake=900)
    outcome, because = await apply(workspace, "restart", task)
    assert (outcome, "data_plane_id" in because) == (REFUSED, True)
    assert (await apply(workspace, "restart", task, confirm=task))[0] is REFUSED
    assert (await apply(workspace, "restart", task, **TYPED))[0] is CHANGED
    after = await estuary_db.row(task)
    assert after["state"] is None
    assert [json.loads(e) for e in after["inbox"]] == [[ZERO, {"start": PLANE}]]


@pytest.mark.parametrize(
    ("type_", "columns", "arguments", "reason"),
    [
        (1, {"state": {**IDLE, "status": "PulumiUp1"}}, TYPED, "PulumiUp1"),
        (1, {"state": None}, TYPED, "not recorded"),
        (1, {"state": {"status": "Idle"}}, TYPED, "data_plane_id"),
        (1, {"state": IDLE, "inbox": [(ZERO, "converge")]}, TYPED, "inbox"),
        (1, {"state": IDLE}, {**TYPED, "first_message": "converge"}, "initial state"),
        (8, {"state": {"migration_id": PLANE}, "inbox": [sent(SHARD)]}, {}, "messages in the inbox"),
        (1, {"state": IDLE}, {**TYPED, "first_message": "start"}, "decode"),
        (2, {"beat": 10}, {}, "locked"),
        (2, {"beat": 900}, {}, "locked"),
        (8, {"state": None}, {}, "migration_id"),
        (8, {"state": {"migration_id": 'x"}'}}, {}, "migration_id"),
        (8, {"state": "[1, 2]"}, {}, "migration_id"),
        (32767, {"state": '"Finished"'}, {}, "first"),
        (12, {"state": {}}, {"first_message": "wake"}, "decode"),
    ],
)
async def test_restart_is_refused(
    estuary_db: EstuaryDb, workspace: Workspace, type_: int, columns: Any, arguments: Any, reason: str
) -> None:
    task = await estuary_db.task(type_, wake=-9, **columns)
    before = await estuary_db.digest()
    outcome, because = await apply(workspace, "restart", task, **arguments)
    assert outcome is REFUSED
    assert reason in because
    assert await estuary_db.digest() == before
