"""Poolers: one that balances reads, is paused, or leads elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from console.text.formatting import BALANCED as ROWS
from console.text.formatting import behind
from queries.change import perform
from queries.change import plan as parts
from queries.change.plan import plan_versions
from queries.db import database, transaction
from queries.db.database import Database
from queries.db.errors import BALANCED, STANDBY, DatabaseError, LostError
from queries.db.reads import Apart
from queries.files.statement import Statement
from queries.log import audit_log
from queries.records.action import Outcome
from tests.db.eternaltwin import LABEL, EternaltwinDb
from tests.poolers import PgBouncer, PgPool
from tests.queries.builders import do, dry_run_of, opened, outcomes_of, reader, seen, steps, why
from tests.servers import PostgresServer

CHANGED, REFUSED = Outcome.CHANGED, Outcome.REFUSED
ANSWERING = "SELECT current_setting('in_hot_standby') AS standby, current_setting('statement_timeout') AS timeout"
WHO = Statement(text=ANSWERING, source="")
Pair = tuple[PostgresServer, PostgresServer, str, list[str]]


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    """A primary with blocked tasks, and a standby that has them and replays no more."""
    with closing(PostgresServer()) as primary:
        primary.start()
        dsn = primary.fresh("eternaltwin")
        primary.sql(audit_log.ddl(), dsn)
        tasks = asyncio.run(blocked(dsn, 4))
        with closing(primary.replica()) as replica:
            replica.sql("SELECT pg_wal_replay_pause()")
            yield primary, replica, dsn, tasks


async def blocked(dsn: str, number: int) -> list[str]:
    eternaltwin_db = await EternaltwinDb.open(dsn)
    tasks = await eternaltwin_db.tasks([await eternaltwin_db.job()] * number, status="Blocked", timer=3600)
    await eternaltwin_db.connection.close()
    return [eternaltwin_db.id(task) for task in tasks]


async def test_a_pooler_that_balances_reads_answers_a_transaction_from_the_primary(pair: Pair, tmp_path: Path) -> None:
    """It does so once it knows of the transaction, also after a savepoint."""
    primary, replica, dsn, tasks = pair
    task = tasks.pop()
    pool = await asyncio.to_thread(PgPool, primary, replica)
    workspace = await opened(pool.dsn(dsn), tmp_path)
    async with workspace.database.reading() as reads:
        assert [dict(row) for row in await reads.rows(WHO, {})] == [{"standby": "off", "timeout": "2s"}]
    async with workspace.database.writing() as writes:
        await Apart(writes).rows(WHO, {})
        assert [dict(row) for row in await writes.rows(WHO, {})] == [{"standby": "off", "timeout": "5s"}]
    plan = plan_versions(workspace, LABEL, "wake", await seen(workspace, [task]))
    dry_run = await perform.dry_run(workspace, plan, "test", {}, measures=True)
    assert outcomes_of(dry_run) == {task: CHANGED}
    assert outcomes_of(await do(workspace, "wake", [task])) == {task: CHANGED}
    (node,) = (await reader(workspace).nodes.read([task])).nodes
    assert node.status == "Available", "not that of the standby"
    assert (await workspace.audit_log.page(limit=1))[0][0].results[0].id == task
    assert behind(workspace.server) == ""
    await workspace.close()
    pool.close()


async def test_one_that_balances_within_a_transaction_is_named_and_not_written_through(
    pair: Pair, tmp_path: Path
) -> None:
    primary, replica, dsn, tasks = pair
    task = tasks.pop()
    pool = await asyncio.to_thread(PgPool, primary, replica, more="disable_load_balance_on_write = 'off'\n")
    workspace = await opened(pool.dsn(dsn), tmp_path)
    assert (workspace.server.standby, behind(workspace.server)) == (False, ROWS)
    outcomes = await do(workspace, "wake", [task])
    assert (outcomes_of(outcomes), why(outcomes, task)) == ({task: REFUSED}, BALANCED)
    with pytest.raises(DatabaseError, match="A pooler answers reads"):
        async with workspace.database.writing() as writes:
            await writes.rows(WHO, {})
    await workspace.close()
    pool.close()


async def test_a_pooler_that_leads_to_a_standby_is_noticed_at_the_next_read(pair: Pair, tmp_path: Path) -> None:
    primary, replica, dsn, tasks = pair
    task = tasks.pop()
    bouncer = await asyncio.to_thread(PgBouncer, primary)
    workspace = await opened(bouncer.dsn(dsn), tmp_path)
    dry_run = await dry_run_of(workspace, "wake", [task])
    assert (outcomes_of(dry_run), workspace.server.standby) == ({task: CHANGED}, False)
    await bouncer.lead_to(replica)
    await reader(workspace).pages.live()
    assert workspace.server.standby
    assert behind(workspace.server).startswith("standby, ")
    outcomes = await do(workspace, "wake", [task])
    assert (outcomes_of(outcomes), why(outcomes, task)) == ({task: REFUSED}, STANDBY)
    await bouncer.lead_to(primary)
    assert outcomes_of(await do(workspace, "wake", [task])) == {task: CHANGED}
    await workspace.close()
    bouncer.close()


async def test_a_bulk_waits_for_a_paused_pooler(
    server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "PART_NODES", 10)
    monkeypatch.setattr(transaction, "GRACE_SECONDS", 1.0)
    dsn = server.fresh("eternaltwin")
    server.sql(audit_log.ddl(), dsn)
    ids = await blocked(dsn, 100)
    bouncer = await asyncio.to_thread(PgBouncer, server)
    workspace = await opened(bouncer.dsn(dsn), tmp_path)
    results, paused, said = [], False, ""
    async with asyncio.timeout(120):
        async for progress in steps(workspace, await dry_run_of(workspace, "wake", await seen(workspace, ids))):
            results += progress.results
            if progress.done >= 30 and not paused:
                paused = True
                await bouncer.admin("PAUSE")
            elif progress.waits is not None and not said:
                said = progress.loop.error_text
                await bouncer.admin("RESUME")
    assert "A pooler in between may be paused" in said
    assert "Nothing was changed" not in said
    assert outcomes_of(results) == dict.fromkeys(ids, CHANGED)
    entries, _ = await workspace.audit_log.page(limit=100)
    assert sum(entry.action == "wake" for entry in entries) == 10, "each part once"
    await workspace.close()
    bouncer.close()


async def test_a_pause_is_no_time_of_a_change_and_no_work_of_the_server(
    server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "WRITE_SECONDS", 1.0)
    bouncer = await asyncio.to_thread(PgBouncer, server)
    through = Database(bouncer.dsn(server.fresh()))
    await through.renew()
    await bouncer.admin("PAUSE")
    worked = through.load.worked

    async def change() -> None:
        async with through.writing() as writes:
            for _ in range(3):
                await writes.rows(WHO, {})

    changing = asyncio.create_task(change())
    await asyncio.sleep(2)  # longer than a change may take
    await bouncer.admin("RESUME")
    await changing
    assert through.load.worked - worked < 2
    monkeypatch.setattr(transaction, "GRACE_SECONDS", 0.0)
    monkeypatch.setattr(database, "READ_SECONDS", 0.5)
    await bouncer.admin("PAUSE")
    worked = through.load.worked
    with pytest.raises(LostError, match="pooler"):
        await through.renew()
    assert through.load.worked == worked
    await bouncer.admin("RESUME")
    await through.renew()
    await through.close()
    bouncer.close()
