"""A worker's statement as the claim of a proposal."""

from __future__ import annotations

import asyncio
import contextlib
import re
import shutil
import tomllib
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from queries.db.database import Database
from queries.propose.catalog import read_table
from queries.propose.proposal import propose
from queries.text.psql_text import identifier
from queries.workspace import Workspace
from tests.command import Answer, fetch, unstick
from tests.proof import proof
from tests.queries.test_guess import HERE, queues
from tests.servers import PostgresServer

# As programs have them, and the same with values
STATEMENTS = {
    "river": (
        """WITH locked_jobs AS (
             SELECT * FROM river_job WHERE state = 'available'::river_job_state AND queue = @queue::text
                AND scheduled_at <= coalesce(@now::timestamptz, now()) LIMIT @max::integer FOR UPDATE SKIP LOCKED)
           UPDATE river_job SET state = 'running' FROM locked_jobs WHERE river_job.id = locked_jobs.id RETURNING *""",
        "state = 'available' AND scheduled_at <= now()",
    ),
    "pgboss": (
        """WITH next AS (
             SELECT id FROM pgboss.job WHERE name = $1 AND state < 'active' AND start_after < now() LIMIT $2 FOR UPDATE)
           UPDATE pgboss.job j SET state = 'active', started_on = now() FROM next WHERE name = $1 AND j.id = next.id""",
        "state < 'active' AND start_after < now()",
    ),
    "home1": (
        """UPDATE email_outbox SET status = 'sending', picked_by = %s, picked_at = now() WHERE id = (
          SELECT id FROM email_outbox WHERE status = 'new' AND picked_by IS NULL AND send_after <= now() FOR UPDATE)""",
        "status = 'new' AND picked_by IS NULL AND send_after <= now()",
    ),
}

NOT_OFFERED = {
    ("airflow", "wake"): "there is no time from which a worker may take a row",
    ("conductor", "release"): "nothing says since when a row is taken",
    ("dagster", "retry"): "a document repeats the status",
    ("dagster", "release"): "a document repeats the status",
}
EXPIRED = {("gopgq", "release"), ("quay", "release"), ("schwartz", "release")}  # a worker takes what its lease frees


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("queries.check.plans.TABLE_ROWS", 400_000)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path


def new(name: str, statement: str, dsn: str, home: Path) -> Answer:
    file = home / "claim.sql"
    file.write_text(statement)
    claim = ["--claim", str(file)] if statement else []
    return unstick("engine", "new", name, "--to", str(home / "own"), "--json", *claim, dsn=dsn, home=home)


def loaded(server: PostgresServer, schema: str, dsn: str) -> str:
    ((_, table, _, script),) = queues(schema)
    server.sql(script, dsn)
    return f"{schema}.{table}"


def settings(home: Path, *, answered: bool = False) -> dict[str, Any]:
    path = home / "own" / "engine.toml"
    if answered:
        path.write_text(re.sub(r"(?m)\A(?:#.*\n)+", "", path.read_text()))
    return tomllib.loads(path.read_text())


@pytest.mark.parametrize("schema", STATEMENTS)
def test_a_worker_takes_what_an_action_with_its_statement_has_changed(
    server: PostgresServer, database: str, home: Path, schema: str
) -> None:
    statement, claim = STATEMENTS[schema]
    table = loaded(server, schema, database)
    assert "15 of 200 rows meet it" in new(table, statement, database, home).json["claim"][0]
    assert "proof" not in settings(home, answered=True)["claim"].popitem()[1]
    (home / "config" / "unstick").mkdir(parents=True)
    (home / "config" / "unstick" / "config.toml").write_text("engines.own.trust = true\n")
    for action, phase, n in (("release", "running", 10), ("wake", "scheduled", 10)):
        ((before,),) = fetch(database, f"SELECT count(*) FROM {table} WHERE {claim}")
        rows = f"--filter phase:{phase} --engine own --engines {home / 'own'} --reason x --yes".split()
        done = unstick("do", action, *rows, dsn=database, home=home)
        assert fetch(database, f"SELECT count(*) FROM {table} WHERE {claim}") == [(before + n,)], (action, done.out)


def conditions() -> dict[str, str]:
    """Return the conditions of workers, by schema."""
    return dict(re.findall(r"(?m)^-- (\w+)\.(?:.+\n)*?-- claim: (.+)$", (HERE / "queues.sql").read_text()))


