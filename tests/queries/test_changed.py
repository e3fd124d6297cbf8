"""Changes of engines and operators since a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from console.text.views import changes as views
from queries.changed import read_changes
from queries.contract import detect
from queries.contract.builtin import builtin
from queries.db.errors import DatabaseError, UnknownIdError
from queries.log import audit_log
from queries.read import changes
from queries.records.change import NOT_READ, Changes, ChangeSource
from queries.workspace import Workspace
from tests.db.eternaltwin import EternaltwinDb
from tests.proof import most_in_proof
from tests.queries.builders import do, opened
from tests.servers import PostgresServer, both_versions

ENGINES = sorted(engine.name for engine in builtin() if "changed" in engine.statements)

# All changes that the tables record in [$1, now], by the name of the change and the local id.
RECORDED = {
    "agent_jobs": """
        SELECT CASE WHEN status IN ('completed', 'failed') THEN 'finished' WHEN updated_at = created_at THEN 'created'
                    ELSE 'updated' END, 'job:' || id
          FROM jobs WHERE updated_at BETWEEN $1 AND now()""",
    "estuary": """
        SELECT 'became due', 'task:' || task_id FROM tasks WHERE wake_at BETWEEN $1 AND now()
        UNION ALL
        SELECT 'heartbeat', 'task:' || task_id FROM tasks WHERE heartbeat BETWEEN $1 AND now()
        UNION ALL
        SELECT 'created', 'task:' || task_id
          FROM (SELECT task_id, ('x' || replace(task_id::text, ':', ''))::bit(64)::bigint >> 23 AS ms FROM tasks) AS t
         WHERE to_timestamp(1600000000 + ms / 1000.0) BETWEEN $1 AND now()""",
    "eternaltwin": """
        SELECT 'polled', 'task:' || task_id FROM task WHERE (polled_at).time BETWEEN $1 AND now()
        UNION ALL
        SELECT 'created', 'job:' || job_id FROM job WHERE created_at BETWEEN $1 AND now()""",
    "tasker": """
        SELECT 'transition', 'task:' || task_uuid FROM task_transitions WHERE created_at >= $1 AT TIME ZONE 'UTC'
        UNION ALL
        SELECT 'transition', 'step:' || workflow_step_uuid
          FROM workflow_step_transitions WHERE created_at >= $1 AT TIME ZONE 'UTC'
        UNION ALL
        SELECT 'dead-lettered', 'dead_letter:' || dlq_entry_uuid
          FROM tasks_dlq WHERE dlq_timestamp >= $1 AT TIME ZONE 'UTC'""",
    "uni2work": """
        SELECT 'queued', 'job:' || id FROM queued_job WHERE creation_time BETWEEN $1 AND now()
        UNION ALL
        SELECT 'locked', 'job:' || id FROM queued_job WHERE lock_time BETWEEN $1 AND now()
        UNION ALL
        SELECT 'executed', 'cron:' || id FROM cron_last_exec WHERE "time" BETWEEN $1 AND now()
        UNION ALL
        SELECT 'accessed', 'bucket:' || ident FROM token_bucket WHERE last_access BETWEEN $1 AND now()""",
}


async def recorded(dsn: str, engine: str, since: float, until: float) -> Counter[tuple[str, str]]:
    connection = await asyncpg.connect(dsn)
    text = RECORDED[engine].replace("$1", f"to_timestamp({since!r}::float8)")
    text = text.replace("now()", f"to_timestamp({until!r}::float8)")
    rows = await connection.fetch(text)
    await connection.close()
    return Counter((row[0], f"{engine}/{row[1]}") for row in rows)


def of_nodes(answer: Changes) -> Counter[tuple[str, str]]:
    return Counter((change.what, change.id) for change in answer.changes if change.entry is None)


def source(answer: Changes, name: str) -> ChangeSource:
    return next(each for each in answer.sources if each.name == name)


@pytest.fixture
async def filled(request: pytest.FixtureRequest, server: PostgresServer, tmp_path: Path) -> AsyncIterator[Workspace]:
    """The demo's data of one engine, without an executor."""
    dsn = server.fresh(request.param, filled=True)
    workspace = await opened(dsn, tmp_path)
    yield workspace
    await workspace.close()
    server.drop(dsn)


