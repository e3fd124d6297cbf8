"""Guesses: tables of work that no engine describes are read, and no others."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest

from queries.propose import guess
from queries.records.node import Phase
from queries.text.psql_text import identifier
from queries.workspace import Workspace
from tests.command import fetch, unstick
from tests.console.tui_driver import run_tui
from tests.servers import PostgresServer

HERE = Path(__file__).parent
COUNTS = {"done": 140, "failed": 20, "stuck": 10, "running": 5, "late": 15, "later": 10}
UNITS = {"m": "minutes", "h": "hours", "d": "days"}
MISSED = {"nextcloud"}  # a reservation and data only
UNTOLD = {  # whose rows do not say it
    "que": "a worker has a row while it holds an advisory lock",
    "pgmq": "a taken row is one that is due later",
    "camunda": "it has failed without tries that are left",
    "goodjob": "it has failed if it is finished with an error",
}


def _value(text: str) -> str:
    """Return SQL of a value of queues.sql."""

    def moment(match: re.Match[str]) -> str:
        form, sign, n, unit = match.groups()
        at = f"(now() {sign} interval '{n} {UNITS[unit]}')"
        seconds = f"extract(epoch FROM {at})"
        return {"": at, "ms": f"({seconds} * 1000)::int8", "s": f"{seconds}::int4", "f": seconds}[form]

    return re.sub(r"@(ms|s|f|)([+-])(\d+)([mhd])", moment, text)


def queues(*names: str) -> Iterator[tuple[str, str, dict[str, int], str]]:
    """Yield schema, table, rows by state, and the script of each queue of queues.sql."""
    for block in re.split(r"\n\n+(?=-- \w+\.)", (HERE / "queues.sql").read_text()):
        if not (named := re.match(r"-- (\w+)\.(\w+)\n", block)) or (names and named[1] not in names):
            continue
        states = {
            state: dict(each.split("=", 1) for each in re.split(r' (?="?\w+"?=)', values))
            for state, values in re.findall(r"(?m)^-- (?!claim)(\w+): (.*)$", block)
        }
        common, last = states.pop("all", {}), 0
        lines = [f"CREATE SCHEMA {named[1]}; SET search_path = {named[1]};", re.sub(r"(?m)^--.*$", "", block)]
        for state, values in states.items():
            row = common | values
            sql = re.sub(r"\bn\b", f"({last} + i)", ", ".join(map(_value, row.values())))
            rows = f"FROM generate_series(1, {COUNTS[state]}) AS i;"
            lines.append(f'INSERT INTO "{named[2]}" ({", ".join(row)}) SELECT {sql} {rows}')
            last += COUNTS[state]
        yield named[1], named[2], {state: COUNTS[state] for state in states}, "\n".join([*lines, "RESET search_path;"])


def no_queues() -> Iterator[str]:
    """Yield the script of each table of no_queues.txt, with rows of many values."""
    for line in (HERE / "no_queues.txt").read_text().splitlines():
        name, _, columns = line.partition(": ")
        types, values = {"id": "bigserial PRIMARY KEY"}, {}
        for k, text in enumerate(columns.split()):
            column, type_, words = re.fullmatch(r"(\w+)(?::(\w+))?(?:=(\S+))?", text).groups()  # type: ignore[union-attr]
            time = re.search(r"(_at|_(start|end|until|from|to|after|attempt))$", column)
            types[column] = type_ or ("int8" if column.endswith("_id") else "timestamptz" if time else "text")
            values[column] = {
                "text": f"CASE WHEN hashint4(i * 17 + {k}) % 4 <> 0 THEN 'text ' || i END",
                "bool": f"hashint4(i * 7 + {k}) % 2 = 0",
                "jsonb": "jsonb_build_object('a', i)",
                **dict.fromkeys(
                    ("timestamptz", "date"),
                    f"CASE WHEN (i * 31 + {k}) % 3 > 0 THEN now() - hashint4(i + {k}) % 500 * interval '1 h' END",
                ),
            }.get(types[column], f"abs(hashint4(i * 13 + {k}) % 50)")
            if words:
                some = words.split(",")
                values[column] = f"(ARRAY{some})[1 + i % {len(some)}]"
        made = ", ".join(f'"{column}" {type_}' for column, type_ in types.items())
        into = ", ".join(f'"{column}"' for column in values)
        yield (
            f'CREATE TABLE "{name}" ({made});'
            f'INSERT INTO "{name}" ({into}) SELECT {", ".join(values.values())} FROM generate_series(1, 90) AS i;'
        )


# What a worker holds, and what it takes next
CLAIMS = {
    "river": ("state = 'running'", "state = 'available' AND scheduled_at <= now()"),
    "goodjob": (
        "performed_at IS NOT NULL AND finished_at IS NULL",
        "locked_by_id IS NULL AND performed_at IS NULL AND finished_at IS NULL AND scheduled_at <= now()",
    ),
    "delayed": ("locked_at IS NOT NULL", "locked_at IS NULL AND failed_at IS NULL AND run_at <= now()"),
    "laravel": ("reserved_at IS NOT NULL", "reserved_at IS NULL AND available_at <= extract(epoch FROM now())"),
    "symfony": ("delivered_at IS NOT NULL", "delivered_at IS NULL AND available_at <= now()"),
    "windmill": ("running", "NOT running AND scheduled_for <= now()"),
    "dbos": ("status = 'PENDING'", "status = 'ENQUEUED' AND started_at_epoch_ms IS NULL AND executor_id IS NULL"),
    "odoo": ("state = 'started'", "state = 'pending' AND date_enqueued IS NULL AND coalesce(eta, now()) <= now()"),
    "peertube": ("state = 2", """state = 1 AND "processingJobToken" IS NULL AND "runnerId" IS NULL"""),
    "camunda": ("lock_owner_ IS NOT NULL", "lock_exp_time_ IS NULL AND retries_ > 0 AND duedate_ <= now()"),
    "home1": ("status = 'sending'", "status = 'new' AND picked_by IS NULL AND send_after <= now()"),
    "home4": ("processing", "NOT processing AND NOT done AND NOT failed AND locked_at IS NULL"),
    "home6": (""""StatusName" = 'InProgress'""", """"StatusName" = 'Queued' AND "LockedBy" IS NULL"""),
    "home7": ("run_state = 'running'", "run_state = 'queued' AND started_at IS NULL AND host IS NULL"),
    "home8": (
        "taken_by <> -1 AND sent_at IS NULL",
        "taken_by = -1 AND taken_at = 'epoch' AND sent_at IS NULL AND failed_at IS NULL",
    ),
    "home9": ("status = 'fetching'", "status = 'todo' AND crawler IS NULL AND fetch_after <= now()"),
}


async def opened(dsn: str, path: Path) -> Workspace:
    workspace = await Workspace(dsn, guess=True, file=path / "audit").open()
    await workspace.close()  # it connects again
    return workspace


async def test_queues_are_named_with_the_phases_of_their_rows(
    server: PostgresServer, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guess, "TABLES_SAMPLED", 100)
    every = list(queues())
    for *_, script in every:
        server.sql(script, database)
    workspace = await opened(database, tmp_path)
    named = {reader.detected.schema: reader for reader in workspace.engines.values()}
    assert {schema for schema, *_ in every} - named.keys() == MISSED
    wrong: dict[str, object] = {}
    for schema, _, states, _ in every:
        if schema in named:
            counts = {each.phase: each.n or 0 for each in await named[schema].nodes.counts()}
            waiting = counts.get(Phase.READY, 0) + counts.get(Phase.SCHEDULED, 0)
            found = (counts.get(Phase.FAILED, 0), counts.get(Phase.RUNNING, 0), waiting, counts.get(Phase.UNKNOWN, 0))
            held, idle = ("stuck", "running"), ("late", "later")
            right = (states.get("failed", 0), *(sum(states.get(s, 0) for s in some) for some in (held, idle)), 0)
            if found != right:
                wrong[schema] = found, right
    await workspace.close()
    assert wrong.keys() == UNTOLD.keys(), wrong


def test_what_a_release_sets_is_learned_from_rows_that_wait(
    server: PostgresServer, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compare with a worker's own claim. The action is a proposal: nothing can be run."""
    monkeypatch.setattr(guess, "TABLES_SAMPLED", 100)
    every = list(queues(*CLAIMS))
    for *_, script in every:
        server.sql(script, database)
    workspace = asyncio.run(opened(database, tmp_path))
    named = {reader.detected.schema: reader for reader in workspace.engines.values()}
    for schema, table, *_ in every:
        (held, claim), name = CLAIMS[schema], f'{schema}."{table}"'
        (release,) = [each for each in named[schema].engine.spec.actions if each.name == "release"]
        assert not named[schema].availability(release).ok
        ((before,),) = fetch(database, f"SELECT count(*) FROM {name} WHERE {claim}")
        sets = ", ".join(f"{identifier(column)} = {value}" for column, value in release.set.items())
        server.sql(f"UPDATE {name} SET {sets} WHERE {held}", database)
        assert fetch(database, f"SELECT count(*) FROM {name} WHERE {claim}") == [(before + 15,)], (schema, sets)


