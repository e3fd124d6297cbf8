"""Many jobs that fail at once come before what failed or has been stuck for long."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.model.dead_letter_board import read_dead_letters
from queries.read.incidents import is_new
from queries.snapshot import snapshot
from tests.proof import proof
from tests.queries.builders import opened
from tests.queries.plans import index
from tests.servers import PostgresServer

AGO = "({start} + n * {gap}) * interval '1 second'"
ROWS = "generate_series({many}, 1, -1) AS n"
UTC = f"timezone('UTC', now()) - {AGO}"
FAILED = {
    "agent_jobs": f"""
        INSERT INTO jobs (job_id, agent_id, user_id, status, error, created_at, completed_at, updated_at)
        SELECT '{{error}} ' || n, a.id, a.user_id, 'failed', '{{error}} after ' || n || ' ms',
               now() - {AGO} - interval '1 second', now() - {AGO}, now() - {AGO}
          FROM {ROWS}, (SELECT id, user_id FROM agents LIMIT 1) AS a""",
    "oban": f"""
        INSERT INTO oban_jobs (state, queue, worker, attempt, max_attempts, errors, scheduled_at, attempted_at,
                               discarded_at)
        SELECT 'discarded', 'default', 'App.Charge', 20, 20,
               jsonb_build_array(jsonb_build_object('attempt', 1, 'error', '{{error}} after ' || n || ' ms')),
               {UTC}, {UTC}, {UTC}
          FROM {ROWS}""",
    "oban, retryable": f"""
        INSERT INTO oban_jobs (state, queue, worker, attempt, max_attempts, errors, scheduled_at, attempted_at)
        SELECT 'retryable', 'default', 'App.Charge', 2, 20,
               jsonb_build_array(jsonb_build_object('attempt', 1, 'error', '{{error}} after ' || n || ' ms')),
               {UTC} + interval '3 days', {UTC} FROM {ROWS}""",
    "estuary": f"""
        INSERT INTO tasks (task_type, wake_at, heartbeat, inbox)
        SELECT 2, now() - {AGO} - interval '5 minutes', now() - {AGO} - interval '4 minutes',
               ARRAY[json_build_array('00:00:00:00:00:00:00:00', '{{error}} after ' || n || ' ms')] FROM {ROWS}""",
    "solid_queue": f"""
        WITH job AS (INSERT INTO solid_queue_jobs (queue_name, class_name, created_at, updated_at)
                     SELECT 'default', 'Charge', {UTC}, {UTC} FROM {ROWS} RETURNING id, created_at)
        INSERT INTO solid_queue_failed_executions (job_id, error, created_at)
        SELECT id, '{{{{"exception_class": "Net", "message": "{{error}}"}}}}', created_at FROM job""",
    "graphile_worker": f"""
        INSERT INTO _private_jobs (task_id, attempts, last_error, updated_at)
        SELECT (SELECT min(id) FROM _private_tasks), 25, '{{error}} after ' || n || ' ms', now() - {AGO} FROM {ROWS}""",
    "graphile_worker, retried": f"""
        INSERT INTO _private_jobs (task_id, run_at, attempts, last_error, updated_at)
        SELECT (SELECT min(id) FROM _private_tasks), now() + interval '99 days' - {AGO}, 2,
               '{{error}} after ' || n || ' ms', now() - {AGO} FROM {ROWS}""",
    "procrastinate": f"""
        SET session_replication_role = replica;
        WITH job AS (INSERT INTO procrastinate_jobs (queue_name, task_name, status)
                     SELECT 'default', '{{error}}', 'failed' FROM {ROWS} RETURNING id)
        INSERT INTO procrastinate_events (job_id, type, at)
        SELECT id, 'failed', now() - {AGO}
          FROM (SELECT id, row_number() OVER (ORDER BY id DESC) AS n FROM job) AS j ORDER BY id""",
    "pgqueuer": f"""
        WITH job AS (INSERT INTO pgqueuer (priority, status, entrypoint, updated)
                     SELECT 0, 'failed', 'charge', now() - {AGO} FROM {ROWS} RETURNING *)
        INSERT INTO pgqueuer_log (job_id, status, priority, entrypoint, created, traceback)
        SELECT id, status, 0, entrypoint, updated,
               '{{{{"exception_type": "E", "exception_message": "{{error}}"}}}}' FROM job""",
    "pgqueuer, deleted": f"""
        INSERT INTO pgqueuer_log (job_id, status, priority, entrypoint, created, traceback)
        SELECT 1000000 + n, s.status::pgqueuer_status, 0, '{{error}}', now() - {AGO} - s.before * interval '1 ms',
               '{{{{"exception_type": "E", "exception_message": "{{error}}"}}}}'
          FROM {ROWS}, (VALUES ('exception', 0), ('picked', 1), ('queued', 2)) AS s (status, before)""",
    "tasker": f"""
        SET session_replication_role = replica;
        SET TimeZone = 'UTC';
        CREATE TEMP TABLE made AS SELECT n, now()::timestamp - {AGO} AS at,
          (lpad(to_hex((extract(epoch FROM now() - {AGO}) * 1000)::bigint), 12, '0')
          || '7000' || lpad(to_hex(n), 16, '8'))::uuid AS id FROM {ROWS};
        INSERT INTO tasks (task_uuid, named_task_uuid, requested_at, identity_hash, created_at, updated_at,
                           correlation_id)
        SELECT id, (SELECT min(named_task_uuid::text)::uuid FROM named_tasks), at, id, at, at, id FROM made;
        INSERT INTO workflow_steps (workflow_step_uuid, task_uuid, named_step_uuid, retryable, attempts, results,
                                    created_at, updated_at)
        SELECT id, id, (SELECT min(named_step_uuid::text)::uuid FROM named_steps), false, 3,
               jsonb_build_object('error', jsonb_build_object('message', '{{error}} after ' || n || ' ms')),
               at, at FROM made;
        INSERT INTO workflow_step_transitions (workflow_step_uuid, to_state, sort_key, most_recent, created_at,
                                               updated_at)
        SELECT id, 'error', 1, true, at, at FROM made;
        INSERT INTO task_transitions (task_uuid, to_state, sort_key, most_recent, created_at, updated_at)
        SELECT id, 'blocked_by_failures', 1, true, at, at FROM made; DROP TABLE made""",
}


@pytest.mark.parametrize("indexed", [True, False], ids=["indexed", "plain"])
@pytest.mark.parametrize("older", [0, 300, 3_000, pytest.param(100_000, marks=proof)])
@pytest.mark.parametrize(("name", "case"), [(case.partition(",")[0], case) for case in FAILED], ids=list(FAILED))
async def test_ten_thousand_fresh_failures_are_in_front(
    server: PostgresServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    case: str,
    older: int,
    indexed: bool,
) -> None:
    monkeypatch.setattr("queries.contract.detect.SMALL_TABLE_BLOCKS", -1)
    dsn = server.fresh(name, filled=True)
    if indexed:
        workspace = await opened(dsn, tmp_path)
        await index(dsn, workspace.engines[name].engine)
        await workspace.close()
    elif name == "oban":
        server.sql("DROP INDEX oban_jobs_discarded_at_index", dsn)
    server.sql(FAILED[case].format(many=older, start=7200, gap=60, error="no address of the host"), dsn)
    server.sql(FAILED[case].format(many=10_000, start=0, gap=0.01, error="gateway timeout"), dsn)
    server.sql("ANALYZE", dsn)
    workspace = await opened(dsn, tmp_path)
    (reader,) = workspace.engines.values()
    now = await snapshot(workspace, [reader])
    first = [each for each in now.incidents[:2] if "gateway timeout" in each.about]
    assert len(first) == 1, [(each.severity, each.n, each.code, each.about) for each in now.incidents]
    assert (first[0].capped, is_new(first[0], now.at), len(now.incidents) > 2) == ("deleted" not in case, True, True)
    assert first[0].sentence.startswith("At least ")
    page = await reader.pages.dead(limit=500)
    fresh = sum("gateway timeout" in each.fingerprint for each in page.dead_letters)
    assert page.scan_required or "," in case or fresh > 400, "the newest, without some in front that are more severe"
    await workspace.close()
    server.drop(dsn)


async def test_failures_that_nothing_leads_to_are_a_row_with_the_cost_of_a_scan(
    server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("queries.contract.detect.SMALL_TABLE_BLOCKS", -1)
    dsn = server.fresh("agent_jobs", filled=True)
    server.sql("DROP INDEX idx_jobs_user_status_created_at", dsn)
    server.sql(FAILED["agent_jobs"].format(many=10_000, start=0, gap=0.01, error="gateway timeout"), dsn)
    server.sql("VACUUM ANALYZE", dsn)
    workspace = await opened(dsn, tmp_path)
    (reader,) = workspace.engines.values()
    (row,) = [each for each in (await snapshot(workspace, [reader])).incidents if each.code == "failures_not_read"]
    assert (row.title, row.severity, row.findings[0].affects) == ("newest failures not read", 5, ("agent_jobs",))
    size = str(row.findings[0].evidence["size"])
    assert row.sentence.endswith(f"--engine agent_jobs --allow-scan reads them with a scan of about {size}.")
    assert float(size.removesuffix(" MB")) > 1
    assert (await read_dead_letters(reader, 100)).scan_required is not None
    report = await read_dead_letters(reader, 100, allow_scan=True)
    assert [(group.n, group.capped) for group in report.groups] == [(100, True)], "of the fresh ones alone"
    await workspace.close()
    server.drop(dsn)


async def test_failures_between_two_backlogs_are_read_by_an_index_or_offered(
    server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("queries.contract.detect.SMALL_TABLE_BLOCKS", -1)
    dsn = server.fresh("estuary")
    waiting = "INSERT INTO tasks (task_type, wake_at) SELECT 2, now() - interval '{} s' FROM generate_series(1, 3000)"
    server.sql(";".join(map(waiting.format, (9000, 60))), dsn)
    server.sql(FAILED["estuary"].format(many=100, start=0, gap=0.01, error="gateway timeout"), dsn)
    for indexed in (False, True):
        workspace = await opened(dsn, tmp_path)
        (reader,) = workspace.engines.values()
        if indexed:
            await index(dsn, reader.engine)
            await workspace.close()
            workspace = await opened(dsn, tmp_path)
            (reader,) = workspace.engines.values()
        rows = {row.code: row for row in (await snapshot(workspace, [reader])).incidents}
        assert ("failures_not_read" in rows, "undecodable_message" in rows) == (not indexed, indexed)
        report = await read_dead_letters(reader, 500)
        assert (len(report.dead_letters), "the 2,500 tasks due first, the 2,500 due last" in report.scope) == (
            100 * indexed,
            True,
        )
        assert len((await read_dead_letters(reader, 500, allow_scan=True)).dead_letters) == 100
        await workspace.close()
    assert (rows["undecodable_message"].n, rows["undecodable_message"].capped) == (100, True)
    server.drop(dsn)


async def test_the_newest_locks_of_dead_workers_are_in_front_of_5000_older_ones(
    server: PostgresServer, tmp_path: Path
) -> None:
    dsn = server.fresh("estuary")
    server.sql(
        "INSERT INTO tasks (task_type, heartbeat) SELECT 2, now() - n * interval '1 h' FROM generate_series(1, 6000) n",
        dsn,
    )
    workspace = await opened(dsn, tmp_path)
    (reader,) = workspace.engines.values()
    page = await reader.pages.dead(limit=10)
    assert [round((page.at - (each.since or 0)) / 3600) for each in page.dead_letters] == [*range(1, 11)]
    assert page.scope == "the 5,000 locked tasks with the newest heartbeat"
    read = await reader.findings.read(limit=6000)
    times = [read.at - (each.since or 0) for each in read.findings if each.code == "owner_dead"]
    assert (round(min(times) / 3600), round(max(times) / 3600), len(times)) == (1, 6000, 6000)  # a small table: all
    assert "owner_dead" not in read.capped
    await workspace.close()
    server.drop(dsn)
