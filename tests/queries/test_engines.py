"""Checks of every SQL file of the built-in engines.

The server must accept each statement unchanged, and the result must have the required columns.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import msgspec
import pytest

from queries.contract import loader
from queries.contract.loader import Engine
from queries.db import shared_sql
from queries.model import DRAWN, Node
from queries.statement import Statement
from queries.write import audit_log
from tests.servers import PostgresServer, both_versions

HOME = Path(loader.__file__).parents[1]
TYPED = re.compile(r"^-- \$(\d+) \w+ (text\[\]|text|int|jsonb)", re.MULTILINE)
NODE = {f.name for f in msgspec.structs.fields(Node)} - {"engine", "findings"} | {"now"}
COLUMNS = {
    "nodes": NODE,
    **{which: {"id", "cursor"} for which in ("roots", "children", "live")},
    "changed": {"id", "at", "what", "old", "new", "part", "place"},
    "dead": {"id", "cursor", "severity", "since", "cause", "error", "was", "is_now"},
    "options": {"name", "value", "why"},
    "find": {"id", "matched"},
    "search": {"id", "matched", "cursor"},
    "counts": {"phase", "n", "precision"},
    "findings": {"id", "since", "evidence"},
    "samples": {"id", "seen"},
    "lock": {"id", "version"},
    "refused": {"id", "why"},
    "rows": {"id", "table", "key", "row"},
}
# Optional columns of a statement: the place of a row, the whole node with its id, a severity of its own and whether
# the suggested action helps, the rows that the transaction wrote, fields that must not change while the operator
# waits, whether that is worth it, and whether a guard is still valid.
MAY = {
    "nodes": {"place"},
    "findings": {"suggest", "severity"},
    **{which: {"node"} for which in ("children", "live", "find", "search", "dead")},
    "lock": {"steady", "unchanged"},
    "refused": {"for_now"},
    "rows": {"ours"},
}
engines = pytest.mark.parametrize("shipped", loader.builtin(), ids=lambda s: s.name)


@pytest.fixture
async def engine(server: PostgresServer, shipped: Engine) -> AsyncIterator[asyncpg.Connection]:
    """Connection to a database with the engine's tables in ``public``.

    The search path contains only the server's own schemas.
    """
    dsn = server.fresh(shipped.name)
    connection = await asyncpg.connect(dsn, statement_cache_size=0)
    await connection.execute("SET search_path = pg_catalog, pg_temp")
    yield connection
    await connection.close()
    server.drop(dsn)


def usable(path: Path, server: PostgresServer) -> bool:
    version = re.search(r"@(\d+)\.sql$", path.name)
    return (
        path.name != "schema.sql"
        and path.parent.name != "parts"
        and (version is None or int(version[1]) <= server.version)
    )


async def prepare(connection: asyncpg.Connection, text: str, header: str) -> None:
    """Prepare a statement as psql does after ``\\set schema public``.

    The types are in the header.
    """
    text = text.replace(':"schema"', '"public"').replace(":'schema'", "'public'")
    said = {int(number): type_ for number, type_ in TYPED.findall(header)}
    types = ", ".join(said.get(n, "text") for n in range(1, max(said, default=0) + 1))
    await connection.execute(f"PREPARE it{f' ({types})' if types else ''} AS {text}")
    await connection.execute("DEALLOCATE it")


@both_versions
@engines
async def test_each_file_can_be_run_in_psql(
    engine: asyncpg.Connection, server: PostgresServer, shipped: Engine
) -> None:
    for path in sorted((HOME / "engines" / shipped.name).rglob("*.sql")):
        if not usable(path, server):
            continue
        text = loader.text(path)
        header, *sections = re.split(r"^-- :\w+$", text, flags=re.MULTILINE)
        for section in sections or [text]:
            try:
                await prepare(engine, section, header)
            except asyncpg.PostgresError as error:
                raise AssertionError(f"{path}: {error}") from error


@both_versions
@engines
async def test_each_statement_gives_the_columns_it_must(
    engine: asyncpg.Connection, server: PostgresServer, shipped: Engine
) -> None:
    shipped = loader.in_schema(shipped, "public")

    async def columns(statement: Statement) -> set[str]:
        return {a.name for a in (await engine.prepare(statement.text)).get_attributes()}

    for key, variants in shipped.statements.items():
        for statement in [v for v in variants if v.server <= server.version]:
            given = await columns(statement)
            if "payload" in given:
                assert given == {"payload", "size"}, statement.source
            elif statement.drawn:
                assert given == DRAWN[statement.drawn], statement.source
            elif key == "rows":
                assert given == {"id", "relation", "place", "locker"}, statement.source
            elif not key.startswith("detail/"):
                name = key.partition("/")[0]
                assert given - MAY.get(name, set()) == COLUMNS[name], statement.source
    for script, sections in shipped.actions.items():
        for section in ("lock", "refused", "rows"):
            for statement in sections.get(section, ()):
                given = await columns(statement) - MAY[section]
                assert given == COLUMNS[section], f"{script} :{section}"
        *_, last = sections["change"]
        assert await columns(last) == {"id"}, f"{script}: the last change gives the ids that it changed"


@both_versions
async def test_each_common_statement_can_be_run_in_psql(server: PostgresServer, database: str) -> None:
    server.sql(audit_log.ddl(), database)
    connection = await asyncpg.connect(database, statement_cache_size=0)
    for path in sorted((HOME / "sql").glob("*.sql")):
        templates = ("row_locks.sql", "witness_counts.sql")
        if path.name in ("audit_log_schema.sql", "audit_log_grant.sql", *templates):
            continue
        text = path.read_text()
        await prepare(connection, text, text)
        await connection.prepare(shared_sql.statement(path.stem).text)
    await connection.close()
