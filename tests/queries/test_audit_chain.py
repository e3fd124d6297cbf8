"""Hash chain of the audit log against the owner of the table."""

from __future__ import annotations

import asyncio
import json
import os
import random
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from queries.log import audit_log
from queries.log import chain as audit_chain
from queries.log.chain import Verification
from queries.workspace import Workspace
from tests.queries.builders import opened
from tests.servers import PostgresServer, both_versions

COLUMNS = "os_user, host, application, engine, schema, action, reason, arguments, results, changes"
RESULTS = '[{"id": "a", "outcome": "changed"}]'
VALUES = f"'anna', 'laptop', 'unstick', 'tasker', 'public', 'wake', $1, '{{\"n\": 1.50}}', '{RESULTS}', '[]'"
INSERT = f"INSERT INTO unstick.audit_log ({COLUMNS}) VALUES ({VALUES})"
IMAGES = (
    f"WITH entry AS (INSERT INTO unstick.audit_log ({COLUMNS}, images_digest)"
    f" VALUES ({VALUES}, encode(sha256('[1]'), 'hex')) RETURNING id)"
    " INSERT INTO unstick.audit_images (entry, images) SELECT id, '[1]' FROM entry"
)
ROUNDS = int(os.environ.get("UNSTICK_CHAIN_ROUNDS", "40"))


@pytest.fixture
async def owner(server: PostgresServer, database: str) -> AsyncIterator[asyncpg.Connection[Any]]:
    """Connection of the table's owner."""
    server.sql(audit_log.ddl(), database)
    connection = await asyncpg.connect(database)
    yield connection
    await connection.close()


@pytest.fixture
async def workspace(owner: object, database: str, tmp_path: Path) -> AsyncIterator[Workspace]:
    workspace = await opened(database, tmp_path)
    yield workspace
    await workspace.close()


async def write(connection: asyncpg.Connection[Any], number: int = 10, *, images: bool = False) -> None:
    for n in range(number):
        async with connection.transaction():
            await connection.execute(IMAGES if images else INSERT, f"reason {n}")


def found(verification: Verification) -> set[tuple[str, str]]:
    return {(problem.code, problem.id) for problem in verification.problems}


@both_versions
async def test_entries_follow_each_other(owner: asyncpg.Connection[Any], workspace: Workspace) -> None:
    empty = await workspace.audit_log.verify()
    assert (empty.entries, empty.heads, empty.problems) == (0, (), ())
    await write(owner, 120)
    verification = await workspace.audit_log.verify()
    digest = await owner.fetchval("SELECT digest FROM unstick.audit_log WHERE id = 120")
    assert verification == Verification(
        place="table", entries=120, hashed=120, older=0, heads=(f"120:{digest}",), known=0, problems=()
    )
    again = await workspace.audit_log.verify(verification.heads)
    assert (again.known, again.problems) == (1, ())


COPY = (
    "INSERT INTO unstick.audit_log OVERRIDING SYSTEM VALUE SELECT * FROM jsonb_populate_record("
    "NULL::unstick.audit_log, (SELECT to_jsonb(l) {} FROM unstick.audit_log l WHERE id = 5))"
)
REHASH = "WITH {} UPDATE unstick.audit_log l SET digest = e.hash FROM entries e WHERE e.id = l.id AND l.id = {}"
SWAP = (
    "UPDATE unstick.audit_log SET id = -id WHERE id IN (5, 6);"
    " UPDATE unstick.audit_log SET id = CASE id WHEN -5 THEN 6 ELSE 5 END WHERE id < 0"
)
TAMPERED: dict[str, tuple[str, set[tuple[str, str]]]] = {
    "one is removed": ("DELETE FROM unstick.audit_log WHERE id = 5", {("removed", "5")}),
    "some are removed": ("DELETE FROM unstick.audit_log WHERE id IN (4, 5, 6)", {("removed", "6")}),
    "the first are removed": ("DELETE FROM unstick.audit_log WHERE id < 3", {("removed", "2")}),
    "a reason is changed": ("UPDATE unstick.audit_log SET reason = 'x' WHERE id = 5", {("changed", "5")}),
    "the last is changed": ("UPDATE unstick.audit_log SET reason = 'x' WHERE id = 10", {("changed", "10")}),
    "a role is changed": ("UPDATE unstick.audit_log SET role = 'x' WHERE id = 5", {("changed", "5")}),
    "a time is changed": ("UPDATE unstick.audit_log SET at = at + '1us' WHERE id = 5", {("changed", "5")}),
    "a transaction is changed": ("UPDATE unstick.audit_log SET xid = '7' WHERE id = 5", {("changed", "5")}),
    "arguments are changed": (
        "UPDATE unstick.audit_log SET arguments = '{\"n\": 1.5}' WHERE id = 5",
        {("changed", "5")},
    ),
    "results are changed": ("UPDATE unstick.audit_log SET results = '[]' WHERE id = 5", {("changed", "5")}),
    "rows are changed": ("UPDATE unstick.audit_log SET changes = '[ ]' WHERE id = 5", {("changed", "5")}),
    "a hash is removed": (
        "UPDATE unstick.audit_log SET digest = NULL WHERE id = 5",
        {("no_hash", "5"), ("changed", "5")},
    ),
    "two change places": (
        SWAP,
        {("changed", "5"), ("changed", "6")},
    ),
    "one gets another id": (
        "UPDATE unstick.audit_log SET id = 99 WHERE id = 5",
        {("removed", "5"), ("changed", "99"), ("sequence", "99")},
    ),
    "the chain is cut": (
        "UPDATE unstick.audit_log SET previous = '{}' WHERE id = 5",
        {("changed", "5"), ("inserted", "4")},
    ),
    "one is written without the trigger": (
        "ALTER TABLE unstick.audit_log DISABLE TRIGGER audit_log_chain;"
        + COPY.format('|| \'{"id": 50, "digest": null}\''),
        {("no_hash", "50"), ("sequence", "50")},
    ),
    "images are changed": ("UPDATE unstick.audit_images SET images = '[2]' WHERE entry = 5", {("changed", "5")}),
    "images are removed": ("DELETE FROM unstick.audit_images WHERE entry = 5", set()),
    "all lose their hashes": (
        "UPDATE unstick.audit_log SET digest = NULL, previous = NULL, seen = NULL WHERE id < 10",
        {("changed", "9")},
    ),
}


