"""Findings, weighed by all that was read."""

from __future__ import annotations

from pathlib import Path

import asyncpg
import pytest

from queries.contract.builtin import builtin
from queries.contract.spec import HARMS
from queries.evidence import repeated
from queries.records.action import Outcome, Proof
from queries.snapshot import snapshot
from tests.queries.builders import do, opened, outcomes_of
from tests.servers import PostgresServer


@pytest.mark.parametrize("table", [True, False], ids=["table", "file"])
async def test_advice_that_has_not_helped_is_said(
    server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, table: bool
) -> None:
    """A message that is sent again is lost again."""
    dsn = server.fresh("tasker", filled=True)
    workspace = await opened(dsn, tmp_path)
    if table:
        await workspace.audit_log.create()
        await workspace.detect()
    readers = list(workspace.engines.values())
    lost = next(i for i in (await snapshot(workspace, readers)).incidents if i.code == "message_lost")
    assert "has not helped" not in lost.sentence
    for _ in range(2):
        outcomes = outcomes_of(await do(workspace, "resend", list(lost.node_ids), label="tasker"))
        assert set(outcomes.values()) == {Outcome.CHANGED}
        connection = await asyncpg.connect(dsn)
        await connection.execute("TRUNCATE pgmq.q_worker_shop_queue")
        await connection.close()
    again = next(i for i in (await snapshot(workspace, readers)).incidents if i.key == lost.key)
    assert "Resend message " in again.sentence
    assert again.sentence.endswith("(anna) has not helped so far.")
    monkeypatch.setattr(repeated, "LATELY_SECONDS", 0)
    later = next(i for i in (await snapshot(workspace, readers)).incidents if i.key == lost.key)
    assert later.sentence == lost.sentence
    await workspace.close()


MAIL = """
WITH t AS (INSERT INTO _private_tasks (identifier) VALUES ('mail'), ('bill') RETURNING id, identifier)
INSERT INTO _private_jobs (task_id, priority, run_at, created_at, updated_at)
SELECT t.id, CASE t.identifier WHEN 'mail' THEN 5 ELSE 0 END, j.at, j.at, j.at
  FROM t CROSS JOIN generate_series(1, 15) AS n
 CROSS JOIN LATERAL (SELECT now() - interval '1 hour' + n * interval '1 min') AS j(at)
 WHERE t.identifier = 'bill' OR n = 1
"""
PICKED = """
INSERT INTO pgqueuer (priority, created, updated, heartbeat, execute_after, status, entrypoint, queue_manager_id)
SELECT 0, now(), now(), now(), now() - interval '1 hour', s::pgqueuer_status,
       CASE s WHEN 'picked' THEN 'mail' ELSE 'bill' END, CASE s WHEN 'picked' THEN gen_random_uuid() END
  FROM unnest('{picked, queued}'::text[]) AS s
"""


@pytest.mark.parametrize("taken", [0, 5])
async def test_jobs_that_no_worker_takes_are_not_in_the_way_of_others(
    server: PostgresServer, tmp_path: Path, taken: int
) -> None:
    dsn = server.fresh("graphile_worker")
    server.sql(MAIL, dsn)
    row = "(task_id, run_at, priority, locked_at, locked_by) SELECT task_id, now(), priority, now(), 'w'"
    server.sql(f"INSERT INTO _private_jobs {row} FROM _private_jobs WHERE priority = {taken} LIMIT 1", dsn)
    workspace = await opened(dsn, tmp_path)
    shown = (await snapshot(workspace, [*workspace.engines.values()], once=False)).incidents
    assert ("outranked" in {each.code for each in shown}) == (taken == 0)
    await workspace.close()


async def test_flags_of_late_jobs_are_named(server: PostgresServer, tmp_path: Path) -> None:
    """The flags that workers forbid are in their code only."""
    dsn = server.fresh("graphile_worker")
    server.sql(MAIL, dsn)
    server.sql("""UPDATE _private_jobs SET flags = '{"customer-7": true}' WHERE priority = 0""", dsn)
    workspace = await opened(dsn, tmp_path)
    late = [
        i for i in (await snapshot(workspace, [*workspace.engines.values()], once=False)).incidents if i.code == "late"
    ]
    named = {
        each.sentence.partition(" of the task ")[2].split()[0]: each.sentence.partition(" Flags ")[2] for each in late
    }
    assert named == {"mail": "", "bill": "that workers may forbid: customer-7."}
    await workspace.close()


async def test_the_number_of_workers_is_no_part_of_a_name(server: PostgresServer, tmp_path: Path) -> None:
    dsn, keys = server.fresh("pgqueuer"), list[str]()
    for _ in range(2):
        server.sql(PICKED, dsn)
        workspace = await opened(dsn, tmp_path)
        shown = (await snapshot(workspace, [*workspace.engines.values()], once=False)).incidents
        keys += [each.key for each in shown if each.code == "not_served"]
        await workspace.close()
    assert keys == ["pgqueuer/not_served"] * 2


def test_a_guess_suggests_nothing_that_repeats_deletes_ends_or_wakes_a_far_sleeper() -> None:
    """A task that is due, or that has no time at all, does not sleep far."""
    guesses = {(e.name, f.code, n) for e in builtin() for f in e.spec.findings if f.proof is Proof.ASSUMED
               for n in (f.action, f.instead) if n}  # fmt: skip
    assert [each for each in guesses if each[2] in HARMS] == []
    assert {code for _, code, name in guesses if name == "wake"} == {"overdue_timer", "lost_wakeup", "deadlocked"}
