"""A value that its column does not allow is named, and costs its part only."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from queries.contract import detect
from queries.contract.detect import bare
from queries.contract.outside import OutsideEngines, outside_engines
from queries.contract.rows import SHAPES, columns, required
from queries.db.errors import DatabaseError, UnreadableError
from queries.read import search
from queries.read.grants import grants
from queries.read.reader import Reader
from tests.command import unstick
from tests.console.tui_driver import run_tui
from tests.db.eternaltwin import EternaltwinDb
from tests.outside import change, copied, schema
from tests.proof import one_in
from tests.queries.builders import dry_run_of, opened
from tests.servers import PostgresServer


@pytest.fixture
async def both(server: PostgresServer) -> AsyncIterator[str]:
    """DSN of a new database with the home-made queue and a stuck task of eternaltwin."""
    dsn = server.fresh("eternaltwin")
    server.sql(schema(), dsn)
    eternaltwin_db = await EternaltwinDb.open(dsn)
    await eternaltwin_db.task(status="Blocked", timer=-6000)
    await eternaltwin_db.connection.close()
    yield dsn
    server.drop(dsn)


# file, text, its replacement, command, and what its message names
BAD = [
    ("nodes.sql", "END END AS phase", "END ELSE 'stuck' END AS phase", "live", ["phase", "'stuck'"]),
    ("nodes.sql", "w.xmin::text AS version", "NULL::text AS version", "tree", ["version", "NULL"]),
    ("nodes.sql", "w.tries::int8", "w.tries::text", "tree", ["attempts", "whole number"]),
    ("nodes.sql", "extract(epoch FROM w.taken_at)::float8", "w.taken_at", "live", ["heartbeat_at"]),
    ("nodes.sql", "extract(epoch FROM now())::float8 AS now", "now() AS now", "tree", ["now"]),
    ("nodes.sql", "w.task AS title,", "", "tree", ["title"]),
    ("nodes.sql", "'item:' || w.id AS id", "w.id AS id", "tree", ["id"]),
    ("roots.sql", ", w.id::text AS cursor", "", "tree", ["cursor", "missing"]),
    ("roots.sql", "w.id::text AS cursor", "w.id AS cursor", "tree", ["cursor"]),
    ("roots.sql", "'item:' || w.id AS id", "w.id AS id", "tree", ["id"]),
    ("live.sql", ", w.state || '|' || w.due || '|' || w.id AS cursor", "", "live", ["cursor", "missing"]),
    ("counts.sql", "'exact' END AS precision", "'sure' END AS precision", "engines", ["precision", "'sure'"]),
    ("counts.sql", "'ready', 'scheduled'", "'waiting', 'scheduled'", "engines", ["phase", "'waiting'"]),
    ("counts.sql", "least(count(w.phase), 10000)", "count(w.phase)::text", "engines", ["n"]),
    ("dead.sql", "extract(epoch FROM w.due)::float8 AS since", "w.due AS since", "dead", ["since"]),
    ("dead.sql", "7::int8 AS severity", "'high' AS severity", "dead", ["severity", "'high'"]),
    ("find.sql", "'id' AS matched", "'exact' AS matched", "find", ["matched", "'exact'"]),
    ("findings/taken_too_long.sql", "extract(epoch FROM w.taken_at)::float8", "w.taken_at", "stuck", ["since"]),
    (
        "findings/taken_too_long.sql",
        "jsonb_build_object(",
        "jsonb_build_array(",
        "stuck",
        ["evidence", "not a JSON object"],
    ),
    ("findings/taken_too_long.sql", "AS evidence", "AS proof", "stuck", ["evidence", "missing"]),
    ("roots.sql", "SELECT 'item:'", "SELCT 'item:'", "tree", ["SELCT", "roots.sql:3"]),
    ("nodes.sql", "w.state AS status", "w.status AS status", "tree", ["w.status", "nodes.sql:4"]),
]


def engine(tmp_path: Path, file: str, old: str, new: str) -> OutsideEngines:
    change(copied(tmp_path / "engines"), file, old, new)
    return outside_engines([tmp_path / "engines"], {"homemade"})


async def said(reader: Reader, command: str) -> str:
    """Return what a part of an engine says, with its error."""
    read = {
        "tree": reader.pages.roots, "live": reader.pages.live, "dead": reader.pages.dead,
        "engines": reader.nodes.counts, "stuck": reader.findings.read, "find": lambda: search.find(reader, "4"),
    }[command]  # fmt: skip
    try:
        return str(await read())
    except DatabaseError as error:
        return error.line


@pytest.mark.parametrize(("file", "old", "new", "command", "named"), BAD, ids=[f"{b[0]}-{b[2]}" for b in BAD])
async def test_a_bad_value_costs_its_part_of_its_engine(
    both: str, tmp_path: Path, file: str, old: str, new: str, command: str, named: list[str]
) -> None:
    workspace = await opened(both, tmp_path, outside=engine(tmp_path, file, old, new))
    text = await said(workspace.engines["homemade"], command)
    assert [each for each in [file, *named] if each not in text] == [], text
    for each in ("tree", "live", "engines", "dead", "stuck", "find"):
        assert await said(workspace.engines["homemade"], each)
    assert (await workspace.engines["eternaltwin"].findings.read()).findings
    await workspace.close()


def test_a_command_reports_it_and_goes_on(both: str, tmp_path: Path) -> None:
    change(copied(tmp_path / "engines"), "counts.sql", "'exact' END", "'sure' END")
    answer = unstick("engines", "--json", "--engines", str(tmp_path / "engines"), dsn=both)
    assert "counts.sql: the column precision has 'sure'" in answer.err
    assert {each["label"]: bool(each["counts"]) for each in answer.json["engines"]} == {
        "eternaltwin": True, "homemade": False
    }  # fmt: skip


@pytest.mark.parametrize(
    ("file", "old", "new"), one_in(3, [b[:3] for b in BAD if b[0] in ("nodes.sql", "counts.sql", "roots.sql")])
)
async def test_the_console_goes_on(both: str, tmp_path: Path, file: str, old: str, new: str) -> None:
    outside = engine(tmp_path, file, old, new)
    async with run_tui(both, tmp_path, outside=outside, size=(150, 40)) as tui:
        await tui.wait_for("homemade (own)", "task")
        await tui.press("greater_than_sign")
        await tui.wait_for("own engine", lambda: tui.app.session.state.counts("eternaltwin"))
        await tui.press("1", "greater_than_sign", "2")
        await tui.wait_for("incident")
        assert tui.app.fault is None


BAD_ACTIONS = [
    ("w.xmin::text AS version", "w.xmin AS version", "version"),
    ("SELECT 'item:' || w.id AS id, w.xmin", "SELECT w.id AS id, w.xmin", "id"),
    ("RETURNING 'item:' || w.id AS id", "RETURNING w.id AS id", "id"),
]


@pytest.mark.parametrize(("old", "new", "column"), BAD_ACTIONS)
async def test_a_bad_value_in_an_action_is_named_and_changes_nothing(
    both: str, tmp_path: Path, old: str, new: str, column: str
) -> None:
    workspace = await opened(both, tmp_path, outside=engine(tmp_path, "actions/retry.sql", old, new))
    with pytest.raises(UnreadableError, match=rf"actions/retry\.sql: the column {column} "):
        await dry_run_of(workspace, "retry", ["homemade/item:6"], label="homemade")
    await workspace.close()


# Indexes and privileges


ENUM = """
CREATE TYPE state AS ENUM ('todo', 'doing', 'failed', 'done');
ALTER TABLE work_items ALTER state DROP DEFAULT, DROP CONSTRAINT work_items_state_check;
ALTER TABLE work_items ALTER state TYPE state USING state::state;
"""


@pytest.mark.parametrize("name", ["public", "Odd \"schema\" 'x'"])
async def test_a_partial_index_is_recognised_however_its_type_is_spelled(
    database: str, server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(detect, "SMALL_TABLE_BLOCKS", -1)
    quoted = '"' + name.replace('"', '""') + '"'
    path = f"CREATE SCHEMA IF NOT EXISTS {quoted}; SET search_path = {quoted};"
    server.sql(f"{path} {schema()} {ENUM}", database)
    folder = copied(tmp_path / "engines")
    change(folder, "engine.toml", 'state = "text"', 'state = "state"')
    change(folder, "engine.toml", "(state <> 'done'::text)", "(state <> 'done'::state)")
    workspace = await opened(database, tmp_path, outside=outside_engines([tmp_path / "engines"]))
    (reader,) = workspace.engines.values()
    (ddl,) = [need.ddl for need in reader.detected.missing() if "state" in need.columns]
    server.sql(f"SET search_path = {quoted}; {ddl.replace('CONCURRENTLY ', '')}", database)
    await workspace.detect()
    (reader,) = workspace.engines.values()
    assert "item_by_state" in reader.detected.indexed
    await workspace.close()


def test_a_predicate_without_schemas() -> None:
    assert bare("(status = 'a.b'::public.job_status)", "public") == "(status = 'a.b'::job_status)"
    assert bare('(status = \'public.x\'::"My s"."T")', "My s") == "(status = 'public.x'::\"T\")"
    assert bare('("My s".f(a) AND b.c)', "My s") == "(f(a) AND b.c)"
    assert bare("(app.f(a))", "app") == "(f(a))"


async def test_a_sequence_is_a_privilege(both: str, server: PostgresServer, tmp_path: Path) -> None:
    server.sql("CREATE SEQUENCE log_id; CREATE TABLE log (id int, note text)", both)
    folder = copied(tmp_path / "engines")
    change(folder, "engine.toml", 'dead = "', 'effects."UPDATE work_items" = ["USAGE log_id"]\ndead = "')
    outside = outside_engines([tmp_path / "engines"], {"homemade"})
    workspace = await opened(both, tmp_path, outside=outside)
    reader = workspace.engines["homemade"]
    release = next(action for action in reader.engine.actions_of("item") if action.name == "release")
    assert reader.availability(release).ok
    granted = await grants(workspace.database, reader, ["viewer"], ["operator"])
    assert "GRANT USAGE ON SEQUENCE public.log_id TO operator" in granted
    role = server.unique("role")
    server.sql(f"CREATE ROLE {role} LOGIN PASSWORD 'x'; GRANT SELECT, UPDATE ON work_items TO {role}", both)
    theirs = await opened(server.dsn(both.rpartition("/")[2], user=role, password="x"), tmp_path, outside=outside)
    why = theirs.engines["homemade"].availability(release).why
    assert why.endswith("lacks USAGE log_id")
    await theirs.close()
    await workspace.close()


@pytest.mark.parametrize("name", SHAPES)
def test_each_column_has_types_of_the_server(name: str) -> None:
    assert all(columns(SHAPES[name]).values())
    assert required(SHAPES[name]) <= columns(SHAPES[name]).keys()
