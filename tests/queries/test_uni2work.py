"""Read uni2work: detection, trees, findings, and unusual column values."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import asyncpg
import pytest

from queries.change import loop
from queries.read import details, search
from queries.read.reader import Reader
from queries.records.action import Outcome
from queries.records.finding import Finding
from queries.records.node import Node, Phase, Precision
from queries.workspace import Workspace
from tests.db.uni2work import DEAD, LABEL, LIVE, OTHER, Uni2workDb
from tests.queries import plans
from tests.queries.builders import OPERATOR, do, dry_run_of, local, opened, outcomes_of
from tests.queries.incident_groups import incidents_of
from tests.servers import both_versions

PRUNE = {"job": "prune-invitations"}


def reader(workspace: Workspace) -> Reader:
    return workspace.engines[LABEL]


async def node(workspace: Workspace, node_id: str) -> Node:
    (found,) = (await reader(workspace).nodes.read([f"{LABEL}/{node_id}"])).nodes
    return found


async def found(workspace: Workspace, code: str) -> list[Finding]:
    return [f for f in (await reader(workspace).findings.read()).findings if f.code == code]


async def all_of(workspace: Workspace, parent: str, size: int = 2) -> list[str]:
    """Return the ids of all children, read in small pages."""
    ids: list[str] = []
    cursor = None
    while True:
        page = await reader(workspace).pages.children(f"{LABEL}/{parent}", cursor, size)
        ids += local(page)
        cursor = page.cursor
        if cursor is None:
            return ids


# Detection


@both_versions
@pytest.mark.parametrize(
    "change",
    ["", "DROP TABLE token_bucket", "ALTER TABLE queued_job ADD COLUMN extra text, DROP COLUMN write_last_exec"],
)
async def test_detection_in_any_schema_with_optional_parts_missing(
    uni2work_db: Uni2workDb, tmp_path: Path, change: str
) -> None:
    await uni2work_db.sql(f"{change}; CREATE SCHEMA app; ALTER TABLE queued_job SET SCHEMA app")
    await uni2work_db.sql(
        "ALTER TABLE cron_last_exec SET SCHEMA app; ALTER TABLE IF EXISTS token_bucket SET SCHEMA app"
    )
    workspace = await opened(uni2work_db.dsn, tmp_path)
    assert reader(workspace).detected.schema == "app"
    assert len((await reader(workspace).pages.roots()).nodes) == (2 if "token" in change else 3)
    await workspace.close()


# Trees


@both_versions
async def test_the_queue_by_holder_and_kind(uni2work_db: Uni2workDb, uni2work_workspace: Workspace) -> None:
    free = [
        await uni2work_db.job(PRUNE, cron=True),
        await uni2work_db.job({"job": "a"}),
        await uni2work_db.job({"job": "a"}),
    ]
    held = await uni2work_db.job({"job": "a|b:c/d"}, held=900)
    inconsistent = await uni2work_db.job(held_by=DEAD)
    assert local(await reader(uni2work_workspace).pages.roots()) == ["queue:all", "crontab:all", "buckets:all"]
    assert await all_of(uni2work_workspace, "queue:all", 1) == [f"holder:{DEAD}", "holder:inconsistent", "holder:none"]
    assert await all_of(uni2work_workspace, "holder:none", 1) == ["group:none|a", "group:none|prune-invitations"]
    assert await all_of(uni2work_workspace, "group:none|a", 1) == [f"job:{j}" for j in free[1:]]
    assert await all_of(uni2work_workspace, f"holder:{DEAD}") == [f"group:{DEAD}|a|b:c/d"]
    assert await all_of(uni2work_workspace, f"group:{DEAD}|a|b:c/d") == [f"job:{held}"]
    assert await all_of(uni2work_workspace, "group:inconsistent|send-notification") == [f"job:{inconsistent}"]
    assert await all_of(uni2work_workspace, f"job:{held}") == []
    for child, parent in ((f"job:{held}", f"group:{DEAD}|a|b:c/d"), (f"group:{DEAD}|a|b:c/d", f"holder:{DEAD}")):
        assert (await node(uni2work_workspace, child)).parent_id == f"{LABEL}/{parent}"
    assert (await node(uni2work_workspace, "queue:all")).title == "queue - 5 queued, 2 locked"
    holder = await node(uni2work_workspace, f"holder:{DEAD}")
    assert holder.title.startswith(f"instance {str(DEAD)[:8]} - 1 lock")
    assert re.search(r"no activity since \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$", holder.title), holder.title
    assert (holder.phase, holder.owner) == (Phase.UNKNOWN, str(DEAD))
    phases = [(await node(uni2work_workspace, f"job:{j}")).phase for j in (free[0], held, inconsistent)]
    assert phases == [Phase.READY, Phase.RUNNING, Phase.UNKNOWN]
    assert (await node(uni2work_workspace, f"job:{free[0]}")).title == "prune-invitations - from cron"


async def test_a_long_queue_is_read_at_its_ends_only(
    uni2work_db: Uni2workDb, uni2work_workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bounds = {LABEL: {"head": 3.0, "window": 4.0}}
    workspace = await opened(uni2work_db.dsn, tmp_path, overrides=bounds)
    jobs = await uni2work_db.jobs(4)
    hidden = await uni2work_db.job(held=900)
    jobs += await uni2work_db.jobs(4)
    assert "3 in the oldest 3" in (await node(workspace, "holder:none")).title
    assert (await node(workspace, "queue:all")).title == "queue - 3+ queued, 1 locked", "the small index finds the lock"
    with monkeypatch.context() as large:
        large.setattr("queries.contract.detect.SMALL_TABLE_BLOCKS", -1)
        without = await opened(uni2work_db.dsn, tmp_path, overrides=bounds)
        assert (await node(without, "queue:all")).title == "queue - 3+ queued, 0+ locked", "of both ends alone"
    assert await all_of(workspace, "group:none|send-notification") == [f"job:{j}" for j in jobs[:3]]
    counts = {c.phase: (c.n, c.precision) for c in await reader(workspace).nodes.counts()}
    assert counts[Phase.READY] == (4, Precision.CAPPED)
    assert counts[Phase.DONE] == (None, Precision.UNKNOWN)
    capped = (await reader(workspace).findings.read()).capped
    assert {"duplicate", "late", "inconsistent_lock"} <= set(capped), "rows beyond the window may match"
    assert not {"duplicate", "late", "inconsistent_lock"} & set(
        (await reader(uni2work_workspace).findings.read()).capped
    )
    newest, lost = await uni2work_db.job('["no", "job"]'), await uni2work_db.job(held=9000, age=9000)
    read = await reader(without).findings.read()
    assert {f"{LABEL}/job:{newest}", f"{LABEL}/job:{lost}"} <= {
        x.node_id for x in read.findings if x.code in ("unrecognised", "owner_dead")
    }
    assert {"unrecognised", "owner_dead", "late"} <= set(read.capped)
    page = await reader(without).pages.dead()
    assert {newest, lost} <= {int(x.node.id.rpartition(":")[2]) for x in page.dead_letters}
    assert page.scope == "the 1 oldest and the 2 newest jobs"
    await without.close()
    live: list[str] = []
    cursor = None
    while True:
        page = await reader(workspace).pages.live(cursor, 2)
        live += local(page)
        cursor = page.cursor
        if cursor is None:
            break
    assert live == [f"job:{j}" for j in (lost, hidden, *jobs, newest)], "every row, the oldest lock first"
    await workspace.close()


async def test_cron_by_time_or_by_id(uni2work_db: Uni2workDb, uni2work_workspace: Workspace) -> None:
    old, new, middle = [await uni2work_db.cron({"job": "x", "n": age}, age=age) for age in (900, 10, 50)]
    assert await all_of(uni2work_workspace, "crontab:all", 1) == [f"cron:{e}" for e in (new, middle, old)]
    assert (await node(uni2work_workspace, f"cron:{old}")).title == 'x {"n": 900}'
    assert (await node(uni2work_workspace, "crontab:all")).title == "cron - 3 last executions"
    page = await reader(uni2work_workspace).pages.children(f"{LABEL}/crontab:all")
    assert page.cursor is None


async def test_buckets(uni2work_db: Uni2workDb, uni2work_workspace: Workspace) -> None:
    for ident, value in (("a", 5), ("b", -5), ("c:d", 0)):
        await uni2work_db.bucket(ident, value)
    assert await all_of(uni2work_workspace, "buckets:all") == ["bucket:a", "bucket:b", "bucket:c:d"]
    assert [(await node(uni2work_workspace, f"bucket:{b}")).phase for b in ("a", "b", "c:d")] == [
        Phase.READY,
        Phase.BLOCKED,
        Phase.BLOCKED,
    ]


async def test_find(uni2work_db: Uni2workDb, uni2work_workspace: Workspace) -> None:
    job, entry = (
        await uni2work_db.job({"job": "help-request", "subject": "Äpfel"}, held=5),
        await uni2work_db.cron(PRUNE),
    )
    await uni2work_db.bucket("inject-files", 1)
    for text, ids in (
        (f"{LABEL}/job:{job}", {f"job:{job}", f"cron:{entry}"}),
        (str(DEAD)[:8], {f"holder:{DEAD}"}),
        ("inject-files", {"bucket:inject-files"}),
        ("no such thing", set()),
        ("9" * 40, set()),
        ("%", set()),
    ):
        assert ids <= set(local(await search.find(reader(uni2work_workspace), text))), text
        assert ids or not local(await search.find(reader(uni2work_workspace), text)), text
    for text, ids in (("ÄPFEL", {f"job:{job}"}), ("prune", {f"cron:{entry}"}), ("no such thing", set())):
        assert set(local(await search.find_texts(reader(uni2work_workspace), text))) == ids, text


# Findings


async def test_a_healthy_queue_has_no_findings(uni2work_db: Uni2workDb, uni2work_workspace: Workspace) -> None:
    await uni2work_db.jobs(20, age=20)
    await uni2work_db.job({"job": "x"}, held=200, held_by=LIVE, age=200)
    await uni2work_db.cron(PRUNE, age=1e7)
    await uni2work_db.bucket("a", 1)
    assert (await reader(uni2work_workspace).findings.read()).findings == ()


@both_versions
async def test_orphaned_and_long_locks_differ_by_activity(
    uni2work_db: Uni2workDb, uni2work_workspace: Workspace
) -> None:
    orphan, slow, gone = [
        await uni2work_db.job({"job": str(n)}, held=9000, held_by=n, age=9001) for n in (DEAD, LIVE, OTHER)
    ]
    await uni2work_db.sql("UPDATE queued_job SET creation_instance = $1", DEAD)
    await uni2work_db.job({"job": "recent"}, age=60, creator=LIVE)
    await uni2work_db.cron(PRUNE, age=5000, instance=OTHER)  # later than the lock, but also long ago
    orphans = await found(uni2work_workspace, "owner_dead")
    assert {f.node_id for f in orphans} == {uni2work_db.id(orphan), uni2work_db.id(gone)}
    (long,) = await found(uni2work_workspace, "long_lock")
    assert long.node_id == uni2work_db.id(slow)
    assert next(f.evidence["silent"] for f in orphans if f.node_id == uni2work_db.id(orphan)).startswith("02:30")
    assert all(f.action == "release" for f in orphans)
    assert long.action is None
    assert await found(uni2work_workspace, "inconsistent_lock") == []


@both_versions
async def test_no_workers_or_one_job_skipped(uni2work_db: Uni2workDb, uni2work_workspace: Workspace) -> None:
    jobs = await uni2work_db.jobs(6, age=300)
    (idle,) = await found(uni2work_workspace, "no_workers")
    assert (idle.node_id, idle.severity) == (f"{LABEL}/queue:all", 9)
    assert (idle.evidence["waiting"], idle.evidence["of"], idle.evidence["newest"]) == (6, 6, "none")
    assert await found(uni2work_workspace, "late") == []
    await uni2work_db.job({"job": "x"}, held=10, held_by=LIVE)
    assert await found(uni2work_workspace, "no_workers") == []
    assert {f.node_id for f in await found(uni2work_workspace, "late")} == {uni2work_db.id(j) for j in jobs}


async def test_cancel_is_not_suggested_for_skipped_or_locked_jobs(
    uni2work_db: Uni2workDb, uni2work_workspace: Workspace
) -> None:
    """A skipped job may run later; the row of a locked job must not be deleted."""
    await uni2work_db.job({"job": "x"}, held=10, held_by=LIVE)
    skipped, throttled = (
        await uni2work_db.job({"job": "send-mail"}, age=300),
        await uni2work_db.job({"job": "rechunk-files"}, age=300),
    )
    await uni2work_db.bucket("rechunk-files", -5)
    actions = {f.node_id: f.action for f in await found(uni2work_workspace, "late")}
    assert actions == {uni2work_db.id(skipped): None, uni2work_db.id(throttled): None}
    free, held = await uni2work_db.job([1]), await uni2work_db.job([2], held=10)
    assert {f.node_id: f.action for f in await found(uni2work_workspace, "unrecognised")} == {
        uni2work_db.id(free): "cancel",
        uni2work_db.id(held): None,
    }
    twice = [await uni2work_db.job({"job": "twice"}, held=held) for held in (None, 10)]
    twice.append(await uni2work_db.job({"job": "twice"}, held=10))
    assert {f.node_id: f.action for f in await found(uni2work_workspace, "duplicate")} == {
        uni2work_db.id(twice[0]): "cancel",
        uni2work_db.id(twice[2]): None,
    }


async def test_skipped_jobs_are_found_without_token_buckets(uni2work_db: Uni2workDb, tmp_path: Path) -> None:
    await uni2work_db.job({"job": "x"}, held=10, held_by=LIVE)
    skipped = await uni2work_db.job({"job": "rechunk-files"}, age=300)
    await uni2work_db.sql("DROP TABLE token_bucket")
    workspace = await opened(uni2work_db.dsn, tmp_path)
    assert {f.node_id for f in await found(workspace, "late")} == {uni2work_db.id(skipped)}
    await workspace.close()


async def test_a_flapping_job_is_cancelled_despite_new_locks(
    uni2work_db: Uni2workDb, uni2work_workspace: Workspace
) -> None:
    """Each lock makes the version stale, but the guard compares only the content."""
    job = await uni2work_db.job({"job": "flaps"})
    for holder in (LIVE, None, LIVE, None, LIVE, None):
        await reader(uni2work_workspace).samples.take()
        await uni2work_db.sql("UPDATE queued_job SET lock_instance = $1, lock_time = now()", holder)
        if holder is None:
            await uni2work_db.sql("UPDATE queued_job SET lock_time = NULL")
    await reader(uni2work_workspace).samples.take()
    (finding,) = [f for f in reader(uni2work_workspace).findings.sampled() if f.code == "flapping"]
    assert (finding.node_id, finding.action) == (uni2work_db.id(job), "cancel")
    dry_run = await dry_run_of(uni2work_workspace, "cancel", {uni2work_db.id(job): finding.guard}, label=LABEL)
    assert outcomes_of(dry_run) == {uni2work_db.id(job): Outcome.CHANGED}
    await uni2work_db.sql("UPDATE queued_job SET id = id")
    await uni2work_db.sql("UPDATE queued_job SET content = '{}'")
    stale = await loop.commit(uni2work_workspace, dry_run, OPERATOR)
    assert outcomes_of(stale) == {uni2work_db.id(job): Outcome.STALE}
    await uni2work_db.sql("""UPDATE queued_job SET content = '{"job": "flaps"}'""")
    done = await loop.commit(uni2work_workspace, dry_run, OPERATOR)
    assert outcomes_of(done) == {uni2work_db.id(job): Outcome.CHANGED}
    assert await uni2work_db.row(job) is None


async def test_overtaken(uni2work_db: Uni2workDb, uni2work_workspace: Workspace) -> None:
    old = await uni2work_db.job({"job": "x"}, age=7200)
    await uni2work_db.jobs(20, age=30)
    (finding,) = await found(uni2work_workspace, "overtaken")
    assert finding.node_id == uni2work_db.id(old)
    assert re.fullmatch(r"02:00:[0-5]\d", finding.evidence["age"])


@pytest.mark.parametrize(("keep", "missing"), [("lock_instance", "lock_time"), ("lock_time", "lock_instance")])
async def test_inconsistent_locks(
    uni2work_db: Uni2workDb, uni2work_workspace: Workspace, keep: str, missing: str
) -> None:
    job = await uni2work_db.job(held=900)
    await uni2work_db.sql(f"UPDATE queued_job SET {missing} = NULL")
    (finding,) = await found(uni2work_workspace, "inconsistent_lock")
    assert finding.node_id == uni2work_db.id(job)
    assert finding.evidence["there"].startswith(f"{keep} ")
    assert finding.evidence["missing"] == missing
    assert [c.n for c in await reader(uni2work_workspace).nodes.counts() if c.phase == Phase.UNKNOWN] == [1]


async def test_cron_is_overdue_only_with_a_configured_period(uni2work_db: Uni2workDb, tmp_path: Path) -> None:
    job, entry = await uni2work_db.job(PRUNE, cron=True, age=3600), await uni2work_db.cron(PRUNE, age=90000)
    await uni2work_db.cron({"job": "other"}, age=9e9 / 1000)
    await uni2work_db.cron([1, 2])
    workspace = await opened(uni2work_db.dsn, tmp_path)
    (waits,) = await found(workspace, "cron_job_waiting")
    assert (waits.node_id, waits.action) == (uni2work_db.id(job), "skip")
    assert waits.evidence["last"].startswith("20")
    assert await found(workspace, "cron_overdue") == []
    await workspace.close()
    workspace = await opened(uni2work_db.dsn, tmp_path, overrides={LABEL: {"prune-invitations": {"period": 86400.0}}})
    (overdue,) = await found(workspace, "cron_overdue")
    assert (overdue.node_id, overdue.action) == (uni2work_db.id(entry, "cron"), None)  # its content is queued
    await uni2work_db.sql("DELETE FROM queued_job")
    (overdue,) = await found(workspace, "cron_overdue")
    assert (overdue.node_id, overdue.action) == (uni2work_db.id(entry, "cron"), "run_now")
    await workspace.close()


async def test_throttled(uni2work_db: Uni2workDb, uni2work_workspace: Workspace) -> None:
    node_id, _ = await uni2work_db.bucket("rechunk-files", -5_000_000), await uni2work_db.bucket("fine", 1)
    (finding,) = await found(uni2work_workspace, "throttled")
    assert (finding.node_id, finding.action) == (node_id, "refill")
    assert finding.evidence["value"] == "-5000000"


async def test_the_first_buckets_by_name_are_searched(uni2work_db: Uni2workDb, tmp_path: Path) -> None:
    for ident in "abc":
        await uni2work_db.bucket(ident, -1)
    workspace = await opened(uni2work_db.dsn, tmp_path, overrides={LABEL: {"head": 2}})
    read = await reader(workspace).findings.read()
    assert [f.node_id for f in read.findings if f.code == "throttled"] == [f"{LABEL}/bucket:{b}" for b in "ab"]
    assert read.capped == ("throttled",)
    assert (await node(workspace, "buckets:all")).title == "token buckets - 2+"
    await workspace.close()


async def test_duplicates_are_compared_as_jsonb(uni2work_db: Uni2workDb, uni2work_workspace: Workspace) -> None:
    await uni2work_db.job('{"job": "a", "n": 1}')
    newest = await uni2work_db.job('{"n": 1.0, "job": "a"}')
    await uni2work_db.job('{"job": "a", "n": 2}')
    (finding,) = await found(uni2work_workspace, "duplicate")
    assert finding.node_id == uni2work_db.id(newest)
    assert finding.evidence["times"] == 2


async def test_all_duplicates_but_one_are_cancelled(uni2work_db: Uni2workDb, uni2work_workspace: Workspace) -> None:
    first, *others = [await uni2work_db.job({"job": "a"}) for _ in range(40)]
    free, locked = await uni2work_db.job({"job": "b"}), await uni2work_db.job({"job": "b"}, held=5, held_by=LIVE)
    shown = await incidents_of(uni2work_workspace, LABEL)
    nodes = {incident.node_ids for incident in shown["duplicate"]}
    assert {frozenset(ids) for ids in nodes} == {
        frozenset(uni2work_db.id(other) for other in others),
        frozenset([uni2work_db.id(free)]),
    }
    for ids in nodes:
        await do(uni2work_workspace, "cancel", ids, label=LABEL)
    left = await uni2work_db.connection.fetch("SELECT id FROM queued_job ORDER BY id")
    assert [row["id"] for row in left] == [first, locked]
    assert "duplicate" not in await incidents_of(uni2work_workspace, LABEL)


async def test_flapping_is_found_by_repeated_samples(uni2work_db: Uni2workDb, uni2work_workspace: Workspace) -> None:
    flapping, still = await uni2work_db.job(), await uni2work_db.job({"job": "x"}, held=5)
    one = reader(uni2work_workspace)
    await one.samples.take()
    for turn in range(3):
        assert one.findings.sampled() == (), turn
        if turn % 2:
            await uni2work_db.sql(
                "UPDATE queued_job SET lock_instance = NULL, lock_time = NULL WHERE id = $1", flapping
            )
        else:
            await uni2work_db.sql(
                "UPDATE queued_job SET lock_instance = $2, lock_time = now() WHERE id = $1", flapping, LIVE
            )
        await one.samples.take()
    (finding,) = one.findings.sampled()
    assert finding.node_id == uni2work_db.id(flapping)
    assert finding.evidence["changes"] == 3
    assert len(finding.evidence["timeline"].split()) == 3
    detail = await details.read(one, uni2work_db.id(flapping))
    assert detail is not None
    assert "flapping" in detail.node.findings
    (locks,) = [s for s in detail.sections if s.title == "Locks seen by unstick"]
    assert [bool(row[1]) for row in locks.rows] == [True, False, True, False], "newest first"
    assert still != flapping


# Unusual values

ODD = {
    "null": "null",
    "number": "1e400",
    "text": '"job"',
    "list": '["job"]',
    "empty": "{}",
    "no text": '{"job": {"deep": 1}}',
    "empty name": '{"job": "", "tag": "by-tag"}',
    "first key": '{"zz": 1, "b": 2}',
    "long": json.dumps({"job": "x" * 5000}),
    "control": '{"job": "a\\u0001b"}',
}


@both_versions
async def test_content_of_every_shape(uni2work_db: Uni2workDb, uni2work_workspace: Workspace) -> None:
    jobs = {name: await uni2work_db.job(text) for name, text in ODD.items()}
    entries = [await uni2work_db.cron(text) for text in ODD.values() if len(text) < 2000]
    titles = {name: (await node(uni2work_workspace, f"job:{j}")).title for name, j in jobs.items()}
    assert {n: t for n, t in titles.items() if t == "(unrecognised)"}.keys() == {
        "null",
        "number",
        "text",
        "list",
        "empty",
    }
    assert (titles["empty name"], titles["first key"], titles["no text"]) == ("by-tag", "b", "job")
    assert len(titles["long"]) == 80
    assert len(await all_of(uni2work_workspace, "group:none|(unrecognised)")) == 5
    unrecognised = {f.node_id for f in await found(uni2work_workspace, "unrecognised")}
    assert unrecognised == {uni2work_db.id(jobs[n]) for n in ODD} - {
        uni2work_db.id(jobs[n]) for n in ("empty name", "long", "control")
    }
    for j in jobs.values():
        detail = await details.read(reader(uni2work_workspace), uni2work_db.id(j))
        assert detail is not None
    for e in entries:
        assert await details.read(reader(uni2work_workspace), uni2work_db.id(e, "cron")) is not None


async def test_a_finding_is_searched_only_among_nodes_of_its_kinds(
    uni2work_db: Uni2workDb, uni2work_workspace: Workspace
) -> None:
    job = await uni2work_db.job(PRUNE)
    for ids, codes in (
        (["bucket:rechunk-files"], {"throttled", "time_ahead"}),
        (["queue:all", "buckets:all"], {"no_workers", "long_queue"}),
        (
            [f"job:{job}", "cron:1"],
            {f.code for f in reader(uni2work_workspace).engine.spec.findings if not f.sampled}
            - {"throttled", "no_workers", "long_queue"},
        ),
        ([], set()),
    ):
        with plans.recorded() as costs:
            found = await reader(uni2work_workspace).findings.read(f"{LABEL}/{i}" for i in ids)
        assert {name.partition("/")[2].partition(".")[0] for name in costs if name.startswith("findings/")} == codes
        assert found.skipped_findings == ()


async def test_content_that_is_too_large_for_the_index_of_executions(
    uni2work_db: Uni2workDb, uni2work_workspace: Workspace
) -> None:
    """The found jobs are those that the server refuses to record."""
    refused = set()
    for size in range(500, 6000, 250):
        content = {"job": "synchronise-ldap", "users": random.Random(size).randbytes(size).hex()}
        await uni2work_db.job(content)
        job = uni2work_db.id(await uni2work_db.job(content, cron=True))
        try:
            await uni2work_db.cron(content)
        except asyncpg.ProgramLimitExceededError:
            refused.add(job)
    assert 5 < len(refused) < 20
    assert {f.node_id for f in await found(uni2work_workspace, "too_large")} == refused