async def test_each_action_leads_to_the_rows_that_a_worker_takes(server: PostgresServer, database: str) -> None:
    """Rows are counted before and after, by the worker's own condition."""
    claims = conditions()
    assert len(claims) >= 20
    every = list(queues(*claims))
    for *_, script in every:
        await asyncio.to_thread(server.sql, script, database)
    here, connection = Database(database), await asyncpg.connect(database)
    for schema, name, states, _ in every:
        table, claim = f'{schema}."{name}"', claims[schema]
        taken = f"SELECT count(*) FROM {table} WHERE {claim.replace('now()', 'clock_timestamp()')}"
        statement = f"SELECT * FROM {table} WHERE {claim} LIMIT 1 FOR UPDATE SKIP LOCKED"
        described = await read_table(here, table)
        proposal = await propose(here, described, "own", statements=[("", statement)])
        actions = {action.name: action for action in proposal.actions}
        last = 0
        for state, n in states.items():
            last += n
            action = {"stuck": "release", "failed": "retry", "later": "wake"}.get(state)
            assert action is None or (action in actions) is ((schema, action) not in NOT_OFFERED), (schema, action)
            if action is None or action not in actions:
                continue
            rows = f"(SELECT ctid FROM (SELECT ctid, row_number() OVER (ORDER BY ctid) AS i FROM {table}) AS r WHERE i"
            of_state = f"ctid = ANY (ARRAY{rows} > {last - n} AND i <= {last}))"
            values = ", ".join(f"{identifier(column.name)} = {value}" for column, value in actions[action].sets)
            async with rolled_back(connection):
                before = await connection.fetchval(taken)
                already = await connection.fetchval(f"SELECT count(*) FROM {table} WHERE ({claim}) AND {of_state}")
                assert already == 0 or (schema, action) in EXPIRED, (schema, action)
                await connection.execute(f"UPDATE {table} SET {values} WHERE {of_state}")
                assert await connection.fetchval(taken) == before - already + n, (schema, action, values)
    await connection.close()
    await here.close()


@contextlib.asynccontextmanager
async def rolled_back(connection: asyncpg.Connection[Any]) -> AsyncIterator[None]:
    transaction = connection.transaction()
    await transaction.start()
    try:
        yield
    finally:
        await transaction.rollback()


@proof
@pytest.mark.parametrize("schema", [*STATEMENTS, "quay", "home18", "home22"])
def test_a_folder_with_a_statement_passes_the_check(
    server: PostgresServer, database: str, home: Path, schema: str
) -> None:
    table = loaded(server, schema, database)
    statement, _ = STATEMENTS.get(schema, (f"SELECT * FROM {table} WHERE {conditions().get(schema)} FOR UPDATE", ""))
    assert new(table, statement, database, home).code == 0
    settings(home, answered=True)
    answer = unstick("engine", "check", str(home / "own"), "--json", home=home)
    assert [fault for check in answer.json["checks"] for fault in check["faults"]] == []


def test_an_action_after_which_rows_do_not_meet_the_statement_is_not_proposed(
    server: PostgresServer, database: str, home: Path
) -> None:
    table = loaded(server, "home1", database)
    statement = STATEMENTS["home1"][0].replace("status = 'new' AND", "status = 'new' AND tries = 0 AND")
    server.sql(f"UPDATE {table} SET tries = 1 WHERE status = 'sending'", database)
    said = new(table, statement, database, home).json
    assert said["actions"] == ["wake", "retry"]
    why = "after it, 15 of 15 rows would not meet a condition of the worker's statement: t.tries = 0"
    assert {"name": "release", "why": why} in said["not_proposed"]


def test_a_document_that_repeats_the_status_bars_actions(server: PostgresServer, database: str, home: Path) -> None:
    said = new(loaded(server, "jobrunr", database), "", database, home).json
    assert said["actions"] == []
    whys = {each["why"] for each in said["not_proposed"] if each["name"] in ("retry", "release", "wake")}
    assert whys == {
        "the column jobasjson has documents that repeat the status, and an action would change one of the two"
    }