@pytest.mark.parametrize("filled", most_in_proof(ENGINES, 2), indirect=True)
async def test_every_recorded_change_is_listed_once_on_one_page_or_on_many(
    filled: Workspace, server: PostgresServer
) -> None:
    (engine,) = filled.engines
    whole = await read_changes(filled, 86400, limit=100_000)
    assert (whole.capped, whole.cursor) == (False, None)
    expected = await recorded(server.dsn(filled.server.database), engine, whole.since, whole.at)
    assert of_nodes(whole) == expected
    assert len(expected) > 10
    assert all(whole.since <= change.at <= whole.at + 1 for change in whole.changes)
    times = [change.at for change in whole.changes]
    assert times == sorted(times, reverse=True)
    assert all(change.title for change in whole.changes), "each node still exists"
    assert source(whole, engine).recorded

    paged: Counter[tuple[str, str]] = Counter()
    page = await read_changes(filled, 86400, limit=7)
    since, at = page.since, page.at
    while True:
        assert page.since == since
        assert len(page.changes) == 7 or not page.capped
        paged += of_nodes(page)
        if page.cursor is None:
            break
        page = await read_changes(filled, cursor=page.cursor, limit=7)
    assert paged == await recorded(server.dsn(filled.server.database), engine, since, at)


@pytest.mark.parametrize("filled", sorted({each.name for each in builtin()} - set(ENGINES)), indirect=True)
async def test_an_engine_whose_changes_are_not_read_says_so(filled: Workspace) -> None:
    (engine,) = filled.engines
    answer = await read_changes(filled, 600)
    assert source(answer, engine).scope == NOT_READ
    assert views.none(answer) == "No change was recorded in what was searched"
    assert f"{engine}: {NOT_READ}." in list(views.notes(answer, "w", brief=True))


