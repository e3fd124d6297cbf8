"""The console never runs code that a role without rights on the engine created.

The role may create objects in ``public``, in a schema of its own, and (``same``) in the engine's schema. It shadows the
server's functions and operators with exact types, overloads the engine's functions, and owns a copy of the engine's
tables with policies, triggers, domains and casts. Each call of a function is counted by the server.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import AsyncIterator
from importlib.resources import files
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import pytest

from queries.change import loop, perform
from queries.change.plan import plan_versions
from queries.check.nodes import known_nodes
from queries.contract import loader
from queries.contract.builtin import builtin
from queries.db import transaction_settings
from queries.db.errors import DatabaseError
from queries.read import details, search
from queries.read.grants import grants
from queries.read.reader import Reader
from queries.records.action import Outcome
from queries.workspace import Workspace
from tests.proof import most_in_proof
from tests.queries.builders import OPERATOR, opened
from tests.servers import PostgresServer, fill, install

NAMES = [each.name for each in builtin()]
UNQUALIFIED = {each.name for each in builtin() if each.spec.unqualified == "functions"}
HOSTILE, COPY = (Path(__file__).with_name(name).read_text("utf-8") for name in ("hostile.sql", "hostile_copy.sql"))
CALLS = """
SELECT p.oid::regprocedure || coalesce(' ' || o.oprname, '') AS name, f.calls
  FROM pg_stat_user_functions f JOIN pg_proc p ON p.oid = f.funcid LEFT JOIN pg_operator o ON o.oprcode = p.oid
 WHERE pg_get_userbyid(p.proowner) = $1 AND p.proname <> 'hostile_objects' ORDER BY 1
"""
DEMO = {"agent_jobs": {"agent_jobs": {"profile": "table"}}}


def used(name: str) -> list[str]:
    """Return the names of all functions called by an engine's or the console's SQL."""
    home = Path(loader.__file__).parents[1]
    texts = [
        path.read_text("utf-8") for folder in (f"engines/{name}", "sql") for path in (home / folder).rglob("*.sql")
    ]
    return sorted({word for text in texts for word in re.findall(r"\b([a-z_0-9]+)\(", text)})


class HostileDatabase:
    """A database with one engine in ``schema``, and a hostile role."""

    def __init__(self, server: PostgresServer, name: str, placement: str) -> None:
        self.server, self.name = server, name
        self.schema = "public" if placement == "same" else "work"
        self.dsn = server.fresh()
        self.role, self.operator = server.unique("mallory"), server.unique("operator")
        self.database = urlsplit(self.dsn).path.strip("/")
        self.made = 0

    async def build(self) -> None:
        sql, dsn = self.server.sql, self.dsn
        sql(f"ALTER DATABASE {self.database} SET track_functions = 'all'")
        sql(f"CREATE ROLE {self.role} LOGIN PASSWORD 'x'; CREATE ROLE {self.operator} LOGIN PASSWORD 'x'")
        sql(f"CREATE SCHEMA IF NOT EXISTS {self.schema}; GRANT CREATE, USAGE ON SCHEMA public TO {self.role}", dsn)
        sql(f"GRANT USAGE ON SCHEMA {self.schema} TO {self.role}; CREATE SCHEMA aaa AUTHORIZATION {self.role}", dsn)
        connection = await asyncpg.connect(dsn, server_settings={"search_path": self.schema})
        await install(connection, self.name)
        await fill(connection, self.name)
        await connection.execute("ANALYZE")
        await connection.close()
        for schema in ("public", "aaa"):
            self.made += await self.plant(schema)

    async def plant(self, schema: str) -> int:
        """Create the hostile role's objects in a schema. Returns how many."""
        dsn = self.server.dsn(self.database, user=self.role, password="x")
        connection = await asyncpg.connect(dsn, server_settings={"search_path": f"{schema}, pg_catalog"})
        if schema == "aaa":  # a copy of the engine, before the server's functions are shadowed
            text = files("queries").joinpath("engines", self.name, "schema.sql").read_text("utf-8")
            await connection.execute(text)
            await connection.execute(COPY)
        await connection.execute(HOSTILE)
        await connection.execute("SET search_path = pg_catalog")
        make = f"SELECT {schema}.hostile_objects($1::text[], $2::text, $3::text)"
        made = await connection.fetchval(make, used(self.name), self.schema, schema)
        await connection.close()
        return int(made)

    async def calls(self) -> dict[str, int]:
        """Return how often each hostile function was called.

        The server must have counted all calls first.
        """
        connection = await asyncpg.connect(self.dsn)
        left = (
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'unstick' AND datname = current_database()"
        )
        while await connection.fetchval(left):
            pass  # a session's counts are known at its end
        rows = await connection.fetch(CALLS, self.role)
        await connection.close()
        return {row["name"]: row["calls"] for row in rows}