async def test_other_tables_are_not_taken_for_queues(server: PostgresServer, database: str, tmp_path: Path) -> None:
    """And the database has 200 of them beside two queues."""
    scripts = list(no_queues())
    assert len(scripts) >= 200
    server.sql("\n".join(scripts), database)
    workspace = await opened(database, tmp_path)
    assert len(workspace.engines) <= 1, [reader.engine.guess for reader in workspace.engines.values()]
    await workspace.close()
    for *_, script in queues("river", "home1"):
        server.sql(script, database)
    workspace = await opened(database, tmp_path)
    assert {"river_job", "email_outbox"} <= workspace.engines.keys()
    await workspace.close()


@pytest.mark.parametrize(("schema", "table", "kind"), [("river", "river_job", "river_job"), ("pgboss", "job", "job"),
                                                      ("home1", "email_outbox", "email_outbox")])  # fmt: skip
def test_a_guess_is_read_by_every_command_and_changed_by_none(
    server: PostgresServer, database: str, schema: str, table: str, kind: str
) -> None:
    ((*_, script),) = queues(schema)
    server.sql(script, database)
    before = fetch(database, f"SELECT sum(hashtext(t::text)::int8) FROM {schema}.{table} t")
    stuck = unstick("stuck", "--json", dsn=database)
    assert {"late", "owner_dead"} <= {each["code"] for each in stuck.json["incidents"]}
    assert schema == "pgboss" or "w1 took 10" in str(stuck.json["incidents"])
    assert re.search(rf"{table}: A guess, only read: {schema}.{table} looks like work \(holding: .+; due: ", stuck.err)
    assert "All 200 rows were looked at" in stuck.err
    engines = unstick("engines", dsn=database)
    assert engines.code == 0
    assert "20 failed, 15 ready, 15 running, 10 scheduled" in engines.out
    nodes = unstick("tree", "--json", "--limit", "500", dsn=database).json["nodes"]
    held = next(node["id"] for node in nodes if node["phase"] == "running")
    shown = unstick("show", held, dsn=database)
    assert shown.code == 0, shown.err
    assert held in unstick("find", re.split("[:+]", held)[-1], dsn=database).out
    assert len(re.findall(rf"{table}/{kind}:", unstick("dead", "--limit", "500", dsn=database).out)) >= 20
    done = unstick("do", "release", held, "--reason", "x", "--yes", dsn=database)
    assert done.code != 0
    if schema != "pgboss":
        assert f"unstick engine new {schema}.{table}" in done.err + done.out
    assert fetch(database, f"SELECT sum(hashtext(t::text)::int8) FROM {schema}.{table} t") == before