@pytest.mark.parametrize("filled", ENGINES, indirect=True)
async def test_of_large_tables_the_part_that_was_not_searched_is_said(
    filled: Workspace, server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(detect, "SMALL_TABLE_BLOCKS", -1)
    (engine,) = filled.engines
    workspace = await opened(server.dsn(filled.server.database), tmp_path)
    answer = await read_changes(workspace, 86400, limit=100_000)
    expected = await recorded(server.dsn(filled.server.database), engine, answer.since, answer.at)
    missing = {what for what, _ in expected - of_nodes(answer)}
    said = source(answer, engine)
    if engine == "agent_jobs":
        assert of_nodes(answer) == Counter()
        assert said.scan_required is not None
        assert (said.scan_required.need, said.scope) == ("by_updated", "not searched")
        assert said.scan_required.ddl.startswith("CREATE INDEX CONCURRENTLY")
    elif engine == "eternaltwin":
        assert missing == {"polled", "created"}
        assert {change.new for change in answer.changes} == {"Available"}
        assert said.scan_required is not None
        assert (said.scan_required.need, said.scope.count(";")) == ("task_by_polled", 1)
    elif engine == "estuary":
        assert missing == {"heartbeat"}
        assert "wake_at" in said.scope
    else:
        assert (missing, said.scan_required) == (set(), None), "these tables fit into what is read at an end of them"
    scanned = await read_changes(workspace, 86400, limit=100_000, allow_scan=True)
    expected = await recorded(server.dsn(filled.server.database), engine, scanned.since, scanned.at)
    missing = {what for what, _ in expected - of_nodes(scanned)}
    assert missing == {"estuary": {"heartbeat"}, "eternaltwin": {"created"}}.get(engine, set())
    assert (source(scanned, engine).scan_required, source(scanned, engine).unreadable) == (None, "")
    await workspace.close()


@pytest.mark.parametrize("filled", ["uni2work"], indirect=True)
async def test_a_scan_that_is_allowed_needs_no_table_that_does_not_exist(
    filled: Workspace, server: PostgresServer, tmp_path: Path
) -> None:
    dsn = server.dsn(filled.server.database)
    server.sql("DROP TABLE token_bucket", dsn)
    workspace = await opened(dsn, tmp_path)
    answer = await read_changes(workspace, 86400, allow_scan=True)
    assert source(answer, "uni2work").unreadable == ""
    assert {change.what for change in answer.changes} >= {"queued", "executed"}
    await workspace.close()


@pytest.mark.parametrize("filled", ["tasker"], indirect=True)
async def test_a_transition_has_the_state_before_it(filled: Workspace, server: PostgresServer) -> None:
    """Compare with the previous rows.

    The row of a cancelled task has a wrong previous state.
    """
    connection = await asyncpg.connect(server.dsn(filled.server.database))
    before = """
        SELECT 'tasker/task:' || task_uuid, lag(to_state) OVER (PARTITION BY task_uuid ORDER BY sort_key), to_state
          FROM task_transitions
        UNION ALL
        SELECT 'tasker/step:' || workflow_step_uuid,
               lag(to_state) OVER (PARTITION BY workflow_step_uuid ORDER BY sort_key), to_state
          FROM workflow_step_transitions"""
    expected = Counter(tuple(row) for row in await connection.fetch(before))
    await connection.close()
    answer = await read_changes(filled, 10 * 365 * 86400, limit=100_000)
    assert Counter((c.id, c.old, c.new) for c in answer.changes if c.what == "transition") == expected


@both_versions
async def test_operators_and_engines_are_in_one_list(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    await eternaltwin_db.sql(audit_log.ddl())
    workspace = await opened(eternaltwin, tmp_path)
    task = await eternaltwin_db.task(status="Blocked", timer=30)
    await do(workspace, "wake", [eternaltwin_db.id(task)])
    await eternaltwin_db.sql(
        f"UPDATE task SET polled_at = row(clock_timestamp(), 1)::job_tick WHERE task_id = '{task}'"
    )
    answer = await read_changes(workspace, 60)
    assert [(c.what, c.id, c.entry is not None) for c in answer.changes[:2]] == [
        ("polled", eternaltwin_db.id(task), False),
        ("wake", eternaltwin_db.id(task), True),
    ]
    assert answer.changes[1].entry is not None
    assert answer.changes[1].entry.changes == (), "a list does not read the rows"
    first = await read_changes(workspace, 60, limit=1)
    assert first.capped
    second = await read_changes(workspace, cursor=first.cursor, limit=1)
    assert (second.changes[0].what, second.changes[0].entry is not None) == ("wake", True)
    await workspace.close()


async def test_an_engine_that_cannot_be_read_does_not_stop_the_others(
    eternaltwin_db: EternaltwinDb, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = await eternaltwin_db.task(status="Blocked", timer=30)
    await do(workspace, "wake", [eternaltwin_db.id(task)])
    (reader,) = workspace.engines.values()

    async def fails(*_: object, **routine: bool) -> None:
        raise DatabaseError("permission denied for table task")

    monkeypatch.setattr(changes, "read", fails)
    answer = await read_changes(workspace, 60)
    assert [change.what for change in answer.changes] == ["wake"]
    assert source(answer, reader.label).unreadable == "permission denied for table task"


@pytest.mark.parametrize("cursor", ["", "x", "e30", "&&&", "12"])
async def test_a_wrong_cursor_is_refused(workspace: Workspace, cursor: str) -> None:
    with pytest.raises(UnknownIdError):
        await read_changes(workspace, cursor=cursor)


def test_a_position_is_a_word() -> None:
    end = changes.Position(since=1.5, places={"eternaltwin@ä b": {"poll": "2026-01-01|1|x"}})
    assert changes.position(changes.token(end)) == end


@pytest.mark.parametrize("engine", ["eternaltwin", "estuary", "uni2work"])
async def test_routine_changes_are_counted_and_not_listed(engine: str, every_engine: str, tmp_path: Path) -> None:
    workspace = await opened(every_engine, tmp_path)
    whole = await read_changes(workspace, 10 * 365 * 86400, limit=100_000)
    without = await read_changes(workspace, 10 * 365 * 86400, limit=100_000, routine=False)
    await workspace.close()
    routine = source(without, engine).routine
    assert routine
    assert source(whole, engine).routine == {}
    hidden = {(change.engine, change.what) for change in whole.changes} - {(c.engine, c.what) for c in without.changes}
    assert {what for label, what in hidden if label == engine} == routine.keys()
    listed = Counter(change.what for change in whole.changes if change.engine == engine)
    assert all(n >= listed[what] > 0 for what, n in routine.items()), "meanwhile more tasks became due"
