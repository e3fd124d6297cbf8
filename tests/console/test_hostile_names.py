"""Names of schemas, roles and databases that contain hostile text.

They try to steer a terminal, to forge a line or to run SQL.
"""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Iterator

import asyncpg
import pytest

from console.demo.server import wheel_binaries
from tests.command import fetch, unstick
from tests.servers import PostgresServer
from tests.simulators.every import ENGINES

HIDING = "\u202e\u2066\u200b\u200d\u3164\ufe0f\U000e0041\U00013430\U0001bca0\U0001d173"
STEERING = "\x1b]0;pwned\x07\x1b[2J\x9b31m"


PSQL = wheel_binaries() / "psql"


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@pytest.fixture
def mallory(server: PostgresServer) -> Iterator[str]:
    """A role that must stay what it is."""
    role = server.unique("m")
    server.sql(f"CREATE ROLE {role}")
    yield role
    server.sql(f"DROP ROLE {role}")


@pytest.fixture
def names(server: PostgresServer, mallory: str) -> Iterator[list[str]]:
    """Names of schemas; roles with the same names exist too."""
    attack = f"ALTER ROLE {mallory} SUPERUSER;"
    found = [
        f"a\n{attack}\n--{STEERING}",
        f'b"; --\r\n{attack} \\q\u2028',
        f"c'/%{HIDING}",
    ]
    for name in found:
        server.sql(f"CREATE ROLE {quoted(name)}")
    yield found
    for name in found:
        server.sql(f"DROP ROLE {quoted(name)}")


@pytest.fixture
def hostile(server: PostgresServer, names: list[str]) -> Iterator[str]:
    """A database with eternaltwin and its demo data in a schema of each name."""
    dsn = server.fresh()
    asyncio.run(fill(dsn, names))
    yield dsn
    for name in names:
        server.sql(f"DROP OWNED BY {quoted(name)}", dsn)
    server.drop(dsn)


async def fill(dsn: str, names: list[str]) -> None:
    engine = next(engine for engine in ENGINES if engine.name == "eternaltwin")()
    connection = await asyncpg.connect(dsn, statement_cache_size=0)
    try:
        for name in names:
            await engine.install(connection)
            await engine.fill(connection, 1)
            await connection.execute(f"ALTER SCHEMA public RENAME TO {quoted(name)}; CREATE SCHEMA public")
    finally:
        await connection.close()


def is_waiting(node: dict[str, object]) -> bool:
    return node["kind"] == "job" and node["phase"] == "scheduled"


def test_no_command_prints_a_name_raw(hostile: str, names: list[str]) -> None:
    # `unstick` itself asserts that no answer holds a hidden character.
    found = unstick("engines", "--json", dsn=hostile).json["engines"]
    assert {each["schema"] for each in found} == set(names)
    labels = [each["label"] for each in found]
    assert len({*labels}) == len(names)
    trees = (unstick("tree", "--engine", label, "--json", dsn=hostile).json["nodes"] for label in labels)
    ids = [list(filter(is_waiting, nodes))[-1]["id"] for nodes in trees]
    for form in ([], ["--json"]):
        for command in ("engines", "tree", "stuck", "dead", "audit", "changed", "info", "grants"):
            assert unstick(command, *form, dsn=hostile).code in (0, 1)
        for node in ids[1:]:
            assert unstick("show", node, *form, dsn=hostile).code == 0
            assert unstick("audit", node, *form, dsn=hostile).code == 0
            answer = unstick("do", "cancel", node, "--reason", f"{STEERING}{HIDING}", "--dry-run", *form, dsn=hostile)
            assert answer.code == 0
    done = unstick("do", "cancel", *ids[:1], "--reason", f"{STEERING}{HIDING}", "--yes", dsn=hostile)
    assert done.code == 0
    assert unstick("audit", dsn=hostile, home=done.home).code == 0
    assert unstick("tree", "--engine", "no such\x1b[2J", dsn=hostile).code == 2
    assert unstick("show", f"eternaltwin{HIDING}/job:1", dsn=hostile).code == 3


def test_nothing_stuck_names_the_schemas_on_one_line(server: PostgresServer, database: str, names: list[str]) -> None:
    async def empty() -> None:
        engine = next(engine for engine in ENGINES if engine.name == "eternaltwin")()
        connection = await asyncpg.connect(database)
        try:
            for name in names:
                await engine.install(connection)
                await connection.execute(f"ALTER SCHEMA public RENAME TO {quoted(name)}; CREATE SCHEMA public")
        finally:
            await connection.close()

    asyncio.run(empty())
    answer = unstick("stuck", dsn=database)
    assert answer.code == 0
    where, first, *rest = answer.out.splitlines()
    assert database.rpartition("/")[2] in where
    assert first.startswith("No findings in eternaltwin")
    assert first.endswith(", but some checks need several looks.")
    assert all(line.startswith("Not checked: eternaltwin") for line in rest), rest


@pytest.mark.parametrize("form", ["text", "json"])
def test_printed_grants_run_as_printed_and_do_nothing_else(
    server: PostgresServer, hostile: str, names: list[str], mallory: str, form: str
) -> None:
    roles = [word for name in names for word in ("--operator", name)]
    answer = unstick("grants", "--viewer", mallory, *roles, *(["--json"] if form == "json" else []), dsn=hostile)
    assert answer.code == 0
    if form == "json":
        statements = [statement for each in answer.json["grants"].values() for statement in each]
    else:
        lines = answer.out.splitlines()
        assert all(line.startswith(("-- eternaltwin", "GRANT ")) for line in lines), lines
    before = fetch(hostile, "SELECT rolname, rolsuper FROM pg_roles ORDER BY 1")
    script = "".join(f"{statement};\n" for statement in statements) if form == "json" else answer.out
    ran = subprocess.run([PSQL, "-X", "-v", "ON_ERROR_STOP=1", hostile], input=script, text=True, capture_output=True)
    assert ran.returncode == 0, ran.stderr
    assert fetch(hostile, "SELECT rolname, rolsuper FROM pg_roles ORDER BY 1") == before
    may = fetch(
        hostile,
        "SELECT n.nspname::text, bool_and(has_table_privilege(r.name, c.oid, 'UPDATE'))"
        " FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace CROSS JOIN unnest($1::text[]) AS r(name)"
        " WHERE c.relname = 'task' AND n.nspname <> 'information_schema' GROUP BY 1",
        names,
    )
    assert dict(may) == dict.fromkeys(names, True)


def test_init_for_a_hostile_role_prints_one_statement_a_line(
    server: PostgresServer, database: str, names: list[str]
) -> None:
    roles = [word for name in names for word in ("--operator", name)]
    printed = unstick("init", "--sql", *roles).out
    assert not any(line.startswith("ALTER ROLE") for line in printed.splitlines())
    assert unstick("init", *roles, "--yes", dsn=database).code == 0
    server.sql(printed, database)
    for name in names:
        server.sql(f"DROP OWNED BY {quoted(name)}", database)
