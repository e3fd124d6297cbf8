"""First lines of a change in commands, and stored values of an entry."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import pytest

from queries.log import audit_log
from tests.command import Answer, fetch, unstick
from tests.queries import odd
from tests.servers import PostgresServer

DIGITS = '{"at": 0.12345678901234567890123, "id": 12345678901234567890123}'
WHAT = "1 task Blocked → Available, 60 tasks deleted (30 Blocked, 30 Complete)"
JOB = "00000000-0000-4000-8000-000000000001"
KINDS = "(ARRAY['ChargeCard', 'SendMail', 'StoreReport'])[1 + n % 3]"


def dry_run(dsn: str | None, action: str, *words: str, **more: str) -> Answer:
    return unstick("do", action, "--reason", "it was stuck", "--dry-run", *words, dsn=dsn, **more)


def lines(answer: Answer) -> list[str]:
    """Return the first lines: those up to the first empty one."""
    return answer.out.partition("\n\n")[0].splitlines()


@pytest.fixture
def job(server: PostgresServer, eternaltwin: str) -> str:
    """Add a job of 61 tasks, of which 30 are done, and an audit log."""
    server.sql(audit_log.ddl(), eternaltwin)
    server.sql(
        f"""INSERT INTO job VALUES ('{JOB}', now() - interval '1 day', NULL, '{{}}');
        INSERT INTO task SELECT gen_random_uuid(), '{JOB}', CASE n WHEN 0 THEN 'Report' ELSE {KINDS} END, 1,
               now() - interval '1 day' + n * interval '1 s', NULL, 3,
               (CASE WHEN n BETWEEN 1 AND 30 THEN 'Complete' ELSE 'Blocked' END)::task_status, '1 s', '2 s', '{{}}',
               CASE WHEN n BETWEEN 1 AND 30 THEN convert_to('{{"charge": "ch_' || n || '"}}', 'UTF8') END
          FROM generate_series(0, 60) AS n;
        INSERT INTO task_timer SELECT now() + interval '1 hour', task_id FROM task
         WHERE status = 'Blocked' AND kind <> 'Report'""",
        eternaltwin,
    )
    return f"eternaltwin/job:{JOB}"


def test_a_restart_says_what_runs_twice(eternaltwin: str, job: str) -> None:
    answer = dry_run(eternaltwin, "restart", job, "--arg", "confirm=Report v1")
    first = lines(answer)
    assert first[1:] == [
        "Will change 1 job: Report v1 - 30/61",
        "30 of 61 tasks are Complete and may run again: 10 ChargeCard v1, 10 SendMail v1, 10 StoreReport v1",
        f"{WHAT}, 30 rows of task_timer deleted; can be undone until the runner takes it; nothing waits for it",
    ]
    assert answer.out.count("\n") <= 30
    assert "ch_7" not in answer.out
    whole = dry_run(eternaltwin, "restart", job, "--arg", "confirm=Report v1", "--rows").out
    assert whole.startswith("\n".join(first))
    assert re.search(r"(?s)ch_7.*last poll of the job.*disappear +60 tasks.*descendants +61 tasks.*written to", whole)


def test_what_a_restart_deleted_is_read_from_the_entry(eternaltwin: str, job: str) -> None:
    words = ("--arg", "confirm=Report v1", "--reason", "it was stuck", "--yes", "--json")
    (entry,) = unstick("do", "restart", job, *words, dsn=eternaltwin).json["entries"]
    brief = unstick("audit", entry, dsn=eternaltwin).out
    assert WHAT in brief
    assert brief.count("\n") <= 30
    whole = unstick("audit", entry, "--rows", dsn=eternaltwin).out
    assert '- {"charge": "ch_7"}\n' in whole
    undone = unstick("undo", entry, "--reason", "oops", "--dry-run", dsn=eternaltwin)
    assert lines(undone)[1].startswith(f"Undoes: restart of the entry {entry}")
    assert "may run again" not in undone.out
    assert unstick("audit", "--rows", dsn=eternaltwin).code == 2


def test_all_nodes_and_kinds_are_counted_before_the_first_500(server: PostgresServer, eternaltwin: str) -> None:
    server.sql(
        f"""INSERT INTO job VALUES ('{JOB}', now(), NULL, '{{}}');
        INSERT INTO task SELECT lpad(to_hex(n), 32, '0')::uuid, '{JOB}',
               CASE WHEN n > 600 THEN 'Charge' ELSE {KINDS} END, 1, now(), NULL, 3,
               'Blocked', '1 s', '2 s', '{{}}', NULL
          FROM generate_series(1, 900) AS n""",
        eternaltwin,
    )
    ids = [f"eternaltwin/task:{task}" for (task,) in fetch(eternaltwin, "SELECT task_id FROM task ORDER BY 1")]
    server.sql(audit_log.ddl(), eternaltwin)
    asyncio.run(_run_of(eternaltwin, ids[-380:]))
    answer = dry_run(eternaltwin, "wake", *ids, "--arg", "untimed=yes")
    kinds = "300 Charge v1, 200 ChargeCard v1, 200 SendMail v1, 200 StoreReport v1"
    assert lines(answer)[1] == f"Will change 900 tasks: {kinds}; the first 500 were dry-run"
    assert lines(answer)[2].startswith("380 of them are in the open bulk run 1 of anna@laptop (role postgres): forged")
    assert lines(answer)[3].startswith("500 tasks Blocked → Available; can be undone until the runner takes them")
    asked = unstick("do", "wake", *ids, "--arg", "untimed=yes", "--reason", "x", dsn=eternaltwin, typed="n\n")
    assert "Wake: 900 of 900 nodes in " in asked.err


async def _run_of(dsn: str, ids: list[str]) -> None:
    connection = await asyncpg.connect(dsn)
    await odd.begin(connection, json.dumps({"members": [[node, "1"] for node in ids]}))
    await connection.close()


def test_the_server_is_named_as_it_was_typed(eternaltwin_demo: str, tmp_path: Path) -> None:
    at = urlsplit(eternaltwin_demo)
    services, settings = tmp_path / "services", tmp_path / "config.toml"
    services.write_text(
        f"[shop]\nhost=localhost\nport={at.port}\ndbname={at.path[1:]}\nuser=postgres\npassword={at.password}\n"
    )
    settings.write_text('[contexts.prod]\ndsn = "service=shop"\nproduction = true\n')
    more = {"PGSERVICEFILE": str(services)}
    place = f"localhost:{at.port}  {at.path[1:]} as postgres"
    timed = ("wake", "--filter", "finding:overdue_timer")
    assert lines(dry_run("service=shop", *timed, **more))[0] == f"service shop  {place}"
    prod = lines(dry_run(None, *timed, "@prod", "--config", str(settings), **more))
    assert prod[:2] == [f"@prod  service shop  {place}", "PRODUCTION, by the context prod"]


@pytest.mark.parametrize(
    ("engine", "words", "said"),
    [
        (
            "solid_queue",
            "retry --filter phase:failed --limit 1",
            r" failed → ready.* until the worker or the dispatcher takes",
        ),
        ("tasker", "restart --filter status:error", r"steps below did may run again.*\n.*; cannot be undone: the"),
        ("procrastinate", "restart --filter phase:done", r"All 2 jobs are succeeded and may run again: "),
    ],
)
def test_the_status_is_that_of_the_rows_or_measured(server: PostgresServer, engine: str, words: str, said: str) -> None:
    dsn = server.fresh(engine, filled=True)
    assert re.search(said, dry_run(dsn, *words.split()).out)
    server.drop(dsn)


def test_skipped_nodes_are_grouped_by_reason(server: PostgresServer) -> None:
    dsn = server.fresh("uni2work", filled=True)
    server.sql(f"UPDATE queued_job SET content = '{DIGITS}'", dsn)
    server.sql(audit_log.ddl(), dsn)
    first = dry_run(dsn, "release", "--filter", "kind:job phase:running").out.partition("\n\n")[0]
    assert re.search(r"\nSkipped: \d+\n  \d refused\n    \S", first)
    (job, *_) = (f"uni2work/job:{n}" for (n,) in fetch(dsn, "SELECT id FROM queued_job WHERE lock_time IS NULL"))
    (entry,) = unstick("do", "cancel", job, "-r", "x", "--yes", "--json", dsn=dsn).json["entries"]
    assert f"- {DIGITS}\n" in unstick("audit", entry, "--rows", dsn=dsn).out, "all digits"
    server.drop(dsn)
