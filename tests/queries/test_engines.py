"""Checks of every SQL file of the built-in engines.

The server must accept each statement unchanged, as psql sends it.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterable, Mapping
from pathlib import Path

import asyncpg
import pytest

from queries.contract import loader
from queries.contract.builtin import builtin
from queries.contract.engine import Engine
from queries.contract.folder import is_script
from queries.contract.references import names_in_sql
from queries.db.query import statement
from queries.files.statement import NAME, PARAMETERS, sql_text
from queries.log import audit_log
from queries.text.psql_text import bound
from tests.servers import PostgresServer, both_versions

HOME = Path(loader.__file__).parents[1]
UNDONE = ("delete", "find", "insert", "update")  # templates of statements that undo changes of rows
IMAGED = ("", "_at", "_find", "_none", "_row")  # ... and that read images of rows
engines = pytest.mark.parametrize("shipped", builtin(), ids=lambda s: s.name)


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
        not is_script(path.name)
        and path.parent.name != "parts"
        and (version is None or int(version[1]) <= server.version)
    )


async def prepare(
    connection: asyncpg.Connection, text: str, names: Mapping[str, str] = {}, roles: Iterable[str] = ()
) -> None:
    """Prepare a statement as psql does after ``\\set page NULL::int`` and so on.

    A role is set to the table of the same name.
    """

    def value(match: re.Match[str]) -> str:
        name = match["name"]
        if not name:
            return match[0]
        if name in names:
            return NAME.sub(value, names[name])
        return "NULL" if match.string.startswith("::", match.end()) else f"NULL::{PARAMETERS[name]}"

    text = bound(text.replace(':"schema"', '"public"').replace(":'schema'", "'public'"), {role: role for role in roles})
    await connection.execute(f"PREPARE it AS {NAME.sub(value, text)}")
    await connection.execute("DEALLOCATE it")


@both_versions
@engines
async def test_each_file_can_be_run_in_psql(
    engine: asyncpg.Connection, server: PostgresServer, shipped: Engine
) -> None:
    for path in sorted((HOME / "engines" / shipped.name).rglob("*.sql")):
        if not usable(path, server):
            continue
        text = sql_text(path).text
        for name in re.findall(r"^-- needs: (\w+)$", text, flags=re.MULTILINE):
            need = shipped.spec.needs[name]
            if need.column:  # that not every version of the engine has
                await engine.execute(
                    f"ALTER TABLE IF EXISTS public.{need.table} ADD COLUMN IF NOT EXISTS {need.column} text"
                )
        _, *sections = re.split(r"^-- :\w+$", text, flags=re.MULTILINE)
        for section in sections or [text]:
            try:
                await prepare(engine, section, names_in_sql(shipped.spec, None), shipped.spec.recognise.roles)
            except asyncpg.PostgresError as error:
                raise AssertionError(f"{path}: {error}") from error


@both_versions
async def test_each_common_statement_can_be_run_in_psql(server: PostgresServer, database: str) -> None:
    server.sql(audit_log.ddl(), database)
    connection = await asyncpg.connect(database, statement_cache_size=0)
    for path in sorted((HOME / "sql").glob("*.sql")):
        templates = ("row_locks.sql", "witness_counts.sql", *(f"undo_{name}.sql" for name in UNDONE))
        templates += (
            "combined_part.sql",
            "lock_table.sql",
            "lock_parsed.sql",
            *(f"images{name}.sql" for name in IMAGED),
        )
        templates += ("audit_images_digest.sql", "audit_images_kept.sql", "audit_log_verify.sql")
        if path.name in ("audit_log_schema.sql", "audit_log_grant.sql", *templates):
            continue
        text = sql_text(path).text
        await prepare(connection, text)
        await connection.prepare(statement(path.stem).text)
    await connection.close()
