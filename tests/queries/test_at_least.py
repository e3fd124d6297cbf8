"""Statements that stop at a limit say that there may be more.

Each number of rows that a statement reads at most is lowered to 0, so that an empty table reaches it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from queries.contract.builtin import builtin_folder
from queries.contract.loader import load
from queries.files.statement import Statement
from tests.command import unstick
from tests.queries.builders import opened
from tests.servers import PostgresServer

LIMITED = re.compile(r"\bcount\(\*\) FROM [a-z_]+\) *(?:=|>) *\d{2,}")
ENGINES = ("agent_jobs", "estuary", "eternaltwin", "oban", "pgqueuer", "procrastinate", "solid_queue", "tasker",
           "uni2work", "graphile_worker")  # fmt: skip
# Statements that also need rows, or another variant of the engine, for the row that says "at least".
NEED_ROWS = {"delayed_too_long", "paused_too_long", "inconsistent"}

EXECUTING = """
INSERT INTO oban_producers (uuid, node, queue, started_at, updated_at)
SELECT '6f1c1a3e-0000-4000-8000-000000000001', 'web@1', 'mail', now() - interval '4 days', now() - interval '3 days';
INSERT INTO oban_jobs (state, queue, worker, args, attempt, inserted_at, attempted_at, attempted_by)
SELECT 'executing', 'mail', 'Mailer', '{}', 1, now() - interval '4 days', now() - interval '3 days',
       ARRAY['web@1', '6f1c1a3e-0000-4000-8000-000000000001'] FROM generate_series(1, 2100)
