"""Bulks whose rows the server compares.

The log and the images are as if the console had compared them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import msgspec
import pytest

from queries.actions import attempt, narrow, parts, perform
from queries.actions.attempt import Attempt
from queries.actions.undo import plan_entry
from queries.contract.builtin import builtin
from queries.db.transaction import Transaction
from queries.files.statement import Statement, with_parts
from queries.records.action import NOT_KEPT, SET, DryRun, Outcome, Outcomes, RowChange
from queries.records.audit import AuditLogEntry
from queries.runs import launch
from queries.workspace import Workspace
from queries.write import audit_log, gate, nodes, server_copies
from queries.write.change import Copies, Effect
from queries.write.images import Images, RowImage, StoredImages, TableImages
from queries.write.row_copies import VALUE_BYTES
from queries.write.script import Script
from tests.db.agent_jobs import AgentJobsDb
from tests.db.eternaltwin import EternaltwinDb
from tests.proof import most_in_proof
from tests.queries import plans
from tests.queries.builders import OPERATOR, dry_run_of, opened, outcomes_of, reader, why
from tests.queries.test_parallel_parts import ARGUMENTS
from tests.servers import PostgresServer, both_versions

CHANGED, STALE, LOCKED, GONE = Outcome.CHANGED, Outcome.STALE, Outcome.LOCKED, Outcome.GONE
INDEPENDENT = [
    (e.name, a.name)
    for e in builtin()
    for a in e.spec.actions
    if a.independent and (plans.FILLS / f"{e.name}.sql").is_file()
]
ROWS = 600
LISTS = ("ids", "versions")


@pytest.fixture(autouse=True)
def one_is_dry_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dry-run one node of a bulk. All others are in one transaction."""
    monkeypatch.setattr(parts, "PART_NODES", 1)
    monkeypatch.setattr(parts, "SERVER_PART_FACTOR", 1000)
    monkeypatch.setattr("queries.db.database.WRITE_SECONDS", 60.0)  # a slow transaction would be halved


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Effect, Attempt]]:
    """Run each such transaction the other way first, and roll that back. Return both."""
    both: list[tuple[Effect, Attempt]] = []
    made: dict[Script, Attempt] = {}
    transact, change = attempt.transact, attempt.change

    async def noted(workspace: Workspace, own: Attempt, limit: float | None) -> None:
        made[own.script] = own
        await transact(workspace, own, limit)

    async def changed_twice(
        transaction: Transaction, script: Script, copies: Copies, written: gate.WrittenRows, *more: Any
    ) -> Effect:
        if (own := made[script]).on_server:
            other = Attempt(own.request)
            await transaction.control("SAVEPOINT other")
            if other.copies.images is not None:
                await other.copies.images.learning().answer(transaction)
            both.append((await change(transaction, other.script, other.copies, written), own))
            await transaction.control("ROLLBACK TO SAVEPOINT other; RELEASE SAVEPOINT other")
            detected = own.request.reader.detected  # what was rolled back stays in the server's numbers
            written = await gate.written(detected.schema, detected.relations).answer(transaction)
        return await change(transaction, script, copies, written, *more)

    monkeypatch.setattr(narrow, "transact", noted)
    monkeypatch.setattr(attempt, "change", changed_twice)
    return both


