"""Every action of uni2work: rows before and after, and refusals."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from queries.change import loop
from queries.read import details
from queries.records.action import Change, Outcome, texts_of
from queries.workspace import Workspace
from tests.db.uni2work import CONSOLE, DEAD, LABEL, LIVE, MAIL, OTHER, Uni2workDb
from tests.queries.builders import OPERATOR, do, dry_run_of, opened, outcomes_of, seen, why
from tests.servers import both_versions

CHANGED, REFUSED, STALE = Outcome.CHANGED, Outcome.REFUSED, Outcome.STALE
GONE = {"gone": True}
PRUNE = {"job": "prune-invitations"}


async def commit(workspace: Workspace, action: str, dry_run: Change) -> Change:
    return await loop.commit(workspace, dry_run, OPERATOR)


# Release


@both_versions
async def test_release_clears_both_columns_of_that_row_only(
    uni2work_db: Uni2workDb, uni2work_workspace: Workspace
) -> None:
    job, other = await uni2work_db.job(held=900), await uni2work_db.job(held=900)
    before, bystander = dict(await uni2work_db.row(job)), dict(await uni2work_db.row(other))
    outcomes = await do(uni2work_workspace, "release", [uni2work_db.id(job)], GONE, LABEL)
    after = dict(await uni2work_db.row(job))
    assert outcomes_of(outcomes) == {uni2work_db.id(job): CHANGED}
    assert after == {**before, "lock_instance": None, "lock_time": None, "xmin": outcomes.xid}
    assert dict(await uni2work_db.row(other)) == bystander
    (change,) = outcomes.changes
    assert change.before is not None and change.after is not None  # noqa: PT018
    assert {k for k in change.before if change.before[k] != change.after[k]} == {"lock_instance", "lock_time"}


async def test_release_requires_the_operators_confirmation(
    uni2work_db: Uni2workDb, uni2work_workspace: Workspace
) -> None:
    job = await uni2work_db.job(held=900)
    for node in (uni2work_db.id(job), uni2work_db.id(DEAD, "holder")):
        outcomes = await do(uni2work_workspace, "release", [node], {}, LABEL)
        assert outcomes_of(outcomes) == {node: REFUSED}
        assert "gone" in why(outcomes, node)
    assert (await uni2work_db.row(job))["lock_instance"] == DEAD


async def test_a_new_lock_is_refused(uni2work_db: Uni2workDb, uni2work_workspace: Workspace) -> None:
    assert uni2work_workspace.engines[LABEL].engine.settings["stale"] == 300.0
    job = await uni2work_db.job(held=295)
    before = await uni2work_db.everything()
    outcomes = await do(uni2work_workspace, "release", [uni2work_db.id(job)], GONE, LABEL)
    assert outcomes_of(outcomes) == {uni2work_db.id(job): REFUSED}
    assert "5m00s" in why(outcomes, uni2work_db.id(job))
    assert await uni2work_db.everything() == before


async def test_the_threshold_is_the_operators(uni2work_db: Uni2workDb, tmp_path: Path) -> None:
    job = await uni2work_db.job(held=400)
    workspace = await opened(uni2work_db.dsn, tmp_path, overrides={LABEL: {"stale": 3600.0}})
    try:
        assert outcomes_of(await do(workspace, "release", [uni2work_db.id(job)], GONE, LABEL)) == {
            uni2work_db.id(job): REFUSED
        }
    finally:
        await workspace.close()


@pytest.mark.parametrize("sign", ["lock", "made", "cron"])
async def test_an_active_instance_is_not_gone(
    uni2work_db: Uni2workDb, uni2work_workspace: Workspace, sign: str
) -> None:
    job = await uni2work_db.job(held=900, held_by=LIVE)
    if sign == "lock":
        await uni2work_db.job(held=20, held_by=LIVE)
    elif sign == "made":
        await uni2work_db.job(age=20, creator=LIVE)
    else:
        await uni2work_db.cron(PRUNE, age=20, instance=LIVE)
    for node in (uni2work_db.id(job), uni2work_db.id(LIVE, "holder")):
        outcomes = await do(uni2work_workspace, "release", [node], GONE, LABEL)
        assert outcomes_of(outcomes) == {node: REFUSED}
        assert "active" in why(outcomes, node)
    assert (await uni2work_db.row(job))["lock_instance"] == LIVE


@pytest.mark.parametrize("sign", ["job", "holder"])
async def test_activity_between_dry_run_and_commit_makes_it_stale(
    uni2work_db: Uni2workDb, uni2work_workspace: Workspace, sign: str
) -> None:
    job = await uni2work_db.job(held=900)
    node = uni2work_db.id(job) if sign == "job" else uni2work_db.id(DEAD, "holder")
    dry_run = await dry_run_of(uni2work_workspace, "release", [node], GONE, LABEL)
    await uni2work_db.cron(PRUNE, age=400, instance=DEAD)  # older than the threshold, but newer than the dry run
    outcomes = await commit(uni2work_workspace, "release", dry_run)
    assert outcomes_of(outcomes) == {node: STALE}
    assert (await uni2work_db.row(job))["lock_instance"] == DEAD


@pytest.mark.parametrize("missing", ["lock_instance", "lock_time"])
async def test_an_old_inconsistent_lock_is_released(
    uni2work_db: Uni2workDb, uni2work_workspace: Workspace, missing: str
) -> None:
    job = await uni2work_db.job(held=900, age=1000)
    await uni2work_db.sql(f"UPDATE queued_job SET {missing} = NULL")
    assert outcomes_of(await do(uni2work_workspace, "cancel", [uni2work_db.id(job)], {}, LABEL)) == {
        uni2work_db.id(job): REFUSED
    }
    assert outcomes_of(await do(uni2work_workspace, "release", [uni2work_db.id(job)], GONE, LABEL)) == {
        uni2work_db.id(job): CHANGED
    }
    row = await uni2work_db.row(job)
    assert (row["lock_instance"], row["lock_time"]) == (None, None)


@both_versions
@pytest.mark.parametrize("age", [1, 9000, -9000])
@pytest.mark.parametrize("holder", [DEAD, LIVE])
async def test_a_lock_without_a_time_is_released(
    uni2work_db: Uni2workDb, uni2work_workspace: Workspace, age: float, holder: UUID
) -> None:
    """Such a lock has no age; creation time and activity do not matter."""
    job = await uni2work_db.job(held_by=holder, age=age)
    await uni2work_db.cron(PRUNE, age=5, instance=LIVE)
    dry_run = await dry_run_of(uni2work_workspace, "release", [uni2work_db.id(job)], GONE, LABEL)
    assert outcomes_of(dry_run) == {uni2work_db.id(job): CHANGED}
    await uni2work_db.sql("UPDATE cron_last_exec SET time = now()")
    assert outcomes_of(await commit(uni2work_workspace, "release", dry_run)) == {uni2work_db.id(job): CHANGED}
    row = await uni2work_db.row(job)
    assert (row["lock_instance"], row["lock_time"]) == (None, None)


@both_versions
async def test_all_locks_of_an_instance(uni2work_db: Uni2workDb, uni2work_workspace: Workspace) -> None:
    jobs = [await uni2work_db.job(held=900 + n) for n in range(3)]
    other = await uni2work_db.job(held=900, held_by=OTHER)
    node = uni2work_db.id(DEAD, "holder")
    outcomes = await do(uni2work_workspace, "release", [node], GONE, LABEL)
    assert outcomes_of(outcomes) == {node: CHANGED}
    assert {c.key for c in outcomes.changes} == {str(j) for j in jobs}
    assert {c.table for c in outcomes.changes} == {"queued_job"}
    assert all(c.before and c.after and c.after["lock_instance"] is None for c in outcomes.changes)
    assert [(await uni2work_db.row(j))["lock_time"] for j in jobs] == [None] * 3
    assert (await uni2work_db.row(other))["lock_instance"] == OTHER


async def test_a_lock_at_infinity_is_never_old(uni2work_db: Uni2workDb, uni2work_workspace: Workspace) -> None:
    old, never = await uni2work_db.job(held=900), await uni2work_db.job(held=900)
    await uni2work_db.sql("UPDATE queued_job SET lock_time = 'infinity' WHERE id = $1", never)
    node = uni2work_db.id(DEAD, "holder")
    assert outcomes_of(await do(uni2work_workspace, "release", [node, uni2work_db.id(never)], GONE, LABEL)) == {
        node: CHANGED,
        uni2work_db.id(never): REFUSED,
    }
    assert [(await uni2work_db.row(j))["lock_instance"] for j in (old, never)] == [None, DEAD]
    again = await do(uni2work_workspace, "release", [node], GONE, LABEL)
    assert outcomes_of(again) == {node: REFUSED}
    assert "5m00s" in why(again, node)


async def test_two_instances_in_one_run_are_distinguished(
    uni2work_db: Uni2workDb, uni2work_workspace: Workspace
) -> None:
    one, two = (
        await uni2work_db.job(held=900, creator=LIVE),
        await uni2work_db.job(held=900, held_by=OTHER, creator=LIVE),
    )
    nodes = [uni2work_db.id(DEAD, "holder"), uni2work_db.id(OTHER, "holder")]
    outcomes = await do(uni2work_workspace, "release", nodes, GONE, LABEL)
    assert outcomes_of(outcomes) == dict.fromkeys(nodes, CHANGED)
    assert {(c.id, c.key) for c in outcomes.changes} == {(nodes[0], str(one)), (nodes[1], str(two))}


async def test_a_lock_removed_since_it_was_seen_makes_the_holder_stale(
    uni2work_db: Uni2workDb, uni2work_workspace: Workspace
) -> None:
    await uni2work_db.job(held=900)
    done = await uni2work_db.job(held=900)
    node = uni2work_db.id(DEAD, "holder")
    versions = await seen(uni2work_workspace, [node], LABEL)
    await uni2work_db.sql("DELETE FROM queued_job WHERE id = $1", done)
    assert outcomes_of(await do(uni2work_workspace, "release", versions, GONE, LABEL)) == {node: STALE}


async def test_at_most_500_of_an_instance_at_once(uni2work_db: Uni2workDb, uni2work_workspace: Workspace) -> None:
    await uni2work_db.sql(
        "INSERT INTO queued_job (content, creation_instance, creation_time, lock_instance, lock_time)"
        " SELECT '{}', $1, now() - interval '1h', $1, now() - interval '20 min' FROM generate_series(1, 501)",
        DEAD,
    )
    await uni2work_db.sql("UPDATE queued_job SET creation_instance = $1", OTHER)
    node = uni2work_db.id(DEAD, "holder")
    left = "SELECT count(*) FROM queued_job WHERE lock_instance IS NOT NULL"
    assert outcomes_of(await do(uni2work_workspace, "release", [node], GONE, LABEL)) == {node: CHANGED}
    assert await uni2work_db.value(left) == 1
    assert outcomes_of(await do(uni2work_workspace, "release", [node], GONE, LABEL)) == {node: CHANGED}
    assert await uni2work_db.value(left) == 0


@pytest.mark.parametrize("key", ["none", "inconsistent"])
async def test_only_instances_can_be_released(uni2work_db: Uni2workDb, uni2work_workspace: Workspace, key: str) -> None:
    await uni2work_db.job()
    await uni2work_db.job(held_by=DEAD)
    outcomes = await do(uni2work_workspace, "release", [uni2work_db.id(key, "holder")], GONE, LABEL)
    assert outcomes_of(outcomes) == {uni2work_db.id(key, "holder"): REFUSED}


# Cancel, skip


@both_versions
async def test_cancel_deletes_the_row_and_keeps_its_content_to_the_digit(
    uni2work_db: Uni2workDb, uni2work_workspace: Workspace
) -> None:
    exact = '{"job": "x", "big": 123456789012345678901234567890.10, "huge": 1' + "0" * 400 + "}"
    job, other = await uni2work_db.job(exact), await uni2work_db.job()
    outcomes = await do(uni2work_workspace, "cancel", [uni2work_db.id(job)], {}, LABEL)
    assert outcomes_of(outcomes) == {uni2work_db.id(job): CHANGED}
    (change,) = outcomes.changes
    assert change.after is None and change.before is not None  # noqa: PT018
    content = bytes(texts_of(change.before)["content"]).decode()
    assert await uni2work_db.value("SELECT $1::text::jsonb = $2::text::jsonb", content, exact)
    assert "123456789012345678901234567890.10" in content
    assert (await uni2work_db.row(job), (await uni2work_db.row(other))["id"]) == (None, other)


@pytest.mark.parametrize("action", ["cancel", "skip"])
@pytest.mark.parametrize("held", [1, 9000])
async def test_a_locked_row_is_never_deleted(
    uni2work_db: Uni2workDb, uni2work_workspace: Workspace, action: str, held: float
) -> None:
    job = await uni2work_db.job(PRUNE, held=held, cron=True)
    before = await uni2work_db.everything()
    outcomes = await do(uni2work_workspace, action, [uni2work_db.id(job)], {}, LABEL)
    assert outcomes_of(outcomes) == {uni2work_db.id(job): REFUSED}
    assert "lock" in why(outcomes, uni2work_db.id(job)) or "confirm with gone" in why(outcomes, uni2work_db.id(job))
    assert await uni2work_db.everything() == before


@both_versions
@pytest.mark.parametrize("known", [False, True])
async def test_skip_records_and_deletes(uni2work_db: Uni2workDb, uni2work_workspace: Workspace, known: bool) -> None:
    content = '{"job": "prune", "n": 123456789012345678901234567890.10}'
    if known:
        await uni2work_db.cron(content)
    job = await uni2work_db.job(content, cron=True)
    outcomes = await do(uni2work_workspace, "skip", [uni2work_db.id(job)], {}, LABEL)
    assert outcomes_of(outcomes) == {uni2work_db.id(job): CHANGED}
    entry = await uni2work_db.entry(content)
    assert await uni2work_db.row(job) is None
    assert (entry["instance"], entry["ago"].total_seconds() < 60) == (CONSOLE, True)
    assert "123456789012345678901234567890.10" in entry["job"]
    assert {c.table: (c.before is None, c.after is None) for c in outcomes.changes} == {
        "queued_job": (False, True),
        "cron_last_exec": (not known, False),
    }


async def test_skip_never_moves_a_record_back_in_time(uni2work_db: Uni2workDb, uni2work_workspace: Workspace) -> None:
    await uni2work_db.cron(PRUNE, age=-3600)
    job = await uni2work_db.job(PRUNE, cron=True)
    await do(uni2work_workspace, "skip", [uni2work_db.id(job)], {}, LABEL)
    assert (await uni2work_db.entry(PRUNE))["ago"].total_seconds() < -3000


async def test_skip_of_two_equal_jobs_at_once(uni2work_db: Uni2workDb, uni2work_workspace: Workspace) -> None:
    one, two = [await uni2work_db.job(text, cron=True) for text in ('{"job": "p", "a": 1}', '{"a": 1.0, "job": "p"}')]
    outcomes = await do(uni2work_workspace, "skip", [uni2work_db.id(one), uni2work_db.id(two)], {}, LABEL)
    assert set(outcomes_of(outcomes).values()) == {CHANGED}
    assert await uni2work_db.value("SELECT count(*) FROM queued_job") == 0
    assert await uni2work_db.value("SELECT count(*) FROM cron_last_exec") == 1


async def test_skip_is_for_cron_jobs_only(uni2work_db: Uni2workDb, uni2work_workspace: Workspace) -> None:
    job = await uni2work_db.job(PRUNE)
    outcomes = await do(uni2work_workspace, "skip", [uni2work_db.id(job)], {}, LABEL)
    assert outcomes_of(outcomes) == {uni2work_db.id(job): REFUSED}
    assert "write_last_exec" in why(outcomes, uni2work_db.id(job))


@both_versions
async def test_content_too_large_for_the_record_conflicts_and_nothing_is_changed(
    uni2work_db: Uni2workDb, uni2work_workspace: Workspace
) -> None:
    large = {"job": "prune", "ids": [str(uuid4()) for _ in range(300)]}  # 8 kB and more, hardly compressible
    job, small = await uni2work_db.job(large, cron=True), await uni2work_db.job(PRUNE, cron=True)
    outcomes = await do(uni2work_workspace, "skip", [uni2work_db.id(job), uni2work_db.id(small)], {}, LABEL)
    assert outcomes_of(outcomes) == {uni2work_db.id(job): Outcome.CONFLICT, uni2work_db.id(small): CHANGED}
    assert "ndex row" in why(outcomes, uni2work_db.id(job))
    assert (await uni2work_db.row(job))["id"] == job


# Cron


@both_versions
async def test_run_now_queues_what_cron_would(uni2work_db: Uni2workDb, uni2work_workspace: Workspace) -> None:
    content = '{"job": "prune", "n": 123456789012345678901234567890.10}'
    entry = await uni2work_db.cron(content)
    node = uni2work_db.id(entry, "cron")
    before = dict(await uni2work_db.entry(content))
    outcomes = await do(uni2work_workspace, "run_now", [node], {}, LABEL)
    assert outcomes_of(outcomes) == {node: CHANGED}
    row = await uni2work_db.connection.fetchrow("SELECT *, content::text AS content FROM queued_job")
    assert row is not None
    assert (row["write_last_exec"], row["creation_instance"], row["lock_time"]) == (True, CONSOLE, None)
    assert "123456789012345678901234567890.10" in row["content"]
    after = dict(await uni2work_db.entry(content))
    assert {**after, "ago": None} == {**before, "ago": None}, "the entry was not written to"
    again = await do(uni2work_workspace, "run_now", [node], {}, LABEL)
    assert outcomes_of(again) == {node: REFUSED}
    assert f"job {row['id']}" in why(again, node)


@pytest.mark.parametrize("place", [0, 2])
async def test_run_now_finds_an_equal_row_at_both_ends_of_a_long_queue(
    uni2work_db: Uni2workDb, tmp_path: Path, place: int
) -> None:
    jobs = [await uni2work_db.job(PRUNE if n == place else {"job": "x", "n": n}) for n in range(3)]
    node = uni2work_db.id(await uni2work_db.cron(PRUNE), "cron")
    workspace = await opened(uni2work_db.dsn, tmp_path, overrides={LABEL: {"window": 1.0, "head": 1.0}})
    outcomes = await do(workspace, "run_now", [node], {}, LABEL)
    assert outcomes_of(outcomes) == {node: REFUSED}
    assert f"job {jobs[place]}" in why(outcomes, node)
    await workspace.close()


async def test_two_operators_queue_it_once(uni2work_db: Uni2workDb, tmp_path: Path) -> None:
    node = uni2work_db.id(await uni2work_db.cron(PRUNE), "cron")
    for turn in range(5):
        both = [await opened(uni2work_db.dsn, tmp_path / str(n)) for n in range(2)]
        outcomes = await asyncio.gather(*(do(w, "run_now", [node], {}, LABEL) for w in both))
        for workspace in both:
            await workspace.close()
        results = sorted(outcomes_of(o)[node] for o in outcomes)
        assert await uni2work_db.value("SELECT count(*) FROM queued_job") == 1, (turn, results)
        assert results.count(CHANGED) == 1
        await uni2work_db.sql("DELETE FROM queued_job")


async def test_run_now_does_not_wait_for_another_operator(
    uni2work_db: Uni2workDb, uni2work_workspace: Workspace
) -> None:
    node, free = (
        uni2work_db.id(await uni2work_db.cron(PRUNE), "cron"),
        uni2work_db.id(await uni2work_db.cron(MAIL), "cron"),
    )
    async with uni2work_db.connection.transaction():
        key = f"unstick {json.dumps(PRUNE)}"
        await uni2work_db.sql("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", key)
        outcomes = await do(uni2work_workspace, "run_now", [node, free], {}, LABEL)
    assert outcomes_of(outcomes) == {node: Outcome.LOCKED, free: CHANGED}


@both_versions
async def test_forget_deletes_the_record(uni2work_db: Uni2workDb, uni2work_workspace: Workspace) -> None:
    entry, other = await uni2work_db.cron(PRUNE), await uni2work_db.cron(MAIL)
    outcomes = await do(uni2work_workspace, "forget", [uni2work_db.id(entry, "cron")], {}, LABEL)
    assert outcomes_of(outcomes) == {uni2work_db.id(entry, "cron"): CHANGED}
    assert [r["id"] for r in await uni2work_db.connection.fetch("SELECT id FROM cron_last_exec")] == [other]
    (change,) = outcomes.changes
    assert change.before is not None and change.before["job"] == PRUNE  # noqa: PT018


@pytest.mark.parametrize("action", ["skip", "forget"])
async def test_a_record_is_refused_while_a_worker_runs_equal_content(
    uni2work_db: Uni2workDb, uni2work_workspace: Workspace, action: str
) -> None:
    await uni2work_db.job(PRUNE, held=5, held_by=LIVE, cron=True)
    job, entry = await uni2work_db.job(PRUNE, cron=True), await uni2work_db.cron(PRUNE)
    node = uni2work_db.id(job) if action == "skip" else uni2work_db.id(entry, "cron")
    before = await uni2work_db.everything()
    assert outcomes_of(await do(uni2work_workspace, action, [node], {}, LABEL)) == {node: REFUSED}
    assert await uni2work_db.everything() == before


# Buckets


@both_versions
async def test_refill(uni2work_db: Uni2workDb, uni2work_workspace: Workspace) -> None:
    node, other = await uni2work_db.bucket("rechunk-files", -5_000_000), await uni2work_db.bucket("prune-files", 3)
    outcomes = await do(uni2work_workspace, "refill", [node], {"value": "20971520"}, LABEL)
    assert outcomes_of(outcomes) == {node: CHANGED}
    rows = await uni2work_db.connection.fetch(
        "SELECT last_value, now() - last_access AS ago FROM token_bucket ORDER BY ident"
    )
    assert [r["last_value"] for r in rows] == [3, 20971520]
    assert 0 <= rows[1]["ago"].total_seconds() < 60
    assert rows[0]["ago"].total_seconds() >= 60
    assert other != node


@pytest.mark.parametrize(
    ("value", "word"),
    [("", "whole"), (None, "whole"), ("1e3", "whole"), (-6, "-5"), (10**19 - 1, "larger")],
)
async def test_refill_never_lowers_the_value(
    uni2work_db: Uni2workDb, uni2work_workspace: Workspace, value: object, word: str
) -> None:
    node = await uni2work_db.bucket("rechunk-files", -5)
    outcomes = await do(uni2work_workspace, "refill", [node], {"value": value}, LABEL)
    assert outcomes_of(outcomes) == {node: REFUSED}
    assert word in why(outcomes, node)


# Unsupported


async def test_without_the_optional_parts(uni2work_db: Uni2workDb, uni2work_workspace: Workspace) -> None:
    await uni2work_db.sql("DROP TABLE token_bucket; ALTER TABLE queued_job DROP COLUMN write_last_exec")
    await uni2work_workspace.detect()
    reader = uni2work_workspace.engines[LABEL]
    job, entry = await plain(uni2work_db), await uni2work_db.cron(PRUNE)
    assert [n.id for n in (await reader.pages.roots()).nodes] == [f"{LABEL}/queue:all", f"{LABEL}/crontab:all"]
    page = await reader.nodes.read(
        [uni2work_db.id(job), uni2work_db.id("x", "bucket"), uni2work_db.id("all", "buckets")]
    )
    assert [n.id for n in page.nodes] == [uni2work_db.id(job)]
    assert {u.code for u in (await reader.findings.read()).skipped_findings} == {"throttled", "cron_job_waiting"}
    detail = await details.read(reader, uni2work_db.id(job))
    assert detail is not None
    for action, node in (("skip", uni2work_db.id(job)), ("run_now", uni2work_db.id(entry, "cron"))):
        outcomes = await do(uni2work_workspace, action, [node], {}, LABEL)
        assert outcomes_of(outcomes) != {node: CHANGED}
        assert "cron queued" in why(outcomes, node)
    assert outcomes_of(await do(uni2work_workspace, "cancel", [uni2work_db.id(job)], {}, LABEL)) == {
        uni2work_db.id(job): CHANGED
    }


async def plain(uni2work_db: Uni2workDb) -> int:
    insert = "INSERT INTO queued_job (content, creation_instance, creation_time) VALUES ('{}', $1, now()) RETURNING id"
    return int(await uni2work_db.value(insert, OTHER))


async def test_instances_may_be_text(uni2work_db: Uni2workDb, uni2work_workspace: Workspace) -> None:
    await uni2work_db.sql(
        "ALTER TABLE queued_job ALTER creation_instance TYPE text, ALTER lock_instance TYPE varchar;"
        "ALTER TABLE cron_last_exec ALTER instance TYPE text;"
        "CREATE TYPE bucket AS ENUM ('inject-files', 'rechunk-files');"
        "ALTER TABLE token_bucket ALTER ident TYPE bucket USING ident::bucket"
    )
    await uni2work_db.connection.close()
    uni2work_db.__init__((await Uni2workDb.open(uni2work_db.dsn)).connection)  # type: ignore[misc]
    await uni2work_workspace.detect()
    await uni2work_db.sql(
        "INSERT INTO queued_job (content, creation_instance, creation_time, lock_instance, lock_time, write_last_exec)"
        """ VALUES ('{"job": "a"}', 'pod-1', now() - interval '1h', 'pod-2', now() - interval '1h', true),"""
        """ ('{"job": "b"}', 'pod-1', now() - interval '1h', NULL, NULL, true)"""
    )
    await uni2work_db.sql("INSERT INTO token_bucket VALUES ('rechunk-files', -5, now())")
    one, two = [r["id"] for r in await uni2work_db.connection.fetch("SELECT id FROM queued_job ORDER BY id")]
    assert outcomes_of(await do(uni2work_workspace, "release", [uni2work_db.id("pod-2", "holder")], GONE, LABEL)) == {
        uni2work_db.id("pod-2", "holder"): CHANGED
    }
    for action, node, arguments in (
        ("cancel", uni2work_db.id(one), {}),
        ("skip", uni2work_db.id(two), {}),
        ("refill", uni2work_db.id("rechunk-files", "bucket"), {"value": 9}),
    ):
        assert outcomes_of(await do(uni2work_workspace, action, [node], arguments, LABEL)) == {node: CHANGED}, action
    entry = await uni2work_db.value("SELECT id FROM cron_last_exec")
    assert outcomes_of(await do(uni2work_workspace, "run_now", [uni2work_db.id(entry, "cron")], {}, LABEL)) == {
        uni2work_db.id(entry, "cron"): CHANGED
    }
    assert (await uni2work_workspace.engines[LABEL].findings.read()).skipped_findings == ()


def test_nothing_writes_infinity() -> None:
    folder = Path(__file__).parents[2] / "queries" / "engines" / "uni2work" / "actions"
    assert all("infinity" not in f.read_text() for f in folder.iterdir())