@pytest.fixture
async def hostile(server: PostgresServer, name: str, placement: str) -> AsyncIterator[HostileDatabase]:
    hostile = HostileDatabase(server, name, placement)
    await hostile.build()
    yield hostile
    server.drop(hostile.dsn)


async def everything(workspace: Workspace, reader: Reader) -> set[str]:
    """Run every automatic statement and action; return actions that changed rows."""
    known = await known_nodes(reader)
    await reader.nodes.counts()
    await reader.findings.read()
    await reader.samples.take()
    await reader.pages.dead()
    await search.find(reader, "a")
    await grants(workspace.database, reader, ["viewer"], ["operator"])
    for node in {node.kind: node for node in known.values()}.values():
        await details.read(reader, node.id)
    changed = set()
    actions = {v.name: v for kind in reader.engine.spec.kinds for v in reader.engine.actions_of(kind.name) if v.writes}
    for action in actions.values():
        engine, of = reader.engine, action.name
        fit = [n for n in known.values() if engine.action(of, n.kind) and reader.availability(action, n).ok]
        seen = {node.id: node.version for node in fit}
        title = fit[0].title.partition(" - ")[0] if fit else ""
        simple = {"flag": True, "int": 1, "json": "{}", "text": title, "document": {"text": "{}", "seen": "?"}}
        given = [a for a in action.arguments if a.required or a.type == "flag"]
        arguments = {a.name: a.default or simple.get(a.type, (*a.choices, "")[0]) for a in given}
        dry_run = await perform.dry_run(
            workspace, plan_versions(workspace, reader.label, action.name, seen), "try", arguments
        )
        one = next((r.id for r in dry_run.results if r.outcome is Outcome.CHANGED), None)
        if one is not None:
            changed.add(action.name)
            again = await perform.dry_run(
                workspace, plan_versions(workspace, reader.label, action.name, {one: seen[one]}), "try", arguments
            )
            await loop.commit(workspace, again, OPERATOR)
    await workspace.audit_log.page()
    return changed


async def visited(hostile: HostileDatabase, folder: Path, role: str) -> set[str]:
    """Open the database as that role and do everything.

    Returns the actions that changed something.
    """
    dsn = (
        hostile.dsn
        if role == "superuser"
        else hostile.server.dsn(hostile.database, user=hostile.operator, password="x")
    )
    workspace = await opened(dsn, folder, overrides=DEMO.get(hostile.name))
    try:
        assert [d.schema for d in workspace.declined if d.engine == hostile.name] == ["aaa"]
        (reader,) = workspace.engines.values()
        assert reader.detected.schema == hostile.schema
        return await everything(workspace, reader)
    finally:
        await workspace.close()


async def granted(hostile: HostileDatabase, folder: Path) -> None:
    """Give the operator what ``grants`` prints, with nothing from PUBLIC."""
    workspace = await opened(hostile.dsn, folder, overrides=DEMO.get(hostile.name))
    (reader,) = workspace.engines.values()
    statements = await grants(workspace.database, reader, [], [hostile.operator])
    await workspace.close()
    hostile.server.sql(f"REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA {hostile.schema} FROM PUBLIC", hostile.dsn)
    for statement in statements:
        hostile.server.sql(statement, hostile.dsn)


@pytest.mark.parametrize("placement", most_in_proof(["same", "beside"]))
@pytest.mark.parametrize("name", most_in_proof(NAMES, 2))
async def test_no_hostile_object_is_ever_called(
    hostile: HostileDatabase, name: str, placement: str, tmp_path: Path
) -> None:
    assert hostile.made > 400
    print(f"{name} {placement}: {hostile.made} hostile functions and operators")
    await granted(hostile, tmp_path)
    for role in ("superuser", "operator"):
        changed = await visited(hostile, tmp_path, role)
        if name not in UNQUALIFIED or placement != "same":
            assert changed, role
        else:
            assert not changed, "its own triggers use unqualified names: refused where others may create objects"
    assert await hostile.calls() == {}


@pytest.mark.parametrize("placement", ["same"])
@pytest.mark.parametrize("name", ["eternaltwin", "agent_jobs"])
async def test_with_the_schema_on_the_path_they_would_be(
    hostile: HostileDatabase, name: str, placement: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transaction_settings, "search_path", lambda *_: "SET LOCAL search_path = public, pg_temp")
    with contextlib.suppress(DatabaseError):  # what the server's own functions return is nonsense now
        workspace = await opened(hostile.dsn, tmp_path)
        await workspace.close()
    assert await hostile.calls() != {}