def test_the_tables_of_an_engine_load_no_proposal(server: PostgresServer) -> None:
    dsn = server.fresh("oban", filled=True)
    code = (
        "import asyncio, sys; from queries.workspace import Workspace;"
        "asyncio.run(Workspace(sys.argv[1], guess=True).open()); print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code, dsn], cwd=HERE.parents[1], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert {"queries.workspace", "queries.propose.guess"} & {*done.stdout.split()} == {"queries.workspace"}


def test_a_guess_can_be_turned_off_and_an_untrusted_table_is_none(
    server: PostgresServer, database: str, tmp_path: Path
) -> None:
    ((*_, script),) = queues("river")
    server.sql(script, database)
    settings = tmp_path / "config.toml"
    for words, there in (("guess = false", False), ('not_work = ["river.river_job"]', False), ("", True)):
        settings.write_text(f'[contexts.a]\ndsn = "{database}"\n{words}\n')
        answer = unstick("engines", "@a", "--config", str(settings))
        assert ("river_job" in answer.out) == there
        assert there or "holds no task engine" in answer.err
    role = server.unique("other")
    server.sql(f"CREATE ROLE {role}; ALTER TABLE river.river_job OWNER TO {role}", database)
    assert unstick("engines", dsn=database).code == 1
    assert "river_job" in unstick("engines", "--trust", role, dsn=database).out


def test_a_column_whose_name_has_a_dot_breaks_no_guess(server: PostgresServer, database: str) -> None:
    server.sql(
        'CREATE TABLE chores (id bigserial PRIMARY KEY, "parent.id" bigint REFERENCES chores, worker text, tries int,'
        " run_at timestamptz, status text CHECK (status IN ('queued', 'running', 'failed', 'done')), error text)",
        database,
    )
    answer = unstick("engines", "--json", dsn=database)
    assert [each["schema"] for each in answer.json["engines"]] == ["public"]
    assert answer.json["broken"] == []


async def test_a_guess_that_cannot_be_read_costs_itself_and_is_named(server: PostgresServer, database: str) -> None:
    ((schema, _, _, script),) = queues("home1")
    await asyncio.to_thread(server.sql, script, database)
    connection = await asyncpg.connect(database)
    await connection.execute(
        """CREATE TABLE chores (id int8 PRIMARY KEY, worker text, tries int, run_at timestamptz, error text, status text
             CHECK (status IN ('queued', 'running', 'failed', 'done'))) PARTITION BY RANGE (id);
           CREATE TABLE chores_1 PARTITION OF chores DEFAULT"""
    )
    assert "chores" in (await asyncio.to_thread(unstick, "engines", dsn=database)).out
    await connection.execute("BEGIN; LOCK TABLE chores_1")  # the catalog says what chores is, and no row can be read
    answer = await asyncio.to_thread(unstick, "engines", "--json", dsn=database)
    await connection.close()
    assert [each["schema"] for each in answer.json["engines"]] == [schema]
    (broken,) = answer.json["broken"]
    assert broken["why"].startswith("a guess of the table public.chores: ")
    assert f"The engine {broken['name']} is not used: {broken['why']}" in answer.err


def test_a_table_of_people_is_said_not_to_look_like_work(server: PostgresServer, database: str, tmp_path: Path) -> None:
    server.sql("CREATE TABLE users (id int8 PRIMARY KEY, email text, password text, locked_at timestamptz)", database)
    answer = unstick("engine", "new", "users", "--to", str(tmp_path / "own_users"), dsn=database)
    assert "users does not look like work: it has email, password, and no column for due, tries" in answer.err


def test_the_empty_and_the_unknown_database_have_another_next_step(server: PostgresServer, database: str) -> None:
    assert "holds no tables" in unstick("stuck", dsn=database).err
    server.sql("CREATE TABLE users (id int8 PRIMARY KEY, email text, name text, state text)", database)
    said = unstick("stuck", dsn=database).err
    assert "its one table does not look like work" in said
    assert "unstick engine new TABLE" in said


async def test_a_false_guess_is_hidden_by_a_key_and_stays_hidden(
    server: PostgresServer, database: str, tmp_path: Path
) -> None:
    for *_, script in queues("river", "home2"):
        server.sql(script, database)
    async with run_tui(database, tmp_path, guess=True) as tui:
        await tui.press("1")
        await tui.wait_for("a guess, only read", "river_job (guess)", "tasks (guess)", "● live")
        await tui.press("question_mark")
        await tui.wait_for("looks like work (holding:")
        await tui.press("escape")
        await tui.wait_for("› river_job" if "› river_job" in tui.text else "› tasks")
        shown = "river_job" if "› river_job" in tui.text else "tasks"
        await tui.press("d")
        await tui.wait_for("is hidden here", "› tasks" if shown == "river_job" else "› river_job")
        await tui.wait_for(lambda: f"{shown} (guess)" not in tui.text)
    async with run_tui(database, tmp_path, guess=True) as tui:
        await tui.press("1")
        await tui.wait_for("a guess, only read", "● live")
        assert f"{shown} (guess)" not in tui.text