def digest() -> str:
    """Return the table expression with each entry's hash, as the sources have it."""
    return (Path(audit_log.FOLDER) / "parts" / "entries.sql").read_text("utf-8")


@pytest.mark.parametrize("tampered", TAMPERED)
async def test_what_the_owner_does_is_detected(
    owner: asyncpg.Connection[Any], workspace: Workspace, tampered: str
) -> None:
    await write(owner, images=tampered.startswith("images"))
    statements, expected = TAMPERED[tampered]
    await owner.execute("ALTER TABLE unstick.audit_log ALTER id SET GENERATED BY DEFAULT")
    await owner.execute(statements)
    assert found(await workspace.audit_log.verify()) == expected


async def test_images_belong_to_the_transaction_of_their_entry(
    owner: asyncpg.Connection[Any], workspace: Workspace
) -> None:
    await write(owner, 3, images=True)
    await write(owner, 1)
    assert (await workspace.audit_log.verify()).problems == ()
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await owner.execute("INSERT INTO unstick.audit_images (entry, images) VALUES (4, '[]')")
    await owner.execute("ALTER TABLE unstick.audit_images DISABLE TRIGGER audit_images_chain")
    await owner.execute("INSERT INTO unstick.audit_images (entry, images) VALUES (4, '[]')")
    assert found(await workspace.audit_log.verify()) == {("changed", "4")}


async def test_an_entry_with_a_new_hash_is_not_the_one_that_was_followed(
    owner: asyncpg.Connection[Any], workspace: Workspace
) -> None:
    await write(owner)
    await owner.execute("UPDATE unstick.audit_log SET reason = 'x' WHERE id = 5")
    await owner.execute(REHASH.format(digest(), 5))
    assert found(await workspace.audit_log.verify()) == {("changed", "5")}


async def test_an_entry_that_is_written_into_a_gap_is_not_followed(
    owner: asyncpg.Connection[Any], workspace: Workspace
) -> None:
    await write(owner, 5)
    await owner.execute("SELECT nextval(pg_get_serial_sequence('unstick.audit_log', 'id'))")
    await write(owner, 5)
    assert (await workspace.audit_log.verify()).problems == ()
    await owner.execute("ALTER TABLE unstick.audit_log DISABLE TRIGGER audit_log_chain")
    await owner.execute("ALTER TABLE unstick.audit_log ALTER id SET GENERATED BY DEFAULT")
    followed = await owner.fetchval("SELECT array_to_json(previous)::text FROM unstick.audit_log WHERE id = 7")
    await owner.execute(COPY.format(f'|| \'{{"id": 6, "role": "anna"}}\' || \'{{"previous": {followed}}}\''))
    await owner.execute(REHASH.format(digest(), 6))
    assert found(await workspace.audit_log.verify()) == {("inserted", "6")}


