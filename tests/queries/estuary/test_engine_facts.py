"""Facts of the engine's source about messages, ids, owners and loops."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from queries.read import details
from queries.read.grants import grants
from queries.records.action import Outcome
from queries.workspace import Workspace
from tests.db.estuary import LABEL, ZERO, EstuaryDb, digest
from tests.queries.builders import opened, reader
from tests.queries.estuary.test_actions import SHARD, apply, sent
from tests.queries.estuary.test_findings import looks
from tests.servers import PostgresServer, both_versions

CHANGED, REFUSED = Outcome.CHANGED, Outcome.REFUSED
PLANE = "15:00:00:00:00:00:00:01"
USER = "3fa85f64-5717-4562-b3fc-2c963f66afa6"

# type, message: messages that its Receive decodes
DECODABLE: list[tuple[int, Any]] = [
    *((9, {"event": event}) for event in ("fired", "resolved", "manualTrigger")),
    *((type_, word) for type_ in (10, 11) for word in ("ManualTrigger", "Pause", "Resume")),
    *((type_, any_) for type_ in (3, 4, 5, 6, 7) for any_ in ({"type": "queued"}, {"x": 1}, [1], "text", 7, False)),
    *((type_, None) for type_ in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 32767)),
    (2, {"type": "spec_published", "pub_id": "16ba2ae38c000400"}),
    (2, {"type": "spec_published", "pub_id": "16:ba:2a:e3:8c:00:04:00"}),
    (2, {"type": "spec_published", "pub_id": "16ba2ae3:8c00:0400"}),
    (2, {"type": "spec_published", "pub_id": "0000016BA2AE38C000400"}),
    (2, {"type": "spec_published", "pub_id": "7"}),
    (2, {"type": "manual_trigger", "user_id": USER}),
    (2, {"type": "manual_trigger", "user_id": USER.replace("-", "")}),
    (2, {"type": "manual_trigger", "user_id": "{" + USER + "}"}),
    (2, {"type": "manual_trigger", "user_id": "urn:uuid:" + USER}),
    *((1, message) for message in ("converge", "disable", {"preview": {"branch": "x"}})),
    *((2, message) for message in ({"type": "republish", "reason": "by hand"}, {"type": "inferred_schema_updated"})),
    (8, {"initialize": {"migration_id": "16ba2ae38c000400"}}),
    (12, {"type": "wake"}),
    (32767, {"value": 4}),
]
# type, message: messages that its Receive does not decode
UNDECODABLE: list[tuple[int, Any]] = [
    (9, {"event": "Fired"}),
    (9, "fired"),
    (10, "pause"),
    (11, {"type": "Pause"}),
    (2, {"type": "spec_published", "pub_id": "16-ba-2a-e3-8c-00-04-00"}),
    (2, {"type": "spec_published", "pub_id": "16.ba.2a.e3.8c.00.04.00"}),
    (2, {"type": "spec_published", "pub_id": "16ba2ae38c0004001"}),
    (2, {"type": "spec_published", "pub_id": ""}),
    (2, {"type": "manual_trigger", "user_id": USER.replace("-", "", 1)}),
    (2, {"type": "manual_trigger", "user_id": "{" + USER.replace("-", "") + "}"}),
    (8, {"initialize": {"migration_id": "16-ba-2a-e3-8c-00-04-00"}}),
]


async def codes(workspace: Workspace) -> dict[str, set[str]]:
    """Return the codes of findings about messages, by node."""
    found: dict[str, set[str]] = {}
    for finding in (await reader(workspace, LABEL).findings.read()).findings:
        if finding.code in ("undecodable_message", "unrecognised_message"):
            found.setdefault(finding.node_id, set()).add(finding.code)
    return found


# Messages


@both_versions
async def test_a_message_that_the_type_decodes_is_no_finding_and_no_dead_letter(
    estuary_db: EstuaryDb, workspace: Workspace
) -> None:
    for type_, message in DECODABLE:
        await estuary_db.task(type_, wake=-1, inbox=[(ZERO, message)])
    failing = [
        await estuary_db.task(type_, wake=-900, beat=301, inbox=[(ZERO, message)]) for type_, message in DECODABLE
    ]
    assert await codes(workspace) == {}
    assert (await reader(workspace, LABEL).pages.dead()).dead_letters == ()
    for task in failing:
        detail = await details.read(reader(workspace, LABEL), estuary_db.id(task))
        assert detail is not None
        (inbox,) = [s for s in detail.sections if s.name == "inbox"]
        assert inbox.rows[0][inbox.columns.index("check")] == "decodable", await estuary_db.row(task)


@both_versions
async def test_an_unlisted_message_is_poison_only_on_a_task_that_was_seen_failing(
    estuary_db: EstuaryDb, workspace: Workspace
) -> None:
    """The list of messages may be incomplete; a failing task is the proof."""
    quiet, failing = set(), set()
    for type_, message in UNDECODABLE:
        quiet.add(estuary_db.id(await estuary_db.task(type_, wake=-1, inbox=[(ZERO, message)])))
        quiet.add(estuary_db.id(await estuary_db.task(type_, wake=-9, beat=5, inbox=[(ZERO, message)])))
        failing.add(estuary_db.id(await estuary_db.task(type_, wake=-9, beat=230, inbox=[(ZERO, message)])))
    assert await codes(workspace) == {i: {"unrecognised_message"} for i in quiet} | {
        i: {"undecodable_message"} for i in failing
    }
    r = reader(workspace, LABEL)
    assert {dead_letter.node.id for dead_letter in (await r.pages.dead()).dead_letters} == failing
    found = {
        f.node_id: f
        for f in (await r.findings.read()).findings
        if f.code in ("undecodable_message", "unrecognised_message")
    }
    assert {found[i].action for i in quiet} == {None}


@both_versions
@pytest.mark.parametrize("stored", ['"text"', "[1]", '["00", 1, 2]', "[5, 1]", '["16-ba-2a-e3-8c-00-04-00", 1]', None])
async def test_what_is_no_message_at_all_is_poison_wherever_it_is(
    estuary_db: EstuaryDb, workspace: Workspace, stored: str | None
) -> None:
    task = estuary_db.id(await estuary_db.task(9, wake=-1, inbox=[stored]))
    assert await codes(workspace) == {task: {"undecodable_message"}}


@both_versions
@pytest.mark.parametrize(
    ("type_", "message"), [(t, m) for t, m in DECODABLE if m is not None], ids=lambda v: json.dumps(v)[:40]
)
async def test_send_takes_what_the_engine_decodes(
    estuary_db: EstuaryDb, workspace: Workspace, type_: int, message: Any
) -> None:
    task = await estuary_db.task(type_, state={"status": "Idle"}, wake=60)
    assert await apply(workspace, "send", task, message=message) == (CHANGED, "")
    assert [json.loads(e) for e in (await estuary_db.row(task))["inbox"]] == [[ZERO, message]]


@pytest.mark.parametrize(("type_", "message"), UNDECODABLE, ids=lambda v: json.dumps(v)[:40])
async def test_send_refuses_what_the_engine_cannot_decode(
    estuary_db: EstuaryDb, workspace: Workspace, type_: int, message: Any
) -> None:
    task = await estuary_db.task(type_, wake=60)
    before = await estuary_db.digest()
    assert (await apply(workspace, "send", task, message=message))[0] is REFUSED
    assert await estuary_db.digest() == before


INITIALIZE = {"initialize": {"migration_id": PLANE}}


@both_versions
@pytest.mark.parametrize(
    ("type_", "columns", "arguments", "outcome"),
    [
        (8, {}, {"message": INITIALIZE}, CHANGED),
        (8, {"state": {"migration_id": None}}, {"message": INITIALIZE}, CHANGED),
        (8, {"state": {"migration_id": PLANE}}, {"message": INITIALIZE}, REFUSED),
        (8, {"state": {"migration_id": PLANE}}, {"eof": True}, REFUSED),
        (8, {"inbox": [sent(INITIALIZE)]}, {"message": INITIALIZE}, REFUSED),
        (8, {"wake": -9, "beat": 5, "inbox_next": [sent(INITIALIZE)]}, {"message": INITIALIZE}, REFUSED),
        (9, {"state": {"fired_completed": None}}, {"message": {"event": "manualTrigger"}}, CHANGED),
        (9, {"state": {"fired_completed": "2026-01-01"}}, {"message": {"event": "manualTrigger"}}, REFUSED),
        (9, {"state": {"fired_completed": "2026-01-01"}}, {"message": {"event": "fired"}}, REFUSED),
        (9, {"state": {"fired_completed": "2026-01-01"}}, {"message": {"event": "resolved"}}, CHANGED),
        (2, {"state": {}}, {"eof": True}, CHANGED),
        (32767, {"state": '"Init"'}, {"eof": True}, REFUSED),
        (32767, {}, {"eof": True}, REFUSED),
        (32767, {"state": '"Finished"'}, {"message": {"value": 1}}, REFUSED),
        (32767, {"state": {"Waiting": {"partial": 1, "pending": 1}}}, {"eof": True}, CHANGED),
    ],
)
async def test_send_refuses_what_the_executor_would_never_read(
    estuary_db: EstuaryDb, workspace: Workspace, type_: int, columns: Any, arguments: Any, outcome: Outcome
) -> None:
    """An unread message makes the task due again at once, without end."""
    task = await estuary_db.task(type_, **columns)
    assert (await apply(workspace, "send", task, **arguments))[0] is outcome


# Loops


async def polled(estuary_db: EstuaryDb, task: str, state: str = "inner_state") -> None:
    """Return a task that is due again at once: idle, wake_at at the end of its poll."""
    await estuary_db.sql(
        f"UPDATE tasks SET wake_at = clock_timestamp(), inner_state = {state} WHERE task_id = $1::text::macaddr8", task
    )


@both_versions
async def test_a_loop_over_an_unread_message_is_found_and_the_drop_suggested_works(
    estuary_db: EstuaryDb, estuary: str, tmp_path: Path
) -> None:
    workspace = await opened(estuary, tmp_path, overrides={LABEL: {"hot_loop": 0.0}})
    twice = [sent(INITIALIZE)]
    task = await estuary_db.task(8, wake=-1, state={"migration_id": PLANE}, inbox=twice)
    resting = await estuary_db.task(8, wake=-1, state={"migration_id": PLANE}, inbox=twice)
    for _ in range(5):
        assert await looks(workspace) == ()
        await polled(estuary_db, task)
    (finding,) = await looks(workspace)
    assert (finding.code, finding.node_id, finding.action) == ("unread_message_loop", estuary_db.id(task), "drop")
    assert finding.arguments == {"position": "1", "digest": digest(twice[0]), "decodable": "true"}
    given = {"position": 1, "digest": digest(twice[0])}
    assert (await apply(workspace, "drop", task, **given))[0] is REFUSED, "its type can decode it"
    assert (await apply(workspace, "drop", task, **given, decodable=True))[0] is CHANGED
    assert (await estuary_db.row(task))["inbox"] is None
    assert (await estuary_db.row(resting))["inbox"] == twice
    await workspace.close()


@both_versions
async def test_a_hot_loop_is_found_where_the_state_does_not_change(
    estuary_db: EstuaryDb, estuary: str, tmp_path: Path
) -> None:
    workspace = await opened(estuary, tmp_path, overrides={LABEL: {"hot_loop": 0.0}})
    hot, calm = await estuary_db.task(2, wake=-1, state={"n": 0}), await estuary_db.task(2, wake=-1, state={"n": 0})
    for _ in range(5):
        assert await looks(workspace) == ()
        await polled(estuary_db, hot)
    assert [(f.code, f.node_id) for f in await looks(workspace)] == [("hot_loop", estuary_db.id(hot))]
    assert calm
    await workspace.close()


async def test_an_inbox_that_moves_is_no_unread_loop(estuary_db: EstuaryDb, estuary: str, tmp_path: Path) -> None:
    workspace = await opened(estuary, tmp_path, overrides={LABEL: {"hot_loop": 0.0}})
    locked = await estuary_db.task(2, wake=-1, state={}, inbox=[(ZERO, SHARD)])
    for n in range(8):
        assert await looks(workspace) == ()
        await polled(estuary_db, locked)
        await estuary_db.sql(
            "UPDATE tasks SET inbox = ARRAY[json_build_array('00', $2::text)] WHERE task_id = $1::text::macaddr8",
            *(locked, str(n)),
        )
    await workspace.close()


# Drop


@both_versions
async def test_two_operators_drop_one_message_once(estuary_db: EstuaryDb, workspace: Workspace) -> None:
    """Two operators act on one finding; the next message must stay."""
    good = sent(SHARD)
    task = await estuary_db.task(wake=-900, beat=301, inbox=[good, '"undecodable_message"', good])
    found = (await reader(workspace, LABEL).findings.read([estuary_db.id(task)])).findings
    (finding,) = [f for f in found if f.action == "drop"]
    arguments = {"position": int(finding.arguments["position"]), "digest": finding.arguments["digest"]}
    assert arguments == {"position": 2, "digest": digest('"undecodable_message"')}
    assert (await apply(workspace, "drop", task, **arguments))[0] is CHANGED
    before = await estuary_db.digest()
    outcome, because = await apply(workspace, "drop", task, **arguments)
    assert (outcome, "digest" in because) == (REFUSED, True)
    assert await estuary_db.digest() == before
    assert (await estuary_db.row(task))["inbox"] == [good, good]


@both_versions
@pytest.mark.parametrize(
    ("type_", "stored", "asks"),
    [(2, sent(SHARD), True), (2, sent(None), True), (3, sent({"x": 1}), True), (99, sent({"x": 1}), True),
     (2, sent({"type": "no such"}), False), (2, '"text"', False), (99, "[1]", False)],
)  # fmt: skip
async def test_a_decodable_message_is_dropped_on_demand_alone(
    estuary_db: EstuaryDb, workspace: Workspace, type_: int, stored: str, asks: bool
) -> None:
    task = await estuary_db.task(type_, wake=-9, inbox=[stored, sent(None)])
    named = await estuary_db.named(task, 1)
    if asks:
        assert (await apply(workspace, "drop", task, **named))[0] is REFUSED
        named["decodable"] = True
    assert (await apply(workspace, "drop", task, **named))[0] is CHANGED
    assert (await estuary_db.row(task))["inbox"] == [sent(None)]


@both_versions
@pytest.mark.parametrize(
    ("given", "changes"),
    [({}, True), ({"digest": "0" * 16}, False), ({"position": 1}, False), ({"digest": None}, False),
     ({"position": 1, "digest": digest(sent(SHARD))}, False),
     ({"position": 1, "digest": digest(sent(SHARD)), "decodable": True}, True)],
)  # fmt: skip
async def test_the_guards_are_in_the_statement_itself(
    estuary_db: EstuaryDb, workspace: Workspace, given: Any, changes: bool
) -> None:
    """Run only the change section, without the refusals before it."""
    task = await estuary_db.task(wake=-9, inbox=[(ZERO, SHARD), '"undecodable_message"'])
    r = reader(workspace, LABEL)
    (node,) = (await r.nodes.read([estuary_db.id(task)])).nodes
    (change,) = r.engine.actions["drop"]["change"]
    values = {
        "ids": [r.ids.local(node.id)],
        "versions": [node.version],
        "args": json.dumps({"position": 2, "digest": digest('"undecodable_message"'), **given}),
        "settings": json.dumps(r.engine.settings),
    }
    async with workspace.database.writing() as transaction:
        assert bool(await transaction.rows(change, values)) is changes


# Owners of ids

OWNERS = [
    (1, "INSERT INTO data_planes VALUES ('01:00:00:00:00:00:00:02', 'ops/dp/x', $1::text::macaddr8)"),
    (12, "INSERT INTO tenants VALUES ('acmeCo/', $1::text::macaddr8)"),
    (9, "INSERT INTO alert_history (id, catalog_name) VALUES ($1::text::macaddr8, 'acmeCo/orders')"),
    (3, "INSERT INTO publications (id) VALUES ($1::text::macaddr8)"),
    (4, "CREATE TABLE discovers (id flowid); INSERT INTO discovers VALUES ('{}')"),
    (5, "CREATE TABLE evolutions (id flowid); INSERT INTO evolutions VALUES ('{}')"),
    (6, "CREATE TABLE applied_directives (id flowid); INSERT INTO applied_directives VALUES ('{}')"),
    (7, "CREATE TABLE connector_tags (id flowid); INSERT INTO connector_tags VALUES ('{}')"),
]


async def owned(estuary_db: EstuaryDb, type_: int, insert: str) -> str:
    """Return a task whose id is in a row of another table."""
    task = await estuary_db.task(type_)
    if "$1" in insert:
        await estuary_db.sql(insert, task)
    else:
        await estuary_db.connection.execute(insert.format(task))
    return task


@both_versions
@pytest.mark.parametrize(("type_", "insert"), OWNERS, ids=[str(type_) for type_, _ in OWNERS])
async def test_delete_knows_the_owners_of_ids(
    estuary_db: EstuaryDb, workspace: Workspace, type_: int, insert: str
) -> None:
    task = await owned(estuary_db, type_, insert)
    outcome, because = await apply(workspace, "delete", task)
    assert (outcome, "owned" in because) == (REFUSED, True)
    detail = await details.read(reader(workspace, LABEL), estuary_db.id(task))
    assert detail is not None
    assert [s.rows[0][2] for s in detail.sections if s.name == "pointers"] == ["no foreign key"]
    free = await estuary_db.task(type_)
    assert (await apply(workspace, "delete", free))[0] is CHANGED
    assert (await apply(workspace, "delete", task, owned=True))[0] is CHANGED


async def test_an_id_of_another_type_of_task_is_none_of_theirs(estuary_db: EstuaryDb, workspace: Workspace) -> None:
    """A row of publications refers to no task of another type."""
    task = await owned(estuary_db, 2, OWNERS[3][1])
    assert (await apply(workspace, "delete", task))[0] is CHANGED


@both_versions
@pytest.mark.parametrize(("type_", "insert"), OWNERS, ids=[str(type_) for type_, _ in OWNERS])
async def test_the_owner_check_works_with_exactly_the_granted_rights(
    estuary_db: EstuaryDb, estuary: str, server: PostgresServer, tmp_path: Path, type_: int, insert: str
) -> None:
    task, free = await owned(estuary_db, type_, insert), await estuary_db.task(type_)
    role = server.unique("role")
    server.sql(f"CREATE ROLE {role} LOGIN PASSWORD 'x'; REVOKE ALL ON SCHEMA public FROM PUBLIC", estuary)
    own = await opened(estuary, tmp_path)
    printed = await grants(own.database, own.engines[LABEL], [], [role])
    await own.close()
    for statement in printed:
        server.sql(statement, estuary)
    workspace = await opened(estuary.replace("postgres:", f"{role}:").replace(server.password, "x"), tmp_path)
    outcome, because = await apply(workspace, "delete", task)
    assert (outcome, "owned" in because) == (REFUSED, True)
    assert (await apply(workspace, "delete", free)) == (CHANGED, "")
    # Without SELECT on that column the action is still refused.
    held = [s for s in printed if "SELECT (" in s]
    for statement in held:
        server.sql(statement.replace("GRANT", "REVOKE", 1).replace(" TO ", " FROM "), estuary)
    free = await estuary_db.task(type_)
    outcome, because = await apply(workspace, "delete", free, owned=False)
    assert (outcome, "SELECT" in because) == (REFUSED, True)
    await workspace.close()


async def test_a_hidden_row_is_not_taken_for_none(
    estuary_db: EstuaryDb, estuary: str, server: PostgresServer, tmp_path: Path
) -> None:
    task = await owned(estuary_db, 9, OWNERS[2][1])
    role = server.unique("role")
    server.sql(
        f"CREATE ROLE {role} LOGIN PASSWORD 'x'; GRANT SELECT ON ALL TABLES IN SCHEMA public TO {role};"
        f"GRANT UPDATE, DELETE ON tasks TO {role}; ALTER TABLE alert_history ENABLE ROW LEVEL SECURITY",
        estuary,
    )
    workspace = await opened(estuary.replace("postgres:", f"{role}:").replace(server.password, "x"), tmp_path)
    outcome, because = await apply(workspace, "delete", task)
    assert (outcome, "row-level security" in because) == (REFUSED, True)
    await workspace.close()


async def test_a_table_of_a_role_that_is_not_trusted_is_not_read(
    estuary_db: EstuaryDb, workspace: Workspace, server: PostgresServer, estuary: str
) -> None:
    """Planning a query can run functions of a table's indexes."""
    role = server.unique("mallory")
    server.sql(
        f"CREATE ROLE {role}; GRANT CREATE, USAGE ON SCHEMA public TO {role}; SET ROLE {role};"
        " CREATE TABLE called (n int); CREATE SEQUENCE calls;"
        " CREATE FUNCTION evil(int) RETURNS bool IMMUTABLE LANGUAGE plpgsql AS"
        " $$ BEGIN PERFORM nextval('public.calls'); RETURN true; END $$;"
        " CREATE TABLE trap (controller_task_id macaddr8); CREATE INDEX ON trap (controller_task_id) WHERE evil(1);"
        f" RESET ROLE; REVOKE CREATE ON SCHEMA public FROM {role}",  # CREATE would refuse every delete
        estuary,
    )
    await estuary_db.sql("ALTER SEQUENCE calls RESTART")
    task = await estuary_db.task(2)
    outcome, because = await apply(workspace, "delete", task)
    assert (outcome, "not trusted" in because) == (REFUSED, True)
    assert await details.read(reader(workspace, LABEL), estuary_db.id(task)) is not None
    assert not await estuary_db.value("SELECT is_called FROM calls")
    assert (await apply(workspace, "delete", task, owned=True))[0] is CHANGED


# EOF to the parent
