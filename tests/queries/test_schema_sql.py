"""The server makes the objects that are read out of a ``schema.sql``."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import asyncpg
import pytest

from queries.contract import loader
from queries.contract.schema_sql import own_objects
from tests.servers import both_versions

FOLDERS = Path(loader.__file__).parents[1] / "engines"
ENGINES = sorted(path.parent.name for path in FOLDERS.glob("*/schema.sql"))

CATALOG = {
    "triggers": "SELECT tgrelid AS t, tgname AS name FROM pg_trigger WHERE NOT tgisinternal",
    "constraints": """SELECT conrelid AS t, conname AS name FROM pg_constraint WHERE contype IN ('c', 'f', 'u', 'x')
                UNION SELECT i.indrelid, c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
                       WHERE i.indisunique AND NOT i.indisprimary""",
    "columns": "SELECT attrelid AS t, attname AS name FROM pg_attribute WHERE attnum > 0 AND NOT attisdropped",
}
FILE = Path(__file__).with_name("schema_forms.sql")
OF_SCHEMA = """SELECT coalesce(array_agg(c.relname || '.' || o.name), '{{}}') FROM ({}) AS o
                JOIN pg_class c ON c.oid = o.t
               WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p')"""

FORMS = dict(part.split("\n", 1) for part in FILE.read_text("utf-8").split("-- form: ")[1:])


async def made(dsn: str, sql: str) -> dict[str, set[str]]:
    """Return the objects that the server makes of a script."""
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(sql)
        return {kind: set(await connection.fetchval(OF_SCHEMA.format(query))) for kind, query in CATALOG.items()}
    finally:
        await connection.close()


def read(sql: str) -> dict[str, set[str]]:
    return {kind: set(getattr(own_objects(sql), kind)) for kind in CATALOG}


@both_versions
@pytest.mark.parametrize("name", ENGINES)
async def test_the_objects_of_each_engine(database: str, name: str) -> None:
    sql = (FOLDERS / name / "schema.sql").read_text("utf-8")
    assert read(sql) == await made(database, sql)


@both_versions
@pytest.mark.parametrize("name", FORMS)
async def test_the_forms_of_statements(database: str, name: str) -> None:
    assert read(FORMS[name]) == await made(database, FORMS[name])


@both_versions
@pytest.mark.parametrize("seed", range(5))
async def test_any_names(database: str, seed: int) -> None:
    """Names of all lengths, also in several bytes, and numbers of equal ones."""
    chosen = random.Random(seed)
    words = ["".join(chosen.choices('abé€𝄞_ "', k=chosen.choice((1, 9, 31, 62, 70)))) for _ in range(12)]
    tables = dict.fromkeys(word.encode()[:63].decode(errors="ignore") for word in words)
    sql = ";".join(_table(chosen, name) for name in tables)
    assert read(sql) == await made(database, sql)


def _table(chosen: random.Random, name: str) -> str:
    """Return a statement that makes a table with some unnamed constraints."""
    columns = {"".join(chosen.choices("Aaé€ ", k=chosen.choice((1, 8, 30, 60)))).encode()[:63] for _ in range(4)}
    quoted = ['"' + column.decode(errors="ignore") + '"' for column in columns]
    pairs = [", ".join(pair) for pair in itertools.permutations(quoted, 2)]
    pairs = chosen.sample(pairs, min(3, len(pairs)))  # an equal constraint would be none
    elements = [f"{column} int {chosen.choice(('', 'UNIQUE', f'CHECK ({column} > 0)'))}" for column in quoted]
    elements += [form.format(pair) for pair in pairs for form in ("UNIQUE ({})", "CHECK (({}) IS NOT NULL)")]
    table = '"' + name.replace('"', '""') + '"'
    indexes = [f"CREATE {chosen.choice(('UNIQUE', ''))} INDEX ON {table} ({pair})" for pair in pairs]
    return ";".join([f"CREATE TABLE {table} ({', '.join(elements)})", *indexes])
