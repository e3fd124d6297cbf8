"""A slow link: little travels while rows are locked, and a refusal names it."""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from queries.change import images
from queries.change.images import LongTexts, RowText
from queries.db import database
from queries.db.transaction import Transaction
from queries.log import audit_log, settle
from queries.log.settle import TransactionMark
from queries.records.action import Outcome
from queries.workspace import Workspace
from tests.db.eternaltwin import EternaltwinDb
from tests.queries.builders import committed, do, dry_run_of, opened, outcomes_of
from tests.queries.proxy import Proxy
from tests.servers import PostgresServer

TASKS = 40
BYTES_BEFORE = 282_000  # from the lock to COMMIT for these tasks, when all rows came twice
MESSAGES = 11  # with the two that ask for the id of the transaction


@pytest.fixture
async def far(server: PostgresServer) -> AsyncIterator[Proxy]:
    async with Proxy(server.port) as proxy:
        yield proxy


@pytest.fixture
async def distant(far: Proxy, eternaltwin: str, server: PostgresServer, tmp_path: Path) -> AsyncIterator[Workspace]:
    """The console's view through the proxy, with the audit log's table."""
    server.sql(audit_log.ddl(), eternaltwin)
    workspace = await opened(far.through(eternaltwin), tmp_path)
    yield workspace
    await workspace.close()


def document(number: int) -> bytes:
    """Return a state of about 1,500 bytes."""
    chance = random.Random(number)
    items = [{"sku": f"{chance.getrandbits(48):x}", "qty": number, "note": "left at the door"} for _ in range(16)]
    return json.dumps({"phase": "Deliver", "customer": {"id": number}, "items": items}).encode()


async def tasks(db: EternaltwinDb) -> list[str]:
    jobs = [await db.job(state=document(n)) for n in range(TASKS)]
    return [db.id(await db.task(j, status="Blocked", state=document(n), timer=60)) for n, j in enumerate(jobs)]


@pytest.mark.parametrize("action", ["cancel", "wake"])
async def test_little_travels_while_rows_are_locked(
    action: str, far: Proxy, distant: Workspace, eternaltwin_db: EternaltwinDb
) -> None:
    """Count bytes and messages, which give the time over any link."""
    ids = await tasks(eternaltwin_db)
    dry_run = await dry_run_of(distant, action, ids)
    far.mark = b"pg_current_wal_insert_lsn()"  # the last statement before the rows are locked
    done = await committed(distant, dry_run)
    assert outcomes_of(done) == dict.fromkeys(ids, Outcome.CHANGED)
    assert (0 < far.carried < 0.3 * BYTES_BEFORE, far.carried_trips <= MESSAGES) == (True, True)
    (entry,) = await distant.audit_log.find(done.entries[0], changes=True)
    assert {change.id for change in entry.changes} == {*ids}
    undone = await do(distant, "undo", dict.fromkeys(ids, entry.id))
    assert outcomes_of(undone) == dict.fromkeys(ids, Outcome.CHANGED)
    assert await eternaltwin_db.value("SELECT count(*) FROM task_timer JOIN task USING (task_id)") == TASKS
    assert (await distant.audit_log.verify()).problems == ()


async def test_rows_that_change_before_they_are_locked_are_read_again(
    distant: Workspace, eternaltwin_db: EternaltwinDb, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rows are what the dry run has guarded."""
    ids = (await tasks(eternaltwin_db))[:2]
    dry_run, mark_of = await dry_run_of(distant, "wake", ids), settle.mark_of

    async def meanwhile(transaction: Transaction) -> TransactionMark:
        await eternaltwin_db.sql("UPDATE task_timer SET deadline = deadline + interval '1 h'")
        return await mark_of(transaction)

    monkeypatch.setattr(settle, "mark_of", meanwhile)
    assert outcomes_of(await committed(distant, dry_run)) == dict.fromkeys(ids, Outcome.STALE)


@pytest.mark.parametrize("forgets", [False, True])
async def test_long_texts_that_are_overwritten_are_in_the_images(
    forgets: bool, far: Proxy, distant: Workspace, eternaltwin_db: EternaltwinDb, tmp_path: Path, eternaltwin: str
) -> None:
    """Also if they are not known any more: another console has made the dry run."""
    job = await eternaltwin_db.job(state=document(0))
    for n in range(TASKS):
        state = document(n)
        await eternaltwin_db.task(job, polled=None, age=9000 - n, kind="SendMail", state=state, output=state)
    node = eternaltwin_db.id(job, "job")
    before = await eternaltwin_db.value("SELECT array_agg(state || output ORDER BY task_id) FROM task")
    dry_run = await dry_run_of(distant, "restart", [node], {"confirm": "SendMail v1", "gone": "yes"})
    other = await opened(far.through(eternaltwin), tmp_path / "other") if forgets else distant
    done = await committed(other, dry_run)
    assert [*outcomes_of(done).values()] == [Outcome.CHANGED]
    (undo,) = (await do(other, "undo", {node: done.entries[0]})).results
    assert undo.outcome is Outcome.CHANGED
    assert await eternaltwin_db.value("SELECT array_agg(state || output ORDER BY task_id) FROM task") == before
    if forgets:
        await other.close()


def test_the_oldest_long_texts_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "KEPT_CHARACTERS", 1_000)
    texts, values = LongTexts(), [str(n) * 400 for n in range(4)]
    for value in values:
        texts.keep([RowText(place="", texts=[value], more=[None, "short"], rest="", xmin="", digest="", own=False)])
    known = [texts.whole([{"texts": ["~" + hashlib.sha256(v.encode()).hexdigest()], "more": [None]}]) for v in values]
    assert known == [None, None, *([{"texts": [v], "more": [None]}] for v in values[2:])]


async def test_a_refusal_names_the_link_and_its_speed(
    far: Proxy, distant: Workspace, eternaltwin_db: EternaltwinDb, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = await tasks(eternaltwin_db)
    monkeypatch.setattr(database, "WRITE_SECONDS", 1.2)
    far.delay, far.rate = 0.4, 40_000.0
    (result,) = (await dry_run_of(distant, "cancel", ids[:1])).results
    assert re.match(r"Your link to the server is slow: [1-9]\d? kB/s, [0-9]\.[0-9]\d s for an answer\. ", result.why)
    assert "Nothing was changed" in result.why
