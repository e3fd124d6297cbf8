"""Databases whose encoding is not UTF-8."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import asyncpg
import pytest

from queries.change import perform
from queries.change.plan import plan_versions
from queries.db.database import Database
from queries.db.errors import DatabaseError
from queries.db.query import Query
from queries.files.statement import Statement
from queries.log import audit_log
from queries.read import search
from queries.records.action import Outcome
from tests.command import unstick
from tests.console.tui_driver import run_tui
from tests.db.eternaltwin import EternaltwinDb
from tests.proof import most_in_proof
from tests.queries.builders import committed, do, opened, outcomes_of, seen, undone
from tests.servers import PostgresServer, fill, install


async def made(server: PostgresServer, encoding: str, engine: str = "eternaltwin") -> str:
    """Return the DSN of a new database of an engine in an encoding."""
    name = server.unique("db")
    server.sql(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING '{encoding}' LOCALE 'C'")
    dsn = server.dsn(name)
    connection = await asyncpg.connect(dsn)
    await install(connection, engine)
    await connection.execute(audit_log.ddl())
    await connection.close()
    return dsn


FOLDER = Path(audit_log.__file__).parents[1]
plain_sql = pytest.mark.skipif(
    not all(file.read_bytes().isascii() for file in FOLDER.rglob("*.sql")),
    reason="SQL files hold characters outside of ASCII, which these databases do not have",
)


ENCODINGS = ["LATIN2", "LATIN1", "LATIN9", "EUC_JP", "SQL_ASCII", "KOI8R", "WIN1251"]


@plain_sql
@pytest.mark.parametrize("encoding", most_in_proof(ENCODINGS))
async def test_a_task_is_woken_and_undone(server: PostgresServer, tmp_path: Path, encoding: str) -> None:
    dsn = await made(server, encoding)
    eternaltwin_db = await EternaltwinDb.open(dsn)
    node = eternaltwin_db.id(await eternaltwin_db.task(status="Blocked", timer=-600))
    workspace = await opened(dsn, tmp_path)
    done = await do(workspace, "wake", [node])
    assert outcomes_of(done) == {node: Outcome.CHANGED}
    assert outcomes_of(await undone(workspace, done)) == {node: Outcome.CHANGED}
    await workspace.close()
    await eternaltwin_db.connection.close()
    server.drop(dsn)


@pytest.mark.parametrize("encoding", most_in_proof(["LATIN1", "LATIN9"]))
async def test_a_reason_that_the_database_cannot_hold_changes_nothing(
    server: PostgresServer, tmp_path: Path, encoding: str
) -> None:
    dsn, reason = await made(server, encoding), "it\u2019s stuck"
    server.sql(audit_log.ddl(), dsn)
    eternaltwin_db = await EternaltwinDb.open(dsn)
    task = await eternaltwin_db.task(status="Blocked", timer=-600)
    node = eternaltwin_db.id(task)
    workspace = await opened(dsn, tmp_path)
    plan = plan_versions(workspace, "eternaltwin", "wake", await seen(workspace, [node]))
    (result,) = (await committed(workspace, await perform.dry_run(workspace, plan, reason, {}))).results
    assert result.outcome is Outcome.REFUSED
    assert re.search(f"0xe2 0x80 0x99.*{encoding}.*other characters", result.why)
    assert (await eternaltwin_db.row(task))["status"] == "Blocked"
    with pytest.raises(DatabaseError, match="cannot hold this text"):
        await search.find_texts(workspace.engines["eternaltwin"], reason)
    await workspace.close()
    await eternaltwin_db.connection.close()
    server.drop(dsn)


BAD = "convert_from('\\xc3bcff'::bytea, 'SQL_ASCII')"  # é in UTF-8, and a byte that is no character


async def spoil(dsn: str) -> None:
    connection = await asyncpg.connect(dsn)
    await fill(connection, "oban")
    await connection.execute(f"UPDATE oban_jobs SET worker = {BAD}, args = jsonb_build_object('a', {BAD})")
    await connection.close()


def test_bytes_that_are_no_text_are_shown_escaped_and_hide_nothing(server: PostgresServer) -> None:
    dsn = asyncio.run(made(server, "SQL_ASCII", "oban"))
    asyncio.run(spoil(dsn))
    for command in ("tree", "stuck", "dead", "metrics", "changed"):
        for form in ("text", *(() if command == "metrics" else ("json",))):
            answer = unstick(command, *(["--json"] if form == "json" else ()), dsn=dsn)
            assert answer.code == 0, (command, answer.err)
            assert command == "changed" or "not read" not in answer.out + answer.err
            assert command not in ("tree", "dead") or "\u00fc\\xff" in answer.out.replace("\\\\", "\\"), answer.out
    dead = unstick("dead", "--json", dsn=dsn).json["dead"][0]["dead_letters"]
    assert len(dead) > 1
    ids = [each["node"]["id"] for each in dead]
    shown = unstick("show", ids[0], dsn=dsn)
    assert (shown.code, "\u00fc\\xff" in shown.out) == (0, True), shown
    answer = unstick("do", "retry", ids[0], "--reason", "it was stuck", "--dry-run", dsn=dsn)
    assert "bytes that are no UTF-8" in answer.out + answer.err, answer
    server.drop(dsn)


async def test_a_long_text_reaches_a_database_that_checks_none_as_it_is(server: PostgresServer) -> None:
    """The driver copies a text after it has released it."""
    dsn = await made(server, "SQL_ASCII", "oban")
    database = Database(dsn)
    query = Statement(
        text="SELECT $1::jsonb #>> '{}' AS word, $2::text AS more", source="", parameters=("args", "query")
    )
    for size in (10, 600, 3_000, 70_000):
        for _ in range(20):
            values = {"args": f'"{"x" * size}"', "query": "y" * size}
            ((row,),) = await database.batch([Query(query, values)])
            assert (row["word"], row["more"]) == ("x" * size, "y" * size)
    await database.close()
    server.drop(dsn)


async def test_an_id_with_bytes_that_are_no_text_says_why_it_is_not_found(
    server: PostgresServer, tmp_path: Path
) -> None:
    dsn = await made(server, "SQL_ASCII", "solid_queue")
    connection = await asyncpg.connect(dsn)
    name = "convert_from('\\x636166e9'::bytea, 'SQL_ASCII')"
    await connection.execute(f"INSERT INTO solid_queue_pauses (queue_name, created_at) VALUES ({name}, now())")
    await connection.close()
    why = "\\xe9 in it is a byte that is no text"
    for words in (("show",), ("do", "resume", "--reason", "it was stuck", "--dry-run")):
        name, *rest = words
        action, options = rest[:1] if name == "do" else [], rest[1:] if name == "do" else []
        answer = await asyncio.to_thread(unstick, name, *action, "solid_queue/queue:caf\\xe9", *options, dsn=dsn)
        assert why in answer.out + answer.err, answer
    async with run_tui(dsn, tmp_path) as tui:
        await tui.wait_for("● live")
        await tui.press("f")
        await tui.paste("caf\\xe9")
        await tui.press("enter")
        await tui.wait_for("Nothing was found", why)
    server.drop(dsn)
