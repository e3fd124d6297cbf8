"""Result of a ``do`` before a failover, and ``audit`` after it."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import asyncpg
import pytest

from queries.db import database
from queries.write import audit_log
from tests.command import Answer, fetch, unstick
from tests.db.eternaltwin import EternaltwinDb
from tests.proof import most_in_proof
from tests.servers import PostgresServer


@contextmanager
def standby(dsn: str) -> Iterator[None]:
    """Connect as an asynchronous standby does."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    async def connected() -> asyncpg.Connection:
        return await asyncpg.connect(dsn, server_settings={"replication": "true"})

    connection = asyncio.run_coroutine_threadsafe(connected(), loop).result(60)
    try:
        yield
    finally:
        loop.call_soon_threadsafe(connection.terminate)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def tasks(dsn: str, number: int) -> list[str]:
    async def write() -> list[str]:
        db = await EternaltwinDb.open(dsn)
        ids = [db.id(await db.task(status="Blocked", timer=3600)) for _ in range(number)]
        await db.connection.close()
        return ids

    return asyncio.run(write())


def wake(dsn: str, node: str, home: Path) -> Answer:
    answer = unstick("do", "wake", node, "--reason", "test", "--yes", "--json", dsn=dsn, home=home)
    assert answer.code == 0, answer.err
    return answer


@pytest.mark.parametrize("place", most_in_proof(["table", "file"]))
def test_a_change_that_a_failover_has_lost_is_said_by_audit(
    own_server: PostgresServer, tmp_path: Path, place: str
) -> None:
    dsn = own_server.fresh("eternaltwin")
    if place == "table":
        own_server.sql(audit_log.ddl(), dsn)
    before, kept, lost = tasks(dsn, 3)
    answer = wake(dsn, before, tmp_path)
    assert answer.json["durability"] == "local"
    assert "Certain on this server, which has no standby." in answer.err
    with standby(dsn):
        answer = wake(dsn, kept, tmp_path)
        assert answer.json["durability"] == "asynchronous"
        assert "a failover before that loses it" in answer.err
    own_server.keep()
    with standby(dsn):
        wake(dsn, lost, tmp_path)
    assert unstick("audit", "--json", dsn=dsn, home=tmp_path).json["receipts"] == [], "the server is the same"
    own_server.fall_back()
    assert fetch(dsn, "SELECT count(*) FROM task WHERE status = 'Available'") == [(2,)]
    for _ in range(2):
        answer = unstick("audit", "--json", dsn=dsn, home=tmp_path)
        fates = {r["entry"]["results"][0]["id"]: r.get("fate", "") for r in answer.json["receipts"]}
        assert fates.pop(lost) == "lost"
        assert fates == ({} if place == "table" else {kept: ""}), "without the table nothing proves the other"
        assert f"Lost in a failover: wake of SendEmail v1 {lost}" in " ".join(answer.err.split())


def test_a_receipt_is_kept_of_a_commit_that_no_standby_confirmed(
    own_server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "GRACE_SECONDS", 0.5)
    monkeypatch.setattr(database, "WRITE_SECONDS", 2.0)
    dsn = own_server.fresh("eternaltwin")
    own_server.sql(audit_log.ddl(), dsn)
    (node,) = tasks(dsn, 1)
    own_server.sql("ALTER SYSTEM SET synchronous_standby_names = 'berlin'")
    own_server.sql("SELECT pg_reload_conf()")
    while fetch(dsn, "SHOW synchronous_standby_names") != [("berlin",)]:
        pass
    answer = wake(dsn, node, tmp_path)  # its time limit ends the wait
    assert answer.json["durability"] == "unconfirmed"
    assert "berlin" in answer.json["results"][0]["why"]
    assert "COMMIT waits for a synchronous standby (synchronous_standby_names: berlin)" in " ".join(answer.err.split())
    listed = unstick("audit", dsn=dsn, home=tmp_path)
    assert "Not confirmed by a synchronous standby (berlin)" in " ".join(listed.err.split())


def test_a_broken_file_of_receipts_is_no_error(server: PostgresServer, eternaltwin_demo: str, tmp_path: Path) -> None:
    folder = tmp_path / "state" / "unstick"
    folder.mkdir(parents=True, mode=0o700)
    path = folder / "commits.jsonl"
    path.write_bytes(b'\n{"mark": 7}\n\0\0half a ' + json.dumps({"entry": {}}).encode())
    path.chmod(0o600)
    assert unstick("audit", "--json", dsn=eternaltwin_demo, home=tmp_path).json["receipts"] == []
    path.chmod(0o666)
    assert unstick("audit", "--json", dsn=eternaltwin_demo, home=tmp_path).json["receipts"] == []
