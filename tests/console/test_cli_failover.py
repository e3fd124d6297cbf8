"""Result of a ``do`` before a failover, and ``audit`` after it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import asyncpg
import pytest

from queries.db import database
from queries.log import audit_log
from tests.command import Answer, fetch, unstick
from tests.db.eternaltwin import EternaltwinDb
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


def test_a_change_that_a_failover_has_lost_is_said_by_audit(own_server: PostgresServer, tmp_path: Path) -> None:
    dsn = own_server.fresh("eternaltwin")
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
        fates = {r["entry"]["results"][0]["id"]: r["fate"] for r in answer.json["receipts"]}
        assert fates == {lost: "lost"}
        assert f"Lost in a failover: wake of SendEmail v1 {lost}" in " ".join(answer.err.split())


@pytest.fixture
def pair() -> Iterator[tuple[PostgresServer, PostgresServer]]:
    with closing(PostgresServer()) as primary:
        primary.start()
        with closing(primary.replica()) as replica:
            yield primary, replica


def left_behind(primary: PostgresServer, replica: PostgresServer) -> None:
    """Promote the standby beside the living primary."""
    end = fetch(primary.dsn(), "SELECT pg_current_wal_lsn()::text")[0][0]
    while fetch(replica.dsn(), f"SELECT pg_last_wal_replay_lsn() >= '{end}'") != [(True,)]:
        pass
    replica.sql("SELECT pg_promote()")
    while fetch(primary.dsn(), "SELECT count(*) FROM pg_stat_replication") != [(0,)]:
        pass


def said(answer: Answer) -> str:
    return " ".join((answer.out + answer.err).split())


def test_a_change_on_a_primary_that_was_left_behind_is_lost_and_said(
    pair: tuple[PostgresServer, PostgresServer], tmp_path: Path
) -> None:
    primary, replica = pair
    old = primary.fresh("eternaltwin")
    new = old.replace(f":{primary.port}/", f":{replica.port}/")
    primary.sql(audit_log.ddl(), old)
    before, lost, other = tasks(old, 3)
    assert wake(old, before, tmp_path).json["durability"] == "asynchronous"
    left_behind(primary, replica)

    answer = wake(old, lost, tmp_path)
    assert answer.json["durability"] == "detached"
    assert "ertain" not in answer.err
    (entry,) = answer.json["entries"]
    sentence = f"Lost in a failover: wake of SendEmail v1 {lost} at "

    both = old.replace(f":{primary.port}/", f":{primary.port},127.0.0.1:{replica.port}/")
    refused = unstick("do", "wake", other, "--reason", "test", "--yes", dsn=both, home=tmp_path)
    assert (refused.code, "Two primaries of the same data" in said(refused)) == (1, True)
    assert fetch(old, f"SELECT status FROM task WHERE task_id = '{other[17:]}'") == [("Blocked",)]

    def ask(*words: str, dsn: str = new) -> str:
        return said(unstick(*words, dsn=dsn, home=tmp_path))

    assert ask("show", lost, dsn=old).count("Another server") == 0, "it is not known yet"
    for _ in range(2):
        assert sentence in ask("audit")
        for words in (("audit", entry), ("audit", lost), ("undo", entry, "--reason", "x"), ("show", lost)):
            assert sentence in ask(*words), words
        for words in (("audit", before), ("audit", other), ("show", before), ("show", other)):
            assert "failover" not in ask(*words), words
    assert sentence in said(unstick("show", lost, "--json", dsn=new, home=tmp_path))
    assert unstick("audit", "--json", "--outcome", "lost", dsn=new, home=tmp_path).json["receipts"][0]["fate"] == "lost"
    assert "failover" not in ask("audit", lost, dsn=old), "this server has it"

    wake(new, other, tmp_path)
    assert "timeline 2" in ask("audit", dsn=old), "the change on the new primary is not lost"
    assert "failover" not in ask("audit", other, dsn=old)

    primary.rewind(replica)
    assert fetch(old, "SELECT pg_is_in_recovery()") == [(True,)]
    assert sentence in ask("show", lost, dsn=old)
    assert "failover" not in ask("show", before, dsn=old)


def test_a_standby_that_follows_the_new_timeline_tells_what_is_lost(
    pair: tuple[PostgresServer, PostgresServer], tmp_path: Path
) -> None:
    """Only the old address is asked, where the server is a standby now."""
    primary, replica = pair
    old = primary.fresh("eternaltwin")
    primary.sql(audit_log.ddl(), old)
    kept, lost = tasks(old, 2)
    wake(old, kept, tmp_path)
    left_behind(primary, replica)
    wake(old, lost, tmp_path)
    primary.rewind(replica)
    answer = unstick("audit", "--json", dsn=old, home=tmp_path)
    fates = {r["entry"]["results"][0]["id"]: r["fate"] for r in answer.json["receipts"]}
    assert fates == {lost: "lost"}


def test_certain_is_said_only_of_a_server_that_was_always_alone(own_server: PostgresServer, tmp_path: Path) -> None:
    dsn = own_server.fresh("eternaltwin")
    own_server.sql(audit_log.ddl(), dsn)
    nodes = iter(tasks(dsn, 8))

    def durability(home: Path = tmp_path) -> str:
        answer = wake(dsn, next(nodes), home)
        assert ("Certain" in answer.err) == (answer.json["durability"] == "local")
        return str(answer.json["durability"])

    assert durability() == "local"
    own_server.sql("SELECT pg_create_physical_replication_slot('berlin')")
    assert durability() == "detached"
    own_server.sql("SELECT pg_drop_replication_slot('berlin')")
    assert durability() == "local"
    with standby(dsn):
        unstick("info", dsn=dsn, home=tmp_path)
    while fetch(dsn, "SELECT count(*) FROM pg_stat_replication") != [(0,)]:
        pass
    assert durability() == "detached", "a standby was seen by an earlier command"
    assert durability(tmp_path / "elsewhere") == "local"
    several = dsn.replace(f":{own_server.port}/", f":{own_server.port},127.0.0.1:1/")
    answer = wake(several, next(nodes), tmp_path / "elsewhere")
    assert answer.json["durability"] == "detached", "the host that does not answer may be a primary"
    own_server.standby()
    own_server.sql("SELECT pg_promote()")
    assert durability(tmp_path / "elsewhere") == "detached", "it was promoted itself"


def test_a_commit_that_no_standby_confirmed_is_said(
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