@pytest.fixture
def ways(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the classes that compared the rows of what was committed."""
    found: list[str] = []
    transact = attempt.transact

    async def noted(workspace: Workspace, own: Attempt, limit: float | None) -> None:
        await transact(workspace, own, limit)
        if own.commit is not None:
            found.append(type(own.copies).__name__)

    monkeypatch.setattr(narrow, "transact", noted)
    return found


async def fitting(
    server: PostgresServer, folder: Path, name: str, action: str, monkeypatch: pytest.MonkeyPatch
) -> tuple[Workspace, str, DryRun]:
    """Return a workspace, its database, and the dry run of a bulk.

    The action can change all of its nodes.
    """
    dsn = server.fresh(name)
    await plans.fill(dsn, name, ROWS)
    server.sql(audit_log.ddl(), dsn)
    profile = {"profile": "mirror" if action == "mark_failed" else "table"} if name == "agent_jobs" else {}
    workspace = await opened(dsn, folder, overrides={name: profile})
    looks, arguments = reader(workspace, name), ARGUMENTS.get((name, action))
    ids = [n.id for n in (await looks.pages.live(limit=400)).nodes] + [
        x.node.id for x in (await looks.pages.dead()).dead_letters
    ]
    with monkeypatch.context() as patch:
        patch.setattr(parts, "PART_NODES", 500)
        fit = outcomes_of(await dry_run_of(workspace, action, ids, arguments, name))
    able = [id_ for id_, outcome in fit.items() if outcome is CHANGED][:40]
    assert len(able) > 5
    return workspace, dsn, await dry_run_of(workspace, action, able, arguments, name)


async def commit(workspace: Workspace, dry_run: DryRun) -> Outcomes:
    """Commit what was dry-run, one transaction after the other."""
    async with workspace.database.reading():  # so that there is one connection only
        return await launch.commit(workspace, dry_run, OPERATOR)


async def entries(workspace: Workspace) -> list[AuditLogEntry]:
    """Return the entries of changes, the oldest first."""
    return [entry async for entry in workspace.audit_log.stream() if entry.results][::-1]


async def images_of(dsn: str) -> dict[str, Images]:
    connection = await asyncpg.connect(dsn)
    try:
        rows = await connection.fetch(
            "SELECT entry::text, images::text FROM unstick.audit_images WHERE images -> 'members' IS NULL"
        )
    finally:
        await connection.close()
    return {row["entry"]: msgspec.json.decode(row["images"], type=Images) for row in rows}


def decoded(change: RowChange) -> RowChange:
    return msgspec.json.decode(msgspec.json.encode(change), type=RowChange)


def texts(value: Any) -> Any:
    """Return a value of a row without the spelling that JSON gives to times."""
    if isinstance(value, str):
        return value.replace("T", " ").replace("+00:00", "+00").removesuffix(":00")
    return value


@both_versions
@pytest.mark.parametrize(("name", "action"), most_in_proof(INDEPENDENT, 2))
async def test_the_log_and_the_images_are_those_of_the_other_way(
    server: PostgresServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    action: str,
    compared: list[tuple[Effect, Attempt]],
) -> None:
    workspace, dsn, dry_run = await fitting(server, tmp_path, name, action, monkeypatch)
    done = await commit(workspace, dry_run)
    found, kept = await entries(workspace), await images_of(dsn)
    await workspace.close()
    assert len(compared) == 1
    (other, own), entry = compared[0], found[-1]
    assert own.commit is not None, "the server compared the rows of what was committed"
    live = sorted(own.nodes.remaining)
    assert live == sorted(other.nodes)
    assert len(live) > 2
    assert {r.id for r in entry.results if r.outcome is CHANGED} == set(live) <= {r.id for r in done.results}

    ours = {(c.id, c.table, c.key): c for c in entry.changes}
    theirs = {(c.id, c.table, c.key): decoded(c.differing()) for c in other.copies}
    assert [(c.id, c.table, c.key) for c in entry.changes] == list(theirs)
    assert ours.keys() == theirs.keys()
    for place, change in ours.items():
        expected = theirs[place]
        assert (change.after is None) == (expected.after is None)
        assert change.before is not None
        assert expected.before is not None
        assert change.before.keys() == expected.before.keys()
        for side, also in ((change.before, expected.before), (change.after, expected.after)):
            for column, value in (side or {}).items():
                if side is change.before or not column.endswith("_at"):  # a clock goes on between the two
                    assert texts(value) == texts((also or {})[column]), (place, column)

    assert other.images is not None
    assert not other.images.incomplete
    ours_kept = {t.table: t for t in kept[entry.id].tables}
    assert ours_kept.keys() == {t.table for t in other.images.tables}
    for table in other.images.tables:
        same = ours_kept[table.table]
        assert (same.key, same.columns, same.others) == (table.key, table.columns, table.others)
        assert sorted((r.id, r.key, r.before) for r in same.rows) == sorted((r.id, r.key, r.before) for r in table.rows)
        assert all((r.after is None) == (r.xmin is None) for r in same.rows)


@both_versions
@pytest.mark.parametrize(("name", "action"), most_in_proof(INDEPENDENT, 2))
async def test_the_undo_gives_back_every_byte(
    server: PostgresServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    action: str,
    ways: list[str],
) -> None:
    workspace, dsn, dry_run = await fitting(server, tmp_path, name, action, monkeypatch)
    spec = reader(workspace, name).engine.spec
    connection = await asyncpg.connect(dsn)
    tables = {c.partition(".")[0] for a in spec.actions if a.name == action for c in a.overwrites}

    async def rows() -> dict[str, list[str]]:
        return {t: sorted(r[0] for r in await connection.fetch(f"SELECT t::text FROM {t} AS t")) for t in tables}

    before = await rows()
    done = await commit(workspace, dry_run)
    changed = {r.id for r in done.results if r.outcome is CHANGED}
    assert "ServerCopies" in ways
    assert await rows() != before
    bulk = (await entries(workspace))[-1].run
    plan = await plan_entry(workspace, bulk)
    undone = await commit(workspace, await perform.dry_run(workspace, plan, "wrong", plan.arguments))
    assert outcomes_of(undone) == dict.fromkeys(changed, CHANGED)
    if not any(c.partition(".")[0] in tables for c in spec.undo.counters):  # these go up, and never back
        assert await rows() == before
    await connection.close()
    await workspace.close()


async def wake(workspace: Workspace, ids: list[str], **arguments: Any) -> Outcomes:
    dry_run = await dry_run_of(workspace, "wake", ids, arguments)
    return await commit(workspace, dry_run)


TOUCH = """
CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.output = NEW.state; RETURN NEW; END $$;
CREATE TRIGGER touch BEFORE UPDATE ON task FOR EACH ROW WHEN (OLD.kind_version > 1) EXECUTE FUNCTION touch()
"""
ADD = """
CREATE FUNCTION more() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO public.task_timer (task_id, deadline) VALUES (NEW.task_id, now() + interval '9 days');
  RETURN NULL;
END $$;
CREATE TRIGGER more AFTER UPDATE ON task FOR EACH ROW WHEN (OLD.kind_version > 1) EXECUTE FUNCTION more()
"""

ELSEWHERE = """
CREATE TABLE public.elsewhere (id uuid);
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO public.elsewhere VALUES (NEW.task_id);
  RETURN NULL;
END $$;
CREATE TRIGGER note AFTER UPDATE ON task FOR EACH ROW WHEN (OLD.kind_version > 1) EXECUTE FUNCTION note()
"""


@pytest.mark.parametrize("trigger", [TOUCH, ADD], ids=["other columns", "a new row"])
async def test_rows_that_change_in_another_way_are_compared_by_the_console(
    audited: Workspace,
    eternaltwin_db: EternaltwinDb,
    monkeypatch: pytest.MonkeyPatch,
    ways: list[str],
    trigger: str,
) -> None:
    """A trigger acts on one node of the second transaction."""
    tasks = [await eternaltwin_db.task(status="Blocked", timer=3600) for _ in range(8)]
    ids = [eternaltwin_db.id(task) for task in tasks]
    last = max(ids)
    await eternaltwin_db.sql(trigger)
    await eternaltwin_db.sql(f"UPDATE task SET kind_version = 2 WHERE task_id = '{last.partition(':')[2]}'")
    monkeypatch.setattr(parts, "SERVER_PART_FACTOR", 3)
    done = await wake(audited, sorted(ids))
    assert outcomes_of(done) == dict.fromkeys(ids, CHANGED)
    assert "ServerCopies" in ways
    assert ways[-1] == "ConsoleCopies"
    (entry,) = [e for e in await entries(audited) if any(r.id == last for r in e.results)]
    of_last = [c for c in entry.changes if c.id == last]
    if trigger is TOUCH:
        assert any(c.table == "task" and {"output", "status"} <= (c.after or {}).keys() for c in of_last)
    else:
        assert any(c.table == "task_timer" and c.before is None for c in of_last)
    rows = await eternaltwin_db.connection.fetch("SELECT xid::text FROM unstick.audit_log WHERE results <> '[]'")
    assert len(rows) == len({r[0] for r in rows}) == len(ways), "what was rolled back left no entry"


async def test_rows_of_another_table_stop_the_part_that_wrote_them(
    audited: Workspace, eternaltwin_db: EternaltwinDb, monkeypatch: pytest.MonkeyPatch, ways: list[str]
) -> None:
    """A trigger writes them for one node, which was not dry-run."""
    ids = sorted([eternaltwin_db.id(await eternaltwin_db.task(status="Blocked", timer=3600)) for _ in range(8)])
    await eternaltwin_db.sql(ELSEWHERE)
    await eternaltwin_db.sql(f"UPDATE task SET kind_version = 2 WHERE task_id = '{ids[-1].partition(':')[2]}'")
    monkeypatch.setattr(parts, "SERVER_PART_FACTOR", 3)
    done = await wake(audited, ids)
    assert outcomes_of(done) == {**dict.fromkeys(ids, CHANGED), ids[-1]: Outcome.CONFLICT}
    assert "elsewhere" in why(done, ids[-1])
    assert await eternaltwin_db.value("SELECT count(*) FROM elsewhere") == 0
    assert ways == ["ConsoleCopies", "ServerCopies", "ServerCopies"]


async def test_nodes_that_cannot_change_are_skipped_by_name(
    audited: Workspace, eternaltwin_db: EternaltwinDb, eternaltwin: str, ways: list[str]
) -> None:
    tasks = [await eternaltwin_db.task(status="Blocked", timer=3600) for _ in range(12)]
    ids = sorted(eternaltwin_db.id(task) for task in tasks)
    dry_run = await dry_run_of(audited, "wake", ids)
    stale, gone, locked = (i.partition(":")[2] for i in ids[3:6])
    await eternaltwin_db.sql(f"UPDATE task SET revision = revision + 1 WHERE task_id = '{stale}'")
    await eternaltwin_db.sql(
        f"DELETE FROM task_timer WHERE task_id = '{gone}'; DELETE FROM task WHERE task_id = '{gone}'"
    )
    other = await asyncpg.connect(eternaltwin)
    async with other.transaction():
        await other.execute(f"SELECT FROM task WHERE task_id = '{locked}' FOR UPDATE")
        done = await commit(audited, dry_run)
    await other.close()
    assert ways == ["ConsoleCopies", "ServerCopies"]
    expected = dict.fromkeys(ids, CHANGED) | {ids[3]: STALE, ids[4]: GONE, ids[5]: LOCKED}
    assert outcomes_of(done) == expected
    entry = (await entries(audited))[-1]
    assert {r.id: r.outcome for r in entry.results} == {i: expected[i] for i in ids[1:]}
    assert {c.id for c in entry.changes} == set(ids[1:]) - set(ids[3:6])


@pytest.mark.parametrize("images", [True, False])
async def test_a_context_that_keeps_no_values(
    server: PostgresServer,
    eternaltwin: str,
    eternaltwin_db: EternaltwinDb,
    tmp_path: Path,
    ways: list[str],
    images: bool,
) -> None:
    server.sql(audit_log.ddl(), eternaltwin)
    workspace = await opened(eternaltwin, tmp_path, images=images)
    ids = sorted([eternaltwin_db.id(await eternaltwin_db.task(status="Blocked", timer=3600)) for _ in range(4)])
    assert outcomes_of(await wake(workspace, ids)) == dict.fromkeys(ids, CHANGED)
    assert ways == ["ConsoleCopies", "ServerCopies"]
    first, second = await entries(workspace)
    assert (len(await images_of(eternaltwin)) == 2) is images
    shown = [[(c.table, sorted(c.before or {}), sorted(c.after or {})) for c in e.changes[:2]] for e in (first, second)]
    assert shown[0] == shown[1]
    values = {v for c in second.changes for v in (c.before or {}).values()}
    assert (values == {NOT_KEPT}) is not images
    after = {v for c in second.changes for v in (c.after or {}).values()}
    assert after == ({"Available"} if images else {SET})
    await workspace.close()


HOSTILE = ("{rest}", "{texts}", "{copied}", "{images}", 'it\'s "odd" $1 :ids ', "back\\slash", "é\u2028", "%s")


async def test_names_of_columns_are_data(
    server: PostgresServer, eternaltwin: str, eternaltwin_db: EternaltwinDb, tmp_path: Path, ways: list[str]
) -> None:
    """The columns of ``task_timer`` are all read, and those of ``task`` hashed."""
    server.sql(audit_log.ddl(), eternaltwin)
    for table in ("task", "task_timer"):
        for number, name in enumerate(HOSTILE):
            quoted = '"' + name.replace('"', '""') + '"'
            await eternaltwin_db.sql(f"ALTER TABLE {table} ADD COLUMN {quoted} text DEFAULT '{number}\"''\\\n\u2028'")
    workspace = await opened(eternaltwin, tmp_path)
    ids = sorted([eternaltwin_db.id(await eternaltwin_db.task(status="Blocked", timer=3600)) for _ in range(4)])
    query = "SELECT t::text FROM task AS t UNION ALL SELECT t::text FROM task_timer AS t ORDER BY 1"
    counted = "SELECT count(*), sum(length(t::text)) FROM task_timer AS t"
    before = await eternaltwin_db.connection.fetchrow(counted)
    assert outcomes_of(await wake(workspace, ids)) == dict.fromkeys(ids, CHANGED)
    assert ways == ["ConsoleCopies", "ServerCopies"]
    entry = (await entries(workspace))[-1]
    gone = [c for c in entry.changes if c.table == "task_timer"]
    assert all(set(HOSTILE) <= (c.before or {}).keys() for c in gone)
    assert {(c.before or {})[HOSTILE[0]] for c in gone} == {"0\"'\\\n\u2028"}
    plan = await plan_entry(workspace, entry.run)
    undone = await commit(workspace, await perform.dry_run(workspace, plan, "wrong", plan.arguments))
    assert outcomes_of(undone) == dict.fromkeys(ids, CHANGED)
    assert await eternaltwin_db.connection.fetchrow(counted) == before
    assert len(await eternaltwin_db.connection.fetch(query)) == 8
    await workspace.close()


async def test_a_row_beyond_the_limit_is_compared_by_the_console(
    audited: Workspace, eternaltwin_db: EternaltwinDb, ways: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_copies, "PART_ROW_BYTES", 20)
    ids = [eternaltwin_db.id(await eternaltwin_db.task(status="Blocked", timer=3600)) for _ in range(3)]
    assert outcomes_of(await wake(audited, ids)) == dict.fromkeys(ids, CHANGED)
    assert set(ways) == {"ConsoleCopies"}


async def test_a_value_that_is_too_large_for_an_image_is_compared_by_the_console(
    server: PostgresServer, table: Workspace, agent_jobs_db: AgentJobsDb, ways: list[str]
) -> None:
    """An undo would set it to the size and digest that were read instead."""
    server.sql(audit_log.ddl(), agent_jobs_db.dsn)
    jobs = [await agent_jobs_db.job("failed", age=90000, started=89990, ended=89980) for _ in range(4)]
    ids = sorted(agent_jobs_db.id(job) for job in jobs)
    await agent_jobs_db.connection.execute(
        "UPDATE jobs SET error = repeat('x', $1) WHERE id = $2", VALUE_BYTES + 1, UUID(ids[-1].partition(":")[2])
    )
    await table.detect()
    done = await commit(table, await dry_run_of(table, "retry", ids, label="agent_jobs"))
    assert outcomes_of(done) == dict.fromkeys(ids, CHANGED)
    assert ways == ["ConsoleCopies", "ConsoleCopies"]
    entry = (await entries(table))[-1]
    (large,) = [change for change in entry.changes if change.id == ids[-1]]
    assert " bytes, md5 " in (large.before or {})["error"]
    plan = await plan_entry(table, entry.run)
    undone = await commit(table, await perform.dry_run(table, plan, "wrong", plan.arguments))
    assert outcomes_of(undone) == {**dict.fromkeys(ids, CHANGED), ids[-1]: Outcome.REFUSED}
    assert "image incomplete" in why(undone, ids[-1])


def test_a_size_that_was_kept_as_the_value_is_not_restored() -> None:
    rows = tuple(
        RowImage(id=f"job:{n}", key=(str(n),), before={"error": text}, after="", xmin="7")
        for n, text in enumerate((f"{VALUE_BYTES + 1} {'ab' * 16}", f"5 {'ab' * 16}", None))
    )
    table = TableImages(table="jobs", key=("id",), columns=("id", "error"), others=(), rows=rows)
    text = msgspec.json.encode(Images(tables=(table,)))
    kept = StoredImages.of({"role": "operator", "engine": "agent_jobs", "schema": "public"}, text, intact=True)
    assert kept.images.incomplete.keys() == {"job:0"}
    assert [row.id for row in kept.images.tables[0].rows] == ["job:1", "job:2"]


async def test_lists_are_sent_as_lists_if_they_must(
    audited: Workspace, eternaltwin_db: EternaltwinDb, ways: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Have a separator that occurs in the ids."""
    monkeypatch.setattr(nodes, "BETWEEN", "-")
    ids = sorted([eternaltwin_db.id(await eternaltwin_db.task(status="Blocked", timer=3600)) for _ in range(4)])
    assert outcomes_of(await wake(audited, ids)) == dict.fromkeys(ids, CHANGED)
    assert ways == ["ConsoleCopies", "ServerCopies"]


def test_a_list_that_a_statement_casts_stays_a_list() -> None:
    cast, plain = (
        Statement(text=f"SELECT $1::{kind}[], $2::text[], $10::text[]", source="", parameters=LISTS)
        for kind in ("uuid", "text")
    )
    assert nodes.with_texts(cast, *LISTS) is None
    joined = nodes.with_texts(plain, *LISTS)
    assert joined is not None
    assert joined.text == (
        "SELECT string_to_array($1::text, E'\\x1f'), string_to_array($2::text, E'\\x1f'), $10::text[]"
    )


def test_the_statements_of_independent_actions_take_texts() -> None:
    for name, action in INDEPENDENT:
        engine = next(e for e in builtin() if e.name == name)
        script = next(a.script for a in engine.spec.actions if a.name == action)
        for section in engine.actions[script].values():
            assert all(nodes.with_texts(part, *LISTS) is not None for part in section), (name, action)


def test_a_part_of_a_statement_keeps_its_braces() -> None:
    parts = {"rows": 'SELECT "{table}"', "table": "task"}
    assert with_parts("{rows} FROM {table}, {other}", parts) == 'SELECT "{table}" FROM task, {other}'