"""

FINISHED = """
WITH job AS (
  INSERT INTO solid_queue_jobs (queue_name, class_name, finished_at, created_at, updated_at)
  SELECT 'mail', 'Mail', now(), now(), now() FROM generate_series(1, 2100) RETURNING id
)
INSERT INTO solid_queue_failed_executions (job_id, error, created_at) SELECT id, 'boom', now() FROM job
"""

LOST = """
WITH job AS (
  INSERT INTO solid_queue_jobs (queue_name, class_name, created_at, updated_at)
  SELECT 'mail', 'Mail', now(), now() FROM generate_series(1, 2100) RETURNING id
)
INSERT INTO solid_queue_ready_executions (job_id, queue_name, created_at) SELECT id, 'mail', now() FROM job;
INSERT INTO solid_queue_jobs (queue_name, class_name, created_at, updated_at) VALUES ('mail', 'Lost', now(), now())
"""

# Findings whose statement has a limit without the row that says "at least", and why that hides no node.
WINDOW = "it reports one node, from a window of rows that its verdict is about"
NEWEST = "it is about the newest rows: older ones do not count"
NO_ROW = {
    ("agent_jobs", "failed_alike"): NEWEST,
    ("agent_jobs", "job_ids_restarted"): NEWEST,
    ("agent_jobs", "schedule_missed"): NEWEST,
    ("agent_jobs", "worker_clock_ahead"): WINDOW,
    ("agent_jobs", "worker_clock_behind"): WINDOW,
    ("eternaltwin", "runner_clock_ahead"): WINDOW,
    ("eternaltwin", "runner_clock_behind"): WINDOW,
    ("eternaltwin", "runner_silent"): WINDOW,
    ("eternaltwin", "schedule_missed"): NEWEST,
    ("eternaltwin", "timers_not_taken"): WINDOW,
    ("pgqueuer", "failed_and_deleted"): NEWEST,
    ("solid_queue", "silent_process"): "it limits the processes among which it looks for a supervisor",
    ("solid_queue", "late"): "it limits the dispatchers that it counts, not the jobs",
    ("uni2work", "cron_overdue"): NEWEST,
    ("uni2work", "long_queue"): WINDOW,
    ("uni2work", "no_workers"): WINDOW,
    ("uni2work", "overtaken"): WINDOW,
    ("uni2work", "schedule_missed"): NEWEST,
    ("uni2work", "time_ahead"): "it looks at both ends of the tables, where times ahead are",
}


def lowered(statement: Statement, most: int) -> Statement:
    """Return the statement with its limits of 20 rows or more lowered."""
    text = re.sub(r"(FROM [a-z_]+\)) = \d{2,}", rf"\1 = {most}", statement.text)
    text = re.sub(r"((?:FROM [a-z_]+|AS o)\)) > \d{2,}", rf"\1 > {most - 1}", text)
    return msgspec.structs.replace(statement, text=re.sub(r"LIMIT \d{2,}(?! -|\d)", f"LIMIT {most}", text))


def test_each_limit_of_a_finding_is_said_or_hides_no_node() -> None:
    silent: set[tuple[str, str]] = set()
    for engine in ENGINES:
        for name, variants in load(builtin_folder(engine)).statements.items():
            for each in variants if name.startswith("findings/") else ():
                limited = re.search(r"LIMIT (?!\d\b|\$)[^)\s]+", each.text)
                if limited and not re.search(r"SELECT NULL(::text)?( AS id)?,", each.text):
                    silent.add((engine, name.partition("/")[2]))
    assert silent == set(NO_ROW)


@pytest.mark.parametrize("engine", ENGINES)
async def test_each_statement_that_reaches_its_limit_says_at_least(
    server: PostgresServer, tmp_path: Path, engine: str
) -> None:
    """The limit is of no rows, and in tasker also of one row, which says it."""
    codes: set[str] = set()
    said: set[str] = set()
    for filled in (False, True) if engine == "tasker" else (False,):
        dsn = server.fresh(engine, filled=filled)
        workspace = await opened(dsn, tmp_path)
        try:
            (reader,) = workspace.engines.values()
            statements = reader.engine.statements
            limited = {
                name: tuple(lowered(each, int(filled)) for each in variants)
                for name, variants in statements.items()
                if name.startswith("findings/") and all(LIMITED.search(each.text) for each in variants)
            }
            reader.variant.engine = msgspec.structs.replace(reader.engine, statements={**statements, **limited})
            if engine == "agent_jobs":  # a mirror of a queue has no owners
                reader.variant.set_option("profile", "table")
            read = await reader.findings.read()
            assert [each for each in read.skipped_findings if each.failed] == []
            said |= {*read.capped, *(each.code for each in read.skipped_findings)}
            codes = {name.partition("/")[2] for name in limited} - NEED_ROWS
        finally:
            await workspace.close()
            server.drop(dsn)
    assert codes - said == set()


def test_the_newest_job_without_an_execution_is_found_behind_many(server: PostgresServer) -> None:
    dsn = server.fresh("solid_queue")
    server.sql(LOST, dsn)
    found = [each for each in unstick("stuck", "--json", dsn=dsn).json["incidents"] if each["code"] == "execution_lost"]
    assert [(each["n"], each["capped"]) for each in found] == [(1, True)]
    server.drop(dsn)


def test_a_late_job_is_found_behind_many_of_another_queue(server: PostgresServer) -> None:
    dsn = server.fresh("pgqueuer")
    jobs = "INSERT INTO pgqueuer (priority, entrypoint, status, execute_after, updated) SELECT"
    server.sql(f"{jobs} 1, 'busy', 'queued', now(), now() FROM generate_series(1, 10100)", dsn)
    server.sql(f"{jobs} 0, 'quiet', 'queued', t, t FROM (SELECT now() - interval '1 hour' AS t) AS t", dsn)
    late = [each for each in unstick("stuck", "--json", dsn=dsn).findings if each["code"] == "late"]
    assert [each["node_id"] for each in late] == ["pgqueuer/job:10101"]
    server.drop(dsn)


def the_only_one(dsn: str, label: str) -> dict[str, Any]:
    """Return the incident of an engine. The server may have others: more tests use it."""
    incidents = unstick("stuck", "--json", dsn=dsn).json["incidents"]
    found = [incident for incident in incidents if incident["key"].startswith(f"{label}/")]
    assert len(found) == 1, incidents
    return dict(found[0])


def test_an_action_on_an_incident_is_for_all_its_nodes(server: PostgresServer) -> None:
    dsn = server.fresh("oban")
    server.sql(EXECUTING, dsn)
    incident = the_only_one(dsn, "oban")
    assert (incident["code"], incident["capped"]) == ("owner_dead", True)
    assert [each["code"] for each in incident["explained"]] == ["executing_long"] * 200, "also of nodes beyond a page"
    words = ["--incident", incident["key"], "-r", "test", "--json", "--dry-run"]
    whole = unstick("do", "release", *words, dsn=dsn)
    assert whole.out, whole.err
    assert len(whole.json["versions"]) == 2100
    assert "may have more nodes" not in whole.err
    assert len(unstick("do", "release", *words, "--limit", "2050", dsn=dsn).json["versions"]) == 2050
    found = re.findall(r'nodes{.*finding="executing_long",precision="(\w+)"} (\d+)', unstick("metrics", dsn=dsn).out)
    assert found == [("capped", "2000")]
    server.drop(dsn)


def test_an_action_on_an_incident_of_finished_nodes_says_that_there_may_be_more(server: PostgresServer) -> None:
    dsn = server.fresh("solid_queue")
    server.sql(FINISHED, dsn)
    incident = the_only_one(dsn, "solid_queue")
    assert (incident["code"], incident["capped"]) == ("finished_and_failed", True)
    done = unstick("do", "delete", "--incident", incident["key"], "-r", "test", "--json", "--dry-run", dsn=dsn)
    assert "may have more nodes than the 2000 that are acted on: of nodes that have finished" in done.err
    server.drop(dsn)