async def test_an_entry_of_no_transaction_is_detected_once_others_were_written(
    owner: asyncpg.Connection[Any], workspace: Workspace
) -> None:
    """The forged transaction id is in the future, so no snapshot shows it."""
    await write(owner, 5)
    await owner.execute("SELECT nextval(pg_get_serial_sequence('unstick.audit_log', 'id'))")
    await write(owner, 60)
    await owner.execute("ALTER TABLE unstick.audit_log DISABLE TRIGGER audit_log_chain")
    await owner.execute("ALTER TABLE unstick.audit_log ALTER id SET GENERATED BY DEFAULT")
    await owner.execute(COPY.format('|| \'{"id": 6, "xid": "999999"}\''))
    await owner.execute(REHASH.format(digest(), 6))
    assert ("inserted", "6") in found(await workspace.audit_log.verify())


async def test_a_truncated_log_is_detected_by_an_exported_head(
    owner: asyncpg.Connection[Any], workspace: Workspace
) -> None:
    await write(owner)
    exported = (await workspace.audit_log.verify()).heads
    await owner.execute("DELETE FROM unstick.audit_log WHERE id > 8")
    assert found(await workspace.audit_log.verify(exported)) == {("removed", "10"), ("cut_end", "9")}
    await owner.execute("TRUNCATE unstick.audit_log, unstick.audit_images")
    assert found(await workspace.audit_log.verify(exported)) == {("removed", "10"), ("cut_end", "1")}
    await owner.execute("ALTER SEQUENCE unstick.audit_log_id_seq RESTART")
    alone = await workspace.audit_log.verify()
    assert alone.problems == (), "the limit that decision 6 states"
    await write(owner)
    rewritten = await workspace.audit_log.verify(exported)
    assert (found(rewritten), rewritten.known) == ({("changed", "10")}, 0)


async def test_an_entry_that_was_backdated(owner: asyncpg.Connection[Any], workspace: Workspace) -> None:
    await write(owner, 3)
    await owner.execute(
        "ALTER TABLE unstick.audit_log ALTER at SET DEFAULT now() - interval '1 day'",
    )
    await write(owner, 1)
    assert found(await workspace.audit_log.verify()) == {("backdated", "4")}


@both_versions
async def test_writers_do_not_wait_for_each_other_and_all_are_followed(
    owner: asyncpg.Connection[Any], workspace: Workspace, database: str
) -> None:
    """Transactions of random length that overlap, some rolled back, and savepoints."""
    rng = random.Random(7)
    connections = [await asyncpg.connect(database) for _ in range(6)]

    async def writer(connection: asyncpg.Connection[Any]) -> int:
        kept = 0
        for n in range(ROUNDS):
            transaction = connection.transaction()
            await transaction.start()
            await connection.execute("SELECT pg_current_xact_id()")
            await asyncio.sleep(rng.random() / 200)
            if rng.random() < 0.2:
                inner = connection.transaction()
                await inner.start()
                await connection.execute(INSERT, "undone")
                await inner.rollback()
            await connection.execute(INSERT, f"reason {n}")
            if rng.random() < 0.2:
                await connection.execute(INSERT, "second of the transaction")
            await asyncio.sleep(rng.random() / 200)
            if rng.random() < 0.1:
                await transaction.rollback()
            else:
                await transaction.commit()
                kept += 1
        return kept

    await asyncio.gather(*map(writer, connections))
    for connection in connections:
        await connection.close()
    await write(owner, 1)  # the last of them may have been rolled back, which looks like a removed end
    verification = await workspace.audit_log.verify()
    assert verification.problems == ()
    assert verification.entries > ROUNDS * 4
    forks = "SELECT count(*) FROM unstick.audit_log WHERE cardinality(previous) > 1"
    assert await owner.fetchval(forks) > 0, "some were written at the same time"
    await write(owner, 1)
    (head,) = (await workspace.audit_log.verify()).heads
    for _ in range(10):
        ids = [row["id"] for row in await owner.fetch("SELECT id FROM unstick.audit_log ORDER BY id")]
        victim = rng.choice(ids[:-1])
        async with owner.transaction():
            await owner.execute("CREATE TEMP TABLE kept AS SELECT * FROM unstick.audit_log WHERE id = $1", victim)
            await owner.execute("DELETE FROM unstick.audit_log WHERE id = $1", victim)
        assert ("removed", str(victim)) in found(await workspace.audit_log.verify([head]))
        async with owner.transaction():
            await owner.execute("ALTER TABLE unstick.audit_log DISABLE TRIGGER audit_log_chain")
            await owner.execute("INSERT INTO unstick.audit_log OVERRIDING SYSTEM VALUE SELECT * FROM kept")
            await owner.execute("ALTER TABLE unstick.audit_log ENABLE TRIGGER audit_log_chain; DROP TABLE kept")
        assert (await workspace.audit_log.verify([head])).problems == ()