async def test_work_that_begins_later_is_seen_and_what_is_none_any_more_goes(
    server: PostgresServer, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("queries.workspace.DETECTION_KEPT_SECONDS", 0.0)
    monkeypatch.setattr("queries.workspace.GUESS_PAUSE", 0.0)
    loaded(server, "home2", database)
    workspace = await Workspace(database, guess=True, file=tmp_path / "audit").open()
    try:
        (before,) = workspace.engines.values()
        table = loaded(server, "river", database)
        await workspace.detect_again()
        assert workspace.engines.keys() == {before.label, "river_job"}
        assert workspace.engines[before.label] is before
        server.sql(f"DROP TABLE {table}", database)
        await workspace.detect_again()
        assert workspace.engines.keys() == {before.label}
    finally:
        await workspace.close()


@pytest.mark.parametrize("factor", [1, 1_000, 1_000_000])
def test_numbers_that_are_times_are_read(server: PostgresServer, database: str, home: Path, factor: int) -> None:
    server.sql(
        f"""CREATE TABLE jobs (id int8 PRIMARY KEY, status text, run_at int8, claimed_ts int8, due_at int8, args json);
            INSERT INTO jobs SELECT n, w, f, CASE w WHEN 'running' THEN f END, n, '{{}}'
              FROM generate_series(1, 30) n, LATERAL (SELECT (ARRAY['queued', 'running', 'done'])[1 + n % 3] AS w,
                ((extract(epoch FROM now()) - 7500) * {factor})::int8 AS f) AS x""",
        database,
    )
    asked = unstick("engine", "new", "jobs", "--json", dsn=database, home=home).json["questions"]
    assert "time_unit" not in [each["code"] for each in asked]
    incidents = unstick("stuck", "--json", dsn=database, home=home).json["incidents"]
    assert {each["code"]: each["n"] for each in incidents} == {"late": 10, "owner_dead": 10}
    assert "2h" in str(unstick("stuck", dsn=database, home=home).out)


def test_texts_of_a_guess_are_searched(server: PostgresServer, database: str, home: Path) -> None:
    loaded(server, "pgboss", database)
    server.sql("UPDATE pgboss.job SET dead_letter = 'parcel-77' WHERE state = 'failed'", database)
    engines = unstick("find", "PARCEL", "--json", dsn=database, home=home).json["engines"]
    assert [hit["matched"] for engine in engines for hit in engine["hits"]] == ["payload"] * 20


def test_names_that_workers_left_are_no_sign_of_running(server: PostgresServer, database: str, home: Path) -> None:
    server.sql(
        """CREATE TABLE jobs (id int8 PRIMARY KEY, status text, run_at timestamptz, locked_by text, tries int);
           INSERT INTO jobs SELECT n, (ARRAY['queued', 'blorp', 'frob'])[1 + n % 3], now(), nullif(n % 3, 0)::text
              FROM generate_series(1, 30) n""",
        database,
    )
    asked = unstick("engine", "new", "jobs", "--json", dsn=database, home=home).json["questions"]
    said = {each["code"]: each["text"] for each in asked}
    assert "blorp" in said["unknown_words"]
    assert "blorp" not in said.get("guessed_words", "")


@pytest.fixture
def counting(tmp_path: Path) -> Iterator[PostgresServer]:
    """A server with pg_stat_statements."""
    server = PostgresServer("18", {"shared_preload_libraries": "pg_stat_statements"})
    server.start()
    yield server
    server.close()


async def test_a_statement_that_the_server_knows_is_proposed_to_the_author(
    counting: PostgresServer, home: Path
) -> None:
    dsn = await asyncio.to_thread(counting.fresh)
    table = await asyncio.to_thread(loaded, counting, "home1", dsn)
    connection = await asyncpg.connect(dsn)
    taking = STATEMENTS["home1"][0].replace("%s", "'w1'").replace("FOR UPDATE", "LIMIT 1 FOR UPDATE SKIP LOCKED")
    await connection.execute(
        f"CREATE FUNCTION odd() RETURNS bool LANGUAGE sql AS 'SELECT true';"
        f"CREATE ROLE viewer LOGIN PASSWORD 'x'; GRANT USAGE ON SCHEMA home1 TO viewer;"
        f"GRANT SELECT ON {table} TO viewer"
    )
    await connection.execute("SET search_path = home1, public")
    await connection.execute("SELECT 1 FROM email_outbox WHERE status = 'new' AND odd() FOR UPDATE")  # is refused
    await connection.execute("SELECT 1 FROM email_outbox WHERE status = 'sent' FOR UPDATE SKIP LOCKED")  # others' rows
    said = await asyncio.to_thread(new, table, "", dsn, home)
    assert said.json["claim"] == []
    shutil.rmtree(home / "own")

    await connection.execute(f"BEGIN; {taking}")
    said = await asyncio.to_thread(new, table, "", dsn, home)
    assert "found in a session of postgres, with now() for a time that it is given. 15 of 200" in said.json["claim"][0]
    (question,) = (each["text"] for each in said.json["questions"] if each["code"] == "found")
    assert "Is this the statement by which a worker takes a row: BEGIN; UPDATE email_outbox" in question
    conditions = settings(home)["claim"]["email_outbox"]["conditions"]
    assert [each["holds"] for each in conditions.values()] == [
        "t.status = 'new'", "t.picked_by IS NULL", "t.send_after <= now()"]  # fmt: skip
    engine = (await asyncio.to_thread(unstick, "engines", "--json", "--engines", str(home / "own"), dsn=dsn)).json
    assert {each["available"] for each in engine["engines"][0]["actions"]} == {False}
    shutil.rmtree(home / "own")

    await connection.execute("ROLLBACK; CREATE EXTENSION pg_stat_statements")
    await connection.execute(taking)
    await connection.execute("SELECT 1")
    said = await asyncio.to_thread(new, table, "", dsn, home)
    assert "found in pg_stat_statements (calls: " in said.json["claim"][0]
    conditions = settings(home)["claim"]["email_outbox"]["conditions"]
    assert conditions["status"]["holds"] == "t.status = 'new'"
    shutil.rmtree(home / "own")
    other = re.sub(r"//[^@]+@", "//viewer:x@", dsn)
    assert (await asyncio.to_thread(new, table, "", other, home)).json["claim"] == []
    await connection.close()