async def test_a_writer_never_waits_for_one_that_has_not_committed(
    owner: asyncpg.Connection[Any], workspace: Workspace, database: str
) -> None:
    other = await asyncpg.connect(database)
    await owner.execute("SET lock_timeout = '1ms'")
    async with other.transaction():
        await other.execute(INSERT, "first")
        await owner.execute(INSERT, "second")
        first = await workspace.audit_log.verify()
        assert (first.entries, len(first.heads)) == (1, 1)
    both = await workspace.audit_log.verify()
    assert (both.entries, len(both.heads), both.problems) == (2, 2, ())
    await owner.execute(INSERT, "third")
    after = await workspace.audit_log.verify(both.heads)
    assert (len(after.heads), after.known, after.problems) == (1, 2, ())
    await other.close()


@both_versions
async def test_an_operator_cannot_choose_the_hash(
    owner: asyncpg.Connection[Any], server: PostgresServer, database: str, workspace: Workspace
) -> None:
    role = server.unique("operator")
    server.sql(f"CREATE ROLE {role} LOGIN PASSWORD 'x'")
    server.sql(audit_log.grants(role), database)
    server.sql(f"REVOKE SELECT ON unstick.audit_log FROM {role}", database)  # INSERT alone is enough to be chained
    operator = await asyncpg.connect(server.dsn(database.rpartition("/")[2], user=role, password="x"))
    try:
        await write(operator, 3)
        for column in ("digest", "previous", "seen"):
            given = INSERT.replace("changes)", f"changes, {column})").replace("'[]')", "'[]', NULL)")
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await operator.execute(given, "x")
        with pytest.raises(asyncpg.PostgresError):
            await operator.execute("SELECT unstick.audit_log_chain()")
        verification = await workspace.audit_log.verify()
        assert (verification.entries, len(verification.heads), verification.problems) == (3, 1, ())
    finally:
        await operator.close()
        server.sql(f"DROP OWNED BY {role}", database)
        server.sql(f"DROP ROLE {role}")


async def test_the_owner_cannot_hide_behind_a_given_hash(owner: asyncpg.Connection[Any], workspace: Workspace) -> None:
    await write(owner, 2)
    given = INSERT.replace("changes)", "changes, digest, previous)").replace("'[]')", "'[]', 'x', '{}')")
    await owner.execute(given, "x")
    verification = await workspace.audit_log.verify()
    assert (verification.entries, len(verification.heads), verification.problems) == (3, 1, ())


@both_versions
async def test_an_older_table_is_readable_and_init_upgrades_it(
    server: PostgresServer, database: str, tmp_path: Path
) -> None:
    server.sql(audit_log.ddl(), database)
    server.sql(
        "DROP TRIGGER audit_log_chain ON unstick.audit_log; DROP FUNCTION unstick.audit_log_chain();"
        " DROP TABLE unstick.audit_images;"
        " ALTER TABLE unstick.audit_log DROP previous, DROP seen, DROP digest, DROP images_digest",
        database,
    )
    connection = await asyncpg.connect(database)
    await write(connection, 3)
    workspace = await opened(database, tmp_path)
    assert len((await workspace.audit_log.page())[0]) == 3
    with pytest.raises(audit_log.DatabaseError, match="unstick init"):
        await workspace.audit_log.verify()
    await audit_log.create(workspace.database, [])
    await workspace.detect()
    older = await workspace.audit_log.verify()
    assert (older.entries, older.older, older.hashed, older.heads, older.problems) == (3, 3, 0, (), ())
    await write(connection, 2)
    both = await workspace.audit_log.verify()
    assert (both.entries, both.older, len(both.heads), both.problems) == (5, 3, 1, ())
    assert len((await workspace.audit_log.page())[0]) == 5
    await workspace.close()
    await connection.close()


async def test_a_restored_log_is_still_proven(
    owner: asyncpg.Connection[Any], workspace: Workspace, server: PostgresServer, tmp_path: Path
) -> None:
    """Restore entries into a server whose transaction ids begin again."""
    await owner.execute(
        "ALTER TABLE unstick.audit_log ALTER xid SET DEFAULT (pg_current_xact_id()::text::int + 1000000)::text::xid8"
    )
    await write(owner, 5)
    await owner.execute("ALTER TABLE unstick.audit_log ALTER xid SET DEFAULT pg_current_xact_id()")
    await write(owner, 5)
    assert (await workspace.audit_log.verify()).problems == ()


def test_heads_are_found_in_any_text() -> None:
    one, two = "a" * 64, "0" * 64
    text = json.dumps({"heads": [f"17:{one}"]}) + f"\nnote: 1f2e-7b:{two}, 17:{one}; 5:{one[:60]}"
    assert audit_chain.heads_in(text) == (f"17:{one}", f"1f2e-7b:{two}")
